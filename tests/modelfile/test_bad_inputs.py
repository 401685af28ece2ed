"""The page about bad inputs shows what is printed."""

from __future__ import annotations

import re

import pytest
from bad_inputs import CASES, HEAD, PAGE, Case, row


def lines() -> list[str]:
    return PAGE.read_text(encoding="utf-8").removeprefix(HEAD).splitlines()


def test_the_page_has_a_row_for_every_case() -> None:
    assert PAGE.read_text(encoding="utf-8").startswith(HEAD)
    assert len(lines()) == len(CASES)


def same(line: str) -> str:
    """Without what differs from day to day and from machine to machine: times, and digits after the sixth."""
    return re.sub(r"since [0-9: -]+|(?<=t = )\S+(?= of| s is in)|(?<=\d\.\d\d)\d+|\d+\.?\d*e-\d\d", "", line)


ROWS = list(zip(CASES, lines(), strict=False))


@pytest.mark.parametrize(("case", "line"), ROWS, ids=[case.what for case, _ in ROWS])
@pytest.mark.sampled
def test_what_the_page_shows_is_what_is_printed(case: Case, line: str) -> None:
    assert same(row(case)) == same(line)
    code = int(line.split("|")[3])
    assert code in (0, 2, 3, 4, 130)
    assert code == 0 or re.search(r"\[[a-z0-9-]+\]", line), "an error has a code"
