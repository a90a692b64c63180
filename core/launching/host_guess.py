"""A launch of a kernel as its own file's host code makes it, in small.

`main` says how a kernel is meant to be launched. Sizes are halved together until the launch is a
size to look at; what follows from them follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from core.cuda.instances import HostLaunch, host_launches, split_instance
from core.cuda.kernel_text import KernelText, kernels
from core.cuda.signature import SignatureParameter
from core.launching.host_expressions import Number
from core.launching.host_values import HostProgram, HostValues

_THREADS = {1: 256, 2: 1024, 3: 1024}  # to look at, by the dimensions of the block
_BLOCKS_AT_LEAST = 4
_AS_IT_IS = 4  # times as many blocks stay where no size can be halved
_ELEMENTS = 1 << 17
_ELEMENTS_OF_ONE = 1 << 12  # where the grid stays as it is
_LEAST = 32  # a smaller number is no size to halve
_MOST_HALVINGS = 24
_REPEATS = re.compile(
    r"(num_?|n_?|max_?)?(iter(ation)?s?|steps|samples|rounds|repeats?|trials|tries|per_?thread"
    r"|samples_?per_?thread)", re.IGNORECASE
)  # fmt: skip
_FEW_REPEATS = 16
_Size = tuple[int, int, int]
_NOTHING: Mapping[str, Number] = MappingProxyType({})


@dataclass(frozen=True)
class HostGuess:
    """Grid and block (x, y, z), bytes of dynamic shared memory, and what else is known.

    `scalars` are numbers by parameter, `nbytes` sizes of buffers, `nulls` pointers to nothing.
    """

    grid: _Size | None
    block: _Size
    shared: int
    scalars: Mapping[str, Number]
    nbytes: Mapping[str, int]
    nulls: frozenset[str]


def host_guess(
    source: str,
    kernel: str,
    signature: Sequence[SignatureParameter],
    defines: Mapping[str, str],
    type_sizes: Mapping[str, int],
    numbers: Mapping[str, Number] = _NOTHING,
) -> HostGuess | None:
    """What the file's first launch of `kernel` says; None where there is none, or it says nothing.

    `type_sizes` are bytes of the source's own types; `numbers` are given for parameters.
    """
    launch = _launch_of(source, kernel)
    if launch is None or len(launch.configuration) < 2:
        return None
    program = HostProgram(source, type_sizes, defines)
    plain = launch.name.rpartition("::")[2]
    declared = next((k for k in kernels(source) if k.name == plain), None)
    return _Small(program, launch, signature, declared, kernel, numbers).guess()


def _launch_of(source: str, kernel: str) -> HostLaunch | None:
    base, given = split_instance(kernel)
    plain = base.rpartition("::")[2]
    found = [x for x in host_launches(source) if x.name.rpartition("::")[2] == plain]
    exact = [x for x in found if x.template and x.template == given]
    return next(iter(exact or found), None)


class _Small:
    def __init__(
        self,
        program: HostProgram,
        launch: HostLaunch,
        signature: Sequence[SignatureParameter],
        kernel: KernelText | None,
        instance: str,
        numbers: Mapping[str, Number],
    ) -> None:
        self.program, self.launch = program, launch
        self.template = [p.name for p in kernel.template] if kernel else []
        self.instance = split_instance(instance)[1]
        self.parameters = [p for p in signature if not p.is_symbol]
        self.numbers = numbers
        self.fixed = dict(self._variables_of(numbers))

    def guess(self) -> HostGuess | None:
        values = self._before({})
        block = self._size(1, values)
        if block is None:
            return None
        given: dict[str, Number] = {}
        for number in (1024, 1 << 14):  # of what the function is given, if fewer make no grid
            if self._size(0, values) is not None:
                break
            values = self._before({"*": number})
        free = self._free_roots(values, block)
        for _ in range(_MOST_HALVINGS):
            chosen = self._to_halve(values, block, free)
            if not chosen:
                break
            given = {**{n: values.numbers[n] for n in free}, **self._halved(chosen, values)}
            values = self._before(given)
        grid = self._size(0, values)
        if not self.fixed:
            grid = self._cut(grid, block)
        shared = self._shared(values)
        if meant := self._instance_block(block):  # as in `case 512: reduce<512>`
            shared, block = shared * meant // block[0], (meant, 1, 1)
        return HostGuess(
            grid, block, shared, self._scalars(values),
            self._nbytes(values), self._nulls(),
        )  # fmt: skip

    def _variables_of(self, numbers: Mapping[str, Number]) -> Iterator[tuple[str, Number]]:
        """The host's variables that parameters get, with what is given for these."""
        texts = self._by_parameter()
        for parameter in self.parameters:
            whole = parameter.whole or parameter.name
            if parameter.name in numbers and whole in texts:
                text = texts[whole].replace("->", ".") + parameter.name.removeprefix(whole)
                if re.fullmatch(r"[A-Za-z_][\w.]*", text):
                    yield text, numbers[parameter.name]

    def _before(self, given: Mapping[str, Number]) -> HostValues:
        return self.program.before(self.launch, given, self.fixed)

    def _instance_block(self, block: _Size) -> int:
        """The block that an instance is made for where the host's variable says another."""
        for formal, text in zip(self.template, self.instance, strict=False):
            is_block = re.fullmatch(r"(n?threads|block_?(size|dim)?(_?x)?)", formal, re.IGNORECASE)
            if is_block and text.isdecimal() and block[1:] == (1, 1) and 0 < int(text) <= 1024:
                return int(text) if int(text) != block[0] else 0
        return 0

    def _halved(self, names: Sequence[str], values: HostValues) -> dict[str, Number]:
        return {name: int(values.numbers[name]) // 2 for name in names}

    def _to_halve(self, values: HostValues, block: _Size, free: Sequence[str]) -> list[str]:
        """The sizes to halve next; what has one value stays together, as M = N = K does."""
        large = {n: values.numbers[n] for n in free if values.numbers[n] >= _LEAST}
        grid = self._size(0, values)
        chosen: list[str] = []
        steers = False  # whether sizes that may be halved decide about the grid
        if grid is not None:
            chosen = [n for n in large if self._size(0, self._with_half(n, values, free)) != grid]
            steers = bool(chosen)
            if _count(grid) <= _blocks(block):
                chosen = []
        elements = max(self._nbytes(values).values(), default=0) // 4
        scalars = [v for v in self._scalars(values).values() if isinstance(v, int)]
        most = _ELEMENTS if steers else _ELEMENTS_OF_ONE
        if not chosen and (elements > most or (not steers and max(scalars, default=0) > most)):
            top = max(large.values(), default=0)
            chosen = [n for n, v in large.items() if v == top]
        same = {large[n] for n in chosen if n not in values.formals}
        return [
            n for n, v in large.items()
            if n in chosen or (v in same and n not in values.formals)
        ]  # fmt: skip

    def _with_half(self, name: str, values: HostValues, free: Sequence[str]) -> HostValues:
        given = {n: values.numbers[n] for n in free} | self._halved([name], values)
        return self._before(given)

    def _free_roots(self, values: HostValues, block: _Size) -> list[str]:
        """The variables that set sizes, but neither the block nor its shared memory."""
        free = []
        shared = self._shared(values)
        for name, number in values.roots.items():
            is_size = isinstance(number, int) and number >= _LEAST and name not in self.fixed
            if not is_size or _REPEATS.fullmatch(name):
                continue
            other = self._before({name: int(number) // 2})
            if self._size(1, other) == block and self._shared(other) == shared:
                free.append(name)
        return free

    def _size(self, position: int, values: HostValues) -> _Size | None:
        return self.program.size3(self.launch.configuration[position], values.numbers)

    def _shared(self, values: HostValues) -> int:
        if len(self.launch.configuration) < 3:
            return 0
        return int(self.program.value(self.launch.configuration[2], values.numbers) or 0)

    def _cut(self, grid: _Size | None, block: _Size) -> _Size | None:
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
        return dict(zip(wholes, self.launch.arguments, strict=False))

    def _scalars(self, values: HostValues) -> dict[str, Number]:
        texts, found = self._by_parameter(), {}
        for parameter in self.parameters:
            whole = parameter.whole or parameter.name
            if parameter.is_array or whole not in texts:
                continue
            text = texts[whole] + parameter.name.removeprefix(whole)
            value = self.program.value(text, values.numbers)
            if value is None:
                continue
            if _REPEATS.fullmatch(parameter.name.replace("-", "_")):
                value = min(value, _FEW_REPEATS)
            found[parameter.name] = value
        return {**found, **self.numbers}

    def _nbytes(self, values: HostValues) -> dict[str, int]:
        texts, found = self._by_parameter(), {}
        for parameter in self.parameters:
            whole = parameter.whole or parameter.name
            if parameter.is_pointer and whole in texts:
                name = re.sub(r"\([^()]*\*\s*\)|&", "", texts[whole]).strip()
                name += parameter.name.removeprefix(whole)
                nbytes = values.bytes_at.get(name)
                if nbytes:
                    found[parameter.name] = nbytes
        kinds: dict[str, int] = {}
        for parameter in self.parameters:
            kind = str(parameter.dtype)
            kinds[kind] = max(kinds.get(kind, 0), found.get(parameter.name, 0))
        for parameter in self.parameters:  # what the text does not show is as large as the others
            if parameter.is_pointer and kinds[str(parameter.dtype)]:
                found.setdefault(parameter.name, kinds[str(parameter.dtype)])
        return found

    def _nulls(self) -> frozenset[str]:
        """Pointers that are null beside others that are not: the kernel can do without them."""
        texts = self._by_parameter()
        pointers = [p.name for p in self.parameters if p.is_pointer and p.name in texts]
        nulls = {n for n in pointers if texts[n] in ("nullptr", "NULL", "0")}
        return frozenset(nulls if len(nulls) < len(pointers) else ())


def _count(size: _Size) -> int:
    return size[0] * size[1] * size[2]


def _blocks(block: _Size) -> int:
    """How many blocks of a size to look at there may be."""
    dimensions = 3 if block[2] > 1 else 2 if block[1] > 1 else 1
    return max(_BLOCKS_AT_LEAST, _THREADS[dimensions] // _count(block))
