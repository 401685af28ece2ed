"""A mechanism as M y' = f(t, y) for the implicit integrators."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linkwork.equations.equations import Equations
from linkwork.equations.implicit import N_WORK
from linkwork.formulations import ALGEBRAIC
from linkwork.integrators.memory import Preparable
from linkwork.integrators.methods import ALPHA
from linkwork.integrators.radau import Radau5
from linkwork.mechanism import Mechanism
from linkwork.motion.choice import Choice
from linkwork.native.lowering import NativeFunction
from linkwork.system import System


def implicit_form(mechanism: Mechanism, system: System, how: Choice) -> tuple[NativeFunction, Preparable, int]:
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


def turns_of(e: Equations) -> list[int]:
    """Where in v the angular velocities of spatial bodies begin, whose orientation has four coordinates."""
    return [k for k in range(2, len(e.v) - 2) if len(e.q) > len(e.v) and e.turning[k] and not e.turning[k - 1]]
