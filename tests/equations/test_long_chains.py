"""Chains of many bodies: work and memory grow with their number, and what does not has a stated limit."""

from dataclasses import replace

import numpy as np
import pytest
from slices import with_slow

from linkwork import check, load, prepare, simulate
from linkwork.elements.bodies import PlanarBody
from linkwork.equations.place import Place
from linkwork.errors import NumericalStop, UsageError
from linkwork.linalg import rank


@pytest.fixture
def no_full_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(place: Place) -> None:
        raise AssertionError(f"a full matrix of {len(place.v)} velocities")

    monkeypatch.setattr(Place, "M", property(refuse))
    monkeypatch.setattr(Place, "Psi_q", property(refuse))


@pytest.mark.parametrize("coordinates", with_slow(["body", "joint"], ["body"]))
def test_a_long_chain_is_checked_without_full_matrices(coordinates: str, no_full_matrices: None) -> None:
    report = check(load("planar_chain:201"), coordinates=coordinates)
    assert report.dof == 201
    assert report.rank == report.constraints == (402 if coordinates == "body" else 0)
    assert set(report.reactions.values()) == {"unique"}


def test_singular_values_of_many_rows_are_those_of_the_full_matrix() -> None:
    place = prepare(load("planar_chain:220"), "body").place()
    J = place.Psi_q / np.sqrt(np.diag(place.M))
    J = J / np.linalg.norm(J, axis=1)[:, None]
    np.testing.assert_allclose(place.rank.values, np.linalg.svd(J, compute_uv=False), rtol=1e-8)


@pytest.mark.parametrize("name", with_slow(["planar_chain:20", "spatial_chain:20"], fast=["planar_chain:20"]))
def test_inertia_along_links_is_that_of_the_full_matrix(name: str) -> None:
    seed = 5
    print("seed", seed)
    place = prepare(load(name), "joint").place()
    assert place.equations.hints.chain is not None
    place = replace(place, q=place.q + np.random.default_rng(seed).normal(size=len(place.q)))
    np.testing.assert_allclose(place.mass.diagonal, np.diag(place.M), rtol=1e-12)
    assert place.mass.is_regular
    if name.startswith("planar"):
        # Pivots from the outermost link inwards are the squares of Cholesky's diagonal of M read backwards.
        pivots = np.diag(np.linalg.cholesky(place.M[::-1, ::-1]))[::-1] ** 2
        np.testing.assert_allclose(place.mass._along_links[1], np.min(pivots / np.diag(place.M)), rtol=1e-9)


def test_a_last_link_without_mass_leaves_a_chain_without_regular_mass() -> None:
    model = load("planar_chain:20")
    *others, last = model.bodies
    heavy = prepare(model, "joint").place().mass.diagonal
    assert isinstance(last, PlanarBody)
    bodies = (*others, replace(last, mass=0.0, inertia=0.0))
    joints = tuple(replace(j, body_j=bodies[k]) for k, j in enumerate(model.joints))
    light = prepare(replace(model, bodies=bodies, joints=joints), "joint").place()
    assert not light.mass.is_regular
    assert light.mass.diagonal[-1] == 0.0 < light.mass.diagonal[0] < heavy[0]


def test_what_the_other_rows_leave_of_a_row_is_the_same_for_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = 7
    print("seed", seed)
    random, (m, n) = np.random.default_rng(seed), (30, 50)
    i = np.concatenate([np.arange(m), np.arange(m)])
    j = np.concatenate([np.arange(m), np.arange(m) + 1])
    entries = random.normal(size=2 * m)
    J = np.zeros((m, n))
    J[i, j] = entries
    # The distance of each row from the span of the others, by least squares.
    left = [np.linalg.lstsq(np.delete(J, k, 0).T, J[k])[1][0] for k in range(m)]
    for few in (rank.FEW, 7):
        monkeypatch.setattr(rank, "FEW", few)
        np.testing.assert_allclose(rank.left_by_others(entries, (i, j), (m, n)), left, rtol=1e-8)


def test_dependent_rows_beyond_what_full_matrices_can_do_are_refused() -> None:
    m = rank.MOST + 1
    i = np.repeat(np.arange(m), 2)
    j = np.stack([np.arange(m), np.arange(m) + 1], axis=1).ravel()
    entries = np.ones(2 * m)
    j[-2:] = j[-4:-2]  # the last row repeats the one before
    with pytest.raises(NumericalStop, match=rf"of {m} constraint rows some depend on others.*choose joint coordinates"):
        rank.singular_values(rank.sparse(entries, (i, j), (m, m + 1)))


def test_formulations_on_full_matrices_say_how_many_velocities_they_take() -> None:
    with pytest.raises(UsageError, match=r"600 velocities; at most 400 are taken; choose augmented") as refused:
        simulate(load("planar_chain:200"), coordinates="body", formulation="qr")
    assert refused.value.code == "too-large"
