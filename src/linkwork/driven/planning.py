"""Which motions can be made ready, advanced and evaluated many at once, and which values are sound."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism
from linkwork.compiled.system import System, compile_system
from linkwork.driven.kinematics import ARM, MASS, PREDICTED, compile_driven, in_metric
from linkwork.elements.bodies import PlanarBody
from linkwork.equations.equations import Equations
from linkwork.equations.places import Places
from linkwork.equations.programs import BASIC, LOCAL
from linkwork.errors import LinkworkError
from linkwork.expressions.evaluation import evaluate, numpy_arithmetic, ordered
from linkwork.expressions.graph import Expr, as_expr, symbol
from linkwork.integrators.integrate import Settings, report_times
from linkwork.model import Simulation
from linkwork.native.rows import evaluate_rows
from linkwork.simulation.motions import Plan
from linkwork.simulation.options import MOST_STEPS, Choice, Integrator, Start, choose
from linkwork.simulation.problem import compile_form, form_of, problem_of
from linkwork.simulation.simulate import _limit_steps, _settle
from linkwork.soundness import are_no_moments, check_span
from linkwork.soundness.numbers import formulas_in
from linkwork.tolerances import NEGLIGIBLE, TYPED

Array = NDArray[np.float64]


def plan_simulations(
    mechanism: Mechanism,
    names: Collection[str],
    *,
    start: Mapping[str, float] | Start | None = None,
    t_end: float | str | None = None,
    step: float | str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    formulation: Any = "augmented",
    stabilization: Any = "projection",
    integrator: Any = "auto",
) -> Plan | str:
    """Return what simulations with other values of these parameters have in common; or why each goes its own way."""
    begin = start if isinstance(start, Start) else Start(start)
    if begin.keep or begin.weights != "mass" or begin.resume is not None:
        return "start"
    settings = _settle(mechanism, t_end, step, rtol, atol)
    by = integrator if isinstance(integrator, Integrator) else Integrator(integrator)
    how = choose(formulation, stabilization, by.method, settings.t_end)
    if reason := why_alone(mechanism, names, how):
        return reason
    has_values = bool(begin.values) or not {*names} <= {*mechanism.model.parameters}
    if has_values and mechanism.equations.chart.body is not None:
        return "start"
    form = form_of(mechanism, how, compile_form(mechanism, how, "mass", None))
    key = "problem", how.formulation, how.stabilization, form.method, "mass"
    problem = mechanism.shared.compiled(key, lambda _: problem_of(form))
    times = report_times(0.0, settings.t_end, settings.step)
    stops = mechanism.equations.switching_times(settings.t_end)
    control = _limit_steps(settings, by.longest, None)
    return Plan(mechanism, form, problem, control, times, stops, by.max_steps, begin.assemble)


def plan_kinematics(
    mechanism: Mechanism,
    names: Collection[str],
    *,
    t_end: float | str | None = None,
    step: float | str | None = None,
    max_steps: int = MOST_STEPS,
    assemble: bool = False,
) -> Plan | str:
    """Return the same of motions that drivers prescribe."""
    settings = mechanism.model.simulation.changed(t_end, step)
    if reason := why_alone(mechanism, names, PREDICTED):
        return reason
    code: System = mechanism.shared.compiled(("driven",), compile_driven)
    local = mechanism.system(LOCAL)
    system = code.with_values(code.equations.with_values({**mechanism.equations.parameters, ARM: 1.0, MASS: 1.0}))
    form = form_of(mechanism, PREDICTED, system)
    problem = mechanism.shared.compiled(("problem", "driven"), lambda _: problem_of(form))

    def complete(values: Array) -> None:
        """Put ARM and MASS where they stand, behind the parameters of the mechanism; see `Driven.begin_at`."""
        own = np.ascontiguousarray(values[:, :-2])
        q = evaluate_rows(local.functions["start"], own, own)[:, : local.n_q]
        stated = Places(local.equations, local.functions, own, local.p_of_rows(own), q, np.zeros((len(q), local.n_v)))
        inertia = stated.diagonal / np.where(local.equations.turning, stated.length[:, None] ** 2, 1.0)
        largest = inertia.max(axis=1, initial=0.0)
        values[:, -2], values[:, -1] = stated.length, np.where(largest > 0.0, largest, 1.0)

    times = report_times(0.0, settings.t_end, settings.step)
    stops = mechanism.equations.switching_times(settings.t_end)
    control = Settings(settings.rtol, settings.atol, NEGLIGIBLE * settings.t_end)
    common = mechanism, form, problem, control, times, stops, max_steps, assemble
    return Plan(*common, True, complete, compile_driven_start)


def compile_driven_start(e: Equations) -> System:
    """Return equations in which driven motions are closed, in their metric."""
    return compile_system(in_metric(e), BASIC, loaded=e)


def why_alone(mechanism: Mechanism, names: Collection[str], how: Choice) -> str:
    """Return the reason why motions must be simulated one by one, or an empty text."""
    model, e = mechanism.model, mechanism.equations
    if how.formulation != "augmented" or how.implicit or how.has_fixed_steps:
        return "method"
    if mechanism.unplaced is not None:
        return "start"
    if model.functions or model.signals:
        return "signals"
    if any(event.at_start or event.is_level for event in e.events):
        return "events"
    if e.hints.chain is not None:
        return "size"
    if not {*names}.isdisjoint(str(x.value) for x in ordered(e._switching[0]) if x.op == "symbol"):
        return "times"
    return ""


class Soundness:
    """Which values of these parameters are sound, of all points at once where checks find all of them alike."""

    def __init__(self, mechanism: Mechanism, names: Sequence[str], settings: Simulation) -> None:
        self.mechanism, self.names, self.settings = mechanism, names, settings
        uses, model = mechanism.shared.uses, mechanism.model
        part, varied = uses.dependent(model, names), {*map(symbol, names)}
        self.bodies: Sequence[Any] = part.bodies
        self.elements: Sequence[Any] = (*part.joints, *part.forces)
        self.formulas = uses.formulas(model, names).nodes
        laws = ordered([as_expr(x) for _, x in formulas_in(part, ("drivers",))])
        self.is_simple = not (part.events or part.signals or part.stated or not varied.isdisjoint(laws))

    def refuses(self, values: Array) -> NDArray[np.bool_]:
        """Return, for each row of values of these parameters, whether the model is unsound with them."""
        at, refused = Rows(self.mechanism.model.parameters, self.names, values), np.ones(len(values), dtype=bool)
        try:
            if self.is_simple and not any(fault for element in self.elements for fault in element.faults(at)):
                return ~np.isfinite(at.columns(*self.formulas, *map(symbol, self.names))).all(axis=1) | self.heavy(at)
        except Undecided:
            pass
        for k, row in enumerate(values.tolist()):
            with suppress(LinkworkError):
                changed = self.mechanism.changed(dict(zip(self.names, row, strict=True)))
                check_span(changed.model, self.settings)
                refused[k] = False
        return refused

    def heavy(self, at: Rows) -> NDArray[np.bool_]:
        """Return whether bodies have masses and moments of inertia that no body has."""
        refused = np.zeros(at.count, dtype=bool)
        for body in self.bodies:
            refused |= (at.columns(body.mass) < 0.0).any(axis=1)
            if isinstance(body, PlanarBody):
                refused |= (at.columns(body.J) < 0.0).any(axis=1)
            else:
                refused |= are_no_moments(at.columns(*(x for row in body.J for x in row)), at.columns(*body.inertia))
                refused |= ~(np.abs(np.linalg.norm(at.columns(*body.orientation), axis=1) - 1.0) <= TYPED)
        return refused


class Undecided(Exception):
    """What is asked has not the same answer for all points."""


def _undecided(*_: Any) -> Any:
    raise Undecided


class Spread:
    """The values of a number at all points: compared where all agree; it does nothing else that a number does."""

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _undecided
    __pow__ = __rpow__ = __neg__ = __abs__ = __float__ = __bool__ = __eq__ = __ne__ = _undecided
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: Array) -> None:
        self.values = values

    def _agree(self, compare: Callable[[Any, Any], Any], other: Any) -> bool:
        found = compare(self.values, other.values if isinstance(other, Spread) else other)
        return bool(found.all()) if found.all() or not found.any() else bool(_undecided())

    def __lt__(self, other: Any) -> bool:
        return self._agree(np.less, other)

    def __le__(self, other: Any) -> bool:
        return self._agree(np.less_equal, other)

    def __gt__(self, other: Any) -> bool:
        return self._agree(np.greater, other)

    def __ge__(self, other: Any) -> bool:
        return self._agree(np.greater_equal, other)


class Rows:
    """The numbers of a model at many points, rows of values of parameters with these names."""

    def __init__(self, parameters: Mapping[str, float], names: Sequence[str], values: Array) -> None:
        self.count, self.known = len(values), dict[Expr, Any]()
        self.known |= {symbol(name): x for name, x in parameters.items()}
        self.known |= {symbol(name): column for name, column in zip(names, values.T, strict=True)}

    def columns(self, *wanted: Expr | float) -> Array:
        found = evaluate(map(as_expr, wanted), self.known, numpy_arithmetic())
        return np.column_stack([np.broadcast_to(x, self.count) for x in (*found, 0.0)])[:, :-1]

    def value(self, x: Expr | float) -> Any:
        (found,) = evaluate([as_expr(x)], self.known, numpy_arithmetic())
        return Spread(found) if np.ndim(found) else float(found)

    def is_constant(self, x: Expr | float) -> bool:
        return not any(node.op == "symbol" and node not in self.known for node in ordered([as_expr(x)]))
