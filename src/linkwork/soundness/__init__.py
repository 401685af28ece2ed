"""What a model must satisfy before any equation is formed: physical data, topology, driver functions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.elements.bodies import PlanarBody, SpatialBody, measures_of
from linkwork.elements.drivers import Driver
from linkwork.elements.loads import Force
from linkwork.elements.rolling import VelocityConstraint
from linkwork.elements.signals import find_loop, formulas_of, resolve
from linkwork.errors import ModelError, did_you_mean, option, quoted
from linkwork.expressions.derivatives import directional, jacobian
from linkwork.expressions.evaluation import evaluate, numpy_arithmetic, ordered, substitute
from linkwork.expressions.graph import ONE, Expr, as_expr, cos, symbol
from linkwork.expressions.guards import switch
from linkwork.model import Model, Simulation
from linkwork.native.enclosing import are_all_bounded, find_all_zeros
from linkwork.notes import Note
from linkwork.records import kept
from linkwork.soundness.events import event_faults
from linkwork.soundness.numbers import Formulas, numbers_in
from linkwork.soundness.signals import signal_faults
from linkwork.soundness.types import type_faults
from linkwork.tolerances import AGREEMENT, HALF_THE_DIGITS, TYPED

TIME = symbol("t")
# Symbols beside those of coordinates: multipliers, small changes, what a system adds.
RESERVED = ("lam", "d", "eps", "mobility", "factor", "chart", "work", "in", "pivot")
SAMPLES = 4001  # of a motion, at which its values are looked at
NEXT_TO = 1e-9 * np.array([-3.0, -1.0, 1.0, 3.0])  # of the time of a motion: just before and after a switch
# A radius of gyration this many times the distance of the farthest point is a mix-up of units, not a flywheel.
FARTHEST_GYRATION = 100.0


@np.errstate(all="ignore")  # what is not finite is looked for where it matters
def look_at(model: Model, values: Mapping[Expr, float] | None = None, formulas: Formulas | None = None) -> Checks:
    """Find what there is to say about a sound model; ModelError with every fault if there is any.

    `values` are those of its parameters, if their symbols are known already, and `formulas` what must be finite.
    """
    named = {symbol(name): number for name, number in model.parameters.items()} if values is None else values
    checks = Checks(model, named)
    errors = list(type_faults(model)) or list(name_faults(model)) if formulas is None else []
    if not errors:
        wanted = Formulas(numbers_in(model, named), named) if formulas is None else formulas
        errors = list(checks.undefined(wanted)) or list(checks.faults())
    if errors:
        raise ModelError.together(errors)
    return checks


def name_faults(model: Model) -> Iterator[ModelError]:
    """Find names that stand for several elements, and elements whose bodies are not in the model."""
    bodies = [model.ground.name, *(body.name for body in model.bodies)]
    kinds: dict[str, Any] = {kind: getattr(model, kind) for kind in ("joints", "drivers", "forces", "actuators")}
    named = {"bodies": bodies, **{kind: [element.name for element in kinds[kind]] for kind in kinds}}
    for kind, names in named.items():
        for name, count in Counter(names).items():
            if count > 1:
                message = f"{count} {kind} have the name '{name}'"
                yield ModelError(message, "duplicate-name", path=f"{kind}.{name}", rule="names are unique")
    for name in {*named["forces"]}.intersection(named["actuators"]):
        message = f"'{name}' is also the name of a force"
        yield ModelError(message, "duplicate-name", path=f"actuators.{name}", rule="results call both by their names")
    known = {*bodies}
    for kind, elements in kinds.items():
        for element in elements:
            for body in element.bodies:
                if body.name not in known:
                    hint = did_you_mean(body.name, known)
                    message = f"the model has no body '{body.name}'"
                    yield ModelError(message, "unknown-body", path=f"{kind}.{element.name}", suggestion=hint)


def sound(model: Model) -> Model:
    """Return the model; ModelError with every fault if there is any."""
    return look_at(model).model


def check_span(model: Model, simulation: Simulation) -> None:
    """Raise ModelError where laws or tables of drivers do not do for another span: no other fault depends on it."""
    if simulation.t_end != model.simulation.t_end and model.drivers:
        checks = Checks(replace(model, simulation=simulation), {symbol(k): x for k, x in model.parameters.items()})
        if errors := [error for driver in model.drivers for error in checks.motion(driver)]:
            raise ModelError.together(errors)


@dataclass(frozen=True, eq=False)
class Unusual:
    """Notes on what is no fault but seldom meant: about bodies, by name, and about the structure of a model."""

    bodies: Mapping[str, Note | None]
    structure: tuple[Note, ...]

    def changed(self, part: Checks) -> Unusual:
        """Return the same with other values of these bodies."""
        return Unusual({**self.bodies, **part.notes_on_bodies()}, self.structure)

    def told(self, model: Model) -> tuple[Note, ...]:
        """Return all notes on the model, in its order, each once."""
        return tuple(dict.fromkeys((*model.notes, *filter(None, self.bodies.values()), *self.structure)))


@dataclass(frozen=True, eq=False)
class Checks:
    model: Model
    values: Mapping[Expr, float]

    def unusual(self) -> Unusual:
        return Unusual(self.notes_on_bodies(), tuple(self.notes_on_structure()))

    @kept
    def numbers(self) -> dict[Expr, float]:
        """Return formulas that have been asked for, beside the parameters."""
        return {**self.values}

    def value(self, x: Expr | float) -> float:
        if not isinstance(x, Expr):
            return float(x)
        if x.is_constant:
            return x.number
        if x not in self.numbers:
            self.numbers[x] = float(evaluate([x], self.numbers)[0])
        return self.numbers[x]

    def is_constant(self, x: Expr | float) -> bool:
        return not any(node.op == "symbol" and node not in self.values for node in ordered([as_expr(x)]))

    def undefined(self, formulas: Formulas) -> Iterator[ModelError]:
        """Return numbers and formulas without a finite value."""
        self.numbers.update(formulas.evaluate(self.values.values()))
        for x, path in formulas.paths.items():
            if not math.isfinite(value := self.value(x)):
                yield ModelError(f"{value} is not a finite number", "not-finite", path=path)

    def faults(self) -> Iterator[ModelError]:
        for body in self.model.bodies:
            if " " in body.name and body.name.split(" ")[0] in RESERVED:
                message = f"'{body.name}' begins with a word that the equations use themselves"
                rule = f"no name begins with {', '.join(RESERVED)} and a space"
                yield ModelError(message, "reserved-name", path=f"bodies.{body.name}", rule=rule)
            yield from self.mass(body)
        for kind in ("joints", "forces", "drivers", "actuators"):
            for element in getattr(self.model, kind):
                yield from (fault.at(within=f"{kind}.{element.name}") for fault in element.faults(self))
        for joint in self.model.joints:
            if isinstance(joint, VelocityConstraint):
                yield from self.affine(joint)
        for driver in self.model.drivers:
            yield from self.motion(driver)
        yield from signal_faults(self.model, self.value)
        yield from event_faults(self.model, self.value)
        for name in self.model.open - {name for event in self.model.events for name in event.engage}:
            message = f"joint '{name}' is open and no event engages it"
            yield ModelError(message, "never-engaged", path=f"joints.{name}.open", suggestion="leave it out")
        if self.model.stated is not None:
            from linkwork.soundness.stated import stated_faults

            yield from stated_faults(self.model.stated, self.model.parameters)

    def affine(self, joint: VelocityConstraint) -> Iterator[ModelError]:
        """Find a velocity constraint without velocities, or one that is not linear in them."""
        speeds = {x: unit for body in self.model.bodies for x, unit in measures_of(body) if unit.endswith("/s")}
        stated, path = formulas_of(self.model.inputs, self.model.outputs), f"joints.{joint.name}.formula"
        if find_loop(stated):  # which is a fault of its own
            return
        A = jacobian(substitute([as_expr(joint.formula)], resolve(stated, {})), [*speeds])
        if not A:
            hint = "name velocities of bodies or points, such as cart.vx or cart.A.vx"
            message = "no velocity stands in the constraint, so that it holds nothing"
            yield ModelError(message, "no-velocity", path=path, suggestion=hint)
        if wrong := [str(node.value) for node in ordered(A.values()) if node in speeds]:
            message, rule = f"the constraint is not linear in {quoted(wrong)}", "it is A(t, q) v + b(t, q)"
            yield ModelError(message, "not-affine", path=path, rule=rule)

    def mass(self, body: PlanarBody | SpatialBody) -> Iterator[ModelError]:
        path = f"bodies.{body.name}"
        if (mass := self.value(body.mass)) < 0:
            yield ModelError(f"mass {mass:g} kg is negative", "negative-mass", path=f"{path}.mass", value=mass)
        path = f"{path}.inertia"
        if isinstance(body, PlanarBody):
            if (J := self.value(body.J)) < 0:
                about = " about the mass centre" if body.inertia_about is not None else ""
                yield ModelError(f"inertia {J:g} kg m^2{about} is negative", "negative-inertia", path=path, value=J)
            return
        principal = np.linalg.eigvalsh([[self.value(x) for x in row] for row in body.J])
        rounding = AGREEMENT * (abs(principal).max() + max(abs(self.value(x)) for x in body.inertia))
        shown = ", ".join(f"{x:.6g}" for x in principal)
        about = " about the mass centre" if body.inertia_about is not None else ""
        if principal[0] < -rounding:
            message = f"principal moments {shown}{about}: {principal[0]:.6g} < 0"
            yield ModelError(message, "negative-inertia", path=path, value=principal.tolist())
        elif principal[0] + principal[1] < principal[2] - rounding:
            message = (
                f"principal moments {shown}{about}: {principal[0]:.6g} + {principal[1]:.6g} < {principal[2]:.6g},"
                " but no moment can exceed the sum of the other two"
            )
            hint = f"correct it, or take the nearest possible one with {option('repair', 'inertia')}"
            yield ModelError(message, "inertia-triangle", path=path, value=principal.tolist(), suggestion=hint)
        length = float(np.linalg.norm([self.value(x) for x in body.orientation]))
        if not abs(length - 1) <= TYPED:
            message = f"Euler parameters have length {length:.9g}"
            yield ModelError(message, "not-unit", path=f"bodies.{body.name}.orientation", rule="it must be 1")

    def motion(self, driver: Driver) -> Iterator[ModelError]:
        """Find values or accelerations of a driver that are not finite, and jumps."""
        path = f"drivers.{driver.name}.motion"
        motion, t_end = driver.motion, self.model.simulation.t_end
        own = [fault.at(within=path) for fault in motion.faults(self, t_end)]
        yield from own
        if not (own or motion.is_smooth) and t_end > 0:
            law = as_expr(motion.f(TIME))
            given = tuple((node, float(self.values[node])) for node in ordered([law]) if node in self.values)
            for message, code, rule, hint in law_faults(law, given, t_end):
                yield ModelError(message, code, path=path, rule=rule, suggestion=hint)

    def notes_on_bodies(self) -> dict[str, Note | None]:
        return {body.name: self.note_on(body) for body in self.model.bodies}

    def note_on(self, body: PlanarBody | SpatialBody) -> Note | None:
        mass = self.value(body.mass)
        own = [row[k] for k, row in enumerate(body.J)] if isinstance(body, SpatialBody) else (body.J,)
        moments = [self.value(x) for x in own]
        if mass == 0 or 0 in moments:
            what, is_point = "mass" if mass == 0 else "inertia", mass > 0 and not any(moments)
            return Note("zero-mass", body=body.name, what=what, is_point=is_point)
        radius = math.sqrt(max(moments) / mass)
        reach = 0.0
        for s in body.points.values():
            reach = max(reach, math.dist([self.value(x) for x in s], [self.value(x) for x in body.mass_centre]))
            if radius <= FARTHEST_GYRATION * reach:
                return None
        return Note("inertia-scale", body=body.name, radius=radius, reach=reach) if reach else None

    def notes_on_structure(self) -> Iterator[Note]:
        for joint in self.model.joints:
            yield from joint.notes()
        for force in self.model.forces:
            i, *j = [body.name for body in force.bodies]
            if j == [i] or (not j and i == self.model.ground.name):
                yield Note("no-effect", force=force.name, body=i)
            yield from force.notes()
        can_open = {*self.model.open, *(name for event in self.model.events for name in event.release)}
        acting: tuple[Driver | Force, ...] = (*self.model.drivers, *self.model.forces)
        for element in acting:
            if (of := getattr(element, "joint", None)) is not None and of.name in can_open:
                yield Note("acts-while-open", element=element.name, joint=of.name)
        if loose := self.model.not_connected:
            yield Note("not-connected", bodies=loose)


def are_no_moments(J: NDArray[np.float64], stated: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for many inertias of six stated entries whether no body has these moments; see `Checks.mass`."""
    known = np.where(np.isfinite(J), J, 0.0).reshape(-1, 3, 3)
    p = np.linalg.eigvalsh(known)
    rounding = AGREEMENT * (np.abs(p).max(axis=1) + np.abs(stated).max(axis=1))
    return np.asarray((p[:, 0] < -rounding) | (p[:, 0] + p[:, 1] < p[:, 2] - rounding))


@lru_cache(maxsize=256)  # a run with other values often has the same laws
def law_faults(law: Expr, given: tuple[tuple[Expr, float], ...], t_end: float) -> list[tuple[str, str, str, str]]:
    """Return message, code, rule and suggestion where the value or speed of a law jumps, or something is not finite.

    Value and speed are to be continuous wherever an operation switches or divides, and the acceleration finite.
    """
    switches, rates = _rates(law)
    has_powers = any(node.op == "pow" for node in ordered([law]))  # with values in a part of what bounds them only
    if not has_powers and are_all_bounded(rates, TIME, dict(given), t_end):
        return []  # with bounded slopes nothing jumps
    t = np.linspace(0, t_end, SAMPLES)
    beside = np.add.outer(np.array(find_all_zeros(switches, TIME, dict(given), t_end)), NEXT_TO * t_end)
    sampled = _sample(rates, given, t)
    nearby = _sample(rates[:2], given, np.clip(beside, 0.0, t_end))  # before and after the motion there is none
    for what, values, around in zip_longest(("value", "speed", "acceleration"), sampled, nearby, fillvalue=beside[:0]):
        if not np.isfinite(values).all():
            first = t[~np.isfinite(values)][0]
            return [(f"the {what} is not finite at t = {first:.6g}", "motion-not-finite", "", "")]
        # Across a jump the difference is not the mean of the differences before and after; elsewhere it is.
        reach = np.ptp(np.append(values, around[np.isfinite(around)])) + abs(values[0])
        for time, (before, jump, after) in zip(beside.mean(axis=1), np.diff(around), strict=False):
            if not np.isfinite(jump):
                return [(f"the {what} is not finite at t = {time:.6g}", "motion-not-finite", "", "")]
            if abs(jump - 0.5 * (before + after)) > HALF_THE_DIGITS * reach:
                message = f"the {what} jumps by {jump:.6g} at t = {time:.6g}"
                rule, hint = "the acceleration would be infinite", "use a motion of type smooth-step or ramp"
                return [(message, "motion-jump", rule, hint)]
    return []


@lru_cache(maxsize=256)
def _rates(law: Expr) -> tuple[list[Expr], tuple[Expr, Expr, Expr]]:
    """Return where operations of a law may jump or bend, as zeros of these, and the law with its rates."""
    (speed,) = directional([law], {TIME: ONE})
    (acceleration,) = directional([speed], {TIME: ONE})
    return [g for node in ordered([law]) if (g := _switch(node)) is not None], (law, speed, acceleration)


def _sample(
    functions: Sequence[Expr], given: Iterable[tuple[Expr, float]], t: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Return functions of time at many times."""
    with np.errstate(all="ignore"):
        found = evaluate(functions, {**dict(given), TIME: t}, numpy_arithmetic())
    return [np.broadcast_to(np.asarray(values, dtype=float), t.shape) for values in found]


def _switch(node: Expr) -> Expr | None:
    """Return the expression at whose zeros an operation may jump or bend, poles and ends of roots included."""
    if node.op == "div":
        return node.args[1]
    if node.op in ("asin", "acos", "sqrt", "pow"):  # where the argument turns back, as in asin(sin(t))
        return directional([node.args[0]], {TIME: ONE})[0]
    return cos(node.args[0]) if node.op == "tan" else switch(node)
