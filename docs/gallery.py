"""The gallery: all shipped mechanisms with picture, source and checked number, made by running them."""

import io
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from html import escape
from pathlib import Path

import verification
from linkwork import Model, Trajectory, check, kinematics, load, simulate
from linkwork.errors import UsageError
from linkwork.modelfile import shipped
from linkwork.studies.study_file import is_study_file
from linkwork.view.page import built, write
from linkwork.view.picture import still
from linkwork.view.plot import save
from linkwork.web.program import Program, program


def move(model: Model) -> Trajectory:
    driven = model.about.checked.get("analysis") == "kinematics"
    return kinematics(model) if driven else simulate(model)


def simulator(model: Model) -> Program | None:
    """What lets the page of a mechanism simulate; nothing where that needs Python."""
    try:
        return program(model, model.about.checked.get("analysis") == "kinematics", hands=True)
    except UsageError:
        return None


def entry(name: str, target: Path) -> list[str]:
    """A section about one mechanism. Where the viewer has been built, a page beside it shows the motion."""
    model = load(name)
    motion = move(model)
    file = name.replace("/", "_")
    save(motion.plot() if model.stated else still(motion, width=4.5, names=False), target / f"{file}.svg")
    moving = ""
    if built() and not model.stated:
        made = simulator(model)
        write([motion], target / "extra" / "moving" / f"{file}.html", live=made)
        moving = f' <a href="../moving/{file}.html">See it move{" and change it" if made else ""}.</a>'
    report, row = check(model), verification.checked(name)
    rank = f" of rank {report.rank}" if report.redundant else ""
    freedoms = "driven in all freedoms" if report.dof == 0 else f"degrees of freedom: {report.dof}"
    return [
        f"({file})=",
        f"### {name}",
        "",
        f"```{{image}} {file}.svg",
        f":alt: {model.about.title}",
        ":class: mechanism",
        "```",
        "",
        f"{model.about.title}.{moving}",
        "",
        f"Bodies: {report.bodies}; constraint rows: {report.constraints}{rank}; {freedoms}.",
        "",
        f"Source: {model.about.source}.",
        "",
        f"Checked: {row.quantity} is {row.found}; {row.source} gives {row.given}, deviation {row.deviation:.1e}.",
        "",
    ]


EXAMPLES = Path(__file__).parents[1] / "examples"
DESIGNS = EXAMPLES / "designs"
# What the mechanisms are about, by the beginnings of their names; the first that fits.
THEMES = {
    "Pendulums, tops and chains": "simple|double_pendulum|planar_chain|spatial_chain|heavy|gyro|free|numdyn3d",
    "Linkages": "four_bar|n_four|stephenson|watt|jansen|pantograph|redundant|andrews|warsaw|bricard|spatial_four",
    "Machines": "slider|spatial_slider|quick|scotch|scissor|flyball|universal|delta|stewart|double_wishbone",
    "Contact and friction": "newton|stick",
    "Rolling": "whipple|rolling|chaplygin|rattleback",
    "Models of DAP": "dap/",
    "Others": "",
}


def theme(name: str) -> str:
    return next(title for title, names in THEMES.items() if re.match(names, name))


def grid(names: list[str], target: Path) -> list[str]:
    """Small pictures that lead to the sections of their mechanisms."""
    cells = []
    for name in names:
        file, title = name.replace("/", "_"), escape(load(name).about.title)
        picture = (target / f"{file}.svg").read_text(encoding="utf-8")
        (target / "extra" / "gallery" / f"{file}.svg").write_text(picture, encoding="utf-8")
        cells.append(
            f'<a href="#{file.replace("_", "-")}"><img src="../gallery/{file}.svg" alt="{title}">'
            f"<span>{name.removeprefix('dap/').replace('_', ' ')}</span></a>"
        )
    return ["```{raw} html", '<div class="grid">', *cells, "</div>", "```", ""]


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def example(script: Path, target: Path) -> list[str]:
    """A script of examples/, what it prints, and the picture that it writes under its own name."""
    said = io.StringIO()
    with inside(target), redirect_stdout(said):
        runpy.run_path(str(script), run_name="__main__")
    text = script.read_text(encoding="utf-8")
    title, _, code = text.partition("\n")
    title = title.strip('"')
    picture = [f"```{{image}} {script.stem}.svg", f":alt: {title}", ":class: mechanism", "```", ""]
    return [
        f"### {script.stem.replace('_', ' ')}",
        "",
        *(picture if (target / f"{script.stem}.svg").exists() else []),
        f"{title}.",
        "",
        "```python",
        code.strip(),
        "```",
        "",
        "```text",
        said.getvalue().rstrip(),
        "```",
        "",
    ]


def design(study: Path, target: Path) -> list[str]:
    """A study of examples/designs, what it says, and a page that shows the design as stated beside the best."""
    best, moving = target / "extra" / "moving" / f"design_{study.stem}.html", ""
    said = [linkwork_command("optimize", study, *(("-o", best) if built() else ()))]
    if built():
        moving = f' <a href="../moving/{best.name}">See both move.</a>'
    question, _, keys = study.read_text(encoding="utf-8").partition("\n")
    return [
        f"### {study.stem.replace('_', ' ')}",
        "",
        f"{question.removeprefix('# ')}{moving}",
        "",
        "```yaml",
        keys.strip(),
        "```",
        "",
        "```text",
        *(line for line in said[0].splitlines() if not line.startswith("written")),
        "```",
        "",
    ]


def linkwork_command(*arguments: object) -> str:
    command = [sys.executable, "-m", "linkwork", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.rstrip()


def page(target: Path) -> str:
    for folder in ("moving", "gallery"):
        (target / "extra" / folder).mkdir(parents=True, exist_ok=True)
    names = list(shipped())
    sections = {name: entry(name, target) for name in names}
    grids, entries = [], []
    for title in THEMES:
        own = [name for name in names if theme(name) == title]
        if not own:
            continue
        grids += [f"**{title}**", "", *grid(own, target)]
        entries += [f"## {title}", "", *(line for name in own for line in sections[name])]
    return "\n".join(
        [
            "# Gallery",
            "",
            "The mechanisms that come with linkwork. Their names work like files: `linkwork run four_bar`.",
            "Pictures and numbers were made by running them while this page was built.",
            "",
            *grids,
            "## Examples in Python",
            "",
            "Scripts of the folder `examples`, with what they print. A longer one is the notebook",
            "[A four-bar from sketch to design](four_bar_notebook.md).",
            "",
            *(line for script in sorted(EXAMPLES.glob("*.py")) for line in example(script, target)),
            "## Designs",
            "",
            "Studies of the folder `examples/designs`; see [the best design](../howto/optima.md).",
            "",
            *(
                line
                for study in sorted(DESIGNS.glob("*.yaml"))
                if is_study_file(str(study))
                for line in design(study, target)
            ),
            *entries,
        ]
    )
