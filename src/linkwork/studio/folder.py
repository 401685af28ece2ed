"""The one folder of a studio: its model file is read, watched and saved there, and nothing outside is touched."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from linkwork.document import check_inside, dump, name_fault, read_text
from linkwork.errors import UsageError
from linkwork.files import whole
from linkwork.modelfile import SUFFIXES, find

SHOWN = {
    ".html": "text/html; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".pdf": "application/pdf",
    ".gif": "image/gif",
}


EMPTY = """\
linkwork: 1
name: {name}
gravity: [0, -9.81]
"""


@dataclass(frozen=True)
class Text:
    """A text and a mark by which another state of it is told."""

    text: str
    mark: str


@dataclass(frozen=True)
class Folder:
    """Where files are read and written."""

    place: Path

    def path(self, name: str, suffixes: tuple[str, ...] = SUFFIXES) -> Path:
        """Return a file of the folder itself; UsageError for any other name."""
        if fault := name_fault(name):
            raise UsageError(f"the name '{name}' {fault}", "bad-name")
        if Path(name).suffix.lower() not in suffixes:
            raise UsageError(f"the name must end in one of {', '.join(suffixes)}", "unknown-suffix")
        path = self.place / name
        check_inside(path)
        return path

    def read(self, name: str) -> Text:
        """Return a model file; its line ends are those of Python."""
        text = read_text(self.path(name))
        return Text(text, mark_of(text))

    def save(self, name: str, text: str, known: str) -> Text:
        """Write a model file whole, if it is still the one that is known; else it is left and returned."""
        path, ends = self.path(name), b"\n"
        with suppress(UsageError):  # there is none yet
            if (now := self.read(name)).mark != known:
                return now
            with open(path, "rb") as file:
                ends = b"\r\n" if file.readline().endswith(b"\r\n") else ends
        with whole(path) as part:
            part.write_bytes(text.encode().replace(b"\n", ends))
        return Text(text, mark_of(text))

    def set_aside(self, name: str) -> str:
        """Copy a file under a name that is free, and return the name."""
        own = self.path(name)
        for k in range(1, 1000):
            other = self.path(f"{own.stem}-{k}{own.suffix}")
            if not other.exists():
                with whole(other) as part:
                    part.write_bytes(own.read_bytes())
                return other.name
        raise UsageError(f"there are too many copies of '{name}'", "too-many-copies")

    def check_arguments(self, arguments: list[str]) -> None:
        """Raise UsageError where an argument could lead to a file outside: as a whole, or behind -o, = or a comma."""
        root = os.path.realpath(self.place)
        for argument in arguments:
            for part in (argument, *re.split("[=,]", re.sub(r"^-\w", "", argument))):
                if os.path.commonpath([root, os.path.realpath(os.path.join(root, part))]) != root:
                    raise UsageError(f"'{argument}' leads out of the folder of the model", "outside")


def mark_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def open_folder(model: str | None, here: Path) -> tuple[Folder, str, str]:
    """Return the folder of a model file, the name of the file, and a text if that is not to be read from it.

    A shipped mechanism, or nothing, is a text without a file.
    """
    if model is None:
        return Folder(here), "", EMPTY.format(name="sketch")
    path = Path(model)
    folder, name = Folder(path.parent.resolve()), path.name
    if path.is_file():
        folder.read(name)
        return folder, name, ""
    if path.suffix.lower() not in SUFFIXES or not path.parent.is_dir():
        found = find(model)  # or it says what it could have been
        return Folder(here), "", read_text(found.file) if found.lines else dump(found.data)
    folder.path(name)
    return folder, name, EMPTY.format(name=path.stem)
