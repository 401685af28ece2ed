"""What of long lists is among the fast tests; the slow ones take all."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

import pytest

from linkwork.mechanisms import MECHANISMS

# Open and closed, redundant, driven, switching and touching, with gears, cams and chains; in the plane and in space.
REPRESENTATIVE = (
    "simple_pendulum",
    "slider_crank",
    "four_bar_redundant",
    "andrews_squeezer",
    "quick_return",
    "stick_slip_belt",
    "newtons_cradle",
    "planar_chain",
    "heavy_top",
    "spatial_slider_crank",
    "bricard",
    "double_wishbone_3d",
)


def with_slow(cases: Iterable[Any], fast: Collection[Any] = REPRESENTATIVE) -> list[Any]:
    """All cases, marked slow unless they are among the fast ones."""
    return [case if case in fast else pytest.param(case, marks=pytest.mark.slow) for case in cases]


def has_bodies(name: str) -> bool:
    """Tell whether a shipped mechanism has bodies, or states equations; reading all files whole takes a second."""
    file = MECHANISMS / f"{name}.yaml"
    return not file.exists() or re.search("^equations:", file.read_text(encoding="utf-8"), re.M) is None
