"""Which instances of a kernel that is a template a source asks for: `reduce<512, float>`.

A launch names them, as far as it does. What a name of its function stands for follows from who
calls that, from the class that it belongs to and from what is declared there; what is left, from
the types of what is passed. The rest is guessed by the names that people give such parameters.
"""

from __future__ import annotations

import bisect
import re
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from core.source.constants import evaluate, read_constants
from core.source.cuda_parser import CLASSES, around, expression, text_in, text_of, within
from core.source.functions_and_calls import (
    OUTER,
    WHOLE_NUMBERS,
    Declared,
    Function,
    HostSyntax,
    TemplateParameter,
    arguments_of,
    declared,
    host_syntax,
    template_of,
)
from core.source.kernels_and_launches import (
    MOST_CALLS,
    HostLaunch,
    KernelText,
    kernel_of,
    kernels,
    launches_by_kernel,
    split_instance,
    with_words,
)
from core.source.preprocessor import plain_text, split_at_commas, with_macros

if TYPE_CHECKING:
    from tree_sitter import Node

_BUILT_IN = (
    r"(?:unsigned\s+|signed\s+|long\s+)*(?:float|double|int|char|short|long|unsigned|bool|half"
    r"|__half|size_t|u?int(?:8|16|32|64)_t|(?:float|double|int|uint|uchar)[234])"
)
_USUAL = "64"  # what the host guess takes for a number that nobody says
_LONGEST_NAME = 4000  # characters, template arguments included
_DEEPEST_CONSTANTS = 12  # constants of constants
_DEEPEST_AUTO = 3  # variables made of variables
_MOST_MACROS = 8  # whose meanings are read
_MOST_DECLARED = 16  # of a name that are looked at
_DEEPEST_CALLERS = 4  # host functions that pass template arguments on
_LAMBDA = "[]"  # a type without a name
_WORD = re.compile(r"(?<!::)\b[A-Za-z_]\w*")
_INTEGER = re.compile(r"\b(?:int|unsigned|signed|long|short|char|size_t|auto|u?int\d+_t|uint)\b")
_INDEX_TYPE = re.compile(r"ind(ex|ices)|idx|offset|int(eger)?_?t|size_?t|key", re.IGNORECASE)
_ITERATOR = re.compile(r"\w*(?:Iter(?:ator)?|It)\d*T?")
_FUNCTOR = re.compile(r"(?:Op|F|Func|Function|Functor|Fn|UnaryOp|BinaryOp|\w*Op)")
_MEMBER = re.compile(r"(?<![\w:])(?<!typename )([A-Za-z_]\w*)::([A-Za-z_]\w*)\b(?!\s*[(<:])")
_TYPED = {
    *("identifier", "cast_expression", "number_literal", "call_expression"),
    *("compound_literal_expression", "field_expression"),
}
_PARAMETER = re.compile(r"[<,]\s*(?:class|struct)\s+\Z")  # of a template behind a mistake
_INSTANTIATES = re.compile(r"\btemplate\s+(?:__global__\s+)?void\s")  # in a macro's meaning
_SHORTEST_ROOT = 4
_SIZES = re.compile(r"size|block|threads|tile|dim|bs|bm|bn", re.IGNORECASE)
_OF_THREADS = re.compile(r"BK|TM|TN")
"""What a product's tile of BM x BN goes with: its depth, and the tile of each thread."""


def instances(source: str, kernel: KernelText) -> tuple[str, ...]:
    """The names of the instances of a kernel that its source launches or declares; itself if none.

    Where the source asks for none the most likely arguments are taken: float, and 4 or 128. Where
    it declares some, a launch with an argument that cannot be told is of one of these.
    """
    return _reader(source).instances(kernel) if kernel.template else (kernel.called,)


def kernel_names(source: str, headers: str = "") -> tuple[str, ...]:
    """The names of the __global__ functions in a source, in order.

    A template counts by its instances: those that the source or the text of its `headers` launches,
    or one that suggests itself.
    """
    whole = f"{headers}\n{source}" if headers else source
    return tuple(
        dict.fromkeys(
            name for kernel in kernels(source, headers) for name in instances(whole, kernel)
        )
    )


def launched(source: str, launch: HostLaunch) -> KernelText | None:
    """The kernel of a source that a launch in it means; None where the source has none such.

    Of several with one name that is the one which C++ would find, of overloads the first that
    takes as many arguments, and pointers to what these point to.
    """
    return kernel_of(source, launch, lambda kernel, one: _reader(source).takes(kernel, one))


def launches_of(source: str, kernel: KernelText) -> tuple[HostLaunch, ...]:
    """The launches in a source's text that mean a kernel, in order."""

    def is_its_own(launch: HostLaunch) -> bool:
        meant = launched(source, launch)
        own = kernel.qualified, kernel.parameters
        return meant is None or (meant.qualified, meant.parameters) == own

    return tuple(filter(is_its_own, launches_by_kernel(source).get(kernel.name, ())))


def instance_of(source: str, kernel: KernelText, launch: HostLaunch) -> str:
    """The name of the instance of a kernel that a launch asks for; "" where it cannot be told."""
    return _reader(source).instance(kernel, launch) if kernel.template else kernel.called


def numbers_of_instance(template: Sequence[str], given: Sequence[str]) -> Mapping[str, int]:
    """The whole numbers among the arguments that a template's parameters get, by their names."""
    pairs = zip(template, given, strict=False)
    return {name: int(text) for name, text in pairs if text.isdecimal()}


def class_constants(source: str, launch: HostLaunch, instance: str) -> Mapping[str, str]:
    """The constants of classes that a launching function names, as other code can write them.

    `Traits::kThreads` maps to `Traits<128, float>::kThreads`. A constant that the function computes
    from such ones is there by its own name.
    """
    return _reader(source).class_constants(launch, instance)


@lru_cache(maxsize=4)
def _reader(source: str) -> _Reader:
    return _Reader(source)


class _Reader:
    """What a source says of the template arguments of its launches."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._syntax = host_syntax(plain_text(source))
        self._constants = read_constants(source, {})
        self._of_functions: dict[int, Sequence[Node]] = {}  # declarations, by their body's place
        self._asked: dict[tuple[KernelText, HostLaunch], str] = {}

    def instances(self, kernel: KernelText) -> tuple[str, ...]:
        stated = self._declared.get(kernel.name, ())
        found = [self.instance(kernel, one) for one in launches_of(self._source, kernel)]
        found += [f"{kernel.called}<{inside}>" for inside in stated]
        usable = [name for name in found if name]
        likely = "" if found else self._instance(kernel, None)
        return tuple(dict.fromkeys(usable)) or (likely or kernel.called,)

    def instance(self, kernel: KernelText, launch: HostLaunch) -> str:
        """The instance that a launch asks for; what the source declares has to be told."""
        if (kernel, launch) not in self._asked:
            told = kernel.name in self._declared
            self._asked[kernel, launch] = self._instance(kernel, launch, told=told)
        return self._asked[kernel, launch]

    def takes(self, kernel: KernelText, launch: HostLaunch) -> bool:
        """Whether a kernel that is no template takes what a launch passes, as far as is known."""
        formals, given = kernel.parameters, launch.arguments
        if not len(formals) - len(kernel.defaults) <= len(given) <= len(formals):
            return False
        for formal, actual in zip(formals, given, strict=False):
            node = expression(actual) if "*" in formal else None
            wanted = _plain_type(formal.partition("*")[0])
            kinds = {*self._types_of(node, True, launch.position)} if node and wanted else set()
            if kinds and wanted not in kinds:
                return False
        return True

    def class_constants(self, launch: HostLaunch, instance: str) -> Mapping[str, str]:
        given = zip(launch.template, split_instance(instance)[1], strict=False)
        outer = {**self._bound_outside(launch), **dict(given)}
        function = self._syntax.function_at(launch.position)
        start = function.body.start_byte if function is not None else launch.position
        before = self._syntax.text[start : launch.position]
        found: dict[str, str] = {}
        for use in _MEMBER.finditer(" ".join((before, *launch.configuration))):
            name = use[1] if use[1] in outer else ""
            kind = self._nameable(name, outer) if name else ""
            if kind not in ("", name):
                found[use[0]] = f"{kind}::{use[2]}"
        for name, meaning in _constants_and_types(self._before(function, launch.position)):
            if any(f"{kind}::" in meaning for kind in outer) and name not in outer:
                found[name] = self._nameable(meaning, outer)
        return {name: meaning for name, meaning in found.items() if meaning}

    @cached_property
    def _declared(self) -> Mapping[str, list[str]]:
        """What `template void axpy<float>(…);` says of each kernel: its arguments."""
        found: dict[str, list[str]] = {}
        text = with_macros(plain_text(self._source), _INSTANTIATES)
        for node in host_syntax(text).nodes("instantiation"):
            for name, inside in _instances_in(node.child_by_field_name("declarator")):
                found.setdefault(name, []).append(inside)
        return found

    # -- what a launch asks for ---------------------------------------------------------------

    def _instance(
        self, kernel: KernelText, launch: HostLaunch | None, *, told: bool = False
    ) -> str:
        """The instance that a launch asks for; "" where an argument cannot be told.

        What the launch writes and nothing here explains is guessed unless all has to be `told`.
        """
        if launch is None:
            return _of_values(kernel, self._guessed(kernel))
        outer = {n: v for n, v in self._bound_outside(launch).items() if n != v}
        own = dict(zip(launch.template, kernel.template, strict=False))
        formals = self._template_of(launch.function)
        likely = {p.name: self._likely(own.get(p.name, p), kernel) for p in formals}
        chosen: dict[str, str] = {}  # what names of the launch's are taken for: float for scalar_t
        values: list[str] = []
        for position, parameter in enumerate(kernel.template):
            written = launch.template[position] if position < len(launch.template) else None
            if written is not None:
                given = with_words(outer.get(written, written), chosen)
                text = self._explicit(parameter, given, launch, outer)
                if told and not text:
                    return ""
                text = text or self._explicit(parameter, given, launch, likely | outer)
            elif parameter.kind == "value" or not parameter.name:
                text = ""
            elif parameter.is_pack:
                values += self._deduced_pack(kernel, parameter, launch, outer)
                continue
            else:
                passed = kernel.parameters, launch.arguments
                text = self._deduced(*passed, parameter, launch.position, outer)
            if not text and parameter.default:
                break  # this one and those after it have values of their own
            values.append(text or self._likely(parameter, kernel))
            if written is not None and not text:
                chosen[written] = values[-1]
        values += launch.template[len(kernel.template) :]  # the rest of a pack
        return _of_values(kernel, values)

    def _guessed(self, kernel: KernelText) -> Iterator[str]:
        for parameter in kernel.template:
            if parameter.default:
                return
            yield self._likely(parameter, kernel)

    def _explicit(
        self, parameter: TemplateParameter, text: str, launch: HostLaunch, outer: Mapping[str, str]
    ) -> str:
        if parameter.kind == "type":
            return self._nameable(text, outer)
        if text in ("true", "false"):
            return text
        expanded = self._constants.expanded(text)
        known = self._constants.constants_in(launch.function)
        found = self._constants_before(launch, expanded, outer)
        value = evaluate(expanded, ChainMap(found, known))
        if value is not None:
            kind = parameter.type.removeprefix("const ")
            return f"({kind}){value}" if kind in self._enums else str(value)
        if text in self._syntax.enumerators:
            return text
        if parameter.type.endswith(")"):  # a function
            return self._nameable(text, outer)
        if "::" in text:
            return self._in_namespace(text)
        # Of a macro that chooses among several, as for the length of a row that is not known.
        set_to = rf"\bconst\w*[^;=]*\b{re.escape(text)}\s*=\s*(\d+)\s*;"
        chosen = re.findall(set_to, self._syntax.text)
        return _USUAL if _USUAL in chosen else next(iter(chosen), "")

    def _constants_before(
        self, launch: HostLaunch, expression: str, outer: Mapping[str, str]
    ) -> dict[str, int | None]:
        """The names in an expression with what `const int`s in front of a launch make of them."""
        known: dict[str, int | None] = {
            name: evaluate(self._constants.expanded(text), {}) for name, text in outer.items()
        }
        formals = {p.name for p in self._template_of(launch.function)}

        def add(text: str, position: int, depth: int) -> None:
            for name in set(re.findall(r"[A-Za-z_]\w*", text)) - known.keys() - formals:
                declared = self._syntax.declared_before(name, position)
                values = (one.value for one in declared if _is_constant(one))
                value = next((value for value in values if value is not None), None)
                if value is not None and depth < _DEEPEST_CONSTANTS:
                    said = text_of(value)
                    is_list = value.type in ("initializer_list", "argument_list")
                    meaning = self._constants.expanded(said[1:-1] if is_list else said)
                    add(meaning, value.start_byte, depth + 1)
                    known[name] = evaluate(meaning, known)

        add(expression, launch.position, 0)
        return known

    def _deduced(
        self,
        formals: Sequence[str],
        given: Sequence[str],
        parameter: TemplateParameter,
        position: int,
        outer: Mapping[str, str],
    ) -> str:
        """A type from the argument that it belongs to, at a place."""
        for formal, actual in zip(formals, given, strict=False):
            if not re.match(rf"(?:const\s+)?{parameter.name}\b(?!\s*::)", formal):
                continue
            if actual.startswith("["):
                return _LAMBDA
            node = expression(actual)
            for kind in self._types_of(node, "*" in formal, position) if node else ():
                if text := self._nameable(outer.get(kind, kind), outer):
                    return text
        return ""

    def _deduced_pack(
        self,
        kernel: KernelText,
        parameter: TemplateParameter,
        launch: HostLaunch,
        outer: Mapping[str, str],
    ) -> Iterator[str]:
        """The types of a pack from the arguments that belong to it, the likely one for others."""
        own = [at for at, formal in enumerate(kernel.parameters) if "..." in formal]
        for at in own[:1]:
            formal = kernel.parameters[at].replace("...", " ")
            behind = len(kernel.parameters) - at - 1
            for actual in launch.arguments[at : len(launch.arguments) - behind]:
                text = self._deduced([formal], [actual], parameter, launch.position, outer)
                yield text or self._likely(parameter, kernel)

    def _types_of(
        self, node: Node, is_pointer: bool, before: int, depth: int = _DEEPEST_AUTO
    ) -> Iterator[str]:
        """The types that a host's expression, or what it points to, may have; the likely first."""
        while node.type not in _TYPED:  # `&a`, `a[i]`, `a + 1` go by `a`
            inner = node.child_by_field_name("argument") or node.child_by_field_name("left")
            if inner is None:
                return
            node = inner
        text, kind = text_of(node), node.type
        if kind == "identifier":
            yield from self._types_of_name(text, is_pointer, before, depth)
        elif kind == "cast_expression" or (kind == "call_expression" and "_cast<" in text):
            written = text_in(node, "type") or text_in(node, "function").partition("<")[2]
            if ("*" in written) == is_pointer:
                yield re.sub(r"\b(?:const|volatile)\b|[*>\s]+$", "", written).strip()
        elif kind == "number_literal":
            is_real = re.search(r"[.eE]", text) and not text.lower().startswith("0x")
            yield "float" if is_real and text[-1] in "fF" else "double" if is_real else "int"
        elif kind in ("call_expression", "compound_literal_expression"):
            made = text_in(node, "function") or text_in(node, "type")
            if made.partition("<")[0] in self._syntax.classes:
                yield made
        else:
            field = text_in(node, "field")
            members = (c.members.get(field) for c in self._syntax.classes.values())
            yield from self._as_declared([one for one in members if one], is_pointer, before, depth)

    def _types_of_name(self, name: str, is_pointer: bool, before: int, depth: int) -> Iterator[str]:
        """In the function that names it, the last declaration before a place first; or anywhere."""
        function = self._syntax.function_at(before)
        formals = function.formals if function is not None else ()
        start = function.body.start_byte if function is not None else 0
        there = self._syntax.variables.get(name, ())
        near = [one for node, one in there if start <= node.start_byte < before]
        elsewhere = (one for f in self._syntax.functions for one in f.formals)
        named = [one for one in elsewhere if one.name == name]
        own = [*near[::-1], *(one for one in formals if one.name == name)]
        found = own or [*(one for _, one in there), *named]
        yield from self._as_declared(found, is_pointer, before, depth)

    def _as_declared(
        self, found: list[Declared], is_pointer: bool, before: int, depth: int
    ) -> Iterator[str]:
        for one in found[:_MOST_DECLARED]:
            kind = _plain_type(one.type)
            if "auto" in one.type.split() and one.value is not None:
                if depth:
                    yield from self._types_of(one.value, is_pointer, before, depth - 1)
            elif bool(one.stars or one.extents) == is_pointer and kind:
                yield kind

    # -- what the names around a launch stand for ---------------------------------------------

    def _template_of(self, function: str) -> tuple[TemplateParameter, ...]:
        known = self._syntax.by_name.get(function, ())
        return next((one.template for one in known if one.template), ())

    def _bound_outside(self, launch: HostLaunch) -> Mapping[str, str]:
        """The template arguments of the function, and of the class, that a launch stands in."""
        function = self._syntax.function_at(launch.position)
        found = {**self._switched, **self._of_class(function)}
        found |= self._bound_by_caller(launch.function, _DEEPEST_CALLERS)
        there = self._before(function, launch.position)
        return {**found, **dict(_alias(node) for node in there if node.type != "declaration")}

    def _before(self, function: Function | None, place: int) -> Sequence[Node]:
        """The declarations in a function that begin before a place."""
        start = function.body.start_byte if function is not None else -1
        if start not in self._of_functions:
            self._of_functions[start] = _declarations(function)
        known = self._of_functions[start]
        return known[: bisect.bisect_left(known, place, key=lambda node: node.start_byte)]

    @cached_property
    def _switched(self) -> Mapping[str, str]:
        """What a switch gives a name: false for `BOOL_SWITCH(n > 4, kIsLarge, …)`.

        Where false is no choice it is the macro's first.
        """
        found: dict[str, str] = {}
        for name, (formals, meaning) in self._syntax.macros.items():
            if not formals or not re.search(r"\b(?:using|constexpr)\b", meaning):
                continue
            inside = HostSyntax(f"void _() {{ {meaning}; }}").functions
            meant = [*_constants_and_types(_declarations(inside[0] if inside else None))]
            first = dict(reversed(meant)) | {n: "false" for n, value in meant if value == "false"}
            for _, given in islice(self._syntax.uses_of_macro(name), MOST_CALLS):
                for formal, text in zip(formals, given, strict=False):
                    if formal in first:
                        found.setdefault(text, first[formal])
        return found

    def _bound_by_caller(self, function: str, depth: int) -> Mapping[str, str]:
        """The template arguments of a host function, as its first caller has them.

        Where the caller passes parameters of its own on, its callers say what these are.
        """
        parameters = self._template_of(function)
        if not parameters:
            return {}
        names = [p.name for p in parameters]
        found = {p.name: p.default for p in parameters if p.default}
        for use, caller, of_macro in islice(self._uses(function), MOST_CALLS):
            if caller is not None and caller.name == function and caller.template == parameters:
                continue
            outer = self._bound_by_caller(caller.name, depth - 1) if caller and depth else {}
            written = split_at_commas(text_in(use, "arguments")[1:-1])
            given = [with_words(part, {**outer, **of_macro}) for part in written]
            if any(len(part) > _LONGEST_NAME for part in given):
                return found
            return {**found, **dict(zip(names, given, strict=False))}
        return {**found, **self._bound_by_arguments(function, parameters, depth)}

    def _bound_by_arguments(
        self, function: str, parameters: tuple[TemplateParameter, ...], depth: int
    ) -> Mapping[str, str]:
        """The types that the first call of a function shows by what it passes."""
        known = next(f for f in self._syntax.by_name[function] if f.template == parameters)
        for caller, call in islice(self._syntax.calls_of(known), MOST_CALLS):
            outer = self._bound_by_caller(caller.name, depth - 1) if depth else {}
            formals = [f"{one.type} {'*' * one.stars}{one.name}" for one in known.formals]
            given = [text_of(one) for one in arguments_of(call)]
            place = call.start_byte
            told = {
                p.name: self._deduced(formals, given, p, place, outer)
                for p in parameters
                if p.kind == "type"
            }
            return {name: kind for name, kind in told.items() if kind not in ("", _LAMBDA)}
        return {}

    def _uses(self, function: str) -> Iterator[tuple[Node, Function | None, Mapping[str, str]]]:
        """The uses of a function with template arguments, in order, and whose they are.

        One in a macro's meaning is of who uses the macro first, with those arguments.
        """
        syntax = self._syntax
        found: list[tuple[Node, Function | None, Mapping[str, str]]] = []
        found += [
            (node, syntax.around(node.start_byte), {})
            for node in syntax.nodes("instance")
            if text_in(node, "name") == function and not _is_defined(node)
        ]
        macros = (m for m in syntax.nodes("macro") if function in text_in(m, "value"))
        for macro in islice(macros, _MOST_MACROS):
            name, value = text_in(macro, "name"), macro.child_by_field_name("value")
            formals = syntax.macros.get(name, (None, ""))[0]
            if value is None or formals is None:
                continue
            first = next(syntax.uses_of_macro(name, macro.end_byte), None)
            uses = [
                node
                for inside in syntax.meanings(value)
                for node in inside.nodes("instance")
                if text_in(node, "name") == function
            ]
            if first is not None and uses:
                given = dict(zip(formals, first[1], strict=False))
                found.append((uses[0], syntax.around(first[0]), given))
        return iter(sorted(found, key=lambda use: use[0].start_byte))

    def _of_class(self, function: Function | None) -> Mapping[str, str]:
        """The template arguments with which the class of a function is used first."""
        for own in around(function.node) if function is not None else ():
            outer = own.parent
            if outer is not None and outer.type == "template_declaration" and own.type in CLASSES:
                bound = self._used(text_in(own, "name"), template_of(outer))
                if bound:
                    return bound
        if function is not None and function.owner:  # a method that is defined apart
            return self._used(function.owner, function.template)
        return {}

    def _used(self, name: str, parameters: tuple[TemplateParameter, ...]) -> Mapping[str, str]:
        names = {p.name for p in parameters}
        bound = {p.name: p.default for p in parameters if p.default}
        for use in self._syntax.nodes("instance"):
            if text_in(use, "name") != name:
                continue
            given = split_at_commas(text_in(use, "arguments")[1:-1])
            told = not any(names & set(re.findall(r"\w+", part)) for part in given)
            if given and told and len(given) <= len(parameters):
                return {**bound, **dict(zip((p.name for p in parameters), given, strict=False))}
        return bound

    # -- types as one can name them outside ---------------------------------------------------

    def _nameable(self, text: str, outer: Mapping[str, str]) -> str:
        """A type as one can name it outside the host's function; "" for what only that knows.

        Such as its template parameters, and parameters of the macro that it stands in.
        """
        of_itself: set[str] = set()  # as `using Traits = Traits<4>` says
        for _ in range(_DEEPEST_CONSTANTS):
            before = text
            for word in set(_WORD.findall(text)) - of_itself:
                meaning = outer.get(word) or self._inner_types.get(word, word)
                use = rf"(?<!::)\b{word}\b"
                if re.search(rf"\b{word}\b", meaning):
                    of_itself.add(word)
                    use += r"(?!\s*<)"
                parts = re.split(use, text)
                if len(parts) * len(meaning) + len(text) > _LONGEST_NAME:
                    return ""
                text = meaning.join(parts)
            if text == before:
                break
        unknown = (set(_WORD.findall(text)) & self._parameters) - self._types
        return "" if unknown else " ".join(text.split())

    def _in_namespace(self, text: str) -> str:
        """`Kind::A` as one can name it outside functions that say `using namespace own;`."""
        first = text.partition("::")[0].strip()
        inner = self._inner_namespaces if first in self._types else ()
        return f"{inner[0]}::{text}" if inner else text

    @cached_property
    def _inner_namespaces(self) -> tuple[str, ...]:
        """The namespaces of the source that functions of it use, and the file as a whole not."""
        plain = self._syntax.text
        used = re.findall(r"^([ \t]*)using\s+namespace\s+([\w:]+)\s*;", plain, re.MULTILINE)
        whole = {name for indent, name in used if not indent}
        inner = dict.fromkeys(name for indent, name in used if indent and name not in whole)
        return tuple(n for n in inner if re.search(rf"\bnamespace\s+{re.escape(n)}\s*\{{", plain))

    @cached_property
    def _inner_types(self) -> Mapping[str, str]:
        """What `using` says within functions, classes and macros; the first where they differ.

        They differ in a macro that makes one launch for several types.
        """
        said: dict[str, str] = {}
        for node in (*self._syntax.nodes("alias"), *self._syntax.nodes("typedef")):
            if node.parent is not None and node.parent.type not in OUTER:
                said.setdefault(*_alias(node))
        for _, meaning in self._syntax.macros.values():
            if "using" in meaning:
                for name, kind in re.findall(r"\busing\s+(\w+)\s*=\s*([^;{}]+);", meaning):
                    said.setdefault(name, kind.strip())
        return said

    @cached_property
    def _parameters(self) -> frozenset[str]:
        """The names of parameters of templates and macros."""
        names = {"scalar_t"}  # PyTorch's dispatch declares it
        for node in self._syntax.nodes("parameters"):
            if node.parent is not None:
                names |= {p.name for p in template_of(node.parent)}
        for formals, _ in self._syntax.macros.values():
            names |= {*(formals or ())}
        # the parser loses those behind a mistake
        for inside in re.findall(r"\btemplate\s*<([^;{}()<>]*)>", self._syntax.text):
            parts = (part.partition("=")[0] for part in inside.split(","))
            names |= {word for part in parts for word in re.findall(r"\w+", part)[-1:]}
        # a specialisation's `<float>` is no parameter
        return frozenset(name for name in names if not re.fullmatch(_BUILT_IN, name))

    @cached_property
    def _types(self) -> frozenset[str]:
        """The names of classes, and of types at namespace level."""
        found = {
            text_of(node).partition("<")[0]
            for node in self._syntax.nodes("type")
            if not _PARAMETER.search(self._syntax.text, node.start_byte - 20, node.start_byte)
        }
        for kind, name in (("alias", "name"), ("typedef", "declarator")):
            outer = (n for n in self._syntax.nodes(kind) if n.parent and n.parent.type in OUTER)
            found |= {text_in(node, name) for node in outer}
        return frozenset(found)

    @cached_property
    def _enums(self) -> frozenset[str]:
        return frozenset(text_of(node) for node in self._syntax.nodes("enum"))

    # -- what is likely -----------------------------------------------------------------------

    def _likely(self, parameter: TemplateParameter, kernel: KernelText) -> str:
        name = parameter.name
        if parameter.kind == "type":
            is_pointed_to = any(re.search(rf"\b{name}\b[^,<]*\*", p) for p in kernel.parameters)
            if (_FUNCTOR.fullmatch(name) and not is_pointed_to) or _is_called(parameter, kernel):
                return self._functor_like(name) or self._first_functor
            if _ITERATOR.fullmatch(name):
                return "float*"
            is_whole = parameter.type == WHOLE_NUMBERS or _INDEX_TYPE.search(name)
            usual = "int" if is_whole else "float"
            made = self._specialised(name, kernel)
            return usual if not made or usual in made else made[0]
        if parameter.type == "bool":
            return "true"
        if parameter.type.endswith(")"):
            return ""  # a function: any would do other work
        if not _INTEGER.search(parameter.type):
            return f"({parameter.type})0"  # of an enumeration
        if _OF_THREADS.fullmatch(name) and any(p.name == "BM" for p in kernel.template):
            return "8"  # 256 threads share 128 x 128
        return "128" if _SIZES.search(name) else "4"

    @cached_property
    def _first_functor(self) -> str:
        """The first class that can be called, of floats where it is a template; "" for none."""
        made = (f.owner for f in self._syntax.functions if f.name == "operator()" and f.owner)
        name = next(made, "")
        owner = next((c for c in self._syntax.classes.values() if c.name == name), None)
        kinds = [one.kind for one in owner.template] if owner is not None else []
        return f"{name}<float>" if kinds == ["type"] else name

    def _functor_like(self, name: str) -> str:
        """A class whose name contains the parameter's: L1Distance for DistanceOp; "" for none."""
        root = re.sub(r"(?:Op|Func|Functor|Fn)$", "", name)
        if len(root) < _SHORTEST_ROOT:
            return ""
        plain = (c.name for c in self._syntax.classes.values() if not c.template)
        return next((one for one in plain if root in one), "")

    def _specialised(self, name: str, kernel: KernelText) -> list[str]:
        """The types for which the source specialises a class that the kernel uses with `name`."""
        uses = set(re.findall(rf"\b(\w+)\s*<\s*{name}\s*>", kernel.body))
        made = [text_in(node, "name") for node in self._syntax.nodes("class")]
        made += [text_of(node) for node in self._syntax.nodes("instance") if _is_defined(node)]
        found = (re.fullmatch(r"(\w+)\s*<\s*(\w+)\s*>", text) for text in made if uses)
        return [one[2] for one in found if one and one[1] in uses]


def _is_defined(node: Node) -> bool:
    """Whether a name with template arguments is one whose specialisation is defined there."""
    names = ("qualified_identifier", "function_declarator")
    outer = next((n for n in around(node) if n.type not in names), None)
    return outer is not None and outer.type == "function_definition"


def _of_values(kernel: KernelText, values: Iterator[str] | list[str]) -> str:
    given = list(values)
    return "" if {"", _LAMBDA} & {*given} else f"{kernel.called}<{', '.join(given)}>"


def _is_called(parameter: TemplateParameter, kernel: KernelText) -> bool:
    """Whether the kernel calls an argument of that type, as in `callable(i)`."""
    own = (re.fullmatch(rf"{parameter.name}\s*&?\s*(\w+)", p) for p in kernel.parameters)
    return any(found and re.search(rf"\b{found[1]}\s*\(", kernel.body) for found in own)


def _is_constant(one: Declared) -> bool:
    return bool({"const", "constexpr"} & {*one.type.split()}) and not one.stars


def _plain_type(text: str) -> str:
    """A type without qualifiers where it is a number's, or one that has a capital."""
    words = [w for w in text.split() if w not in ("const", "static", "volatile", "constexpr")]
    kind = " ".join(words)
    return kind if re.fullmatch(rf"{_BUILT_IN}|[A-Z]\w*(?:<.*>)?", kind) else ""


def _instances_in(declarator: Node | None) -> Iterator[tuple[str, str]]:
    """The name and the arguments of a declarator `ns::axpy<float>(…)`."""
    while declarator is not None:
        if declarator.type == "template_function":
            yield text_in(declarator, "name"), text_in(declarator, "arguments")[1:-1].strip()
            return
        declarator = declarator.child_by_field_name("declarator") or declarator.child_by_field_name(
            "name"
        )


def _alias(node: Node) -> tuple[str, str]:
    """The name that `using` or `typedef` gives a type, and that."""
    is_typedef = node.type == "type_definition"
    return text_in(node, "declarator" if is_typedef else "name"), text_in(node, "type")


def _constants_and_types(nodes: Iterable[Node]) -> Iterator[tuple[str, str]]:
    """What `using` and `constexpr` say among declarations."""
    for node in nodes:
        if node.type != "declaration":
            yield _alias(node)
        else:
            for one in declared(node):
                if "constexpr" in one.type.split() and one.value is not None:
                    yield one.name, text_of(one.value)


def _declarations(function: Function | None) -> list[Node]:
    """The declarations in a function, in order."""
    kinds = ("alias_declaration", "type_definition", "declaration")
    body = function.body if function is not None else None
    return [node for node in within(body) if node.type in kinds]
