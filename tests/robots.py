"""Robots of URDF as texts."""

from __future__ import annotations

from typing import Any

BAR = [[0.01, 0, 0], [0, 0.01, 0], [0, 0, 0.01]]


def link(name: str, mass: float, c: Any, rpy: Any, J: Any) -> str:
    """J about the mass centre, in the axes of <origin>."""
    xyz, turned = (" ".join(map(repr, map(float, x))) for x in (c, rpy))
    moments = {"ixx": J[0][0], "iyy": J[1][1], "izz": J[2][2], "ixy": J[0][1], "ixz": J[0][2], "iyz": J[1][2]}
    inertia = " ".join(f'{key}="{float(value)!r}"' for key, value in moments.items())
    return f"""<link name="{name}"><inertial><origin xyz="{xyz}" rpy="{turned}"/><mass value="{mass!r}"/>
      <inertia {inertia}/></inertial></link>\n"""


def joint(name: str, kind: str, parent: str, child: str, xyz: Any, rpy: Any, axis: Any, more: str = "") -> str:
    at, turned, along = (" ".join(map(repr, map(float, x))) for x in (xyz, rpy, axis))
    return f"""<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
      <origin xyz="{at}" rpy="{turned}"/><axis xyz="{along}"/>{more}</joint>\n"""


def robot(*parts: str) -> str:
    return f'<?xml version="1.0"?>\n<robot name="arm">\n<link name="base"/>\n{"".join(parts)}</robot>\n'
