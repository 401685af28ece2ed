"""Start values by the names of joints, for all coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from linkwork.equations.equations import Equations
from linkwork.errors import ModelError, did_you_mean
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import as_expr, symbol
from linkwork.mechanism import Mechanism, prepare
from linkwork.model import Model
from linkwork.motion.initial import bodies_at, find_start, restart


def prepare_joints(model: Model, cut: Sequence[str] | None = None) -> Mechanism:
    """The mechanism in joint coordinates, or in its own if it states its equations."""
    return prepare(model, "joint" if model.stated is None else None, cut)


def named_kinds(e: Equations) -> tuple[dict[str, str], dict[str, str]]:
    """What start values and rates may be called, of joints and of bodies, and what kind each is."""
    owners = (e,) if e.body is None else (e, e.body)
    return (
        {c.name: c.kind for x in owners for c in x.coordinates},
        {c.name: c.kind for x in owners for c in x.velocities},
    )


def place_stated(model: Model) -> Model:
    """The model from the start that its settings state; ModelError where its joints have no such coordinate."""
    settings = model.simulation
    bare = replace(model, simulation=replace(settings, start={}, rate={}))
    parameters = {symbol(name): value for name, value in model.parameters.items()}
    found: dict[str, dict[str, float]] = {}
    kinds = named_kinds(prepare_joints(bare).equations)
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
    """The model from a start with these coordinates and rates, of joints ("A") or of bodies ("crank.phi").

    They hold exactly, in position and velocity; all others follow as far as the joints need it. The joints that have
    coordinates are those of the tree.
    """
    keep = list(dict.fromkeys([*q, *v]))
    given = restart(prepare_joints(model).place(), q, v, any_distance=True, keep=keep)
    start = bodies_at(find_start(given, any_distance=True, keep=keep).place)
    e = start.equations
    return model.with_start(
        dict(zip(e.q_names, start.q.tolist(), strict=True)), dict(zip(e.v_names, start.v.tolist(), strict=True))
    )
