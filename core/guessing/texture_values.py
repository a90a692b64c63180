"""A first guess at a texture: its dimensions, its texels, and how it is read.

What kernels fetch says the first, what the host writes into a `cudaTextureDesc` the last.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.compiler.kernel_parameters import SURFACE, KernelParameter
from core.source.c_numbers import NUMBERS

_DEFAULTS = {1: (256,), 2: (64, 64), 3: (16, 16, 16)}
_LAYERS = 4
_FETCH = r"\btex([123])D(?:fetch|Lod|Grad|gather)?(Layered)?\w*\s*<\s*([\w ]+?)\s*>\s*\("
_SURFACE = r"\bsurf([123])D(Layered)?(?:read|write)\s*(?:<\s*([\w ]+?)\s*>\s*)?\("
_ELEMENT = re.compile(r"(unsigned char|unsigned short|unsigned|u?char|u?short|u?int|float)([124])?")
_DESCRIPTION = re.compile(r"\bcudaCreateChannelDesc\s*<\s*([\w ]+?)\s*>")
_BITS = re.compile(
    r"\bcudaCreateChannelDesc\s*\(\s*(8|16|32)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*,"
    r"\s*cudaChannelFormatKind(Unsigned|Signed|Float)"
)
_MODE = re.compile(r"\baddressMode\s*\[\s*0\s*\]\s*=\s*cudaAddressMode(Clamp|Wrap|Mirror|Border)")


def guess_texture(parameter: KernelParameter, source: str, sizes: Sequence[int]) -> str:
    """The argument of a texture, as `random:uint8[64,64,4]:2d:linear`.

    `source` is the program's text, `sizes` are the extents that suggest themselves, x last.
    """
    surface = parameter.type == SURFACE
    pattern = _SURFACE if surface else _FETCH
    found = re.search(rf"{pattern}[^;()]*\b{re.escape(parameter.name)}\b", source)
    call = found or re.search(pattern, source)
    dimensions = int(call[1]) if call else 2
    layers = (_LAYERS,) if call and call[2] else ()
    told = call[3] if call else None
    if call and surface and not told:
        told = _written(source, call)
    dtype, channels = _texel(told, source, is_surface=surface)
    extents = tuple(sizes) if len(sizes) == dimensions else _DEFAULTS[dimensions]
    shape = (*layers, *extents, *((channels,) if channels > 1 else ()))
    words = [f"{len(layers) + dimensions}d"] if channels > 1 else []
    if not surface and call and "fetch" not in call[0]:
        words += _reading(source, call[3])
    return ":".join([f"random:{dtype}[{','.join(map(str, shape))}]", *words])


_VECTOR = r"(u?(?:char|short|int)[124]?|float[124]?)"


def _written(source: str, call: re.Match[str]) -> str | None:
    """The type of what a call of surf2Dwrite without one writes."""
    value = source[source.index("(", call.start()) + 1 :].lstrip()
    if made := re.match(rf"make_{_VECTOR}\b", value):
        return made[1]
    name = re.match(r"[A-Za-z_]\w*", value)
    declared = rf"\b{_VECTOR}\s+{name[0]}\b" if name else r"(?!)"
    types = re.findall(declared, source[: call.start()])
    return types[-1] if types else None


def _texel(fetched: str | None, source: str, *, is_surface: bool) -> tuple[str, int]:
    """The type of a texel's numbers, and how many there are."""
    element = _ELEMENT.fullmatch(fetched or "")
    if element and (
        is_surface or "cudaReadModeNormalizedFloat" not in source or element[1] != "float"
    ):
        return NUMBERS[element[1]], int(element[2] or 1)
    described = _DESCRIPTION.search(source)
    if described and (whole := _ELEMENT.fullmatch(described[1])):
        return NUMBERS[whole[1]], int(whole[2] or 1)
    if bits := _BITS.search(source):
        kind = {"Unsigned": "uint", "Signed": "int", "Float": "float"}[bits[4]]
        return f"{kind}{bits[1]}", 4 if int(bits[3]) else 2 if int(bits[2]) else 1
    return ("uint8" if not is_surface and element else "float32"), int(
        element[2] or 1 if element else 1
    )


def _reading(source: str, fetched: str) -> list[str]:
    """The words for filter, edges and coordinates."""
    words = []
    if re.search(r"\bfilterMode\s*=\s*cudaFilterModeLinear", source) and "float" in fetched:
        words.append("linear")
    normalized = re.search(r"\bnormalizedCoords\s*=\s*(true|1)\b", source)
    mode = _MODE.search(source)
    if mode and mode[1] != "Clamp" and (normalized or mode[1] == "Border"):
        words.append(mode[1].lower())
    return [*words, "normalized"] if normalized else words
