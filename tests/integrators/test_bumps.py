"""Smooth forces that act much more briefly than a step is long, or than the report times are apart."""

import json
import math
from typing import Any

import pytest
from carts import cart
from scipy.integrate import quad, solve_ivp
from scipy.special import k1

from linkwork import Integrator, simulate
from linkwork.errors import NumericalStop
from linkwork.modelfile import MECHANISMS, loads

# A bump of u = (x - centre)/width, and its integral by the width.
SHAPES = {
    "exp(-({u})^2)": math.sqrt(math.pi),
    "1/(1 + ({u})^4)": math.pi / math.sqrt(2),
    "(1 - tanh({u})^2)": 2.0,
    "(tanh({u}) - tanh({u} - 1))": 2.0,
    "(1/(1 + exp(-({u}))) - 1/(1 + exp(1 - {u})))": 1.0,
    "1/cosh({u})": math.pi,
}
SMOOTH = {
    "exp(-({u})^2)": lambda u: math.exp(-u * u),
    "1/(1 + ({u})^4)": lambda u: 1 / (1 + u**4),
    "(1 - tanh({u})^2)": lambda u: 1 - math.tanh(u) ** 2,
    "(tanh({u}) - tanh({u} - 1))": lambda u: math.tanh(u) - math.tanh(u - 1),
    "(1/(1 + exp(-({u}))) - 1/(1 + exp(1 - {u})))": lambda u: 1 / (1 + math.exp(-u)) - 1 / (1 + math.exp(1 - u)),
    "1/cosh({u})": lambda u: 1 / math.cosh(u),
}

CASES = pytest.mark.parametrize(
    ("step", "width", "integrator", "coordinates"),
    [
        (0.01, 1e-3, "dop853", "body"),
        (0.5, 1e-3, "dopri5", "joint"),
        (0.1, 1e-4, "auto", "body"),
        (0.5, 0.02, "radau5", "joint"),
    ],
)


@pytest.mark.diagonal
@pytest.mark.parametrize("shape", SHAPES)
@CASES
def test_a_bump_in_time_acts(shape: str, step: float, width: float, integrator: str, coordinates: str) -> None:
    """The momentum is its integral, 20 N/width over the width."""
    law = f"{20 / width!r}*" + shape.format(u=f"(t - 6.53)/{width!r}")
    motion = simulate(cart(law, step=step), rtol=1e-8, integrator=integrator, coordinates=coordinates)
    reach = 1e-3 if "4" in shape else 0.0  # of its tails beyond the run
    assert motion["cart.vx"][-1] == pytest.approx(20 * SHAPES[shape], rel=1e-6 + reach * (width / 0.02) ** 3)


@pytest.mark.diagonal
@pytest.mark.parametrize("shape", SHAPES)
@CASES
def test_a_bump_in_the_way_acts(shape: str, step: float, width: float, integrator: str, coordinates: str) -> None:
    """It is passed at 1 m/s, and the kinetic energy grows by its integral."""
    law = f"{20 / width!r}*" + shape.format(u=f"(cart.x - 7.15)/{width!r}")
    motion = simulate(cart(law, step=step, velocity=1.0), rtol=1e-8, integrator=integrator, coordinates=coordinates)
    reach = 1e-3 if "4" in shape else 0.0
    assert motion["cart.vx"][-1] ** 2 == pytest.approx(1 + 40 * SHAPES[shape], rel=1e-6 + reach * (width / 0.02) ** 3)


@pytest.mark.diagonal
@pytest.mark.parametrize("shape", SHAPES)
@CASES
def test_a_bump_in_the_speed_acts(shape: str, step: float, width: float, integrator: str, coordinates: str) -> None:
    """v' = 1 + 50 f((v - 4)/width): what the bump saves of the time until 4 is had in speed at the end."""
    law = "1 + 50*" + shape.format(u=f"(cart.vx - 4)/{width!r}")
    motion = simulate(cart(law, step=step), rtol=1e-8, integrator=integrator, coordinates=coordinates)
    f = SMOOTH[shape]
    reach = min(300.0, 3.9 / width)
    saved = width * sum(
        quad(lambda u: 1 - 1 / (1 + 50 * f(u)), *ends, limit=500)[0] for ends in [(-reach, 0), (0, reach)]
    )
    assert motion["cart.vx"][-1] == pytest.approx(10 + saved, abs=1e-6 + 1e-7 * width / 1e-4)


@pytest.mark.diagonal
@pytest.mark.parametrize(
    ("law", "integral"),
    [
        ("exp(-({x}^2 - 13*{x} + 6.5^2)/{w}^2)", math.sqrt(math.pi)),
        ("2^(-(({x} - 6.5)/{w})^2)", math.sqrt(math.pi / math.log(2))),
        ("exp(-sqrt((({x} - 6.5)/{w})^2 + 1))", 2 * k1(1.0)),
        ("exp(-(({x}^2 - 6.5^2)/(13*{w}))^2)", math.sqrt(math.pi)),
        ("exp((cos(({x} - 6.5)/20) - 1)*(20/{w})^2)", math.sqrt(2 * math.pi)),
    ],
)
@pytest.mark.parametrize("variable", ["t", "cart.x"])
@pytest.mark.parametrize("integrator", ["dop853", "dopri5", "radau5"])
def test_a_bump_of_another_exponent_acts(law: str, integral: float, variable: str, integrator: str) -> None:
    """A cart at 1 m/s gains momentum, or energy, by its integral up to terms of w^2."""
    force = "4000*" + law.format(x=variable, w="1e-3")
    motion = simulate(cart(force, step=0.5, velocity=1.0), rtol=1e-8, integrator=integrator)
    v = motion["cart.vx"][-1]
    assert (v - 1 if variable == "t" else (v**2 - 1) / 2) == pytest.approx(4 * integral, rel=2e-6)


W = 1e-4


@pytest.mark.diagonal
@pytest.mark.parametrize(
    ("law", "integral", "tails"),
    [
        ("1/({w}^2 + ({x} - 6.5)^2)", math.pi / W, 1e-4),
        ("(({x} - 6.5)^2 + {w}^2)^(-1.5)", 2 / W**2, 0.0),
        ("1/(({x} - 6.5)^2 + {w}^2)^2.5", 4 / 3 / W**4, 0.0),
        ("(8 - {x})/({x}^2 - 13*{x} + 6.5^2 + {w}^2)^2", 0.75 * math.pi / W**3, 0.0),
        ("1/(({x} - 6.5)^4 + {w}^4)", math.pi / math.sqrt(2) / W**3, 0.0),
        ("1/(1 + {w}^2 - cos(({x} - 6.5)/2))^2", 4 * math.pi * (1 + W**2) / (W**2 * (2 + W**2)) ** 1.5, 0.0),
    ],
)
@pytest.mark.parametrize("variable", ["t", "cart.x"])
@pytest.mark.parametrize("integrator", ["dop853", "dopri5", "radau5"])
def test_a_bump_of_a_divisor_that_nearly_vanishes_acts(
    law: str, integral: float, tails: float, variable: str, integrator: str
) -> None:
    """Rational and other powers of a polynomial, and of a cosine with one turn in 4 pi."""
    force = f"{3 / integral!r}*" + law.format(x=variable, w=repr(W))
    motion = simulate(cart(force, step=0.5, velocity=1.0), rtol=1e-8, integrator=integrator)
    v = motion["cart.vx"][-1]
    assert (v - 1 if variable == "t" else (v**2 - 1) / 2) == pytest.approx(3.0, rel=3e-6 + tails)


@pytest.mark.parametrize("integrator", ["dop853", "dopri5", "radau5", "generalized-alpha"])
def test_a_bump_of_a_high_power_acts(integrator: str) -> None:
    """cos(t/2 - 2.5)^2048 is 0.06 s wide; its integral over a turn is 2 pi (2048 over 1024)/2^2048."""
    motion = simulate(cart("30*(cos(t/2 - 2.5)^64)^32", step=0.5), rtol=1e-8, integrator=integrator)
    share = math.exp(math.lgamma(2049) - 2 * math.lgamma(1025) - 2048 * math.log(2))
    assert motion["cart.vx"][-1] == pytest.approx(30 * 2 * math.pi * share, rel=1e-5)


@pytest.mark.parametrize("variable", ["t", "cart.x"])
@pytest.mark.parametrize(
    ("how", "tolerance"),
    [
        ({"integrator": "dop853"}, 1e-6),
        ({"integrator": "radau5"}, 1e-6),
        ({"integrator": "radau5", "formulation": "ggl"}, 1e-6),
        ({"integrator": "radau5", "formulation": "index-3"}, 1e-5),
        ({"integrator": "generalized-alpha"}, 2e-3),  # which is of order 2
    ],
)
def test_a_bump_acts_by_every_form_of_the_equations(how: dict[str, Any], tolerance: float, variable: str) -> None:
    motion = simulate(cart(f"7*exp(-(({variable} - 6.531)/0.02)^2)", velocity=1.0), rtol=1e-7, **how)
    v = motion["cart.vx"][-1]
    gained = v - 1 if variable == "t" else (v**2 - 1) / 2
    assert gained == pytest.approx(0.14 * math.sqrt(math.pi), rel=tolerance)


def test_a_bump_whose_derivative_overflows_far_away_acts() -> None:
    """1/cosh(u) is zero for u = -6500, and its derivative sinh/cosh^2 is infinity by infinity; its integral is pi."""
    law = "4000/cosh((cart.x - 6.5)/1e-3)"
    motion = simulate(cart(law, step=0.5, velocity=1.0), rtol=1e-8, integrator="radau5")
    assert motion["cart.vx"][-1] ** 2 == pytest.approx(1 + 8 * math.pi, rel=1e-6)


@pytest.mark.parametrize("variable", ["t", "cart.x"])
@pytest.mark.parametrize("rtol", [1e-7, 1e-8, 1e-10])
@pytest.mark.sampled
def test_an_implicit_method_errs_by_some_tolerances_at_a_bump(rtol: float, variable: str) -> None:
    """Where a force sets in the error is not h^2 times its estimate, and behind it the Jacobian is that of the bump.

    The estimate, of h^4, is compared with rtol^(2/3), so that steps are in proportion to rtol^(1/6) and the error, of
    h^5, to rtol^(5/6).
    """
    within = 3 * rtol * (1e-7 / rtol) ** (1 / 6)
    for width in (0.1, 0.02, 0.001):
        for centre in (4.2, 5.77, 6.5, 6.531):
            law = f"{4 / width}*exp(-(({variable} - {centre})/{width})^2)"
            motion = simulate(cart(law, step=0.5, velocity=1.0), rtol=rtol, atol=rtol, integrator="radau5")
            gained = 4 * math.sqrt(math.pi)
            v = 1 + gained if variable == "t" else math.sqrt(1 + 2 * gained)
            assert motion["cart.vx"][-1] == pytest.approx(v, rel=within)


@pytest.mark.diagonal
@pytest.mark.parametrize("width", [0.004, 0.001])
@pytest.mark.parametrize("centre", [3.0, 4.2, 4.21])
@pytest.mark.parametrize("integrator", ["dop853", "dopri5", "radau5"])
def test_a_force_between_two_switches_of_the_speed_acts(integrator: str, centre: float, width: float) -> None:
    """v' = 1 + 50 (1 - u^2) for |u| < 1, which throws stages beyond both ends, or ends in the last eighth of a step.

    It saves 2 width (1 - k artanh(k)/50), k^2 = 50/51, of the time until the end.
    """
    law = f"1 + 50*max(0, 1 - ((cart.vx - {centre!r})/{width!r})^2)"
    motion = simulate(cart(law, step=0.02), rtol=1e-8, integrator=integrator)
    saved = 2 * width * (1 - math.atanh(math.sqrt(50 / 51)) / math.sqrt(50 * 51))
    assert motion["cart.vx"][-1] == pytest.approx(10 + saved, abs=1e-6)


@pytest.mark.parametrize("integrator", ["auto", "dopri5", "radau5"])
@pytest.mark.sampled
def test_a_force_that_switches_regularly_acts_every_time(integrator: str) -> None:
    """1000 (sin(100 pi x) - 0.99) where that is positive, 45 mrad about every peak: each adds the same energy.

    The errors of 1800 pulses add up.
    """
    motion = simulate(
        cart("1000*max(0, sin(100*pi*cart.x) - 0.99)", step=0.5, velocity=2.0), rtol=1e-8, integrator=integrator
    )
    edge = math.asin(0.99)
    work = 1000 / (100 * math.pi) * (2 * math.cos(edge) - 0.99 * (math.pi - 2 * edge))
    peaks = round((motion["cart.x"][-1] - 0.005) / 0.02 + 0.5)
    assert (motion["cart.vx"][-1] ** 2 - 4) / 2 == pytest.approx(peaks * work, rel=1e-4)


@pytest.mark.diagonal
@pytest.mark.parametrize(
    ("law", "integral"),
    [
        ("1/cosh((rod.E.x - 0.2)/1e-3)", math.pi),
        ("(tanh((rod.E.x - 0.2)/1e-3) - tanh((rod.E.x - 0.201)/1e-3))", 2.0),
        ("(1/(1 + exp((rod.E.x - 0.2)/1e-3)) - 1/(1 + exp((rod.E.x - 0.199)/1e-3)))", 1.0),
        ("exp(-((rod.E.x - 0.2)/1e-3)^2)", math.sqrt(math.pi)),
    ],
)
@pytest.mark.parametrize("coordinates", ["body", "joint"])
@pytest.mark.parametrize("integrator", ["auto", "dopri5", "radau5"])
def test_a_bump_where_a_point_of_a_turning_body_passes_acts(
    law: str, integral: float, coordinates: str, integrator: str
) -> None:
    """A force along x at a point of a rod that turns freely: the kinetic energy grows by its integral.

    The point passes once, on its way from -0.3 m.
    """
    data = {
        "linkwork": 1,
        "name": "rod",
        "gravity": [0, 0],
        "ground": {"points": {"O": [0, 0]}},
        "bodies": {
            "rod": {
                "mass": 2,
                "inertia": 0.7,
                "position": [0, 0],
                "angle": "-126.87 deg",
                "angular_velocity": 1.3,
                "points": {"O": [0, 0], "E": [0.5, 0]},
            }
        },
        "joints": {"O": {"type": "revolute", "i": "ground.O", "j": "rod.O"}},
        "forces": {"push": {"type": "point-force", "at": "rod.E", "force": [f"300*{law}", 0]}},
        "simulation": {"t_end": 1.1, "step": 0.55, "rtol": 1e-8},
    }
    motion = simulate(loads(json.dumps(data), is_json=True), coordinates=coordinates, integrator=integrator)
    assert motion["rod.omega"][-1] ** 2 == pytest.approx(1.3**2 + 2 / 0.7 * 0.3 * integral, rel=1e-6)


@pytest.mark.parametrize("law", ["-3*abs(crank.O.vx)*crank.O.vx", "-2*max(0, crank.O.vy)", "5*min(0, crank.O.x)"])
@pytest.mark.sampled
def test_a_law_of_a_point_that_rests_has_no_effect_on_motion_or_steps(law: str) -> None:
    """Its argument is zero but for rounding and tolerance, so its signs mean nothing."""
    text = (MECHANISMS / "slider_crank.yaml").read_text()
    free = simulate(loads(text), t_end=5, rtol=1e-8)
    force = "forces: {drag: {type: point-force, at: crank.O, force: [LAW, LAW]}}\n".replace("LAW", f'"{law}"')
    motion = simulate(loads(text + force), t_end=5, rtol=1e-8)
    assert motion["crank.phi"] == pytest.approx(free["crank.phi"], abs=1e-6)
    assert motion.info.steps < 2 * free.info.steps


NARROW = {  # a height of one for a width of one, as functions of x; x moves through 5.1234
    "if(({x} - 5.1234)^2 < {w}^2/4, 1, 0)": 1.0,
    "if(({x} - 5.1234)*({x} - 5.1234 - {w}) < 0, 1, 0)": 1.0,
    "max(0, 1 - (({x} - 5.1234)/{w})^2)": 4 / 3,
    "if(exp(-(({x} - 5.1234)/{w})^2) > 0.5, 1, 0)": 2 * math.sqrt(math.log(2)),
    "if(cos(({x} - 5.1234)/3) > cos({w}/6), 1, 0)": 1.0,
    "(1 + tanh(20*(1 - (2*({x} - 5.1234)/{w})^2)))/2": 0.9997422799,  # by quadrature
    "(tanh(50*({x} - 5.1234)/{w}) - tanh(50*({x}^2 - (5.1234 + {w})^2)/(10.2468*{w})))/2": 1.0,
    "(({x} - 5.1234)/sqrt(({x} - 5.1234)^2) - ({x} - 5.1234 - {w})/sqrt(({x} - 5.1234 - {w})^2))/2": 1.0,
    "(atan(1e9/({x} - 5.1234)) - atan(1e9/({x} - 5.1234 - {w})))/pi": 1.0,
}


@pytest.mark.diagonal
@pytest.mark.parametrize("shape", NARROW)
@pytest.mark.parametrize(
    ("width", "how"), [(1e-4, {}), (0.01, {"integrator": "dopri5", "step": 0.5}), (1e-4, {"integrator": "radau5"})]
)
@pytest.mark.parametrize("variable", ["t", "cart.x"])
def test_a_narrow_pulse_acts_however_it_is_written(
    shape: str, width: float, how: dict[str, Any], variable: str
) -> None:
    """A cart at 1 m/s gains momentum, or energy, by its integral; what switches does so twice between any two looks."""
    law = f"{3 / width!r}*({shape.format(x=variable, w=repr(width))})"
    motion = simulate(cart(law, velocity=1.0), rtol=1e-8, **how)
    v = motion["cart.vx"][-1]
    assert (v - 1 if variable == "t" else (v**2 - 1) / 2) == pytest.approx(3 * NARROW[shape], rel=1e-3)


@pytest.mark.parametrize(
    "how",
    [
        {"integrator": "dop853"},
        {"integrator": "radau5"},
        {"integrator": "radau5", "formulation": "ggl"},
        {"integrator": "radau5", "formulation": "index-3"},
    ],
)
@pytest.mark.parametrize("width", [1e-4, 1e-6])
@pytest.mark.sampled
def test_a_brake_that_acts_for_less_than_a_step_is_solved_for(how: dict[str, str], width: float) -> None:
    """v' = -2 v/width for so long leaves exp(-2) of the speed; one step by Euler's method would turn it round."""
    law = f"if(t < 5.1234, 0, if(t < {5.1234 + width!r}, {-2 / width!r}*cart.vx, 0))"
    motion = simulate(cart(law, velocity=1.0), rtol=1e-8, **how)
    assert motion["cart.vx"][-1] == pytest.approx(math.exp(-2), rel=1e-6)


@pytest.mark.slow
def test_what_switches_often_is_seen_every_time_or_it_is_told() -> None:
    """A comb of 50,000 teeth, of which a hundred push: their energy is in closed form. Of 1e-11 m they are too many."""
    comb = "if(sin({k}*pi*cart.x) > 0.9, 1, 0)"
    few = "4e3*" + comb + "*if(abs(cart.x - 5) < 5e-3, 1, 0)"
    fine = simulate(cart(few.format(k="2e4"), velocity=1.0, t_end=5.1), rtol=1e-7, integrator="dopri5")
    assert not fine.info.notes
    gained = 4e3 * 1e-2 * (0.5 - math.asin(0.9) / math.pi)
    assert (fine["cart.vx"][-1] ** 2 - 1) / 2 == pytest.approx(gained, rel=1e-6)
    for k in ("2e11", "2e13"):
        finest = simulate(cart(few.format(k=k), velocity=1.0, t_end=6.0), rtol=1e-7, integrator="dopri5")
        assert any("[unseen-switches]" in note for note in finest.info.notes)
    coarse = simulate(cart(comb.format(k="200"), velocity=1.0, t_end=1.0), rtol=1e-7, integrator="dopri5")
    assert not coarse.info.notes
    width, x = 0.01 * (0.5 - math.asin(0.9) / math.pi), coarse["cart.x"][-1]
    work = sum(min(max(x - 0.01 * (k + 0.25) + width / 2, 0.0), width) for k in range(120))
    assert (coarse["cart.vx"][-1] ** 2 - 1) / 2 == pytest.approx(work, rel=1e-4)


@pytest.mark.parametrize(
    ("law", "f"),
    [
        ("if(abs({v}) < 1e-6, 1e6*{v}, sign({v}))", lambda v: 1e6 * v if abs(v) < 1e-6 else math.copysign(1.0, v)),
        ("2/pi*atan2({v}, 1e-5)", lambda v: 2 / math.pi * math.atan2(v, 1e-5)),
    ],
)
def test_a_steep_law_that_is_continuous_is_no_dry_friction(law: str, f: Any) -> None:
    """v' = 1.5 sin t - f(v) creeps where f is below 1 and slips elsewhere, against SciPy."""
    push = f"1.5*sin(t) - ({law.format(v='cart.vx')})"
    motion = simulate(cart(push, velocity=0.3, t_end=6.0), rtol=1e-8, integrator="auto")
    truth = solve_ivp(lambda t, v: [1.5 * math.sin(t) - f(v[0])], (0, 6), [0.3], "Radau", rtol=1e-9, atol=1e-12)
    assert motion["cart.vx"][-1] == pytest.approx(truth.y[0, -1], abs=2e-6)


@pytest.mark.parametrize("integrator", ["auto", "radau5"])
@pytest.mark.parametrize("slope", [1e8, 4e8, 1e9])
@pytest.mark.parametrize("rtol", [1e-6, 1e-8])
@pytest.mark.sampled
def test_a_law_that_the_tolerances_leave_open_is_told_and_a_smaller_atol_settles_it(
    slope: float, rtol: float, integrator: str
) -> None:
    """Dry friction, but for 1/slope: the cart holds while 1.5 |sin t| < 1, and last slips from sin t = -2/3 on.

    What is not told is right to a hundred tolerances, as every motion.
    """
    slips = math.pi + math.asin(2 / 3)
    v = 1.5 * (math.cos(slips) - math.cos(6.0)) + 6.0 - slips
    model = cart(f"1.5*sin(t) - tanh({slope}*cart.vx)", velocity=0.3, t_end=6.0)
    fine = simulate(model, rtol=rtol, atol=1e-11, integrator=integrator)
    assert fine["cart.vx"][-1] == pytest.approx(v, abs=10 / slope)
    assert not any("[steep-law]" in note for note in fine.info.notes)
    try:
        coarse = simulate(model, rtol=rtol, atol=1e-9, integrator=Integrator(integrator, max_steps=20_000))
    except NumericalStop:
        assert slope == 1e9
        return
    is_told = any("[steep-law]" in note for note in coarse.info.notes)
    assert is_told or coarse["cart.vx"][-1] == pytest.approx(v, abs=10 / slope + 100 * (1e-9 + rtol * abs(v)))
    assert not (is_told and slope == 1e8)


@pytest.mark.parametrize("integrator", ["auto", "radau5"])
@pytest.mark.parametrize("slope", [1e7, 1e9])
@pytest.mark.parametrize("rtol", [1e-6, 1e-8])
@pytest.mark.sampled
def test_a_law_that_bends_holds_and_slips_as_dry_friction_does(slope: float, rtol: float, integrator: str) -> None:
    """The same with a law that is straight within 1/slope: it neither sticks nor chatters where it bends."""
    slips = math.pi + math.asin(2 / 3)
    v = 1.5 * (math.cos(slips) - math.cos(6.0)) + 6.0 - slips
    law = f"1.5*sin(t) - max(-1, min(1, {slope}*cart.vx))"
    motion = simulate(cart(law, velocity=0.3, t_end=6.0), rtol=rtol, integrator=integrator)
    assert motion["cart.vx"][-1] == pytest.approx(v, abs=10 / slope)
    assert motion.info.steps < 200 or slope == 1e9


def test_a_wall_that_is_met_again_is_entered_with_the_step_of_the_time_before() -> None:
    """Each way takes 1 s, each contact with a wall of 1e8 N/m pi/1e4 s; what the first rejects is not paid again."""
    walls = "1e8*(max(0, -cart.x) - max(0, cart.x - 1))"
    once, often = (simulate(cart(walls, velocity=1.0, t_end=t), rtol=1e-9, integrator="dop853") for t in (1.5, 40.5))
    assert often["cart.x"][-1] == pytest.approx(0.5 - 40 * math.pi / 1e4, abs=1e-6)
    assert often.info.rejected < 40 * once.info.rejected / 2


BACK_AT_A_SWITCH = """linkwork: 1
gravity: [0, -9.81]
ground: {points: {O: [0, 0]}}
bodies: {rod: {mass: 1.3, inertia: 0.11, position: [0.5, 0], points: {O: [-0.5, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: rod.O}}
forces: {T: {type: torque, on: rod, torque: "1.5*sign(sin(5*rod.phi))"}}
simulation: {t_end: 3, step: 0.5}
"""


def test_a_switch_that_tolerances_leave_to_chance_is_told() -> None:
    """A rod that falls from rest where its law switches comes back just to there, at rest, and so never switches there.

    A motion that goes 1e-8 rad beyond loses 1e-4 s.
    """

    def rates(_: float, y: Any) -> list[float]:
        law = -1.0 if y[0] > -math.pi / 5 else math.copysign(1.0, math.sin(5 * y[0]))
        return [y[1], (1.5 * law - 1.3 * 9.81 * 0.5 * math.cos(y[0])) / (0.11 + 1.3 * 0.25)]

    truth = solve_ivp(rates, (0, 3), [0.0, 0.0], "DOP853", rtol=1e-10, atol=1e-11, max_step=1e-3).y[:, -1]
    told = []
    for rtol in (1e-6, 1e-7, 1e-8, 1e-9):
        for how in ({"coordinates": "body"}, {"coordinates": "joint"}):
            motion = simulate(loads(BACK_AT_A_SWITCH), rtol=rtol, atol=rtol, **how)
            told.append(any("[slight-switch]" in note for note in motion.info.notes))
            if not told[-1]:
                assert [motion["rod.phi"][-1], motion["rod.omega"][-1]] == pytest.approx([*truth], abs=200 * rtol)
    assert any(told)
    assert not all(told)
