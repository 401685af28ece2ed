"""Mechanisms of any size, as documents of the same form as a model file."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]


def n_four_bar(N: int) -> Document:
    """N four-bars in a row: N + 1 uprights on ground pivots one link apart, joined by N couplers.

    IFToMM multibody benchmark library, problem A02. When all links lie in a line the constraints lose rank.
    """
    uprights = {
        f"upright{i}": {
            "mass": "m",
            "inertia": "m*L^2/12",
            "position": [f"{i}*L" if i else 0, "L/2"],
            "angle": "90 deg",
            "velocity": ["speed/2", 0],
            "angular_velocity": "-speed/L",
            "points": {"A": ["-L/2", 0], "B": ["L/2", 0]},
        }
        for i in range(N + 1)
    }
    couplers = {
        f"coupler{i}": {
            "mass": "m",
            "inertia": "m*L^2/12",
            "position": [f"{i + 0.5}*L", "L"],
            "velocity": ["speed", 0],
            "points": {"B": ["-L/2", 0], "C": ["L/2", 0]},
        }
        for i in range(N)
    }
    joints = {f"A{i}": {"type": "revolute", "i": f"ground.A{i}", "j": f"upright{i}.A"} for i in range(N + 1)}
    for i in range(N):
        joints[f"B{i}"] = {"type": "revolute", "i": f"upright{i}.B", "j": f"coupler{i}.B"}
        joints[f"C{i}"] = {"type": "revolute", "i": f"upright{i + 1}.B", "j": f"coupler{i}.C"}
    document: Document = {
        "linkwork": 1,
        "name": "n_four_bar",
        "about": {
            "title": f"{N} four-bars in a row, passing positions where the constraints lose rank",
            "source": "IFToMM multibody benchmark library, problem A02",
        },
        "parameters": {"m": 1.0, "L": 1.0, "speed": 1.0},
        "gravity": [0, -9.81],
        "ground": {"points": {f"A{i}": [f"{i}*L" if i else 0, 0] for i in range(N + 1)}},
        "bodies": {**uprights, **couplers},
        "joints": joints,
        "simulation": {"t_end": 10, "step": 0.01},
    }
    if N == 2:
        document["about"]["checked"] = {
            "quantity": "upright0.phi",
            "t": 10.0,
            "value": -30.179800860205103,
            "tolerance": 1.0e-4,
            "source": "pi/2 minus the angle of the one-freedom reduction",
        }
    return document


def planar_chain(N: int) -> Document:
    """N uniform rods hanging from each other, released from the horizontal."""
    bodies = {
        f"link{i}": {
            "mass": "m",
            "inertia": "m*L^2/12",
            "position": [f"{i + 0.5}*L", 0],
            "points": {"A": ["-L/2", 0], "B": ["L/2", 0]},
        }
        for i in range(N)
    }
    joints = {"J0": {"type": "revolute", "i": "ground.O", "j": "link0.A"}}
    for i in range(1, N):
        joints[f"J{i}"] = {"type": "revolute", "i": f"link{i - 1}.B", "j": f"link{i}.A"}
    document: Document = {
        "linkwork": 1,
        "name": "planar_chain",
        "about": {
            "title": f"Chain of {N} rods released from the horizontal",
            "source": "textbook example; reference by integration of the equations in the angles of the rods",
        },
        "parameters": {"m": 1.0, "L": 1.0},
        "gravity": [0, -9.81],
        "ground": {"points": {"O": [0, 0]}},
        "bodies": bodies,
        "joints": joints,
        "simulation": {"t_end": 1, "step": 0.01},
    }
    if N == 8:
        document["about"]["checked"] = {
            "quantity": "link7.phi",
            "t": 1.0,
            "value": 0.05750780293,
            "tolerance": 1.0e-6,
            "source": "equations in the angles of the rods",
        }
    return document


def spatial_chain(N: int) -> Document:
    """N uniform rods hanging from each other, on hinges about y and z in turn, released from the horizontal."""
    inertia = [0.001, "m*L^2/12", "m*L^2/12"]
    bodies = {
        f"link{i}": {
            "mass": "m",
            "inertia": inertia,
            "position": [f"{i + 0.5}*L", 0, 0],
            "points": {"A": ["-L/2", 0, 0], "B": ["L/2", 0, 0]},
        }
        for i in range(N)
    }
    joints = {}
    for i in range(N):
        axis = [0, 1, 0] if i % 2 == 0 else [0, 0, 1]
        before = f"link{i - 1}.B" if i else "ground.O"
        joints[f"J{i}"] = {"type": "revolute", "i": before, "j": f"link{i}.A", "axis": axis, "axis_j": axis}
    document: Document = {
        "linkwork": 1,
        "name": "spatial_chain",
        "space": "spatial",
        "about": {
            "title": f"Chain of {N} rods on hinges about two axes in turn",
            "source": "textbook example; reference by recursive Newton-Euler in the angles of the hinges",
        },
        "parameters": {"m": 1.0, "L": 1.0},
        "gravity": [0, 5.0, -9.81],
        "ground": {"points": {"O": [0, 0, 0]}},
        "bodies": bodies,
        "joints": joints,
        "simulation": {"t_end": 1, "step": 0.01},
    }
    if N == 8:
        document["about"]["checked"] = {
            "quantity": "link7.B.x",
            "t": 1.0,
            "value": 4.54385834,
            "tolerance": 1.0e-6,
            "source": "recursive Newton-Euler in the angles of the hinges",
        }
    return document


# name -> what makes it for a given size, and the size of the mechanism shipped under the plain name
GENERATORS = {"n_four_bar": (n_four_bar, 2), "planar_chain": (planar_chain, 8), "spatial_chain": (spatial_chain, 8)}
