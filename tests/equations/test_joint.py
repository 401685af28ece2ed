"""Joint coordinates beside body coordinates: the same motion, accelerations and reactions by other equations."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from random_mechanisms import Random, fitting, fitting_in_space, force, planar_body, random_mechanism, spatial_body
from slices import with_slow

from linkwork import Coordinates, Model, Start, load, loads, prepare
from linkwork.driven.kinematics import kinematics
from linkwork.elements.bodies import Ground
from linkwork.elements.forces import FORCES
from linkwork.elements.joints import JOINTS
from linkwork.elements.kinds import Space
from linkwork.elements.paths import PATHS
from linkwork.equations.place import Place
from linkwork.errors import ModelError, UsageError
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import symbol
from linkwork.formulations import usual_formulations
from linkwork.integrators.methods import integrators
from linkwork.lecture.listing import write_down
from linkwork.mechanisms.generators import planar_chain
from linkwork.modelfile import MECHANISMS, shipped
from linkwork.sequences.articulated import Link, Tree, articulate
from linkwork.simulation.simulate import simulate
from linkwork.start.by_joints import place_joints
from linkwork.start.check import check
from linkwork.start.closing import align_velocity, approach, restart
from linkwork.view.listing import FORMATS

KINDS = [(space, name) for space in JOINTS for name, kind in JOINTS[space].items() if kind in PATHS]


def solve(place: Place) -> tuple[Any, Any]:
    """Accelerations and multipliers by a dense solution, rows scaled; of dependent rows the least multipliers."""
    n, m = len(place.v), len(place.Psi)
    K = np.block([[place.M, place.Psi_q.T], [place.Psi_q, np.zeros((m, m))]])
    size = np.sqrt(np.maximum(np.max(np.abs(K), axis=1), 1e-12))
    right = np.concatenate([place.Q, place.gamma]) / size
    found = np.linalg.lstsq(K / size[:, None] / size, right, rcond=1e-12)[0] / size
    return found[:n], found[n:]


def check_beside_bodies(model: Model, rng: Random, far: float = 0.3, coordinates: str = "joint") -> None:
    """At a random state on the constraints the equations of the joints and of the bodies say the same."""
    if model.stated:
        pytest.skip("there are no bodies")
    if model.states:
        pytest.skip("forces depend on states, which are no coordinates of bodies; see the path below")
    place = prepare(model, coordinates).place()
    if coordinates == "minimal":
        place = restart(place, any_distance=True)
    e = place.equations
    place = place.moved(far * place.v_scale * rng.uniform(-1.0, 1.0, len(place.v)))
    place = place.at_velocity(place.v + place.v_scale * rng.uniform(-1.0, 1.0, len(place.v)))
    if len(place.Psi):
        place = align_velocity(approach(place, "unit"), "unit")
    q, v = place.of_bodies()
    assert e.chart.body is not None
    bodies = Place(e.chart.body.with_values(e.parameters), q, v)
    np.testing.assert_allclose(bodies.Psi, 0.0, atol=1e-9 * bodies.length)
    speed = 1.0 + np.max(np.abs(v))
    np.testing.assert_allclose(bodies.Psi_dot, 0.0, atol=1e-9 * speed * max(1.0, bodies.length))

    theta, theta_d = (np.array(evaluate(own, bodies.values)) for own in e.chart.from_body)
    angles = np.array([c.kind == "angle" for c in e.coordinates])
    apart = np.where(angles, np.angle(np.exp(1j * (theta - place.q))), theta - place.q)
    turned = np.array([c.kind == "number" for c in e.coordinates])  # Euler parameters, of two signs
    np.testing.assert_allclose(np.where(turned, np.abs(theta) - np.abs(place.q), apart), 0.0, atol=1e-9)
    np.testing.assert_allclose(theta_d, place.v, atol=1e-9 * speed)

    a, lam = solve(place)
    known = {**place.values, **dict(zip((*e.a, *e.lam), (*a, *lam), strict=True))}
    a_b, lam_b = solve(bodies)
    found = evaluate([x.expression for x in e.outputs["a"].values()], known)
    np.testing.assert_allclose(found, a_b, rtol=1e-8, atol=1e-8 * (1.0 + np.max(np.abs(a_b))))
    if bodies.rank.rank == len(bodies.Psi):
        b = bodies.equations
        known_b = {**bodies.values, **dict(zip((*b.a, *b.lam), (*a_b, *lam_b), strict=True))}
        for kind in ("points", "reactions", "driving"):
            mine, theirs = (
                np.array(evaluate([x.expression for x in eq.outputs[kind].values()], at))
                for eq, at in ((e, known), (b, known_b))
            )
            assert list(e.outputs[kind]) == list(b.outputs[kind])
            np.testing.assert_allclose(mine, theirs, atol=1e-7 * (1.0 + np.max(np.abs(theirs), initial=0.0)))


@pytest.mark.diagonal
@pytest.mark.parametrize("walk", ["on", "back", "grounded"])
@pytest.mark.parametrize(("space", "name"), KINDS)
def test_a_joint_carries_its_body_as_its_constraints_say(space: Space, name: str, walk: str, rng: Random) -> None:
    """Onwards from body i, back from body j, from the ground; the carrier floats; forces act, onwards all kinds."""
    new, fit = (planar_body, fitting) if space == "planar" else (spatial_body, fitting_in_space)
    ground, carrier, body = Ground(), new("carrier", rng), new("body", rng)
    kind = JOINTS[space][name]
    hung: Any = {
        "on": lambda: fit(kind, "J", carrier, body, rng),
        "back": lambda: fit(kind, "J", body, carrier, rng),
        "grounded": lambda: fit(kind, "J", body, ground, rng),
    }[walk]()
    gravity = (1.3, -9.81, 0.7)[: 2 + (space == "spatial")]
    # A joint of the list comes first in the tree, and then the carrier floats.
    forces = [
        force(own, f"F{k}", [carrier, body], rng)
        for k, own in enumerate(FORCES[space].values())
        if "joint" not in own.__dataclass_fields__
    ]
    acting = forces if walk == "on" else forces[:3]
    model = Model("hung", (carrier, body), (hung,), (), tuple(acting), gravity, ground=ground, space=space)
    check_beside_bodies(model, rng)


def test_a_random_mechanism_with_loops_and_drivers_moves_alike(rng: Random) -> None:
    """All planar joints, forces and drivers at once, whatever tree is found."""
    check_beside_bodies(random_mechanism(rng), rng, far=0.02)


@pytest.mark.parametrize("name", with_slow(shipped()))
@pytest.mark.sampled
def test_a_shipped_mechanism_moves_alike(name: str, rng: Random) -> None:
    """At a random state near its start."""
    check_beside_bodies(load(name), rng, far=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_a_shipped_mechanism_follows_the_same_path(name: str) -> None:
    """Five seconds, or its own span, or half a second of contacts, each of which multiplies errors by about ten."""
    model = load(name)
    if model.stated:
        pytest.skip("there are no bodies")
    t_end = min(0.5 if prepare(model).equations.events else 5.0, model.simulation.t_end)
    how = {"t_end": t_end, "step": t_end / 100, "rtol": 1e-12, "atol": 1e-13}
    body, joint = (simulate(model, **how, coordinates=kind) for kind in ("body", "joint"))
    assert joint.info.coordinates == "joint"
    np.testing.assert_allclose(joint.q, body.q[:, : joint.q.shape[1]], rtol=0.0, atol=1e-8)
    for state in model.states:
        np.testing.assert_allclose(joint[f"state:{state.name}"], body[f"state:{state.name}"], rtol=0.0, atol=1e-8)
    if body.info.redundant == 0:
        # In a singular position reactions are not unique, and nearby they are known to fewer digits.
        far = np.all(
            [np.abs(body.t - x.t) > 0.1 for x in body.info.singular_positions] or [[True] * len(body.t)], axis=0
        )
        theirs, mine = (motion.tables["reactions"].values[far] for motion in (body, joint))
        np.testing.assert_allclose(mine, theirs, rtol=0.0, atol=1e-7 * (1.0 + np.max(np.abs(theirs), initial=0.0)))


ANALYSES = ("slider_crank_driven", "spatial_four_link", "warsaw_problem12")


@pytest.mark.parametrize("name", ANALYSES)
@pytest.mark.sampled
def test_a_driven_mechanism_is_moved_alike(name: str) -> None:
    """Positions, velocities, accelerations, driving forces, reactions and work, which alone is integrated."""
    model = load(name)
    model = replace(model, simulation=model.simulation.changed(rtol=1e-11))
    body, joint = (kinematics(model, t_end=0.5, step=0.05, coordinates=kind) for kind in ("body", "joint"))
    for kind in ("q", "v", "a", "driving", "reactions", "energy"):
        theirs, mine = body.tables[kind].values, joint.tables[kind].values
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9 * (1.0 + np.max(np.abs(theirs), initial=0.0)))


def test_theta_is_the_angle_of_the_pin_and_what_is_given_by_its_name_holds() -> None:
    """theta, theta_d and theta_dd are in the results; start values may be those of joints or of bodies."""
    model = load("double_pendulum")
    motion = simulate(model, coordinates="joint", t_end=0.2, step=0.02, start={"theta:A": 0.4, "O_d": 0.3})
    np.testing.assert_allclose(motion["theta:O"], motion["upper.phi"], atol=1e-12)
    for mine, theirs in (("theta", "phi"), ("theta_d", "omega"), ("theta_dd", "alpha")):
        apart = motion[f"lower.{theirs}"] - motion[f"upper.{theirs}"]
        np.testing.assert_allclose(motion[f"{mine}:A"], apart, atol=1e-9)
    assert (motion["theta:A"][0], motion["theta_d:O"][0]) == pytest.approx((0.4, 0.3), abs=1e-12)
    start = Start({"lower.phi": 0.02}, assemble=True, keep=["lower.phi"])
    turned = simulate(model, coordinates="joint", t_end=0.2, start=start)
    assert turned["lower.phi"][0] == pytest.approx(0.02, abs=1e-12)


def test_an_open_chain_has_no_constraints_and_a_cut_takes_a_joint_out_of_the_tree() -> None:
    """Of the slider-crank any one of its four joints may close the loop; the motion is the same."""
    model = load("slider_crank")
    assert check(load("double_pendulum"), coordinates="joint").constraints == 0
    expected = simulate(model, t_end=0.5, step=0.1, rtol=1e-11, atol=1e-12).q
    for joint in model.joints:
        report = check(model, coordinates=Coordinates("joint", cut=[joint.name]))
        assert (report.coordinates, report.constraints, report.dof) == (3, 2, 1)
        motion = simulate(
            model, coordinates=Coordinates("joint", cut=[joint.name]), t_end=0.5, step=0.1, rtol=1e-11, atol=1e-12
        )
        assert {row.split(".")[0] for row in motion.rows} == {joint.name}
        np.testing.assert_allclose(motion.q, expected, atol=1e-9)


def test_start_values_that_miss_the_joints_are_corrected_alike() -> None:
    """Bodies a little off their joints start in joint coordinates where they start in body coordinates."""
    text = """
linkwork: 1
ground: {points: {O: [0, 0], S: [0, 0.02]}}
bodies:
  crank: {mass: 1, inertia: 0.1, position: [0.24, 0.01], angular_velocity: 2, points: {O: [-0.25, 0], A: [0.25, 0]}}
  rod: {mass: 2, inertia: 0.3, position: [1.01, 0.02], points: {A: [-0.5, 0], B: [0.5, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: crank.O}
  A: {type: revolute, i: rod.A, j: crank.A}
  S: {type: point-on-line, i: ground.S, j: rod.B, axis: [1, 0]}
simulation: {t_end: 0.5, step: 0.1, rtol: 1.0e-11, atol: 1.0e-12}
"""
    body, joint = (
        simulate(loads(text), coordinates=kind, start=Start(keep=["crank.phi"])) for kind in ("body", "joint")
    )
    assert abs(body["crank.x"][0] - 0.24) > 1e-4
    np.testing.assert_allclose(joint.q, body.q, atol=1e-9)
    np.testing.assert_allclose(joint.v, body.v, atol=1e-9)


def test_a_motion_in_joint_coordinates_is_resumed_and_kept_in_files(tmp_path: Any) -> None:
    """All tables come back; half a motion goes on as the whole."""
    model = load("four_bar")
    whole = simulate(model, coordinates="joint", t_end=0.4, step=0.1)
    half = simulate(model, coordinates="joint", t_end=0.2, step=0.1)
    for suffix in (".nc", ".csv"):
        half.save(tmp_path / f"half{suffix}")
        read = type(half).load(tmp_path / f"half{suffix}")
        assert read.tables.keys() == half.tables.keys()
        again = simulate(model, coordinates="joint", t_end=0.4, step=0.1, start=Start(resume=read))
        np.testing.assert_allclose(again.tables["theta"].values, whole.tables["theta"].values, atol=1e-8)


def closed_chain(N: int) -> Model:
    """A hanging chain whose last link has a pin on the ground too, at 0.8 of its length."""
    document = planar_chain(N)
    angle = np.arccos(0.8)  # a zigzag
    for k, body in enumerate(document["bodies"].values()):
        sign = 1 if k % 2 == 0 else -1
        body |= {"position": [0.8 * (k + 0.5), 0.5 * np.sin(angle)], "angle": float(sign * angle)}
        body["points"]["C"] = [0.3, 0.1 + 0.01 * k]
    document["parameters"] = {"m": 1.0, "L": 1.0}
    document["ground"]["points"]["E"] = [0.8 * N, 0.0 if N % 2 == 0 else float(np.sin(angle))]
    document["joints"]["end"] = {"type": "revolute", "i": "ground.E", "j": f"link{N - 1}.B"}
    document |= {"about": {}, "simulation": {"t_end": 1, "step": 0.1, "cut": ["end"]}}
    return loads(json.dumps(document))


@pytest.mark.parametrize(
    "make", [lambda: load("planar_chain:14"), lambda: load("spatial_chain:14"), lambda: closed_chain(14)]
)
@pytest.mark.sampled
def test_a_long_chain_is_eliminated_link_by_link_with_the_same_accelerations(make: Any, rng: Random) -> None:
    """Without its full M; machine code against a dense solution with B^T M_b B, at speed, reactions of the pins too."""
    model = make()
    mechanism = prepare(model, "joint")
    e = mechanism.equations
    assert e.hints.chain is not None
    system = mechanism.system()
    place = system.start()
    place = place.moved(0.2 * rng.uniform(-1.0, 1.0, system.n_v)).at_velocity(
        place.v + rng.uniform(-1.0, 1.0, system.n_v)
    )
    if system.m:
        place = align_velocity(approach(place, "unit"), "unit")
    np.testing.assert_allclose(place.M, _full(e, place), rtol=1e-12, atol=1e-12)
    p = system.p(place, given={"repetitions": 2})
    found = system.functions["dynamics"](np.concatenate([[0.0], place.q, place.v, [0.0, 0.0]]), p)
    a, lam = solve(place)
    n = system.n_q + system.n_v
    np.testing.assert_allclose(found[system.n_q : n], a, rtol=1e-9, atol=1e-9 * np.max(np.abs(a)))
    np.testing.assert_allclose(found[n + 2 :], lam, rtol=1e-8, atol=1e-8 * (1.0 + np.max(np.abs(lam), initial=0.0)))
    check_beside_bodies(model, rng, far=0.02)


def _full(e: Any, place: Place) -> Any:
    M = np.zeros((len(e.v), len(e.v)))
    for at, x in zip(e.M, evaluate(e.M.values(), place.values), strict=True):
        M[at] = x
    return M


@pytest.mark.parametrize("m", [0, 2])
def test_elimination_along_a_tree_solves_its_full_system(m: int, rng: Random) -> None:
    """Of a random tree with branches and links of several x, its factor kept or handed on as numbers."""
    sizes, own, parents = 3, [1, 2, 1, 3, 1], [None, 0, 1, 1, 0]
    links, first = [], 0
    for k, parent in enumerate(parents):
        rows = range(sizes * k, sizes * (k + 1))
        X = {
            (i, j): symbol(f"X{i},{j}")
            for i in rows
            for j in (range(3 * parent, 3 * parent + 3) if parent is not None else ())
        }
        H = {(i, first + j): symbol(f"H{i},{first + j}") for i in rows for j in range(own[k])}
        first += own[k]
        links.append(Link(rows, X, H))
    tree = Tree(tuple(links), sizes * len(parents), first)
    M = {(i, j): symbol(f"M{min(i, j)},{max(i, j)}") for link in links for i in link.rows for j in link.rows}
    D = {(i, j): symbol(f"D{i},{j}") for i in range(m) for j in (4, 8, 10, 11, 13)}
    eps = [symbol(f"eps{i}") for i in range(m)]
    factor = articulate(tree, M, D, eps)
    right = [symbol(f"b{k}") for k in range(tree.n + m)]
    at = {x: float(rng.normal()) for x in (*tree.entries(), *D.values(), *right)} | dict.fromkeys(eps, 1e-3)
    dense = np.zeros((tree.n_b, tree.n_b))
    for link in links:
        root = rng.normal(size=(3, 3))
        dense[link.rows.start : link.rows.stop, link.rows.start : link.rows.stop] = root @ root.T
    at |= {x: dense[place] for place, x in M.items()}
    B = np.zeros((tree.n_b, tree.n))
    for i, row in enumerate(tree.B()):
        for j, x in row.items():
            B[i, j] = evaluate([x], at)[0]
    C = np.zeros((m, tree.n_b))
    for place, x in D.items():
        C[place] = at[x]
    K = np.block([[B.T @ dense @ B, (C @ B).T], [C @ B, -1e-3 * np.eye(m)]])
    expected = np.linalg.solve(K, [at[x] for x in right])
    np.testing.assert_allclose(evaluate(factor.solve(right), at), expected, rtol=1e-8)
    kept = [symbol(f"kept {k}") for k in range(len(factor.entries()))]
    handed = at | dict(zip(kept, evaluate(factor.entries(), at), strict=True))
    np.testing.assert_allclose(evaluate(factor.with_entries(kept).solve(right), handed), expected, rtol=1e-8)
    projected = tree.project(M)
    np.testing.assert_allclose(evaluate(projected.values(), at), [(B.T @ dense @ B)[place] for place in projected])
    pivots = [handed[x] for x in kept[: tree.n + m]]
    np.testing.assert_allclose(1.0 / np.prod(pivots), np.linalg.det(K), rtol=1e-8)


def test_auto_takes_the_coordinates_of_fewer_operations_and_says_which() -> None:
    """A chain in those of its joints; a free body in its own, which are as good."""
    assert simulate(load("double_pendulum"), coordinates="auto", t_end=0.1).info.coordinates == "joint"
    assert simulate(load("free_rigid_body"), coordinates="auto", t_end=0.1).info.coordinates == "body"


def values_of(model: Model, letter: str, rng: Random, cut: Any = None) -> tuple[dict[tuple[str, ...], float], Any]:
    """Entries of a matrix as `linkwork equations` writes them, at a random state; theta and theta_d by name."""
    listing = write_down(model, "lagrange", coordinates=Coordinates("joint", cut=cut))
    e = listing.equations
    state = dict(zip((*e.q, *e.v), rng.uniform(0.2, 1.2, 2 * len(e.q)).tolist(), strict=True))
    known = {**e.parameters, **state}
    known |= {arm: evaluate([x], known)[0] for arm, x in listing.arms.items()}
    group = next(group for group in listing.groups if group.letter == letter)
    found = dict(zip(group.entries, evaluate(group.entries.values(), known), strict=True))
    by_name = {**dict(zip(e.q_names, list(state.values()), strict=False))}
    rates = dict(zip(e.v_names, list(state.values())[len(e.q) :], strict=True))
    return {at: x for at, x in found.items() if x != 0.0}, (by_name, rates)


def test_the_sliding_pendulum_has_the_B_of_example_C_1(rng: Random) -> None:
    """B = [u_0 0; 0 0; u_0 d_22; 0 1] with d_22 turned by 90 degrees, and B_dot theta_dot; d_22 = -s of the pin."""
    B, (theta, rate) = values_of(load("dap/sliding_pendulum_jc"), "B", rng)
    d = 0.5 * np.array([np.sin(theta["pin"]), -np.cos(theta["pin"])])
    assert (
        pytest.approx(
            {
                ("slider.x", "guide"): 1.0,
                ("pendulum.x", "guide"): 1.0,
                ("pendulum.x", "pin"): -d[1],
                ("pendulum.y", "pin"): d[0],
                ("pendulum.phi", "pin"): 1.0,
            }
        )
        == B
    )
    rest, (theta, rate) = values_of(load("dap/sliding_pendulum_jc"), "B_dot_v", rng)
    d_dot = 0.5 * rate["pin"] * np.array([np.cos(theta["pin"]), np.sin(theta["pin"])])
    assert rest == pytest.approx({("pendulum.x",): -d_dot[1] * rate["pin"], ("pendulum.y",): d_dot[0] * rate["pin"]})


def test_the_slider_crank_has_the_B_and_C_of_example_C_2(rng: Random) -> None:
    """B = [d_11 0 0; 1 0 0; d_21 d_22 0; 1 1 0; 0 0 u_3; 0 0 0] and C = [d_*1 d_*2 -u_3], -C_dot theta_dot.

    Crank and rod are 0.12 m and 0.26 m long, their mass centres in the middle; the cut is at pin B.
    """
    model = load("dap/slider_crank")

    def arms(theta: Any) -> Any:
        crank, rod = (np.array([np.cos(phi), np.sin(phi)]) for phi in (theta["O"], theta["O"] + theta["A"]))
        return 0.06 * crank, 0.12 * crank + 0.13 * rod, 0.13 * rod, 0.12 * crank + 0.26 * rod, 0.26 * rod

    B, (theta, _) = values_of(model, "B", rng)
    d_11, d_21, d_22, *_ = arms(theta)
    expected = {("crank.phi", "O"): 1.0, ("rod.phi", "O"): 1.0, ("rod.phi", "A"): 1.0, ("slider.x", "guide"): 1.0}
    for body, joint, d in (("crank", "O", d_11), ("rod", "O", d_21), ("rod", "A", d_22)):
        expected |= {(f"{body}.x", joint): -d[1], (f"{body}.y", joint): d[0]}
    assert pytest.approx(expected) == B

    C, (theta, _) = values_of(model, "C", rng)
    *_, d_1, d_2 = arms(theta)
    expected = {("B.x", "guide"): -1.0}
    for joint, d in (("O", d_1), ("A", d_2)):
        expected |= {("B.x", joint): -d[1], ("B.y", joint): d[0]}
    assert pytest.approx(expected) == C

    right, (theta, rate) = values_of(model, "minus_C_dot_v", rng)
    *_, d_1, d_2 = arms(theta)
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    d_2_dot = (rate["O"] + rate["A"]) * turn @ d_2
    d_1_dot = rate["O"] * turn @ (d_1 - d_2) + d_2_dot
    x, y = -turn @ (d_1_dot * rate["O"] + d_2_dot * rate["A"])
    assert right == pytest.approx({("B.x",): x, ("B.y",): y})
    assert any("O -> crank, A -> rod" in note for note in write_down(model, "lagrange", coordinates="joint").notes)


@pytest.mark.parametrize("name", ["slider_crank", "spatial_four_link", "four_bar"])
def test_equations_in_joint_coordinates_are_written_in_all_formats(name: str) -> None:
    """As text with arms, and as functions in which these are put in."""
    listing = write_down(load(name), "lagrange", coordinates="joint")
    for to in ("text", "latex", "markdown", "python", "c"):
        assert FORMATS[to](listing)


def test_events_happen_in_joint_coordinates_as_in_those_of_the_bodies() -> None:
    """A pendulum hits a wall with its tip and a pin opens later; times, velocities and reactions in the laws."""
    text = """
linkwork: 1
ground: {points: {O: [0, 0], W: [0.6, 0]}}
bodies:
  upper: {mass: 1, inertia: 0.1, position: [0.5, 0], points: {O: [-0.5, 0], A: [0.5, 0]}}
  lower: {mass: 0.7, inertia: 0.05, position: [1.4, 0], points: {A: [-0.4, 0], B: [0.4, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: upper.O}
  A: {type: revolute, i: upper.A, j: lower.A}
events:
  wall: {when: lower.B.x + 0.9, direction: falling, action: set, restitution: 0.6}
  heavy: {when: reaction.O.y - 30, action: record}
  loose: {when: t - 0.9, action: set, release: [A]}
simulation: {t_end: 1.2, step: 0.05, rtol: 1.0e-11, atol: 1.0e-12}
"""
    body, joint = (simulate(loads(text), coordinates=kind) for kind in ("body", "joint"))
    assert [*joint.events.names] == [*body.events.names]
    assert {"wall", "heavy", "loose"} <= {*joint.events.names}
    np.testing.assert_allclose(joint.events.t, body.events.t, atol=1e-8)
    for mine, theirs in zip(joint.events[2:], body.events[2:], strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-6)
    np.testing.assert_allclose(joint.q, body.q, atol=1e-7)
    np.testing.assert_allclose(joint.v, body.v, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        *({"formulation": name} for name in usual_formulations()),
        *({"stabilization": name} for name in ("baumgarte", "none")),
        *({"integrator": name} for name in integrators()),
    ],
    ids=lambda how: "-".join(how.values()),
)
def test_every_method_works_in_joint_coordinates(how: Any) -> None:
    """Half a second of a four-bar by each, near the motion by `augmented` in body coordinates."""
    model = load("four_bar")
    expected = simulate(model, t_end=0.5, step=0.05, rtol=1e-10, atol=1e-11)
    motion = simulate(model, coordinates="joint", t_end=0.5, step=0.05, rtol=1e-8, atol=1e-9, **how)
    np.testing.assert_allclose(motion.q, expected.q, atol=1e-5)


@pytest.mark.parametrize("coordinates", ["joint", "minimal"])
def test_what_the_start_corrects_of_the_bodies_is_said_in_all_coordinates(coordinates: str) -> None:
    """The coupler of a four-bar is stated 2 mm beside its pins."""
    text = (MECHANISMS / "four_bar.yaml").read_text(encoding="utf-8")
    model = loads(text.replace("position: [a*cos(start) + b/2", "position: [0.002 + a*cos(start) + b/2"))
    own, other = (check(model, coordinates=c) for c in ("body", coordinates))
    assert own.position_gaps == other.position_gaps
    assert other.q_changes == pytest.approx(own.q_changes, abs=1e-9)
    assert {*own.notes} <= {*simulate(model, t_end=0.01, coordinates=coordinates).info.notes}
    assert any("coupler.x" in note and "[start-corrected]" in note for note in other.notes)
    named = simulate(model, t_end=0.01, coordinates="joint", start={"theta_d:O": 0.3})
    assert not any("coupler.x" in note for note in named.info.notes)


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "spatial_slider_crank", "double_pendulum"])
@pytest.mark.sampled
def test_start_values_of_a_joint_hold_in_all_coordinates_and_the_others_follow(name: str) -> None:
    """The first joint has the angle and rate that were asked for, loops are closed, and all coordinates start alike."""
    model = load(name)
    e = prepare(model, "joint").equations
    joint = e.q_names[0]
    theta = float(e.start()[0][0]) + 0.3
    placed = place_joints(model, {joint: theta}, {joint: 1.7})
    assert not check(placed).q_changes
    assert not check(placed).v_changes
    runs = [simulate(placed, coordinates=kind, t_end=0.01, step=0.01) for kind in ("body", "joint", "minimal")]
    for run in runs[1:]:
        assert run[f"theta:{joint}"][0] == pytest.approx(theta, abs=1e-12)
        assert run[f"theta_d:{joint}"][0] == pytest.approx(1.7, abs=1e-11)
        np.testing.assert_allclose(run.q, runs[0].q, atol=1e-8)
        np.testing.assert_allclose(run.v[0], runs[0].v[0], atol=1e-9)


def test_more_start_values_than_freedoms_contradict_each_other() -> None:
    with pytest.raises(ModelError, match="cannot-close"):
        place_joints(load("four_bar"), {"O": 1.0, "C": 0.1}, {})
    with pytest.raises(UsageError, match="no coordinate 'B'"):
        place_joints(load("four_bar"), {"B": 1.0}, {})


def test_start_values_and_rates_hold_by_names_of_bodies_and_of_joints() -> None:
    """Positions by some names and rates by others: of bodies, and of other joints."""
    bar, pendulum = load("four_bar"), load("double_pendulum")
    phi = prepare(load("four_bar", {"start": "75 deg"})).place().q[8]
    for placed, values, rates in (
        (place_joints(bar, {"rocker.phi": phi}, {"O": 2.0}), {"rocker.phi": phi}, {"crank.phi": 2.0}),
        (place_joints(bar, {"O": 0.5}, {"C": 2.0}), {"crank.phi": 0.5}, {"rocker.phi": 2.0}),
        (place_joints(pendulum, {"lower.phi": 0.9}, {"O": 2.0}), {"lower.phi": 0.9}, {"upper.phi": 2.0}),
    ):
        at = prepare(placed).place()
        assert not check(placed).q_changes
        for given, names, found in ((values, at.equations.q_names, at.q), (rates, at.equations.v_names, at.v)):
            for name, value in given.items():
                assert found[names.index(name)] == pytest.approx(value, abs=1e-10)


def test_a_start_that_a_driver_shares_has_the_rate_of_the_driver() -> None:
    """The crank starts where its driver does, by name, and turns with it; other values contradict it."""
    model = load("slider_crank_driven")
    theta, omega = (float(x[0]) for x in prepare(model, "joint").place().equations.start())
    name = prepare(model, "joint").equations.q_names[0]
    for rate in ({}, {name: omega}):
        at = prepare(place_joints(model, {name: theta}, rate), "joint").place()
        assert (at.q[0], at.v[0]) == pytest.approx((theta, omega), abs=1e-11)
    assert omega != 0.0
    with pytest.raises(ModelError, match="cannot-close"):
        place_joints(model, {name: theta + 0.1}, {})


def test_start_values_of_a_ball_are_euler_parameters() -> None:
    text = """
linkwork: 1
space: spatial
ground: {points: {O: [0, 0, 0]}}
bodies: {rod: {mass: 1, inertia: [0.02, 0.03, 0.04], position: [0.5, 0, 0], points: {O: [-0.5, 0, 0]}}}
joints: {S: {type: spherical, i: ground.O, j: rod.O}}
simulation: {t_end: 0.01, step: 0.01, start: {S.e0: 0.8, S.e3: 0.6}, rate: {S.wy: 2}}
"""
    motion = simulate(loads(text))
    np.testing.assert_allclose(motion.q[0], [0.14, 0.48, 0.0, 0.8, 0.0, 0.0, 0.6], atol=1e-12)
    np.testing.assert_allclose(motion.v[0], [0.0, 0.0, -1.0, 0.0, 2.0, 0.0], atol=1e-11)


@pytest.mark.parametrize(
    ("q", "v", "name"),
    [
        ({"O": 0.5, "lower.phi": 1.0}, {}, "lower.phi"),
        ({"O": 0.5, "upper.phi": 0.6}, {}, "upper.phi"),
        ({}, {"O": 3.0, "lower.phi": 1.0}, "lower.phi"),
    ],
)
def test_start_values_that_do_not_hold_are_an_error(q: dict[str, float], v: dict[str, float], name: str) -> None:
    with pytest.raises(ModelError, match=f"'{name}' would be") as found:
        place_joints(load("double_pendulum"), q, v)
    assert found.value.code == "start-conflict"


FOUR_BAR = (MECHANISMS / "four_bar.yaml").read_text()


def starting(simulation: str, text: str = FOUR_BAR) -> Model:
    """A model whose file says more about its simulation, and has a parameter `turn`."""
    head, _, _ = text.replace("parameters: {", "parameters: {turn: 75 deg, ").partition("simulation:")
    return loads(f"{head}simulation: {{t_end: 0.02, step: 0.01, {simulation}}}\n")


def test_a_file_may_state_the_start_by_the_names_of_joints() -> None:
    """The four-bar at another angle of its crank, against the closed form of its loop that the shipped file has."""
    stated = starting("start: {O: turn}, rate: {O: 20 rpm}")
    for given, changes in (
        ({}, {"start": "75 deg"}),
        ({"turn": 0.8}, {"start": 0.8}),
        ({"a": 0.9}, {"start": "75 deg"}),
    ):
        other = {name: value for name, value in {**given, **changes}.items() if name != "turn"}
        wanted = prepare(load("four_bar", other)).place().q
        for kind in ("body", "joint", "minimal"):
            motion = prepare(stated, kind).simulate(given)
            np.testing.assert_allclose(motion.q[0], wanted, rtol=0, atol=1e-12)
            assert motion.v[0, 2] == pytest.approx(2 * np.pi / 3, rel=1e-11)
        assert not check(prepare(stated).changed(given)).q_changes
    by_body = simulate(starting("start: {crank.phi: turn}, rate: {crank.phi: 20 rpm}"))
    np.testing.assert_allclose(by_body.q, simulate(stated).q, rtol=0, atol=1e-11)


def test_a_file_may_state_the_start_of_joints_in_space_and_of_the_cut_that_it_chooses() -> None:
    text = (MECHANISMS / "spatial_slider_crank.yaml").read_text()
    joint = prepare(loads(text), "joint").equations.q_names[0]
    motion = simulate(starting(f"start: {{{joint}: 40 deg}}, rate: {{{joint}: -3}}", text), coordinates="joint")
    assert motion[f"theta:{joint}"][0] == pytest.approx(np.radians(40), abs=1e-12)
    assert motion[f"theta_d:{joint}"][0] == pytest.approx(-3.0, abs=1e-11)
    wanted = prepare(load("four_bar", {"start": "75 deg"})).place().q
    stated = starting(f"coordinates: joint, cut: [A], start: {{B: {float(wanted[8] - wanted[5])!r}}}")
    np.testing.assert_allclose(simulate(stated).q[0], wanted, rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    ("simulation", "code", "what"),
    [
        ("start: {crnk.phi: 1}", "unknown-coordinate", "did you mean 'crank.phi'"),
        ("start: {O: 2 m}", "unit-mismatch", "angle"),
        ("rate: {O: 2 rad}", "unit-mismatch", "angular"),
        ("start: {O: turns}", "expression-name", "turns"),
        ("start: {O: 1/0}", "expression-undefined", "1/0"),
        ("start: {O: [1, 2]}", "wrong-shape", "number"),
    ],
)
def test_start_values_that_are_none_are_refused_with_their_line(simulation: str, code: str, what: str) -> None:
    with pytest.raises(ModelError, match=f":{FOUR_BAR.count(chr(10))}: simulation") as found:
        starting(simulation)
    assert code in str(found.value)
    assert what in str(found.value)


def test_a_joint_that_closes_a_loop_has_no_start_value() -> None:
    with pytest.raises(ModelError, match="joint 'B' closes a loop and has no coordinate") as found:
        simulate(starting("start: {B: 1}"))
    assert found.value.path == "simulation.start.B"


def test_euler_parameters_keep_the_sign_with_which_a_body_starts() -> None:
    """e and -e are one orientation: in joint coordinates the body shows the one that the model states."""
    text = """
linkwork: 1
space: spatial
ground: {points: {O: [0, 0, 0]}}
bodies:
  flap: {mass: 2, inertia: [0.3, 0.2, 0.4], orientation: [-0.6, 0, 0, 0.8], points: {O: [0, 0, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: flap.O, axis: [0, 0, 1]}
simulation: {t_end: 1, step: 0.25, rate: {flap.wz: 1}}
"""
    body, joint = (simulate(loads(text), coordinates=coordinates) for coordinates in ("body", "joint"))
    names = [f"flap.e{k}" for k in range(4)]
    assert body["flap.e0"][0] == pytest.approx(-0.6)
    for name in names:
        np.testing.assert_allclose(joint[name], body[name], atol=1e-8)


def test_arms_run_from_the_joint_also_where_its_body_j_is_the_ground(rng: Random) -> None:
    """Of the double A-arm, whose joints Q and O carry body i: to mass centres, and to the cut B on its two sides."""
    model = load("dap/double_a_arm")
    listing, e = write_down(model, "lagrange", coordinates="joint"), prepare(model, "joint").equations
    state = rng.uniform(0.2, 1.2, 3 * len(e.q)).tolist()
    known = {**e.parameters, **dict(zip((*e.q, *e.v, *e.a), state, strict=True))}
    outputs = {**e.outputs["q"], **e.outputs["points"]}
    at = dict(zip(outputs, evaluate([y.expression for y in outputs.values()], known), strict=True))
    arms = dict(zip(map(str, listing.arms), evaluate(listing.arms.values(), known), strict=True))
    ways = {
        "lower_arm.Q": ("lower_arm", "lower_arm.Q1"),
        "knuckle.Q": ("knuckle", "lower_arm.Q1"),
        "knuckle.A": ("knuckle", "knuckle.A2"),
        "upper_arm.O": ("upper_arm", "upper_arm.O3"),
        "B.Q": ("knuckle.B2", "lower_arm.Q1"),
        "B.A": ("knuckle.B2", "knuckle.A2"),
        "B.O": ("upper_arm.B3", "upper_arm.O3"),
    }
    expected = {f"d_{x} {arm}": at[f"{to}.{x}"] - at[f"{start}.{x}"] for arm, (to, start) in ways.items() for x in "xy"}
    assert arms == pytest.approx(expected, abs=1e-12)
