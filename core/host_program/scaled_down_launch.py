"""A launch of a kernel as the host's code makes it, in small.

`main` says how a kernel is meant to be launched. Sizes are halved together until the launch is a
size to look at; what follows from them follows.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from core.compiler.kernel_parameters import KernelParameter
from core.host_program.interpreter import LEAST, SIZES
from core.host_program.run_to_launch import HostProgram, HostValues, first_launch
from core.host_program.tensor_map_calls import as_argument, may_be_map
from core.host_program.variables_and_memory import own_name
from core.launch import MAX_BLOCK, MAX_SHARED_BYTES, MAX_THREADS_PER_BLOCK, WARP, Dim3
from core.source.c_numbers import Number
from core.source.index_expressions import divisors
from core.source.kernels_and_launches import HostLaunch, KernelText, kernel_called, split_instance
from core.source.template_instances import numbers_of_instance

_THREADS = {1: 256, 2: 1024, 3: 1024}  # to look at, by the dimensions of the block
_BLOCKS_AT_LEAST = 4
_AS_IT_IS = 4  # times as many blocks stay where no size can be halved
_ELEMENTS = 1 << 17
_ELEMENTS_OF_ONE = 1 << 12  # where the grid stays as it is
_MOST_OF_TILE = 1024  # elements that a block may have along an axis
_TILES_AT_LEAST = 2  # in one alone no turn of a loop over tiles meets the next
_MOST_HALVINGS = 24
_POWERS = (1, 2, 3)  # of a size that an array grows with
_MOST_SCALINGS = 3
_REPEATS = re.compile(
    r"(num_?|n_?|max_?)?(iter(ation)?s?|steps|samples|rounds|repeats?|trials|tries|per_?thread"
    r"|samples_?per_?thread)",
    re.IGNORECASE,
)
_MOST_ATTRIBUTES = 8  # of a launch that are looked at
_FEW_REPEATS = 16
_PARTS = (2, 3, 5, 7)
_FEW = 12  # unknown numbers are tried one by one
_OF_HARDWARE = re.compile(r"WARP|LANE|THREADS|TILE|BINS?$|BLOCK_?(?:SIZE|DIM)")  # as macros name it
_OWN_ARRAY = re.compile(  # `__shared__ float a[2][TILE], b[TILE]`, up to its initialiser
    r"(?:^|[;{}])\s*((?!return\b|else\b|case\b)[A-Za-z_][\w:<>, ]*[\s*]\w+\s*\[[^;={}]*)"
)
_ALIGNED = re.compile(r"\b(?:alignas|__align__)\s*\((?:[^()]|\([^()]*\))*\)")
_LOCAL_CONSTANT = re.compile(r"\b(?:const|constexpr)\b[^;={}()]*?(\w+)\s*=([^;{}]*);")
_TEMPLATE_ARGUMENTS = re.compile(r"\w<([^<>;(){}&|?]*)>")
_NULL = re.compile(r"(?:\([\w:\s]+\*\s*\)\s*)?(?:nullptr|NULL|0)")  # `(float *)NULL` as well
Size = tuple[int, int, int]
FILLED: Mapping[int, str] = {0: "zeros", 0xFF: "ff"}
"""What an array holds of which every byte is set to one value."""


@dataclass(frozen=True)
class HostGuess:
    """Grid and block (x, y, z), bytes of dynamic shared memory, and what else is known.

    `scalars` are numbers by parameter, `nbytes` sizes of buffers, `nulls` pointers to nothing.
    `said` are the buffers whose size the text shows; others are taken to be as large. Of the
    buffers in `written` the host sets no more than so many bytes. `constants` are those of kernel
    and host that are smaller here than in the source. `assumed` are the scalars that rest on what
    the launching function is given, which nothing says. `starts` are the elements that pointers
    lead to where the host passes `a + 4`. `maps` are the texts of tensor maps by parameter.
    `halved` are the scalars that are smaller than the host's. `cluster` is the launch's attribute.
    `fills` say what arrays hold of which the host sets every byte to one value. `row_nbytes` are
    sizes of the arrays that the pointers in a buffer lead to. `uncut` is the grid that goes with
    the sizes, where `grid` is a part of it, and `own` the grid of the host's own sizes, if these
    are known.
    """

    grid: Size | None
    block: Size
    shared: int
    scalars: Mapping[str, Number]
    nbytes: Mapping[str, int]
    nulls: frozenset[str]
    said: frozenset[str] = frozenset()
    written: Mapping[str, int] = field(default_factory=dict)
    constants: Mapping[str, int] = field(default_factory=dict)
    assumed: frozenset[str] = frozenset()
    starts: Mapping[str, int] = field(default_factory=dict)
    maps: Mapping[str, str] = field(default_factory=dict)
    halved: frozenset[str] = frozenset()
    cluster: Size | None = None
    fills: Mapping[str, str] = field(default_factory=dict)
    row_nbytes: Mapping[str, int] = field(default_factory=dict)
    uncut: Size | None = None
    own: Size | None = None

    @property
    def is_likely(self) -> bool:
        """Whether there is a grid, and no number that rests on unknown ones is 0 or less."""
        return self.grid is not None and all(self.scalars[name] > 0 for name in self.assumed)


@dataclass(frozen=True)
class Given:
    """What is given of a launch: numbers and bytes of arrays by parameter, grid and block.

    `of_classes` are the constants of classes that it names, such as `Traits::kThreads`.
    """

    numbers: Mapping[str, Number] = field(default_factory=dict)
    nbytes: Mapping[str, int] = field(default_factory=dict)
    grid: Size | None = None
    block: Size | None = None
    of_classes: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True)
class KernelInHost:
    """A kernel and the text that launches it, of which the first launch counts.

    `type_sizes` are bytes of the source's own types.
    """

    source: str
    kernel: str
    signature: Sequence[KernelParameter]
    defines: Mapping[str, str]
    type_sizes: Mapping[str, int]
    given: Given

    def guess(self) -> HostGuess | None:
        """What the launch says; None where there is none, or it says nothing.

        None, too, where nothing that is given makes its block one that CUDA allows.
        """
        small = self._small()
        found = small.guess() if small is not None else None
        if small is None or not small.program.has_callers or (found and found.is_likely):
            return found
        alone = self._small(through_callers=False)
        return (alone.guess() if alone is not None else None) or found

    def grid(self) -> Size | None:
        """The launch's grid as the host's code makes it, never smaller.

        None where there is none, or something decides about it that nobody says.
        """
        small = self._small()
        return small.grid_said() if small is not None else None

    def _small(self, *, through_callers: bool = True) -> _Small | None:
        launch = first_launch(self.source, self.kernel)
        if launch is None or len(launch.configuration) < 2:
            return None
        declared = kernel_called(self.source, self.kernel)
        own = _sizes_of_template(declared, split_instance(self.kernel)[1])
        program = HostProgram(
            self.source,
            {**self.type_sizes, **own},
            self.defines,
            launch,
            through_callers=through_callers,
            of_classes=self.given.of_classes,
        )
        return _Small(self, program, launch, declared)


def _sizes_of_template(kernel: KernelText | None, given: Sequence[str]) -> dict[str, int]:
    """Bytes of the types that a kernel's template parameters are: the host calls them the same."""
    pairs = zip(kernel.template if kernel else (), given, strict=False)
    return {p.name: SIZES[text] for p, text in pairs if p.kind == "type" and text in SIZES}


def null_arguments(
    source: str, kernel: str, signature: Sequence[KernelParameter]
) -> frozenset[str]:
    """The pointers that the file's first launch of `kernel` sets to null beside others."""
    launch = first_launch(source, kernel)
    wholes = list(dict.fromkeys(p.whole or p.name for p in signature if not p.is_symbol))
    texts = dict(zip(wholes, launch.arguments, strict=False)) if launch is not None else {}
    return _null(signature, texts)


def _null(parameters: Sequence[KernelParameter], texts: Mapping[str, str]) -> frozenset[str]:
    """Pointers that are null where others are not: the kernel can do without them."""
    pointers = [p.name for p in parameters if p.is_pointer and p.name in texts]
    nulls = {n for n in pointers if _NULL.fullmatch(texts[n].strip())}
    return frozenset(nulls if len(nulls) < len(pointers) else ())


class _Small:
    def __init__(
        self,
        asked: KernelInHost,
        program: HostProgram,
        launch: HostLaunch,
        kernel: KernelText | None,
    ) -> None:
        self.asked, self.program, self.launch, self._kernel = asked, program, launch, kernel
        self.given = given = asked.given
        self.template = [p.name for p in kernel.template] if kernel else []
        self.defaults = kernel.defaults if kernel else {}
        self.instance = split_instance(asked.kernel)[1]
        self.parameters = [p for p in asked.signature if not p.is_symbol]
        self.symbols = [p.name for p in asked.signature if p.is_symbol and not p.is_pointer]
        self.numbers = given.numbers
        self.divisors: Mapping[str, int] = {}  # of sizes: one that is halved stays a multiple
        self._unknown: dict[str, Number] = {}  # what the function is given, where that must be less
        self.device = device = kernel.body if kernel else ""
        constants = program.constants
        names = {re.findall(r"\w+", p)[-1:][0] for p in (kernel.parameters if kernel else ()) if p}
        used = program.with_those_in_macros({*re.findall(r"\w+", device)} - names)
        self.constants = constants.keys() & used
        self.tiles = _tiles(device, {**program.macros, **constants})
        self.fixed = {
            **dict(program.conditions()),
            **dict(self._variables_of_block()),
            **dict(self._variables_of_instance()),
            **dict(self._variables_of(given.numbers)),
        }
        self.fixed = {**self._fixed_roots(), **self.fixed}

    def guess(self) -> HostGuess | None:
        values = self._before({})
        own = self._legal_block(values)
        values = self._before({}) if self._unknown else values
        block = self.given.block or own
        if own is None or block is None:
            return None
        if not self.given.block and (meant := self._instance_block(own)):
            given_block = replace(self.given, block=(meant, 1, 1))  # as in `case 512: reduce<512>`
            again = replace(self.asked, given=given_block)
            return _Small(again, self.program, self.launch, self._kernel).guess()
        given: dict[str, Number] = {}
        values = self._with_a_grid(values)
        free = self._free_roots(values, own)
        self.divisors = self._divisors(values)
        values = self._with_whole_tiles(values)
        if self.given.grid or self.given.nbytes:
            values = self._scaled(values, free)
        else:
            for _ in range(_MOST_HALVINGS):
                chosen = self._to_halve(values, block, free)
                if not chosen:
                    break
                halves = {n: self._part(n, v) for n, v in _of(values, chosen).items()}
                half = self._before(of_half := _of(values, free) | halves)
                if self._in_clusters(values) and not self._in_clusters(half):
                    break  # a grid that is made whole again would be too large for its arrays
                given, values = of_half, half
            values = self._whole_again(values, given)
        if not self.given.grid and not self.given.nbytes:
            values = self._filled(values)
        own = self._legal_block(values) or own  # fewer elements may have fewer threads
        block = self.given.block or own
        grid = self._size(0, values)
        if grid is not None and not self.given.grid and own != block:
            grid = _as_many_threads(grid, own, block)
        cluster, uncut = self._cluster(values), grid
        if not self.numbers and not self.given.grid and not self.given.nbytes:
            grid = self._cut(grid, block)
        if grid is not None and cluster is not None:
            whole = Dim3(*grid).in_clusters(cluster)  # what was halved or cut need not be
            grid = whole.x, whole.y, whole.z
        shared = self._shared(values) * _count(block) // _count(own)
        loose, unsaid = self._loose(values), self._assumed(values) & {*self.symbols}
        return HostGuess(
            grid=self.given.grid or grid,
            block=block,
            shared=min(shared, MAX_SHARED_BYTES),
            scalars={n: v for n, v in self._scalars(values).items() if n not in unsaid},
            nbytes={n: v for n, v in self._nbytes(values).items() if n not in loose},
            nulls=_null(self.parameters, self._by_parameter()),
            said=self._said(values) - loose,
            written={name: n for name, n, to, size in self._set(values) if to == 0 <= n < size},
            constants={
                n: int(v)
                for n, v in values.numbers.items()
                if n in self.constants - self.fixed.keys() and v != values.roots.get(n, v)
            },
            assumed=self._assumed(values) - unsaid,
            starts=dict(self._starts(values)),
            maps=self._maps(values),
            halved=self._shrunk(values),
            cluster=cluster,
            fills={
                n: FILLED[to] for n, k, to, size in self._set(values) if k >= size and to in FILLED
            },
            row_nbytes=self._row_nbytes(values),
            uncut=uncut if _is_part(grid, uncut) else None,
            own=self.grid_said(),
        )

    def grid_said(self) -> Size | None:
        """The grid before any size is halved; None where it rests on what nobody says.

        Nor is it the host's where a block or an array is given that is not the host's.
        """
        values = self._before({})
        grid, allocated = self._size(0, values), self._allocated(values)
        is_other = self.given.block not in (None, self._size(1, values))
        is_other |= any(allocated.get(n, size) != size for n, size in self.given.nbytes.items())
        return None if is_other or self._size(0, self._of_twice(values)) != grid else grid

    def _with_a_grid(self, values: HostValues) -> HostValues:
        """The values with more of what the function is given, where fewer make no grid."""
        numbers = (1024, 1 << 14)
        for given in (
            {},
            *({name: number} for name in sorted(values.formals)[:_FEW] for number in numbers),
            *({"*": number} for number in numbers),
        ):
            found = self._before(given) if given else values
            if self._size(0, found) is not None:
                return found
        return values

    def _in_clusters(self, values: HostValues) -> bool:
        """Whether the grid is one of whole clusters."""
        grid, cluster = self._size(0, values), self._cluster(values)
        whole = Dim3(*grid) if grid is not None else None
        return whole is not None and whole == whole.in_clusters(cluster or ())

    def _cluster(self, values: HostValues) -> Size | None:
        """The cluster among the launch's attributes (`cudaLaunchAttributeClusterDimension`)."""
        attributes = self.launch.attributes
        texts = (f"{attributes}[{at}].val.clusterDim" for at in range(_MOST_ATTRIBUTES))
        found = (values.size3(text) for text in texts if attributes)
        return next((size for size in found if size not in (None, (1, 1, 1))), None)

    def _maps(self, values: HostValues) -> Mapping[str, str]:
        found = {p.name: values.tensor_map(t) for p, t in self._texts() if may_be_map(p)}
        syntax = self.program.syntax
        return {n: as_argument(t, n, self.device, syntax) for n, t in found.items() if t}

    def _texts(self) -> Iterator[tuple[KernelParameter, str]]:
        """The host's expression for each parameter, members of what it passes included."""
        texts = self._by_parameter()
        for parameter in self.parameters:
            whole = parameter.whole or parameter.name
            if texts.get(whole, "").strip():
                yield parameter, _member_of(texts[whole], parameter.name.removeprefix(whole))

    def _starts(self, values: HostValues) -> Iterator[tuple[str, int]]:
        """The elements that pointers lead to, beyond the first."""
        for parameter, text in self._texts():
            found = values.pointer(text) if parameter.is_pointer else None
            if found is not None and 0 < found[1] < _ELEMENTS:
                yield parameter.name, found[1]

    def _assumed(self, values: HostValues) -> frozenset[str]:
        """The scalars that change with what the launching function is given."""
        now, then = self._scalars(values), self._scalars(self._of_twice(values))
        return frozenset(n for n, v in now.items() if v != then.get(n)) - self.numbers.keys()

    def _shrunk(self, values: HostValues) -> frozenset[str]:
        """The scalars that are smaller than the host's."""
        now, first = self._scalars(values), self._scalars(self._before({}))
        return frozenset(n for n, v in now.items() if v < first.get(n, v))

    def _loose(self, values: HostValues) -> frozenset[str]:
        """The buffers that what the function is given decides, but neither numbers nor the grid.

        The kernel cannot know their size, so it is large enough.
        """
        then = self._of_twice(values)
        if self._assumed(values) or self._size(0, values) != self._size(0, then):
            return frozenset()
        now, more = self._nbytes(values), self._nbytes(then)
        return frozenset(name for name in now if now.get(name) != more.get(name))

    def _said(self, values: HostValues) -> frozenset[str]:
        """The buffers whose allocation the text shows, as far as the kernel is told of it."""
        shown, first = frozenset(self._allocated(values)), self._before({})
        rows = self._row_nbytes(values)
        shown -= {p.name for p in self.parameters if p.leads_to_pointers and p.name not in rows}
        is_told = self._scalars(values) != self._scalars(first)
        if not is_told and self._size(0, values) == self._size(0, first):
            large = self._nbytes(first)  # what was halved is no size that the kernel knows of
            shown -= {n for n, v in self._nbytes(values).items() if v != large.get(n, v)}
        return shown

    def _of_twice(self, values: HostValues) -> HostValues:
        """The values where twice as much of everything is given to the launching function."""
        formals = values.formals - self.fixed.keys()
        return self._before(
            {n: 2 * int(v) if n in formals else v for n, v in values.numbers.items()}
        )

    def _filled(self, values: HostValues) -> HostValues:
        """The values with which what the function is given fills the last block of its axis.

        The host divides it by a tile and rounds up; a kernel without a check needs whole tiles. One
        that compares with the number gets one warp less, so that threads lie beyond it.
        """
        for name in sorted(values.formals - self.fixed.keys()):
            others = {n: v for n, v in values.numbers.items() if n in values.formals}
            now = int(others.get(name, 0))  # another choice may not need it
            for times in (1, 2, 4, 8) if now else ():
                here, more = (
                    self._before({**others, name: now * times + further}) for further in (0, 1)
                )
                if self._size(0, here) != self._size(0, more):
                    values = here
                    less = self._before({**others, name: now * times - WARP})
                    if self._is_checked(here, more) and self._size(0, less) == self._size(0, here):
                        values = less
                    break
        return values

    def _whole_again(self, values: HostValues, given: Mapping[str, Number]) -> HostValues:
        """The values where a number that fills its blocks in the program fills them, halved, too.

        `(n + 63) / 64` blocks of 5,376 are full, of 84 they are not: a kernel without a check needs
        128 then.
        """
        first, found = self._before({}), dict(given)
        for name in given.keys() - values.formals:
            before, now = int(first.numbers.get(name, 0)), int(found[name])
            more = self._before({name: before + 1})
            counts = [_count(self._size(0, one) or (0, 0, 0)) for one in (first, more)]
            is_full = counts[1] > counts[0] > 0
            if before <= now or not is_full or self._is_checked(first, more):
                continue
            size = self._size(0, self._before(found))
            low, high = now, min(before, now + _MOST_OF_TILE)
            while low < high:  # the last number with as many blocks
                middle = (low + high + 1) // 2
                if self._size(0, self._before({**found, name: middle})) == size:
                    low = middle
                else:
                    high = middle - 1
            if low < before:
                found[name] = low
        return self._before(found) if found != given else values

    def _is_checked(self, now: HostValues, more: HostValues) -> bool:
        """Whether the kernel compares a number that is larger in `more`, other than in a loop."""
        then = self._scalars(more)
        larger = (n for n, v in self._scalars(now).items() if then.get(n) == v + 1)
        return any(self._is_compared(n) for n in larger)

    def _is_compared(self, name: str) -> bool:
        """Whether the kernel compares a number, other than in a loop."""
        body = re.sub(r"\bfor\s*\([^;{}]*;[^;{}]*;", "", self.device)
        return re.search(rf"[<>]=?\s*{name}\b|\b{name}\s*[<>]=?", body) is not None

    def _legal_block(self, values: HostValues) -> Size | None:
        """The host's block; one that CUDA refuses gets smaller where what it rests on is free."""
        block = self._size(1, values)
        while block is not None and not is_legal_block(block):
            formals = [n for n in sorted(values.formals) if int(values.numbers.get(n, 0)) > 1]
            smaller = None
            for name in formals:
                other = self._before({**self._unknown, name: int(values.numbers[name]) // 2})
                size = self._size(1, other)
                if size is not None and _count(size) < _count(block):
                    self._unknown[name] = int(values.numbers[name]) // 2
                    smaller, values = size, other
                    break
            block = smaller
        return block

    def _scaled(self, values: HostValues, free: Sequence[str]) -> HostValues:
        """The values with which the grid, or an array, is as large as it is given."""

        def ratios(found: HostValues) -> list[float]:
            """How much larger each is wanted than it is, as powers of two."""
            grid, allocated = self._size(0, found) or (1, 1, 1), self._allocated(found)
            pairs = [*zip(grid, self.given.grid, strict=True)] if self.given.grid else []
            pairs += [(allocated.get(n, wanted), wanted) for n, wanted in self.given.nbytes.items()]
            return [math.log2(max(wanted, 1) / max(is_, 1)) for is_, wanted in pairs]

        def distance(found: HostValues) -> float:
            return sum(map(abs, ratios(found)))

        best = values
        for _ in range(_MOST_SCALINGS):
            before = best
            for name in free:
                now = _of(best, free)
                same = [n for n, v in now.items() if v == now.get(name) and n not in values.formals]
                steps = {ratio / power for ratio in ratios(best) for power in _POWERS}
                steps = {step for step in steps if 0 < abs(step) <= _MOST_HALVINGS}
                others = (
                    now | {n: max(1, round(now[n] * 2**step)) for n in together if n in now}
                    for together in ([name], same)
                    for step in sorted(steps)
                )
                best = min([best, *map(self._before, others)], key=distance)
            if best is before:
                break
        return best

    def _variables_of(self, numbers: Mapping[str, Number]) -> Iterator[tuple[str, Number]]:
        """The host's variables that parameters get, with what is given for these."""
        for parameter, text in self._texts():
            path = text.replace("->", ".")
            if parameter.name in numbers and re.fullmatch(r"[A-Za-z_][\w.]*", path):
                yield path, numbers[parameter.name]

    def _fixed_roots(self) -> Mapping[str, Number]:
        """What variables must be from which others take the values that these are given."""
        free = self.program.before({})
        found: dict[str, Number] = {}
        for name, wanted in self.fixed.items():
            value = free.numbers.get(name)
            for root, number in free.roots.items():
                if number != value or root in self.fixed or number == wanted or number < LEAST:
                    continue
                other = self.program.before({root: 2 * number})
                if other.numbers.get(name) == 2 * number:
                    found[root] = max(found.get(root, wanted), wanted)
        return found

    def _variables_of_block(self) -> Iterator[tuple[str, Number]]:
        """The host's variables that a given block is made of."""
        if self.given.block is None:
            return
        text = self.launch.configuration[1].strip()
        parts = [text, *self.program.made_of(text)]
        for name, extent in zip(parts[1:], self.given.block, strict=False):
            if re.fullmatch(r"[A-Za-z_]\w*", name) and parts[1:].count(name) == 1:
                yield name, extent
        if re.fullmatch(r"[A-Za-z_]\w*", text):
            yield text, self.given.block[0]
            for axis, extent in zip("xyz", self.given.block, strict=True):
                yield f"{text}.{axis}", extent

    def _variables_of_instance(self) -> Iterator[tuple[str, Number]]:
        """The host's variables that the launch's template arguments are, as the instance has it."""
        for name, text in zip(self.launch.template, self.instance, strict=False):
            if re.fullmatch(r"[A-Za-z_]\w*", name) and text.isdecimal():
                yield name, int(text)

    def _before(self, given: Mapping[str, Number]) -> HostValues:
        return self.program.before({**self._unknown, **given}, self.fixed)

    def _instance_block(self, block: Size) -> int:
        """The block that an instance is made for where the host's variable says another."""
        for formal, text in zip(self.template, self.instance, strict=False):
            is_block = re.fullmatch(r"(n?threads|block_?(size|dim)?(_?x)?)", formal, re.IGNORECASE)
            if is_block and text.isdecimal() and block[1:] == (1, 1) and 0 < int(text) <= 1024:
                return int(text) if int(text) != block[0] else 0
        return 0

    def _to_halve(self, values: HostValues, block: Size, free: Sequence[str]) -> list[str]:
        """The sizes to halve next; what has one value stays together, as M = N = K does."""
        large = {n: v for n, v in _of(values, free).items() if v >= LEAST}

        def deciding(result: Callable[[HostValues], object]) -> list[str]:
            """The sizes that a result changes with."""
            now = result(values)
            return _acting(
                [*large], lambda names: result(self._with_less(names, values, free)) != now
            )

        grid = self._size(0, values)
        steering = deciding(lambda found: self._size(0, found)) if grid is not None else []
        parted = deciding(lambda found: not self._is_whole(values, found))
        large = {n: v for n, v in large.items() if n not in parted}
        chosen: list[str] = []
        if grid is not None and _count(grid) > _blocks(block):
            chosen = [n for n in steering if n in large]
        if not chosen:
            most = _ELEMENTS if steering else _ELEMENTS_OF_ONE

            def beyond(found: HostValues) -> list[int]:
                """How large arrays are, and numbers where none decides about the grid."""
                sizes = [nbytes // 4 for nbytes in self._nbytes(found).values()]
                numbers = [] if steering else self._scalars(found).values()
                sizes += [number for number in numbers if isinstance(number, int)]
                return [max(size, most) for size in sizes]

            chosen = deciding(beyond)
            top = max((large[n] for n in chosen), default=0)
            chosen = [n for n in chosen if large[n] == top]
        same = {large[n] for n in chosen if n not in values.formals}
        alone = values.formals | self.constants  # the kernel may use another of the same value
        return [n for n, v in large.items() if n in chosen or (v in same and n not in alone)]

    def _is_whole(self, now: HostValues, half: HostValues) -> bool:
        """Whether host and kernel can divide half of a size as they divide all of it.

        Neither does what they make of it fall to 0, as `width - filter + 1` may, or the grid.
        """
        if self._size(0, now) is not None and self._size(0, half) is None:
            return False
        left = self._scalars(half)
        if any(value > 0 >= left.get(name, 1) for name, value in self._scalars(now).items()):
            return False
        for name, divisor in self.divisors.items():
            whole, less = (int(values.value(name) or 0) for values in (now, half))
            is_less = less < _TILES_AT_LEAST * divisor
            if whole != less and (is_less or (whole % divisor == 0 and less % divisor)):
                return False
        return True

    def _divisors(self, values: HostValues) -> Mapping[str, int]:
        """What sizes are divided by, `n / TILE`, in the launching function and in the kernel.

        Steps of loops over them are such tiles, too.
        """
        texts = self._by_parameter()
        names = {n: t.strip() for n, t in texts.items() if re.fullmatch(r"\w+", t.strip())}
        body = re.sub(r"[A-Za-z_]\w*", lambda m: names.get(m[0], m[0]), self.device)
        bound = numbers_of_instance(self.template, self.instance)
        host = "\n".join((self.program.launching_text, *self.launch.configuration))
        return divisors(f"{host}\n{body}", lambda name: bound.get(name, values.value(name)))

    def _with_whole_tiles(self, values: HostValues) -> HostValues:
        """The values where no number that the function is given is less than its tiles."""
        formals = _of(values, values.formals - self.fixed.keys())
        larger = {n: _TILES_AT_LEAST * self.divisors.get(n, 0) for n in formals}
        larger = {n: by for n, by in larger.items() if formals[n] < by}
        return self._before({**formals, **larger}) if larger else values

    def _with_less(
        self, names: Sequence[str], values: HostValues, free: Sequence[str]
    ) -> HostValues:
        found = zip(_of(values, names).items(), itertools.cycle(_PARTS), strict=False)
        less = {name: self._part(name, number, part) for (name, number), part in found}
        return self._before(_of(values, free) | less)

    def _part(self, name: str, number: Number, part: int = 2) -> int:
        """A part of a size: of one that is whole tiles some of these, if that leaves enough."""
        less, tile = int(number) // part, self.divisors.get(name, 1)
        is_tiled = number % tile == 0 and less >= _TILES_AT_LEAST * tile
        return less - less % tile if is_tiled else less

    def _free_roots(self, values: HostValues, block: Size) -> list[str]:
        """The variables that set sizes, but neither the block, its shared memory nor a tile.

        A tile is what makes more blocks where it is smaller, as the BM of `M / BM` does.
        """
        found: list[str] = []
        for name, number in values.roots.items():
            is_size = isinstance(number, int) and number >= LEAST and name not in self.fixed
            own = own_name(name)
            if is_size and not _REPEATS.fullmatch(own) and not _OF_HARDWARE.search(own):
                found += [name] if name not in self.tiles else []
        shared, template = self._shared(values), self._template({})

        def less(names: Sequence[str]) -> Mapping[str, Number]:
            parts = zip(names, itertools.cycle(_PARTS), strict=False)
            return {name: int(values.roots[name]) // part for name, part in parts}

        def is_another(names: Sequence[str]) -> bool:
            given = less(names)
            return self._size(1, self._before(given)) != block or self._template(given) != template

        def blocks(given: Mapping[str, Number]) -> int:
            return _count(self._size(0, self._before(given)) or (1, 1, 1))

        most = blocks({})
        bound = {*_acting(found, is_another)}
        bound |= {name for name in found if blocks(less([name])) > most}
        found = [name for name in found if name not in bound]
        kept = _acting(found, lambda names: self._shared(self._before(less(names))) != shared)
        alone = values.formals | self.constants
        same = {values.roots[name] for name in kept if name not in alone}  # as lda and n
        return [n for n in found if n not in kept and (n in alone or values.roots[n] not in same)]

    def _template(self, given: Mapping[str, Number]) -> list[Number | None]:
        """The numbers among the launch's template arguments: another one is another kernel."""
        if not self.launch.template:
            return []
        values = self.program.before(given)
        return [values.value(text) for text in self.launch.template]

    def _size(self, position: int, values: HostValues) -> Size | None:
        return values.size3(self.launch.configuration[position])

    def _shared(self, values: HostValues) -> int:
        if len(self.launch.configuration) < 3:
            return 0
        return int(values.value(self.launch.configuration[2]) or 0)

    def _cut(self, grid: Size | None, block: Size) -> Size | None:
        """The grid, or the part of it that is a size to look at."""
        if grid is None:
            return None
        sizes = list(grid)
        while sizes[0] * sizes[1] * sizes[2] > _AS_IT_IS * _blocks(block):
            largest = max(range(3), key=lambda axis: sizes[axis])
            sizes[largest] = -(-sizes[largest] // 2)
        return sizes[0], sizes[1], sizes[2]

    def _by_parameter(self) -> Mapping[str, str]:
        """The expression that each parameter gets, by the parameter's own name."""
        wholes = list(dict.fromkeys(p.whole or p.name for p in self.parameters))
        given = dict(zip(wholes, self.launch.arguments, strict=False))
        return {**{n: v for n, v in self.defaults.items() if n in wholes}, **given}

    def _scalars(self, values: HostValues) -> dict[str, Number]:
        found: dict[str, Number] = {}
        for parameter, text in self._texts():
            value = None if parameter.is_array else values.value(text)
            if value is None:
                continue
            name = parameter.name
            is_size = name.endswith("samples") and self._is_compared(name)
            if _REPEATS.fullmatch(name.replace("-", "_")) and not is_size:
                value = min(value, _FEW_REPEATS)
            found[parameter.name] = value
        symbols = {name: values.symbols[name] for name in self.symbols if name in values.symbols}
        return {**found, **symbols, **self.numbers}

    def _allocated(self, values: HostValues) -> dict[str, int]:
        """Bytes of the arrays whose allocation the text shows."""
        pointers = ((p.name, values.pointer(text)) for p, text in self._texts() if p.is_pointer)
        return {name: found[0] for name, found in pointers if found is not None and found[0] > 0}

    def _nbytes(self, values: HostValues) -> dict[str, int]:
        found = self._allocated(values)
        kinds: dict[str, int] = {}
        alike = [p for p in self.parameters if not p.leads_to_pointers]
        for parameter in alike:
            kind, nbytes = str(parameter.dtype), found.get(parameter.name, 0)
            is_one = parameter.dtype is not None and nbytes <= _bytes_of(parameter)
            known = 0 if is_one else nbytes  # a counter says nothing of the others
            kinds[kind] = max(kinds.get(kind, 0), known)
        for parameter in alike:  # what the text does not show is as large as the others
            if parameter.is_pointer and kinds[str(parameter.dtype)]:
                found.setdefault(parameter.name, kinds[str(parameter.dtype)])
        return found

    def _row_nbytes(self, values: HostValues) -> dict[str, int]:
        """Bytes of the array that the first of a row of pointers leads to."""
        rows = ((p.name, t) for p, t in self._texts() if p.leads_to_pointers)
        found = ((name, values.pointer(f"({text})[0]")) for name, text in rows)
        return {name: first[0] for name, first in found if first is not None and first[0] > 0}

    def _set(self, values: HostValues) -> Iterator[tuple[str, int, int, int]]:
        """The buffers of which the host sets every byte alike: how many, to what, their size."""
        allocated = self._allocated(values)
        for parameter, text in self._texts():
            name = parameter.name
            if name in allocated and (found := values.only_set(text)):
                yield name, *found, allocated[name]


def _acting(names: Sequence[str], changes: Callable[[Sequence[str]], bool]) -> list[str]:
    """The names that change something; of several that change nothing together none does."""
    if not names or not changes(names):
        return []
    half = len(names) // 2
    if not half:
        return [*names]
    return [*_acting(names[:half], changes), *_acting(names[half:], changes)]


def _of(values: HostValues, names: Iterable[str]) -> dict[str, Number]:
    """The numbers of those names that there are: what decides may leave others out."""
    return {name: values.numbers[name] for name in names if name in values.numbers}


def _member_of(text: str, member: str) -> str:
    """`(a).n` for the member `.n` of what a launch passes."""
    return f"({text}){member}" if member and not re.fullmatch(r"[\w.]+", text) else text + member


def _tiles(body: str, constants: Mapping[str, str]) -> frozenset[str]:
    """The constants that a kernel's own arrays and template arguments are made of.

    With another value it is another kernel: threads and tiles fit no more.
    """
    meanings = {**constants, **dict(_LOCAL_CONSTANT.findall(body))}
    body = _ALIGNED.sub(" ", body)
    texts = [m[1] for m in _OWN_ARRAY.finditer(body)] + _TEMPLATE_ARGUMENTS.findall(body)
    found: set[str] = set()
    while texts:
        names = meanings.keys() & set(re.findall(r"[A-Za-z_]\w*", texts.pop())) - found
        found |= names
        texts += [meanings[name] for name in names]
    return frozenset(found & constants.keys())


def is_legal_block(block: Sequence[int]) -> bool:
    """Whether CUDA allows a block of these extents."""
    x, y, z = [*block, 1, 1][:3]
    most = MAX_BLOCK
    return x <= most.x and y <= most.y and z <= most.z and x * y * z <= MAX_THREADS_PER_BLOCK


def _as_many_threads(grid: Size, old: Size, new: Size) -> Size:
    """The grid of another block's threads; where blocks do not come by threads it stays."""
    x, y, z = (-(-g * a // b) for g, a, b in zip(grid, old, new, strict=True))
    return x, y, z


def _is_part(grid: Size | None, whole: Size | None) -> bool:
    return grid is not None and whole is not None and _count(grid) < _count(whole)


def _bytes_of(parameter: KernelParameter) -> int:
    return parameter.dtype.itemsize * parameter.lanes if parameter.dtype is not None else 0


def _count(size: Size) -> int:
    return size[0] * size[1] * size[2]


def _blocks(block: Size) -> int:
    """How many blocks of a size to look at there may be."""
    dimensions = 3 if block[2] > 1 else 2 if block[1] > 1 else 1
    return max(_BLOCKS_AT_LEAST, _THREADS[dimensions] // _count(block))
