"""Texture fetches and surface accesses: the values that they give, not the sectors that they take.

The rules are the CUDA C++ Programming Guide's ("Texture Fetching"): which texel a coordinate names,
what lies beyond the edges, and a linear filter whose weights have 8 bits of fraction. How weights
and sums of bytes are rounded follows an H200. Instructions are `tex`, `tld4`, `suld.b` and `sust.b`
(PTX ISA, "Texture Instructions", "Surface Instructions") on textures of one level of detail.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.address_spaces import Region
from core.emulator.events import Ints
from core.emulator.machine_state import Lanes
from core.emulator.operands import OperandDecoder
from core.emulator.program import Op, Reader
from core.errors import TilescopeError
from core.launch import Texture
from core.ptx.arithmetic.operation import types_of, unsupported
from core.ptx.ast import Address, Instruction, Operand, elements
from core.ptx.types import TYPES, PtxType

_AXES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2}
_LAYERED = ("a1d", "a2d")
_CHANNELS = "rgba"
_STEPS = 256  # of a filter's weight
_UNORM16 = 65535  # steps from 0 to 1 of what a filter makes of bytes
_FOOTPRINT = ((1, 0), (1, 1), (0, 1), (0, 0))  # (row, column): counter-clockwise from lower left
_FAR = 2.0**40  # a coordinate beyond it has no texel of its own
_S32, _U32 = TYPES["s32"], TYPES["u32"]


@dataclass(frozen=True)
class _Tap:
    """A texel's number along one axis, its weight in 256ths, and whether it lies inside."""

    index: Ints
    weight: Ints
    inside: NDArray[np.bool_]


@dataclass(frozen=True)
class _Texels:
    """A texture of a launch: the bytes it lies in, how it is read, its extents, x last."""

    region: Region
    texture: Texture
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def extents(self) -> tuple[int, ...]:
        """Texels along each dimension, x last; layers stand first."""
        return self.shape[: self.texture.dimensions]

    @property
    def channels(self) -> int:
        """Numbers in one texel."""
        return math.prod(self.shape[self.texture.dimensions :])

    def taps(self, at: Sequence[NDArray[Any]], *, is_linear: bool) -> list[list[_Tap]]:
        """The texels that coordinates name, `at` x first: along each axis one or two, x last."""
        found = []
        for c, n in zip(reversed(at), self.extents[-len(at) :], strict=True):
            if c.dtype.kind == "f":
                found.append(_taps(self.texture, c.astype(np.float64), n, is_linear=is_linear))
            else:  # of `tex1Dfetch`: beyond the end it gives 0
                index = c.astype(np.int64)
                found.append([_Tap(index, np.full_like(index, _STEPS), _is_within(index, n))])
        return found

    def at(self, taps: Sequence[_Tap], layer: Ints | None) -> NDArray[Any]:
        """Texels as numbers of their own type, (lanes, channels); 0 for those not inside."""
        index = [tap.index for tap in taps]
        if layer is not None:
            index.insert(0, layer)
        rows = self.region.view(self.dtype)[: math.prod(self.shape)].reshape(-1, self.channels)
        place = np.zeros_like(index[0])
        for extent, i in zip(self.extents, index, strict=True):
            place = place * extent + np.clip(i, 0, extent - 1)
        inside = np.logical_and.reduce([tap.inside for tap in taps])
        return np.where(inside[:, None], rows[place], self.dtype.type(0))


def _is_within(index: Ints, n: int) -> NDArray[np.bool_]:
    return (index >= 0) & (index < n)


def _sampled(
    texels: _Texels, coordinates: Sequence[NDArray[np.float32]], layer: Ints | None
) -> NDArray[np.float64]:
    """Floats of a fetch, shape (lanes, channels); `coordinates` are x first."""
    along = texels.taps(coordinates, is_linear=texels.texture.is_linear)
    total = np.zeros((len(coordinates[0]), texels.channels))
    for taps, weight in zip(itertools.product(*along), _weights(along), strict=True):
        total += weight[:, None] / _STEPS * _as_floats(texels.at(taps, layer))
    if texels.texture.is_linear and texels.dtype == np.uint8:  # as measured on an H200
        sums = np.rint(total * 255 * _STEPS).astype(np.int64)
        total = (sums + ((sums + 128) >> 8)) / _UNORM16
    return total


def _weights(along: Sequence[Sequence[_Tap]]) -> list[Ints]:
    """The weights of all combinations of taps, in 256ths, the last axis fastest.

    Products of weights are rounded to a 256th, half up, but for the first: it has what is left, so
    that the sum stays 256 (as measured on an H200, in two dimensions).
    """
    found = [np.full_like(along[0][0].weight, _STEPS)]
    for taps in along:
        if len(taps) == 1:
            continue
        share = taps[1].weight
        second = [np.floor(w * share / _STEPS + 0.5).astype(np.int64) for w in found[1:]]
        second = [share - sum(second, np.zeros_like(share)), *second]
        found = [w for old, new in zip(found, second, strict=True) for w in (old - new, new)]
    return found


def _taps(texture: Texture, c: NDArray[np.float64], n: int, *, is_linear: bool) -> list[_Tap]:
    """The one texel, or the two of a linear filter, that a coordinate names on an axis of n."""
    x = np.clip(np.nan_to_num(c) * (n if texture.is_normalized else 1), -_FAR, _FAR)
    if not is_linear:
        return [_tap(texture, np.floor(x).astype(np.int64), np.full(x.shape, _STEPS), n)]
    fixed = np.floor((x - 0.5) * _STEPS + 0.5).astype(np.int64)
    first, rest = fixed // _STEPS, fixed % _STEPS
    return [_tap(texture, first, _STEPS - rest, n), _tap(texture, first + 1, rest, n)]


def _tap(texture: Texture, index: Ints, weight: Ints, n: int) -> _Tap:
    inside = np.ones(index.shape, bool)
    if texture.mode == "border":
        return _Tap(index, weight, _is_within(index, n))
    if texture.is_normalized and texture.mode == "wrap":
        return _Tap(index % n, weight, inside)
    if texture.is_normalized and texture.mode == "mirror":
        turned = index % (2 * n)
        return _Tap(np.minimum(turned, 2 * n - 1 - turned), weight, inside)
    return _Tap(np.clip(index, 0, n - 1), weight, inside)


def _as_floats(values: NDArray[Any]) -> NDArray[np.float64]:
    """Whole numbers count as fractions of their largest (`cudaReadModeNormalizedFloat`)."""
    if values.dtype.kind == "f":
        return values.astype(np.float64)
    most = np.iinfo(values.dtype).max
    return np.maximum(values.astype(np.float64) / most, -1.0)


def _four(values: NDArray[Any]) -> NDArray[Any]:
    """Texels with four channels: those that are missing are 0, 0 and 1."""
    missing = np.tile(np.array([0, 0, 0, 1], values.dtype), (len(values), 1))
    missing[:, : values.shape[1]] = values[:, :4]
    return missing


@dataclass(frozen=True)
class _Access:
    """The operands that texture and surface instructions share."""

    handle: Reader
    coordinates: tuple[Reader, ...]  # x first
    layer: Reader | None

    def texels(self, lanes: Lanes) -> Iterator[tuple[_Texels, NDArray[np.intp]]]:
        """The textures that the lanes name, each with its lanes."""
        handles = lanes.read(self.handle).astype(np.int64)
        active = np.flatnonzero(lanes.active)
        image = lanes.state.image
        for handle in np.unique(handles[active]):
            if int(handle) not in image.textures:
                word = lanes.op.instruction.opcode
                raise TilescopeError(
                    f"`{word}` gets a handle that is not a texture: write the kernel's argument as "
                    "`float32[64,64]:2d`, with :linear, :normalized or :wrap where it is so."
                )
            array = image.textures[int(handle)]
            assert array.texture is not None
            region = image.buffers[array.name]
            texels = _Texels(region, array.texture, array.data.shape, array.data.dtype)
            yield texels, active[handles[active] == handle]

    def check(self, texels: _Texels, lanes: Lanes) -> None:
        """TilescopeError where a texture has not as many dimensions as it is read with."""
        needed = len(self.coordinates) + (self.layer is not None)
        if texels.texture.dimensions != needed:
            raise TilescopeError(
                f"`{lanes.op.instruction.opcode}` reads {texels.region.name} with {needed} "
                f"coordinates, and it has {texels.texture.dimensions} dimensions: give its "
                f"argument {needed}, as in `float32[{','.join(['16'] * needed)}]:{needed}d`."
            )


@dataclass(frozen=True)
class _Fetch:
    """`tex` and `tld4`."""

    access: _Access
    kind: PtxType  # of what is fetched
    channel: int  # of `tld4`, -1 for `tex`

    def __call__(self, lanes: Lanes) -> bool:
        """Fetches for all active lanes; inactive ones keep their registers."""
        count = lanes.count
        found = np.zeros((count, 4), self.kind.dtype)
        for texels, chosen in self.access.texels(lanes):
            self.access.check(texels, lanes)
            at = [lanes.read(reader)[chosen] for reader in self.access.coordinates]
            layer = self.access.layer
            layers = None if layer is None else lanes.read(layer)[chosen].astype(np.int64)
            if self.channel >= 0:
                found[chosen] = self._gathered(texels, at, layers)
            elif self.kind.is_float:
                found[chosen] = _four(self._floats(texels, at, layers)).astype(self.kind.dtype)
            else:
                found[chosen] = _four(self._whole(texels, at, layers).astype(self.kind.dtype))
        lanes.write(*(found[:, i].copy() for i in range(len(lanes.op.destinations))))
        return True

    def _floats(
        self, texels: _Texels, at: list[NDArray[Any]], layers: Ints | None
    ) -> NDArray[np.float64]:
        if at[0].dtype.kind == "f":
            return _sampled(texels, at, layers)
        return _as_floats(self._whole(texels, at, layers))

    def _whole(self, texels: _Texels, at: list[NDArray[Any]], layers: Ints | None) -> NDArray[Any]:
        """Texels by their numbers, or the nearest ones."""
        return texels.at([one for (one,) in texels.taps(at, is_linear=False)], layers)

    def _gathered(
        self, texels: _Texels, at: list[NDArray[Any]], layers: Ints | None
    ) -> NDArray[Any]:
        """One channel of the four texels that a linear filter would take."""
        rows, columns = texels.taps(at, is_linear=True)
        found = []
        for row, column in _FOOTPRINT:
            raw = texels.at([rows[row], columns[column]], layers)
            values = _as_floats(raw) if self.kind.is_float else raw
            found.append(_four(values)[:, self.channel])
        return np.stack(found, axis=1).astype(self.kind.dtype)


@dataclass(frozen=True)
class _SurfaceAccess:
    """`suld.b` and `sust.b`: x counts bytes; what lies beyond an edge is the mode's business."""

    access: _Access
    kind: PtxType  # of one element
    mode: str  # "trap", "clamp" or "zero"
    stored: tuple[Reader, ...]  # () for a load

    def __call__(self, lanes: Lanes) -> bool:
        """Loads or stores for all active lanes."""
        count = max(len(self.stored), len(lanes.op.destinations))
        size = self.kind.dtype.itemsize
        loaded = np.zeros((lanes.count, count), self.kind.dtype)
        values = [lanes.read(reader) for reader in self.stored]
        for texels, chosen in self.access.texels(lanes):
            self.access.check(texels, lanes)
            place, inside = self._places(texels, lanes, chosen, count * size)
            flat = (place[:, None] + np.arange(count) * size) // size
            if not self.stored:
                read = texels.region.view(self.kind.dtype)[flat]
                loaded[chosen] = np.where(inside[:, None], read, 0)
                continue
            data = texels.region.writable(self.kind.dtype)
            for column, value in enumerate(values):
                data[flat[inside, column]] = value[chosen][inside].astype(self.kind.dtype)
        if lanes.op.destinations:
            lanes.write(*(loaded[:, i].copy() for i in range(count)))
        return True

    def _places(
        self, texels: _Texels, lanes: Lanes, chosen: NDArray[np.intp], width: int
    ) -> tuple[Ints, NDArray[np.bool_]]:
        """Where in the surface's bytes each lane's access lies, and whether it lies inside."""
        texel = texels.channels * texels.dtype.itemsize
        at = [lanes.read(reader)[chosen].astype(np.int64) for reader in self.access.coordinates]
        extents = texels.extents[-len(at) :]
        inside = (at[0] >= 0) & (at[0] + width <= extents[-1] * texel)
        at[0] = np.clip(at[0], 0, extents[-1] * texel - width) // width * width
        place = np.zeros_like(at[0])
        if self.access.layer is not None:
            layer = lanes.read(self.access.layer)[chosen].astype(np.int64)
            place = np.clip(layer, 0, texels.extents[0] - 1)
        for c, n in zip(at[:0:-1], extents[:-1], strict=True):
            inside &= _is_within(c, n)
            place = place * n + np.clip(c, 0, n - 1)
        if self.mode == "trap" and not inside.all():
            sizes = " x ".join(str(n) for n in reversed(extents))
            raise TilescopeError(
                f"The kernel accesses the surface {texels.region.name} outside its {sizes} texels, "
                "which stops it on a GPU: check the coordinates, of which x counts bytes."
            )
        return place * extents[-1] * texel + at[0], inside | (self.mode == "clamp")


def texture_op(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """`tex`, `tld4`, `suld` and `sust`, decoded."""
    modifiers = instruction.modifiers
    geometry = next((m for m in modifiers if m in _AXES), "")
    is_store = instruction.opcode == "sust"
    is_surface = instruction.opcode in ("suld", "sust")
    if not geometry or "grad" in modifiers or (is_surface and "b" not in modifiers):
        raise unsupported(instruction, "reads no plain texture of one to three dimensions")
    where, what = (
        instruction.operands[:: 1 if is_store else -1][:2]
        if is_surface
        else (instruction.operands[1], instruction.operands[0])
    )
    if not isinstance(where, Address) or not where.coordinates:
        raise unsupported(instruction, "has no coordinates")
    kinds = types_of(instruction)
    access = _access(decoder, instruction, where, geometry, _S32 if is_surface else kinds[-1])
    registers = elements(what)
    kind = kinds[0]
    if is_store:
        stored = tuple(decoder.table.read(instruction, v, kind) for v in registers)
        return decoder.action(instruction, _SurfaceAccess(access, kind, _mode(modifiers), stored))
    types = (kind,) * len(registers)
    if is_surface:
        load = _SurfaceAccess(access, kind, _mode(modifiers), ())
        return decoder.action(instruction, load, registers, types)
    gathers = instruction.opcode == "tld4"
    channel = next((_CHANNELS.index(m) for m in modifiers if m in _CHANNELS), 0) if gathers else -1
    return decoder.action(instruction, _Fetch(access, kind, channel), registers, types)


def _mode(modifiers: tuple[str, ...]) -> str:
    return next((m for m in modifiers if m in ("clamp", "zero")), "trap")


def _access(
    decoder: OperandDecoder, instruction: Instruction, where: Address, geometry: str, kind: PtxType
) -> _Access:
    handle = decoder.address(instruction, Address(where.base, where.offset), "")
    given: list[Operand] = [e for part in where.coordinates for e in elements(part)]
    layer = None
    if geometry in _LAYERED:
        layer = decoder.table.read(instruction, given.pop(0), _U32)
    axes = given[: _AXES[geometry]]
    if len(axes) < _AXES[geometry]:
        raise unsupported(instruction, "has too few coordinates")
    return _Access(handle, tuple(decoder.table.read(instruction, c, kind) for c in axes), layer)
