"""What runs before a launch, in one text: callers' statements, bodies of what allocates.

Programs launch kernels in functions that get sizes and pointers from `main`, and allocate in
others. Callers' statements are put before those of the launching function, and the call of a
function that allocates becomes that function's body. Names are made to agree: a variable
gets the name of the parameter that it is passed for, and others that would clash get new ones.
What comes out does not compile; `core.launching.host_values` reads it from the front.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from core.source.kernel_text import closing, function_headers, split_at_commas

_ALLOCATES = re.compile(r"\bcuda(?:Malloc\w*|HostAlloc)\b")
_DECLARED = re.compile(  # `int n = …`, `float *a, *b`, `Result r;`, `dim3 grid(…)`
    r"(?:^|[;{}(])\s*(?:(?:const|constexpr|static|unsigned|signed|long|struct)\s+)*"
    r"[A-Za-z_][\w:]*(?:<[^;{}()]*>)?[\s*&]+([A-Za-z_]\w*)\s*(?=[=;,({\[])([^;{}]*)"
)
_NOT_TYPES = re.compile(r"\s*(?:[;{}(]\s*)?(?:return|else|delete|goto|case|new|throw|using)\b")
_PATH = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->)[A-Za-z_]\w*)*")
_CAST = re.compile(
    r"\(\s*(?:const\s+)?\w+(?:\s+\w+)*\s*\*+\s*\)"
    r"|\b(?:reinterpret|static|const)_cast\s*<[^<>]*>\s*"
)
_WORD_BEFORE = re.compile(r"(\w+)\s*$")
_DEEPEST = 4  # callers of callers
_MOST_CALLS = 3  # of one function that are looked at
_DEEPEST_BODY = 2  # functions that allocate in functions that do
_MOST_BODY = 1 << 14  # characters of a function that is written out
_LONGEST_CALL = 2000  # characters of its arguments
_MOST_TEXT = 1 << 16  # characters that are put before a launching function's own


@dataclass(frozen=True)
class Reached:
    """A text, and the launch's position in it, with what runs before it written out.

    `lead` characters of it stand at the front of the launching function and are its callers'.
    `formals` are the whole numbers that nobody gives to the first of these.
    """

    text: str
    position: int
    lead: int = 0
    formals: tuple[str, ...] = ()


def reached(text: str, position: int) -> Reached:
    """The text with what runs before the launch at `position` put in its function's front.

    `text` is without comments. It stays as it is where none of its functions calls that one.
    """
    program = _Program(text)
    own = program.around(position)
    if own is None:
        return Reached(text, position)
    inside = text[own.start : position]
    lead = program.lead(own, inside, _DEEPEST)
    inside = program.written_out(inside, _DEEPEST_BODY)
    if len(lead.text) + len(inside) > _MOST_TEXT:
        return Reached(text, position)
    before = f"{text[: own.start]}{lead.text}{inside}"
    return Reached(before + text[position:], len(before), len(lead.text), lead.formals)


def calls(text: str, function: str) -> bool:
    """Whether some function of a text without comments calls another of that name."""
    return any(_Program(text).calls_of(function))


def called_by(text: str, *, made: bool = False) -> frozenset[str]:
    """The names of the functions that those of a text call; if `made`, of those that it defines."""
    if made:
        return frozenset(f.name for f in _Program(text).functions)
    return frozenset(re.findall(r"\b([A-Za-z_]\w*)\s*\(", text))


def without_pointer_casts(text: str) -> str:
    """`(void **)&d_a` is `&d_a`."""
    return _CAST.sub("", text)


@dataclass(frozen=True)
class _Formal:
    name: str
    type: str
    default: str
    is_pointer: bool

    @classmethod
    def of(cls, text: str) -> _Formal:
        declared, _, default = text.partition("=")
        declared = re.sub(r"\b__restrict__\b|\b__restrict\b|\brestrict\b", " ", declared)
        words = list(re.finditer(r"[A-Za-z_]\w*", declared))
        name = words[-1] if len(words) > 1 else None
        kind = declared[: name.start()] if name else declared
        return cls(
            name[0] if name else "",
            " ".join(re.sub(r"[&*]|\bconst\b", " ", kind).split()),
            default.strip(),
            is_pointer="*" in declared or "[" in declared,
        )


@dataclass(frozen=True)
class _Function:
    """A function of the text; its body is text[start:end], without the braces."""

    name: str
    formals: tuple[_Formal, ...]
    start: int
    end: int


@dataclass(frozen=True)
class _Lead:
    """What runs before a function's body, the parameters that it sets, and the numbers it lacks."""

    text: str = ""
    bound: frozenset[str] = frozenset()
    formals: tuple[str, ...] = ()


class _Program:
    def __init__(self, text: str) -> None:
        self.text = text
        self._count = 0  # of names that were made

    @property
    def functions(self) -> tuple[_Function, ...]:
        return _functions(self.text)

    def around(self, position: int) -> _Function | None:
        return next((f for f in self.functions if f.start <= position < f.end), None)

    @cached_property
    def allocating(self) -> Mapping[str, tuple[_Function, ...]]:
        """The functions that allocate, or call one that does, by name."""
        bodies = {f: self.text[f.start : f.end] for f in self.functions}
        bodies = {f: body for f, body in bodies.items() if len(body) <= _MOST_BODY and f.formals}
        found = [f for f, body in bodies.items() if _ALLOCATES.search(body) and "<<<" not in body]
        names = "|".join({f.name for f in found})
        if names:
            callers = re.compile(rf"\b(?:{names})\s*\(")
            found += [
                f
                for f, body in bodies.items()
                if f not in found and callers.search(body) and "<<<" not in body
            ]
        named: dict[str, list[_Function]] = {}
        for function in found:
            named.setdefault(function.name, []).append(function)
        return {name: tuple(those) for name, those in named.items()}

    def calls_of(self, name: str) -> Iterator[tuple[_Function, int, tuple[str, ...]]]:
        """The calling function, where the call begins, and what it passes."""
        for match in re.finditer(rf"\b{name}\s*(?:<[^;(){{}}<>]*>)?\s*\(", self.text):
            caller = self.around(match.start())
            if caller is None or caller.name == name or not _is_called(self.text, match.start()):
                continue
            yield caller, match.start(), _passed(self.text, match.end())

    def lead(self, function: _Function, inside: str, depth: int) -> _Lead:
        """What runs before the body of a function, which begins with `inside`.

        Of its callers the first counts from which on something is allocated, if there is one.
        """
        leads = [
            self._lead_from(caller, at, given, function, inside, depth)
            for caller, at, given in itertools.islice(self.calls_of(function.name), _MOST_CALLS)
            if depth > 0 and _fits(function, given) and at - caller.start <= _MOST_BODY
        ]
        allocating = (lead for lead in leads if _ALLOCATES.search(lead.text))
        return next(allocating, next(iter(leads), _Lead()))

    def _lead_from(
        self,
        caller: _Function,
        at: int,
        given: Sequence[str],
        function: _Function,
        inside: str,
        depth: int,
    ) -> _Lead:
        before = self.text[caller.start : at]
        before = before[: 1 + max(before.rfind(mark) for mark in ";{}")]
        above = self.lead(caller, before, depth - 1)
        before += "}" * (before.count("{") - before.count("}"))
        before = above.text + self.written_out(before, _DEEPEST_BODY)
        outer = (
            f.name for f in caller.formals if f.name not in {*above.bound, "argc"} and _is_number(f)
        )
        formals = (*above.formals, *outer)
        own = {*_declared(inside), *(f.name for f in function.formals)}
        there = {*_declared(before), *(f.name for f in caller.formals)}
        renamed, bindings = self._bound(function, given, there, own)
        return _Lead(
            _with_names(before, renamed) + bindings,
            frozenset(f.name for f in function.formals),
            tuple(renamed.get(name, name) for name in formals),
        )

    def _bound(
        self, function: _Function, given: Sequence[str], there: set[str], own: set[str]
    ) -> tuple[dict[str, str], str]:
        """New names for the caller's variables, and statements that set the other parameters."""
        renamed: dict[str, str] = {}
        others: list[tuple[_Formal, str]] = []
        for place, formal in enumerate(function.formals):
            actual = given[place] if place < len(given) else formal.default
            path = without_pointer_casts(actual).strip().lstrip("&* ").replace("->", ".")
            root = path.partition(".")[0]
            plain = _PATH.fullmatch(path) is not None and path not in renamed
            if formal.name and plain and (formal.is_pointer or root in there):
                renamed[path] = formal.name
            elif formal.name and actual:
                others.append((formal, actual))
        for name in sorted((there & own) - renamed.keys()):
            renamed[name] = self._new(name)
        bindings = ""
        for formal, actual in others:
            value = _with_names(actual, renamed)
            kind = "" if formal.is_pointer else formal.type
            bindings += f"{kind} {formal.name} = {value};".lstrip()
        return renamed, bindings

    def written_out(self, text: str, depth: int) -> str:
        """A text with the bodies of the functions in place of the calls of what allocates."""
        if depth == 0 or not self.allocating:
            return text
        names = re.compile(rf"\b({'|'.join(map(re.escape, self.allocating))})\s*\(")
        parts, at = [], 0
        for call in names.finditer(text):
            if call.start() < at or not _is_called(text, call.start()):
                continue
            given = _passed(text, call.end())
            function = next((f for f in self.allocating[call[1]] if _fits(f, given)), None)
            if function is not None:
                parts += [text[at : call.start()], ";", self._body(function, given, depth), ";"]
                at = closing(text, call.end()) + 1
        return "".join([*parts, text[at:]])

    def _body(self, function: _Function, given: Sequence[str], depth: int) -> str:
        """A function's body with what it is given for its parameters."""
        body = self.written_out(self.text[function.start : function.end], depth - 1)
        renamed = {name: self._new(name) for name in _declared(body)}
        bindings = ""
        for place, formal in enumerate(function.formals):
            actual = given[place] if place < len(given) else formal.default
            path = without_pointer_casts(actual).strip().lstrip("&* ")
            if _PATH.fullmatch(path):
                renamed[formal.name] = path
            elif formal.name and actual:
                renamed[formal.name] = self._new(formal.name)
                kind = "" if formal.is_pointer else formal.type
                bindings += f"{kind} {renamed[formal.name]} = {actual};".lstrip()
        return bindings + _with_names(body, renamed)

    def _new(self, name: str) -> str:
        self._count += 1
        return f"{name}__{self._count}"


@lru_cache(maxsize=4)
def _functions(text: str) -> tuple[_Function, ...]:
    """The functions of a text, in order; what stands in one, such as a lambda, belongs to it."""
    found: list[_Function] = []
    for header in function_headers(text):
        if header.name.isupper() or (found and header.start < found[-1].end):
            continue  # of a macro, or within the last one
        parts = (part for part in split_at_commas(header.formals) if part != "void")
        formals = tuple(_Formal.of(part) for part in parts)
        end = closing(text, header.body, "{}")
        found.append(_Function(header.name, formals, header.body, end))
    return tuple(found)


def _passed(text: str, at: int) -> tuple[str, ...]:
    """The arguments of a call whose bracket opens before a place; () for a very long one."""
    inside = text[at : at + _LONGEST_CALL]
    end = closing(inside, 0)
    return tuple(split_at_commas(inside[:end], "([{)]}")) if end < len(inside) else ()


def _is_called(text: str, at: int) -> bool:
    """Whether what begins there is a call, and no declaration."""
    before = re.sub(r"(?:\w+\s*(?:::|\.|->)\s*)+$", "", text[max(0, at - 200) : at]).rstrip()
    word = _WORD_BEFORE.search(before)
    if word is not None:
        return word[1] in ("return", "else", "do")
    return not before or before[-1] not in "*>~#"


def _fits(function: _Function, given: Sequence[str]) -> bool:
    """Whether a function may be called with so many arguments."""
    least = sum(1 for formal in function.formals if not formal.default)
    return least <= len(given) <= len(function.formals)


def _is_number(formal: _Formal) -> bool:
    words = formal.type.split()
    return not formal.is_pointer and bool(words) and words[-1] in _NUMBERS


_NUMBERS = {"int", "unsigned", "long", "short", "size_t", "uint", "int64_t", "int32_t", "uint32_t"}


def _declared(text: str) -> tuple[str, ...]:
    """The variables that the statements of a text declare."""
    found: dict[str, None] = {}
    for match in _DECLARED.finditer(text):
        if _NOT_TYPES.match(match[0]):
            continue
        found[match[1]] = None
        for part in split_at_commas(match[2], "([{)]}")[1:]:
            if further := re.match(r"[\s*&]*([A-Za-z_]\w*)", part):
                found[further[1]] = None
    return tuple(found)


def _with_names(text: str, names: Mapping[str, str]) -> str:
    """A text with variables, or members of such (`input.a`), called otherwise."""
    changed = {old: new for old, new in names.items() if old != new}
    if not changed:
        return text
    choices = "|".join(_as_written(old) for old in _longest_first(changed))
    pattern = re.compile(rf"(?<![\w.])(?<!->)(?:{choices})(?!\w)")
    return pattern.sub(
        lambda m: changed[re.sub(r"\s|->", lambda s: "." if s[0] == "->" else "", m[0])], text
    )


def _longest_first(names: Iterable[str]) -> list[str]:
    return sorted(names, key=len, reverse=True)


def _as_written(path: str) -> str:
    return r"\s*(?:\.|->)\s*".join(map(re.escape, path.split(".")))
