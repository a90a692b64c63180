"""The functions, classes, macros and launches of a program's text, and who calls a function.

The text is one without comments, its kernels' macros expanded. Places are characters of it. What
the parser cannot read where it stands, for mistakes around it, is read alone.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeVar

from core.source.cuda_parser import (
    ATTRIBUTE,
    CLASSES,
    DECLARATORS,
    GROUPS,
    around,
    expression,
    field_of,
    language,
    parse,
    text_in,
    text_of,
)
from core.source.preprocessor import blank, blank_found, closing, split_at_commas

if TYPE_CHECKING:
    from tree_sitter import Node, Query

_T = TypeVar("_T")
_Types = tuple[tuple[str, int], ...]  # of a function's parameters, each with its `*`s

_OF_CUDA = """
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim; size_t dynamicSmemBytes; cudaStream_t stream;
    cudaLaunchAttribute *attrs; unsigned numAttrs;
};
"""
_ALLOCATES = re.compile(r"\bcuda(?:Malloc\w*|HostAlloc)\b")
OUTER = GROUPS | {"ERROR"}
"""Nodes whose children may stand at namespace level, those around a mistake among them."""
_QUERY = """
(function_definition) @function
(call_expression) @call
(enumerator_list) @enumerators
(alias_declaration) @alias
(type_definition) @typedef
(preproc_def) @macro
(preproc_function_def) @macro
(declaration) @declaration @declared
(field_declaration) @declared
(kernel_call_syntax) @launch
(template_instantiation) @instantiation
(template_parameter_list) @parameters
(template_type) @instance
(template_function) @instance
(template_method) @instance
(struct_specifier) @named
(class_specifier) @named
(union_specifier) @named
(enum_specifier) @named @enumeration
"""
_HEADER = re.compile(
    r"\b([A-Za-z_]\w*)\s*\(((?:[^(){};]|\([^(){};]*\))*)\)\s*(?:(?:const|noexcept|override)\b\s*)*\{"
)
_CONTROL = {"if", "for", "while", "switch", "catch"}
_LAUNCH = re.compile("<<<")
_SIZES_IN_BRACES = re.compile(
    r"<<<[^;<>]{0,400}\{[^;<>]{0,400}>>>"
)  # the parser takes one such size alone
_MARK_BEHIND = re.compile(  # a macro for bounds, of a header that is not here
    r"(?<=__global__)([^;{}()]{0,60}?)\b([A-Z][A-Z0-9_]{2,60}\s{0,9}\([^()]{0,200}\))"
    r"(?=[\w\s]{0,99}\b\w+\s{0,9}\()"
)
_TEMPLATE = re.compile(r"\btemplate\s*<")
_MARK = re.compile(r"\b__global__\b")
_OF_WHOLE_NUMBERS = re.compile(r"\b(?:is_integral(?:_v)?|integral)\s*<\s*(\w+)\s*>")  # `requires`
WHOLE_NUMBERS = "integral"
"""The `type` of a template parameter that is a type of whole numbers."""
_STATEMENT = re.compile(
    r"(?:^|(?<=[;{}]))[ \t]*([A-Z][A-Z0-9_]{2,}|\w+_(?:CHECK|check))\s*\(", re.MULTILINE
)
_WITHOUT_MEANING = re.compile(  # the parser would take the next line for it
    r"^[ \t]*#[ \t]*define[ \t]+\w+(?:\([^)\n]*\))?[ \t]*$", re.MULTILINE
)
_GOES_ON = re.compile(r"(\s+)(?=[A-Za-z_*}])")
_DEEPEST = 4  # callers of callers
_LONGEST_GAP = 200  # characters before a statement
_MOST_HEADERS = 4  # before a place that may be its function's
_MOST_CALLS = 3  # of one function that are looked at
_MOST_ALONE = 256  # pieces of a text with mistakes
_MOST_READ_ALONE = 8 << 20  # characters, with what is in front of them
_LONGEST_HEAD = 10_000  # characters of `template <…>` and qualifiers, or of a launch
_LONGEST_MEANING = 2000  # characters of a macro


@dataclass(frozen=True)
class Declared:
    """A declarator: the name, the type's words, `*`s, `&`, and the extents of an array."""

    name: str
    type: str
    stars: int = 0
    is_reference: bool = False
    extents: tuple[Node | None, ...] = ()
    value: Node | None = None
    points_to_array: bool = False


@dataclass(frozen=True)
class TemplateParameter:
    """`typename T = float` or `int N = 4`; `default` is "" without one, `type` that of a value.

    `is_pack`: `typename... T` or `int... N`, of any number of arguments.
    """

    kind: Literal["type", "value"]
    name: str
    default: str = ""
    type: str = ""
    is_pack: bool = False


@dataclass(frozen=True, eq=False)
class Function:
    """A function with its body; `owner` is the class whose method it is, "" for none."""

    name: str
    owner: str
    formals: tuple[Declared, ...]
    template: tuple[TemplateParameter, ...]
    node: Node
    body: Node
    is_kernel: bool
    is_for_device: bool = False

    def takes(self, count: int) -> bool:
        """Whether it may be called with so many arguments."""
        least = sum(1 for formal in self.formals if formal.value is None)
        return least <= count <= len(self.formals)


def nearest(called: Node, functions: Sequence[Function]) -> list[Function]:
    """Functions of one name in the order in which C++ looks for the called one.

    Its own namespace comes first, then those around it. Others stay at the end, as a `using` may
    bring them in. `called` is the node that names the function.
    """
    spaces, (scope, _, _) = _namespaces(called), text_of(called).partition("<")[0].rpartition("::")
    named = tuple(scope.split("::")) if scope else ()
    places = [(*spaces[:depth], *named) for depth in range(len(spaces), -1, -1)]

    def rank(function: Function) -> int:
        own = _namespaces(function.node)
        return places.index(own) if own in places else len(places)

    return sorted(functions, key=rank)


def _namespaces(node: Node) -> tuple[str, ...]:
    """The names of the namespaces around a node, the outermost first."""
    spaces = [text_in(n, "name") for n in around(node) if n.type == "namespace_definition"]
    return tuple(filter(None, reversed(spaces)))


@dataclass(frozen=True, eq=False)
class Class:
    """A class: the declarators of its own members by name and in order, and its bases."""

    name: str
    members: Mapping[str, Declared]
    bases: tuple[str, ...]
    template: tuple[TemplateParameter, ...]


@dataclass(frozen=True)
class Step:
    """Of the way to a launch: a function, and where in it the next one, or the launch, is."""

    function: Function
    stop: int
    call: Node | None = None


class HostSyntax:
    """A program's text as the parser understands it."""

    shift = 0

    def __init__(self, text: str) -> None:
        plain = ATTRIBUTE.sub(blank_found, _WITHOUT_MEANING.sub(blank_found, _plain(text)))
        plain = _MARK_BEHIND.sub(lambda found: found[1] + blank(found[2]), plain)
        self.text = _with_ends_of_statements(plain)
        self.root = parse(_SIZES_IN_BRACES.sub(_rounded, self.text)).root_node

    @cached_property
    def _found(self) -> Mapping[str, list[Node]]:
        import tree_sitter

        found = tree_sitter.QueryCursor(_query()).captures(self.root)
        kinds = found.get("named", []), found.get("enumeration", [])
        found["type"], found["enum"] = (  # by fields, the query would take twice as long to make
            [name for n in nodes if (name := n.child_by_field_name("name"))] for nodes in kinds
        )
        found["class"] = [
            n for n in kinds[0] if n.child_by_field_name("body") and n.type != "enum_specifier"
        ]
        return {
            name: sorted(those, key=lambda node: node.start_byte) for name, those in found.items()
        }

    def nodes(self, kind: str) -> Sequence[Node]:
        """The nodes of a kind (a capture of the query), in order."""
        return self._found.get(kind, ())

    def piece(self, start: int, end: int, before: str = "", after: str = "") -> HostSyntax:
        """A part of the text, read without what is around it, but with `before` and `after` it.

        Its places stay the same; where `before` has no room they are its `shift` further on.
        """
        front = blank(self.text[: max(0, start - len(before))])
        made = HostSyntax(f"{front}{before}{self.text[start:end]}{after}")
        made.shift = max(0, len(before) - start)
        return made

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """All functions with bodies, in their order."""
        made = (_function(node) for node in self.nodes("function"))
        whole = [self._with_defaults(f) for f in made if f is not None]
        return tuple(sorted(whole, key=lambda f: f.body.start_byte))

    def _with_defaults(self, function: Function) -> Function:
        """A function that may be called as its declarations say, which may have its defaults."""
        known = self._declared_defaults.get((function.name, _types(function.formals)))
        if known is None:
            return function
        pairs = zip(function.formals, known, strict=True)
        formals = (own if own.value else replace(own, value=one.value) for own, one in pairs)
        return replace(function, formals=tuple(formals))

    @cached_property
    def _declared_defaults(self) -> Mapping[tuple[str, _Types], tuple[Declared, ...]]:
        """The parameters of functions that a declaration without a body gives a value."""
        fields = (node.child_by_field_name("body") for node in self.nodes("class"))
        members = (m for body in fields if body for m in body.named_children)
        found: dict[tuple[str, _Types], tuple[Declared, ...]] = {}
        for node in (*self.outside(), *members):
            if node.child_by_field_name("body") or b"=" not in (node.text or b""):
                continue
            declarator = function_declarator(node)
            formals = formals_of(declarator)
            if any(formal.value for formal in formals):
                name = text_of(field_of(declarator, "declarator"))
                found.setdefault((name, _types(formals)), formals)
        return found

    @cached_property
    def by_name(self) -> Mapping[str, Sequence[Function]]:
        """The functions of a name that are no kernels."""
        return _grouped((f.name, f) for f in self.functions if not f.is_kernel)

    @cached_property
    def methods(self) -> Mapping[str, Sequence[Function]]:
        """The methods of each class."""
        return _grouped((f.owner, f) for f in self.functions if f.owner)

    @cached_property
    def classes(self) -> Mapping[str, Class]:
        """The text's classes with bodies by name."""
        made = (_class(node) for node in self.nodes("class"))
        return {one.name: one for one in made if one.name}

    @cached_property
    def known_classes(self) -> Mapping[str, Class]:
        """Its classes, and CUDA's own that a host program fills."""
        return {**_classes_of_cuda(), **self.classes}

    def lineage(self, name: str) -> list[str]:
        """A class and those that it inherits from."""
        found, waiting = list[str](), [name]
        while waiting:
            one = waiting.pop(0)
            if one not in found:
                found.append(one)
                waiting += self.classes[one].bases if one in self.classes else ()
        return found

    @cached_property
    def enumerators(self) -> Mapping[str, tuple[Node | None, int]]:
        """The expression that an enumerator counts from, and how far it is behind that."""
        found: dict[str, tuple[Node | None, int]] = {}
        for listed in self.nodes("enumerators"):
            first, behind = None, 0
            for one in listed.named_children:
                name, value = one.child_by_field_name("name"), one.child_by_field_name("value")
                first, behind = (value, 0) if value is not None else (first, behind)
                if name is not None:
                    found.setdefault(text_of(name), (first, behind))
                behind += 1
        return found

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """What `using` and `typedef` say of types."""
        found: dict[str, str] = {}
        for node in self.nodes("alias"):
            found.setdefault(text_in(node, "name"), text_in(node, "type"))
        for node in self.nodes("typedef"):
            name = node.child_by_field_name("declarator")
            kind = node.child_by_field_name("type")
            if name is not None and name.type == "type_identifier" and kind is not None:
                named = kind.child_by_field_name("name") if kind.type in CLASSES else kind
                if named is not None:
                    found.setdefault(text_of(name), text_of(named))
        return found

    @cached_property
    def macros(self) -> Mapping[str, tuple[tuple[str, ...] | None, str]]:
        """(parameters, meaning) of the text's macros; None for one without parameters."""
        found: dict[str, tuple[tuple[str, ...] | None, str]] = {}
        for node in self.nodes("macro"):
            name, value = text_in(node, "name"), " ".join(text_in(node, "value").split())
            formals = node.child_by_field_name("parameters")
            if len(value) > _LONGEST_MEANING or not value:
                continue
            names = None
            if formals is not None:
                names = tuple(part.strip() for part in text_of(formals)[1:-1].split(","))
            found[name] = (names, value)
        return found

    def meanings(self, value: Node) -> Iterator[HostSyntax]:
        """A macro's meaning, read as declarations if it has any functions, or as statements."""
        if b"##" in (value.text or b""):
            joined = self.text[value.start_byte : value.end_byte].replace("##", "__")
            own = HostSyntax(blank(self.text[: value.start_byte]) + joined)
        else:
            own = self.piece(value.start_byte, value.end_byte)
        if own.functions:
            yield own
        else:
            yield self.piece(value.start_byte, value.end_byte, "void _() { switch (_) {", ";}}")

    def uses_of_macro(self, name: str, behind: int = 0) -> Iterator[tuple[int, list[str]]]:
        """Where a macro with parameters is used behind a place, and what it gets.

        What it makes need not be an expression: the parser may take it for anything.
        """
        for found in re.compile(rf"(?<!define )\b{name}\s*\(").finditer(self.text, behind):
            inside = self.text[found.end() : closing(self.text, found.end())]
            yield found.start(), split_at_commas(inside, "()")

    @cached_property
    def calls(self) -> Mapping[str, Sequence[Node]]:
        """The calls by the plain name of what they call, in order."""
        return _grouped((called_name(node), node) for node in self.nodes("call"))

    @property
    def called(self) -> frozenset[str]:
        """The names of what is called."""
        return frozenset(self.calls)

    def is_called(self, name: str) -> bool:
        """Whether some function calls another of that name."""
        callers = (self.around(call.start_byte) for call in self.calls.get(name, ()))
        return any(caller is not None and caller.name != name for caller in callers)

    def around(self, position: int) -> Function | None:
        """The innermost function whose body holds a place."""
        end = bisect.bisect_right(self.functions, position, key=lambda f: f.body.start_byte)
        return next((f for f in reversed(self.functions[:end]) if position < f.body.end_byte), None)

    def calls_of(self, function: Function) -> Iterator[tuple[Function, Node]]:
        """The calls of a function by others, with those."""
        for call in self.calls.get(function.name, ()):
            caller = self.around(call.start_byte)
            if caller is not None and caller.name != function.name and function.takes(_count(call)):
                yield caller, call

    def way_to(self, position: int, *, through_callers: bool) -> tuple[Step, ...]:
        """The functions through which a place is reached, the outermost first.

        Of a function's callers the first counts from which on something is allocated, or the first.
        """
        own = self.function_at(position)
        if own is None:
            return ()
        above = self._above(own, _DEEPEST) if through_callers else ()
        return (*above, Step(own, position))

    def function_at(self, position: int) -> Function | None:
        """The innermost function whose body holds a place, if need be read alone."""
        return self.around(position) or self._alone(position)

    def _alone(self, position: int) -> Function | None:
        """The function around a place, read without what is around it: that has mistakes."""
        last = bisect.bisect_right(self._headers, position, key=lambda one: one[1])
        for start, body in reversed(self._headers[max(0, last - _MOST_HEADERS) : last]):
            end = closing(self.text, body, "{}") + 1
            if end > position:
                return self.piece(start, end, "void ").around(position)
        return None

    @cached_property
    def _headers(self) -> Sequence[tuple[int, int]]:
        """Where what looks like `name(formals) {` begins, and where its body does."""
        found = _HEADER.finditer(self.text)
        return [(one.start(), one.end()) for one in found if one[1] not in _CONTROL]

    @cached_property
    def kernels(self) -> Sequence[Node]:
        """The definitions and declarations of `__global__` functions, in order."""
        own = [n for kind in ("function", "declaration") for n in self.nodes(kind) if _is_kernel(n)]
        heads = [(node.start_byte, _end_of_head(node)) for node in own]
        instances = [(node.start_byte, node.end_byte) for node in self.nodes("instantiation")]
        missed = self._missed(_MARK, [*heads, *instances])
        for at in islice(missed, self._pieces):
            begin = max(self.text.rfind(mark, 0, at) for mark in ";{}") + 1
            template = _TEMPLATE.search(self.text, begin, at)
            begin = template.start() if template is not None else begin
            opens = self.text.find("{", at)
            ends = self.text.find(";", at)
            if opens >= 0 and not 0 <= ends < opens:
                ends = closing(self.text, opens + 1, "{}")
            for start in (max(begin, at - _LONGEST_HEAD), at):
                alone = self.piece(start, ends + 1)
                there = (*alone.nodes("function"), *alone.nodes("declaration"))
                if found := [node for node in there if _is_kernel(node)]:
                    own += found
                    break
        return sorted(own, key=lambda node: node.start_byte)

    @cached_property
    def declared_for_device(self) -> frozenset[str]:
        """The `__device__` functions that are declared, and have no body here."""
        names = set[str]()
        for node in self.nodes("declaration"):
            is_for_device = any(child.type == "__device__" for child in node.children)
            if is_for_device and (declarator := function_declarator(node)) is not None:
                names.add(text_in(declarator, "declarator"))
        return frozenset(names - {f.name for f in self.functions})

    @cached_property
    def launches(self) -> Sequence[tuple[Node, HostSyntax]]:
        """The marks `<<<…>>>`, in order, also in macros' meanings, and the text that each is of."""
        found: list[tuple[Node, HostSyntax]] = [(node, self) for node in self.nodes("launch")]
        spans = [(node.start_byte, node.end_byte) for node, _ in found]
        values = (macro.child_by_field_name("value") for macro in self.nodes("macro"))
        launching = [v for v in values if v is not None and b"<<<" in (v.text or b"")]
        spans += [(value.start_byte, value.end_byte) for value in launching]
        for value in launching[: self._pieces]:
            found += [(n, own) for own in self.meanings(value) for n in own.nodes("launch")]
        for at in islice(self._missed(_LAUNCH, spans), self._pieces):
            begin = max(self.text.rfind(mark, max(0, at - _LONGEST_HEAD), at) for mark in ";{}") + 1
            opens = self.text.find("(", self.text.find(">>>", at))
            if 0 <= opens < at + _LONGEST_HEAD:
                end = closing(self.text, opens + 1) + 1
                alone = self.piece(begin, end, "void _() {", ";}")
                found += [(node, alone) for node in alone.nodes("launch")]
        return sorted(found, key=lambda one: one[0].start_byte - one[1].shift)

    @property
    def _pieces(self) -> int:
        """How many pieces are read alone: each takes as long as all that is in front of it."""
        return min(_MOST_ALONE, _MOST_READ_ALONE // (len(self.text) + 1))

    def _missed(self, mark: re.Pattern[str], spans: Sequence[tuple[int, int]]) -> Iterator[int]:
        """Where a mark stands in none of some spans."""
        starts = sorted(spans)
        for found in mark.finditer(self.text):
            before = bisect.bisect_right(starts, (found.start(), len(self.text)))
            near = starts[max(0, before - _MOST_HEADERS) : before]
            if not any(found.start() < end for _, end in near):
                yield found.start()

    @cached_property
    def variables(self) -> Mapping[str, Sequence[tuple[Node, Declared]]]:
        """The declarations of each variable, in order, those of parameters not among them."""
        every = ((node, one) for node in self.nodes("declaration") for one in declared(node))
        return _grouped((one.name, (node, one)) for node, one in every)

    def declared_before(self, name: str, place: int) -> Iterator[Declared]:
        """The declarations of a variable that end before a place, the last one first."""
        known = self.variables.get(name, ())
        end = bisect.bisect_right(known, place, key=lambda one: one[0].end_byte)
        return (one for _, one in reversed(known[:end]))

    def _above(self, function: Function, depth: int) -> tuple[Step, ...]:
        ways: list[tuple[Step, ...]] = []
        for caller, call in islice(self.calls_of(function), _MOST_CALLS if depth else 0):
            way = (*self._above(caller, depth - 1), Step(caller, call.start_byte, call))
            if any(self._allocates(step) for step in way):
                return way
            ways.append(way)
        other = self._registers(function) if depth and not ways else None
        if other is not None:
            end = Step(other, other.body.end_byte)  # whatever calls it does so then
            ways.append((*self._above(other, depth - 1), end))
        return ways[0] if ways else ()

    def _registers(self, function: Function) -> Function | None:
        """A function that passes this one to another, as in `glutDisplayFunc(display)`."""
        for call in (call for calls in self.calls.values() for call in calls):
            given = arguments_of(call) if function.name in text_of(call) else []
            if any(text_of(one).lstrip("&") == function.name for one in given):
                other = self.around(call.start_byte)
                if other is not None and other is not function:
                    return other
        return None

    def _allocates(self, step: Step) -> bool:
        before = self.text[step.function.body.start_byte : step.stop]
        return _ALLOCATES.search(before) is not None or any(
            name in self._allocating for name in re.findall(r"\b(\w+)\s*\(", before)
        )

    @cached_property
    def _allocating(self) -> frozenset[str]:
        """The functions that allocate and launch nothing."""
        bodies = ((f.name, text_of(f.body)) for f in self.functions)
        return frozenset(n for n, body in bodies if _ALLOCATES.search(body) and "<<<" not in body)

    def outside(self) -> Iterator[Node]:
        """The declarations at namespace level, in order."""
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            if node.type in OUTER:
                waiting += reversed(node.children)
            elif node.type == "declaration":
                yield node


def _grouped(pairs: Iterable[tuple[str, _T]]) -> Mapping[str, Sequence[_T]]:
    found: dict[str, list[_T]] = {}
    for name, one in pairs:
        found.setdefault(name, []).append(one)
    return found


@lru_cache(maxsize=4)
def host_syntax(text: str) -> HostSyntax:
    """A text without comments, read once."""
    return HostSyntax(text)


@cache
def _classes_of_cuda() -> Mapping[str, Class]:
    found = (_class(node) for node in parse(_OF_CUDA).root_node.named_children)
    return {one.name: one for one in found}


@cache
def _query() -> Query:
    import tree_sitter

    return tree_sitter.Query(language(), _QUERY)


def _plain(text: str) -> str:
    return text if text.isascii() else re.sub(r"[^\x00-\x7f]", "_", text)


def _rounded(found: re.Match[str]) -> str:
    return found[0].replace("{", "(").replace("}", ")")


def _with_ends_of_statements(text: str) -> str:
    """`CHECK(x)` without a semicolon, and then a statement, with one: in place of a space."""
    parts, at = [], 0
    for found in _STATEMENT.finditer(text):
        line = text.rfind("\n", 0, found.end()) + 1
        if found.start() < at or text[line : found.end()].lstrip()[:1] == "#":
            continue
        before = text[max(0, found.start() - _LONGEST_GAP) : found.start(1)].rstrip()
        directive = before[before.rfind("\n") + 1 :].lstrip()[:1] == "#"
        if before[-1:] not in ("", ";", "{", "}", ")", ":") and not directive:
            continue  # within an expression
        end = closing(text, found.end()) + 1
        if _GOES_ON.match(text, end):
            parts += [text[at:end], ";"]
            at = end + 1
    return "".join([*parts, text[at:]])


def named_by(node: Node | None) -> tuple[str, tuple[str, ...]] | None:
    """The name, and template arguments if any, of what an expression says is to be called."""
    scope = list[str]()
    while node is not None:
        kind = node.type
        if kind == "qualified_identifier":
            outer = node.child_by_field_name("scope")
            if outer is not None:
                scope.append(text_of(outer).partition("<")[0])
            node = node.child_by_field_name("name")
        elif kind == "field_expression":
            node = node.child_by_field_name("field")
        elif kind in ("parenthesized_expression", "dependent_name", "compound_literal_expression"):
            node = node.named_children[0] if node.named_children else None
        elif kind == "pointer_expression":
            node = node.child_by_field_name("argument")
        elif kind == "cast_expression":
            node = node.child_by_field_name("value")
        elif kind in ("template_function", "template_method"):
            name, given = node.child_by_field_name("name"), node.child_by_field_name("arguments")
            if name is None or given is None:
                return None
            return "::".join([*scope, text_of(name)]), tuple(split_at_commas(text_of(given)[1:-1]))
        else:
            known = kind.endswith("identifier")
            return ("::".join([*scope, text_of(node)]), ()) if known else None
    return None


def called_name(call: Node) -> str:
    """The plain name of what a call calls."""
    name, _ = named_by(field_of(call, "function")) or ("", ())
    return name.rpartition("::")[2]


def arguments_of(call: Node) -> list[Node]:
    """The arguments of a call, or the parts of `{a, b}`."""
    given = call.child_by_field_name("arguments") or call
    return [child for child in given.named_children if child.type != "comment"]


def _count(call: Node) -> int:
    given = field_of(call, "arguments")
    return given.named_child_count if given is not None else 0


def declared(node: Node) -> Iterator[Declared]:
    """What a declaration, a parameter or a class's member declares."""
    kind = _type(node)
    pairs: list[tuple[Node, Node | None]] = []  # declarators and their values
    for at, child in enumerate(node.children):
        name = node.field_name_for_child(at)
        if name == "declarator":
            pairs.append((child, None))
        elif name in ("default_value", "value") and pairs:
            pairs[-1] = pairs[-1][0], child
    if not pairs and node.type.endswith("parameter_declaration"):
        yield Declared("", kind, value=node.child_by_field_name("default_value"))
    for declarator, value in pairs:
        if (one := _declared(declarator, kind, value)) is not None:
            yield one


def _type(node: Node) -> str:
    """The words of a declaration's type, `const` and `static` among them."""
    words = [
        text_of(child)
        for child in node.children
        if child.type in ("type_qualifier", "storage_class_specifier")
    ]
    kind = node.child_by_field_name("type")
    if kind is not None and kind.type in CLASSES:
        kind = kind.child_by_field_name("name")
    return " ".join([*words, *text_of(kind).split()])


def _declared(node: Node, kind: str, value: Node | None) -> Declared | None:
    stars, is_reference, points = 0, False, False
    extents: list[Node | None] = []
    inner: Node | None = node
    while inner is not None and inner.type in DECLARATORS:
        if inner.type == "init_declarator":
            value = inner.child_by_field_name("value")
        elif inner.type == "pointer_declarator":
            stars += 1
        elif inner.type == "reference_declarator":
            is_reference = True
        elif inner.type == "array_declarator":
            extents.insert(0, inner.child_by_field_name("size"))
        elif inner.type == "parenthesized_declarator":
            points = bool(extents)
        elif inner.type == "function_declarator":
            pointer = inner.child_by_field_name("declarator")
            if pointer is None:
                return None
            if pointer.type != "parenthesized_declarator":
                value = _taken_for_parameters(inner, kind)
                if value is None:
                    return None
        following = inner.child_by_field_name("declarator")
        if following is None:
            following = next((c for c in inner.named_children if c.type != "type_qualifier"), None)
        inner = following
    if inner is None or not inner.type.endswith("identifier"):
        return None
    return Declared(text_of(inner), kind, stars, is_reference, tuple(extents), value, points)


def _taken_for_parameters(node: Node, kind: str) -> Node | None:
    """The arguments of `dim3 block(SIDE, SIDE);`, which might declare a function as well."""
    declaration = next((n for n in around(node) if n.type not in DECLARATORS), None)
    parameters = node.child_by_field_name("parameters")
    outer = declaration.parent if declaration is not None else None
    is_inside = outer is not None and outer.type not in GROUPS
    if parameters is None or not (is_inside or "dim3" in kind.split()):
        return None
    return field_of(expression(f"_{text_of(parameters)}"), "arguments")


def function_declarator(node: Node) -> Node | None:
    """`name(formals)` in a declaration or definition; None where that is of no function."""
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator") or next(
            (c for c in declarator.named_children if c.type.endswith("declarator")), None
        )
    return declarator


def _function(node: Node) -> Function | None:
    body, declarator = node.child_by_field_name("body"), function_declarator(node)
    name = field_of(declarator, "declarator")
    owner = ""
    while name is not None and name.type in ("qualified_identifier", "template_function"):
        if (scope := name.child_by_field_name("scope")) is not None:
            owner = text_of(field_of(scope, "name") if scope.type == "template_type" else scope)
        name = name.child_by_field_name("name")
    if body is None or name is None:
        return None
    outer = node.parent
    template: tuple[TemplateParameter, ...] = ()
    if outer is not None and outer.type == "template_declaration":
        template = template_of(outer)
        outer = outer.parent
    if outer is not None and outer.type == "field_declaration_list" and outer.parent:
        owner = text_in(outer.parent, "name")
    formals = [one for one in formals_of(declarator) if one.name or one.type != "void"]
    head = text_of(node)[: body.start_byte - node.start_byte]
    spaces = "__global__" in head, "__device__" in head
    return Function(text_of(name), owner, tuple(formals), template, node, body, *spaces)


def _types(formals: Sequence[Declared]) -> _Types:
    return tuple((formal.type, formal.stars) for formal in formals)


def formals_of(declarator: Node | None) -> tuple[Declared, ...]:
    """The parameters in a declarator of a function or a lambda."""
    listed = field_of(declarator, "parameters")
    children = listed.named_children if listed is not None else ()
    return tuple(one for child in children for one in declared(child))


def template_of(node: Node) -> tuple[TemplateParameter, ...]:
    """The parameters of a `template <…>` declaration."""
    parameters = node.child_by_field_name("parameters")
    if parameters is None:
        return ()
    made = [_template_parameter(c) for c in parameters.named_children if c.type != "comment"]
    head = node.text[parameters.end_byte - node.start_byte :][:_LONGEST_HEAD] if node.text else b""
    whole = set(_OF_WHOLE_NUMBERS.findall(head.decode().partition("{")[0]))
    return tuple(replace(one, type=WHOLE_NUMBERS) if one.name in whole else one for one in made)


def _template_parameter(node: Node) -> TemplateParameter:
    default = node.child_by_field_name("default_type") or node.child_by_field_name("default_value")
    said = text_of(default)
    if node.type.startswith("template_template"):
        node = node.named_children[-1]
    if "type_parameter" in node.type:
        named = [c for c in node.named_children if c.type == "type_identifier" and c != default]
        is_pack = node.type.startswith("variadic")
        return TemplateParameter("type", text_of(named[0]) if named else "", said, is_pack=is_pack)
    text = text_of(node)
    left = text[: default.start_byte - node.start_byte].rstrip("= \n") if default else text
    pointer = re.search(r"\(\s*[*&]\s*(\w+)\s*\)\s*\(", left)
    if pointer:
        kind = left[: pointer.start(1)] + left[pointer.end(1) :]
        return TemplateParameter("value", pointer[1], said, " ".join(kind.split()))
    declarator = node.child_by_field_name("declarator")
    if declarator is None:
        return TemplateParameter("value", "", said, " ".join(left.split()))
    kind = left[: declarator.start_byte - node.start_byte]
    name_of = re.findall(r"\w+", text_of(declarator))[-1:]
    is_pack = node.type.startswith("variadic")
    return TemplateParameter("value", "".join(name_of), said, " ".join(kind.split()), is_pack)


def _is_kernel(node: Node) -> bool:
    return any(child.type == "__global__" for child in node.children)


def _end_of_head(node: Node) -> int:
    body = node.child_by_field_name("body")
    return body.start_byte if body is not None else node.end_byte


def _class(node: Node) -> Class:
    body = node.child_by_field_name("body")
    members: dict[str, Declared] = {}
    for child in body.named_children if body is not None else ():
        if child.type == "field_declaration":
            members |= {one.name: one for one in declared(child)}
    name = text_in(node, "name").partition("<")[0].strip()
    outer = node.parent
    template: tuple[TemplateParameter, ...] = ()
    if outer is not None and outer.type == "type_definition":
        name = name or text_in(outer, "declarator")
    elif outer is not None and outer.type == "template_declaration":
        template = template_of(outer)
    bases = [
        text_of(one).partition("<")[0].rpartition("::")[2].strip()
        for child in node.named_children
        if child.type == "base_class_clause"
        for one in child.named_children
        if one.type.endswith(("type_identifier", "template_type", "qualified_identifier"))
    ]
    return Class(name, members, tuple(bases), template)
