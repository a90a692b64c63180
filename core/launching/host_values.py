"""What a host function computes before it launches a kernel: sizes, dim3s, and what it allocates.

Not an interpreter: declarations and assignments up to the launch are evaluated in their order,
expressions of numbers only; what cannot be told is left out. A variable may be given another value,
so that the same program can be had in small.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from types import MappingProxyType

from core.compiler.kernel_signature import without_spaces
from core.launching.callers import Reached, reached, without_pointer_casts
from core.source.expressions import Expression, Number, of_type, parsed
from core.source.kernel_text import (
    HostLaunch,
    closing,
    split_at_commas,
    with_kernel_macros,
    with_plain_declarations,
    without_comments,
)

# The statements of a host's text that say numbers: declarations, assignments, allocations.
#
# They are read once, in their order; `core.launching.host_values` evaluates them, often.


TYPE = (
    r"(?:(?:const|constexpr|static|inline|unsigned|signed|long|std::)\s*)*"
    r"(?:int|unsigned|long|short|char|size_t|uint|(?:cu)?u?int\d+_t|float|double|auto|bool|dim3|uint3)"
)
_DECLARED = re.compile(rf"(?<![\w:<,])\s*{TYPE}\s+(?=[A-Za-z_])")
_ALLOCATED = re.compile(
    r"\b(?:cudaMalloc|cudaMallocManaged|cudaMallocHost|cudaMallocAsync|cudaHostAlloc)"
    r"(?:<[^>]*>)?\s*\("
)
_POINTER = re.compile(r"\s*(?:const\s+)?\w+(?:\s+\w+)?\s*\*")  # `float *a, *b = nullptr`
_POINTER_SET = re.compile(  # `float *p = a + 4`
    r"(?:const\s+)?[\w:]+(?:<[^<>]*>)?(?:\s+\w+)?\s*\*\s*(?:const\s+|__restrict__\s+)*(\w+)\s*=\s*(.+)$",
    re.DOTALL,
)
_INTO = re.compile(  # a pointer, or one into what it points to: `a`, `a + 4`, `&a[4]`
    r"([A-Za-z_][\w.]*)\s*(?:\+\s*(.+))?|&\s*([A-Za-z_][\w.]*)\s*\[([^\[\]]+)\]", re.DOTALL
)
_COPIED = re.compile(  # `Matrix a = b`
    r"(?:const\s+)?[A-Za-z_][\w:]*(?:<[\w, ]*>)?\s+(\w+)\s*=\s*([A-Za-z_][\w.]*)"
)
_MACRO = re.compile(r"[A-Z][A-Z0-9_]{2,}\s*\(")
ROUND = "([{)]}"


@dataclass(frozen=True)
class Setting:
    """`name = expression`, "" where it is only declared; `type` where that is done there."""

    name: str
    expression: str
    type: str = ""


@dataclass(frozen=True)
class Allocation:
    """Bytes of device memory for a pointer."""

    pointer: str
    nbytes: str


@dataclass(frozen=True)
class PitchedAllocation:
    """Rows of device memory; `pitch` is the variable that gets the bytes between two of them."""

    pointer: str
    pitch: str
    width: str
    height: str


Statement = Setting | Allocation | PitchedAllocation


def statements(text: str, *, changes: bool = False) -> Iterator[Statement]:
    """What a text without comments sets, loops and conditions taken as if they ran once.

    With `changes` also what `n -= 4` does: in a loop it would be wrong.
    """
    if changes:
        text = _CHANGED.sub(r"\1 = \1 \2 (\3);", text)
    text = re.sub(r"^[ \t]*#[^\n]*", "", text, flags=re.MULTILINE)
    braced = 1
    while braced:  # `dim3 block{32, 8}, grid{n / 32, n / 8};`: each brace as a bracket
        text, braced = re.subn(r"(\bdim3\s[^;{}]*?\w)\s*\{([^;{}]*)\}", r"\1(\2)", text)
    for statement in re.split(r"[;{}]", _without_bodies_of_loops(_with_choices(text))):
        yield from _of(statement.strip())


_CHANGED = re.compile(r"([A-Za-z_][\w.]*)\s*([-+*/])=\s*([^;{}=]+);")


def _of(statement: str) -> Iterator[Statement]:
    if macro := _MACRO.match(statement):  # `CHECK(x)` without a semicolon, then a statement
        end = closing(statement, macro.end()) + 1
        if re.match(r"\s*\w", statement[end:]):
            yield from _of(statement[:end])
            yield from _of(statement[end:].strip())
            return
    if allocation := _ALLOCATED.search(statement):
        inside = statement[allocation.end() :]
        parts = split_at_commas(inside[: closing(inside, 0)], ROUND)
        if len(parts) > 1:
            yield Allocation(pointer_name(parts[0]), parts[1])
        return
    if pitched := re.search(r"\bcudaMallocPitch\s*\((.*)\)", statement, re.DOTALL):
        parts = split_at_commas(pitched[1], ROUND)
        if len(parts) == 4:
            names = (pointer_name(part) for part in parts[:2])
            yield PitchedAllocation(*names, *parts[2:])
        return
    if attribute := _ATTRIBUTE.search(statement):
        yield Setting(pointer_name(attribute[1]), _ATTRIBUTES.get(attribute[2], ""))
        return
    loop = re.search(r"\bfor\s*\((.*)", statement, re.DOTALL)
    text = loop[1] if loop else statement
    declared = _DECLARED.match(text)
    if declared:
        for part in split_at_commas(text[declared.end() :], ROUND):
            yield from _declared(part, declared[0].strip())
        return
    if pointer := _POINTER_SET.match(text):
        yield Setting(pointer[1], pointer[2])
        return
    if copied := _COPIED.fullmatch(text):
        yield Setting(copied[1], copied[2])
        return
    assigned = re.match(r"([\w.]+(?:->\w+)?)\s*(?<![=!<>+\-*/])=(?!=)\s*(.+)$", text, re.DOTALL)
    if assigned:
        last = re.split(r"(?<![=!<>])=(?!=)", assigned[2])[-1]
        for name in _names(assigned[1], assigned[2]):
            yield Setting(name.replace("->", "."), last)


def _declared(part: str, kind: str) -> Iterator[Setting]:
    match = re.match(r"(\w+)\s*(?:=\s*(.*)|([({].*)[)}])?\s*$", part, re.DOTALL)
    if not match:
        return
    name, given, made = match[1], match[2], match[3]
    if "dim3" in kind.split():
        expression = given or f"dim3({made[1:] if made else '1'})"
        yield Setting(name, expression, "dim3")
    else:
        yield Setting(name, given or (made[1:] if made else ""), kind)


def outside_functions(text: str) -> str:
    """The declarations at namespace level."""
    parts, at = [], 0
    for match in re.finditer(r"\{", text):
        if match.start() < at:
            continue
        header = text[at : match.start()]
        if re.search(r"\bnamespace\b[^;()]*$", header):
            parts.append(re.sub(r"[^;{}]*$", ";", header))
            at = match.end()
            continue
        parts.append(re.sub(r"[^;{}]*$", "", header))
        at = closing(text, match.end(), "{}") + 1
    return "".join([*parts, text[at:]])


def _with_choices(text: str) -> str:
    """`if (n > 64) n = 64;` as `n = (n > 64) ? (64) : n;`."""
    parts, at = [], 0
    for found in _IF.finditer(text):
        condition = text[found.end() : found.end() + _LONGEST_CONDITION]
        condition = condition[: closing(condition, 0)]
        chosen = _SET.match(text, found.end() + len(condition) + 1)
        if found.start() >= at and chosen is not None:
            choice = f"{chosen[1]} = ({condition}) ? ({chosen[2].strip()}) : {chosen[1]};"
            parts += [text[at : found.start()], choice]
            at = chosen.end()
    return "".join([*parts, text[at:]])


_IF = re.compile(r"(?<!else )\bif\s*\(")
_SET = re.compile(
    r"\s*\{?\s*([A-Za-z_][\w.]*)\s*=(?!=)([^;{}=?]+);(?!\s*[^\s}][^{}]*\})(?:\s*\})?(?!\s*else\b)"
)


def _without_bodies_of_loops(text: str) -> str:
    """As `;` ends a statement, those inside `for (…)` become ends of statements, too."""
    return re.sub(r"\b(if|while|switch)\s*\([^;{}]{0,4000}\)", ";", text)


def _names(first: str, rest: str) -> Iterator[str]:
    """`a = b = c = 3`: all the names that get the value."""
    yield first
    for part in re.split(r"(?<![=!<>])=(?!=)", rest)[:-1]:
        if re.fullmatch(r"\s*[\w.]+\s*", part):
            yield part.strip()


def pointer_name(text: str) -> str:
    """`(void **)&d_a` is the pointer d_a."""
    return without_pointer_casts(text).strip("&() \t\n").replace("->", ".")


_MEMBERS = ("x", "y", "z")
_WHOLE = (
    r"(?:(?:const|unsigned|long)\s+)*(?:std::)?"
    r"(?!float|double|bool|char|half|cuda|real)[a-z_]\w*\s+(\w+)"
)
_KNOWN_BY_NAME = (
    (re.compile(r"(pad(ding)?|stride|dil(ation)?)_?([hwd]|height|width)", re.IGNORECASE), 1),
    (re.compile(r"(kernel|filter)_?([hwd]|height|width|size)|k_?(size|h|w)", re.IGNORECASE), 3),
    (re.compile(r"\w*batch(_?(size|count))?|batches", re.IGNORECASE), 4),
    (re.compile(r"\w*(splits|gpus|devices|streams|ranks)", re.IGNORECASE), 4),
    (re.compile(r"\w*threads\w*|block_?(size|dim)\w*", re.IGNORECASE), 128),
    (re.compile(r"\w*(blocks|grid)\w*", re.IGNORECASE), 4),
    (re.compile(r"n|\w*(size|len|length|count|elements|total|num)", re.IGNORECASE), 1024),
)
_PITCH = re.compile(r"pitch|stride|bytes|^ld[abc]?$", re.IGNORECASE)
_OF_BYTES = re.compile(r"pitch|bytes", re.IGNORECASE)
_SIZE = re.compile(
    r"\w*(?:width|height|depth|rows|cols|columns|size|count|num|length|pitch|stride)\w*|[nmkwh]",
    re.IGNORECASE,
)
_PIXEL = 16  # bytes at most
_POWER = re.compile(r"\(?1[uUlL]*\s*<<\s*[A-Za-z_]\w*\)?")
_LEAST = 32  # a smaller literal is no size
_MOST_MEMBERS = 64  # of a structure that is copied
_LONGEST_CONDITION = 500  # characters
_NOTHING: Mapping[str, Number] = MappingProxyType({})
_ASKED_FOR = re.compile(r"\bif\s*\(\s*(\w+)\s*==\s*(\d{1,9})\s*\)\s*(?:\{[^{}]*)?$")
_CASE = re.compile(r"\bcase\s+(\d{1,9})\s*:[^:{}]*(?:\{[^{}]*)?$")
_SWITCH = re.compile(r"\bswitch\s*\(\s*(\w+)\s*(?:([/*])\s*(\d{1,4})\s*)?\)")  # `n`, `n / 2`
_OF_TENSOR = re.compile(r"\w+\.(?:size\(-?\d\)|(?:sizes\(\)|shape)\[\d\]|numel\(\))")
_ALLOCATOR = re.compile(  # `my_malloc(bytes)`, `calloc(n, bytes)`, `allocate<float>(n)`
    r"(?:\w+::)*(\w*(?:malloc|calloc|(?=\w*<)alloc\w*))\s*(?:<\s*([\w ]+?)\s*>)?\s*\((.*)\)",
    re.IGNORECASE | re.DOTALL,
)
_OF_OBJECT = re.compile(  # `image.cols`, `v->size()`, `(int)a.length()`, `parts[i].width / 4`
    r"(?:\([\w ]+\)\s*)?[A-Za-z_]\w*(?:(?:\[[^\[\]]*\])?(?:\.|->|::)\w+)+(?:\s*\(\s*\))?"
    r"(?:\s*[-+*/]\s*\d{1,6})?"
)
_OF_COMMAND_LINE = re.compile(
    r"^\s*(?:\([\w ]+\)\s*)?(?:std::)?(?:ato[il]l?|sto[iul]l*|strto\w+)\s*\("
)
_DEFAULT_OF = re.compile(  # `read(argc, argv, "-n", 20)`: the last of them
    r"(?<![\w:])(?!(?:std::)?(?:strto|sto|ato))(?:\w+::)*\w+(?:<[^<>]*>)?\s*"
    r"\((?=[^()]*\bargv\b)(?:[^()]|\([^()]*\))*,\s*([^,()]+)\)"
)
_ARGUMENT_OR = re.compile(  # `argc > 1 ? atoi(argv[1]) : 1024`
    r"^[^?:]*\bargc\b[^?:]*\?\s*(?:std::)?\w+\s*\([^:]*\)\s*:(?!:)\s*(.+)$", re.DOTALL
)
_OF_MACROS = "const auto"
_ANY = "*"  # in what is given: every whole number that a function is given
_UNKNOWN = 64  # what a whole number that a function is given may be
_DEEPEST_CALL = 6
_DEVICE = {  # fields of cudaDeviceProp: a small device, so that a launch is one to look at
    "maxThreadsPerMultiProcessor": "2048",
    "multiProcessorCount": "4",
    "maxThreadsPerBlock": "1024",
    "sharedMemPerBlock": "49152",
    "warpSize": "32",
}
_ATTRIBUTES = {
    f"cudaDevAttr{name}": value
    for name, value in (
        ("MaxThreadsPerMultiProcessor", _DEVICE["maxThreadsPerMultiProcessor"]),
        ("MultiProcessorCount", _DEVICE["multiProcessorCount"]),
        ("MaxThreadsPerBlock", _DEVICE["maxThreadsPerBlock"]),
        ("MaxSharedMemoryPerBlock", _DEVICE["sharedMemPerBlock"]),
        ("MaxSharedMemoryPerMultiprocessor", _DEVICE["sharedMemPerBlock"]),
        ("MaxSharedMemoryPerBlockOptin", _DEVICE["sharedMemPerBlock"]),
        ("WarpSize", _DEVICE["warpSize"]),
    )
}
_ATTRIBUTE = re.compile(r"\bcudaDeviceGetAttribute\s*\(\s*([^,]+),\s*(cudaDevAttr\w+)")
_MEMBER = re.compile(r"m_\w+|\w+_")  # of a class, as many write it
_OF_DEVICE = re.compile(rf"\b\w+(?:\.|->)({'|'.join(_DEVICE)})\b")
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(define|ifdef|ifndef|if|elif|else|endif)\b[ \t]*(\w*)")
_BY_COMPILER = ("__CUDACC__", "__NVCC__", "__cplusplus", "__linux__", "__GNUC__")
_QUALIFIED = re.compile(r"(?<![\w:])[A-Za-z_]\w*(?:::\w+)+")
_LONGEST = 2000
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")


@dataclass
class HostValues:
    """Numbers by name (`n`, `grid.x`), bytes by pointer; `roots` are literals' own variables.

    `starts` are the elements that pointers lead to which were set to `a + 4`.
    """

    numbers: dict[str, Number] = field(default_factory=dict)
    bytes_at: dict[str, int] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)
    roots: dict[str, Number] = field(default_factory=dict)
    formals: set[str] = field(default_factory=set)  # what the function is given
    types: dict[str, str] = field(default_factory=dict)
    members: dict[str, set[str]] = field(default_factory=dict)  # that are set, by structure
    fixed: Mapping[str, Number] = field(default_factory=dict)


def _waiting(outside: Sequence[Statement]) -> list[str]:
    """The sizes at namespace level that are 0 until the program knows them."""
    return [
        s.name
        for s in outside
        if isinstance(s, Setting)
        and s.expression.strip() == "0"
        and "const" not in s.type
        and _SIZE.fullmatch(s.name)
    ]


@dataclass(frozen=True)
class _Leading:
    """What is set before a launch: at namespace level, in callers, in the launching function.

    `members` are those of a class that its other methods set. `outer` are the whole numbers that
    nobody gives to the first caller, `formals` those that the launching function is given.
    """

    outside: tuple[Statement, ...]
    members: tuple[Statement, ...]
    outer: tuple[str, ...]
    callers: tuple[Statement, ...]
    formals: tuple[str, ...]
    inside: tuple[Statement, ...]


class HostProgram:
    """The text of a file for nvcc, ready to evaluate what leads to one of its launches."""

    def __init__(
        self,
        source: str,
        sizes: Mapping[str, int],
        defines: Mapping[str, str],
        launch: HostLaunch | None = None,
        *,
        through_callers: bool = True,
        of_classes: Mapping[str, Number] = _NOTHING,
    ) -> None:
        """`sizes` are bytes of types by name, beyond the built-in ones.

        `of_classes` are constants as `Traits::kThreads`.

        Of the macros that are numbers those lead to `launch` which its function names. The
        program's own `launch` lies in a text in which its callers' statements come before it,
        unless they are to be left out.
        """
        self.text = with_plain_declarations(with_kernel_macros(without_comments(source)))
        self._reached: Reached | None = None
        if launch is not None and through_callers:
            self._reached = reached(self.text, launch.position)
            self.text = self._reached.text
            launch = replace(launch, position=self._reached.position)
        self.launch = launch
        self._of_classes = of_classes
        self._sizes, self._defined = {**SIZES, **sizes}, defines.keys()
        self._macros = {
            **_macros(_taken(self.text, defines)),
            **{name: ((), v) for name, v in defines.items()},
        }
        self._macros |= _small_functions(self.text)
        self._macros |= {n: v for n, v in _enumerators(self.text) if n not in self._macros}
        start = self.function_start(launch.position) if launch is not None else 0
        said = self.text[start : launch.position + _LONGEST] if launch is not None else ""
        named = self.with_those_in_macros(re.findall(r"[A-Za-z_]\w*", said)) - defines.keys()
        self._numeric = tuple(
            Setting(name, self._macros[name][1], _OF_MACROS)
            for name in sorted(named & self._macros.keys())
            if not self._macros[name][0] and _is_whole(self._macros[name][1])
        )
        for setting in self._numeric:  # it may get another value, as a constant may
            del self._macros[setting.name]
        self._parsed: dict[str, Expression | None] = {}
        self._leading: dict[int, _Leading] = {}

    @property
    def has_callers(self) -> bool:
        """Whether the launching function is called, and what calls it counts."""
        return self._reached is not None and self._reached.lead > 0

    def before(
        self,
        launch: HostLaunch,
        given: Mapping[str, Number],
        fixed: Mapping[str, Number] = _NOTHING,
    ) -> HostValues:
        """The values when `launch` is reached.

        `given` replaces what variables are first set to, `fixed` whatever they are set to.
        """
        leading = self._leading_to(launch.position)
        fixed = {**self._of_classes, **fixed}
        found = HostValues(dict(fixed), fixed=fixed)
        self._run(leading.outside, given, found)
        self._given(_waiting(leading.outside), given, found)
        self._given(leading.outer, given, found)
        self._run(leading.callers, given, found)
        self._given([n for n in leading.formals if n not in found.numbers], given, found)
        self._run(leading.members, given, found)
        self._run(leading.inside, given, found)
        return found

    def _given(self, names: Sequence[str], given: Mapping[str, Number], found: HostValues) -> None:
        """Whole numbers that a function is given by nobody: widths before the pitches of rows."""
        for name in sorted(names, key=lambda n: _PITCH.search(n) is not None):
            if _PITCH.search(name) and _unknown(name) == _UNKNOWN:
                widths = (v for n, v in found.numbers.items() if n in found.formals)
                widest = max((_UNKNOWN, *widths))
                is_bytes = _OF_BYTES.search(name) is not None
                found.numbers[name] = _PIXEL * widest if is_bytes else max(4 * _UNKNOWN, widest)
                continue
            self._unknown(name, given, found)

    def numbers_after(self, text: str, numbers: Mapping[str, Number]) -> dict[str, Number]:
        """The numbers when a part of the text has run."""
        found = HostValues(dict(numbers))
        self._run(tuple(statements(text)), _NOTHING, found)
        return found.numbers

    def constants(self, launch: HostLaunch) -> Mapping[str, str]:
        """The constants at namespace level, which kernels see as the host does: their texts."""
        before = outside_functions(self.text[: self.function_start(launch.position)])
        return {
            s.name: s.expression
            for s in (*self._numeric, *statements(before))
            if isinstance(s, Setting)
            and re.match(r"(?:(?:static|inline)\s+)*const(?:expr)?\b", s.type)
        }

    @property
    def macros(self) -> Mapping[str, str]:
        """What macros without parameters stand for."""
        return {name: body for name, (formals, body) in self._macros.items() if not formals}

    def with_those_in_macros(self, names: Collection[str]) -> frozenset[str]:
        """Names, and those in what the macros among them stand for."""
        found = set(names)
        waiting = [name for name in names if name in self._macros]
        while waiting:
            more = set(re.findall(r"[A-Za-z_]\w*", self._macros[waiting.pop()][1])) - found
            found |= more
            waiting += [name for name in more if name in self._macros]
        return frozenset(found)

    def only_set(
        self, launch: HostLaunch, pointer: str, values: Mapping[str, Number]
    ) -> int | None:
        """The bytes that `cudaMemset` sets to 0, where nothing else before the launch fills them.

        None where something else may, or nothing is set.
        """
        before = self.text[self.function_start(launch.position) : launch.position]
        before = re.sub(r"[\w:]+\s*(?:<[^;{}]*>)?\s*$", "", before)
        found = None
        for statement in re.split(r"[;{}]", before):
            if not re.search(rf"\b{re.escape(pointer)}\b", statement):
                continue
            if filled := re.search(r"\bcudaMemset(?:Async)?\s*\((.*)", statement, re.DOTALL):
                parts = split_at_commas(filled[1][: closing(filled[1], 0)], ROUND)
                nbytes = self.value(parts[2], values) if len(parts) > 2 else None
                if nbytes is None or self.value(parts[1], values) != 0:
                    return None
                found = max(found or 0, int(nbytes))
            elif not (_ALLOCATED.search(statement) or _POINTER.match(statement)):
                return None
        return found

    def conditions(self, launch: HostLaunch) -> Iterator[tuple[str, int]]:
        """The variables that a launch is made for a value of: `if (size == 16)`, `case 16:`."""
        before = self.text[self.function_start(launch.position) : launch.position]
        before = re.sub(r"[\w:]+\s*(?:<[^;{}]*>)?\s*$", "", before)
        if asked := _ASKED_FOR.search(before):
            yield asked[1], int(asked[2])
        case, switches = _CASE.search(before), _SWITCH.findall(before)
        if case and switches:
            name, sign, number = switches[-1]
            by = max(int(number or 1), 1)
            yield name, int(case[1]) * by if sign != "*" else int(case[1]) // by

    def made_of(self, launch: HostLaunch, name: str) -> tuple[str, ...]:
        """The texts of x, y and z of `dim3(…)`, or of a variable that holds one; () for none."""
        leading = self._leading_to(launch.position)
        inside = (*leading.callers, *leading.inside)
        texts = [s.expression for s in inside if isinstance(s, Setting) and s.name == name]
        made = re.fullmatch(
            r"dim3\s*[({](.*)[)}]", (texts[-1] if texts else name).strip(), re.DOTALL
        )
        return tuple(split_at_commas(made[1], ROUND)) if made else ()

    def _leading_to(self, position: int) -> _Leading:
        """What comes before a launch, in the order in which it runs."""
        if position not in self._leading:
            start = self.function_start(position)
            there = self._reached or Reached(self.text, position)
            if position != there.position:  # of another launch
                there = Reached(self.text, position)
            own = start + there.lead
            self._leading[position] = _Leading(
                (*self._numeric, *self._outside(start, behind=bool(there.lead))),
                tuple(self._members(start, position)),
                there.formals,
                tuple(statements(self.text[start:own])),
                self._formals(start),
                tuple(statements(self.text[own:position])),
            )
        return self._leading[position]

    def _members(self, start: int, position: int) -> Iterator[Statement]:
        """What other methods set of the members that a launching function uses and does not set."""
        used = re.findall(r"[A-Za-z_]\w*", self.text[start : position + _LONGEST])
        inside = statements(self.text[start:position])
        names = {name for name in used if _MEMBER.fullmatch(name)}
        names -= {s.name for s in inside if isinstance(s, Setting)}
        for other in statements(self.text[:start], changes=True) if names else ():
            if not isinstance(other, Setting) or other.name not in names:
                continue
            if other.expression.strip() not in ("", "0"):  # which waits for its value
                yield other

    def _outside(self, start: int, *, behind: bool) -> Iterator[Statement]:
        """What is set at namespace level before the body that begins there, and `behind` it."""
        yield from statements(outside_functions(self.text[:start]))
        if behind:
            end = closing(self.text, start, "{}") + 1
            yield from statements(outside_functions(self.text[end:]))

    def value(self, expression: str, values: Mapping[str, Number]) -> Number | None:
        """The value of an expression, None where it cannot be told."""
        if expression not in self._parsed:
            is_short = len(expression) <= _LONGEST
            default = _ARGUMENT_OR.match(expression) if is_short else None
            if default:
                return self.value(default[1].rstrip(" )"), values)
            text = expression
            if is_short and "argv" in expression:
                text = _DEFAULT_OF.sub(r"(\1)", expression)
            text = _QUALIFIED.sub(self._of_class, text)
            text = self._without_sizeof(self._expand(text, _DEEPEST_CALL))
            text = _OF_DEVICE.sub(lambda found: _DEVICE[found[1]], text)
            self._parsed[expression] = parsed(text) if len(text) <= _LONGEST else None
        made = self._parsed[expression]
        if made is None:
            return None
        try:
            found = made(values)
        except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
            return None
        return found if abs(found) < 1 << 62 else None

    def _of_class(self, name: re.Match[str]) -> str:
        """The constant of a class as a number; its own name may mean something else here."""
        return str(self._of_classes.get(name[0], name[0]))

    def size3(self, expression: str, values: Mapping[str, Number]) -> tuple[int, int, int] | None:
        """A grid or block: a number, the name of a dim3, or `dim3(…)`."""
        made = re.fullmatch(r"dim3\s*[({](.*)[)}]", expression.strip(), re.DOTALL)
        if made:
            parts = [self.value(part, values) for part in split_at_commas(made[1], ROUND)]
        elif f"{expression.strip()}.x" in values:
            parts = [values.get(f"{expression.strip()}.{axis}", 1) for axis in _MEMBERS]
        else:
            parts = [self.value(expression, values)]
        if any(part is None or part < 1 for part in parts) or not parts:
            return None
        x, y, z = [*(int(part or 1) for part in parts), 1, 1][:3]
        return x, y, z

    def _formals(self, start: int) -> tuple[str, ...]:
        """The whole numbers among the parameters of the function whose body begins there."""
        header = re.search(r"\(([^(){};]*)\)[^(){};]*\{$", self.text[:start])
        formals = split_at_commas(header[1]) if header else []
        found = (re.fullmatch(_WHOLE, f.partition("=")[0].strip()) for f in formals)
        return tuple(match[1] for match in found if match and match[1] != "argc")

    def function_start(self, position: int) -> int:
        """Where the body of the function around a position begins, parameters included."""
        depth = 0
        for at in range(position - 1, -1, -1):
            depth += (self.text[at] == "}") - (self.text[at] == "{")
            if depth < 0:
                begin = 1 + max(self.text.rfind(mark, 0, at) for mark in ";{}")
                header = re.search(r"[\w>&*\s]+\([^;{}]*\)[^;{}()]*$", self.text[begin:at])
                word = re.search(r"(\w+)\s*\([^;{}]*$", header[0]) if header else None
                if header and word and word[1] not in ("for", "if", "while", "switch", "else"):
                    return at + 1
                depth = 0
        return 0

    def _unknown(self, name: str, given: Mapping[str, Number], found: HostValues) -> None:
        """A whole number that somebody else decides about."""
        found.roots[name] = given.get(_ANY) or _unknown(name)
        found.numbers[name] = found.fixed.get(name, given.get(name, found.roots[name]))
        found.formals.add(name)

    def _run(
        self, made: tuple[Statement, ...], given: Mapping[str, Number], found: HostValues
    ) -> None:
        for statement in made:
            if isinstance(statement, Setting):
                self._set(statement, given, found)
            elif isinstance(statement, Allocation):
                nbytes = self.value(statement.nbytes, found.numbers)
                if nbytes is not None:
                    found.bytes_at[statement.pointer] = int(nbytes)
            else:
                self._pitch(statement, found)

    def _set(self, to: Setting, given: Mapping[str, Number], found: HostValues) -> None:
        structure, _, member = to.name.partition(".")
        if member:
            found.members.setdefault(structure, set()).add(member)
        if to.type == "dim3" or re.match(r"dim3\s*[({]", to.expression):
            if size := self.size3(to.expression, found.numbers):
                names = (f"{to.name}.{axis}" for axis in _MEMBERS)
                found.numbers |= {
                    n: found.fixed.get(n, v) for n, v in zip(names, size, strict=True)
                }
            return
        if to.type:
            found.types[to.name] = to.type
        value = self.value(to.expression, found.numbers)
        if value is None:
            if _OF_TENSOR.fullmatch(to.expression.strip()) or (
                to.name not in found.numbers and _is_told_elsewhere(to)
            ):
                self._given([to.name], given, found)
            self._point(to, found)
            return  # what it was before, as where a program may read it from its command line
        kind = found.types.get(to.name, "")
        value = of_type(kind, value)
        if self._is_root(to.expression):
            found.roots[to.name] = value
            value = of_type(kind, given.get(to.name, value))
        found.numbers[to.name] = found.fixed.get(to.name, value)

    def _is_root(self, expression: str) -> bool:
        """Whether a variable set to that may as well have another value: it is made of literals.

        So may a power of two whose exponent is a variable. What follows from macros that are given
        follows.
        """
        if _POWER.fullmatch(expression.strip()):
            return True
        if self.value(expression, _NOTHING) is None:
            return False
        names = set(re.findall(r"[A-Za-z_]\w*", expression))
        literals = (int(text) for text in re.findall(r"(?<!\w)\d{1,9}(?!\w)", expression))
        return not names & self._defined or any(number >= _LEAST for number in literals)

    def _point(self, to: Setting, found: HostValues) -> None:
        """A pointer that is set to another, into what that points to, or to what is allocated."""
        if len(to.expression) > _LONGEST:
            return
        text = without_pointer_casts(to.expression).replace("->", ".").strip()
        while text[:1] == "(" and closing(text, 1) == len(text) - 1:
            text = text[1:-1].strip()
        if made := _ALLOCATOR.fullmatch(text):
            given = split_at_commas(made[3], ROUND)
            counts = [self.value(part, found.numbers) for part in given]
            if made[2] or "calloc" in made[1].lower():
                counts = [
                    *counts[: 1 if made[2] else 2],
                    self.value(f"sizeof({made[2] or 'char'})", {}),
                ]
            known = [int(count) for count in counts if count is not None]
            if known and len(known) == len(counts):
                found.bytes_at[to.name] = math.prod(known)
            return
        into = _INTO.fullmatch(text)
        of = (into[1] or into[3]) if into else ""
        if into is not None and text == of != to.name:  # of a structure each member
            self._copy(of, to.name, found)
        if into is None or of not in found.bytes_at or of == to.name:
            return
        offset = into[2] or into[4]
        start = self.value(offset, found.numbers) if offset else 0
        if start is not None:
            found.bytes_at[to.name] = found.bytes_at[of]
            found.starts[to.name] = found.starts.get(of, 0) + int(start)

    @staticmethod
    def _copy(of: str, to: str, found: HostValues) -> None:
        members = found.members.get(of, ())
        if not members or len(members) > _MOST_MEMBERS:
            return
        found.members[to] = set(members)
        for member in members:
            if (number := found.numbers.get(f"{of}.{member}")) is not None:
                found.numbers[f"{to}.{member}"] = number
            if (nbytes := found.bytes_at.get(f"{of}.{member}")) is not None:
                found.bytes_at[f"{to}.{member}"] = nbytes

    def _pitch(self, to: PitchedAllocation, found: HostValues) -> None:
        width, height = (self.value(text, found.numbers) for text in (to.width, to.height))
        if width is None or height is None:
            return
        pitch = -(-int(width) // 64) * 64
        found.numbers[to.pitch] = pitch
        found.bytes_at[to.pointer] = pitch * int(height)

    def _expand(self, text: str, depth: int) -> str:
        """`text` with macros and small functions replaced; longer than _LONGEST it is given up."""

        def plain(match: re.Match[str]) -> str:
            macro = self._macros.get(match[0])
            return macro[1] if macro and not macro[0] else match[0]

        made, at = text, 0
        while len(made) <= _LONGEST and (call := _CALL.search(made, at)):
            formals, body = self._macros.get(call[1], ((), ""))
            at = call.end()
            if formals:
                end = closing(made, at)
                values = dict(zip(formals, split_at_commas(made[at:end]), strict=False))
                whole = re.sub(r"\w+", lambda m, v=values: v.get(m[0], m[0]), body)  # type: ignore[misc]
                made, at = (
                    f"{made[: call.start()]}({whole}){made[end + 1 :]}",
                    call.start() + len(whole),
                )
        if len(made) <= _LONGEST:
            made = re.sub(r"[A-Za-z_]\w*", plain, made)
        deeper = made != text and depth and len(made) <= _LONGEST
        return self._expand(made, depth - 1) if deeper else made

    def _without_sizeof(self, text: str) -> str:
        def size(match: re.Match[str]) -> str:
            written = (match[1] or match[2]).replace("const ", "")
            name = without_spaces(" ".join(written.split()))
            plain = re.sub(r"^(?:\w*::)+", "", name.lstrip("* "))
            nbytes = 8 if name.endswith("*") else self._sizes.get(plain)
            if nbytes is None and "<" in plain:  # of a template that the kernel has one instance of
                base = plain.partition("<")[0] + "<"
                known = {v for n, v in self._sizes.items() if n.startswith(base)}
                nbytes = known.pop() if len(known) == 1 else None
            if nbytes is None and (bytes_of := self._bytes_of_variable(name)):
                return bytes_of
            return str(nbytes if nbytes is not None else _ELEMENT)

        return re.sub(r"\bsizeof\b\s*(?:\(([^()]*)\)|(\*?\s*\w+))", size, text)

    def _bytes_of_variable(self, written: str) -> str:
        """The size of `a`, `*a` or `a[0]`, an expression; "" where no declaration is read."""
        used = re.fullmatch(r"(\**)([A-Za-z_]\w*)((?:\[[^\[\]]*\])*)", written)
        if not used:
            return ""
        name, steps = used[2], len(used[1]) + used[3].count("[")
        declarator = re.compile(
            rf"\b{name}\b\s{{0,9}}(\)?)((?:\s{{0,9}}\[[^\[\]]*\])*)\s{{0,9}}[=;,)]"
        )
        end = self.launch.position if self.launch is not None else len(self.text)
        before = [*declarator.finditer(self.text, 0, end)]
        after = declarator.finditer(self.text, end)
        for found in islice(chain(reversed(before), after), _MOST_DECLARATORS):
            lead = self.text[max(0, found.start() - _MOST_STARS) : found.start()]
            lead = lead.replace(" ", "")
            is_of_arrays = bool(found[1]) and lead.endswith("(*")
            pointers = 0 if is_of_arrays else len(lead) - len(lead.rstrip("*"))
            nbytes = self._bytes_declared(
                self.text.rfind("(", 0, found.start()) if is_of_arrays else found.start()
            )
            if nbytes is None or (is_of_arrays and not found[2]):  # another `sizeof(*a)`
                continue
            extents = re.findall(r"\[([^\[\]]*)\]", found[2])
            if is_of_arrays:
                if not steps:
                    return "8"
                extents = extents[steps - 1 :]
            elif steps >= len(extents):
                is_pointer = steps - len(extents) < pointers
                return "8" if is_pointer else str(nbytes)
            else:
                extents, nbytes = extents[steps:], 8 if pointers else nbytes
            if all(extent.strip() for extent in extents):
                product = "".join(f" * ({extent})" for extent in extents)
                return self._expand(f"({nbytes}{product})", _DEEPEST_CALL)
        return ""

    def _bytes_declared(self, declarator: int) -> int | None:
        """Bytes of the type that a declarator has: a parameter's own, or that of its statement."""
        inside, comma, at = 0, 0, declarator - 1
        while at >= max(0, declarator - _LONGEST):
            mark = self.text[at]
            inside += (mark in ")]") - (mark in "([")
            if mark in ";{}" or inside < 0:
                break
            comma = comma or (at + 1 if mark == "," and not inside else 0)
            at -= 1
        for begin in (comma, at + 1) if comma else (at + 1,):
            kind = _OF_TYPE.match(self.text, begin)
            nbytes = self._sizes.get(" ".join(kind[1].split())) if kind else None
            if nbytes is not None:
                return nbytes
        return None


_MOST_DECLARATORS = 64  # of one name that are looked at
_MOST_STARS = 16  # characters before a name that may make it a pointer
_ELEMENT = 4  # bytes of what nothing is known of
_OF_TYPE = re.compile(
    r"\s*(?:(?:const|constexpr|static|extern|struct|register|volatile|std::)\s*)*"
    r"((?:(?:unsigned|signed|long|short)\s+)*[A-Za-z_]\w*)(?=[\s*(,])"
)
SIZES: Mapping[str, int] = {
    "char": 1,
    "bool": 1,
    "unsigned char": 1,
    "uint8_t": 1,
    "int8_t": 1,
    "uchar": 1,
    "short": 2,
    "unsigned short": 2,
    "half": 2,
    "__half": 2,
    "__nv_bfloat16": 2,
    "nv_bfloat16": 2,
    "uint16_t": 2,
    "int16_t": 2,
    "half2": 4,
    "__half2": 4,
    "int": 4,
    "unsigned": 4,
    "unsigned int": 4,
    "uint": 4,
    "float": 4,
    "uchar4": 4,
    "short2": 4,
    "int32_t": 4,
    "uint32_t": 4,
    "cuuint32_t": 4,
    "long": 8,
    "unsigned long": 8,
    "long long": 8,
    "unsigned long long": 8,
    "unsigned long long int": 8,
    "size_t": 8,
    "double": 8,
    "float2": 8,
    "int2": 8,
    "uint2": 8,
    "int64_t": 8,
    "uint64_t": 8,
    "cuuint64_t": 8,
    "CUtensorMap": 128,
    "cuComplex": 8,
    "cufftComplex": 8,
    "float3": 12,
    "int3": 12,
    "float4": 16,
    "int4": 16,
    "uint4": 16,
    "double2": 16,
    "cuDoubleComplex": 16,
}


def _is_told_elsewhere(to: Setting) -> bool:
    """Whether a whole number comes from the command line, from an object, or from a function."""
    if _OF_COMMAND_LINE.search(to.expression):
        return True
    whole = not re.search(r"\b(?:auto|float|double|bool|dim3)\b", to.type) and bool(to.type)
    return whole and _OF_OBJECT.fullmatch(to.expression.strip()) is not None


def _is_whole(text: str) -> bool:
    """Whether an expression of literals alone is a whole number that may be a size."""
    made = parsed(text) if re.match(r"[\d(]", text) else None
    try:
        value = made({}) if made is not None else None
    except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
        return False
    return isinstance(value, int) and value > 1


def _unknown(name: str) -> int:
    return next((n for pattern, n in _KNOWN_BY_NAME if pattern.fullmatch(name)), _UNKNOWN)


def _taken(text: str, defined: Collection[str]) -> str:
    """The text without the branches of `#ifdef NAME` and `#ifndef NAME` that are not taken.

    Other conditions are left: both their branches stay.
    """
    known, taken, stack = {*defined, *_BY_COMPILER}, [], list[bool | None]()
    for line in text.split("\n"):
        word = _DIRECTIVE.match(line)
        if word is None or word[1] == "define":
            if False not in stack:
                taken.append(line)
                known |= {word[2]} if word else set()
        elif word[1] in ("ifdef", "ifndef"):
            stack.append((word[2] in known) == (word[1] == "ifdef"))
        elif word[1] == "if":
            stack.append(None)
        elif word[1] == "endif":
            del stack[-1:]
        elif stack and stack[-1] is not None:
            stack[-1] = not stack[-1] if word[1] == "else" else None
    return "\n".join(taken)


def _macros(text: str) -> dict[str, tuple[tuple[str, ...], str]]:
    """(parameters, meaning) of the file's macros, where the meaning may be an expression."""
    found: dict[str, tuple[tuple[str, ...], str]] = {}
    pattern = r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)\n]*\))?[ \t]+([^\n]+?)[ \t]*$"
    for name, formals, body in re.findall(pattern, text, re.MULTILINE):
        if len(body) <= _LONGEST and not re.search(r"[;{}\"=]", body):
            names = tuple(split_at_commas(formals[1:-1])) if formals else ()
            found[name] = (names, f"({body})" if re.search(r"\W", body) else body)
    return found


def _enumerators(text: str) -> Iterator[tuple[str, tuple[tuple[str, ...], str]]]:
    """(parameters, meaning) of what `enum { N = 512, M };` names, each as an expression."""
    for inside in _ENUM.findall(text):
        first, behind = "0", 0
        for part in split_at_commas(inside):
            name, _, given = part.partition("=")
            first, behind = (given.strip(), 0) if given else (first, behind)
            if re.fullmatch(r"\w+", name.strip()) and len(first) <= _LONGEST:
                yield name.strip(), ((), f"({first} + {behind})")
            behind += 1


_ENUM = re.compile(
    r"\benum\b(?:\s+(?:class|struct)\b)?(?:\s+\w+)?\s*(?::\s*[\w: ]+?)?\s*\{([^{}]*)\}"
)


def _small_functions(text: str) -> dict[str, tuple[tuple[str, ...], str]]:
    """Functions of the host that are one expression, such as a division rounded up.

    A type that begins with a capital letter is one of the function's template, mostly.
    """
    pattern = (
        rf"\b(?:{TYPE}|[A-Z]\w*)\s+(\w+)\s*\(([^(){{}};]*)\)\s*\{{\s*return\s+([^;{{}}]+);\s*\}}"
    )
    found = {}
    for name, formals, body in re.findall(pattern, text):
        words = [re.findall(r"\w+", formal) for formal in split_at_commas(formals)]
        names = tuple(found_in[-1] for found_in in words if found_in)
        if names and len(names) == len(words) and name not in body and len(body) <= _LONGEST:
            grouped = re.sub(rf"\b({'|'.join(names)})\b", r"(\1)", body)
            found[name] = (names, grouped)
    return found
