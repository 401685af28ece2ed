"""Notes, and reasons why a run ended: a code and data, from which `view` writes the text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from linkwork.errors import LinkworkError


class Reason(str):
    """Why a run ended: the text, with the stable code and the data it is written from."""

    __slots__ = ("code", "data")
    code: str
    data: Mapping[str, Any]

    def __new__(cls, code: str, **data: Any) -> Self:
        from linkwork.view.notes import write

        return cls.read(write(code, data), code, data)

    @classmethod
    def read(cls, text: str, code: str = "", data: Mapping[str, Any] | None = None) -> Self:
        """Read a note from a file: with the text it was written with, in old files without code and data."""
        made = super().__new__(cls, text)
        made.code, made.data = code, data or {}
        return made

    @staticmethod
    def of(error: LinkworkError) -> Reason:
        """Return the message of an error, with its data if a reason was its message."""
        return error.message if isinstance(error.message, Reason) else Reason.read(error.message, error.code)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).read, (str(self), self.code, self.data)


FINISHED = Reason.read("")


class Note(Reason):
    """What a user should know although it is no error; the text ends with the code in brackets."""

    __slots__ = ()

    def __new__(cls, code: str, **data: Any) -> Self:
        reason = Reason(code, **data)
        return cls.read(f"{reason} [{code}]", code, data)
