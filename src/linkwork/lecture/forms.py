"""Forms that are integrated otherwise than by accelerations from full matrices: symbolic LU, DAEs of index 3 and 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from linkwork.equations.explicit import solve_explicitly
from linkwork.equations.place import Array
from linkwork.expressions.derivatives import jacobian
from linkwork.expressions.evaluation import evaluate, ordered, substitute
from linkwork.expressions.graph import ONE, ZERO, Expr, symbol
from linkwork.lecture.exercise import Exercise
from linkwork.lecture.listing import LARGEST
from linkwork.lecture.sheet import MOST_COLUMNS, Name, listing
from linkwork.lecture.symbolic import Matrix, Numbers
from linkwork.lecture.values import NOTHING, Scope, Value, named, vector
from linkwork.linalg.newton import MAX_ITERATIONS
from linkwork.sequences.entries import Entries, dense, minus
from linkwork.symbolic.hierarchy import Hierarchy, unused_letter
from linkwork.tolerances import NEGLIGIBLE, ROUNDING
from linkwork.writing import notation
from linkwork.writing.notation import Formula, column, equal, number
from linkwork.writing.printers import as_it_stands
from linkwork.writing.rational import TooLong, formula, rational

# isort: off
from linkwork.lecture.letters import (
    A, K, L, M, N, P, P_1, P_c, Psi, Psi_q, Psi_t, Q, U, W, X, a, b, gamma, h, lam, lam_1, mu, phi, phi_y,
    d, pivots, q, y, y_0, z,
)  # fmt: skip


def explicit(x: Exercise) -> None:
    """Return P A P_c = L U in symbols, by forward and backward substitution  [zhou2007, eqs. (11)-(19)]."""
    x.head("The system of accelerations and multipliers")
    kept = _keep_independent(x, "The constraint rows that depend on others are left out:")
    own = P_1.T * Psi_q if x.r < x.m else Psi_q
    x.say("All unknowns are solved for together,", equal(A * X, b), ", with")
    x.define(A, notation.Matrix(((M, own.T), (own, NOTHING))) if kept else M)
    x.define(b, column(Q, P_1.T * gamma if x.r < x.m else gamma) if kept else Q)
    x.show(equal(A, x.definitions[A]), equal(b, x.definitions[b]))
    if x.n + len(kept) <= MOST_COLUMNS:
        x.display(A)
    x.display(b)
    x.head("LU decomposition")
    e = x.equations
    hierarchy = Hierarchy(unused_letter((*e.q, *e.v, *e.parameters)), LARGEST)
    solved = solve_explicitly(e, kept, x.pivoting, hierarchy, [x.numbers.values])
    factors, size = solved.factors, x.n + len(kept)
    x.say(
        "Gauss' elimination in symbols takes a pivot that is known not to vanish identically, whatever the values: "
        "an entry is recognized as zero by its values modulo a prime. Expressions that grow large get a name:",
    )  # fmt: skip
    values = _name_parts(x, hierarchy)
    x.write_parameters({*ordered([*hierarchy.definitions.values(), *factors.L.values(), *factors.U.values()])})
    order, swap = (np.eye(size)[:, list(places)] for places in (factors.rows, factors.columns))
    heads = x.scope(A).columns
    x.find({P: Value(order.T, (), heads), P_c: Value(swap, heads)})
    in_order = [*factors.columns] == [*range(size)]
    for name, entries, diagonal in ((L, factors.L, ONE), (U, factors.U, None)):
        whole = {**entries, **({(k, k): diagonal for k in range(size)} if diagonal is not None else {})}
        numbers = np.zeros((size, size))
        for place, entry in whole.items():
            numbers[place] = evaluate([entry], values)[0]
        x.find({name: Value(numbers)})
        x.display(name, _rationals(whole, size))
    if in_order:
        x.say("They are the factors of the system with its rows exchanged:")
        x.show(equal(P * A, L * U))
    else:
        x.say("They are the factors of the system with its rows and columns exchanged:")
        x.show(equal(P * A * P_c, L * U))
    if size <= MOST_COLUMNS:
        x.display(P)
    names = [*(f"{name}" for name in e.v_names), *(str(e.rows[k]) for k in kept)]
    x.say(
        "The pivots stand in the rows", *listing(Name(names[k]) for k in factors.rows), "and none of them may vanish:"
    )
    cells = [[pivot] for pivot in factors.pivots]
    x.find({pivots: vector([evaluate(pivot, values)[0] for pivot in cells])})
    x.display(pivots, _rationals({(k, 0): pivot[0] for k, pivot in enumerate(cells)}, size, 1))
    x.head("Substitution")
    x.say("Forward, then backward:")
    x.let(z, L.inverse * P * b)
    x.let(X, U.inverse * z if in_order else P_c * U.inverse * z)
    found = x.scope(X).entries
    x.head("Accelerations and multipliers")
    x.find({a: Value(found[: x.n], x.columns)})
    x.find({lam_1: Value(found[x.n :], tuple((None, x.rows[k]) for k in kept))})
    if not kept:
        x.show(equal(X, a))
        x.find({lam: vector(np.zeros(x.m), named(x.rows))})
    elif x.r < x.m:
        x.show(equal(X, column(a, lam_1)))
        x.say("Rows that were left out have the multiplier zero:")
        x.let(lam, P_1 * lam_1)
    else:
        x.find({lam: x.scope(lam_1)})
        x.show(equal(X, column(a, lam)))
    x.display(a)
    if kept:
        x.display(lam)


def _keep_independent(x: Exercise, *words: str) -> list[int]:
    """Return the rows that are kept, with P_1, which takes them."""
    rows = tuple((None, row) for row in x.rows)
    kept = list(x.numbers.rows.independent)
    x.find({P_1: Value(np.eye(x.m)[:, kept], rows, tuple(rows[k] for k in kept))})
    if len(kept) < x.m:
        x.say(*words, P_1, "takes the others,", *listing(Name(x.rows[k]) for k in kept), ".")
    return kept


def _name_parts(x: Exercise, hierarchy: Hierarchy) -> dict[Expr, float]:
    """Return a table of the veiled expressions; the values of all symbols with theirs."""
    values, sizes = dict(x.numbers.values), dict[Expr, float]()
    rows = []
    for made, definition in hierarchy.definitions.items():
        values[made] = evaluate([definition], values)[0]
        size = sizes[made] = _size(definition, values, sizes)
        shown = _shown(x, definition)
        name = notation.symbol_of(str(made.value))
        x.entries.find({name: vector([values[made]])})
        rows.append((name, shown, number(0.0 if abs(values[made]) <= ROUNDING * size else values[made])))
        x.written.append((name, ((shown,),), np.array([[values[made]]]), size))
    if rows:
        x.glossary(("", "is", "value"), rows)
    return values


def _size(definition: Expr, values: Mapping[Expr, float], sizes: Mapping[Expr, float]) -> float:
    """Return how large it would be if nothing cancelled, neither in it nor in the veiled expressions of which it is
    made.
    """
    found: dict[Expr, float] = {}
    for node in ordered([definition]):
        parts = [found[part] for part in node.args]
        if node.op in ("add", "sub"):
            found[node] = sum(parts)
        elif node.op == "mul":
            found[node] = parts[0] * parts[1]
        elif node.op == "div":
            found[node] = parts[0] / (abs(evaluate([node.args[1]], values)[0]) or 1.0)
        else:
            found[node] = max(sizes.get(node, 0.0), *parts[:1], abs(evaluate([node], values)[0]))
    return found[definition]


def _shown(x: Exercise, definition: Expr) -> Formula:
    """Show an expression in normal form where that is short, else as it stands: veiled ones are short by themselves."""
    try:
        return formula(rational(definition), x.names)
    except (TooLong, ZeroDivisionError):
        return as_it_stands(definition, x.names)


def _rationals(entries: Entries, rows: int, columns: int | None = None) -> Matrix | None:
    try:
        return [[rational(entries.get((i, j), ZERO)) for j in range(columns or rows)] for i in range(rows)]
    except (TooLong, ZeroDivisionError):
        return None


# Differential-algebraic forms


def index_3(x: Exercise) -> None:
    """Return K y' = phi(y) with y = (q, v, a, lam)  [pennestri2004, eqs. (6)-(9)]."""
    _write_form(
        x, False, "Only by differentiating the constraints three times would the rates of all unknowns be found, those "
        "of the multipliers too: the index is 3.",
    )  # fmt: skip


def ggl(x: Exercise) -> None:
    """Return the same with Psi_dot = 0 among the equations and mu, which is zero, among the unknowns  [gear1985]."""
    _write_form(
        x, True, "The constraints hold for positions and for velocities. The multipliers", mu, "that the second set "
        "needs are zero but for errors, and the index is 2.", W, "has the squares of lengths and of a radian on its "
        "diagonal, so that", mu, "moves both alike.",
    )  # fmt: skip


def _write_form(x: Exercise, has_mu: bool, *about: str | Formula) -> None:
    x.head("Consistent accelerations and multipliers")
    kept = _keep_independent(x, "The constraint rows that depend on others are left out:") if x.m else []
    drops = x.r < x.m
    J, own = (P_1.T * Psi_q, lam_1) if drops else (Psi_q, lam)
    x.say("The start needs accelerations and multipliers that fit: with the constraints differentiated twice,")
    x.define(A, notation.Matrix(((M, J.T), (J, NOTHING))) if kept else M)
    x.define(b, column(Q, P_1.T * gamma if drops else gamma) if kept else Q)
    x.show(equal(A, x.definitions[A]), equal(b, x.definitions[b]))
    x.let(X, A.inverse * b)
    rows, found = tuple((None, x.rows[k]) for k in kept), x.scope(X).entries
    x.find({a: Value(found[: x.n], x.columns), own: Value(found[x.n :], rows)})
    if drops and kept:
        x.let(lam, P_1 * lam_1)
    elif drops:
        x.find({lam: vector(np.zeros(x.m), named(x.rows))})
    x.show(equal(X, column(a, own)) if kept else equal(X, a))
    x.head("The form that is integrated")
    speed = x.velocity - W * J.T * mu if kept and has_mu else x.velocity
    f: list[Formula] = [speed if x.rates else N * speed, a, Q - M * a - J.T * own if kept else Q - M * a]
    unknowns: list[Formula] = [q, x.velocity, a]
    if kept:
        f, unknowns = [*f, P_1.T * Psi if drops else Psi], [*unknowns, own]
    if kept and has_mu:
        rate = Psi_q * x.velocity + Psi_t
        f, unknowns = [*f, P_1.T * rate if drops else rate], [*unknowns, mu]
    form = Form(x, kept, has_mu, own)
    x.find(form.values(form.start, x.t))
    x.define(phi, column(*f))
    x.say("The unknowns", y, "are integrated as they stand:")
    x.show(equal(y, column(*unknowns)))
    x.show(equal(K * y.dot, phi))
    x.show(equal(phi, x.definitions[phi]))
    x.say(K, "is the unit matrix for the rows with rates and zero for the others.", *about)
    x.say("At consistent values only the rates are not zero:")
    x.display(phi)
    x.head("A step")
    left = h * phi - K * (y - y_0)
    x.say(
        "The simplest method of the family of Radau has one stage, at the end of the step", equal(h, number(form.h)),
        ". Newton's iteration for it corrects", y, "by", d, ", with the derivatives of", phi, ":",
    )  # fmt: skip
    change = (K - h * phi_y).inverse * left
    x.define(d, change)
    x.show(equal(d, change))
    if form.size <= MOST_COLUMNS:
        x.display(phi_y)
    at, table, scope = form.start, [], form.scope(form.start, x.t + form.h)
    for k in range(MAX_ITERATIONS):
        residual, correction = scope(left), scope(d)
        table.append((number(k + 1), number(residual.size, 2), number(correction.size, 2)))
        at = at + correction.entries[:, 0]
        scope = form.scope(at, x.t + form.h)
        if correction.size <= NEGLIGIBLE * max(1.0, float(np.abs(at).max())):
            break
    x.table(("iteration", "largest of what is left", "largest change"), table)
    x.say("At the end of the step")
    x.show_in(scope, equal(K * (y - y_0), h * phi))
    labels = [*x.equations.q_names, *(f"rate of {name}" for name in x.equations.v_names)] if x.rates else [
        *x.equations.q_names, *x.equations.v_names]  # fmt: skip
    x.vector(y, at[: len(labels)], labels)


class Form:
    """The equations at any values of the unknowns y."""

    def __init__(self, x: Exercise, kept: Sequence[int], has_mu: bool, own: Formula) -> None:
        e = x.equations
        self.x, self.e, self.kept, self.own, self.has_mu = x, e, kept, own, has_mu and bool(kept)
        self.h = x.instant.step
        mus = [symbol(f"mu {row}") for row in kept] if self.has_mu else []
        lams = [e.lam[k] for k in kept]
        self.nodes = (*e.q, *e.v, *e.a, *lams, *mus)
        self.size = len(self.nodes)
        self.mobility = x.numbers.v_scale**2
        push = [ZERO] * len(e.v)
        for (i, j), entry in e.Psi_q.items():
            if i in kept and self.has_mu:
                push[j] = push[j] - float(self.mobility[j]) * entry * mus[kept.index(i)]
        qd = substitute(e.qd, {v: v + own for v, own in zip(e.v, push, strict=True)})
        closed = {(j, i): entry for (i, j), entry in e.Psi_q.items() if i in kept}
        force = minus(minus(e.Q, closed, e.lam), e.M, e.a)
        gaps = [e.Psi[k] for k in kept] + ([e.Psi_dot[k] for k in kept] if self.has_mu else [])
        self.phi_y = jacobian([*qd, *e.a, *force, *gaps], self.nodes)
        self.N = jacobian(e.qd, e.v)
        scope = x.scope
        multipliers = scope(own).entries[:, 0] if kept else np.zeros(0)
        self.start = np.concatenate([x.numbers.q, x.numbers.v, scope(a).entries[:, 0], multipliers, np.zeros(len(mus))])

    def values(self, at: Array, t: float) -> dict[Formula, Value]:
        """Return the values of all that changes with y and t."""
        e, x, n, n_q, m = self.e, self.x, len(self.e.v), len(self.e.q), len(self.kept)
        place = Numbers(e, at[:n_q], at[n_q : n_q + n], t)
        known = {**place.values, **dict(zip(self.nodes, at.tolist(), strict=True))}
        rows = tuple((None, x.rows[k]) for k in self.kept)
        moving = evaluate(self.phi_y.values(), known)
        rates = evaluate([*e.qd, *self.N.values()], known)
        lams = np.zeros(x.m)
        lams[list(self.kept)] = at[n_q + 2 * n : n_q + 2 * n + m]
        y_dot = np.concatenate([rates[:n_q], at[n_q + n : n_q + 2 * n], np.zeros(self.size - n_q - n)])
        found: dict[Formula, Value] = {
            **x.values(place), q: vector(at[:n_q]), a: vector(at[n_q + n : n_q + 2 * n], x.columns),
            self.own: vector(at[n_q + 2 * n : n_q + 2 * n + m], rows), mu: vector(at[n_q + 2 * n + m :], rows),
            lam: vector(lams, named(x.rows)), W: Value(np.diag(self.mobility), x.columns, x.columns),
            N: Value(dense(self.N, np.array(rates[n_q:]), (n_q, n))), y: vector(at), y_0: vector(self.start),
            phi_y: Value(dense(self.phi_y, np.array(moving), (self.size, self.size))), h: vector([self.h]),
            K: Value(np.diag([1.0] * (n_q + n) + [0.0] * (self.size - n_q - n))), y.dot: vector(y_dot),
        }  # fmt: skip
        return found

    def scope(self, at: Array, t: float) -> Scope:
        """Return names at other unknowns."""
        fixed: dict[Formula, Value] = {P_1: self.x.scope(P_1)} if self.x.m else {}
        return Scope({**fixed, **self.values(at, t)}, self.x.definitions)
