"""Mechanisms whose frames are not in the mass centres of their bodies."""

from __future__ import annotations

from math import atan2, cos, sin

import numpy as np

from linkwork.document import parse
from linkwork.mechanisms import MECHANISMS
from linkwork.modelfile import load

PLACES = {"O": (0, 0), "H": (0.4, -0.2), "N": (0.1, -0.8), "M": (1.9, -1.4), "G": (1.6, 0.4), "D": (2.2, -0.4)}
PLACES |= {"C": (2.5, -1.4), "B": (2.9, -1.1), "A": (2.9, -1.9), "K": (3.4, -1.9)}


# Origin, what the x axis points to, points [tartari2019, table 3; frame 4 as its program has it].
FRAMES = {"boom": "OD ODAM", "arm": "DC DCG", "bucket": "AK AKB", "link": "CB CB"}
FRAMES |= {"cylinder1": "N N", "rod1": "M M", "cylinder2": "H H", "rod2": "G G"}


def in_frames_of_the_source() -> dict[str, object]:
    """The bodies of `warsaw_problem12` as their source places their frames; mass centres stay where they are."""
    bodies: dict[str, object] = {}
    for body in load("warsaw_problem12").bodies:
        ends, points = FRAMES[body.name].split()
        origin = np.array(PLACES[ends[0]])
        x, y = np.array(PLACES[ends[-1]]) - origin
        angle = atan2(y, x)
        turned = np.array([[cos(angle), sin(angle)], [-sin(angle), cos(angle)]])
        centre = np.array([float(z) for z in body.position])  # type: ignore[arg-type]
        bodies[body.name] = {
            "mass": body.mass,
            "inertia": body.inertia,
            "position": origin.tolist(),
            "angle": angle,
            "mass_centre": (turned @ (centre - origin)).tolist(),
            "points": {name: (turned @ (PLACES[name] - origin)).tolist() for name in points},
        }
    return bodies


def frames_of_the_source() -> dict[str, object]:
    """The whole model as data."""
    given = parse((MECHANISMS / "warsaw_problem12.yaml").read_text())
    return {**given.data, "bodies": in_frames_of_the_source()}


CRANK = """
linkwork: 1
name: crank
bodies: {crank: {points: {O: [0, 0], P: [2, 0]}}, rod: {position: [2, 0], points: {P: [0, 0], Q: [3, 0]}}}
ground: {points: {O: [0, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: crank.O}
  P: {type: revolute, i: crank.P, j: rod.P}
  Q: {type: point-on-line, i: ground.O, j: rod.Q, axis: [1, 0]}
drivers: {motor: {joint: O, motion: 3*t}}
simulation: {t_end: 1, step: 0.1}
"""
