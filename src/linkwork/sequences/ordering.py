"""A fill-reducing order for symmetric elimination, chosen once for a pattern."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence


def elimination_order(size: int, pattern: Iterable[tuple[int, int]], after: Sequence[int] = ()) -> list[int]:
    """Minimum degree order of the symmetric matrix with this pattern of off-diagonal entries.

    The unknowns in `after` (constraint rows, whose diagonal is the tiny -eps) wait until one of their neighbours has
    been eliminated, because then their pivot has become -(eps + Psi_q M^-1 Psi_q^T) and divides without growth.
    """
    neighbours: list[set[int]] = [set() for _ in range(size)]
    for i, j in pattern:
        if i != j:
            neighbours[i].add(j)
            neighbours[j].add(i)
    waiting = {k for k in after if neighbours[k]}
    heap = [(len(neighbours[k]), k) for k in range(size) if k not in waiting]
    heapq.heapify(heap)
    done = [False] * size
    order: list[int] = []
    while heap:
        degree, k = heapq.heappop(heap)
        if done[k] or degree != len(neighbours[k]):
            continue
        done[k] = True
        order.append(k)
        around = neighbours[k]
        for i in around:
            neighbours[i] |= around
            neighbours[i] -= {i, k}
            waiting.discard(i)
            heapq.heappush(heap, (len(neighbours[i]), i))
    return order
