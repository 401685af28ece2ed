"""Commands for models of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from linkwork.cli.app import Json, app, output_option
from linkwork.cli.motions import located, writable


@app.command()
def convert(
    source: Annotated[
        str, Argument(metavar="MODEL", help="A folder of DAP_BC or DAP_JC, a deck of NumDyn3D, or any other model.")
    ],
    output: Annotated[Path, output_option("A model file, .yaml or .json; any other name is a folder for a deck.")],
    json: Json = False,
) -> None:
    """Write a model of another program as a model file, or a model as a deck, and say what could not be taken over."""
    from linkwork.document import save
    from linkwork.modelfile import SUFFIXES, find, take_over
    from linkwork.view.report import aligned, as_json

    if output.suffix.lower() in SUFFIXES:
        document, left_out = take_over(Path(source)) if Path(source).is_dir() else (find(source), [])
        (file,) = writable([output], SUFFIXES)
        save(document.data, file)
        missing = [str(error) for error in left_out]
    else:
        from linkwork.assembly.assemble import assemble
        from linkwork.files import write_texts
        from linkwork.formats.deck_writing import deck_of
        from linkwork.modelfile import load

        mechanism = load(source)
        with located(source):
            closed = assemble(mechanism)
        tables, missing = deck_of(mechanism.with_start(closed.q, closed.v))
        file = write_texts(output, {f"{name}.txt": text for name, text in tables.items()})
    lines = [*(("not taken over", text) for text in missing), ("written", str(file))]
    print(as_json({"files": [str(file)], "not_taken_over": missing}) if json else aligned(lines))
