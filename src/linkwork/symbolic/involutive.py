"""Any system of differential-algebraic equations with all that is hidden in it, solved for its leading derivatives.

Offsets c and d of the structural analysis say what to differentiate. With r_j = x_j^(d_j)

    N = {F_i^(k) = 0, k < c_i},    L = {F_i^(c_i) = 0} = {A r = b},    det A != 0

is implicit reduced involutive form [zhou2007, eq. (6)]: N are the constraints, those that are stated and those that are
hidden, and L are as many equations as unknowns r, linear in them. An equation that was differentiated is so by itself,
A being the Jacobian of the structural analysis [pryce2001].

Where that Jacobian is singular, u^T A = 0 for some u, the pattern of the equations hides a constraint: with
e = min c_i over u_i != 0, the leading derivatives cancel in sum_i u_i F_i^(c_i - e), which takes the place of an
equation with c_i = e if u has no derivatives of x_j of order d_j - e or more. The sum of the d_j less that of the c_i
falls each time, so that this ends [tan2017].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.errors import ModelError
from linkwork.expressions.derivatives import directional, jacobian
from linkwork.expressions.evaluation import substitute
from linkwork.expressions.graph import ONE, ZERO, Expr, symbol
from linkwork.sequences.entries import Entries
from linkwork.sequences.sequence import ComputationSequence
from linkwork.symbolic.hierarchy import Hierarchy, unused_letter
from linkwork.symbolic.lu import LU, lu
from linkwork.symbolic.signature import Signature
from linkwork.symbolic.structural import (
    Structure,
    analyse,
    derivatives_in,
    rate_of,
    signature_matrix,
    system_jacobian,
)

TIME = symbol("t")


@dataclass(frozen=True)
class InvolutiveForm:
    """Constraints N by name, an apostrophe for each differentiation, and A r = b for the leading derivatives r.

    `hidden` names the constraints that are not among the equations as they were stated, `replaced` has those that took
    the place of stated ones.
    """

    x: tuple[Expr, ...]
    structure: Structure
    constraints: Mapping[str, Expr]
    hidden: tuple[str, ...]
    replaced: Mapping[str, Expr]
    A: Entries
    b: tuple[Expr, ...]

    @property
    def r(self) -> tuple[Expr, ...]:
        """The leading derivatives."""
        return tuple(rate_of(x, d) for x, d in zip(self.x, self.structure.d, strict=True))

    @property
    def state(self) -> tuple[Expr, ...]:
        """The unknowns with their derivatives below the leading ones."""
        return tuple(rate_of(x, k) for x, d in zip(self.x, self.structure.d, strict=True) for k in range(d))

    def solve(self, pivoting: str = "sparse", largest: int = 1) -> tuple[LU, tuple[Expr, ...]]:
        """Return r by LU, in the symbols of the factors' hierarchy, where what is larger than `largest` is veiled."""
        W = Hierarchy(unused_letter([*self.A.values(), *self.b]), largest)
        factors = lu(self.A, len(self.x), pivoting=pivoting, hierarchy=W)
        return factors, tuple(factors.solve(self.b))

    def sequence(self, parameters: Sequence[Expr] = (), name: str = "leading") -> ComputationSequence:
        """Return r as a function of time, the state and parameters."""
        factors, r = self.solve()
        return factors.hierarchy.sequence(name, (TIME, *self.state, *parameters), r)


def involutive_form(F: Sequence[Expr], x: Sequence[Expr], names: Sequence[str] = ()) -> InvolutiveForm:
    """Bring F(t, x, x', ...) = 0 to implicit reduced involutive form; derivatives are symbols of `rate_of`.

    ModelError where the equations are not linear in their leading derivatives, or where no combination of them shows
    what their pattern hides.
    """
    F, names = list(F), [*names] or [f"equation {i + 1}" for i in range(len(F))]
    stated, found = list(F), analyse(F, x, names)
    while not found.regular:
        i, equation = _combine(F, x, found, names)
        F[i] = equation
        found = analyse(F, x, names)
    constraints, levels = dict[str, Expr](), list(F)
    for k in range(max(found.c)):
        waiting = [i for i, c in enumerate(found.c) if c > k]
        constraints |= {names[i] + "'" * k: levels[i] for i in waiting}
        for i, rate in zip(waiting, differentiate([levels[i] for i in waiting], x), strict=True):
            levels[i] = rate
    r = tuple(rate_of(own, d) for own, d in zip(x, found.d, strict=True))
    zero = Signature()
    A = {place: own for place, own in system_jacobian(F, x, found.c, found.d).items() if not zero.is_zero(own)}
    curved = {names[list(A)[k][0]] for (k, _), slope in jacobian([*A.values()], r).items() if not zero.is_zero(slope)}
    if curved:
        message = f"not linear in the leading derivatives: {', '.join(sorted(curved))}"
        raise ModelError(f"{message}; differentiate once more, or solve it for one of them", "not-leading-linear")
    b = tuple(-left for left in substitute(levels, dict.fromkeys(r, ZERO)))
    replaced = {name: own for name, own, before in zip(names, F, stated, strict=True) if own is not before}
    hidden = tuple(name for name, own in constraints.items() if own not in stated)
    return InvolutiveForm(tuple(x), found, constraints, hidden, replaced, A, b)


def differentiate(F: Sequence[Expr], x: Sequence[Expr]) -> list[Expr]:
    """Differentiate: D_t F."""
    rates = {own: rate_of(x[j], order + 1) for own, (j, order) in derivatives_in(F, x).items()}
    return directional(F, {TIME: ONE, **rates})


def _combine(F: Sequence[Expr], x: Sequence[Expr], found: Structure, names: Sequence[str]) -> tuple[int, Expr]:
    """Tell which equation is to be replaced by which, so that the next analysis sees what this one did not."""
    zero, c = Signature(), found.c
    J = system_jacobian(F, x, c, found.d)
    for dependent in found.dependent:
        u = {i: own for i, own in _dependence(J, len(F), dependent).items() if not zero.is_zero(own)}
        least = min(c[i] for i in u)
        deepest = np.max(signature_matrix([*u.values()], x), axis=0)
        if any(order >= d - least for order, d in zip(deepest.tolist(), found.d, strict=True)):
            continue
        total = ZERO
        for i, factor in u.items():
            own = [F[i]]
            for _ in range(c[i] - least):
                own = differentiate(own, x)
            total = total + factor * own[0]
        slopes = jacobian([total], [*(occurring := derivatives_in([total], x))])
        gone = {s: ZERO for k, s in enumerate(occurring) if zero.is_zero(slopes.get((0, k), ZERO))}
        return min((i for i in u if c[i] == least), key=lambda i: not u[i].is_constant), substitute([total], gone)[0]
    shown = ", ".join(names[i] for i in found.dependent)
    message = f"the pattern of the equations misleads the structural analysis ({shown} depend on the others)"
    raise ModelError(f"{message}, and no combination of them helps; state what they hide", "structure-misleads")


def _dependence(J: Entries, size: int, dependent: int) -> dict[int, Expr]:
    """Return u with u^T J = 0 and u = 1 at the dependent equation, by the equations and unknowns that have pivots."""
    factors = lu(J, size)
    rows, columns = factors.rows, factors.columns[: factors.rank]
    A = {(columns.index(j), rows.index(i)): own for (i, j), own in J.items() if i in rows and j in columns}
    part = lu(A, factors.rank)
    found = part.solve([-J.get((dependent, j), ZERO) for j in columns])
    return {dependent: ONE, **dict(zip(rows, part.hierarchy.unveil(found), strict=True))}
