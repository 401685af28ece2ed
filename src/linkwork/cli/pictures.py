"""Commands that draw: plots, pages, films and reports."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from linkwork.cli import completion
from linkwork.cli.app import (
    Assemble,
    Close,
    Column,
    Json,
    Limits,
    ModelArgument,
    Open,
    Set,
    TEnd,
    Texts,
    Units,
    With,
    command,
    output_option,
)
from linkwork.cli.motions import (
    Robot,
    located,
    moved,
    named,
    named_units,
    open_files,
    started,
    stem,
    tables_of,
    writable,
)
from linkwork.errors import Unfinished, UsageError, quoted

if TYPE_CHECKING:
    from linkwork.comparison.beside import Beside, Table
    from linkwork.trajectory import Trajectory
    from linkwork.web.program import Program

Sources = Annotated[
    list[str],
    Argument(metavar="MODEL|RESULT", help="Models, or results .nc, .csv.", autocompletion=completion.complete_source),
]
Source = Annotated[
    str,
    Argument(metavar="MODEL|RESULT", help="A model, or a result .nc, .csv.", autocompletion=completion.complete_source),
]


@command(
    "linkwork plot motion.nc",
    "linkwork plot motion.nc crank.phi 'reaction:*' --units deg --open",
    "linkwork plot motion.nc slider.vx --against slider.x -o phase.svg",
)
def plot(
    file: Annotated[
        Path,
        Argument(
            metavar="FILE",
            help="A result, .nc or .csv, or that of a sweep.",
            autocompletion=completion.complete_result,
        ),
    ],
    names: Annotated[
        Texts, Argument(metavar="NAME", help="Quantities or patterns: crank.phi '*.omega' reaction:O.x")
    ] = None,
    against: Annotated[str, Option(metavar="NAME", help="Quantity along the horizontal axis.")] = "t",
    output: Annotated[Path | None, output_option("Picture, .png, .svg or .pdf.  [default: FILE.png]")] = None,
    open_: Open = False,
    show_names: Annotated[bool, Option("--names", help="List the quantities of the file with their units.")] = False,
    units: Units = None,
    others: With = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Plot quantities of a result over time or over each other.

    Without names: angles, positions, their velocities, energy and errors.
    """
    from linkwork.studies.table import is_study, load_study
    from linkwork.trajectory import Trajectory
    from linkwork.view.plot import save
    from linkwork.view.report import as_json, within_terminal

    if is_study(file):
        from linkwork.view.studies import plot_study

        if against != "t" or others or units or show_names:
            raise UsageError("a sweep is plotted over what it varies; leave out all options but -o", "no-effect")
        picture = output or file.with_suffix(".png")
        save(plot_study(load_study(file), names or ()), picture)
        print(as_json({"files": [str(picture)]}) if json else f"written  {picture}")
        return
    motion = Trajectory.load(file)
    if shown := named_units(units):
        motion = motion.shown_in(*shown)
    if show_names:
        known = [(name, motion.shown.unit(name)) for name in motion]
        print(as_json({"quantities": dict(known)}) if json else within_terminal(known))
        return
    picture = output or file.with_suffix(".png")
    if others:
        from linkwork.view.beside import remarks

        compared = _plot_beside(motion, names or (), against, tables_of(others, column), picture)
        data = {"files": [str(picture)], "beside": compared.as_dict()}
        print(as_json(data) if json else "\n".join([*remarks(compared), f"written  {picture}"]))
    else:
        save(motion.plot(*(names or ()), against=against), picture)
        print(as_json({"files": [str(picture)]}) if json else f"written  {picture}")
    if open_:
        open_files([picture])


def _plot_beside(
    motion: Trajectory,
    names: Sequence[str],
    against: str,
    others: tuple[Sequence[Table], Mapping[str, str]],
    picture: Path,
) -> Beside:
    """Return curves over those of tables, and the differences; of all columns, or of these quantities."""
    from linkwork.comparison.beside import beside
    from linkwork.view.beside import figure
    from linkwork.view.plot import save

    if against != "t":
        raise UsageError("--against has no effect with --with: tables are compared over time", "no-effect")
    compared = beside(motion, *others)
    if names:
        wanted = set(motion.names(*names))
        chosen = tuple(d for d in compared.differences if d.quantity in wanted)
        if not chosen:
            raise UsageError(f"the tables have no column of {quoted(names)}", "no-columns")
        compared = replace(compared, differences=chosen)
    save(figure(compared), picture)
    return compared


@command(
    "linkwork view four_bar --open",
    "linkwork view motion.nc --units deg,mm -o page.html",
    "linkwork view slider_crank four_bar",
    "linkwork view four_bar --live -o four_bar.html",
)
def view(
    sources: Sources,
    set_: Set = None,
    assemble: Assemble = False,
    t_end: TEnd = None,
    output: Annotated[Path | None, output_option("Page, .html.  [default: NAME.html]")] = None,
    open_: Open = False,
    units: Units = None,
    close: Close = None,
    limits: Limits = None,
    live: Annotated[
        bool, Option("--live", help="Let the page of one model simulate: change it there, pull at it.")
    ] = False,
    json: Json = False,
) -> None:
    """Write a page that shows mechanisms moving, with plots.

    Several models or results are shown side by side. A model is simulated first, or moved by its drivers if they
    drive all its freedoms. With --live the page holds the simulator as well, and needs nothing else to run it.
    """
    from linkwork.view.page import check_built, write

    check_built()
    (file,) = writable([output or Path(stem(sources[0]) + ".html")], (".html",))
    robot = Robot(close or (), limits)
    motions, end = moved(sources, set_, t_end, assemble, named_units(units), robot)
    names = [motion.name for motion in motions]
    # results of one model go by their files
    labels = names if len(set(names)) == len(names) else [Path(source).name for source in sources]
    write(motions, file, labels, _live(sources, set_, t_end, assemble, robot) if live else None)
    _written(file, json, end)
    if open_:
        open_files([file])


def _live(
    sources: Sequence[str], set_: Sequence[str] | None, t_end: float | None, assemble: bool, robot: Robot
) -> Program | None:
    """Return the program of the one model, or nothing where it needs Python, which is said."""
    from linkwork.resultfile import SUFFIXES
    from linkwork.start.check import is_driven
    from linkwork.web.program import program

    if len(sources) > 1 or sources[0].lower().endswith(SUFFIXES):
        raise UsageError("--live is for the page of one model", "no-effect")
    (source,) = sources
    model = started(source, set_, None, None, assemble=assemble, robot=robot)
    try:
        with located(source):
            return program(replace(model, simulation=model.simulation.changed(t_end)), is_driven(model), hands=True)
    except UsageError as refused:
        if refused.code != "no-wasm":
            raise
        print(f"note  the page computes no other motions: {refused.message}", file=sys.stderr)
        return None


@command("linkwork animate four_bar", "linkwork animate slider_crank --film 6 -o strip.png --open")
def animate(
    source: Source,
    set_: Set = None,
    assemble: Assemble = False,
    t_end: TEnd = None,
    film: Annotated[
        int | None, Option(metavar="N", help="Write a strip of N pictures instead, .png, .svg or .pdf.")
    ] = None,
    speed: Annotated[float | None, Option(metavar="NUMBER", help="Seconds of motion per second of film.")] = None,
    output: Annotated[Path | None, output_option("Film, .gif or .mp4.  [default: NAME.gif]")] = None,
    open_: Open = False,
    json: Json = False,
) -> None:
    """Write a film or a strip of pictures of a mechanism."""
    from linkwork.view.picture import FILMS, check_film, strip, write_film
    from linkwork.view.plot import SUFFIXES, save

    usual = stem(source) + (".gif" if film is None else ".png")
    (file,) = writable([output or Path(usual)], FILMS if film is None else SUFFIXES)
    check_film(file, film, speed)
    (motion,), end = moved([source], set_, t_end, assemble)
    if film is None:
        write_film(motion, file, speed)
    else:
        save(strip(motion, film), file)
    _written(file, json, end)
    if open_:
        open_files([file])


@command(
    "linkwork report slider_crank --open",
    "linkwork report four_bar --compare augmented,qr --units deg,mm -o four_bar.html",
    "linkwork report four_bar --live -o four_bar.html",
)
def report(
    model: ModelArgument,
    set_: Set = None,
    assemble: Assemble = False,
    t_end: TEnd = None,
    formulations: Annotated[
        str | None, Option("--compare", metavar="all|NAME,...", help="Compare formulations as well")
    ] = None,
    output: Annotated[Path | None, output_option("Page, .html.  [default: NAME-report.html]")] = None,
    open_: Open = False,
    units: Units = None,
    live: Annotated[bool, Option("--live", help="Let a part of the report simulate: change it there.")] = False,
    json: Json = False,
) -> None:
    """Write a report on a model, one page to read or print.

    It shows picture, data, motion, loads, accuracy and equations.
    """
    from linkwork.comparison.compare import compare
    from linkwork.files import write_text
    from linkwork.lecture.explain import explain
    from linkwork.start.check import check
    from linkwork.view.dossier import html, worth_writing
    from linkwork.view.page import check_built
    from linkwork.view.report import progress

    if live:
        check_built()
    (file,) = writable([output or Path(stem(model) + "-report.html")], (".html",))
    mechanism = started(model, set_, None, None, assemble=assemble)
    with located(model):
        checked = check(mechanism)
    (motion,), end = moved([model], set_, t_end, assemble, named_units(units))
    if motion.info.analysis == "kinematics" and mechanism.actuators and len(mechanism.acting) == len(mechanism.forces):
        from linkwork.driven.inverse import inverse

        motion = inverse(mechanism, motion=motion)
    sheet = explain(mechanism) if worth_writing(checked) else None
    comparison = None
    if formulations is not None:
        with progress(mechanism.name) as step:
            comparison = compare(mechanism, formulations=named(formulations), t_end=t_end, progress=step)
    options = (
        [f"--set {text}" for text in set_ or ()]
        + ["--assemble"] * assemble
        + ([] if t_end is None else [f"--t-end {t_end:g}"])
        + ([] if units is None else [f"--units {units}"])
        + ["--live"] * live
    )
    command = " ".join(["linkwork report", model, *options])
    made = _live([model], set_, t_end, assemble, Robot((), None)) if live else None
    write_text(file, html(mechanism, checked, motion, sheet, comparison, command, made))
    _written(file, json, end)
    if open_:
        open_files([file])


def _written(file: Path, json: bool, end: Unfinished | None) -> None:
    """Say which file was written; an analysis that ended early is then the error."""
    from linkwork.view.report import as_json

    if end is not None:
        end.attached["files"] = [str(file)]
        raise end
    print(as_json({"files": [str(file)]}) if json else f"written  {file}")
