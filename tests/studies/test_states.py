"""Batches of rests, small motions and assembled positions: what is found of each is what is found of one alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linkwork import assemble, batch, equilibrium, linearize, load, prepare
from linkwork.errors import UsageError

LENGTHS = np.array([0.9, 1.0, math.nan, 1e6, 1.1])  # the fourth does not close
SOUND = [0, 1, 4]


def test_a_pendulum_swings_by_its_length() -> None:
    """omega^2 = m g L / (I_g + m L^2)."""
    take, lengths = ["final(mode:1.frequency)", "final(growth)"], np.array([0.5, 1.0, 2.0])
    rod = load("simple_pendulum_rod")
    found = batch(rod, {"L": lengths}, take, of="linearization", at="equilibrium")
    m, g, inertia = (rod.parameters[name] for name in ("m", "g", "I_g"))
    expected = np.sqrt(m * g * lengths / (inertia + m * lengths**2))
    np.testing.assert_allclose(found[take[0]], expected, rtol=1e-9)
    np.testing.assert_allclose(found[take[1]], 0.0, atol=1e-9)


def test_states_are_those_of_single_calls_and_failures_are_rows() -> None:
    four_bar = prepare(load("four_bar"))
    takes = {
        "equilibrium": ["final(crank.phi)", "final(stable)"],
        "linearization": ["final(mode:1.frequency)", "final(eigenvalue:2.imag)"],
        "assembly": ["final(crank.phi)", "final(abs(rocker.phi) + residual)"],
    }
    for of, take in takes.items():
        found = batch(four_bar, {"a": LENGTHS}, take, of=of, threads=2)  # type: ignore[arg-type]
        assert (found["status"] == "finished").values.nonzero()[0].tolist() == SOUND
        assert (found["reason"].values != "").nonzero()[0].tolist() == [2, 3]
        assert all(np.isnan(found[text].values[[2, 3]]).all() for text in take)
        again = batch(four_bar, {"a": LENGTHS}, take, of=of, threads=1)  # type: ignore[arg-type]
        assert found.identical(again)
        for k in SOUND:
            own = four_bar.changed({"a": LENGTHS[k]})
            if of == "equilibrium":
                rest = equilibrium(own)
                expected = [rest.q["crank.phi"], float(rest.is_stable)]
            elif of == "linearization":
                small = linearize(own)
                expected = [small.modes[0].frequency, small.eigenvalues[1].imag]
            else:
                closed = assemble(own)
                expected = [closed.q["crank.phi"], abs(closed.q["rocker.phi"]) + closed.residual]
            assert [float(found[text][k]) for text in take] == expected


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"of": "equilibrium", "take": ["time(stop)"]}, "unknown-event"),
        ({"of": "equilibrium", "take": ["final(reaction)"]}, "unknown-quantity"),
        ({"of": "equilibrum", "take": ["final(crank.phi)"]}, "unknown-state"),
        ({"of": "assembly", "take": ["final(crank.phi)"], "driven": True}, "no-effect"),
    ],
)
def test_what_states_do_not_have_is_refused(given: dict[str, object], code: str) -> None:
    with pytest.raises(UsageError) as refused:
        batch(load("four_bar"), {"a": [0.9, 1.0]}, **given)  # type: ignore[arg-type]
    assert refused.value.code == code
