"""A mechanism as M y' = f(t, y) for the implicit integrators."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linkwork.dense.sparse import Elimination, plan_elimination
from linkwork.equations.equations import Equations
from linkwork.equations.implicit import N_WORK
from linkwork.formulations import ALGEBRAIC, linearization
from linkwork.integrators.memory import Preparable
from linkwork.integrators.methods import ALPHA
from linkwork.integrators.radau import Radau5
from linkwork.mechanism import Mechanism
from linkwork.motion.choice import Choice
from linkwork.native.lowering import NativeFunction
from linkwork.system import System

Array = NDArray[np.float64]
USUAL = 1e3  # 1/s, c of the system c M - J at which pivots are chosen: that of steps of some milliseconds


def algebraic_method(mechanism: Mechanism, system: System, how: Choice) -> tuple[NativeFunction, Preparable, int]:
    """f of M y' = f(t, y), the method with its M, Jacobian and indices, and the number of unknowns behind q and v."""
    form, f = how.formulation, system.functions
    of, pattern = ALGEBRAIC[form], mechanism.implicit_pattern(form)
    count = of.size(system.n_v, system.m)
    index = [of.q] * system.n_q + [of.v] * system.n_v + [1] * N_WORK + [of.algebraic] * count
    mass = np.diag([1.0] * (system.n_q + system.n_v + N_WORK) + [0.0] * count)
    method: Preparable = Radau5(f["implicit_jacobian"], mass, index, pattern)
    if how.integrator == ALPHA.name:
        method = replace(
            how.by_alpha,
            jacobian=f["implicit_jacobian"],
            retract=f["retract"],
            dynamics=f["dynamics"],
            sizes=(system.n_q, system.n_v, system.m),
            pattern=pattern,
            turns=turns_of(system.equations),
        )
    return f["implicit"], method, N_WORK + count


def linearized_method(mechanism: Mechanism, system: System, dynamics: NativeFunction, how: Choice) -> Radau5:
    """The method for (q, v, work), with accelerations and multipliers among the unknowns of its linear systems."""
    pattern = mechanism.implicit_pattern("linearized", how.stabilization == "baumgarte")
    mass = np.eye(system.n_q + system.n_v + N_WORK)
    return Radau5(linearization.of_system(system, dynamics), mass, pattern=pattern)


def planned(mechanism: Mechanism, method: Radau5, x: Array, p: Array) -> Radau5:
    """The method with the elimination for its pattern: pivots by the values at x = (t, y), where first it is asked for.

    None is planned where the matrix is singular there.
    """
    f, mass, pattern = method.jacobian, method.mass, method.pattern
    if mass is None or pattern is None or not isinstance(f, NativeFunction):
        return method

    def plan(_: Equations) -> tuple[Elimination | None]:
        A = dict(zip(pattern, -f(x, p), strict=True))
        for i in np.flatnonzero(np.diag(mass)).tolist():
            A[i, i] = A.get((i, i), 0.0) + USUAL
        return (plan_elimination(1 + max(map(max, A)), A),)

    return replace(method, plan=mechanism.shared.compiled(("elimination", *pattern), plan)[0])


def turns_of(e: Equations) -> list[int]:
    """Where in v the angular velocities of spatial bodies begin, whose orientation has four coordinates."""
    return [k for k in range(2, len(e.v) - 2) if len(e.q) > len(e.v) and e.turning[k] and not e.turning[k - 1]]
