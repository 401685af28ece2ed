"""What a run may choose: how accelerations are found, what keeps the constraints, how time advances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np

from linkwork import units
from linkwork.compiled.mechanism import Mechanism
from linkwork.equations.place import Weights
from linkwork.equations.programs import BY_ELIMINATION, IMPLICIT_FORMS, MOTION, STABILIZED, TERMS, Program
from linkwork.errors import UsageError, check_choice, check_number, check_values, checked_methods, option
from linkwork.formulations import ALGEBRAIC, EXPLICIT, FORMULATIONS, SEQUENCES, Formulation, all_formulations, name_of
from linkwork.integrators.methods import ALPHA, AUTO, RADAU5, integrators
from linkwork.integrators.methods.tableaus import Tableau

if TYPE_CHECKING:
    from linkwork.equations.varied import Chosen
    from linkwork.integrators.methods.generalized_alpha import GeneralizedAlpha
    from linkwork.trajectory import Trajectory

Stabilization: TypeAlias = Literal["projection", "baumgarte", "none"]

STABILIZATIONS = ("projection", "baumgarte", "none")
USUAL = STABILIZATIONS[0]
IMPLICIT = (RADAU5, ALPHA)
ALGEBRAIC_ALONE = tuple(form for form in ALGEBRAIC if form not in SEQUENCES)  # multipliers are among the unknowns
MOST_STEPS = 2_000_000  # tried in one run unless more are allowed: a minute or so of a small mechanism
GAIN = 100.0  # in the time of a run, of Baumgarte's stabilization unless given: gaps close in a hundredth of it


@checked_methods
@dataclass(frozen=True)
class Baumgarte:
    """Baumgarte's stabilization, Psi_q a = gamma - 2 alpha Psi_dot - beta^2 Psi, with gains per second.

    A gain that is not given is 100 in the time of the run.                                          [baumgarte1972]
    """

    alpha: float | None = None
    beta: float | None = None

    def __post_init__(self) -> None:
        for name, gain in (("alpha", self.alpha), ("beta", self.beta)):
            check_number(name, gain or 0.0)
            if gain is not None and not 0.0 <= gain < np.inf:
                raise UsageError(f"{name} = {gain:g} is not a gain per second", "bad-gain")


@checked_methods
@dataclass(frozen=True)
class Ranked:
    """A formulation on full matrices that takes values up to `tolerance` of the largest for zero.

    Without it the tolerance is chosen where the motion starts.
    """

    formulation: str | Formulation
    tolerance: float


@checked_methods
@dataclass(frozen=True)
class Integrator:
    """An integrator with limits: its longest step, and how many steps it may try before the run stops.

    Integrator("dop853", max_step="1 ms"), Integrator(GeneralizedAlpha(rho=0.8), max_steps=1000)
    """

    method: str | Tableau | GeneralizedAlpha = "auto"
    max_step: float | str | None = None
    max_steps: int = MOST_STEPS

    def __post_init__(self) -> None:
        check_number("max_steps", self.max_steps)
        if not self.max_steps >= 1:
            raise UsageError(f"max_steps = {self.max_steps} leaves no step to try", "bad-max-steps")
        if not self.longest > 0.0:
            raise UsageError(f"max_step = {self.max_step} is not a step; leave it out for any", "bad-max-step")

    @property
    def longest(self) -> float:
        """The longest step, s."""
        limit = units.seconds("max_step", self.max_step)
        return np.inf if limit is None else limit


@checked_methods
@dataclass(frozen=True)
class Start:
    """Where a motion begins, and how start values are corrected until they fit the joints.

    - `values`: start values by the names of results, {"crank.phi": 0.3, "crank.omega": 2.0}; what is not named is as
      the model states it. Constants that joints take from the start position stay those of the model.
    - `assemble`: close wide gaps as well.
    - `keep`: coordinates that are not changed.
    - `weights`: the change is weighted by "mass" or not ("unit"); "plain" takes the least change of the coordinates of
      the run, metres and radians alike, over any gap, and "none" leaves the start as it is.
    - `resume`: a motion of the same mechanism from the same start that ended early; the result continues it.
    """

    values: Mapping[str, float | str] | None = None
    assemble: bool = False
    keep: Sequence[str] = ()
    weights: Weights = "mass"
    resume: Trajectory | None = None

    def split(self, mechanism: Mechanism) -> tuple[dict[str, float], dict[str, float]]:
        """Split values by names of coordinates: positions, and velocities."""
        check_values("start", self.values or {})
        known = coordinates_of(mechanism) if self.values else {}
        q, v = dict[str, float](), dict[str, float]()
        for name, x in (self.values or {}).items():
            check_choice("coordinate", name, known)
            level, own = known[name]
            unit = _unit(mechanism, level, own) if isinstance(x, str) else None
            (q if level == "q" else v)[own] = units.value_of(name, x, unit)
        return q, v


def _unit(mechanism: Mechanism, level: str, name: str) -> str:
    """Return the unit of a coordinate, or with the level "v" of a velocity."""
    chart = mechanism.equations.chart
    forms = [e for e in (mechanism.equations, chart.tree, chart.body) if e is not None]
    if level == "q":
        return next(c.unit for e in forms for c in e.coordinates if c.name == name)
    return next(f"{c.unit}/s" for e in forms for c in e.velocities if c.name == name)


def coordinates_of(mechanism: Mechanism) -> dict[str, tuple[str, str]]:
    """Return what start values can be given of, by the names of results: whether it is one of q or v, and its name
    there.
    """
    places, speeds, chart = dict[str, tuple[str, str]](), dict[str, tuple[str, str]](), mechanism.equations.chart
    for e in (mechanism.equations, chart.tree, chart.body):
        if e is not None:
            of_q, of_v, _ = e.chart.state
            places |= {x: ("q", name) for name in e.q_names for x in (f"{of_q}:{name}", name)}
            speeds |= {x: ("v", c.name) for c in e.velocities for x in (f"{of_v}:{c.name}", c.speed)}
    return speeds | places


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
    varied: Chosen = ()  # parameters by which the motion is differentiated as it goes on,
    pulled: Chosen = ()  # or numbers taken of it are afterwards, back in time

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
                    f"rank_tolerance = {self.rank_tolerance:g} is not a part of the largest value, above 0 and below 1"
                )
                raise UsageError(message, "bad-tolerance")

    def programs(self, implicit: str) -> tuple[Program, ...]:
        """Name what a motion by this choice needs; `implicit` is the form that an implicit integrator
        solves, if any.
        """
        found = MOTION
        if self.formulation in FORMULATIONS:
            found = TERMS
        elif self.formulation == EXPLICIT:
            found = BY_ELIMINATION
        elif self.formulation == "ggl" and not self.is_algebraic:
            found = STABILIZED
        if self.varied:
            from linkwork.equations.varied import programs

            found = (*found, *programs(self.varied))
        if self.pulled:
            from linkwork.equations.varied import transposes

            found = (*found, *transposes(self.pulled))
        return (*found, *(IMPLICIT_FORMS[implicit] if implicit else ()))

    @property
    def chosen(self) -> Chosen:
        return self.varied or self.pulled

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
    formulation: str | Formulation | Ranked,
    stabilization: Stabilization | Baumgarte,
    integrator: str | Tableau | GeneralizedAlpha,
    t_end: float,
) -> Choice:
    """Choose what these mean together, for a run of so long: one that leaves something open suits the rest."""
    by_alpha: GeneralizedAlpha | None = None
    tolerance = formulation.tolerance if isinstance(formulation, Ranked) else None
    gains = stabilization if isinstance(stabilization, Baumgarte) else Baumgarte()
    kept: Stabilization = "baumgarte" if isinstance(stabilization, Baumgarte) else stabilization
    by = name_of(formulation.formulation if isinstance(formulation, Ranked) else formulation)
    if not isinstance(integrator, str | Tableau) and getattr(integrator, "name", None) == ALPHA:
        by_alpha = integrator
    name = integrator if isinstance(integrator, str) else getattr(integrator, "name", integrator)
    check_choice("integrator", cast(str, name), integrators())
    if name == AUTO.name and by in ALGEBRAIC_ALONE:
        name = RADAU5  # it follows such forms to any accuracy
    if name == ALPHA and by == "augmented":
        by = "index-3"  # which is what it solves
    if name == ALPHA and by_alpha is None:
        from linkwork.integrators.methods.generalized_alpha import GeneralizedAlpha

        by_alpha = GeneralizedAlpha()
    usual = GAIN / t_end if kept == "baumgarte" else 0.0
    alpha, beta = (usual if gain is None else gain for gain in (gains.alpha, gains.beta))
    return Choice(by, kept, alpha, beta, cast(str, name), by_alpha, tolerance)


def combine(
    formulation: str | None,
    stabilization: str | None,
    integrator: str | None,
    rank_tolerance: float | None,
    alpha: float | None,
    beta: float | None,
    spectral_radius: float | None,
    fixed_step: float | None,
) -> dict[str, Any]:
    """Combine options that stand apart, as on a command line, to arguments of `simulate`; refuse one without effect."""
    found: dict[str, Any] = {"formulation": formulation, "stabilization": stabilization, "integrator": integrator}
    if rank_tolerance is not None:
        found["formulation"] = Ranked(formulation or "augmented", rank_tolerance)
    if alpha is not None or beta is not None:
        if stabilization != "baumgarte":
            name = "alpha" if alpha is not None else "beta"
            message = (
                f"{name} is a gain of Baumgarte's stabilization, and has no effect with '{stabilization or USUAL}'"
            )
            raise UsageError(message, "no-effect")
        found["stabilization"] = Baumgarte(alpha, beta)
    if spectral_radius is not None or fixed_step is not None:
        if integrator != ALPHA:
            message = f"spectral radius and fixed steps belong to {ALPHA}, and have no effect with"
            raise UsageError(f"{message} '{integrator or AUTO.name}'", "no-effect")
        from linkwork.integrators.methods.generalized_alpha import RHO, GeneralizedAlpha

        found["integrator"] = GeneralizedAlpha(RHO if spectral_radius is None else spectral_radius, fixed_step)
    return {name: value for name, value in found.items() if value is not None}
