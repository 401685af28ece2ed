"""Surfaces of triangles from STL and OBJ files, which say how a body looks.

Only numbers are taken from a file; names, colours, normals and references to other files are passed over.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np

from linkwork.arrays import Array
from linkwork.errors import ModelError

MOST_BYTES = 20_000_000  # of a file: what is read into memory at once
MOST_TRIANGLES = 40_000  # with which a page stays below two megabytes


def read_mesh(path: Path) -> Array:
    """Read the corners of triangles, n x 3 x 3, in the numbers of the file."""
    if path.stat().st_size > MOST_BYTES:
        raise _bad(path, f"{path.stat().st_size} bytes", f"a mesh has at most {MOST_BYTES}")
    suffix = path.suffix.lower()
    if suffix not in (".stl", ".obj"):
        raise _bad(path, f"'{suffix}'", "meshes are read from .stl and .obj")
    data = path.read_bytes()
    corners = _of_obj(path, data) if suffix == ".obj" else _of_stl(path, data)
    if not len(corners) or not np.isfinite(corners).all():
        raise _bad(path, "no triangles" if not len(corners) else "a corner that is not a number", "export it once more")
    if len(corners) > MOST_TRIANGLES:
        raise _bad(path, f"{len(corners)} triangles", f"a mesh has at most {MOST_TRIANGLES}: reduce it")
    return corners


def _of_stl(path: Path, data: bytes) -> Array:
    """Read the text, or 80 bytes of anything, the number of triangles, and 50 bytes for each with its corners in 36."""
    count = int.from_bytes(data[80:84], "little")
    if len(data) == 84 + 50 * count:
        records = np.frombuffer(data, np.uint8, offset=84).reshape(count, 50)
        return np.ascontiguousarray(records[:, 12:48]).view("<f4").reshape(count, 3, 3).astype(float)
    if not data.lstrip().startswith(b"solid"):
        raise _bad(path, "neither text nor as many triangles as it says", "export it once more as STL")
    rows = [_numbers(path, line) for line in re.findall(rb"^\s*vertex\s+(.*)$", data, re.MULTILINE)]
    if len(rows) % 3:
        raise _bad(path, f"{len(rows)} corners", "three make a triangle")
    return np.array(rows).reshape(-1, 3, 3)


def _of_obj(path: Path, data: bytes) -> Array:
    """Cut faces with more than three corners into triangles about their first corner."""
    points = [_numbers(path, line) for line in re.findall(rb"^\s*v\s+(.*)$", data, re.MULTILINE)]
    found = []
    for line in re.findall(rb"^\s*f\s+(.*)$", data, re.MULTILINE):
        try:
            named = [int(word.split(b"/")[0]) for word in line.split()]
        except ValueError:
            raise _bad(path, f"the face '{line[:40].decode(errors='replace')}'", "corners are numbers") from None
        corners = [k - 1 if k > 0 else len(points) + k for k in named]
        if not all(0 <= k < len(points) for k in corners):
            raise _bad(path, f"a face with corner {max(named)}", f"it has {len(points)} corners")
        found += [(corners[0], *pair) for pair in pairwise(corners[1:])]
    return np.array(points)[np.array(found, int)] if found else np.zeros((0, 3, 3))


def _numbers(path: Path, line: bytes) -> list[float]:
    try:
        x, y, z = map(float, line.split()[:3])
    except ValueError:
        raise _bad(path, f"the corner '{line[:40].decode(errors='replace')}'", "three numbers are a corner") from None
    return [x, y, z]


def _bad(path: Path, what: str, rule: str) -> ModelError:
    return ModelError(f"'{path.name}' has {what}", "bad-mesh", rule=rule, value=path.name)
