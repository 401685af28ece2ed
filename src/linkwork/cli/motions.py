"""Between the options of a command and the library: models in, motions and files out."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from linkwork.errors import Interrupted, LinkworkError, ModelError, Unfinished, UsageError, check_choice, check_extra

if TYPE_CHECKING:
    from linkwork.comparison.beside import Table
    from linkwork.model import Model
    from linkwork.trajectory import Trajectory


def overrides(assignments: Sequence[str] | None, option: str = "set", example: str = "l1=0.5") -> dict[str, str]:
    """Read NAME=VALUE texts as a mapping."""
    values = {}
    for text in assignments or ():
        name, equals, value = text.partition("=")
        if not (name.strip() and equals and value.strip()):
            raise UsageError(f"--{option} {text}: write NAME=VALUE, as in --{option} {example}", f"bad-{option}")
        if name.strip() in values:
            raise UsageError(f"--{option} gives '{name.strip()}' two values", f"bad-{option}")
        values[name.strip()] = value.strip()
    return values


def input_values(model: str, assignments: Sequence[str] | None) -> dict[str, Any]:
    """Read NAME=VALUE texts of inputs of a model; a file is a table, of its first two columns."""
    found: dict[str, Any] = overrides(assignments, "input", "u=motor.csv")
    if found:
        from linkwork.modelfile import find

        known = find(model).data.get("inputs")
        for name in found:
            check_choice("input", name, known if isinstance(known, dict) else {})
    for name, value in found.items():
        if Path(value).suffix.lower() in (".csv", ".txt", ".dat", ".tsv"):
            from linkwork.formats.columns import read_columns

            columns = [*read_columns(value).values()][:2]
            if len(columns) < 2:
                raise UsageError(f"--input {name}={value}: a table has two columns, times and values", "bad-input")
            x, y = (column.values.tolist() for column in columns)
            found[name] = {"x": x, "y": y, "units": [column.unit for column in columns]}
    return found


def given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def within(coordinates: str | None, cut: Sequence[str] | None) -> Any:
    """Return the coordinates of a run, with the joints to be cut."""
    if cut is None:
        return coordinates
    from linkwork.equations.coordinates import Coordinates

    return Coordinates(coordinates, cut)


def named(formulations: str) -> list[str] | None:
    return None if formulations == "all" else [name.strip() for name in formulations.split(",")]


class Robot(NamedTuple):
    """What is asked of a robot in URDF beyond its file: joints that close loops, and what becomes of limits."""

    close: Sequence[str] = ()
    limits: str | None = None


def started(
    model: str,
    set_: Sequence[str] | None,
    mode: int | None,
    keep: Sequence[str] | None,
    repair: Sequence[str] | None = None,
    start: Sequence[str] | None = None,
    rate: Sequence[str] | None = None,
    cut: Sequence[str] | None = None,
    assemble: bool = False,
    correct: bool = True,
    inputs: Sequence[str] | None = None,
    robot: Robot | None = None,
) -> Model:
    """Load the model, with these start values and inputs, its joints closed or in an assembly mode if asked for.

    The start of a folder of DAP is corrected as DAP does it, or left as it is.
    """
    from linkwork.modelfile import load

    changes = {**overrides(set_), **input_values(model, inputs)}
    made = load(model, changes, repair or (), correct, *(robot or Robot()))
    mechanism = placed(made, start, rate, cut)
    if assemble:
        from linkwork.assembly.assemble import assemble as close

        with located(model):
            closed = close(mechanism)
        return mechanism.with_start(closed.q, closed.v)
    if mode is None:
        return mechanism
    from linkwork.assembly.modes import free_coordinates, in_mode

    return in_mode(mechanism, mode, free_coordinates(mechanism, keep or ()))


def placed(model: Model, start: Sequence[str] | None, rate: Sequence[str] | None, cut: Sequence[str] | None) -> Model:
    """Return the model with other start values of joints or bodies, NAME=VALUE with units."""
    if not (start or rate):
        return model
    from linkwork import units
    from linkwork.start.by_joints import name_kinds, prepare_joints

    kinds, rate_kinds = name_kinds(prepare_joints(model, cut).equations)

    def read(
        option: str, texts: dict[str, str], kinds: dict[str, str], by_kind: dict[str, units.Kind]
    ) -> dict[str, float]:
        found = {}
        for name, text in texts.items():
            check_choice("coordinate", name, kinds)
            try:
                value = units.quantity(text, by_kind.get(kinds[name], units.NUMBER_KIND))
            except ModelError as error:
                raise UsageError(f"--{option} {name}={text}: {error.message}", f"bad-{option}") from None
            if value is None:
                raise UsageError(f"--{option} {name}={text}: write a number or a quantity", f"bad-{option}")
            found[name] = value
        return found

    q = read("start", overrides(start, "start", "A=30deg"), kinds, {"angle": units.ANGLE, "length": units.LENGTH})
    v = read("rate", overrides(rate, "rate", "A=2"), rate_kinds, {"angle": units.ANGULAR_SPEED, "length": units.SPEED})
    of = model.simulation
    settings = replace(of, start={**of.start, **q}, rate={**of.rate, **v}, cut=of.cut if cut is None else tuple(cut))
    return replace(model, simulation=settings)


@contextmanager
def located(model: str) -> Iterator[None]:
    """Give faults found in assembly the file and the line of their joint, driver or body."""
    from linkwork.modelfile import find

    try:
        yield
    except ModelError as error:
        if error.file is not None or error.path is None:
            raise
        raise find(model).locate(error) from None


def motion_files(paths: Sequence[Path] | None) -> list[Path]:
    """Return files of trajectories, pages and pictures, which can be written."""
    if not paths:
        return []
    from linkwork.resultfile import WRITTEN
    from linkwork.resulttable import check_package
    from linkwork.view.page import check_built
    from linkwork.view.plot import SUFFIXES as PICTURES

    files = writable(paths, (*WRITTEN, ".html", *PICTURES))
    for file in files:
        check_package(file)
        if file.suffix.lower() in PICTURES:
            check_extra("matplotlib", f"cannot write '{file}': ")
    if any(file.suffix.lower() == ".html" for file in files):
        check_built()
    return files


def run_files(
    output: Sequence[Path] | None, html: Path | None, resume: Path | None, output_format: str | None
) -> list[Path]:
    """Return what a run writes: files asked for, or the one it goes on with, and a page.

    Or a folder of another format.
    """
    if output_format is None:
        return motion_files([*(output or ([resume] if resume else ())), *([html] if html else ())])
    check_choice("output-format", output_format, ("numdyn3d",))
    if not output or len(output) != 1:
        raise UsageError("--output-format numdyn3d needs one folder: -o FOLDER", "usage")
    return list(output)


def followed(
    mechanism: Model,
    analysis: Callable[..., Trajectory],
    files: Sequence[Path],
    point: str | None = None,
    into_folder: bool = False,
    units: Sequence[str] = (),
) -> Trajectory:
    """Return the motion by this analysis, written; of one that ends early, what there is. Pictures show a point, or
    all.

    It is shown, and written into tables, in other units if these are given.
    """
    from linkwork.simulation.judgement import refuse_doubtful
    from linkwork.view.report import progress

    if units:
        mechanism = replace(mechanism, units=tuple(units))
    if into_folder:
        from linkwork.view import numdyn3d

        numdyn3d.check_space(mechanism)
    try:
        with progress(mechanism.name) as moved:
            motion = refuse_doubtful(analysis(mechanism, progress=moved))
    except Unfinished as end:
        if end.trajectory is not None and len(end.trajectory.t):
            with signals_held():
                write(end.trajectory, files, point, into_folder, units)
            end.attached["files"] = [str(file) for file in files]
        raise
    with signals_held() as came:
        write(motion, files, point, into_folder, units)
    if came:
        message = "interrupted while the result of a whole run was being written; it was written"
        raise Interrupted(message, trajectory=motion, files=[str(file) for file in files])
    return motion


@contextmanager
def signals_held() -> Iterator[list[int]]:
    """Hold Ctrl-C or SIGTERM until the block has come to its end, in the list that is yielded; a second one ends it."""
    came: list[int] = []

    def hold(number: int, _: object) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(number)
        text = "linkwork: what was computed is being written first; once more ends that at once, and keeps nothing\n"
        with suppress(OSError):
            os.write(sys.stderr.fileno(), text.encode())  # print may be what was interrupted

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    heard = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    try:
        for number in heard:
            signal.signal(number, hold)
        yield came
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)


def tables_of(files: Sequence[Path] | None, columns: Sequence[str] | None) -> tuple[list[Table], dict[str, str]]:
    """Return the tables of other programs, and what their columns are."""
    if columns and not files:
        raise UsageError("--column goes with --with", "usage")
    if not files:
        return [], {}
    from linkwork.comparison.beside import pairs, read_table

    named = dict(pairs(columns or ()))
    return [read_table(file, named) for file in files], named


def spans(tables: Sequence[Table], t_end: float | None, step: float | None) -> dict[str, Any]:
    """Return times of a motion that is to be compared with tables: those given, else those of the tables."""
    from linkwork.comparison.beside import times_of

    last, between = times_of(tables) if tables else (None, None)
    return given(t_end=last if t_end is None else t_end, step=between if step is None else step)


def show(
    motion: Trajectory, files: Sequence[Path], json: bool, data: Any = None, lines: Sequence[tuple[str, str]] = ()
) -> None:
    """Print the summary of a motion, what else is known of it, and the files."""
    from linkwork.view.report import summary_lines

    tell({**motion.summary(), **(data or {})}, [*summary_lines(motion), *lines], files, json)


def tell(data: dict[str, Any], lines: Sequence[tuple[str, str]], files: Sequence[Path], json: bool) -> None:
    """Print the data, or the lines that say the same, and the files written."""
    from linkwork.view.report import as_json, within_terminal

    names = [str(file) for file in files]
    print(as_json({**data, "files": names}) if json else within_terminal([*lines, *(("written", x) for x in names)]))


class _Tried(Exception):
    pass


locks = ExitStack()  # on the files that the command under way will write


def writable(paths: Iterable[Path], suffixes: Sequence[str]) -> list[Path]:
    """Return the files to be written, after making sure that they can be: a long run should not end with that error.

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
    for path in {os.path.realpath(path): path for path in files}.values():
        locks.enter_context(locked(path))
    return files


def write(
    motion: Trajectory,
    files: Sequence[Path],
    point: str | None = None,
    into_folder: bool = False,
    units: Sequence[str] = (),
) -> None:
    """Write all files that can be written, tables in these units; the first that cannot is the error."""
    if not files:
        return
    from linkwork.resultfile import WRITTEN
    from linkwork.resulttable import TABLES
    from linkwork.view import numdyn3d
    from linkwork.view.plot import save

    failed: list[LinkworkError] = []
    for path in files:
        try:
            if into_folder:
                numdyn3d.write(motion, path)
            elif units and path.suffix.lower() in TABLES:
                motion.to(*units).save(path)
            elif path.suffix.lower() in WRITTEN:
                motion.save(path)
            elif path.suffix.lower() == ".html":
                motion.animate(path)
            else:
                save(motion.plot(f"{point}.y", against=f"{point}.x") if point else motion.plot(), path)
        except LinkworkError as error:
            failed.append(error)
    if failed:
        raise failed[0]


def named_units(text: str | None) -> tuple[str, ...]:
    """Return those of --units, which are checked."""
    if text is None:
        return ()
    from linkwork.units import choose_units

    names = tuple(name.strip() for name in text.split(","))
    choose_units(names)
    return names


def moved(
    sources: Sequence[str],
    set_: Sequence[str] | None,
    t_end: float | None,
    assemble: bool = False,
    units: Sequence[str] = (),
    robot: Robot | None = None,
) -> tuple[list[Trajectory], Unfinished | None]:
    """Return the motions of models and result files; of one that ends early what there is, and why it ended."""
    from linkwork.driven.kinematics import kinematics
    from linkwork.resultfile import SUFFIXES
    from linkwork.simulation.simulate import simulate
    from linkwork.start.check import is_driven
    from linkwork.trajectory import Trajectory

    motions: list[Trajectory] = []
    end: Unfinished | None = None
    for source in sources:
        if source.lower().endswith(SUFFIXES):
            motion = Trajectory.load(source)
            motions.append(motion.shown_in(*units) if units else motion)
            continue
        mechanism = started(source, set_, None, None, assemble=assemble, robot=robot)
        try:
            with located(source):
                analysis = kinematics if is_driven(mechanism) else simulate
                motions.append(followed(mechanism, partial(analysis, t_end=t_end), (), units=units))
        except Unfinished as early:
            if early.trajectory is None or not len(early.trajectory.t):
                raise
            motions.append(early.trajectory)
            end = early
    return motions, end


def stem(source: str) -> str:
    """Name the files that a command writes unless told otherwise after its model or result."""
    return Path(source).stem.replace(":", "_")


OPENED = (".html", ".png", ".svg", ".pdf", ".gif", ".mp4")


def to_open(output: Sequence[Path] | None, is_asked: bool, page: str) -> list[Path]:
    """List the files to be written: a page of this name if one is to be opened and no other file is given."""
    files = list(output or ([Path(page)] if is_asked else ()))
    if is_asked and not any(file.suffix.lower() in OPENED for file in files):
        names = ", ".join(str(file) for file in files)
        raise UsageError(f"--open shows pages and pictures, and {names} is none; add -o {page}", "nothing-to-open")
    return files


def open_files(files: Sequence[Path]) -> None:
    """Show the pages and pictures among the files, as the system does it."""
    import webbrowser

    for file in files:
        if file.suffix.lower() in OPENED:
            webbrowser.open(file.resolve().as_uri())
