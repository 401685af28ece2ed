"""Commands that analyse a model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer import Argument, Option

from linkwork.cli import completion
from linkwork.cli.app import (
    METHOD,
    OTHERS,
    START,
    Assemble,
    Atol,
    Close,
    Column,
    Coordinates,
    Cut,
    Files,
    Formulation,
    Input,
    Integrator,
    Json,
    Keep,
    Limits,
    MaxStep,
    MaxSteps,
    Mode,
    ModelArgument,
    Motions,
    Open,
    RankTolerance,
    Rate,
    Repair,
    Rtol,
    Set,
    Stabilization,
    Start,
    Step,
    TEnd,
    Texts,
    Units,
    Weights,
    With,
    command,
    output_option,
    time_option,
)
from linkwork.cli.motions import (
    Robot,
    followed,
    given,
    located,
    motion_files,
    named,
    named_units,
    open_files,
    overrides,
    placed,
    run_files,
    show,
    spans,
    started,
    stem,
    tables_of,
    tell,
    to_open,
    within,
    writable,
)
from linkwork.errors import ModelError, NumericalStop, UsageError, check_choice

if TYPE_CHECKING:
    from linkwork.model import Model


@command("linkwork list", "linkwork list four_bar slider_crank", name="list")
def list_mechanisms(
    names: Annotated[
        Texts,
        Argument(
            metavar="NAME",
            help="Mechanisms to show with source and number.",
            autocompletion=completion.complete_mechanism,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the shipped mechanisms. With names, show their sources and the number that each is checked against."""
    from linkwork.mechanisms import describe, shipped
    from linkwork.view.report import as_json, mechanism_lines, source_lines, within_terminal

    for name in names or ():
        check_choice("mechanism", name, shipped())
    found = [describe(name) for name in names or shipped()]
    if json:
        print(as_json({"mechanisms": found}))
    else:
        lines = [line for entry in found for line in source_lines(entry)] if names else mechanism_lines(found)
        print(within_terminal(lines))


@command(
    "linkwork check four_bar",
    "linkwork check slider_crank --start O=30deg --set l2=60cm --assemble",
    "linkwork check robot.urdf --close hand=bar:spherical",
    "linkwork check double_pendulum -o freedoms.html",
)
def check(
    model: ModelArgument,
    set_: Set = None,
    assemble: Assemble = False,
    output: Annotated[Path | None, output_option("Page that moves each freedom a little, .html.")] = None,
    open_: Open = False,
    start: Start = None,
    rate: Rate = None,
    mode: Mode = None,
    keep: Keep = None,
    weights: Weights = None,
    repair: Repair = None,
    coordinates: Coordinates = None,
    cut: Cut = None,
    close: Close = None,
    limits: Limits = None,
    json: Json = False,
) -> None:
    """Check a model: freedoms, redundancy, start values.

    Prints the counts, what is free to move, dependent constraint rows with the reactions that are then not unique,
    and how far the start values miss the joints. Of a folder of DAP_JC it also compares the matrices that its user
    wrote with those that follow from the joints, and names the entries that differ.
    """
    from linkwork.start.check import check
    from linkwork.view.report import as_json, check_lines, progress, within_terminal

    pages = writable(to_open([output] if output else [], open_, f"{stem(model)}-freedoms.html"), (".html",))
    formulas: Any = []
    if Path(model).is_dir():
        from linkwork.formats import compare_formulas

        formulas = compare_formulas(Path(model))
    with located(model), progress(Path(model).name):
        how: dict[str, Any] = {"weights": weights or "mass", "assemble": assemble, "keep": keep or ()}
        robot = Robot(close or (), limits)
        mechanism = started(model, set_, mode, keep, repair, start, rate, cut, correct=weights is None, robot=robot)
        report = check(mechanism, **how, coordinates=within(coordinates, cut))
    lines = [*check_lines(report), *(("formulas", str(found)) for found in formulas)]
    compared = {"formulas": [found.as_dict() for found in formulas]} if formulas else {}
    print(as_json({**report.as_dict(), **compared}) if json else within_terminal(lines))
    for page in pages:
        from linkwork.analyses.mode_motion import wiggle
        from linkwork.view.page import write

        with located(model):
            write([wiggle(mechanism, **how)], page)
        if not json:
            print(f"written  {page}")
    if open_:
        open_files(pages)
    if any(found.differing or found.is_wrong for found in formulas):
        raise typer.Exit(ModelError.exit_code)


@command(
    "linkwork assemble four_bar -o closed.yaml",
    "linkwork assemble four_bar --all --open",
    "linkwork assemble four_bar --keep crank.phi --all --json",
)
def assemble(
    model: ModelArgument,
    set_: Set = None,
    start: Start = None,
    rate: Rate = None,
    keep: Keep = None,
    weights: Weights = None,
    coordinates: Coordinates = None,
    cut: Cut = None,
    all_modes: Annotated[bool, Option("--all", help="Find all assembly modes.")] = False,
    sliced: Annotated[
        bool,
        Option("--slice", help="With --all: fix freedoms by random linear equations instead of coordinates."),
    ] = False,
    of_components: Annotated[
        bool,
        Option("--components", help="Find curves and surfaces of positions: dimension, degree, what holds on each."),
    ] = False,
    output: Annotated[
        Files, output_option("Write the assembled model, .yaml or .json; with --all, a page, .html.")
    ] = None,
    open_: Open = False,
    force: Annotated[bool, Option("--force", help="Allow -o to overwrite the model file.")] = False,
    json: Json = False,
) -> None:
    """Close the joints of a sketch, in one way or in all.

    --all finds all ways to close, --components the curves and surfaces among them. With --all, freedoms that are
    neither driven nor fixed by --keep are fixed by keeping further coordinates at their start values, angles first.
    """
    from linkwork.modelfile import build, find

    document, changes = find(model, correct=weights is None), overrides(set_)
    with located(model):
        mechanism = placed(build(document, changes), start, rate, cut)
    for option, is_given in (("--slice", sliced), ("--open", open_)):
        if is_given and not all_modes:
            raise UsageError(f"{option} goes with --all", "usage")
    if of_components:
        from linkwork.assembly.components import components
        from linkwork.view.report import component_lines

        with located(model):
            found = components(mechanism, keep or ())
        return tell(found.as_dict(), component_lines(found), (), json)
    if all_modes:
        for option, was_given in (("--coordinates", coordinates), ("--cut", cut), ("--weights", weights is not None)):
            if was_given:
                message = f"{option} has no effect with --all, which looks for all positions of the bodies"
                raise UsageError(message, "no-effect")
        with located(model):
            pages = to_open(output, open_, f"{stem(model)}-modes.html")
            find_modes(mechanism, tuple(keep or ()), sliced, pages, json)
        if open_:
            open_files(pages)
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
            assembly = assemble(mechanism, keep or (), cast(Any, weights or "mass"), within(coordinates, cut))
        for file in files:
            save(with_start(document, mechanism.with_start(assembly.q, assembly.v), changes).data, file)
        tell(assembly.as_dict(), assembly_lines(assembly), files, json)


def find_modes(mechanism: Model, keep: tuple[str, ...], sliced: bool, output: Sequence[Path], json: bool) -> None:
    """Find all positions in which the joints close, for the values of `keep`; other coordinates stay unless sliced."""
    from linkwork.assembly.modes import free_coordinates, modes
    from linkwork.files import write_text
    from linkwork.view.modes import html
    from linkwork.view.report import mode_lines, progress

    files = writable(output, (".html",))
    if files and not mechanism.bodies:
        raise UsageError(f"'{mechanism.name}' has no bodies to be drawn; --json has all positions", "no-bodies")
    with progress(mechanism.name) as moved:
        found = modes(mechanism, keep if sliced else free_coordinates(mechanism, keep), progress=moved)
    for file in files:
        write_text(file, html(found, mechanism))
    tell(found.as_dict(), mode_lines(found), files, json)


@command(
    "linkwork kinematics four_bar_grashof -o motion.nc",
    "linkwork kinematics four_bar_grashof --coupler coupler.P --dead-centres follower.phi --units deg,mm",
    "linkwork kinematics quick_return --open",
)
def kinematics(
    model: ModelArgument,
    set_: Set = None,
    t_end: TEnd = None,
    step: Step = None,
    assemble: Assemble = False,
    coupler: Annotated[Texts, Option(metavar="BODY.POINT", help="Show the path of a point; repeatable.")] = None,
    table: Annotated[
        tuple[str, str] | None, Option(metavar="INPUT OUTPUT", help="Tabulate one coordinate over another.")
    ] = None,
    dead_centres: Annotated[Texts, Option(metavar="NAME", help="Show where a coordinate reverses; repeatable.")] = None,
    transmission: Annotated[
        tuple[str, str, str, str] | None,
        Option(metavar="P Q R S", help="Show the angle between the lines PQ and RS."),
    ] = None,
    output: Motions = None,
    open_: Open = False,
    units: Units = None,
    mode: Mode = None,
    keep: Keep = None,
    coordinates: Coordinates = None,
    cut: Cut = None,
    max_steps: MaxSteps = None,
    others: With = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Move a mechanism as its drivers prescribe.

    Solves positions, velocities and accelerations from the constraints, then reactions and driving forces. Every
    freedom needs a driver.
    """
    from linkwork.driven.kinematics import kinematics
    from linkwork.driven.linkages import readings
    from linkwork.view.report import reading_lines

    if keep and mode is None:
        raise UsageError("--keep goes with --mode here: drivers prescribe all that moves", "usage")
    files = motion_files(to_open(output, open_, f"{stem(model)}.html"))
    tables, columns = tables_of(others, column)
    mechanism = started(model, set_, mode, keep)
    with located(model):
        times = spans(tables, t_end, step)
        analysis = partial(kinematics, coordinates=within(coordinates, cut), assemble=assemble, **times)
        motion = followed(mechanism, analysis, files, coupler[0] if coupler else None, units=named_units(units))
    shown: Any = motion.shown  # which has what these need of a motion
    found = readings(shown, coupler or (), table, dead_centres or (), transmission)
    data = {"readings": found} if found else {}
    if tables:
        from linkwork.comparison.beside import beside
        from linkwork.view.beside import write

        compared = beside(motion, tables, columns)
        for file in files:  # in the place of curves of the motion alone
            if file.suffix.lower() in _pictures():
                write(compared, file)
        data["beside"] = compared.as_dict()
    show(motion, files, json, data, reading_lines(found, motion.shown.unit("t")))
    if tables and not json:
        print(f"\n{compared}")
    if open_:
        open_files(files)


@command(
    "linkwork inverse four_rrr -o torques.csv",
    "linkwork inverse four_rrr --units deg,mm --open",
)
def inverse(
    model: ModelArgument,
    motion: Annotated[
        Path | None,
        Option(
            metavar="FILE", help="A result of `run` or `kinematics`, .nc or .csv, or a table of measured positions."
        ),
    ] = None,
    set_: Set = None,
    t_end: TEnd = None,
    step: Step = None,
    assemble: Assemble = False,
    output: Motions = None,
    open_: Open = False,
    units: Units = None,
    json: Json = False,
) -> None:
    """Find the forces that the actuators of a model need for a motion.

    The drivers of the model prescribe the motion, wherever they act, or a file does: a result, or a table of measured
    positions, which are smoothed. Every freedom needs an actuator; if there are more, they share the load;
    `run --actuators FILE` puts the forces back.
    """
    from linkwork.driven.inverse import inverse

    files = motion_files(to_open(output, open_, f"{stem(model)}.html"))
    mechanism = started(model, set_, None, None)
    with located(model):
        analysis = partial(inverse, motion=motion, t_end=t_end, step=step, assemble=assemble)
        found = followed(mechanism, analysis, files, units=named_units(units))
    show(found, files, json)
    if open_:
        open_files(files)


@command(
    "linkwork run slider_crank -o motion.nc",
    "linkwork run slider_crank --set l2=60cm --t-end 2s --assemble --units deg,mm --open",
    "linkwork run slider_crank --coordinates joint --formulation qr --rtol 1e-10 --json",
    "linkwork run robot.urdf --start shoulder=30deg --limits stops -o motion.csv",
)
def run(
    model: ModelArgument,
    set_: Set = None,
    inputs: Input = None,
    t_end: TEnd = None,
    step: Step = None,
    assemble: Assemble = False,
    output: Motions = None,
    open_: Open = False,
    units: Units = None,
    start: Start = None,
    rate: Rate = None,
    mode: Mode = None,
    keep: Keep = None,
    weights: Weights = None,
    repair: Repair = None,
    resume: Annotated[
        Path | None,
        Option(metavar="FILE", help="Continue a motion that ended early; FILE is updated.", rich_help_panel=START),
    ] = None,
    coordinates: Coordinates = None,
    cut: Cut = None,
    formulation: Formulation = None,
    stabilization: Stabilization = None,
    alpha: Annotated[
        float | None,
        Option(metavar="NUMBER", help="Baumgarte: gain of velocity errors, 1/s.", rich_help_panel=METHOD),
    ] = None,
    beta: Annotated[
        float | None,
        Option(metavar="NUMBER", help="Baumgarte: gain of position errors, 1/s.", rich_help_panel=METHOD),
    ] = None,
    integrator: Integrator = None,
    spectral_radius: Annotated[
        float | None,
        Option(
            "--rho",
            metavar="NUMBER",
            help="generalized-alpha: spectral radius at infinite frequency, 0 to 1.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    fixed_step: Annotated[
        float | None, time_option("generalized-alpha: constant step, without error control.", METHOD)
    ] = None,
    rank_tolerance: RankTolerance = None,
    rtol: Rtol = None,
    atol: Atol = None,
    max_step: MaxStep = None,
    max_steps: MaxSteps = None,
    close: Close = None,
    limits: Limits = None,
    output_format: Annotated[
        str | None,
        Option(
            metavar="numdyn3d",
            help="Write NumDyn3D's report and text files into the folder -o.",
            rich_help_panel=OTHERS,
        ),
    ] = None,
    actuators: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Move it by the forces of a result of `inverse`, from its start, without drivers.",
            rich_help_panel=START,
        ),
    ] = None,
    html: Annotated[Path | None, Option(metavar="FILE", hidden=True)] = None,
    json: Json = False,
) -> None:
    """Simulate a model.

    Settings that are not given are those of the model file.
    """
    from linkwork.simulation import options
    from linkwork.simulation.simulate import simulate

    settings = given(t_end=t_end, step=step, rtol=rtol, atol=atol, coordinates=within(coordinates, cut))
    names = formulation, stabilization, integrator
    methods = options.combine(*names, rank_tolerance, alpha, beta, spectral_radius, fixed_step)
    steps = given(max_step=max_step, max_steps=max_steps)
    methods["integrator"] = options.Integrator(methods.get("integrator", "auto"), **steps)
    if html is None and resume is None and output_format is None:
        output = to_open(output, open_, f"{stem(model)}.html")
    files = run_files(output, html, resume, output_format)
    shown = named_units(units)
    if shown and resume is not None and not output and resume.suffix.lower() == ".csv":
        raise UsageError("--resume goes on with a file in SI units; -o writes another in those of --units", "usage")
    before = None
    if resume is not None:
        from linkwork.trajectory import Trajectory

        before = Trajectory.load(resume)
    begin = options.Start(None, assemble, keep or (), cast(Any, weights or "mass"), before)
    with located(model):
        robot = Robot(close or (), limits)
        mechanism = started(
            model, set_, mode, keep, repair, start, rate, cut, correct=weights is None, inputs=inputs, robot=robot
        )
        if actuators is not None:
            from linkwork.driven.inverse import actuated

            mechanism = actuated(mechanism, actuators)
        analysis = partial(simulate, start=begin, **settings, **methods)
        motion = followed(mechanism, analysis, files, into_folder=output_format is not None, units=shown)
    show(motion, files, json)
    if open_:
        open_files(files)


@command(
    "linkwork compare slider_crank",
    "linkwork compare slider_crank --formulations augmented,qr,svd --t-end 1s --open",
    "linkwork compare slider_crank --coordinates body,joint -o table.tex --csv",
)
def compare(
    model: ModelArgument,
    formulations: Annotated[
        str,
        Option(metavar="all|NAME,...", help="Compare these", autocompletion=completion.completing("formulations")),
    ] = "all",
    set_: Set = None,
    assemble: Assemble = False,
    t_end: TEnd = None,
    output: Annotated[
        Files,
        output_option("Write a report, .html or .md, a table, .tex, or with --with of a motion a picture; repeatable."),
    ] = None,
    open_: Open = False,
    coordinates: Annotated[
        str | None,
        Option(metavar="NAME,...", help="Coordinates to run it in", rich_help_panel=METHOD),
    ] = None,
    integrator: Integrator = None,
    stabilization: Stabilization = None,
    rank_tolerance: RankTolerance = None,
    rtol: Rtol = None,
    atol: Atol = None,
    max_step: MaxStep = None,
    others: With = None,
    column: Column = None,
    csv: Annotated[bool, Option("--csv", help="Print the rows as CSV instead of text.")] = False,
    json: Json = False,
) -> None:
    """Run a model with all formulations: cost and accuracy.

    Prints for each the CPU time of the integration, the parts spent on evaluating accelerations and by the solver,
    evaluations, steps, the largest constraint errors, the energy drift and the distance from a reference solution at
    tolerance 1e-12. Settings that are not given are those of the model file.

    With a table of another program that has a column of times, the model is moved once instead, by its drivers if they
    drive all its freedoms, and its motion compared with the table: largest differences and standard deviations, and as
    a picture. A table with a column `formulation` holds published costs, which are shown beside those found here.
    """
    from linkwork.comparison.compare import compare
    from linkwork.errors import Interrupted
    from linkwork.view.comparison import SUFFIXES, as_csv, as_text, write
    from linkwork.view.report import as_json, progress

    if csv and json:
        raise UsageError("--csv and --json exclude each other", "usage")
    methods = given(integrator=integrator, stabilization=stabilization, t_end=t_end, rtol=rtol, atol=atol)
    methods |= given(max_step=max_step, rank_tolerance=rank_tolerance)
    published = _published(others)
    output = to_open(output, open_, f"{stem(model)}-compare.html")
    if others and published is None:
        formulation = None if formulations == "all" else formulations
        written = _compare_motion(
            started(model, set_, None, None, assemble=assemble),
            model,
            others,
            column,
            {**methods, **given(formulation=formulation, coordinates=coordinates)},
            writable(output, (*SUFFIXES, *_pictures())),
            "csv" if csv else "json" if json else "",
        )
        return open_files(written) if open_ else None
    files = writable(output, SUFFIXES)
    mechanism = started(model, set_, None, None, assemble=assemble)
    early: Interrupted | None = None
    try:
        with located(model), progress(mechanism.name) as moved:
            comparison = compare(
                mechanism,
                formulations=named(formulations),
                coordinates=None if coordinates is None else named(coordinates),
                **methods,
                published=published or (),
                progress=moved,
            )
    except Interrupted as end:  # the rows that are finished are shown
        comparison, early = end.attached.pop("comparison", None), end
        if comparison is None or not comparison.rows:
            raise
    written = [part for file in files for part in write(comparison, file)]
    if json or csv:
        print(as_json(comparison.as_dict()) if json else as_csv(comparison).rstrip())
    else:
        print("\n".join([as_text(comparison), *(f"written  {file}" for file in written)]))
    if early is not None:
        raise early
    if open_:
        open_files(files)
    if all(row.status != "ok" for row in comparison.rows):
        raise typer.Exit(NumericalStop.exit_code)


def _pictures() -> tuple[str, ...]:
    from linkwork.view.plot import SUFFIXES

    return SUFFIXES


def _published(files: Sequence[Path] | None) -> list[Any] | None:
    """Return published costs, if the tables hold such; None if they are of motions."""
    from linkwork.comparison.compare import read_published

    if not files:
        return None
    found = [None if file.suffix.lower() == ".nc" else read_published(file) for file in files]
    if None in found and any(rows is not None for rows in found):
        raise UsageError("--with takes tables of motions or tables of costs, not both at once", "usage")
    return None if None in found else [row for rows in found for row in rows or ()]


def _compare_motion(
    mechanism: Model,
    model: str,
    others: Sequence[Path],
    column: Sequence[str] | None,
    how: dict[str, Any],
    files: Sequence[Path],
    form: str,
) -> Sequence[Path]:
    """Show the motion of a model beside tables of other programs; return the files."""
    from linkwork.comparison.beside import beside
    from linkwork.driven.kinematics import kinematics
    from linkwork.simulation.simulate import simulate
    from linkwork.start.check import check
    from linkwork.view.beside import as_csv, as_text, write
    from linkwork.view.report import as_json

    tables, columns = tables_of(others, column)
    with located(model):
        driven = bool(mechanism.drivers) and check(mechanism).dof == 0
        of_path = {"t_end", "coordinates"}
        if driven and (unused := [name for name in how if name not in of_path]):
            message = f"'{mechanism.name}' is moved by its drivers: {', '.join(unused)} has no effect"
            raise UsageError(message, "no-effect")
        how |= spans(tables, how.get("t_end"), None)
        motion = followed(mechanism, partial(kinematics if driven else simulate, **how), ())
    compared = beside(motion, tables, columns)
    written = [part for file in files for part in write(compared, file)]
    if form:
        print(as_json(compared.as_dict()) if form == "json" else as_csv(compared).rstrip())
    else:
        print("\n".join([as_text(compared), *(f"written  {file}" for file in written)]))
    return files
