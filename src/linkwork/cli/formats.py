"""Commands for models of other programs, and the dialogue of DAP."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from linkwork.cli.app import Assemble, Close, Json, Limits, ModelArgument, Set, TEnd, command, output_option
from linkwork.cli.motions import located, started, tell, writable
from linkwork.errors import LinkworkError, ModelError, NumericalStop, UsageError, check_choice

TARGETS = ("wasm",)


@command(
    "linkwork convert slider_crank -o slider_crank.yaml",
    "linkwork convert robot.urdf --close hand=bar:spherical -o robot.yaml",
    "linkwork convert slider_crank -o folder_for_DAP",
)
def convert(
    source: Annotated[
        str,
        Argument(
            metavar="MODEL", help="A folder of DAP_BC or DAP_JC, a deck of NumDyn3D, a robot in URDF, or a model."
        ),
    ],
    output: Annotated[Path, output_option("A model file, .yaml or .json; any other name is a folder.")],
    close: Close = None,
    limits: Limits = None,
    json: Json = False,
) -> None:
    """Convert models from or to the formats of other programs.

    Reads folders of DAP_BC and DAP_JC, decks of NumDyn3D and URDF; writes model files, and as a folder planar models
    for DAP (for DAP_JC if they run in joint coordinates) and spatial ones as decks. What could not be taken over is
    listed.
    """
    from linkwork.document import save
    from linkwork.modelfile import SUFFIXES, build, find, take_over

    notes: list[str] = []
    if output.suffix.lower() in SUFFIXES:
        document = take_over(Path(source)) if Path(source).is_dir() else find(source, True, close or (), limits)
        settled = {key: value for key, value in document.data.items() if key != "unsettled"}
        build(replace(document, data=settled, unsettled=()))  # what is written can be read
        (file,) = writable([output], SUFFIXES)
        save(document.data, file)
        missing, notes = [str(error) for error in document.unsettled], [*document.notes]
    else:
        import numpy as np

        from linkwork.compiled.mechanism import prepare
        from linkwork.equations.coordinates import Coordinates
        from linkwork.equations.tree import span_tree
        from linkwork.files import write_texts
        from linkwork.formats.dap_writing import folder_of
        from linkwork.formats.deck_writing import deck_of
        from linkwork.modelfile import load
        from linkwork.start.check import note_start
        from linkwork.start.closing import find_start

        model = load(source)
        with located(source), np.errstate(all="ignore"):  # what is not finite is looked for where it matters
            try:
                start = find_start(prepare(model, Coordinates("body", ())).place())
            except ModelError as error:
                if "--" in (error.suggestion or ""):  # an option of other commands
                    error.suggestion = f"close it with linkwork assemble {source} -o FILE.yaml and convert that"
                raise
        notes = list(note_start(model, start))
        place, e = start.place, start.place.equations
        q, v = (dict(zip(names, x.tolist(), strict=True)) for names, x in ((e.q_names, place.q), (e.v_names, place.v)))
        model = model.with_start(q, v)
        if model.space == "planar":
            model = model.centred()  # as DAP has it
            settings = model.simulation
            in_joints = settings.coordinates == "joint"
            hinges = span_tree(model.ground, model.bodies, model.joints, settings.cut) if in_joints else ()
            texts, missing = folder_of(model, hinges)
            notes.append(
                f"DAP asks for the final time, here {settings.t_end:g} s, and for the step, {settings.step:g} s"
            )
        else:
            tables, missing = deck_of(model)
            texts = {f"{name}.txt": text for name, text in tables.items()}
        file = write_texts(output, texts)
    lines = [*(("note", text) for text in notes), *(("not taken over", text) for text in missing)]
    tell({"not_taken_over": missing, "notes": notes}, lines, [file], json)


@command(
    "linkwork export slider_crank --to wasm -o slider_crank.wasm",
    "linkwork export four_bar --set a=0.3 --to wasm -o four_bar.wasm",
)
def export(
    model: ModelArgument,
    output: Annotated[Path, output_option("The module, .wasm; beside it .json and .mjs of the same name.")],
    to: Annotated[str, Option(metavar="NAME", help="wasm: WebAssembly, for pages and Node.")] = "wasm",
    set_: Set = None,
    assemble: Assemble = False,
    t_end: TEnd = None,
    json: Json = False,
) -> None:
    """Write the simulator of a model as a program of its own.

    The module holds all that a run needs, .json describes it, and .mjs is an interface to both that sets parameters,
    closes the start, simulates and evaluates: see docs/howto/embedding.md.
    """
    import json as notation

    from linkwork.files import whole, write_text
    from linkwork.start.check import is_driven
    from linkwork.trajectory import plain
    from linkwork.web.program import engine_code, program

    check_choice("to", to, TARGETS)
    (file,) = writable([output], (".wasm",))
    description, interface = writable([output.with_suffix(".json"), output.with_suffix(".mjs")], (".json", ".mjs"))
    given = started(model, set_, None, None, assemble=assemble)
    with located(model):
        made = program(replace(given, simulation=given.simulation.changed(t_end)), is_driven(given))
    with whole(file) as part:
        part.write_bytes(made.module.binary)
    write_text(description, notation.dumps(plain(made.about), allow_nan=False, indent=1) + "\n")
    write_text(interface, engine_code())
    size = len(made.module.binary)
    tell({"bytes": size}, [("module", f"{size / 1e3:.0f} kB")], [file, description, interface], json)


@command("linkwork dap DAP_BC/AA", "linkwork dap my_model")
def dap(
    model: Annotated[
        str | None, Argument(metavar="[FOLDER]", help="A folder of DAP, or any planar model; asked for if left out.")
    ] = None,
) -> None:
    """Simulate in the dialogue of DAP.

    Asks for the final time, the reporting time-step and whether the initial conditions are to be corrected, then takes
    the commands `anim` (the moving page), `post` (a .mat file of the arrays), and `quit`.
    """
    from functools import partial

    from linkwork.cli.motions import followed, locks, motion_files, show, started, write
    from linkwork.simulation.options import Start
    from linkwork.simulation.simulate import simulate

    try:
        source = model or typer.prompt("Which folder contains the model?")
        given = started(source, None, None, None, correct=False)
        question = "Do you want to correct the initial conditions?"
        corrected = not (given.joints or given.drivers) or typer.confirm(question, default=True)
        t_end, step = _positive("Final time = ?"), _positive("Reporting time-step = ?")
    except typer.Abort:
        raise UsageError("the dialogue ended before all was asked", "usage") from None
    how: dict[str, Any] = {} if corrected else {"start": Start(weights="none"), "stabilization": "none"}
    with located(source):
        mechanism = started(source, None, None, None) if corrected else given
        try:
            motion = followed(mechanism, partial(simulate, t_end=t_end, step=step, **how), ())
        except NumericalStop as stop:  # what was reached can be looked at all the same
            motion = stop.trajectory
            print(stop.message)
    show(motion, (), json=False)
    print(f"Number of function evaluations = {motion.info.evaluations}")
    while (command := _asked(">>")) not in ("", "quit", "exit"):
        if command not in ("anim", "post"):
            print("anim writes the moving page, post the arrays, quit ends")
            continue
        try:
            files = motion_files([Path(f"{mechanism.name}.{'html' if command == 'anim' else 'mat'}")])
            write(motion, files)
            print(f"written  {files[0]}")
        except LinkworkError as error:
            print(error)
        locks.close()  # the next command may write the same file


def _positive(prompt: str) -> float:
    """Ask for a number above zero until it is one."""
    while not (number := float(typer.prompt(prompt, type=float))) > 0.0:
        print("It must be above zero.")
    return number


def _asked(prompt: str) -> str:
    """Read a line of the user, "" where there is none any more."""
    try:
        return str(typer.prompt(prompt, default="quit", prompt_suffix=" ", show_default=False)).strip()
    except typer.Abort:
        return ""
