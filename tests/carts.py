"""A cart on a rail, whose motion under a force of time, way or speed is known in closed form."""

from __future__ import annotations

import json
from typing import Any

from linkwork.model import Model
from linkwork.modelfile import loads


def cart(
    force: str,
    velocity: float = 0.0,
    t_end: float = 10.0,
    step: float = 0.01,
    events: dict[str, Any] | None = None,
) -> Model:
    """A cart of 1 kg on a rail along x, pushed by a force of t, cart.x and cart.vx."""
    data = {
        "linkwork": 1,
        "name": "cart",
        "gravity": [0, 0],
        "ground": {"points": {"O": [0, 0]}},
        "bodies": {"cart": {"mass": 1, "inertia": 1, "velocity": [velocity, 0], "points": {"O": [0, 0]}}},
        "joints": {"rail": {"type": "prismatic", "i": "ground.O", "j": "cart.O", "axis": [1, 0]}},
        "forces": {"push": {"type": "point-force", "at": "cart.O", "force": [force, 0]}},
        "events": events or {},
        "simulation": {"t_end": t_end, "step": step},
    }
    return loads(json.dumps(data), is_json=True)
