"""What a file of CUDA C++ declares at namespace level, found by a real parser (tree-sitter).

The parser goes on behind a mistake, so that an unfinished file has kernels, too. Every place is one
in the text as it was written: macros are not expanded, but those that stand for execution spaces
and other specifiers are known. Nothing here is compiled or run.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal

from core.cancelling import check
from core.source.cuda_parser import ATTRIBUTE, CLASSES, DECLARATORS, GROUPS, parse
from core.source.preprocessor import (
    BLANKED,
    DEEPEST_MACROS,
    DIRECTIVE,
    WORD,
    Macro,
    Span,
    blank,
    blank_found,
    blanked,
    blanked_at,
    closing,
    defined_macros,
    disabled,
    with_one_branch,
)

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

Kind = Literal["function", "class", "alias", "variable", "using", "macro", "assertion", "other"]

_C_LINKAGE = re.compile(  # its brace stands between one #if and its #endif, so alone
    r"^[ \t]*#[ \t]*if[^\n]*\b__cplusplus\b[^\n]*\n"
    r"(?P<brace>\s*(?:extern\s*\"C\"\s*(?:#[^\n]*\n\s*)?\{|\})\s*)#",
    re.MULTILINE,
)
_CALL = re.compile(r"\b(\w+)\s*\([^()]*\)")
_SPACES = re.compile(r"\b__(?:global|device|constant|shared|managed)__\b")
_SPECIFIER = re.compile(
    r"(?:\b(?:inline|static|extern|constexpr|const|volatile|void|__inline__|__forceinline__"
    r"|__noinline__|__extension__|__host__|__device__|__global__|__restrict__|__constant__|__shared__)\b"
    r"|\"C\"|\[\[[^\]]*\]\]|@|\s)*"
)
_MAKES_CODE = re.compile(
    r"__(?:global|device|constant|shared)__|\b(?:template|struct|class|typedef|using|enum)\b"
)
_GUARD = re.compile(r"_(?:H|HPP|CUH|INCLUDED)_*$")
_REST = re.compile(  # of a declaration of a function
    r"\s{0,80}[A-Za-z_*&][^;{}()]{0,400}\([^;{}]{0,2000}(?=;)"
)
_LINE_START = re.compile(r"(?:^|\n)[ \t]*$")
_LINE_ALONE = re.compile(r"[ \t]*\n\s*(?![\s;,.)\]+*/=<>?:&|{-])")
_LONGEST_INDENT = 80
_LONGEST_HEAD = 400  # characters of attributes and such before a declaration
_LONGEST_MEANING = 4000
_CLASSES = {*CLASSES, "enum_specifier"}
_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(_CLASSES, "class"),
    "function_definition": "function",
    "type_definition": "alias",
    "alias_declaration": "alias",
    "namespace_alias_definition": "alias",
    "concept_definition": "alias",
    "using_declaration": "using",
    "static_assert_declaration": "assertion",
    "declaration": "variable",
    "template_instantiation": "other",
}
_SKIPPED = {
    *("comment", ";", "{", "}", "namespace", "extern", "string_literal", "identifier"),
    *("namespace_identifier", "nested_namespace_specifier", "inline"),
}
_DECLARING = {
    *("declaration", "parameter_declaration", "optional_parameter_declaration"),
    *("for_range_loop", "type_parameter_declaration", "optional_type_parameter_declaration"),
    *("enumerator", "variadic_type_parameter_declaration", "variadic_parameter_declaration"),
    *("alias_declaration", "type_definition", "field_declaration"),
}
_DECLARATORS = DECLARATORS | {"structured_binding_declarator"}
_AROUND = {"pointer_declarator", "reference_declarator", "init_declarator"}
_NAMES = {
    *("identifier", "type_identifier", "field_identifier", "operator_name", "destructor_name"),
    "namespace_identifier",
}


@dataclass(frozen=True)
class Item:
    """One declaration at namespace level; of classes also the parts that only the host has.

    `names` are what it declares (a class also what follows it), `space` its execution or memory
    space: "global", "device" (also __constant__, __shared__), "host", or "any" for what has none
    and needs none: types, constants, constexpr functions. `is_body`: a function with its body.
    """

    kind: Kind
    names: tuple[str, ...]
    start: int
    end: int
    space: Literal["global", "device", "host", "any"]
    is_body: bool = False
    host_parts: tuple[HostPart, ...] = ()
    scope: tuple[str, ...] = ()  # the namespaces around it
    is_method: bool = False  # a class's, defined outside it


@dataclass(frozen=True)
class HostPart:
    """A function or variable of the host: its name, its characters `start` to `end`."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class Macros:
    """Of a program's macros those that the parser has to know.

    `specifiers` stand for words such as `static __device__`, with their meanings. `functions` take
    parameters; of them `makers` stand for declarations, and `attributes` for such as
    `__align__(n)`. `wrappers` are makers that add an attribute to their argument. `openers` have a
    brace that one of the `closers` closes. `statements` are whole ones, without parameters: a use
    needs no semicolon.
    """

    specifiers: tuple[tuple[str, str], ...]
    functions: frozenset[str]
    makers: frozenset[str]
    wrappers: frozenset[str]
    attributes: frozenset[str]
    openers: frozenset[str] = frozenset()
    closers: frozenset[str] = frozenset()
    statements: frozenset[str] = frozenset()


class Syntax:
    """A text as the parser understands it."""

    def __init__(self, source: str, macros: Macros) -> None:
        self.source = source
        self.plain = blanked(source)
        self.macros = defined_macros(self.plain)
        self.specifiers = dict(macros.specifiers)
        inside = [(begins[1], ends[0]) for begins, ends in disabled(self.plain)]
        text = blanked_at(_parsed_text(source, self.specifiers), inside)
        one = with_one_branch(text)
        others = _hidden(text, one) if one != text else ""
        one = blanked_at(one, [call for _, *call in _calls(one, macros.attributes)])
        one = blanked_at(one, _uses(one, macros.statements))
        self.made = tuple(_made(one, macros))
        self._text = blanked_at(one, self.made)
        self._declared_in: dict[Span, frozenset[str]] = {}
        self._others = others if others.strip() else ""  # branches that open the same braces

    @cached_property
    def tree(self) -> Tree:
        """tree-sitter's tree, whose bytes are this text's characters."""
        return parse(self._text)

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """The declarations in order."""
        found = list(self._items(self.tree.root_node, ()))
        if self._others:
            branches = copy(self)
            branches._text = self._others
            tree = parse(self._others)
            more = [*branches._items(tree.root_node, ())]
            found += [one for one in more if not any(i.start <= one.start < i.end for i in found)]
        for start, end in self.made:
            if not any(item.start <= start < item.end for item in found):
                found.append(Item("macro", (), start, end, "any"))
        return tuple(sorted(found, key=lambda item: item.start))

    @property
    def of_host(self) -> Iterator[HostPart]:
        """The functions with bodies, and variables at namespace level, that only the host has.

        The functions say neither `__global__` nor `__device__` nor `constexpr`; the variables are
        neither marked for the GPU nor constant.
        """
        for item in self.items:
            is_declared = item.kind == "function" and not item.is_body
            if item.space == "host" and not is_declared:
                yield HostPart(item.names[-1] if item.names else "", item.start, item.end)
            for part in item.host_parts:
                if "{" in self.plain[part.start : part.end]:
                    yield part

    def line(self, position: int) -> int:
        """The line of a character, from 1."""
        return 1 + bisect.bisect_left(self._line_ends, position)

    def text(self, node: Node) -> str:
        """A node's text as written, without comments and strings."""
        return self.plain[node.start_byte : node.end_byte]

    @cached_property
    def _line_ends(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.source)]

    def _items(self, node: Node, scope: tuple[str, ...]) -> Iterator[Item]:
        found: list[Item] = []
        for item in self._pieces(node, scope):
            if self.plain[item.start] == "{" and (head := self._open_head(found, item)) is not None:
                del found[head + 1 :]
                found[head] = replace(found[head], end=item.end, is_body=True)
            else:
                found.append(item)
        yield from found

    def _open_head(self, items: list[Item], body: Item) -> int | None:
        """Which of some items is the head of a body that directives part from it.

        As in `Matrix::Matrix(int n)`, `#if …`, ` : size{n}`, `#endif`, `{}`.
        """
        for at in range(len(items) - 1, -1, -1):
            if items[at].kind == "function" and not items[at].is_body:
                between = DIRECTIVE.sub("", self.plain[items[at].start : body.start])
                return at if ";" not in between else None
            if self.plain[items[at].start] != ":":
                return None
        return None

    def _pieces(self, node: Node, scope: tuple[str, ...]) -> Iterator[Item]:
        begun: int | None = None  # where a head starts that a directive separates from its function
        for child in node.children:
            check()
            kind = child.type
            if kind == "ERROR" and self._is_head(child):
                begun = child.start_byte
                continue
            if kind in _SKIPPED or child.is_missing or self.text(child) == ";":
                continue
            if kind == "namespace_definition":
                name = child.child_by_field_name("name")
                inner = (*scope, *self.text(name).split("::")) if name else scope
                yield from self._items(child, inner)
            elif kind == "linkage_specification":
                body = child.child_by_field_name("body")
                if body is not None and body.type == "declaration_list":
                    yield from self._items(body, scope)
                else:
                    yield self._item(child, body or child, scope)
            elif kind in GROUPS or (kind == "ERROR" and self._holds_items(child)):
                yield from self._items(child, scope)
            elif not kind.startswith("preproc") and not self._is_part_of_condition(child):
                item = self._item(child, child, scope, begun)
                begun = None
                yield item

    @staticmethod
    def _holds_items(node: Node) -> bool:
        return any(c.type in _KINDS or c.type == "template_declaration" for c in node.children)

    @staticmethod
    def _is_part_of_condition(node: Node) -> bool:
        return (
            node.parent is not None
            and node.parent.type.startswith("preproc")
            and (
                node.parent.child_by_field_name("condition") == node
                or node.parent.child_by_field_name("name") == node
                or node.type.startswith("#")
                or node.type == "\n"
            )
        )

    def _is_head(self, node: Node) -> bool:
        """Whether it is `template <typename T> __global__` and no more."""
        text = DIRECTIVE.sub("", self.plain[node.start_byte : node.end_byte]).strip()
        return text.endswith("__") and _SPACES.search(text) is not None and "{" not in text

    def _item(
        self, whole: Node, node: Node, scope: tuple[str, ...], begun: int | None = None
    ) -> Item:
        start, end = whole.start_byte, whole.end_byte
        if self._text[end : end + 1] == ";":  # of a class
            end += 1
        start = self._with_specifiers(start if begun is None else begun)
        inner = node
        while inner.type == "template_declaration" and inner.named_children:
            inner = inner.named_children[-1]
        kind = _KINDS.get(inner.type, "macro")
        names = tuple(dict.fromkeys(self._names(inner)))
        is_function = kind == "function" or (kind == "variable" and _declares_function(inner))
        body = inner.child_by_field_name("body")
        head = self.plain[start : body.start_byte if body is not None else end]
        if kind in ("class", "alias", "using", "assertion", "other"):
            head = head if kind == "other" else ""
        parts = tuple(self._host_parts(inner)) if "{" in self.plain[start:end] else ()
        space = self._space(head, kind, is_function)
        made = next((c for c in inner.children if c.child_by_field_name("body")), None)
        if kind == "variable" and space == "host" and made is not None and made.type in _CLASSES:
            kind, space = "class", "any"  # and a variable of that type, which is the host's
            parts = (*parts, HostPart(names[-1], made.end_byte, end - 1))
        return Item(
            "function" if is_function else kind,
            names,
            start,
            end,
            space,
            is_function and "{" in self._text[start:end],
            parts,
            scope,
            is_function and any(re.search(rf"::\s*{re.escape(n)}\b", head) for n in names),
        )

    def _with_specifiers(self, start: int) -> int:
        """Where the specifiers before a place begin: they are blank for the parser."""
        around = bisect.bisect_right(self._directives, (start, start)) - 1
        first = max(start - _LONGEST_HEAD, self._directives[around][1] if around >= 0 else 0)
        while True:
            before = self.plain[first:start].rstrip()
            word = re.search(r"[A-Za-z_]\w*$", before)
            if word and word[0] in self.specifiers:
                start = first + word.start()
            elif before.endswith(")") and (at := _last_attribute(before)) is not None:
                start = first + at
            else:
                return start

    def specifiers_before(self, start: int, first: int) -> Iterator[Span]:
        """The specifiers behind `first` that only directives separate from a declaration."""
        for at in range(bisect.bisect_left(self._specifiers, (start, 0)) - 1, -1, -1):
            span = self._specifiers[at]
            between = self.plain[span[1] : start]
            if span[0] < first or DIRECTIVE.sub("", between).strip():
                return
            yield span
            start = span[0]

    @cached_property
    def _specifiers(self) -> list[Span]:
        """Where specifiers by macros, and attributes, stand: the parser does not see them."""
        words = "|".join(map(re.escape, self.specifiers))
        pattern = re.compile(rf"\b(?:{words})\b|{ATTRIBUTE.pattern}" if words else ATTRIBUTE)
        return [match.span() for match in _outside_directives(self.plain, pattern)]

    @cached_property
    def _directives(self) -> list[Span]:
        return [match.span() for match in DIRECTIVE.finditer(self.plain)]

    def _space(
        self, head: str, kind: Kind, is_function: bool
    ) -> Literal["global", "device", "host", "any"]:
        if self.specifiers:
            head = WORD.sub(lambda m: self.specifiers.get(m[0], m[0]), head)
        if "__global__" in head:
            return "global"
        if _SPACES.search(head):
            return "device"
        if is_function:
            return "any" if re.search(r"\b(?:constexpr|consteval)\b", head) else "host"
        if kind == "variable":
            declared = re.split(r"[={(]", _without_template(head), maxsplit=1)[0]
            return "any" if re.search(r"\bconst(?:expr)?\b", declared) else "host"
        return "any"

    def nodes(self, start: int, end: int) -> Iterator[Node]:
        """All nodes within some characters."""
        text = self._text[start:end]
        first = start + len(text) - len(text.lstrip())  # specifiers are blank for the parser
        around = self.tree.root_node.descendant_for_byte_range(first, max(first, end - 1))
        waiting = [around] if around is not None else []
        while waiting:
            node = waiting.pop()
            if node.start_byte < end and node.end_byte > start:
                if start <= node.start_byte and node.end_byte <= end:
                    yield node
                waiting += reversed(node.named_children)

    def declared_in(self, start: int, end: int) -> frozenset[str]:
        """The names that declarations, parameters and loops within some characters introduce."""
        if (start, end) not in self._declared_in:
            inside = (node for node in self.nodes(start, end) if node.type in _DECLARING)
            found = frozenset(name for node in inside for name in self._names(node))
            self._declared_in[start, end] = found
        return self._declared_in[start, end]

    def _names(self, node: Node) -> Iterator[str]:
        if node.type == "namespace_alias_definition":
            name = node.child_by_field_name("name")
            yield self.text(name) if name else ""
            return
        if node.type == "using_declaration":
            yield self.text(node).rstrip("; ").rpartition("::")[2].split()[-1]
            return
        if node.type in _CLASSES:
            yield from self._class_names(node)
            return
        default = node.child_by_field_name("default_type") or node.child_by_field_name(
            "default_value"
        )
        for child in node.children:
            if child == default:
                continue
            if child.type in _CLASSES:
                yield from self._class_names(child)
            elif child.type in ("template_type", "qualified_identifier", "template_function"):
                if child != node.child_by_field_name("type"):
                    yield from self._last_name(child)
            elif child.type in _DECLARATORS:
                yield from self._declared(child)
            elif child.type in _NAMES and child != node.child_by_field_name("type"):
                yield self.text(child)

    def _declared(self, node: Node) -> Iterator[str]:
        """The name in a declarator, which may stand in brackets and behind stars."""
        inner = node.child_by_field_name("declarator")
        for child in [inner] if inner is not None else node.named_children:
            if child.type in _DECLARATORS:
                yield from self._declared(child)
            else:
                yield from self._last_name(child)

    def _last_name(self, node: Node) -> Iterator[str]:
        if node.type in _NAMES:
            yield "operator" if node.type == "operator_name" else self.text(node)
        elif name := node.child_by_field_name("name"):
            yield from self._last_name(name)
        elif node.type == "operator_cast":
            yield "operator"

    def _class_names(self, node: Node) -> Iterator[str]:
        if name := node.child_by_field_name("name"):
            yield from self._last_name(name)
        if node.type == "enum_specifier" and (body := node.child_by_field_name("body")):
            for child in body.named_children:
                if child.type == "enumerator" and (name := child.child_by_field_name("name")):
                    yield self.text(name)

    def _host_parts(self, node: Node) -> Iterator[HostPart]:
        """Member functions that say neither __device__ nor constexpr, and are not `= default`."""
        if node.type in _CLASSES and node.type != "enum_specifier":
            body = node.child_by_field_name("body")
            for child in body.children if body is not None else ():
                yield from self._host_member(child)
            return
        for child in node.children:
            if child.type in _CLASSES:
                yield from self._host_parts(child)

    def _host_member(self, member: Node) -> Iterator[HostPart]:
        inner = member
        while inner.type == "template_declaration" and inner.named_children:
            inner = inner.named_children[-1]
        if inner.type.startswith("preproc"):
            for child in inner.children:
                yield from self._host_member(child)
            return
        if inner.type == "friend_declaration":
            for child in inner.children:
                for part in self._host_member(child):  # `friend` itself belongs to it
                    yield replace(part, start=min(part.start, member.start_byte))
            return
        is_function = inner.type == "function_definition" or (
            inner.type in ("field_declaration", "declaration") and _declares_function(inner)
        )
        if not is_function:
            yield from self._host_parts(inner)
            return
        start, body = self._with_specifiers(member.start_byte), inner.child_by_field_name("body")
        head = self.plain[start : body.start_byte if body is not None else member.end_byte]
        if self._space(head, "function", is_function=True) == "host" and not any(
            child.type in ("default_method_clause", "delete_method_clause")
            for child in inner.children
        ):
            end = member.end_byte
            if self._text[end : end + 1] == ";" and member.type != "function_definition":
                end += 1
            yield HostPart(next(self._names(inner), ""), start, end)


@lru_cache(maxsize=1024)
def _syntax(source: str, macros: Macros) -> Syntax:
    return Syntax(source, macros)


def syntax(source: str, macros: Macros | None = None) -> Syntax:
    """A text parsed; `macros` are those of the program that it belongs to."""
    return _syntax(source, macros or macros_of((source,)))


@lru_cache(maxsize=16)
def macros_of(texts: tuple[str, ...]) -> Macros:
    """What the parser has to know of the macros in some texts."""
    written = [(macro, text) for text in texts for macro in defined_macros(blanked(text))]
    found = [macro for macro, _ in written]
    strings = {m.name for m, text in written if not m.body and '"' in text[m.start : m.end]}
    bodies: dict[str, str] = {}
    for macro in found:  # of several meanings the one for the GPU, or the last
        if macro.parameters is None and not _SPACES.search(bodies.get(macro.name, "")):
            bodies[macro.name] = macro.body
    for name in [name for name, body in bodies.items() if _SPACES.fullmatch(name) and not body]:
        del bodies[name]  # `#define __device__` is for a host compiler that reads the header
    functions = [  # C's headers give static_assert a meaning for old compilers
        m for m in found if m.parameters is not None and m.name != "static_assert"
    ]
    attributes = frozenset(
        m.name for m in functions if _SPECIFIER.fullmatch(ATTRIBUTE.sub(" ", m.body))
    )
    meanings = {name: _meaning(name, bodies, attributes) for name in bodies}
    wrappers = frozenset(m.name for m in functions if _wraps(m))
    makers = {m.name for m in functions if _MAKES_CODE.search(m.body)} | wrappers
    for _ in range(DEEPEST_MACROS):
        makers |= {m.name for m in functions if m.words & makers}
    return Macros(
        tuple(
            sorted(
                (name, meaning)
                for name, meaning in meanings.items()
                if _SPECIFIER.fullmatch(meaning)
                and name not in strings
                and not _GUARD.search(name)
                and (_SPACES.search(meaning) or not re.fullmatch(r"__\w+__", name))
            )
        ),
        frozenset(m.name for m in functions),
        frozenset(makers),
        wrappers,
        attributes,
        frozenset(m.name for m in functions if m.body.count("{") > m.body.count("}")),
        frozenset(m.name for m in functions if m.body.count("{") < m.body.count("}")),
        frozenset(
            name
            for name, meaning in meanings.items()
            if meaning.rstrip().endswith(";")
            and meaning.count("{") == meaning.count("}")
            and not _MAKES_CODE.search(meaning)
        ),
    )


def _wraps(macro: Macro) -> bool:
    """Whether a macro gives an attribute to a declaration: `DEPRECATED(int f(int n), "use g")`."""
    left = ATTRIBUTE.sub("", macro.body).strip()
    return left != macro.body.strip() and left in (macro.parameters or ())


def _meaning(name: str, bodies: Mapping[str, str], attributes: frozenset[str]) -> str:
    text = bodies[name]
    for _ in range(DEEPEST_MACROS):
        text = ATTRIBUTE.sub(" ", WORD.sub(lambda m: bodies.get(m[0], m[0]), text))
        text = _CALL.sub(lambda m: " " if m[1] in attributes else m[0], text)
        if len(text) > _LONGEST_MEANING:
            break
    return text


def _calls(text: str, names: frozenset[str]) -> Iterator[tuple[str, int, int]]:
    """Where macros are used with arguments, directives aside: name, start and end."""
    if names:
        pattern = re.compile(rf"\b({'|'.join(sorted(names))})\s*\(")
        for match in _outside_directives(text, pattern):
            yield match[1], match.start(), _closed(text, match.end() - 1, "()")


def _uses(text: str, names: frozenset[str]) -> Iterator[Span]:
    """Where macros without parameters stand, directives aside."""
    if names:
        pattern = re.compile(rf"\b(?:{'|'.join(sorted(names))})\b")
        yield from (match.span() for match in _outside_directives(text, pattern))


def _outside_directives(text: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    directives = [match.span() for match in DIRECTIVE.finditer(text)]
    for match in pattern.finditer(text):
        around = bisect.bisect_right(directives, (match.start(), len(text))) - 1
        if around < 0 or match.start() >= directives[around][1]:
            yield match


def _closed(text: str, at: int, pair: str) -> int:
    """Behind the bracket that closes the one at `at`; the text's end where none does."""
    return min(closing(text, at + 1, pair) + 1, len(text))


def _made(text: str, macros: Macros) -> Iterator[Span]:
    """Where macros make declarations, with the bodies behind them, and calls on lines alone."""
    behind = 0
    closers = [(start, end) for _, start, end in _calls(text, macros.closers)]
    for name, start, end in _calls(text, macros.functions - macros.attributes):
        if start < behind:
            continue
        if name in macros.openers and (after := bisect.bisect_left(closers, (end, end))) < len(
            closers
        ):
            behind = closers[after][1]
            yield start, behind
            continue
        opens = re.compile(r"\s*\{").match(text, end)
        if name in macros.makers:
            behind = _closed(text, opens.end() - 1, "{}") if opens else end
            if name in macros.wrappers and (rest := _REST.match(text, end)):
                behind = rest.end()  # `EXPORT(int) f(int n);`
            if ends := re.compile(r"[ \t]*;").match(text, behind):
                behind = ends.end()
        elif _LINE_ALONE.match(text, end) and _LINE_START.search(
            text, max(0, start - _LONGEST_INDENT), start
        ):
            behind = end
        else:
            continue
        yield start, behind


def _hidden(text: str, shown: str) -> str:
    """What of a text is blank where it is shown, without directives, everything in its place."""
    pairs = zip(text.split("\n"), shown.split("\n"), strict=True)
    left = "\n".join(
        " " * len(line)
        if line == part
        else "".join(" " if a == b else a for a, b in zip(line, part, strict=True))
        for line, part in pairs
    )
    return DIRECTIVE.sub(blank_found, left)


def _parsed_text(source: str, specifiers: Mapping[str, str]) -> str:
    """What the parser reads: attributes and macros for specifiers are blank, all in its place."""
    text = re.sub(r"[^\x00-\x7f]", "_", BLANKED.sub(_without_content, source))

    def linkage(match: re.Match[str]) -> str:
        at = match.start("brace") - match.start()
        end = match.end("brace") - match.start()
        return match[0][:at] + blank(match["brace"]) + match[0][end:]

    if "__cplusplus" in text:
        text = _C_LINKAGE.sub(linkage, text)
    names = "|".join(map(re.escape, specifiers))
    word = re.compile(rf"\b(?:{names})\b" if names else r"(?!)")

    def specifier(match: re.Match[str]) -> str:
        word = "void" if re.search(r"\bvoid\b", specifiers[match[0]]) else ""
        return word.ljust(len(match[0])) if len(word) <= len(match[0]) else " " * len(match[0])

    def shown(part: str) -> str:
        return word.sub(specifier, ATTRIBUTE.sub(blank_found, part))

    # A directive keeps its attributes: a macro that means blanks would take in the line behind it.
    pieces, at = [], 0
    for directive in DIRECTIVE.finditer(text):
        pieces += [shown(text[at : directive.start()]), directive[0]]
        at = directive.end()
    return "".join([*pieces, shown(text[at:])])


def _without_content(match: re.Match[str]) -> str:
    """A comment as spaces, a string in its quotation marks, a character as a number."""
    text = match[0]
    if text[0] == "/":
        return blank(text)
    if text[0] == "'":
        return "0".ljust(len(text))
    if (
        text in ('"C"', '"C++"')
        or "include" in match.string[max(0, match.start() - 12) : match.start()]
    ):
        return text
    first = text.index('"')
    inside = re.sub(r"[^\n]", "_", text[first + 1 : -1]).replace("\n", " ")
    return f'{" " * first}"{inside}"'


def _without_template(head: str) -> str:
    """A declaration without its `template <…>`, whose parameters may have defaults."""
    opens = re.match(r"\s*template\s*<", head)
    return head[_closed(head, opens.end() - 1, "<>") :] if opens else head


def _last_attribute(text: str) -> int | None:
    return next((m.start() for m in ATTRIBUTE.finditer(text) if m.end() == len(text)), None)


def _declares_function(node: Node) -> bool:
    """Whether a declaration's declarator is a function's, other than a pointer to one."""
    for child in node.children:
        inner: Node | None = child
        while inner is not None and inner.type in _AROUND:
            inner = next((c for c in inner.named_children if c.type.endswith("declarator")), None)
        if inner is not None and inner.type == "function_declarator":
            declared = inner.child_by_field_name("declarator")
            return declared is not None and declared.type != "parenthesized_declarator"
    return False
