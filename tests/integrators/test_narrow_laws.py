"""Laws much narrower than a step, each written in three ways, with report times from fine to none: one motion.

Every shape f(u), u = (x - c)/w, acts in time, along the way, by the speed, and as the condition of an event.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
import pytest
from carts import cart
from scipy.integrate import quad
from scipy.optimize import brentq

from linkwork import loads, simulate
from linkwork.errors import LinkworkError

RTOL = 1e-8
ALLOWED = 100 * RTOL
C = 5.1234  # where it acts
T_END = 10.0


class Shape(NamedTuple):
    f: Callable[[float], float]
    width: float
    reach: float  # of u: beyond it is nothing, or has no bends
    ways: tuple[str, str, str]  # of writing it, with X for u


def logistic(a: float) -> float:
    return 1 / (1 + math.exp(-a)) if a > -700 else 0.0


def bend(u: float) -> float:
    """g(u + 1) - 2 g(u) + g(u - 1) of g(u) = sqrt(1 + u^2), far off by its second and fourth derivative."""
    if abs(u) < 20:
        return math.hypot(1, u + 1) + math.hypot(1, u - 1) - 2 * math.hypot(1, u)
    return (1 + u * u) ** -1.5 + (u * u - 0.25) * (1 + u * u) ** -3.5


SHAPES = {
    "gauss": Shape(lambda u: math.exp(-u * u), 1e-3, 6, ("exp(-(X)^2)", "1/exp((X)*(X))", "exp(-1)^((X)^2)")),
    "lorentz": Shape(
        lambda u: 1 / (1 + u * u) ** 2, 1e-3, 200, ("1/(1 + (X)^2)^2", "((X)^2 + 1)^(-2)", "1/(1 + 2*(X)^2 + (X)^4)")
    ),
    "sech": Shape(
        lambda u: 1 / math.cosh(u) ** 2 if abs(u) < 300 else 0.0,
        1e-3,
        20,
        ("(1 - tanh(X)^2)", "1/cosh(X)^2", "4/(exp(X) + exp(-(X)))^2"),
    ),
    "power": Shape(
        lambda u: (1 - u * u / 4e4) ** 40000,
        0.05,
        8,
        ("((1 - (X)^2/4e4)^1000)^40", "(((1 - (X)^2/4e4)^2)^200)^100", "exp(4e4*log(abs(1 - (X)^2/4e4)))"),
    ),
    "cosine": Shape(
        lambda u: math.cos(u / 200) ** 80000,
        0.03,
        8,
        ("(cos((X)/200)^1000)^80", "((cos((X)/200)^2)^200)^200", "(((1 + cos((X)/100))/2)^200)^200"),
    ),
    "hat": Shape(
        lambda u: float(abs(u) < 1),
        1e-3,
        1,
        ("if(abs(X) < 1, 1, 0)", "if((X)^2 > 1, 0, 1)", "(sign((X) + 1) - sign((X) - 1))/2"),
    ),
    "triangle": Shape(
        lambda u: max(0.0, 1 - abs(u)),
        1e-3,
        1,
        ("max(0, 1 - abs(X))", "if(abs(X) < 1, 1 - abs(X), 0)", "(abs((X) + 1) + abs((X) - 1) - 2*abs(X))/2"),
    ),
    "parabola": Shape(
        lambda u: max(0.0, 1 - u * u),
        1e-3,
        1,
        ("max(0, 1 - (X)^2)", "if((X)^2 < 1, 1 - (X)^2, 0)", "(abs(1 - (X)^2) + 1 - (X)^2)/2"),
    ),
    "two steps": Shape(
        lambda u: logistic(16 * (u + 1)) - logistic(16 * (u - 1)),
        1e-3,
        4,
        (
            "(tanh(8*((X) + 1)) - tanh(8*((X) - 1)))/2",
            "(1/(1 + exp(-16*((X) + 1))) - 1/(1 + exp(-16*((X) - 1))))",
            "(1/(exp(16*((X) - 1)) + 1) - 1/(exp(16*((X) + 1)) + 1))",
        ),
    ),
    "quartic": Shape(
        lambda u: math.exp(-(u**4)) if abs(u) < 20 else 0.0,
        1e-3,
        4,
        ("exp(-(X)^4)", "1/exp(((X)^2)^2)", "exp(-((X)*(X))*((X)*(X)))"),
    ),
    "ripple": Shape(
        lambda u: math.exp(-u * u) * (1 + math.cos(3 * u)) / 2,
        1e-3,
        6,
        ("exp(-(X)^2)*(1 + cos(3*(X)))/2", "exp(-(X)^2)*cos(1.5*(X))^2", "(1 - sin(1.5*(X))^2)/exp((X)^2)"),
    ),
    "root": Shape(
        lambda u: (1 + u * u) ** -1.5,
        1e-3,
        2000,
        ("(1 + (X)^2)^(-1.5)", "1/sqrt(1 + (X)^2)^3", "1/(sqrt(1 + (X)^2)*(1 + (X)^2))"),
    ),
    "logarithm": Shape(
        lambda u: 0.5 * math.log(1 + 3 / (1 + u * u) ** 2),
        1e-5,
        2000,
        (
            "0.5*log(1 + 3/(1 + (X)^2)^2)",
            "(log((1 + (X)^2)^2 + 3)/2 - log(1 + (X)^2))",
            "log(sqrt(1 + (X)^2 + 3/(1 + (X)^2))/sqrt(1 + (X)^2))",
        ),
    ),
    "bends": Shape(
        bend,
        1e-4,
        2e4,
        (
            "(sqrt(1 + ((X) + 1)^2) + sqrt(1 + ((X) - 1)^2) - 2*sqrt(1 + (X)^2))",
            "((1 + ((X) + 1)^2)^0.5 + (1 + ((X) - 1)^2)^0.5 - 2*(1 + (X)^2)^0.5)",
            "((sqrt(1 + ((X) + 1)^2) - sqrt(1 + (X)^2)) - (sqrt(1 + (X)^2) - sqrt(1 + ((X) - 1)^2)))",
        ),
    ),
    "all derivatives zero": Shape(
        lambda u: math.exp(1 - 1 / (1 - u * u)) if abs(u) < 1 else 0.0,
        1e-3,
        1,
        (
            "if(abs(X) < 1, exp(1 - 1/(1 - (X)^2)), 0)",
            "if((X)^2 < 1, exp(1 + 1/((X)^2 - 1)), 0)",
            "if(max((X), -(X)) < 1, exp(1)/exp(1/((1 - (X))*(1 + (X)))), 0)",
        ),
    ),
    "overflow on one side": Shape(
        lambda u: math.exp(-abs(u)),
        1e-3,
        36,
        ("min(exp(X), exp(-(X)))", "exp(-abs(X))", "if(X > 0, exp(-(X)), exp(X))"),
    ),
    "angle": Shape(
        lambda u: math.atan2(1, u**4),
        1e-3,
        500,
        ("atan2(1, (X)^4)", "(pi/2 - atan((X)^4))", "(atan2((X)^4 + 1, (X)^4 - 1) - pi/4)"),
    ),
    "power of a root": Shape(
        lambda u: max(0.0, 1 - u * u) ** 1.5,
        1e-3,
        1,
        (
            "max(0, 1 - (X)^2)^1.5",
            "if(abs(X) < 1, abs(1 - (X)^2)*sqrt(abs(1 - (X)^2)), 0)",
            "sqrt(max(0, 1 - (X)^2))^3",
        ),
    ),
}
DOMAINS = ("time", "way", "speed", "event")
STEPS = (1e-3, 0.1, T_END)


def integral(shape: Shape, f: Callable[[float], float]) -> float:
    far = min(shape.reach, 20.0)
    ends = (-shape.reach, -far, -1.0, 0.0, 1.0, far, shape.reach)
    return sum(quad(f, *part, epsabs=1e-11, epsrel=1e-11, limit=500)[0] for part in pairwise(ends))


def check(name: str, domain: str, way: int, step: float, integrator: str = "auto") -> None:
    shape = SHAPES[name]
    w = shape.width
    variable = {"time": "t", "way": "cart.x", "speed": "cart.vx", "event": "cart.x"}[domain]
    law = shape.ways[way].replace("X", f"({variable} - {C})/{w!r}")
    how = {"rtol": RTOL, "integrator": integrator}
    if domain == "event":
        event = {"when": f"{law} - 0.5", "direction": "rising", "action": "stop"}
        text = cart("0", velocity=1.0, step=step, t_end=T_END, events={"peak": event})
        motion = simulate(text, **how)
        low, high = -shape.reach, 0.0
        for _ in range(100):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if shape.f(middle) < 0.5 else (low, middle)
        assert motion.events.t == pytest.approx([C + w * high], abs=ALLOWED)
        return
    if domain == "speed":  # v' = 1 + 50 f saves time, which is had in speed at the end
        motion = simulate(cart(f"1 + 50*({law})", step=step, t_end=T_END), **how)
        saved = w * integral(shape, lambda u: 1 - 1 / (1 + 50 * shape.f(u)))
        assert motion["cart.vx"][-1] == pytest.approx(T_END + saved, rel=ALLOWED)
        return
    area = integral(shape, shape.f)
    motion = simulate(cart(f"{3 / (w * area)!r}*({law})", velocity=1.0, step=step, t_end=T_END), **how)
    v = motion["cart.vx"][-1]
    assert (v - 1 if domain == "time" else (v * v - 1) / 2) == pytest.approx(3.0, rel=ALLOWED)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.sampled
def test_narrow_laws_act(name: str) -> None:
    """Each shape once in every domain, written and reported in other ways."""
    for k, domain in enumerate(DOMAINS):
        check(name, domain, (k + len(name)) % 3, STEPS[(k + len(name) // 2) % 3])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "domain"), list(product(SHAPES, DOMAINS)))
def test_narrow_laws_act_however_they_are_written_and_reported(name: str, domain: str) -> None:
    for way, step in product(range(3), STEPS):
        check(name, domain, way, step)


@pytest.mark.parametrize("rtol", [1e-5, 1e-7])
@pytest.mark.parametrize("law", ["max(0, 1 - abs(X + 3), 2 - 2*abs(X))", "if(X > 0, if(X < 1, X, 0), 0)"])
def test_an_implicit_method_goes_on_where_a_law_sets_in_that_drives_on(law: str, rtol: float) -> None:
    """v' = 1 + 50 f(v), whose deviations grow with 5e4/s from a bend of f on: a step may not damp them instead."""
    f = [lambda u: max(0, 1 - abs(u + 3), 2 - 2 * abs(u)), lambda u: u if 0 < u < 1 else 0.0]["if" in law]
    push = "1 + 50*(" + law.replace("X", f"(cart.vx - {C})/1e-3") + ")"
    motion = simulate(cart(push, step=T_END), rtol=rtol, integrator="radau5")
    ends = (-4, -3, -2, -1, 0, 1)
    saved = 1e-3 * sum(quad(lambda u: 1 - 1 / (1 + 50 * f(u)), *part)[0] for part in pairwise(ends))
    assert motion["cart.vx"][-1] == pytest.approx(T_END + saved, rel=rtol)
    assert not motion.info.notes


ROOTS: dict[str, Callable[[float], float]] = {  # of X: zero for |X| > 1, from where they set in with an infinite slope
    "sqrt(max(0, 1 - (X)^2))": lambda u: math.sqrt(1 - u * u),
    "max(0, 1 - (X)^2)^(1/3)": lambda u: (1 - u * u) ** (1 / 3),
    "if((X)^2 < 1, (1 - (X)^2)^(2/3), 0)": lambda u: (1 - u * u) ** (2 / 3),
    "acos(min(1, (X)^2))": lambda u: math.acos(u * u),
    "(pi/2 - asin(min(1, (X)^2)))": lambda u: math.acos(u * u),
}
IMPLICIT = (
    {"integrator": "radau5"},
    {"integrator": "radau5", "formulation": "ggl"},
    {"integrator": "radau5", "formulation": "index-3"},
    {"integrator": "generalized-alpha"},
)
ROUGHLY = 1e-5  # of generalized-alpha, of order 2, at these tolerances


@pytest.mark.parametrize("how", IMPLICIT, ids=lambda how: "-".join(how.values()))
@pytest.mark.parametrize("law", ROOTS)
@pytest.mark.diagonal
def test_an_implicit_method_follows_a_law_that_sets_in_as_a_root(law: str, how: dict[str, str]) -> None:
    """Along the speed, where it drives on, and along the way, where it drives or brakes, both ways.

    Where it sets in, J is infinite: the stages have solutions at the edge too, and no change by J is above a tolerance.
    """
    f, within = ROOTS[law], ROUGHLY if how["integrator"] == "generalized-alpha" else ALLOWED
    width = 0.1
    area = width * quad(f, -1, 1, points=[0])[0]
    saved = width * quad(lambda u: 1 - 1 / (1 + 50 * f(u)), -1, 1, points=[0])[0]
    for sign in (1, -1):
        at_speed, at_place = (law.replace("X", f"({sign}*cart.{x} - {C})/{width}") for x in ("vx", "x"))
        motion = simulate(cart(f"{sign}*(1 + 50*{at_speed})", step=T_END), rtol=1e-7, **how)
        assert sign * motion["cart.vx"][-1] == pytest.approx(T_END + saved, rel=within)
        for work in (3.0, -1.0):
            push = f"{sign * work / area!r}*{at_place}"
            motion = simulate(cart(push, velocity=2.0 * sign, step=T_END), rtol=1e-7, **how)
            assert sign * motion["cart.vx"][-1] == pytest.approx(math.sqrt(4 + 2 * work), rel=10 * within)


@pytest.mark.parametrize("rtol", [1e-4, 1e-7])
@pytest.mark.parametrize("how", IMPLICIT, ids=lambda how: "-".join(how.values()))
def test_a_resistance_that_sets_in_as_a_root_lets_the_motion_go_on(how: dict[str, str], rtol: float) -> None:
    """v' = 1 - 0.3 sqrt(v - c) with r = sqrt(v - c): t = 2 (-r/k - log(1 - k r)/k^2)."""
    k, c = 0.3, 2.0
    motion = simulate(cart(f"1 - {k}*sqrt(max(0, cart.vx - {c}))", step=T_END), rtol=rtol, **how)
    r = brentq(lambda r: 2 * (-r / k - math.log(1 - k * r) / k**2) - (T_END - c), 0, 1 / k - 1e-9)
    assert motion["cart.vx"][-1] == pytest.approx(c + r * r, rel=100 * rtol)


@pytest.mark.parametrize("integrator", ["auto", "dop853", "radau5"])
def test_a_law_a_few_tolerances_wide_acts_where_its_angle_has_no_value_beside(integrator: str) -> None:
    """acos(min(1, u^2)) over two millimetres, a step of metres and a tolerance of half a millimetre."""
    push = f"{3 / (1e-3 * quad(lambda u: math.acos(u * u), -1, 1)[0])!r}*acos(min(1, ((cart.x - {C})/1e-3)^2))"
    motion = simulate(cart(push, velocity=1.0, step=T_END), rtol=1e-4, integrator=integrator)
    assert motion["cart.vx"][-1] == pytest.approx(math.sqrt(7), rel=1e-2)


FALLING = """linkwork: 1
gravity: [0, -1]
bodies: {drop: {mass: 1, inertia: 1, points: {C: [0, 0]}}}
forces: {air: {type: drag, at: drop.C, coefficient: 1}}
simulation: {t_end: 10, step: 10}
"""


def test_drag_from_rest_is_no_narrow_law() -> None:
    """v' = 1 - v^2 from rest is tanh(t); |v| turns back there at once, |v| v does not, and no step is cut short."""
    motion = simulate(loads(FALLING), rtol=1e-8)
    assert motion["drop.vy"][-1] == pytest.approx(-math.tanh(10.0), rel=1e-7)
    assert motion.info.rejected < 5


@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
def test_an_event_four_tolerances_wide_happens_and_a_narrower_one_happens_or_is_told(rtol: float) -> None:
    """A condition that jumps: rounded to the tolerances of the state, either of its sides is anywhere within them."""
    for tolerances in (0.3, 0.9, 1.1, 2.0, 3.0, 5.0, 8.0, 12.0):
        when = f"if(abs(cart.x - {C}) < {tolerances * rtol * C!r}, 1, -1)"
        event = {"when": when, "direction": "rising", "action": "stop"}
        motion = simulate(cart("0", velocity=1.0, step=T_END, t_end=T_END, events={"peak": event}), rtol=rtol)
        happens = motion.events.t == pytest.approx([C], abs=2 * tolerances * rtol * C)
        assert happens or (tolerances < 2 and any("[grazing]" in note for note in motion.info.notes))


ROLLING = """linkwork: 1
gravity: [0, -9.81]
ground: {points: {O: [0, 0]}}
bodies: {ball: {mass: 1, inertia: 0.004, position: [0, 0.4], velocity: [1, 0], points: {C: [0, 0]}}}
forces:
  wall: {type: line-contact, i: ground.O, j: ball.C, normal: [0, 1], radius_j: 0.1, stiffness: 1e5,
         model: flores-machado, restitution: 0.6, friction: tanh, dynamic: 0.3, transition: 0.01}
simulation: {t_end: 0.3, step: 0.1}
"""


def test_slip_that_only_rounding_gives_costs_few_steps() -> None:
    """A ball slips in a contact until it rolls, at 1/(1 + I/(m r^2)) of its speed; then tanh(slip/0.01) is rounding."""
    motion = simulate(loads(ROLLING), rtol=1e-9, atol=1e-9)
    assert motion["ball.vx"][-1] == pytest.approx(1 / (1 + 0.004 / (1 * 0.1**2)), rel=1e-8)
    assert motion.info.steps + motion.info.rejected < 1000


def test_a_direction_that_only_rounding_gives_costs_no_steps() -> None:
    """A spring between points that a pin holds together does nothing: a pendulum with it moves as one without it."""
    text = """
linkwork: 1
ground: {points: {O: [0, 0]}}
bodies: {rod: {mass: 2, inertia: 0.2, position: [0.5, 0], points: {O: [-0.5, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: rod.O}}
forces: {s: {type: spring-damper, i: ground.O, j: rod.O, stiffness: 100, free_length: 0.2}}
simulation: {t_end: 2, step: 0.1}
"""
    with_it, without = simulate(loads(text)), simulate(loads(text.replace("stiffness: 100", "stiffness: 0")))
    np.testing.assert_allclose(with_it.q, without.q, rtol=0, atol=1e-6)
    assert with_it.info.steps < 3 * without.info.steps


SPRING_OF_A_POWER = """linkwork: 1
name: p
ground: {{points: {{O: [0, 0]}}}}
bodies: {{b: {{mass: {m}, inertia: 1, position: [0.2, 0], velocity: [{v}, 0], points: {{C: [0, 0]}}}}}}
joints: {{s: {{type: prismatic, i: ground.O, j: b.C, axis: [1, 0]}}}}
forces: {{f: {{type: point-force, at: b.C, force: ["{law}", 0]}}}}
gravity: [0, 0]
simulation: {{t_end: 1 s, step: 10 ms}}
"""


@pytest.mark.parametrize(("m", "v"), [(2.5, 1.5), (4.221, 2.702), (1.681, 1.495), (3.522, 2.597)])
@pytest.mark.parametrize("law", ["(b.x - 0.5)^1.5", "sqrt(b.x - 0.5)"])
def test_roots_that_have_no_value_on_the_other_side_are_left(law: str, m: float, v: float) -> None:
    """A stop by Hertz' law behind an `if`: a step that began within it ends outside, where the root has no value.

    The body leaves with the speed with which it came.
    """
    own = f"if(b.x > 0.5, -3000*{law}, 0)"
    motion = simulate(loads(SPRING_OF_A_POWER.format(m=m, v=v, law=own)))
    assert motion["b.vx"][-1] == pytest.approx(-v, rel=1e-6)


def test_a_root_without_a_value_where_it_is_taken_is_refused() -> None:
    """if(x > 0.5, sqrt(0.8 - x), 0): from x = 0.8 on there is no force, and no other branch either."""
    law = "if(b.x > 0.5, sqrt(0.8 - b.x), 0)"
    with pytest.raises(LinkworkError):
        simulate(loads(SPRING_OF_A_POWER.format(m=2, v=1.5, law=law)))


IN_THE_WAY = """linkwork: 1
name: crank
gravity: [0, 0]
ground: {points: {O: [0, 0]}}
bodies:
  crank: {mass: 1, inertia: 4.5, position: [0.5, 0], velocity: [0, 0.5], angular_velocity: 1,
          points: {O: [-0.5, 0], A: [0.5, 0]}}
  rod: {mass: 1, inertia: 5.5, position: [2, 0], velocity: [0, 0.5], angular_velocity: -0.5,
        points: {A: [-1, 0], B: [1, 0]}}
  slider: {mass: 2, inertia: 1, position: [3, 0], points: {B: [0, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: crank.O}
  A: {type: revolute, i: crank.A, j: rod.A}
  B: {type: revolute, i: rod.B, j: slider.B}
  S: {type: prismatic, i: ground.O, j: slider.B, axis: [1, 0]}
forces: {f: {type: point-force, at: slider.B, force: ["-2000*exp(-(1000*(slider.x - 2.1))^2)", 0]}}
simulation: {t_end: 2, step: 2}
"""


def test_a_narrow_law_acts_on_what_follows_from_others_by_closed_loops() -> None:
    """The slider goes back past a push of 2 sqrt(pi) J: the law is narrow in its place, which the triangle gives."""
    for coordinates in ("minimal", "body"):
        motion = simulate(loads(IN_THE_WAY), coordinates=coordinates, rtol=1e-8)
        assert motion["slider.x"][-1] < 2.0
        gained = motion["energy:kinetic"][-1] - motion["energy:kinetic"][0]
        assert gained == pytest.approx(2 * math.sqrt(math.pi), rel=1e-6), coordinates
