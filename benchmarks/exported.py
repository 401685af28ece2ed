"""Our machine code of explicit sequences against the exported C compiled by gcc -O2, over many points.

python benchmarks/exported.py
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

from linkwork import load, write_down
from linkwork.view.listing import FORMATS

MECHANISMS = ("slider_crank", "four_bar", "andrews_squeezer")
POINTS, BEST_OF = 2000, 300
LOOP = """
void rows(const double *in, double *out, long n)
{{
    for (long k = 0; k < n; k++)
        {name}(in + {inputs}*k, out + {outputs}*k);
}}
"""


def seconds(*runs: Callable[[], object]) -> list[float]:
    """The best time of each, taken in turn, so that what else the machine does meets all of them."""
    best = [np.inf] * len(runs)
    for _ in range(BEST_OF):
        for k, run in enumerate(runs):
            began = perf_counter()
            run()
            best[k] = min(best[k], perf_counter() - began)
    return best


def measure(name: str) -> tuple[float, float, float]:
    """Nanoseconds of an evaluation by our machine code and by C, and the median of the largest difference."""
    listing = write_down(load(name))
    s = listing.sequence
    ours = s.compile()
    x = np.random.default_rng(1).uniform(0.5, 1.5, (POINTS, len(s.inputs)))
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "f.c", Path(folder) / "f.so"
        loop = LOOP.format(name=s.name, inputs=len(s.inputs), outputs=len(s.outputs))
        source.write_text(FORMATS["c"](listing) + loop)
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", source, "-lm", "-o", library], check=True)
        rows = ctypes.CDLL(str(library)).rows
        rows.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
        y = np.empty((POINTS, len(s.outputs)))
        own, c = seconds(lambda: ours(x), lambda: rows(x.ctypes.data, y.ctypes.data, POINTS))
    found = ours(x)
    difference = float(np.median(np.max(np.abs(found - y), axis=1) / np.max(np.abs(y), axis=1)))
    return own / POINTS * 1e9, c / POINTS * 1e9, difference


def main() -> None:
    print("| mechanism | our machine code | exported C, gcc -O2 | C by ours | difference |")
    print("| --- | --- | --- | --- | --- |")
    for name in MECHANISMS:
        own, c, difference = measure(name)
        print(f"| `{name}` | {own:.0f} ns | {c:.0f} ns | {c / own:.2f} | {difference:.0e} |")


if __name__ == "__main__":
    main()
