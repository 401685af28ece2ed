"""Scenes and drawings: what is drawn lies where the equations say it is."""

from __future__ import annotations

import json
from math import cos, pi, sin
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from slices import has_bodies, with_slow

import linkwork
from linkwork import Trajectory
from linkwork.elements.bodies import SpatialBody
from linkwork.elements.joints import SPATIAL_JOINTS
from linkwork.elements.spatial import Spherical
from linkwork.errors import ModelError, UsageError
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import as_expr
from linkwork.model import Model
from linkwork.modelfile import load, shipped
from linkwork.scene import Figure, Mark, Scene, scene
from linkwork.view.drawing import Drawing, _span, drawing, picture_of
from linkwork.view.outlines import arrow, dashpot, hull, rounded
from linkwork.view.picture import color, frame_times, still, strip, write_film
from linkwork.view.poses import Bodies, poses, rotation, scene_of
from linkwork.view.solids import Solid, silhouette

DISC = """
linkwork: 1
name: rolling_disc
gravity: [0, -9.81]
parameters: {R: 0.3}
ground: {points: {O: [0, 0]}}
bodies:
  disc: {mass: 2, inertia: 0.09, position: [0, R], velocity: [1, 0], angular_velocity: -1/R, points: {C: [0, 0]}}
joints:
  roll: {type: rolling, i: ground.O, j: disc.C, axis: [1, 0], radius: R}
simulation: {t_end: 1, step: 0.05}
"""


@pytest.fixture(scope="module")
def digger() -> Trajectory:
    return linkwork.kinematics(linkwork.load("warsaw_problem12"), t_end=3.0)


def moved(name: str) -> Trajectory:
    """A short motion of a mechanism, by its drivers if it has any."""
    model = linkwork.load(name)
    analysis = linkwork.kinematics if model.drivers and linkwork.check(model).dof == 0 else linkwork.simulate
    return analysis(model, t_end=20 * model.simulation.step)


@pytest.fixture(scope="module")
def drawn_platform() -> tuple[Scene, Drawing, list[Bodies]]:
    own, found, drawn = picture_of(linkwork.kinematics(load("stewart_platform"), t_end=3.0))
    return own, drawn, [Bodies(pose) for pose in found[::20]]


def polygon_area(line: list[tuple[float, float]]) -> float:
    return 0.5 * sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(line, line[1:] + line[:1], strict=True))


def test_files_hold_the_scene(digger: Trajectory, tmp_path: Path) -> None:
    """A trajectory that was written and read draws the same scene as its model."""
    expected = scene(linkwork.load("warsaw_problem12"))
    for name in ("motion.nc", "motion.csv"):
        digger.save(tmp_path / name)
        assert scene_of(Trajectory.load(tmp_path / name)) == expected


def test_a_scene_is_json() -> None:
    """Shapes, springs and drivers of all kinds come back from JSON as they were."""
    text = DISC.replace(
        "points: {C: [0, 0]}}", "points: {C: [0, 0]}, shape: {type: box, size: [R, 2*R], angle: 90 deg}}"
    )
    found = scene(linkwork.loads(text))
    again = Scene.from_dict(json.loads(json.dumps(found.as_dict())))
    assert again.joints == found.joints
    assert again.bodies[1].shape == {"type": "box", "size": [0.3, 0.6, 0.0], "centre": [0.0, 0.0, 0.0], "angle": pi / 2}


def test_summary_does_not_repeat_the_scene(digger: Trajectory) -> None:
    """`run --json` tells of the run; the scene is for drawings."""
    assert digger.scene
    assert "scene" not in digger.summary()


@pytest.mark.parametrize("name", ["warsaw_problem12", "quick_return", "jansen_leg"])
def test_drawn_points_are_where_the_equations_put_them(name: str) -> None:
    """r + A s from the poses equals the columns body.point.x and .y, which the compiled equations give."""
    motion = moved(name)
    own = scene_of(motion)
    found = poses(own, motion)
    for row in (0, len(motion.t) // 2, -1):
        bodies = Bodies(found[row])
        for k, body in enumerate(own.bodies):
            for point, s in body.points.items():
                columns = (motion[f"{body.name}.{point}.{axis}"][row] for axis in "xy")
                # rounding of half angles and of sums of some metres
                np.testing.assert_allclose(bodies.point(k, s)[:2], list(columns), atol=1e-13)


def test_rotation_is_that_of_the_equations(rng: np.random.Generator) -> None:
    """A of Euler parameters turns vectors as the frames of spatial bodies do."""
    e = rng.normal(size=4)
    e /= np.linalg.norm(e)
    s = rng.normal(size=3)
    body = SpatialBody("b", 1.0, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    q, v = [as_expr(float(x)) for x in (0, 0, 0, *e)], [as_expr(0.0)] * 6
    expected = evaluate(list(body.frame(q, v).point(tuple(float(x) for x in s))), {})
    np.testing.assert_allclose(rotation(e) @ s, expected, atol=1e-14)


@pytest.mark.parametrize("name", with_slow(name for name in shipped() if has_bodies(name)))
@pytest.mark.sampled
def test_every_mechanism_can_be_drawn(name: str) -> None:
    """In the plane each body has an outline of its own; everything is finite, and the box holds all joints."""
    motion = moved(name)
    own, found, drawn = picture_of(motion)
    if own.space == "planar":
        assert {o.body for o in drawn.outlines if o.name == own.bodies[o.body].name} == set(range(1, len(own.bodies)))
    corners = np.array([spot for o in drawn.outlines for line in o.lines for spot in line])
    assert np.all(np.isfinite(corners))
    low, high = np.array(drawn.box)
    index = {body.name: k for k, body in enumerate(own.bodies)}
    for pose in found[:: max(1, len(found) // 5)]:
        for joint in own.joints:
            for body, s in zip(joint.bodies, joint.points, strict=False):
                place = Bodies(pose).point(index[body], s)
                assert np.all(low[:2] <= place[:2])
                assert np.all(place[:2] <= high[:2])
    still(motion).savefig("/dev/null", format="png", dpi=20)


def test_a_piston_stays_in_its_cylinder(digger: Trajectory) -> None:
    """Seen from the cylinder, the piston's end of the rod is between the ends of the barrel at all times."""
    own, found, drawn = picture_of(digger)
    index = {body.name: k for k, body in enumerate(own.bodies)}
    for number in "12":
        barrel = next(o for o in drawn.outlines if o.role == "barrel" and o.body == index[f"cylinder{number}"])
        rod = next(o for o in drawn.outlines if o.role == "block" and o.body == index[f"rod{number}"])
        axis = np.array(next(j.axis for j in own.joints if j.name == f"slide{number}"))
        axis /= np.linalg.norm(axis)
        reach = [axis[:2] @ spot for spot in barrel.lines[0]]
        for pose in found:
            bodies = Bodies(pose)
            back = bodies.A[barrel.body].T
            piston = [axis @ (back @ (p - bodies.r[barrel.body])) for p in bodies.lines(rod)[1]]
            assert min(reach) < min(piston)
            assert max(piston) < max(reach)


def test_a_disc_rolls_on_its_line() -> None:
    """The lowest point of the drawn disc is on the drawn line at all times, and the hatching below it."""
    own, found, drawn = picture_of(linkwork.simulate(linkwork.loads(DISC)))
    disc = next(o for o in drawn.outlines if o.role == "disc")
    track = next(o for o in drawn.outlines if o.role == "track")
    assert {y for _, y in track.lines[0]} == {0.0}
    # a polygon of 64 corners is inside the circle by 0.3 (1 - cos(pi/64)) = 4e-4 at most
    assert [Bodies(pose).lines(disc)[0][:, 1].min() for pose in found] == pytest.approx([0.0] * len(found), abs=4e-4)
    assert all(y <= 0.0 for o in drawn.outlines if o.role == "hatch" for line in o.lines for _, y in line)
    assert min(x for x, _ in track.lines[0]) < 0.0 < 1.0 < max(x for x, _ in track.lines[0])
    assert own.joints[0].radii == (0.3,)


def test_what_touches_is_drawn_where_it_touches() -> None:
    """At the begin of each contact the circle of the ball meets the line of the floor, or the circle of the post."""
    text = """linkwork: 1
ground: {points: {O: [0, 0.2], P: [0.8, 0.7]}}
bodies: {ball: {mass: 1, inertia: 0.004, position: [0, 1], velocity: [2, 0], points: {C: [0.02, 0]}}}
forces:
  floor:
    {type: line-contact, i: ground.O, j: ball.C, normal: [-0.5, 2], radius_j: 0.1, stiffness: 1.0e+6}
  post:
    {type: circle-contact, i: ground.P, j: ball.C, radius_i: 0.3, radius_j: 0.1, stiffness: 1.0e+6}
simulation: {t_end: 2}
"""
    motion = linkwork.simulate(linkwork.loads(text))
    _, _, drawn = picture_of(motion)
    (line,) = (o.lines[0] for o in drawn.outlines if o.role == "track" and not o.closed)
    (post,) = (np.array(o.lines[0]) for o in drawn.outlines if o.role == "track" and o.closed)
    (disc,) = (np.array(o.lines[0]) for o in drawn.outlines if o.role == "disc")
    (p, q), names = np.array(line), motion.events.names
    along = (q - p) / np.hypot(*(q - p))
    assert {"floor.begin", "post.begin"} <= {*names}
    for name, (x, y, phi) in zip(names, motion.events.q, strict=True):
        turn = np.array([[np.cos(phi), -np.sin(phi)], [np.sin(phi), np.cos(phi)]])
        around = disc @ turn.T + (x, y)
        if name.startswith("floor"):
            gap = np.min((around - p) @ (-along[1], along[0]))
            assert 0.0 <= np.dot(np.mean(around, axis=0) - p, along) <= np.hypot(*(q - p))
        else:
            gap = np.min(np.hypot(*(around - (0.8, 0.7)).T)) - np.hypot(*(post[0] - (0.8, 0.7)))
        assert gap == pytest.approx(0.0, abs=0.1 * (1 - np.cos(np.pi / 64)) + 1e-9)  # circles of 64 corners


def test_planes_and_spheres_that_touch_are_solids() -> None:
    """One plane for two balls, its upper side at the height of the ground's point, and no spring between the balls."""
    ball = "{mass: 1, inertia: [0.004, 0.004, 0.004], position: [%g, 0, 1], points: {C: [0, 0, 0.05]}}"
    flat = "{type: plane-contact, i: ground.O, j: %s.C, normal: [0, 0, 1], radius_j: 0.1, stiffness: 1.0e+6}"
    text = f"""linkwork: 1
space: spatial
ground: {{points: {{O: [0, 0, 0.3]}}}}
bodies: {{a: {ball % 0}, b: {ball % 1}}}
forces:
  fa: {flat % "a"}
  fb: {flat % "b"}
  ab: {{type: sphere-contact, i: a.C, j: b.C, radius_i: 0.1, radius_j: 0.1, stiffness: 1.0e+6}}
simulation: {{t_end: 0.1}}
"""
    _, _, drawn = picture_of(linkwork.simulate(linkwork.loads(text)))
    (plane,) = (solid for solid in drawn.solids if solid.role == "floor")
    assert plane.at[2] + plane.size[2] / 2 == pytest.approx(0.3)
    assert plane.z == (0.0, 0.0, 1.0)
    assert max(plane.size) > 1.0
    balls = [solid for solid in drawn.solids if solid.form == "ball"]
    assert [(s.body, s.at, s.size) for s in balls] == [(k, (0.0, 0.0, 0.05), (0.1,)) for k in (1, 2)]
    assert not [stretch for stretch in drawn.stretches if stretch.role == "spring"]


def test_a_spring_ends_at_its_points_however_it_is_stretched() -> None:
    """The first and last corner of a spring are the points it joins."""
    motion = linkwork.simulate(linkwork.load("andrews_squeezer"), t_end=0.02)
    own, found, drawn = picture_of(motion)
    (spring,) = drawn.stretches
    k3 = [body.name for body in own.bodies].index("K3")
    for pose in found[::40]:
        bodies = Bodies(pose)
        line = bodies.stretched(spring)[0]
        np.testing.assert_allclose(line[0], (0.014, 0.072, 0.0), atol=1e-15)
        np.testing.assert_allclose(line[-1], bodies.point(k3, own.bodies[k3].points["D"]), atol=1e-15)


def test_outlines_around_points() -> None:
    """A rod has the area 2 r L + pi r^2, a plate also that of its hull; a point inside does not matter."""
    r, L = 0.1, 2.0
    rod = rounded(hull([(0.0, 0.0), (L, 0.0), (0.7, 0.0)]), r)
    assert polygon_area(rod) == pytest.approx(
        2 * r * L + pi * r * r, rel=2e-3
    )  # arcs are drawn in pieces of 15 degrees
    corners = [(0.0, 0.0), (3.0, 0.0), (0.0, 4.0), (1.0, 1.0)]
    assert hull(corners) == [(0.0, 0.0), (3.0, 0.0), (0.0, 4.0)]
    assert polygon_area(rounded(hull(corners), r)) == pytest.approx(6.0 + 12.0 * r + pi * r * r, rel=1e-3)


@pytest.mark.parametrize(
    ("shape", "area"),
    [
        ("{type: disc, radius: 0.2, centre: [0.1, 0]}", pi * 0.04),
        ("{type: box, size: [40 cm, 20 cm], angle: 30 deg}", 0.08),
        ("{type: polygon, corners: [[0, 0], [1, 0], [0, 2*R]]}", 0.3),
        ("{type: rod, ends: [[0, 0], [1, 0]], width: 0.2}", 0.2 + pi * 0.01),
    ],
)
def test_shapes_of_model_files(shape: str, area: float) -> None:
    """A shape is drawn with the size that the file gives, in the frame of its body."""
    text = DISC.replace("points: {C: [0, 0]}}", f"points: {{C: [0, 0]}}, shape: {shape}}}")
    model = linkwork.loads(text)
    own = scene(model)
    drawn = drawing(own, np.array([[[0.0, 0.3, 0.0, 1.0, 0.0, 0.0, 0.0]]]))
    # the disc of the rolling joint comes first
    line = next(o.lines[0] for o in drawn.outlines[::-1] if o.name == "disc" and o.role in ("link", "disc"))
    assert polygon_area(line) == pytest.approx(area, rel=5e-3)


def test_faults_of_shapes_are_told() -> None:
    """Unknown kinds, keys and quantities of a shape are errors with their place."""
    for shape, code in (
        ("{type: ball}", "unknown-type"),
        ("{type: disc, radius: 1, colour: red}", "unknown-key"),
        ("{type: disc, radius: 3 kg}", "unit-mismatch"),
        ("{type: rod, ends: [[0, 0]]}", "wrong-shape"),
        ("{type: disc}", "missing-key"),
    ):
        text = DISC.replace("points: {C: [0, 0]}}", f"points: {{C: [0, 0]}}, shape: {shape}}}")
        with pytest.raises(ModelError) as found:
            linkwork.loads(text)
        assert found.value.errors[0].code == code, shape


def test_a_spatial_scene_has_its_points_in_space() -> None:
    """A spatial mechanism is drawn as rods from its mass centres to its points, by the same poses."""
    body = SpatialBody("top", 1.0, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0), points={"P": (0.0, 0.3, 0.4)})
    model = Model(
        "top", (body,), (Spherical("O", Model("", ()).ground, body, (0.0, 0.0, 0.0), (0.0, 0.3, 0.4)),),
        gravity=(0.0, 0.0, -9.81), space="spatial",
    )  # fmt: skip
    own = scene(model)
    assert own.joints[0].points == ((0.0, 0.0, 0.0), (0.0, 0.3, 0.4))
    quarter = (cos(pi / 4), sin(pi / 4), 0.0, 0.0)  # about x: y to z, z to -y
    drawn = drawing(own, np.array([[[1.0, 0.0, 0.0, *quarter]]]))
    (limb,) = drawn.stretches
    ends = Bodies(np.array([[1.0, 0.0, 0.0, *quarter]])).stretched(limb)[0]
    np.testing.assert_allclose(ends, [(1.0, -0.4, 0.3), (1.0, 0.0, 0.0)], atol=1e-15)


def test_legs_of_a_platform_are_telescopes(drawn_platform: tuple[Scene, Drawing, list[Bodies]]) -> None:
    """From foot to platform at every time, the cylinder never as long as the leg; base and platform are plates."""
    scene, drawn, seen = drawn_platform
    legs = [stretch for stretch in drawn.stretches if stretch.role == "actuator"]
    assert [leg.name for leg in legs] == [f"leg{k}" for k in range(1, 7)]
    for bodies in seen:
        for k, leg in enumerate(legs, start=1):
            foot = np.array(scene.bodies[0].points[f"A{k}"])
            head = bodies.point(1, scene.bodies[1].points[f"B{k}"])
            length, along = np.linalg.norm(head - foot), (head - foot) / np.linalg.norm(head - foot)
            rod, cylinder = (np.array(line) @ along for line in np.array(bodies.stretched(leg)) - foot)
            assert cylinder.min() == pytest.approx(0.0, abs=1e-9)
            assert rod.max() == pytest.approx(length)
            assert rod.min() < cylinder.max() < length
    plates = {solid.body: np.array(solid.corners) for solid in drawn.solids if solid.form == "hull"}
    assert set(plates) == {0, 1}
    for body, corners in plates.items():
        assert len(corners) == 12
        for point in scene.bodies[body].points.values():  # a pin at each lies within
            assert np.linalg.norm(corners - np.array(point), axis=1).min() < 2.0 * drawn.unit


def test_a_hull_is_seen_as_the_outline_of_its_corners() -> None:
    """A plate of sides 1 and 2 that is seen from above has the area 2 there."""
    corners = tuple((x, y, z) for x in (0.0, 1.0) for y in (0.0, 2.0) for z in (0.0, 0.1))
    outline, _ = silhouette(
        Solid(0, "plate", "hull", corners=corners), Bodies(np.zeros((0, 7))), np.eye(3)[0], np.eye(3)[1]
    )
    assert polygon_area([(p[0], p[1]) for p in outline]) == pytest.approx(2.0)


def test_what_travels_far_is_drawn_in_its_own_size() -> None:
    """The sign of a joint follows the size of a bicycle, however far it rolls."""
    near, far = (picture_of(linkwork.simulate(load("whipple_bicycle"), t_end=t))[2].unit for t in (0.2, 2.0))
    assert near < far < 1.5 * near  # ten times as far


def test_films_show_all_of_the_motion(tmp_path: Path) -> None:
    """A film begins with the first row and ends with the last; its pictures differ."""
    from PIL import Image

    motion = linkwork.simulate(linkwork.load("four_bar"), t_end=1.0)
    assert frame_times(motion.t, 0.5)[[0, -1]].tolist() == [0.0, 1.0]
    assert len(frame_times(motion.t, 0.5)) == 50  # two seconds of 25 pictures
    write_film(motion, tmp_path / "film.gif", speed=5.0, width=2.0)
    with Image.open(tmp_path / "film.gif") as film:
        assert getattr(film, "n_frames", 1) == 5
        first = np.asarray(film.convert("L"), dtype=float)
        film.seek(4)
        assert np.mean(np.abs(np.asarray(film.convert("L"), dtype=float) - first)) > 1.0


def test_a_strip_has_the_instants_asked_for() -> None:
    """A strip of n pictures names n times, the first and the last among them."""
    motion = linkwork.simulate(linkwork.load("four_bar"), t_end=1.0)
    titles = [axes.get_title() for axes in strip(motion, 5).axes]
    assert titles == [f"t = {t:g} s" for t in (0.0, 0.25, 0.5, 0.75, 1.0)]


def test_what_cannot_be_drawn_is_told(digger: Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a scene, without ffmpeg, with an unknown suffix or speed there is one clear error."""
    from dataclasses import replace

    with pytest.raises(UsageError, match=r"holds no scene .* \[no-scene\]"):
        scene_of(replace(digger, model=None))
    with pytest.raises(UsageError, match=r"is damaged.*\[bad-scene\]"):
        scene_of(replace(digger, model=None, info=replace(digger.info, scene={"space": "planar"})))
    for key, value in (("bodies", ["no", "such"]), ("points", [[0.0, 0.0]]), ("axis", [1.0])):
        joints = [{**digger.scene["joints"][-1], key: value}]
        broken = {**digger.scene, "joints": joints}
        with pytest.raises(UsageError, match=r"is damaged.*\[bad-scene\]"):
            picture_of(replace(digger, model=None, info=replace(digger.info, scene=broken)))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match=r"needs the program ffmpeg.*\[no-ffmpeg\]"):
        digger.animate(tmp_path / "film.mp4")
    with pytest.raises(UsageError, match=r"\[unknown-suffix\]"):
        digger.animate(tmp_path / "film.avi")
    with pytest.raises(UsageError, match=r"\[bad-speed\]"):
        digger.animate(tmp_path / "film.gif", speed=0.0)
    assert list(tmp_path.iterdir()) == []


def test_names_may_be_anything() -> None:
    """A name that would be mathematics to matplotlib is drawn as text."""
    text = DISC.replace("roll:", '"$x^{":')
    motion = linkwork.simulate(linkwork.loads(text), t_end=0.1)
    still(motion).savefig("/dev/null", format="png", dpi=20)


@pytest.mark.parametrize("name", ["heavy_top", "double_wishbone_3d"])
def test_points_of_bodies_are_drawn_where_they_are(name: str) -> None:
    """Mass centres beside the origins of bodies: poses are of mass centres, and points count from there."""
    model = linkwork.load(name)
    motion = (linkwork.kinematics if model.drivers else linkwork.simulate)(model, t_end=0.1, step=0.05)
    own, found, _ = picture_of(motion)
    bodies = Bodies(found[-1])
    for k, figure in enumerate(own.bodies):
        for point, s in figure.points.items():
            expected = [motion[f"{figure.name}.{point}.{axis}"][-1] for axis in "xyz"]
            np.testing.assert_allclose(bodies.point(k, s), expected, atol=1e-12)


RADII = {"rolling-ellipsoid": (0.3, 0.2, 0.1)}
FORMS = {
    **{"revolute": "cylinder", "prismatic": "box", "spherical": "ball", "cylindrical": "cylinder", "screw": "cylinder"},
    **{"universal": "cylinder", "constant-velocity": "ball", "planar": "box", "rigid": "box", "point-on-line": "ball"},
    **{"point-on-plane": "ball", "distance": "ball", "revolute-spherical": "cylinder", "universal-spherical": "ball"},
    **{"gear": "cylinder", "rack-and-pinion": "cylinder", "wheel": "cylinder", "rolling-sphere": "ball"},
    **{"rolling-ellipsoid": "plate", "knife-edge": "box"},
}


@pytest.mark.parametrize("name", [name for name in SPATIAL_JOINTS if name not in ("velocity-constraint", "coupling")])
def test_every_spatial_joint_has_its_symbol(name: str, rng: np.random.Generator) -> None:
    """At its points, along its axes, and seen from the front its outline lies around the projection of its middle."""
    s_i, s_j, z, z_j = (tuple(map(float, rng.normal(size=3))) for _ in range(4))
    mark = Mark("J", name, ("ground", "body"), (s_i, s_j), z, z_j, RADII.get(name, (0.3, 0.2)))  # type: ignore[arg-type]
    own = Scene("spatial", (0.0, 0.0, 0.0), (Figure("ground"), Figure("body")), (mark,))
    e = rng.normal(size=4)
    pose = np.array([[*rng.normal(size=3), *(e / np.linalg.norm(e))]])
    drawn = drawing(own, pose[None])
    symbols = [solid for solid in drawn.solids if solid.role not in ("axis", "floor")]
    assert FORMS[name] in {solid.form for solid in symbols}
    bodies = Bodies(pose)
    right, up = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
    for solid in symbols:
        assert solid.at == (s_i, s_j)[solid.body]
        if solid.form == "cylinder":
            own_axis = np.array((z, z_j)[solid.body])
            np.testing.assert_allclose(np.cross(solid.z, own_axis), 0.0, atol=1e-12)
        outline, _ = silhouette(solid, bodies, right, up)
        middle = bodies.point(solid.body, solid.at)
        for axis in (right, up):
            assert np.min(outline @ axis) < middle @ axis < np.max(outline @ axis)


def test_the_outline_of_a_cylinder_is_as_wide_as_it_is() -> None:
    """A cylinder of radius 1 and length 4 along z, seen along x and along z; a box with three of its edges."""
    bodies = Bodies(np.zeros((0, 7)))
    x, y, z = np.eye(3)
    cylinder, box = (
        Solid(0, "joint", "cylinder", (1.0, 0.0, 0.0), (1.0, 4.0)),
        Solid(0, "joint", "box", size=(1.0, 2.0, 3.0)),
    )
    outline, (cap,) = silhouette(cylinder, bodies, y, z)
    np.testing.assert_allclose([np.ptp(outline @ y), np.ptp(outline @ z)], [2.0, 4.0], atol=1e-12)
    outline, (cap,) = silhouette(cylinder, bodies, x, y)
    np.testing.assert_allclose([np.min(outline @ x), np.max(outline @ x), cap[0] @ z], [0.0, 2.0, 2.0], atol=1e-12)
    outline, edges = silhouette(box, bodies, np.array([-1.0, 1.0, 0.0]) / 2**0.5, np.array([-1.0, -1.0, 2.0]) / 6**0.5)
    assert len(outline) == 6
    for edge in edges:
        np.testing.assert_allclose(edge[0], [0.5, 1.0, 1.5], atol=1e-12)


def test_shapes_of_bodies_in_space_lie_in_their_xy_plane() -> None:
    """Box, disc, polygon and rod about the origin of a body whose mass centre is elsewhere."""
    model = linkwork.loads("""
linkwork: 1
space: spatial
bodies:
  box: {mass: 1, inertia: [1, 1, 1], mass_centre: [0, 0, 0.5],
        shape: {type: box, size: [0.4, 0.2], centre: [1, 0], angle: 90 deg}}
  disc: {mass: 1, inertia: [1, 1, 1], shape: {type: disc, radius: 0.3}}
  plate: {mass: 1, inertia: [1, 1, 1], shape: {type: polygon, corners: [[0, 0], [1, 0], [0, 1]]}}
  rod: {mass: 1, inertia: [1, 1, 1], points: {A: [3, 0, 0]}, shape: {type: rod, ends: [[0, 0], [0, 2]]}}
""")
    at_rest = np.array([[*(0.0, 0.0, 0.0), *(1.0, 0.0, 0.0, 0.0)]] * 4)
    drawn = drawing(scene(model), at_rest[None])
    box, disc, plate = drawn.solids
    assert (box.form, box.at, box.size[:2]) == ("box", (1.0, 0.0, -0.5), (0.4, 0.2))
    np.testing.assert_allclose(box.x, (0.0, 1.0, 0.0), atol=1e-15)
    assert (disc.form, disc.size[0], disc.z) == ("cylinder", 0.3, (0.0, 0.0, 1.0))
    assert plate.corners == ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    (rod,) = drawn.stretches
    assert rod.points == ((0.0, 0.0, 0.0), (0.0, 2.0, 0.0))


def test_the_span_of_a_body_is_found_from_any_of_its_points() -> None:
    """Two ends of a bar among thousands of points on it, whichever comes first."""
    spots = [(0.6 * s, 0.8 * s, 0.0) for s in np.random.default_rng(5).permutation(np.linspace(-1, 2, 3001))]
    assert _span(spots) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("body", "shape", "least"),
    [
        ("position: [0.5, 0], points: {O: [-0.5, 0]}", "", 0.5),  # to its mass centre
        ("points: {O: [0, 0]}", ", shape: {type: disc, radius: 3}", 3.0),
        ("points: {O: [0, 0]}", ", shape: {type: box, size: [6, 1], centre: [1, 0]}", 4.0),
        ("points: {O: [0, 0]}", ", shape: {type: polygon, corners: [[0, 0], [5, 0], [0, 1]]}", 5.0),
        ("points: {O: [0, 0]}", "", 0.04),  # with nothing to tell its size
    ],
)
def test_a_picture_shows_all_of_a_body_that_is_held_at_one_point(body: str, shape: str, least: float) -> None:
    """However little the point moves, by rounding: how far the body reaches along x is within the box."""
    text = f"""
linkwork: 1
ground: {{points: {{O: [0, 0]}}}}
bodies: {{rod: {{mass: 1, inertia: 1, {body}{shape}}}}}
joints: {{O: {{type: revolute, i: ground.O, j: rod.O}}}}
simulation: {{t_end: 0.1, step: 0.05}}
"""
    drawn = picture_of(linkwork.simulate(linkwork.loads(text)))[2]
    reach = np.array(drawn.box)[1, 0]
    assert least < reach < 1.5 * least + 0.5
    assert drawn.unit > 5e-3


def test_gears_are_drawn_with_radii_that_go_with_their_teeth() -> None:
    """Pitch circles roll on each other: R_j = R_i z_j/z_i."""
    m = linkwork.SpatialModel("gears")
    m.fix(O=(0, 0, 0), P=(0.5, 0, 0))
    wheels = [m.body(name, mass=1, inertia=(1, 1, 1), points={"C": (0, 0, 0)}) for name in ("one", "two")]
    m.change("two", position=(0.5, 0, 0))
    for name, point, wheel in zip(("A", "B"), ("O", "P"), wheels, strict=True):
        m.revolute(name, m.ground[point], wheel["C"], axis=(0, 0, 1))
    m.gear("G", wheels[0]["C"], wheels[1]["C"], axis=(0, 0, 1), axis_j=(0, 0, 1), teeth_i=20, teeth_j=30, radius=0.2)
    (drawn,) = [mark for mark in scene(m.model).joints if mark.name == "G"]
    assert drawn.radii == pytest.approx((0.2, 0.3))


def test_the_head_of_an_arrow_is_at_its_tip() -> None:
    """Both strokes end at the tip and begin behind it, one on each side of the shaft."""
    tail, tip = np.array([1.0, 2.0]), np.array([4.0, 6.0])
    along = (tip - tail) / 5.0
    shaft, head = arrow((1.0, 2.0), (4.0, 6.0), 0.1)
    assert shaft == [(1.0, 2.0), (4.0, 6.0)]
    assert head[1] == (4.0, 6.0)
    back = [np.array(barb) - tip for barb in (head[0], head[2])]
    assert all(-0.125 < barb @ along < -0.08 for barb in back)
    sides = [barb @ np.array([-along[1], along[0]]) for barb in back]
    assert sides[0] == pytest.approx(-sides[1])
    assert abs(sides[0]) > 0.05


def test_neighbouring_bodies_have_different_colours() -> None:
    assert len({color(body) for body in range(6)}) == 6
    figure = still(linkwork.simulate(load("four_bar"), t_end=0.01), width=3.0, names=False)
    edges = {tuple(patch.get_edgecolor()) for patch in figure.axes[0].patches}
    assert {to_rgba(color(body)) for body in (1, 2, 3)} <= edges


@pytest.mark.parametrize(("least", "most"), [(0.2, 0.4), (0.3, 0.31), (1.0, 5.0)])
def test_a_piston_stays_in_its_cup(least: float, most: float) -> None:
    """From the least to the largest distance of the ends of a damper."""
    _, cup, _, piston = dashpot(0.01, least, most, 0.0)
    mouth, foot = cup[0][1], cup[1][1]
    for length in (least, most):
        assert foot < length + piston[0][1] < mouth
