"""Double pendula of two rods, 10,000 of them, by linkwork, by heyoka's batches and by a loop in C, in one run.

    python -m benchmarks.pendula

All go 5 s; each way is taken at its loosest tolerance with 95 % of the final angles within 1e-6 of a reference. Clocks
are those of the processor. heyoka is a peer if it is installed, C if there is gcc.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import linkwork
from linkwork.integrators.methods.tableaus import DOP853, Row

Array = NDArray[np.float64]
Way = Callable[[float, "Pendula"], Array]  # a tolerance and the pendula -> the two angles of each at the end

MODEL = """
linkwork: 1
name: pendula
parameters: {m1: 1 kg, m2: 1 kg, L1: 1 m, L2: 1 m, phi1: 0, phi2: 0}
gravity: [0, -9.81]
ground: {points: {O: [0, 0]}}
bodies:
  upper: {mass: m1, inertia: m1*L1^2/12, angle: phi1, position: [L1/2*cos(phi1), L1/2*sin(phi1)],
          points: {O: [-L1/2, 0], A: [L1/2, 0]}}
  lower: {mass: m2, inertia: m2*L2^2/12, angle: phi2, points: {A: [-L2/2, 0]},
          position: [L1*cos(phi1) + L2/2*cos(phi2), L1*sin(phi1) + L2/2*sin(phi2)]}
joints:
  O: {type: revolute, i: ground.O, j: upper.O}
  A: {type: revolute, i: upper.A, j: lower.A}
simulation: {t_end: 5, step: 5}
"""
COUNT, T_END, G = 10_000, 5.0, 9.81
WITHIN, OF_ALL = 1e-6, 0.95
TOLERANCES = (1e-6, 3e-7, 1e-7, 3e-8, 1e-8, 3e-9, 1e-9, 1e-10, 1e-11, 1e-12)
REPETITIONS = 5
LANES = 8


class Pendula:
    """Masses, lengths and starting angles, from the horizontal, of pendula at rest."""

    def __init__(self, count: int) -> None:
        random = np.random.default_rng(1)
        self.m1, self.m2, self.L1, self.L2 = random.uniform(0.5, 1.5, (4, count))
        self.phi1, self.phi2 = random.uniform(-np.pi, 0.0, (2, count))

    @property
    def parameters(self) -> dict[str, Array]:
        return {"m1": self.m1, "m2": self.m2, "L1": self.L1, "L2": self.L2}


def by_linkwork() -> Way:
    mechanism = linkwork.prepare(linkwork.loads(MODEL), "joint")
    take = ["final(upper.phi)", "final(lower.phi)"]

    def move(tolerance: float, given: Pendula) -> Array:
        values = {**given.parameters, "phi1": given.phi1, "phi2": given.phi2}
        found = mechanism.batch(values, take, threads=1, t_end=T_END, step=T_END, rtol=tolerance, atol=tolerance)
        return np.array([found[text].values for text in take])

    return move


def by_heyoka() -> Way:
    """Batches of eight by Taylor series, each with a step of its own."""
    hy: Any = import_module("heyoka")
    p1, p2, w1, w2 = hy.make_vars("p1", "p2", "w1", "w2")
    m1, m2, l1, l2 = (hy.par[k] for k in range(4))
    a, b, c = (m1 / 3.0 + m2) * l1**2, 0.5 * m2 * l1 * l2 * hy.cos(p1 - p2), m2 * l2**2 / 3.0
    s = 0.5 * m2 * l1 * l2 * hy.sin(p1 - p2)
    f1 = -s * w2**2 - (0.5 * m1 + m2) * G * l1 * hy.cos(p1)
    f2 = s * w1**2 - 0.5 * m2 * G * l2 * hy.cos(p2)
    det = a * c - b * b
    system = [(p1, w1), (p2, w2), (w1, (c * f1 - b * f2) / det), (w2, (a * f2 - b * f1) / det)]
    made: dict[float, Any] = {}

    def move(tolerance: float, given: Pendula) -> Array:
        if tolerance not in made:
            zeros = np.zeros((4, LANES))
            made[tolerance] = hy.taylor_adaptive_batch(system, zeros, pars=np.ones((4, LANES)), tol=tolerance)
        series, found = made[tolerance], np.empty((2, len(given.m1)))
        parameters = np.array([*given.parameters.values()])
        for first in range(0, len(given.m1), LANES):
            some = slice(first, first + LANES)
            series.set_time(0.0)
            series.state[:2], series.state[2:] = (given.phi1[some], given.phi2[some]), 0.0
            series.pars[:] = parameters[:, some]
            series.propagate_until(T_END)
            found[:, some] = series.state[:2]
        return found

    return move


def by_c(folder: Path) -> Way:
    """Lanes in vectors of the compiler, each with a step of its own, by DOP853 with the constants written in."""
    (folder / "stages.h").write_text(stages())
    library = folder / "pendula.so"
    flags = ["-O3", "-march=native", "-ffast-math", "-fopenmp-simd", "-mprefer-vector-width=512", "-shared", "-fPIC"]
    source = Path(__file__).with_suffix(".c")
    subprocess.run(["gcc", *flags, f"-I{folder}", source, "-o", library, "-lmvec", "-lm"], check=True)
    advance = ctypes.CDLL(str(library)).advance
    advance.argtypes = [ctypes.c_long, ctypes.c_double, ctypes.c_double, *[ctypes.c_void_p] * 2]

    def move(tolerance: float, given: Pendula) -> Array:
        columns = np.array([*given.parameters.values(), given.phi1, given.phi2])
        found = np.empty((2, columns.shape[1]))
        advance(columns.shape[1], T_END, tolerance, columns.ctypes.data, found.ctypes.data)
        return found

    return move


def stages() -> str:
    """Write the stages, the end and both parts of the error of a step as C."""

    def combination(weights: Row) -> str:
        return " + ".join(f"{w!r} * k[{j}][i]" for j, w in enumerate(weights) if w)

    every = "for (int i = 0; i < 4 * LANES; i++)"
    lines = ["#define STAGES \\"]
    for j in range(1, DOP853.stages):
        lines += [f"  {every} z[i] = y[i] + hs[i] * ({combination(DOP853.rows[j])}); \\", f"  rates(z, p, k[{j}]); \\"]
    lines += [f"  {every} z[i] = y[i] + hs[i] * ({combination(DOP853.b)}); \\"]
    lines += [f"  {every} e5[i] = hs[i] * ({combination(DOP853.E)}); \\"]
    return "\n".join([*lines, f"  {every} e3[i] = hs[i] * ({combination(DOP853.E_low)});", ""])


def ways(folder: Path) -> Iterator[tuple[str, Way]]:
    yield "linkwork, whole call", by_linkwork()
    if find_spec("heyoka"):
        yield "heyoka, batches of 8", by_heyoka()
    if shutil.which("gcc"):
        yield "C, lanes", by_c(folder)


def measure() -> Iterator[tuple[str, float, float, float]]:
    """Yield each way, its tolerance, the share of angles within 1e-6 and motions a second and core."""
    pendula, few = Pendula(COUNT), Pendula(LANES)
    reference = by_linkwork()(1e-13, pendula)
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for name, move in ways(Path(folder)):
            for tolerance in TOLERANCES:
                move(tolerance, few)
                share = float((np.abs(move(tolerance, pendula) - reference).max(axis=0) <= WITHIN).mean())
                if share >= OF_ALL:
                    break
            found.append((name, move, tolerance, share))
        best = {name: np.inf for name, *_ in found}
        for _ in range(REPETITIONS):  # in turn, so that all meet the same machine
            for name, move, tolerance, _ in found:
                began = process_time()
                move(tolerance, pendula)
                best[name] = min(best[name], process_time() - began)
        for name, _, tolerance, share in found:
            yield name, tolerance, share, COUNT / best[name]


if __name__ == "__main__":
    print("| way | tolerance | within 1e-6 | a second and core |")
    print("| --- | --- | --- | --- |")
    for name, tolerance, share, rate in measure():
        print(f"| {name} | {tolerance:g} | {100 * share:.1f} % | {rate:,.0f} |")
