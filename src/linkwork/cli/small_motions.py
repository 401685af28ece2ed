"""Commands about rest and the small motions near it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from linkwork.cli.app import (
    Coordinates,
    Cut,
    Files,
    Json,
    ModelArgument,
    Open,
    Set,
    Start,
    Texts,
    command,
    output_option,
)
from linkwork.cli.motions import located, open_files, overrides, placed, stem, tell, to_open, within, writable
from linkwork.errors import UsageError
from linkwork.tolerances import AGREEMENT

if TYPE_CHECKING:
    from linkwork.model import Model


@command(
    "linkwork equilibrium simple_pendulum",
    "linkwork equilibrium four_bar -o rest.yaml",
)
def equilibrium(
    model: ModelArgument,
    set_: Set = None,
    start: Start = None,
    all_rests: Annotated[
        bool, Option("--all", help="Find all rests, certified where loads are gravity and springs in the plane.")
    ] = False,
    steady: Annotated[
        Texts, Option(metavar="NAME", help="Find a steady motion with the start rate of this coordinate; repeatable.")
    ] = None,
    output: Annotated[
        Files, output_option("Write the model at rest, .yaml or .json; with --all, a page, .html.")
    ] = None,
    force: Annotated[bool, Option("--force", help="Allow -o to overwrite the model file.")] = False,
    json: Json = False,
) -> None:
    """Find where a mechanism rests: positions, what the joints hold, stable or not.

    Forces with a potential lead down from the start to a rest nearby; drivers stay where they are at first. --all finds
    every rest, in every way to assemble the mechanism, --steady a motion that those who move along see at rest.
    """
    from linkwork.analyses.equilibrium import equilibrium
    from linkwork.document import save
    from linkwork.modelfile import SUFFIXES, build, find, with_start
    from linkwork.view.small_motions import equilibrium_lines

    document, changes = find(model), overrides(set_)
    if all_rests and steady:
        raise UsageError("--all finds rests, --steady a steady motion; choose one of them", "usage")
    if all_rests:
        with located(model):
            return find_all(placed(build(document, changes), start, None, None), output or (), json)
    files = writable(output or (), SUFFIXES)
    for file in files:
        check_apart(file, document.file, force)
    with located(model):
        mechanism = placed(build(document, changes), start, None, None)
        found = equilibrium(mechanism, steady=steady or ())
    for file in files:
        save(with_start(document, mechanism.with_start(found.q, found.v), changes).data, file)
    tell(found.as_dict(), equilibrium_lines(found), files, json)


def find_all(mechanism: Model, output: Sequence[Path], json: bool) -> None:
    """Find all rests, and a page that shows them."""
    from linkwork.analyses.equilibria import equilibria
    from linkwork.files import write_text
    from linkwork.view.report import progress
    from linkwork.view.small_motions import equilibria_lines, rests_page

    files = writable(output, (".html",))
    if files and not mechanism.bodies:
        raise UsageError(f"'{mechanism.name}' has no bodies to be drawn; --json has all positions", "no-bodies")
    with progress(mechanism.name) as moved:
        found = equilibria(mechanism, progress=moved)
    for file in files:
        write_text(file, rests_page(found, mechanism))
    tell(found.as_dict(), equilibria_lines(found), files, json)


def check_apart(file: Path, model: str, force: bool) -> None:
    """Raise UsageError if the file is the model itself and may not be replaced."""
    if not force and file.exists() and Path(model).exists() and file.samefile(model):
        message = f"'{file}' is the model itself; with --force its start values are replaced"
        raise UsageError(message, "output-is-model")


@command(
    "linkwork linearize simple_pendulum",
    "linkwork linearize whipple_bicycle --set roll_rate=0 --over v=0:10:0.1 -o locus.html --open",
)
def linearize(
    model: ModelArgument,
    set_: Set = None,
    start: Start = None,
    rate: Annotated[Texts, Option(metavar="NAME=VALUE", help="Start rate, as A=2; repeatable.")] = None,
    at: Annotated[
        str | None,
        Option(metavar="equilibrium|start|T", help="About what; by default the start if it is steady, else the rest."),
    ] = None,
    steady: Annotated[
        Texts,
        Option(metavar="NAME", help="About the steady motion with the start rate of this coordinate; repeatable."),
    ] = None,
    independent: Annotated[
        Texts, Option(metavar="NAME", help="A coordinate in which M, C and K stand; repeatable, all of them.")
    ] = None,
    inputs: Annotated[
        Texts, Option(metavar="NAME", help="An input or parameter of B and D; repeatable; unless given, the model's.")
    ] = None,
    outputs: Annotated[
        Texts, Option(metavar="NAME", help="A result of C and D, as crank.phi; repeatable; unless given, the model's.")
    ] = None,
    over: Annotated[
        str | None,
        Option(metavar="NAME=FIRST:LAST:STEP", help="Eigenvalues over a parameter, and where they cross the axis."),
    ] = None,
    output: Annotated[
        Files,
        output_option(
            "Write modes in the viewer or a root locus, .html; matrices, .json or .mat; a picture, .png, .svg or .pdf."
        ),
    ] = None,
    open_: Open = False,
    coordinates: Coordinates = None,
    cut: Cut = None,
    json: Json = False,
) -> None:
    """Find the small motions about a rest or a steady motion: A, B, C, D, reduced M, C, K, eigenvalues, modes.

    The mechanism must rest or move steadily where it is linearized; if it does not, the error says by how much.
    With --over, the values of a parameter are found at which eigenvalues cross the imaginary axis.
    """
    from linkwork.analyses.equilibrium import equilibrium
    from linkwork.analyses.linearize import linearize
    from linkwork.modelfile import build, find
    from linkwork.view.small_motions import WRITTEN, family_lines, linearization_lines, write, write_family

    files = writable(to_open(output, open_, f"{stem(model)}-modes.html"), WRITTEN)
    with located(model):
        mechanism = placed(build(find(model), overrides(set_)), start, rate, cut)
        how: dict[str, Any] = {"coordinates": within(coordinates, cut), "independent": independent or ()}
        how |= {"inputs": inputs, "outputs": outputs}
        name, values = values_of(over) if over is not None else ("", [])
        first = {name: values[0]} if name else None
        if steady and at is not None:
            raise UsageError("--at and --steady both say where; choose one of them", "usage")
        about = equilibrium(mechanism, first, steady=steady) if steady else state_of(at)
        found = linearize(mechanism, first, at=about, **how)
        if name:
            family = found.over(name, values)
            write_family(family, files)
            tell(family.as_dict(), family_lines(family), files, json)
        else:
            write(found, files)
            tell(found.as_dict(), linearization_lines(found), files, json)
    if open_:
        open_files(files)


def values_of(text: str) -> tuple[str, list[float]]:
    """Return a name and values, as in v=0:10:0.1 or v=1,2,5."""
    from linkwork.view.page import MOST_ROWS

    name, _, values = text.partition("=")
    is_range = ":" in values
    with suppress(ValueError):
        numbers = [float(x) for x in values.split(":" if is_range else ",")]
        if name.strip() and not is_range:
            return name.strip(), numbers
        if name.strip() and len(numbers) == 3 and numbers[2] > 0.0 and numbers[1] >= numbers[0]:
            first, last, step = numbers
            count = int((last - first) / step * (1.0 + AGREEMENT)) + 1
            if count <= MOST_ROWS:
                return name.strip(), [first + k * step for k in range(count)]
            raise UsageError(
                f"--over {text}: {count} values; choose a longer step, for {MOST_ROWS} at most", "bad-over"
            )
    message = f"--over {text}: write NAME=FIRST:LAST:STEP or NAME=VALUE,VALUE,.., as in --over v=0:10:0.1"
    raise UsageError(message, "bad-over")


def state_of(text: str | None) -> Any:
    """Read which state is meant: the equilibrium, the start, or a time."""
    from linkwork.cli.app import seconds

    return text if text in (None, "equilibrium", "start") else seconds(text)
