"""What the code cites is in the list of sources."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import linkwork

SOURCE = Path(linkwork.__file__).parent
BIBLIOGRAPHY = Path(__file__).parents[2] / "docs" / "references.bib"
KEY = r"[a-z]+(?:19|20)\d\d[a-z]?"


def texts(path: Path) -> Iterator[str]:
    """All texts in a file: docstrings, and the sources of formulations, which are arguments."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def cited() -> dict[str, set[str]]:
    """Key -> files: keys within brackets, [haug1989, chapter 3; gear1985], and texts that are a key."""
    found: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for text in texts(path):
            brackets = re.findall(r"\[([^\[\]]*)\]", text)
            keys = [key for part in brackets for key in re.findall(rf"(?:^|[;,]\s*){KEY}\b", part)]
            keys += [text] if re.fullmatch(KEY, text) else []
            for key in keys:
                found.setdefault(re.sub(r"^[;,\s]*", "", key), set()).add(path.name)
    return found


def test_every_source_cited_in_the_code_is_listed() -> None:
    listed = re.findall(r"^@\w+\{(\w+),$", BIBLIOGRAPHY.read_text(encoding="utf-8"), re.M)
    assert len(listed) == len(set(listed))
    found = cited()
    assert {"haug1989", "sommese2005", "mani1985"} <= set(found)
    assert {key: files for key, files in found.items() if key not in listed} == {}
