"""A launch made ready: module decoded, variables placed, buffers filled, parameters laid out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from core.emulator.address_spaces import PARAMETER_WINDOW, GlobalMemory, Region, padded, zeros
from core.emulator.decode import decode
from core.emulator.geometry import GRID_WORKSPACE
from core.emulator.heap import HEAP_BYTES, HEAP_NAME, Heap
from core.emulator.program import FunctionCode
from core.errors import LaunchError, TilescopeError
from core.launch import (
    MAX_BLOCK,
    MAX_GRID,
    MAX_SHARED_BYTES,
    MAX_STATIC_SHARED,
    MAX_THREADS_PER_BLOCK,
    ArrayArgument,
    Dim3,
    Launch,
    grouped,
    packed,
)
from core.ptx.ast import Function, Module, Variable
from core.ptx.debug.mangled_names import source_name

_MOST_OF_CLUSTER = 16  # blocks, and that only where the host asks for more than the portable ones
_PORTABLE = 8  # blocks of a cluster (CUDA C++ Programming Guide, "Thread Block Clusters")
_CODE_WINDOW = 1 << 43  # addresses of functions, apart from those of data
_CODE_STEP = 16
_WORKSPACE_BYTES = 64
_PARAMETERS = 4096  # bytes: parameters lie so far apart that an index beyond one hits none
_BLOCKS = 128  # bytes, of which each block's shared memory begins at a multiple


class Image:
    """What a kernel sees when it starts. One image serves all the blocks of a launch."""

    def __init__(
        self,
        module: Module,
        kernel: str,
        launch: Launch,
        watched: Callable[[str], frozenset[str]] = lambda _: frozenset(),
    ) -> None:
        """`watched` names, for a function, the registers whose values are to be recorded.

        Raises `LaunchError` for a launch that CUDA would refuse, `UnsupportedPtx` for code that
        cannot be executed.
        """
        self.module, self.launch = module, launch
        self.function = module.entry(kernel)
        self.watched = watched
        self.memory = GlobalMemory()
        self.buffers: dict[str, Region] = {
            a.name: self.memory.allocate(a.name, a.data) for a in launch.arrays
        }
        self.textures = {
            region.base: a  # by handle
            for a, region in zip(launch.arrays, self.buffers.values(), strict=True)
            if a.texture is not None
        }
        self.shared_layout, static = _shared_layout(module, self.function)
        check_launch(launch, static)
        _check_bounds(self.function, launch.block)
        self.cluster = _cluster(self.function, launch)
        self.shared_bytes = static + launch.shared_bytes
        self.shared_stride = -(-max(self.shared_bytes, 1) // _BLOCKS) * _BLOCKS  # block to block
        self._addresses = self._place_variables()
        if any("%envreg1" in instruction.text for instruction in module.instructions):
            size = _WORKSPACE_BYTES
            workspace = Region("grid barrier", "global", GRID_WORKSPACE, size, zeros(size))
            self.memory.regions.append(workspace)
        self.parameters = self._parameters()
        self.heap: Heap | None = None  # there from the first `malloc` on
        self.printed_bytes = 0  # by printf so far
        self._code: dict[str, FunctionCode] = {}
        self._ways: dict[tuple[str, int, int], bool] = {}
        self.entry = self.code(self.function)

    def _place_variables(self) -> Mapping[str, int]:
        addresses = {name: offset for name, (offset, _) in self.shared_layout.items()}
        given = self._contents()
        constants = [v for v in self.module.variables.values() if v.space == "const"]
        begins, _ = _laid_out(self.module, constants)
        for variable in self.module.variables.values():
            if variable.space in ("global", "const"):
                plain = source_name(variable.name)
                raw = given.get(plain.rpartition("::")[2], variable.initial or b"")
                content = np.frombuffer(raw[: variable.nbytes], np.uint8)
                region = self.memory.allocate(
                    variable.name,
                    content,
                    variable.space,
                    variable.nbytes,
                    begins.get(variable.name),
                )
                addresses[variable.name] = region.base
        self._callable = [name for name in self.module.functions if name not in addresses]
        for number, name in enumerate(self._callable):
            addresses[name] = _CODE_WINDOW + _CODE_STEP * number
        self._relocate(addresses)
        return addresses

    def _relocate(self, addresses: Mapping[str, int]) -> None:
        """Fills in the addresses in initial values."""
        regions = {region.base: region for region in self.memory.regions}
        for variable in self.module.variables.values():
            for entry in variable.relocations:
                if entry.symbol not in addresses:
                    raise TilescopeError(
                        f"The variable {variable.name} holds the address of {entry.symbol}, "
                        "which is not in this module."
                    )
                value = (addresses[entry.symbol] + entry.addend) >> entry.shift
                raw = (value & ((1 << (8 * entry.nbytes)) - 1)).to_bytes(entry.nbytes, "little")
                data = regions[addresses[variable.name]].writable(np.dtype(np.uint8))
                data[entry.position : entry.position + entry.nbytes] = np.frombuffer(raw, np.uint8)

    def function_at(self, address: int) -> Function | None:
        """The function whose address this is."""
        number, rest = divmod(address - _CODE_WINDOW, _CODE_STEP)
        if rest or not 0 <= number < len(self._callable):
            return None
        return self.module.functions[self._callable[number]]

    def heap_made(self) -> Heap:
        """The device heap, made when it is first asked for."""
        if self.heap is None:
            nothing = np.zeros(0, np.uint8)
            self.heap = Heap(self.memory.allocate(HEAP_NAME, nothing, nbytes=HEAP_BYTES))
        return self.heap

    def _parameters(self) -> Mapping[str, bytes]:
        """The kernel's parameters as bytes, and a region for those whose address is taken."""
        formals, actuals = self.function.parameters, self.launch.parameters
        if len(formals) != len(actuals):
            raise LaunchError(
                f"The kernel {self.function.name} takes {len(formals)} arguments; "
                f"{len(actuals)} were given."
            )
        found: dict[str, bytes] = {}
        for formal, actual in zip(formals, actuals, strict=True):
            raw = packed(actual, self._address, stored=self._stored)
            if len(raw) != formal.nbytes:
                name = actual[0].member.parameter if actual[0].member else actual[0].name
                raise LaunchError(
                    f"Argument {name} has {len(raw)} bytes; the kernel's parameter has "
                    f"{formal.nbytes}."
                )
            found[formal.name] = raw
        at = 0  # within the window: a parameter's own address has 32 bits at most
        for name, raw in found.items():
            data = np.zeros(padded(len(raw)), np.uint8)
            data[: len(raw)] = np.frombuffer(raw, np.uint8)
            region = Region(name, "param", PARAMETER_WINDOW + at, len(raw), data)
            self._addresses = {**self._addresses, name: at}
            self.memory.regions.append(region)
            at += -(-len(raw) // _PARAMETERS) * _PARAMETERS + _PARAMETERS
        return found

    def _address(self, array: ArrayArgument) -> int:
        return self.buffers[array.name].base

    def _stored(self, name: str, raw: bytes) -> int:
        return self.memory.allocate(name, np.frombuffer(raw, np.uint8)).base

    def _contents(self) -> dict[str, bytes]:
        """What the launch puts into variables of the source, by name."""
        groups = grouped(self.launch.symbols)
        return {
            g[0].member.parameter: packed(g, self._address, stored=self._stored)
            for g in groups
            if g[0].member
        }

    def code(self, function: Function) -> FunctionCode:
        """The decoded function (decoded at its first use, or by an image before of the module)."""
        found = self._code.get(function.name)
        if found is None:
            key = function.name, self.watched(function.name)
            addresses, found = self.module.decoded.get(key, ({}, None))
            if found is None or addresses != self._addresses:
                found = decode(self.module, function, self._addresses, key[1])
                self.module.decoded[key] = self._addresses, found
            self._code[function.name] = found
        return found

    def code_at(self, pc: int) -> FunctionCode:
        """The code of the function that `pc` lies in."""
        return self.code(self.module.function_at(pc))

    def has_way(self, asked: Callable[[FunctionCode, int, int], bool], pc: int, to: int) -> bool:
        """What `must_pass` or `reaches` says of the ways between two pcs of a function."""
        key = asked.__name__, pc, to
        if key not in self._ways:
            code = self.code_at(pc)
            self._ways[key] = self.code_at(to) is code and asked(code, pc, to)
        return self._ways[key]

    def source_line(self, pc: int) -> int:
        """The line of the CUDA source that the instruction belongs to; 0 if it is a header's."""
        position = self.module.instructions[pc].position
        return position.line if position.file == self.module.source_file else 0


def _shared_layout(
    module: Module, function: Function
) -> tuple[dict[str, tuple[int, Variable]], int]:
    """Offset of each shared variable in the block's shared memory, and the static size.

    Dynamic shared memory (`extern __shared__`) starts after the static variables.
    """
    bodies = [
        v for f in module.functions.values() if f is function or not f.is_entry for v in f.variables
    ]
    variables = [v for v in (*module.variables.values(), *bodies) if v.space == "shared"]
    begins, size = _laid_out(module, [v for v in variables if v.nbytes])
    for variable in variables:
        if not variable.nbytes:  # the unsized come last, and begin at one place
            size = -(-size // variable.align) * variable.align
            begins[variable.name] = size
    return {v.name: (begins[v.name], v) for v in variables}, size


def _laid_out(module: Module, variables: Sequence[Variable]) -> tuple[dict[str, int], int]:
    """Where ptxas puts each variable of a memory, by name in bytes, and what all of them take.

    One after the other; in a `-G` build those of the widest alignment first, the last first among
    equals (symbols of cubins of ptxas 13).
    """
    if module.is_debug:
        variables = sorted(variables, key=lambda v: v.align)[::-1]
    begins, size = {}, 0
    for variable in variables:
        begins[variable.name] = -(-size // variable.align) * variable.align
        size = begins[variable.name] + variable.nbytes
    return begins, size


def check_launch(launch: Launch, static_shared: int) -> None:
    """Raises `LaunchError` where CUDA would refuse the launch."""
    for axis, size, limit in zip("xyz", launch.block, MAX_BLOCK, strict=True):
        if not 1 <= size <= limit:
            raise LaunchError(f"Block size {axis} is {size}; it must be from 1 to {limit}.")
    if launch.block.count > MAX_THREADS_PER_BLOCK:
        raise LaunchError(
            f"A block of {launch.block} has {launch.block.count} threads; CUDA allows at most "
            f"{MAX_THREADS_PER_BLOCK}. Take a smaller block or tile."
        )
    for axis, size, limit in zip("xyz", launch.grid, MAX_GRID, strict=True):
        if not 1 <= size <= limit:
            raise LaunchError(f"Grid size {axis} is {size}; it must be from 1 to {limit}.")
    if static_shared > MAX_STATIC_SHARED:
        raise LaunchError(
            f"The kernel's __shared__ arrays need {static_shared:,} bytes; static shared memory "
            f"is limited to {MAX_STATIC_SHARED:,} bytes a block. Take a smaller tile."
        )
    if static_shared + launch.shared_bytes > MAX_SHARED_BYTES:
        raise LaunchError(
            f"The block needs {static_shared + launch.shared_bytes:,} bytes of shared memory; "
            f"a block has at most {MAX_SHARED_BYTES:,}."
        )


def _check_bounds(function: Function, block: Dim3) -> None:
    """Raises `LaunchError` for a block that the kernel itself rules out."""
    name = source_name(function.name)
    if function.most_threads and block.count > math.prod(function.most_threads):
        raise LaunchError(
            f"A block of {block} has {block.count} threads; {name} allows "
            f"{math.prod(function.most_threads)} by its __launch_bounds__ (.maxntid), and a GPU "
            "refuses more: take a smaller block, or raise the bounds."
        )
    wanted = Dim3(*function.wanted_threads) if function.wanted_threads else block
    if wanted != block:
        raise LaunchError(
            f"A block is {block}; {name} wants {wanted} exactly by its __block_size__ (.reqntid), "
            "and a GPU refuses any other: take that block."
        )


def _cluster(function: Function, launch: Launch) -> Dim3:
    """The clusters that a launch has; raises `LaunchError` where CUDA would refuse them.

    CUDA Runtime API, cudaFuncAttributeNonPortableClusterSizeAllowed: without it a cluster has at
    most 8 blocks.
    """
    own = Dim3(*function.cluster) if function.cluster else None
    cluster = launch.cluster or own or Dim3(1)
    if own is not None and cluster != own:
        raise LaunchError(
            f"A cluster is {cluster} blocks; {source_name(function.name)} wants {own} exactly by "
            "its __cluster_dims__: take that, or none."
        )
    if cluster.count > _MOST_OF_CLUSTER:
        raise LaunchError(
            f"A cluster of {cluster} has {cluster.count} blocks; CUDA allows at most "
            f"{_MOST_OF_CLUSTER}."
        )
    if cluster.count > _PORTABLE and launch.is_portable:
        raise LaunchError(
            f"A cluster of {cluster} has {cluster.count} blocks; CUDA allows more than {_PORTABLE} "
            "only where the host code sets cudaFuncAttributeNonPortableClusterSizeAllowed, which "
            f"is not in it: set it, or take at most {_PORTABLE} blocks."
        )
    for axis, size, blocks in zip("xyz", cluster, launch.grid, strict=True):
        if size < 1:
            raise LaunchError(f"A cluster has {size} blocks in {axis}: it needs at least one.")
        if blocks % size:
            others = ", or other clusters" if own is None else ", as __cluster_dims__ asks for"
            raise LaunchError(
                f"Grid size {axis} is {blocks}, which is not a multiple of the {size} blocks that "
                f"a cluster has in {axis}: take {-(-blocks // size) * size}{others}."
            )
    return cluster
