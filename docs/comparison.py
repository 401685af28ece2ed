"""The comparison page: all formulations on redundant_24, made by running them."""

from pathlib import Path

from linkwork import compare, load
from linkwork.view.comparison import write

INTRODUCTION = """# Comparison of formulations

What `linkwork compare redundant_24` measured when this page was built. The page about
[formulations](../formulations.md#the-comparison) describes the mechanism and the columns;
times are those of the machine that built the page.
"""


def page(target: Path) -> str:
    """The report of the command under a heading of its own; its picture is written beside it."""
    report, _ = write(compare(load("redundant_24")), target / "comparison.md")
    return report.read_text(encoding="utf-8").replace("# Formulations of redundant\\_24\n", INTRODUCTION, 1)
