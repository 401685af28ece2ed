"""Why a run ends before its time: what is named, and where."""

import math

import numpy as np
import pytest
from carts import cart

from linkwork import Integrator, simulate
from linkwork.errors import NumericalStop
from linkwork.integrators import memory, time_loop
from linkwork.modelfile import loads


@pytest.mark.parametrize("integrator", ["auto", "dopri5", "radau5"])
@pytest.mark.parametrize("law", ["-2*sign(cart.vx)", "if(cart.vx > 0, -2, 2)", "1 - 2*cart.vx/abs(cart.vx)"])
def test_dry_friction_that_holds_by_switching_stops_where_the_cart_comes_to_rest(law: str, integrator: str) -> None:
    """From t = 0.5 on, or 1, either side pushes it back; that is told after a few steps."""
    with pytest.raises(NumericalStop, match=r"rests .* where the law of 'push' switches, .* stick-slip") as stopped:
        simulate(cart(law, velocity=1.0, t_end=10.0), rtol=1e-9, atol=1e-9, integrator=integrator)
    assert stopped.value.code == "chatters"
    motion = stopped.value.trajectory
    assert motion.t[-1] == pytest.approx(1.0 if law.startswith("1") else 0.5, abs=1e-5)
    assert motion["cart.vx"][-1] == pytest.approx(0.0, abs=1e-5)
    assert motion.info.steps + motion.info.rejected < 1000


@pytest.mark.parametrize("integrator", ["auto", "dopri5", "radau5"])
def test_a_cart_that_slides_along_a_switch_is_not_said_to_rest(integrator: str) -> None:
    """v = 1 - t and x = t - t^2/2 until x + 2 v = 0; from there on x' = -x/2, which is no rest."""
    with pytest.raises(NumericalStop, match=r"stays .* where the law of 'push' switches, .* slides along") as stopped:
        simulate(cart("-sign(cart.x + 2*cart.vx)", velocity=1.0, t_end=10.0), integrator=integrator)
    assert stopped.value.code == "chatters"
    motion = stopped.value.trajectory
    assert motion.t[-1] == pytest.approx(math.sqrt(5.0) - 1.0, abs=1e-6)
    assert motion["cart.vx"][-1] == pytest.approx(2.0 - math.sqrt(5.0), abs=1e-6)


def test_a_stop_that_no_switch_holds_says_nothing_of_friction() -> None:
    """A force that switches while the cart goes on through it, and a spring: too many steps have other causes."""
    with pytest.raises(NumericalStop) as stopped:
        simulate(
            cart("-1e4*cart.x - 1e-3*sign(cart.vx)", velocity=1.0, t_end=1e3), integrator=Integrator(max_steps=5000)
        )
    assert stopped.value.code == "too-many-steps"
    assert "stick-slip" not in str(stopped.value)


def test_the_pace_of_a_run_tells_whether_it_can_arrive() -> None:
    """At 1e-13 s a step 5 s would need 5e13 of them: given up; at 1e-5 s it is not."""

    def is_hopeless(t: float, done: int, allowed: int) -> bool:
        at, _ = memory.new_run(4, 1)
        at.t_end, at.x[0], at.steps, at.most_steps = 5.0, t, done, allowed
        return time_loop.is_hopeless(at)

    for step, hopeless in ((1e-13, True), (1e-5, False)):
        assert is_hopeless(30_000 * step, 30_000, 2_000_000) is hopeless
    assert not is_hopeless(1e-9, 10_000, 2_000_000)
    assert is_hopeless(4.9, 10_000, 10_000)


@pytest.mark.parametrize("coordinates", ["body", "joint", "minimal"])
def test_a_force_without_a_value_ends_a_run_also_across_the_way(coordinates: str) -> None:
    """A cart on rails along x does not feel a force along y; its rails do, and sqrt(-1) is no force."""
    text = """linkwork: 1
gravity: [0, 0]
ground: {points: {O: [0, 0]}}
bodies: {cart: {mass: 1, inertia: 1, velocity: [1, 0], points: {C: [0, 0]}}}
joints: {rails: {type: prismatic, i: ground.O, j: cart.C, axis: [1, 0]}}
forces: {push: {type: point-force, at: cart.C, force: [0, "sqrt(0.5 - cart.x)"]}}
simulation: {t_end: 1, step: 0.1}
"""
    with pytest.raises(NumericalStop):
        simulate(loads(text), coordinates=coordinates)
    motion = simulate(loads(text), coordinates=coordinates, t_end=0.4)
    np.testing.assert_allclose(motion["reaction:rails.normal"], -np.sqrt(0.5 - motion.t), atol=1e-7)


PUSHED = """
linkwork: 1
gravity: [0, 0]
ground: {points: {O: [0, 0]}}
bodies: {cart: {mass: 1, inertia: 1, velocity: [1, 0], points: {O: [0, 0]}}}
joints: {rail: {type: prismatic, i: ground.O, j: cart.O, axis: [1, 0]}}
MORE
simulation: {t_end: 1, step: 0.1}
"""


@pytest.mark.parametrize("condition", ["log(0.3 - cart.x) < 1", "1 >= sqrt(0.3 - cart.x)", "acos(cart.x + 0.7) > 0"])
def test_a_condition_without_a_value_stops_the_run(condition: str) -> None:
    """None of these has a value beyond x = 0.3: neither branch is right there, and the formula is named."""
    law = f'forces: {{f: {{type: torque, on: cart, torque: "if({condition}, 1, 2)"}}}}'
    with pytest.raises(NumericalStop, match=r"'f' has no finite value there: (log|sqrt|acos)") as stopped:
        simulate(loads(PUSHED.replace("MORE", law)))
    assert 0.2 <= stopped.value.trajectory.t[-1] <= 0.3


def test_an_event_without_a_value_stops_the_run() -> None:
    """`when` has no value beyond x = 0.3, so that nobody knows whether it happens."""
    with pytest.raises(NumericalStop, match="'e'"):
        simulate(loads(PUSHED.replace("MORE", 'events: {e: {when: "log(0.3 - cart.x) - 1", action: stop}}')))
