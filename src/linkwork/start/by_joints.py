"""Start values by the names of joints, for all coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.elements.kinds import CountedAngle
from linkwork.elements.paths import is_path, path_coordinates, path_of
from linkwork.equations.coordinates import Coordinates
from linkwork.equations.equations import Equations
from linkwork.equations.place import Place
from linkwork.errors import ModelError, did_you_mean
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import as_expr, symbol
from linkwork.model import Model
from linkwork.start.closing import check_defined, close_from_afar, find_start, locate_bodies, restart
from linkwork.tolerances import AGREEMENT

Array = NDArray[np.float64]


def prepare_joints(model: Model, cut: Sequence[str] | None = None) -> Mechanism:
    """Return the mechanism in joint coordinates, or in its own if it states its equations."""
    return prepare(model, Coordinates("joint" if model.stated is None else None, cut))


def name_kinds(e: Equations) -> tuple[dict[str, str], dict[str, str]]:
    """Return the names of start values and rates, of joints and of bodies, with their kinds."""
    owners = (e,) if e.chart.body is None else (e, e.chart.body)
    return (
        {c.name: c.kind for x in owners for c in x.coordinates if not isinstance(c, CountedAngle)},
        {c.name: c.kind for x in owners for c in x.velocities},
    )


def place_stated(model: Model) -> Model:
    """Return the model from the start that its settings state; ModelError where its joints have no such coordinate."""
    settings = model.simulation
    bare = replace(model, simulation=replace(settings, start={}, rate={}))
    parameters = {symbol(name): value for name, value in model.parameters.items()}
    found: dict[str, dict[str, float]] = {}
    kinds = name_kinds(prepare_joints(bare).equations)
    for key, given, names in zip(("start", "rate"), (settings.start, settings.rate), kinds, strict=True):
        for name in given:
            if name not in names:
                closes = name.partition(".")[0] in (joint.name for joint in model.joints)
                raise ModelError(
                    f"joint '{name}' closes a loop and has no coordinate" if closes else f"no coordinate '{name}'",
                    "unknown-coordinate",
                    path=f"simulation.{key}.{name}",
                    value=name,
                    suggestion="cut another joint of the loop" if closes else did_you_mean(name, names),
                )
        values = evaluate([as_expr(x) for x in given.values()], parameters)
        found[key] = dict(zip(given, map(float, values), strict=True))
    return place_joints(bare, found["start"], found["rate"])


def place_joints(model: Model, q: Mapping[str, float], v: Mapping[str, float]) -> Model:
    """Return the model from a start with these coordinates and rates, of joints ("A") or of bodies ("crank.phi").

    They hold exactly; all others follow as far as the joints need it, rates of coordinates in q only if they must. The
    joints that have coordinates are those of the tree.
    """
    model = _place(model, q, {}, [*q])
    try:
        return _place(model, {}, v, list(dict.fromkeys([*v, *q])))
    except ModelError:
        return _place(model, {}, v, [*v])


def _place(model: Model, q: Mapping[str, float], v: Mapping[str, float], keep: Sequence[str]) -> Model:
    """Place other positions, or else velocities; in the coordinates of bodies where these alone are named."""
    given = prepare_joints(model).place()
    body = given.equations.chart.body
    if body is not None and {*q, *v, *keep} <= {*body.q_names, *body.v_names}:
        given = prepare(model, Coordinates("body", ())).place()
    e, of_bodies = given.equations, () if body is None else body.v_names
    turned = {c.owner for c in e.coordinates if c.name in keep and c.name not in e.v_names}  # by Euler parameters
    kept = [name for name in keep if name in e.v_names or name in of_bodies]
    kept += [c.name for c in e.velocities if c.owner in turned and c.kind == "angle" and c.name not in kept]
    given = restart(given, q, v, any_distance=True, keep=kept)
    closed = _close(given, kept) if q else find_start(given, any_distance=True, keep=kept).place
    turns, own = _angles(model, closed), dict(zip(e.q_names, closed.q.tolist(), strict=True))
    states = {x.name: own[x.name] for x in model.states}
    start = locate_bodies(closed)
    e = start.equations
    _check_held("start", q, e.q_names, start.q, start.q_scale)
    _check_held("rate", v, e.v_names, start.v, start.v_scale)
    return model.with_start(
        dict(zip(e.q_names, start.q.tolist(), strict=True)) | turns | states,
        dict(zip(e.v_names, start.v.tolist(), strict=True)),
    )


def _angles(model: Model, place: Place) -> dict[str, float]:
    """Return the angles of the joints that have them as coordinates, with their turns ("A.angle")."""
    found = dict(zip(place.equations.q_names, place.q.tolist(), strict=True))
    named = [
        (j.name, f, c)
        for j in model.joints
        if is_path(j)
        for f, c in zip(path_of(j).freedoms, path_coordinates(j), strict=False)
    ]
    return {f"{joint}.{freedom}": found[c.name] for joint, freedom, c in named if c.kind == "angle" and c.name in found}


def _close(given: Place, keep: Sequence[str]) -> Place:
    """Return positions that fit the joints, velocities as they are."""
    e = given.equations
    kept = [
        k
        for k, name in enumerate(e.v_names)
        if name in keep and (e.chart.body is None or name not in e.chart.body.v_names)
    ]
    if not len(given.Psi):
        return given
    check_defined(given)
    return close_from_afar(given, "mass", kept)[0]


def _check_held(key: str, given: Mapping[str, float], names: Sequence[str], found: Array, scale: Array) -> None:
    """Raise ModelError where the start has other values of bodies than those given, since joints have their own."""
    for name, value, by in zip(names, found.tolist(), scale.tolist(), strict=True):
        if name in given and not abs(value - given[name]) <= AGREEMENT * (by + abs(given[name])):
            raise ModelError(
                f"'{name}' would be {value:.6g} in the place of {given[name]:.6g} with the other values that are given",
                "start-conflict",
                path=f"simulation.{key}.{name}",
                value=given[name],
                suggestion="give fewer values, or all of them by names of joints or all by those of bodies",
            )
