"""Pryce's signature matrix method, and the involutive form of any system of differential-algebraic equations."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.compiled.mechanism import prepare
from linkwork.equations.explicit import as_dae
from linkwork.equations.place import Place
from linkwork.errors import ModelError, UsageError
from linkwork.expressions.evaluation import evaluate, substitute
from linkwork.expressions.graph import Expr, cos, exp, sin, symbol
from linkwork.modelfile import load
from linkwork.sequences.sequence import ComputationSequence
from linkwork.symbolic.involutive import involutive_form
from linkwork.symbolic.signature import Signature
from linkwork.symbolic.structural import ABSENT, analyse, rate_of

x, y, z, lam, g, L = (symbol(name) for name in ("x", "y", "z", "lam", "g", "L"))


def pendulum() -> tuple[list[Expr], list[Expr]]:
    F = [rate_of(x, 2) + lam * x, rate_of(y, 2) + lam * y + g, x * x + y * y - L * L]
    return F, [x, y, lam]


def test_the_pendulum_has_index_3() -> None:
    """The example of [pryce2001]: offsets c = (0, 0, 2), d = (2, 2, 0), two values free at the start."""
    found = analyse(*pendulum())
    np.testing.assert_array_equal(found.sigma, [[2, ABSENT, 0], [ABSENT, 2, 0], [0, 0, ABSENT]])
    assert found.c == (0, 0, 2)
    assert found.d == (2, 2, 0)
    assert (found.index, found.freedoms, found.regular) == (3, 2, True)


def test_two_pendula_of_which_one_drives_the_other_have_index_5() -> None:
    """The second has a length that the first's multiplier changes: c = (4, 4, 6, 0, 0, 2) [pryce2001, section 1]."""
    u, v, mu, c = (symbol(name) for name in ("u", "v", "mu", "c"))
    F, unknowns = pendulum()
    F += [rate_of(u, 2) + mu * u, rate_of(v, 2) + mu * v + g, u * u + v * v - (L + c * lam) ** 2]
    found = analyse(F, [*unknowns, u, v, mu])
    assert found.c == (2, 2, 4, 0, 0, 2)
    assert found.d == (4, 4, 2, 2, 2, 0)
    assert found.index == 5
    assert found.freedoms == 4
    assert found.regular


def test_an_ordinary_differential_equation_has_index_0_and_an_algebraic_one_index_1() -> None:
    assert analyse([rate_of(x) - x * y, rate_of(y) - 1], [x, y]).index == 0
    assert analyse([rate_of(x) - y, y - sin(x)], [x, y]).index == 1


@pytest.mark.parametrize(("name", "size"), [("slider_crank_zhou", 3), ("andrews_squeezer", 41), ("slider_crank", 17)])
def test_mechanisms_have_index_3(name: str, size: int) -> None:
    """Every constraint is differentiated twice, no other equation; freedoms count positions and rates."""
    e = prepare(load(name)).equations
    F, unknowns, names = as_dae(e)
    assert len(F) == size
    found = analyse(F, unknowns, names)
    assert found.regular
    assert found.index == 3
    assert found.c == (0,) * len(e.v) + (2,) * len(e.Psi)
    assert found.d == (2,) * len(e.v) + (0,) * len(e.Psi)
    assert found.freedoms == 2 * (len(e.v) - len(e.Psi))


def test_a_mechanism_in_space_has_index_3_in_velocities_that_are_no_rates() -> None:
    e = prepare(load("spatial_slider_crank")).equations
    found = analyse(*as_dae(e))
    assert found.index == 3
    assert found.regular


def test_a_known_failure_is_reported_as_such() -> None:
    """A linear system with constant coefficients whose J is singular although the equations determine all unknowns.

    The difference of the last two equations is a constraint on x1 and x2 that their pattern does not show, and its
    rate with the other equations gives one on x2 alone. With these two in their place the analysis succeeds.
    """
    x1, x2, x3, x4 = (symbol(f"x{k}") for k in range(1, 5))
    t = symbol("t")
    F = [-rate_of(x1) + x3 + sin(t), -rate_of(x2) + x4 + cos(t), x2 + x3 + x4 + exp(t), -x1 + x3 + x4 + t]
    found = analyse(F, [x1, x2, x3, x4])
    assert not found.regular
    assert found.rank == 3
    assert len(found.dependent) == 1
    first, second = x1 + x2 + exp(t) - t, x2 - sin(t) - cos(t) + 1
    rate = rate_of(x1) + rate_of(x2) + exp(t) - 1
    assert Signature().is_zero(F[2] - F[3] - first)
    assert Signature().is_zero(F[2] - F[0] - F[1] - rate - second)
    mended = analyse([F[0], F[1], first, second], [x1, x2, x3, x4])
    assert mended.regular
    assert mended.c == (0, 0, 1, 1)
    assert mended.freedoms == 0


def test_cancellations_do_not_count_as_dependence() -> None:
    """x' occurs in the text of the first equation, but not in the function."""
    F = [(rate_of(x) + y) ** 2 - rate_of(x) ** 2 - 2 * rate_of(x) * y - x, rate_of(y) - x]
    found = analyse(F, [x, y])
    assert found.sigma[0].tolist() == [0, 0]


def test_too_many_equations_for_their_unknowns_are_named() -> None:
    F = [x + y, x - y, x * y, z + x]
    with pytest.raises(ModelError, match=r"3 equations \(a, b, c\) hold only 2 unknowns \(x, y\)"):
        analyse(F, [x, y, z, lam], ["a", "b", "c", "d"])
    with pytest.raises(ModelError, match="2 equations for 1 unknowns"):
        analyse(F[:2], [x])


@pytest.mark.parametrize(
    ("unknowns", "names", "said"),
    [
        ([x, x], (), "'x' is twice among the unknowns"),
        ([x, sin(y)], (), r"'sin\(y\)' is not a symbol"),
        ([x, rate_of(x, 2)], (), "'x_dd' is a rate of 'x'"),
        ([x, y], ("one",), "2 equations have 1 names"),
    ],
)
def test_unknowns_are_symbols_each_once(unknowns: list[Expr], names: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        analyse([rate_of(x, 2) + y, x - y], unknowns, names)


def test_an_unknown_may_have_the_name_of_a_rate_of_nothing() -> None:
    """u_d is no rate where there is no u: its own rate is u_d_d."""
    found = analyse([rate_of(symbol("u_d")) - x, x - symbol("u_d")], [symbol("u_d"), x])
    assert (found.index, found.freedoms) == (1, 1)


def test_the_pendulum_hides_one_constraint_and_has_its_known_accelerations() -> None:
    """x x' + y y' = 0; lam = (x'^2 + y'^2 - g y)/L^2, x'' = -lam x, y'' = -lam y - g."""
    F, unknowns = pendulum()
    form = involutive_form(F, unknowns, ["mx", "my", "rod"])
    assert form.hidden == ("rod'",)
    assert Signature().is_zero(form.constraints["rod'"] - 2 * (x * rate_of(x) + y * rate_of(y)))
    assert form.state == (x, rate_of(x), y, rate_of(y))
    mixed = involutive_form([F[0], F[1], F[2] + x * F[0]], unknowns, ["mx", "my", "rod"])
    assert mixed.hidden == ("rod", "rod'")  # its pattern does not show it
    assert Signature().is_zero(mixed.replaced["rod"] - F[2])
    multiplier = (2.0**2 + 1.5**2 + 9.81 * 0.8) / 1.0**2
    expected = [-0.6 * multiplier, 0.8 * multiplier - 9.81, multiplier]
    for own in (form, mixed):
        found = own.sequence([g, L]).compile()([0.0, 0.6, 2.0, -0.8, 1.5, 9.81, 1.0])
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_constraints_of_two_pendula_are_kept_by_the_motion() -> None:
    """Index five: ten constraints, of which six are hidden, along the motion that the leading derivatives give."""
    from scipy.integrate import solve_ivp

    u, v, mu, c = (symbol(name) for name in ("u", "v", "mu", "c"))
    F, unknowns = pendulum()
    F += [rate_of(u, 2) + mu * u, rate_of(v, 2) + mu * v + g, u * u + v * v - (L + c * lam) ** 2]
    form = involutive_form(F, [*unknowns, u, v, mu])
    assert (len(form.constraints), len(form.hidden)) == (sum(form.structure.c), 6)
    values = [9.81, 1.0, 0.1]
    leading = form.sequence([g, L, c]).compile()
    N = ComputationSequence("N", (*form.state, g, L, c), [*form.constraints.values()])
    gap, slope = N.compile(), N.differentiate(form.state).compile()
    state = np.array([0.8, 0.3, 0.1, 0.1, -0.6, 0.4, 0.1, 0.1, 6.0, 0.1, 1.5, 0.2, -0.5, 0.6])
    for _ in range(30):
        J = slope([*state, *values]).reshape(len(form.constraints), -1)
        state = state - np.linalg.lstsq(J, gap([*state, *values]), rcond=None)[0]
    assert np.max(np.abs(gap([*state, *values]))) < 1e-12
    tops = np.cumsum(form.structure.d) - 1  # where the last derivatives of the state are

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        r = leading([t, *y, *values])
        result = np.roll(y, -1)
        for j, (top, d) in enumerate(zip(tops, form.structure.d, strict=True)):
            if d:
                result[top] = r[j]
        return result

    end = solve_ivp(rates, (0.0, 0.5), state, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    assert np.linalg.norm(end - state) > 1.0
    assert np.max(np.abs(gap([*end, *values]))) < 1e-6  # unprojected, and of fourth order in lam


def test_what_the_pattern_of_a_linear_system_hides_is_found() -> None:
    """x2 = sin t + cos t - 1 and x1 = t - exp t - x2, without any value being free."""
    x1, x2, x3, x4 = (symbol(f"x{k}") for k in range(1, 5))
    t = symbol("t")
    F = [-rate_of(x1) + x3 + sin(t), -rate_of(x2) + x4 + cos(t), x2 + x3 + x4 + exp(t), -x1 + x3 + x4 + t]
    form = involutive_form(F, [x1, x2, x3, x4])
    assert (form.structure.regular, form.structure.freedoms) == (True, 0)
    second = sin(t) + cos(t) - 1
    known = {x1: t - exp(t) - second, x2: second}
    assert len(form.hidden) == 2
    for own in substitute([*form.constraints.values()], known):
        assert Signature().is_zero(own)


def test_the_slider_crank_of_two_angles_hides_the_rate_of_its_closure() -> None:
    """Equations (13) and (14) of [zhou2007], and its accelerations as the compiled system has them."""
    e = prepare(load("slider_crank_zhou")).equations
    form = involutive_form(*as_dae(e))
    assert form.hidden == ("closure'",)
    place = Place(e, np.array([0.3, 0.1483]), np.array([1.1, 0.53]))
    rates = dict(zip((rate_of(own) for own in e.q), e.v, strict=True))
    found = substitute([*form.sequence().outputs, form.constraints["closure'"]], rates)
    *leading, hidden = evaluate(found, place.values)
    A = np.block([[place.M, place.Psi_q.T], [place.Psi_q, np.zeros((1, 1))]])
    np.testing.assert_allclose(leading, np.linalg.solve(A, [*place.Q, *place.gamma]), rtol=1e-12)
    np.testing.assert_allclose(hidden, place.Psi_q @ place.v, rtol=1e-13)


def test_what_cannot_be_solved_is_said() -> None:
    with pytest.raises(ModelError, match="not linear in the leading derivatives: equation 1"):
        involutive_form([rate_of(x) ** 2 - y, rate_of(y) + x], [x, y])
    twice = [rate_of(x) * rate_of(y) - g, (rate_of(x) * rate_of(y)) ** 2 - L]
    with pytest.raises(ModelError, match="no combination of them helps"):
        involutive_form(twice, [x, y])
    with pytest.raises(ModelError, match="structurally singular"):
        involutive_form([x + y, 2 * x + 2 * y], [x, y])
