"""Factorizations of small matrices against NumPy; the functions of kernels run as plain Python on padded arrays."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.errors import NumericalStop
from linkwork.linalg.cholesky import SINGULAR, factor_cholesky, factor_pivoted_cholesky
from linkwork.linalg.eigen import diagonalize, orthogonalize_rows, take_spectral
from linkwork.linalg.lu_full_pivot import factor_lu
from linkwork.linalg.newton import INF, iterate, newton
from linkwork.linalg.products import form_gram, multiply_matrices
from linkwork.linalg.qr import (
    copy_null_rows,
    factor_qr,
    factor_staircase,
    factor_tall,
    multiply_q,
    multiply_q_transposed,
    take_reflections,
)
from linkwork.linalg.rank import decide_rank, null_space, rank_of, row_sizes, singular_values, svd
from linkwork.linalg.trapezoid import complete, solve_least, solve_transposed, take_trapezoid
from linkwork.linalg.triangular import solve_definite, solve_rows
from linkwork.linalg.vectors import largest, largest_scaled
from linkwork.native.kernels import size_of

WIDTH = 12
SHAPES = [(9, 7, 7), (9, 7, 4), (7, 9, 6), (8, 8, 1), (5, 5, 0), (12, 12, 12)]  # rows, columns, rank
ROUNDING = 1e-13  # of a dozen operations on numbers of size one to ten


def padded(A):
    full = np.zeros((WIDTH, WIDTH))
    full[: A.shape[0], : A.shape[1]] = A
    return full.ravel()


def unpadded(x, rows, columns):
    return x.reshape(-1, WIDTH)[:rows, :columns]


def of_rank(rng, rows, columns, rank):
    """Singular values 1 to 3, so that nothing but rounding separates what is computed from what is true."""
    U, V = (np.linalg.qr(rng.standard_normal((k, rank)))[0] for k in (rows, columns))
    return U * np.linspace(1.0, 3.0, rank) @ V.T


def memory(places, *sizes):
    """Places of exactly the size described, with nothing set."""
    return places(np.full(size_of(places, *sizes), np.nan), *sizes)


def vector(x=()):
    return np.concatenate([x, np.zeros(WIDTH - len(x))])


def check_trapezoid(T, rank, A, Q):
    """Q R P^T = A, and (R P^T)^+ x and its transpose as NumPy has them."""
    B = np.zeros((rank, T.columns))
    B[:, T.pivots[: T.columns].astype(int)] = np.triu(unpadded(T.R, rank, T.columns))
    np.testing.assert_allclose(Q[:, :rank] @ B, A, atol=ROUNDING)
    complete(T, rank)
    x, y = np.arange(1.0, rank + 1.0), np.zeros(WIDTH)
    solve_least(T, rank, vector(x), y)
    np.testing.assert_allclose(y[: T.columns], np.linalg.pinv(B) @ x, atol=ROUNDING * (1.0 + np.abs(x).max(initial=0)))
    g, z = np.arange(1.0, T.columns + 1.0), np.full(WIDTH, np.nan)
    solve_transposed(T, rank, g, z)
    np.testing.assert_allclose(z, vector(np.linalg.pinv(B).T @ g), atol=ROUNDING * T.columns)


def matrix_of(Q, count):
    columns = []
    for e in np.eye(WIDTH)[: Q.rows]:
        x = e.copy()
        multiply_q(Q, count, x)
        columns.append(x[: Q.rows])
    return np.array(columns).T


@pytest.mark.parametrize(("rows", "columns", "rank"), SHAPES)
@pytest.mark.parametrize("pivoted", [True, False])
def test_qr_gives_the_matrix_back_and_its_null_space(rows, columns, rank, pivoted, rng):
    A = of_rank(rng, rows, columns, rank)
    Q, T = memory(take_reflections, rows, WIDTH, WIDTH), memory(take_trapezoid, columns, WIDTH)
    (T.R if pivoted else T.L)[:] = padded(A)
    spectrum, V = np.zeros(WIDTH), np.zeros(WIDTH * WIDTH)
    assert (factor_qr if pivoted else factor_staircase)(Q, T, spectrum, 1e-9) == rank
    orthogonal = matrix_of(Q, rank)
    np.testing.assert_allclose(orthogonal.T @ orthogonal, np.eye(rows), atol=ROUNDING)
    x = np.arange(1.0, rows + 1.0)
    turned = vector(x)
    multiply_q_transposed(Q, rank, turned)
    np.testing.assert_allclose(turned[:rows], orthogonal.T @ x, atol=100 * ROUNDING)
    copy_null_rows(Q, rank, V)
    np.testing.assert_allclose(unpadded(V, rows - rank, rows), orthogonal[:, rank:].T, atol=ROUNDING)
    np.testing.assert_allclose(unpadded(V, rows - rank, rows) @ A, 0.0, atol=ROUNDING)
    check_trapezoid(T, rank, A, orthogonal)


@pytest.mark.parametrize(("rows", "columns", "rank"), SHAPES)
def test_lu_gives_the_matrix_back(rows, columns, rank, rng):
    A = of_rank(rng, rows, columns, rank)
    U, T, order, spectrum = padded(A), memory(take_trapezoid, rows, WIDTH), np.zeros(WIDTH), np.zeros(WIDTH)
    assert factor_lu(U, columns, T, order, spectrum, 1e-9) == rank
    np.testing.assert_array_equal(np.diag(unpadded(T.R, rank, rank)), 1.0)
    back = np.zeros((columns, rank))
    back[order[:columns].astype(int)] = np.triu(unpadded(U, rank, columns)).T
    check_trapezoid(T, rank, A.T, back)


@pytest.mark.parametrize(("rows", "columns", "rank"), SHAPES)
def test_cholesky_of_a_gram_matrix(rows, columns, rank, rng):
    A = of_rank(rng, rows, columns, rank)
    G, T = np.full(WIDTH * WIDTH, np.nan), memory(take_trapezoid, columns, WIDTH)
    form_gram(padded(A), rows, columns, WIDTH, G)
    np.testing.assert_allclose(unpadded(G, columns, columns), A.T @ A, atol=ROUNDING)
    assert factor_pivoted_cholesky(G, rows, T, 1e-12) == rank
    R = np.zeros((rank, columns))
    R[:, T.pivots[:columns].astype(int)] = np.triu(unpadded(T.R, rank, columns))
    check_trapezoid(T, rank, A.T @ A, R.T)
    assert factor_cholesky(G, columns, WIDTH, np.zeros(WIDTH), SINGULAR) == (rank == columns)
    if rank == columns:
        x = vector(np.arange(1.0, columns + 1.0))
        solve_definite(G, columns, WIDTH, x)
        np.testing.assert_allclose(A.T @ A @ x[:columns], np.arange(1.0, columns + 1.0), atol=100 * ROUNDING)


@pytest.mark.parametrize(("rows", "columns", "rank"), SHAPES)
def test_eigenvectors_and_singular_vectors(rows, columns, rank, rng):
    """K A A^T K^T is diagonal, and K A has orthogonal rows as long as the singular values of A."""
    A = of_rank(rng, rows, columns, rank)
    S = memory(take_spectral, rows, WIDTH)
    form_gram(padded(A.T), columns, rows, WIDTH, S.A)
    assert diagonalize(S)
    K = unpadded(S.K, rows, rows)
    np.testing.assert_allclose(K @ K.T, np.eye(rows), atol=ROUNDING)
    np.testing.assert_allclose(K @ A @ A.T @ K.T, np.diag(S.values[:rows]), atol=10 * ROUNDING)
    X = np.zeros(WIDTH * WIDTH)
    multiply_matrices(S.K, padded(A), rows, rows, WIDTH, WIDTH, X)
    assert orthogonalize_rows(X, rows, columns, WIDTH, S.K, S.values)
    np.testing.assert_allclose(unpadded(X, rows, columns), K @ A, atol=ROUNDING)
    lengths = np.sort(np.sqrt(S.values[:rows]))[::-1][:rank]
    np.testing.assert_allclose(lengths, np.linspace(1.0, 3.0, rank)[::-1], rtol=1e-12)


def test_tall_qr_solves_in_the_sense_of_least_squares(rng):
    A, b = rng.standard_normal((20, 9)), rng.standard_normal(20)
    Q = memory(take_reflections, 20, WIDTH, 2 * WIDTH)
    R = np.zeros((2 * WIDTH, WIDTH))
    R[:20, :9] = A
    R = R.ravel()
    assert factor_tall(R, 9, WIDTH, Q)
    x = np.concatenate([b, np.zeros(4)])
    multiply_q_transposed(Q, 9, x)
    expected = np.linalg.lstsq(A, b, rcond=None)[0]
    np.testing.assert_allclose(np.triu(unpadded(R, 9, 9)) @ expected, x[:9], atol=100 * ROUNDING)
    A[:, 5] = A[:, 2] - A[:, 4]
    R.reshape(2 * WIDTH, WIDTH)[:20, :9] = A
    assert not factor_tall(R, 9, WIDTH, Q)


def test_rows_are_solved_together(rng):
    U, B = np.triu(rng.uniform(1.0, 2.0, (7, 7))) + 3.0 * np.eye(7), rng.standard_normal((7, 10))
    X = padded(B)
    solve_rows(padded(U), 7, 10, WIDTH, X)
    np.testing.assert_allclose(U.T @ unpadded(X, 7, 10), B, atol=ROUNDING)


def test_singular_values_of_a_long_band_are_those_of_the_full_matrix(rng):
    """A band of 500 rows, shuffled; and with one row twice, where the squares would hide it."""
    J = np.zeros((500, 750))
    for i in range(500):
        J[i, i : i + 4] = rng.normal(size=4)
    J = J[rng.permutation(500)]
    exact = np.linalg.svd(J, compute_uv=False)
    np.testing.assert_allclose(singular_values(J), exact, atol=1e-7 * exact[0])
    J[7] = J[8]
    assert decide_rank(singular_values(J)).rank == 499


def test_rows_of_every_size_have_a_length_and_a_null_space():
    """The squares of 1e200 and 1e-200 are no numbers."""
    J = np.array([[3e200, 4e200, 0.0], [0.0, 3e-200, 4e-200], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(row_sizes(J)[:2], [5e200, 5e-200], rtol=1e-15)
    np.testing.assert_allclose(row_sizes(J, 1e-9), [5e200, 5e191, 5e191], rtol=1e-15)
    np.testing.assert_allclose(np.abs(null_space(J[:1]) @ [0.6, 0.8, 0.0]), 0.0, atol=ROUNDING)


@pytest.mark.parametrize("decompose", [null_space, rank_of, singular_values, svd])
def test_what_is_not_finite_is_not_decomposed(decompose):
    for entry in (np.inf, np.nan):
        with pytest.raises(NumericalStop, match="no finite values"):
            decompose(np.array([[1.0, entry], [0.0, 1.0]]))


@pytest.mark.parametrize("place", range(4))
def test_the_largest_of_what_is_no_number_is_none(place):
    """Wherever it stands: a gap without a value is not hidden by those behind it."""
    x = np.array([1.0, -3.0, 2.0, -0.5])
    assert largest(x, 4) == 3.0
    assert largest_scaled(x, 1.0 / np.arange(1.0, 5.0), 4) == 1.5
    x[place] = np.nan
    assert np.isnan(largest(x, 4))
    assert np.isnan(largest_scaled(x, np.ones(4), 4))


@pytest.mark.parametrize(("a", "places"), [(2.0, 1), (1e-6, 1), (1e12, 1), (0.0, 1e7)])
def test_newton_ends_by_rounding(a, places):
    """sqrt(a) from afar to the last place; the double root of x^2 = 0 as near as half the digits tell."""
    (x, *_), left = newton(lambda x: (x * x - a, np.diag(2.0 * x)), np.add, np.array([3.0]), 1e-10 * max(a, 1e-3))
    assert abs(x[0] - np.sqrt(a)) <= places * np.spacing(max(np.sqrt(a), 1.0))
    assert left <= 1e-15 * max(a, 1e-3)


@pytest.mark.parametrize(
    ("sizes", "accepted", "best"),
    [
        ((9.0, 4.0, 1.0, 0.9, 0.1), INF, 3),  # 0.9 is better than 1 and the last, being no half of it
        ((9.0, 4.0, 5.0, 0.1), INF, 1),
        ((9.0, 40.0, 5.0, 1.0, 2.0, 0.1), 2.0, 3),  # growing from afar, not any more once accepted
        ((9.0, 4.0, np.nan, 0.1), 2.0, 1),
        ((0.1, 4.0), INF, 0),
    ],
)
def test_corrections_end_where_they_do_not_halve_what_is_left(sizes, accepted, best):
    found, left = iterate(
        sizes, lambda all_of, x, k: (x + 1, all_of[x + 1]), 0, sizes[0], len(sizes) - 1, 0.5, accepted
    )
    assert (found, left) == (best, sizes[best])
