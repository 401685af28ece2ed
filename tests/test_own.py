"""Joints, forces, formulations and integrators that users add: they do what those of linkwork do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import linkwork as lw
from linkwork.cli import answer
from linkwork.elements.faults import Faults, Numbers
from linkwork.errors import ModelError, UsageError
from linkwork.integrators.methods.own import density, order_of, trees, weight
from linkwork.integrators.methods.tableaus import DOP853, DOPRI5
from linkwork.own import (
    Angle,
    BodyPointForce,
    Expr,
    FlatContact,
    JointForce,
    Length,
    Number,
    PlanarTurn,
    PointPair,
    PointPairForce,
    Push,
    Stiffness,
    Vector,
    element,
    formulation,
    less,
    load_plugins,
    measure_freedom,
    select,
    tableau,
)
from linkwork.own import (
    Path as Way,
)

RALSTON = {"A": [[], [2 / 3]], "b": [1 / 4, 3 / 4], "b_low": [1.0, 0.0], "order": 2}
BOGACKI_SHAMPINE = {
    "A": [[], [1 / 2], [0, 3 / 4]], "b": [2 / 9, 1 / 3, 4 / 9], "b_low": [7 / 24, 1 / 4, 1 / 3, 1 / 8], "order": 3
}  # fmt: skip
CASH_KARP: dict[str, Any] = {
    "A": [
        [], [1 / 5], [3 / 40, 9 / 40], [3 / 10, -9 / 10, 6 / 5], [-11 / 54, 5 / 2, -70 / 27, 35 / 27],
        [1631 / 55296, 175 / 512, 575 / 13824, 44275 / 110592, 253 / 4096],
    ],
    "b": [37 / 378, 0, 250 / 621, 125 / 594, 0, 512 / 1771],
    "b_low": [2825 / 27648, 0, 18575 / 48384, 13525 / 55296, 277 / 14336, 1 / 4],
    "order": 5,
}  # fmt: skip


def add_pin() -> Any:
    """A pin as linkwork has it, with its way as joint coordinates, but stated by a user."""

    @element("my-pin", space="planar")
    class MyPin(PointPair):
        rows: ClassVar[Any] = {"x": "length", "y": "length"}
        drawn_as = "revolute"
        way = Way(("angle",), lambda joint, q, v: [PlanarTurn(q[0], v[0])])

        def Psi(self, t: Any, i: Any, j: Any) -> Vector:
            return self.d(i, j)

        def freedoms(self, i: Any, j: Any) -> Any:
            return {"angle": j.phi - i.phi}

    return MyPin


def add_cam() -> Any:
    @element("cam")
    class Cam(PointPair):
        """The point of body j rides on a disc of body i off its centre."""

        radius: Length
        eccentricity: Length = 0.0
        rows: ClassVar[Any] = {"radius": "length"}
        sizes = ("radius",)

        def Psi(self, t: Any, i: Any, j: Any) -> Vector:
            x, y = self.s_i
            d = j.point(self.s_j) - i.point((x + self.eccentricity, y))
            return Vector(((d.dot(d) - self.radius * self.radius) / (2 * self.radius),))

    return Cam


def valve(**given: Any) -> lw.PlanarModel:
    m = lw.PlanarModel("valve", r="20 mm", e="5 mm")
    m.fix(O=(0, 0), G=(0, 0))
    disc = m.body("disc", mass=0.5, inertia=1e-4, points={"O": (0, 0)})
    m.body("valve", mass=0.2, inertia=1e-4, position=(0, "25 mm"), points={"A": (0, 0)})
    pin = m.revolute("O", m.ground, disc)
    m.prismatic("G", m.ground["G"], "valve.A", axis=(0, 1))
    m.cam("C", disc["O"], "valve.A", **{"radius": "r", "eccentricity": "e", **given})
    m.driver("motor", pin, "20*t")
    return m


def test_an_own_joint_moves_a_valve_as_its_geometry_says() -> None:
    """y = e sin(phi) + sqrt(r^2 - e^2 cos(phi)^2) of a disc turned by phi."""
    add_cam()
    motion = valve().kinematics(t_end=0.4, assemble=True)
    phi = motion["disc.phi"]
    np.testing.assert_allclose(
        motion["valve.y"], 5e-3 * np.sin(phi) + np.sqrt(4e-4 - 25e-6 * np.cos(phi) ** 2), atol=1e-13
    )


def test_an_own_joint_is_read_from_a_file_with_units_and_lines(tmp_path: Path) -> None:
    add_cam()
    path = tmp_path / "valve.yaml"
    valve().save(path)
    assert "type: cam" in path.read_text()
    assert lw.load(path).joints[-1].radius is not None  # type: ignore[attr-defined]
    assert "cam" in str(lw.PlanarModel.load(path))
    path.write_text(path.read_text().replace("eccentricity: e", "eccentricity: 3 kg"))
    line = next(k for k, text in enumerate(path.read_text().splitlines(), 1) if "3 kg" in text)
    with pytest.raises(ModelError, match=rf"valve.yaml:{line}: joints.C.eccentricity: '3 kg' is of kind mass"):
        lw.load(path)


def test_an_own_joint_is_refused_in_the_words_of_a_file() -> None:
    add_cam()
    with pytest.raises(ModelError, match=r"joints\.C\.radius: 0 m is not a radius"):
        valve(radius=0)
    with pytest.raises(ModelError, match="unknown key 'radios'"):
        valve(radios=2)
    with pytest.raises(AttributeError, match="did you mean 'cam'"):
        valve().camm  # noqa: B018


@pytest.mark.parametrize("coordinates", ["body", "joint", "minimal"])
def test_an_own_pin_carries_a_four_bar_like_that_of_linkwork(coordinates: str) -> None:
    """Also as a joint coordinate, since it states its way; of minimal coordinates its loop is none, having no dyads."""
    add_pin()
    model = lw.load("four_bar")
    text = str(lw.PlanarModel.load("four_bar"))
    own = lw.loads(text.replace("type: revolute", "type: my-pin"))
    assert {type(joint).__name__ for joint in own.joints} == {"MyPin"}
    expected, found = (lw.simulate(m, t_end=1.0, coordinates=coordinates) for m in (model, own))
    for name in ("crank.phi", "coupler.phi", "rocker.alpha", "reaction:B.x", "reaction:O.y"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-7, atol=1e-7)


def test_an_own_joint_is_drawn_as_what_it_says() -> None:
    from linkwork.scene import scene

    add_pin()
    text = str(lw.PlanarModel.load("four_bar")).replace("type: revolute", "type: my-pin")
    assert {mark.type for mark in scene(lw.loads(text)).joints} == {"revolute"}


def orbit(kind: str, **given: Any) -> lw.PlanarModel:
    m = lw.PlanarModel("orbit")
    m.document.data["gravity"] = [0, 0]
    m.fix(O=(0, 0))
    m.body("mass", mass=2, inertia=1, position=(1, 0), velocity=(0.1, 1.1), points={"A": (0, 0)})
    getattr(m, kind)("pull", m.ground["O"], "mass.A", **given)
    return m


@pytest.mark.parametrize("states_potential", [True, False])
def test_an_own_force_moves_as_newton_says_and_its_energy_is_accounted_for(states_potential: bool) -> None:
    """A pole of strength k: r'' = -k r/(m |r|^3) by SciPy; what no potential stores is supplied."""

    @element("magnet")
    class Magnet(PointPairForce):
        strength: Number

        def Q(self, i: Any, j: Any) -> Any:
            d = self.d(i, j)
            f = d * (self.strength / d.dot(d) ** 1.5)
            return i.force_at(self.s_i, f), j.force_at(self.s_j, -f)

    if states_potential:
        Magnet.potential = lambda self, i, j: -self.strength / self.d(i, j).dot(self.d(i, j)) ** 0.5
    motion = orbit("magnet", strength=3).simulate(t_end=3, step=0.1)

    def newton(t: float, y: Any) -> Any:
        return [*y[2:], *(-1.5 * y[:2] / np.hypot(*y[:2]) ** 3)]

    right = solve_ivp(newton, (0, 3), [1, 0, 0.1, 1.1], t_eval=motion.t, rtol=1e-12, atol=1e-12).y
    np.testing.assert_allclose(np.array([motion["mass.x"], motion["mass.y"]]), right[:2], atol=1e-7)
    assert np.abs(motion.drift()).max() < 1e-7  # of 3 J
    supplied = np.ptp(motion["energy:supplied"])
    assert (supplied < 1e-12) if states_potential else (supplied > 0.1)


def test_an_own_force_along_a_freedom_takes_units_of_it() -> None:
    """A torsion spring that hardens: T = -k angle^3, by the energy it stores."""

    @element("hardening")
    class Hardening(JointForce):
        stiffness: Number
        start: Angle = 0.0

        def Q(self, *frames: Any) -> Any:
            along = measure_freedom(self.joint, "", *frames)
            return tuple(row * (-self.stiffness * (along.value - self.start) ** 3) for row in along.rows)

        def potential(self, *frames: Any) -> Any:
            return self.stiffness * (measure_freedom(self.joint, "", *frames).value - self.start) ** 4 / 4

        def faults(self, numbers: Numbers) -> Faults:
            yield from super().faults(numbers)
            if numbers.value(self.stiffness) < 0:
                yield ModelError("it softens", "softens", path="stiffness")

    def arm(**given: Any) -> lw.PlanarModel:
        m = lw.PlanarModel("arm")
        m.document.data["gravity"] = [0, 0]
        m.fix(O=(0, 0))
        body = m.body("arm", mass=1, inertia=0.5, angular_velocity=2, points={"O": (0, 0)})
        m.hardening("H", m.revolute("O", m.ground, body), **given)
        return m

    motion = arm(stiffness=3).simulate(t_end=2)
    np.testing.assert_allclose(0.25 * motion["arm.omega"] ** 2 + 0.75 * motion["arm.phi"] ** 4, 1.0, atol=1e-8)
    with pytest.raises(ModelError, match=r"forces\.H\.stiffness: it softens"):
        arm(stiffness=-1).check()
    with pytest.raises(ModelError, match=r"forces.H.start: '2 mm' is of kind length, not angle"):
        arm(stiffness=1, start="2 mm")


def test_an_own_contact_law_keeps_the_rest_of_contact() -> None:
    """A floor that pushes with k sqrt(depth): mg = k sqrt(depth) where the ball rests; begin and end are events."""

    @element("mattress")
    class Mattress(FlatContact):
        def push(self, gap: Any, approach: Any, slowness: Any) -> Push:
            touching = less(gap, 0.0)
            depth = select(touching, -gap, 0.0)
            elastic = self.stiffness * depth**2
            loss = select(touching, 40.0 * approach, 0.0)
            return Push(elastic + loss, elastic, elastic * depth / 3)

    m = lw.PlanarModel("ball")
    m.fix(F=(0, 0))
    m.body("ball", mass=1, inertia=1, position=(0, 0.2), points={"A": (0, 0)})
    m.mattress("floor", m.ground["F"], "ball.A", normal=(0, 1), stiffness=1e4)
    motion = m.simulate(t_end=5)
    assert any(name == "floor.begin" for name in motion.events.names)
    np.testing.assert_allclose(motion["ball.y"][-1], -np.sqrt(9.81 / 1e4), atol=1e-6)


def test_an_own_motion_drives() -> None:
    @element("breathing")
    class Breathing:
        size: Length
        rate: Number

        def f(self, t: Any) -> Any:
            return self.size * (self.rate * t) ** 2

    m = lw.PlanarModel("slide")
    m.fix(O=(0, 0))
    slide = m.prismatic("S", m.ground["O"], m.body("block", mass=1, inertia=1, points={"A": (0, 0)})["A"], axis=(1, 0))
    m.driver("motor", slide, {"type": "breathing", "size": "20 mm", "rate": 3})
    motion = m.kinematics(t_end=1)
    np.testing.assert_allclose(motion["block.x"], 0.02 * (3 * motion.t) ** 2, atol=1e-13)


class Rows:
    """Wrong classes, each with what is said about it."""

    @staticmethod
    def no_rows() -> None:
        @element("wrong")
        class Wrong(PointPair):
            def Psi(self, t: Any, i: Any, j: Any) -> Vector:
                return self.d(i, j)

    @staticmethod
    def no_psi() -> None:
        @element("wrong")
        class Wrong(PointPair):
            rows: ClassVar[Any] = {"x": "length"}

    @staticmethod
    def too_few() -> None:
        @element("wrong")
        class Wrong(PointPair):
            rows: ClassVar[Any] = {"x": "length"}

            def Psi(self, t: Any, i: Any, j: Any) -> Vector:
                return self.d(i, j)

    @staticmethod
    def wrong_kind() -> None:
        @element("wrong")
        class Wrong(PointPair):
            rows: ClassVar[Any] = {"x": "length", "y": "metre"}

            def Psi(self, t: Any, i: Any, j: Any) -> Vector:
                return self.d(i, j)

    @staticmethod
    def no_force() -> None:
        @element("wrong")
        class Wrong(BodyPointForce):
            k: Stiffness

    @staticmethod
    def one_of_two() -> None:
        @element("wrong")
        class Wrong(PointPairForce):
            def Q(self, i: Any, j: Any) -> Any:
                return (i.force_at(self.s_i, self.d(i, j)),)

    @staticmethod
    def neither() -> None:
        @element("wrong")
        class Wrong:
            pass

    @staticmethod
    def taken() -> None:
        element("revolute")(add_cam())

    @staticmethod
    def misspelt() -> None:
        element("My Joint")(add_cam())

    @staticmethod
    def nowhere() -> None:
        element("fine", space="flat")(add_cam())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Rows.no_rows, "has no rows"),
        (Rows.no_psi, "has no Psi"),
        (Rows.too_few, "Psi of 'wrong' has 2 rows, but `rows` names 1"),
        (Rows.wrong_kind, "'metre', not a length"),
        (Rows.no_force, "has no Q"),
        (Rows.one_of_two, r"\[3\] components, not 3 for each of its 2 bodies"),
        (Rows.neither, "is neither a Joint"),
        (Rows.taken, "'revolute' is a type of linkwork"),
        (Rows.misspelt, "not a name of a type"),
        (Rows.nowhere, "should be 'planar' or 'spatial'"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_classes_that_do_not_fit_are_refused_when_they_are_made(make: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make()


@pytest.mark.parametrize(
    ("base", "body", "words"),
    [
        (PointPair, {"rows": {"x": "length"}, "Psi": lambda self, t, i, j: 3.0}, "TypeError: .*float.*; write Psi"),
        (PointPair, {"rows": ["a"], "Psi": lambda self, t, i, j: (i.phi,)}, "write rows = {'x': 'length'}"),
        (PointPair, {"rows": {"x": "length"}, "Psi": lambda self, i, j: (i.phi,)}, r"write Psi\(self, t, i, j\)"),
        (PointPair, {"rows": {"x": "length"}, "Psi": lambda self, t, i, j: (np.sin(i.phi),)}, r"use \+ - .*sqrt"),
        (PointPair, {"rows": {"x": "length"}, "Psi": lambda self, t, i, j: i.point((1, 2, 3))}, "line [1-9]"),
        (PointPair, {"rows": {"x": "length"}, "Psi": lambda self, t, i, j: (1 / 0,)}, "ZeroDivisionError"),
        (PointPair, {"rows": {"x": "length"}, "Psi": lambda self, t, i, j: ("a",)}, "tried out"),
        (PointPairForce, {"Q": lambda self, i, j: None}, "NoneType"),
        (PointPairForce, {"Q": lambda self, i, j: (3, 4)}, "not 3 for each of its 2 bodies"),
        (
            PointPairForce,
            {"Q": lambda self, i, j: i.force_at(self.s_i, self.d(i, j))},
            "not 3 for each of its 2 bodies",
        ),
        (PointPairForce, {"Q": lambda self, i, j: nothing, "__annotations__": {}}, "NameError"),  # type: ignore[name-defined] # noqa: F821
        (
            BodyPointForce,
            {"Q": lambda self, i: (), "__annotations__": {"k": float}},
            "'k' of Wrong has no kind.*Le",
        ),
        (BodyPointForce, {"Q": lambda self, i: (), "__annotations__": {"k": list}}, "'k' of Wrong has no kind"),
        (object, {"f": lambda self: 3}, "positional argument"),
        (object, {"f": lambda self, t: "a"}, "tried out"),
    ],
)
def test_faults_inside_own_classes_are_said_when_they_are_made(base: Any, body: Any, words: str) -> None:
    """Never as an error of our insides: with the class, its line and what to do."""
    with pytest.raises(UsageError, match=words) as raised:
        element("wrong")(type("Wrong", (base,), body))
    assert raised.value.code == "own-element"


def test_an_own_motion_that_jumps_is_refused_as_a_formula_is() -> None:
    """A step of 0.1 rad at t = 0.5 s asks for infinite accelerations."""

    @element("step-of-own")
    class StepOfOwn:
        size: Angle = 0.1

        def f(self, t: Expr) -> Expr:
            return select(less(t, 0.5), 0.0, self.size)

    m = lw.PlanarModel("jump")
    m.fix(O=(0, 0))
    arm = m.body("arm", mass=1, inertia=1, points={"O": (0, 0)})
    pin = m.revolute("O", m.ground, arm)
    with pytest.raises(ModelError, match=r"the value jumps by 0\.1 at t = 0\.5"):
        m.driver("d", pin, {"type": "step-of-own"})


def test_an_own_motion_needs_no_parameters() -> None:
    """x = 3 t^2."""

    @element("gallop")
    class Gallop:
        def f(self, t: Any) -> Any:
            return 3 * t**2

    m = lw.PlanarModel("slide")
    m.fix(O=(0, 0))
    slide = m.prismatic("S", m.ground["O"], m.body("block", mass=1, inertia=1, points={"A": (0, 0)})["A"], axis=(1, 0))
    m.driver("motor", slide, {"type": "gallop"})
    assert m.kinematics(t_end=1)["block.x"][-1] == pytest.approx(3.0, abs=1e-12)


PLUGIN = """
from linkwork.own import PointPair, Vector, element

@element("glue", space="planar")
class Glue(PointPair):
    rows = {"x": "length", "y": "length"}

    def Psi(self, t, i, j):
        return self.d(i, j)
"""


def test_the_command_line_loads_plugins_by_the_word_of_the_user_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, plugin = tmp_path / "m.yaml", tmp_path / "glue.py"
    text = str(lw.PlanarModel.load("four_bar")).replace("type: revolute", "type: glue")
    model.write_text(re.sub(r"drivers:(\n  .*)*", "", text))
    assert answer(["check", str(model)]) == 3
    assert re.search(r"no type 'glue'; choose from .*; types of your own come from --plugins", capsys.readouterr().err)
    plugin.write_text(PLUGIN)
    assert answer(["--plugins", str(plugin), "check", str(model)]) == 0
    plugin.write_text("import math\n\nmath.nothing\n")
    assert answer(["--plugins", str(plugin), "check", str(model)]) == 2
    assert re.search(r"glue\.py:3: AttributeError: .*\[plugin-failed\]", capsys.readouterr().err)
    assert answer(["--plugins", str(tmp_path / "none.py"), "check", str(model)]) == 2
    plugin.write_text(PLUGIN.replace('"glue"', '"revolute"'))
    with pytest.raises(UsageError, match="'revolute' is a type of linkwork"):
        load_plugins([str(plugin)])


def add_range_space(**given: Any) -> Any:
    @formulation("range-space", **given)
    def range_space(M: Any, Psi_q: Any, Q: Any, gamma: Any) -> Any:
        """Multipliers first"""
        W = Psi_q @ np.linalg.inv(M)
        lam = np.linalg.solve(W @ Psi_q.T, W @ Q - gamma)
        return np.linalg.solve(M, Q - Psi_q.T @ lam), lam

    return range_space


@pytest.mark.parametrize("name", ["slider_crank", "dap/rod", "spatial_slider_crank"])
def test_an_own_formulation_finds_the_motion_of_augmented(name: str) -> None:
    own, model = add_range_space(), lw.load(name)
    expected, found = (lw.simulate(model, t_end=0.5, formulation=by) for by in ("augmented", own))
    np.testing.assert_allclose(found.q, expected.q, atol=1e-9)
    np.testing.assert_allclose(found.a[-1], expected.a[-1], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.lam[-1], expected.lam[-1], rtol=1e-6, atol=1e-6)


def test_compare_ranks_an_own_formulation_and_explain_holds_it_to_its_equations() -> None:
    add_range_space()
    model = lw.load("slider_crank")
    rows = lw.compare(model, t_end=0.2, formulations=["augmented", "range-space"]).rows
    assert [row.status for row in rows] == ["ok", "ok"]
    assert rows[1].distance is not None
    assert rows[1].distance < 1e-9
    sheet = lw.explain(model, "range-space")
    np.testing.assert_allclose(sheet.a, sheet.other_a, rtol=1e-12, atol=1e-12)
    assert "Multipliers first" in str(sheet)
    for held in (sheet, lw.explain(lw.load("dap/rod"), "range-space")):
        assert max(s.difference for s in held.statements) <= 1e-12

    @formulation("half")
    def half(M: Any, Psi_q: Any, Q: Any, gamma: Any) -> Any:
        return np.linalg.solve(M, Q) / 2, gamma

    assert max(s.difference for s in lw.explain(model, "half").statements) > 1e-3


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (lambda M, J, Q, g: Q, "not a and lam"),
        (lambda M, J, Q, g: ("a", "b"), "not a and lam"),
        (lambda M, J, Q, g: None, "not a and lam"),
        (lambda M, J, Q, g: (Q[1:], g), "returns 8 accelerations, not 9"),
        (lambda M, J, Q, g: (Q, Q), "returns 9 multipliers, not 8"),
    ],
)
def test_what_an_own_formulation_does_wrong_is_said(returned: Any, words: str) -> None:
    formulation("wrong")(returned)
    with pytest.raises(UsageError, match=words):
        lw.simulate(lw.load("slider_crank"), t_end=0.1, formulation="wrong")


def test_what_an_own_formulation_raises_reaches_its_author() -> None:
    calls = []

    @formulation("breaks")
    def breaks(M: Any, Psi_q: Any, Q: Any, gamma: Any) -> Any:
        calls.append(1)
        if len(calls) > 40:
            raise ZeroDivisionError("by hand")
        return range_space.find(M, Psi_q, Q, gamma)

    range_space = add_range_space()
    with pytest.raises(ZeroDivisionError, match="by hand"):
        lw.simulate(lw.load("slider_crank"), t_end=5, formulation=breaks)
    # Nothing of it is left behind.
    assert lw.simulate(lw.load("slider_crank"), t_end=0.1, formulation=range_space).info.status == "finished"


def test_what_is_raised_at_a_report_time_is_raised_by_that_run() -> None:
    """The last call of a run evaluates its last row, behind the time loop."""
    calls: list[int] = []

    @formulation("ends-badly")
    def ends_badly(M: Any, Psi_q: Any, Q: Any, gamma: Any) -> Any:
        calls.append(1)
        if len(calls) == last:
            raise ZeroDivisionError("in the last row")
        return range_space.find(M, Psi_q, Q, gamma)

    range_space, last, model = add_range_space(), 0, lw.load("slider_crank")
    lw.simulate(model, t_end=0.1, formulation=ends_badly)
    last = len(calls)
    calls.clear()
    with pytest.raises(ZeroDivisionError, match="in the last row"):
        lw.simulate(model, t_end=0.1, formulation=ends_badly)
    assert lw.simulate(model, t_end=0.1).info.status == "finished"


def test_names_of_linkwork_stay_what_they_are() -> None:
    for name in ("svd", "augmented", "lu"):
        with pytest.raises(UsageError, match=f"'{name}' is a formulation of linkwork"):
            formulation(name)(lambda *_: ((), ()))
    with pytest.raises(UsageError, match="'dop853' is an integrator of linkwork"):
        tableau("dop853", **RALSTON)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="not a name of a formulation"):
        formulation("My way")


def test_order_conditions_are_those_of_all_rooted_trees() -> None:
    """1, 1, 2, 4, 9, 20, 48 trees; b (A c) = 1/6 and b c^2 = 1/3 of three nodes."""
    assert [len(trees(n)) for n in range(1, 8)] == [1, 1, 2, 4, 9, 20, 48]
    assert sorted(density(tree) for tree in trees(4)) == [4, 8, 12, 24]
    A = np.array([[0.0, 0.0], [0.5, 0.0]])
    np.testing.assert_allclose(weight(((),), A), [0.0, 0.5])
    for method in (DOPRI5, DOP853):
        s = method.stages
        full = np.zeros((s, s))
        for k, row in enumerate(method.A):
            full[k, : len(row)] = row
        assert order_of(full, np.array(method.b), method.order) == method.order
        wrong = np.array(method.b)
        wrong[0] += 1e-3
        assert order_of(full, wrong, method.order) == 0


@pytest.mark.parametrize("given", [RALSTON, BOGACKI_SHAMPINE, CASH_KARP], ids=["2", "3", "5"])
def test_an_own_tableau_converges_to_the_motion(given: Any) -> None:
    """The errors at all report times, inside steps too, fall with the tolerance."""
    method, model = tableau("own-method", **given), lw.load("slider_crank")
    right = lw.simulate(model, t_end=1, rtol=1e-12, atol=1e-12)
    errors = []
    for rtol in (1e-4, 1e-6):
        motion = lw.simulate(model, t_end=1, integrator=method, rtol=rtol, atol=rtol)
        errors.append(np.abs(motion.q - right.q).max())
        assert errors[-1] < 300 * rtol
    assert errors[1] < errors[0] / 10


def test_the_solution_inside_a_step_of_order_five_is_of_order_four() -> None:
    """A pendulum by steps of a fixed length: the error between them falls by 2^4 at least when they are halved."""
    method, model = tableau("own-method", **CASH_KARP), lw.load("slider_crank")
    right = lw.simulate(model, t_end=1, rtol=1e-13, atol=1e-13)
    off = []
    for h in (0.05, 0.025):
        motion = lw.simulate(model, t_end=1, integrator=lw.Integrator(method, max_step=h), rtol=0.1, atol=0.1)
        off.append(np.abs(motion.q - right.q).max())
    assert off[0] / off[1] > 2**4 * 0.8


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"b": [1 / 3, 2 / 3]}, "b of 'x' have order 1, not 2"),
        ({"A": [[], [2 / 3, 1.0]]}, "not a lower triangle"),
        ({"b_low": [1.0]}, "1 weights, not 2 or 3"),
        ({"b_low": [1 / 4, 3 / 4]}, "are those of b"),
        ({"b_low": [1.0, 1.0]}, "do not add up to one"),
        ({"order": 7}, "orders from 1 to 5"),
    ],
)
def test_tableaus_that_are_none_are_refused(change: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        tableau("x", **{**RALSTON, **change})


def test_a_method_of_the_same_name_takes_the_place_of_the_one_before() -> None:
    """As where a cell of a notebook is run again."""
    model = lw.load("slider_crank")
    tableau("again", **BOGACKI_SHAMPINE)  # type: ignore[arg-type]
    few = lw.simulate(model, t_end=0.5, integrator="again", rtol=1e-6).info.steps
    tableau("again", **RALSTON)  # type: ignore[arg-type]
    assert lw.simulate(model, t_end=0.5, integrator="again", rtol=1e-6).info.steps > 2 * few


def brake(**given: Any) -> lw.PlanarModel:
    m = lw.PlanarModel("arm", u=0.0, J=0.5, x=1.0)
    m.document.data["gravity"] = [0, 0]
    m.fix(O=(0, 0), S=("x", 0))
    body = m.body("arm", mass=1, inertia="J", angular_velocity=2, points={"O": (0, 0), "A": (1, 0)})
    m.revolute("O", m.ground, body)
    m.torque("T", body, torque="u")
    m.spring_damper("spring", m.ground["S"], body["A"], stiffness=0.0, damping=0.0)
    return m


@pytest.mark.parametrize("coordinates", ["body", "joint"])
@pytest.mark.parametrize("how", [{}, {"integrator": "radau5"}, {"formulation": "svd"}], ids=["auto", "radau5", "svd"])
def test_a_torque_in_python_brakes_as_its_formula_would(coordinates: str, how: Any) -> None:
    """J omega' = -3 omega: omega = 2 exp(-6 t), and the work of the torque is the energy that is lost."""
    rate = "arm.omega" if coordinates == "body" else "O_d"
    given = {"u": lambda t, state: -3 * state[rate]}
    motion = brake().simulate(t_end=1, coordinates=coordinates, parameters=given, **how)
    right = 2 * np.exp(-6 * motion.t)
    np.testing.assert_allclose(motion["arm.omega"], right, atol=2e-8)
    np.testing.assert_allclose(motion["arm.alpha"], -6 * right, atol=2e-7)
    np.testing.assert_allclose(motion["energy:supplied"], 0.25 * (right**2 - 4), atol=1e-7)
    assert np.abs(motion.drift()).max() < 1e-7


def test_events_are_found_while_a_torque_in_python_acts() -> None:
    """omega = 2 exp(-6 t) falls through 1 at t = ln(2)/6, where the torque ends."""
    m = brake()
    m.event("slow", "arm.omega - 1", action="stop")
    motion = m.simulate(t_end=1, parameters={"u": lambda t, state: -3 * state["arm.omega"]})
    assert motion.t[-1] == pytest.approx(np.log(2) / 6, abs=1e-8)


@pytest.mark.parametrize(
    ("inputs", "error", "words"),
    [
        ({"w": lambda t, s: 0.0}, UsageError, "no parameter 'w'"),
        ({"J": lambda t, s: 1.0}, ModelError, "'J' stands in an inertia"),
        ({"u": lambda t, s: s["arm.omga"]}, UsageError, "did you mean 'arm.omega'"),
        ({"u": lambda t, s: 1 / 0}, ZeroDivisionError, "division by zero"),
        ({"u": lambda t, s: float("nan")}, UsageError, "input 'u' is nan at t = 0"),
    ],
)
def test_inputs_that_are_none_are_refused(inputs: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        brake().simulate(t_end=1, parameters=inputs)


def test_the_equations_of_any_state_are_had_by_name() -> None:
    """Off the constraints too: M a + Psi_q^T lam = Q, Psi_q a = gamma, and Psi_q is the slope of Psi."""
    mechanism = lw.prepare(lw.load("slider_crank"))
    at = mechanism.state({"crank.phi": 0.4, "rod.x": 1.1}, {"crank.omega": 2.0, "rod.omega": -1.0}, t=0.5)
    M, J, a, lam = (at[name].values for name in ("M", "Psi_q", "a", "lam"))
    np.testing.assert_allclose(M @ a + J.T @ lam, at.Q, atol=1e-10)
    np.testing.assert_allclose(J @ a, at.gamma, atol=1e-10)
    h = 1e-6
    ahead, behind = (mechanism.state({"crank.phi": 0.4 + x, "rod.x": 1.1}) for x in (h, -h))
    slope = at.Psi_q.sel(column="crank.phi")
    np.testing.assert_allclose((ahead.Psi - behind.Psi) / (2 * h), slope, atol=1e-8)
    assert float(at["reaction:O.x"]) == pytest.approx(-float(at.lam.sel(row="O.x")))
    turned = mechanism.state({"crank.phi": "90 deg"}, {"crank.omega": "60 rpm"})
    assert float(turned.q.sel(coordinate="crank.phi")) == pytest.approx(np.pi / 2)
    assert float(turned.v.sel(velocity="crank.phi")) == pytest.approx(2 * np.pi)
    with pytest.raises(UsageError, match=r"did you mean 'crank\.phi'"):
        mechanism.state({"crank.fi": 0.4})
