"""Closure equations of planar mechanisms as polynomials in few unknowns.

Evaluating Psi in isotropic coordinates (laurent.py) gives the closure equations as polynomials [wampler1999]. Then

1. rows linear in the angles alone (drivers, prismatic joints, gears) say that one theta is a monomial in others;
2. combinations of rows of a joint that hold z, to the first degree, and theta alone are found: the two rows of a
   revolute joint, for instance, are one such row and its conjugate, in c and 1/theta;
3. these give the positions z as functions of the theta, and what is left of them are the loops, linear in all theta
   that no gear has made a power;
4. loops and the other rows are sorted into blocks that can be solved one after the other: a dyad, a triad, ...
   (blocks.py, where point 5 makes of each block a system for the path tracker).

A dyad worked out. In a four-bar whose crank is held, the coupler (origin at its pin A, length b) and the rocker (origin
at its pivot d on the x-axis, length r) are pinned to each other; A is then a fixed complex number. With the unknowns
z_1, c_1, theta_1 of the coupler and z_2, c_2, theta_2 of the rocker, the joints have the rows

    A:  (z_1 + c_1)/2 - Re A,    (z_1 - c_1)/(2 i) - Im A;        likewise C with z_2 and d
    B:  (z_2 + c_2)/2 + r (theta_2 + 1/theta_2)/2 - (z_1 + c_1)/2 - b (theta_1 + 1/theta_1)/2,    ...

2.  row x + i row y holds no c and no 1/theta:  z_1 - A,  z_2 - d,  z_2 + r theta_2 - z_1 - b theta_1. The other
    combination, row x - i row y, is the conjugate and need not be kept.
3.  z_1 = A and z_2 = d, and the loop is  d + r theta_2 - A - b theta_1 = 0.
4.  One block: a loop is two real equations, the two angles are two real unknowns.
5.  theta_2 = (A - d + b u)/r with u = theta_1; by the conjugate loop 1/theta_2 = (A* - d + b w)/r with w = 1/theta_1.
    What remains is theta (1/theta) = 1 for both:  u w = 1  and  (A - d + b u)(A* - d + b w) = r^2,  two solutions.
"""

from __future__ import annotations

import cmath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.arrays import Complex
from linkwork.assembly import laurent
from linkwork.assembly.laurent import MIRROR, PLACE, TURN, Angle, Monomial, NotPolynomialError, Poly, Root, monomial
from linkwork.errors import ModelError
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import Expr
from linkwork.linalg.rank import RANK_TOLERANCE, singular_values, svd
from linkwork.tolerances import AGREEMENT


@dataclass(frozen=True)
class Closure:
    """What is left to solve: loops (linear in places, to be taken with their conjugates) and other rows.

    `angles` gives the angle of every body whose turn is not among the unknowns, `places` the z likewise, in units of
    `unit` metres; `consistent` is False if some row says that a number other than zero is zero.
    """

    unit: float
    turns: tuple[str, ...]
    free_places: tuple[str, ...]
    angles: Mapping[str, Angle]
    places: Mapping[str, Poly]
    loops: tuple[Poly, ...]
    rows: tuple[Poly, ...]
    consistent: bool

    @property
    def freedoms(self) -> int:
        """Unknowns minus equations, both counted in real numbers."""
        unknowns = len(self.turns) + 2 * len(self.free_places)
        return unknowns - 2 * len(self.loops) - len(self.rows)


def form_closure(
    rows: Sequence[Expr],
    groups: Sequence[str],
    values: Mapping[Expr, float],
    coordinates: Mapping[str, tuple[Expr, Expr, Expr]],
    unit: float,
) -> Closure:
    """Form the rows as polynomials, reduced; rows of one group (a joint and its drivers) are combined with each other.

    `values` are those of parameters and time, `coordinates` the symbols x, y, phi of every body.
    """
    table = laurent.arithmetic()
    symbols: dict[Expr, Any] = dict(values)
    for body, (x, y, phi) in coordinates.items():
        z, c = monomial((PLACE, body)), monomial((MIRROR, body))
        symbols |= {x: (z + c) * (0.5 * unit), y: (z - c) * (-0.5j * unit), phi: Angle({body: 1.0})}
    first = evaluate(rows, symbols, table)
    consistent, angles = solve_angles([row for row in first if isinstance(row, Angle)])
    for body, (_, _, phi) in coordinates.items():
        symbols[phi] = angles.get(body, symbols[phi])
    by_group: dict[str, list[Poly]] = {}
    for row, group in zip(evaluate(rows, symbols, table), groups, strict=True):
        poly = row.polynomial() if isinstance(row, Root) else row
        if isinstance(poly, Angle):
            continue
        poly = laurent.as_poly(poly)
        if not all(cmath.isfinite(c) for c in poly.terms.values()):
            raise ModelError(f"the closure of '{group}' has no finite value", "closure-not-finite")
        by_group.setdefault(group, []).append(poly)

    scale = max((abs(c) for polys in by_group.values() for p in polys for c in p.terms.values()), default=1.0)
    loops: list[Poly] = []
    others: list[Poly] = []
    for polys in by_group.values():
        found, left = split_holomorphic([(p / scale).normalize(RANK_TOLERANCE) for p in polys])
        loops += found
        others += left
    places: dict[str, Poly] = {}
    while True:
        loops = _eliminate_places(loops, places)
        forms = {(PLACE, b): p for b, p in places.items()}
        forms |= {(MIRROR, b): p.conjugate() for b, p in places.items()}
        others = select_independent([p.substitute(forms).normalize(RANK_TOLERANCE) for p in others])
        found, others = split_holomorphic(others)
        if not found:
            break
        loops += found
    loops = _thin_out(select_independent([p for p in loops if p.terms]))
    consistent = consistent and all(p.variables() for p in (*loops, *others))
    turns, free = (tuple(b for b in coordinates if b not in known) for known in (angles, places))
    return Closure(unit, turns, free, angles, places, tuple(loops), tuple(others), consistent)


def solve_angles(rows: Iterable[Angle]) -> tuple[bool, dict[str, Angle]]:
    """Return some angles as whole multiples of others plus a constant, from rows that are zero."""
    solved: dict[str, Angle] = {}
    consistent = True
    for row in rows:
        row = row.substitute(solved)
        if not row.multiples:
            consistent = consistent and abs(row.constant) < AGREEMENT
            continue
        for body, m in row.multiples.items():
            rest = Angle({b: -k / m for b, k in row.multiples.items() if b != body}, -row.constant / m)
            if all(abs(k - round(k)) <= AGREEMENT for k in rest.multiples.values()):
                break
        else:
            raise NotPolynomialError("a gear ratio that is not whole")
        rest = Angle({b: float(round(k)) for b, k in rest.multiples.items()}, rest.constant)
        solved = {b: angle.substitute({body: rest}) for b, angle in solved.items()}
        solved[body] = rest
    return consistent, solved


def _matrix(polys: Sequence[Poly]) -> tuple[list[Monomial], Complex]:
    """Return the monomials of the polynomials, and a row of coefficients for each of them."""
    monomials = sorted({m for p in polys for m in p.terms})
    return monomials, np.array([[p.terms.get(m, 0.0) for m in monomials] for p in polys], dtype=complex)


def select_independent(polys: Sequence[Poly], after: Sequence[Poly] = ()) -> list[Poly]:
    """Return the polynomials that are no linear combination of those before them."""
    kept: list[Poly] = []
    for p in polys:
        if not p.terms:
            continue
        _, A = _matrix([*after, *kept, p])
        A = A / np.linalg.norm(A, axis=1)[:, None]
        if singular_values(A)[-1] > RANK_TOLERANCE and A.shape[0] <= A.shape[1]:
            kept.append(p)
    return kept


def _is_linear(m: Monomial) -> bool:
    """Return 1, a place or a turn."""
    return not m or (len(m) == 1 and m[0][1] == 1 and m[0][0][0] in (PLACE, TURN))


def _is_holomorphic(m: Monomial) -> bool:
    """Return 1, a place, or a product of powers of turns, as gears make it."""
    return _is_linear(m) or all(kind == TURN for (kind, _), _ in m)


def split_holomorphic(rows: Sequence[Poly]) -> tuple[list[Poly], list[Poly]]:
    """Return combinations of the rows that hold nothing but places and turns, if need be after division by one;
    other rows.

    The conjugate of every such combination is one of the rows too, since rows are real.
    """
    left = select_independent(rows)
    found: list[Poly] = []
    turns = sorted({v for p in rows for v in p.variables() if v[0] == TURN})
    one = Poly({(): 1.0 + 0.0j})
    factors = [one, *(monomial(v, e) for v in turns for e in (1, -1))]
    for factor, allowed in (*((factor, _is_linear) for factor in factors), (one, _is_holomorphic)):
        if len(left) < 2:
            break
        monomials, A = _matrix([p * factor for p in left])
        other = np.array([not allowed(m) for m in monomials])
        if not other.any():
            continue  # nothing here turns with the conjugate, which cannot be for real rows
        U, values, _ = svd(A[:, other])
        rank = int(np.sum(values > RANK_TOLERANCE))
        combinations = U[:, rank:].conj().T @ A
        linear = [Poly(dict(zip(monomials, c, strict=True))).normalize(RANK_TOLERANCE) for c in combinations]
        linear = [p for p in linear if p.variables()]
        if linear:
            found += linear
            inverse = factor.conjugate()
            taken = [p * inverse for p in linear]
            left = select_independent(left, [*taken, *(p.conjugate() for p in taken)])
    return found, left


def _eliminate_places(loops: Sequence[Poly], places: dict[str, Poly]) -> list[Poly]:
    """Return loops without those places that could be expressed by others; these go into `places`."""
    left = list(loops)
    while True:
        forms = {(PLACE, b): p for b, p in places.items()}
        left = [p.substitute(forms).normalize(RANK_TOLERANCE) for p in left]
        candidates = [(sum(v[0] == PLACE for v in p.variables()), len(p.terms), k) for k, p in enumerate(left)]
        candidates = [c for c in candidates if c[0]]
        if not candidates:
            return left
        row = left.pop(min(candidates)[2])
        _, variable = max((abs(row.coefficient(v)), v) for v in row.variables() if v[0] == PLACE)
        solution = row * (-1.0 / row.coefficient(variable)) + monomial(variable)
        solution = Poly({m: c for m, c in solution.terms.items() if m != ((variable, 1),)})
        for body, p in places.items():
            places[body] = p.substitute({variable: solution})
        places[variable[1]] = solution


def _thin_out(loops: list[Poly]) -> list[Poly]:
    """Return the same loops with fewer turns in each, as far as differences of two of them show it."""
    loops = list(loops)
    improved = True
    while improved:
        improved = False
        for i in range(len(loops)):
            for j in range(len(loops)):
                for v in sorted(loops[i].variables() & loops[j].variables()) if i != j else ():
                    if not loops[j].coefficient(v):
                        continue
                    factor = loops[i].coefficient(v) / loops[j].coefficient(v)
                    difference = loops[i] - loops[j] * factor
                    if len(difference.normalize(RANK_TOLERANCE).variables() - {v}) < len(loops[i].variables()):
                        terms = {m: c for m, c in difference.terms.items() if m != ((v, 1),)}
                        loops[i] = Poly(terms).normalize(RANK_TOLERANCE)
                        improved = True
                        break
    return loops
