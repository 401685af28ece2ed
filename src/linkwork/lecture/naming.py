"""Symbols for the numbers of a mechanism that its model does not name: letters for joints and forces, bodies by number.

A point of joint A on body 2 has the coordinates xi_A2, eta_A2, zeta_A2 in the frame of that body; 0 is the ground.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from string import ascii_uppercase
from typing import Any

from linkwork.model import Model
from linkwork.writing.notation import Symbol, symbol_of

AXES = "xyz"
LOCAL_LETTERS = ("xi", "eta", "zeta")
INERTIA_AXES = ("xx", "yy", "zz", "xy", "yz", "zx")
END_BODIES = {"s_i": "body_i", "s_j": "body_j", "s": "body"}
DIRECTION_BODIES = {
    "axis": ("e", "body_i"), "axis_i": ("e", "body_i"), "axis_j": ("e", "body_j"), "normal": ("n", "body_i"),
    "normal_i": ("n", "body_i"), "normal_j": ("n", "body_j"), "zero": ("z", "body_i"), "zero_j": ("z", "body_j"),
}  # fmt: skip
QUANTITY_LETTERS = {
    "radius": "R", "radius_i": "R", "radius_j": "R", "stiffness": "k", "damping": "c", "free_length": "l",
    "free_angle": "alpha", "length": "l", "force": "F", "torque": "T", "angle": "alpha",
}  # fmt: skip
START_LETTERS = {"position": ("x", "y", "z"), "orientation": ("e", "e", "e", "e"), "angle": ("phi",)}


@dataclass(frozen=True)
class Letters:
    """What the elements of a model are called on a sheet."""

    model: Model

    @cached_property
    def bodies(self) -> dict[str, str]:
        return {"ground": "0", **{body.name: str(k) for k, body in enumerate(self.model.bodies, 1)}}

    @cached_property
    def elements(self) -> dict[str, str]:
        """Joints, drivers and forces by a letter: their own name where it is one, else one that no body has."""
        names = [*self._objects]
        kept = {name for name in names if re.fullmatch(r"[A-Z]\d?", name)}
        free = iter(_unused(kept | {*self.bodies}))
        return {name: name if name in kept else next(free) for name in names}

    @cached_property
    def _objects(self) -> dict[str, Any]:
        elements: tuple[Any, ...] = (*self.model.joints, *self.model.drivers, *self.model.acting)
        return {x.name: x for x in elements}

    def symbol(self, parameter: str) -> tuple[Symbol, str]:
        """Return the symbol of a number that the model does not name, by its path, and what it is."""
        owner, _, path = parameter.rstrip("'").partition(".")
        field, _, place = path.partition(".")
        k = int(place) if place.isdecimal() else 0
        if owner == "gravity":
            return Symbol("g", (AXES[int(field)],)), f"gravity along {AXES[int(field)]}"
        if field in ("mass", "inertia"):
            letter = "m" if field == "mass" else f"J_{INERTIA_AXES[k]}" if place else "J"
            return symbol_of(f"{owner}.{letter}"), f"{field} of {owner}"
        if owner in self.bodies and field in START_LETTERS:
            letter = START_LETTERS[field][k]
            own = (str(k), "0") if field == "orientation" else ("0",)
            return Symbol(
                letter if letter != "phi" else "varphi", (*own, self.bodies[owner])
            ), f"start {field} of {owner}"
        letter = self.elements.get(owner, "")
        if not letter:
            return symbol_of(parameter.rstrip("'")), ""
        if field in END_BODIES and (body := self._body(owner, END_BODIES[field])):
            return Symbol(
                LOCAL_LETTERS[k], self._at(letter, body)
            ), f"{AXES[k]} of point {letter} in frame {self.bodies[body]}"
        if field in DIRECTION_BODIES and (body := self._body(owner, DIRECTION_BODIES[field][1])):
            index = (AXES[k], *self._at(letter, body))
            return Symbol(
                DIRECTION_BODIES[field][0], index
            ), f"{AXES[k]} of the {field.partition('_')[0]} of {letter} in frame {self.bodies[body]}"
        index = (
            *((AXES[k],) if place else ()),
            letter + ("i" if field.endswith("_i") else "j" if field.endswith("_j") else ""),
        )
        return Symbol(QUANTITY_LETTERS.get(field, field), index), f"{path.replace('_', ' ')} of {letter}"

    def _at(self, letter: str, body: str) -> tuple[str, ...]:
        """Return the index of a point or direction: A2, or C1,2 where the letter has a number itself."""
        return (letter + self.bodies[body],) if len(letter) == 1 else (letter, self.bodies[body])

    def _body(self, owner: str, field: str) -> str:
        """Return the body of an element, by its field."""
        body = getattr(self._objects[owner], field, None) or getattr(self._objects[owner], "body", None)
        name = getattr(body, "name", "")
        return name if name in self.bodies else ""


def _unused(kept: set[str]) -> Iterator[str]:
    """Return A, B, ..., Z, A1, B1, ... without those that are taken."""
    for number in ("", *map(str, range(1, 100))):
        yield from (letter + number for letter in ascii_uppercase if letter + number not in kept)
