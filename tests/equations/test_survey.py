"""Scales and dependent rows of a place as machine code finds them, beside NumPy on the full matrices."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork import load, prepare
from linkwork.equations.place import Place
from linkwork.equations.survey import LEAST_LEFT, LEAST_ROW, find_rank, find_scales, ranked, scaled, scratch_of
from linkwork.linalg.rank import RANK_TOLERANCE
from linkwork.native.kernels import size_of

CASES = [
    ("slider_crank", "body"),  # M is diagonal
    ("slider_crank", "joint"),  # it is not, and a closed loop
    ("spatial_four_link", "joint"),
    ("bricard", "joint"),  # a row depends on the others
    ("four_bar_redundant", "body"),
    ("double_pendulum", "joint"),  # no rows
]


@pytest.fixture(params=CASES, ids=":".join)
def place(request: pytest.FixtureRequest) -> Place:
    name, coordinates = request.param
    return prepare(load(name), coordinates).place()


def test_scales_are_those_of_lengths_and_angles(place: Place) -> None:
    e, found = place.equations, place.scaled
    turns = place.Psi_q[np.ix_(e.lengths[len(e.q) + len(e.v) :], e.turning)]
    assert e.hints.arm is not None or found.arm == np.abs(turns).max(initial=0.0)  # else of joints that Psi is without
    assert found.length == (found.arm or np.abs(place.q[e.lengths[: len(e.q)]]).max(initial=0.0) or 1.0)
    np.testing.assert_array_equal(found.scales, np.where(e.lengths, found.length, 1.0))
    assert found.gap == np.abs(place.Psi / place.row_scale).max(initial=0.0)
    assert found.rate == np.abs(place.Psi_dot / place.row_scale).max(initial=0.0)
    assert found.speed == np.abs(place.v / place.v_scale).max(initial=0.0)


def test_rank_is_that_of_all_singular_values(place: Place) -> None:
    """In the metric of M^-1, rows having length one: to some units of the largest value, as they are found."""
    J = np.linalg.solve(np.linalg.cholesky(place.M), place.Psi_q.T).T
    values = np.linalg.svd(J / np.linalg.norm(J, axis=1)[:, None], compute_uv=False)
    kept = values[values > RANK_TOLERANCE * values.max(initial=0.0)]
    found = place.ranked
    assert found is not None
    assert found.rank == len(kept)
    assert found.smallest == pytest.approx(kept.min(initial=1.0), abs=1e-14 * values.max(initial=0.0), rel=1e-15)
    np.testing.assert_array_equal(found.diagonal, place.M.diagonal())


def test_size_of_a_row_is_what_the_others_leave_where_that_is_little(place: Place) -> None:
    """No row here vanishes, so that none is as small as LEAST_ROW."""
    J, found = place.Psi_q / np.sqrt(place.M.diagonal()), place.ranked
    assert found is not None
    size = np.sum(J * J, axis=1)
    if 0 < found.rank == len(size):
        unit = J / np.sqrt(size)[:, None]
        size = size * np.minimum(1.0, 1.0 / np.diag(np.linalg.inv(unit @ unit.T)) / LEAST_LEFT)
    np.testing.assert_allclose(found.size, size, rtol=1e-9)
    assert LEAST_ROW < 1.0


def test_kernels_are_stepped_through_as_python(place: Place) -> None:
    e = place.equations
    n, sizes = len(e.lengths), (len(e.v), len(e.Psi))
    given = np.concatenate([place.q, place.v, place.Psi, place.Psi_dot, place._linear])
    y = np.empty(size_of(scaled, n))
    find_scales.python(given, e.layout, y, np.empty(0))
    np.testing.assert_array_equal(scaled(y, n).scales, place.scales)
    y = np.empty(size_of(ranked, *sizes))
    find_rank.python(np.concatenate([place._linear, place.scales]), e.layout, y, np.empty(scratch_of(*sizes)))
    stepped, found = ranked(y, *sizes), place.ranked
    assert found is not None
    assert (stepped.is_known, stepped.rank) == (found.is_known, found.rank)
    np.testing.assert_allclose(stepped.size, found.size, rtol=1e-12)
