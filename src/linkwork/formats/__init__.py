"""Models of other programs as model files: folders of DAP (dap.py), decks of NumDyn3D (deck.py)."""

from __future__ import annotations

from pathlib import Path

from linkwork.document import Document
from linkwork.errors import ModelError
from linkwork.formats.dap import is_dap, read_dap


def read_folder(folder: Path) -> tuple[Document, list[ModelError]]:
    """The model file of a folder, and what of the folder it does not hold."""
    try:
        if is_dap(folder):
            return read_dap(folder)
    except OSError as error:
        raise ModelError(f"cannot be read: {error.strerror}", "unreadable", file=str(folder)) from None
    rule = "a folder holds a model of DAP, with inBodies.m"
    raise ModelError("is a folder without a model", "not-a-model-folder", file=str(folder), rule=rule)
