"""Speed of evaluation, compilation and integration, measured in one run and written to docs/benchmarks.md.

    make bench

Every figure is the best of several repetitions in this process; ratios compare figures of the same run.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from benchmarks import control, engines, gradients, joint, loop, prepared, small_motions, stiff
from numpy.typing import NDArray
from rich.progress import track
from scipy.integrate import solve_ivp

from linkwork import __version__
from linkwork.comparison.compare import compare
from linkwork.compiled.system import System, compile_system, repetitions
from linkwork.constraints.projection import of_system, project_start
from linkwork.driven.inverse import inverse
from linkwork.driven.kinematics import kinematics
from linkwork.equations.body import body_equations
from linkwork.equations.place import Place
from linkwork.formulations import usual_formulations
from linkwork.integrators.integrate import Problem, Settings, State, report_times
from linkwork.integrators.methods.tableaus import DOP853
from linkwork.modelfile import load
from linkwork.native.kernels import Pointer, call, kernel
from linkwork.simulation.simulate import simulate
from linkwork.start.closing import find_start

Array = NDArray[np.float64]
MECHANISMS = ("simple_pendulum", "slider_crank", "four_bar", "n_four_bar", "andrews_squeezer")
CHAINS = {"planar_chain": (16, 64, 256), "spatial_chain": (8, 16, 32, 64)}


@kernel
def repeat(f: int, x: Pointer, p: Pointer, y: Pointer, w: Pointer, n: int) -> None:
    for _ in range(n):
        call(f, x, p, y, w)


def compiled(name: str) -> tuple[System, Array, Array, float]:
    """The system, its p, its start state, and the seconds of the processor from model to machine code, cache empty."""
    with tempfile.TemporaryDirectory() as empty:
        kept = os.environ.get("LINKWORK_CACHE_DIR")
        os.environ["LINKWORK_CACHE_DIR"] = empty
        model = load(name)
        began = process_time()
        equations = body_equations(model)
        start = find_start(Place(equations, *equations.start()))
        system = compile_system(equations)
        seconds = process_time() - began
        del os.environ["LINKWORK_CACHE_DIR"]
        if kept is not None:
            os.environ["LINKWORK_CACHE_DIR"] = kept
    p = system.p(start.place, given={"repetitions": repetitions(start.place.rank.smallest)})
    return system, p, project_start(system, p, start.place), seconds


def evaluation_ns(system: System, p: Array, y: Array) -> float:
    f, x = system.functions["derivative"], np.concatenate([[0.0], y])
    out, w = np.empty(f.outputs), np.empty(max(f.work, 1))
    n = max(50, int(2e7 / len(y) / 20))
    repeat(f.address, x, p, out, w, 10)
    best = np.inf
    for _ in range(7):
        began = perf_counter()
        repeat(f.address, x, p, out, w, n)
        best = min(best, (perf_counter() - began) / n)
    return 1e9 * best


def integration_ms(system: System, p: Array, y: Array, t_end: float, step: float, rtol: float) -> tuple[float, Any]:
    f = system.functions["derivative"]
    onto = of_system(system)
    times, settings = report_times(0.0, t_end, step), Settings(rtol, rtol)
    best, last = np.inf, None
    for _ in range(15):
        began = perf_counter()
        last = State(Problem(f, len(y), DOP853, onto, len(y) - 2), p, y, times, settings)
        last.advance(10**9)
        best = min(best, perf_counter() - began)
    return 1e3 * best, last


def slider_crank_by_numpy(t: float, y: Array) -> Array:
    """The same nine coordinates and eight constraints as the model file, written out for NumPy."""
    q, v = y[:9], y[9:]
    (c1, c2), (s1, s2) = np.cos(q[[2, 5]]), np.sin(q[[2, 5]])
    w1, w2 = v[2] ** 2, v[5] ** 2
    J = np.zeros((8, 9))
    J[0, [0, 2]] = 1.0, 0.5 * s1
    J[1, [1, 2]] = 1.0, -0.5 * c1
    J[2, [0, 2, 3, 5]] = -1.0, 0.5 * s1, 1.0, s2
    J[3, [1, 2, 4, 5]] = -1.0, -0.5 * c1, 1.0, -c2
    J[4, [3, 5, 6]] = -1.0, s2, 1.0
    J[5, [4, 5, 7]] = -1.0, -c2, 1.0
    J[6, 7] = 1.0
    J[7, 8] = 1.0
    gamma = np.array(
        [-0.5 * c1 * w1, -0.5 * s1 * w1, -0.5 * c1 * w1 - c2 * w2, -0.5 * s1 * w1 - s2 * w2, -c2 * w2, -s2 * w2, 0, 0]
    )
    m = np.array([1.0, 1.0, 4.5, 1.0, 1.0, 5.5, 2.0, 2.0, 1.0])
    Q = -9.8 * m
    Q[[0, 2, 3, 5, 6, 8]] = 0.0
    K = np.zeros((17, 17))
    K[:9, :9] = np.diag(m)
    K[9:, :9] = J
    K[:9, 9:] = J.T
    return np.concatenate([v, np.linalg.solve(K, np.concatenate([Q, gamma]))[:9]])


def process_seconds(*arguments: str) -> float:
    best = np.inf
    for _ in range(4):
        began = perf_counter()
        subprocess.run([sys.executable, "-m", "linkwork", *arguments], check=True, capture_output=True)
        best = min(best, perf_counter() - began)
    return best


def main() -> None:
    lines = [
        "# Speed",
        "",
        f"Made by `make bench` on {date.today()} with linkwork {__version__} and Python {platform.python_version()} on",
        f"{platform.processor() or platform.machine()}: one core, wall clock, best of several repetitions.",
        "An evaluation is the whole right-hand side: kinematics, forces, factorization and solution.",
        "",
        *engines.section(),
        "## Evaluation and compilation",
        "",
        "| mechanism | coordinates | constraints | operations | evaluation, ns | compile, s | per operation, us |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    systems = {}
    names = [*MECHANISMS, *(f"{chain}:{n}" for chain, sizes in CHAINS.items() for n in sizes)]
    for name in track(names, "evaluation"):
        system, p, y, seconds = compiled(name)
        operations = system.functions["dynamics"].operations
        all_operations = sum(f.operations for f in system.functions.values()) - operations
        systems[name] = (system, p, y)
        ns = evaluation_ns(system, p, y)
        lines.append(
            f"| {name} | {system.n_q} | {system.m} | {operations} | {ns:.0f} | {seconds:.2f} | "
            f"{1e6 * seconds / all_operations:.0f} |"
        )
    lines += ["", "## Growth of chains", "", "| chain | links | evaluation per link, ns |", "| --- | --- | --- |"]
    for chain, sizes in CHAINS.items():
        lines += [f"| {chain} | {n} | {evaluation_ns(*systems[f'{chain}:{n}']) / n:.0f} |" for n in sizes]

    lines += [
        "",
        "## Time to accuracy: slider-crank as three bodies, 20 s, projection after every step",
        "",
        "| rtol | integration, ms | with 2,000 report rows, ms | error of the crank angle |",
        "| --- | --- | --- | --- |",
    ]
    system, p, y = systems["slider_crank"]
    crank = system.equations.q_names.index("crank.phi")
    ours = {}
    for rtol in track((1e-6, 1e-9, 1e-12), "integration"):
        ours[rtol], last = integration_ms(system, p, y, 20.0, 20.0, rtol)
        with_rows, _ = integration_ms(system, p, y, 20.0, 0.01, rtol)
        error = abs(last.y[crank] + 0.33360668174476293)
        lines.append(f"| {rtol:.0e} | {ours[rtol]:.2f} | {with_rows:.2f} | {error:.1e} |")
    began = perf_counter()
    other = solve_ivp(slider_crank_by_numpy, (0.0, 20.0), y[:18], method="DOP853", rtol=1e-9, atol=1e-9)
    scipy_ms = 1e3 * (perf_counter() - began)
    lines += [
        "",
        f"The same equations in SciPy's DOP853 with a NumPy right-hand side at rtol 1e-9, without projection: "
        f"{scipy_ms:.0f} ms, {scipy_ms / ours[1e-9]:.0f} times ours (error of the crank angle "
        f"{abs(other.y[2, -1] + 0.33360668174476293):.1e}).",
        "",
        "## Formulations: redundant_24 (24 coordinates, 24 rows of rank 22), one evaluation of the right-hand side",
        "",
        "| formulation | microseconds | times augmented |",
        "| --- | --- | --- |",
    ]
    model = load("redundant_24")
    costs = {}
    for name in track(usual_formulations(), "formulations"):
        costs[name] = 1e6 * min(simulate(model, formulation=name).info.evaluation_s for _ in range(5))
    lines += [f"| {name} | {cost:.2f} | {cost / costs['augmented']:.1f} |" for name, cost in costs.items()]

    lines += [
        *loop.report(),
        *joint.report(),
        *prepared.report(),
        *small_motions.report(),
        *stiff.report(),
        *control.report(),
        *gradients.report(),
    ]
    lines += ["", "## Whole runs", "", "| what | seconds |", "| --- | --- |"]
    motion = simulate(load("andrews_squeezer"), t_end=0.05, rtol=1e-9, atol=1e-9)
    lines.append(f"| andrews_squeezer, 0.05 s at rtol 1e-9, integration | {motion.info.integration_s:.4f} |")
    motion = simulate(load("n_four_bar"), t_end=10.0)
    lines.append(f"| n_four_bar, 10 s at rtol 1e-9, integration | {motion.info.integration_s:.4f} |")
    driven = load("warsaw_problem12")
    seconds = min(kinematics(driven).info.wall_s for _ in range(5))
    lines.append(f"| warsaw_problem12, kinematics at 501 instants with all outputs | {seconds:.4f} |")
    robot = load("stewart_platform")
    told = kinematics(robot, step=robot.simulation.t_end / 1000)
    seconds = min(inverse(robot, motion=told).info.wall_s for _ in range(5))
    lines.append(f"| stewart_platform, forces of the legs at 1,001 instants with all outputs | {seconds:.4f} |")
    began = perf_counter()
    compare(load("slider_crank"))
    lines.append(f"| `compare slider_crank`, all formulations, compiled before | {perf_counter() - began:.1f} |")
    lines.append(f"| process `linkwork run slider_crank` | {process_seconds('run', 'slider_crank'):.2f} |")
    lines.append(f"| process `linkwork --help` | {process_seconds('--help'):.2f} |")
    text = "\n".join(lines) + "\n"
    Path(__file__).parent.parent.joinpath("docs", "benchmarks.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
