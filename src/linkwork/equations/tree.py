"""The spanning tree of a mechanism: what carries each body, and which joints close loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

from linkwork.elements.bodies import Ground
from linkwork.elements.frames import euler_difference, euler_moved, euler_rates
from linkwork.elements.kinds import Coordinate, Velocity
from linkwork.elements.orientation import product
from linkwork.elements.paths import is_path, path_coordinates, path_of, path_velocities
from linkwork.expressions.derivatives import directional
from linkwork.expressions.graph import Expr

List = Sequence[Expr]


@dataclass(frozen=True)
class Hinge:
    """What carries a body: a joint from its parent, walked from i to j (`onwards`) or back; without one it floats."""

    child: Any
    parent: Any
    joint: Any = None
    onwards: bool = True

    @property
    def is_ball(self) -> bool:
        return self.joint is not None and path_of(self.joint).is_ball

    @property
    def freedoms(self) -> tuple[str, ...]:
        return path_of(self.joint).freedoms

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        found: tuple[Coordinate, ...] = self.child.coordinates if self.joint is None else path_coordinates(self.joint)
        return found

    @property
    def velocities(self) -> tuple[Velocity, ...]:
        found: tuple[Velocity, ...] = self.child.velocities if self.joint is None else path_velocities(self.joint)
        return found

    def qd(self, q: List, v: List) -> list[Expr]:
        if self.joint is None:
            return list(self.child.qd(q, v))
        return euler_rates(q, v) if self.is_ball else list(v)

    def retract(self, q: List, dx: List) -> list[Expr]:
        if self.joint is None:
            return list(self.child.retract(q, dx))
        return euler_moved(q, dx) if self.is_ball else [a + b for a, b in zip(q, dx, strict=True)]

    def difference(self, q: List, then: List) -> list[Expr]:
        if self.joint is None:
            return list(self.child.difference(q, then))
        return euler_difference(q, then) if self.is_ball else [b - a for a, b in zip(q, then, strict=True)]

    def measure(
        self, frames: Mapping[str, Any], motion: Mapping[Expr, Expr], q: List, v: List
    ) -> tuple[list[Expr], list[Expr]]:
        """Return its coordinates and velocities, of the frames of the bodies; q and v are those of the child itself."""
        if self.joint is None:
            return list(q), list(v)
        i, j = (frames[body.name] for body in (self.joint.body_i, self.joint.body_j))
        if self.is_ball:
            e0, e1, e2, e3 = i.e
            turned = product((e0, -e1, -e2, -e3), j.e.components)
            return list(turned), [*(j.omega - j.in_body(i.turning))]
        freedoms = self.joint.freedoms(i, j)
        found = [freedoms[f] for f in self.freedoms]
        return found, directional(found, motion)


def span_tree(ground: Ground, bodies: Sequence[Any], joints: Sequence[Any], cut: Sequence[str]) -> list[Hinge]:
    """Return the tree from the ground that leaves the fewest constraint rows to its cuts, and among such short loops.

    It grows by the joint with the most rows, of those nearest to the ground; parents come before their children. The
    joints named in `cut` stay outside. A body that no joint reaches floats.
    """
    leading: dict[str, list[tuple[int, Hinge]]] = {}  # of a body, the joints from it with their numbers
    for number, joint in enumerate(joints):
        if is_path(joint) and joint.name not in cut:
            i, j = joint.body_i, joint.body_j
            leading.setdefault(i.name, []).append((number, Hinge(j, i, joint)))
            leading.setdefault(j.name, []).append((number, Hinge(i, j, joint, onwards=False)))
    edges: list[tuple[int, int, int, Hinge]] = []  # a heap, the joint to be taken next in front
    depth: dict[str, int] = {}
    hinges: list[Hinge] = []

    def reach(name: str, at: int) -> None:
        depth[name] = at
        for number, hinge in leading.get(name, ()):
            if hinge.child.name not in depth:
                heappush(edges, (-len(hinge.joint.rows), at, number, hinge))

    reach(ground.name, 0)
    for body in bodies:
        while edges:
            _, above, _, hinge = heappop(edges)
            if hinge.child.name not in depth:
                hinges.append(hinge)
                reach(hinge.child.name, above + 1)
        if body.name not in depth:
            hinges.append(Hinge(body, ground))
            reach(body.name, 1)
    return hinges
