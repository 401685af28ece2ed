"""Joint and Euler coordinates where they meet the rest: names, start values, reports, files."""

from __future__ import annotations

from typing import Any

import pytest

from linkwork import load
from linkwork.assembly.assemble import assemble
from linkwork.errors import UsageError
from linkwork.motion.simulate import simulate


@pytest.mark.parametrize("coordinates", ["joint", "euler"])
def test_an_assembly_in_other_coordinates_says_to_where_they_moved(coordinates: str) -> None:
    assembly = assemble(load("spatial_four_link"), coordinates=coordinates)
    assert assembly.q_changes or assembly.v_changes
    said = " ".join(str(assembly).split())
    for changes, now in ((assembly.q_changes, assembly.theta), (assembly.v_changes, assembly.theta_d)):
        for name, change in changes.items():
            assert f"{name} by {change:+.6g} to {now[name]:.10g}" in said


@pytest.mark.parametrize(("first", "second"), [("joint", None), ("body", "joint"), ("joint", "euler")])
def test_a_motion_in_other_coordinates_is_not_resumed(first: str, second: Any) -> None:
    model = load("spatial_four_link" if second == "euler" else "double_pendulum")
    motion = simulate(model, coordinates=first, t_end=0.01, step=0.01)
    with pytest.raises(UsageError, match="of other parameters or coordinates"):
        simulate(model, coordinates=second, t_end=0.02, step=0.01, resume=motion)
