"""Commands that write down what a model is: its equations, a worked exercise, the format of its file."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from linkwork.cli.app import Coordinates, Cut, Files, Json, ModelArgument, Set, WithChoices, app, output_option
from linkwork.cli.motions import located, overrides, writable


@app.command(cls=WithChoices)
def explain(
    model: ModelArgument,
    set_: Set = None,
    formulation: Annotated[str, Option(help="Which to work out")] = "augmented",
    coordinates: Coordinates = None,
    cut: Cut = None,
    at: Annotated[float, Option(metavar="T", help="Time at which the mechanism is looked at, s")] = 0.0,
    output: Annotated[Files, output_option("Write .md, .html, .tex or .txt instead; repeatable.")] = None,
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
