"""The `__global__` functions of a source as its text declares them: name, template, parameters.

A reader for declarations, not a C++ parser. Macros that stand for `__global__`, and macros that
make whole kernels, are expanded first.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from core.source.branches import with_one_branch
from core.source.constants import RAW_STRING, SourceText, evaluate
from core.source.constants import read_source as read_constants

_DEFINE = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\(([^)]*)\))?[ \t]*([^\n]*)$", re.MULTILINE
)
_ATTRIBUTES = (
    "__launch_bounds__",
    "__cluster_dims__",
    "__maxnreg__",
    "__attribute__",
    "__block_size__",
    "__declspec",
)
_DISABLED = re.compile(r"^[ \t]*#[ \t]*if[ \t]+0\b", re.MULTILINE)
_COMMENT = re.compile(
    rf"//[^\n]*|/\*.*?\*/|{RAW_STRING}|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)
_NAMESPACE = re.compile(r"\bnamespace\s+([\w:]*)\s*$")
_HEADS = re.compile(r"__global__|__launch_bounds__|__cluster_dims__|__maxnreg__")
_LAUNCHES = re.compile(r"<<<")
_SPACED_MARK = re.compile(  # a formatter's `k<< <1, 32>> >(a)`
    r"<<( {1,4})<(?!<)|>>( {1,4})>(?=\s*\()"
)
_NUMBER_TYPE = (
    r"\b(?:(?:unsigned|signed|long|short)\s+)*(?:unsigned|int|long|short|char|bool|auto|float|double"
    r"|uint|dim3|(?:std::)?(?:size_t|u?int\d+_t))"
)
_CONST_BEHIND = re.compile(rf"({_NUMBER_TYPE})(\s+)(const(?:expr)?)\b(?=\s+[A-Za-z_])")
_DIM3_IN_BRACES = re.compile(r"(\bdim3\s+\w+\s*)=?(\s*)\{([^{};]*)\}")
_NUMBER_IN_BRACES = re.compile(rf"({_NUMBER_TYPE}\s+[A-Za-z_]\w*\s*)\{{([^{{}};]+)\}}(?=\s*;)")
_DEEPEST_MACROS = 4
_LONGEST_TEXT = 2 << 20  # characters with macros expanded: they may double from one to the next
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
    """One `__global__` function: its name, with its namespaces, and its parameters as written.

    `defaults` are what those parameters are that a launch leaves out, by their names.
    """

    name: str
    qualified: str
    parameters: tuple[str, ...]
    template: tuple[TemplateParameter, ...] = ()
    body: str = ""  # without comments, "" where it is only declared
    is_defined: bool = False
    defaults: Mapping[str, str] = field(default_factory=dict, hash=False)


@lru_cache(maxsize=16)
def without_comments(source: str) -> str:
    """The source with its comments taken out and continued lines joined.

    Strings stay, other than raw ones and such as a kernel's text, which are empty.
    What stands between `#if 0` and its end goes, too, and all branches but the first that open the
    same braces; other conditions are not followed.
    """

    def kept(match: re.Match[str]) -> str:
        if match["mark"] is not None or (match[0][0] == '"' and "__global__" in match[0]):
            return '""'
        return " " if match[0][0] == "/" else match[0]

    plain = _COMMENT.sub(kept, source.replace("\\\n", " "))
    plain = _SPACED_MARK.sub(lambda mark: mark[0].replace(" ", "") + (mark[1] or mark[2]), plain)
    return with_one_branch(without_disabled(plain))


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


@lru_cache(maxsize=8)
def _plain(source: str) -> str:
    """A source without comments, its macros of kernels and launches expanded."""
    return with_kernel_macros(without_comments(source))


@lru_cache(maxsize=16)
def kernels(source: str) -> tuple[KernelText, ...]:
    """The kernels of a source in order; one that is declared before it is defined counts once.

    Of declaration and definition the latter counts, as it names the parameters.
    """
    found: dict[str, KernelText] = {}
    for kernel in _kernels(_with_plain_concepts(_plain(source))):
        known = found.get(kernel.qualified)
        if known is None or kernel.is_defined or not known.is_defined:
            found[kernel.qualified] = kernel
    return tuple(found.values())


@lru_cache(maxsize=16)
def _with_plain_concepts(text: str) -> str:
    """A text of the same length in which `template <Number T>` is `template <class  T>`."""
    for name in re.findall(r"\bconcept\s+(\w{5,})\s*=", text):
        text = re.sub(rf"(?<=[<,\s]){name}(?=\s+\w+\s*[,>=])", "class".ljust(len(name)), text)
    return text


def overloads(source: str, name: str) -> tuple[KernelText, ...]:
    """The kernels of a name, no templates, that have a body, in order."""
    found = _kernels(_with_plain_concepts(_plain(source)))
    return tuple(k for k in found if k.name == name and k.body and not k.template)


def with_plain_declarations(text: str) -> str:
    """A text of the same length in which numbers are declared in one way.

    `unsigned const n{4};` becomes `const unsigned n=4 ;`, and `dim3 grid{4, 2}` `dim3 grid(4, 2)`.
    Of `int n[2] = {64, 32};` n[1] is 32 from there on.
    """
    text = _with_listed_numbers(_CONST_BEHIND.sub(r"\3\2\1", text))
    text = _DIM3_IN_BRACES.sub(lambda m: f"{m[1]}{m[2]}({m[3]})".rjust(len(m[0])), text)
    return _NUMBER_IN_BRACES.sub(r"\1=\2 ", text)


def _with_listed_numbers(text: str) -> str:
    rows: dict[str, list[tuple[int, list[str]]]] = {}
    for row in _NUMBERS_IN_ROW.finditer(text):
        rows.setdefault(row[1], []).append((row.end(), split_at_commas(row[2], _ROUND)))

    def listed(use: re.Match[str]) -> str:
        known = rows.get(use[1], [])
        before = bisect.bisect_right(known, use.start(), key=lambda row: row[0])
        values, at = (known[before - 1][1] if before else []), int(use[2])
        value = values[at] if at < len(values) else ""
        return value.ljust(len(use[0])) if 0 < len(value) <= len(use[0]) else use[0]

    return _NUMBER_IN_ROW.sub(listed, text) if rows else text


def with_kernel_macros(text: str) -> str:
    """A text without comments, with macros for kernels, heads of such and launches expanded.

    A launch in a macro that the text does not use stays in the macro's meaning.
    """
    return with_macros(with_macros(text, _HEADS), _LAUNCHES, used=True)


def with_macros(text: str, words: re.Pattern[str], *, used: bool = False) -> str:
    """A text without comments, with the macros expanded in whose meaning `words` is found.

    Of several meanings that the text has for a name the first counts. `used` leaves those alone
    that stand nowhere else.
    """
    for _ in range(_DEEPEST_MACROS):
        macros = [m for m in _DEFINE.finditer(text) if words.search(m[3])]
        macros = [m for m in macros if not used or len(re.findall(rf"\b{m[1]}\b", text)) > 1]
        if not macros:
            return text
        ends = [0, *(macro.end() for macro in macros)]
        starts = [*(macro.start() for macro in macros), len(text)]
        text = "".join(text[end:start] for end, start in zip(ends, starts, strict=True))
        for macro in macros:
            text = expanded(text, macro[1], macro[2], macro[3])
    return text


def expanded(text: str, name: str, formals: str | None, body: str) -> str:
    """A text with a macro's meaning where it stands; too long ones stay as they are."""
    word = re.compile(rf"\b{name}\b")
    if len(text) + len(word.findall(text)) * len(body) > _LONGEST_TEXT:
        return text
    if formals is None:
        return word.sub(lambda _: body, text)
    names = [formal.strip() for formal in formals.split(",")]
    at = 0
    while len(text) <= _LONGEST_TEXT and (call := re.compile(rf"\b{name}\s*\(").search(text, at)):
        end = closing(text, call.end())
        given = split_at_commas(text[call.end() : end], "()")  # the preprocessor knows no others
        made = with_meaning(body, names, given)
        text = text[: call.start()] + made + text[end + 1 :]
        at = call.start() + len(made)
    return text


def with_meaning(body: str, formals: Sequence[str], given: Sequence[str]) -> str:
    """What a macro with parameters stands for where it gets these arguments."""
    return _substituted(body, _bound(formals, given))


def _bound(formals: Sequence[str], given: Sequence[str]) -> dict[str, str]:
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
            if word == "__global__":  # the next start
                break
            if not opens:
                continue
            end = closing(text, position)
            inside = text[position:end]
            position = end + 1
            if word in _ATTRIBUTES:
                continue
            name = word.rpartition("::")[2]
            opens = re.compile(r"\s*(?:->\s*void\s*)?\{").match(text, position)
            yield KernelText(
                name,
                "::".join([*spaces, name]),
                _parameters(inside),
                _template(text[max(0, start.start() - _LONGEST_HEADER) : start.start()]),
                text[opens.end() : closing(text, opens.end(), "{}")] if opens else "",
                opens is not None,
                dict(_defaults(inside)),
            )
            break


def _parameters(inside: str) -> tuple[str, ...]:
    parts = [part.partition("=")[0].strip() for part in split_at_commas(inside)]
    return () if parts in ([], [""], ["void"]) else tuple(parts)


def _defaults(inside: str) -> Iterator[tuple[str, str]]:
    for part in split_at_commas(inside):
        declared, _, default = part.partition("=")
        if default and (words := re.findall(r"\w+", declared)):
            yield words[-1], default.strip()


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
    found = (_template_parameter(p) for p in split_at_commas(before[match.end() : end]))
    whole = set(_OF_WHOLE_NUMBERS.findall(before, end))
    return tuple(replace(p, type=_WHOLE_NUMBERS) if p.name in whole else p for p in found)


_ITERATOR = re.compile(r"\w*(?:Iter(?:ator)?|It)\d*T?")
_WHOLE_NUMBERS = "integral"  # what such a type must be
_OF_WHOLE_NUMBERS = re.compile(r"\b(?:is_integral(?:_v)?|integral)\s*<\s*(\w+)\s*>")  # `requires`


def _template_parameter(text: str) -> TemplateParameter:
    left, _, default = (part.strip() for part in text.partition("="))
    if pointer := re.search(r"\(\s*[*&]\s*(\w+)\s*\)\s*\(", left):
        plain = left.replace(pointer[0], pointer[0].replace(pointer[1], ""))
        return TemplateParameter("value", pointer[1], default, plain)
    words = re.findall(r"[\w:]+", left)
    name = words[-1] if len(words) > 1 else ""
    if words[:1] in (["typename"], ["class"], ["template"]):
        return TemplateParameter("type", name, default)
    return TemplateParameter("value", name, default, " ".join(words[:-1]))


def closing(text: str, position: int, pair: str = "()") -> int:
    """Where the bracket closes that was opened before `position`; the text's end if nowhere."""
    depth = 1
    for found in re.compile(f"[{re.escape(pair)}]").finditer(text, position):
        depth += 1 if found[0] == pair[0] else -1
        if depth == 0:
            return found.start()
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


# Which instances of a kernel that is a template a source asks for: `reduce<512, float>`.
#
# A launch names them, as far as it does; the rest follows from the types of what is passed.


_BUILT_IN = (
    r"(?:unsigned\s+|signed\s+|long\s+)*(?:float|double|int|char|short|long|unsigned|bool|half"
    r"|__half|size_t|u?int(?:8|16|32|64)_t|(?:float|double|int|uint|uchar)[234])"
)
_ROUND = "([{)]}"
_LONGEST_NAME = 4000  # characters, template arguments included
_DEEPEST_CONSTANTS = 12  # constants of constants
_LAMBDA = "[]"  # a type without a name
_INTEGER = re.compile(r"\b(?:int|unsigned|signed|long|short|char|size_t|auto|u?int\d+_t|uint)\b")
_INDEX_TYPE = re.compile(r"ind(ex|ices)|idx|offset|int(eger)?_?t|size_?t|key", re.IGNORECASE)
_USING = re.compile(r"\busing\s+(\w+)\s*=\s*([^;{}]+);")
_OF_INSTANCE = re.compile(r"\btemplate\s[^;{}<>()]*$")  # `template void run`
_MEMBER = re.compile(r"(?<![\w:])(?<!typename )([A-Za-z_]\w*)::([A-Za-z_]\w*)\b(?!\s*[(<:])")
_NUMBERS_IN_ROW = re.compile(
    r"\b(?:int|unsigned|long|size_t|float|double)\s+(\w+)\s*\[\s*\w*\s*\]\s*=?\s*"
    r"\{((?:[^{};\"]|\"[^\"]*\")*)\}"
)
_NUMBER_IN_ROW = re.compile(r"\b([A-Za-z_]\w*)\s*\[\s*(\d{1,2})\s*\](?!\s*=[^=])")
_MEANT = re.compile(r"\b(?:using|constexpr\s+(?:static\s+)?\w+)\s+(\w+)\s*=\s*([^;{}]+);")
_SHORTEST_ROOT = 4
_NOT_SO = re.compile(r"\bconstexpr\s+(?:static\s+)?bool\s+(\w+)\s*=\s*false\s*;")
_SIZES = re.compile(r"size|block|threads|tile|dim|bs|bm|bn", re.IGNORECASE)
_OF_THREADS = re.compile(r"BK|TM|TN")
"""What a product's tile of BM x BN goes with: its depth, and the tile of each thread."""


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
    """The launches in a source's text, in order, and those by functions that get a kernel."""
    text = _plain(source)
    found = tuple(_launches(text))
    return (*found, *(further for launch in found for further in _by_wrapper(text, launch)))


def _by_wrapper(text: str, launch: HostLaunch) -> Iterator[HostLaunch]:
    """The launches by calls of `run(kernel, grid, block, …)`, which launches its `kernel`."""
    header = _header_before(text, launch.position)
    if header is None or not re.search(rf"\b{re.escape(launch.name)}\b", header.formals):
        return
    parts = split_at_commas(header.formals)
    formals = [re.findall(r"\w+", part.partition("=")[0])[-1:] for part in parts]
    names = [words[0] if words else "" for words in formals]
    if launch.name not in names:
        return
    called = re.finditer(rf"\b{re.escape(launch.function)}\s*(?:<[^;(){{}}]*>)?\s*\(", text)
    for call in itertools.islice(called, _MOST_CALLS):
        if call.start() == header.start:
            continue
        inside = text[call.end() : call.end() + _LONGEST_NAME]
        given = split_at_commas(inside[: closing(inside, 0)], _ROUND)
        if len(given) < len(names) - 1:
            continue
        meant = dict(zip(names, given, strict=False))
        rest = given[len(names) - 1 :]
        kernel = meant[launch.name].strip("& ")
        name, template = _pointed_to(text[: call.start()], kernel) or split_instance(kernel)
        yield HostLaunch(
            name,
            template,
            tuple(_with_words(part, meant) for part in launch.configuration),
            tuple(
                one
                for part in launch.arguments
                for one in (rest if part.endswith("...") else [_with_words(part, meant)])
            ),
            _function_before(text, call.start()),
            call.start(),
        )


@lru_cache(maxsize=4)
def launches_by_kernel(source: str) -> Mapping[str, tuple[HostLaunch, ...]]:
    """The launches in a source's text by the kernel's name without namespaces."""
    found: dict[str, list[HostLaunch]] = {}
    for launch in host_launches(source):
        found.setdefault(launch.name.rpartition("::")[2], []).append(launch)
    return {name: tuple(launches) for name, launches in found.items()}


_INSTANTIATED = re.compile(
    r"\btemplate\s+(?:__global__\s+)?void\s+(?:\w+::)*(\w+)\s*<([^;()]*)>\s*\("
)


@lru_cache(maxsize=4)
def _declared_instances(source: str) -> Mapping[str, list[str]]:
    """What `template void axpy<float>(…);` says of each kernel: its arguments."""
    found: dict[str, list[str]] = {}
    for name, inside in _INSTANTIATED.findall(with_macros(without_comments(source), _INSTANTIATED)):
        found.setdefault(name, []).append(inside.strip())
    return found


def instances(source: str, kernel: KernelText) -> tuple[str, ...]:
    """The names of the instances of a kernel that its source launches or declares; itself if none.

    Where the source asks for none the most likely arguments are taken: float, and 4 or 128. Where
    it declares some, a launch with an argument that cannot be told is of one of these.
    """
    if not kernel.template:
        return (kernel.name,)
    constants = read_constants(source, {})
    launches = launches_by_kernel(source).get(kernel.name, ())
    declared = _declared_instances(source).get(kernel.name, ())
    found = [_instance(source, kernel, one, constants, told=bool(declared)) for one in launches]
    found += [f"{kernel.name}<{inside}>" for inside in declared]
    usable = [name for name in found if name]
    likely = "" if found else _instance(source, kernel, None, constants)
    return tuple(dict.fromkeys(usable)) or (likely or kernel.name,)


def _pointed_to(before: str, name: str) -> tuple[str, tuple[str, ...]] | None:
    """The kernel that a variable holds at the end of a text: of `auto* run = axpy<float>;`.

    Of `auto run = fast ? axpy<4> : axpy<1>;` it is the first.
    """
    held = re.findall(
        rf"\bauto\s*[*&]*\s*{re.escape(name)}\s*=\s*(?:[^;?]*\?)?\s*&?"
        r"([\w:]+\s*(?:<[^;:]*>)?)\s*(?::(?!:)[^;]*)?;",
        before,
    )
    return split_instance(held[-1]) if held else None


def _launches(text: str) -> Iterator[HostLaunch]:
    holds = re.search(r"\bauto\b", text) is not None
    for mark in re.finditer(r"<<<", text):
        name, template = _named_before(text, mark.start())
        end = text.find(">>>", mark.end())
        after = re.compile(r"\s*\(").match(text, end + 3)
        if not name or end < 0 or not after:
            continue
        if holds:
            name, template = _pointed_to(text[: mark.start()], name) or (name, template)
        inside = text[after.end() : closing(text, after.end())]
        yield HostLaunch(
            name,
            template,
            tuple(split_at_commas(text[mark.end() : end], _ROUND)),
            tuple(split_at_commas(inside, _ROUND)),
            _function_before(text, mark.start()),
            mark.start(),
        )
    for mark in re.finditer(r"\bcudaLaunch(?:Cooperative)?Kernel\s*\(", text):
        parts = split_at_commas(text[mark.end() : closing(text, mark.end())], _ROUND)
        called = re.search(r"([\w:]+)\s*(?:<(.*)>)?\s*$", parts[0]) if len(parts) > 3 else None
        if called:
            template = tuple(split_at_commas(called[2] or ""))
            yield HostLaunch(called[1], template, (*parts[1:3], *parts[4:5]), (), "", mark.start())
    yield from _driver_launches(text)


def _driver_launches(text: str) -> Iterator[HostLaunch]:
    """`cuLaunchKernel` of a function that `cuModuleGetFunction` got by its name."""
    for mark in re.finditer(r"\bcuLaunchKernel\s*\(", text):
        parts = split_at_commas(text[mark.end() : closing(text, mark.end())], _ROUND)
        if len(parts) < 10:  # function, grid, block, shared memory, stream, arguments
            continue
        before = text[max(0, mark.start() - _LONGEST_NAME) : mark.start()]
        function = re.escape(parts[0])
        got = rf'\bcuModuleGetFunction\s*\(\s*&\s*{function}\s*,[^,;]*,\s*"(\w+)"'
        names = re.findall(got, before)
        rows = re.findall(rf"\b{re.escape(parts[9])}\s*\[\]\s*=\s*\{{([^;]*)\}}", before)
        if names:
            sizes = tuple(f"dim3({', '.join(parts[at : at + 3])})" for at in (1, 4))
            given = split_at_commas(rows[-1], _ROUND) if rows else []
            plain = tuple(re.sub(r"\(\s*void\s*\*\s*\)|&", "", one).strip() for one in given)
            yield HostLaunch(names[-1], (), (*sizes, parts[7]), plain, "", mark.start())


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
    source: str,
    kernel: KernelText,
    launch: HostLaunch | None,
    constants: SourceText,
    *,
    told: bool = False,
) -> str:
    """The instance that a launch asks for; "" where an argument cannot be told.

    What the launch writes and nothing here explains is guessed unless all has to be `told`.
    """
    values: list[str] = []
    chosen: dict[str, str] = {}  # what names of the launch's are taken for: `scalar_t` for float
    outer, likely = {}, {}
    if launch is not None:
        outer = {n: v for n, v in _bound_outside(source, launch).items() if n != v}
        formals = _templates(source).get(launch.function, ())
        own = dict(zip(launch.template, kernel.template, strict=False))
        likely = {p.name: _likely(source, own.get(p.name, p), kernel) for p in formals}
    for position, parameter in enumerate(kernel.template):
        text = ""
        if launch is not None and position < len(launch.template):
            given = outer.get(launch.template[position], launch.template[position])
            given = re.sub(r"\b\w+\b", lambda m: chosen.get(m[0], m[0]), given)
            text = _explicit(parameter, given, launch, source, constants, outer)
            if told and not text:
                return ""
            if not text:
                text = _explicit(parameter, given, launch, source, constants, likely | outer)
        elif launch is not None:
            text = _deduced(source, kernel, parameter, launch)
            text = _nameable(outer.get(text, text), source, outer)
        if not text and parameter.default:
            break  # this one and those after it have values of their own
        values.append(text or _likely(source, parameter, kernel))
        if launch is not None and not text and position < len(launch.template):
            chosen[launch.template[position]] = values[-1]
        if values[-1] in ("", _LAMBDA):
            return ""
    if launch is not None:  # the rest of a pack
        values += launch.template[len(kernel.template) :]
    return f"{kernel.name}<{', '.join(values)}>"


def _bound_outside(source: str, launch: HostLaunch) -> Mapping[str, str]:
    """The template arguments of the function, and of the class, that a launch stands in."""
    text = _plain(source)
    found = {**_switched(source), **_of_class(text, launch)}
    found |= _bound_by_caller(source, launch.function, _DEEPEST_CALLERS)
    return {**found, **_usings_around(text, launch)}


def class_constants(source: str, launch: HostLaunch, instance: str) -> Mapping[str, str]:
    """The constants of classes that a launching function names, as other code can write them.

    `Traits::kThreads` maps to `Traits<128, float>::kThreads`. A constant that the function computes
    from such ones is there by its own name.
    """
    text = _plain(source)
    header = _header_before(text, launch.position)
    before = text[header.body : launch.position] if header is not None else ""
    given = zip(launch.template, split_instance(instance)[1], strict=False)
    outer = {**_bound_outside(source, launch), **dict(given)}
    found: dict[str, str] = {}
    for use in _MEMBER.finditer(" ".join((before, *launch.configuration))):
        name = use[1] if use[1] in outer else ""
        kind = _nameable(name, source, outer) if name else ""
        if kind not in ("", name):
            found[use[0]] = f"{kind}::{use[2]}"
    for name, meaning in _MEANT.findall(before):
        if any(f"{kind}::" in meaning for kind in outer) and name not in outer:
            found[name] = _nameable(meaning, source, outer)
    return {name: meaning for name, meaning in found.items() if meaning}


@lru_cache(maxsize=4)
def _switched(source: str) -> Mapping[str, str]:
    """The constant or type that a switch gives a name: false for `BOOL_SWITCH(n > 4, kIsLarge, …)`.

    Where false is no choice it is the macro's first.
    """
    text = without_comments(source)
    found: dict[str, str] = {}
    macros = (m for m in _DEFINE.finditer(text) if _MEANT.search(m[3]))
    for macro in itertools.islice(macros, _MOST_CALLS):
        formals = [formal.strip() for formal in (macro[2] or "").split(",")]
        meant = {n: value.strip() for n, value in reversed(_MEANT.findall(macro[3]))}
        meant |= dict.fromkeys(_NOT_SO.findall(macro[3]), "false")  # the path for any size
        places = {at: meant[name] for at, name in enumerate(formals) if name in meant}
        calls = re.finditer(rf"\b{macro[1]}\s*\(", text) if places else ()
        for call in itertools.islice(calls, _MOST_CALLS):
            given = split_at_commas(text[call.end() : closing(text, call.end())], _ROUND)
            for at, value in places.items():
                if at < len(given):
                    found.setdefault(given[at], value)
    return found


def _usings_around(text: str, launch: HostLaunch) -> Mapping[str, str]:
    """The aliases that a launching function declares before the launch."""
    header = _header_before(text, launch.position)
    before = text[header.body : launch.position] if header is not None else ""
    return {name: meaning.strip() for name, meaning in _USING.findall(before)}


def _bound_by_caller(source: str, function: str, depth: int) -> Mapping[str, str]:
    """The template arguments of a host function, as its first caller has them.

    Where the caller passes parameters of its own on, its callers say what these are.
    """
    parameters = _templates(source).get(function, ())
    if not parameters:
        return {}
    names = [p.name for p in parameters]
    found = {p.name: p.default for p in parameters if p.default}
    text = without_comments(source)
    called = re.finditer(rf"\b{re.escape(function)}\s*<([^;{{}}()]*)>\s*\(", text)
    for call in itertools.islice(called, _MOST_CALLS):
        before = text[max(0, call.start() - _LONGEST_HEADER) : call.start()]
        is_declared = _OF_INSTANCE.search(before) is not None
        caller = "" if is_declared else _function_before(text, call.start())
        of_macro = _meant_by_macro(text, call.start()) if caller != function else None
        if of_macro is None:
            continue
        outer = _bound_by_caller(source, caller, depth - 1) if depth and caller else {}
        outer = {**outer, **of_macro}
        given = (_with_words(part, outer) for part in split_at_commas(call[1]))
        return {**found, **dict(zip(names, given, strict=False))}
    return found


def _meant_by_macro(text: str, position: int) -> Mapping[str, str] | None:
    """The arguments of the first use of the macro whose body holds a position.

    Empty where no macro's body does, None where nothing uses the macro.
    """
    around = (m for m in _DEFINE.finditer(text) if m[2] and m.start() <= position < m.end())
    macro = next(around, None)
    if macro is None:
        return {}
    call = re.compile(rf"(?<!define )\b{macro[1]}\s*\(").search(text, macro.end())
    if call is None:
        return None
    given = split_at_commas(text[call.end() : closing(text, call.end())], _ROUND)
    return dict(zip((formal.strip() for formal in macro[2].split(",")), given, strict=False))


def _function_before(text: str, position: int) -> str:
    """The name of the last function whose body begins before a position; "" for none."""
    header = _header_before(text, position)
    return header.name if header is not None else ""


@dataclass(frozen=True)
class FunctionHeader:
    """`name(formals) {` in a text; `start` and `body` are where it and its body begin."""

    name: str
    formals: str
    start: int
    body: int


def _header_before(text: str, position: int) -> FunctionHeader | None:
    headers = function_headers(text)
    at = bisect.bisect_right(headers, position, key=lambda header: header.body)
    return headers[at - 1] if at else None


@lru_cache(maxsize=4)
def function_headers(text: str) -> tuple[FunctionHeader, ...]:
    """The headers of the functions of a text without comments, in order."""
    return tuple(
        FunctionHeader(found[1], found[2], found.start(), found.end())
        for found in _HEADER.finditer(text)
        if found[1] not in _CONTROL
    )


def _of_class(text: str, launch: HostLaunch) -> Mapping[str, str]:
    """The template arguments with which the class around a launch is used first."""
    inside = [x for x in _classes(text) if x.start <= launch.position < x.end]
    for formals, name in (
        *((x.formals, x.name) for x in inside),
        *_methods_apart(text).get(launch.function, ()),
    ):
        parameters = [_template_parameter(part) for part in split_at_commas(formals)]
        names = {p.name for p in parameters}
        for use in re.finditer(rf"\b{name}\s*<([^;{{}}()]*?)>\s*(?!\s*::)", text):
            given = split_at_commas(use[1])
            told = not any(names & set(re.findall(r"\w+", part)) for part in given)
            if given and told and len(given) <= len(parameters):
                bound = {p.name: p.default for p in parameters if p.default}
                return {**bound, **dict(zip((p.name for p in parameters), given, strict=False))}
    return {}


@dataclass(frozen=True)
class _ClassTemplate:
    """`template <formals> class name { … }`; the body is text[start:end]."""

    formals: str
    name: str
    start: int
    end: int


@lru_cache(maxsize=4)
def _classes(text: str) -> tuple[_ClassTemplate, ...]:
    return tuple(
        _ClassTemplate(found[1], found[2], found.end(), closing(text, found.end(), "{}"))
        for found in re.finditer(
            r"\btemplate\s*<([^;{}()]*)>\s*(?:class|struct)\s+(\w+)[^;{}()<]*\{", text
        )
    )


@lru_cache(maxsize=4)
def _methods_apart(text: str) -> Mapping[str, list[tuple[str, str]]]:
    """Of `template <formals> void name<T>::run(` by the method's name: (formals, name)."""
    found: dict[str, list[tuple[str, str]]] = {}
    for method in re.finditer(
        r"\btemplate\s*<([^;{}()]*)>[^;{}()<]*?\b(\w+)\s*<[^;{}()]*>\s*::\s*(\w+)\s*\(", text
    ):
        found.setdefault(method[3], []).append((method[1], method[2]))
    return found


def _with_words(text: str, meanings: Mapping[str, str]) -> str:
    return re.sub(r"(?<!::)\b[A-Za-z_]\w*", lambda m: meanings.get(m[0], m[0]), text)


_MOST_CALLS = 64  # of a function or a macro that are looked at
_HEADER = re.compile(
    r"\b([A-Za-z_]\w*)\s*\(((?:[^(){};]|\([^(){};]*\))*)\)\s*(?:(?:const|noexcept|override)\b\s*)*\{"
)
_CONTROL = {"if", "for", "while", "switch", "catch"}
_DEEPEST_CALLERS = 4  # host functions that pass template arguments on


@lru_cache(maxsize=4)
def _templates(source: str) -> Mapping[str, tuple[TemplateParameter, ...]]:
    """The parameters of the functions that are templates."""
    found = re.finditer(
        r"\btemplate\s*<([^;{}()]*)>[^;{}()<]*?\b(\w+)\s*\(", without_comments(source)
    )
    return {
        match[2]: tuple(_template_parameter(part) for part in split_at_commas(match[1]))
        for match in found
    }


def _explicit(
    parameter: TemplateParameter,
    text: str,
    launch: HostLaunch,
    source: str,
    constants: SourceText,
    outer: Mapping[str, str],
) -> str:
    if parameter.kind == "type":
        return _nameable(text, source, outer)
    if text in ("true", "false"):
        return text
    expanded = constants.expanded(text)
    known = constants.constants_in(launch.function)
    found = _constants_before(source, launch, expanded, constants, outer)
    value = evaluate(expanded, ChainMap(found, known))
    if value is not None:
        return str(value)
    if parameter.type.endswith(")"):  # a function
        return _nameable(text, source, outer)
    return _in_namespace(text, source) if "::" in text else ""


def _in_namespace(text: str, source: str) -> str:
    """`Kind::A` as one can name it outside functions that say `using namespace own;`."""
    first = text.partition("::")[0].strip()
    inner = _inner_namespaces(source) if first in _declared_types(source) else ()
    return f"{inner[0]}::{text}" if inner else text


@lru_cache(maxsize=4)
def _inner_namespaces(source: str) -> tuple[str, ...]:
    """The namespaces of the source that functions of it use, and the file as a whole does not."""
    plain = without_comments(source)
    used = re.findall(r"^([ \t]*)using\s+namespace\s+([\w:]+)\s*;", plain, re.MULTILINE)
    whole = {name for indent, name in used if not indent}
    inner = dict.fromkeys(name for indent, name in used if indent and name not in whole)
    return tuple(n for n in inner if re.search(rf"\bnamespace\s+{re.escape(n)}\s*\{{", plain))


def _nameable(text: str, source: str, outer: Mapping[str, str]) -> str:
    """A type as one can name it outside the host's function; "" for what only that knows.

    Such as its template parameters, and parameters of the macro that it stands in.
    """
    inside = _inner_usings(source)
    of_itself: set[str] = set()  # as `using Traits = Traits<4>` says
    for _ in range(_DEEPEST_CONSTANTS):
        before = text
        for word in set(re.findall(r"(?<!::)\b[A-Za-z_]\w*", text)) - of_itself:
            meaning = outer.get(word) or inside.get(word, word)
            use = rf"(?<!::)\b{word}\b"
            if re.search(rf"\b{word}\b", meaning):
                of_itself.add(word)
                use += r"(?!\s*<)"
            text = meaning.join(re.split(use, text))
        if text == before or len(text) > _LONGEST_NAME:
            break
    words = set(re.findall(r"(?<!::)\b[A-Za-z_]\w*", text))
    is_unknown = bool((words & _names_of_parameters(source)) - _declared_types(source))
    return "" if is_unknown else " ".join(text.split())


_LONGEST_INDENT = 80


@lru_cache(maxsize=4)
def _inner_usings(source: str) -> Mapping[str, str]:
    """What `using` says within functions, classes and macros; the first where they differ.

    They differ in a macro that makes one launch for several types.
    """
    text, said = without_comments(source), dict[str, str]()
    for found in _USING.finditer(text):
        indent = text[max(0, found.start() - _LONGEST_INDENT) : found.start()]
        before = indent.rstrip(" \t")[-1:]
        if before in ("{", ";") or (before == "\n" and indent[-1] != "\n"):
            said.setdefault(found[1], found[2].strip())
    return said


@lru_cache(maxsize=4)
def _names_of_parameters(source: str) -> frozenset[str]:
    """Those of templates and of macros."""
    text = without_comments(source)
    inside = re.findall(r"\btemplate\s*<([^;{}()]*)>", text)
    inside += re.findall(r"^[ \t]*#[ \t]*define[ \t]+\w+\(([^)\n]*)\)", text, re.MULTILINE)
    parts = (part.partition("=")[0] for text in inside for part in text.split(","))
    names = (name for part in parts for name in re.findall(r"\w+", part)[-1:])
    # a specialisation's `<float>` is no parameter; PyTorch's dispatch declares scalar_t
    return frozenset(n for n in names if not re.fullmatch(_BUILT_IN, n)) | {"scalar_t"}


@lru_cache(maxsize=4)
def _declared_types(source: str) -> frozenset[str]:
    text = re.sub(r"\btemplate\s*<[^;{}()]*>", " ", without_comments(source))
    found = re.findall(r"\b(?:struct|class|union|enum(?:\s+class)?)\s+(\w+)", text)
    found += re.findall(r"^(?:using\s+(\w+)\s*=|typedef\b[^;{}]*?(\w+)\s*;)", text, re.MULTILINE)
    return frozenset(n for name in found for n in ((name,) if isinstance(name, str) else name))


def _constants_before(
    source: str,
    launch: HostLaunch,
    expression: str,
    constants: SourceText,
    outer: Mapping[str, str],
) -> dict[str, int | None]:
    """The names in an expression with what `const int`s in front of a launch make of them."""
    known: dict[str, int | None] = {
        name: evaluate(constants.expanded(text), {}) for name, text in outer.items()
    }
    declared = _host_constants(source)

    def add(text: str, position: int, depth: int) -> None:
        for name in re.findall(r"[A-Za-z_]\w*", text):
            places, meanings = declared.get(name, ([], []))
            before = bisect.bisect_left(places, position)
            if name not in known and before and depth < _DEEPEST_CONSTANTS:
                meaning = constants.expanded(meanings[before - 1])
                add(meaning, places[before - 1], depth + 1)
                known[name] = evaluate(meaning, known)

    add(expression, launch.position, 0)
    return known


@lru_cache(maxsize=4)
def _host_constants(source: str) -> Mapping[str, tuple[list[int], list[str]]]:
    """By name where `const int`s are declared, in order, and their values as written."""
    found: dict[str, tuple[list[int], list[str]]] = {}
    pattern = r"\bconst(?:expr)?\s+(?:static\s+|unsigned\s+|long\s+)*[\w:]+\s+(\w+\s*=[^;{}]+);"
    text = with_plain_declarations(_plain(source))
    for declared in re.finditer(pattern, text):
        for part in split_at_commas(declared[1], _ROUND):
            name, _, expression = (piece.strip() for piece in part.partition("="))
            places, meanings = found.setdefault(name, ([], []))
            places.append(declared.end())
            meanings.append(expression)
    return found


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


@lru_cache(maxsize=4)
def _first_functor(source: str) -> str:
    """The first class that can be called, "" for none."""
    found = re.search(r"\b(?:struct|class)\s+(\w+)[^;{}]*\{[^}]*\boperator\s*\(\s*\)", source)
    return found[1] if found else ""


def _is_called(parameter: TemplateParameter, kernel: KernelText) -> bool:
    """Whether the kernel calls an argument of that type, as in `callable(i)`."""
    own = (re.fullmatch(rf"{parameter.name}\s*&?\s*(\w+)", p) for p in kernel.parameters)
    return any(found and re.search(rf"\b{found[1]}\s*\(", kernel.body) for found in own)


@lru_cache(maxsize=16)
def _functor_like(name: str, source: str) -> str:
    """A class whose name contains the parameter's: L1Distance for DistanceOp; "" for none."""
    root = re.sub(r"(?:Op|Func|Functor|Fn)$", "", name)
    if len(root) < _SHORTEST_ROOT:
        return ""
    named = rf"(?<!>)\s\b(?:struct|class)\s+(\w*{root}\w*)\s*(?:final\s*)?(?::[^{{;]*)?\{{"
    found = re.search(named, without_comments(source))
    return found[1] if found else ""


def _specialised(source: str, name: str, kernel: KernelText) -> list[str]:
    """The types for which the source specialises a class that the kernel uses with its `name`."""
    uses = re.findall(rf"\b(\w+)\s*<\s*{name}\s*>", kernel.body)
    text = without_comments(source) if uses else ""
    made = rf"\btemplate\s*<\s*>[^;{{}}]*\b(?:{'|'.join(uses)})\s*<\s*(\w+)\s*>"
    return re.findall(made, text) if uses else []


def _likely(source: str, parameter: TemplateParameter, kernel: KernelText) -> str:
    if parameter.kind == "type":
        takes = re.fullmatch(
            r"(?:Op|F|Func|Function|Functor|Fn|UnaryOp|BinaryOp|\w*Op)", parameter.name
        )
        is_pointed_to = any(
            re.search(rf"\b{parameter.name}\b[^,<]*\*", p) for p in kernel.parameters
        )
        if (takes and not is_pointed_to) or _is_called(parameter, kernel):
            return _functor_like(parameter.name, source) or _first_functor(source)
        if _ITERATOR.fullmatch(parameter.name):
            return "float*"
        is_whole = parameter.type == _WHOLE_NUMBERS or _INDEX_TYPE.search(parameter.name)
        usual = "int" if is_whole else "float"
        made = _specialised(source, parameter.name, kernel)
        return usual if not made or usual in made else made[0]
    if parameter.type == "bool":
        return "true"
    if parameter.type.endswith(")"):
        return ""  # a function: any would do other work
    if not _INTEGER.search(parameter.type):
        return f"({parameter.type})0"  # of an enumeration
    if _OF_THREADS.fullmatch(parameter.name) and any(p.name == "BM" for p in kernel.template):
        return "8"  # 256 threads share 128 x 128
    return "128" if _SIZES.search(parameter.name) else "4"
