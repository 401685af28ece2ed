"""The gallery: all shipped mechanisms with picture, source and checked number, made by running them."""

from pathlib import Path

import verification
from linkwork import Model, Trajectory, check, kinematics, load, simulate
from linkwork.modelfile import shipped
from linkwork.view.page import built, write
from linkwork.view.picture import still
from linkwork.view.plot import save


def move(model: Model) -> Trajectory:
    driven = model.about.checked.get("analysis") == "kinematics"
    return kinematics(model) if driven else simulate(model)


def entry(name: str, target: Path) -> list[str]:
    """A section about one mechanism. Where the viewer has been built, a page beside it shows the motion."""
    model = load(name)
    motion = move(model)
    file = name.replace("/", "_")
    save(motion.plot() if model.stated else still(motion, width=4.5, names=False), target / f"{file}.svg")
    moving = ""
    if built() and not model.stated:
        write([motion], target / "extra" / "moving" / f"{file}.html")
        moving = f' <a href="../moving/{file}.html">See it move.</a>'
    report, row = check(model), verification.checked(name)
    rank = f" of rank {report.rank}" if report.redundant else ""
    freedoms = "driven in all freedoms" if report.dof == 0 else f"degrees of freedom: {report.dof}"
    return [
        f"({file})=",
        f"## {name}",
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


def page(target: Path) -> str:
    (target / "extra" / "moving").mkdir(parents=True, exist_ok=True)
    return "\n".join(
        [
            "# Gallery",
            "",
            "The mechanisms that come with linkwork. Their names work like files: `linkwork run four_bar`.",
            "Pictures and numbers were made by running them while this page was built.",
            "",
            *(line for name in shipped() for line in entry(name, target)),
        ]
    )
