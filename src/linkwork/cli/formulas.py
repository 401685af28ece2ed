"""Commands that write down what a model is: its equations, a worked exercise, the format of its file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from typer import Argument, Option

from linkwork.cli import completion
from linkwork.cli.app import (
    METHOD,
    Assemble,
    Coordinates,
    Cut,
    Files,
    Json,
    ModelArgument,
    Open,
    Set,
    command,
    output_option,
)
from linkwork.cli.motions import given, located, open_files, overrides, started, stem, tell, to_open, within, writable
from linkwork.errors import UsageError, check_choice

if TYPE_CHECKING:
    from linkwork.modelfile.system import System

Pivoting: TypeAlias = Annotated[
    str,
    Option(
        metavar="NAME|ROWS",
        help="Pivots of the symbolic LU: sparse, first, smallest, largest, or rows as 2,1,3",
        rich_help_panel=METHOD,
    ),
]


def _pivots(text: str) -> str | list[int]:
    """Return the name of a strategy, or rows counted from zero."""
    words = text.split(",")
    return [int(word) - 1 for word in words] if all(word.strip().isdecimal() for word in words) else text


@command(
    "linkwork explain simple_pendulum",
    "linkwork explain four_bar --formulation coordinate-partitioning --open",
    "linkwork explain slider_crank --analysis assembly -o sheet.tex",
)
def explain(
    model: ModelArgument,
    set_: Set = None,
    assemble: Assemble = False,
    formulation: Annotated[
        str,
        Option(metavar="NAME", help="Work out this one", autocompletion=completion.completing("formulation")),
    ] = "augmented",
    analysis: Annotated[str, Option(metavar="NAME", help="dynamics, kinematics, assembly or modes")] = "dynamics",
    at: Annotated[float, Option(metavar="T", help="Time of the position that is worked out, s.")] = 0.0,
    output: Annotated[Files, output_option("Write .md, .html, .tex or .txt instead of printing; repeatable.")] = None,
    open_: Open = False,
    coordinates: Coordinates = None,
    cut: Cut = None,
    pivoting: Pivoting = "sparse",
    json: Json = False,
) -> None:
    """Work out a formulation on a model, in symbols and numbers.

    Other analyses are worked out with --analysis. Every equation on the sheet is evaluated as it is written.
    """
    from linkwork.lecture.explain import explain
    from linkwork.view.report import as_json, progress
    from linkwork.view.worked import FORMATS, as_dict, save, text

    files = writable(to_open(output, open_, f"{stem(model)}-explain.html"), tuple(FORMATS))
    mechanism = started(model, set_, None, None, assemble=assemble)
    with located(model), progress(mechanism.name) as moved:
        sheet = explain(mechanism, formulation, at, moved, within(coordinates, cut), _pivots(pivoting), analysis)
    for file in files:
        save(sheet, file)
    if json:
        print(as_json({**as_dict(sheet), "files": [str(file) for file in files]}))
    else:
        print("\n".join(f"written  {file}" for file in files) if files else text(sheet).rstrip())
    if open_:
        open_files(files)


@command(
    "linkwork equations simple_pendulum --form lagrange",
    "linkwork equations slider_crank --to c -o slider_crank.c",
    "linkwork equations four_bar --form lagrange --to latex",
)
def equations(
    model: ModelArgument,
    set_: Set = None,
    form: Annotated[
        str, Option(metavar="NAME", help="explicit (solved), rif (with hidden constraints) or lagrange (as stated)")
    ] = "explicit",
    to: Annotated[
        str, Option(metavar="NAME", help="text, latex, markdown, python, numpy, c, fortran, julia or maple")
    ] = "text",
    coordinates: Coordinates = None,
    cut: Cut = None,
    pivoting: Pivoting = "sparse",
    largest: Annotated[int | None, Option(metavar="N", help="Replace expressions above this size by symbols.")] = None,
    unveil: Annotated[int, Option(metavar="K", help="Expand the symbols K times.")] = 0,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="FILE", help="Write to a file instead of printing.")
    ] = None,
    cases: Annotated[
        bool, Option("--cases", help="For a system of equations, add the cases in which pivots vanish.")
    ] = False,
    json: Json = False,
) -> None:
    """Write down the equations of a model, or export them as code.

    Three forms: as stated (lagrange), with all hidden constraints (rif), or solved for the accelerations as a
    computation sequence (explicit). A file of `unknowns` and `equations` is any system of differential-algebraic
    equations, of as many equations as may be; --form rif finds what is hidden in it.
    """
    from linkwork.modelfile.system import read_system

    if (system := read_system(model)) is not None:
        return _write_system(system, form, to, cases, output, json)
    if cases:
        raise UsageError("--cases goes with files of unknowns and equations", "no-effect")
    from linkwork.files import write_text
    from linkwork.lecture.listing import write_down
    from linkwork.modelfile import load
    from linkwork.view.listing import FORMATS, as_dict
    from linkwork.view.report import as_json

    check_choice("format", to, FORMATS)
    mechanism = load(model, overrides(set_))
    how = given(coordinates=within(coordinates, cut), largest=largest)
    with located(model):
        listing = write_down(mechanism, form, pivoting=_pivots(pivoting), unveil=unveil, **how)
    solved, shown = form == "explicit", to in ("text", "latex", "markdown")
    veiled = (shown or to == "maple") if solved else (shown and listing.hierarchy.last_used > 0)
    for option, is_given, matters in (
        ("--pivoting", pivoting != "sparse", solved),
        ("--largest", largest is not None, veiled),
        ("--unveil", unveil != 0, veiled),
    ):
        if is_given and not matters:
            raise UsageError(f"{option} has no effect on --form {form} --to {to}", "no-effect")
    text = listing.write(to)
    if output is not None:
        write_text(output, text)
    if json:
        print(as_json({**as_dict(listing), "text": text, "files": [str(output)] if output else []}))
    else:
        print(f"written  {output}" if output else text.rstrip())


def _write_system(system: System, form: str, to: str, cases: bool, output: Path | None, json: bool) -> None:
    """Write a system in reduced involutive form: implicit where its structure shows it, else by its cases."""
    from linkwork.files import write_text
    from linkwork.lecture.system import involutive
    from linkwork.view.report import as_json, progress
    from linkwork.view.system import as_dict, as_text

    if form != "rif" or to != "text":
        raise UsageError("of a system of equations there is --form rif, as text", "no-effect")
    with progress(system.name, "eliminating") as taken:
        found = involutive(system, cases, taken)
    text = as_text(found)
    if output is not None:
        write_text(output, text)
    if json:
        print(as_json({**as_dict(found), "text": text, "files": [str(output)] if output else []}))
    else:
        print(f"written  {output}" if output else text.rstrip())


BEGUN = """# A pendulum to begin with; docs/model-files.md has all keys. Editors complete them by the schema:
# linkwork schema > linkwork.schema.json, and here a line: # yaml-language-server: $schema=linkwork.schema.json
linkwork: 1
name: {name}
parameters: {{l: 40 cm, m: 1 kg}}
ground: {{points: {{O: [0, 0]}}}}
bodies:
  arm: {{mass: m, inertia: m*l^2/12, position: [l/2, 0], points: {{O: [-l/2, 0], tip: [l/2, 0]}}}}
joints:
  O: {{type: revolute, i: ground.O, j: arm.O}}
simulation: {{t_end: 2 s, step: 10 ms}}
"""


@command("linkwork new arm.yaml")
def new(file: Annotated[Path, Argument(metavar="FILE", help="The model file, .yaml.")], json: Json = False) -> None:
    """Write a small model file to begin with.

    It is a pendulum that runs as it is: linkwork new arm.yaml, then linkwork view arm.yaml --open.
    """
    from json import dumps

    from linkwork.files import write_text

    if file.exists():
        raise UsageError(f"'{file}' exists; choose another name", "file-exists")
    writable([file], (".yaml", ".yml"))
    write_text(file, BEGUN.format(name=dumps(file.stem)))
    tell({}, [], [file], json)


@command("linkwork schema > linkwork.schema.json")
def schema(json: Json = False) -> None:
    """Print the JSON Schema of model files, for editors.

    With it editors complete keys and mark faults while you write. Save it, and name it in the first line of the model
    file, which the YAML extensions of VS Code, Vim and Emacs read:

    # yaml-language-server: $schema=linkwork.schema.json
    """
    from linkwork.modelfile import json_schema
    from linkwork.view.report import as_json

    print(as_json(json_schema()))
