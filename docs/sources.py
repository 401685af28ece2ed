"""The list of sources as a page, and links to it from wherever a source is cited as [key, eq. (...)]."""

import re
from pathlib import Path
from typing import Any

from pybtex.backends.markdown import Backend
from pybtex.database import parse_file
from pybtex.style.formatting.unsrt import Style

HERE = Path(__file__).parent
BIBLIOGRAPHY = parse_file(HERE / "references.bib")
KEYS = "|".join(BIBLIOGRAPHY.entries)


def page() -> str:
    """All sources in the order of their keys."""
    lines = ["# Sources", "", "Cited in these pages and in the code as `[key, eq. (...)]`.", ""]
    style = Style()
    for entry in sorted(BIBLIOGRAPHY.entries.values(), key=lambda entry: entry.key):
        text = next(iter(style.format_entries([entry]))).text.render(Backend())
        lines += [f"({entry.key})=", f"**{entry.key}**: {text}", ""]
    return "\n".join(lines)


def link(app: Any, name: str, text: list[str]) -> None:
    """In [haug1989, chapter 3; gear1985] every key becomes a link; blocks of code stay as they are."""

    def linked(bracket: re.Match[str]) -> str:
        return re.sub(rf"\b({KEYS})\b", lambda key: f"[{key[1]}](#{key[1]})", bracket[0])

    parts = re.split(r"(^```.*?^```$|`[^`\n]*`|^    .*$)", text[0], flags=re.DOTALL | re.MULTILINE)
    cited = re.compile(rf"\[(?:{KEYS})\b[^\[\]]*\](?!\()")
    text[0] = "".join(part if k % 2 else cited.sub(linked, part) for k, part in enumerate(parts))
