"""Commands for models of other programs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument

from linkwork.cli.app import Json, app, output_option
from linkwork.cli.motions import located, tell, writable
from linkwork.errors import ModelError


@app.command()
def convert(
    source: Annotated[
        str, Argument(metavar="MODEL", help="A folder of DAP_BC or DAP_JC, a deck of NumDyn3D, or a model.")
    ],
    output: Annotated[Path, output_option("A model file, .yaml or .json; any other name is the folder of a deck.")],
    json: Json = False,
) -> None:
    """Convert models from or to the formats of other programs.

    Reads folders of DAP_BC and DAP_JC and decks of NumDyn3D; writes model files and decks. What could not be taken
    over is listed.
    """
    from linkwork.document import save
    from linkwork.modelfile import SUFFIXES, build, find, take_over

    notes: list[str] = []
    if output.suffix.lower() in SUFFIXES:
        document = take_over(Path(source)) if Path(source).is_dir() else find(source)
        settled = {key: value for key, value in document.data.items() if key != "unsettled"}
        build(replace(document, data=settled, unsettled=()))  # what is written can be read
        (file,) = writable([output], SUFFIXES)
        save(document.data, file)
        missing, notes = [str(error) for error in document.unsettled], [*document.notes]
    else:
        import numpy as np

        from linkwork.compiled.mechanism import prepare
        from linkwork.files import write_texts
        from linkwork.formats.deck_writing import deck_of
        from linkwork.modelfile import load
        from linkwork.start.check import note_start
        from linkwork.start.closing import find_start

        model = load(source)
        with located(source), np.errstate(all="ignore"):  # what is not finite is looked for where it matters
            try:
                start = find_start(prepare(model, "body", ()).place())
            except ModelError as error:
                if "--" in (error.suggestion or ""):  # an option of other commands
                    error.suggestion = f"close it with linkwork assemble {source} -o FILE.yaml and convert that"
                raise
        notes = list(note_start(model, start))
        place, e = start.place, start.place.equations
        q, v = (dict(zip(names, x.tolist(), strict=True)) for names, x in ((e.q_names, place.q), (e.v_names, place.v)))
        tables, missing = deck_of(model.with_start(q, v))
        file = write_texts(output, {f"{name}.txt": text for name, text in tables.items()})
    lines = [*(("note", text) for text in notes), *(("not taken over", text) for text in missing)]
    tell({"not_taken_over": missing, "notes": notes}, lines, [file], json)
