"""Any system of differential-algebraic equations in reduced involutive form, with the cases that vanishing pivots make.

Derivatives are ranked by their order less the highest one of their unknown in the equations as they are stated, and
those of one rank by the unknowns as they are listed: multipliers rank with accelerations. An equation that is
linear in its highest derivative, F = p L + R, is solved for it, L = -R/p, and L with all its derivatives is replaced
everywhere; where p may vanish, p = 0 is a case of its own, in which it is one more equation. An equation that is not
linear in it stays as a constraint, and its derivative, which is linear in D_t L with the pivot dF/dL, is taken besides
[reid1996]. This ends when nothing is left that does not vanish wherever these constraints hold, which is decided at
random points of their variety (`signature`). There may be more equations than unknowns, or
fewer: unknowns without a solved derivative are arbitrary functions. Parameters without a value rank below all unknowns,
and their rates are zero: so an equation of parameters alone is a condition of its case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from itertools import count
from math import lcm
from operator import mul

from linkwork.expressions.derivatives import jacobian
from linkwork.expressions.evaluation import RING, evaluate, ordered, substitute
from linkwork.expressions.graph import ONE, ZERO, Expr, cos, sin, symbol
from linkwork.symbolic.involutive import TIME, differentiate
from linkwork.symbolic.signature import Signature
from linkwork.symbolic.structural import check_unknowns, derivatives_in, rate_of
from linkwork.writing.rational import (
    UNIT,
    Monomial,
    Polynomial,
    Rational,
    TooLong,
    common_factor,
    content,
    expression,
    quotient,
    rational,
    without,
)

MOST_TAKEN = 100  # equations taken up in all cases: what goes on for longer has more cases than anyone reads


@dataclass(frozen=True)
class Case:
    """Leading derivatives solved for, constraints not linear in theirs, and which pivots vanish here or do not.

    `freedoms` values can be prescribed at the start, besides arbitrary functions; `numbers` are the values of
    parameters that decided which pivots vanish. `left` are equations that were not worked out: the case may be empty.
    """

    x: tuple[Expr, ...]
    solved: Mapping[Expr, Expr]
    constraints: tuple[Expr, ...]
    nonzero: tuple[Expr, ...]
    zero: tuple[Expr, ...]
    freedoms: int
    numbers: Mapping[Expr, float]
    left: tuple[Expr, ...] = ()

    @property
    def arbitrary(self) -> tuple[Expr, ...]:
        """The unknowns that no equation determines."""
        found = {j for j, _ in derivatives_in([*self.solved], self.x).values()}
        return tuple(own for j, own in enumerate(self.x) if j not in found)


@dataclass
class _State:
    todo: list[Expr]
    solved: dict[Expr, Expr] = field(default_factory=dict)
    kept: list[Expr] = field(default_factory=list)
    nonzero: list[Expr] = field(default_factory=list)
    sides: dict[int, Expr | None] = field(default_factory=dict)  # of each split, what vanishes on this side of it
    is_long: bool = False  # a pivot that vanishes here is too long to be worked with

    @property
    def zero(self) -> list[Expr]:
        return [own for own in self.sides.values() if own is not None]

    def split(self, number: int, here: Expr | None, there: Expr | None, more: Sequence[Expr]) -> _State:
        """Make another side of this case, with more equations."""
        other = _State(
            [*self.todo, *more], dict(self.solved), [*self.kept], [*self.nonzero], {**self.sides, number: there}
        )
        self.sides[number] = here
        return other


class _Empty(Exception):
    """A case whose equations contradict each other."""


class _Open(Exception):
    """A case whose equations become too long, or that comes after too many."""


def complete(
    F: Sequence[Expr],
    x: Sequence[Expr],
    values: Mapping[Expr, float] | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> list[Case]:
    """Return all cases of F(t, x, x', ...) = 0 that do not contradict themselves, those with most freedom first.

    Pivots of parameters alone are taken at their `values`; those of other parameters make cases too. Cases whose
    equations become too long to be divided by each other, and those after too many, come last, with what is `left`.
    """
    check_unknowns(x)
    turns = {node.args[0] for node in ordered(F) if node.op in ("cos", "sin") and node.args[0] in x}
    circles = [(own, symbol(f"cos {own.value}"), symbol(f"sin {own.value}")) for own in x if own in turns]
    named = {node: name for own, c, s in circles for node, name in ((cos(own), c), (sin(own), s))}
    stated = substitute(F, named)
    for own, c, s in circles:  # the point of an angle on the circle, and how it moves
        stated += [c * c + s * s - 1.0, rate_of(c) + s * rate_of(own), rate_of(s) - c * rate_of(own)]
    completion = _Completion(
        (*named.values(), *x), values or {}, progress
    )  # points rank higher: they follow the angles
    points = {name: node for node, name in named.items()}
    cases = [_with_angles(case, tuple(x), points, completion.forms) for case in completion.run(stated)]
    return [case for case in cases if not any(own.is_constant for own in case.constraints)]


def _with_angles(case: Case, x: tuple[Expr, ...], points: Mapping[Expr, Expr], forms: _Forms) -> Case:
    """Return the case without the points of angles on their circles: a point that is solved for is a constraint.

    That c and s are the cosine and sine of an angle, and not of another, takes one value from each circle. Its equation
    c^2 + s^2 = 1 says nothing of an angle, however other constraints have changed it.
    """
    of_points = derivatives_in([*case.solved], [*points]) if points else {}
    known = {own: right for own, right in case.solved.items() if own in x}
    here = {own: right for own, right in case.solved.items() if own in points}
    round_again = [
        substitute([c * c + s * s - 1.0], here)[0] for c, s in zip([*points][::2], [*points][1::2], strict=True)
    ]

    def back(own: Expr) -> Expr:
        rates = {
            name: differentiate([points[[*points][j]]], x)[0]
            for name, (j, order) in derivatives_in([own], [*points]).items()
            if order == 1
        }
        return substitute([own], {**points, **rates})[0]

    def reduced(own: Expr) -> Expr:
        return substitute([back(own)], known)[0]

    solved = {leader: forms.normal(reduced(right)) for leader, right in case.solved.items() if leader not in of_points}
    at = [own - case.solved[own] for own, (_, order) in of_points.items() if order == 0]
    kept = [own for own in case.constraints if not any(forms.same(own, other) for other in round_again)]
    constraints = tuple(own for own in map(forms.whole, map(reduced, (*at, *kept))) if own is not ZERO)
    nonzero, zero = (tuple(map(forms.normal, map(back, own))) for own in (case.nonzero, case.zero))
    left = tuple(forms.normal(back(own)) for own in case.left)
    freedoms = case.freedoms - len(round_again)
    return Case(x, solved, constraints, nonzero, zero, freedoms, case.numbers, left)


class _Completion:
    def __init__(
        self, x: tuple[Expr, ...], values: Mapping[Expr, float], progress: Callable[[float, str], None] | None
    ) -> None:
        self.progress = progress or (lambda _fraction, _text: None)
        self.unknowns, self.x, self.values, self.is_zero = x, x, values, Signature().is_zero
        self.highest: dict[int, int] = {}
        self.order: dict[int, int] = {}
        self.numbers: dict[Expr, float] = {}
        self.varieties: dict[tuple[tuple[Expr, ...], tuple[Expr, ...]], Signature] = {}
        self.taken, self.splits, self.forms = 0, count(), _Forms()

    def run(self, F: Sequence[Expr]) -> list[Case]:
        for j, order in derivatives_in(F, self.x).values():
            self.highest[j] = max(order, self.highest.get(j, 0))
        self.order = self.own_leaders(F)
        given = {*derivatives_in(F, self.x), *self.values, TIME}
        parameters = [node for node in ordered(F) if node.op == "symbol" and node not in given]
        lowest = 1 + max(self.highest.values(), default=0)
        self.highest |= {len(self.x) + k: lowest for k in range(len(parameters))}
        self.x = (*self.x, *parameters)
        steady = {rate_of(own): ZERO for own in parameters}
        waiting, found = [_State(list(F), steady)], list[tuple[_State, Case]]()
        while waiting:
            state = waiting.pop(0)
            try:
                for branches in self.finish(state):
                    waiting += branches
                found.append((state, self.case(state)))
            except (_Empty, ZeroDivisionError):  # a denominator that vanishes was a pivot, or was stated
                continue
            except _Open:
                found.append((state, self.open_case(state)))
        cases = [
            replace(case, zero=_conditions(state, case.zero, [other for other, _ in found], self.forms))
            for state, case in found
        ]
        return sorted(cases, key=_place_of)

    def finish(self, state: _State) -> Iterator[list[_State]]:
        """Take up all equations of a case, and tell what branches off on the way."""
        if state.is_long:
            raise _Open
        while True:
            state.todo = [tidy for own in state.todo if (tidy := self.tidy(state, own)) is not ZERO]
            if any(self.tidy(state, own) is ZERO for own in state.nonzero):
                raise _Empty
            if not state.todo:
                return
            self.taken += 1
            if self.taken > MOST_TAKEN:
                raise _Open
            self.progress(self.taken / MOST_TAKEN, f"{self.taken} equations")
            state.todo.sort(key=lambda own: self.rank(state, own))
            yield self.take(state, state.todo.pop(0))

    def case(self, state: _State) -> Case:
        solved = {}
        for leader, right in state.solved.items():
            others = _State([], {own: x for own, x in state.solved.items() if own is not leader})
            solved[leader] = self.forms.normal(self.reduce(others, right))
        moving = derivatives_in([*solved], self.unknowns)
        kept = [own for own in state.kept if derivatives_in([own], self.unknowns)]
        conditions = [leader - right for leader, right in solved.items() if leader in self.x and leader not in moving]
        conditions += [own for own in state.kept if own not in kept]
        own = {leader: right for leader, right in solved.items() if leader in moving}
        free = sum(order for _, order in moving.values()) - len(kept)
        return Case(self.unknowns, own, (*kept,), (*state.nonzero,), (*conditions,), free, self.numbers)

    def open_case(self, state: _State) -> Case:
        """Return a case as far as it was worked out."""
        moving = {leader: right for leader, right in state.solved.items() if derivatives_in([leader], self.unknowns)}
        known, left = (*state.nonzero,), (*state.todo,)
        return Case(self.unknowns, moving, (*state.kept,), known, (), 0, self.numbers, left)

    def rank(self, state: _State, own: Expr) -> tuple[bool, bool, int, int]:
        """Return equations without unknowns first, then those with a constant pivot, then those linear in a low
        derivative.
        """
        leader = self.leader(own)
        if leader is None:
            return False, False, 0, 0
        j, order = derivatives_in([leader], self.x)[leader]
        pivot = self.slope(own, leader)
        below, place = self.height(j, order)
        linear = self.is_zero(self.slope(pivot, leader))
        return not linear, self.leader(self.tidy(state, pivot)) is not None, -below, -place

    def height(self, j: int, order: int) -> tuple[int, int]:
        """Return the key by which derivatives are ranked, the highest first."""
        return self.highest.get(j, 0) - order, self.order.get(j, j)

    def own_leaders(self, F: Sequence[Expr]) -> dict[int, int]:
        """Return the order of the unknowns: those first that lead one constraint alone, and those of the others then.

        So each link of a chain has its own leaders, and no constraint is solved by way of another's.
        """
        leading = list[set[int]]()
        for own in F:
            heights = [(self.highest[j] - order, j) for j, order in derivatives_in([own], self.x).values()]
            top = min(heights, default=(0, 0))[0]
            leading.append({j for height, j in heights if height == top > 0})
        first = list[int]()
        while alone := [j for j in range(len(self.x)) if sum(j in own for own in leading) == 1]:
            first.append(alone[0])
            leading = [own for own in leading if alone[0] not in own]
        rest = [j for j in range(len(self.x)) if j not in first]
        return {j: k for k, j in enumerate([*first, *rest])}

    def slope(self, own: Expr, by: Expr) -> Expr:
        return jacobian([own], [by]).get((0, 0), ZERO)

    def leader(self, own: Expr) -> Expr | None:
        """Return the highest derivative on which an expression truly depends."""
        occurring = derivatives_in([own], self.x)
        for name in sorted(occurring, key=lambda s: self.height(*occurring[s])):
            if not self.is_zero(self.slope(own, name)):
                return name
        return None

    def reduce(self, state: _State, own: Expr) -> Expr:
        """Return the expression with all derivatives replaced that the solved equations give."""
        while True:
            known = {derivatives_in([leader], self.x)[leader]: right for leader, right in state.solved.items()}
            changes = {}
            for name, (j, order) in derivatives_in([own], self.x).items():
                lower = [k for i, k in known if i == j and k <= order]
                if lower:
                    right = known[j, max(lower)]
                    for _ in range(order - max(lower)):
                        (right,) = differentiate([right], self.x)
                    changes[name] = right
            if not changes:
                return own
            (own,) = substitute([own], changes)

    def vanishes(self, state: _State, own: Expr) -> bool:
        """Tell whether a reduced expression is zero wherever the constraints that are kept hold."""
        if self.is_zero(own):
            return True
        if not state.kept:
            return False
        key = tuple(state.kept), tuple(state.nonzero)
        if key not in self.varieties:
            led = [(leader, own) for own in state.kept if (leader := self.leader(own)) is not None]
            led.sort(key=lambda pair: self.height(*derivatives_in([pair[0]], self.x)[pair[0]]), reverse=True)
            on = [(leader, c) for leader, own in led if (c := self.coefficients(own, leader)) is not None]
            self.varieties[key] = Signature(on=on, nonzero=[self.reduce(state, own) for own in state.nonzero])
        return self.varieties[key].is_zero(own)

    def tidy(self, state: _State, own: Expr) -> Expr:
        """Reduce an equation, without factors that do not vanish and without denominators; ZERO if nothing is left."""
        own = self.reduce(state, own)
        if self.vanishes(state, own):
            return ZERO
        try:
            own = expression(self.forms.rational(own).above)
            for other in state.kept:
                own = expression(self.forms.rational(self.divide(own, other)).above)
            above = self.forms.rational(own).above
            if not above:
                return ZERO
            whole, rest = _factors(above)
            known = self.known(state)
            rest = self.root(self.forms.divided(rest.scale(1 / content(rest)), known))
        except TooLong:
            return own
        factors = [*whole, *([expression(rest)] if rest.constant is None else [])]
        if any(self.value(x) == 0 for x in factors):
            return ZERO
        return _product(
            [x for x in factors if not self.value(x) and not any(self.forms.same(x, other) for other in known)]
        )

    def root(self, p: Polynomial) -> Polynomial:
        """Return the polynomial, or what it is a power of, which is linear in its leading derivative: its slope
        divides it.
        """
        leader = self.leader(expression(p))
        slope = self.forms.rational(self.slope(expression(p), leader)).above if leader is not None else UNIT
        if leader in slope.atoms and (base := quotient(p, slope)) is not None:
            return base.scale(1 / content(base))
        return p

    def known(self, state: _State) -> list[Expr]:
        """Find what does not vanish in a case, and the squares of it by way of the constraints."""
        found = [*state.nonzero]
        for own in (self.reduce(state, own) for own in state.nonzero):
            square = own * own
            for other in state.kept:
                square = self.divide(square, other)
            found += [self.forms.normal(own), self.forms.normal(square)]
        return found

    def value(self, own: Expr) -> float | Fraction | None:
        """Return the number that an expression of parameters alone has, exactly where it can be; None of any other."""
        needed = [node for node in ordered([own]) if node.op == "symbol"]
        if any(node not in self.values for node in needed):
            return None
        numbers = {node: self.values[node] for node in needed}
        self.numbers |= numbers
        if {node.op for node in ordered([own])} <= {*RING, "symbol", "constant"}:
            exact = {node: Fraction(repr(x)) for node, x in numbers.items()}
            return Fraction(evaluate([own], exact, RING, lambda x: Fraction(repr(x)))[0])
        return float(evaluate([own], numbers)[0])

    def take(self, state: _State, own: Expr) -> list[_State]:
        """Solve an equation for its leading derivative, or keep it; what branches off where the pivot vanishes."""
        leader = self.leader(own)
        if leader is None:  # it holds of time and parameters, or not at all
            raise _Empty
        try:
            above = self.forms.rational(own).above
            whole, rest = _factors(above)
        except TooLong:
            whole, rest = [], None
        if rest is not None and len(whole) + (rest.constant is None) > 1:  # a product vanishes where one factor does
            first, *others = [*whole, *([expression(rest)] if rest.constant is None else [])]
            branch = state.split(next(self.splits), first, _product(others), [_product(others)])
            branch.nonzero.append(first)
            state.todo.append(first)
            return [branch]
        pivot = self.slope(own, leader)
        if not self.is_zero(self.slope(pivot, leader)):
            return self.keep(state, own, leader)
        (right,) = substitute([own], {leader: ZERO})
        tidy = self.tidy(state, pivot)
        if tidy is ZERO or any(self.forms.same(tidy, other) for other in state.todo):
            # it vanishes by numbers, or by what is yet to be taken
            state.todo.append(right)
            return []
        branches = self.assume(state, pivot, own)
        self.solve(state, leader, -right / pivot)
        return branches

    def solve(self, state: _State, leader: Expr, right: Expr) -> None:
        j, order = derivatives_in([leader], self.x)[leader]
        for other in [*state.solved]:
            i, k = derivatives_in([other], self.x)[other]
            if i == j and k >= order:  # it follows from this one, or says something new
                state.todo.append(other - state.solved.pop(other))
        state.solved[leader] = self.forms.normal(right)
        again = [own for own in state.kept if self.reduce(state, own) is not own]
        state.kept = [own for own in state.kept if own not in again]
        state.todo += again

    def keep(self, state: _State, own: Expr, leader: Expr) -> list[_State]:
        """Return a constraint that is not linear in its leading derivative, by which others with this leader are
        divided.
        """
        same = [other for other in state.kept if self.leader(other) is leader]
        if self.forms.is_long(own) or not all(self.is_lower(own, other, leader) for other in same):
            state.todo.append(own)
            raise _Open
        state.todo += same
        state.kept = [other for other in state.kept if other not in same]
        coefficients = self.coefficients(own, leader)
        branches = self.assume(state, coefficients[-1], own) if coefficients else []
        state.kept.append(own)
        state.todo += differentiate([own], self.x)
        return branches

    def is_lower(self, own: Expr, other: Expr, leader: Expr) -> bool:
        """Tell whether the degree in the leading derivative is below that of another."""
        p, q = self.coefficients(own, leader), self.coefficients(other, leader)
        return p is not None and q is not None and len(p) < len(q)

    def assume(self, state: _State, pivot: Expr, own: Expr) -> list[_State]:
        """Go on where a pivot does not vanish; the case in which it does, where that is possible."""
        pivot = self.tidy(state, pivot)
        if pivot is ONE or pivot in state.nonzero or any(self.forms.same(pivot, own) for own in self.known(state)):
            return []
        if any(self.forms.same(pivot, other) for other in state.zero):
            # it vanishes here, which the equations do not show
            state.todo.append(own)
            raise _Open
        branch = state.split(next(self.splits), None, pivot, [pivot, own])
        state.nonzero.append(pivot)
        branch.is_long = self.forms.is_long(pivot)
        return [branch]

    def divide(self, own: Expr, other: Expr) -> Expr:
        """Find what division by a constraint leaves, as polynomials in its leading derivative, up to its pivot."""
        leader = self.leader(other)
        assert leader is not None
        if self.is_zero(self.slope(own, leader)):
            return own
        p, q = self.coefficients(own, leader), self.coefficients(other, leader)
        if p is None or q is None or len(p) < len(q):
            return own
        while len(p) >= len(q):
            shift, top = len(p) - len(q), p[-1]
            p = [q[-1] * c - (top * q[k - shift] if k >= shift else ZERO) for k, c in enumerate(p)][:-1]
            while p and self.is_zero(p[-1]):
                p.pop()
        return sum((c * leader**k for k, c in enumerate(p)), ZERO)

    def coefficients(self, own: Expr, leader: Expr) -> list[Expr] | None:
        """List the coefficients in the leading derivative, lowest first; None of what is no polynomial or too long."""
        try:
            p = self.forms.rational(own).above
        except TooLong:
            return None
        if any(leader in ordered([atom]) for atom in p.atoms if atom is not leader):
            return None
        found: dict[int, dict[Monomial, Fraction]] = {}
        for monomial, c in p.terms.items():
            left = tuple((atom, e) for atom, e in monomial if atom is not leader)
            found.setdefault(dict(monomial).get(leader, 0), {})[left] = c
        return [expression(Polynomial(found.get(k, {}))) for k in range(max(found, default=0) + 1)]


def _place_of(case: Case) -> tuple[bool, int, int]:
    """Return cases with most freedom first; those that are not worked out last, the general ones before the special."""
    return (True, len(case.zero), 0) if case.left else (False, -len(case.arbitrary), -case.freedoms)


def _conditions(state: _State, stated: Sequence[Expr], found: Sequence[_State], forms: _Forms) -> tuple[Expr, ...]:
    """Find what sets a case apart: the sides of splits of which others exist too, and what is stated of parameters."""
    apart = [k for k, own in state.sides.items() if any(other.sides.get(k, own) is not own for other in found)]
    zero = [own for k in apart if (own := state.sides[k]) is not None]
    return (*zero, *(own for own in stated if not any(forms.same(own, other) for other in zero)))


class _Forms:
    """Normal forms of expressions, each found once."""

    def __init__(self) -> None:
        self.found: dict[Expr, Rational] = {}

    def rational(self, own: Expr) -> Rational:
        return rational(own, self.found)

    def normal(self, own: Expr) -> Expr:
        """Return the expression as a quotient of polynomials, where that is short."""
        try:
            found = self.rational(own)
        except TooLong:
            return own
        whole = Fraction(lcm(*(c.denominator for c in found.above.terms.values())))
        above, below = expression(found.above.scale(whole)), expression(found.below.scale(whole))
        return above if below is ONE else above / below

    def is_long(self, own: Expr) -> bool:
        try:
            return not self.rational(own)
        except TooLong:
            return True

    def whole(self, own: Expr) -> Expr:
        """Find what vanishes where the expression does: a polynomial of whole coefficients, where that is short."""
        try:
            above = self.rational(own).above
        except TooLong:
            return own
        return expression(above.scale(1 / content(above))) if above else ZERO

    def same(self, a: Expr, b: Expr) -> bool:
        """Tell whether two expressions differ by a constant factor."""
        try:
            return self.rational(a / b).constant is not None
        except (TooLong, ZeroDivisionError):
            return False

    def divided(self, p: Polynomial, known: Sequence[Expr]) -> Polynomial:
        """Return a polynomial without the factors that are known, as often as they divide it."""
        for own in known:
            try:
                factor = self.rational(own).above
            except TooLong:
                continue
            while factor.constant is None and (less := quotient(p, factor)) is not None:
                p = less
        return p


def _factors(p: Polynomial) -> tuple[list[Expr], Polynomial]:
    """Return atoms that divide all terms, each once, and what is left."""
    common = common_factor(p)
    return [atom for atom, _ in common], without(p, common)


def _product(factors: Sequence[Expr]) -> Expr:
    return reduce(mul, factors, ONE)
