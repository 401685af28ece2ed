"""Files of other programs that linkwork knows by their content; of these it reads URDF."""

from __future__ import annotations

import os
import re
from pathlib import Path

from linkwork.errors import ModelError

URDF = "a URDF file, a robot of ROS"
HEAD = 4096  # bytes that are looked at: what a file is stands at its beginning

# What a file is, and what stands in it. XML is known by its first element, behind the declaration and remarks.
ROOT = rb"\A(?:\xef\xbb\xbf)?\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>\s*)*<"
KINDS = {
    URDF: ROOT + rb"robot[\s>]",
    "an MJCF file, a model of MuJoCo": ROOT + rb"mujoco[\s>/]",
    "an SDF file, a model of Gazebo": ROOT + rb"sdf[\s>]",
    "an XML file": ROOT + rb"[A-Za-z]",
    "a dataset of ADAMS": rb"\A\s*!?\s*ADAMS/|^\s*(?:PART|MARKER|JOINT)/\s*\d+",
    "an assembly of Ondsel": rb"\A\s*(?:freeCAD: .*\n\s*)?OndselSolver",
    "a document of FreeCAD": rb"\APK\x03\x04.*Document\.xml",
    "a ZIP archive": rb"\APK\x03\x04",
    "a STEP file, geometry without joints": rb"\A\s*ISO-10303-21;",
    "an STL file, geometry without joints": rb"\A\s*solid\b.*\bfacet normal",
}


def find_kind(path: str | Path) -> str | None:
    """Find what a regular file is, if it is of a known kind; a pipe would keep its reader waiting."""
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except OSError:
        return None
    return next((kind for kind, mark in KINDS.items() if re.search(mark, head, re.DOTALL | re.MULTILINE)), None)


def refuse(path: str | Path, kind: str) -> ModelError:
    rule = "linkwork reads model files (YAML, JSON), URDF, folders of DAP and decks of NumDyn3D"
    return ModelError(f"is {kind}, which linkwork does not read", "foreign-format", file=str(path), rule=rule)
