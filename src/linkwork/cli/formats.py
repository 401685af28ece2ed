"""Commands for models of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from linkwork.cli.app import Json, app, output_option
from linkwork.cli.motions import writable


@app.command()
def convert(
    source: Annotated[str, Argument(metavar="FOLDER", help="A model folder of DAP_BC or DAP_JC.")],
    output: Annotated[Path, output_option("The model file, .yaml or .json.")],
    json: Json = False,
) -> None:
    """Write a model of another program as a model file, and say what could not be taken over."""
    from linkwork.document import save
    from linkwork.formats import read_folder
    from linkwork.modelfile import SUFFIXES
    from linkwork.view.report import aligned, as_json

    document, left_out = read_folder(Path(source))
    (file,) = writable([output], SUFFIXES)
    save(document.data, file)
    missing = [str(error) for error in left_out]
    lines = [*(("not taken over", text) for text in missing), ("written", str(file))]
    print(as_json({"files": [str(file)], "not_taken_over": missing}) if json else aligned(lines))
