"""Sizes, masses and inertias without effect, in coordinates and forms besides the formulations of test_sizes.py."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from test_sizes import MODELS, SLIDER_CRANK, assert_no_effect_of_scales

from linkwork import load, simulate
from linkwork.compiled.mechanism import prepare
from linkwork.elements.quantities import Quantity
from linkwork.errors import ModelError, NumericalStop
from linkwork.model import Model, _on_bodies
from linkwork.modelfile import loads
from linkwork.start.closing import find_start
from linkwork.units import LENGTH, parse_unit

Array = NDArray[np.float64]
HOW: dict[str, dict[str, Any]] = {
    "joint": {"coordinates": "joint"},
    "minimal": {"coordinates": "minimal"},
    "lu": {"formulation": "lu"},
    "radau5": {"integrator": "radau5"},
    "ggl of index 2": {"formulation": "ggl", "integrator": "radau5"},
    "ggl in joint coordinates": {"formulation": "ggl", "integrator": "radau5", "coordinates": "joint"},
    "index-3": {"formulation": "index-3", "integrator": "radau5"},
}


@pytest.mark.parametrize("name", HOW)
@pytest.mark.sampled
def test_the_inertia_of_a_slider_that_cannot_turn_has_no_effect(name: str) -> None:
    """From 1 kg m^2 to 1e-15: the same motion to 1e-9, and crank.phi(1) of the two-angle equations."""
    how = HOW[name]
    usual = simulate(loads(SLIDER_CRANK), **how)
    for inertia in (1e-3, 1e-9, 1e-12, 1e-15):
        motion = simulate(loads(SLIDER_CRANK, changes={"J": inertia}), **how)
        assert motion["crank.phi"][-1] == pytest.approx(0.2629316601282817, abs=1e-9)
        np.testing.assert_allclose(motion.q, usual.q, rtol=0, atol=1e-9)


@pytest.mark.diagonal
@pytest.mark.parametrize(
    "scales",
    [
        pytest.param([(1e-6, 1.0), (1e-5, 1e12), (1e6, 1e-12)], id="extreme"),
        pytest.param([(1e-4, 1.0), (100.0, 1.0), (2e4, 1.0), (1.0, 1e12)], id="between", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("file", ["toggle.yaml", "wedge.yaml"])
@pytest.mark.parametrize("name", HOW)
def test_motion_does_not_depend_on_size_or_mass(name: str, file: str, scales: list[tuple[float, float]]) -> None:
    """Lengths from 1e-6 to 1e6, masses from 1e-12 to 1e12: positions to 1e-8, reactions to 1e-6 of the largest."""
    assert_no_effect_of_scales(file, scales, **HOW[name])


@pytest.mark.parametrize("how", [{}, {"formulation": "qr"}, {"coordinates": "joint"}], ids=["augmented", "qr", "joint"])
@pytest.mark.parametrize("length", [1e-9, 1e-3, 1.0, 1e5, 1e6])
def test_an_impact_turns_a_rod_of_any_size_alike(length: float, how: dict[str, Any]) -> None:
    """The rate of phi'' = -(3/2) g cos(phi) turns by -0.8 at the stop, twice in two seconds, by SciPy."""
    y, t, hits = np.zeros(2), 0.0, 0
    while t < 2.0:
        way = solve_ivp(
            lambda _, y: [y[1], -1.5 * 9.81 * np.cos(y[0])],
            (t, 2.0),
            y,
            "DOP853",
            rtol=1e-12,
            atol=1e-12,
            events=_reach_stop,
        )
        t, y = way.t[-1], way.y[:, -1] * (1.0, -0.8 if way.t[-1] < 2.0 else 1.0)
        hits += way.t[-1] < 2.0
    motion = simulate(load(MODELS / "restitution_size.yaml", {"L": length}), rtol=1e-10, atol=1e-10, **how)
    assert hits == len(motion.events.t) == 2
    phi = motion.q[-1, -1]
    np.testing.assert_allclose([phi, motion.v[-1, -1]], y, rtol=0, atol=1e-8)


def _reach_stop(_: float, y: Array) -> float:
    return float(y[0] + np.pi / 2 + 0.5)


_reach_stop.terminal, _reach_stop.direction = True, -1.0  # type: ignore[attr-defined]


@pytest.mark.parametrize("length", [1e-6, 1.0, 1e6])
def test_a_velocity_that_a_joint_does_not_admit_is_refused_at_any_size(length: float) -> None:
    """A turn of 1 rad/s and a pin that is to leave its place by a thousandth of the size each second."""
    text = (MODELS / "restitution_size.yaml").read_text(encoding="utf-8")
    text = text.replace("restitution: 0.8", 'velocities: {rod.omega: "1", rod.vx: "L/2*sin(-rod.phi) + L/1000"}')
    with pytest.raises(NumericalStop) as stopped:
        simulate(loads(text, changes={"L": length}))
    assert stopped.value.code == "impossible-event"


TWO_CARTS = """
linkwork: 1
name: two carts
ground: {points: {O: [0, 0], W: [-1, 0]}}
bodies:
  first: {mass: 1, inertia: 0.1, position: [PLACE, 0], points: {O: [ARM, 0], P: [0, 0]}}
  second: {mass: 1, inertia: 0.1, position: [PLACE + 1, 0], points: {O: [0, 0]}}
joints:
  rail: {type: prismatic, i: ground.O, j: first.O, axis: [1, 0]}
  rails: {type: prismatic, i: ground.O, j: second.O, axis: [1, 0]}
forces:
  hard: {type: spring-damper, i: ground.W, j: first.P, stiffness: 1.0e+4, damping: 3000, free_length: 1}
  soft: {type: spring-damper, i: first.P, j: second.O, stiffness: 10, damping: 1, free_length: 1.2}
simulation: {t_end: 5, step: 0.1, rtol: 1.0e-8}
"""


@pytest.mark.parametrize("how", [{}, {"formulation": "index-3"}], ids=["index-1", "index-3"])
@pytest.mark.parametrize("place", ["0", "0.3"])
@pytest.mark.sampled
def test_an_arm_of_rounding_is_none(place: str, how: dict[str, str]) -> None:
    """A point that should be in the centre, and is off by 6e-17 as cos(pi/2) is: as many steps as without."""
    text = TWO_CARTS.replace("PLACE", place)
    exact, rounded = (
        simulate(loads(text.replace("ARM", arm)), integrator="radau5", **how) for arm in ("0", "cos(pi/2)")
    )
    assert abs(rounded.info.steps - exact.info.steps) <= 0.05 * exact.info.steps
    np.testing.assert_allclose(rounded.q, exact.q, rtol=0, atol=1e-8)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("place", [0.0, 1e150])
@pytest.mark.parametrize("speed", [1e155, 1e300])
def test_the_start_of_extreme_velocities_is_found_or_refused_without_a_warning(speed: float, place: float) -> None:
    """Speeds whose squares and quotients are not finite."""
    data = {
        "linkwork": 1,
        "name": "extreme",
        "ground": {"points": {"O": [0, 0]}},
        "bodies": {
            "a": {
                "mass": 1,
                "inertia": 1,
                "position": [1, 0],
                "velocity": [speed, speed],
                "angular_velocity": speed,
                "points": {"O": [-1, 0], "A": [1, place]},
            },
            "b": {
                "mass": 1e-300,
                "inertia": 1e300,
                "position": [3, place],
                "angular_velocity": -speed,
                "points": {"A": [-1, 0]},
            },
        },
        "joints": {
            "O": {"type": "revolute", "i": "ground.O", "j": "a.O"},
            "A": {"type": "revolute", "i": "a.A", "j": "b.A"},
        },
    }
    model = loads(json.dumps(data))
    with suppress(ModelError):
        assert np.isfinite(find_start(prepare(model).place()).place.v).all()


def test_a_coupler_without_mass_moves_in_any_unit_of_mass() -> None:
    """Masses of 1e-18 to 1e18 kg beside it, under gravity: they cancel, so that the motion is the same to 1e-9."""
    four_bar = """
    linkwork: 1
    gravity: [0, -9.81]
    parameters: {m: 1.0}
    ground: {points: {O: [0, 0], C: [2, 0]}}
    bodies:
      crank: {mass: m, inertia: m/12, position: [0.3, 0.4], angle: "atan2(4, 3)", points: {O: [-0.5, 0], A: [0.5, 0]}}
      coupler: {mass: 0, inertia: 0, position: [1, 0.8], points: {A: [-0.4, 0], B: [0.4, 0]}}
      rocker: {mass: m, inertia: m/12, position: [1.7, 0.4], angle: "atan2(-4, 3)", points: {B: [-0.5, 0], C: [0.5, 0]}}
    joints:
      O: {type: revolute, i: ground.O, j: crank.O}
      A: {type: revolute, i: crank.A, j: coupler.A}
      B: {type: revolute, i: coupler.B, j: rocker.B}
      C: {type: revolute, i: ground.C, j: rocker.C}
    simulation: {t_end: 1}
    """
    usual, light, heavy = (simulate(loads(four_bar, changes={"m": m})) for m in (1.0, 1e-18, 1e18))
    np.testing.assert_allclose(light.q, usual.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(heavy.q, usual.q, rtol=0, atol=1e-9)


@pytest.mark.parametrize("factor", [1e-12, 1.0, 1e12])
def test_start_velocities_are_corrected_alike_however_slow(factor: float) -> None:
    """Psi_q v = 0 is linear: of velocities a billion times slower, the correction is that many times smaller."""
    place = prepare(load("four_bar"), "body").place()
    crank = place.equations.v_names.index("crank.phi")
    v = np.zeros(len(place.v))
    v[crank] = factor
    start = find_start(replace(place, v=v), keep=["crank.phi"])
    expected = find_start(replace(place, v=v / factor), keep=["crank.phi"]).place.v
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(start.place.v / factor, expected, rtol=1e-12, atol=1e-13)
    assert set(start.v_changes) == {*place.equations.v_names} - {"crank.phi"}


def test_as_many_bounces_are_counted_however_fast_they_are() -> None:
    """Bounces accumulate at t = 3 sqrt(2 h/g) for a restitution of 1/2, and a run stops as far before, by that time."""
    text = (
        "linkwork: 1\nname: ball\nparameters: {T: 1}\ngravity: [0, -2/T^2]\n"
        "bodies: {ball: {mass: 1, inertia: 0.1, position: [0, 1]}}\n"
        "events: {floor: {when: ball.y, direction: falling, action: set, restitution: 0.5}}\n"
        "simulation: {t_end: 4}\n"
    )
    counts, times = set(), []
    for T in (1e-9, 1.0, 1e9):
        with pytest.raises(NumericalStop) as stop:
            simulate(loads(text, changes={"T": T}), t_end=4 * T, step=0.1 * T)
        assert stop.value.code == "events-accumulate"
        counts.add(len(stop.value.trajectory.events.names))
        times.append(stop.value.trajectory.info.reason.data["t"] / T)
    assert len(counts) == 1
    np.testing.assert_allclose(times, 3.0, rtol=1e-5)


def crank_of(length: float, time: float) -> dict[str, Any]:
    """A slider-crank whose slider is held by a spring and a damper."""
    return {
        "linkwork": 1,
        "gravity": [0, -9.75 * length / time**2],
        "ground": {"points": {"O": [0, 0], "W": [-1.5 * length, 0.25 * length]}},
        "bodies": {
            "crank": {
                "mass": 2,
                "inertia": 0.125 * length**2,
                "position": [0.5 * length, 0],
                "velocity": [0, 1.5 * length / time],
                "angular_velocity": 3 / time,
                "points": {"O": [-0.5 * length, 0], "A": [0.5 * length, 0]},
            },
            "rod": {
                "mass": 1,
                "inertia": 0.25 * length**2,
                "position": [2 * length, 0],
                "velocity": [0, 1.5 * length / time],
                "angular_velocity": -1.5 / time,
                "points": {"A": [-length, 0], "B": [length, 0]},
            },
        },
        "joints": {
            "O": {"type": "revolute", "i": "ground.O", "j": "crank.O"},
            "A": {"type": "revolute", "i": "crank.A", "j": "rod.A"},
            "B": {"type": "point-on-line", "i": "ground.O", "j": "rod.B", "axis": [1, 0]},
        },
        "forces": {
            "s": {
                "type": "spring-damper",
                "i": "ground.W",
                "j": "rod.B",
                "stiffness": 4 / time**2,
                "damping": 0.5 / time,
                "free_length": 2 * length,
            }
        },
        "simulation": {"t_end": 4 * time, "step": 0.25 * time},
    }


def hammer_of(length: float, time: float) -> dict[str, Any]:
    """A rod that falls onto a stiff anvil, and is thrown back from a stop on its way up."""
    stiff, soft = 1e5 / time**2, 8 / time
    return {
        "linkwork": 1,
        "gravity": [0, -9.75 * length / time**2],
        "ground": {"points": {"O": [0, 0]}},
        "bodies": {
            "rod": {
                "mass": 1,
                "inertia": 0.125 * length**2,
                "position": [0.5 * length, 0],
                "points": {"O": [-0.5 * length, 0], "E": [0.5 * length, 0]},
            }
        },
        "joints": {"O": {"type": "revolute", "i": "ground.O", "j": "rod.O"}},
        "forces": {
            "anvil": {
                "type": "point-force",
                "at": "rod.E",
                "force": [f"{stiff}*max(0, -rod.E.x) - {soft}*if(rod.E.x < 0, rod.E.vx, 0)", 0],
            }
        },
        "events": {"stop": {"when": "rod.phi + 1", "direction": "rising", "action": "set", "restitution": 0.5}},
        "simulation": {"t_end": 2 * time, "step": 0.25 * time},
    }


@pytest.mark.parametrize("exponents", [(20, 0), (-20, 20), (10, -20), (-30, -10)], ids=str)
@pytest.mark.parametrize(
    ("model", "how"),
    [
        (crank_of, {}),
        (crank_of, {"coordinates": "joint", "integrator": "dopri5", "formulation": "qr"}),
        (crank_of, {"integrator": "radau5"}),
        (crank_of, {"integrator": "radau5", "formulation": "index-3"}),
        (crank_of, {"stabilization": "baumgarte"}),
        (hammer_of, {}),
        (hammer_of, {"integrator": "radau5"}),
    ],
    ids=lambda x: x.__name__ if callable(x) else "-".join(x.values()),
)
@pytest.mark.sampled
def test_steps_do_not_depend_on_units(
    model: Callable[[float, float], dict[str, Any]], how: dict[str, Any], exponents: tuple[int, int]
) -> None:
    """Lengths and times by powers of two, so that only logarithms are rounded: the same motion in the same steps.

    Where a step ends at a switch to the last digit, one more or less may be tried.
    """
    length, time = (2.0**k for k in exponents)
    usual, scaled = (
        simulate(loads(json.dumps(model(*by)), is_json=True), rtol=1e-7, **how) for by in ((1.0, 1.0), (length, time))
    )
    more = 0.1 if model is hammer_of else 0.0
    assert scaled.info.steps == pytest.approx(usual.info.steps, rel=more)
    assert scaled.info.evaluations == pytest.approx(usual.info.evaluations, rel=more)
    assert len(scaled.events.t) == len(usual.events.t)
    np.testing.assert_allclose(scaled.t / time, usual.t, rtol=1e-14)
    for kind, unit in (("x", length), ("phi", 1.0), ("vx", length / time), ("omega", 1.0 / time)):
        np.testing.assert_allclose(scaled[f"rod.{kind}"] / unit, usual[f"rod.{kind}"], rtol=0, atol=1e-7)


def rescaled(model: Model, length: float, time: float, mass: float) -> Model:
    """The same mechanism in other units of length, time and mass, by the kinds of what its elements hold."""

    def factor(kind: Any) -> float:
        of_mass, of_length, of_time, *_ = parse_unit(kind.unit).exponents
        return float(mass**of_mass * length**of_length * time**of_time)

    def times(value: Any, by: float) -> Any:
        if isinstance(value, Mapping):
            return {name: times(x, by) for name, x in value.items()}
        if isinstance(value, tuple):
            return tuple(times(x, by) for x in value)
        return value if value is None or isinstance(value, str) else value * by

    def element(made: Any, _: Any = None) -> Any:
        hints = get_type_hints(type(made), include_extras=True)
        known = {}
        for f in fields(made):
            found = [x for part in (hints[f.name], *get_args(hints[f.name])) for x in getattr(part, "__metadata__", ())]
            kinds = [x.kinds for x in found if isinstance(x, Quantity)]
            if f.name in ("s", "s_i", "s_j", "points") or (kinds and kinds[0]):
                kind = kinds[0][0] if kinds and kinds[0] else LENGTH
                known[f.name] = times(getattr(made, f.name), factor(kind))
        return replace(made, **known)

    settings = model.simulation
    return _on_bodies(
        replace(
            model,
            gravity=times(model.gravity, length / time**2),
            simulation=replace(settings, t_end=settings.t_end * time, step=settings.step * time),
        ),
        {body.name: element(body) for body in model.bodies},
        element,
    )


@pytest.mark.parametrize(
    ("name", "coordinates", "t_end"),
    [
        ("slider_crank", "body", 2.0),
        pytest.param("andrews_squeezer", "body", 0.01, marks=pytest.mark.slow),
        ("double_pendulum", "joint", 1.0),
        pytest.param("four_bar", "minimal", 1.0, marks=pytest.mark.slow),
        pytest.param("heavy_top", "body", 0.1, marks=pytest.mark.slow),
        pytest.param("spatial_slider_crank", "joint", 0.5, marks=pytest.mark.slow),
    ],
)
def test_shipped_mechanisms_of_micrometres_and_of_years_move_in_the_same_steps(
    name: str, coordinates: str, t_end: float
) -> None:
    """Micrometres in microseconds, kilometres in years, of milligrams and of tons: to rounding the same motion."""
    model = load(name)
    usual = simulate(model, coordinates=coordinates, t_end=t_end)
    for length, time, mass in ((1e-6, 1e-6, 1e-6), (1e3, 3.15e7, 1e3), (1e-6, 1.0, 1.0), (1.0, 1e-6, 1e6)):
        other = simulate(rescaled(model, length, time, mass), coordinates=coordinates, t_end=t_end * time)
        assert (other.info.steps, other.info.rejected) == (usual.info.steps, usual.info.rejected)
        for label, unit in zip(usual.tables["q"].columns.names, usual.tables["q"].columns.units, strict=True):
            by = length if unit == "m" else 1.0
            np.testing.assert_allclose(other[label] / by, usual[label], rtol=0, atol=1e-9)
