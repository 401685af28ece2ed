"""Command lines carried out in this process, and their answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from linkwork.cli import answer


class Answer:
    """What a command line printed and how it ended."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *arguments: str | Path, code: int = 0) -> str:
        """Standard output; with an error, standard error."""
        assert answer([str(argument) for argument in arguments]) == code
        out, err = self.capsys.readouterr()
        assert "Traceback" not in out + err
        assert not (out if code and "--json" not in arguments else err)
        return out if "--json" in arguments or not code else err

    def data(self, *arguments: str | Path, code: int = 0) -> Any:
        return strict_json(self(*arguments, "--json", code=code))


def strict_json(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)
