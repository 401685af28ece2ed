"""Python functions that machine code calls by their address.

A call takes some microseconds, a hundred times what compiled code takes. Machine code cannot let an exception through:
what a function raises is kept, and raised by `raise_pending` when Python has the word again.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from threading import local

import numpy as np
from numpy.typing import NDArray

from linkwork.native import interpreted, machine
from linkwork.native.interpreted import FAR, reach
from linkwork.native.lowering import SIGNATURE

Array = NDArray[np.float64]


class _Pending(local):
    """What functions have raised in a thread; runs in others have theirs."""

    def __init__(self) -> None:
        self.errors: list[BaseException] = []


_pending = _Pending()


class Called:
    """A function of (x, p, y, w), arrays that reach as far as it likes, with an address for machine code."""

    def __init__(self, function: Callable[[Array, Array, Array, Array], None], refuse: Callable[..., None]) -> None:
        """Wrap a function; `refuse` gets the same arguments where it has raised, to write results that say so."""
        self.function, self.refuse = function, refuse
        if machine.missing():
            self._code = interpreted.load({"called": self._compute})
            self.address = self._code.addresses["called"]
        else:
            self._entry = SIGNATURE(self._call)
            self.address = int(ctypes.cast(self._entry, ctypes.c_void_p).value or 0)

    def _call(self, *pointers: int) -> None:
        numbers = ctypes.c_double * 1
        self._compute(*(np.ctypeslib.as_array(numbers.from_address(x)) for x in pointers))

    def _compute(self, *arrays: Array) -> None:
        far = [reach(array, FAR) for array in arrays]
        try:
            self.function(*far)
        except BaseException as error:  # noqa: BLE001 - it is raised where Python has the word again
            _pending.errors.append(error)
            self.refuse(*far)


class Asked:
    """A function of nothing with an address for machine code: it reads and writes memory that it knows.

    So it takes less time than one that is given its arguments as arrays.
    """

    def __init__(self, function: Callable[[], None], refuse: Callable[[], None]) -> None:
        """Wrap a function; `refuse` is called where it has raised."""

        def call(*_: object) -> None:
            try:
                function()
            except BaseException as error:  # noqa: BLE001 - it is raised where Python has the word again
                _pending.errors.append(error)
                refuse()

        if machine.missing():
            self._code = interpreted.load({"called": call})
            self.address = self._code.addresses["called"]
        else:
            self._entry = SIGNATURE(call)
            self.address = int(ctypes.cast(self._entry, ctypes.c_void_p).value or 0)


def raise_pending() -> None:
    """Raise what a function has raised while machine code called it, the first of them."""
    if _pending.errors:
        first = _pending.errors[0]
        _pending.errors.clear()
        raise first
