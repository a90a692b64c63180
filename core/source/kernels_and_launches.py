"""The `__global__` functions of a program's text, and where the host launches them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from core.source.cuda_parser import around, field_of, text_of
from core.source.functions_and_calls import (
    WHOLE_NUMBERS,
    HostSyntax,
    TemplateParameter,
    arguments_of,
    called_name,
    formals_of,
    function_declarator,
    host_syntax,
    named_by,
    template_of,
)
from core.source.preprocessor import plain_text, split_at_commas

if TYPE_CHECKING:
    from tree_sitter import Node

ROUND = "([{)]}"
"""The brackets of an expression, in which `<` compares."""
MOST_CALLS = 64
"""Calls of a function or a macro that are looked at."""
_NAMESPACE = re.compile(r"\bnamespace\s+([\w:]*)\s*$")
_CONCEPTS = re.compile(r"\bconcept\s+(\w+)\s*=")
_CONCEPT = re.compile(  # of the standard library, for types of values
    r"(?:::)?std::(?:((?:(?:un)?signed_)?integral)|floating_point|(?:semi)?regular|copyable|movable"
    r"|totally_ordered|equality_comparable)"
)
_LAUNCHING = ("cudaLaunchKernel", "cudaLaunchCooperativeKernel")
_CONFIGURED = ("cudaLaunchKernelEx", "cudaLaunchKernelExC")


@dataclass(frozen=True)
class KernelText:
    """One `__global__` function: its name, with its namespaces, and its parameters as written.

    `called` is what tells it from the source's other kernels: the name, where several have that the
    qualified one, and of overloads also the types, `fill(float*, int)`. `defaults` are what those
    parameters are that a launch leaves out, by their names. `branch` is the place of the branch of
    a conditional that it stands in, -1 for none.
    """

    name: str
    qualified: str
    parameters: tuple[str, ...]
    called: str = ""
    template: tuple[TemplateParameter, ...] = ()
    body: str = ""  # without comments, "" where it is only declared
    is_defined: bool = False
    defaults: Mapping[str, str] = field(default_factory=dict, hash=False)
    branch: int = -1

    @property
    def types(self) -> str:
        """The types of its parameters in brackets, `(float*, int)`."""
        return f"({', '.join(map(_type_of, self.parameters))})"

    def parameters_of(self, given: Sequence[str]) -> tuple[str, ...]:
        """The parameters of an instance: those of a pack are `in_1`, `in_2` for `in`."""
        packs = [at for at, one in enumerate(self.template) if one.is_pack]
        if not packs:
            return self.parameters
        at, word = packs[0], re.compile(rf"\b{self.template[packs[0]].name}\b")
        kinds = given[at : len(given) - len(self.template[at + 1 :])]
        return tuple(
            one
            for text in self.parameters
            for one in (
                [f"{word.sub(k, text.replace('...', ' '))}_{i}" for i, k in enumerate(kinds, 1)]
                if "..." in text
                else [text]
            )
        )

    def is_meant(self, kernel: str) -> bool:
        """Whether a name means it: with all, some or none of its namespaces; types count."""
        scoped = split_instance(kernel)[0].removeprefix("::")
        is_own = f"::{self.qualified}".endswith(f"::{scoped}")
        return is_own and types_said(kernel) in ("", types_said(self.name + self.types))


@dataclass(frozen=True)
class HostLaunch:
    """`name<template><<<configuration>>>(arguments)` and the function that it stands in.

    `position` is a place in the plain text of the source. `attributes` is the expression for an
    array of launch attributes (`cudaLaunchConfig_t::attrs`), "" without one.
    """

    name: str
    template: tuple[str, ...]
    configuration: tuple[str, ...]
    arguments: tuple[str, ...]
    function: str
    position: int
    attributes: str = ""


@lru_cache(maxsize=16)
def kernels(source: str, headers: str = "") -> tuple[KernelText, ...]:
    """The kernels of a source in order; one that is declared before it is defined counts once.

    Of declaration and definition the latter counts, as it names the parameters, and so does the
    last of several definitions that are no overloads. Macros that mark or make kernels may be in
    the text of its headers.
    """
    all_of_them = [*_kernels(source, headers)]
    several = _overloaded(all_of_them)
    found: dict[tuple[str, str], KernelText] = {}
    for kernel in all_of_them:
        is_one_of_several = kernel.qualified in several
        if is_one_of_several and not kernel.is_defined:
            continue
        key = kernel.qualified, kernel.types if is_one_of_several else ""
        known = found.get(key)
        if known is None or kernel.is_defined or not known.is_defined:
            found[key] = kernel
    spaces: dict[str, set[str]] = {}
    for kernel in found.values():
        if kernel.is_defined:
            spaces.setdefault(kernel.name, set()).add(kernel.qualified)
    return tuple(
        replace(
            kernel,
            called=(kernel.qualified if len(spaces.get(kernel.name, ())) > 1 else kernel.name)
            + (kernel.types if kernel.qualified in several else ""),
        )
        for kernel in found.values()
    )


def _overloaded(found: Sequence[KernelText]) -> frozenset[str]:
    """The qualified names that several kernels have, none of them templates, side by side.

    Such as stand in branches of conditionals are one kernel: only one branch counts.
    """
    by_name: dict[str, list[KernelText]] = {}
    for kernel in found:
        if kernel.is_defined and not kernel.template:
            by_name.setdefault(kernel.qualified, []).append(kernel)
    return frozenset(
        name
        for name, alike in by_name.items()
        if len({k.types for k in alike}) > 1 and len({k.branch for k in alike}) == 1
    )


def split_instance(kernel: str) -> tuple[str, tuple[str, ...]]:
    """`ns::axpy<float, 4>` as ("ns::axpy", ("float", "4")); the types of an overload go."""
    name, opens, rest = _without_types(kernel).partition("<")
    inside = rest.rstrip().removesuffix(">")
    return name.strip(), tuple(split_at_commas(inside)) if opens else ()


def types_said(kernel: str) -> str:
    """`ns::fill(float*, int)` as `(float*,int)`; "" for a name that is no overload's."""
    return kernel[len(_without_types(kernel)) :].replace(" ", "")


def _without_types(kernel: str) -> str:
    """`ns::fill(float*, int)` as `ns::fill`; brackets in template arguments stay."""
    return kernel if "<" in kernel.partition("(")[0] else kernel.partition("(")[0]


def unscoped(kernel: str) -> str:
    """`ns::axpy<float, 4>` as axpy."""
    return split_instance(kernel)[0].rpartition("::")[2].strip()


def kernel_called(source: str, kernel: str, headers: str = "") -> KernelText | None:
    """The kernel that a name means; None for none.

    A name that is not one's own, as its namespace is another one, means the first kernel with the
    same last part.
    """
    name, scoped = unscoped(kernel), split_instance(kernel)[0]
    alike = [found for found in kernels(source, headers) if found.name == name]
    own = [found for found in alike if found.is_meant(kernel)]
    exact = [found for found in own if found.qualified == scoped]
    return next(iter(exact or own or alike), None)


def kernel_of(
    source: str, launch: HostLaunch, fits: Callable[[KernelText, HostLaunch], bool]
) -> KernelText | None:
    """The kernel of a source that a launch in it means, as C++ looks a name up; None for none.

    Of overloads it is the first whose parameters fit what is passed.
    """
    name = unscoped(launch.name)
    alike = [k for k in kernels(source) if k.name == name]
    if len(alike) < 2:
        return next(iter(alike), None)
    written = split_instance(launch.name)[0]
    (spaces,) = _namespaces(plain_text(source), [launch.position])
    for depth in range(len(spaces), -1, -1):
        seen = "::".join([*spaces[:depth], written])
        if found := [k for k in alike if k.qualified == seen]:
            break
    else:  # a namespace that is used
        found = [k for k in alike if k.is_meant(written)] or alike
    return next((k for k in found if fits(k, launch)), found[0])


def _kernels(source: str, headers: str = "") -> Iterator[KernelText]:
    if "__global__" not in source and "__global__" not in headers:
        return
    text = plain_text(source, headers)
    if "__global__" not in text:
        return
    syntax = host_syntax(text)
    concepts = {*_CONCEPTS.findall(source), *_CONCEPTS.findall(headers)}
    spaces = _namespaces(text, [node.start_byte for node in syntax.kernels])
    for node, inside in zip(syntax.kernels, spaces, strict=True):
        if (kernel := _kernel(node, concepts, inside, text)) is not None:
            yield kernel


def _namespaces(text: str, places: Sequence[int]) -> Iterator[list[str]]:
    """The named namespaces that are open at each of some ascending places of a text.

    They are counted by braces: the parser loses those that hold a mistake.
    """
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


def _kernel(
    node: Node, concepts: Collection[str], spaces: Sequence[str], text: str
) -> KernelText | None:
    declarator = function_declarator(node)
    named, parameters = field_of(declarator, "declarator"), field_of(declarator, "parameters")
    if named is None or parameters is None:
        return None
    if named.type in ("template_function", "parenthesized_declarator"):
        return None  # a specialisation is one of the template's; a pointer is no kernel
    around = node.parent
    if around is not None and around.type == "friend_declaration":
        around = around.parent
    template = template_of(around) if around and around.type == "template_declaration" else ()
    template = tuple(_constrained(one, concepts) for one in template)
    scoped = text_of(named).split()[-1]  # behind what a macro says of it
    name = scoped.rpartition("::")[2]
    inside = text[parameters.start_byte + 1 : parameters.end_byte - 1]
    body = node.child_by_field_name("body")
    return KernelText(
        name,
        "::".join([*spaces, scoped]),
        _parameters(inside),
        template=template,
        body=text[body.start_byte + 1 : body.end_byte - 1] if body is not None else "",
        is_defined=body is not None,
        defaults={
            one.name: text_of(one.value) for one in formals_of(declarator) if one.value and one.name
        },
        branch=_branch(node),
    )


def _branch(node: Node) -> int:
    """The place of the nearest branch of a conditional around a node, -1 for none."""
    branches = (outer for outer in around(node) if outer.type.startswith("preproc_"))
    branch = next(branches, None)
    return branch.start_byte if branch is not None else -1


_NAMED = re.compile(r"(.*[\s*&>])\w+\s*((?:\[[^\]]*\]\s*)*)", re.DOTALL)


def _type_of(parameter: str) -> str:
    """`const float *__restrict__ x` as `const float*`."""
    plain = re.sub(r"\b(?:__restrict__|__restrict|restrict)\b", " ", parameter)
    named = _NAMED.fullmatch(plain.strip())
    words = " ".join((named[1] + named[2] if named else plain).split())
    return re.sub(r"\s*([*&])\s*", r"\1", words)


def _constrained(parameter: TemplateParameter, concepts: Collection[str]) -> TemplateParameter:
    """A type where what stands before the name is a concept, and no type of a value."""
    if parameter.type in concepts:
        return replace(parameter, kind="type", type="")
    if standard := _CONCEPT.fullmatch(parameter.type):
        return replace(parameter, kind="type", type=WHOLE_NUMBERS if standard[1] else "")
    return parameter


def _parameters(inside: str) -> tuple[str, ...]:
    parts = [part.partition("=")[0].strip() for part in split_at_commas(inside)]
    return () if parts in ([], [""], ["void"]) else tuple(parts)


@lru_cache(maxsize=16)
def host_launches(source: str) -> tuple[HostLaunch, ...]:
    """The launches in a source's text, in order, and those by functions that get a kernel."""
    if "<<<" not in (text := plain_text(source)) and "aunch" not in text:
        return ()
    syntax = host_syntax(text)
    by = (_by_marks, _by_calls, _by_configuration, _by_driver)
    found = tuple(launch for one in by for launch in one(syntax))
    return (*found, *(further for launch in found for further in _by_wrapper(syntax, launch)))


@lru_cache(maxsize=4)
def launches_by_kernel(source: str) -> Mapping[str, tuple[HostLaunch, ...]]:
    """The launches in a source's text by the kernel's name without namespaces."""
    found: dict[str, list[HostLaunch]] = {}
    for launch in host_launches(source):
        found.setdefault(unscoped(launch.name), []).append(launch)
    return {name: tuple(launches) for name, launches in found.items()}


def _by_marks(syntax: HostSyntax) -> Iterator[HostLaunch]:
    """`k<<<grid, block>>>(a)`."""
    for mark, own in syntax.launches:
        call, place = mark.parent, mark.start_byte - own.shift
        if (named := named_by(field_of(call, "function"))) is None:
            continue
        function = syntax.function_at(place)
        name, template = _held(syntax, named[0], place) or named
        given = field_of(call, "arguments")
        yield HostLaunch(
            name,
            template,
            _texts(mark, own.text),
            _texts(given, own.text) if given is not None else (),
            function.name if function is not None else "",
            place,
        )


def _texts(node: Node, text: str) -> tuple[str, ...]:
    """The expressions that a launch or a call lists."""
    if node.has_error:
        width = 3 if node.type == "kernel_call_syntax" else 1  # of its brackets
        inside = text[node.start_byte + width : node.end_byte - width]
        return tuple(split_at_commas(inside, ROUND))
    return tuple(text[child.start_byte : child.end_byte] for child in node.named_children)


def _held(syntax: HostSyntax, name: str, before: int) -> tuple[str, tuple[str, ...]] | None:
    """The kernel that a variable holds at a place: of `auto* run = axpy<float>;`.

    Of `auto run = fast ? axpy<4> : axpy<1>;` it is the first.
    """
    held = (
        one.value
        for one in syntax.declared_before(name, before)
        if "auto" in one.type.split() and one.value is not None
    )
    value = next(held, None)
    if value is not None and value.type == "conditional_expression":
        value = value.child_by_field_name("consequence")
    return named_by(value)


def _by_calls(syntax: HostSyntax) -> Iterator[HostLaunch]:
    """`cudaLaunchKernel((void *)k<float>, grid, block, arguments, nbytes, stream)`."""
    for call in (call for name in _LAUNCHING for call in syntax.calls.get(name, ())):
        given = arguments_of(call)
        if len(given) > 3 and (named := named_by(given[0])) is not None:
            configuration = tuple(text_of(one) for one in (*given[1:3], *given[4:5]))
            listed = _listed(syntax, text_of(given[3]), call)
            yield HostLaunch(*named, configuration, listed, "", call.start_byte)


def _by_configuration(syntax: HostSyntax) -> Iterator[HostLaunch]:
    """`cudaLaunchKernelEx(&config, k<float>, a, b)`; `…ExC` gets an array of their addresses."""
    for call in (call for name in _CONFIGURED for call in syntax.calls.get(name, ())):
        given = arguments_of(call)
        if len(given) < 2:
            continue
        named = _held(syntax, text_of(given[1]), call.start_byte) or named_by(given[1])
        if named is not None:
            where, texts = text_of(given[0]), tuple(text_of(one) for one in given[2:])
            config = f"{where[1:]}." if where.startswith("&") else f"{where}->"
            sizes = tuple(config + size for size in ("gridDim", "blockDim", "dynamicSmemBytes"))
            if called_name(call) == _CONFIGURED[1] and texts:
                texts = _listed(syntax, texts[0], call)
            yield HostLaunch(*named, sizes, texts, "", call.start_byte, f"{config}attrs")


def _by_driver(syntax: HostSyntax) -> Iterator[HostLaunch]:
    """`cuLaunchKernel` of a function that `cuModuleGetFunction` got by its name."""
    for call in syntax.calls.get("cuLaunchKernel", ()):
        given = [text_of(one) for one in arguments_of(call)]
        if len(given) < 10:  # function, grid, block, shared memory, stream, arguments
            continue
        names = [
            text_of(got[2]).strip('"')
            for before in syntax.calls.get("cuModuleGetFunction", ())
            if before.end_byte <= call.start_byte
            and len(got := arguments_of(before)) == 3
            and text_of(got[0]).lstrip("& ") == given[0]
            and got[2].type == "string_literal"
        ]
        if names:
            sizes = tuple(f"dim3({', '.join(given[at : at + 3])})" for at in (1, 4))
            listed = _listed(syntax, given[9], call)
            yield HostLaunch(names[-1], (), (*sizes, given[7]), listed, "", call.start_byte)


def _listed(syntax: HostSyntax, array: str, call: Node) -> tuple[str, ...]:
    """The arguments whose addresses an array lists in front of a call: `void *a[] = {&x, &n}`."""
    declared = syntax.declared_before(array, call.start_byte)
    row = next((one.value for one in declared if one.value is not None), None)
    texts = (text_of(one) for one in arguments_of(row)) if row is not None else ()
    return tuple(re.sub(r"\(\s*void\s*\*\s*\)|&", "", text).strip() for text in texts)


def _by_wrapper(syntax: HostSyntax, launch: HostLaunch) -> Iterator[HostLaunch]:
    """The launches by calls of `run(kernel, grid, block, …)`, which launches its `kernel`."""
    wrapper = syntax.function_at(launch.position)
    names = [formal.name for formal in wrapper.formals] if wrapper is not None else []
    if wrapper is None or launch.name not in names:
        return
    for call in itertools.islice(syntax.calls.get(wrapper.name, ()), MOST_CALLS):
        given = [text_of(one) for one in arguments_of(call)]
        if len(given) < len(names):
            continue
        meant = dict(zip(names, given, strict=False))
        rest = given[len(names) :]
        kernel = meant[launch.name].strip("& ")
        name, template = _held(syntax, kernel, call.start_byte) or split_instance(kernel)
        caller = syntax.function_at(call.start_byte)
        yield HostLaunch(
            name,
            template,
            tuple(with_words(part, meant) for part in launch.configuration),
            tuple(
                one
                for part in launch.arguments
                for one in (rest if part.endswith("...") else [with_words(part, meant)])
            ),
            caller.name if caller is not None else "",
            call.start_byte,
            with_words(launch.attributes, meant),
        )


def with_words(text: str, meanings: Mapping[str, str]) -> str:
    """A text with names, none of a namespace's own, replaced by what they mean."""
    return re.sub(r"(?<!::)\b[A-Za-z_]\w*", lambda m: meanings.get(m[0], m[0]), text)
