"""What a model must satisfy before any equation is formed: physical data, topology, driver functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from linkwork.elements.bodies import PlanarBody, SpatialBody
from linkwork.elements.drivers import Driver
from linkwork.elements.joints import AxisPair, Distance, Gear, Rolling
from linkwork.elements.motions import Law, Ramp, SmoothStep, Table
from linkwork.errors import ModelError
from linkwork.expressions.derivatives import directional
from linkwork.expressions.evaluation import evaluate, numpy_arithmetic, ordered
from linkwork.expressions.graph import ONE, Expr, cos, symbol
from linkwork.model import Model

TIME = symbol("t")
UNIT_TOLERANCE = 1e-6
# A radius of gyration this many times the distance of the farthest point is a mix-up of units, not a flywheel.
FARTHEST_GYRATION = 100.0


def sound(model: Model) -> Model:
    """The model; ModelError with every fault if there is any."""
    errors = list(_Checks(model).faults())
    if errors:
        raise ModelError.together(errors)
    return model


def unusual(model: Model) -> tuple[str, ...]:
    """Notes on what is no fault but seldom meant."""
    return tuple(dict.fromkeys((*model.notes, *_Checks(model).notes())))


@dataclass(frozen=True)
class _Checks:
    model: Model

    @cached_property
    def values(self) -> dict[Expr, Any]:
        return {symbol(name): number for name, number in self.model.parameters.items()}

    def value(self, x: Expr | float) -> float:
        return float(evaluate([x], self.values)[0]) if isinstance(x, Expr) else float(x)

    def faults(self) -> Iterator[ModelError]:
        for body in self.model.bodies:
            yield from self.mass(body)
        for joint in self.model.joints:
            path = f"joints.{joint.name}"
            if joint.body_i is joint.body_j:
                message = f"joins body '{joint.body_i.name}' to itself"
                yield ModelError(message, "same-body", path=path, value=joint.body_i.name)
            if isinstance(joint, AxisPair) and not any(self.value(x) for x in joint.axis):
                yield ModelError(
                    "the axis has length zero", "zero-axis", path=f"{path}.axis", suggestion="write [1, 0]"
                )
            yield from self.sizes(path, joint)
        for driver in self.model.drivers:
            yield from self.motion(driver)

    def mass(self, body: PlanarBody | SpatialBody) -> Iterator[ModelError]:
        path = f"bodies.{body.name}"
        if (mass := self.value(body.mass)) < 0:
            yield ModelError(f"mass {mass:g} kg is negative", "negative-mass", path=f"{path}.mass", value=mass)
        path = f"{path}.inertia"
        if isinstance(body, PlanarBody):
            if (J := self.value(body.inertia)) < 0:
                yield ModelError(f"inertia {J:g} kg m^2 is negative", "negative-inertia", path=path, value=J)
            return
        xx, yy, zz, xy, yz, zx = (self.value(x) for x in body.inertia)
        principal = np.linalg.eigvalsh([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
        rounding = 1e-9 * abs(principal).max()
        shown = ", ".join(f"{x:.6g}" for x in principal)
        if principal[0] < -rounding:
            message = f"principal moments {shown}: one is negative"
            yield ModelError(message, "negative-inertia", path=path, value=principal.tolist())
        elif principal[0] + principal[1] < principal[2] - rounding:
            message = f"principal moments {shown}: no mass distribution has one above the sum of the others"
            yield ModelError(message, "inertia-triangle", path=path, value=principal.tolist())
        length = float(np.linalg.norm([self.value(x) for x in body.orientation]))
        if abs(length - 1) > UNIT_TOLERANCE:
            message = f"Euler parameters have length {length:.9g}"
            yield ModelError(message, "not-unit", path=f"bodies.{body.name}.orientation", rule="their length is 1")

    def sizes(self, path: str, joint: object) -> Iterator[ModelError]:
        """Lengths and radii are positive."""
        sizes: dict[str, Expr | float] = {}
        if isinstance(joint, Distance):
            sizes = {"length": joint.rod_length}
        elif isinstance(joint, Rolling):
            sizes = {"radius": joint.radius}
        elif isinstance(joint, Gear):
            sizes = {"radius_i": joint.radius_i, "radius_j": joint.radius_j}
        for name, size in sizes.items():
            if not (metres := self.value(size)) > 0:
                message = f"{metres:g} m is not a {name.split('_')[0]}"
                yield ModelError(message, "not-positive", path=f"{path}.{name}", value=metres, rule="it is above zero")

    def motion(self, driver: Driver) -> Iterator[ModelError]:
        """Drivers have finite values and finite accelerations."""
        path = f"drivers.{driver.name}.motion"
        motion, t_end = driver.motion, self.model.simulation.t_end
        if isinstance(motion, Table):
            yield from _table_faults(motion, path, t_end)
        elif isinstance(motion, SmoothStep | Ramp):
            if not self.value(motion.t_start) < self.value(motion.t_end):
                yield ModelError("t_end does not follow t_start", "motion-times", path=path)
        elif isinstance(motion, Law) and t_end > 0:
            used = [node for node in ordered([motion.expression]) if node in self.values]
            given = tuple((node, float(self.values[node])) for node in used)
            for message, code, rule, hint in law_faults(motion.expression, given, t_end):
                yield ModelError(message, code, path=path, rule=rule, suggestion=hint)

    def notes(self) -> Iterator[str]:
        for body in self.model.bodies:
            mass = self.value(body.mass)
            moments = [self.value(x) for x in (body.inertia if isinstance(body, SpatialBody) else (body.inertia,))][:3]
            if mass == 0 or 0 in moments:
                what = "mass" if mass == 0 else "inertia"
                yield f"body '{body.name}' has no {what}: only formulations for singular M accept it [zero-mass]"
                continue
            radius = float(np.sqrt(max(moments) / mass))
            reach = max((float(np.hypot.reduce([self.value(x) for x in s])) for s in body.points.values()), default=0.0)
            if reach and radius > FARTHEST_GYRATION * reach:
                yield (
                    f"body '{body.name}' has a radius of gyration of {radius:.3g} m, its farthest point is at"
                    f" {reach:.3g} m; are the units right? [inertia-scale]"
                )
        for joint in self.model.joints:
            if isinstance(joint, Gear) and joint.carrier.name in (joint.body_i.name, joint.body_j.name):
                yield (
                    f"'{joint.carrier.name}' is a gear of '{joint.name}' and its carrier, so the other cannot turn;"
                    " the carrier is the body that holds the centres of both [own-carrier]"
                )
        for force in self.model.forces:
            i, *j = [body.name for body in cast(Any, force).bodies]
            if j == [i] or (not j and i == self.model.ground.name):
                yield f"force '{force.name}' acts on '{i}' alone and moves nothing [no-effect]"
        if loose := self.not_connected():
            names = ", ".join(f"'{name}'" for name in loose)
            yield f"no joints connect {names} to the ground [not-connected]"

    def not_connected(self) -> list[str]:
        neighbours: dict[str, set[str]] = {}
        for joint in self.model.joints:
            for body in joint.bodies if joint.rows else ():
                neighbours.setdefault(body.name, set()).update(other.name for other in joint.bodies)
        reached, front = {self.model.ground.name}, [self.model.ground.name]
        while front:
            new = neighbours.get(front.pop(), set()) - reached
            reached |= new
            front.extend(new)
        return [body.name for body in self.model.bodies if body.name not in reached]


@lru_cache(maxsize=256)  # a run with other values often has the same laws
def law_faults(law: Expr, given: tuple[tuple[Expr, float], ...], t_end: float) -> list[tuple[str, str, str, str]]:
    """Message, code, rule and suggestion where the value or speed of a law jumps, or something is not finite.

    Value and speed are to be continuous wherever an operation switches or divides, and the acceleration finite.
    """

    def at(f: Expr, t: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(all="ignore"):
            result = evaluate([f], {**dict(given), TIME: t}, numpy_arithmetic())[0]
        return np.broadcast_to(np.asarray(result, dtype=float), t.shape)

    switches = [g for node in ordered([law]) if (g := _switch(node)) is not None]
    t = np.linspace(0, t_end, 4001)
    times = [time for g in switches for time in _crossings(partial(at, g), t)]
    speed = directional([law], {TIME: ONE})[0]
    for what, f in (("value", law), ("speed", speed), ("acceleration", directional([speed], {TIME: ONE})[0])):
        values = at(f, t)
        if not np.isfinite(values).all():
            first = t[~np.isfinite(values)][0]
            return [(f"the {what} is not finite at t = {first:.6g}", "motion-not-finite", "", "")]
        # Across a jump the difference is not the mean of the differences before and after; elsewhere it is.
        near = np.array([-3.0, -1.0, 1.0, 3.0]) * 1e-9 * t_end
        around = at(f, np.add.outer(np.array(times), near)) if what != "acceleration" else np.empty((0, 4))
        for time, (before, jump, after) in zip(times, np.diff(around), strict=False):
            if not np.isfinite(jump):
                return [(f"the {what} is not finite at t = {time:.6g}", "motion-not-finite", "", "")]
            if abs(jump - 0.5 * (before + after)) > 1e-8 * (np.ptp(values) + abs(values[0])):
                message = f"the {what} jumps by {jump:.6g} at t = {time:.6g}"
                rule, hint = "the acceleration would be infinite", "use a motion of type smooth-step or ramp"
                return [(message, "motion-jump", rule, hint)]
    return []


def _table_faults(table: Table, path: str, t_end: float) -> Iterator[ModelError]:
    times = np.asarray(table.times)
    if len(times) != len(table.values):
        message = f"{len(times)} times but {len(table.values)} values"
        yield ModelError(message, "table-length", path=path)
    elif len(times) < 2:
        yield ModelError("a table needs two points or more", "table-length", path=path)
    elif (np.diff(times) <= 0).any():
        k = int(np.argmax(np.diff(times) <= 0))
        message = f"time {times[k + 1]:g} follows {times[k]:g}"
        yield ModelError(message, "table-order", path=f"{path}.times[{k + 1}]", rule="times increase")
    elif times[0] > 0 or times[-1] < t_end:
        message = f"the table covers {times[0]:g} to {times[-1]:g} s, the simulation 0 to {t_end:g} s"
        yield ModelError(message, "table-range", path=path, rule="tables are not continued beyond their ends")
    elif not table.pieces:
        message = "no smooth curve of finite slope leads through its points"
        yield ModelError(message, "motion-not-finite", path=path, suggestion="check times and values")


def _switch(node: Expr) -> Expr | None:
    """The expression at whose zeros an operation may jump or bend."""
    if node.op in ("lt", "le", "min", "max"):
        return node.args[0] - node.args[1]
    if node.op in ("sign", "abs", "atan2"):
        return node.args[0]
    if node.op == "div":
        return node.args[1]
    if node.op in ("asin", "acos", "sqrt", "pow"):  # where the argument turns back, as in asin(sin(t))
        return directional([node.args[0]], {TIME: ONE})[0]
    return cos(node.args[0]) if node.op == "tan" else None


def _crossings(g: Callable[[NDArray[np.float64]], NDArray[np.float64]], t: NDArray[np.float64]) -> list[float]:
    """Times within the grid at which g changes sign, by bisection of all of them at once."""
    signs = np.sign(g(t))
    k = np.flatnonzero(signs[:-1] != signs[1:])[:1000]
    a, b, left = t[k], t[k + 1], signs[k]
    for _ in range(60 if len(k) else 0):
        middle = 0.5 * (a + b)
        stays = np.sign(g(middle)) == left
        a, b = np.where(stays, middle, a), np.where(stays, b, middle)
    return [float(time) for time in b if 0 < time < t[-1]]
