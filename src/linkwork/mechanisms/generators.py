"""Mechanisms of any size, as documents of the same form as a model file."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]
MOMENT = "m*L^2/12"  # of a uniform rod


def n_four_bar(N: int) -> Document:
    """Make N four-bars in a row: N + 1 uprights on ground pivots one link apart, joined by N couplers.

    IFToMM multibody benchmark library, problem A02. When all links lie in a line the constraints lose rank.
    """
    falling = {"angle": "90 deg", "velocity": ["speed/2", 0], "angular_velocity": "-speed/L"}
    feet = {f"A{i}": [f"{i}*L" if i else 0, 0] for i in range(N + 1)}
    bodies = {f"upright{i}": _rod([feet[f"A{i}"][0], "L/2"], "AB", **falling) for i in range(N + 1)}
    bodies |= {f"coupler{i}": _rod([f"{i + 0.5}*L", "L"], "BC", velocity=["speed", 0]) for i in range(N)}
    joints = {f"A{i}": _hinge(f"ground.A{i}", f"upright{i}.A") for i in range(N + 1)}
    for i in range(N):
        joints[f"B{i}"] = _hinge(f"upright{i}.B", f"coupler{i}.B")
        joints[f"C{i}"] = _hinge(f"upright{i + 1}.B", f"coupler{i}.C")
    about = {
        "title": f"{N} four-bars in a row, passing positions where the constraints lose rank",
        "source": "IFToMM multibody benchmark library, problem A02",
    }
    if N == 2:
        source = "pi/2 minus the angle of the one-freedom reduction"
        about |= _checked("upright0.phi", 10.0, -30.179800860205103, 1.0e-4, source)
    return _document("n_four_bar", about, [0, -9.81], feet, bodies, joints, 10, speed=1.0)


def planar_chain(N: int) -> Document:
    """Make N uniform rods hanging from each other, released from the horizontal."""
    bodies = {f"link{i}": _rod([f"{i + 0.5}*L", 0], "AB") for i in range(N)}
    joints = {f"J{i}": _hinge(_above(i), f"link{i}.A") for i in range(N)}
    about = {
        "title": f"Chain of {N} rods released from the horizontal",
        "source": "textbook example; reference by integration of the equations in the angles of the rods",
    }
    if N == 8:
        about |= _checked("link7.phi", 1.0, 0.05750780293, 1.0e-6, "equations in the angles of the rods")
    return _document("planar_chain", about, [0, -9.81], {"O": [0, 0]}, bodies, joints, 1)


def spatial_chain(N: int) -> Document:
    """Make N uniform rods hanging from each other, on hinges about y and z in turn, released from the horizontal."""
    bodies = {f"link{i}": _rod([f"{i + 0.5}*L", 0, 0], "AB", [0.001, MOMENT, MOMENT]) for i in range(N)}
    axes = [[0, 1, 0] if i % 2 == 0 else [0, 0, 1] for i in range(N)]
    joints = {f"J{i}": _hinge(_above(i), f"link{i}.A", axis=axis, axis_j=axis) for i, axis in enumerate(axes)}
    source = "recursive Newton-Euler in the angles of the hinges"
    about = {
        "title": f"Chain of {N} rods on hinges about two axes in turn",
        "source": f"textbook example; reference by {source}",
    }
    if N == 8:
        about |= _checked("link7.B.x", 1.0, 4.54385834, 1.0e-6, source)
    return _document("spatial_chain", about, [0, 5.0, -9.81], {"O": [0, 0, 0]}, bodies, joints, 1)


def _rod(position: list[Any], ends: str, inertia: Any = MOMENT, **more: Any) -> Document:
    """Return a rod along x, its ends named by letters."""
    beside = [0] * (len(position) - 1)
    points = {end: [x, *beside] for end, x in zip(ends, ("-L/2", "L/2"), strict=True)}
    return {"mass": "m", "inertia": inertia, "position": position, **more, "points": points}


def _hinge(i: str, j: str, **more: Any) -> Document:
    return {"type": "revolute", "i": i, "j": j, **more}


def _above(i: int) -> str:
    """Return what link i of a chain hangs from."""
    return f"link{i - 1}.B" if i else "ground.O"


def _checked(quantity: str, t: float, value: float, tolerance: float, source: str) -> Document:
    return {"checked": {"quantity": quantity, "t": t, "value": value, "tolerance": tolerance, "source": source}}


def _document(
    name: str,
    about: Document,
    gravity: list[float],
    ground: Document,
    bodies: Document,
    joints: Document,
    t_end: float,
    **parameters: float,
) -> Document:
    return {
        "linkwork": 1,
        "name": name,
        **({"space": "spatial"} if len(gravity) == 3 else {}),
        "about": about,
        "parameters": {"m": 1.0, "L": 1.0, **parameters},
        "gravity": gravity,
        "ground": {"points": ground},
        "bodies": bodies,
        "joints": joints,
        "simulation": {"t_end": t_end, "step": 0.01},
    }


# name -> what makes it for a given size, and the size of the mechanism shipped under the plain name
GENERATORS = {"n_four_bar": (n_four_bar, 2), "planar_chain": (planar_chain, 8), "spatial_chain": (spatial_chain, 8)}
