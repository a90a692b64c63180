"""The part of a program that a kernel needs: what it names, what that names, and so on.

A file for nvcc holds `main` beside its kernels, and its headers serve both. NVRTC refuses the
host's functions and variables, and needs headers that are not here. So of the file and of its own
headers that stays which the kernel may need; spaces take the place of all else, and every line
keeps its number.
"""

from __future__ import annotations

import bisect
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from core.cancelling import check
from core.source.declarations import Item, Syntax, macros_of, syntax
from core.source.kernels_and_launches import kernels, unscoped
from core.source.preprocessor import DEEPEST_MACROS, DIRECTIVE, WORD, Macro, Span, blank, expanded

_GOES_ALONG = re.compile(  # what a declaration that is hidden takes along
    r"[ \t]*#[ \t]*(?:include|pragma[ \t]+(?:no)?unroll)\b"
)
_MEMBER = re.compile(r"(?:\.|->)\s*(?:template\s+)?([A-Za-z_]\w*)")
_OF_ITSELF = re.compile(r"\busing\s+(\w+)\s*=\s*\1\b")  # `using Scan = Scan<T, 32>`
_OF_INSTANCE = re.compile(r">\s*::\s*\w+")  # a class's own
_TYPED = re.compile(r"\b(?!(?:return|case|else|throw|goto)\b)[A-Za-z_]\w*\s+\Z")
_LONGEST_TYPE = 80
_SCOPED = re.compile(r"::\s*([A-Za-z_]\w*)")  # it may have the name of a variable


@dataclass(frozen=True)
class Part:
    """A declaration of one of the files."""

    file: str
    item: Item


class Program:
    """A source and its own headers, by the names that it includes them by; `main` is the source."""

    def __init__(self, main: str, texts: Mapping[str, str]) -> None:
        self.main = main
        self._macros = macros_of(tuple(texts.values()))
        self.files: Mapping[str, Syntax] = {
            name: syntax(text, self._macros) for name, text in texts.items()
        }
        self._made: dict[Part, frozenset[str]] = {}
        self._words_of: dict[Part, tuple[frozenset[str], frozenset[str]]] = {}

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Every declaration."""
        return tuple(Part(name, item) for name, file in self.files.items() for item in file.items)

    @cached_property
    def by_name(self) -> Mapping[str, tuple[Part, ...]]:
        """The declarations of each name that a GPU may use."""
        found: dict[str, list[Part]] = {}
        for part in self.parts:
            if part.item.space != "host":
                for name in part.item.names or self._made_names(part):
                    found.setdefault(name, []).append(part)
        return {name: tuple(parts) for name, parts in found.items()}

    def _made_names(self, part: Part) -> frozenset[str]:
        """The names that the use of a macro declares; empty where the parser cannot tell."""
        if part.item.kind != "macro" or not self.makes_code(part):
            return frozenset()
        if part not in self._made:
            items = syntax(self._expanded(part), self._macros).items
            is_told = all(item.kind != "macro" for item in items)
            names = (name for item in items for name in item.names)
            self._made[part] = frozenset(names if is_told else ())
        return self._made[part]

    def _expanded(self, part: Part) -> str:
        """The text of a macro's use with what it stands for."""
        text = self.text(part)
        for _ in range(DEEPEST_MACROS):
            before = text
            for name in dict.fromkeys(WORD.findall(text)):
                macro = self._macro(name, part)
                if macro is not None and macro.parameters is not None:
                    text = expanded(text, name, ",".join(macro.parameters), macro.body)
            if text == before:
                break
        return text

    def _macro(self, name: str, part: Part) -> Macro | None:
        """The macro that a name means at a declaration.

        It is the last #define before it in its file, or the only one of the other files.
        """
        there = self._defined.get(name, {})
        own = there.get(part.file, [])
        before = bisect.bisect_left(own, part.item.start, key=lambda macro: macro.start)
        if before:
            return own[before - 1]
        others = {m.body: m for file, macros in there.items() if file != part.file for m in macros}
        return others.popitem()[1] if len(others) == 1 else None

    @cached_property
    def _defined(self) -> Mapping[str, dict[str, list[Macro]]]:
        """Every #define by its name and its file."""
        found: dict[str, dict[str, list[Macro]]] = {}
        for name, file in self.files.items():
            for macro in file.macros:
                found.setdefault(macro.name, {}).setdefault(name, []).append(macro)
        return found

    @cached_property
    def _methods(self) -> Mapping[str, tuple[Part, ...]]:
        """Methods that are defined outside their classes, by name."""
        found: dict[str, list[Part]] = {}
        for name, parts in self.by_name.items():
            found.setdefault(name, []).extend(p for p in parts if p.item.is_method)
        return {name: tuple(parts) for name, parts in found.items() if parts}

    @cached_property
    def macros(self) -> Mapping[str, frozenset[str]]:
        """The names in the meanings of each macro."""
        found: dict[str, frozenset[str]] = {}
        for file in self.files.values():
            for macro in file.macros:
                found[macro.name] = found.get(macro.name, frozenset()) | macro.words
        return found

    @cached_property
    def plain_macros(self) -> Mapping[str, str]:
        """Macros without parameters, by name; of several meanings the last."""
        return {
            macro.name: macro.body
            for file in self.files.values()
            for macro in file.macros
            if macro.parameters is None
        }

    def _bodies(self, names: Iterable[str]) -> Iterator[str]:
        wanted = frozenset(names)
        for file in self.files.values():
            yield from (m.body for m in file.macros if m.name in wanted)

    def text(self, part: Part) -> str:
        """A declaration without its comments and strings."""
        return self.files[part.file].plain[part.item.start : part.item.end]

    def words(self, part: Part) -> frozenset[str]:
        """The names that a declaration uses from outside it.

        Its own variables, members of objects and its host functions do not count.
        """
        return self._words(part)[0]

    def _words(self, part: Part) -> tuple[frozenset[str], frozenset[str]]:
        """Names that a declaration uses at namespace level, and members of objects."""
        found = self._words_of.get(part)
        if found is None:
            file, item = self.files[part.file], part.item
            pieces, at = [], item.start
            for hidden in item.host_parts:
                pieces.append(file.plain[at : hidden.start])
                at = hidden.end
            pieces.append(file.plain[at : item.end])
            text = " ".join(pieces)
            own = file.declared_in(item.start, item.end)
            if item.kind == "macro":
                more = self._expanded(part)
                own, text = syntax(more, self._macros).declared_in(0, len(more)), f"{text} {more}"
            own -= {*item.names, *_SCOPED.findall(text), *_OF_ITSELF.findall(text)}
            members = frozenset(_MEMBER.findall(text))
            words = frozenset(WORD.findall(_MEMBER.sub(" ", text)))
            found = self._words_of[part] = words - own, members
        return found

    def may_declare(self, name: str) -> bool:
        """Whether a text seems to declare a name: macros may hide declarations from the parser."""
        if name in self.by_name or name in self.macros:
            return True
        return any(
            _TYPED.search(file.plain, max(0, use.start() - _LONGEST_TYPE), use.start())
            for file in self.files.values()
            for use in re.finditer(rf"\b{name}\b", file.plain)
        )

    def makes_code(self, part: Part) -> bool:
        """Whether something that is no declaration may expand to one for the GPU."""
        text = self.text(part)
        makes = not self._macros.makers.isdisjoint(WORD.findall(text))
        return makes or re.search(r"__(?:global|device)__", text) is not None

    def roots(self, kernel: str) -> tuple[Part, ...]:
        """The kernel of that name with what its template arguments name, all kernels for "".

        Where no text declares it a macro makes it: then all that macros make are taken.
        """
        name = unscoped(kernel)
        given = _OF_INSTANCE.sub(">", kernel.partition("<")[2])
        arguments = [p for word in WORD.findall(given) for p in self.by_name.get(word, ())]
        kernels = [
            part
            for part in self.parts
            if part.item.space == "global" and (not name or name in part.item.names)
        ]
        if name and any(part.item.is_body for part in kernels):
            return (*kernels, *arguments)
        made = [p for p in self.parts if p.item.kind == "macro" and self.makes_code(p)]
        some = (*kernels, *made) or [p for p in self.parts if p.item.space == "global"]
        return tuple(dict.fromkeys((*(some or self.everything()), *arguments)))

    def everything(self) -> frozenset[Part]:
        """All declarations that a GPU may use."""
        return frozenset(
            part
            for part in self.parts
            if part.item.space != "host" and (part.item.kind != "macro" or self.makes_code(part))
        )

    def needed(self, roots: Iterable[Part]) -> frozenset[Part]:
        """The roots and all that they name, directly or by other things."""
        found = {*roots, *self._always}
        waiting = deque(found)
        seen: set[str] = set()
        operators = list(self.by_name.get("operator", ()))

        def take(part: Part) -> None:
            if part not in found:
                found.add(part)
                waiting.append(part)

        while waiting or operators:
            check()
            if not waiting:  # operators are needed with the types that they are for
                fitting = [p for p in operators if self._is_for(p, seen)]
                if not fitting:
                    break
                operators = [p for p in operators if p not in fitting]
                for part in fitting:
                    take(part)
                continue
            named, members = self._words(waiting.popleft())
            for name in members:
                for part in self._methods.get(name, ()):
                    take(part)
            words = [*named]
            while words:
                word = words.pop()
                if word in seen:
                    continue
                seen.add(word)
                words += self.macros.get(word, ())
                for part in self.by_name.get(word, ()):
                    if word != "operator":
                        take(part)
        return frozenset(found)

    def _is_for(self, operator: Part, words: set[str]) -> bool:
        own = [
            word
            for word in self.words(operator)
            if any(p.item.kind in ("class", "alias") for p in self.by_name.get(word, ()))
        ]
        return not own or any(word in words for word in own)

    @cached_property
    def _always(self) -> frozenset[Part]:
        """What changes the meaning of names, or cannot be told by one."""
        return frozenset(
            part
            for part in self.parts
            if (part.item.kind == "using" and "namespace" in self.text(part))
            or (
                part.item.kind == "macro"
                and self.makes_code(part)
                and not self._makes_kernel(part)
                and not self._made_names(part)
            )
        )

    def _makes_kernel(self, part: Part) -> bool:
        words = self.words(part)
        return any("__global__" in body for body in self._bodies(words)) or "__global__" in words

    def has_plain_constexpr(self, kept: Iterable[Part]) -> bool:
        """Whether a `constexpr` function says nothing of the GPU, as nvcc allows with an option."""
        return any(
            (part.item.kind == "function" and part.item.space == "any")
            or (part.item.kind == "class" and "constexpr" in self.words(part))
            for part in kept
        )

    def qualified(self, kernel: str) -> str:
        """A kernel's name with its namespaces, as an expression for the compiler.

        Template arguments get the namespaces in which the kernel sees them.
        """
        name, opens, given = kernel.partition("<")
        *asked, plain = name.strip().split("::")
        found = [p.item for p in self.parts if p.item.space == "global" and plain in p.item.names]
        scopes = [item.scope for item in found] or [tuple(asked)]
        own = (one for one in scopes if [*one][len(one) - len(asked) :] == asked)
        scope = next(own, scopes[0])
        return "::".join([*scope, plain]) + opens + self._seen_from(tuple(scope), given)

    def _seen_from(self, scope: tuple[str, ...], given: str) -> str:
        """Template arguments as one can name them anywhere, written in a namespace."""

        def whole(match: re.Match[str]) -> str:
            scopes = [part.item.scope for part in self.by_name.get(match[0], ())]
            around = [one for one in scopes if one == scope[: len(one)]]
            return "::".join([*max(around, key=len, default=()), match[0]])

        return re.sub(r"(?<![\w:.])[A-Za-z_]\w*", whole, given)

    def overload(self, kernel: str) -> str:
        """An expression for one of a kernel's overloads; "" for a name that has none.

        A cast to its parameters says which.
        """
        name = unscoped(kernel)
        heads = re.compile(rf"\b{re.escape(name)}\s*\(")
        files = [f for f in self.files.values() if name and heads.search(f.plain)]
        if sum(len(heads.findall(f.plain)) for f in files) < 2:
            return ""
        found = (k for f in files for k in kernels(f.source) if k.name == name)
        several = (k for k in found if k.called.endswith(k.types) and k.is_meant(kernel))
        if (chosen := next(several, None)) is None:
            return ""
        return f"(void (*)({', '.join(chosen.parameters)})) {chosen.qualified}"

    def texts(self, kept: frozenset[Part]) -> Mapping[str, str]:
        """The files with spaces in place of every declaration that is not kept."""
        return {name: self._text(name, kept) for name in self.files}

    def _text(self, name: str, kept: frozenset[Part]) -> str:
        file = self.files[name]
        spans: list[Span] = []
        behind = 0
        for item in file.items:
            if Part(name, item) not in kept:
                spans.append((item.start, item.end))
                spans += file.specifiers_before(item.start, behind)
            else:
                spans += [(part.start, part.end) for part in item.host_parts]
            behind = max(behind, item.end)
        return without(file.source, spans)

    def parts_at(self, file: str, line: int) -> tuple[Part, ...]:
        """The declarations that have some of a line (1-based)."""
        found = self.files.get(file)
        if found is None:
            return ()
        return tuple(
            Part(file, item)
            for item in found.items
            if found.line(item.start) <= line <= found.line(max(item.start, item.end - 1))
        )

    def host_lines(self) -> Mapping[str, tuple[str, int]]:
        """By name where the host's functions and variables are: (file, line)."""
        found: dict[str, tuple[str, int]] = {}
        for part in self.parts:
            file, item = self.files[part.file], part.item
            for hidden in item.host_parts:
                found.setdefault(hidden.name, (part.file, file.line(hidden.start)))
            if item.space == "host" and item.kind in ("function", "variable"):
                for name in item.names:
                    found.setdefault(name, (part.file, file.line(item.start)))
        return found


@lru_cache(maxsize=8)
def without_host_code(source: str) -> str:
    """The source with spaces in place of what only the host has; the lines keep their numbers."""
    return without(source, [(part.start, part.end) for part in syntax(source).of_host])


def without(source: str, spans: Iterable[Span]) -> str:
    """The source with spaces in place of those characters; preprocessor lines stay."""
    pieces, at = [], 0
    for first, end in sorted(spans):
        start = max(first, at)
        pieces.append(source[at:start])
        if start < end:
            pieces.append(_hidden(source[start:end]))
            at = end
    return "".join([*pieces, source[at:]])


def _hidden(text: str) -> str:
    if "#" not in text:
        return blank(text)
    pieces, at = [], 0
    for found in DIRECTIVE.finditer(text):
        pieces.append(blank(text[at : found.start()]))
        keep = not _GOES_ALONG.match(found[0])
        pieces.append(found[0] if keep else blank(found[0]))
        at = found.end()
    return "".join([*pieces, blank(text[at:])])
