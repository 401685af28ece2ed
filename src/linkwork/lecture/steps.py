"""The formulations step by step.

The steps are those of the kernels in `formulations`, done with plain dense matrices so that every intermediate result
can be shown. Where the choice of a pivot is a tie the first is taken, whatever rounding says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from linkwork.dense.rank import RANK_TOLERANCE
from linkwork.lecture.exercise import MOST_COLUMNS, Array, Exercise, Method, number
from linkwork.system import EPS

TIE = 1e-9  # pivots that differ by less are equal, and the first is taken


def _pseudo_inverse(A: Array, rank: int) -> Array:
    W, values, U_T = np.linalg.svd(A, full_matrices=False)
    return np.asarray(U_T[:rank].T @ (W[:, :rank] / values[:rank]).T)


def _upright(V: Array) -> Array:
    """The columns with the sign that makes their largest entry positive: signs of a basis are free."""
    if not V.size:
        return V
    largest = V[np.argmax(np.abs(V) > (1 - TIE) * np.max(np.abs(V), axis=0), axis=0), np.arange(V.shape[1])]
    return np.asarray(V * np.where(largest < 0, -1.0, 1.0))


def _first_largest(values: Array) -> int:
    return int(np.argmax(values >= (1.0 - TIE) * np.max(values)))


def coordinate_partitioning(x: Exercise) -> tuple[Array, Array]:
    x.head("Partition of the coordinates")
    u, used = (sorted(places) for places in _complete_pivots(x.Psi_q)[:2])
    v = [j for j in range(x.n) if j not in u]
    names = x.equations.v_names
    x.say(
        "Gauss' elimination with complete pivoting takes the largest entry left as pivot: its column becomes a "
        f"dependent coordinate $u$. So $u$ = ({_listed(names[j] for j in u)}) and the independent coordinates are "
        f"$p$ = ({_listed(names[j] for j in v)})."
    )
    Psi_u, Psi_p = x.Psi_q[np.ix_(used, u)], x.Psi_q[np.ix_(used, v)]
    labels = [x.rows[i] for i in used]
    r = x.reduction(u)
    if x.m:
        whole = x.symbols.Psi_q if x.small else None
        for name, A, places in (("\\Psi_{u}", Psi_u, u), ("\\Psi_{p}", Psi_p, v)):
            if places:
                part = [[whole[i][j] for j in places] for i in used] if whole else None
                x.matrix(name, A, labels, [x.columns[j] for j in places], part)
    x.say(
        "$\\Psi_{u}$ is regular, and the rates of the dependent coordinates follow from those of the independent ones:"
    )
    x.formula("V = \\begin{bmatrix} -\\Psi_{u}^{-1} \\Psi_{p} \\\\ I \\end{bmatrix}")
    V, S_gamma = np.zeros((x.n, len(v))), np.zeros(x.n)
    V[u] = -np.linalg.solve(Psi_u, Psi_p) if u else 0.0
    V[v, range(len(v))] = 1.0
    S_gamma[u] = np.linalg.solve(Psi_u, x.gamma[used])
    x.basis("V", V, r.V if r else None)
    x.particular(
        "With $\\ddot{p} = 0$ the constraints are satisfied by $S \\gamma = (\\Psi_{u}^{-1} \\gamma, 0)$:",
        S_gamma,
        r.S_gamma if r else None,
    )
    if x.free:
        x.say(
            "In the blocks of $M$ this is $\\hat{M} = M^{pp} - M^{pu} \\Psi_{u}^{-1} \\Psi_{p} - \\Psi_{p}^{T} "
            "\\Psi_{u}^{-T} \\left(M^{up} - M^{uu} \\Psi_{u}^{-1} \\Psi_{p}\\right) = V^{T} M V$."
        )
    a = x.reduced(V, S_gamma, r, own=True)
    lam = np.linalg.lstsq(x.Psi_q[:, u].T, (x.Q - x.M @ a)[u], rcond=None)[0] if x.m else np.zeros(0)
    how = "The equations of the dependent coordinates give the multipliers" + _least(x)
    return a, x.multipliers(how, "\\Psi_{u}^{T} \\lambda = \\left(Q - M a\\right)_{u}", lam)


def _complete_pivots(A: Array) -> tuple[list[int], list[int], Array]:
    """Columns and rows of the pivots of elimination with complete pivoting, and the pivots."""
    rest = A.copy()
    rows: list[int] = []
    columns: list[int] = []
    pivots = np.zeros(min(A.shape))
    for k in range(len(pivots)):
        i, j = divmod(_first_largest(np.abs(rest).ravel()), A.shape[1])
        pivots[k] = abs(rest[i, j])
        if pivots[k] <= RANK_TOLERANCE * pivots[0]:
            break
        rows.append(i)
        columns.append(j)
        rest -= np.outer(rest[:, j] / rest[i, j], rest[i])
        rest[i], rest[:, j] = 0.0, 0.0
    return columns, rows, pivots


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _least(x: Exercise) -> str:
    return ", of which those of least norm are taken:" if x.m > x.r else ":"


def zero_eigenvalue(x: Exercise) -> tuple[Array, Array]:
    x.head("Eigenvectors")
    x.say(
        "$H = \\Psi_{q}^{T} \\Psi_{q}$ is symmetric, and its eigenvalues are not negative: squares of singular values."
    )
    H = x.Psi_q.T @ x.Psi_q
    small = x.symbols.gram() if x.small else None
    x.matrix("H", H, x.equations.v_names, x.columns, small)
    values, T = np.linalg.eigh(H)
    x.formula("H = T \\Lambda T^{T}, \\quad \\Lambda = \\operatorname{diag}\\left(" + _list(values) + "\\right)")
    x.say("The eigenvectors of the eigenvalue zero are a basis of the motions that the constraints admit, $V = T_{1}$:")
    V = _upright(T[:, : x.free])
    x.basis("V = T_{1}", V)
    regular = H + V @ V.T
    S_gamma = np.linalg.solve(regular, x.Psi_q.T @ x.gamma)
    x.particular(
        "Of all solutions of $\\Psi_{q} a = \\gamma$ the one with $V^{T} S \\gamma = 0$ is "
        "$S \\gamma = \\left(H + V V^{T}\\right)^{-1} \\Psi_{q}^{T} \\gamma$; $H + V V^{T}$ is regular:",
        S_gamma,
    )
    a = x.reduced(V, S_gamma, x.reduction(), own=False)
    lam = x.Psi_q @ np.linalg.solve(regular, x.Q - x.M @ a)
    return a, x.multipliers(
        "What the masses leave of the forces has to be balanced by the reactions:",
        "\\lambda = \\Psi_{q} \\left(H + V V^{T}\\right)^{-1} \\left(Q - M a\\right)",
        lam,
    )


def _list(values: Iterable[float]) -> str:
    shown = [number(float(x), 4) for x in values]
    return ", ".join([*shown[:MOST_COLUMNS], *(["\\ldots"] if len(shown) > MOST_COLUMNS else [])])


def _pivoted_rows(A: Array) -> tuple[list[int], Array]:
    """The order in which QR with column pivoting takes the constraint rows, always the longest of what is left, and
    these lengths."""
    rest = A.copy()
    order: list[int] = []
    basis = np.zeros((0, A.shape[1]))
    lengths = np.zeros(min(A.shape))
    for k in range(len(lengths)):
        left = np.linalg.norm(rest, axis=1)
        left[order] = 0.0
        i = _first_largest(left)
        lengths[k] = left[i]
        if lengths[k] <= RANK_TOLERANCE * lengths[0]:
            break
        order.append(i)
        basis = np.vstack([basis, rest[i] / left[i]])
        rest = rest - (rest @ basis.T) @ basis
    return [*order, *(i for i in range(len(A)) if i not in order)], lengths


def _positive_qr(A: Array) -> tuple[Array, Array]:
    """Q R = A with Q square and a positive diagonal of R."""
    Q, R = np.linalg.qr(A, mode="complete")
    k = min(A.shape)
    signs = np.ones(len(A))
    signs[:k] = np.where(np.diag(R)[:k] < 0.0, -1.0, 1.0)
    return Q * signs, signs[:, None] * R


def _factors(x: Exercise, order: Sequence[int], what: str) -> tuple[Array, Array, Array]:
    """Q_1, V = Q_2 and R of the constraint rows in this order, written down."""
    Q, R = _positive_qr(x.Psi_q[list(order)].T)
    Q_1, V, R = Q[:, : x.r], _upright(Q[:, x.r :]), R[: x.r]
    labels = [("", x.rows[i]) for i in order]
    small = x.small and x.r == x.m
    triangle = x.symbols.triangle(order) if small and x.m <= 3 else None
    x.matrix(what, R, (), labels, triangle)
    return Q_1, V, R


def qr(x: Exercise) -> tuple[Array, Array]:
    x.head("QR decomposition")
    order = _pivoted_rows(x.Psi_q)[0]
    x.say(
        "The columns of $\\Psi_{q}^{T}$, which are the constraint rows, are made orthogonal one after the other; the "
        f"permutation $P$ takes the longest of what is left first: {_listed(x.rows[i] for i in order)}."
    )
    x.formula(
        "\\Psi_{q}^{T} P = \\begin{bmatrix} Q_{1} & Q_{2} \\end{bmatrix} \\begin{bmatrix} R \\\\ 0 \\end{bmatrix}, "
        "\\quad Q_{1}^{T} Q_{2} = 0, \\quad Q_{2}^{T} Q_{2} = I"
    )
    Q_1, V, R = _factors(x, order, "R")
    r = x.reduction()
    x.say("The columns of $Q_{2}$ are orthogonal to all constraint rows, so $V = Q_{2}$:")
    x.basis("V = Q_{2}", V, x.symbols.unit_basis(r) if r else None)
    S_gamma = Q_1 @ np.linalg.solve(R[:, : x.r].T, x.gamma[order[: x.r]])
    x.particular(
        "Of all solutions of $\\Psi_{q} a = \\gamma$ the one with $V^{T} S \\gamma = 0$ is "
        "$S \\gamma = Q_{1} R_{1}^{-T} \\gamma_{1}$, with the first $r$ columns of $R$ and the first $r$ entries of "
        "$P^{T} \\gamma$:",
        S_gamma,
        x.symbols.orthogonal(r) if r else None,
    )
    a = x.reduced(V, S_gamma, r, own=False)
    lam = np.zeros(x.m)
    lam[order] = np.linalg.lstsq(R, Q_1.T @ (x.Q - x.M @ a), rcond=None)[0]
    how = "What the masses leave of the forces has to be balanced by the reactions" + _least(x)
    return a, x.multipliers(how, "R P^{T} \\lambda = Q_{1}^{T} \\left(Q - M a\\right)", lam)


def svd(x: Exercise) -> tuple[Array, Array]:
    x.head("Singular value decomposition")
    x.formula(
        "\\Psi_{q}^{T} = \\begin{bmatrix} W_{d} & W_{i} \\end{bmatrix} \\begin{bmatrix} \\Lambda_{1} & 0 \\\\ 0 & 0 "
        "\\end{bmatrix} U^{T}, \\quad \\Lambda_{1} = \\operatorname{diag}\\left("
        + _list(x.rank.spectrum[: x.r])
        + "\\right)"
    )
    W, values, U_T = np.linalg.svd(x.Psi_q.T)
    W_d, V, U_d, values = W[:, : x.r], _upright(W[:, x.r :]), U_T[: x.r].T, values[: x.r]
    if x.n <= MOST_COLUMNS:
        x.matrix("W_{d}", W_d, x.equations.v_names)
        x.matrix("U_{d}", U_d, x.rows)
    x.say("The singular vectors of the singular values zero are a basis of the motions that the constraints admit:")
    x.basis("V = W_{i}", V)
    r = x.reduction()
    x.particular(
        "Of all solutions of $\\Psi_{q} a = \\gamma$ the one with $V^{T} S \\gamma = 0$ is "
        "$S \\gamma = W_{d} \\Lambda_{1}^{-1} U_{d}^{T} \\gamma$:",
        S_gamma := W_d @ ((U_d.T @ x.gamma) / values),
        x.symbols.orthogonal(r) if r else None,
    )
    a = x.reduced(V, S_gamma, r, own=False)
    lam = U_d @ ((W_d.T @ (x.Q - x.M @ a)) / values)
    how = "What the masses leave of the forces has to be balanced by the reactions" + _least(x)
    return a, x.multipliers(how, "\\lambda = U_{d} \\Lambda_{1}^{-1} W_{d}^{T} \\left(Q - M a\\right)", lam)


def putd(x: Exercise) -> tuple[Array, Array]:
    x.head("Pseudo-upper-triangular decomposition")
    steps = _steps(x.Psi_q)[0]
    order = [*steps, *(i for i in range(x.m) if i not in steps)]
    x.say(
        "Householder's reflections $H$ bring the constraint rows, in their own order and without pivoting, to a "
        "staircase $U = H^{T} \\Psi_{q}^{T}$. The rows that make a step: "
        + _listed(x.rows[i] for i in steps)
        + ("." if len(steps) == x.m else "; the others depend on those before them and stand last below.")
    )
    H_1, V, U = _factors(x, order, "U")
    r = x.reduction()
    x.say("The last columns of $H$ are orthogonal to all constraint rows. With $D_{2} = (0 \\; I)$, $V = H D_{2}^{T}$:")
    x.basis("V = H D_{2}^{T}", V, x.symbols.unit_basis(r) if r else None)
    S_gamma = H_1 @ np.linalg.solve(U[:, : x.r].T, x.gamma[order[: x.r]])
    x.particular(
        "Of all solutions of $\\Psi_{q} a = \\gamma$ the one with $V^{T} S \\gamma = 0$ is $S \\gamma = H "
        "(U_{1}^{-T} \\gamma_{1}, 0)$, index 1 meaning the rows that make a step:",
        S_gamma,
        x.symbols.orthogonal(r) if r else None,
    )
    a = x.reduced(V, S_gamma, r, own=False)
    lam = np.zeros(x.m)
    lam[order] = np.linalg.lstsq(U, H_1.T @ (x.Q - x.M @ a), rcond=None)[0]
    how = "What the masses leave of the forces has to be balanced by the reactions" + _least(x)
    return a, x.multipliers(how, "U \\lambda = H^{T} \\left(Q - M a\\right)", lam)


def _steps(A: Array) -> tuple[list[int], Array]:
    """The rows that do not depend on those before them, and the lengths of what each row adds."""
    largest = np.max(np.linalg.norm(A, axis=1), initial=0.0)
    basis = np.zeros((0, A.shape[1]))
    steps, lengths = [], np.zeros(len(A))
    for i, row in enumerate(A):
        rest = row - basis.T @ (basis @ row)
        rest = rest - basis.T @ (basis @ rest)
        lengths[i] = np.linalg.norm(rest)
        if lengths[i] > RANK_TOLERANCE * largest:
            steps.append(i)
            basis = np.vstack([basis, rest / lengths[i]])
    return steps, lengths


def qtz(x: Exercise) -> tuple[Array, Array]:
    x.head("Complete orthogonal factorization")
    order = _pivoted_rows(x.Psi_q)[0]
    x.say(
        "QR with column pivoting, "
        f"which takes the rows in the order {_listed(x.rows[i] for i in order)}, "
        "and a second orthogonal matrix $Z$ from the right leave a regular triangle $T$:"
    )
    x.formula(
        "\\Psi_{q}^{T} P = \\begin{bmatrix} Q_{1} & Q_{2} \\end{bmatrix} "
        "\\begin{bmatrix} T & 0 \\\\ 0 & 0 \\end{bmatrix} Z"
    )
    if x.r == x.m:
        x.say("The rows are independent, so $Z = I$ and $T = R$:")
        Q_1, V, T = _factors(x, order, "T")
        Z: Array = np.eye(x.m)
    else:
        Q, R = _positive_qr(x.Psi_q[order].T)
        Q_1, V = Q[:, : x.r], _upright(Q[:, x.r :])
        Z_T, T_T = _positive_qr(R[: x.r].T)
        T, Z = T_T[: x.r].T, Z_T.T
        x.matrix("T", T)
    r = x.reduction()
    x.say("The columns of $Q_{2}$ are orthogonal to all constraint rows, so $V = Q_{2}$:")
    x.basis("V = Q_{2}", V, x.symbols.unit_basis(r) if r else None)
    S_gamma = Q_1 @ np.linalg.solve(T.T, (Z @ x.gamma[order])[: x.r])
    x.particular(
        "The least solution of $\\Psi_{q} a = \\gamma$ is $S \\gamma = \\Psi_{q}^{+} \\gamma = Q_{1} T^{-T} "
        "\\left(Z P^{T} \\gamma\\right)_{1}$, in which all constraint rows take part:",
        S_gamma,
        x.symbols.orthogonal(r) if r else None,
    )
    a = x.reduced(V, S_gamma, r, own=False)
    lam = np.zeros(x.m)
    lam[order] = Z[: x.r].T @ np.linalg.solve(T, Q_1.T @ (x.Q - x.M @ a))
    how = "What the masses leave of the forces has to be balanced by the reactions" + _least(x)
    return a, x.multipliers(
        how, "\\lambda = \\left(\\Psi_{q}^{+}\\right)^{T} \\left(Q - M a\\right)", lam
    )  # fmt: skip


def schur(x: Exercise) -> tuple[Array, Array]:
    x.head("Schur decomposition")
    x.say("$H = \\Psi_{q}^{T} \\Psi_{q}$ is symmetric, so its Schur form is diagonal:")
    H = x.Psi_q.T @ x.Psi_q
    small = x.symbols.gram() if x.small else None
    x.matrix("H", H, x.equations.v_names, x.columns, small)
    values, K = np.linalg.eigh(H)
    x.formula("K^{T} H K = U = \\operatorname{diag}\\left(" + _list(values) + "\\right)")
    x.say(
        "The Schur vectors whose entry of $U$ is zero are a basis of the motions that the constraints admit, "
        "$V = K_{1}$:"
    )
    V, K_2, U_2 = _upright(K[:, : x.free]), K[:, x.free :], values[x.free :]
    x.basis("V = K_{1}", V)
    r = x.reduction()
    inverse = (K_2 / U_2) @ K_2.T
    x.particular(
        "With the other ones, $H^{+} = K_{2} U_{2}^{-1} K_{2}^{T}$, the least solution of $\\Psi_{q} a = \\gamma$ is "
        "$S \\gamma = H^{+} \\Psi_{q}^{T} \\gamma$:",
        S_gamma := inverse @ x.Psi_q.T @ x.gamma,
        x.symbols.orthogonal(r) if r else None,
    )
    a = x.reduced(V, S_gamma, r, own=False)
    lam = x.Psi_q @ inverse @ (x.Q - x.M @ a)
    how = "What the masses leave of the forces has to be balanced by the reactions" + _least(x)
    return a, x.multipliers(how, "\\lambda = \\Psi_{q} H^{+} \\left(Q - M a\\right)", lam)


def udwadia_kalaba(x: Exercise) -> tuple[Array, Array]:
    x.head("Accelerations without constraints")
    x.say("If the constraints were not there, the forces alone would give")
    x.formula("a_{f} = M^{-1} Q")
    a_f = np.linalg.solve(x.M, x.Q)
    small = x.small
    names = [f"`{name}`" for name in x.equations.v_names]
    x.vector("a_{f}", a_f, names, x.symbols.unconstrained() if small else None)
    x.head("Pseudo-inverse")
    x.say("Gauss' principle: the constraints change $a_{f}$ as little as possible, measured with the masses. So")
    values, T = np.linalg.eigh(x.M)
    root = (T / np.sqrt(values)) @ T.T
    D = x.Psi_q @ root
    x.formula("D = \\Psi_{q} M^{-1/2}, \\quad M^{-1} = M^{-1/2} M^{-1/2}")
    x.matrix("D", D, x.rows, x.columns, x.symbols.weighted() if small else None)
    D_plus = _pseudo_inverse(D, x.r)
    if x.m:
        x.matrix("D^{+}", D_plus, x.equations.v_names, [("", row) for row in x.rows])
    x.head("Accelerations")
    b = x.gamma - x.Psi_q @ a_f
    x.say("What $a_{f}$ misses of the constraints is")
    x.vector("\\gamma - \\Psi_{q} a_{f}", b, [f"`{row}`" for row in x.rows])
    x.say("and the constrained accelerations are")
    x.formula("a = a_{f} + M^{-1/2} D^{+} \\left(\\gamma - \\Psi_{q} a_{f}\\right)")
    a = a_f + root @ D_plus @ b
    x.vector("a", a, names)
    lam = x.multipliers(
        "The reactions are $-\\Psi_{q}^{T} \\lambda = M \\left(a - a_{f}\\right)$:",
        "\\lambda = -\\left(D^{+}\\right)^{T} D^{+} \\left(\\gamma - \\Psi_{q} a_{f}\\right)",
        -D_plus.T @ D_plus @ b,
    )
    x.closing()
    return a, lam


def _projector(x: Exercise, plus: Array) -> Array:
    x.head("Pseudo-inverse and projector")
    if x.m:
        x.matrix("\\Psi_{q}^{+}", plus, x.equations.v_names, [("", row) for row in x.rows])
    x.say("$E = I - \\Psi_{q}^{+} \\Psi_{q}$ projects onto the motions that the constraints admit:")
    E = np.eye(x.n) - plus @ x.Psi_q
    r = x.reduction()
    x.matrix("E", E, x.equations.v_names, x.columns, x.symbols.projector(r) if r else None)
    return E


def udwadia_phohomsiri(x: Exercise) -> tuple[Array, Array]:
    plus = _pseudo_inverse(x.Psi_q, x.r)
    E = _projector(x, plus)
    x.head("Accelerations")
    s = float(np.max(np.abs(x.Psi_q), initial=0.0) / np.max(np.abs(x.M))) or 1.0
    x.say(
        "$E$ takes the reactions out of the equations of motion, $E M a = E Q$; stacked on the constraints this "
        f"determines $a$, also for a singular $M$. The factor $s = {number(s)}$ gives both parts the same size and "
        "changes nothing else:"
    )
    x.formula(
        "B = \\begin{bmatrix} s E M \\\\ \\Psi_{q} \\end{bmatrix}, \\quad "
        "a = B^{+} \\begin{bmatrix} s E Q \\\\ \\gamma \\end{bmatrix}"
    )
    B = np.vstack([s * E @ x.M, x.Psi_q])
    x.matrix("B", B, [*(f"E M {name}" for name in x.equations.v_names), *x.rows], x.columns)
    a = _pseudo_inverse(B, x.n) @ np.concatenate([s * E @ x.Q, x.gamma])
    x.vector("a", a, [f"`{name}`" for name in x.equations.v_names])
    return _with_pseudo_inverse(x, a, plus)


def _with_pseudo_inverse(x: Exercise, a: Array, plus: Array) -> tuple[Array, Array]:
    lam = x.multipliers(
        "What the masses leave of the forces has to be balanced by the reactions" + _least(x),
        "\\lambda = \\left(\\Psi_{q}^{+}\\right)^{T} \\left(Q - M a\\right)",
        plus.T @ (x.Q - x.M @ a),
    )
    x.closing()
    return a, lam


def de_falco_1(x: Exercise) -> tuple[Array, Array]:
    x.head("Pseudo-inverse")
    x.say("$D = \\Psi_{q} M^{-1} \\Psi_{q}^{T}$ says how the constraint rows give way to reactions:")
    inverse = np.linalg.inv(x.M)
    D = x.Psi_q @ inverse @ x.Psi_q.T
    small = x.small
    columns = [("", row) for row in x.rows]
    x.matrix("D", D, x.rows, columns, x.symbols.compliance() if small else None)
    D_plus = _pseudo_inverse(D, x.r)
    x.matrix("D^{+}", D_plus, x.rows, columns)
    x.say("With it")
    x.formula("H = M^{-1} \\Psi_{q}^{T} D^{+}")
    H = inverse @ x.Psi_q.T @ D_plus
    x.matrix("H", H, x.equations.v_names, columns)
    x.head("Accelerations")
    x.formula("a = \\left(I - H \\Psi_{q}\\right) M^{-1} Q + H \\gamma")
    a_f = inverse @ x.Q
    a = a_f - H @ (x.Psi_q @ a_f) + H @ x.gamma
    x.vector("a", a, [f"`{name}`" for name in x.equations.v_names])
    lam = x.multipliers(
        "The same pseudo-inverse gives the multipliers" + _least(x),
        "\\lambda = D^{+} \\left(\\Psi_{q} M^{-1} Q - \\gamma\\right)",
        D_plus @ (x.Psi_q @ a_f - x.gamma),
    )
    x.closing()
    return a, lam


def de_falco_2(x: Exercise) -> tuple[Array, Array]:
    plus = _pseudo_inverse(x.Psi_q, x.r)
    E = _projector(x, plus)
    x.head("Accelerations")
    x.say("$E M E$ is the inertia felt by the admitted motions; its pseudo-inverse $G$ has the rank $F$:")
    x.formula("G = \\left(E M E\\right)^{+}")
    G = _pseudo_inverse(E @ x.M @ E, x.free)
    x.matrix("G", G, x.equations.v_names, x.columns)
    x.formula("a = G Q + \\left(\\Psi_{q}^{+} - G M \\Psi_{q}^{+}\\right) \\gamma")
    a = G @ x.Q + (plus - G @ x.M @ plus) @ x.gamma
    x.vector("a", a, [f"`{name}`" for name in x.equations.v_names])
    return _with_pseudo_inverse(x, a, plus)


def augmented(x: Exercise) -> tuple[Array, Array]:
    x.head("The whole system, made quasi-definite")
    x.say(
        "Both sets of equations are solved together. A small $\\varepsilon > 0$ makes the matrix quasi-definite, so "
        "that $L D L^{T}$ exists in any order of the unknowns, for dependent constraint rows too:"
    )
    x.formula(
        "\\begin{bmatrix} M & \\Psi_{q}^{T} \\\\ \\Psi_{q} & -\\varepsilon \\end{bmatrix} "
        "\\begin{bmatrix} a \\\\ \\lambda \\end{bmatrix} = "
        "\\begin{bmatrix} Q \\\\ \\gamma - \\varepsilon \\lambda_{0} \\end{bmatrix}"
    )
    compliance = np.einsum("ij,ij->i", x.Psi_q, np.linalg.solve(x.M, x.Psi_q.T).T) if x.m else np.zeros(0)
    eps = EPS * np.maximum(compliance, 1e-3 * np.max(compliance, initial=0.0))
    n, m = x.n, x.m
    K = np.block([[x.M, x.Psi_q.T], [x.Psi_q, -np.diag(eps)]]) if m else x.M
    names = [*x.equations.v_names, *x.rows]
    heads = [*x.columns, *(("", row) for row in x.rows)]
    if n + m <= MOST_COLUMNS:
        exact = K.copy()
        exact[n:, n:] = 0.0
        x.matrix("K", exact, names, heads)
    if m:
        x.say(
            f"Here $\\varepsilon$ is ${number(EPS, 2)}$ times the diagonal of "
            "$\\Psi_{q} M^{-1} \\Psi_{q}^{T}$ and not written into the matrix. The error it makes is removed by "
            "repetition: the solution for the residual of the equations without $\\varepsilon$ is added."
        )
    x.head("Accelerations and multipliers")
    right, y, rows = np.concatenate([x.Q, x.gamma]), np.zeros(n + m), []
    for k in range(3):
        residual = right - np.concatenate([x.M @ y[:n] + x.Psi_q.T @ y[n:], x.Psi_q @ y[:n]])
        step = np.linalg.solve(K, residual)
        y = y + step
        sizes = (np.max(np.abs(residual), initial=0.0), np.max(np.abs(step), initial=0.0))
        rows.append((str(k + 1), *(f"${number(float(size), 2)}$" for size in sizes)))
    x.table(("solution", "largest residual before", "largest change"), rows)
    x.vector("a", y[:n], [f"`{name}`" for name in x.equations.v_names])
    if m:
        x.vector("\\lambda", y[n:], [f"`{row}`" for row in x.rows], x.lam_in_symbols())
    x.closing()
    return y[:n], y[n:]


def _plain(n: int, m: int) -> float:
    return RANK_TOLERANCE


def _of_squares(n: int, m: int) -> float:
    """Where squares of the values are formed, these are known to rounding only."""
    return max(RANK_TOLERANCE, float(np.sqrt(n * np.finfo(float).eps)))


def _lengths(x: Exercise) -> Array:
    return _pivoted_rows(x.Psi_q)[1]


def _singular(x: Exercise) -> Array:
    return np.linalg.svd(x.Psi_q, compute_uv=False)


def _roots(x: Exercise) -> Array:
    return np.asarray(np.sqrt(np.maximum(np.linalg.eigvalsh(x.Psi_q.T @ x.Psi_q), 0.0)))


def _weighted_lengths(x: Exercise) -> Array:
    return _pivoted_rows(np.linalg.solve(np.linalg.cholesky(x.M), x.Psi_q.T).T)[1]


_REVIEW = "de Falco, Guida and Pennestri 2008"
_TUTORIAL = "Pennestri and Vita 2004"
_TRIANGLE = "The diagonal of the triangle of $\\Psi_{q}^{T}$, decomposed with column pivoting"
_EIGENVALUES = "The roots of the eigenvalues of $\\Psi_{q}^{T} \\Psi_{q}$"
_VALUES = "The singular values of $\\Psi_{q}$"

METHODS: dict[str, Method] = {
    "augmented": Method(
        "accelerations and multipliers from one quasi-definite system", _VALUES, _singular, _plain, augmented
    ),
    "coordinate-partitioning": Method(
        f"independent coordinates, chosen by complete pivoting (Wehage and Haug 1982; {_TUTORIAL}, eqs. (44)-(50))",
        "The pivots of the elimination",
        lambda x: _complete_pivots(x.Psi_q)[2],
        _plain,
        coordinate_partitioning,
    ),
    "zero-eigenvalue": Method(
        f"eigenvectors of eigenvalues zero (Walton and Steeves 1969; {_REVIEW}, eqs. (14)-(17))",
        _EIGENVALUES,
        _roots,
        _of_squares,
        zero_eigenvalue,
    ),
    "qr": Method(
        f"QR decomposition of the transposed Jacobian (Kim and Vanderploeg 1986; {_TUTORIAL}, eqs. (32)-(37))",
        _TRIANGLE,
        _lengths,
        _plain,
        qr,
    ),
    "svd": Method(
        "singular value decomposition of the transposed Jacobian "
        f"(Mani, Haug and Atkinson 1985; {_TUTORIAL}, eqs. (38)-(43))",
        _VALUES,
        _singular,
        _plain,
        svd,
    ),
    "putd": Method(
        "pseudo-upper-triangular decomposition of the transposed Jacobian "
        f"(Amirouche, Jia and Ider 1988; {_REVIEW}, eqs. (25)-(26))",
        "What each constraint row adds to those before it",
        lambda x: _steps(x.Psi_q)[1],
        _plain,
        putd,
    ),
    "qtz": Method(
        f"complete orthogonal factorization of the transposed Jacobian (Vita and Pennestri 2004; {_REVIEW})",
        _TRIANGLE,
        _lengths,
        _plain,
        qtz,
    ),
    "schur": Method(
        f"Schur vectors of eigenvalues zero (Pennestri and Valentini 2007; {_REVIEW}, eqs. (27)-(29))",
        _EIGENVALUES,
        _roots,
        _of_squares,
        schur,
    ),
    "udwadia-kalaba": Method(
        f"Gauss' principle of least constraint (Udwadia and Kalaba 1996; {_REVIEW}, eqs. (30)-(33))",
        "The diagonal of the triangle of $\\left(\\Psi_{q} M^{-1/2}\\right)^{T}$, decomposed with column pivoting",
        _weighted_lengths,
        _plain,
        udwadia_kalaba,
    ),
    "udwadia-phohomsiri": Method(
        "pseudo-inverse of the projected equations stacked on the constraints "
        f"(Udwadia and Phohomsiri 2006; {_REVIEW}, eqs. (34)-(35))",
        _TRIANGLE,
        _lengths,
        _plain,
        udwadia_phohomsiri,
    ),
    "de-falco-1": Method(
        f"pseudo-inverse of $\\Psi_{{q}} M^{{-1}} \\Psi_{{q}}^{{T}}$ (de Falco, Pennestri and Vita 2005; {_REVIEW}, "
        "eqs. (37)-(41))",
        "The roots of the pivots of $\\Psi_{q} M^{-1} \\Psi_{q}^{T}$",
        _weighted_lengths,
        lambda n, m: _of_squares(m, m),
        de_falco_1,
    ),
    "de-falco-2": Method(
        "pseudo-inverse of the inertia of the admitted motions "
        f"(de Falco, Pennestri and Vita 2005; {_REVIEW}, eqs. (42)-(45))",
        _TRIANGLE,
        _lengths,
        _plain,
        de_falco_2,
    ),
}
