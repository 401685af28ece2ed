"""The command line: short functions over the library.

Whatever is heavy is imported by the command that needs it, so that `linkwork --help` answers at once.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast

import typer
from typer import Argument, Option
from typer.core import TyperCommand

from linkwork.errors import InternalError, Interrupted, LinkworkError, ModelError, NumericalStop, Unfinished, UsageError

if TYPE_CHECKING:
    from linkwork.model import Model
    from linkwork.trajectory import Trajectory

# All errors of parsing have this base; typer exports only this one of them.
ParsingError = cast(type[Exception], typer.BadParameter.__base__)

app = typer.Typer(
    help="Multibody dynamics of mechanisms. MODEL is a file, or the name of a mechanism that `linkwork list` shows.",
    epilog="Exit codes: 0 done, 2 usage, 3 model error, 4 numerical stop, 70 a fault of linkwork, 130 interrupted.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class WithChoices(TyperCommand):
    """A command whose help names the choices and defaults of `simulate`, looked up only when it is shown."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from inspect import signature

        from linkwork.equations.coordinates import COORDINATES
        from linkwork.formulations import NAMES
        from linkwork.integrators.explicit import INTEGRATORS
        from linkwork.lecture.explain import METHODS
        from linkwork.motion.simulate import STABILIZATIONS, simulate

        choices = {
            "coordinates": COORDINATES,
            "formulation": METHODS if ctx.info_name == "explain" else NAMES,
            "formulations": NAMES,
            "stabilization": STABILIZATIONS,
            "integrator": INTEGRATORS,
        }
        defaults = {p.name: p.default for p in signature(simulate).parameters.values() if p.kind is p.KEYWORD_ONLY}
        for option in cast(Any, self.params):
            if option.name in choices:
                option.help += f": {', '.join(choices[option.name])}"
            if option.default is None and defaults.get(option.name) is not None:
                option.help += f"  [default: {defaults[option.name]}]"
        super().format_help(ctx, formatter)


Texts: TypeAlias = list[str] | None
Files: TypeAlias = list[Path] | None


def _output(text: str) -> Any:
    return Option("--output", "-o", metavar="FILE", help=text)


ModelArgument = Annotated[str, Argument(metavar="MODEL", help="A model file or the name of a mechanism.")]
Set = Annotated[Texts, Option("--set", metavar="NAME=VALUE", help="Another value of a parameter; repeatable.")]
Weights = Annotated[str, Option(help="How corrections of the start values are weighted: mass, unit")]
Assemble = Annotated[bool, Option("--assemble", help="Close the joints however far they are open at the start.")]
Coordinates = Annotated[str | None, Option(help="In which coordinates; those of the model unless given")]
Cut = Annotated[Texts, Option(metavar="JOINT", help="A joint that closes a loop in joint coordinates; repeatable.")]
Mode = Annotated[int | None, Option(metavar="K", help="Start in assembly mode K, as `assemble --all` counts them.")]
Keep = Annotated[
    Texts, Option(metavar="NAME", help="A coordinate, such as crank.phi, that keeps its start value; repeatable.")
]
TEnd = Annotated[float | None, Option(help="End of the motion, s")]
Step = Annotated[float | None, Option(help="Time between report times, s")]
Rtol = Annotated[float | None, Option(help="Relative tolerance")]
Atol = Annotated[float | None, Option(help="Absolute tolerance")]
MaxStep = Annotated[
    float | None, Option(help="Longest step, s; by default 8 report steps where forces switch on the state")
]
Stabilization = Annotated[str | None, Option(help="What keeps the constraints")]
Integrator = Annotated[str | None, Option(help="Method of integration")]
Motions = Annotated[Files, _output("Write .nc, .csv, .html, .png, .svg or .pdf; repeatable.")]
Json = Annotated[bool, Option("--json", help="Print one JSON object and nothing else.")]


def _version(wanted: bool) -> None:
    if wanted:
        from linkwork import __version__

        print(f"linkwork {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def linkwork(
    context: typer.Context,
    version: Annotated[bool, Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("list")
def list_mechanisms(json: Json = False) -> None:
    """Show the shipped mechanisms: sources and a number each has to reproduce."""
    from linkwork.modelfile import load, shipped
    from linkwork.view.report import aligned, as_json, mechanism_lines

    found = [
        {"name": name, "space": model.space, "source": model.about.source, "checked": model.about.checked or None}
        for name, model in ((name, load(name)) for name in shipped())
    ]
    print(as_json({"mechanisms": found}) if json else aligned(mechanism_lines(found)))


@app.command(cls=WithChoices)
def check(
    model: ModelArgument,
    set_: Set = None,
    weights: Weights = "mass",
    assemble: Assemble = False,
    mode: Mode = None,
    keep: Keep = None,
    coordinates: Coordinates = None,
    cut: Cut = None,
    json: Json = False,
) -> None:
    """Check a model: counts, freedoms, redundant rows, reactions, start values."""
    from linkwork.motion.check import check
    from linkwork.view.report import aligned, as_json, check_lines, progress

    with located(model), progress(Path(model).name):
        how = {"weights": _weights(weights), "assemble": assemble, "keep": keep or ()}
        report = check(started(model, set_, mode, keep), **how, coordinates=coordinates, cut=cut)
    print(as_json(report.as_dict()) if json else aligned(check_lines(report)))


@app.command(cls=WithChoices)
def assemble(
    model: ModelArgument,
    set_: Set = None,
    keep: Keep = None,
    weights: Weights = "mass",
    coordinates: Coordinates = None,
    cut: Cut = None,
    all_modes: Annotated[bool, Option("--all", help="Find every position in which the joints close.")] = False,
    sliced: Annotated[
        bool,
        Option("--slice", help="With --all, cut freedoms by random linear equations instead of keeping coordinates."),
    ] = False,
    output: Annotated[Files, _output("Write the model, .yaml or .json; with --all, an .html.")] = None,
    force: Annotated[bool, Option("--force", help="Let -o replace the model itself.")] = False,
    json: Json = False,
) -> None:
    """Close the joints of a rough sketch; with --all, find all positions in which they close.

    With --all, freedoms that neither drivers nor --keep take are taken by keeping coordinates: angles, if possible.
    """
    from linkwork.modelfile import build, find
    from linkwork.view.report import aligned, as_json

    document, changes = find(model), overrides(set_)
    mechanism = build(document, changes)
    if sliced and not all_modes:
        raise UsageError("--slice goes with --all", "usage")
    if all_modes:
        from linkwork.assembly.modes import free_coordinates, modes
        from linkwork.files import write_text
        from linkwork.view.modes import html
        from linkwork.view.report import mode_lines, progress

        files = writable(output or (), (".html",))
        with progress(mechanism.name) as moved:
            kept = tuple(keep or ()) if sliced else free_coordinates(mechanism, keep or ())
            found = modes(mechanism, kept, progress=moved)
        for file in files:
            write_text(file, html(found, mechanism))
        data, lines = found.as_dict(), mode_lines(found)
    else:
        from linkwork.assembly.assemble import assemble
        from linkwork.document import save
        from linkwork.modelfile import SUFFIXES, with_start
        from linkwork.view.report import assembly_lines

        for file in output or ():
            if not force and file.exists() and Path(document.file).exists() and file.samefile(document.file):
                message = f"'{file}' is the model itself; with --force its start values are replaced"
                raise UsageError(message, "output-is-model")
        files = writable(output or (), SUFFIXES)
        with located(model):
            assembly = assemble(mechanism, keep or (), _weights(weights), coordinates, cut)
        for file in files:
            save(with_start(document, mechanism.with_start(assembly.q, assembly.v), changes).data, file)
        data, lines = assembly.as_dict(), assembly_lines(assembly)
    if json:
        print(as_json({**data, "files": [str(file) for file in files]}))
    else:
        print(aligned([*lines, *(("written", str(file)) for file in files)]))


@app.command(cls=WithChoices)
def kinematics(
    model: ModelArgument,
    set_: Set = None,
    t_end: TEnd = None,
    step: Step = None,
    assemble: Assemble = False,
    mode: Mode = None,
    keep: Keep = None,
    coordinates: Coordinates = None,
    cut: Cut = None,
    coupler: Annotated[Texts, Option(metavar="BODY.POINT", help="Show the path of a point; repeatable.")] = None,
    table: Annotated[
        tuple[str, str] | None, Option(metavar="INPUT OUTPUT", help="Show a coordinate over another one.")
    ] = None,
    dead_centres: Annotated[
        Texts, Option(metavar="NAME", help="Show where a coordinate turns back; repeatable.")
    ] = None,
    transmission: Annotated[
        tuple[str, str, str, str] | None,
        Option(metavar="P Q R S", help="Show the angle between the lines through two pairs of points."),
    ] = None,
    output: Motions = None,
    json: Json = False,
) -> None:
    """Move a mechanism as its drivers prescribe, with driving forces and reactions."""
    from linkwork.motion.kinematics import kinematics
    from linkwork.motion.linkages import readings
    from linkwork.view.report import reading_lines

    if keep and mode is None:
        raise UsageError("--keep goes with --mode here: drivers prescribe all that moves", "usage")
    files = motion_files(output)
    mechanism = started(model, set_, mode, keep)
    with located(model):
        analysis = partial(kinematics, coordinates=coordinates, cut=cut, t_end=t_end, step=step, assemble=assemble)
        motion = followed(mechanism, analysis, files, coupler[0] if coupler else None)
    found = readings(motion, coupler or (), table, dead_centres or (), transmission)
    show(motion, files, json, {"readings": found} if found else {}, reading_lines(found))


@app.command(cls=WithChoices)
def run(
    model: ModelArgument,
    set_: Set = None,
    coordinates: Coordinates = None,
    cut: Cut = None,
    t_end: TEnd = None,
    step: Step = None,
    rtol: Rtol = None,
    atol: Atol = None,
    formulation: Annotated[str | None, Option(help="How accelerations are found")] = None,
    stabilization: Stabilization = None,
    alpha: Annotated[float | None, Option(help="Baumgarte's gain of velocity errors, 1/s")] = None,
    beta: Annotated[float | None, Option(help="Baumgarte's gain of position errors, 1/s")] = None,
    integrator: Integrator = None,
    max_steps: Annotated[int | None, Option(metavar="N", help="How many steps may be tried")] = None,
    max_step: MaxStep = None,
    weights: Weights = "mass",
    assemble: Assemble = False,
    mode: Mode = None,
    keep: Keep = None,
    resume: Annotated[
        Path | None, Option(metavar="FILE", help="Go on with a motion that ended early; it is written back.")
    ] = None,
    output: Motions = None,
    json: Json = False,
) -> None:
    """Simulate a model. End, step and tolerances are those of the model unless given."""
    from linkwork.motion.simulate import simulate

    settings = _given(t_end=t_end, step=step, rtol=rtol, atol=atol, max_steps=max_steps, max_step=max_step)
    settings |= _given(coordinates=coordinates, cut=cut)
    methods = _given(
        formulation=formulation, stabilization=stabilization, integrator=integrator, alpha=alpha, beta=beta
    )
    files = motion_files(output or ([resume] if resume else None))
    if resume is not None:
        from linkwork.trajectory import Trajectory

        settings["resume"] = Trajectory.load(resume)
    mechanism = started(model, set_, mode, keep)
    how = {"weights": _weights(weights), "assemble": assemble, "keep": keep or ()}
    with located(model):
        motion = followed(mechanism, partial(simulate, **settings, **methods, **how), files)
    show(motion, files, json)


@app.command()
def plot(
    file: Annotated[Path, Argument(metavar="FILE", help="A trajectory, .nc or .csv")],
    names: Annotated[
        Texts, Argument(metavar="[NAME]...", help="Quantities or patterns, such as crank.phi '*.omega' reaction:O.x")
    ] = None,
    against: Annotated[str, Option(metavar="NAME", help="The quantity along the horizontal axis")] = "t",
    output: Annotated[Path | None, _output("A .png, .svg or .pdf (default FILE.png)")] = None,
    show_names: Annotated[bool, Option("--names", help="List the quantities of the file and their units.")] = False,
    json: Json = False,
) -> None:
    """Draw a trajectory: quantities over time or over each other. Without names, the most important ones."""
    from linkwork.trajectory import Trajectory
    from linkwork.view.plot import save
    from linkwork.view.report import aligned, as_json

    motion = Trajectory.load(file)
    if show_names:
        units = [(name, quantity.unit) for name, quantity in motion.quantities.items()]
        print(as_json({"quantities": dict(units)}) if json else aligned(units))
        return
    picture = output or file.with_suffix(".png")
    save(motion.plot(*(names or ()), against=against), picture)
    print(as_json({"files": [str(picture)]}) if json else f"written  {picture}")


@app.command(cls=WithChoices)
def compare(
    model: ModelArgument,
    formulations: Annotated[str, Option(metavar="all|NAME,...", help="Which to compare")] = "all",
    set_: Set = None,
    coordinates: Annotated[str | None, Option(metavar="NAME,...", help="In which to run it")] = None,
    integrator: Integrator = None,
    stabilization: Stabilization = None,
    t_end: TEnd = None,
    rtol: Rtol = None,
    atol: Atol = None,
    max_step: MaxStep = None,
    output: Annotated[Files, _output("Write a report, .html or .md; repeatable.")] = None,
    csv: Annotated[bool, Option("--csv", help="Print the rows as CSV and nothing else.")] = False,
    json: Json = False,
) -> None:
    """Run a model by all formulations and compare cost and accuracy. Settings are those of the model unless given."""
    from linkwork.comparison.compare import compare
    from linkwork.modelfile import load
    from linkwork.view.comparison import SUFFIXES, as_csv, as_text, write
    from linkwork.view.report import as_json, progress

    if csv and json:
        raise UsageError("--csv and --json exclude each other", "usage")
    given = _given(integrator=integrator, stabilization=stabilization, t_end=t_end, rtol=rtol, atol=atol)
    given |= _given(max_step=max_step)
    files = writable(output or (), SUFFIXES)
    mechanism = load(model, overrides(set_))
    with located(model), progress(mechanism.name) as moved:
        comparison = compare(
            mechanism,
            formulations=_names(formulations),
            coordinates=None if coordinates is None else _names(coordinates),
            **given,
            progress=moved,
        )
    written = [part for file in files for part in write(comparison, file)]
    if json or csv:
        print(as_json(comparison.as_dict()) if json else as_csv(comparison).rstrip())
    else:
        print("\n".join([as_text(comparison), *(f"written  {file}" for file in written)]))
    if all(row.status != "ok" for row in comparison.rows):
        raise typer.Exit(NumericalStop.exit_code)


@app.command(cls=WithChoices)
def explain(
    model: ModelArgument,
    set_: Set = None,
    formulation: Annotated[str, Option(help="Which to work out")] = "augmented",
    coordinates: Coordinates = None,
    cut: Cut = None,
    at: Annotated[float, Option(metavar="T", help="Time at which the mechanism is looked at, s")] = 0.0,
    output: Annotated[Files, _output("Write .md, .html, .tex or .txt instead; repeatable.")] = None,
    json: Json = False,
) -> None:
    """Work out a formulation on a model step by step, in symbols and numbers."""
    from linkwork.lecture.explain import explain
    from linkwork.modelfile import load
    from linkwork.view.report import as_json, progress
    from linkwork.view.worked import FORMATS, as_dict, save, text

    files = writable(output or (), tuple(FORMATS))
    mechanism = load(model, overrides(set_))
    with located(model), progress(mechanism.name) as moved:
        sheet = explain(mechanism, formulation, at, moved, coordinates, cut)
    for file in files:
        save(sheet, file)
    if json:
        print(as_json({**as_dict(sheet), "files": [str(file) for file in files]}))
    else:
        print("\n".join(f"written  {file}" for file in files) if files else text(sheet).rstrip())


@app.command()
def schema(json: Json = False) -> None:
    """Print the JSON Schema of model files; it is one JSON object anyway."""
    from linkwork.modelfile import json_schema
    from linkwork.view.report import as_json

    print(as_json(json_schema()))


Sources = Annotated[list[str], Argument(metavar="MODEL|RESULT...", help="Models, or trajectories .nc, .csv")]
Source = Annotated[str, Argument(metavar="MODEL|RESULT", help="A model, or a trajectory .nc, .csv")]


@app.command()
def view(
    sources: Sources,
    set_: Set = None,
    t_end: TEnd = None,
    output: Annotated[Path | None, _output("An .html (default NAME.html)")] = None,
    open_: Annotated[bool, Option("--open", help="Open the page in the browser.")] = False,
    json: Json = False,
) -> None:
    """Write a page that shows mechanisms moving, with plots; several results stand side by side.

    A model is simulated first, or moved by its drivers if they take all its freedoms.
    """
    from linkwork.view.page import check_built, write

    check_built()
    (file,) = writable([output or Path(_stem(sources[0]) + ".html")], (".html",))
    motions, end = moved(sources, set_, t_end)
    names = [motion.name for motion in motions]
    # results of one model go by their files
    write(motions, file, names if len(set(names)) == len(names) else [Path(source).name for source in sources])
    _written(file, json, end)
    if open_:
        import webbrowser

        webbrowser.open(file.resolve().as_uri())


@app.command()
def animate(
    source: Source,
    set_: Set = None,
    t_end: TEnd = None,
    film: Annotated[int | None, Option(metavar="N", help="A strip of N pictures, .png, .svg or .pdf, instead.")] = None,
    speed: Annotated[float | None, Option(help="Seconds of motion per second of film")] = None,
    output: Annotated[Path | None, _output("A .gif or .mp4 (default NAME.gif)")] = None,
    json: Json = False,
) -> None:
    """Write a film of a mechanism, or a strip of pictures, without a browser."""
    from linkwork.view.picture import FILMS, check_film, strip, write_film
    from linkwork.view.plot import SUFFIXES, save

    usual = _stem(source) + (".gif" if film is None else ".png")
    (file,) = writable([output or Path(usual)], FILMS if film is None else SUFFIXES)
    check_film(file, film, speed)
    (motion,), end = moved([source], set_, t_end)
    if film is None:
        write_film(motion, file, speed)
    else:
        save(strip(motion, film), file)
    _written(file, json, end)


@app.command(cls=WithChoices)
def report(
    model: ModelArgument,
    set_: Set = None,
    t_end: TEnd = None,
    formulations: Annotated[
        str | None, Option("--compare", metavar="all|NAME,...", help="Compare formulations too")
    ] = None,
    output: Annotated[Path | None, _output("An .html (default NAME-report.html)")] = None,
    json: Json = False,
) -> None:
    """Write one page about a model, to be read or printed: picture, data, motion, loads, accuracy, equations."""
    from linkwork.comparison.compare import compare
    from linkwork.files import write_text
    from linkwork.lecture.explain import explain
    from linkwork.motion.check import check
    from linkwork.view.dossier import html, worth_writing
    from linkwork.view.report import progress

    (file,) = writable([output or Path(_stem(model) + "-report.html")], (".html",))
    mechanism = started(model, set_, None, None)
    checked = check(mechanism)
    (motion,), end = moved([model], set_, t_end)
    sheet = explain(mechanism) if worth_writing(checked) else None
    comparison = None
    if formulations is not None:
        with progress(mechanism.name) as step:
            comparison = compare(mechanism, formulations=_names(formulations), t_end=t_end, progress=step)
    options = [f"--set {text}" for text in set_ or ()] + ([] if t_end is None else [f"--t-end {t_end:g}"])
    command = " ".join(["linkwork report", model, *options])
    write_text(file, html(mechanism, checked, motion, sheet, comparison, command))
    _written(file, json, end)


def moved(
    sources: Sequence[str], set_: Sequence[str] | None, t_end: float | None
) -> tuple[list[Trajectory], Unfinished | None]:
    """The motions of models and result files; of one that ends early what there is, and why it ended."""
    from linkwork.motion.check import check
    from linkwork.motion.kinematics import kinematics
    from linkwork.motion.simulate import simulate
    from linkwork.resultfile import SUFFIXES
    from linkwork.trajectory import Trajectory

    motions: list[Trajectory] = []
    end: Unfinished | None = None
    for source in sources:
        if source.lower().endswith(SUFFIXES):
            motions.append(Trajectory.load(source))
            continue
        mechanism = started(source, set_, None, None)
        try:
            # drivers that take all freedoms move it, else the forces
            analysis = kinematics if mechanism.drivers and check(mechanism).dof == 0 else simulate
            motions.append(followed(mechanism, partial(analysis, t_end=t_end), ()))
        except Unfinished as early:
            if early.trajectory is None or not len(early.trajectory.t):
                raise
            motions.append(early.trajectory)
            end = early
    return motions, end


def _stem(source: str) -> str:
    return Path(source).stem.replace(":", "_")


def _written(file: Path, json: bool, end: Unfinished | None) -> None:
    """Say which file was written; an analysis that ended early is then the error."""
    from linkwork.view.report import as_json

    if end is not None:
        end.attached["files"] = [str(file)]
        raise end
    print(as_json({"files": [str(file)]}) if json else f"written  {file}")


def overrides(assignments: Sequence[str] | None) -> dict[str, str]:
    """NAME=VALUE texts as a mapping."""
    values = {}
    for text in assignments or ():
        name, equals, value = text.partition("=")
        if not (name.strip() and equals and value.strip()):
            raise UsageError(f"--set {text}: write NAME=VALUE, as in --set l1=0.5", "bad-set")
        if name.strip() in values:
            raise UsageError(f"--set gives '{name.strip()}' two values", "bad-set")
        values[name.strip()] = value.strip()
    return values


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _names(formulations: str) -> list[str] | None:
    return None if formulations == "all" else [name.strip() for name in formulations.split(",")]


def _weights(name: str) -> Any:
    if name not in ("mass", "unit"):
        raise UsageError(f"no weights '{name}'; choose from mass, unit", "unknown-weights")
    return name


def started(model: str, set_: Sequence[str] | None, mode: int | None, keep: Sequence[str] | None) -> Model:
    """The model, in one of its assembly modes if that is asked for."""
    from linkwork.modelfile import load

    mechanism = load(model, overrides(set_))
    if mode is None:
        return mechanism
    from linkwork.assembly.modes import free_coordinates, in_mode

    return in_mode(mechanism, mode, free_coordinates(mechanism, keep or ()))


@contextmanager
def located(model: str) -> Iterator[None]:
    """Faults found while the mechanism is assembled get the file and the line of the joint, driver or body."""
    from linkwork.modelfile import find

    try:
        yield
    except ModelError as error:
        if error.file is not None or error.path is None:
            raise
        raise find(model).locate(error) from None


def motion_files(paths: Sequence[Path] | None) -> list[Path]:
    """Files of trajectories, pages and pictures, which can be written."""
    from linkwork.resultfile import SUFFIXES
    from linkwork.view.page import check_built
    from linkwork.view.plot import SUFFIXES as PICTURES

    files = writable(paths or (), (*SUFFIXES, ".html", *PICTURES))
    if any(file.suffix.lower() == ".html" for file in files):
        check_built()
    return files


def followed(
    mechanism: Model, analysis: Callable[..., Trajectory], files: Sequence[Path], point: str | None = None
) -> Trajectory:
    """The motion by this analysis, written; of one that ends early, what there is. Pictures show a point, or all."""
    from linkwork.view.report import progress

    try:
        with progress(mechanism.name) as moved:
            motion = analysis(mechanism, progress=moved)
    except Unfinished as end:
        if end.trajectory is not None and len(end.trajectory.t):
            write(end.trajectory, files, point)
            end.attached["files"] = [str(file) for file in files]
        raise
    write(motion, files, point)
    return motion


def show(
    motion: Trajectory, files: Sequence[Path], json: bool, data: Any = None, lines: Sequence[tuple[str, str]] = ()
) -> None:
    """Print the summary of a motion, what else is known of it, and the files."""
    from linkwork.view.report import aligned, as_json, summary_lines

    if json:
        print(as_json({**motion.summary(), **(data or {}), "files": [str(file) for file in files]}))
    else:
        print(aligned([*summary_lines(motion), *lines, *(("written", str(file)) for file in files)]))


class _Tried(Exception):
    pass


_locks = ExitStack()  # on the files that the command under way will write


def writable(paths: Iterable[Path], suffixes: Sequence[str]) -> list[Path]:
    """The files to be written, after making sure that they can be: a long run should not end with that error.

    Until the command ends, no other may write them.
    """
    from linkwork.files import locked, whole

    files = list(paths)
    for path in files:
        if path.suffix.lower() not in suffixes:
            known = ", ".join(suffixes)
            raise UsageError(f"cannot write '{path}': the name must end in one of {known}", "unknown-suffix")
        with suppress(_Tried), whole(path):
            raise _Tried
    for path in {path.resolve(): path for path in files}.values():
        _locks.enter_context(locked(path))
    return files


def write(motion: Trajectory, files: Sequence[Path], point: str | None = None) -> None:
    """Write all files that can be written; the first that cannot is the error."""
    from linkwork.resultfile import SUFFIXES
    from linkwork.view.plot import save

    failed: list[LinkworkError] = []
    for path in files:
        try:
            if path.suffix.lower() in SUFFIXES:
                motion.save(path)
            elif path.suffix.lower() == ".html":
                motion.animate(path)
            else:
                save(motion.plot(f"{point}.y", against=f"{point}.x") if point else motion.plot(), path)
        except LinkworkError as error:
            failed.append(error)
    if failed:
        raise failed[0]


def answer(arguments: Sequence[str]) -> int:
    """Carry out a command line and return its exit code; errors become one message, or one JSON object."""
    try:
        code = app(args=list(arguments), prog_name="linkwork", standalone_mode=False)
        if code == 130:
            raise Interrupted("interrupted")
        return code if isinstance(code, int) else 0
    except ParsingError as error:
        fault = cast(Any, error)
        hint = f"; see '{fault.ctx.command_path} --help'" if fault.ctx else ""
        refusal: LinkworkError = UsageError(f"{fault.format_message().rstrip('.')}{hint}", "usage")
    except LinkworkError as error:
        refusal = error
    except MemoryError:
        refusal = UsageError("there is not enough memory; choose a longer step or a smaller model", "out-of-memory")
    except OSError as error:
        if _is_about_output(error):
            raise
        refusal = InternalError.of(error)
    except Exception as error:  # noqa: BLE001 - behind this there is nobody but the user, whom no traceback helps
        refusal = InternalError.of(error)
    finally:
        _locks.close()
    from linkwork.view.report import as_json, error_data, error_text, printable

    if "--json" in arguments:
        print(as_json(error_data(refusal)))
    else:
        print(f"linkwork: {printable(error_text(refusal))}", file=sys.stderr)
    return refusal.exit_code


def _is_about_output(error: OSError) -> bool:
    """Whether writing to standard output failed: files have names, and libraries that write them no numbers."""
    return error.filename is None and error.errno is not None


def _terminated(*_: object) -> None:
    raise KeyboardInterrupt


def _raise_again(swallowed: Any) -> None:
    """An interruption that came inside a callback, where Python ignores exceptions, comes again a moment later."""
    if swallowed.exc_type is KeyboardInterrupt:
        main_thread = threading.main_thread().ident
        threading.Timer(0.02, signal.pthread_kill, (main_thread, signal.SIGTERM)).start()
    else:
        sys.__unraisablehook__(swallowed)


def main() -> None:
    signal.signal(signal.SIGTERM, _terminated)
    if hasattr(signal, "pthread_kill"):  # Windows has none
        sys.unraisablehook = _raise_again
    # What is not finite is looked for where it matters.
    warnings.filterwarnings("ignore", category=RuntimeWarning)
    closed = sys.stdout is None
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # else the next file that is opened would take its place
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    if closed:
        print("linkwork: cannot write the answer: standard output is closed [output-failed]", file=sys.stderr)
        sys.exit(UsageError.exit_code)
    for stream in (sys.stdout, sys.stderr):
        # A terminal of another encoding shows a name wrongly rather than not at all.
        cast(Any, stream).reconfigure(errors="backslashreplace")
    try:
        code = answer(sys.argv[1:])
        sys.stdout.flush()
    except OSError as error:
        print(f"linkwork: cannot write the answer: {error.strerror} [output-failed]", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would try again when it ends
        code = UsageError.exit_code
    if code == Interrupted.exit_code:
        # A compiler may still be at work in a thread, and must not meet the end of the interpreter.
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
