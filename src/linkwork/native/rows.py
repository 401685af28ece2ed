"""A machine code function at many arguments at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.native.kernels import Pointer, call, kernel, offset
from linkwork.native.lowering import NativeFunction

Array = NDArray[np.float64]


@kernel
def fill_rows(
    f: int, n_rows: int, n_x: int, n_p: int, n_y: int, x: Pointer, p: Pointer, y: Pointer, w: Pointer
) -> None:
    """Fill in y = f(x, p) row by row, these rows being so far apart; with n_p = 0 all have the same p."""
    for k in range(n_rows):
        call(f, offset(x, k * n_x), offset(p, k * n_p), offset(y, k * n_y), w)


def evaluate_rows(f: NativeFunction, x: Array, p: Array) -> Array:
    """Return the results of f for every row of x, with the same row of p."""
    y = np.empty((len(x), f.outputs))
    fill_rows(f.address, len(x), x.shape[1], p.shape[1], f.outputs, x, p, y, np.empty(f.work))
    return y
