"""The parameters of a __global__ function, read from its CUDA source.

A reader for declarations, not a C++ parser: it knows comments, qualifiers, built-in and vector
types, and aliases made with #define, -D, typedef or using. What it does not know it refuses by
name. Widths are those of 64-bit Linux, where `long` has 8 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from core.errors import ArgumentError

_NO_DEFINES: Mapping[str, str] = MappingProxyType({})
_QUALIFIERS = {"const", "volatile", "__restrict__", "__restrict", "restrict", "struct", "typename"}
_TYPES: Mapping[str, str] = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "__half": "float16",
    "bool": "bool",
    "char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "ushort": "uint16",
    "int": "int32",
    "unsigned int": "uint32",
    "uint": "uint32",
    "long": "int64",
    "unsigned long": "uint64",
    "ulong": "uint64",
    "long long": "int64",
    "unsigned long long": "uint64",
    "size_t": "uint64",
    "ptrdiff_t": "int64",
    "intptr_t": "int64",
    "uintptr_t": "uint64",
    **{f"{u}int{bits}_t": f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)},
}
_VECTOR = re.compile(
    r"(u?char|u?short|u?int|u?long|u?longlong|float|double)([1234])"
)  # float4 and the like
_VECTOR_BASE: Mapping[str, str] = {
    "char": "int8",
    "uchar": "uint8",
    "short": "int16",
    "ushort": "uint16",
    "int": "int32",
    "uint": "uint32",
    "long": "int64",
    "ulong": "uint64",
    "longlong": "int64",
    "ulonglong": "uint64",
    "float": "float32",
    "double": "float64",
}


@dataclass(frozen=True)
class SignatureParameter:
    """One parameter of a kernel.

    `dtype` is that of the value, or of what a pointer points to (the component of a vector such as
    float4); None for `void*`. `is_const`: a pointer through which the kernel may not write.
    """

    name: str
    type: str
    dtype: np.dtype[Any] | None
    is_pointer: bool
    is_const: bool


def kernel_names(source: str) -> tuple[str, ...]:
    """The names of the __global__ functions in a source, in order."""
    return tuple(dict.fromkeys(name for name, _ in _kernels(without_comments(source))))


def read_signature(
    source: str, kernel: str, defines: Mapping[str, str] = _NO_DEFINES
) -> tuple[SignatureParameter, ...]:
    """The parameters of `kernel` (its name as written, `ns::name` or `name`), in order.

    Raises ArgumentError when there is no such kernel or a parameter's type is not understood.
    """
    text = without_comments(source)
    name = kernel.rpartition("::")[2]
    for found, parameters in _kernels(text):
        if found == name:
            aliases = {**_aliases(text), **defines}
            return tuple(_parameter(declaration, aliases) for declaration in _split(parameters))
    names = kernel_names(source)
    there = f"it has: {', '.join(names)}" if names else "it has no __global__ function"
    raise ArgumentError(f"The source has no kernel called {kernel}; {there}.")


def without_comments(source: str) -> str:
    """The source with its comments taken out and continued lines joined; strings stay."""
    pattern = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    return re.sub(
        pattern,
        lambda m: " " if m.group().startswith("/") else m.group(),
        source.replace("\\\n", " "),
        flags=re.DOTALL,
    )


def _kernels(text: str) -> Iterator[tuple[str, str]]:
    """Name and parameter list of each __global__ function."""
    for start in re.finditer(r"\b__global__\b", text):
        position = start.end()
        while match := re.compile(r"\s*([\w:]+)\s*(\()?").match(text, position):
            word, opens = match.group(1), match.group(2)
            position = match.end()
            if not opens:
                continue
            end = _closing(text, position)
            inside = text[position:end]
            position = end + 1
            if word in ("__launch_bounds__", "__cluster_dims__", "__maxnreg__", "__attribute__"):
                continue
            yield word.rpartition("::")[2], inside
            break


def _closing(text: str, position: int) -> int:
    depth = 1
    for index in range(position, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index
    return len(text)


def _split(parameters: str) -> list[str]:
    parts, depth = [""], 0
    for character in parameters:
        depth += {"(": 1, "<": 1, "[": 1, ")": -1, ">": -1, "]": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    stripped = [part.split("=")[0].strip() for part in parts]
    return [] if stripped in ([""], ["void"]) else stripped


def _aliases(text: str) -> dict[str, str]:
    """Other names of types: #define real float; typedef float real; using real = float."""
    found = dict(re.findall(r"^\s*#\s*define\s+(\w+)[ \t]+([\w \t]+?)\s*$", text, re.MULTILINE))
    found |= {new: old for old, new in re.findall(r"\btypedef\s+([\w\s]+?)\s+(\w+)\s*;", text)}
    return found | dict(re.findall(r"\busing\s+(\w+)\s*=\s*([\w\s]+?)\s*;", text))


def _parameter(declaration: str, aliases: Mapping[str, str]) -> SignatureParameter:
    match = re.fullmatch(
        r"(?P<type>.*?)(?P<name>\w+)\s*(?P<array>(\[[^\]]*\]\s*)*)", declaration, re.DOTALL
    )
    words = " ".join(re.sub(r"\*", " * ", match["type"]).split()) if match else ""
    if not match or not words:
        raise ArgumentError(f"The parameter `{declaration}` of the kernel cannot be read.")
    pointee, _, _ = words.partition("*")
    stars = words.count("*") + bool(match["array"])
    shown = words.replace(" *", "*") + ("*" if match["array"] else "")
    if stars > 1 or "&" in words:
        raise ArgumentError(
            f"The parameter `{declaration}` is a pointer to a pointer or a reference: "
            "only buffers and scalars can be given here."
        )
    pointee_words = _resolved(pointee, aliases)
    return SignatureParameter(
        name=match["name"],
        type=shown,
        dtype=_dtype(pointee_words, declaration, is_pointer=stars == 1),
        is_pointer=stars == 1,
        is_const=stars == 1 and "const" in pointee_words,
    )


def _resolved(type_text: str, aliases: Mapping[str, str]) -> list[str]:
    words = type_text.split()
    for _ in range(8):  # aliases of aliases
        if not any(word in aliases for word in words):
            break
        words = [part for word in words for part in aliases.get(word, word).split()]
    return words


def _dtype(words: list[str], declaration: str, *, is_pointer: bool) -> np.dtype[Any] | None:
    plain = [word.removeprefix("std::") for word in words if word not in _QUALIFIERS]
    name = _canonical(plain)
    if name in _TYPES:
        return np.dtype(_TYPES[name])
    if name == "void" and is_pointer:
        return None
    vector = _VECTOR.fullmatch(name)
    if vector and is_pointer:
        return np.dtype(_VECTOR_BASE[vector.group(1)])
    raise ArgumentError(
        f"The type of the kernel's parameter `{declaration}` is not one that can be given here: "
        "use built-in numbers and pointers to them."
    )


def _canonical(words: list[str]) -> str:
    """`long unsigned` and `unsigned long int` are both `unsigned long`."""
    built_in = {"signed", "unsigned", "char", "short", "int", "long"}
    if not words or not set(words) <= built_in:
        return " ".join(words)
    if "char" in words:
        return "unsigned char" if "unsigned" in words else "char"
    size = "short" if "short" in words else " ".join(["long"] * words.count("long")) or "int"
    return f"unsigned {size}" if "unsigned" in words else size
