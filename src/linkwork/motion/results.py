"""From the states of a motion to its trajectory: named outputs, residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwork.dense.vectors import largest
from linkwork.equations.equations import Equations
from linkwork.errors import UsageError
from linkwork.native.kernels import Pointer, call, kernel, offset
from linkwork.system import System

Array = NDArray[np.float64]

MOST_GIGABYTES = 4.0


@kernel
def fill_report(
    report: int, constraints: int, n_rows: int, n_x: int, m: int, n_out: int,
    x: Pointer, p: Pointer, out: Pointer, w: Pointer,
) -> None:  # fmt: skip
    """For every (t, q, v, a, lam) a row of `out`: energies and outputs, largest |Psi| and |Psi_dot|."""
    gaps, scratch = w, offset(w, 2 * m)
    for k in range(n_rows):
        row, line = offset(x, k * n_x), offset(out, k * (n_out + 2))
        call(report, row, p, line, scratch)
        call(constraints, row, p, gaps, scratch)
        line[n_out] = largest(gaps, m)
        line[n_out + 1] = largest(offset(gaps, m), m)


@dataclass(frozen=True)
class Columns:
    """What follows from the states of a motion, one row for every time."""

    kinetic: Array
    potential: Array
    outputs: dict[str, dict[str, Array]]
    error_position: Array
    error_velocity: Array


def columns(system: System, p: Array, t: Array, q: Array, v: Array, a: Array, lam: Array) -> Columns:
    """Energies, named outputs and residuals at the given states."""
    f = system.functions
    x = np.column_stack([t, q, v, a, lam])
    n_out = f["report"].outputs
    table = np.empty((len(x), n_out + 2))
    work = 2 * system.m + max(f["report"].work, f["constraints"].work)
    fill_report(
        f["report"].address, f["constraints"].address, len(x), x.shape[1], system.m, n_out, x, p, table, np.empty(work)
    )
    outputs: dict[str, dict[str, Array]] = {kind: {} for kind in system.equations.outputs}
    for column, (kind, name) in enumerate(system.output_names, start=2):
        outputs[kind][name] = table[:, column]
    return Columns(table[:, 0], table[:, 1], outputs, table[:, -2], table[:, -1])


def check_memory(times: Array, equations: Equations) -> None:
    """UsageError if the results at these report times would not fit into memory."""
    e = equations
    numbers = 4 * len(e.v) + 2 * len(e.Psi) + sum(map(len, e.outputs.values())) + 12
    gigabytes = 8e-9 * numbers * len(times)
    if gigabytes > MOST_GIGABYTES:
        raise UsageError(
            f"{len(times)} report times need {gigabytes:.3g} GB; choose a longer step", "too-many-report-times"
        )
