"""The headers that lie beside a file of one's own: `#include "tools.cuh"`, and what those include.

They go to the compiler by name, without the host's functions in them, and types, macros and
constants in them count when arguments are read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from core.cuda.host_code import without_host_code
from core.cuda.source_constants import blanked
from core.errors import TilescopeError
from core.launching.plain_files import read_source

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_ELSEWHERE = re.compile(r"[/\\]{2}")  # on Windows another computer's folder, or a device
_MOST = 64


def local_headers(source: str, path: str) -> Mapping[str, str]:
    """Names as they are included, and texts, of the headers of a source that lies at `path`.

    One that is not there, is no text or is very large is left out: CUDA may have it, or nobody.
    """
    found: dict[str, str] = {}
    _collect(source, Path(path).parent, found)
    return MappingProxyType(found)


def _collect(source: str, folder: Path, found: dict[str, str]) -> None:
    comments = blanked(re.sub(_INCLUDE, lambda m: m[0].replace('"', " "), source))
    for match in _INCLUDE.finditer(source):
        name, path = match[1], folder / match[1]
        is_comment = not comments[match.start() : match.end()].strip()
        if is_comment or name in found or len(found) >= _MOST or _ELSEWHERE.match(name):
            continue
        try:
            text = read_source(path)
        except TilescopeError:
            continue
        found[name] = without_host_code(text)
        _collect(text, path.parent, found)
