"""A program's text as it is read: without comments, and with macros in which kernels hide expanded.

The preprocessor's work as far as readers of a text need it. What comes out has the lines of code
that a compiler would see, not their places in the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from core.source.comments_and_strings import RAW_STRING, blanked_at, disabled
from core.source.preprocessor_branches import with_one_branch

DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\(([^)]*)\))?[ \t]*([^\n]*)$", re.MULTILINE)
"""A directive in a text without comments: the name, the parameters and the meaning of a macro."""
_COMMENT = re.compile(
    rf"//[^\n]*|/\*.*?\*/|{RAW_STRING}|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)
_HEADS = re.compile(r"__global__|__launch_bounds__|__cluster_dims__|__maxnreg__")
_LAUNCHES = re.compile(r"<<<")
_SPACED_MARK = re.compile(  # a formatter's `k<< <1, 32>> >(a)`
    r"<<( {1,4})<(?!<)|>>( {1,4})>(?=\s*\()"
)
_DEEPEST_MACROS = 4
_LONGEST_TEXT = 2 << 20  # characters with macros expanded: they may double from one to the next


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
    whole = ((begins[0], ends[1]) for begins, ends in disabled(plain))
    return with_one_branch(blanked_at(plain, whole))


@lru_cache(maxsize=8)
def plain_text(source: str, headers: str = "") -> str:
    """A source without comments, its macros for kernels, heads of such and launches expanded.

    Those for kernels may be defined in the text of its headers. A launch in a macro that the text
    does not use stays in the macro's meaning.
    """
    text = without_comments(source)
    marks = _marks(headers)
    is_used = not marks.keys().isdisjoint(re.findall(r"\w+", text))
    lines = [*marks.values()] if is_used else []
    text = _with_kernels("\n".join([*lines, text]))[len(lines) :]
    return with_macros(text, _LAUNCHES, used=True)


@lru_cache(maxsize=4)
def _marks(headers: str) -> Mapping[str, str]:
    """The definitions of macros for kernels, and heads of such, by their names."""
    macros = _macros(without_comments(headers)) if "__global__" in headers else {}
    return {name: macros[name][0] for name in _making(macros)}


def _macros(text: str) -> dict[str, re.Match[str]]:
    """The macros of a text by their names; of several meanings the first counts."""
    found: dict[str, re.Match[str]] = {}
    for macro in DEFINE.finditer(text):
        found.setdefault(macro[1], macro)
    return found


def _making(macros: Mapping[str, re.Match[str]], text: str = "") -> list[str]:
    """The macros that make kernels, or heads of such, in the order of the text.

    With them those that call one, that get one as an argument in the text, and that glue names for
    one.
    """
    words = {name: {*re.findall(r"\w+", macro[3])} for name, macro in macros.items()}

    def with_callers(names: set[str]) -> set[str]:
        while more := {n for n in macros.keys() - names if words[n] & names}:
            names |= more
        return names

    making = with_callers({name for name, macro in macros.items() if _HEADS.search(macro[3])})
    if making:
        given = rf"\b(\w+)\s*\((?=[^()]*\b(?:{'|'.join(making)})\b)"
        making |= {*re.findall(given, text)} & {n for n, macro in macros.items() if macro[2]}
    glue = with_callers({name for name, macro in macros.items() if macro[2] and "##" in macro[3]})
    while more := (glue & set().union(*(words[n] for n in making))) - making:
        making |= more
    return [name for name in macros if name in making]


def _with_kernels(text: str) -> str:
    """A text without comments, its macros for kernels and heads of such expanded."""
    macros = _macros(text)
    making = _making(macros, text)
    text = DEFINE.sub(lambda macro: "" if macro[1] in making else macro[0], text)
    for _ in range(_DEEPEST_MACROS if making else 0):
        before = text
        for macro in (macros[name] for name in making):
            text = expanded(text, macro[1], macro[2], macro[3])
        if text == before:
            break
    return text


def with_macros(text: str, words: re.Pattern[str], *, used: bool = False) -> str:
    """A text without comments, with the macros expanded in whose meaning `words` is found.

    Of several meanings that the text has for a name the first counts. `used` leaves those alone
    that stand nowhere else.
    """
    for _ in range(_DEEPEST_MACROS):
        macros = [m for m in DEFINE.finditer(text) if words.search(m[3])]
        if used and macros:
            counts = Counter(re.findall(r"\w+", text))
            macros = [m for m in macros if counts[m[1]] > 1]
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
    """What a macro with parameters stands for where it gets these arguments, `#` and `##` done."""
    values = dict(zip(formals, given, strict=False))
    if formals[-1].endswith("..."):  # or `name...`: all that is left
        values.pop(formals[-1], None)
        name = formals[-1].removesuffix("...").strip() or "__VA_ARGS__"
        values[name] = ", ".join(given[len(formals) - 1 :])
    for name in (name for name, value in values.items() if not value):
        body = re.sub(rf",\s*##\s*{name}\b", "", body)  # GNU: no rest, no comma

    def replacement(match: re.Match[str]) -> str:
        if match[2] not in values:
            return match[0]
        value = values[match[2]]
        return '"' + re.sub(r'(["\\])', r"\\\1", value) + '"' if match[1] else value

    made = re.sub(r"((?<!#)#(?!#)\s*)?\b([A-Za-z_]\w*)\b", replacement, body)
    return re.sub(r"\s*##\s*", "", made)


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
    commas, depth = [-1], 0
    half = len(brackets) // 2
    for at, character in enumerate(text):
        depth += (character in brackets[:half]) - (character in brackets[half:])
        if character == "," and depth == 0:
            commas.append(at)
    ends = [*commas[1:], len(text)]
    stripped = [text[at + 1 : end].strip() for at, end in zip(commas, ends, strict=True)]
    return [] if stripped == [""] else stripped
