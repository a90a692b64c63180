"""The parameters of a `__global__` function: numbers, pointers, structures, and the host's symbols.

What is a built-in number or a pointer to one is read from the declaration. All else is asked of the
compiler: types and offsets come from the debug information that NVRTC writes for the kernel
(DWARF, `-G`). A structure counts by its members: `A.width`, `A.elements`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from core.compiler.compile_ptx_and_cubin import compile_ptx, find_entry
from core.compiler.requests_and_answers import Items
from core.errors import ArgumentError, CompileError
from core.ptx.debug.dwarf_types import DwarfType, Member
from core.ptx.debug.variables import DebugInfo, read_dwarf
from core.source.c_numbers import NUMBERS, VECTOR, numbers_in
from core.source.kernel_slice import Program
from core.source.kernels_and_launches import KernelText, kernel_called, split_instance
from core.source.preprocessor import WORD
from core.source.template_instances import instances, kernel_names

Texts = Mapping[str, str]
_NONE: Texts = MappingProxyType({})
SURFACE = "cudaSurfaceObject_t"
_TEXTURES = ("cudaTextureObject_t", SURFACE)
_QUALIFIERS = {
    *("const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__"),
    "signed",
}
_NUMBERS: Mapping[str, str] = {
    **NUMBERS,
    **dict.fromkeys(("__nv_bfloat16", "nv_bfloat16"), "uint16"),  # NumPy has no such type: its bits
    "": "int32",  # signed
}
_BITS_OF = {  # structures, in CUDA and in PyTorch
    **dict.fromkeys(("half", "__half", "Half", "at::Half"), "float16"),
    **dict.fromkeys(("__nv_bfloat16", "BFloat16", "at::BFloat16"), "uint16"),
}
_PAIRS = {"half2": "float16", "__half2": "float16", "__nv_bfloat162": "uint16"}
EMPTY = "empty structure"
FUNCTION = "pointer to a function"
TENSOR_MAP = "CUtensorMap"
"""The type of 128 bytes, aligned as a tensor map must be, whatever a source calls it."""
MAP_WORDS, MAP_ALIGNMENT = 16, 64
_MOST_LEAVES = 4096  # of one parameter


@dataclass(frozen=True)
class KernelParameter:
    """One parameter of a kernel, or one member of a parameter that is a structure.

    `dtype` is that of the value, or of what a pointer points to (the component of a vector such as
    float4); None for `void*`. `is_const`: a pointer through which the kernel may not write.
    `lanes`: numbers in one element that a pointer points to, 4 for float4. A member has the name
    `whole.member`, lies `offset` bytes into its parameter and, where it is an array, `count`
    numbers long; `whole_bytes` is 0 for what is not a member. `is_symbol`: no parameter but a
    variable of the source that the host fills before the launch. `leads_to_pointers`: a pointer to
    pointers, and `dtype` is that of what these point to. `holds_pointers`: it points to structures
    that have pointers in them.
    """

    name: str
    type: str
    dtype: np.dtype[Any] | None
    is_pointer: bool = False
    is_const: bool = False
    lanes: int = 1
    whole: str = ""
    offset: int = 0
    whole_bytes: int = 0
    whole_align: int = 1
    count: int = 1
    is_symbol: bool = False
    leads_to_pointers: bool = False
    holds_pointers: bool = False

    @property
    def is_texture(self) -> bool:
        """Whether it is the handle of a texture or a surface."""
        return self.type in _TEXTURES

    @property
    def is_tensor_map(self) -> bool:
        """Whether it is a tensor map, whatever the source calls its type."""
        return self.type == TENSOR_MAP

    @property
    def is_function(self) -> bool:
        """Whether it is a pointer to a function."""
        return self.type == FUNCTION

    @property
    def is_array(self) -> bool:
        """Whether an argument is a buffer or several numbers."""
        return self.is_pointer or self.count > 1


def read_signature(
    source: str,
    kernel: str,
    defines: Texts = _NONE,
    headers: Texts = _NONE,
    name: str = "kernel.cu",
) -> tuple[KernelParameter, ...]:
    """The parameters of `kernel` (its name as written, `ns::name`, `name<float>`), in order.

    `headers` are the source's own, by the names that it includes them by; `name` is the source's,
    for messages. Behind the parameters come the variables that the host fills: `__constant__` ones
    without a value, and those of a `cudaMemcpyToSymbol`. Raises ArgumentError when there is no such
    kernel or nothing can be passed for a parameter, and CompileError where the compiler had to be
    asked and refuses the kernel.
    """
    whole = "\n".join((*headers.values(), source)) if headers else source
    found = _kernel(source, whole, kernel)
    given = split_instance(kernel)[1]
    if found.template and not given:
        given = split_instance(instances(whole, found)[0])[1]
    if found.template and not given and not all(p.default for p in found.template):
        example = ", ".join("Functor" if p.kind == "type" else "4" for p in found.template)
        raise ArgumentError(
            f"The source names no instance of the template {found.name}: choose one, such "
            f"as {found.name}<{example}>; a function that a "
            "kernel calls must be a struct with operator(): a lambda of the host has no name."
        )
    texts = found.parameters_of(given)
    declared = [_declared(_named(text, f"unnamed_{at}")) for at, text in enumerate(texts, 1)]
    bound = dict(zip((p.name for p in found.template), given, strict=False))
    program = Program("", {"": source, **headers})
    names = {**program.plain_macros, **defines, **bound}
    plain = [_plain(*parts, names) for parts in declared]
    filled = _filled(program, whole, found.name)
    if all(plain) and not filled:
        return tuple(p for p in plain if p is not None)
    is_told = "<" in kernel or not given
    instance = kernel if is_told else f"{found.qualified}<{', '.join(given)}>"
    asked = _ask(source, instance, tuple(sorted(defines.items())), tuple(headers.items()), name)
    if len(asked.parameters) != len(declared) and any(_is_unnamed(p) for p in declared):
        asked = _with_unnamed(asked, [_is_unnamed(p) for p in declared])
    if len(asked.parameters) != len(declared):
        raise ArgumentError(
            f"The compiler knows {len(asked.parameters)} of the {len(declared)} parameters of "
            f"{found.name}: give each a name."
        )
    if texts != found.parameters:  # the compiler has one name for all of a pack
        names_of = (name for _, _, name in declared)
        kinds = (kind for _, kind in asked.parameters)
        asked = replace(asked, parameters=tuple(zip(names_of, kinds, strict=True)))
    parameters = [
        _read(*both, align)
        for both, align in zip(
            zip(declared, asked.parameters, strict=True), asked.alignments, strict=True
        )
    ]
    return (
        *(leaf for leaves in parameters for leaf in leaves),
        *(
            leaf
            for symbol in asked.symbols
            for leaf in _symbol(symbol, filled)
            if symbol[0] not in {name for _, _, name in declared}  # which hide it
        ),
    )


def type_sizes(
    source: str,
    kernel: str,
    defines: Texts = _NONE,
    headers: Texts = _NONE,
    name: str = "kernel.cu",
) -> Mapping[str, int]:
    """Bytes of the types that the kernel knows: those whose size the source asks for by name.

    By name, `Pair<int,float>` without spaces; of a template all instances that the kernel knows.
    Types are the source's own. Those that the kernel gets pointers to are always there, such as
    `curandState`: the source may ask for the size of a variable, or make a vector of them.
    """
    program = Program("", {"": source, **headers})
    pointed = _pointed(source, "\n".join((*headers.values(), source)), kernel)
    wanted = {word for word in pointed if word} | {
        without_spaces(word + instance)
        for file in program.files.values()
        for word, instance in re.findall(
            r"\bsizeof\s*\(?\s*(?:\w*::)*(\w+)\s*(<[^()]*>)?\s*\)?", file.plain
        )
        if any(p.item.kind in ("class", "alias") for p in program.by_name.get(word, ()))
        or any(p.item.space == "device" for p in program.by_name.get(word, ()))
    }
    if not wanted:
        return {}
    asked = _ask(source, kernel, tuple(sorted(defines.items())), tuple(headers.items()), name)
    sizes = {without_spaces(word): size for word, size in asked.sizes.items()}
    for word, (_, kind) in zip(pointed, asked.parameters, strict=False):
        if word and kind.element is not None:
            sizes.setdefault(word, kind.element.nbytes)
    of_templates = {word.partition("<")[0] for word in wanted if "<" in word}
    return {
        word: size
        for word, size in sizes.items()
        if word in wanted or word.partition("<")[0] in of_templates
    }


_PROBE = "tilescope_constants"
_VALUE = re.compile(r"Lx(n?)(\d+)E")


def constants(
    expressions: Sequence[str],
    source: str,
    defines: Texts = _NONE,
    headers: Texts = _NONE,
    name: str = "kernel.cu",
) -> Mapping[str, int]:
    """The values of constant expressions such as `Traits<128, float>::kThreads`, by their texts.

    The compiler writes them into the mangled name of a template's instance. An expression that it
    refuses is left out.
    """
    probe = f"{source}\ntemplate <long long...> __global__ void {_PROBE}() {{}}\n"
    kernel = f"{_PROBE}<{', '.join(f'(long long)({text})' for text in expressions)}>"
    try:
        build = compile_ptx(
            probe, source_name=name, defines=defines, kernel=kernel, headers=headers
        )
    except CompileError:
        one_by_one = expressions if len(expressions) > 1 else ()
        alone = (constants((text,), source, defines, headers, name) for text in one_by_one)
        return {text: value for found in alone for text, value in found.items()}
    found = _VALUE.findall(build.instances.get(kernel, ""))
    values = [int(digits) * (-1 if sign else 1) for sign, digits in found]
    return dict(zip(expressions, values, strict=False))


def _pointed(source: str, whole: str, kernel: str) -> list[str]:
    """What each parameter of a kernel points to, by its last word; "" where C++ knows it anyway."""
    declared = _kernel(source, whole, kernel)
    known = {*_NUMBERS, *(parameter.name for parameter in declared.template)}
    words = (
        re.match(r"\s*(?:const\s+)?(?:\w*::)*(\w+)\s*\*", text) for text in declared.parameters
    )
    return [m[1] if m and m[1] not in known and not VECTOR.fullmatch(m[1]) else "" for m in words]


def without_spaces(instance: str) -> str:
    """A type's name with no space about the brackets and commas of its template arguments."""
    return re.sub(r"\s*([<>,])\s*", r"\1", instance)


def _kernel(source: str, whole: str, kernel: str) -> KernelText:
    for text in (source, whole):
        if (found := kernel_called(text, kernel)) is not None:
            return found
    names = kernel_names(whole)
    there = f"it has: {', '.join(names)}" if names else "it has no __global__ function"
    raise ArgumentError(f"The source has no kernel called {kernel}; {there}.")


# --- from the declaration ------------------------------------------------------------------------


_ROWS = re.compile(
    r"(.*?)\(\s*\*\s*(?:const\s+|__restrict__\s+|__restrict\s+)*(\w+)\s*\)\s*((?:\[[^\]]*\]\s*)+)",
    re.DOTALL,
)


def _declared(declaration: str) -> tuple[str, str, str]:
    """A parameter as (declaration, type, name); an array is a pointer."""
    spaced = re.sub(r"\b(__align__|alignas)\s*\([^)]*\)", "", declaration)
    function = re.fullmatch(r"(.*\(\s*\*\s*)(\w+)(\s*\)\s*\(.*)", spaced, re.DOTALL)
    if function:
        return declaration, FUNCTION, function[2]
    rows = _ROWS.fullmatch(spaced)  # `float (*a)[N]` is `float a[][N]`
    spaced = f"{rows[1]} {rows[2]}{rows[3]}" if rows else spaced
    match = re.fullmatch(
        r"(?P<type>.*?)(?P<name>\w+)\s*(?P<array>(\[[^\]]*\]\s*)*)", spaced, re.DOTALL
    )
    words = " ".join(re.sub(r"\*", " * ", match["type"]).split()) if match else ""
    if not match or not words:
        raise ArgumentError(
            f"The parameter `{declaration}` of the kernel cannot be read: where a macro that no "
            "file here defines says what it is, give the macro with -D, its header with --include, "
            "or trace the file that includes this one."
        )
    if any(texture in words for texture in _TEXTURES) and ("*" in words or match["array"]):
        raise ArgumentError(
            f"The parameter `{declaration}` is a row of textures or surfaces, of which one at a "
            "time can be passed: give the kernel a parameter for each."
        )
    if "&" in words and "{" not in words:
        raise _indirect(declaration)
    return declaration, words + (" *" if match["array"] else ""), match["name"]


def _named(declaration: str, name: str) -> str:
    """A parameter that has no name, such as `std::true_type` or `Tag<4>`, with one."""
    ends = re.search(r"[>*&]\s*$", declaration)
    return (
        f"{declaration} {name}"
        if ends or re.fullmatch(r"\w+::[\w:]+", declaration)
        else declaration
    )


def _is_unnamed(declared: tuple[str, str, str]) -> bool:
    return re.fullmatch(r"unnamed_\d+", declared[2]) is not None


def _indirect(declaration: str) -> ArgumentError:
    return ArgumentError(
        f"The parameter `{declaration}` is a reference, or leads to pointers to pointers: "
        "use buffers, pointers to buffers, scalars and structures of them."
    )


def _plain(
    declaration: str, words: str, name: str, names: Mapping[str, str]
) -> KernelParameter | None:
    """The parameter if it is a number or a pointer to numbers; None for anything else."""
    if words == FUNCTION:
        return KernelParameter(name, FUNCTION, None, is_pointer=True)
    if "{" in words or words.count("*") > 1:
        return None
    if texture := _texture(words, name):
        return texture
    pointee, star, _ = words.partition("*")
    for _ in range(4):  # macros and template arguments may name others
        pointee = WORD.sub(lambda m: names.get(m[0], m[0]), pointee)
    found = pointee.replace("std::", "").split()
    kind = " ".join(w for w in found if w not in _QUALIFIERS)
    integer = sorted(w for w in kind.split() if w != "int")
    if "int" in kind.split() and set(integer) <= {"unsigned", "long", "short"}:
        kind = " ".join(sorted(integer, key="unsigned long short".index)) or "int"
    if kind == "" and "signed" not in found:
        return None
    lanes = 1
    dtype = np.dtype(_NUMBERS[kind]) if kind in _NUMBERS else None
    vector = numbers_in(kind) if VECTOR.fullmatch(kind) else None
    if vector is not None:
        dtype, lanes = np.dtype(vector[0]), vector[1]
    elif kind in _PAIRS:
        dtype, lanes = np.dtype(_PAIRS[kind]), 2
    if not star and (dtype is None or vector is not None or lanes > 1):
        return None
    if dtype is None and kind != "void":
        return None
    shown = words.replace(" *", "*")
    is_const = bool(star) and "const" in found
    return KernelParameter(name, shown, dtype, bool(star), is_const, lanes if star else 1)


def _texture(words: str, name: str) -> KernelParameter | None:
    """A texture or a surface: what it is made of is an array."""
    kind = next((kind for kind in _TEXTURES if kind in words.split()), "")
    is_const = kind != SURFACE
    return KernelParameter(name, kind, None, True, is_const) if kind else None


_INITIALISED = r"\b{}\s*(?:\[[^;={{}}]*\]\s*)?[={{(]"  # `= 3`, `{{1, 2}}` or `(3)` behind the name


def _filled(program: Program, whole: str, kernel: str) -> frozenset[str]:
    """Variables that the kernel may use and the host fills."""
    copied = set(re.findall(r"\bcudaMemcpyToSymbol(?:Async)?\s*\(\s*&?\s*(\w+)", whole))
    found = set()
    for part in program.parts:
        item, file = part.item, program.files[part.file]
        if item.kind != "variable" or item.space != "device":
            continue
        head = file.plain[item.start : item.end]
        is_constant = "__constant__" in head and "extern" not in head
        found |= {
            name
            for name in item.names
            if name in copied or (is_constant and not re.search(_INITIALISED.format(name), head))
        }
    if not found:
        return frozenset()
    needed = program.needed(program.roots(kernel))
    return frozenset(name for part in needed for name in part.item.names if name in found)


# --- from the compiler ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Asked:
    """What debug information says: parameters, their alignments, symbols and sizes of types."""

    parameters: tuple[tuple[str, DwarfType], ...]
    alignments: tuple[int, ...]
    nbytes: tuple[int, ...]  # of each parameter
    symbols: tuple[tuple[str, DwarfType], ...]
    sizes: Mapping[str, int]


def _with_unnamed(asked: _Asked, unnamed: list[bool]) -> _Asked:
    """The parameters with those of which debug information says nothing, as no code names them."""
    given, found = iter(asked.parameters), []
    for at, is_unnamed in enumerate(unnamed):
        nbytes = asked.nbytes[at] if at < len(asked.nbytes) else 1
        nothing = DwarfType(EMPTY, "struct", nbytes)
        following = (f"unnamed_{at + 1}", nothing) if is_unnamed else next(given, None)
        if following is not None:
            found.append(following)
    return replace(asked, parameters=tuple(found))


@lru_cache(maxsize=32)
def _ask(source: str, kernel: str, defines: Items, headers: Items, name: str) -> _Asked:
    build = compile_ptx(
        source, source_name=name, defines=dict(defines), kernel=kernel, headers=dict(headers)
    )
    entry = find_entry(build, kernel)
    labels = re.findall(r"^\s*([\w$]+):", build.ptx, re.MULTILINE)
    debug: DebugInfo = read_dwarf(build.ptx, {label: i for i, label in enumerate(labels)})
    function = debug.functions.get(entry)
    variables = function.variables if function else ()
    parameters = tuple((v.name, v.type) for v in variables if v.is_parameter and v.scope.depth == 0)
    symbols = tuple(
        (v.name.rpartition("::")[2], v.type)
        for v in debug.module_variables
        if v.space in ("const", "global")
    )
    sizes = {name: kind.nbytes for name, kind in symbols}
    for kind in (*(v.type for v in variables), *(kind for _, kind in symbols)):
        _collect_sizes(kind, sizes)
    places = _places(build.ptx, entry)
    alignments, nbytes = (tuple(place[i] for place in places) for i in (0, 1))
    return _Asked(parameters, alignments, nbytes, symbols, sizes)


def _collect_sizes(kind: DwarfType, sizes: dict[str, int]) -> None:
    plain = re.sub(r"\b(?:const|volatile)\s+", "", kind.name)
    named = re.fullmatch(r"(?:\w*::)*(\w+(?:<.*>)?)", plain)
    if named and named[1] in sizes:
        return
    if named and kind.nbytes:
        sizes[named[1]] = kind.nbytes
    if kind.element is not None:
        _collect_sizes(kind.element, sizes)
    for member in kind.members:
        _collect_sizes(member.type, sizes)


def _places(ptx: str, entry: str) -> tuple[tuple[int, int], ...]:
    """Bytes to which each parameter of a kernel is aligned, and bytes that it has."""
    head = re.search(rf"\.entry\s+{re.escape(entry)}\s*\(([^)]*)\)", ptx)
    found = []
    for text in re.findall(r"\.param\s+([^,]*)", head[1] if head else ""):
        row = re.search(r"\[(\d+)\]", text)
        bits = re.search(r"\.[a-z]+(\d+)\s+[\w$]+", text)
        aligned = re.match(r"\.align\s+(\d+)", text)
        size = int(bits[1]) // 8 if bits else 1
        found.append((int(aligned[1]) if aligned else size, size * int(row[1]) if row else size))
    return tuple(found)


_INDIRECT = "a reference, or a pointer to pointers to pointers"


class _Unsuitable(Exception):
    """Nothing can be passed for a type; says why."""


def _read(
    declared: tuple[str, str, str], asked: tuple[str, DwarfType], align: int
) -> Iterator[KernelParameter]:
    declaration, words, _ = declared
    name, kind = asked
    if texture := _texture(words, name):
        yield texture
        return
    shown = words.replace(" *", "*") if "{" not in words else kind.name
    try:
        leaves = list(_leaves(kind, "", 0))
    except _Unsuitable as error:
        if _INDIRECT in str(error):
            raise _indirect(declaration) from None
        raise ArgumentError(
            f"Nothing can be passed for the kernel's parameter `{declaration}` ({error}): use "
            "numbers, pointers to them, and structures of these."
        ) from None
    yield from (_of_leaf(leaf, name, shown, kind.nbytes, align, leaves) for leaf in leaves)


def _of_leaf(
    leaf: KernelParameter,
    name: str,
    shown: str,
    nbytes: int,
    align: int,
    leaves: list[KernelParameter],
) -> KernelParameter:
    path = leaf.name
    if leaf.count == MAP_WORDS and nbytes == 8 * MAP_WORDS and align == MAP_ALIGNMENT:
        path, shown = "", TENSOR_MAP  # opaque: it has the parameter's own name
    made = replace(
        leaf,
        name=_joined(name, path),
        type=leaf.type if path or leaf.type.startswith("enum ") or leaf.is_function else shown,
    )
    if path or leaf.count > 1 or leaf.type == EMPTY or len(leaves) > 1:
        return replace(made, whole=name, whole_bytes=max(nbytes, 1), whole_align=align)
    return made


def _symbol(asked: tuple[str, DwarfType], filled: frozenset[str]) -> Iterator[KernelParameter]:
    name, kind = asked
    if name not in filled:
        return
    try:
        leaves = list(_leaves(kind, "", 0))
    except _Unsuitable:
        return
    if kind.kind == "array" and len(leaves) > 1 and (row := _as_row(kind, leaves)):
        leaves = [row]
    for leaf in leaves:
        made = _of_leaf(leaf, name, kind.name, kind.nbytes, 1, leaves)
        yield replace(made, is_const=True, is_symbol=True, whole=name, whole_bytes=kind.nbytes)


def _as_row(kind: DwarfType, leaves: list[KernelParameter]) -> KernelParameter | None:
    """Equal numbers without gaps, such as those of some float4, as one row."""
    first, count = leaves[0], sum(leaf.count for leaf in leaves)
    alike = all(leaf.dtype == first.dtype and not leaf.is_pointer for leaf in leaves)
    if first.dtype is None or not alike or count * first.dtype.itemsize != kind.nbytes:
        return None
    return replace(first, name="", offset=0, count=count)


def _leaves(kind: DwarfType, path: str, offset: int) -> Iterator[KernelParameter]:
    """The numbers, rows of numbers and pointers in a value, named by their paths in it."""
    plain = _plain_name(kind)
    if plain in _BITS_OF and kind.nbytes == 2:
        yield KernelParameter(path, plain, np.dtype(_BITS_OF[plain]), offset=offset)
    elif plain in _TEXTURES:
        handle = KernelParameter(path, plain, None, True, plain != SURFACE)
        yield replace(handle, offset=offset)
    elif kind.kind == "pointer":
        yield replace(_pointer(kind), name=path, offset=offset)
    elif kind.kind == "enum" and kind.dtype is not None:
        signed = np.dtype(f"i{kind.nbytes}")
        yield KernelParameter(path, f"enum {plain}", signed, offset=offset)
    elif kind.kind == "array" and kind.element is not None:
        yield from _elements(kind, kind.element, path, offset)
    elif kind.kind == "struct":
        yield from _members(kind, path, offset)
    elif kind.dtype is not None:
        number = np.dtype(np.bool_) if kind.kind == "bool" else kind.dtype
        yield KernelParameter(path, plain, number, offset=offset)
    else:
        raise _Unsuitable(f"the type {kind.name} is not a number")


def _plain_name(kind: DwarfType) -> str:
    return re.sub(r"\b(?:const|volatile)\s+", "", kind.name)


def _elements(
    array: DwarfType, element: DwarfType, path: str, offset: int
) -> Iterator[KernelParameter]:
    count = int(np.prod(array.dims, dtype=np.int64))
    first = list(_leaves(element, "", 0))
    if len(first) == 1 and not first[0].is_pointer and first[0].count == 1 and not first[0].name:
        yield replace(first[0], name=path, offset=offset, count=count)
        return
    if count * len(first) > _MOST_LEAVES:
        raise _Unsuitable(f"{array.name} has {count * len(first):,} members")
    for index in range(count):
        for leaf in first:
            yield replace(
                leaf,
                name=_joined(f"{path}{index}", leaf.name),
                offset=offset + index * element.nbytes + leaf.offset,
            )


def _members(kind: DwarfType, path: str, offset: int) -> Iterator[KernelParameter]:
    end, found = -1, False
    for member in kind.members:
        if member.bits is not None:
            raise _Unsuitable(f"`{_plain_name(kind)}` has a bit field, {member.name}")
        if "vptr" in member.name or "vtbl" in member.name:
            raise _Unsuitable(f"`{_plain_name(kind)}` has something virtual")
        if member.offset < end and member.type.nbytes and not _is_empty(member):
            continue  # a union's other faces
        if _is_empty(member):
            continue
        end, found = member.offset + member.type.nbytes, True
        name = "" if re.match(r"\(|__SO__|__b_", member.name) else member.name
        yield from _leaves(member.type, _joined(path, name), offset + member.offset)
    if not found:  # an empty class has one byte
        yield KernelParameter(path, EMPTY, np.dtype(np.uint8), offset=offset)


def _is_empty(member: Member) -> bool:
    return member.type.kind == "struct" and all(_is_empty(m) for m in member.type.members)


def _pointer(kind: DwarfType) -> KernelParameter:
    element = kind.element
    is_const = element is not None and element.name.startswith("const ")
    opaque = KernelParameter("", kind.name, None, is_pointer=True, is_const=is_const)
    if element is not None and element.kind == "function":
        return replace(opaque, type=FUNCTION)
    if element is None or element.kind == "void":
        return opaque
    inner = _pointer(element) if element.kind == "pointer" else None
    if kind.name.rstrip().endswith("&") or (inner is not None and inner.leads_to_pointers):
        raise _Unsuitable(_INDIRECT)
    if inner is not None:
        return replace(inner, type=kind.name, leads_to_pointers=True)
    try:
        leaves = list(_leaves(element, "", 0))
    except _Unsuitable:
        return opaque
    kinds = {leaf.dtype for leaf in leaves}
    numbers = sum(leaf.count for leaf in leaves)
    holds_pointers = any(leaf.is_pointer for leaf in leaves)
    if len(kinds) == 1 and not holds_pointers:
        (dtype,) = kinds
        if dtype is not None and dtype.itemsize * numbers == element.nbytes:
            return replace(opaque, dtype=dtype, lanes=numbers)
    if not element.nbytes:
        return opaque
    return replace(
        opaque, dtype=np.dtype(np.uint8), lanes=element.nbytes, holds_pointers=holds_pointers
    )


def _joined(first: str, second: str) -> str:
    return f"{first}.{second}" if first and second else first or second
