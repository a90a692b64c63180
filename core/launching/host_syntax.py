"""The functions, classes and macros of a program's text, and who calls a function.

The text is one without comments, its kernels' macros expanded. Places are characters of it.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from core.source.expressions import text_of
from core.source.kernel_text import closing, function_headers
from core.source.parser import expression, language, parse

if TYPE_CHECKING:
    from tree_sitter import Node, Query

ALLOCATES = re.compile(r"\bcuda(?:Malloc\w*|HostAlloc)\b")
CLASSES = ("class_specifier", "struct_specifier", "union_specifier")
GROUPS = {
    "translation_unit",
    "namespace_definition",
    "declaration_list",
    "linkage_specification",
    "preproc_if",
    "preproc_ifdef",
    "preproc_else",
    "preproc_elif",
    "ERROR",
}
_DECLARATORS = {
    "init_declarator",
    "pointer_declarator",
    "reference_declarator",
    "array_declarator",
    "parenthesized_declarator",
    "function_declarator",
    "attributed_declarator",
}
_QUERY = """
(function_definition) @function
(call_expression) @call
(class_specifier body: (_)) @class
(struct_specifier body: (_)) @class
(union_specifier body: (_)) @class
(enumerator_list) @enumerators
(alias_declaration) @alias
(type_definition) @typedef
(preproc_def) @macro
(preproc_function_def) @macro
"""
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(define|ifdef|ifndef|if|elif|else|endif)\b[ \t]*(\w*)")
_BY_COMPILER = ("__CUDACC__", "__NVCC__", "__cplusplus", "__linux__", "__GNUC__")
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


@dataclass(frozen=True, eq=False)
class Function:
    """A function with its body; `owner` is the class whose method it is, "" for none.

    `template` are its template parameters and their defaults.
    """

    name: str
    owner: str
    formals: tuple[Declared, ...]
    template: Mapping[str, str]
    node: Node
    body: Node
    is_kernel: bool

    def takes(self, count: int) -> bool:
        """Whether it may be called with so many arguments."""
        least = sum(1 for formal in self.formals if formal.value is None)
        return least <= count <= len(self.formals)


@dataclass(frozen=True, eq=False)
class Class:
    """A class: the declarators of its own members by name and in order, and its bases."""

    name: str
    members: Mapping[str, Declared]
    bases: tuple[str, ...]
    template: Mapping[str, str]


@dataclass(frozen=True)
class Step:
    """Of the way to a launch: a function, and where in it the next one, or the launch, is."""

    function: Function
    stop: int
    call: Node | None = None


class HostSyntax:
    """A program's text as the parser understands it."""

    def __init__(self, text: str) -> None:
        self.text = _with_ends_of_statements(_WITHOUT_MEANING.sub(_blank, _plain(text)))
        self.root = parse(self.text).root_node

    @cached_property
    def _found(self) -> Mapping[str, list[Node]]:
        import tree_sitter

        found = tree_sitter.QueryCursor(_query()).captures(self.root)
        return {
            name: sorted(those, key=lambda node: node.start_byte) for name, those in found.items()
        }

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """All functions with bodies, in their order."""
        made = (_function(node) for node in self._found.get("function", ()))
        return tuple(sorted((f for f in made if f is not None), key=lambda f: f.body.start_byte))

    @cached_property
    def by_name(self) -> Mapping[str, tuple[Function, ...]]:
        """The functions of a name that are no kernels."""
        found: dict[str, tuple[Function, ...]] = {}
        for function in self.functions:
            if not function.is_kernel:
                found[function.name] = (*found.get(function.name, ()), function)
        return found

    @cached_property
    def methods(self) -> Mapping[str, tuple[Function, ...]]:
        """The methods of each class."""
        found: dict[str, tuple[Function, ...]] = {}
        for function in self.functions:
            if function.owner:
                found[function.owner] = (*found.get(function.owner, ()), function)
        return found

    @cached_property
    def classes(self) -> Mapping[str, Class]:
        """The classes with bodies by name."""
        made = (_class(node) for node in self._found.get("class", ()))
        return {one.name: one for one in made if one.name}

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
        for listed in self._found.get("enumerators", ()):
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
        for node in self._found.get("alias", ()):
            found.setdefault(text_in(node, "name"), text_in(node, "type"))
        for node in self._found.get("typedef", ()):
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
        for node in self._found.get("macro", ()):
            name, value = text_in(node, "name"), text_in(node, "value").strip()
            formals = node.child_by_field_name("parameters")
            if len(value) > _LONGEST_MEANING or not value:
                continue
            names = None
            if formals is not None:
                names = tuple(part.strip() for part in text_of(formals)[1:-1].split(","))
            found[name] = (names, value)
        return found

    @cached_property
    def _calls(self) -> Mapping[str, list[Node]]:
        found: dict[str, list[Node]] = {}
        for node in self._found.get("call", ()):
            found.setdefault(called_name(node), []).append(node)
        return found

    @property
    def called(self) -> frozenset[str]:
        """The names of what is called."""
        return frozenset(self._calls)

    def is_called(self, name: str) -> bool:
        """Whether some function calls another of that name."""
        callers = (self.around(call.start_byte) for call in self._calls.get(name, ()))
        return any(caller is not None and caller.name != name for caller in callers)

    def around(self, position: int) -> Function | None:
        """The innermost function whose body holds a place."""
        end = bisect.bisect_right(self.functions, position, key=lambda f: f.body.start_byte)
        return next((f for f in reversed(self.functions[:end]) if position < f.body.end_byte), None)

    def calls_of(self, function: Function) -> Iterator[tuple[Function, Node]]:
        """The calls of a function by others, with those."""
        for call in self._calls.get(function.name, ()):
            caller = self.around(call.start_byte)
            if caller is not None and caller.name != function.name and function.takes(_count(call)):
                yield caller, call

    def way_to(self, position: int, *, through_callers: bool) -> tuple[Step, ...]:
        """The functions through which a place is reached, the outermost first.

        Of a function's callers the first counts from which on something is allocated, or the first.
        """
        own = self.around(position) or self._alone(position)
        if own is None:
            return ()
        above = self._above(own, _DEEPEST) if through_callers else ()
        return (*above, Step(own, position))

    def _alone(self, position: int) -> Function | None:
        """The function around a place, read without what is around it: that has mistakes."""
        headers = function_headers(self.text)
        last = bisect.bisect_right(headers, position, key=lambda header: header.body)
        for header in reversed(headers[max(0, last - _MOST_HEADERS) : last]):
            end = closing(self.text, header.body, "{}") + 1
            if end > position:
                before = _blank_of(self.text[: header.start])
                alone = HostSyntax(f"{before[:-5]}void {self.text[header.start : end]}")
                return alone.around(position)
        return None

    def _above(self, function: Function, depth: int) -> tuple[Step, ...]:
        ways: list[tuple[Step, ...]] = []
        for caller, call in islice(self.calls_of(function), _MOST_CALLS if depth else 0):
            way = (*self._above(caller, depth - 1), Step(caller, call.start_byte, call))
            if any(self._allocates(step) for step in way):
                return way
            ways.append(way)
        return ways[0] if ways else ()

    def _allocates(self, step: Step) -> bool:
        before = self.text[step.function.body.start_byte : step.stop]
        return ALLOCATES.search(before) is not None or any(
            name in self._allocating for name in re.findall(r"\b(\w+)\s*\(", before)
        )

    @cached_property
    def _allocating(self) -> frozenset[str]:
        """The functions that allocate and launch nothing."""
        bodies = ((f.name, text_of(f.body)) for f in self.functions)
        return frozenset(n for n, body in bodies if ALLOCATES.search(body) and "<<<" not in body)

    def outside(self) -> Iterator[Node]:
        """The declarations at namespace level, in order."""
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            if node.type in GROUPS:
                waiting += reversed(node.children)
            elif node.type == "declaration":
                yield node


def taken(text: str, defined: Iterable[str]) -> str:
    """A text with spaces for the branches of `#ifdef` and `#ifndef` that are not taken.

    Other conditions are left: all their branches stay.
    """
    known, lines, stack = {*defined, *_BY_COMPILER}, list[str](), list[bool | None]()
    for line in text.split("\n"):
        word = _DIRECTIVE.match(line)
        is_shown = True
        if word is None or word[1] == "define":
            is_shown = False not in stack
            if word and is_shown:
                known.add(word[2])
        elif word[1] in ("ifdef", "ifndef"):
            stack.append((word[2] in known) == (word[1] == "ifdef"))
            is_shown = False
        elif word[1] == "if":
            stack.append(None)
        elif word[1] == "endif":
            is_shown = not stack or stack.pop() is None
        elif stack and stack[-1] is not None:
            stack[-1] = not stack[-1] if word[1] == "else" else None
            is_shown = False
        lines.append(line if is_shown else " " * len(line))
    return "\n".join(lines)


@lru_cache(maxsize=4)
def host_syntax(text: str) -> HostSyntax:
    """A text without comments, read once."""
    return HostSyntax(text)


@cache
def _query() -> Query:
    import tree_sitter

    return tree_sitter.Query(language(), _QUERY)


def _plain(text: str) -> str:
    return text if text.isascii() else re.sub(r"[^\x00-\x7f]", "_", text)


def _blank(found: re.Match[str]) -> str:
    return _blank_of(found[0])


def _blank_of(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


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


def text_in(node: Node, name: str) -> str:
    """The text of a node's field, "" without one."""
    child = node.child_by_field_name(name)
    return text_of(child) if child is not None else ""


def called_name(call: Node) -> str:
    """The plain name of what a call calls."""
    function = call.child_by_field_name("function")
    while function is not None:
        kind = function.type
        if kind in ("qualified_identifier", "template_function", "template_method"):
            function = function.child_by_field_name("name")
        elif kind == "field_expression":
            function = function.child_by_field_name("field")
        elif kind == "dependent_name" and function.named_children:
            function = function.named_children[0]
        else:
            return text_of(function) if kind.endswith("identifier") else ""
    return ""


def arguments_of(call: Node) -> list[Node]:
    """The arguments of a call, or the parts of `{a, b}`."""
    given = call.child_by_field_name("arguments") or call
    return [child for child in given.named_children if child.type != "comment"]


def _count(call: Node) -> int:
    given = call.child_by_field_name("arguments")
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
    return " ".join([*words, *(text_of(kind).split() if kind is not None else ())])


def _declared(node: Node, kind: str, value: Node | None) -> Declared | None:
    stars, is_reference, points = 0, False, False
    extents: list[Node | None] = []
    inner: Node | None = node
    while inner is not None and inner.type in _DECLARATORS:
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
    around = node.parent
    while around is not None and around.type in _DECLARATORS:
        around = around.parent
    parameters = node.child_by_field_name("parameters")
    outer = around.parent if around is not None else None
    is_inside = outer is not None and outer.type not in GROUPS - {"ERROR"}
    if parameters is None or not (is_inside or "dim3" in kind.split()):
        return None
    call = expression(f"_{text_of(parameters)}")
    return call.child_by_field_name("arguments") if call is not None else None


def _function(node: Node) -> Function | None:
    body = node.child_by_field_name("body")
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator") or next(
            (c for c in declarator.named_children if c.type.endswith("declarator")), None
        )
    name = declarator.child_by_field_name("declarator") if declarator is not None else None
    if body is None or declarator is None or name is None:
        return None
    owner = ""
    while name is not None and name.type in ("qualified_identifier", "template_function"):
        if (scope := name.child_by_field_name("scope")) is not None:
            named = scope.child_by_field_name("name") if scope.type == "template_type" else scope
            owner = text_of(named) if named is not None else ""
        name = name.child_by_field_name("name")
    if name is None:
        return None
    around = node.parent
    template: Mapping[str, str] = {}
    if around is not None and around.type == "template_declaration":
        template = _template(around)
        around = around.parent
    if around is not None and around.type == "field_declaration_list" and around.parent:
        owner = text_in(around.parent, "name")
    parameters = declarator.child_by_field_name("parameters")
    formals = [
        one
        for child in (parameters.named_children if parameters is not None else ())
        for one in declared(child)
    ]
    formals = [one for one in formals if one.name or one.type != "void"]
    head = text_of(node)[: body.start_byte - node.start_byte]
    return Function(
        text_of(name), owner, tuple(formals), template, node, body, "__global__" in head
    )


def _template(node: Node) -> Mapping[str, str]:
    parameters = node.child_by_field_name("parameters")
    found: dict[str, str] = {}
    for child in parameters.named_children if parameters is not None else ():
        named, _, default = text_of(child).partition("=")
        words = re.findall(r"[A-Za-z_]\w*", named)
        if words:
            found[words[-1]] = default.strip()
    return found


def _class(node: Node) -> Class:
    body = node.child_by_field_name("body")
    members: dict[str, Declared] = {}
    for child in body.named_children if body is not None else ():
        if child.type == "field_declaration":
            members |= {one.name: one for one in declared(child)}
    name = text_in(node, "name").partition("<")[0].strip()
    around = node.parent
    template: Mapping[str, str] = {}
    if around is not None and around.type == "type_definition":
        name = name or text_in(around, "declarator")
    elif around is not None and around.type == "template_declaration":
        template = _template(around)
    bases = [
        text_of(one).partition("<")[0].rpartition("::")[2].strip()
        for child in node.named_children
        if child.type == "base_class_clause"
        for one in child.named_children
        if one.type.endswith(("type_identifier", "template_type", "qualified_identifier"))
    ]
    return Class(name, members, tuple(bases), template)
