"""YAML 1.2 and JSON text to plain data, with the line of every value; and plain data back to YAML.

Model files are data: anchors, aliases, merge keys, tags, directives and several documents in one file are refused, and
so is whatever readers are known to disagree about (duplicate keys, dates, numbers that are not finite). Both formats
go through the same builder as a stream of events, without recursion, and limits are checked while reading.
"""

from __future__ import annotations

import json
import os
import re
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

from linkwork.errors import ModelError, UsageError
from linkwork.files import no_file, write_text
from linkwork.notes import Note
from linkwork.units import finite, shown

Data: TypeAlias = "dict[str, Data] | list[Data] | str | float | int | bool | None"
Keys: TypeAlias = tuple[str | int, ...]  # from the root of a document to a value

MAX_BYTES = 4 * 1024**2  # of a file: a mechanism of a thousand bodies has a tenth; what is read is kept several times
MAX_LINE = 100_000  # ruamel's time for a tag or an anchor grows with the square of its length
MAX_DEPTH = 40  # of nesting: model files need six, and Python's own limit is not reached
MAX_NODES = 100_000  # of one document, before anything is checked: some seconds of work
MAX_NAME = 100  # characters of a name, which tables and drawings show

NO_ALIASES = "anchors and aliases are not part of model files"

NULLS = ("", "~", "null", "Null", "NULL")
TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
OTHER_BASE = re.compile(r"0o[0-7]{1,20}|0x[0-9a-fA-F]{1,15}")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
JSON_NOT_FINITE = {"NaN": ".nan", "Infinity": ".inf", "-Infinity": "-.inf"}
DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?")
# What YAML does not count as printable, and further line ends and the byte order mark, which no text in a model needs.
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
TURNING = re.compile(r"[\u202a-\u202e\u2066-\u2069]")  # what turns the direction of the rest of a line around
JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]]|[^\s,:{}\[\]"]+')


@dataclass(frozen=True, eq=False)
class Document:
    """The data of a file and the line of every value, by its place: ("joints", "B", "j"), ("gravity", 0)."""

    file: str
    data: dict[str, Data]
    lines: Mapping[Keys, int]
    files: Mapping[Keys, str] = field(default_factory=dict)  # where a model is written in several
    notes: tuple[Note, ...] = ()  # what a reader of another program's files did with them
    unsettled: tuple[ModelError, ...] = ()  # what of them it could not translate

    def where(self, place: Keys) -> tuple[str, int]:
        """Return file and line of a value, or of the nearest value around it if there is none at this place."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.files.get(place, self.file), self.lines.get(place, 1)

    def locate(self, error: ModelError, place: Keys | None = None) -> ModelError:
        """Return the error with file, line and path filled in; without a place, the error's own path tells the line."""
        if place is None:
            path, places = error.path or "", {path_text(place): place for place in self.lines}
            while path and path not in places:
                path = re.sub(r"(\.[^.]*|\[[0-9]+\]|^[^.\[]*)$", "", path)
            file, line = self.where(places.get(path, ()))
            return error.at(file=file, line=line)
        file, line = self.where(place)
        return error.at(file=file, line=line, path=path_text(place))


def path_text(place: Keys) -> str:
    """Return a place as users read it: "joints.B.j", "gravity[0]"."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place).removeprefix(".")


def read(path: str | Path) -> Document:
    """Read a model file: JSON if its name ends in .json, YAML otherwise."""
    return parse(read_text(path), str(path), is_json=Path(path).suffix.lower() == ".json")


def check_inside(path: Path) -> None:
    """Raise ModelError if a file of a folder is a link that leads out of it."""
    if path.resolve().parent != path.parent.resolve():
        raise ModelError("is a link to elsewhere, which is not followed", "linked-file", file=str(path))


def read_text(path: str | Path, most: int = MAX_BYTES) -> str:
    """Return the text of a regular file of bounded size, UTF-8, with line ends "\\n"."""
    return _text(_bytes(path, most), str(path))


def parse(text: str, file: str = "<text>", *, is_json: bool = False) -> Document:
    """Return the data of a YAML or JSON text; `file` is the name in messages."""
    if control := CONTROL.search(text):
        line = text.count("\n", 0, control.start()) + 1
        offset = len(text[: control.start()].encode(errors="replace"))
        message = f"control character U+{ord(control[0]):04X} at byte {offset}"
        raise ModelError(message, "control-character", file=file, line=line)
    builder = _Builder(file)
    if text.lstrip().startswith("{") and max(map(len, text.split("\n"))) > MAX_LINE:  # as json.dumps writes it
        is_json = True
    for event in _json_events(text, file) if is_json else _yaml_events(text, file):
        builder.add(event)
    if builder.root is None:
        raise ModelError("the file is empty", "empty-file", file=file, suggestion="a model begins with 'linkwork: 1'")
    if not isinstance(builder.root, dict):
        kind = "list" if isinstance(builder.root, list) else "single value"
        rule = "a model must be a mapping of names to values"
        raise ModelError(f"the file holds a {kind}", "wrong-root", file=file, line=builder.lines[()], rule=rule)
    return Document(file, builder.root, builder.lines)


def _bytes(path: str | Path, most: int = MAX_BYTES) -> bytes:
    """Return the bytes of a regular file of bounded size."""
    file = str(path)
    try:
        # Without O_NONBLOCK, opening a FIFO waits for a writer.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (FileNotFoundError, NotADirectoryError):
        raise no_file(path) from None
    except ValueError:
        raise UsageError(f"{file!r} cannot be the name of a file", "no-such-file") from None
    except OSError as error:
        raise ModelError(f"cannot be read: {error.strerror}", "unreadable", file=file) from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a device or a pipe"
        raise ModelError(f"is {kind}", "not-a-file", file=file, rule="a model is read from a regular file")
    try:
        with os.fdopen(descriptor, "rb") as stream:
            content = stream.read(most + 1)
    except OSError as error:
        raise ModelError(f"cannot be read: {error.strerror}", "unreadable", file=file) from None
    if len(content) > most:
        what = "model file" if most == MAX_BYTES else "table"
        message = f"has {max(status.st_size, len(content))} bytes, more than the {most} of the largest {what}"
        raise ModelError(message, "file-too-big", file=file)
    return content


def _text(content: bytes, file: str) -> str:
    """Decode UTF-8, with or without byte order mark, with any line ends."""
    rule = "model files are UTF-8"
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ModelError("UTF-16 or UTF-32 (byte order mark at byte 0)", "not-utf8", file=file, rule=rule)
    if (offset := content.find(b"\0")) >= 0:
        line = content.count(b"\n", 0, offset) + 1
        raise ModelError(f"NUL byte at byte {offset}", "nul-byte", file=file, line=line, rule=rule)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder counts after the mark it has removed.
        offset = error.start + (3 if content.startswith(b"\xef\xbb\xbf") else 0)
        line = content.count(b"\n", 0, offset) + 1
        message = f"byte 0x{content[offset]:02x} at byte {offset} is not UTF-8"
        raise ModelError(message, "not-utf8", file=file, line=line, rule=rule) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


class _Event(NamedTuple):
    """ "{", "}", "[", "]" or, with kind "", a scalar; plain means not quoted."""

    kind: str
    line: int
    text: str = ""
    plain: bool = False


def _yaml_events(text: str, file: str) -> Iterator[_Event]:
    from ruamel.yaml import YAML, events
    from ruamel.yaml.error import MarkedYAMLError

    def refuse(what: str, code: str, rule: str) -> ModelError:
        return ModelError(what, code, file=file, line=event.start_mark.line + 1, rule=rule)

    brackets = {
        events.MappingStartEvent: "{",
        events.MappingEndEvent: "}",
        events.SequenceStartEvent: "[",
        events.SequenceEndEvent: "]",
    }
    for number, long in enumerate(text.split("\n"), 1):
        if len(long) > MAX_LINE:
            raise ModelError(f"line of {len(long)} characters", "line-too-long", file=file, line=number)
    documents, line = 0, 1
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            line = event.start_mark.line + 1
            if isinstance(event, events.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise refuse("a second document begins", "several-documents", "a file holds one model")
                if event.tags:
                    raise refuse("a %TAG directive", "yaml-tag", "model files are data without tags")
                if event.version and tuple(event.version) != (1, 2):
                    raise refuse("a %YAML directive other than 1.2", "yaml-version", "model files are YAML 1.2")
            elif isinstance(event, events.AliasEvent):
                raise refuse(f"alias '*{event.anchor}'", "yaml-alias", NO_ALIASES)
            elif isinstance(event, events.NodeEvent) and event.anchor:
                raise refuse(f"anchor '&{event.anchor}'", "yaml-alias", NO_ALIASES)
            elif getattr(event, "tag", None):
                raise refuse(f"tag '{shown(str(event.tag))}'", "yaml-tag", "model files are data without tags")
            if isinstance(event, events.ScalarEvent):
                yield _Event("", line, event.value, event.implicit[0])
            elif type(event) in brackets:
                yield _Event(brackets[type(event)], line)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        wrong = [*text.split("\n"), ""][line - 1]
        if "\t" in wrong and ("\\t" in str(error.problem) or wrong.lstrip(" ").startswith("\t")):
            message, code, rule = "a tab where YAML wants blanks", "tab", "indentation is made of blanks"
            raise ModelError(message, code, file=file, line=line, rule=rule) from None
        context = f" {error.context}" if error.context else ""
        raise ModelError(f"not YAML: {error.problem}{context}", "yaml-syntax", file=file, line=line) from None
    except (OverflowError, ValueError):  # the scanner hands "\\UFFFFFFFF" to chr()
        raise ModelError("not YAML: an escape for no character", "yaml-syntax", file=file, line=line) from None


def _json_events(text: str, file: str) -> Iterator[_Event]:
    """Yield events of a JSON text: json checks the grammar, after which the tokens alone give the structure."""
    depth = 0
    for token in JSON_TOKEN.finditer(text):
        depth += (token[0] in "{[") - (token[0] in "}]")
        if depth > MAX_DEPTH:
            raise _too_deep(file, text.count("\n", 0, token.start()) + 1)
    try:
        if text.strip():
            json.loads(text, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        raise ModelError(f"not JSON: {error.msg}", "json-syntax", file=file, line=error.lineno) from None
    line, last = 1, 0
    for token in JSON_TOKEN.finditer(text):
        line += text.count("\n", last, token.start())
        last = token.start()
        if token[0] in "{}[]":
            yield _Event(token[0], line)
        elif token[0].startswith('"'):
            yield _Event("", line, json.loads(token[0]))
        else:
            yield _Event("", line, JSON_NOT_FINITE.get(token[0], token[0]), plain=True)


def _too_deep(file: str, line: int) -> ModelError:
    return ModelError(f"nested more than {MAX_DEPTH} levels deep", "too-deep", file=file, line=line)


@dataclass
class _Level:
    """An open mapping or list; for a mapping also its keys as written, their lines, and the key awaiting a value."""

    value: dict[str, Data] | list[Data]
    place: Keys
    written: dict[str, tuple[str, int]] = field(default_factory=dict)
    key: str | None = None


class _Builder:
    """Data and lines from events."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.root: Data = None
        self.lines: dict[Keys, int] = {}
        self.levels: list[_Level] = []
        self.nodes = 0

    def add(self, event: _Event) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            message = f"more than {MAX_NODES} keys and values"
            raise ModelError(message, "too-many-nodes", file=self.file, line=event.line)
        if event.kind in ("}", "]"):
            self.levels.pop()
            return
        level = self.levels[-1] if self.levels else None
        if level is not None and isinstance(level.value, dict) and level.key is None:
            self._key(event, level)
            return
        place = self._next_place(level)
        # A mapping's entry counts from its key, which may stand lines above its value.
        self.lines.setdefault(place, event.line)
        value: Data
        if event.kind == "{":
            value = {}
        elif event.kind == "[":
            value = []
        else:
            value = self._scalar(event, place)
        if level is None:
            self.root = value
        elif isinstance(level.value, list):
            level.value.append(value)
        elif level.key is not None:
            level.value[level.key] = value
            level.key = None
        if isinstance(value, dict | list):
            if len(self.levels) == MAX_DEPTH:
                raise _too_deep(self.file, event.line)
            self.levels.append(_Level(value, place))

    @staticmethod
    def _next_place(level: _Level | None) -> Keys:
        if level is None:
            return ()
        if isinstance(level.value, list):
            return (*level.place, len(level.value))
        assert level.key is not None
        return (*level.place, level.key)

    def _key(self, event: _Event, level: _Level) -> None:
        def refuse(message: str, code: str, rule: str | None = None) -> ModelError:
            place = path_text(level.place) or None
            return ModelError(message, code, rule=rule, value=event.text, file=self.file, line=event.line, path=place)

        if event.kind:
            raise refuse("a list or a mapping as a key", "bad-key", "keys are names")
        if event.plain and event.text == "<<":
            raise refuse("merge key '<<'", "yaml-alias", NO_ALIASES)
        name = unicodedata.normalize("NFC", event.text)
        if fault := name_fault(name):
            raise refuse(f"name {json.dumps(shown(event.text))} {fault}", "bad-name")
        if name in level.written:
            text, line = level.written[name]
            if text == event.text:
                raise refuse(
                    f"key '{name}' appears in lines {line} and {event.line}", "duplicate-key", "keys must be unique"
                )
            message = f"the names '{name}' in lines {line} and {event.line} differ only in how an accent is encoded"
            raise refuse(message, "twin-names")
        level.written[name] = (event.text, event.line)
        level.key = name
        self.lines[(*level.place, name)] = event.line

    def _scalar(self, event: _Event, place: Keys) -> Data:
        try:
            return scalar(event.text) if event.plain else text_value(event.text)
        except ModelError as error:
            raise error.at(file=self.file, line=event.line, path=path_text(place) or None) from None


def name_fault(name: str) -> str | None:
    """Find what is wrong with a name: it must not be invisible, break lines or lead to other files."""
    if not name or name.isspace():
        return "is empty"
    if len(name) > MAX_NAME:
        return f"is longer than {MAX_NAME} characters"
    if name != name.strip():
        return "begins or ends with a blank"
    for character in name:
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
            return f"holds the invisible or control character U+{ord(character):04X}"
    if "/" in name or "\\" in name or name.startswith(".") or ".." in name:
        return "looks like a path"
    return None


def text_value(text: str) -> str:
    """Return a text in NFC, without control characters other than tabs and line ends."""
    if control := CONTROL.search(text) or TURNING.search(text):
        raise ModelError(f"control character U+{ord(control[0]):04X} in a text", "control-character", value=text)
    return unicodedata.normalize("NFC", text)


def scalar(text: str) -> Data:
    """Return a plain (not quoted) scalar by the core schema of YAML 1.2: null, boolean, integer, float, else text."""
    if text in NULLS:
        return None
    if text in TRUTH:
        return TRUTH[text]
    if INTEGER.fullmatch(text):
        return int(text)
    if OTHER_BASE.fullmatch(text):
        return int(text, 0)
    if FLOAT.fullmatch(text):
        return finite(text)
    if NOT_FINITE.fullmatch(text):
        raise ModelError(f"{text} is not a finite number", "not-finite", value=text)
    if DATE.fullmatch(text):
        raise ModelError(f"{shown(text)} is a date", "date", value=text, suggestion=f'as a text, write "{shown(text)}"')
    return text_value(text)


def dump(data: Mapping[str, Data]) -> str:
    """Write YAML that `parse` reads back to the same data: blocks, with short lists and mappings in one line."""
    return "".join(f"{line}\n" for line in _block(data, 0)) if data else "{}\n"


def save(data: Mapping[str, Data], path: str | Path) -> None:
    """Write a model file, whole or not at all: JSON if its name ends in .json, YAML otherwise."""
    is_json = Path(path).suffix.lower() == ".json"
    write_text(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n" if is_json else dump(data))


WIDTH = 116  # characters of a line, as in the files that come with linkwork
PLAIN = re.compile(r"-?[\w(](?:[\w.+*/^() -]*[\w)])?", re.ASCII)


def _flow(data: Data | Mapping[str, Data]) -> str:
    if isinstance(data, Mapping):
        return "{" + ", ".join(f"{_quoted(key)}: {_flow(value)}" for key, value in data.items()) + "}"
    if isinstance(data, list):
        return "[" + ", ".join(_flow(value) for value in data) + "]"
    if isinstance(data, str):
        return _quoted(data)
    if data is None or isinstance(data, bool):
        return json.dumps(data)
    return repr(data)


def _quoted(text: str) -> str:
    """Return a text as a plain scalar where that reads back as the same text, quoted otherwise."""
    if PLAIN.fullmatch(text):
        try:
            if scalar(text) == text:
                return text
        except ModelError:  # it would be refused as a number or a date
            pass
    return json.dumps(text, ensure_ascii=False)


def _block(data: Mapping[str, Data], indent: int) -> Iterator[str]:
    for key, value in data.items():
        head = " " * indent + _quoted(key) + ":"
        line = f"{head} {_flow(value)}"
        # At the top, every element of a mapping has its own line.
        if isinstance(value, dict) and value and (len(line) > WIDTH or (indent == 0 and _holds_mappings(value))):
            yield head
            yield from _block(value, indent + 2)
        elif isinstance(value, list) and len(line) > WIDTH:
            yield head
            yield from (f"{' ' * (indent + 2)}- {_flow(item)}" for item in value)
        else:
            yield line


def _holds_mappings(data: Mapping[str, Data]) -> bool:
    return any(isinstance(value, dict) for value in data.values())
