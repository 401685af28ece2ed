"""How explicit accelerations grow with the number of links: the sequence, written out, and SymPy's LUsolve.

    python benchmarks/growth.py [SECONDS]

prints the table of docs/theory/sequences.md. SymPy, which is not needed otherwise, gets so many seconds for each size.
"""

from __future__ import annotations

import sys
from multiprocessing import Process, Queue
from time import perf_counter
from typing import Any

from linkwork import load, write_down
from linkwork.compiled.mechanism import prepare
from linkwork.equations.explicit import leading_system
from linkwork.expressions.evaluation import RING, evaluate, ordered
from linkwork.lecture.listing import with_numbers

SIZES = (2, 4, 8, 16, 32)


def by_sympy(N: int, found: Queue[tuple[int, float]]) -> None:
    """Operations of the solution and the time it took."""
    import sympy

    mechanism = prepare(load(f"planar_chain:{N}"))
    e = with_numbers(mechanism.equations, mechanism.model.parameters)
    A, b = leading_system(e, range(len(e.Psi)))
    symbols = {x: sympy.Symbol(str(x.value)) for x in ordered([*A.values(), *b]) if x.op == "symbol"}
    arithmetic: dict[str, Any] = {**RING, "sin": sympy.sin, "cos": sympy.cos}
    entries = evaluate([*A.values(), *b], symbols, arithmetic, sympy.Rational)
    matrix = sympy.zeros(len(b), len(b))
    for place, entry in zip(A, entries, strict=False):
        matrix[place] = entry
    right = sympy.Matrix(entries[len(A) :])
    began = perf_counter()
    solution = matrix.LUsolve(right)
    took = perf_counter() - began
    found.put((int(sympy.count_ops(solution)), took))


def limited(N: int, seconds: float) -> str:
    found: Queue[tuple[int, float]] = Queue()
    process = Process(target=by_sympy, args=(N, found))
    process.start()
    process.join(seconds)
    if process.is_alive():
        process.kill()
        process.join()
        return f"not within {seconds:g} s"
    if process.exitcode:
        raise RuntimeError(f"SymPy ended with {process.exitcode}")
    operations, took = found.get()
    return f"{operations} in {took:.2g} s"


def main(seconds: float) -> None:
    print("| links | size of A | operations of the sequence | for each link | time | written out | SymPy's LUsolve |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for N in SIZES:
        began = perf_counter()
        listing = write_down(load(f"planar_chain:{N}"))
        s = listing.sequence
        took = perf_counter() - began
        count, expanded = len(s.operations), s.expanded
        shown = f"{expanded:.2g}" if expanded > 10**6 else str(expanded)
        size = len(listing.equations.v) + len(listing.equations.Psi)
        sympy = limited(N, seconds)
        print(f"| {N} | {size} | {count} | {count / N:.1f} | {took:.2f} s | {shown} | {sympy} |", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
