"""What the time loop adds to the right-hand sides it calls, and the time of a slider-crank to a given accuracy."""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import prepare
from linkwork.constraints.projection import of_system, project_start
from linkwork.expressions.graph import Expr, cos, sin, sqrt, symbol
from linkwork.integrators.integrate import Native, Problem, Settings, State
from linkwork.integrators.methods.tableaus import EXPLICIT
from linkwork.modelfile import load
from linkwork.native.kernels import Pointer, call, kernel, offset
from linkwork.native.lowering import NativeFunction, compile_programs
from linkwork.sequences.sequence import ComputationSequence
from linkwork.start.closing import find_start

Array = NDArray[np.float64]
REPETITIONS = 100
TOLERANCES = [10.0 ** (-k / 4) for k in range(16, 45)]
# Crank angle and speed of the slider-crank at 20 s, by the two-angle equations with tolerances of rounding.
AT_20_S = np.array([-0.33360668174476293, 1.3647780693295892])


class Case(NamedTuple):
    """A system to be integrated; `watched` are the places of the crank's angle and speed."""

    derivative: NativeFunction
    project: Native | None
    p: Array
    y: Array
    n_norm: int
    watched: tuple[int, int] = (0, 1)


@kernel
def evaluate_along(
    f: int, n_states: int, ny: int, states: Pointer, x: Pointer, p: Pointer, y: Pointer, w: Pointer, waiting: float
) -> None:
    """The right-hand side at one state after the other.

    They are independent of each other, or each needs the result of the one before, as stages do.
    """
    for k in range(n_states):
        if waiting == 0.0:
            call(f, offset(states, k * (1 + ny)), p, y, w)
        else:
            for i in range(ny):
                x[1 + i] = states[k * (1 + ny) + 1 + i] + 0.0 * y[i]
            call(f, x, p, y, w)


def slider_crank_by_hand() -> Case:
    """The slider-crank with the crank angle as its only coordinate, l1 = 1, l2 = 2, as an expert would write it.

    [m11 m12; m12 m22] (th1'', th2'') = f with th2 from l1 sin th1 = l2 sin th2, th2' = G th1' and
    th2'' = G th1'' + b, so that (m11 + 2 G m12 + G^2 m22) th1'' = f1 + G f2 - (m12 + G m22) b.      [zhou2007]
    """
    t, th1, w1 = symbol("t"), symbol("th1"), symbol("w1")
    s1, c1 = sin(th1), cos(th1)
    s2 = 0.5 * s1
    c2 = sqrt(1.0 - s2 * s2)
    over_c2 = 1.0 / c2
    G = 0.5 * c1 * over_c2
    w2 = G * w1
    b = (s2 * w2 * w2 - 0.5 * s1 * w1 * w1) * over_c2
    m11, m12, m22 = 7.75, -5.0 * (c1 * c2 - s1 * s2), 14.5
    turning = 5.0 * (s1 * c2 + c1 * s2)
    f1 = -34.3 * c1 - turning * w2 * w2
    f2 = 49.0 * c2 - turning * w1 * w1
    w1_dot = (f1 + G * f2 - (m12 + G * m22) * b) / (m11 + G * (2.0 * m12 + G * m22))
    return Case(compiled("by_hand", [t, th1, w1], [w1, w1_dot]), None, np.zeros(1), np.array([0.0, 1.0]), 2)


def spring_chain(masses: int) -> Case:
    """Masses between springs in a row, with little to compute for each."""
    t = symbol("t")
    q = [symbol(f"q{i}") for i in range(masses)]
    v = [symbol(f"v{i}") for i in range(masses)]
    left, right = [0.0, *q[:-1]], [*q[1:], 0.0]
    a = [(x + z) - 2.0 * y for x, y, z in zip(left, q, right, strict=True)]
    y = np.cos(np.arange(2.0 * masses))
    return Case(compiled("spring_chain", [t, *q, *v], [*v, *a]), None, np.zeros(1), y, 2 * masses)


def compiled(name: str, inputs: list[Expr], outputs: list[Expr]) -> NativeFunction:
    return compile_programs([ComputationSequence(name, inputs, outputs)], [])[name]


def slider_crank_of_bodies() -> Case:
    """The shipped model: nine coordinates, eight constraints, projection after every step."""
    system = prepare(load("slider_crank")).system()
    start = find_start(system.start()).place
    p = system.p(start)
    y = project_start(system, p, start)
    crank = system.equations.q_names.index("crank.phi")
    watched = crank, system.n_q + crank
    return Case(system.functions["derivative"], of_system(system), p, y, len(y) - 2, watched)


def advanced(case: Case, times: Array, rtol: float, method: str) -> State:
    """The end of a run."""
    problem = Problem(case.derivative, len(case.y), EXPLICIT[method], case.project, case.n_norm)
    state = State(problem, case.p, case.y, times, Settings(rtol, rtol))
    state.advance(10**9)
    return state


def run(case: Case, rtol: float, repetitions: int = 1, method: str = "dop853") -> tuple[float, State]:
    """Seconds in the compiled loop, the least of several, and the end of the run."""
    times = np.array([0.0, 20.0])
    ends = [advanced(case, times, rtol, method) for _ in range(repetitions)]
    return min(end.loop_s for end in ends), ends[0]


def evaluation_s(case: Case, rtol: float, method: str) -> list[float]:
    """Seconds of the right-hand side alone at as many states of the motion as a run evaluates: independent, waiting."""
    count = run(case, rtol, method=method)[1].at.evaluations
    times = np.linspace(0.0, 20.0, count)
    rows, f = advanced(case, times, rtol, method).rows, case.derivative
    states = np.ascontiguousarray(np.column_stack([times, rows]))
    x, y, w = np.zeros(f.inputs), np.zeros(f.outputs), np.zeros(f.work)
    best = [np.inf, np.inf]
    for _ in range(REPETITIONS):
        for waiting in (0, 1):
            began = perf_counter()
            evaluate_along(f.address, count, len(case.y), states, x, case.p, y, w, float(waiting))
            best[waiting] = min(best[waiting], (perf_counter() - began) / count)
    return best


def time_to_accuracy(case: Case, accuracy: float) -> tuple[float, float, float, int]:
    """Loosest tolerance that keeps the error at 20 s below the accuracy, milliseconds, the error, evaluations."""
    for rtol in TOLERANCES:
        _, end = run(case, rtol)
        error = float(np.abs(end.y[list(case.watched)] - AT_20_S).max())
        if error <= accuracy:
            seconds, end = run(case, rtol, REPETITIONS)
            return rtol, 1e3 * seconds, error, end.at.evaluations
    raise ValueError(f"no tolerance reaches {accuracy:g}")


def report() -> list[str]:
    """Lines of docs/benchmarks.md."""
    lines = [
        "",
        "## The time loop",
        "",
        "Time per evaluation in a run of 20 s at rtol 1e-9, and of the right-hand side alone at states of this motion:",
        "independent of each other, and each waiting for the one before as stages do. The difference to the latter is",
        "what the loop adds.",
        "",
        "| method | states | right-hand side, independent, ns | waiting, ns | in the loop, ns | added, ns |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    by_hand = slider_crank_by_hand()
    for method in EXPLICIT:
        for case in (by_hand, spring_chain(10)):
            independent, waiting = evaluation_s(case, 1e-9, method)
            seconds, end = run(case, 1e-9, REPETITIONS, method)
            stage = seconds / end.at.evaluations
            figures = [f"{1e9 * s:.0f}" for s in (independent, waiting, stage, stage - waiting)]
            lines.append(f"| {method} | {len(case.y)} | {' | '.join(figures)} |")
    lines += [
        "",
        "Slider-crank over 20 s with dop853 to an accuracy of the crank's angle and speed at the end, in the loop:",
        "",
        "| equations | accuracy | rtol | integration, ms | measured error | evaluations |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, case in (("by hand, 2 states", by_hand), ("three bodies, projected", slider_crank_of_bodies())):
        for accuracy in (1e-6, 1e-9):
            rtol, ms, error, evaluations = time_to_accuracy(case, accuracy)
            lines.append(f"| {name} | {accuracy:.0e} | {rtol:.1e} | {ms:.3f} | {error:.1e} | {evaluations} |")
    return lines


if __name__ == "__main__":
    print("\n".join(report()))
