"""The tensor maps that a host's code makes, as the texts of a kernel's arguments."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from core.compiler.kernel_parameters import KernelParameter
from core.source.c_numbers import Number
from core.source.cuda_parser import text_of
from core.source.functions_and_calls import HostSyntax
from core.source.host_headers import TENSOR_MAPS
from core.tensor_maps import BYTES, MOST_DIMENSIONS, TensorMap

_TYPES = [  # an array's type for each CUtensorMapDataType: TFLOAT32 has as many bits as FLOAT32
    name.removeprefix("DATA_TYPE_").removesuffix("_FTZ").removeprefix("T").lower()
    for name in TENSOR_MAPS["DataType"]
]
_SWIZZLES = ("NONE", "32B", "64B", "128B")
ENUMERATORS: Mapping[str, Number] = {
    f"CU_TENSOR_MAP_{name}": code
    for names in TENSOR_MAPS.values()
    for code, name in enumerate(names)
}
_CALL = re.compile(r"([A-Za-z_]\w*)\s*(?:<[^;(){}]{0,200}>)?\s*\(")
_STATEMENT = re.compile(r'(?:"(?:\\.|[^"\\])*"|[^;{}"])+')  # an `asm` has semicolons in its texts
_STORES = re.compile(r"global\.shared|shared_to_global|store|reduce", re.IGNORECASE)


def may_be_map(parameter: KernelParameter) -> bool:
    """Whether a parameter may be a tensor map or a pointer to one."""
    dtype = parameter.dtype
    is_as_long = dtype is None or dtype.itemsize * parameter.lanes == BYTES
    return parameter.is_tensor_map or (parameter.is_pointer and is_as_long)


def as_argument(text: str, name: str, body: str, syntax: HostSyntax) -> str:
    """A map as it is typed for a parameter of a kernel with that body.

    Where the kernel only stores through it the array begins with zeros.
    """
    return f"tensormap({'zeros:' if _is_only_stored(name, body, syntax) else ''}{text})"


def _is_only_stored(name: str, body: str, syntax: HostSyntax) -> bool:
    last = re.compile(rf"\b{re.escape(name.rpartition('.')[2])}\b")
    uses = [s for s in _STATEMENT.findall(body) if last.search(s) and "prefetch" not in s]
    return bool(uses) and all(_stores(statement, syntax) for statement in uses)


def _stores(statement: str, syntax: HostSyntax) -> bool:
    called = (f for name in _CALL.findall(statement) for f in syntax.by_name.get(name, ())[-1:])
    return any(_STORES.search(text) for text in (statement, *(text_of(f.body) for f in called)))


def encoded(given: Sequence[Any]) -> str:
    """The map that `cuTensorMapEncodeTiled` makes of its twelve arguments; "" where one is unknown.

    They are numbers, lists of numbers, or something else.
    """
    codes = [given[at] for at in (1, 2, 9)]
    lists = [given[at] for at in (4, 5, 6, 7)]
    if not all(isinstance(code, int) for code in codes):
        return ""
    if not all(isinstance(numbers, list) for numbers in lists):
        return ""
    kind, rank, swizzle = codes
    valid = 0 <= kind < len(_TYPES) and 0 <= swizzle < len(_SWIZZLES)
    if not valid or not 1 <= rank <= MOST_DIMENSIONS:
        return ""
    sizes, strides, box, steps = (numbers[: rank - (at == 1)] for at, numbers in enumerate(lists))
    lacks = (len(sizes), len(strides), len(box)) != (rank, rank - 1, rank)
    if lacks or min(*sizes, *box) < 1:
        return ""
    dtype = _TYPES[kind]
    nbytes = int(re.sub(r"\D", "", dtype)) // 8
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


def _by(values: Sequence[int]) -> str:
    return "x".join(map(str, values))
