"""Commands about rest and the small motions near it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Option

from linkwork.cli.app import (
    Coordinates,
    Cut,
    Files,
    Json,
    ModelArgument,
    Set,
    Start,
    Texts,
    WithChoices,
    app,
    output_option,
)
from linkwork.cli.motions import located, overrides, placed, tell, within, writable
from linkwork.errors import UsageError


@app.command(cls=WithChoices)
def equilibrium(
    model: ModelArgument,
    set_: Set = None,
    start: Start = None,
    output: Annotated[Files, output_option("Write the model at rest, .yaml or .json.")] = None,
    force: Annotated[bool, Option("--force", help="Allow -o to overwrite the model file.")] = False,
    json: Json = False,
) -> None:
    """Find where a mechanism rests: positions, what the joints hold, stable or not.

    Forces with a potential lead down from the start to a rest nearby; drivers stay where they are at first.
    Example: linkwork equilibrium four_bar --set g=1.62 -o rest.yaml
    """
    from linkwork.analyses.equilibrium import equilibrium
    from linkwork.document import save
    from linkwork.modelfile import SUFFIXES, build, find, with_start
    from linkwork.view.small_motions import equilibrium_lines

    document, changes = find(model), overrides(set_)
    files = writable(output or (), SUFFIXES)
    for file in files:
        check_apart(file, document.file, force)
    with located(model):
        mechanism = placed(build(document, changes), start, None, None)
        found = equilibrium(mechanism)
    for file in files:
        save(with_start(document, mechanism.with_start(found.q, found.v), changes).data, file)
    tell(found.as_dict(), equilibrium_lines(found), files, json)


def check_apart(file: Path, model: str, force: bool) -> None:
    """UsageError if the file is the model itself and may not be replaced."""
    if not force and file.exists() and Path(model).exists() and file.samefile(model):
        message = f"'{file}' is the model itself; with --force its start values are replaced"
        raise UsageError(message, "output-is-model")


@app.command(cls=WithChoices)
def linearize(
    model: ModelArgument,
    set_: Set = None,
    start: Start = None,
    rate: Annotated[Texts, Option(metavar="NAME=VALUE", help="Start rate, as A=2; repeatable.")] = None,
    at: Annotated[
        str | None,
        Option(metavar="equilibrium|start|T", help="Where; unless given, the start if it is steady, else the rest."),
    ] = None,
    independent: Annotated[
        Texts, Option(metavar="NAME", help="A coordinate in which M, C and K stand; repeatable, all of them.")
    ] = None,
    coordinates: Coordinates = None,
    cut: Cut = None,
    output: Annotated[Files, output_option("Write .json or .mat.")] = None,
    json: Json = False,
) -> None:
    """Find the small motions about a rest or a steady motion: A, reduced M, C, K, eigenvalues, modes.

    The mechanism must rest or move steadily where it is linearized; if it does not, the error says by how much.
    Example: linkwork linearize whipple_bicycle --set roll_rate=0 --set v=5 -o bicycle.json
    """
    from linkwork.analyses.linearize import linearize
    from linkwork.modelfile import build, find
    from linkwork.view.small_motions import WRITTEN, linearization_lines, write

    files = writable(output or (), WRITTEN)
    with located(model):
        mechanism = placed(build(find(model), overrides(set_)), start, rate, cut)
        how: dict[str, Any] = {"coordinates": within(coordinates, cut), "independent": independent or ()}
        found = linearize(mechanism, at=state_of(at), **how)
    write(found, files)
    tell(found.as_dict(), linearization_lines(found), files, json)


def state_of(text: str | None) -> Any:
    """A time where it is one."""
    from linkwork.cli.app import seconds

    return text if text in (None, "equilibrium", "start") else seconds(text)
