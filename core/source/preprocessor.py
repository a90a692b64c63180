"""The preprocessor's work, as far as readers of CUDA C++ need it: comments, conditionals, macros.

Two kinds of text come out. In one every character keeps its place, and spaces stand for what does
not count: `blanked`, `disabled`, `with_one_branch`, `taken`. The other is a program as it is read:
`plain_text` has no comments and joins continued lines; macros in which kernels or launches hide are
expanded. It has the lines of code that a compiler would see, not their places in the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

# Comments, strings and brackets.


Span = tuple[int, int]
"""First character and the one behind the last."""
WORD = re.compile(r"[A-Za-z_]\w*")
_RAW_STRING = r'\b(?:u8|[uUL])?R"(?P<mark>[^()\\\s"]{0,16})\(.*?\)(?P=mark)"'
"""A pattern, for re.DOTALL: R"mark(…)mark", in which quotes and comments mean nothing."""
BLANKED = re.compile(
    rf'//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/|{_RAW_STRING}|"(?:[^"\\\n]|\\.)*"'
    r"|'(?:[^'\\\n]|\\[^\n])'",
    re.DOTALL,
)
_COMMENT = re.compile(
    rf"//[^\n]*|/\*.*?\*/|{_RAW_STRING}|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)


@lru_cache(maxsize=8)
def blanked(source: str) -> str:
    """The source with spaces in place of comments, strings and characters; all else stays put."""
    return BLANKED.sub(blank_found, source)


def blank_found(match: re.Match[str]) -> str:
    """`blank`, of what a pattern finds."""
    return blank(match[0])


def blank(text: str) -> str:
    """As many spaces as a text has characters, its line ends kept."""
    return "\n".join([" " * len(line) for line in text.split("\n")])


def blanked_at(text: str, spans: Iterable[Sequence[int]]) -> str:
    """A text with spaces in place of some characters: (start, end), in order."""
    pieces, at = [], 0
    for start, end in spans:
        pieces += [text[at:start], blank(text[start:end])]
        at = end
    return "".join([*pieces, text[at:]])


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


# Directives: what a text includes.


DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE | re.DOTALL)
"""A directive of the preprocessor with the lines that go on with it."""
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"\n]+)[>\"]", re.MULTILINE)


def includes(source: str) -> tuple[tuple[str, bool], ...]:
    """The headers that a text includes, comments aside: names, and whether in quotation marks."""
    plain = blanked(source)
    return tuple(
        (match[2], match[1] == '"')
        for match in _INCLUDE.finditer(source)
        if "#" in plain[match.start() : match.end()]
    )


def without_include(source: str, header: str) -> str:
    """The source with a blank line where it includes a header."""
    return _INCLUDE.sub(lambda match: blank(match[0]) if match[2] == header else match[0], source)


def with_includes(source: str, renamed: Callable[[str, bool], str]) -> str:
    """The source with other names for the headers that it includes; told which are quoted."""

    def one(match: re.Match[str]) -> str:
        name = renamed(match[2], match[1] == '"')
        return match[0] if name == match[2] else match[0].replace(match[2], name)

    return _INCLUDE.sub(one, source)


# Conditionals.


_CONDITIONAL = re.compile(r"\s*#\s*(if|el|endif)")
_DISABLED = re.compile(r"\s*#\s*if\s+0\b")
_WHOLE = ("", ";", "{", "}", ":")  # what statements, labels and bodies end with
_CONDITIONAL_OR_DEFINE = re.compile(
    r"[ \t]*#[ \t]*(define|ifdef|ifndef|if|elif|else|endif)\b[ \t]*(\w*)"
)
_ASKS_FOR = re.compile(  # `#ifdef A`, `#if defined(A)`, `#elif !defined A`
    r"[ \t]*#[ \t]*(?:if(n?)def|(?:el)?if[ \t]*(!?)[ \t]*defined\b[ \t]*\(?)[ \t]*(\w+)[ \t)]*$"
)
_BY_COMPILER = ("__CUDACC__", "__NVCC__", "__cplusplus", "__linux__", "__GNUC__")


def disabled(text: str) -> Iterator[tuple[Span, Span]]:
    """The directives around what is never compiled: `#if 0`, and its `#else` or `#endif`.

    Where nothing ends it the second one is an empty span at the text's end.
    """
    begins, depth = (0, 0), 0
    for found in DIRECTIVE.finditer(text):
        word = _CONDITIONAL.match(found[0])
        if not depth and _DISABLED.match(found[0]):
            begins, depth = found.span(), 1
        elif depth and word:
            depth += (word[1] == "if") - (word[1] == "endif")
            if not depth or (depth == 1 and word[1] == "el"):
                yield begins, found.span()
                depth = 0
    if depth:
        yield begins, (len(text), len(text))


def with_one_branch(text: str) -> str:
    """A text without comments, of some conditionals with the first branch alone.

    Those are meant whose branches are no whole statements:

        #ifdef WIDE                             Scan()
            if (n > 4) {                        #ifdef WIDE
        #else                                       : lane(threadIdx.x)
            if (n > 2) {                        #else
        #endif                                      : lane(threadIdx.x % 32)
                                                #endif
                                                    , mask(0) {}

    Whoever reads the text sees two braces, two ends of one call, or two pieces of one declaration,
    where the compiler sees one. Spaces take the place of the other branches, and of the
    directives, as a parser takes each branch for something whole; what they #define stays.
    """
    if "#" not in text:
        return text
    pieces, at = [], 0
    for start, end in sorted(_hidden_branches(text)):
        if start >= at:
            pieces += [text[at:start], blank(text[start:end])]
            at = end
    return "".join([*pieces, text[at:]])


@dataclass
class _Branch:
    """The brackets that a branch leaves open, its last character ("" without text), its pieces."""

    open: int = 0  # braces
    round: int = 0
    last: str = ""
    pieces: list[Span] = field(default_factory=list)


@dataclass
class _Group:
    """The branches of a conditional, and its directives."""

    branches: list[_Branch] = field(default_factory=lambda: [_Branch()])
    directives: list[Span] = field(default_factory=list)

    @property
    def is_alternative(self) -> bool:
        """Whether what stands around goes with one branch alone."""
        opens, rounds = {b.open for b in self.branches}, {b.round for b in self.branches}
        if len(self.branches) > 1 and any(len(e) == 1 and e != {0} for e in (opens, rounds)):
            return True
        return opens == {0} and self.branches[0].last not in _WHOLE


def _hidden_branches(text: str) -> Iterator[Span]:
    groups, at = [_Group()], 0
    for directive in DIRECTIVE.finditer(text):
        _add_to_branch(groups[-1].branches[-1], text, (at, directive.start()))
        at = directive.end()
        word = _CONDITIONAL.match(directive[0])
        if word is None:
            continue
        if word[1] == "if":
            groups.append(_Group(directives=[directive.span()]))
        elif len(groups) == 1:  # of a file that is cut off
            continue
        elif word[1] == "el":
            groups[-1].branches.append(_Branch())
            groups[-1].directives.append(directive.span())
        else:
            done = groups.pop()
            done.directives.append(directive.span())
            is_one = done.is_alternative
            if is_one:
                yield from done.directives
                yield from (piece for branch in done.branches[1:] for piece in branch.pieces)
            outer = groups[-1].branches[-1]
            for branch in done.branches[:1] if is_one else done.branches:
                outer.open += branch.open
                outer.round += branch.round
            outer.pieces += [piece for branch in done.branches for piece in branch.pieces]
            outer.pieces += done.directives


def _add_to_branch(branch: _Branch, text: str, piece: Span) -> None:
    inside = text[slice(*piece)]
    branch.open += inside.count("{") - inside.count("}")
    branch.round += inside.count("(") - inside.count(")")
    branch.last = inside.rstrip()[-1:] or branch.last
    branch.pieces.append(piece)


def taken(text: str, defined: Iterable[str]) -> str:
    """A text with spaces for the branches that are not taken as a macro is defined, or is not.

    Other conditions are left: all branches from there on stay.
    """
    known, lines, stack = {*defined, *_BY_COMPILER}, list[str](), list[list[bool | None]]()
    for line in text.split("\n"):
        word = _CONDITIONAL_OR_DEFINE.match(line)
        is_shown = True
        if word is None or word[1] == "define":
            is_shown = all(branches[-1] is not False for branches in stack)
            if word and is_shown:
                known.add(word[2])
        elif word[1] == "endif":
            is_shown = not stack or stack.pop()[0] is None
        elif word[1].startswith("if"):
            stack.append([_holds(line, known)])
            is_shown = stack[-1][0] is None
        elif stack:
            before, is_shown = stack[-1], stack[-1][0] is None
            holds = word[1] == "else" or _holds(line, known)
            before.append(None if None in before else True not in before and holds)
        lines.append(line if is_shown else " " * len(line))
    return "\n".join(lines)


def _holds(line: str, known: set[str]) -> bool | None:
    """Whether a condition holds that asks for one macro; None for others."""
    asked = _ASKS_FOR.match(line)
    return (asked[3] in known) != bool(asked[1] or asked[2]) if asked else None


# Macros.


_DEFINE = re.compile(r"\s*#\s*define\s+(\w+)(\([^)]*\))?((?:[^\n\\]|\\.|\\\n)*)", re.DOTALL)
_FORMAL = re.compile(r"[A-Za-z_]\w*(?:\s*\.\.\.)?|\.\.\.")
_DEFINE_LINE = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\(([^)]*)\))?[ \t]*([^\n]*)$", re.MULTILINE
)
"""A directive in a text without comments: the name, the parameters and the meaning of a macro."""
DEEPEST_MACROS = 4  # macros that stand in the meanings of others
_LONGEST_TEXT = 2 << 20  # characters with macros expanded: they may double from one to the next


@dataclass(frozen=True)
class Macro:
    """A #define: its name, its parameters (None without), its meaning and where it stands."""

    name: str
    parameters: tuple[str, ...] | None
    body: str
    start: int
    end: int

    @property
    def words(self) -> frozenset[str]:
        """The names in its meaning."""
        return frozenset(WORD.findall(self.body))


@lru_cache(maxsize=64)
def defined_macros(plain: str) -> tuple[Macro, ...]:
    """Every #define of a text without comments, in order."""
    return tuple(_defined(plain))


def _defined(plain: str) -> Iterator[Macro]:
    for found in DIRECTIVE.finditer(plain):
        if match := _DEFINE.fullmatch(found[0]):
            names = tuple(_FORMAL.findall(match[2])) if match[2] else None
            body = match[3].replace("\\\n", " ").strip()
            yield Macro(match[1], names, body, found.start(), found.end())


def with_macros(text: str, words: re.Pattern[str], *, used: bool = False) -> str:
    """A text without comments, with the macros expanded in whose meaning `words` is found.

    Of several meanings that the text has for a name the first counts. `used` leaves those alone
    that stand nowhere else.
    """
    for _ in range(DEEPEST_MACROS):
        macros = [m for m in _DEFINE_LINE.finditer(text) if words.search(m[3])]
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


# A program's text as it is read.


_HEADS = re.compile(r"__global__|__launch_bounds__|__cluster_dims__|__maxnreg__")
_LAUNCHES = re.compile(r"<<<")
_SPACED_MARK = re.compile(  # a formatter's `k<< <1, 32>> >(a)`
    r"<<( {1,4})<(?!<)|>>( {1,4})>(?=\s*\()"
)


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


def _with_kernels(text: str) -> str:
    """A text without comments, its macros for kernels and heads of such expanded."""
    macros = _macros(text)
    making = _making(macros, text)
    text = _DEFINE_LINE.sub(lambda macro: "" if macro[1] in making else macro[0], text)
    for _ in range(DEEPEST_MACROS if making else 0):
        before = text
        for macro in (macros[name] for name in making):
            text = expanded(text, macro[1], macro[2], macro[3])
        if text == before:
            break
    return text


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


def _macros(text: str) -> dict[str, re.Match[str]]:
    """The macros of a text by their names; of several meanings the first counts."""
    found: dict[str, re.Match[str]] = {}
    for macro in _DEFINE_LINE.finditer(text):
        found.setdefault(macro[1], macro)
    return found
