"""The formulations step by step.

The steps are those of the kernels in `formulations`, done with plain dense matrices so that every intermediate result
can be shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from linkwork.equations.place import LEAST_ROW
from linkwork.equations.solution import EPS
from linkwork.lecture import letters as sym
from linkwork.lecture.decompositions import (
    complete_pivots,
    pivoted_rows,
    positive_qr,
    pseudo_inverse,
    stepping_rows,
    upright,
)
from linkwork.lecture.exercise import Exercise, Method, Spectrum
from linkwork.lecture.sheet import MOST_COLUMNS, Array, Name, Part, listing, names, spectrum
from linkwork.linalg.rank import RANK_TOLERANCE
from linkwork.writing import notation
from linkwork.writing.notation import Formula, Number, column, diag, equal, line, number

INVERSE_ROOT = sym.M ** Number("-1/2")
COMPLIANCE = sym.Psi_q * sym.M.inverse * sym.Psi_q.T
CONSTRAINTS = equal(sym.Psi_q * sym.a, sym.gamma)
S_GAMMA = sym.S * sym.gamma
LEFT_OVER = sym.Q - sym.M * sym.a  # of the forces, by the masses
LEAST = ("Of all solutions of", CONSTRAINTS, "the one with", equal(sym.V.T * S_GAMMA, 0), "is")


def coordinate_partitioning(x: Exercise) -> tuple[Array, Array]:
    x.head("Partition of the coordinates")
    u, used = (sorted(places) for places in complete_pivots(x.Psi_q)[:2])
    v = [j for j in range(x.n) if j not in u]
    of = names(x.equations.v_names)
    x.say(
        "Gauss' elimination with complete pivoting takes the largest entry left as pivot: its column becomes a "
        "dependent coordinate", sym.u, ". So", sym.u, "= (", *listing(of[j] for j in u), ") and the independent "
        "coordinates are", sym.p, "= (", *listing(of[j] for j in v), ").",
    )  # fmt: skip
    Psi_u, Psi_p = x.Psi_q[np.ix_(used, u)], x.Psi_q[np.ix_(used, v)]
    labels = [x.rows[i] for i in used]
    r = x.reduction(u)
    if x.m:
        whole = x.symbols.Psi_q if x.small else None
        for name, A, places in ((sym.Psi_u, Psi_u, u), (sym.Psi_p, Psi_p, v)):
            if places:
                part = [[whole[i][j] for j in places] for i in used] if whole else None
                x.matrix(name, A, labels, [x.columns[j] for j in places], part)
    x.say(
        sym.Psi_u, "is regular, and the rates of the dependent coordinates follow from those of the independent ones:"
    )  # fmt: skip
    x.show(equal(sym.V, column(-(sym.Psi_u.inverse * sym.Psi_p), sym.Unit)))
    V, S_gamma = np.zeros((x.n, len(v))), np.zeros(x.n)
    V[u] = -np.linalg.solve(Psi_u, Psi_p) if u else 0.0
    V[v, range(len(v))] = 1.0
    S_gamma[u] = np.linalg.solve(Psi_u, x.gamma[used])
    x.basis(sym.V, V, r.V if r else None)
    x.particular(
        S_gamma, "With", equal(sym.p.ddot, 0), "the constraints are satisfied by",
        equal(S_GAMMA, _stack(sym.Psi_u.inverse * sym.gamma)), ":", symbols=r.S_gamma if r else None,
    )  # fmt: skip
    if x.free:
        pp, pu, up, uu = (sym.M ** (i * j) for i in (sym.p, sym.u) for j in (sym.p, sym.u))
        C = sym.Psi_u.inverse * sym.Psi_p
        M_hat = pp - pu * C - sym.Psi_p.T * sym.Psi_u.inverse_t * (up - uu * C)
        x.say("In the blocks of", sym.M, "this is", equal(sym.M.hat, M_hat, sym.V.T * sym.M * sym.V), ".")
    a = x.reduce(V, S_gamma, u)
    lam = np.linalg.lstsq(x.Psi_q[:, u].T, (x.Q - x.M @ a)[u], rcond=None)[0] if x.m else np.zeros(0)
    equation = equal(sym.Psi_u.T * sym.lam, LEFT_OVER.part(sym.u))
    return a, x.multipliers(lam, equation, "The equations of the dependent coordinates give the multipliers")


def _rows(x: Exercise, order: Iterable[int]) -> list[Part]:
    return listing(Name(x.rows[i]) for i in order)


def zero_eigenvalue(x: Exercise) -> tuple[Array, Array]:
    x.head("Eigenvectors")
    H = _write_gram(x, "is symmetric, and its eigenvalues are not negative: squares of singular values.")
    values, T = np.linalg.eigh(H)
    x.show(equal(sym.H, sym.T * sym.Lambda * sym.T.T), equal(sym.Lambda, diag(*spectrum(values))))
    basis = equal(sym.V, sym.T_1)
    x.say("The eigenvectors of the eigenvalue zero are a basis of the motions that the constraints admit,", basis, ":")
    V = upright(T[:, : x.free])
    x.basis(basis, V)
    regular = H + V @ V.T
    S_gamma = np.linalg.solve(regular, x.Psi_q.T @ x.gamma)
    sum_of = sym.H + sym.V * sym.V.T
    x.particular(
        S_gamma, LEAST, equal(S_GAMMA, sum_of.inverse * sym.Psi_q.T * sym.gamma), ";", sum_of, "is regular:"
    )  # fmt: skip
    a = x.reduce(V, S_gamma)
    lam = x.Psi_q @ np.linalg.solve(regular, x.Q - x.M @ a)
    return a, x.multipliers(lam, equal(sym.lam, sym.Psi_q * sum_of.inverse * LEFT_OVER))


def _write_gram(x: Exercise, *what: Part) -> Array:
    """H = Psi_q^T Psi_q."""
    x.say(equal(sym.H, sym.Psi_q.T * sym.Psi_q), *what)
    H = x.Psi_q.T @ x.Psi_q
    x.matrix(sym.H, H, x.equations.v_names, x.columns, x.symbols.gram() if x.small else None)
    return np.asarray(H)


def _factors(x: Exercise, order: Sequence[int], what: Formula) -> tuple[Array, Array, Array]:
    """Q_1, V = Q_2 and R of the constraint rows in this order, written down."""
    Q, R = positive_qr(x.Psi_q[list(order)].T)
    Q_1, V, R = Q[:, : x.r], upright(Q[:, x.r :]), R[: x.r]
    labels = [(None, x.rows[i]) for i in order]
    small = x.small and x.r == x.m
    triangle = x.symbols.triangle(order) if small and x.m <= 3 else None
    x.matrix(what, R, (), labels, triangle)
    return Q_1, V, R


def qr(x: Exercise) -> tuple[Array, Array]:
    x.head("QR decomposition")
    order = pivoted_rows(x.Psi_q)[0]
    x.say(
        "The columns of", sym.Psi_q.T, ", which are the constraint rows, are made orthogonal one after the other; the "
        "permutation", sym.P, "takes the longest of what is left first:", *_rows(x, order), ".",
    )  # fmt: skip
    x.show(
        equal(sym.Psi_q.T * sym.P, line(sym.Q_1, sym.Q_2) * column(sym.R, 0)),
        equal(sym.Q_1.T * sym.Q_2, 0),
        equal(sym.Q_2.T * sym.Q_2, sym.Unit),
    )
    Q_1, V, R = _factors(x, order, sym.R)
    _write_orthogonal_basis(x, V)
    S_gamma = Q_1 @ np.linalg.solve(R[:, : x.r].T, x.gamma[order[: x.r]])
    x.particular(
        S_gamma, LEAST, equal(S_GAMMA, sym.Q_1 * sym.R_1.inverse_t * sym.gamma_1), ", with the first", sym.r,
        "columns of", sym.R, "and the first", sym.r, "entries of", sym.P.T * sym.gamma, ":",
    )  # fmt: skip
    a = x.reduce(V, S_gamma)
    lam = np.linalg.lstsq(R, Q_1.T @ (x.Q - x.M @ a), rcond=None)[0][np.argsort(order)]
    return a, x.multipliers(lam, equal(sym.R * sym.P.T * sym.lam, sym.Q_1.T * LEFT_OVER))


def _write_orthogonal_basis(x: Exercise, V: Array) -> None:
    basis = equal(sym.V, sym.Q_2)
    x.say("The columns of", sym.Q_2, "are orthogonal to all constraint rows, so", basis, ":")
    x.basis(basis, V, x.unit_basis())


def svd(x: Exercise) -> tuple[Array, Array]:
    x.head("Singular value decomposition")
    x.show(
        equal(sym.Psi_q.T, line(sym.W_d, sym.W_i) * _corner(sym.Lambda_1) * sym.U.T),
        equal(sym.Lambda_1, diag(*spectrum(x.rank.values[: x.r]))),
    )
    W, values, U_T = np.linalg.svd(x.Psi_q.T)
    W_d, V, U_d, values = W[:, : x.r], upright(W[:, x.r :]), U_T[: x.r].T, values[: x.r]
    if x.n <= MOST_COLUMNS:
        x.matrix(sym.W_d, W_d, x.equations.v_names)
        x.matrix(sym.U_d, U_d, x.rows)
    x.say("The singular vectors of the singular values zero are a basis of the motions that the constraints admit:")
    x.basis(equal(sym.V, sym.W_i), V)
    x.particular(
        S_gamma := W_d @ ((U_d.T @ x.gamma) / values), LEAST,
        equal(S_GAMMA, sym.W_d * sym.Lambda_1.inverse * sym.U_d.T * sym.gamma), ":",
    )  # fmt: skip
    a = x.reduce(V, S_gamma)
    lam = U_d @ ((W_d.T @ (x.Q - x.M @ a)) / values)
    equation = equal(sym.lam, sym.U_d * sym.Lambda_1.inverse * sym.W_d.T * LEFT_OVER)
    return a, x.multipliers(lam, equation)


def _stack(x: Formula) -> Formula:
    """x over zeros, in a line."""
    return notation.Fence(notation.Listed((x, Number("0"))))


def _corner(A: Formula) -> Formula:
    zero = Number("0")
    return notation.Matrix(((A, zero), (zero, zero)))


def putd(x: Exercise) -> tuple[Array, Array]:
    x.head("Pseudo-upper-triangular decomposition")
    steps = stepping_rows(x.Psi_q)[0]
    order = [*steps, *(i for i in range(x.m) if i not in steps)]
    x.say(
        "Householder's reflections", sym.H, "bring the constraint rows, in their own order and without pivoting, to a "
        "staircase", equal(sym.U, sym.H.T * sym.Psi_q.T), ". The rows that make a step:", *_rows(x, steps),
        "." if len(steps) == x.m else "; the others depend on those before them and stand last below.",
    )  # fmt: skip
    H_1, V, U = _factors(x, order, sym.U)
    basis = equal(sym.V, sym.H * sym.D_2.T)
    x.say(
        "The last columns of", sym.H, "are orthogonal to all constraint rows. With",
        equal(sym.D_2, line(0, sym.Unit)), ",", basis, ":",
    )  # fmt: skip
    x.basis(basis, V, x.unit_basis())
    S_gamma = H_1 @ np.linalg.solve(U[:, : x.r].T, x.gamma[order[: x.r]])
    x.particular(
        S_gamma, LEAST, equal(S_GAMMA, sym.H * _stack(sym.U_1.inverse_t * sym.gamma_1)),
        ", index 1 meaning the rows that make a step:",
    )  # fmt: skip
    a = x.reduce(V, S_gamma)
    lam = np.linalg.lstsq(U, H_1.T @ (x.Q - x.M @ a), rcond=None)[0][np.argsort(order)]
    return a, x.multipliers(lam, equal(sym.U * sym.lam, sym.H.T * LEFT_OVER))


def qtz(x: Exercise) -> tuple[Array, Array]:
    x.head("Complete orthogonal factorization")
    order = pivoted_rows(x.Psi_q)[0]
    x.say(
        "QR with column pivoting, which takes the rows in the order", *_rows(x, order),
        ", and a second orthogonal matrix", sym.Z, "from the right leave a regular triangle", sym.T, ":",
    )  # fmt: skip
    x.show(equal(sym.Psi_q.T * sym.P, line(sym.Q_1, sym.Q_2) * _corner(sym.T) * sym.Z))
    if x.r == x.m:
        x.say("The rows are independent, so", equal(sym.Z, sym.Unit), "and", equal(sym.T, sym.R), ":")
        Q_1, V, T = _factors(x, order, sym.T)
        Z: Array = np.eye(x.m)
    else:
        Q, R = positive_qr(x.Psi_q[order].T)
        Q_1, V = Q[:, : x.r], upright(Q[:, x.r :])
        Z_T, T_T = positive_qr(R[: x.r].T)
        T, Z = T_T[: x.r].T, Z_T.T
        x.matrix(sym.T, T)
    _write_orthogonal_basis(x, V)
    S_gamma = Q_1 @ np.linalg.solve(T.T, (Z @ x.gamma[order])[: x.r])
    first = (sym.Z * sym.P.T * sym.gamma).part(Number("1"))
    x.particular(
        S_gamma, "The least solution of", CONSTRAINTS, "is",
        equal(S_GAMMA, sym.Psi_q.plus * sym.gamma, sym.Q_1 * sym.T.inverse_t * first),
        ", in which all constraint rows take part:",
    )  # fmt: skip
    a = x.reduce(V, S_gamma)
    lam = (Z[: x.r].T @ np.linalg.solve(T, Q_1.T @ (x.Q - x.M @ a)))[np.argsort(order)]
    return a, x.multipliers(lam, equal(sym.lam, sym.Psi_q.plus.T * LEFT_OVER))


def schur(x: Exercise) -> tuple[Array, Array]:
    x.head("Schur decomposition")
    values, K = np.linalg.eigh(_write_gram(x, "is symmetric, so its Schur form is diagonal:"))
    x.show(equal(sym.K.T * sym.H * sym.K, sym.U, diag(*spectrum(values))))
    basis = equal(sym.V, sym.K_1)
    x.say(
        "The Schur vectors whose entry of", sym.U, "is zero are a basis of the motions that the constraints admit,",
        basis, ":",
    )  # fmt: skip
    V, K_2, U_2 = upright(K[:, : x.free]), K[:, x.free :], values[x.free :]
    x.basis(basis, V)
    inverse = (K_2 / U_2) @ K_2.T
    x.particular(
        S_gamma := inverse @ x.Psi_q.T @ x.gamma, "With the other ones,",
        equal(sym.H.plus, sym.K_2 * sym.U_2.inverse * sym.K_2.T), ", the least solution of", CONSTRAINTS, "is",
        equal(S_GAMMA, sym.H.plus * sym.Psi_q.T * sym.gamma), ":",
    )  # fmt: skip
    a = x.reduce(V, S_gamma)
    lam = x.Psi_q @ inverse @ (x.Q - x.M @ a)
    return a, x.multipliers(lam, equal(sym.lam, sym.Psi_q * sym.H.plus * LEFT_OVER))


def udwadia_kalaba(x: Exercise) -> tuple[Array, Array]:
    x.head("Accelerations without constraints")
    x.say("If the constraints were not there, the forces alone would give")
    x.show(equal(sym.a_f, sym.M.inverse * sym.Q))
    a_f = np.linalg.solve(x.M, x.Q)
    x.vector(sym.a_f, a_f, x.equations.v_names, x.symbols.unconstrained() if x.small else None)
    x.head("Pseudo-inverse")
    x.say("Gauss' principle: the constraints change", sym.a_f, "as little as possible, measured with the masses. So")
    values, T = np.linalg.eigh(x.M)
    root = (T / np.sqrt(values)) @ T.T
    D = x.Psi_q @ root
    x.show(equal(sym.D, sym.Psi_q * INVERSE_ROOT), equal(sym.M.inverse, INVERSE_ROOT * INVERSE_ROOT))
    x.matrix(sym.D, D, x.rows, x.columns, x.symbols.weighted() if x.small else None)
    D_plus = pseudo_inverse(D, x.r)
    if x.m:
        x.matrix(sym.D.plus, D_plus, x.equations.v_names, [(None, row) for row in x.rows])
    x.head("Accelerations")
    b = x.gamma - x.Psi_q @ a_f
    missed = sym.gamma - sym.Psi_q * sym.a_f
    x.say("What", sym.a_f, "misses of the constraints is")
    x.vector(missed, b, x.rows)
    x.say("and the constrained accelerations are")
    x.show(equal(sym.a, sym.a_f + INVERSE_ROOT * sym.D.plus * missed))
    a = a_f + root @ D_plus @ b
    x.vector(sym.a, a, x.equations.v_names)
    return a, x.multipliers(
        -D_plus.T @ D_plus @ b, equal(sym.lam, -(sym.D.plus.T * sym.D.plus * missed)),
        "The reactions", equal(-(sym.Psi_q.T * sym.lam), sym.M * (sym.a - sym.a_f)), "give the multipliers",
    )  # fmt: skip


def _write_projector(x: Exercise, plus: Array) -> Array:
    x.head("Pseudo-inverse and projector")
    if x.m:
        x.matrix(sym.Psi_q.plus, plus, x.equations.v_names, [(None, row) for row in x.rows])
    E_is = equal(sym.E, sym.Unit - sym.Psi_q.plus * sym.Psi_q)
    x.say(E_is, "projects onto the motions that the constraints admit:")
    E = np.eye(x.n) - plus @ x.Psi_q
    r = x.reduction()
    x.matrix(sym.E, E, x.equations.v_names, x.columns, x.symbols.projector(r) if r else None)
    return E


def udwadia_phohomsiri(x: Exercise) -> tuple[Array, Array]:
    plus = pseudo_inverse(x.Psi_q, x.r)
    E = _write_projector(x, plus)
    x.head("Accelerations")
    s = float(np.max(np.abs(x.Psi_q), initial=0.0) / np.max(np.abs(x.M))) or 1.0
    inertia, forces = sym.E * sym.M, sym.E * sym.Q
    x.say(
        sym.E, "takes the reactions out of the equations of motion,", equal(inertia * sym.a, forces), "; stacked on "
        "the constraints this determines", sym.a, ", also for a singular", sym.M, ". The factor",
        equal(sym.s, number(s)), "gives both parts the same size and changes nothing else:",
    )  # fmt: skip
    x.show(
        equal(sym.B, column(sym.s * inertia, sym.Psi_q)),
        equal(sym.a, sym.B.plus * column(sym.s * forces, sym.gamma)),
    )
    B = np.vstack([s * E @ x.M, x.Psi_q])
    x.matrix(sym.B, B, [*(f"E M {name}" for name in x.equations.v_names), *x.rows], x.columns)
    a = pseudo_inverse(B, x.n) @ np.concatenate([s * E @ x.Q, x.gamma])
    x.vector(sym.a, a, x.equations.v_names)
    return a, x.multipliers(plus.T @ (x.Q - x.M @ a), equal(sym.lam, sym.Psi_q.plus.T * LEFT_OVER))


def de_falco_1(x: Exercise) -> tuple[Array, Array]:
    x.head("Pseudo-inverse")
    x.say(equal(sym.D, COMPLIANCE), "says how the constraint rows give way to reactions:")
    inverse = np.linalg.inv(x.M)
    D = x.Psi_q @ inverse @ x.Psi_q.T
    columns = [(None, row) for row in x.rows]
    x.matrix(sym.D, D, x.rows, columns, x.symbols.compliance() if x.small else None)
    D_plus = pseudo_inverse(D, x.r)
    x.matrix(sym.D.plus, D_plus, x.rows, columns)
    x.say("With it")
    x.show(equal(sym.H, sym.M.inverse * sym.Psi_q.T * sym.D.plus))
    H = inverse @ x.Psi_q.T @ D_plus
    x.matrix(sym.H, H, x.equations.v_names, columns)
    x.head("Accelerations")
    unconstrained = sym.M.inverse * sym.Q
    x.show(equal(sym.a, (sym.Unit - sym.H * sym.Psi_q) * unconstrained + sym.H * sym.gamma))
    a_f = inverse @ x.Q
    a = a_f - H @ (x.Psi_q @ a_f) + H @ x.gamma
    x.vector(sym.a, a, x.equations.v_names)
    lam = D_plus @ (x.Psi_q @ a_f - x.gamma)
    equation = equal(sym.lam, sym.D.plus * (sym.Psi_q * unconstrained - sym.gamma))
    return a, x.multipliers(lam, equation, "The same pseudo-inverse gives the multipliers")


def de_falco_2(x: Exercise) -> tuple[Array, Array]:
    plus = pseudo_inverse(x.Psi_q, x.r)
    E = _write_projector(x, plus)
    x.head("Accelerations")
    inertia = sym.E * sym.M * sym.E
    x.say(inertia, "is the inertia felt by the admitted motions; its pseudo-inverse", sym.G, "has the rank", sym.F, ":")
    x.show(equal(sym.G, inertia.plus))
    G = pseudo_inverse(E @ x.M @ E, x.free)
    x.matrix(sym.G, G, x.equations.v_names, x.columns)
    x.show(equal(sym.a, sym.G * sym.Q + (sym.Psi_q.plus - sym.G * sym.M * sym.Psi_q.plus) * sym.gamma))
    a = G @ x.Q + (plus - G @ x.M @ plus) @ x.gamma
    x.vector(sym.a, a, x.equations.v_names)
    return a, x.multipliers(plus.T @ (x.Q - x.M @ a), equal(sym.lam, sym.Psi_q.plus.T * LEFT_OVER))


def augmented(x: Exercise) -> tuple[Array, Array]:
    x.head("The whole system, made quasi-definite")
    x.say(
        "Both sets of equations are solved together. A small", notation.relate(">", sym.eps, Number("0")), "makes the "
        "matrix quasi-definite, so that", sym.L * sym.D * sym.L.T, "exists in any order of the unknowns, for dependent "
        "constraint rows too:",
    )  # fmt: skip
    matrix = notation.Matrix(((sym.M, sym.Psi_q.T), (sym.Psi_q, -sym.eps)))
    x.show(equal(matrix * column(sym.a, sym.lam), column(sym.Q, sym.gamma - sym.eps * sym.lam_0)))
    inertia = x.M if x.numbers.mass.is_regular else np.eye(x.n)  # by which eps is measured
    compliance = np.einsum("ij,ij->i", x.Psi_q, np.linalg.solve(inertia, x.Psi_q.T).T)
    eps = EPS * np.maximum(compliance, LEAST_ROW * np.max(compliance, initial=0.0))
    n, m = x.n, x.m
    K = np.block([[x.M, x.Psi_q.T], [x.Psi_q, -np.diag(eps)]]) if m else x.M
    heads = [*x.columns, *((None, row) for row in x.rows)]
    if n + m <= MOST_COLUMNS:
        exact = K.copy()
        exact[n:, n:] = 0.0
        x.matrix(sym.K, exact, [*x.equations.v_names, *x.rows], heads)
    if m:
        measured = COMPLIANCE if x.numbers.mass.is_regular else sym.Psi_q * sym.Psi_q.T
        x.say(
            "Here", sym.eps, "is", number(EPS, 2), "times the diagonal of", measured, "and not written into the "
            "matrix. The error it makes is removed by repetition: the solution for the residual of the equations "
            "without", sym.eps, "is added.",
        )  # fmt: skip
    x.head("Accelerations and multipliers")
    right, y, rows = np.concatenate([x.Q, x.gamma]), np.zeros(n + m), []
    for k in range(3):
        residual = right - np.concatenate([x.M @ y[:n] + x.Psi_q.T @ y[n:], x.Psi_q @ y[:n]])
        step = np.linalg.solve(K, residual)
        y = y + step
        sizes = (np.max(np.abs(residual), initial=0.0), np.max(np.abs(step), initial=0.0))
        rows.append((number(k + 1), *(number(float(size), 2) for size in sizes)))
    x.table(("solution", "largest residual before", "largest change"), rows)
    x.vector(sym.a, y[:n], x.equations.v_names)
    if m:
        x.vector(sym.lam, y[n:], x.rows, x.lam_in_symbols())
    return y[:n], y[n:]


def _of_squares(n: int, m: int) -> float:
    """Where squares of the values are formed, these are known to rounding only."""
    return max(RANK_TOLERANCE, float(np.sqrt(n * np.finfo(float).eps)))


def _root_values(x: Exercise) -> Array:
    return np.asarray(np.sqrt(np.maximum(np.linalg.eigvalsh(x.Psi_q.T @ x.Psi_q), 0.0)))


def _weighted_lengths(x: Exercise) -> Array:
    return pivoted_rows(np.linalg.solve(np.linalg.cholesky(x.M), x.Psi_q.T).T)[1]


_PIVOTED = "decomposed with column pivoting"
_WEIGHTED = (sym.Psi_q * INVERSE_ROOT).T
SINGULAR_VALUES = Spectrum(
    lambda x: np.linalg.svd(x.Psi_q, compute_uv=False), ("The singular values of", sym.Psi_q)
)  # fmt: skip
EIGENVALUES = Spectrum(_root_values, ("The roots of the eigenvalues of", sym.Psi_q.T * sym.Psi_q), _of_squares)
TRIANGLE = Spectrum(
    lambda x: pivoted_rows(x.Psi_q)[1], ("The diagonal of the triangle of", sym.Psi_q.T, f", {_PIVOTED}")
)  # fmt: skip
WEIGHTED_TRIANGLE = Spectrum(_weighted_lengths, ("The diagonal of the triangle of", _WEIGHTED, f", {_PIVOTED}"))
COMPLIANCES = Spectrum(
    _weighted_lengths, ("The roots of the pivots of", COMPLIANCE), lambda n, m: _of_squares(m, m)
)  # fmt: skip
PIVOTS = Spectrum(lambda x: complete_pivots(x.Psi_q)[2], "The pivots of the elimination")
STEPS = Spectrum(lambda x: stepping_rows(x.Psi_q)[1], "What each constraint row adds to those before it")

_REVIEW = "de Falco, Guida and Pennestri 2008"
_TUTORIAL = "Pennestri and Vita 2004"

METHODS: dict[str, Method] = {
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
        ("pseudo-inverse of", COMPLIANCE, f"(de Falco, Pennestri and Vita 2005; {_REVIEW}, eqs. (37)-(41))"),
    ),
    "de-falco-2": Method(
        de_falco_2, TRIANGLE,
        "pseudo-inverse of the inertia of the admitted motions "
        f"(de Falco, Pennestri and Vita 2005; {_REVIEW}, eqs. (42)-(45))",
    ),
}  # fmt: skip
