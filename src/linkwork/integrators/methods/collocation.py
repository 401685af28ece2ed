"""Coefficients of the three-stage Radau IIA method, from its collocation points."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def _collocation() -> tuple[Array, Array]:
    """Find c and A of the method: zeros of the Radau polynomial, and integrals of their Lagrange polynomials."""
    c = np.array([(4 - math.sqrt(6)) / 10, (4 + math.sqrt(6)) / 10, 1.0])
    powers = np.arange(3)
    return c, (c[:, None] ** (powers + 1) / (powers + 1)) @ np.linalg.inv(c[:, None] ** powers)


def _separation(A: Array) -> tuple[Array, float, complex]:
    """Find T, gamma and alpha + i beta."""
    values, vectors = np.linalg.eig(np.linalg.inv(A))
    real, upper = int(np.argmin(np.abs(values.imag))), int(np.argmax(values.imag))
    x, z = vectors[:, real].real, vectors[:, upper]
    return np.column_stack([x, z.real, -z.imag]), float(values[real].real), complex(values[upper])


C, A = _collocation()
T, GAMMA, COMPLEX = _separation(A)
T_INVERSE = np.linalg.inv(T)


@cache
def error_weights() -> Array:
    """Find d of err = (gamma/h M - J)^-1 (f(t, y) + M sum_i d_i Z_i/h), the difference to a formula of order 3.

    That formula has the nodes 0, c_1, c_2, c_3 and the weight 1/gamma of f(t, y).    [hairer1996, eq. (IV.8.19)]
    """
    powers = np.arange(3)
    b_low = np.linalg.solve((C[:, None] ** powers).T, 1.0 / (powers + 1) - np.array([1.0, 0.0, 0.0]) / GAMMA)
    d: Array = GAMMA * np.linalg.inv(A).T @ (b_low - A[2])
    return d


@cache
def error_by_estimate() -> float:
    """Return the error of a step by its estimate and z^2, where y' grows with e^(z theta) along it.

    Those of y' = theta^5/5! and theta^3/3!, the first powers at which they do not vanish.
    """
    error = (1.0 / 6.0 - A[2] @ C**5) / math.factorial(5)
    return abs(float(error / (error_weights() @ A @ C**3 / GAMMA / math.factorial(3))))


@cache
def foreseeing_weights() -> Array:
    """Find e of the value at 0 of the polynomial of degree 2 with given values at c_1, c_2 and 1."""
    return np.asarray(np.linalg.inv(C ** np.arange(3.0)[:, None])[:, 0], dtype=np.float64)


@cache
def dense_weights() -> Array:
    """Find D of F_j = sum_i D_ji s_i of the polynomial of degree 4 that has the slopes s_i at 0, c_1, c_2 and 1."""
    basis = [np.polynomial.Polynomial([0.0, 1.0])]
    for next_factor in ([1.0, -1.0], [0.0, 1.0], [1.0, -1.0]):
        basis.append(basis[-1] * np.polynomial.Polynomial(next_factor))
    return np.linalg.inv(np.array([[phi.deriv()(theta) for phi in basis] for theta in (0.0, *C)]))
