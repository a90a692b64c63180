"""The tensor maps that a host's code makes for a launch, as the texts of the kernel's arguments.

From the launch's argument back to `cuTensorMapEncodeTiled`, or to a pointer to it, which is known
by its twelve arguments: through helper functions, what these return, copies to the device.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.compiler.kernel_signature import SignatureParameter
from core.launching.host_values import ROUND, HostProgram, pointer_name
from core.source.expressions import Number
from core.source.host_headers import TENSOR_MAPS
from core.source.kernel_text import HostLaunch, closing, split_at_commas
from core.tensor_maps import BYTES, MOST_DIMENSIONS, TensorMap

# CUtensorMapDataType of cuda.h, in its order, and the array's type for each.
_TYPES = {
    "UINT8": ("uint8", 1),
    "UINT16": ("uint16", 2),
    "UINT32": ("uint32", 4),
    "INT32": ("int32", 4),
    "UINT64": ("uint64", 8),
    "INT64": ("int64", 8),
    "FLOAT16": ("float16", 2),
    "FLOAT32": ("float32", 4),
    "FLOAT64": ("float64", 8),
    "BFLOAT16": ("bfloat16", 2),
    "FLOAT32_FTZ": ("float32", 4),
    "TFLOAT32": ("float32", 4),
    "TFLOAT32_FTZ": ("float32", 4),
}
_SWIZZLES = ("NONE", "32B", "64B", "128B")
_ENUMERATORS: Mapping[str, Number] = {
    f"CU_TENSOR_MAP_{name}": code
    for names in TENSOR_MAPS.values()
    for code, name in enumerate(names)
}
_ARGUMENTS = 12  # of cuTensorMapEncodeTiled
_DEEPEST = 6  # of helpers that call helpers
_MOST_STEPS = 40  # from a map to where it is made
_LONGEST = 2000  # of a call's arguments
_CALL = re.compile(r"([A-Za-z_]\w*)\s*(?:<([^;(){}]{0,200})>)?\s*\(")
_STATEMENT = re.compile(r'(?:"(?:\\.|[^"\\])*"|[^;{}"])+')  # an `asm` has semicolons in its texts
_STORES = re.compile(r"global\.shared|shared_to_global|store|reduce", re.IGNORECASE)


@dataclass(frozen=True)
class _Scope:
    """A function's text from `start` to `end`, its numbers, and its caller's texts by parameter."""

    start: int
    end: int
    numbers: Mapping[str, Number]
    given: Mapping[str, str]
    caller: _Scope | None = None


@dataclass(frozen=True)
class _Call:
    name: str
    template: Sequence[str]
    arguments: Sequence[str]
    position: int


def guess_maps(
    program: HostProgram,
    launch: HostLaunch,
    numbers: Mapping[str, Number],
    arguments: Mapping[str, str],
    body: str,
) -> dict[str, str]:
    """The texts of those `arguments`, host expressions by parameter, that lead to a tensor map.

    `numbers` are those of the launching function, `body` is the kernel's: where it only stores
    through a map the array begins with zeros.
    """
    if "CU_TENSOR_MAP_" not in program.text:
        return {}
    start = program.function_start(launch.position)
    scope = _Scope(start, launch.position, {**numbers, **_ENUMERATORS}, {})
    maps = _Maps(program)
    found = {name: _Maps(program).text(text, scope, 0) for name, text in arguments.items()}
    return {
        name: f"tensormap({'zeros:' if maps.is_only_stored(name, body) else ''}{text})"
        for name, text in found.items()
        if text
    }


def may_be_map(parameter: SignatureParameter) -> bool:
    """Whether a parameter may be a tensor map or a pointer to one."""
    dtype = parameter.dtype
    is_as_long = dtype is None or dtype.itemsize * parameter.lanes == BYTES
    return parameter.is_tensor_map or (parameter.is_pointer and is_as_long)


class _Maps:
    def __init__(self, program: HostProgram) -> None:
        self._program, self._source = program, program.text
        self._steps = 0

    def text(self, expression: str, scope: _Scope, depth: int) -> str:
        """What stands in `tensormap(…)` for a map of the host's; "" where nothing tells."""
        self._steps += 1
        if depth > _DEEPEST or self._steps > _MOST_STEPS:
            return ""
        whole = next(self._calls(expression, 0), None)
        if whole is not None and whole.position == 0:
            return self._returned(whole, scope, depth)
        name = _plain(expression)
        if not re.fullmatch(r"[A-Za-z_][\w.\[\]]*", name):
            return ""
        calls = list(self._calls(self._source[scope.start : scope.end], scope.start))
        assigned = re.compile(rf"(?<![\w.]){re.escape(name)}\s*[={{]\s*(?:\w+::)*$")
        for call in reversed(calls):
            if assigned.search(self._source[scope.start : call.position]):
                found = self._returned(call, scope, depth)
            else:
                names = [_plain(argument) for argument in call.arguments]
                found = self._made(call, names.index(name), scope, depth) if name in names else ""
            if found:
                return found
        alias = rf"(?<![\w.]){re.escape(name)}\s*=\s*([&*\w.\[\]\s]+);"
        others = re.findall(alias, self._source[scope.start : scope.end])
        return self.text(others[-1], scope, depth + 1) if others else ""

    def is_only_stored(self, name: str, body: str) -> bool:
        """Whether all that a kernel does with a map is to store through it."""
        last = re.compile(rf"\b{re.escape(name.rpartition('.')[2])}\b")
        uses = [s for s in _STATEMENT.findall(body) if last.search(s) and "prefetch" not in s]
        return bool(uses) and all(map(self._stores, uses))

    def _stores(self, statement: str) -> bool:
        bodies = (self._function(call[1], len(self._source)) for call in _CALL.finditer(statement))
        called = (self._source[b[2] : b[3]] for b in bodies if b is not None)
        return any(_STORES.search(text) for text in (statement, *called))

    def _calls(self, text: str, offset: int) -> Iterator[_Call]:
        for match in _CALL.finditer(text):
            inside = text[match.end() : match.end() + _LONGEST]
            inside = inside[: closing(inside, 0)]
            template = split_at_commas(match[2] or "")
            arguments = split_at_commas(inside, ROUND)
            yield _Call(match[1], template, arguments, offset + match.start())

    def _made(self, call: _Call, place: int, scope: _Scope, depth: int) -> str:
        """The map that a call makes at its argument of that place."""
        if len(call.arguments) == _ARGUMENTS and place == 0:
            return self._encoded(call, scope)
        if call.name.startswith("cudaMemcpy") or call.name.startswith("cuMemcpy"):
            return self.text(call.arguments[1], scope, depth + 1) if place == 0 else ""
        entered = self._entered(call, scope)
        if entered is None or place >= len(entered.given):
            return ""
        return self.text(list(entered.given)[place], entered, depth + 1)

    def _returned(self, call: _Call, scope: _Scope, depth: int) -> str:
        entered = self._entered(call, scope)
        if entered is None:
            return ""
        returned = re.findall(r"\breturn\b([^;]+);", self._source[entered.start : entered.end])
        return self.text(returned[-1].strip(), entered, depth + 1) if returned else ""

    def _entered(self, call: _Call, scope: _Scope) -> _Scope | None:
        """The function that a call enters, with its parameters bound; None for none of the text."""
        self._steps += 1
        found = None
        if self._steps <= _MOST_STEPS:
            found = self._function(call.name, call.position or scope.end)
        if found is None:
            return None
        template, formals, start, end = found
        given = dict(zip(formals, call.arguments, strict=False))
        bound = dict(scope.numbers)
        for name, text in (*template.items(), *zip(template, call.template, strict=False)):
            if (value := self._program.value(text, scope.numbers)) is not None:
                bound[name] = value
        for name, text in given.items():
            if (value := self._program.value(text, scope.numbers)) is not None:
                bound[name] = value
        numbers = self._program.numbers_after(self._source[start:end], bound)
        return _Scope(start, end, numbers, given, scope)

    def _function(
        self, name: str, before: int
    ) -> tuple[dict[str, str], list[str], int, int] | None:
        """The last definition before a position: template defaults, parameters, the body's ends."""
        pattern = rf"\b{re.escape(name)}\s*(?:=\s*\[[^\]]*\]\s*)?\("  # of a lambda, too
        found = None
        for match in re.finditer(pattern, self._source[:before]):
            end = closing(self._source, match.end())
            opens = re.compile(r"\)\s*(?:noexcept\s*)?(?:->[\s\w:]+)?\{").match(self._source, end)
            if opens is None:
                continue
            begin = 1 + max(self._source.rfind(mark, 0, match.start()) for mark in ";{}")
            header = re.search(r"\btemplate\s*<([^<>]*)>", self._source[begin : match.start()])
            template = _defaults(split_at_commas(header[1]) if header else [])
            formals = _defaults(split_at_commas(self._source[match.end() : end]))
            body_end = closing(self._source, opens.end(), "{}")
            found = template, list(formals), opens.end(), body_end
        return found

    def _encoded(self, call: _Call, scope: _Scope) -> str:
        """The map that a call of the driver's function makes, as it is typed."""
        here = _Scope(scope.start, call.position, scope.numbers, scope.given, scope.caller)
        codes = [self._program.value(call.arguments[i], scope.numbers) for i in (1, 2, 9)]
        if any(code is None for code in codes):
            return ""
        kind, rank, swizzle = (int(code or 0) for code in codes)
        valid = kind < len(_TYPES) and 1 <= rank <= MOST_DIMENSIONS and swizzle < len(_SWIZZLES)
        if not valid:
            return ""
        sizes, strides, box, steps = (
            self._numbers_of(call.arguments[i], here)[: rank - (i == 5)] for i in (4, 5, 6, 7)
        )
        lacks = (len(sizes), len(strides), len(box)) != (rank, rank - 1, rank)
        if lacks or min(*sizes, *box) < 1:
            return ""
        dtype, nbytes = list(_TYPES.values())[kind]
        options = [f"box={_by(box)}"]
        shape = sizes[::-1]
        if strides != [nbytes * math.prod(sizes[:i]) for i in range(1, rank)]:
            made = TensorMap(0, nbytes, tuple(sizes), tuple(strides), tuple(box), tuple(steps), 0)
            pitch = max(strides[0] // nbytes, 1)
            shape = [-(-made.extent_in_memory // (nbytes * pitch)), pitch]
            options += [f"sizes={_by(sizes)}", f"strides={_by(strides)}"]
        if any(step != 1 for step in steps):
            options.append(f"steps={_by(steps)}")
        if swizzle:
            options.append(f"swizzle={_SWIZZLES[swizzle]}")
        return ", ".join((f"{dtype}[{','.join(map(str, shape))}]", *options))

    def _numbers_of(self, expression: str, scope: _Scope) -> list[int]:
        """The numbers of an array of the host's, as far as they can be told; `a + 1` is moved."""
        array = r"&?(\w+)(?:\.data\(\))?(?:\s*\+\s*(\d)|\[(\d)\])?"
        match = re.fullmatch(array, expression.strip())
        if match is None:
            return []
        name, moved = match[1], int(match[2] or match[3] or 0)
        text = self._source[scope.start : scope.end]
        found: list[int] = []
        written = list(re.finditer(rf"\b{name}\s*(?:\[[^\]]*\])?\s*=?\s*\{{", text))
        items = {
            int(place): item
            for place, item in re.findall(rf"\b{name}\s*\[\s*(\d)\s*\]\s*=(?!=)([^;]+);", text)
        }
        if written:
            inside = text[written[-1].end() : closing(text, written[-1].end(), "{}")]
            items = {**dict(enumerate(split_at_commas(inside, ROUND))), **items}
        if not items and scope.caller is not None:  # a lambda takes its caller's by their names
            return self._numbers_of(scope.given.get(name, name), scope.caller)[moved:]
        for place in range(len(items)):
            value = self._program.value(items.get(place, ""), scope.numbers)
            if value is None:
                break
            found.append(int(value))
        return found[moved:]


def _plain(expression: str) -> str:
    """The name of the variable that an expression is, or leads to."""
    return pointer_name(expression).strip("*& \t\n")


def _defaults(parameters: Sequence[str]) -> dict[str, str]:
    """Defaults by a function's parameters, "" where there is none."""
    parts = [parameter.partition("=") for parameter in parameters]
    names = (re.findall(r"\w+", declared.partition("[")[0]) for declared, _, _ in parts)
    return {n[-1]: part[2].strip() for n, part in zip(names, parts, strict=True) if n}


def _by(values: Sequence[int]) -> str:
    return "x".join(map(str, values))
