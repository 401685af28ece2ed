"""Random planar mechanisms against SciPy: no run is wrong and says nothing.

`python tests/random_runs.py 500` (the target `make trust`) makes mechanisms of random sizes over six decades, open,
closed and redundant, with pulses, tables and contacts as formulas, runs half of them by another formulation,
integrator or set of coordinates, and integrates their equations M a + Psi_q^T lam = Q
a second time: terms from machine code, the linear system by least squares, DOP853 of SciPy at 1e-12 with short steps.
It prints a table of outcomes; a slice is in simulation/test_judgement.py. A case is known by seed and number alone:
`python tests/random_runs.py 1 --seed 3 --first 47` has it again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from random_mechanisms import Random, rotation
from scipy.integrate import solve_ivp

from linkwork.compiled.mechanism import prepare
from linkwork.equations.programs import TERMS
from linkwork.errors import LinkworkError
from linkwork.formulations import usual_formulations
from linkwork.model import Model
from linkwork.modelfile import loads
from linkwork.simulation.simulate import simulate
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]

TOLERANCES = (1e-6, 1e-8, 1e-10)
ALLOWED = 1e4  # times rtol: what a run may be off without a word
LEAST_STEPS = 500  # of the second opinion
REFERENCE_RTOL = 1e-12
MOST_CALLS = 200_000  # of the right-hand side in one second opinion
ALARMS = ("energy-balance", "acceleration-residual", "singular-position", "atol-size", "grazing")  # of a motion
# Of the length, or of the speed: a second opinion is off its constraints by 1e-13, and by more where it has passed a
# singular position, behind which it may be on its way into another branch.
DRIFTED = 1e-11
WAYS: tuple[dict[str, str], ...] = (  # but for half of the runs, which take what linkwork does by itself
    *({"formulation": name} for name in usual_formulations()),
    *({"formulation": name, "integrator": "radau5"} for name in ("augmented", "index-3", "ggl")),
    *({"coordinates": name} for name in ("joint", "minimal")),
    {"integrator": "dopri5"},
)
KINDS = ("open", "cart", "four-bar", "six-bar", "slider-crank", "parallelogram", "doubled")


class Links:
    """Bars between points of the plane; whatever meets at a point is pinned there."""

    def __init__(self, rng: Random, length: float, mass: float) -> None:
        self.rng, self.length, self.mass = rng, length, mass
        self.places: dict[str, Array] = {}
        self.at: dict[str, list[str]] = {}
        self.bodies: dict[str, Any] = {}
        self.ground: dict[str, Any] = {}
        self.joints: dict[str, Any] = {}

    def point(self, name: str, place: Array, on_ground: bool = False) -> None:
        self.places[name] = place
        self.at[name] = ["ground"] if on_ground else []
        if on_ground:
            self.ground[name] = place.tolist()

    def body(self, name: str, *points: str) -> None:
        """A body through these points, its mass centre near their middle, turned anyhow."""
        rng, places = self.rng, np.array([self.places[point] for point in points])
        reach = max(float(np.max(np.linalg.norm(places - places[0], axis=1))), 0.3 * self.length)
        centre = places.mean(axis=0) + 0.1 * reach * rng.uniform(-1, 1, 2)
        angle, mass = float(rng.uniform(-3, 3)), float(self.mass * rng.uniform(0.3, 3.0))
        own = {
            point: ((place - centre) @ rotation(angle)).tolist() for point, place in zip(points, places, strict=True)
        }
        self.bodies[name] = {
            "mass": mass,
            "inertia": mass * reach**2 * float(rng.uniform(0.05, 0.3)),
            "position": centre.tolist(),
            "angle": angle,
            "points": own,
        }
        for point in points:
            if self.at[point]:
                first = self.at[point][0]
                self.joints[f"{point}{len(self.at[point])}"] = {
                    "type": "revolute",
                    "i": f"{first}.{point}",
                    "j": f"{name}.{point}",
                }
            self.at[point].append(name)


def step(rng: Random, length: float) -> Array:
    """A way of about this length in any direction."""
    angle = rng.uniform(-np.pi, np.pi)
    return np.asarray(length * rng.uniform(0.5, 1.5) * np.array([np.cos(angle), np.sin(angle)]))


def mechanism(rng: Random) -> tuple[dict[str, Any], float, float]:
    """A model file as data, its length and its time."""
    length, mass = 10.0 ** rng.uniform(-3, 3), 10.0 ** rng.uniform(-3, 3)
    time = float(np.sqrt(length / 9.81))
    links, kind = Links(rng, length, mass), str(rng.choice(KINDS))
    origin = length * rng.uniform(-1, 1, 2)
    links.point("A", origin, on_ground=True)
    names = "BCDEF"
    if kind in ("open", "cart"):
        before = "A"
        if kind == "cart":
            links.at["A"] = []
            links.body("cart", "A")
            links.ground["A"] = origin.tolist()
            links.joints["rail"] = {
                "type": "prismatic",
                "i": "ground.A",
                "j": "cart.A",
                "axis": step(rng, 1.0).tolist(),
            }
        for k in range(int(rng.integers(1, 4))):
            links.point(names[k], links.places[before] + step(rng, length))
            links.body(f"link{k}", before, names[k])
            before = names[k]
    elif kind == "parallelogram":
        across, up = step(rng, length), step(rng, length)
        for k, name in enumerate("BC"):
            links.point(name, origin + (k + 1) * across * rng.uniform(0.6, 1.0), on_ground=True)
        for name, top in zip("ABC", "DEF", strict=True):
            links.point(top, links.places[name] + up)
            links.body(f"crank{name}", name, top)
        links.body("coupler", "D", "E", "F")
    else:
        links.point("B", origin + step(rng, length))
        links.point("C", links.places["B"] + step(rng, length))
        links.body("crank", "A", "B")
        if kind in ("slider-crank", "doubled"):
            links.point("D", links.places["C"] + step(rng, length))
            links.body("rod", "B", "C")
            links.body("slider", "C", "D")
            links.ground["G"] = links.places["D"].tolist()
            axis = step(rng, 1.0).tolist()
            links.joints["slide"] = {"type": "prismatic", "i": "ground.G", "j": "slider.D", "axis": axis}
            if kind == "doubled":
                links.joints["again"] = {"type": "point-on-line", "i": "ground.G", "j": "slider.D", "axis": axis}
        else:
            links.point("D", links.places["C"] + step(rng, length), on_ground=True)
            if kind == "six-bar":
                links.point("E", links.places["C"] + step(rng, length))
                links.point("F", links.places["E"] + step(rng, length))
                links.point("G", links.places["F"] + step(rng, length), on_ground=True)
            links.body("coupler", "B", "C", *(("E",) if kind == "six-bar" else ()))
            links.body("rocker", "C", "D")
            if kind == "six-bar":
                links.body("link", "E", "F")
                links.body("rocker2", "F", "G")
    t_end = time * float(rng.uniform(1.0, 4.0))
    forces = {f"f{k}": force(rng, links, length, time, t_end, k) for k in range(int(rng.integers(1, 4)))}
    if kind == "open":
        links.bodies["link0"]["angular_velocity"] = float(rng.uniform(-2, 2) / time)
    data = {
        "linkwork": 1,
        "name": kind,
        "ground": {"points": links.ground},
        "bodies": links.bodies,
        "joints": links.joints,
        "forces": forces,
        "simulation": {"t_end": t_end, "step": t_end / int(rng.integers(20, 200))},
    }
    if kind == "cart" and rng.random() < 0.5:
        times = np.linspace(0, t_end, 6)
        values = [0.0, *(0.3 * length * rng.uniform(-1, 1, 5))]
        data["drivers"] = {
            "hand": {
                "joint": "rail",
                "motion": {"type": "table", "times": times.tolist(), "values": [float(x) for x in values]},
            }
        }
    return data, length, time


def force(rng: Random, links: Links, length: float, time: float, t_end: float, k: int) -> dict[str, Any]:
    """A pulse, a spring, a contact as a formula, or a resistance that turns with the speed."""
    weight = 9.81 * links.mass
    body = str(rng.choice(list(links.bodies)))
    point = str(rng.choice(list(links.bodies[body]["points"])))
    at = f"{body}.{point}"
    match int(rng.integers(4)):
        case 0:
            begin, width = rng.uniform(0, 0.9) * t_end, 10.0 ** rng.uniform(-2, -0.7) * t_end
            size = weight * rng.uniform(1, 5)
            law = f"if(t < {begin!r}, 0, if(t < {begin + width!r}, {size!r}, 0))"
            return {"type": "point-force", "at": at, "force": [law, 0]}
        case 1:
            anchor = f"S{k}"
            links.ground[anchor] = (links.places[point] + step(rng, length)).tolist()
            stiffness = weight / length * rng.uniform(2, 30)
            spring = {"stiffness": stiffness, "damping": 0.05 * stiffness * time, "free_length": 0.5 * length}
            return {"type": "spring-damper", "i": f"ground.{anchor}", "j": at, **spring}
        case 2:
            below = float(links.places[point][1] - length * rng.uniform(0.1, 0.6))
            stiffness = weight / length * 10.0 ** rng.uniform(1, 3)
            law = f"{stiffness!r}*max(0, {below!r} - {at}.y)"
            return {"type": "point-force", "at": at, "force": [0, law]}
        case _:
            drag = weight * time / length * rng.uniform(0.1, 1)
            law = [f"-{drag!r}*abs({at}.vx)*{at}.vx*{time / length!r}", f"-{drag!r}*{at}.vy"]
            return {"type": "point-force", "at": at, "force": law}


def second_opinion(model: Model, motion: Trajectory) -> tuple[Array, float] | None:
    """q and v at the report times by SciPy, and how far it is off the constraints in the end; None if it gives up."""
    system = prepare(model).system(TERMS)
    terms, n_q, n, m = system.functions["terms"], system.n_q, system.n_v, system.m
    p, place = system.p(), system.start()
    scale = np.concatenate([1.0 / np.sqrt(np.diag(place.M)), np.ones(m)])
    scale[n:] = 1.0 / np.maximum(np.linalg.norm(place.Psi_q * scale[:n], axis=1), 1e-300)

    calls = 0

    def rates(t: float, y: Array) -> Array:
        nonlocal calls
        calls += 1
        if calls > MOST_CALLS:
            raise TimeoutError
        M, J, Q, gamma = np.split(terms(np.concatenate([[t], y]), p), np.cumsum([n * n, m * n, n]))
        J = J.reshape(m, n)
        K = np.block([[M.reshape(n, n), J.T], [J, np.zeros((m, m))]]) * scale * scale[:, None]
        x = np.linalg.lstsq(K, scale * np.concatenate([Q, gamma]), rcond=1e-11)[0] * scale
        return np.concatenate([y[n_q:], x[:n]])

    begin = np.concatenate([motion.q[0], motion.v[0]])
    t_end = motion.t[-1]
    sizes = np.concatenate([place.q_scale, place.v_scale * np.maximum(1.0, np.max(np.abs(motion.v)) / place.length)])
    how = {"rtol": REFERENCE_RTOL, "atol": 1e-13 * sizes, "max_step": t_end / LEAST_STEPS}
    try:
        found = solve_ivp(rates, (0.0, t_end), begin, "DOP853", motion.t, **how)
    except TimeoutError:
        return None
    if not found.success:
        return None
    last = np.concatenate([[t_end], found.y[:, -1]])
    Psi, Psi_dot = np.split(system.functions["constraints"](last, p)[: 2 * m], 2)
    fastest = np.max(np.abs(found.y[n_q:, -1] / place.v_scale)) + 1.0 / t_end
    left = np.maximum(np.abs(Psi), np.abs(Psi_dot) / fastest) / place.row_scale
    return np.asarray(found.y.T), float(np.max(left, initial=0.0))


class Case(NamedTuple):
    outcome: str
    kind: str
    rtol: float
    way: str
    error: float  # by rtol
    said: str


def run(seed: int, number: int) -> Case:
    """What became of one random mechanism."""
    rng = np.random.default_rng([seed, number])
    data, length, time = mechanism(rng)
    rtol = float(rng.choice(TOLERANCES))
    how = {} if rng.random() < 0.5 else WAYS[rng.integers(len(WAYS))]
    kind, way, model = str(data["name"]), " ".join(how.values()), loads(json.dumps(data))
    try:
        motion = simulate(model, rtol=rtol, **how)
    except LinkworkError as error:
        return Case("refused or stopped", kind, rtol, way, np.nan, str(error))
    opinion = second_opinion(model, motion)
    if opinion is None:
        return Case("no second opinion", kind, rtol, way, np.nan, "")
    other, left = opinion
    n = motion.q.shape[1]
    shift = np.array([not label.endswith("phi") for label in motion.tables["q"].columns.labels])
    sizes = np.where(shift, length, 1.0)
    fast = max(1.0 / time, float(np.max(np.abs(other[:, n:]) / sizes)))
    error = max(
        float(np.max(np.abs(motion.q - other[:, :n]) / sizes)),
        float(np.max(np.abs(motion.v - other[:, n:]) / sizes)) / fast,
    )
    said = "; ".join(note for note in motion.info.notes if any(f"[{code}]" in note for code in ALARMS))
    is_right = error <= ALLOWED * rtol
    if not is_right and left > DRIFTED:
        return Case("no second opinion", kind, rtol, way, error / rtol, said)
    outcome = ("right" if is_right else "wrong") + (", with a note" if said else "")
    return Case("WRONG AND SILENT" if outcome == "wrong" else outcome, kind, rtol, way, error / rtol, said)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    print(f"seed {given.seed}")
    cases = []
    numbers = range(given.first, given.first + given.count)
    # A worker keeps the code of many structures, so it is replaced now and then.
    with get_context("spawn").Pool(given.jobs, maxtasksperchild=40) as pool:
        for number, case in zip(numbers, pool.imap(partial(run, given.seed), numbers), strict=True):
            cases.append(case)
            if not case.outcome.startswith("right"):
                said = f"{number}: {case.kind}, rtol {case.rtol:g} {case.way}: {case.outcome}"
                print(f"{said}, error {case.error:.2g} rtol {case.said}", flush=True)
    outcomes = sorted({case.outcome for case in cases})
    print("\n| mechanism | " + " | ".join(outcomes) + " |\n| --- |" + " --- |" * len(outcomes))
    for kind in (*KINDS, "all"):
        counted = Counter(case.outcome for case in cases if kind in (case.kind, "all"))
        print(f"| {kind} | " + " | ".join(str(counted[outcome]) for outcome in outcomes) + " |")
    errors = [case.error for case in cases if case.outcome.startswith("right")]
    if errors:
        print(f"\nlargest error of those right: {max(errors):.3g} rtol, median {np.median(errors):.3g} rtol")
    return int(any(case.outcome == "WRONG AND SILENT" for case in cases))


if __name__ == "__main__":
    sys.exit(main())
