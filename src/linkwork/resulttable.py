"""Results as tables for other programs: text between commas, workbooks of spreadsheets, Parquet.

The heading is the first line. Workbooks need the package openpyxl, Parquet needs pyarrow; both are extras.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import UsageError, check_extra

Columns: TypeAlias = Mapping[str, tuple[NDArray[np.float64], str]]  # values and unit by name

NEEDED = {".xlsx": "openpyxl", ".parquet": "pyarrow"}
TABLES = (".csv", *NEEDED)
SHEET = (2**20, 2**14)  # rows and columns of a sheet


def check_package(path: Path) -> None:
    """Raise UsageError if the package that such a file needs is not installed."""
    if package := {**NEEDED, ".nc": "h5py"}.get(path.suffix.lower()):
        check_extra(package, f"cannot write '{path}': ")


def write_table(columns: Columns, path: Path, name: str, with_units: bool = True) -> None:
    """Write a table by the suffix of its file; headings are names, with their units in brackets if asked for."""
    check_package(path)
    headings = [f"{key} [{unit}]" if with_units else key for key, (_, unit) in columns.items()]
    values = np.column_stack([own for own, _ in columns.values()])
    if path.suffix.lower() == ".xlsx":
        _write_sheet(headings, values, path, name)
    elif path.suffix.lower() == ".parquet":
        _write_parquet(columns, path)
    else:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.write(",".join(headings) + "\n")
            for row in values:
                file.write(",".join(map(repr, row.tolist())) + "\n")


def _write_sheet(headings: list[str], values: NDArray[np.float64], path: Path, name: str) -> None:
    from openpyxl import Workbook

    rows, width = len(values) + 1, len(headings)
    if rows > SHEET[0] or width > SHEET[1]:
        room = f"{SHEET[0]} rows and {SHEET[1]} columns"
        raise UsageError(f"{rows} rows of {width} columns do not go into a sheet of {room}", "too-large")
    book = Workbook(write_only=True)
    sheet = book.create_sheet("".join(c if c not in r"[]:*?/\'" else "_" for c in name)[:31] or "motion")
    sheet.append(headings)
    for row in values:
        sheet.append([x if np.isfinite(x) else None for x in row.tolist()])  # a sheet knows no NaN
    book.save(path)


def _write_parquet(columns: Columns, path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    fields = [pyarrow.field(name, pyarrow.float64(), metadata={"unit": unit}) for name, (_, unit) in columns.items()]
    values = [np.ascontiguousarray(own) for own, _ in columns.values()]
    pyarrow.parquet.write_table(pyarrow.table(values, schema=pyarrow.schema(fields)), path)
