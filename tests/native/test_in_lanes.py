"""Kernels in lanes: each lane goes its own way through branches and loops, and finds to the bit what it finds alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from linkwork.native import machine
from linkwork.native.in_lanes import translate_in_lanes
from linkwork.native.kernels import (
    Kernel,
    Memory,
    Pointer,
    Shared,
    call_in_lanes,
    integer,
    kernel,
    offset,
    shared_at,
    split,
)

Array = NDArray[np.float64]

pytestmark = pytest.mark.skipif(bool(machine.missing()), reason="LLVM is not here")


class Place(Memory):
    """Numbers of each kind in memory."""

    count: int
    total: float
    is_odd: bool
    rest: Pointer


def place(m: Pointer) -> Place:
    return Place(*split(m, (1, 1, 1)))


def first_above(x: Pointer, count: int, limit: float) -> int:
    """Return from the middle of a loop."""
    for i in range(count):
        if x[i] > limit:
            return i
    return -1


@kernel
def leave_loops(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Lanes leave loops at different rounds, skip some, and go through others as often as their numbers say."""
    k, sum_of_some = 0, 0.0
    for i in range(8):
        if x[i] > 2.0:
            break
        if x[i] < -1.0:
            continue
        sum_of_some += x[i]
        k = i
    y[0], y[1] = sum_of_some, float(k)
    rounds = 0
    value = 1.0 + abs(x[0])
    while value < 100.0:
        value *= 1.0 + abs(x[1])
        rounds += 1
        if rounds > 12:
            break
    y[2], y[3] = value, float(rounds)
    for i in range(int(abs(3.0 * x[2]))):
        y[4] += float(i) * x[i % 8]
    y[5] = float(first_above(x, 8, 0.5))


@kernel
def halve_and_double(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Lanes go round early with what they have set for the next round, while others set it otherwise."""
    u, width = 0.0, 1.0
    for r in range(30):
        if u >= 1.0:
            break
        v = min(u + width, 1.0)
        y[1] += v
        if abs(x[0]) * (v - u) < 0.2 * (1.0 + abs(x[1])):
            u = v
            width *= 2.0
            y[0] = float(r)
            continue
        width = 0.5 * (v - u)
    y[2] = u


@kernel
def take_branches(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Lanes take different branches; what the others have in memory and in variables stays."""
    at = place(w)
    at.count, at.total, at.is_odd = 0, 1.0, False
    label = 1
    if x[0] > 0.0:
        label = 2
        if x[1] > 0.0:
            label = 3
            at.total = x[1]
        else:
            at.count += 5
    elif x[2] > 0.0:
        y[0] = x[2]
        at.is_odd = True
    else:
        label = 4
    y[1] = float(label)
    y[2] = at.total + float(at.count)
    y[3] = 1.0 if at.is_odd else 0.0
    if x[3] > 0.0 and label > 1:
        return
    y[4] = math.exp(x[3]) + math.hypot(x[4], x[5]) + math.sin(x[6]) ** 3 + x[7] ** 2.5 if x[7] > 0.0 else x[7]


@kernel
def follow_pointers(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Places that differ from lane to lane, none of which is read beyond the end."""
    k = int(abs(x[0]) * 4.0)
    y[0] = x[k] if k < 8 else -1.0
    last = k < 7 and x[k + 1] > 0.0
    y[1] = 1.0 if last or x[1] > 1.0 else 0.0
    longer = offset(x, 4) if x[2] > x[3] else x
    y[2] = longer[0] + longer[3]
    y[min(k, 5)] += 0.5
    least, most = x[0], x[0]
    for i in range(1, 8):
        least, most = min(least, x[i]), max(most, x[i])
    y[6], y[7] = least, most


@kernel
def remember_the_last_round(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """A root by false position: what a branch left in a round is read by the same branch in a later one."""
    low, high, at_low, at_high = 0.0, 4.0, -1.0 - abs(x[0]), 1.0 + abs(x[1])
    last_low = last_high = False
    for _ in range(12):
        middle = low + (high - low) * (at_low / (at_low - at_high))
        value = (middle - abs(x[2])) * (1.0 + abs(x[3]) * middle)
        if value < 0.0:
            low, at_low = middle, value
            at_high *= 0.5 if last_low else 1.0
            last_low, last_high = True, False
        else:
            high, at_high = middle, value
            at_low *= 0.5 if last_high else 1.0
            last_low, last_high = False, True
    y[0], y[1] = low, high


def alone(f: Kernel, x: Array) -> Array:
    y, w = np.zeros(8), np.zeros(8)
    f(x, np.zeros(1), y, w)
    return np.concatenate([y, w])


EACH = [leave_loops, halve_and_double, take_branches, follow_pointers, remember_the_last_round]


@pytest.mark.parametrize("f", EACH, ids=lambda f: f.name)
@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
def test_each_lane_goes_its_own_way(f: Kernel, lanes: int) -> None:
    rng = np.random.default_rng(7)
    code = f.in_lanes(lanes)
    for _ in range(40):
        x = rng.normal(size=(8, lanes)) * rng.choice([0.3, 1.5])
        y, w, here = np.zeros((8, lanes)), np.zeros((8, lanes)), rng.random(lanes) < 0.8
        y[:, ~here] = 99.0
        bits = int(sum(2**k for k in range(lanes) if here[k]))
        call_in_lanes(code.addresses[f.name], bits, *(a.reshape(-1) for a in (x, np.zeros((1, lanes)), y, w)))
        for k in range(lanes):
            expected = alone(f, x[:, k].copy()) if here[k] else np.concatenate([np.full(8, 99.0), np.zeros(8)])
            found = np.concatenate([y[:, k], w[:, k]])
            np.testing.assert_array_equal(found.view(np.int64), expected.view(np.int64))


@kernel
def gather_shared(given: Shared, x: Pointer, y: Pointer) -> None:
    """Numbers that all lanes share, at places of their own."""
    table = shared_at(integer(given, 0), 4)
    k = int(x[0])
    y[0] = table[k] + given[1]
    y[1] = table[1]


def test_shared_memory_is_read_by_all_lanes() -> None:
    table, given = np.array([1.0, 2.0, 4.0, 8.0]), np.array([0.0, 0.25])
    given[:1].view(np.int64)[0] = table.ctypes.data
    x, y = np.array([3.0, 0.0, 1.0, 2.0]), np.zeros((2, 4))
    code = gather_shared.in_lanes(4)
    call_in_lanes(code.addresses["gather_shared"], 15, given, x, y.reshape(-1))
    np.testing.assert_array_equal(y, [[8.25, 1.25, 2.25, 4.25], [2.0] * 4])


@kernel
def write_shared(given: Shared, x: Pointer) -> None:
    given[0] = x[0]


@kernel
def divide_integers(x: Pointer) -> None:
    x[0] = float(int(x[0]) // int(x[1]))


@pytest.mark.parametrize(("f", "why"), [(write_shared, "only read"), (divide_integers, "not written for lanes")])
def test_what_lanes_cannot_do_is_refused(f: Kernel, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        translate_in_lanes(f, 4)
