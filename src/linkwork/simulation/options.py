"""What a run may choose: how accelerations are found, what keeps the constraints, how time advances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from linkwork.equations.programs import BY_ELIMINATION, IMPLICIT_FORMS, MOTION, STABILIZED, TERMS, Program
from linkwork.errors import UsageError, check_choice, check_number, option
from linkwork.formulations import ALGEBRAIC, EXPLICIT, FORMULATIONS, SEQUENCES, Formulation, all_formulations
from linkwork.integrators.methods import ALPHA, AUTO, RADAU5, integrators
from linkwork.integrators.methods.tableaus import Tableau

if TYPE_CHECKING:
    from linkwork.integrators.methods.generalized_alpha import GeneralizedAlpha

Stabilization: TypeAlias = Literal["projection", "baumgarte", "none"]

STABILIZATIONS = ("projection", "baumgarte", "none")
IMPLICIT = (RADAU5, ALPHA)
ALGEBRAIC_ALONE = tuple(form for form in ALGEBRAIC if form not in SEQUENCES)  # multipliers are among the unknowns
GAIN = 100.0  # in the time of a run, of Baumgarte's stabilization unless given: gaps close in a hundredth of it


@dataclass(frozen=True)
class Choice:
    """How accelerations are found and what keeps the constraints."""

    formulation: str
    stabilization: Stabilization
    alpha: float
    beta: float
    integrator: str = "dop853"
    by_alpha: GeneralizedAlpha | None = None
    rank_tolerance: float | None = None  # of formulations on full matrices; by default chosen at the start

    def __post_init__(self) -> None:
        check_choice("formulation", self.formulation, all_formulations())
        if self.integrator == ALPHA and self.formulation != "index-3":
            message = f"{ALPHA} solves the index-3 form, not '{self.formulation}'"
            raise UsageError(message, "no-effect")
        if self.formulation in ALGEBRAIC_ALONE and self.integrator not in IMPLICIT:
            raise UsageError(
                f"the formulation '{self.formulation}' has multipliers among its unknowns, which only an implicit "
                f"integrator can find: {option('integrator', *IMPLICIT)}",
                "needs-implicit",
            )
        if self.formulation in ALGEBRAIC and self.stabilization not in ("projection", "none"):
            raise UsageError(
                f"the formulation '{self.formulation}' keeps the constraints itself; "
                f"'{self.stabilization}' has no place in it, 'projection' and 'none' have",
                "no-effect",
            )
        check_choice("stabilization", self.stabilization, STABILIZATIONS)
        if self.rank_tolerance is not None:
            check_number("rank_tolerance", self.rank_tolerance)
            if self.formulation not in FORMULATIONS:
                raise UsageError(f"'{self.formulation}' decides no rank: a rank tolerance has no effect", "no-effect")
            if not 0.0 < self.rank_tolerance < 1.0:
                message = (
                    f"rank_tolerance = {self.rank_tolerance:g} is no part of the largest value, above 0 and below 1"
                )
                raise UsageError(message, "bad-tolerance")

    def programs(self, implicit: str) -> tuple[Program, ...]:
        """What a motion by this choice needs; `implicit` is the form that an implicit integrator solves, if any."""
        found = MOTION
        if self.formulation in FORMULATIONS:
            found = TERMS
        elif self.formulation == EXPLICIT:
            found = BY_ELIMINATION
        elif self.formulation == "ggl" and not self.is_algebraic:
            found = STABILIZED
        return (*found, *(IMPLICIT_FORMS[implicit] if implicit else ()))

    @property
    def is_algebraic(self) -> bool:
        """Whether multipliers are among the unknowns that are integrated."""
        return self.integrator in IMPLICIT and self.formulation in ALGEBRAIC

    @property
    def has_fixed_steps(self) -> bool:
        return self.by_alpha is not None and self.by_alpha.fixed is not None

    @property
    def implicit(self) -> str:
        """What the integrator needs beside the right-hand side, see equations/implicit.py."""
        if self.integrator not in IMPLICIT:
            return ""
        return self.formulation if self.is_algebraic else "linearized"


def choose(
    formulation: str | Formulation,
    stabilization: Stabilization,
    integrator: str | Tableau,
    gains: tuple[float | None, float | None, float],
    spectral_radius: float | None = None,
    fixed_step: float | None = None,
    rank_tolerance: float | None = None,
) -> Choice:
    """The choice that these mean together: one that leaves something open is given what suits the rest.

    Of `gains` the third is the time of the run, which tells those that are not given.
    """
    formulation = formulation.name if isinstance(formulation, Formulation) else formulation
    integrator = integrator.name if isinstance(integrator, Tableau) else integrator
    check_choice("integrator", integrator, integrators())
    if integrator == AUTO.name and formulation in ALGEBRAIC_ALONE:
        integrator = RADAU5  # it follows such forms to any accuracy
    if integrator == ALPHA and formulation == "augmented":
        formulation = "index-3"  # which is what it solves
    by_alpha = choose_alpha(integrator, spectral_radius, fixed_step)
    return Choice(
        formulation, stabilization, *choose_gains(stabilization, *gains), integrator, by_alpha, rank_tolerance
    )


def choose_alpha(integrator: str, spectral_radius: float | None, fixed_step: float | None) -> GeneralizedAlpha | None:
    if (spectral_radius is not None or fixed_step is not None) and integrator != ALPHA:
        message = f"spectral radius and fixed steps belong to {ALPHA}, and have no effect with '{integrator}'"
        raise UsageError(message, "no-effect")
    if integrator != ALPHA:
        return None
    from linkwork.integrators.methods.generalized_alpha import RHO, GeneralizedAlpha

    for name, value in (("spectral_radius", spectral_radius), ("fixed_step", fixed_step)):
        check_number(name, value or 0.0)
    return GeneralizedAlpha(RHO if spectral_radius is None else spectral_radius, fixed_step)


def choose_gains(stabilization: str, alpha: float | None, beta: float | None, t_end: float) -> tuple[float, float]:
    for name, gain in (("alpha", alpha), ("beta", beta)):
        if gain is not None and stabilization != "baumgarte":
            message = f"{name} is a gain of Baumgarte's stabilization, and has no effect with '{stabilization}'"
            raise UsageError(message, "no-effect")
        check_number(name, gain or 0.0)
        if gain is not None and not 0.0 <= gain < np.inf:
            raise UsageError(f"{name} = {gain:g} is not a gain per second", "bad-gain")
    usual = GAIN / t_end if stabilization == "baumgarte" else 0.0
    return usual if alpha is None else alpha, usual if beta is None else beta
