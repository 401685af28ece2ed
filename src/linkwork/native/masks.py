"""LLVM text that reads and writes memory of some lanes of a vector; %mask says of which.

Machine code for several lanes takes a last argument %lanes, with a bit for each that counts: of the others it reads
whatever there is, and writes nothing that stands in its results.
"""

from __future__ import annotations

ALL = -1  # as %lanes


def unpack(count: int) -> str:
    """Return text that makes %mask of the argument %lanes."""
    return f"%bits = trunc i64 %lanes to i{count}\n%mask = bitcast i{count} %bits to <{count} x i1>"


def vector(kind: str, count: int) -> tuple[str, str]:
    """Return the type of so many doubles or i64, and what names of intrinsics have for it."""
    return f"<{count} x {kind}>", f"v{count}{'f64' if kind == 'double' else 'i64'}"


def store(kind: str, count: int, value: str, pointer: str, mask: str = "%mask") -> str:
    v, name = vector(kind, count)
    return f"call void @llvm.masked.store.{name}.p0({v} {value}, ptr {pointer}, i32 8, <{count} x i1> {mask})"


def scatter(kind: str, count: int, value: str, pointers: str, mask: str) -> str:
    v, name = vector(kind, count)
    given = f"{v} {value}, <{count} x ptr> {pointers}, i32 8, <{count} x i1> {mask}"
    return f"call void @llvm.masked.scatter.{name}.v{count}p0({given})"


def gather(kind: str, count: int, pointers: str, mask: str) -> str:
    v, name = vector(kind, count)
    given = f"<{count} x ptr> {pointers}, i32 8, <{count} x i1> {mask}, {v} zeroinitializer"
    return f"call {v} @llvm.masked.gather.{name}.v{count}p0({given})"


def declare(text: str) -> list[str]:
    """Return declarations of those that a text calls."""
    found = []
    for kind in ("double", "i64"):
        for count in (2, 4, 8, 16):
            v, name = vector(kind, count)
            mask, pointers = f"<{count} x i1>", f"<{count} x ptr>"
            heads = {
                f"@llvm.masked.store.{name}.p0": ("void", f"{v}, ptr, i32, {mask}"),
                f"@llvm.masked.scatter.{name}.v{count}p0": ("void", f"{v}, {pointers}, i32, {mask}"),
                f"@llvm.masked.gather.{name}.v{count}p0": (v, f"{pointers}, i32, {mask}, {v}"),
            }
            found += [f"declare {result} {head}({a})" for head, (result, a) in heads.items() if f"{head}(" in text]
    return found
