"""Surfaces that say how a body looks: triangles of STL and OBJ files, and where they are drawn."""

from __future__ import annotations

import struct
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork
from linkwork.errors import ModelError
from linkwork.formats import meshes
from linkwork.formats.meshes import read_mesh
from linkwork.scene import scene
from linkwork.view.drawing import picture_of

# A tetrahedron that no axis or plane is special to, in millimetres.
CORNERS = np.array([[10.0, 20.0, 30.0], [310.0, 40.0, -20.0], [-50.0, 260.0, 70.0], [80.0, -30.0, 410.0]])
FACES = [(0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3)]
TRIANGLES = CORNERS[np.array(FACES)]

MODEL = """
linkwork: 1
space: spatial
gravity: [0, 0, -9.81]
parameters: {s: 0.001}
ground: {points: {O: [0, 0, 0]}}
bodies:
  arm:
    mass: 1
    inertia: [0.1, 0.1, 0.1]
    position: [0.2, 0.2, -0.05]
    mass_centre: [0.1, -0.2, 0.05]
    points: {O: [-0.2, -0.2, 0.05]}
    shape: {type: mesh, file: part.stl, scale: s, centre: [0.1, 0.2, 0.3], z: [1, 0, 0], x: [0, 0.6, 0.8]}
joints: {O: {type: revolute, i: ground.O, j: arm.O, axis: [0, 1, 0]}}
"""


def binary() -> bytes:
    records = b"".join(struct.pack("<12fH", 0, 0, 0, *triangle.ravel(), 0) for triangle in TRIANGLES)
    return b"solid, says a header that lies".ljust(80) + struct.pack("<I", len(FACES)) + records


def text() -> bytes:
    loops = [
        "facet normal 0 0 0\n outer loop\n"
        + "".join(f"  vertex {x:.6e} {y} {z}\n" for x, y, z in triangle)
        + " endloop\nendfacet\n"
        for triangle in TRIANGLES
    ]
    return ("solid part\n" + "".join(loops) + "endsolid part\n").encode()


def wavefront() -> bytes:
    """With normals, names and materials that mean nothing, and corners counted from the end."""
    points = "".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS)
    faces = "".join(f"f {a + 1}/1/1 {b + 1}//1 {c - 4}\n" for a, b, c in FACES)
    return f"mtllib ../../etc/passwd\no part\n{points}vn 0 0 1\nusemtl red\n{faces}".encode()


@pytest.mark.parametrize(("name", "data"), [("a.stl", binary()), ("b.STL", text()), ("c.obj", wavefront())])
def test_triangles_are_those_of_the_file(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    np.testing.assert_allclose(read_mesh(tmp_path / name), TRIANGLES, rtol=1e-6)


def test_a_face_of_four_corners_is_cut_into_triangles_of_its_area(tmp_path: Path) -> None:
    (tmp_path / "quad.obj").write_text("v 0 0 0\nv 3 0 0\nv 3 2 0\nv 0 2 0\nf 1 2 3 4\n")
    a, b, c = np.moveaxis(read_mesh(tmp_path / "quad.obj"), 1, 0)
    assert 0.5 * np.cross(b - a, c - a)[:, 2].sum() == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("part.stl", binary()[:-7].replace(b"solid", b"liquid"), "neither text nor as many triangles"),
        ("part.stl", b"", "neither text"),
        ("part.stl", b"solid x\nendsolid x", "no triangles"),
        ("part.stl", text().replace(b"vertex", b"vertex one", 1), "the corner 'one"),
        ("part.stl", text().replace(b"40.0", b"nan", 1), "not a number"),
        ("part.obj", b"v 0 0 0\nf 1 2 3\n", "a face with corner 3; it has 1 corners"),
        ("part.obj", b"v 0 0 0\nf a b c\n", "the face 'a b c'"),
        ("part.ply", b"ply", "'.ply'; meshes are read from .stl and .obj"),
        ("../part.stl", binary(), "in another folder"),
        ("none.stl", None, "there is no file"),
    ],
)
def test_what_is_no_mesh_is_refused_at_its_line(tmp_path: Path, name: str, data: bytes | None, said: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    if data is not None:
        (folder / name).write_bytes(data)
    (folder / "arm.yaml").write_text(MODEL.replace("part.stl", name))
    with pytest.raises(ModelError, match=said) as caught:
        linkwork.load(folder / "arm.yaml")
    assert "arm.yaml:14" in str(caught.value)


def test_large_meshes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "part.stl").write_bytes(binary())
    monkeypatch.setattr(meshes, "MOST_TRIANGLES", 3)
    with pytest.raises(ModelError, match="4 triangles; a mesh has at most 3"):
        read_mesh(tmp_path / "part.stl")
    monkeypatch.setattr(meshes, "MOST_BYTES", 100)
    with pytest.raises(ModelError, match="284 bytes; a mesh has at most 100"):
        read_mesh(tmp_path / "part.stl")


def test_a_mesh_lies_where_the_model_puts_it(tmp_path: Path) -> None:
    """At centre + s (x X + y Y + z Z) of the body, seen from the mass centre; the motion takes no notice of it."""
    (tmp_path / "part.stl").write_bytes(binary())
    (tmp_path / "arm.yaml").write_text(MODEL)
    model = linkwork.load(tmp_path / "arm.yaml")
    shape: Any = scene(model).bodies[1].shape
    vertices = np.frombuffer(b64decode(shape["vertices"]), "<f4").reshape(-1, 3)
    triangles = np.frombuffer(b64decode(shape["triangles"]), "<u4").reshape(-1, 3)
    Z, X = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.6, 0.8])
    placed = (
        np.array([0.1, 0.2, 0.3]) - np.array([0.1, -0.2, 0.05]) + 0.001 * TRIANGLES @ np.array([X, np.cross(Z, X), Z])
    )
    np.testing.assert_allclose(vertices[triangles], placed, atol=1e-6)
    farthest = sorted(shape["corners"])
    np.testing.assert_allclose(farthest, sorted(vertices.tolist()), atol=1e-6)
    motion = linkwork.simulate(model, t_end=0.2)
    plain = linkwork.simulate(linkwork.loads("\n".join(x for x in MODEL.splitlines() if "shape" not in x)), t_end=0.2)
    np.testing.assert_array_equal(motion.q, plain.q)
    _, _, drawn = picture_of(motion)
    assert [solid.form for solid in drawn.solids if solid.role == "shape"] == ["mesh"]
    low, high = (np.array(corner) for corner in drawn.box)
    assert (high - low).max() > 0.4  # the box has room for it
