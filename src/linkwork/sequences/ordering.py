"""A fill-reducing order for symmetric elimination, chosen once for a pattern."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence


def elimination_order(
    size: int, pattern: Iterable[tuple[int, int]], after: Sequence[int] = (), groups: Iterable[Sequence[int]] = ()
) -> list[int]:
    """Return minimum degree order of the symmetric matrix with this pattern of off-diagonal entries.

    The unknowns in `after` are constraint rows, whose diagonal is the tiny -eps. Once the columns V are eliminated, the
    pivots of the rows R come from -(eps + Psi_RV M_VV^-1 Psi_RV^T), which divides without growth only if Psi_RV has
    full rank. So each row waits until it and the rows before it can be matched with different columns among those
    eliminated; rows for which that never happens are redundant by their pattern and come last. Of the columns of one of
    the `groups`, rows may see some or others as the mechanism moves; so none counts before all of them are eliminated.
    """
    neighbours: list[set[int]] = [set() for _ in range(size)]
    for i, j in pattern:
        if i != j:
            neighbours[i].add(j)
            neighbours[j].add(i)
    rows = set(after)
    columns_of = {r: sorted(neighbours[r] - rows) for r in rows}
    heap = [(len(neighbours[k]), k) for k in range(size) if k not in rows or not neighbours[k]]
    heapq.heapify(heap)
    done = [False] * size
    together = {c: group for group in groups for c in group}
    row_of: dict[int, int] = {}  # the matching, column -> row and back
    column_of: dict[int, int] = {}
    order: list[int] = []

    def matched(row: int) -> bool:
        """Return whether an augmenting path from this row ends at a free eliminated column.

        If so, the matching takes it.
        """
        reached_from: dict[int, int] = {}
        queue = [row]
        for r in queue:
            for c in columns_of[r]:
                if c in reached_from or not all(done[k] for k in together.get(c, (c,))):
                    continue
                reached_from[c] = r
                if c in row_of:
                    queue.append(row_of[c])
                    continue
                while True:
                    r = reached_from[c]
                    row_of[c], column_of[r], freed = r, c, column_of.get(r)
                    if freed is None:
                        return True
                    c = freed
        return False

    waiting: set[int] = set()
    while heap or waiting:
        if heap:
            degree, k = heapq.heappop(heap)
            if done[k] or degree != len(neighbours[k]):
                continue
            if k in rows and neighbours[k] and not matched(k):
                waiting.add(k)
                continue
        else:
            k = min(waiting, key=lambda r: (len(neighbours[r]), r))
        waiting.discard(k)
        done[k] = True
        order.append(k)
        around = neighbours[k]
        for i in around:
            neighbours[i] |= around
            neighbours[i] -= {i, k}
            heapq.heappush(heap, (len(neighbours[i]), i))
    return order
