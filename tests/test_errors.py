"""Calls that cannot be meant: each is refused with the argument and what it should be, none by Python or NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import own
from linkwork.errors import LinkworkError, ModelError, UsageError

CRANK = lw.load("slider_crank")
MECHANISM = lw.prepare(CRANK)


@pytest.fixture(scope="module")
def motion() -> Any:
    return MECHANISM.simulate(t_end=0.2)


def built() -> Any:
    m = lw.PlanarModel("pendulum", l="40 cm")
    m.fix(O=(0, 0))
    arm = m.body("arm", mass="1 kg", inertia="0.02 kg*m^2", points={"O": ("-l/2", 0), "tip": ("l/2", 0)})
    m.revolute("O", m.ground, arm)
    return m


WRONG: dict[str, Callable[[], Any]] = {
    "controllers is not a list": lambda: CRANK.simulate(controllers=3),
    "progress is not a function": lambda: lw.simulate(CRANK, progress=3, t_end=0.1),  # type: ignore[arg-type]
    "path is not a path": lambda: lw.actuated(CRANK, 3),  # type: ignore[arg-type]
    "path_limit": lambda: lw.modes(CRANK, path_limit="many"),  # type: ignore[arg-type]
    "seed": lambda: lw.modes(CRANK, seed=-1),
    "seed of rests": lambda: lw.equilibria(CRANK, seed=None),  # type: ignore[arg-type]
    "coordinates to compare": lambda: lw.compare(CRANK, coordinates=3),  # type: ignore[arg-type]
    "tolerance of rank": lambda: lw.compare(CRANK, rank_tolerance="small"),  # type: ignore[arg-type]
    "at is a number": lambda: lw.explain(CRANK, at="noon"),  # type: ignore[arg-type]
    "largest is a whole number": lambda: lw.write_down(CRANK, largest="a"),  # type: ignore[arg-type]
    "q gives values to names": lambda: MECHANISM.state(q=3),  # type: ignore[arg-type]
    "t is a number": lambda: MECHANISM.state(t="noon"),  # type: ignore[arg-type]
    "place takes nothing": lambda: MECHANISM.place(3),  # type: ignore[call-arg]
    "take of a sweep": lambda: lw.sweep(CRANK, {"l": [1.0]}, 3, t_end=0.1),  # type: ignore[arg-type]
    "threads of a batch": lambda: lw.batch(CRANK, {"l": [1.0]}, "max(crank.phi)", threads="all"),  # type: ignore[arg-type]
    "take of a batch": lambda: lw.batch(CRANK, {"l": [1.0]}, 3),  # type: ignore[arg-type]
    "of": lambda: lw.slopes(CRANK, 3),  # type: ignore[arg-type]
    "to": lambda: lw.slopes(CRANK, "max(crank.phi)", 3),  # type: ignore[arg-type]
    "tolerances": lambda: lw.slopes(CRANK, "max(crank.phi)", ["l"], 3),  # type: ignore[arg-type]
    "a study": lambda: lw.load_study(3),  # type: ignore[arg-type]
    "a trajectory": lambda: lw.Trajectory.load(3),  # type: ignore[arg-type]
    "no state": lambda: lw.Stepper(CRANK).step(),  # type: ignore[call-arg]
    "a state is an array": lambda: lw.Stepper(CRANK).step(0.1),  # type: ignore[arg-type]
    "dt is a number": lambda: (s := lw.Stepper(CRANK)).step(s.start(), (), "1 ms"),  # type: ignore[arg-type]
    "a model file": lambda: built().save("model.txt"),
    "a path": lambda: built().save(3),
    "a setting is no parameter": lambda: lw.PlanarModel("x", gravity=(0, 0)),
    "an own class": lambda: own.element("my-pin")(3),  # type: ignore[type-var]
    "a name of a type": lambda: own.element("My Pin"),
    "a space": lambda: own.element("my-pin", space="hyper"),  # type: ignore[arg-type]
    "a name of a formulation": lambda: own.formulation(3),  # type: ignore[arg-type]
    "an own formulation": lambda: own.formulation("my-way")(lambda M: M),  # type: ignore[arg-type, misc]
    "an own tableau": lambda: own.tableau("my-rk", order=2, A=3, b=4, b_low=5),  # type: ignore[arg-type]
    "weights of a tableau": lambda: own.tableau("my-rk", order=2, A=((), ("a",)), b=(1, 0), b_low=(1, 0)),  # type: ignore[arg-type]
    "no error estimate": lambda: own.tableau("my-rk", order=2, A=((), (1,)), b=(0.5, 0.5)),  # type: ignore[call-arg]
    "plugins": lambda: own.load_plugins(3),  # type: ignore[arg-type]
    "bodies are a tuple": lambda: lw.simulate(lw.Model("x", bodies=3)),  # type: ignore[arg-type]
    "bodies are bodies": lambda: lw.simulate(lw.Model("x", bodies=(3,))),  # type: ignore[arg-type]
    "gravity is a vector": lambda: lw.simulate(lw.Model("x", gravity=3)),  # type: ignore[arg-type]
    "gravity fits the space": lambda: lw.simulate(lw.Model("x", space="spatial")),
    "there are two spaces": lambda: lw.simulate(lw.Model("x", space="hyper")),  # type: ignore[arg-type]
    "a start needs all names": lambda: CRANK.with_start({"crank.x": 1.0}, {}),
    "a start needs velocities": lambda: CRANK.with_start({}),  # type: ignore[call-arg]
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_refused_in_words(case: str) -> None:
    with pytest.raises(LinkworkError) as refused:
        WRONG[case]()
    assert len(str(refused.value)) > 20


OF_MOTIONS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "no name": (lambda m: m.max(), "max: missing a required argument: 'name'"),
    "no end": (lambda m: m.between(0.1), "between: missing a required argument: 'end'"),
    "no path": (lambda m: m.save(3), "save: path = 3 is not a text or a path"),
    "no film": (lambda m: m.animate("x.gif", speed="fast"), "animate: speed = 'fast' is not a number"),
    "no parameter": (lambda m: m.gradient("crank.phi"), "gradient: missing a required argument: 'parameter'"),
    "misspelt": (lambda m: m.plot("crank.phi", agains="t"), "did you mean 'against'?"),
}


@pytest.mark.parametrize("case", OF_MOTIONS)
def test_results_name_the_argument(motion: Any, case: str) -> None:
    call, said = OF_MOTIONS[case]
    with pytest.raises(UsageError) as refused:
        call(motion)
    assert said in str(refused.value)


def test_what_a_function_of_the_user_raises_stays_what_it_is() -> None:
    def law(t: float) -> float:
        raise ValueError("mine")

    with pytest.raises((ValueError, ModelError), match="mine"):
        built().driver("motor", "O", law)


def test_live_ranges_are_a_setting_of_models_in_python() -> None:
    m = built()
    m.live = {"l": "0.2 m .. 0.6 m"}
    assert m.model.live == {"l": (0.2, 0.6)}


def test_a_spring_without_a_law_is_noted() -> None:
    m = built()
    m.spring_damper("idle", "ground.O", "arm.tip", free_length="1 m")
    m.spring_damper("soft", "ground.O", "arm.tip", stiffness=0.0, damping="1 N*s/m")
    assert [note.data for note in m.check(assemble=True).notes if note.code == "no-law"] == [{"force": "idle"}]


def test_millimetres_are_suggested_where_positions_tell() -> None:
    """A length of 300 m among positions of decimetres; not where all bodies are at one place, as in a sketch."""
    m = built()
    m.change("arm", position=("2*l", 0))
    for model, suggests in ((m.copy(l=1.0), False), (built().copy(l=1.0), False)):
        with pytest.raises(ModelError) as refused:
            model.simulate(t_end=0.1)
        assert ("millimetres" in str(refused.value)) is suggests
    m = built()
    m.change("arm", position=("0.2", 0))
    m.body("foot", mass=1, position=(0.1, 0.0))
    with pytest.raises(ModelError, match="write 400 mm"):
        m.copy(l=400.0).simulate(t_end=0.1)
    assert np.isclose(m.copy(l="400 mm").simulate(t_end=0.01).q[0, 0], 0.2)


def test_suggestions_name_arguments_of_the_function_that_was_called() -> None:
    m = built()
    with pytest.raises(ModelError, match=r"start=Start\(assemble=True\)"):
        m.simulate(t_end=0.1)
    with pytest.raises(ModelError, match="with assemble=True"):
        m.check()
    with pytest.raises(LinkworkError, match=r"integrator=Integrator\(max_steps=200\) allows more"):
        CRANK.simulate(t_end=100.0, integrator=lw.Integrator(max_steps=20))
