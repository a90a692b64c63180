"""What is launched: grid, block and arguments, and the workload that a launch belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.tensor_maps import TensorMap

TextureMode = Literal["clamp", "wrap", "mirror", "border"]
Role = Literal["input", "output", "inout"]
# tf32: factors cut to 10 bits after the point; float16: factors of that type; sums in float32.
Arithmetic = Literal["float32", "tf32", "float16"]

_Index = TypeVar("_Index", int, NDArray[np.int64])


@dataclass(frozen=True)
class Dim3:
    """CUDA's `dim3`: a size or an index in x, y and z."""

    x: int
    y: int = 1
    z: int = 1

    def __iter__(self) -> Iterator[int]:
        return iter((self.x, self.y, self.z))

    @property
    def count(self) -> int:
        """x * y * z."""
        return self.x * self.y * self.z

    def at(self, linear: _Index) -> tuple[_Index, _Index, _Index]:
        """The index in x, y and z of a linear one, x fastest; of an array of them, arrays."""
        return linear % self.x, linear // self.x % self.y, linear // (self.x * self.y)

    def in_clusters(self, cluster: Sequence[int]) -> Dim3:
        """The smallest grid of whole clusters with these blocks; `cluster` has 0 to 3 sizes."""
        steps = (max(size, 1) for size in (*cluster, 1, 1, 1))
        pairs = zip(self, steps, strict=False)
        return Dim3(*(-(-blocks // step) * step for blocks, step in pairs))

    def __str__(self) -> str:
        return f"{self.x} x {self.y}" + (f" x {self.z}" if self.z != 1 else "")


# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" (5.0 to 12.x).
WARP = 32  # threads
POINTER_BYTES = 8  # of code with 64-bit addresses
MAX_THREADS_PER_BLOCK = 1024
MAX_BLOCK = Dim3(1024, 1024, 64)
MAX_GRID = Dim3(2**31 - 1, 65535, 65535)
MAX_STATIC_SHARED = 48 * 1024  # bytes of a block's shared arrays of a fixed size, on every GPU
MAX_SHARED_BYTES = 227 * 1024  # a block's shared memory on compute capability 9.0
MAX_ARRAY_BYTES = 4 * 10**9  # the arrays of one launch, on this machine


@dataclass(frozen=True)
class Member:
    """Where a value lies in a structure that is passed whole, or in a variable of the source.

    `parameter` is the structure's or variable's name, `offset` in bytes; `nbytes` and `align` are
    the whole's.
    """

    parameter: str
    offset: int
    nbytes: int
    align: int = 1


@dataclass(frozen=True)
class Texture:
    """How an array is read as a texture, or accessed as a surface, through a handle.

    The array's first `dimensions` axes are those of the texture, x last; one that follows holds the
    channels of a texel. `mode` says what lies beyond the edges, `is_normalized` that coordinates go
    from 0 to 1.
    """

    dimensions: int
    is_linear: bool = False
    mode: TextureMode = "clamp"
    is_normalized: bool = False


@dataclass(frozen=True)
class ArrayArgument:
    """A buffer in global memory that the kernel gets a pointer to.

    `data` is its content before the launch (any shape, row-major; made read-only). An "output" is
    poisoned by whoever makes it, so that an element the kernel forgets is seen. Of others the host
    has set the first `written` bytes (None: all). Instead of a pointer the kernel gets the tensor
    `map` of the buffer, a pointer to that (`map_is_stored`) in global memory, or a handle of its
    `texture`, where it has one; otherwise a pointer to element number `start`. With `pointers` it
    gets a pointer to as many pointers in global memory, each to its equal part of the buffer. What
    it holds is the user's own if it was given so, in a file or by a program (`is_own`).
    """

    name: str
    data: NDArray[Any]
    role: Role = "input"
    member: Member | None = None  # of the structure that holds the pointer
    written: int | None = None
    map: TensorMap | None = None
    texture: Texture | None = None
    start: int = 0
    map_is_stored: bool = False
    pointers: int = 0
    is_own: bool = False

    def __post_init__(self) -> None:
        data = np.ascontiguousarray(self.data)
        if data is self.data:
            data = data.view()
        data.flags.writeable = False
        object.__setattr__(self, "data", data)


@dataclass(frozen=True)
class ScalarArgument:
    """A scalar passed by value; `value` has the NumPy type of the kernel's parameter."""

    name: str
    value: np.generic
    member: Member | None = None


@dataclass(frozen=True)
class InlineArgument:
    """An array within a structure that is passed by value, or the content of a variable."""

    name: str
    value: NDArray[Any]
    member: Member


Argument = ArrayArgument | ScalarArgument | InlineArgument


@dataclass(frozen=True)
class Launch:
    """One kernel launch.

    `arguments` are in the order of the kernel's signature; the members of a structure stand side
    by side. `symbols` is what the host puts into `__constant__` and `__device__` variables.
    """

    grid: Dim3
    block: Dim3
    arguments: tuple[Argument, ...]
    shared_bytes: int = 0  # dynamic shared memory, the third number in <<<grid, block, shared>>>
    symbols: tuple[Argument, ...] = ()
    cluster: Dim3 | None = None  # blocks of a cluster, a launch attribute; None: as the kernel says
    is_portable: bool = False  # the host code does not allow clusters above the portable 8 blocks

    @property
    def arrays(self) -> tuple[ArrayArgument, ...]:
        """The buffers that pointers lead to, in order."""
        both = (*self.arguments, *self.symbols)
        return tuple(a for a in both if isinstance(a, ArrayArgument))

    @property
    def parameters(self) -> tuple[tuple[Argument, ...], ...]:
        """The arguments, those of one parameter of the kernel together."""
        return grouped(self.arguments)


def grouped(arguments: tuple[Argument, ...]) -> tuple[tuple[Argument, ...], ...]:
    """The members of each structure together, everything else by itself."""
    found: list[list[Argument]] = []
    for argument in arguments:
        whole = argument.member.parameter if argument.member else None
        before = found[-1][0].member if found else None
        if whole is not None and before is not None and before.parameter == whole:
            found[-1].append(argument)
        else:
            found.append([argument])
    return tuple(tuple(group) for group in found)


def packed(
    group: tuple[Argument, ...],
    address: Callable[[ArrayArgument], int],
    encoded: Callable[[TensorMap], bytes] = TensorMap.encoded,
    stored: Callable[[str, bytes], int] | None = None,
) -> bytes:
    """One parameter's bytes; `address` gives the pointer to a buffer, `encoded` those of a map.

    `stored` puts the bytes of a map, or a row of pointers, into memory under a name, and returns
    their address.
    """
    pieces = [(a.member, _bytes_of(a, address, encoded, stored)) for a in group]
    member = pieces[0][0]
    if member is None:
        return pieces[0][1]
    raw = bytearray(member.nbytes)
    for place, piece in pieces:
        assert place is not None
        raw[place.offset : place.offset + len(piece)] = piece
    return bytes(raw)


def _bytes_of(
    argument: Argument,
    address: Callable[[ArrayArgument], int],
    encoded: Callable[[TensorMap], bytes],
    stored: Callable[[str, bytes], int] | None,
) -> bytes:
    if isinstance(argument, ArrayArgument):
        if argument.map is not None:
            raw = encoded(argument.map.at(address(argument)))
            if not argument.map_is_stored:
                return raw
            assert stored is not None
            return stored("tensor map", raw).to_bytes(8, "little")
        if argument.pointers:
            assert stored is not None
            step = argument.data.nbytes // argument.pointers
            each = address(argument) + step * np.arange(argument.pointers, dtype=np.uint64)
            return stored(f"{argument.name} (pointers)", each.tobytes()).to_bytes(8, "little")
        place = address(argument) + argument.start * argument.data.dtype.itemsize
        return place.to_bytes(8, "little")
    return np.asarray(argument.value).tobytes()


@dataclass(frozen=True)
class MatrixLayout:
    """Which arrays are drawn as the matrices of C = A B: A left of C, B above it.

    For C = A Aᵀ `top` equals `left` and `top_transposed` is set.
    """

    left: str
    top: str
    result: str
    top_transposed: bool = False


@dataclass(frozen=True)
class Workload:
    """A kernel's source and one launch of it: what is traced, benchmarked and shown.

    `expected` computes each output's true value in float64, keyed by array name; `flops` counts a
    multiply-add as two. Both are None where nobody knows them (a user's own kernel). `nbytes` is
    what must be read and written at least, None where that is every array whole. `headers` are
    those that lie beside the source, by the names that it includes them by; `architecture` is the
    virtual one that it is compiled for where somebody chose it, such as compute_80. `ptx` is the
    code of a kernel that others compiled, "" where the source is to be.
    """

    title: str
    source: str
    source_name: str
    kernel: str
    launch: Launch
    defines: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    parameters: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    layout: MatrixLayout | None = None
    flops: int | None = None
    expected: Callable[[], Mapping[str, NDArray[np.float64]]] | None = None
    rung: str | None = None
    arithmetic: Arithmetic = "float32"
    nbytes: int | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    architecture: str = ""
    ptx: str = ""
