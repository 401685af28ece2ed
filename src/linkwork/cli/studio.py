"""The command that opens the studio."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer import Argument, Option

from linkwork.cli import completion
from linkwork.cli.app import app, command

COMMANDS = (
    "check",
    "assemble",
    "equations",
    "report",
    "run",
    "kinematics",
    "equilibrium",
    "linearize",
    "explain",
    "compare",
)


@command("linkwork studio", "linkwork studio four_bar.yaml", "linkwork studio jansen_leg --no-open --port 8123")
def studio(
    model: Annotated[
        str | None,
        Argument(
            metavar="[MODEL]",
            help="A model file, the name of a mechanism to begin with, or nothing for an empty drawing.",
            autocompletion=completion.complete_model,
        ),
    ] = None,
    open_: Annotated[bool, Option("--open/--no-open", help="Open the browser.")] = True,
    port: Annotated[int, Option(metavar="NUMBER", min=0, max=65535, help="Port; one that is free unless given.")] = 0,
) -> None:
    """Edit a model file beside its moving mechanism, in the browser.

    Both follow each other: what is typed moves the picture, what is drawn or dragged there is written into the file.
    The page is for this computer alone; Ctrl-C ends it.
    """
    from linkwork.studio.folder import open_folder
    from linkwork.studio.server import Studio, check_built, commands_of

    check_built()
    parsers = [cast(Any, typer.main.get_command(app)).commands[name] for name in COMMANDS]
    folder, name, text = open_folder(model, Path.cwd())
    server = Studio(folder, name, text, commands_of(parsers), port)
    print(f"studio   {server.address}\nfolder   {folder.place}\nCtrl-C   ends it", flush=True)
    try:
        if open_:
            typer.launch(server.address)
        server.serve_forever()
    except KeyboardInterrupt:
        print("\nended")
    finally:
        server.end()
