"""Derivatives of motions by parameters: closed forms, published figures, differences of whole motions."""

import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwork
from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.constraints import projection
from linkwork.errors import LinkworkError, UsageError
from linkwork.integrators.methods.runge_kutta import open_stages
from linkwork.modelfile import shipped
from linkwork.records import changed
from linkwork.simulation import adjoint
from linkwork.simulation.varied import Gradients, choose_parameters, name_of
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]
COORDINATES = ("body", "joint", "minimal")
TIGHT: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13}

# idasSlCrank of SUNDIALS: a slider-crank with a spring-damper between the middles of its links
SLIDER_CRANK = """
linkwork: 1
name: sundials_slider_crank
parameters: {a: 0.5, J1: 1, m2: 1, J2: 2, l0: 1, k: 1, c: 1, F: 1}
ground: {points: {O: [0, 0]}}
bodies:
  crank: {mass: 1, inertia: J1, position: [0, 0], angle: pi/2, points: {O: [0, 0], A: [a, 0], M: [a/2, 0]}}
  rod:
    mass: m2
    inertia: J2
    position: [cos(asin(a)), 0]
    angle: -asin(a)
    points: {B: [0, 0], A: [-1, 0], M: [-0.5, 0], E: [1, 0]}
joints:
  O: {type: revolute, i: ground.O, j: crank.O}
  A: {type: revolute, i: crank.A, j: rod.A}
  B: {type: point-on-line, i: ground.O, j: rod.B, axis: [1, 0]}
forces:
  spring: {type: spring-damper, i: crank.M, j: rod.M, stiffness: k, damping: c, free_length: l0}
  load: {type: point-force, at: rod.E, force: [F, 0]}
states:
  G: {rate: 0.5*(J1*crank.omega^2 + m2*rod.vx^2 + J2*rod.omega^2), start: 0}
simulation: {t_end: 10, step: 0.5}
"""

BALL = """
linkwork: 1
name: ball
parameters: {h: 1 m, e: 0.8, m: 0.7 kg, u: 0.3 m/s}
bodies:
  ball: {mass: m, inertia: 0.1, position: [0, h], velocity: [u, 0]}
gravity: [0, -9.81]
events:
  bounce: {when: ball.y, direction: falling, action: set, restitution: e}
simulation: {t_end: 2, step: 0.05}
"""

# A pendulum of two links; the joint between them breaks by its own force, and the second falls and bounces on a floor.
RELEASED = """
linkwork: 1
name: released
parameters: {L: 0.8, m: 1.3, J: 0.2, limit: 10.5, e: 0.6, c: 0.05}
ground: {points: {O: [0.1, 0.2]}}
bodies:
  arm:
    mass: m
    inertia: J
    position: [0.1 + L/2*cos(0.4), 0.2 - L/2*sin(0.4)]
    angle: -0.4
    points: {O: [-L/2, 0], P: [L/2, 0]}
  bob:
    mass: 0.6
    inertia: 0.03
    position: [0.1 + L*cos(0.4), 0.2 - L*sin(0.4)]
    angle: 0.3
    points: {P: [0, 0], Q: [0.05, 0.02]}
joints:
  O: {type: revolute, i: ground.O, j: arm.O}
  P: {type: revolute, i: arm.P, j: bob.P}
forces:
  drag: {type: rotational-spring-damper, i: ground, j: arm, damping: c}
gravity: [0, -9.81]
events:
  breaks: {when: reaction.P.x^2 + reaction.P.y^2 - limit^2, direction: rising, action: set, release: P}
  floor: {when: bob.Q.y + 0.7, direction: falling, action: set, restitution: e}
simulation: {t_end: 1, step: 0.1}
"""


def at(mechanism: Mechanism, values: dict[str, float]) -> Mechanism:
    """The mechanism with other values of numbers in it, by their places."""
    symbols = {name_of(x): x for x in mechanism.equations.parameters}
    known = {symbols[name]: x for name, x in values.items()}
    e = mechanism.equations
    return changed(mechanism, equations=e.with_values({**e.parameters, **known}))


def difference(run: Callable[[float], Trajectory], value: float, h: float, names: Iterable[str]) -> dict[str, Array]:
    """d motion / d value by four motions, to the fourth order of h."""
    m = {k: run(value + k * h) for k in (-2, -1, 1, 2)}
    return {x: (8.0 * (m[1][x] - m[-1][x]) - (m[2][x] - m[-2][x])) / (12.0 * h) for x in names}


def worst(motion: Trajectory, name: str, value: float, found: dict[str, Array]) -> tuple[float, str]:
    """The largest gap between derivatives and differences, by the largest derivative or quantity of its kind.

    Positions and velocities are of one kind: at rest velocities are rounding.
    """
    gaps = [(0.0, "")]
    for kinds in (("q", "v"), *((kind,) for kind in motion.tables if kind not in ("q", "v"))):
        names = [x for kind in kinds for x in motion.tables[kind].columns.names if x in found]
        size = max([1e-6, *(max(np.abs(found[x]).max(), np.abs(motion[x]).max() / abs(value)) for x in names)])
        for x in names:
            gap = float(np.abs(motion.gradient(x, name) - found[x]).max() / size)
            gaps.append((gap if gap == gap else np.inf, x))
    return max(gaps)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_slider_crank_of_sundials(coordinates: str) -> None:
    """The integral of the kinetic energy and its derivatives by k and c, to 1e-9 (twelve digits computed elsewhere)."""
    motion = linkwork.sensitivities(linkwork.loads(SLIDER_CRANK), ["k", "c"], coordinates=coordinates, **TIGHT)
    assert motion["state:G"][-1] == pytest.approx(3.33660679948, abs=1e-9)
    assert motion.gradient("state:G", "k")[-1] == pytest.approx(0.333448106128, abs=1e-9)
    assert motion.gradient("state:G", "c")[-1] == pytest.approx(-0.363754033971, abs=1e-9)


def height(t: float, h: complex, e: complex, g: complex) -> complex:
    """The height of a ball that falls from h at rest and bounces; of complex numbers the real part decides."""
    v = np.sqrt(2.0 * g * h)
    past = v / g
    if t < past.real:
        return h - 0.5 * g * t * t
    while True:
        v = e * v
        if t < (past + 2.0 * v / g).real:
            return complex(v * (t - past) - 0.5 * g * (t - past) ** 2)
        past = past + 2.0 * v / g


def test_bouncing_ball() -> None:
    """Through three impacts derivatives are those of the closed form, to 1e-9; time of flight varies the place in x."""
    motion = linkwork.sensitivities(linkwork.loads(BALL), ["h", "e", "m", "u", "gravity.1"], **TIGHT)
    assert motion.events.counts() == {"bounce": 3}
    step = 1e-30j
    closed = {
        "h": [height(t, 1.0 + step, 0.8, 9.81).imag / 1e-30 for t in motion.t],
        "e": [height(t, 1.0, 0.8 + step, 9.81).imag / 1e-30 for t in motion.t],
        "gravity.1": [-height(t, 1.0, 0.8, 9.81 + step).imag / 1e-30 for t in motion.t],
    }
    for name, expected in closed.items():
        np.testing.assert_allclose(motion.gradient("ball.y", name), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(motion.gradient("ball.x", "u"), motion.t, rtol=0, atol=1e-12)
    np.testing.assert_allclose(motion.gradient("ball.y", "m"), 0.0, atol=1e-12)
    for name in ("h", "e", "m", "u", "gravity.1"):  # energy balances with every parameter, what impacts take included
        np.testing.assert_allclose(
            motion.gradient("energy:drift", name), motion.gradient("energy:drift", name)[0], atol=1e-9
        )


@pytest.mark.parametrize("coordinates", ["body", "joint"])
@pytest.mark.sampled
def test_joint_that_breaks_and_impact(coordinates: str) -> None:
    """A joint breaks by its own force, a bob bounces: when both happen varies, as differences of motions show."""
    mechanism = prepare(linkwork.loads(RELEASED), coordinates)
    names = ["L", "m", "J", "limit", "e", "c", "bob.inertia"]
    motion = linkwork.sensitivities(mechanism, names, **TIGHT)
    assert motion.events.counts() == {"breaks": 1, "floor": 3}
    values = {name_of(x): value for x, value in mechanism.equations.parameters.items()}
    for name in names:
        run = lambda x, name=name: at(mechanism, {name: x}).simulate(integrator="dop853", **TIGHT)  # noqa: E731
        found = difference(run, values[name], 1e-4 * values[name], motion.quantities.keys() - {"t"})
        assert worst(motion, name, values[name], found)[0] < 1e-7, name
    assert np.abs(motion.gradient("bob.x", "limit")[-1]) > 1e-3
    assert np.abs(motion.gradient("bob.vy", "e")[-1]) > 0.1


def test_stick_and_slip() -> None:
    """Through changes between sticking and sliding."""
    mechanism = prepare(linkwork.load("stick_slip_belt"))
    names = [name_of(x) for x in mechanism.equations.parameters if str(x.value) in ("mu_s", "mu_k", "k", "m", "v")]
    names = names or ["mu_s"]
    motion = linkwork.sensitivities(mechanism, names, t_end=3, step=0.25, **TIGHT)
    assert len(motion.events.names) >= 3
    values = {name_of(x): value for x, value in mechanism.equations.parameters.items()}
    for name in names:
        run = lambda x, name=name: at(mechanism, {name: x}).simulate(integrator="dop853", t_end=3, step=0.25, **TIGHT)  # noqa: E731
        found = difference(run, values[name], 1e-4 * values[name], [*motion.q_names, *motion.tables["v"].columns.names])
        assert worst(motion, name, values[name], found)[0] < 1e-6, name


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.sampled
def test_start_that_is_closed_by_the_run(coordinates: str) -> None:
    """Stated positions and velocities that miss the joints by 1% are corrected, and so are their derivatives."""
    text = (Path(linkwork.__file__).parent / "mechanisms" / "slider_crank.yaml").read_text(encoding="utf-8")
    text = text.replace("position: [l1 + l2, 0]", "position: [l1 + 1.01*l2, 0.01]")
    text = text.replace("-omega*l1/l2", "-1.01*omega*l1/l2")
    off = prepare(linkwork.loads(text), coordinates)
    for name in ("l2", "J1", "m2", "omega"):
        value = off.model.parameters[name]
        motion = linkwork.sensitivities(off, [name], t_end=0.5, step=0.25, **TIGHT)
        run = lambda x, name=name: off.simulate({name: x}, t_end=0.5, step=0.25, integrator="dop853", **TIGHT)  # noqa: E731
        found = difference(run, value, 1e-4 * value, motion.quantities.keys() - {"t"})
        assert worst(motion, name, value, found)[0] < 1e-7, name


@pytest.mark.parametrize("coordinates", ["body", "joint"])
@pytest.mark.sampled
def test_driven_motion(coordinates: str) -> None:
    """Positions, accelerations, reactions and the driving torque of a driven linkage, against differences."""
    mechanism = prepare(linkwork.load("slider_crank_driven"), coordinates)
    names = [name_of(x) for x in mechanism.equations.parameters if name_of(x) in mechanism.model.parameters]
    names += [name_of(x) for x in mechanism.equations.parameters][:4]
    motion = linkwork.sensitivities(mechanism, names, driven=True, t_end=0.4, step=0.1)
    values = {name_of(x): value for x, value in mechanism.equations.parameters.items()}
    for name in dict.fromkeys(names):
        run = lambda x, name=name: at(mechanism, {name: x}).kinematics(t_end=0.4, step=0.1)  # noqa: E731
        names_of = [x for x in motion.quantities if not x.startswith(("t", "energy", "error"))]
        found = difference(run, values[name], 3e-4 * values[name], names_of)
        assert worst(motion, name, values[name], found)[0] < 1e-7, name
    with pytest.raises(UsageError, match="added up along the way"):
        motion.gradient("energy:supplied", names[0])


def test_start_values_that_are_given() -> None:
    """What is given of the start does not vary; what follows from it does."""
    mechanism = prepare(linkwork.load("slider_crank"))
    start = linkwork.Start({"crank.phi": 0.4, "crank.omega": 2.0}, keep=["crank.phi"], assemble=True)
    motion = linkwork.sensitivities(mechanism, ["l1"], start=start, t_end=0.5, step=0.25, **TIGHT)
    assert motion.gradient("crank.phi", "l1")[0] == 0.0
    run = lambda x: mechanism.simulate({"l1": x}, start=start, t_end=0.5, step=0.25, integrator="dop853", **TIGHT)  # noqa: E731
    found = difference(run, 1.0, 1e-4, motion.quantities.keys() - {"t"})
    assert worst(motion, "l1", 1.0, found)[0] < 1e-7


def test_what_is_refused() -> None:
    """Each refusal says who, why and what to do."""
    model = linkwork.load("slider_crank")
    with pytest.raises(UsageError, match=r"no parameter 'l11'.*l1"):
        linkwork.sensitivities(model, ["l11"])
    with pytest.raises(UsageError, match="explicit method, not by radau5"):
        linkwork.sensitivities(model, ["l1"], integrator="radau5")
    with pytest.raises(UsageError, match=r"without its derivative by 'l1'; use sensitivities\(model, \['l1'\]\)"):
        linkwork.simulate(model, t_end=0.1).gradient("crank.phi", "l1")
    motion = linkwork.sensitivities(model, ["l1"], t_end=0.1)
    with pytest.raises(UsageError, match="no parameter 'l2'"):
        motion.gradient("crank.phi", "l2")
    with pytest.raises(UsageError, match=r"no quantity 'crank\.fi'"):
        motion.gradient("crank.fi", "l1")
    with pytest.raises(UsageError, match="measures errors"):
        motion.gradient("error:position", "l1")
    with pytest.raises(UsageError, match=r"any other value of 'A\.s_j\.2' the loops would not close"):
        linkwork.sensitivities(linkwork.load("universal_shaft"), ["A.s_j.2"])
    with pytest.raises(UsageError, match="found where the model is loaded"):
        linkwork.sensitivities(linkwork.load("pid_pendulum"), ["m"])


def test_a_motion_is_sent_without_its_derivatives() -> None:
    """Machine code stays in its process; what was computed is the same."""
    motion = linkwork.sensitivities(linkwork.load("simple_pendulum_rod"), ["L"], t_end=0.5)
    sent = pickle.loads(pickle.dumps(motion))
    np.testing.assert_array_equal(sent.q, motion.q)
    assert sent.gradients is None


# A start that is stated by joints, which is refused.
NOT_COMPARED = ("pid_pendulum",)
# Seconds instead of a fifth of the motion: through the first impacts. Derivatives grow with each, and differences of
# motions that all but part company tell no more digits of them.
THROUGH_IMPACTS = {"dap/rod": 0.06, "dap/rod_jc": 0.3, "dap/two_rods": 0.6, "newtons_cradle": 0.3}
# These hit ground of 1e11 N/m^1.5: it is pressed in by 0.1 mm, which rounding leaves to 1e-12 of itself, and meanwhile
# derivatives of velocities are 1e5 times those behind it.
ON_HARD_GROUND = {"dap/rod": 1e-6, "dap/rod_jc": 1e-6}
# Parameters without neighbours: overconstrained loops do not close with other dimensions, and e = 1 is the largest.
UNCLOSED = {"bricard": {"P1.s_j.0", "P3.s_i.1", "P4.s_j.0", "P6.s_i.1"}, "universal_shaft": {"A.s_j.2"}}
ALONE = {"newtons_cradle": {"e"}}
SPREAD = 10  # of the numbers of a model, evenly chosen


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in shipped() if name not in NOT_COMPARED])
def test_every_shipped_mechanism(name: str) -> None:
    """Derivatives by parameters that are named, and by numbers of the model, against differences, to 1e-7.

    An orientation is four numbers that belong together, and none varies alone.
    """
    mechanism = prepare(linkwork.load(name))
    e, t_end = mechanism.equations, THROUGH_IMPACTS.get(name, 0.2 * mechanism.model.simulation.t_end)
    own = [x for x in e.parameters if e.parameters[x] != 0.0 and x not in set(e.held)]
    own = [x for x in own if "orientation" not in name_of(x) and name_of(x) not in mechanism.model.folded]
    named = [x for x in own if name_of(x) in mechanism.model.parameters]
    others = [x for x in own if x not in named]
    chosen = [name_of(x) for x in (*named, *others[:: max(1, len(others) // SPREAD)])]
    options: dict[str, Any] = {"t_end": t_end, "step": 0.25 * t_end, **TIGHT}
    if name in ON_HARD_GROUND:
        options |= {"rtol": 1e-11, "atol": 1e-11}
    for unclosed in UNCLOSED.get(name, ()):
        with pytest.raises(UsageError, match=f"any other value of '{unclosed}' the loops would not close"):
            linkwork.sensitivities(mechanism, [unclosed], **options)
        chosen.remove(unclosed)
    motion = linkwork.sensitivities(mechanism, chosen, **options)
    shared = [joint for joint, how in linkwork.check(mechanism).reactions.items() if how == "not unique"]
    quantities = [x for kind in ("q", "v", "reactions", "driving") for x in motion.tables[kind].columns.names]
    quantities = [x for x in quantities if x.partition(":")[2].partition(".")[0] not in shared]
    bound, alone = ON_HARD_GROUND.get(name, 1e-7), set[str]()
    for p in choose_parameters(mechanism, chosen):
        value, gaps = e.parameters[p], list[tuple[float, str]]()
        for h in (1e-3, 1e-4, 1e-5, 1e-6):  # the first may lead over a corner, the last loses digits
            run = lambda x, p=p: at(mechanism, {name_of(p): x}).simulate(integrator="dop853", **options)  # noqa: E731
            try:
                found = difference(run, value, h * abs(value), quantities)
            except LinkworkError:
                continue
            gaps.append(worst(motion, name_of(p), value, found))
            if gaps[-1][0] < bound:
                break
        if not gaps:
            alone.add(name_of(p))
        else:
            assert min(gaps)[0] < bound, (name_of(p), gaps)
    assert alone == ALONE.get(name, set())


def test_many_impacts_on_hard_ground() -> None:
    """Through the first 28 of some hundred contacts and releases of a thrown rod, against differences."""
    mechanism = prepare(linkwork.load("dap/rod"))
    options: dict[str, Any] = {"t_end": 0.2, "step": 0.05, "rtol": 1e-11, "atol": 1e-11}
    motion = linkwork.sensitivities(mechanism, ["e", "rod.mass", "gravity.1"], **options)
    assert len(motion.events.t) == 28
    for name, value in (("e", 0.95), ("rod.mass", 1.0), ("gravity.1", -9.81)):
        run = lambda x, name=name: at(mechanism, {name: x}).simulate(integrator="dop853", **options)  # noqa: E731
        gaps = [worst(motion, name, value, difference(run, value, h, ["rod.y", "rod.omega"])) for h in (1e-3, 1e-4)]
        assert min(gaps)[0] < ON_HARD_GROUND["dap/rod"], (name, gaps)


def test_projection_with_derivatives_is_stepped_through() -> None:
    """Machine code and Python bring a state and its derivatives onto the constraints alike, and leave them there."""
    made = linkwork.sensitivities(linkwork.load("slider_crank"), ["l1", "m2"], t_end=0.1).gradients
    assert isinstance(made, Gradients)
    motion, found = made.course.motion, list[Array]()
    room = projection.of_system(motion.system, projection.project_varied, motion.state.problem.ny - motion.n)
    ny, kernel = motion.state.problem.ny, projection.project_varied
    for run in (kernel, kernel.python):
        y = np.full(room.outputs, np.nan)
        run(np.append(0.1, 1.001 * motion.state.y), motion.p, y, np.zeros(room.work))
        found.append(y)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-11, atol=1e-13)
    again = np.full(room.outputs, np.nan)
    kernel(np.append(0.1, found[0][:ny]), motion.p, again, np.zeros(room.work))
    np.testing.assert_allclose(again[:ny], found[0][:ny], rtol=1e-12, atol=1e-13)
    assert np.abs(found[0][motion.n + 2 : ny] - 1.001 * motion.state.y[motion.n + 2 :]).max() > 1e-6


THROUGH_EVENTS = {
    "impacts": (BALL, ["h", "e", "m", "u", "gravity.1"]),
    "a joint that breaks": (RELEASED, ["L", "m", "J", "limit", "e", "c", "bob.inertia"]),
}


@pytest.mark.parametrize("case", THROUGH_EVENTS)
def test_back_in_time_through_events(case: str) -> None:
    """Derivatives back in time, and those of the times of events, are those that are integrated beside the motion."""
    text, names = THROUGH_EVENTS[case]
    forward, backward = (
        linkwork.sensitivities(linkwork.loads(text), names, backward=x, **TIGHT) for x in (False, True)
    )
    check_alike(forward, backward, [*forward.q_names, *forward.tables["energy"].columns.names], names, 1e-10)
    assert len(forward.events.t) > 2
    for k in range(len(forward.events.t)):
        expected = forward.gradients.times_of(k)  # type: ignore[union-attr]
        np.testing.assert_allclose(backward.gradients.times_of(k), expected, rtol=1e-9, atol=1e-10)  # type: ignore[union-attr]


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.sampled
def test_back_in_time_by_all_numbers(coordinates: str) -> None:
    """All numbers of Andrews' squeezer: coordinates and reactions at the end and on the way, by discrete adjoint."""
    mechanism = prepare(linkwork.load("andrews_squeezer"), coordinates)
    names = [name_of(p) for p, value in mechanism.equations.parameters.items() if value != 0.0]
    assert len(names) >= 48
    options: dict[str, Any] = {"t_end": 0.01, "step": 0.003, "rtol": 1e-9, "atol": 1e-11}
    forward, backward = (linkwork.sensitivities(mechanism, names, backward=x, **options) for x in (False, True))
    np.testing.assert_allclose(backward.q, forward.q, rtol=1e-10, atol=1e-12)  # programs round each in its own way
    quantities = [forward.q_names[0], "K7.phi", "reaction:O.x", "energy:supplied"]
    check_alike(forward, backward, quantities, names, 1e-9)


@pytest.mark.parametrize("backward", [False, True])
def test_driven_motion_back_at_every_time(backward: bool) -> None:
    """The torque of a driven slider-crank by its crank length, against differences of whole motions."""
    mechanism = prepare(linkwork.load("slider_crank_driven"))
    options: dict[str, Any] = {"t_end": 0.4, "step": 0.1}
    motion = linkwork.sensitivities(mechanism, ["l1", "l2"], driven=True, backward=backward, **options)
    quantities = ["driving:motor", "slider.ax", "reaction:O.y"]
    for name in ("l1", "l2"):
        value = mechanism.model.parameters[name]
        run = lambda x, name=name: mechanism.kinematics({name: x}, **options)  # noqa: E731
        assert worst(motion, name, value, difference(run, value, 3e-4 * value, quantities))[0] < 1e-7


def check_alike(one: Trajectory, other: Trajectory, quantities: list[str], names: list[str], tolerance: float) -> None:
    """Of each quantity, all derivatives of two motions agree by the largest of them."""
    for quantity in quantities:
        expected, found = (np.array([x.gradient(quantity, name) for name in names]) for x in (one, other))
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max(), err_msg=quantity)


@pytest.mark.parametrize("backward", [False, True])
def test_numbers_taken_across_an_impact(backward: bool) -> None:
    """Integrals of what jumps, and extremes just before and behind an impact, in closed form.

    With v = sqrt(2 g h) and s = 0.8 - v/g since the impact y = e v s - g s^2/2, and int y dt = 2 h v/(3 g) + e v s^2/2
    - g s^3/6; int vy dt = y(0.8) - h.
    """
    text = BALL.replace("u: 0.3 m/s", "u: 0.3 m/s, g: 9.81 m/s^2").replace("-9.81", "-g")
    text = text.replace("t_end: 2, step: 0.05", "t_end: 0.8, step: 0.0025")
    of = "integral(ball.vy)", "mean(ball.vy)", "max(abs(ball.vy))", "range(ball.vy)", "integral(ball.y)", "max(ball.vy)"
    found = linkwork.slopes(linkwork.loads(text), of, ["h", "e", "g"], backward=backward)

    def closed(h: complex, e: complex, g: complex) -> list[complex]:
        v = np.sqrt(2.0 * g * h)
        s = 0.8 - v / g
        end, area = e * v * s - 0.5 * g * s * s, 2.0 * h * v / (3.0 * g) + 0.5 * e * v * s * s - g * s**3 / 6.0
        return [end - h, (end - h) / 0.8, v, (1.0 + e) * v, area, e * v]

    for k, own in enumerate(found.found):
        assert own.value == pytest.approx(closed(1.0, 0.8, 9.81)[k].real, rel=2e-5), of[k]
        steps = [[x + 1e-30j * (i == j) for j, x in enumerate((1.0, 0.8, 9.81))] for i in range(3)]
        # the trapezoidal rule errs by step^2/12 times the change of slopes, some 1e-6
        np.testing.assert_allclose(
            own.slopes, [closed(*x)[k].imag / 1e-30 for x in steps], rtol=2e-5, atol=1e-6, err_msg=of[k]
        )


STOPPED = """
linkwork: 1
name: stopped
parameters: {l: 1, s: -0.5}
ground: {points: {O: [0, 0]}}
bodies: {a: {mass: 1, inertia: 0.1, position: [l*sin(0.9), -l*cos(0.9)], angle: 0.9, points: {O: [0, l]}}}
joints: {O: {type: revolute, i: ground.O, j: a.O}}
gravity: [0, -9.81]
events: {end: {when: a.phi - s, direction: falling, action: stop}}
simulation: {t_end: 5, step: 0.01, rtol: 1.0e-10}
"""


def test_extremes_at_the_end_of_a_run_that_an_event_ends() -> None:
    """A pendulum is stopped at the angle s on its way, where its speed is sqrt(2 m g l (cos s - cos 0.9)/J)."""
    of, J = ["min(a.phi)", "range(a.phi)", "final(a.omega^2)"], 1.1
    found = linkwork.slopes(linkwork.loads(STOPPED), of, ["s", "l"])
    square = 2.0 * 9.81 * (np.cos(0.5) - np.cos(0.9)) / J
    by_l = square * (1.0 - 2.0 / J)
    expected = [(-0.5, 1.0, 0.0), (1.4, -1.0, 0.0), (square, 2.0 * 9.81 * np.sin(0.5) / J, by_l)]
    for own, (value, *slopes) in zip(found.found, expected, strict=True):
        assert own.value == pytest.approx(value, rel=1e-8)
        np.testing.assert_allclose(own.slopes, slopes, atol=1e-8)
    model = linkwork.loads(STOPPED.replace("s: -0.5", "s: 0.5"))
    vary, subject = {"s": (-1.2, 0.8)}, ["range(a.phi) > 0.5"]
    best = linkwork.optimize(model, vary, "max(abs(a.omega))", method="local", subject=subject)
    assert best.values["s"] == pytest.approx(0.4, abs=1e-6)


def test_steps_back_are_stepped_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code and Python note the same steps and go the same way back."""
    found, model = list[Array](), linkwork.load("slider_crank")
    for stepped in (False, True):
        if stepped:
            monkeypatch.setattr(adjoint, "go_back", adjoint.go_back.python)
        motion = linkwork.sensitivities(model, ["l1", "m2"], backward=True, t_end=0.1, step=0.04)
        found.append(np.array([motion.gradient(name, "l1") for name in ("slider.x", "reaction:O.x")]))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12, atol=1e-12)
    of = motion.gradients
    assert isinstance(of, adjoint.RecordedAdjoint)
    state, rows = of.course.motion.state, list[Array]()
    for run in (adjoint.note_step, adjoint.note_step.python):
        noted = adjoint.record(open_stages(state.own, state.at).rest, state.at.n)
        noted.count = 0
        for _ in range(2):  # the second takes the place of the first
            run(state.m, state.p, state.own, state.w)
        assert noted.count == 1
        rows.append(noted.rows[: 1 + state.at.ny].copy())
    np.testing.assert_array_equal(rows[1], rows[0])
