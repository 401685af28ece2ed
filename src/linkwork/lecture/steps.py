"""The formulations step by step: lists of formulas, which are displayed and evaluated.

The steps are those of the kernels in `formulations`, done with plain dense matrices so that every intermediate result
can be shown. What no formula gives, the factors of a decomposition, is found first and then held to its equations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from linkwork.equations.solution import EPS
from linkwork.equations.survey import LEAST_ROW
from linkwork.formulations import Formulation
from linkwork.lecture.decompositions import (
    complete_pivots,
    pivoted_rows,
    positive_qr,
    stepping_rows,
    upright,
)
from linkwork.lecture.exercise import Exercise, Method, Spectrum
from linkwork.lecture.forms import explicit, ggl, index_3
from linkwork.lecture.sheet import MOST_COLUMNS, Array, Name, Part, listing, names, spectrum
from linkwork.lecture.symbolic import Matrix
from linkwork.lecture.values import Scope, Value, named, vector
from linkwork.linalg.rank import RANK_TOLERANCE
from linkwork.writing import notation
from linkwork.writing.notation import Formula, Number, column, diag, equal, line, number

# isort: off
from linkwork.lecture.letters import (
    B, D, D_2, E, F, G, H, H_1, K, K_1, K_2, Lambda, Lambda_1, M, P, P_1, P_p, P_u, Psi_p, Psi_q, Psi_u, Q, Q_1, Q_2,
    R, R_1, S, T, T_1, U, U_1, U_2, U_d, Unit, V, W_d, W_i, Z, Z_1, a, a_f, b, d, eps, gamma, lam, lam_0, p, r, s, u,
)  # fmt: skip

INVERSE_ROOT = M ** Number("-1/2")
CONSTRAINTS = equal(Psi_q * a, gamma)
LEFT_OVER = Q - M * a  # of the forces, by the masses
ORTHOGONAL = equal(V.T * S, 0)
LEAST = ("Of all solutions of", CONSTRAINTS, "one is orthogonal to the admitted motions,", ORTHOGONAL, ":")


def select(places: Sequence[int], size: int) -> Array:
    """Return columns of the unit matrix."""
    return np.eye(size)[:, list(places)]


def coordinate_partitioning(x: Exercise) -> None:
    x.head("Partition of the coordinates")
    dependent, used = (sorted(places) for places in complete_pivots(x.Psi_q)[:2])
    free = [j for j in range(x.n) if j not in dependent]
    of = names(x.equations.v_names)
    x.say(
        "Gauss' elimination with complete pivoting takes the largest entry left as pivot: its column becomes a "
        "dependent coordinate", u, ". So", u, "= (", *listing(of[j] for j in dependent), ") and the independent "
        "coordinates are", p, "= (", *listing(of[j] for j in free), ").",
    )  # fmt: skip
    x.dependent = tuple(dependent)
    order = [*dependent, *free]
    u_heads, p_heads = ([x.columns[j] for j in places] for places in (dependent, free))
    rows = tuple((None, x.rows[i]) for i in used)
    moves = {
        P_u: Value(select(dependent, x.n), x.columns, tuple(u_heads)),
        P_p: Value(select(free, x.n), x.columns, tuple(p_heads)),
        P: Value(select(order, x.n), x.columns, (*u_heads, *p_heads)),
        P_1: Value(select(used, x.m), tuple((None, row) for row in x.rows), rows),
    }
    x.find_everywhere(moves)
    picked = P_1.T * Psi_q if x.r < x.m else Psi_q
    x.define(Psi_u, picked * P_u)
    x.define(Psi_p, picked * P_p)
    reduction = x.reduction(dependent)
    if reduction is not None and list(reduction.rows) == used and x.exact is not None:
        inverse = np.array(reduction.inverse, dtype=object).reshape(x.r, x.r)
        x.exact.given[Psi_u.inverse] = Value(inverse, tuple(u_heads), rows)
    trivial = ": here it is the unit matrix." if order == [*range(x.n)] else "."
    x.say("The permutation", P, "puts", u, "and", p, "in the order of the coordinates" + trivial)
    if x.m:
        x.say("Their columns of the Jacobian are" + (", of independent rows," if x.r < x.m else ""))
        x.display(Psi_u)
        if free:
            x.display(Psi_p)
    if free:
        x.say(
            Psi_u, "is regular, and the rates of the dependent coordinates follow from those of the independent ones:"
        )
        x.define(V, P * column(-(Psi_u.inverse * Psi_p), Unit))
        x.show(equal(V, x.definitions[V]))
    x.basis()
    if x.free and x.m:
        _write_blocks(x)
    x.reduce(
        P * column(Psi_u.inverse * P_1.T if x.r < x.m else Psi_u.inverse, 0), P_p.T,
        "With the independent accelerations zero, the constraints alone give the dependent ones:",
    )  # fmt: skip
    lead = "The equations of the dependent coordinates give the multipliers"
    if x.r < x.m:
        return x.multipliers((P_u.T * Psi_q.T).plus * P_u.T * LEFT_OVER, lead)
    if not x.free:
        return x.multipliers(Psi_u.inverse_t * P_u.T * LEFT_OVER, lead)
    x.define(u.ddot, P_u.T * a)
    x.multipliers(Psi_u.inverse_t * (Q**u - M ** (u * p) * p.ddot - M ** (u * u) * u.ddot), lead)


def _write_blocks(x: Exercise) -> None:
    """Write M_hat and Q_hat term by term  [pennestri2004, eqs. (49)-(50), (63)-(70)]."""
    x.head("Terms of the reduced equation")
    x.say("Mass matrix and forces are partitioned as the coordinates are:")
    select_by = {u: P_u, p: P_p}
    for i, j in ((p, p), (p, u), (u, p), (u, u)):
        x.define(M ** (i * j), select_by[i].T * M * select_by[j])
        x.display(M ** (i * j))
    for i in (u, p):
        x.define(Q**i, select_by[i].T * Q)
        x.display(Q**i)
    own = P_1.T * gamma if x.r < x.m else gamma
    C, back = Psi_u.inverse * Psi_p, Psi_p.T * Psi_u.inverse_t
    inertia = M ** (p * p), M ** (p * u) * C, back * (M ** (u * p) - M ** (u * u) * C)
    forces = Q**p, M ** (p * u) * Psi_u.inverse * own, back * (Q**u - M ** (u * u) * Psi_u.inverse * own)
    for hat, (first, *rest) in ((M.hat, inertia), (Q.hat, forces)):
        x.say("The first term of", hat, "is the block of the independent coordinates, the others are")
        for term in rest:
            x.display(term)
        x.say("together")
        x.let(hat, first - rest[0] - rest[1])
    x.say("This is what the basis gives:", equal(M.hat, V.T * M * V), ".")


def _rows(x: Exercise, order: Iterable[int]) -> list[Part]:
    return listing(Name(x.rows[i]) for i in order)


def zero_eigenvalue(x: Exercise) -> None:
    x.head("Eigenvectors")
    x.say(H, "is symmetric, and its eigenvalues are not negative: squares of singular values.")
    values, vectors = np.linalg.eigh(x.let(H, Psi_q.T * Psi_q))
    x.find({T: Value(vectors, x.columns), Lambda: Value(np.diag(values)), T_1: Value(upright(vectors[:, : x.free]))})
    x.show(equal(T.T * H * T, Lambda), equal(Lambda, diag(*spectrum(values))))
    x.say("The eigenvectors of the eigenvalue zero are a basis of the motions that the constraints admit:")
    x.define(V, T_1)
    x.show(equal(V, T_1))
    x.basis()
    regular = H + V * V.T if x.free else H
    x.reduce(regular.inverse * Psi_q.T, V.T, *LEAST)
    x.multipliers(Psi_q * regular.inverse * LEFT_OVER)


def _find_factors(x: Exercise, order: Sequence[int]) -> None:
    """Return P, Q_1, Q_2 and R of the constraint rows in this order."""
    factor, triangle = positive_qr(x.Psi_q[list(order)].T)
    rows, swap = tuple((None, row) for row in x.rows), select(order, x.m)
    heads = tuple(rows[i] for i in order)
    found = {
        P: Value(swap, rows, heads), P_1: Value(swap[:, : x.r], rows, heads[: x.r]),
        Q_1: Value(factor[:, : x.r], x.columns), Q_2: Value(upright(factor[:, x.r :]), x.columns),
        R: Value(triangle[: x.r], (), heads),
    }  # fmt: skip
    x.find(found)


def _triangle(x: Exercise, order: Sequence[int]) -> Matrix | None:
    """Return R in symbols, of few independent rows."""
    return x.symbols.triangle(order) if x.small and x.r == x.m and x.m <= 3 else None


def qr(x: Exercise) -> None:
    x.head("QR decomposition")
    order = pivoted_rows(x.Psi_q)[0]
    _find_factors(x, order)
    x.say(
        "The columns of the transposed Jacobian, the constraint rows, are made orthogonal one after the other; the "
        "permutation", P, "takes the longest of what is left first:", *_rows(x, order), ".",
    )  # fmt: skip
    if x.m:
        x.show(equal(Psi_q.T * P, line(Q_1, Q_2) * column(R, 0)), equal(Q_1.T * Q_2, 0), equal(Q_2.T * Q_2, Unit))
        x.display(R, _triangle(x, order))
    _write_orthogonal_basis(x)
    triangle = _write_first(x, R, R_1)
    x.reduce(Q_1 * triangle.inverse_t * (P_1 if x.r < x.m else P).T, V.T, *LEAST)
    x.multipliers(P * R.plus * Q_1.T * LEFT_OVER if x.r < x.m else P * R.inverse * Q_1.T * LEFT_OVER)


def _write_first(x: Exercise, whole: Formula, first: Formula) -> Formula:
    """Write the part of a triangle that is regular, which is all of it if the rows are independent."""
    if x.r == x.m:
        return whole
    x.define(first, whole * P.T * P_1)
    x.say("Of", whole, "and", P, "the first", r, "columns are", first, "and", P_1, ":")
    x.show(equal(first, x.definitions[first]))
    return first


def _write_orthogonal_basis(x: Exercise) -> None:
    x.define(V, Q_2)
    x.say("The columns of", Q_2, "are orthogonal to all constraint rows, so", equal(V, Q_2), ":")
    x.basis(x.unit_basis())


def svd(x: Exercise) -> None:
    x.head("Singular value decomposition")
    W, values, U_T = np.linalg.svd(x.Psi_q.T)
    rows = tuple((None, row) for row in x.rows)
    found = {
        W_d: Value(W[:, : x.r], x.columns), W_i: Value(upright(W[:, x.r :]), x.columns), U: Value(U_T.T, rows),
        U_d: Value(U_T[: x.r].T, rows), Lambda_1: Value(np.diag(values[: x.r])),
    }  # fmt: skip
    x.find(found)
    if x.m:
        x.show(
            equal(Psi_q.T, line(W_d, W_i) * _corner(Lambda_1) * U.T, W_d * Lambda_1 * U_d.T),
            equal(Lambda_1, diag(*spectrum(values[: x.r]))),
        )
        x.show(equal(W_d.T * W_d, Unit), equal(U_d.T * U_d, Unit), equal(W_i.T * W_d, 0))
        if x.n <= MOST_COLUMNS:
            x.display(W_d)
            x.display(U_d)
    x.say("The singular vectors of the singular values zero are a basis of the motions that the constraints admit:")
    x.define(V, W_i)
    x.show(equal(V, W_i))
    x.basis()
    x.reduce(W_d * Lambda_1.inverse * U_d.T, V.T, *LEAST)
    x.multipliers(U_d * Lambda_1.inverse * W_d.T * LEFT_OVER)


def _corner(A: Formula) -> Formula:
    zero = Number("0")
    return notation.Matrix(((A, zero), (zero, zero)))


def putd(x: Exercise) -> None:
    x.head("Pseudo-upper-triangular decomposition")
    steps = stepping_rows(x.Psi_q)[0]
    order = [*steps, *(i for i in range(x.m) if i not in steps)]
    _find_factors(x, order)
    x.find({D_2: Value(np.eye(x.n)[x.r :]), H_1: x.scope(Q_1), U: x.scope(R)})
    x.say(
        "Householder's reflections", H, "bring the constraint rows, in their own order and without pivoting, to a "
        "staircase", U, "above zeros. The rows that make a step:", *_rows(x, steps),
        "." if len(steps) == x.m else "; the others depend on those before them. The permutation",
        *(() if len(steps) == x.m else (P, "puts these last.")),
    )  # fmt: skip
    x.define(H, line(H_1, Q_2))
    if x.m:
        x.show(equal(H.T * Psi_q.T * P, column(U, 0)), equal(H.T * H, Unit))
        x.display(U, _triangle(x, order))
    x.say("The last columns of", H, "are orthogonal to all constraint rows. They are taken by", D_2, ":")
    x.define(V, H * D_2.T)
    if x.free:
        x.show(equal(D_2, line(0, Unit)), equal(V, H * D_2.T, Q_2))
    x.basis(x.unit_basis())
    triangle = _write_first(x, U, U_1)
    x.reduce(H_1 * triangle.inverse_t * (P_1 if x.r < x.m else P).T, V.T, *LEAST)
    x.multipliers(P * (U.plus if x.r < x.m else U.inverse) * H_1.T * LEFT_OVER)


def qtz(x: Exercise) -> None:
    x.head("Complete orthogonal factorization")
    order = pivoted_rows(x.Psi_q)[0]
    _find_factors(x, order)
    Z_T, T_T = positive_qr(x.scope(R).entries.T)
    x.find(
        {
            T: Value(T_T[: x.r].T),
            Z: Value(Z_T.T, (), x.scope(P).columns),
            Z_1: Value(Z_T.T[: x.r], (), x.scope(P).columns),
        }
    )
    x.say(
        "QR with column pivoting, which takes the rows in the order", *_rows(x, order),
        ", and a second orthogonal matrix", Z, "from the right leave a regular triangle", T, ":",
    )  # fmt: skip
    if x.m:
        x.show(equal(Psi_q.T * P, line(Q_1, Q_2) * _corner(T) * Z, Q_1 * T * Z_1), equal(Z * Z.T, Unit))
        x.show(equal(Q_1.T * Q_1, Unit), equal(Q_2.T * Q_2, Unit))
        x.display(T)
    _write_orthogonal_basis(x)
    inverse = Q_1 * T.inverse_t * Z_1 * P.T
    x.reduce(
        inverse, V.T, "All constraint rows take part in the least solution, with the pseudo-inverse of the Jacobian:"
    )
    if x.m:
        x.say("It is", equal(S, Psi_q.plus), ".")
    x.multipliers(S.T * LEFT_OVER)


def schur(x: Exercise) -> None:
    x.head("Schur decomposition")
    x.say(H, "is symmetric, so its Schur form", U, "is diagonal:")
    values, vectors = np.linalg.eigh(x.let(H, Psi_q.T * Psi_q))
    own, other = upright(vectors[:, : x.free]), vectors[:, x.free :]
    x.find({K: Value(np.hstack([own, other]), x.columns), K_1: Value(own, x.columns), K_2: Value(other, x.columns)})
    x.find({U: Value(np.diag(values)), U_2: Value(np.diag(values[x.free :]))})
    x.show(equal(K.T * H * K, U, diag(*spectrum(values))), equal(K.T * K, Unit))
    x.say("The Schur vectors whose entry of", U, "is zero are a basis of the motions that the constraints admit:")
    x.define(V, K_1)
    x.show(equal(V, K_1))
    x.basis()
    if x.m:
        x.define(G, K_2 * U_2.inverse * K_2.T)
        x.ranks[H] = x.r
        x.say("The other ones give the pseudo-inverse", equal(G, K_2 * U_2.inverse * K_2.T, H.plus), ".")
    x.reduce(G * Psi_q.T, V.T, *LEAST)
    x.multipliers(Psi_q * G * LEFT_OVER)


def udwadia_kalaba(x: Exercise) -> None:
    x.head("Accelerations without constraints")
    x.say("If the constraints were not there, the forces alone would give")
    x.let(a_f, M.inverse * Q)
    x.head("Pseudo-inverse")
    x.say("Gauss' principle: the constraints change", a_f, "as little as possible, measured with the masses. So")
    x.let(D, Psi_q * INVERSE_ROOT, rank=x.r)
    x.show(equal(INVERSE_ROOT * INVERSE_ROOT, M.inverse))
    if x.m:
        x.display(D.plus)
    x.head("Accelerations")
    x.say("What", a_f, "misses of the constraints is")
    x.let(b, gamma - Psi_q * a_f)
    x.say("and the constrained accelerations are")
    x.let(a, a_f + INVERSE_ROOT * D.plus * b)
    if x.m:
        x.say("The reactions change the accelerations:", equal(-(Psi_q.T * lam), M * (a - a_f)), ".")
    x.multipliers(-(D.plus.T * D.plus * b), "They have the multipliers")


def _write_projector(x: Exercise) -> None:
    x.head("Pseudo-inverse and projector")
    if x.m:
        x.display(Psi_q.plus)
    x.say("What is left of a motion when the part against the constraints is taken out, the projector", E, ":")
    reduction = x.reduction()
    x.let(E, Unit - Psi_q.plus * Psi_q, x.symbols.projector(reduction) if reduction else None)
    x.show(equal(E * E, E), equal(Psi_q * E, 0))


def udwadia_phohomsiri(x: Exercise) -> None:
    _write_projector(x)
    x.head("Accelerations")
    scale = float(np.max(np.abs(x.Psi_q), initial=0.0) / np.max(np.abs(x.M))) or 1.0
    x.find({s: vector([scale])})
    x.say(
        E, "takes the reactions out of the equations of motion,", equal(E * M * a, E * Q), "; stacked on "
        "the constraints this determines", a, ", also for a singular", M, ". The factor", equal(s, number(scale)),
        "gives both parts the same size and changes nothing else:",
    )  # fmt: skip
    x.let(B, column(s * E * M, Psi_q), rank=x.n)
    x.let(a, B.plus * column(s * E * Q, gamma))
    x.multipliers(Psi_q.plus.T * LEFT_OVER)


def _write_pseudo_inverse(x: Exercise, inverse: Formula) -> None:
    """Write the whole matrix of coefficients with its pseudo-inverse in blocks  [defalco2008, eqs. (36)-(37)]."""
    x.define(K, notation.Matrix(((M, Psi_q.T), (Psi_q, Number("0")))), rank=x.n + x.r)
    x.say("The pseudo-inverse of the whole matrix of coefficients", K, "consists of these blocks:")
    x.show(equal(K, x.definitions[K]))
    x.show(equal(K.plus, inverse))
    x.show(equal(column(a, lam), K.plus * column(Q, gamma)))


def de_falco_1(x: Exercise) -> None:
    x.head("Pseudo-inverse")
    x.say(D, "says how the constraint rows give way to reactions:")
    x.let(D, Psi_q * M.inverse * Psi_q.T, rank=x.r)
    if x.m:
        x.display(D.plus)
    x.say("With it")
    x.let(H, M.inverse * Psi_q.T * D.plus)
    x.head("Accelerations")
    x.let(a, (Unit - H * Psi_q) * M.inverse * Q + H * gamma)
    x.multipliers(D.plus * (Psi_q * M.inverse * Q - gamma), "The same pseudo-inverse gives the multipliers")
    if x.m:
        x.head("The whole pseudo-inverse")
        blocks = ((M.inverse - H * Psi_q * M.inverse, H), (H.T, -D.plus))
        _write_pseudo_inverse(x, notation.Matrix(blocks))


def de_falco_2(x: Exercise) -> None:
    _write_projector(x)
    x.head("Accelerations")
    inertia = E * M * E
    x.ranks[inertia] = x.free
    x.say("The pseudo-inverse", G, "of the inertia felt by the admitted motions has the rank", F, ":")
    x.let(G, inertia.plus)
    x.let(a, G * Q + (Psi_q.plus - G * M * Psi_q.plus) * gamma)
    x.multipliers(Psi_q.plus.T * LEFT_OVER)
    if x.m:
        x.head("The whole pseudo-inverse")
        x.say("With")
        x.let(R, M * Psi_q.plus)
        zero = Number("0")
        first = notation.Matrix(((zero, Psi_q.plus), (Psi_q.plus.T, -(Psi_q.plus.T * R))))
        _write_pseudo_inverse(x, first + column(Unit, -R.T) * G * line(Unit, -R))


def augmented(x: Exercise) -> None:
    if not x.m:
        x.head("Accelerations")
        x.let(a, M.inverse * Q)
        return
    x.head("The whole system, made quasi-definite")
    compliances: Formula = Psi_q * M.inverse * Psi_q.T if x.numbers.mass.is_regular else Psi_q * Psi_q.T
    compliance = np.diag(np.asarray(x.scope(compliances).entries, dtype=float))
    small = EPS * np.maximum(compliance, LEAST_ROW * np.max(compliance, initial=0.0))
    rows = x.scope(Psi_q).rows
    x.find({eps: Value(np.diag(small), rows, rows), lam_0: vector(np.zeros(x.m), rows)})
    x.say(
        "Both sets of equations are solved together. A small positive", eps, "makes the matrix quasi-definite: "
        "triangular factors of it exist in any order of the unknowns, for dependent constraint rows too.",
    )  # fmt: skip
    x.define(K, notation.Matrix(((M, Psi_q.T), (Psi_q, -eps))))
    x.show(equal(K, x.definitions[K]))
    if x.n + x.m <= MOST_COLUMNS:
        x.display(K)
    x.say(
        eps, "is a diagonal matrix: for each constraint row", number(EPS, 2), "times its entry on the diagonal of",
        compliances, ". It lets each joint give way a little, in proportion to its force. What is wrong by that is "
        "found by putting the solution into the equations without", eps, "; solving once more for what is left removes "
        "it.",
    )  # fmt: skip
    x.head("Accelerations and multipliers")
    solved, exact = notation.Symbol("y"), notation.Matrix(((M, Psi_q.T), (Psi_q, Number("0"))))
    residual = column(Q, gamma) - exact * solved
    step = K.inverse * residual
    x.define(d, step)
    places, y, table = (*x.columns, *rows), np.zeros((x.n + x.m, 1)), []
    for k in range(3):
        x.scope.given.pop(d, None)
        x.find({solved: Value(y, places)})
        left, change = x.scope(residual), x.scope(d)
        table.append((number(k + 1), *(number(value.size, 2) for value in (left, change))))
        y = y + change.entries
    x.find({solved: Value(y, places)})
    halfway = {name: value for name, value in x.scope.given.items() if name != d} | {solved: Value(y / 2, places)}
    x.say("Starting from zero, the solution", solved, "of accelerations and multipliers is improved by adding")
    x.show_in(Scope(halfway, dict(x.definitions)), equal(d, step))
    x.table(("solution", "largest residual before", "largest change"), table)
    found = x.scope(solved).entries
    x.find({a: Value(found[: x.n], x.columns), lam: Value(found[x.n :], rows)})
    x.display(a)
    x.display(lam, x.lam_in_symbols())


def _of_squares(n: int, m: int) -> float:
    """Return the tolerance where squares of values are formed, which are then known to less than rounding."""
    return max(RANK_TOLERANCE, float(np.sqrt(n * np.finfo(float).eps)))


def _root_values(x: Exercise) -> Array:
    return np.asarray(np.sqrt(np.maximum(np.linalg.eigvalsh(x.Psi_q.T @ x.Psi_q), 0.0)))


def _weighted_lengths(x: Exercise) -> Array:
    return pivoted_rows(np.linalg.solve(np.linalg.cholesky(x.M), x.Psi_q.T).T)[1]


_PIVOTED = "decomposed with column pivoting"
SINGULAR_VALUES = Spectrum(
    lambda x: np.linalg.svd(x.Psi_q, compute_uv=False), ("The singular values of", Psi_q)
)  # fmt: skip
EIGENVALUES = Spectrum(_root_values, "The roots of the eigenvalues of the squared Jacobian", _of_squares)
TRIANGLE = Spectrum(
    lambda x: pivoted_rows(x.Psi_q)[1], f"The diagonal of the triangle of the transposed Jacobian, {_PIVOTED}"
)  # fmt: skip
WEIGHTED_TRIANGLE = Spectrum(
    _weighted_lengths, f"The diagonal of the triangle of the transposed Jacobian by the roots of the masses, {_PIVOTED}"
)
COMPLIANCES = Spectrum(
    _weighted_lengths, "The roots of the pivots of what the rows give way to reactions", lambda n, m: _of_squares(m, m)
)  # fmt: skip
PIVOTS = Spectrum(lambda x: complete_pivots(x.Psi_q)[2], "The pivots of the elimination")
STEPS = Spectrum(lambda x: stepping_rows(x.Psi_q)[1], "What each constraint row adds to those before it")

_REVIEW = "de Falco, Guida and Pennestri 2008"
_TUTORIAL = "Pennestri and Vita 2004"

METHODS: dict[str, Method] = {
    "index-3": Method(
        index_3, SINGULAR_VALUES, f"the constraints as they are, for implicit methods ({_TUTORIAL}, eqs. (6)-(9))"
    ),
    "ggl": Method(ggl, SINGULAR_VALUES, "constraints for positions and velocities (Gear, Gupta and Leimkuhler 1985)"),
    "lu": Method(explicit, SINGULAR_VALUES, "symbolic LU decomposition (Zhou, Jeffrey and Reid 2007, eqs. (11)-(19))"),
    "augmented": Method(
        augmented, SINGULAR_VALUES, "accelerations and multipliers from one quasi-definite system"
    ),
    "coordinate-partitioning": Method(
        coordinate_partitioning, PIVOTS,
        f"independent coordinates, chosen by complete pivoting (Wehage and Haug 1982; {_TUTORIAL}, eqs. (44)-(50))",
    ),
    "zero-eigenvalue": Method(
        zero_eigenvalue, EIGENVALUES,
        f"eigenvectors of eigenvalues zero (Walton and Steeves 1969; {_REVIEW}, eqs. (14)-(17))",
    ),
    "qr": Method(
        qr, TRIANGLE,
        f"QR decomposition of the transposed Jacobian (Kim and Vanderploeg 1986; {_TUTORIAL}, eqs. (32)-(37))",
    ),
    "svd": Method(
        svd, SINGULAR_VALUES,
        "singular value decomposition of the transposed Jacobian "
        f"(Mani, Haug and Atkinson 1985; {_TUTORIAL}, eqs. (38)-(43))",
    ),
    "putd": Method(
        putd, STEPS,
        "pseudo-upper-triangular decomposition of the transposed Jacobian "
        f"(Amirouche, Jia and Ider 1988; {_REVIEW}, eqs. (25)-(26))",
    ),
    "qtz": Method(
        qtz, TRIANGLE,
        f"complete orthogonal factorization of the transposed Jacobian (Vita and Pennestri 2004; {_REVIEW})",
    ),
    "schur": Method(
        schur, EIGENVALUES,
        f"Schur vectors of eigenvalues zero (Pennestri and Valentini 2007; {_REVIEW}, eqs. (27)-(29))",
    ),
    "udwadia-kalaba": Method(
        udwadia_kalaba, WEIGHTED_TRIANGLE,
        f"Gauss' principle of least constraint (Udwadia and Kalaba 1996; {_REVIEW}, eqs. (30)-(33))",
    ),
    "udwadia-phohomsiri": Method(
        udwadia_phohomsiri, TRIANGLE,
        "pseudo-inverse of the projected equations stacked on the constraints "
        f"(Udwadia and Phohomsiri 2006; {_REVIEW}, eqs. (34)-(35))",
    ),
    "de-falco-1": Method(
        de_falco_1, COMPLIANCES,
        "pseudo-inverse of how the constraint rows give way to reactions "
        f"(de Falco, Pennestri and Vita 2005; {_REVIEW}, eqs. (37)-(41))",
    ),
    "de-falco-2": Method(
        de_falco_2, TRIANGLE,
        "pseudo-inverse of the inertia of the admitted motions "
        f"(de Falco, Pennestri and Vita 2005; {_REVIEW}, eqs. (42)-(45))",
    ),
}  # fmt: skip


def teach_own(formulation: Formulation) -> Method:
    """Return a formulation of a user: what it returns, held to the equations that it solves."""

    def steps(x: Exercise) -> None:
        x.head("Accelerations and multipliers")
        x.say("From", M, ",", Psi_q, ",", Q, "and", gamma, f"the function returns ({formulation.description})")
        found = formulation(x.M, x.Psi_q, x.Q, x.gamma)
        x.find({a: vector(found.a, x.columns), lam: vector(found.lam, named(x.rows))})
        x.display(a)
        if x.m:
            x.display(lam)
        x.say("They are to fulfil")
        x.show(equal(M * a + Psi_q.T * lam if x.m else M * a, Q))
        if x.m:
            x.show(CONSTRAINTS)

    return Method(steps, SINGULAR_VALUES, formulation.description)
