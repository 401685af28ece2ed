"""Motions through measured positions: smoothed, and then prescribed.

Of positions y at times t the smoothing spline s is least in

    |y - s(t)|^2 + mu int (d^3 s/dt^3)^2 dt

among cubic splines with their knots at these times, so that accelerations are continuous and free at both ends. With
the smoother A(mu) y = s(t), mu is where generalized cross-validation is least:

    n |(I - A) y|^2 / tr(I - A)^2                                       [craven1979; woltring1986]
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork import units
from linkwork.driven.kinematics import kinematics
from linkwork.elements.drivers import FREEDOMS, Driver
from linkwork.elements.joints import MEASURES
from linkwork.elements.kinds import UNITS
from linkwork.elements.motions import Table
from linkwork.elements.pairs import Joint
from linkwork.errors import ModelError, UsageError, did_you_mean
from linkwork.formats.columns import Column, read_columns
from linkwork.linalg.rank import FEW, TINY
from linkwork.model import Model
from linkwork.start.check import check
from linkwork.tolerances import HALF_THE_DIGITS, NEGLIGIBLE
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]


def follow(model: Model, path: Path, assemble: bool) -> Trajectory:
    """Make a motion through the positions of a table: its first column is the time, the others what is measured."""
    columns = read_columns(path)
    names = [name for name in columns if name != "t"]
    if "t" not in columns or not names:
        rule = "the column t has the times, the others are positions"
        raise ModelError("is not a table of a motion", "bad-table", file=str(path), rule=rule)
    t = in_si(columns["t"], "s", "t")
    if len(t) < 5 or not np.all(np.diff(t) > 0.0) or not all(np.isfinite(x.values).all() for x in columns.values()):
        rule = "five or more times that rise, and a number for each"
        raise ModelError("has gaps, or too few times", "bad-table", file=str(path), rule=rule)
    if t[0] != 0.0:
        rule = "a motion begins at t = 0; take its first time from all"
        raise ModelError(f"its times begin at {t[0]:g} s", "bad-table", file=str(path), rule=rule)
    known = measurable(model)
    if unknown := [name for name in names if name not in known]:
        hint = did_you_mean(unknown[0], known) or "name a coordinate, a point or a freedom of a joint"
        raise UsageError(f"'{path}' measures '{unknown[0]}', which the model has not; {hint}", "unknown-quantity")
    if (freedoms := check(replace(model, drivers=())).dof) != len(names):
        message = f"'{path}' measures {len(names)} positions of a mechanism of {freedoms} freedoms"
        raise UsageError(f"{message}; give as many positions as there are freedoms", "measured-freedoms")
    Y = np.column_stack([in_si(columns[name], UNITS[FREEDOMS[known[name][1]]], name) for name in names])
    times, smoothed = tuple(t.tolist()), smooth(t, Y).T.tolist()
    drivers = [Driver(name, *known[name], Table(times, tuple(y))) for name, y in zip(names, smoothed, strict=True)]
    settings = replace(model.simulation, t_end=float(t[-1]), step=float(np.median(np.diff(t))))
    return kinematics(replace(model, drivers=tuple(drivers), simulation=settings), assemble=assemble)


def in_si(column: Column, unit: str, name: str) -> Array:
    """Return the values of a column whose heading may have another unit of this kind."""
    own = units.parse_unit(column.unit or unit)
    if own.exponents != units.parse_unit(unit).exponents:
        raise UsageError(f"'{name}' is in {column.unit}, and should be in {unit} or its like", "unit-mismatch")
    return np.asarray(column.values * float(own.factor))


def measurable(model: Model) -> dict[str, tuple[Joint, str]]:
    """Return what a table can name, as results do: coordinates of bodies, points, freedoms of joints.

    And what measures it.
    """
    found: dict[str, tuple[Joint, str]] = {}
    measure, origin = MEASURES[model.space], (0.0,) * len(model.gravity)
    for joint in model.joints:
        found |= {
            f"joint:{joint.name}.{freedom}": (joint, freedom) for freedom in joint.freedom_names if freedom in FREEDOMS
        }
    for body in model.bodies:
        places = {body.name: origin, **{f"{body.name}.{name}": s for name, s in body.points.items()}}
        for name, s in places.items():
            measured = measure(name, model.ground, body, origin, s)
            found |= {f"{name}.{axis}": (measured, axis) for axis in "xyz"[: len(origin)]}
        if model.space == "planar":
            found[f"{body.name}.phi"] = (measure(body.name, model.ground, body, origin, origin), "angle")
    return found


def smooth(t: Array, Y: Array) -> Array:
    """Return the values of smoothing splines at the times, of each column of Y.

    (B^T B + mu D^T D) c = B^T y,    A = B (B^T B + mu D^T D)^-1 B^T,    B c the values, D c the third derivatives

    are banded. The trace of A is that of p^T A p, of many times with random signs p [girard1989].
    """
    from scipy.interpolate import BSpline
    from scipy.linalg import solveh_banded
    from scipy.sparse import diags_array, eye_array

    n, u, size = len(t), (t - t[0]) / (t[-1] - t[0]), np.maximum(np.ptp(Y, axis=0), TINY)
    knots = np.concatenate([[0.0] * 4, u[2:-2], [1.0] * 4])
    B, D = BSpline.design_matrix(u, knots, 3), eye_array(n).tocsr()
    for degree in (3, 2, 1):
        D = diags_array(degree / (knots[degree + 1 : -1] - knots[1 : -degree - 1])) @ (D[1:] - D[:-1])
        knots = knots[1:-1]
    values, bends = _band(B.T @ B), _band(D.T @ diags_array(np.diff(knots)) @ D)
    probes = np.eye(n) if n <= FEW else np.random.default_rng(0).choice((-1.0, 1.0), (n, FEW)) / np.sqrt(FEW)
    right = B.T @ np.hstack([Y / size, probes])
    # From where nothing is smoothed, by mu, to where numbers have no more digits for what is left.
    even = values[0].max() / bends[0].max()
    found, least = Y.copy(), np.full(Y.shape[1], np.inf)
    for log_mu in np.arange(np.log(even * HALF_THE_DIGITS), np.log(even / NEGLIGIBLE)):
        fitted = B @ solveh_banded(values + np.exp(log_mu) * bends, right, lower=True)
        smoothed, free = fitted[:, : len(size)], n - np.sum(probes * fitted[:, len(size) :])
        error = n * np.sum((Y / size - smoothed) ** 2, axis=0) / free**2
        better = error < least
        found[:, better], least[better] = (size * smoothed)[:, better], error[better]
    return found


def _band(A: Any) -> Array:
    """Return the diagonals of a symmetric matrix of width three, the longest first, as banded solutions take them."""
    return np.array([np.append(A.diagonal(-k), np.zeros(k)) for k in range(4)])
