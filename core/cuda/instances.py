"""Which instances of a kernel that is a template a source asks for: `reduce<512, float>`.

A launch names them, as far as it does; the rest follows from the types of what is passed.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from core.cuda.kernel_text import (
    KernelText,
    TemplateParameter,
    closing,
    split_at_commas,
    with_kernel_macros,
    without_comments,
)
from core.cuda.source_constants import SourceText, evaluate
from core.cuda.source_constants import read_source as read_constants

_BUILT_IN = (
    r"(?:unsigned\s+|signed\s+|long\s+)*(?:float|double|int|char|short|long|unsigned|bool|half"
    r"|__half|size_t|u?int(?:8|16|32|64)_t|(?:float|double|int|uint|uchar)[234])"
)
_ROUND = "([{)]}"
_LONGEST_NAME = 4000  # characters, template arguments included
_LAMBDA = "[]"  # a type without a name
_SIZES = re.compile(r"size|block|threads|tile|dim|bs|bm|bn", re.IGNORECASE)


@dataclass(frozen=True)
class HostLaunch:
    """`name<template><<<configuration>>>(arguments)` and the function that it stands in."""

    name: str
    template: tuple[str, ...]
    configuration: tuple[str, ...]
    arguments: tuple[str, ...]
    function: str
    position: int


def split_instance(kernel: str) -> tuple[str, tuple[str, ...]]:
    """`ns::axpy<float, 4>` as ("ns::axpy", ("float", "4"))."""
    name, opens, rest = kernel.partition("<")
    inside = rest.rstrip().removesuffix(">")
    return name.strip(), tuple(split_at_commas(inside)) if opens else ()


@lru_cache(maxsize=16)
def host_launches(source: str) -> tuple[HostLaunch, ...]:
    """The launches in a source's text, in order."""
    return tuple(_launches(with_kernel_macros(without_comments(source))))


def instances(source: str, kernel: KernelText) -> tuple[str, ...]:
    """The names of the instances of a kernel that its source launches or declares; itself if none.

    Where the source asks for none the most likely arguments are taken: float, and 4 or 128.
    """
    if not kernel.template:
        return (kernel.name,)
    constants = read_constants(source, {})
    found = [
        _instance(source, kernel, launch, constants)
        for launch in host_launches(source)
        if launch.name.rpartition("::")[2] == kernel.name
    ]
    plain = without_comments(source)
    declared = rf"\btemplate\s+(?:__global__\s+)?void\s+(?:\w+::)*{kernel.name}\s*<([^;()]*)>\s*\("
    found += [f"{kernel.name}<{inside.strip()}>" for inside in re.findall(declared, plain)]
    usable = [name for name in found if name]
    likely = "" if found else _instance(source, kernel, None, constants)
    return tuple(dict.fromkeys(usable)) or (likely or kernel.name,)


def qualified(source: str, kernels: tuple[KernelText, ...], name: str) -> str:
    """An instance's name with the kernel's namespaces, as an expression for the compiler."""
    base, given = split_instance(name)
    plain = base.rpartition("::")[2]
    full = next((k.qualified for k in kernels if k.name == plain), base)
    return f"{full}<{', '.join(given)}>"


def _launches(text: str) -> Iterator[HostLaunch]:
    headers = [*re.finditer(r"\b(\w+)\s*\([^;{}]*\)\s*(?:const\s*)?\{", text)]
    ends = [header.end() for header in headers]
    for mark in re.finditer(r"<<<", text):
        name, template = _named_before(text, mark.start())
        end = text.find(">>>", mark.end())
        after = re.compile(r"\s*\(").match(text, end + 3)
        if not name or end < 0 or not after:
            continue
        inside = text[after.end() : closing(text, after.end())]
        around = bisect.bisect_right(ends, mark.start())
        yield HostLaunch(
            name,
            template,
            tuple(split_at_commas(text[mark.end() : end], _ROUND)),
            tuple(split_at_commas(inside, _ROUND)),
            headers[around - 1][1] if around else "",
            mark.start(),
        )
    for mark in re.finditer(r"\bcudaLaunch(?:Cooperative)?Kernel\s*\(", text):
        parts = split_at_commas(text[mark.end() : closing(text, mark.end())], _ROUND)
        called = re.search(r"([\w:]+)\s*(?:<(.*)>)?\s*$", parts[0]) if len(parts) > 3 else None
        if called:
            template = tuple(split_at_commas(called[2] or ""))
            yield HostLaunch(called[1], template, (*parts[1:3], *parts[4:5]), (), "", mark.start())


def _named_before(text: str, at: int) -> tuple[str, tuple[str, ...]]:
    """The name, and template arguments if any, that a text has before a position."""
    text = text[max(0, at - _LONGEST_NAME) : at]
    end = len(text.rstrip())
    inside = ""
    if text[end - 1 : end] == ">":
        depth, start = 0, end
        while start > 0:
            start -= 1
            depth += (text[start] == ">") - (text[start] == "<")
            if depth == 0:
                break
        inside, end = text[start + 1 : end - 1], len(text[:start].rstrip())
    name = re.search(r"[\w:]+$", text[:end])
    return (name[0] if name else ""), tuple(split_at_commas(inside))


def _instance(
    source: str, kernel: KernelText, launch: HostLaunch | None, constants: SourceText
) -> str:
    """The instance that a launch asks for; "" where an argument cannot be told."""
    values: list[str] = []
    for position, parameter in enumerate(kernel.template):
        text = ""
        if launch is not None and position < len(launch.template):
            text = _explicit(parameter, launch.template[position], launch, source, constants)
        elif launch is not None:
            text = _deduced(source, kernel, parameter, launch)
        if not text and parameter.default:
            break  # this one and those after it have values of their own
        values.append(text or _likely(source, parameter))
        if values[-1] in ("", _LAMBDA):
            return ""
    if launch is not None:  # the rest of a pack
        values += launch.template[len(kernel.template) :]
    return f"{kernel.name}<{', '.join(values)}>"


def _explicit(
    parameter: TemplateParameter, text: str, launch: HostLaunch, source: str, constants: SourceText
) -> str:
    if parameter.kind == "type":
        is_parameter = re.search(rf"\b(?:typename|class)\s+{re.escape(text)}\b", source)
        return "" if is_parameter else text
    expanded = constants.expanded(text)
    known = {
        **constants.constants_in(launch.function),
        **_host_constants(source, launch, constants),
    }
    value = evaluate(expanded, known)
    if value is not None:
        return str(value)
    return text if text in ("true", "false") or "::" in text else ""


def _host_constants(source: str, launch: HostLaunch, constants: SourceText) -> dict[str, int]:
    """The `const int`s in front of a launch, of several of one name the last."""
    text = with_kernel_macros(without_comments(source))[: launch.position]
    known: dict[str, int] = {}
    pattern = r"\bconst(?:expr)?\s+(?:static\s+|unsigned\s+)*\w+\s+(\w+\s*=[^;{}]+);"
    for declared in re.findall(pattern, text):
        for part in split_at_commas(declared, _ROUND):
            name, _, expression = (piece.strip() for piece in part.partition("="))
            value = evaluate(constants.expanded(expression), known)
            if value is not None:
                known[name] = value
    return known


def _deduced(
    source: str, kernel: KernelText, parameter: TemplateParameter, launch: HostLaunch
) -> str:
    """A type from the argument that it belongs to."""
    for declared, actual in zip(kernel.parameters, launch.arguments, strict=False):
        words = re.match(rf"(?:const\s+)?{parameter.name}\b(?!\s*::)", declared)
        if words and actual.startswith("["):
            return _LAMBDA
        if words and (kind := _type_of(actual, source, "*" in declared)):
            return kind
    return ""


def _type_of(expression: str, source: str, is_pointer: bool) -> str:
    """The type of a host's expression, or of what it points to; "" where that is unclear."""
    text = without_comments(source)
    cast = re.match(rf"\(\s*(?:const\s+)?({_BUILT_IN}|\w+)\s*(\*?)\s*\)", expression)
    if cast and bool(cast[2]) == is_pointer:
        return cast[1]
    if re.fullmatch(r"-?[\d.]+(?:[eE][-+]?\d+)?[fF]", expression):
        return "float"
    if re.fullmatch(r"-?(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?", expression):
        return "double"
    if re.fullmatch(r"-?\d+", expression):
        return "int"
    made = re.match(r"(\w+(?:<[\w, ]*>)?)\s*[({]", expression)
    if made and re.search(rf"\b(?:struct|class)\s+{made[1].partition('<')[0]}\b", text):
        return made[1]
    name = re.match(r"&?\s*(\w+)", expression)
    if not name:
        return ""
    others = r"(?:\w+(?:\s*=[^,;]*)?\s*,\s*\*?\s*)*"
    star = (r"\s*\*\s*" if is_pointer else r"\s+") + others
    declared = re.search(
        rf"\b({_BUILT_IN}|[A-Z]\w*(?:<[\w, ]*>)?){star}\b{name[1]}\b(?=\s*[=;,){{\[(])", text
    )
    return re.sub(r"^const\s+", "", declared[1]) if declared else ""


def _likely(source: str, parameter: TemplateParameter) -> str:
    if parameter.kind == "type":
        functors = re.findall(
            r"\b(?:struct|class)\s+(\w+)[^;{}]*\{[^}]*\boperator\s*\(\s*\)", source
        )
        takes = re.fullmatch(r"(?:Op|F|Func|Function|Functor|Fn|UnaryOp|BinaryOp|\w*Op)",
                             parameter.name)  # fmt: skip
        if takes:
            return functors[0] if functors else ""
        return "float"
    if parameter.type == "bool":
        return "true"
    return "128" if _SIZES.search(parameter.name) else "4"
