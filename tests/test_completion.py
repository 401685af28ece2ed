"""Systems of any number of equations in reduced involutive form, with their cases."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from linkwork.cli import answer
from linkwork.errors import ModelError
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import cos, sin, symbol
from linkwork.symbolic.completion import Case, complete
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


def test_a_case_that_swells_is_refused() -> None:
    """Nine products that vanish make 512 cases."""
    many = [symbol(f"u{k}") for k in range(18)]
    with pytest.raises(ModelError, match="its cases do"):
        complete([a * b for a, b in zip(many[::2], many[1::2], strict=True)], many)
