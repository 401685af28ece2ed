"""The page of tables beside other programs: three of the sources, each made by one command while the page is built."""

import csv
from pathlib import Path

from linkwork import compare, kinematics, load
from linkwork.comparison.beside import beside, read_table
from linkwork.comparison.compare import read_published
from linkwork.view.beside import figure
from linkwork.view.comparison import write
from linkwork.view.plot import save

DATA = Path(__file__).parents[1] / "tests" / "reference"

INTRODUCTION = """# Tables beside other programs

Three tables that the sources print about their own programs, with their numbers beside those found here when this
page was built. Times are those of the machine that built the page. `--with` takes [tables of your
own](../kinematics.md#beside-other-programs).

## Formulations, after de Falco, Guida and Pennestrì

```text
linkwork compare redundant_24 --integrator dopri5 --rank-tolerance 1e-6 --with defalco2008_table.csv
```

The table of [defalco2008] has three columns: the processor time of a run, its part in the solver, and the
evaluations. Its mechanism is not defined there; the page about [formulations](../formulations.md#the-comparison)
describes ours, of the same size, and the columns."""

TIMES = """## Index 3 and orthogonalization, after Pennestrì and Vita

```text
linkwork compare numdyn3d_pendulum --coordinates euler --integrator radau5 \\
    --formulations index-3,svd,qr,coordinate-partitioning --with pennestri2004_table6.csv
```

[pennestri2004, table 6]: 3 s of its pendulum, by RADAU5 on the index-3 equations and on those without reactions. That
the latter take a fifth less there is no law: it depends on how both are coded, as the columns "of the first" show."""

ADAMS = """## Points of a mechanism beside ADAMS, after Tartari

```text
linkwork compare warsaw_problem12 --with warsaw_problem12_adams.csv -o table4.md
```

[tartari2019, table 4]: standard deviations of the errors of eight points against ADAMS over 5 s, printed / found
here, and of all of them together. ADAMS prints seven digits, and this rounding is all that differs. Places and
velocities are the published tables of ADAMS; its accelerations are at hand for some rows only, so that the table has
those by intersections of circles, rounded to seven digits, which are the digits of ADAMS where it can be seen."""


def costs(target: Path, name: str, heading: str, table: str, **how: object) -> str:
    """The report of a comparison under this heading; its picture is written beside it."""
    found = compare(load(heading), published=read_published(DATA / table) or (), **how)  # type: ignore[arg-type]
    report, _ = write(found, target / f"{name}.md")
    text = report.read_text(encoding="utf-8").split("\n", 1)[1]
    report.unlink()
    return text


def printed() -> dict[str, list[float]]:
    """Table 4 of the source: by point, x, y, vx, vy, ax, ay."""
    lines = [line for line in (DATA / "tartari2019_table4.csv").read_text().splitlines() if not line.startswith("#")]
    return {point: [float(x) for x in values] for point, *values in csv.reader(lines[1:])}


def deviations(target: Path) -> str:
    """Table 4 with our numbers behind its own, and figure 5."""
    found = beside(kinematics(load("warsaw_problem12")), [read_table(DATA / "warsaw_problem12_adams.csv")])
    save(figure(found), target / "figure5.svg")
    lines = [f"| | {' | '.join(found.parts)} |", f"| --- |{' ---: |' * len(found.parts)}"]
    for point, values in printed().items():
        owner = None if point == "overall" else next(name for name in found.owners if name.endswith(f".{point}"))
        ours = [found.spread(owner, part) for part in found.parts]
        cells = [f"{x:.4e}<br>{of.std:.4e}" for x, of in zip(values, ours, strict=True) if of]
        lines.append(f"| {point} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", "![errors against ADAMS, as in figure 5 of the source](<figure5.svg>)", ""])


def page(target: Path) -> str:
    review = costs(
        target,
        "formulations",
        "redundant_24",
        "defalco2008_table.csv",
        integrator="dopri5",
        rank_tolerance=1e-6,
    )
    forms = ("index-3", "svd", "qr", "coordinate-partitioning")
    how = {"coordinates": ["euler"], "integrator": "radau5", "formulations": forms}
    times = costs(target, "orthogonalized", "numdyn3d_pendulum", "pennestri2004_table6.csv", **how)
    return "\n\n".join([INTRODUCTION, review, TIMES, times, ADAMS, deviations(target)])
