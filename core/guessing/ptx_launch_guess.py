"""A launch of a kernel in a PTX file, guessed from what the kernel does.

PTX says nothing of sizes. So the kernel is run in the emulator with arrays that are far too large,
and how far it reaches is how large they must be. Blocks that touch nothing are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from core.compiler.kernel_parameters import KernelParameter
from core.emulator.address_spaces import SHARED_WINDOW
from core.emulator.events import AccessEvent, FaultEvent, Observer, TransferEvent
from core.emulator.geometry import Geometry
from core.emulator.launch_image import Image
from core.emulator.machine import Limits, Machine
from core.errors import ArgumentError, BudgetExceeded
from core.launch import (
    MAX_SHARED_BYTES,
    WARP,
    Argument,
    ArrayArgument,
    Dim3,
    Launch,
    Member,
    ScalarArgument,
)
from core.ptx.ast import Special, Vector
from core.ptx.parameter_uses import ParameterUse
from core.user_files.argument_texts import MAP_EXAMPLE, make_argument
from core.user_files.launch_texts import FileLaunch, cluster_of, dim3_text, parse_dim3
from core.user_files.ptx_files import (
    PtxFile,
    check_axes,
    is_ptx,
    kernels_of,
    parameter_for,
    read_ptx,
    spoken,
)
from core.wording import listing

_ROOM = 1 << 24  # bytes of each array of a trial
_LIMITS = Limits(instructions=400_000)
_TRIED = {
    0: (1, 1, 1),
    1: (16, 1, 1),
    2: (8, 8, 1),
    3: (4, 4, 4),
}  # blocks of a trial, by axes of the grid
_TRIED_AT_MOST = 64
_KEPT = {0: 1, 1: 4, 2: 2, 3: 1}  # along each axis, where all of them do something
_LONG, _ROW, _SIDE = 1008, 240, 128
"""Sizes: of an only one that bounds the grid, of one that does not, and where there are several.

Compilers vectorise for sizes that 16 divides; no power of two, so that masks have something to do.
"""
_FLOAT = "0.5"
_LENGTHS = {1: (1000,), 2: (64, 64), 3: (8, 16, 32), 4: (4, 8, 8, 16)}
"""Shapes of Numba's arrays, by axes; one of one axis beside others is as long as their sides."""
_BLOCKS = {0: (32, 1, 1), 1: (128, 1, 1), 2: (16, 16, 1), 3: (8, 8, 4)}


def complete_ptx(file: PtxFile, asked: FileLaunch) -> FileLaunch:
    """The launch asked for, with what it leaves empty guessed.

    Raises ArgumentError for a parameter that the kernel has not, and where the kernel does not end
    with what is guessed.
    """
    return _Guess(file, asked).launch()


@dataclass
class _Reach:
    """How far blocks reach into each array, in bytes (one a block, 0 for none), and into shared.

    `loads` and `stores` tell which blocks read from arrays, and which write.
    """

    ends: dict[str, NDArray[np.int64]]
    loads: NDArray[np.bool_]
    stores: NDArray[np.bool_]
    shared: int = 0
    is_lost: bool = False  # an access lay outside all arrays


@dataclass
class _Watch(Observer):
    """Observes a trial."""

    reach: _Reach
    threads: int
    blocks: int
    bases: Mapping[str, int]

    def on_access(self, event: AccessEvent) -> None:
        """Notes how far it goes."""
        name = event.region.name
        lanes = self.blocks * self.threads
        active = np.arange(lanes) if event.mask is None else np.flatnonzero(event.mask)
        if not len(active):
            return
        ends = np.broadcast_to(event.address, lanes)[active] + event.width
        if event.region.space == "shared":
            self.reach.shared = max(self.reach.shared, int(ends.max()) - SHARED_WINDOW)
        elif name in self.bases:
            blocks = active // self.threads
            np.maximum.at(self.reach.ends[name], blocks, ends - self.bases[name])
            (self.reach.loads if event.kind == "load" else self.reach.stores)[blocks] = True

    def on_transfer(self, event: TransferEvent) -> None:
        """Notes how far a bulk copy goes."""
        block = int(event.lanes[0]) // self.threads
        for blocks, spans in ((self.reach.loads, event.reads), (self.reach.stores, event.writes)):
            for span in spans:
                ends = self.reach.ends.get(span.region.name)
                if ends is not None and len(span.place):
                    ends[block] = max(ends[block], int(span.place.max()) + span.width)
                    blocks[block] = True

    def on_fault(self, event: FaultEvent) -> None:
        """Notes that sizes are not known."""
        self.reach.is_lost |= event.kind == "out_of_bounds"


@dataclass
class _Guess:
    file: PtxFile
    asked: FileLaunch
    given: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.given = {name: text for name, text in self.asked.arguments if text}
        names = [name for name, _ in self.file.arguments]
        for name in self.given:
            if name not in names:
                raise ArgumentError(
                    f"{self.asked.name} has no parameter {name}: it has "
                    f"{listing(names) if names else 'none'}."
                )
        for parameter in self.file.signature:
            if parameter.is_tensor_map and parameter.name not in self.given:
                raise ArgumentError(
                    f"{parameter.name} is a tensor map, which PTX says nothing of: add --arg "
                    f"{parameter.name}={MAP_EXAMPLE}, with its own array and box."
                )
        self.axes = _axes(self.file, "%ctaid", "%nctaid")
        functions = self.file.module.functions.values()
        self._entries = [f.name for f in functions if f.is_entry]
        self._parameters = dict(zip(names, self.file.signature, strict=True))
        self._kinds = dict(zip(names, self.file.numba, strict=False))

    def launch(self) -> FileLaunch:
        """The whole launch."""
        block = parse_dim3(self.asked.block, "block") if self.asked.block else self._block()
        is_known = self.asked.block or self.file.function.wanted_threads or self.file.threads
        shared = self.asked.shared or self._known_shared()
        integers = {n: use for n, use in self.file.arguments if use.use == "integer"}
        free = [name for name in integers if name not in self.given]
        several = sum(use.is_compared for use in integers.values()) > 1
        sizes = dict.fromkeys(free, _SIDE if several else _LONG)
        grid = parse_dim3(self.asked.grid, "grid") if self.asked.grid else None
        cluster = self.file.function.cluster
        tried = grid or Dim3(*_TRIED[self.axes]).in_clusters(cluster)
        if grid is None and tried.count > _TRIED_AT_MOST:
            tried = Dim3(*cluster)
        room = int(shared) if shared else MAX_SHARED_BYTES
        reach = self._try(tried, block, room, sizes, {})
        if reach.is_lost and not is_known and block.count > WARP:  # its shared arrays are smaller
            smaller = self._try(tried, Dim3(WARP), room, sizes, {})
            if not smaller.is_lost:
                block, reach = Dim3(WARP), smaller
        if grid is None:
            grid, is_bounded = self._grid(tried, reach)
            grid = grid.in_clusters(cluster)
            if not is_bounded and not several:
                sizes = dict.fromkeys(free, _ROW)
            reach = self._try(grid, block, room, sizes, {})
        held = {n: self._count(n, use, reach) for n, use in self.file.arguments if use.holds_index}
        if held:
            reach = self._try(grid, block, room, sizes, held)
        if not shared:
            shared = str(max(reach.shared - self._static_shared(), 0) if self._is_dynamic() else 0)
        return replace(
            self.asked,
            kernel=spoken(self.file.kernel, self._entries),
            grid=dim3_text(grid),
            block=dim3_text(block),
            shared=shared,
            arguments=tuple(self._texts(sizes, reach)),
        )

    # -- what stands in the file ---------------------------------------------------------------

    def _block(self) -> Dim3:
        function = self.file.function
        if function.wanted_threads:
            return Dim3(*function.wanted_threads)
        if self.file.threads:
            return Dim3(self.file.threads)
        usual = Dim3(*_BLOCKS[_axes(self.file, "%tid", "%ntid")])
        most = int(np.prod(function.most_threads)) if function.most_threads else usual.count
        return usual if usual.count <= most else Dim3(most)

    def _known_shared(self) -> str:
        if self.file.shared is not None:
            return str(self.file.shared)
        return "" if self._is_dynamic() else "0"

    def _is_dynamic(self) -> bool:
        """Whether the kernel has an array of shared memory without a size."""
        variables = (*self.file.module.variables.values(), *self.file.function.variables)
        return any(v.space == "shared" and not v.nbytes for v in variables)

    def _static_shared(self) -> int:
        variables = (*self.file.module.variables.values(), *self.file.function.variables)
        return sum(v.nbytes for v in variables if v.space == "shared")

    # -- trials --------------------------------------------------------------------------------

    def _try(
        self,
        grid: Dim3,
        block: Dim3,
        shared: int,
        sizes: Mapping[str, int],
        held: Mapping[str, int],
    ) -> _Reach:
        """Runs the kernel; `held` are arrays of indices, and how many there are to choose from."""
        if shared == MAX_SHARED_BYTES:
            shared -= -(-self._static_shared() // 128) * 128
        arguments = self._trial_arguments(sizes, held)
        launch = Launch(grid, block, arguments, shared, cluster=cluster_of(self.asked))
        image = Image(self.file.module, self.file.kernel, launch)
        blocks = np.arange(grid.count)
        if len(blocks) > _TRIED_AT_MOST:  # how far a kernel reaches, the ends of its grid tell
            half = _TRIED_AT_MOST // 2
            blocks = np.concatenate((blocks[:half], blocks[-half:]))
        bases = {a.name: image.buffers[a.name].base for a in launch.arrays}
        none = np.zeros(len(blocks), np.int64)
        reach = _Reach({name: none.copy() for name in bases}, none.astype(bool), none.astype(bool))
        watch = _Watch(reach, block.count, len(blocks), bases)
        try:
            Machine(
                image, Geometry(grid, block, blocks, image.cluster), (watch,), None, _LIMITS
            ).run()
        except BudgetExceeded:
            raise ArgumentError(
                f"{self.file.name} does not end soon with sizes that are guessed: give smaller "
                "ones with --grid and --arg."
            ) from None
        return reach

    def _trial_arguments(
        self, sizes: Mapping[str, int], held: Mapping[str, int]
    ) -> tuple[Argument, ...]:
        found: list[Argument] = []
        both = zip(self.file.arguments, self.file.signature, strict=True)
        for (name, use), parameter in both:
            text = self.given.get(name, "")
            wanted = parameter_for(parameter, text)
            if wanted.is_pointer and text.lower() != "null" and use.use == "pointer":
                found.append(ArrayArgument(name, _trial_array(use, held.get(name, 1)), "inout"))
            elif wanted.is_pointer:
                check_axes(parameter, self._kinds.get(name), 0)
                found.append(ScalarArgument(name, np.uint64(0)))
            else:
                usual = _FLOAT if use.use == "float" else str(sizes.get(name, 0))
                made = make_argument(wanted, text or usual, np.random.default_rng(0))
                if isinstance(made, ScalarArgument):
                    made = ScalarArgument(name, made.value)
                found.append(made)
        if self.file.numba:
            return self._numba_trial(found)
        return self.file.whole(
            [
                replace(a, member=Member(p.whole, p.offset, p.whole_bytes, p.whole_align))
                if p.whole
                else a
                for a, p in zip(found, self.file.signature, strict=True)
            ]
        )

    def _numba_trial(self, arguments: list[Argument]) -> tuple[Argument, ...]:
        """Arrays that say the shape that they will have, and have more room."""
        shaped: list[Argument] = []
        room: dict[str, ArrayArgument] = {}
        for argument, kind in zip(arguments, self.file.numba, strict=True):
            if isinstance(argument, ArrayArgument):
                room[argument.name] = argument
                blank = np.broadcast_to(np.zeros((), kind.dtype), self._shape(argument.name))
                shaped.append(ArrayArgument(argument.name, blank, "inout"))
            else:
                shaped.append(argument)
        return tuple(
            room.get(a.name, a) if isinstance(a, ArrayArgument) else a
            for a in self.file.whole(shaped)
        )

    def _shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array of Numba's: as it is given, or the usual one."""
        text = self.given.get(name, "")
        if "[" in text:
            sizes = text[text.index("[") + 1 :].rstrip("] ").split(",")
            if all(size.strip().isdigit() for size in sizes):
                check_axes(self._parameters[name], self._kinds[name], len(sizes))
                return tuple(int(size) for size in sizes)
        kinds = self._kinds
        most = max(kind.axes for kind in kinds.values())
        axes = kinds[name].axes
        return _LENGTHS[most][:1] if axes == 1 else _LENGTHS[min(axes, max(_LENGTHS))]

    def _grid(self, tried: Dim3, reach: _Reach) -> tuple[Dim3, bool]:
        """The blocks that do something, and whether the kernel's sizes bound them."""
        kinds = [busy for busy in (reach.loads, reach.stores) if busy.any()]
        sizes, is_bounded = [], False
        for axis, extent in enumerate(tried):
            others = tuple(a for a in range(3) if a != 2 - axis)
            along = [b.reshape(tried.z, tried.y, tried.x).any(axis=others) for b in kinds]
            last = min((int(np.flatnonzero(b).max()) + 1 for b in along), default=1)
            is_all = last == extent
            is_bounded |= not is_all and extent > 1
            sizes.append(min(last, _KEPT[self.axes]) if is_all else last)
        return Dim3(*sizes), is_bounded

    # -- the texts -----------------------------------------------------------------------------

    def _texts(self, sizes: Mapping[str, int], reach: _Reach) -> Iterator[tuple[str, str]]:
        for name, use in self.file.arguments:
            if name in self.given:
                yield name, self.given[name]
            elif use.use == "pointer":
                yield name, self._array(name, use, sizes, reach)
            elif use.use == "float":
                yield name, _FLOAT
            else:
                yield name, str(sizes.get(name, 0))

    def _array(self, name: str, use: ParameterUse, sizes: Mapping[str, int], reach: _Reach) -> str:
        count = self._count(name, use, reach)
        shape = str(count)
        if self.file.numba:
            said = self._shape(name)
            if count > np.prod(said) and len(said) == 1:
                said = (count,)
            shape = ",".join(map(str, said))
        elif len(sides := self._sides(sizes)) == 1:
            (side,) = sides
            if count > side and count % side == 0:
                shape = f"{count // side},{side}"
        fill = "index:" if use.holds_index else "" if use.is_read else "zeros:"
        return f"{fill}{self._element(name, use)}[{shape}]"

    def _sides(self, sizes: Mapping[str, int]) -> set[int]:
        """The sizes there are, given or guessed."""
        compared = [n for n, use in self.file.arguments if use.is_compared]
        texts = [str(sizes.get(name, self.given.get(name, ""))) for name in compared]
        return {int(text) for text in texts if text.isdecimal() and int(text) > 1}

    def _element(self, name: str, use: ParameterUse) -> str:
        if self.file.numba:
            return str(self._kinds[name].dtype)
        return use.element

    def _count(self, name: str, use: ParameterUse, reach: _Reach) -> int:
        """Elements that the kernel reaches."""
        nbytes = _itemsize(self._element(name, use))
        return (
            max(-(-int(reach.ends[name].max(initial=0)) // nbytes), 1) if name in reach.ends else 1
        )


def _itemsize(element: str) -> int:
    return 2 if element == "bfloat16" else np.dtype(element).itemsize


def _trial_array(use: ParameterUse, count: int) -> NDArray[np.generic]:
    """Zeros; or, of `count` indices, each once, the highest first."""
    raw = np.zeros(_ROOM, np.uint8)
    if use.holds_index and count > 1:
        raw.view(use.element)[:count] = np.arange(count)[::-1]
    return raw


def _axes(file: PtxFile, *names: str) -> int:
    """How many dimensions of special registers the kernel reads."""
    function, most = file.function, 0
    for instruction in file.module.instructions[function.first_pc : function.end_pc]:
        for operand in instruction.operands:
            for one in operand.elements if isinstance(operand, Vector) else (operand,):
                if isinstance(one, Special) and one.name[:-2] in names:
                    most = max(most, "xyz".index(one.name[-1]) + 1)
    return most


def opened_ptx(
    path: str, known: FileLaunch | None, kernel: str | None, text: str | None
) -> tuple[FileLaunch, tuple[str, ...], tuple[KernelParameter, ...]]:
    """A launch of a PTX file, its kernels' names, and the signature of the launched one.

    `known` is a launch to go on from, of which the kernel's own arguments are kept; without it one
    of `kernel` is guessed, or of the first. `text` stands in for the file's if it is PTX.
    """
    edited = text if text is not None and is_ptx(text) else None
    entries = kernels_of(path, edited)
    spoken_names = tuple(spoken(entry, entries) for entry in entries)
    wanted = kernel or (known.kernel if known is not None else "")
    file = read_ptx(path, wanted if wanted in spoken_names else spoken_names[0], edited)
    names = {name for name, _ in file.arguments}
    asked = known or FileLaunch(path, "", "", "", "")
    kept = tuple((n, v) for n, v in asked.arguments if n in names and wanted == asked.kernel)
    asked = replace(asked, arguments=kept) if kept else FileLaunch(path, "", "", "", "")
    return complete_ptx(file, asked), spoken_names, tuple(_with_types(file))


def _with_types(file: PtxFile) -> Iterator[KernelParameter]:
    """The signature with what pointers seem to lead to, so that a form need not repeat it."""
    for parameter, (_, use) in zip(file.signature, file.arguments, strict=True):
        is_plain = parameter.is_pointer and parameter.dtype is None and use.element != "bfloat16"
        dtype = np.dtype(use.element) if is_plain and use.element else parameter.dtype
        yield replace(parameter, dtype=dtype)


def followed_ptx(path: str, before: FileLaunch, after: FileLaunch, text: str | None) -> FileLaunch:
    """`after`, in which somebody changed an argument of `before`: what was guessed follows.

    Raises as `read_ptx` and `complete_ptx` do.
    """
    file = read_ptx(path, after.kernel, text if text is not None and is_ptx(text) else None)
    numbers = {parameter.name for parameter in file.signature if not parameter.is_pointer}
    said = tuple((name, text) for name, text in before.arguments if name in numbers)
    old = complete_ptx(file, replace(before, grid="", arguments=said))
    guessed = dict(old.arguments)
    kept = tuple((n, t) for n, t in after.arguments if n in numbers or t != guessed.get(n))
    grid = "" if after.grid == before.grid == old.grid else after.grid
    return complete_ptx(file, replace(after, grid=grid, arguments=kept))
