"""Start values by the names of joints, for all coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkwork.mechanism import Mechanism, prepare
from linkwork.model import Model
from linkwork.motion.initial import bodies_at, find_start, restart


def prepare_joints(model: Model, cut: Sequence[str] | None = None) -> Mechanism:
    """The mechanism in joint coordinates, or in its own if it states its equations."""
    return prepare(model, "joint" if model.stated is None else None, cut)


def place_joints(
    model: Model, q: Mapping[str, float], v: Mapping[str, float], cut: Sequence[str] | None = None
) -> Model:
    """The model from a start with these coordinates and rates, of joints ("A") or of bodies ("crank.phi").

    They hold exactly, in position and velocity; all others follow as far as the joints need it. The joints that have
    coordinates are those of the tree, which `cut` chooses.
    """
    keep = list(dict.fromkeys([*q, *v]))
    given = restart(prepare_joints(model, cut).place(), q, v, any_distance=True, keep=keep)
    start = bodies_at(find_start(given, any_distance=True, keep=keep).place)
    e = start.equations
    return model.with_start(
        dict(zip(e.q_names, start.q.tolist(), strict=True)), dict(zip(e.v_names, start.v.tolist(), strict=True))
    )
