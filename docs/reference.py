"""Reference pages made from the program itself: schema of model files, commands, public names of the package."""

import inspect
import re
from dataclasses import fields, is_dataclass
from typing import Any

import typer

import linkwork
from linkwork.cli import app
from linkwork.modelfile import json_schema


def cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


def table(heads: list[str], rows: list[list[str]]) -> list[str]:
    return [
        f"| {' | '.join(heads)} |",
        f"| {' | '.join('---' for _ in heads)} |",
        *(f"| {' | '.join(map(cell, row))} |" for row in rows),
        "",
    ]


# Model files.


def kind(schema: dict[str, Any]) -> str:
    """What a value may be, in words."""
    if "$ref" in schema:
        name = schema["$ref"].split("/")[-1]
        return f"[{heading(name)}](#{anchor(name)})"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    options = [option for option in schema.get("anyOf", schema.get("oneOf", [])) if option.get("type") != "null"]
    if options:
        return " or ".join(kind(option) for option in options)
    match schema.get("type"):
        case "array" if "items" in schema:
            count = f" of {schema['minItems']}" if schema.get("minItems") == schema.get("maxItems", 0) else ""
            return f"list{count}: {kind(schema['items'])}"
        case "object":
            inside = schema.get("additionalProperties", {})
            return f"by name: {kind(inside)}" if isinstance(inside, dict) else "mapping"
        case ["number", "string"]:
            return "number or formula"
        case "string":
            return "text"
        case other:
            return str(other or "any")


def mentioned(schema: Any) -> set[str]:
    """The entries that a schema refers to, directly or through others."""
    found: set[str] = set()
    rest = re.findall(r"#/\$defs/(\w+)", str(schema))
    while rest:
        name = rest.pop()
        if name not in found:
            found.add(name)
            rest += re.findall(r"#/\$defs/(\w+)", str(DEFINED[name]))
    return found


def written(name: str) -> str:
    """DistanceEntry -> distance, as it is written in a file; entries without a type have words."""
    words = re.sub(r"^.*__(\w+)__\d$", r"\1", name).removesuffix("Entry")
    words = re.sub(r"(?<!^)([A-Z])", r" \1", words).lower().removeprefix("planar ").removeprefix("spatial ")
    return str(DEFINED[name]["properties"].get("type", {}).get("const", words))


DEFINED: dict[str, Any] = json_schema()["$defs"]
PLANE, SPACE = (mentioned(DEFINED[model]) for model in ("PlanarModel", "SpatialModel"))


def heading(name: str) -> str:
    """As written; what is written alike in the plane and in space is told apart."""
    twins = [other for other in DEFINED if written(other) == written(name)]
    return written(name) + (", in space" if len(twins) > 1 and name not in PLANE else "")


def anchor(name: str) -> str:
    return f"entry-{name.lower()}"


def default(schema: dict[str, Any], required: bool) -> str:
    if required:
        return "required"
    value = schema.get("default")
    if value in (None, "", {}) or isinstance(value, dict):
        return ""
    return f"`{value}`"


def keys(entry: dict[str, Any]) -> list[str]:
    rows = [
        [f"`{key}`", kind(value), default(value, key in entry.get("required", [])), value.get("description", "")]
        for key, value in entry["properties"].items()
    ]
    if not any(row[3] for row in rows):
        return table(["key", "value", "if left out"], [row[:3] for row in rows])
    return table(["key", "value", "if left out", "meaning"], rows)


def model_file() -> str:
    """All keys of a model file."""
    lines = [
        "# Keys of a model file",
        "",
        "Made from the schema that `linkwork schema` prints. Their meaning is described in",
        "[Model files](../model-files.md).",
        "",
    ]
    for model, where in (("PlanarModel", "in the plane"), ("SpatialModel", "in space")):
        lines += [f"## A file {where}", "", *keys(DEFINED[model])]
    for name in sorted(PLANE | SPACE, key=heading):
        entry = DEFINED[name]
        lines += [f"({anchor(name)})=", f"## {heading(name)}", "", entry.get("description", ""), "", *keys(entry)]
    return "\n".join(lines)


# Commands.


def command_line() -> str:
    """All commands with their arguments and options, as `--help` shows them."""
    group: Any = typer.main.get_command(app)
    lines = ["# Command line", "", group.help, "", group.epilog, ""]
    for name, command in group.commands.items():
        context = command.make_context(name, [], resilient_parsing=True)
        command.get_help(context)  # which fills in the choices of options
        usage = " ".join(["linkwork", name, *command.collect_usage_pieces(context)])
        lines += [f"## {name}", "", "```text", usage, "```", "", inspect.cleandoc(command.help or ""), ""]
        records = [parameter.get_help_record(context) for parameter in command.params]
        rows = [[f"`{written}`", meaning] for written, meaning in filter(None, records)]
        lines += table(["argument or option", "meaning"], rows)
    return "\n".join(lines)


# Public names.


class Written(str):
    """An annotation that is shown without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def signature(name: str, function: Any) -> list[str]:
    """A signature on one line, or with one parameter in each line if that is too long."""
    found = inspect.signature(function)
    plain = [p.replace(annotation=Written(p.annotation)) for p in found.parameters.values() if p.name != "self"]
    short = f"{name}{found.replace(parameters=plain, return_annotation=Written(found.return_annotation))}"
    if len(short) <= 88:
        return ["```text", short, "```", ""]
    texts = [str(p) for p in plain]
    keywords = [k for k, p in enumerate(plain) if p.kind is p.KEYWORD_ONLY]
    if keywords:
        texts.insert(keywords[0], "*")
    lines = [f"    {text}," for text in texts]
    return ["```text", f"{name}(", *lines, f") -> {found.return_annotation}", "```", ""]


def api() -> str:
    """The names of `linkwork.__all__` with their docstrings; a docstring is Markdown, indented equations are code."""
    lines = [
        "# Python names",
        "",
        "All of them are names of the package `linkwork`. Errors are `linkwork.errors.LinkworkError`s: `UsageError`,",
        "`ModelError`, `NumericalStop`.",
        "",
    ]
    public = {name: getattr(linkwork, name) for name in linkwork.__all__}
    functions = {name: value for name, value in public.items() if not inspect.isclass(value)}
    classes = {name: value for name, value in public.items() if inspect.isclass(value)}
    for name, function in functions.items():
        lines += [f"## {name}", "", *signature(name, function), inspect.getdoc(function) or "", ""]
    for name, described in classes.items():
        lines += [f"## {name}", "", inspect.getdoc(described) or "", ""]
        if is_dataclass(described):
            lines += table(["field", "type"], [[f"`{f.name}`", f"`{f.type}`"] for f in fields(described)])
        for member, value in vars(described).items():
            if member.startswith("_"):
                continue
            plain = value.__func__ if isinstance(value, staticmethod | classmethod) else value
            text = inspect.getdoc(getattr(plain, "func", plain)) or ""
            if inspect.isfunction(plain):
                lines += [f"### {name}.{member}", "", *signature(member, plain), text, ""]
            elif text and (isinstance(value, property) or hasattr(value, "attrname")):
                lines += [f"### {name}.{member}", "", text, ""]
    return "\n".join(lines)
