"""What a source says of a kernel's parameters; a large one is read in a process of its own."""

from __future__ import annotations

from functools import lru_cache

from core.apart import apart
from core.cuda.signature import SignatureParameter, kernel_names, read_signature
from core.errors import TilescopeError

LARGE = 1 << 16
"""Characters of a source that may take a second to read, and far more where it is odd."""


class NoKernel(TilescopeError):
    """The source has nothing that could be launched."""


@lru_cache(maxsize=8)
def signature_of(
    source: str, kernel: str, defines: tuple[tuple[str, str], ...], headers: str, name: str
) -> tuple[SignatureParameter, ...]:
    """`read_signature` of a kernel; NoKernel where the source, called `name`, has none at all."""
    if len(source) + len(headers) > LARGE:
        return apart(_read, source, kernel, defines, headers, name)
    return _read(source, kernel, defines, headers, name)


def _read(
    source: str, kernel: str, defines: tuple[tuple[str, str], ...], headers: str, name: str
) -> tuple[SignatureParameter, ...]:
    if not kernel_names(source):
        raise NoKernel(f"{name} has no kernel: mark a function __global__.")
    return read_signature(source, kernel, dict(defines), headers)
