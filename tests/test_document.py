"""Reading model text safely, and writing files whole or not at all."""

import contextlib
import errno
import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork import document
from linkwork.document import Data, dump, name_fault, parse, path_text, read
from linkwork.errors import LinkworkError, ModelError, UsageError, did_you_mean
from linkwork.files import whole, write_text

CRANK = """\
linkwork: 1
name: crank
gravity: [0, -9.81]
bodies:
  rod:
    mass: 1e9
    points: {A: [l1/2, 0],
      B: ["1e9", 12 mm]}
"""


def test_values_have_the_types_of_yaml_1_2() -> None:
    """1e9 is a number, yes and on are texts, quoted numbers are texts, ~ is nothing."""
    text = (
        "{a: 1e9, b: 1_0, c: yes, d: on, e: '1', f: ~, g: , h: 0x1F, i: 0o17, j: .5, k: 010, l: -3, m: true, n: 1:30}"
    )
    assert parse(text).data == {
        "a": 1e9,
        "b": "1_0",
        "c": "yes",
        "d": "on",
        "e": "1",
        "f": None,
        "g": None,
        "h": 31,
        "i": 15,
        "j": 0.5,
        "k": 10,
        "l": -3,
        "m": True,
        "n": "1:30",
    }
    assert isinstance(parse("a: 1e9").data["a"], float)
    assert isinstance(parse("a: 7").data["a"], int)


def test_every_value_has_its_line() -> None:
    """The line of a value is that of its key or, in a list, its own; a missing value has that of what is around it."""
    crank = parse(CRANK)
    assert crank.where(("gravity", 1))[1] == 3
    assert crank.where(("bodies", "rod"))[1] == 5
    assert crank.where(("bodies", "rod", "mass"))[1] == 6
    assert crank.where(("bodies", "rod", "points", "A", 0))[1] == 7
    assert crank.where(("bodies", "rod", "points", "B", 1))[1] == 8
    assert crank.where(("bodies", "rod", "inertia", "xx"))[1] == 5
    assert crank.where(("nothing",))[1] == 1


def test_json_gives_the_same_data_and_lines() -> None:
    """The same model as JSON, indented with tabs, reads the same; escapes and pairs of surrogates are understood."""
    data = parse(CRANK).data
    text = json.dumps(data, indent="\t")
    assert parse(text, is_json=True).data == data
    lines = parse(text, is_json=True).lines
    assert text.split("\n")[lines["bodies", "rod", "points", "B", 1] - 1].strip() == '"12 mm"'
    assert parse('{"a": "\\ud83d\\ude00 \\/ \\" {[", "b": 1e9}', is_json=True).data == {
        "a": '\U0001f600 / " {[',
        "b": 1e9,
    }


def test_an_error_names_file_line_and_path() -> None:
    """A fault found later is located by its place in the data."""
    fault = ModelError(
        "no body 'rood'", "unknown-body", value="rood", suggestion=did_you_mean("rood", ["crank", "rod"])
    )
    located = parse(CRANK, "crank.yaml").locate(fault, ("bodies", "rod", "points", "B", 1))
    assert str(located) == ("crank.yaml:8: bodies.rod.points.B[1]: no body 'rood'; did you mean 'rod'? [unknown-body]")
    assert (located.file, located.line, located.path, located.value) == (
        "crank.yaml",
        8,
        "bodies.rod.points.B[1]",
        "rood",
    )
    assert located.exit_code == 3


def test_errors_of_one_file_are_reported_together() -> None:
    """Several errors print one per line, in the order of the file."""
    crank = parse(CRANK, "crank.yaml")
    late = crank.locate(ModelError("second", "b"), ("bodies", "rod", "mass"))
    early = crank.locate(ModelError("first", "a"), ("gravity",))
    both = ModelError.together([late, early])
    assert str(both) == "crank.yaml:3: gravity: first [a]\ncrank.yaml:6: bodies.rod.mass: second [b]"
    assert [error.code for error in both.errors] == ["a", "b"]
    assert str(ModelError.together([late])) == "crank.yaml:6: bodies.rod.mass: second [b]"
    assert [e.code for e in ModelError.together([both, ModelError("third", "c", line=9)]).errors] == ["a", "b", "c"]


def test_paths_read_like_the_model() -> None:
    """Keys are joined by points, list positions stand in brackets."""
    assert path_text(("joints", 3, "axis")) == "joints[3].axis"
    assert path_text(("forces", "table", 0, 1)) == "forces.table[0][1]"


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n"
REFUSED_TEXTS = [
    # row 9: duplicate keys
    ("a: 1\nb: 2\na: 3\n", "duplicate-key", 3, "key 'a' appears in lines 1 and 3"),
    (
        "bodies:\n  rod: {mass: 1,\n    mass: 2}\n",
        "duplicate-key",
        3,
        "bodies.rod: key 'mass' appears in lines",
    ),
    ("'1': 1\n1: 2\n", "duplicate-key", 2, "key '1' appears in lines 1 and 2"),
    # row 29: numbers that are not finite
    ("x: 1\na: .nan\n", "not-finite", 2, "a: .nan is not a finite number"),
    ("a: -.inf\n", "not-finite", 1, "a: -.inf is not"),
    ("a: +.INF\n", "not-finite", 1, "a: +.INF is not"),
    ("a: .NaN\n", "not-finite", 1, "a: .NaN is not"),
    ("g: [0,\n 1e999]\n", "not-finite", 2, "g[1]: 1e999 is not a finite number"),
    ("a: " + "9" * 5000, "not-finite", 1, "is not a finite number"),
    ("a: 1e-999\n", "number-underflow", 1, "a: 1e-999 is too small"),
    # row 33: empty file, wrong root
    ("", "empty-file", None, "the file is empty; a model begins with 'linkwork: 1'"),
    ("# nothing\n---\n", "empty-file", None, "the file is empty"),
    ("- 1\n- 2\n", "wrong-root", 1, "the file holds a list; a model must be a mapping"),
    ("just words\n", "wrong-root", 1, "the file holds a single value"),
    # row 34: tabs and control characters
    ("a:\n\tb: 1\n", "tab", 2, "a tab where YAML wants blanks; indentation is made of blanks"),
    ("a:\n  b: 1\n\tc: 1\n", "tab", 3, "a tab"),
    ("a:\t1\n", "tab", 1, "a tab"),
    ("a: 1\nb: x\x07y\n", "control-character", 2, "control character U+0007 at byte 9"),
    ('a: "\\a"\n', "control-character", 1, "a: control character U+0007 in a text"),
    ('a: "\\uD800"\n', "control-character", 1, "control character U+D800"),
    # row 35: names
    ("\u00e9: 1\ne\u0301: 2\n", "twin-names", 2, "the names '\u00e9' in lines 1 and 2 differ only"),
    ("'../x': 1\n", "bad-name", 1, 'name "../x" looks like a path'),
    ("a/b: 1\n", "bad-name", 1, "looks like a path"),
    ("a\\b: 1\n", "bad-name", 1, "looks like a path"),
    ("'': 1\n", "bad-name", 1, 'name "" is empty'),
    (": 1\n", "bad-name", 1, "is empty"),
    ("' a': 1\n", "bad-name", 1, "begins or ends with a blank"),
    ('"a\\nb": 1\n', "bad-name", 1, "the invisible or control character U+000A"),
    ("a\u202eb: 1\n", "bad-name", 1, "the invisible or control character U+202E"),
    ("a" * 101 + ": 1\n", "bad-name", 1, "longer than 100 characters"),
    ("? [1, 2]\n: 3\n", "bad-key", 1, "a list or a mapping as a key; keys are names"),
    ("? {a: 1}\n: 3\n", "bad-key", 1, "a list or a mapping as a key"),
    # row 36: depth and number
    ("a: " + "[" * 500 + "]" * 500, "too-deep", 1, "nested more than 40 levels deep"),
    ("".join(" " * k + "a:\n" for k in range(500)), "too-deep", 41, "nested more than"),
    ("- " * 500 + "1\n", "too-deep", 1, "nested more than"),
    ("a: " + "[" * 90_000, "too-deep", 1, "nested more than"),
    ("x: 1\na: !" + "x" * 1_000_000, "line-too-long", 2, "line of 1000004 characters"),
    # row 37: aliases
    (BOMB, "yaml-alias", 1, "anchor '&a'; anchors and aliases are not part of model files"),
    ("a: *x\n", "yaml-alias", 1, "alias '*x'"),
    ("a:\n  <<: {b: 1}\n", "yaml-alias", 2, "merge key '<<'"),
    # row 38: tags, dates
    ("a: !!python/object/apply:os.system ['true']\n", "yaml-tag", 1, "python/object/apply:os.system'; model files are"),
    ("a: !mine 3\n", "yaml-tag", 1, "tag '!mine'"),
    ("a: ! 3\n", "yaml-tag", 1, "tag '!'"),
    ("a: !!float 3\n", "yaml-tag", 1, "tag"),
    ("%TAG ! tag:x,2000:\n---\na: 1\n", "yaml-tag", 2, "a %TAG directive"),
    ("a: 2026-11-15\n", "date", 1, 'a: 2026-11-15 is a date; as a text, write "2026-11-15"'),
    ("a: 2026-11-15T10:00:00Z\n", "date", 1, "is a date"),
    ("%YAML 1.1\n---\na: 1\n", "yaml-version", 2, "model files are YAML 1.2"),
    ("a: 1\n---\nb: 1\n", "several-documents", 2, "a second document begins; a file holds one model"),
    # text that is no YAML at all
    ("a: [1, 2\n", "yaml-syntax", 2, "not YAML: "),
    ("a: b: c\n", "yaml-syntax", 1, "mapping values are not allowed here"),
    ("a: 'x\n", "yaml-syntax", 2, "not YAML: "),
    ("a: @x\n", "yaml-syntax", 1, "not YAML: "),
    ('a: "\\UFFFFFFFF"\n', "yaml-syntax", 1, "not YAML: "),
    ('a: "\\q"\n', "yaml-syntax", 1, "not YAML: "),
]


@pytest.mark.parametrize(("text", "code", "line", "words"), REFUSED_TEXTS, ids=lambda x: repr(x)[:24])
def test_bad_yaml_is_refused(text: str, code: str, line: int | None, words: str) -> None:
    """Each bad text (rows 9, 29, 33 to 38 of the bad inputs) gets its code, its line and a short message."""
    with pytest.raises(ModelError) as caught:
        parse(text, "bad.yaml")
    assert (caught.value.code, caught.value.line) == (code, line)
    assert str(caught.value).startswith("bad.yaml:")
    assert words in str(caught.value)
    assert len(str(caught.value)) < 300


REFUSED_JSON = [
    ('{"a": 1,\n"a": 2}', "duplicate-key", 2),
    ('{"a": NaN}', "not-finite", 1),
    ('{"a": -Infinity}', "not-finite", 1),
    ('{\n"a": 1e999}', "not-finite", 2),
    ('{"a": ' + "9" * 5000 + "}", "not-finite", 1),
    ("", "empty-file", None),
    ("[1]", "wrong-root", 1),
    ("7", "wrong-root", 1),
    ('{"a": "\\ud800"}', "control-character", 1),
    ('{"a": "\\u0000"}', "control-character", 1),
    ('{"\\u0000": 1}', "bad-name", 1),
    ('{"": 1}', "bad-name", 1),
    ('{"\u00e9": 1, "e\\u0301": 2}', "twin-names", 1),
    ('{"a": ' + "[" * 1500 + "]" * 1500 + "}", "too-deep", 1),
    ('{"a": ' + "[" * 1_000_000, "too-deep", 1),
    ('{"a": ' * 1500, "too-deep", 1),
    ('{"a": 1,}', "json-syntax", 1),
    ("{\n'a': 1}", "json-syntax", 2),
    ('{"a": 1} {"b": 2}', "json-syntax", 1),
    ('{"a": "x', "json-syntax", 1),
    ('{"a": 012}', "json-syntax", 1),
    ('{"a": yes}', "json-syntax", 1),
]


@pytest.mark.parametrize(("text", "code", "line"), REFUSED_JSON, ids=lambda x: repr(x)[:24])
def test_bad_json_is_refused(text: str, code: str, line: int | None) -> None:
    """JSON meets the same rules, and its own grammar is kept to the letter."""
    with pytest.raises(ModelError) as caught:
        parse(text, "bad.json", is_json=True)
    assert (caught.value.code, caught.value.line) == (code, line)


def test_number_of_nodes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million bodies are refused as soon as the limit is passed (row 36)."""
    monkeypatch.setattr(document, "MAX_NODES", 1000)
    bodies = "bodies:\n" + "".join(f"  b{k}: {{mass: 1}}\n" for k in range(2000))
    with pytest.raises(ModelError, match="more than 1000 keys and values") as caught:
        parse(bodies)
    assert caught.value.code == "too-many-nodes"


REFUSED_BYTES = [
    (CRANK.encode("utf-16"), "not-utf8", None, "byte order mark at byte 0"),
    (CRANK.encode("utf-16-be"), "nul-byte", 1, "NUL byte at byte 0"),
    (b"a: 1\nb: x\0y\n", "nul-byte", 2, "NUL byte at byte 9"),
    ("a: 1\nname: M\u00fcller\n".encode("latin-1"), "not-utf8", 2, "byte 0xfc at byte 12 is not UTF-8"),
    (b"\xef\xbb\xbfa: \xff\n", "not-utf8", 1, "byte 0xff at byte 6 is not UTF-8"),
    (b"a: \xed\xa0\x80\n", "not-utf8", 1, "byte 0xed at byte 3"),
]


@pytest.mark.parametrize(("content", "code", "line", "words"), REFUSED_BYTES, ids=lambda x: repr(x)[:24])
def test_bytes_that_are_not_utf8_are_refused(
    tmp_path: Path, content: bytes, code: str, line: int | None, words: str
) -> None:
    """UTF-16, Latin-1 and NUL bytes are named by their byte offset (row 34)."""
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        read(path)
    assert (caught.value.code, caught.value.line) == (code, line)
    assert words in str(caught.value)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_byte_order_mark_and_any_line_ends_are_accepted(tmp_path: Path, mark: bytes, end: bytes, suffix: str) -> None:
    """A UTF-8 file with byte order mark or CRLF reads like one without, with the same line numbers (row 34)."""
    text = CRANK if suffix == "yaml" else json.dumps(parse(CRANK).data, indent=1)
    path = tmp_path / f"crank.{suffix}"
    path.write_bytes(mark + text.encode().replace(b"\n", end))
    crank = read(path)
    assert crank.data == parse(CRANK).data
    assert crank.lines == parse(text, is_json=suffix == "json").lines


def test_names_and_texts_are_normalized() -> None:
    """A name written with a combining accent is the same as with the letter, in keys and references (row 35)."""
    decomposed = unicodedata.normalize("NFD", "h\u00e9lice")
    assert parse(f"{decomposed}: {decomposed}").data == {"h\u00e9lice": "h\u00e9lice"}


@pytest.mark.parametrize(
    "name", ["CON", "\u05d2\u05dc\u05d2\u05dc", "body 1", "crank.A", "null", "\u66f2\u67c4", "<b>"]
)
def test_unusual_names_are_names(name: str) -> None:
    """Right-to-left letters, device names of other systems and markup are texts like others (row 35)."""
    assert name_fault(name) is None
    assert parse(f"{name}: 1").data == {name: 1}


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    """Folders, FIFOs and devices are refused at once, without waiting or reading (row 39)."""
    fifo = tmp_path / "fifo.yaml"
    os.mkfifo(fifo)
    for path, kind in ((tmp_path, "a folder"), (fifo, "a device or a pipe"), (Path("/dev/zero"), "a device or a pipe")):
        with pytest.raises(ModelError, match=f"is {kind}; a model is read from a regular file") as caught:
            read(path)
        assert caught.value.code == "not-a-file"


@pytest.mark.parametrize("name", ["nowhere.yaml", "crank.yaml/x", "a\0b"])
def test_missing_file_is_a_usage_error(tmp_path: Path, name: str) -> None:
    """A name without a file is a mistake of the call, not of the model."""
    (tmp_path / "crank.yaml").write_text(CRANK)
    with pytest.raises(UsageError) as caught:
        read(str(tmp_path / name))
    assert (caught.value.code, caught.value.exit_code) == ("no-such-file", 2)


def test_unreadable_file_is_named(tmp_path: Path) -> None:
    """What the system refuses to open is refused by its reason."""
    loop = tmp_path / "loop.yaml"
    loop.symlink_to(loop)
    with pytest.raises(ModelError) as caught:
        read(loop)
    assert caught.value.code == "unreadable"


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that opens and cannot be read")
def test_file_that_fails_while_being_read_is_named() -> None:
    with pytest.raises(ModelError, match="/proc/self/mem: cannot be read") as caught:
        read("/proc/self/mem")
    assert caught.value.code == "unreadable"


def test_huge_file_is_refused_before_parsing(tmp_path: Path) -> None:
    """A file of 1 GB is refused by its size (row 36)."""
    path = tmp_path / "huge.yaml"
    with path.open("wb") as stream:
        stream.truncate(10**9)
    with pytest.raises(ModelError, match="has 1000000000 bytes") as caught:
        read(path)
    assert caught.value.code == "file-too-big"


def test_depth_limit_holds_in_a_fresh_process() -> None:
    """The deepest accepted and the shallowest refused nesting behave under Python's default recursion limit."""
    depth = document.MAX_DEPTH - 1
    program = (
        "from linkwork.document import parse\nfrom linkwork.errors import ModelError\n"
        f"parse('a: ' + '[' * {depth} + ']' * {depth})\n"
        f"try: parse('a: ' + '[' * {depth + 1} + ']' * {depth + 1})\nexcept ModelError as error: print(error.code)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("too-deep\n", "", 0)


texts = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf", "Co", "Cn", "Zl", "Zp")), max_size=20)
awkward = st.sampled_from(
    ["1e9", "yes", "null", "~", "inf", "2026-11-15", "- a", "a: b", "#", "", " x ", "12 mm", "-l1/2", "\n\t"]
)
strings = (texts | awkward).map(lambda text: unicodedata.normalize("NFC", text))
names = strings.filter(lambda name: name_fault(name) is None)
numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(1 - 10**18, 10**18 - 1)
plain_data = st.recursive(
    st.none() | st.booleans() | numbers | strings,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(names, plain_data, min_size=1, max_size=5))
def test_dump_reads_back_to_the_same_data(data: dict[str, Data]) -> None:
    """Writing and reading is the identity, for YAML and for JSON, types included."""
    assert repr(parse(dump(data)).data) == repr(data)
    assert repr(parse(json.dumps(data), is_json=True).data) == repr(data)


def test_dump_is_written_as_a_person_would() -> None:
    """Elements stand one to a line, short lists and mappings are kept together, formulas need no quotes."""
    rod: dict[str, Any] = {"mass": 1.0, "angle": "30 deg", "position": ["l1/2", "-l1/2"], "points": {"A": [0, 1e-9]}}
    assert dump({"linkwork": 1, "name": "crank", "bodies": {"rod": rod}, "about": "a: b"}) == (
        "linkwork: 1\nname: crank\nbodies:\n"
        "  rod: {mass: 1.0, angle: 30 deg, position: [l1/2, -l1/2], points: {A: [0, 1e-09]}}\n"
        'about: "a: b"\n'
    )


@given(
    st.text(max_size=40)
    | st.lists(
        st.sampled_from([*"{}[]:,-?!&*|>%@`'\"#~\t\n ", "a", "1", "\\U", "<<", "---", ": ", "- "]), max_size=25
    ).map("".join),
    st.booleans(),
)
def test_any_text_is_read_or_refused(text: str, is_json: bool) -> None:
    """No text whatever ends in anything but data or an error of ours."""
    with contextlib.suppress(ModelError):
        parse(text, is_json=is_json)


def test_failed_writing_leaves_the_old_file(tmp_path: Path) -> None:
    """An error or Ctrl-C while writing keeps the old content and leaves nothing else behind (row 43)."""
    path = tmp_path / "motion.csv"
    write_text(path, "old")

    def write_and(stop: BaseException) -> None:
        with whole(path) as part:
            assert part.parent == path.parent
            assert part.suffix == ".csv"
            part.write_text("half")
            raise stop

    for stop in (KeyboardInterrupt(), ValueError("not ours")):
        with pytest.raises(type(stop)):
            write_and(stop)
    for number, code in ((errno.ENOSPC, "disk-full"), (errno.EROFS, "output-read-only"), (errno.EIO, "output-failed")):
        with pytest.raises(UsageError, match="nothing was changed") as caught:
            write_and(OSError(number, os.strerror(number)))
        assert caught.value.code == code
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["motion.csv"]


def test_a_file_is_written_through_by_a_handle_that_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows refuses to write through what is open for reading alone."""
    fcntl = pytest.importorskip("fcntl")  # Windows has none
    fsync, modes = os.fsync, list[int]()

    def note(descriptor: int) -> None:
        modes.append(fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    write_text(tmp_path / "motion.csv", "new")
    assert modes
    assert os.O_RDONLY not in modes


def test_full_disk_is_reported_by_the_system_itself(tmp_path: Path) -> None:
    """When the system refuses to write more, the old file stays (row 43)."""
    resource = pytest.importorskip("resource")  # Windows has none
    path = tmp_path / "motion.csv"
    write_text(path, "old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(UsageError) as caught:
            write_text(path, "x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.code == "disk-full"
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["motion.csv"]


def test_output_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """A folder, a device, a read-only file and a missing folder are each named (row 43)."""
    kept = tmp_path / "kept.csv"
    kept.write_text("old")
    kept.chmod(0o444)
    refused: list[tuple[Path, str]] = [
        (tmp_path, "output-is-folder"),
        (Path("/dev/null"), "output-not-a-file"),
        (kept, "output-read-only"),
        (tmp_path / "none" / "motion.csv", "output-no-folder"),
        (kept / "motion.csv", "output-no-folder"),
        (tmp_path / ("x" * 300), "output-bad-name"),
    ]
    for path, code in refused:
        with pytest.raises(LinkworkError, match="cannot write") as caught:
            write_text(path, "new")
        assert (caught.value.code, caught.value.exit_code) == (code, 2)
    assert kept.read_text() == "old"
    assert os.listdir(tmp_path) == ["kept.csv"]


def test_written_file_keeps_permissions_and_links(tmp_path: Path) -> None:
    """Replacing a file keeps its permissions; a link still leads to it; a new file has the usual permissions."""
    path, link = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_text(link, "new\n")
    assert link.is_symlink()
    assert path.read_bytes() == b"new\n"
    assert path.stat().st_mode & 0o777 == 0o640
    write_text(tmp_path / "c.csv", "")
    (tmp_path / "d.csv").touch()
    assert (tmp_path / "c.csv").stat().st_mode == (tmp_path / "d.csv").stat().st_mode
