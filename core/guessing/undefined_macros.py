"""Macros that a build would give with -D: names in capitals that a kernel uses and nothing defines.

The parser says which names in capitals are declared nowhere in the program; the compiler says which
of them it does not know. What they are is guessed by their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.compiler.requests_and_answers import Items
from core.errors import CompileError
from core.guessing.grid_and_block_guess import BLOCKS, LENGTHS
from core.source.kernel_slice import Part, Program
from core.source.kernels_and_launches import unscoped
from core.source.preprocessor import blanked

if TYPE_CHECKING:
    from tree_sitter import Node


_CAPITALS = re.compile(r"_?[A-Z][A-Z0-9_]*")
_UNDEFINED = re.compile(r'identifier "(_?[A-Z][A-Z0-9_]*)" is undefined')
_MOST_ROUNDS = 3  # as one may hide behind another


def undefined_macros(
    source: str, kernel: str, headers: Mapping[str, str], defines: Mapping[str, str], name: str
) -> Mapping[str, bool]:
    """The names, and whether each stands for a type. `name` is the source's, for the compiler.

    Empty where the program does not compile for another reason.
    """
    return _undefined(source, kernel, tuple(headers.items()), tuple(sorted(defines.items())), name)


@lru_cache(maxsize=32)
def _undefined(
    source: str, kernel: str, headers: Items, defines: Items, name: str
) -> Mapping[str, bool]:
    program = Program("", {"": source, **dict(headers)})
    candidates: dict[str, bool] = {}
    needed = program.needed(program.roots(kernel))
    for part in (part for part in program.parts if part in needed):  # a set has no order
        candidates |= dict(_unknown(program, part))
    found: dict[str, bool] = {}
    for _ in range(_MOST_ROUNDS if candidates.keys() - dict(defines).keys() else 0):
        given = {n: "float" if kind else "4" for n, kind in found.items()} | dict(defines)
        try:
            compile_ptx(
                source, source_name=name, defines=given, kernel=kernel, headers=dict(headers)
            )
        except CompileError as error:
            said = {n for d in error.diagnostics for n in _UNDEFINED.findall(d.message)}
            more = {n: kind for n, kind in candidates.items() if n in said and n not in found}
        else:
            break
        if not more:
            break
        found |= more
    return {n: found[n] for n in candidates if n in found}


def _unknown(program: Program, part: Part) -> Iterator[tuple[str, bool]]:
    """Names in capitals that a declaration uses, without those that the program declares."""
    words = {
        word
        for word in program.words(part)
        if _CAPITALS.fullmatch(word) and word not in program.by_name and word not in program.macros
    }
    if not words:
        return
    file, item = program.files[part.file], part.item
    declared = file.declared_in(item.start, item.end)
    used: dict[str, bool] = {}
    for node in file.nodes(item.start, item.end):
        if node.type in ("identifier", "type_identifier") and not _is_function_or_array(node):
            word = file.text(node)
            if word in words:
                used.setdefault(word, node.type == "type_identifier")
    yield from ((word, is_type) for word, is_type in used.items() if word not in declared)


def _is_function_or_array(node: Node) -> bool:
    """Whether it is called or indexed, which no number or type can be."""
    user = node.parent
    part = {"call_expression": "function", "subscript_expression": "argument"}
    return (
        user is not None and user.type in part and user.child_by_field_name(part[user.type]) == node
    )


_NOT_MACROS = re.compile(
    r"NULL|NAN|INFINITY|TRUE|FALSE|EOF|M_\w+|\w+_(MAX|MIN|EPSILON|DIG)|CUDART_\w+|CUDA\w*|__\w+"
)


def guess_defines(names: Mapping[str, bool], dimensions: int) -> dict[str, str]:
    """Values of names that nothing defines, as TILE_WIDTH; each with whether it is a type."""
    return {
        name: "float" if is_type else str(_guess_define(name, dimensions))
        for name, is_type in names.items()
        if not _NOT_MACROS.fullmatch(name)
    }


def _guess_define(name: str, dimensions: int) -> int:
    if "PAD" in name or "RADIUS" in name:
        return 1
    if re.search(r"TILE|BLOCK|BLK|THREAD|WIDTH|DIM|^BS$|^TS$", name):
        return BLOCKS[dimensions][0]
    return LENGTHS[dimensions] if re.search(r"SIZE|COUNT|LEN|^N", name) else 4


# Macros without which a kernel is not there.


_LONGEST_HEAD = 1000  # characters from `__global__` to a kernel's name
_GLOBAL_BEFORE = re.compile(r"__global__[^;{}]*$")
_CONDITIONAL = re.compile(
    r"^[ \t]*#[ \t]*(?P<word>ifdef|ifndef|if|elif\w*|else|endif)\b(?P<rest>[^\n]*)", re.MULTILINE
)
_ASKED = re.compile(r"\(*\s*(?:defined\b)?\s*\(?\s*([A-Za-z_]\w*)\s*\)*")


def switches(source: str, kernel: str, headers: Mapping[str, str]) -> Mapping[str, str]:
    """Macros without which a kernel is not there, as `#ifdef USE_CUDA` around a whole file has it.

    Each with the value 1. Empty where the source has the kernel outside such conditionals, too.
    """
    plain = blanked(source)
    wanted = unscoped(kernel)
    places = [m.start() for m in re.finditer(rf"\b{re.escape(wanted)}\s*\(", plain)]
    bodies = [
        place
        for place in places
        if _GLOBAL_BEFORE.search(plain, max(0, place - _LONGEST_HEAD), place)
    ]
    found = [dict.fromkeys(_asked_at(plain, place), "1") for place in bodies]
    if not found or not all(found):
        return {}
    known = Program("", {"": source, **headers}).macros
    return {name: "1" for name in found[0] if name not in known and not name.startswith("__")}


def _asked_at(text: str, place: int) -> tuple[str, ...]:
    """The macros that the conditionals around a place ask for, other than by `#else`."""
    around: list[str] = []
    for found in _CONDITIONAL.finditer(text, 0, place):
        if found["word"].startswith("if"):
            asked = _ASKED.fullmatch(found["rest"].strip()) if found["word"] != "ifndef" else None
            plain = found["word"] == "ifdef" or (asked is not None)
            name = re.search(
                r"[A-Za-z_]\w*", (asked[1] if asked else found["rest"]) if plain else ""
            )
            around.append(name[0] if name else "")
        elif around and found["word"] == "endif":
            around.pop()
        elif around:
            around[-1] = ""
    return tuple(name for name in around if name)
