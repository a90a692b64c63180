"""The `__global__` functions of a source as its text declares them: name, template, parameters.

A reader for declarations, not a C++ parser. Macros that stand for `__global__`, and macros that
make whole kernels, are expanded first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

_DEFINE = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\(([^)]*)\))?[ \t]*([^\n]*)$", re.MULTILINE
)
_ATTRIBUTES = (
    "__launch_bounds__", "__cluster_dims__", "__maxnreg__", "__attribute__", "__block_size__",
    "__declspec",
)  # fmt: skip
_DISABLED = re.compile(r"^[ \t]*#[ \t]*if[ \t]+0\b", re.MULTILINE)
_NAMESPACE = re.compile(r"\bnamespace\s+([\w:]*)\s*$")
_GLOBAL = re.compile(r"__global__")
_DEEPEST_MACROS = 4
_LONGEST_HEADER = 10_000  # characters of `template <…>` and qualifiers


@dataclass(frozen=True)
class TemplateParameter:
    """`typename T = float` or `int N = 4`; `default` is "" without one, `type` that of a value."""

    kind: Literal["type", "value"]
    name: str
    default: str = ""
    type: str = ""


@dataclass(frozen=True)
class KernelText:
    """One `__global__` function: its name, with its namespaces, and its parameters as written."""

    name: str
    qualified: str
    parameters: tuple[str, ...]
    template: tuple[TemplateParameter, ...] = ()
    body: str = ""  # without comments, "" where it is only declared


@lru_cache(maxsize=16)
def without_comments(source: str) -> str:
    """The source with its comments taken out and continued lines joined; strings stay.

    What stands between `#if 0` and its end goes, too; other conditions are not followed.
    """
    pattern = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    text = re.sub(
        pattern,
        lambda m: " " if m.group().startswith("/") else m.group(),
        source.replace("\\\n", " "),
        flags=re.DOTALL,
    )
    return without_disabled(text)


def without_disabled(text: str) -> str:
    """A text with spaces in place of what stands between `#if 0` and its end."""
    if not _DISABLED.search(text):
        return text
    lines: list[str] = []
    depth = 0
    for line in text.split("\n"):
        word = re.match(r"\s*#\s*(if\w*|else|elif|endif)\b", line)
        if depth:
            depth += (word[1].startswith("if") - (word[1] == "endif")) if word else 0
            if depth == 1 and word and word[1] in ("else", "elif"):
                depth = 0
            lines.append(" " * len(line))
        else:
            depth = int(bool(_DISABLED.match(line)))
            lines.append(" " * len(line) if depth else line)
    return "\n".join(lines)


@lru_cache(maxsize=16)
def kernels(source: str) -> tuple[KernelText, ...]:
    """The kernels of a source in order; one that is declared before it is defined counts once.

    Of declaration and definition the latter counts, as it names the parameters.
    """
    found: dict[str, KernelText] = {}
    for kernel in _kernels(with_kernel_macros(without_comments(source))):
        known = found.get(kernel.qualified)
        if known is None or kernel.body or not known.body:
            found[kernel.qualified] = kernel
    return tuple(found.values())


def with_kernel_macros(text: str) -> str:
    """A text without comments, with the macros expanded whose meaning holds `__global__`."""
    return with_macros(text, _GLOBAL)


def with_macros(text: str, words: re.Pattern[str]) -> str:
    """A text without comments, with the macros expanded in whose meaning `words` is found.

    Of several meanings that the text has for a name the first counts.
    """
    for _ in range(_DEEPEST_MACROS):
        macros = [m for m in _DEFINE.finditer(text) if words.search(m[3])]
        if not macros:
            return text
        for macro in reversed(macros):
            text = text[: macro.start()] + text[macro.end() :]
        for macro in macros:
            text = _expanded(text, macro[1], macro[2], macro[3])
    return text


def _expanded(text: str, name: str, formals: str | None, body: str) -> str:
    if formals is None:
        return re.sub(rf"\b{name}\b", lambda _: body, text)
    names = [formal.strip() for formal in formals.split(",")]
    at = 0
    while call := re.compile(rf"\b{name}\s*\(").search(text, at):
        end = closing(text, call.end())
        given = split_at_commas(text[call.end() : end], "()")  # the preprocessor knows no others
        made = _substituted(body, _bound(names, given))
        text = text[: call.start()] + made + text[end + 1 :]
        at = call.start() + len(made)
    return text


def _bound(formals: list[str], given: list[str]) -> dict[str, str]:
    """What each formal stands for; `...`, or `name...`, for all that is left."""
    values = dict(zip(formals, given, strict=False))
    if formals[-1].endswith("..."):
        values.pop(formals[-1], None)
        name = formals[-1].removesuffix("...").strip() or "__VA_ARGS__"
        values[name] = ", ".join(given[len(formals) - 1 :])
    return values


def _substituted(body: str, values: dict[str, str]) -> str:
    """A macro's meaning with its arguments in it, all at once, and with `#` and `##` done."""
    for name in (name for name, value in values.items() if not value):
        body = re.sub(rf",\s*##\s*{name}\b", "", body)  # GNU: no rest, no comma

    def replacement(match: re.Match[str]) -> str:
        if match[2] not in values:
            return match[0]
        value = values[match[2]]
        return '"' + re.sub(r'(["\\])', r"\\\1", value) + '"' if match[1] else value

    made = re.sub(r"((?<!#)#(?!#)\s*)?\b([A-Za-z_]\w*)\b", replacement, body)
    return re.sub(r"\s*##\s*", "", made)


def _kernels(text: str) -> Iterator[KernelText]:
    starts = [*re.finditer(r"\b__global__\b", text)]
    for start, spaces in zip(starts, _namespaces(text, [s.start() for s in starts]), strict=True):
        position = start.end()
        while match := re.compile(r"\s*([\w:]+)\s*(\()?").match(text, position):
            word, opens = match.group(1), match.group(2)
            position = match.end()
            if not opens:
                continue
            end = closing(text, position)
            inside = text[position:end]
            position = end + 1
            if word in _ATTRIBUTES:
                continue
            name = word.rpartition("::")[2]
            yield KernelText(
                name,
                "::".join([*spaces, name]),
                _parameters(inside),
                _template(text[max(0, start.start() - _LONGEST_HEADER) : start.start()]),
                _body(text, position),
            )
            break


def _body(text: str, position: int) -> str:
    opens = re.compile(r"\s*\{").match(text, position)
    return text[opens.end() : closing(text, opens.end(), "{}")] if opens else ""


def _parameters(inside: str) -> tuple[str, ...]:
    parts = [part.partition("=")[0].strip() for part in split_at_commas(inside)]
    return () if parts in ([], [""], ["void"]) else tuple(parts)


def _namespaces(text: str, places: Sequence[int]) -> Iterator[list[str]]:
    """The named namespaces that are open at each of some ascending places of a text."""
    spaces: list[str] = []
    at, marks = 0, re.finditer(r"[{}]", text)
    mark = next(marks, None)
    for place in places:
        while mark and mark.start() < place:
            if mark[0] == "}":
                del spaces[-1:]
            else:
                named = _NAMESPACE.search(text, at, mark.start())
                spaces.append(named[1] if named else "")
            at, mark = mark.end(), next(marks, None)
        yield [space for space in spaces if space]


def _template(before: str) -> tuple[TemplateParameter, ...]:
    """The parameters of `template <…>` that a text ends with, qualifiers aside."""
    start = max(before.rfind(mark) for mark in ";{}")
    match = re.compile(r"\btemplate\s*<").search(before, start + 1)
    if not match:
        return ()
    end = closing(before, match.end(), "<>")
    return tuple(_template_parameter(p) for p in split_at_commas(before[match.end() : end]))


def _template_parameter(text: str) -> TemplateParameter:
    left, _, default = (part.strip() for part in text.partition("="))
    words = re.findall(r"[\w:]+", left)
    name = words[-1] if len(words) > 1 else ""
    if words[:1] in (["typename"], ["class"], ["template"]):
        return TemplateParameter("type", name, default)
    return TemplateParameter("value", name, default, " ".join(words[:-1]))


def closing(text: str, position: int, pair: str = "()") -> int:
    """Where the bracket closes that was opened before `position`; the text's end if nowhere."""
    depth = 1
    for index in range(position, len(text)):
        depth += (text[index] == pair[0]) - (text[index] == pair[1])
        if depth == 0:
            return index
    return len(text)


def split_at_commas(text: str, brackets: str = "(<[{)>]}") -> list[str]:
    """The parts between the commas that stand in no brackets, stripped; [] for a blank text."""
    parts, depth = [""], 0
    half = len(brackets) // 2
    for character in text:
        depth += (character in brackets[:half]) - (character in brackets[half:])
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    stripped = [part.strip() for part in parts]
    return [] if stripped == [""] else stripped
