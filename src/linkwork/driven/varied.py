"""Driven motions and their derivatives by parameters: these follow from the constraints, as the motion does.

    Psi_q dq = -Psi_p        Psi_q dv = -(Psi_dot)_q dq - (Psi_dot)_p        K (da, dlam) = F_q dq + F_v dv + F_p

F and K are those of equations/varied.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwork.equations.varied import size_of_variation
from linkwork.errors import UsageError
from linkwork.expressions.graph import Expr
from linkwork.records import kept
from linkwork.simulation.adjoint import Adjoint
from linkwork.simulation.varied import Gradients
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]


class OfOneTime(Gradients):
    """Derivatives of what holds at one time."""

    def expression_of(self, name: str, motion: Trajectory) -> Expr:
        if name in ("energy:dissipated", "energy:supplied", "energy:drift"):
            message = f"'{name}' is added up along the way; a driven motion has derivatives of what holds at one time"
            raise UsageError(message, "not-varied")
        return super().expression_of(name, motion)


@dataclass(eq=False)
class DrivenGradients(OfOneTime):
    """Those of a motion that drivers prescribe."""

    @kept
    def variations(self) -> Array:
        rows, k = self.rows, len(self.chosen)
        n = size_of_variation(self.course.motion.system.equations, self.chosen)
        found = np.empty((len(rows.t), k, n))
        for i, part in enumerate(rows.parts):
            x = np.concatenate([rows.t[i : i + 1], rows.rows[i], np.zeros(k * n)])
            found[i] = part.form.system.functions["onto"](x, self.p_at(i)).reshape(n, k).T
        return found


@dataclass(eq=False)
class DrivenAdjoint(OfOneTime, Adjoint):
    """The same of each number by all parameters at once: (Psi_q^T)^-1 of its weights, by Psi_p."""

    def sweep(self, own: Array, total: Array) -> Array:
        rows, found = self.rows, np.zeros(len(self.chosen))
        for i, part in enumerate(rows.parts):
            if own[i].any():
                x = np.concatenate([rows.t[i : i + 1], rows.rows[i], own[i]])
                total += part.form.system.functions["pulled_onto"](x, self.p_at(i))
        found[self.fixed] = total[self.n_s :]
        return found
