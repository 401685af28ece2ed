"""A mechanism as M y' = f(t, y) for the implicit integrators."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism
from linkwork.compiled.system import System
from linkwork.equations.equations import Equations
from linkwork.equations.implicit import N_WORK
from linkwork.formulations import ALGEBRAIC, linearization
from linkwork.integrators.memory import Preparable
from linkwork.integrators.methods import ALPHA
from linkwork.integrators.methods.radau5 import Radau5
from linkwork.linalg.lu_planned import Elimination, plan_elimination
from linkwork.native.lowering import NativeFunction
from linkwork.simulation.options import Choice
from linkwork.tolerances import EPSILON

Array = NDArray[np.float64]
USUAL = 1e4  # in the time of a run, c of the system c M - J at which pivots are chosen: that of some thousand steps


def algebraic_method(mechanism: Mechanism, system: System, how: Choice) -> tuple[NativeFunction, Preparable, int]:
    """Make f of M y' = f(t, y), the method with its M, Jacobian and indices, and count the unknowns behind q and v."""
    form, f = how.formulation, system.functions
    of, pattern = ALGEBRAIC[form], mechanism.implicit_pattern(form)
    count = of.size(system.n_v, system.m)
    index = [of.q] * system.n_q + [of.v] * system.n_v + [1] * N_WORK + [of.algebraic] * count
    mass = np.diag([1.0] * (system.n_q + system.n_v + N_WORK) + [0.0] * count)
    sizes = system.n_q, system.n_v, system.m
    method: Preparable = Radau5(f["implicit_jacobian"], mass, index, pattern, dynamics=f["dynamics"], sizes=sizes)
    if how.integrator == ALPHA:
        assert how.by_alpha is not None
        method = replace(
            how.by_alpha,
            jacobian=f["implicit_jacobian"],
            retract=f["retract"],
            dynamics=f["dynamics"],
            sizes=sizes,
            pattern=pattern,
            turns=turns_of(system.equations),
        )
    return f["implicit"], method, N_WORK + count


def linearized_method(mechanism: Mechanism, system: System, dynamics: NativeFunction) -> Radau5:
    """Make the method for (q, v, work) whose linear systems are those of the motions that the constraints admit."""
    mass, sizes = np.eye(system.n_q + system.n_v + N_WORK), (system.n_q, system.n_v, system.m)
    return Radau5(linearization.of_system(system, dynamics), mass, blocks=mechanism.linearized_pattern(), sizes=sizes)


def plan_systems(mechanism: Mechanism, method: Radau5, x: Array, p: Array, n_before: int, t_end: float) -> Radau5:
    """Plan the elimination for the pattern, pivots by the values at x = (t, y) where it is first asked for.

    Behind `n_before` unknowns stand multipliers; their equations have entries by them only for rows left out. No
    elimination is planned where the matrix is singular.
    """
    f, mass, pattern = method.jacobian, method.mass, method.pattern
    if mass is None or pattern is None or not isinstance(f, NativeFunction):
        return method
    entries = -np.nan_to_num(f(x, p), posinf=0.0, neginf=0.0)
    full = mass / (EPSILON * t_end)  # c beyond all rates of the motion
    np.add.at(full, tuple(np.transpose(pattern)), entries)
    A = {place: x for place, x in zip(pattern, entries.tolist(), strict=True) if x != 0.0 or min(place) < n_before}
    for i in np.flatnonzero(np.diag(mass)).tolist():
        A[i, i] = A.get((i, i), 0.0) + USUAL / t_end

    def plan(_: Equations) -> tuple[Elimination | None]:
        return (plan_elimination(1 + max(map(max, A)), A),)

    planned = mechanism.shared.compiled(("elimination", *A), plan)[0]
    return replace(method, plan=planned, side=float(np.linalg.slogdet(full)[0]) if planned else 0.0)


def turns_of(e: Equations) -> list[int]:
    """Find where in v the angular velocities of spatial bodies begin, whose orientation has four coordinates."""
    return [k for k in range(2, len(e.v) - 2) if len(e.q) > len(e.v) and e.turning[k] and not e.turning[k - 1]]
