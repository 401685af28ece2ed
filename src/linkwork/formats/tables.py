"""Plain text tables: a heading of column names, then rows of entries between blanks; # begins a remark."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from linkwork.document import name_fault, read_text
from linkwork.errors import ModelError
from linkwork.units import shown


class Word(NamedTuple):
    """An entry and where it begins, both counted from 1."""

    text: str
    line: int
    column: int


@dataclass(frozen=True)
class Row:
    """A row by its columns, with what each entry is."""

    file: str
    line: int
    words: Mapping[str, Word]

    def error(self, column: str, message: str, code: str = "bad-table", **more: Any) -> ModelError:
        word = self.words[column]
        return ModelError(f"column {word.column}: {message}", code, file=self.file, line=word.line, **more)

    def again(self, column: str, name: str) -> ModelError:
        return self.error(column, f"'{shown(name)}' stands here for the second time", "duplicate-name")

    def name(self, column: str) -> str:
        text = self.words[column].text
        if fault := name_fault(text):
            raise self.error(column, f"{column}, a name, {fault}")
        return text

    def number(self, column: str) -> float:
        text = self.words[column].text
        if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eEdD][-+]?\d+)?", text):
            value = float(re.sub("[dD]", "e", text))
            if math.isfinite(value):
                return value
        raise self.error(column, f"'{shown(text)}' where {column}, a number, should be")

    def numbers(self, *columns: str) -> list[float]:
        return [self.number(column) for column in columns]

    def integer(self, column: str, lowest: int, highest: int) -> int:
        text = self.words[column].text
        if not re.fullmatch(r"\d{1,9}", text) or not lowest <= int(text) <= highest:
            expected = f"{column}, a whole number from {lowest} to {highest},"
            raise self.error(column, f"'{shown(text)}' where {expected} should be")
        return int(text)


def read_table(path: Path, headings: Sequence[str], counted: str = "") -> list[Row]:
    """Read the rows of a table. With several headings a record has a row under each of them.

    A heading must stand before the first row and may be repeated; its first name may have a number, as S1. `counted` is
    the word of the line that says how many records follow. The last column takes the rest of its line if its name ends
    in "...".
    """
    file = str(path)
    lines = [found for n, text in enumerate(read_text(path).split("\n"), 1) if (found := _words(text, n))]
    columns = [heading.split() for heading in headings]
    count: int | None = None
    records: list[Row] = []
    rows: list[list[Word]] = []  # of the record that is being read
    headed = False

    def fail(word: Word, message: str, expected: str) -> ModelError:
        message = f"column {word.column}: {message} where {expected} should be"
        return ModelError(message, "bad-table", file=file, line=word.line)

    for words in lines:
        texts = [word.text for word in words]
        if counted and texts[0] == counted and count is None and not headed:
            if len(words) != 2 or not words[1].text.isdigit():
                raise fail(words[-1], f"'{shown(words[-1].text)}'", f"{counted} and how many records follow")
            count = int(words[1].text)
            continue
        first = [re.sub(r"\d+$", "", texts[0]), *texts[1:]]  # which the source counts in one place, S1
        if any(
            names in (texts, first) for names in ([name.removesuffix("...") for name in names] for names in columns)
        ):
            headed = True
            continue
        expected = columns[len(rows)]
        if not headed:
            heading = " ".join(columns[0]).replace("...", "")
            raise fail(words[0], f"'{shown(texts[0])}'", f"the heading '{heading}'")
        if expected[-1].endswith("...") and len(words) >= len(expected):
            rest = " ".join(word.text for word in words[len(expected) - 1 :])
            words = [*words[: len(expected) - 1], Word(rest, *words[len(expected) - 1][1:])]
        if len(words) > len(expected):
            more = words[len(expected)]
            message = f"column {more.column}: '{shown(more.text)}' behind the last entry, {expected[-1]}"
            raise ModelError(message, "bad-table", file=file, line=more.line)
        if len(words) < len(expected):
            end = Word("", words[-1].line, words[-1].column + len(words[-1].text))
            raise fail(end, "the row ends", expected[len(words)].removesuffix("..."))
        rows.append(words)
        if len(rows) == len(columns):
            names = [name.removesuffix("...") for heading in columns for name in heading]
            pairs = zip(names, (word for row in rows for word in row), strict=True)
            records.append(Row(file, rows[0][0].line, dict(pairs)))
            rows = []
    if rows:
        last = rows[-1][0].line
        message = f"the table ends where a row '{headings[len(rows)]}' should be"
        raise ModelError(message, "bad-table", file=file, line=last)
    if counted and count != len(records):
        message = f"{counted} says {'nothing' if count is None else count}, but the table has {len(records)} records"
        raise ModelError(message, "bad-table", file=file, line=1, suggestion=f"write {counted} {len(records)}")
    return records


def _words(text: str, line: int) -> list[Word]:
    return [Word(found[0], line, found.start() + 1) for found in re.finditer(r"\S+", text.partition("#")[0])]
