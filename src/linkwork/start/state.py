"""The equations of motion in numbers at any state, with the names of rows and columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from linkwork.compiled.mechanism import Mechanism
from linkwork.equations.place import Array, Place
from linkwork.errors import check_choice, check_extra, check_number, check_values
from linkwork.expressions.evaluation import evaluate
from linkwork.formulations import solve_on_scales
from linkwork.units import value_of

if TYPE_CHECKING:
    import xarray


def find_state(
    mechanism: Mechanism, q: Mapping[str, float | str] | None, v: Mapping[str, float | str] | None, t: float
) -> xarray.Dataset:
    """Return M, Psi_q, Q, gamma, Psi, Psi_dot, a, lam and named outputs at a state, whether it fits the joints or not.

    M a + Psi_q^T lam = Q,    Psi_q a = gamma;    of multipliers that are not unique those of least norm
    """
    check_extra("xarray")
    import xarray

    for what, given in (("q", q), ("v", v)):
        check_values(what, given or {})
    check_number("t", t)
    e, stated = mechanism.equations, mechanism.place()
    places = {c.name: c.unit for c in e.coordinates}
    speeds = {c.speed: f"{c.unit}/s" for c in e.velocities}
    at: list[Array] = []
    for what, units, start, given in (("coordinate", places, stated.q, q), ("velocity", speeds, stated.v, v)):
        names = [*units]
        numbers = {}
        for name, x in (given or {}).items():
            check_choice(what, name, names)
            numbers[name] = value_of(name, x, units[name])
            check_number(name, numbers[name])
        at.append(np.array([numbers.get(name, x) for name, x in zip(names, start.tolist(), strict=True)]))
    place = Place(e, at[0], at[1], t)
    M, J, Q, gamma = place.M, place.Psi_q, place.Q, place.gamma
    found = solve_on_scales("svd", M, J, Q, gamma, place.v_scale, place.row_scale)
    values = {**place.values, **dict(zip((*e.a, *e.lam), (*found.a.tolist(), *found.lam.tolist()), strict=True))}
    rows = [str(row) for row in e.rows]
    arrays = {
        "q": (("coordinate",), place.q),
        "v": (("velocity",), place.v),
        "M": (("velocity", "column"), M),
        "Psi_q": (("row", "column"), J),
        "Q": (("velocity",), Q),
        "gamma": (("row",), gamma),
        "Psi": (("row",), place.Psi),
        "Psi_dot": (("row",), place.Psi_dot),
        "a": (("velocity",), found.a),
        "lam": (("row",), found.lam),
    }
    named = {
        name: output.shown
        for kind, outputs in e.outputs.items()
        for name, output in zip(e.columns[kind].names, outputs.values(), strict=True)
    }
    shown = {name: ((), float(x)) for name, x in zip(named, evaluate([*named.values()], values), strict=True)}
    axes = {"coordinate": list(e.q_names), "velocity": list(e.v_names), "row": rows, "column": list(e.v_names)}
    return xarray.Dataset({**arrays, **shown}, axes, {"model": mechanism.model.name, "t": t})
