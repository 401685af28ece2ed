"""What the pins of gears carry because teeth push at the pitch point.

The constraint of a gear knows angles alone: its multiplier turns both gears and the carrier by couples about the axes.
The teeth do the same with a force f on gear i at the pitch point P, and -f on gear j; then the pins hold the gears
against f, and what they hand on to the carrier is the couple that turns it. f = -lam t, where t is perpendicular to the
axes and turns gear i forwards. A gear whose centre no pins show is left out with its partner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from linkwork.elements.joints import Gear, Revolute
from linkwork.elements.pairs import unit
from linkwork.elements.spatial import Cylindrical, SpatialGear, SpatialRevolute
from linkwork.elements.vectors import SHORTEST, Vector, norm
from linkwork.expressions.graph import ONE, Expr, absolute, as_expr, cos, less, maximum, select, sign, sin, sqrt
from linkwork.tolerances import NEGLIGIBLE, TYPED


class Carried(NamedTuple):
    """What a joint carries beside what its constraints show, on body j: a force, in space also a torque."""

    force: Vector
    torque: Vector = Vector(())

    def and_also(self, other: Carried) -> Carried:
        return Carried(self.force + other.force, self.torque + other.torque)


def carried_by_pins(
    joints: Sequence[Any], lam_of: Mapping[str, Sequence[Expr]], frames: Mapping[str, Any]
) -> dict[str, Carried]:
    """Return, by pins and by gears in space, the force of the teeth that their reaction carries."""
    carried: dict[str, Carried] = {}
    for gear in (joint for joint in joints if isinstance(joint, Gear | SpatialGear)):
        chains = [_pins(joints, body.name, gear.carrier.name) for body in (gear.body_i, gear.body_j)]
        if not all(chains):
            continue
        centres = [frames[pin.body_j.name].point(pin.s_j) for (pin, _), *_ in chains]
        lam = lam_of[gear.name][0]
        if isinstance(gear, Gear):
            f = _planar_force(gear, lam, *centres)
            found = {
                pin.name: Carried(force if held == pin.body_i.name else -force)
                for chain, force in zip(chains, (f, -f), strict=True)
                for pin, held in chain
            }
        else:
            found = _carried_in_space(gear, lam, chains, centres, frames)
        for name, own in found.items():
            carried[name] = carried[name].and_also(own) if name in carried else own
    return carried


def _planar_force(gear: Gear, lam: Expr, centre_i: Vector, centre_j: Vector) -> Vector:
    """Return f, at the pitch point R_i e from the centre of gear i, t = perp(e).

    e runs to the other centre, and away from it where gear i is the inner one of an internal pair. With a pressure
    angle the teeth also push |lam| tan(pressure_angle) towards the centre of a gear with outer teeth.
    """
    e = (centre_j - centre_i) / maximum(norm(centre_j - centre_i), SHORTEST)
    is_ring = sign(as_expr(gear.radius_i) - gear.radius_j) if gear.internal else -ONE
    if gear.internal:
        e = e * is_ring
    apart = as_expr(gear.pressure_angle)
    return -lam * e.perp() + absolute(lam) * sin(apart) / cos(apart) * is_ring * e


def _carried_in_space(
    gear: SpatialGear,
    lam: Expr,
    chains: Sequence[Sequence[tuple[Any, str]]],
    pins: Sequence[Vector],
    frames: Mapping[str, Any],
) -> dict[str, Carried]:
    """Return what a gear and its pins carry.

    Forces across the axes come with their moments, but for those about them.
    """
    i, j = frames[gear.body_i.name], frames[gear.body_j.name]
    axes = i.direction(unit(gear.axis)), j.direction(unit(gear.axis_j))
    points = i.point(gear.s_i), j.point(gear.s_j)
    C_i, C_j = (on + a * a.dot(point - on) for on, a, point in zip(pins, axes, points, strict=True))
    t, P = _mesh(gear, *axes, C_i, C_j)
    f = -lam * t

    def across(force: Vector, about: Vector, a: Vector) -> Carried:
        torque = (P - about).cross(force)
        return Carried(force, torque - a * a.dot(torque))

    carried = {gear.name: across(-f, points[1], axes[1])}
    for chain, force, a in zip(chains, (f, -f), axes, strict=True):
        for pin, held in chain:
            on_j = -force if held == pin.body_j.name else force
            carried[pin.name] = across(on_j, frames[pin.body_j.name].point(pin.s_j), a)
    return carried


def _mesh(gear: SpatialGear, a_i: Vector, a_j: Vector, C_i: Vector, C_j: Vector) -> tuple[Vector, Vector]:
    """Return t and the pitch point P, which the carrier holds; t is zero where the axes neither meet nor are parallel.

    Parallel axes: P = C_i + R_i e, t = a_i x e, with e towards C_j, or away from it if gear i is the inner one.
    Axes that meet in an apex at the angle beta: the pitch cones touch along g = (R_j a_i +- R_i a_j) / sin(beta), - for
    an internal pair, about which the gears turn against each other. P = apex + g, or apex - g where the centres are on
    that side, and R_i t = a_i x (P - apex).
    """
    R_i, side = as_expr(gear.radius), -1.0 if gear.internal else 1.0
    R_j, d, n = R_i * gear.teeth_j / gear.teeth_i, C_j - C_i, a_i.cross(a_j)
    between = d - a_i * a_i.dot(d)
    is_inside = less(side * a_i.dot(a_j), 0.0)  # also of external gears whose axes point in opposite directions
    e = between / maximum(norm(between), SHORTEST) * select(is_inside, sign(R_i - R_j), 1.0)
    sine = sqrt(maximum(n.dot(n), NEGLIGIBLE))
    apex = C_i + a_i * (d.cross(a_j).dot(n) / (sine * sine))
    g = (R_j * a_i + side * R_i * a_j) / sine
    side_of_centres = select(less(g.dot(C_i + C_j - apex - apex), -TYPED * R_i * R_i), -1.0, 1.0)
    k = side_of_centres * less(absolute(d.dot(n)), TYPED * R_i * sine)
    met = less(NEGLIGIBLE, n.dot(n))
    t = Vector(select(met, x, y) for x, y in zip(n * (side * k / sine), a_i.cross(e), strict=True))
    P = Vector(select(met, x, y) for x, y in zip(apex + g * k, C_i + R_i * e, strict=True))
    return t, P


def _pins(joints: Sequence[Any], gear: str, carrier: str) -> list[tuple[Any, str]]:
    """Return the pins that hold the centre of a gear to the carrier, with the body that each holds.

    It is one between the two, or two on the same axis of a third body, as for a sun that turns in the frame.
    """
    pins = [joint for joint in joints if isinstance(joint, Revolute | SpatialRevolute | Cylindrical)]

    def other(pin: Any, name: str) -> str | None:
        names = pin.body_i.name, pin.body_j.name
        return names[1 - names.index(name)] if name in names else None

    for pin in pins:
        if other(pin, gear) == carrier:
            return [(pin, gear)]
    for pin in pins:
        between = other(pin, gear)
        for second in pins:
            if between and other(second, between) == carrier and _have_one_axis(pin, second, between):
                return [(pin, gear), (second, between)]
    return []


def _have_one_axis(pin: Any, second: Any, body: str) -> bool:
    """Return whether two pins are on one axis of this body whatever the values of parameters."""
    is_i = [one.body_i.name == body for one in (pin, second)]
    place, other = (Vector(one.s_i if first else one.s_j) for one, first in zip((pin, second), is_i, strict=True))
    if isinstance(pin, Revolute):
        return place.components == other.components
    axes = [one.axis if first else one.axis_j for one, first in zip((pin, second), is_i, strict=True)]
    if None in axes:
        return False
    a, b = map(Vector, axes)
    crossed = *a.cross(b), *a.cross(other - place)
    return all(x.op == "constant" and x.number == 0.0 for x in crossed)
