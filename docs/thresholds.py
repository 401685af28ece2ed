"""The page of thresholds, read from the source: every number that decides something, where it stands, and why.

A threshold is a module-level name in capital letters whose value is arithmetic on numbers: a measure, which decides
about numbers of a motion, or a limit, a whole number of things (steps, rows, characters). Codes (whole numbers that
are only compared for equality or handed on) are none, nor are numbers of parts (N_SIZES), the sizes of drawings in
`view`, units, the shipped mechanisms and the coefficients of elementary functions. The reason is the comment behind it
or above it.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import linkwork
from reference import table

SOURCE = Path(linkwork.__file__).parent
LEFT_OUT = ("view", "mechanisms", "units")
COEFFICIENTS = "native/elementary.py"
ARITHMETIC = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.Tuple, ast.Name, ast.Attribute, ast.operator, ast.unaryop)
# Unnamed numbers that belong to a formula: whole ones, halves, thirds and quarters.
PARTS_OF_ONE = 12


parse = cache(ast.parse)


class Threshold(NamedTuple):
    name: str
    value: str
    file: str
    line: int
    reason: str

    @property
    def is_limit(self) -> bool:
        """A number of things: made of whole numbers."""
        parts = [*ast.walk(ast.parse(self.value))]
        numbers = [part.value for part in parts if isinstance(part, ast.Constant)]
        return all(type(number) is int for number in numbers) and not any(isinstance(part, ast.Name) for part in parts)


def files() -> dict[str, str]:
    """The text of every file that may hold thresholds, by its path in the package."""
    paths = {str(path.relative_to(SOURCE)): path for path in sorted(SOURCE.rglob("*.py"))}
    kept = [name for name in paths if Path(name).parts[0] not in LEFT_OUT and Path(name) != Path(COEFFICIENTS)]
    return {name: paths[name].read_text(encoding="utf-8") for name in kept}


def is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def is_arithmetic(node: ast.AST) -> bool:
    parts = [part for part in ast.walk(node) if not isinstance(part, ast.expr_context)]
    return all(isinstance(part, ARITHMETIC) for part in parts) and any(map(is_number, parts))


def measuring(trees: list[ast.Module]) -> set[str]:
    """Names that are calculated with, ordered or counted by, somewhere: no codes."""
    found: set[str] = set()
    for node in (node for tree in trees for node in ast.walk(tree)):
        of: list[ast.AST] = []
        if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Slice | ast.AugAssign):
            of = [*ast.iter_child_nodes(node)]
        elif isinstance(node, ast.Compare) and not all(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops):
            of = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("range", "min", "max"):
            of = [*node.args]
        found |= {part.id for part in of if isinstance(part, ast.Name)}
    return found


def is_code(node: ast.expr, is_measuring: bool) -> bool:
    """Whether a number says which, not how much; so do directions, of zeros and ones."""
    parts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
    is_direction = isinstance(node, ast.Tuple) and {*parts} <= {0.0, 1.0}
    return is_direction or (not is_measuring and all(float(part).is_integer() for part in parts))


def reason(lines: list[str], node: ast.Assign) -> str:
    """The comment behind an assignment, else that above it or above neighbours that have none."""
    behind = lines[(node.end_lineno or node.lineno) - 1][node.value.end_col_offset or 0 :].lstrip(" )")
    if behind.startswith("#"):
        return behind.lstrip("# ")
    above: list[str] = []
    k = node.lineno - 2
    while k >= 0 and lines[k].startswith("#"):
        above.insert(0, lines[k].lstrip("# "))
        k -= 1
    return " ".join(above)


def thresholds() -> Iterator[Threshold]:
    """All named ones, in the order of files."""
    texts = files()
    trees = {name: parse(text) for name, text in texts.items()}
    used = measuring([*trees.values()])
    for file, tree in trees.items():
        lines = texts[file].splitlines()
        for node in tree.body:
            if not isinstance(node, ast.Assign) or not is_arithmetic(node.value):
                continue
            target, value = node.targets[0], node.value
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            values = value.elts if isinstance(value, ast.Tuple) and isinstance(target, ast.Tuple) else [value]
            for name, number in zip(names, values, strict=True):
                assert isinstance(name, ast.Name)
                if name.id.strip("_").isupper() and name.id[:2] != "N_" and not is_code(number, name.id in used):
                    yield Threshold(name.id, ast.unparse(number), file, node.lineno, reason(lines, node))


def unnamed() -> Iterator[tuple[str, int, float]]:
    """File, line and value of numbers inside functions that are no part of a formula."""
    for file, text in files().items():
        inside = {
            (n.lineno, n.col_offset, n.value)
            for f in ast.walk(parse(text))
            if isinstance(f, ast.FunctionDef)
            for n in ast.walk(f)
            if isinstance(n, ast.Constant) and isinstance(n.value, float)
        }
        for line, _, value in sorted(inside):
            if not (abs(value) <= PARTS_OF_ONE and (PARTS_OF_ONE * value).is_integer()):
                yield file, line, value


def page() -> str:
    found = [*thresholds()]
    parts = ("Measures", [t for t in found if not t.is_limit]), ("Limits", [t for t in found if t.is_limit])
    lines = [
        "# Thresholds",
        "",
        "Every number in the source that decides something, with its reason. Measures decide about values of a",
        "motion, relative to the scale that the reason names; tolerances that rooms share stand in `tolerances.py`, by",
        "their meaning. Limits are whole numbers of things: iterations, rows, characters.",
    ]
    for title, some in parts:
        rows = [[f"`{t.name}`", f"`{t.value}`", f"`{t.file}`:{t.line}", t.reason] for t in some]
        lines += ["", f"## {title}: {len(rows)}", "", *table(["name", "value", "where", "reason"], rows)]
    return "\n".join(lines)
