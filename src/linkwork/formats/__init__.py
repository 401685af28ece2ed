"""Models of other programs as model files: folders of DAP (dap.py), decks of NumDyn3D (deck.py), URDF (urdf.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from linkwork.document import Document
from linkwork.errors import ModelError
from linkwork.formats.dap import is_dap, read_dap
from linkwork.formats.deck import Given, is_deck, read_deck


class Reading(NamedTuple):
    """The model file of a folder, and start values that others must fit."""

    document: Document
    given: list[Given]


def compare_formulas(folder: Path) -> list[Any]:
    """Compare the formulas that a user of DAP_JC wrote by hand with those that follow from the joints."""
    if not is_dap(folder):
        return []
    from linkwork.formats.dap_check import check_formulas

    return list(check_formulas(folder))


def read_folder(folder: Path, correct: bool = True) -> Reading:
    """Read the model in a folder; the start of a DAP model is corrected as DAP does it, or left as it is given."""
    try:
        if is_dap(folder):
            return Reading(read_dap(folder, correct), [])
        if is_deck(folder):
            return Reading(*read_deck(folder))
    except OSError as error:
        raise ModelError(f"cannot be read: {error.strerror}", "unreadable", file=str(folder)) from None
    rule = "a folder holds a model of DAP, with inBodies.m, or a deck, with bodies.txt and inertia.txt"
    raise ModelError("is a folder without a model", "not-a-model-folder", file=str(folder), rule=rule)
