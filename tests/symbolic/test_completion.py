"""Systems of any number of equations in reduced involutive form, with their cases."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from linkwork.cli import answer
from linkwork.errors import ModelError
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import cos, sin, symbol
from linkwork.symbolic import completion
from linkwork.symbolic.completion import Case, complete
from linkwork.symbolic.modular import P, zero_of
from linkwork.symbolic.signature import Signature
from linkwork.symbolic.structural import rate_of
from linkwork.writing.printers import text

x, y, z, lam, g, L = (symbol(name) for name in ("x", "y", "z", "lam", "g", "L"))
PENDULUM = [rate_of(x, 2) + lam * x, rate_of(y, 2) + lam * y + g, x * x + y * y - L * L]


def shown(case: Case) -> dict[str, str]:
    return {text(leader): text(right) for leader, right in case.solved.items()}


def test_more_equations_than_unknowns_may_fit() -> None:
    """A first integral beside its equations leaves one start value; another value of it contradicts nothing."""
    (case,) = complete([rate_of(x) - y, rate_of(y) + x, x * x + y * y - 1], [x, y])
    assert shown(case) == {"y_d": "-x", "x_d": "y"}
    assert [text(own) for own in case.constraints] == ["x^2 + y^2 - 1"]
    assert case.freedoms == 1
    assert complete([rate_of(x) - y, rate_of(y) + x, x * x + 2 * y * y - 1], [x, y]) == []


def test_fewer_equations_leave_functions_open() -> None:
    (case,) = complete([rate_of(x) - y], [x, y])
    assert len(case.arbitrary) == 1


def test_contradictions_have_no_case() -> None:
    assert complete([rate_of(x) - y, rate_of(x) - y - 1], [x, y]) == []
    assert complete([rate_of(x) ** 2 + x * x - 1, rate_of(x) ** 2 - x * x], [x]) == []


def test_an_equation_not_linear_in_its_derivative_has_its_singular_solution() -> None:
    """x'^2 = 4 x: parabolas (t - c)^2, and their envelope x = 0, where the pivot x' vanishes."""
    general, singular = complete([rate_of(x) ** 2 - 4 * x], [x])
    assert shown(general) == {"x_dd": "2"}
    assert [text(own) for own in general.constraints] == ["x_d^2 - 4*x"]
    assert shown(singular) == {"x": "0"}
    assert [text(own) for own in general.nonzero] == ["x_d"]


def test_a_leading_nonlinear_system_with_an_unknown_under_the_square() -> None:
    """x'^2 = y, y' = 1: x'' = 1/(2 x'), and nothing where x' vanishes for longer."""
    (case,) = complete([rate_of(x) ** 2 - y, rate_of(y) - 1], [x, y])
    assert shown(case) == {"y_d": "1", "x_dd": "1/(2*x_d)"}
    assert case.freedoms == 2


def test_the_pendulum_has_its_motion_and_its_rest() -> None:
    """Where x does not vanish: lam and y'' as by hand; where it does for longer, the rod hangs, or stands, at rest."""
    moving, resting = complete(PENDULUM, [x, y, lam], {g: 9.81, L: 1.3})
    assert moving.freedoms == 2
    assert shown(resting) == {"x": "0", "y_d": "0", "lam": "-g/y"}
    assert [text(own) for own in resting.constraints] == ["y^2 - L^2"]
    phi, omega = 0.7, 1.9
    at = {x: 1.3 * np.cos(phi), y: 1.3 * np.sin(phi), g: 9.81, L: 1.3}
    at |= {rate_of(x): -1.3 * omega * np.sin(phi), rate_of(y): 1.3 * omega * np.cos(phi)}
    values = dict(zip(shown(moving), evaluate([*moving.solved.values()], at), strict=True))
    tension = omega**2 - 9.81 * np.sin(phi) / 1.3  # lam = omega^2 - g sin(phi)/L
    assert values["lam"] == pytest.approx(tension, rel=1e-12)
    assert values["y_dd"] == pytest.approx(-tension * 1.3 * np.sin(phi) - 9.81, rel=1e-12)
    assert values["x_d"] == pytest.approx(at[rate_of(x)], rel=1e-12)


def test_a_product_is_split_into_its_factors() -> None:
    first, second = complete([x * y, rate_of(x, 2)], [x, y])
    assert {tuple(shown(case)) for case in (first, second)} == {("x_dd", "y"), ("x",)}
    assert len(second.arbitrary) + len(first.arbitrary) == 1


@pytest.mark.parametrize("seed", range(5))
def test_solutions_satisfy_what_was_stated(seed: int) -> None:
    """Linear systems of random coefficients and one equation too many: the solved form fits their solutions."""
    rng = np.random.default_rng(seed)
    a, b, c, d = (float(k) for k in rng.integers(1, 6, size=4))
    stated = [
        rate_of(x) - a * x - b * y,
        rate_of(y) - c * x - d * y,
        z - x * y,
        rate_of(z) - z * (a + d) - b * y**2 - c * x**2,
    ]
    (case,) = complete(stated, [z, x, y])
    start = rng.normal(size=2)
    path = solve_ivp(lambda t, s: [a * s[0] + b * s[1], c * s[0] + d * s[1]], (0, 0.3), start, rtol=1e-10, atol=1e-12)
    u, v = path.y[:, -1]
    for leader, right in case.solved.items():
        true = {x: u, y: v, z: u * v, rate_of(x): a * u + b * v, rate_of(y): c * u + d * v}
        if leader in true:
            assert evaluate([right], true)[0] == pytest.approx(true[leader], rel=1e-9)
    assert case.freedoms == 2


def test_angles_are_split_too() -> None:
    """A wheel on a rod, cos(x) y' = 1: the pivot cos(x) is no unknown itself."""
    cases = complete([cos(x) * rate_of(y) - 1, rate_of(x) - 1], [x, y])
    assert shown(cases[0])["y_d"] == "1/cos(x)"
    assert len(cases) == 1  # x cannot stay where cos(x) vanishes
    (only,) = complete([sin(x) ** 2 + cos(x) ** 2 - 1, rate_of(x) - y, y - 2], [x, y])
    assert shown(only) == {"y": "2", "x_d": "2"}


def test_parameters_without_numbers_make_cases() -> None:
    """a x' + b y = 1, y' = -b x: for a = 0 nothing moves, and b must not vanish, else 0 = 1."""
    a, b = symbol("a"), symbol("b")
    stated = [a * rate_of(x) + b * y - 1, b * x + rate_of(y)]
    moving, resting = complete(stated, [x, y])
    assert (shown(moving), moving.freedoms) == ({"y_d": "-b*x", "x_d": "(1 - b*y)/a"}, 2)
    assert [text(own) for own in moving.nonzero] == ["a"]
    assert (shown(resting), resting.freedoms) == ({"y": "1/b", "x": "0"}, 0)
    assert ([text(own) for own in resting.zero], [text(own) for own in resting.nonzero]) == (["a"], ["b"])
    (by_number,) = complete(stated, [x, y], {a: 2.0, b: 0.0})
    assert (by_number.nonzero, by_number.zero, by_number.numbers) == ((), (), {a: 2.0})
    assert complete(stated, [x, y], {a: 0.0, b: 0.0}) == []  # 0 = 1
    (at_rest,) = complete(stated, [x, y], {a: 0.0, b: 3.0})
    assert shown(at_rest) == {"y": "1/b", "x": "0"}


def test_numbers_of_parameters_are_compared_as_they_are_written() -> None:
    """(a - b - c) x' = x with 0.3 - 0.1 - 0.2: no motion, although these doubles do not cancel."""
    a, b, c = symbol("a"), symbol("b"), symbol("c")
    (case,) = complete([(a - b - c) * rate_of(x) - x], [x], {a: 0.3, b: 0.1, c: 0.2})
    assert shown(case) == {"x": "0"}


def test_equations_of_parameters_alone_are_conditions() -> None:
    """x' = a x and x' = b x: x rests at zero, or a = b."""
    a, b = symbol("a"), symbol("b")
    growing, zero = complete([rate_of(x) - a * x, rate_of(x) - b * x], [x])
    assert ([text(own) for own in growing.zero], growing.freedoms) == (["a - b"], 1)
    assert (shown(zero), zero.freedoms) == ({"x": "0"}, 0)
    curved, _ = complete([rate_of(x) - a * a * x, rate_of(x) - b * b * x], [x])
    assert ([text(own) for own in curved.zero], curved.freedoms) == (["a^2 - b^2"], 1)


def test_an_angle_held_by_its_sine_has_no_start_value() -> None:
    """sin(th) = 1/2: the angle rests, and one equation says where; its cosine is none besides."""
    th = symbol("th")
    (case,) = complete([rate_of(th) - y, sin(th) - 0.5], [th, y])
    assert (shown(case), case.freedoms) == ({"th_d": "0", "y": "0"}, 0)
    assert [text(own) for own in case.constraints] == ["2*sin(th) - 1"]
    (at,) = complete([th - 1, x - sin(th)], [th, x])
    assert float(shown(at)["x"]) == pytest.approx(np.sin(1.0), rel=1e-12)
    assert complete([th, sin(th) - 0.5], [th]) == []


def test_a_pendulum_by_its_angle_has_two_start_values() -> None:
    """x = cos(th), y = sin(th) with th'' = -cos(th): two values, as without x and y."""
    th = symbol("th")
    (case,) = complete([x - cos(th), y - sin(th), rate_of(th, 2) + cos(th)], [x, y, th])
    assert (shown(case), case.freedoms) == ({"x": "cos(th)", "y": "sin(th)", "th_dd": "-cos(th)"}, 2)
    (free,) = complete([y - sin(th)], [y, th])
    assert (shown(free), free.freedoms, free.arbitrary) == ({"y": "sin(th)"}, 0, (th,))


SYSTEM = """linkwork: 1
name: {name}
unknowns: [x, y, lam]
parameters: {{g: 9.81 m/s^2, L: 1.3}}
equations:
  mx: x_dd + lam*x = 0
  my: y_dd = -lam*y - g
  rod: x^2 + y^2 = L^2
  {more}
"""


def test_files_of_equations_are_written_down(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pendulum.yaml"
    file.write_text(SYSTEM.format(name="pendulum", more=""))
    assert answer(["equations", str(file), "--form", "rif"]) == 0
    said = capsys.readouterr().out
    assert "index 3; start values that can be chosen: 2" in said
    assert re.search(r"rod': .* = 0   hidden", said)
    assert "case" not in said
    assert answer(["equations", str(file), "--form", "rif", "--cases", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["implicit"]["hidden"] == ["rod'"]
    assert [case["freedoms"] for case in found["cases"]] == [2, 0]
    file.write_text(SYSTEM.format(name="pendulum", more="energy: x_d^2 + y_d^2 + 2*g*y = 0"))
    assert answer(["equations", str(file), "--form", "rif"]) == 0
    said = capsys.readouterr().out
    assert "no implicit form by structure: 4 equations for 3 unknowns" in said
    assert "start values that can be chosen: 1" in said
    assert answer(["equations", str(file)]) == 2
    assert answer(["equations", "four_bar", "--form", "rif", "--cases"]) == 2


def test_which_numbers_decided_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "one.yaml"
    file.write_text("linkwork: 1\nname: one\nunknowns: [x]\nparameters: {m: 2, c: }\nequations: {a: m*x_dd = c*x_d}\n")
    assert answer(["equations", str(file), "--form", "rif", "--cases"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("one: 1 equation in x\n")
    assert "decided with m = 2;" in said
    assert "case 1 of 1" in said
    file.write_text("linkwork: 1\nunknowns: [x]\nparameters: [m, c]\nequations: {a: m*x_dd = c*x_d}\n")
    assert answer(["equations", str(file), "--form", "rif", "--cases"]) == 0
    said = capsys.readouterr().out
    assert "where m = 0, c = 0" in said
    assert "decided" not in said
    assert "case 3 of 3" in said


def test_misspelt_names_are_found_where_they_stand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Columns count from the beginning of the formula, on both sides of its sign of equality."""
    file = tmp_path / "s.yaml"
    for equation, place in (("x_dd + lan*x = 0", "'lan' at column 8"), ("x_dd = lam*x - gg", "'gg' at column 16")):
        file.write_text(f"linkwork: 1\nunknowns: [x, lam]\nparameters: {{g: 9}}\nequations: {{a: {equation}}}\n")
        assert answer(["equations", str(file), "--form", "rif"]) == 3
        said = capsys.readouterr().err
        assert f"s.yaml:4: equations.a: '{equation}': unknown name {place}; did you mean" in said
    for stated, hint in (
        ("unknwns: [x]\nequations: {a: x_d = 1}", "did you mean 'unknowns'?"),
        ("unknowns: [x]\nequatons: {a: x_d = 1}", "did you mean 'equations'?"),
        ("equations: {a: x_d = 1}", "'unknowns' is missing"),
        ("unknowns: [x]\nequations: {a: x_d =}", "one side of '=' is empty"),
    ):
        file.write_text(f"linkwork: 1\n{stated}\n")
        assert answer(["equations", str(file), "--form", "rif"]) == 3
        assert hint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("linkwork: 1\nunknowns: x\nequations: {a: x}", "wrong-shape"),
        ("linkwork: 1\nunknowns: [x]\nequations: [x]", "wrong-shape"),
        ("linkwork: 1\nunknowns: [t]\nequations: {a: t}", "bad-name"),
        ("linkwork: 1\nunknowns: [x]\nequations: {a: x + y}", "expression-name"),
        ("linkwork: 1\nunknowns: [x]\nequations: {a: __import__('os')}", "expression-syntax"),
        ("linkwork: 1\nunknowns: [x]\nequations: {a: x}\nbodies: {}", "unknown-key"),
        ("unknowns: [x]\nequations: {a: x}", "missing-version"),
    ],
)
def test_files_without_meaning_are_refused(text: str, code: str, tmp_path: Path) -> None:
    from linkwork.modelfile.system import read_system

    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(ModelError) as refused:
        read_system(tmp_path / "s.yaml")
    assert refused.value.code.startswith(code.partition("-")[0])


def test_cases_after_too_many_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six products that vanish make 64 cases: some are worked out, the others say what is left of them."""
    monkeypatch.setattr(completion, "MOST_TAKEN", 50)
    many = [symbol(f"u{k}") for k in range(12)]
    cases = complete([a * b for a, b in zip(many[::2], many[1::2], strict=True)], many)
    ends = [case.left == () for case in cases]
    assert ends == sorted(ends, reverse=True)
    assert True in ends
    assert False in ends


DOUBLE = """linkwork: 1
name: double pendulum
unknowns: [{unknowns}]
parameters: {{g: 9.81, L1: 1, L2: 0.7, m1: 1.2, m2: 0.9}}
equations:
  a: m1*x1_dd + 2*lam1*x1 - 2*lam2*(x2 - x1) = 0
  b: m1*y1_dd + 2*lam1*y1 - 2*lam2*(y2 - y1) = -m1*g
  c: m2*x2_dd + 2*lam2*(x2 - x1) = 0
  d: m2*y2_dd + 2*lam2*(y2 - y1) = -m2*g
  e: x1^2 + y1^2 = L1^2
  f: (x2 - x1)^2 + (y2 - y1)^2 = L2^2
"""


@pytest.mark.parametrize(
    "unknowns", ["x1, y1, x2, y2, lam1, lam2", pytest.param("lam2, lam1, y2, x2, y1, x1", marks=pytest.mark.slow)]
)
def test_a_double_pendulum_in_points_has_its_motion_and_its_rest(unknowns: str, tmp_path: Path) -> None:
    """The general case against the linear equations solved by NumPy; the rest hangs or stands; others are left."""
    from linkwork.lecture.system import involutive
    from linkwork.modelfile.system import read_system
    from linkwork.view.system import as_text

    (tmp_path / "double.yaml").write_text(DOUBLE.format(unknowns=unknowns))
    system = read_system(tmp_path / "double.yaml")
    assert system is not None
    found = involutive(system, True)
    assert found.cases is not None
    general, resting, *others = found.cases
    assert (general.freedoms, general.left, resting.freedoms, resting.left) == (4, (), 0, ())
    assert {text(own) for own in resting.solved if own in resting.x} >= {"lam1", "lam2"}
    assert all(case.left for case in others)
    assert "not worked out further, and perhaps empty; left: 1 expression of many terms = 0" in as_text(found)
    a, b, u, v = 0.7, -1.9, 1.3, -2.1
    r1, t1 = np.array([np.cos(a), np.sin(a)]), np.array([-np.sin(a), np.cos(a)])
    r2, t2 = 0.7 * np.array([np.cos(b), np.sin(b)]), 0.7 * np.array([-np.sin(b), np.cos(b)])
    v1, v2 = u * t1, v * t2
    m1, m2, g = 1.2, 0.9, 9.81
    system_matrix, right = np.zeros((6, 6)), np.zeros(6)
    system_matrix[:2, :2], system_matrix[2:4, 2:4] = m1 * np.eye(2), m2 * np.eye(2)
    system_matrix[:2, 4], system_matrix[:2, 5], system_matrix[2:4, 5] = 2 * r1, -2 * r2, 2 * r2
    system_matrix[4, :2], system_matrix[5, :2], system_matrix[5, 2:4] = r1, -r2, r2
    right[:] = 0, -m1 * g, 0, -m2 * g, -(v1 @ v1), -(v2 @ v2)
    solution = np.linalg.solve(system_matrix, right)
    p2, w2 = r1 + r2, v1 + v2
    names = ("x1", "y1", "x2", "y2", "lam1", "lam2")
    at = dict(zip((symbol(name) for name in names[:4]), (*r1, *p2), strict=True))
    at |= dict(zip((symbol(f"{name}_d") for name in names[:4]), (*v1, *w2), strict=True))
    at |= {symbol("g"): g, symbol("L1"): 1.0, symbol("L2"): 0.7, symbol("m1"): m1, symbol("m2"): m2}
    true = dict(zip(("x1_dd", "y1_dd", "x2_dd", "y2_dd", "lam1", "lam2"), solution, strict=True))
    true |= {f"{name}_d": float(w) for name, w in zip(names[:4], (*v1, *w2), strict=True)}
    for leader, own in general.solved.items():
        assert evaluate([own], at)[0] == pytest.approx(true[text(leader)], rel=1e-9)
    assert len(general.solved) == 6


FOUR_BAR = """linkwork: 1
name: four-bar
unknowns: [x1, y1, x2, y2, lam1, lam2, lam3]
parameters: {g: 9.81, m1: 1.5, m2: 2, L1: 1, L2: 2, L3: 1.5, d: 2}
equations:
  a: m1*x1_dd + lam1*x1 - lam2*(x2 - x1) = 0
  b: m1*y1_dd + lam1*y1 - lam2*(y2 - y1) = -m1*g
  c: m2*x2_dd + lam2*(x2 - x1) + lam3*(x2 - d) = 0
  d: m2*y2_dd + lam2*(y2 - y1) + lam3*y2 = -m2*g
  e: x1^2 + y1^2 = L1^2
  f: (x2 - x1)^2 + (y2 - y1)^2 = L2^2
  h: (x2 - d)^2 + y2^2 = L3^2
"""


def test_the_general_case_stands_first_though_it_is_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A four-bar in points: its constraints hold of a closed one in motion, those of rates not of another."""
    from linkwork.lecture.system import involutive
    from linkwork.modelfile.system import read_system

    monkeypatch.setattr(completion, "MOST_TAKEN", 15)
    (tmp_path / "four_bar.yaml").write_text(FOUR_BAR)
    system = read_system(tmp_path / "four_bar.yaml")
    assert system is not None
    taken = list[float]()
    found = involutive(system, True, lambda fraction, _: taken.append(fraction))
    assert taken == sorted(taken)
    assert found.cases is not None
    general, *special = found.cases
    assert (general.freedoms, general.zero, general.left, general.arbitrary) == (2, (), (), ())
    assert special
    assert all(case.zero for case in special)
    a = np.array([np.cos(1.1), np.sin(1.1)])
    to_d = np.array([2.0, 0.0]) - a
    far = np.linalg.norm(to_d)
    along = (far**2 + 4 - 2.25) / (2 * far)
    b = a + along * to_d / far + np.sqrt(4 - along**2) * np.array([-to_d[1], to_d[0]]) / far
    va = 1.7 * np.array([-a[1], a[0]])
    vb = np.linalg.solve(np.array([b - a, b - [2, 0]]), [(b - a) @ va, 0.0])
    numbers = dict(zip(system.unknowns[:4], (*a, *b), strict=True)) | {symbol(k): v for k, v in PARAMETERS.items()}
    rates = dict(zip(map(rate_of, system.unknowns[:4]), (*va, *vb), strict=True))
    np.testing.assert_allclose(evaluate(general.constraints, {**numbers, **rates}), 0, atol=1e-13)
    rates[rate_of(symbol("y2"))] += 0.1
    assert np.count_nonzero(np.abs(evaluate(general.constraints, {**numbers, **rates})) > 0.01) == 2
    assert answer(["equations", str(tmp_path / "four_bar.yaml"), "--form", "rif", "--cases"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"case 1 of \d+\n  while det A != 0\n    x1_dd = \(A\^-1 b\)\[1\]", said)
    assert "cases only the conditions are given: sums of more than 20 terms are not multiplied out, and no more" in said


PARAMETERS = {"g": 9.81, "m1": 1.5, "m2": 2.0, "L1": 1.0, "L2": 2.0, "L3": 1.5, "d": 2.0}


def test_an_angle_that_can_only_rest_has_no_condition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """sin(th) = 1/2: that th' vanishes follows and sets no case apart."""
    th = symbol("th")
    (case,) = complete([sin(th) - 0.5], [th])
    assert case.zero == ()
    file = tmp_path / "s.yaml"
    file.write_text("linkwork: 1\nname: s\nunknowns: [th]\nequations: {a: sin(th) = 1/2}\n")
    assert answer(["equations", str(file), "--form", "rif", "--cases"]) == 0
    assert "where" not in capsys.readouterr().out


def test_zeros_in_the_field_are_found() -> None:
    """Of random products of linear factors one is a zero; a polynomial without linear factors has none."""
    random = Random(5)
    for degree in (1, 2, 3, 5):
        zeros, f = [random.randrange(P) for _ in range(degree)], [1]
        for zero in zeros:
            f = [(a - zero * b) % P for a, b in zip([0, *f], [*f, 0], strict=True)]
        assert zero_of(f, random) in zeros
    assert zero_of([1, 0, 1], random) is None  # -1 is no square where P = 3 (mod 4)
    assert zero_of([7], random) is None


def test_what_vanishes_on_a_variety_is_zero_there() -> None:
    """On x^2 + y^2 = L^2: x^4 - (L^2 - y^2)^2 vanishes, x - y does not; on x^2 = y^2 with x != y, x + y does."""
    on = [(x, [y * y - L * L, 0 * x, 1 + 0 * x])]
    circle = Signature(on=on)
    assert circle.is_zero(x**4 - (L * L - y * y) ** 2)
    assert not circle.is_zero(x - y)
    lines = [(x, [-y * y, 0 * x, 1 + 0 * x])]
    assert not Signature(on=lines).is_zero(x + y)
    assert Signature(on=lines, nonzero=[x - y]).is_zero(x + y)
