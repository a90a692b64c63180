"""Who answers what is asked of a compiler.

What came with the program is answered first, then what an earlier run kept on disk; last come
NVRTC, NVIDIA's run-time compiler, here or in another process, and, where it is not or somebody asks
for it, clang.
"""

from __future__ import annotations

import json
import sys
import threading
import zlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from core.cancelling import is_cancellable
from core.compiler import clang, disk_cache, shipped_ptx
from core.compiler.cubin import MachineFacts
from core.compiler.nvrtc import include_folders, library_path
from core.compiler.nvrtc_or_clang import CompilerName
from core.compiler.requests_and_answers import Compiled, Request
from core.dataclasses_as_json import plain, typed
from core.errors import Diagnostic, TilescopeError
from core.source.host_headers import FOLDER

LARGE = 1 << 14  # characters of a source, with its own headers, that may take NVRTC seconds
_alone = threading.Lock()  # one compilation at a time in this process


def compile_request(request: Request) -> Compiled:
    """Compile, or take what an earlier run made of the same.

    A job that may be cancelled has it done in another process, and so has who brings a large
    source: NVRTC can be stopped in no other way, and a few lines may keep it for minutes.
    """
    _must_be_text(request)
    if (known := shipped_answer(request)) is not None:
        return known
    request = _by_who_is_here(request)
    # All that an answer follows from: the request, the compiler, CUDA's headers, and our part.
    key = repr((request, request.all_options, _tools(request.compiler)))
    if (known := _unpacked(disk_cache.find(key))) is not None:
        return known
    from core.compiler.compile_slice import (
        compile_here,  # what it imports takes as long as to compile
    )
    from core.side_process.client import apart

    size = len(request.source) + sum(len(text) for _, text in request.headers)
    if request.compiler == "clang":  # it is a process of its own
        made = compile_here(request)
    elif size > LARGE or is_cancellable():
        made = apart(compile_here, request)
    else:
        with _alone:
            made = compile_here(request)
    disk_cache.keep(key, _packed(made))
    return made


def _by_who_is_here(request: Request) -> Request:
    """For clang what was asked of an NVRTC that is not here, and for NVRTC all machine code."""
    if request.output == "CUBIN":
        return replace(request, compiler="nvrtc")
    if request.compiler == "nvrtc":
        try:
            library_path()
        except TilescopeError:
            if clang.executable() is None:
                raise
            return replace(request, compiler="clang")
    return request


def shipped_answer(request: Request) -> Compiled | None:
    """What came with the program: a kernel of the ladder or of a lesson, as written."""
    is_theirs = request.compiler == "nvrtc" and request.output == "PTX"
    if not is_theirs or request.headers or "-G" not in request.options:
        return None
    asked = request.defines, request.options, request.kernel, request.source_name
    found = shipped_ptx.find(request.source, asked)
    if found is None:
        return None
    ptx, instance, machine = found
    return Compiled(ptx.encode(), (), instance, machine=machine)


def _must_be_text(request: Request) -> None:
    """Half a character of UTF-16, as a damaged link may have it, is nothing for a compiler."""
    texts = {
        "the source": request.source,
        "its name": request.source_name,
        "the kernel's name": request.kernel,
        **{f"-D {name}": value for name, value in request.defines},
        **dict(request.headers),
    }
    for what, text in texts.items():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise TilescopeError(
                f"{what[0].upper()}{what[1:]} is not text in UTF-8 (character {error.start + 1:,}):"
                " write it anew."
            ) from None


@cache
def _tools(compiler: CompilerName) -> tuple[tuple[str, int, int], ...]:
    """Path, size and date of each file that what is made depends on, besides the request."""
    found = ((file, file.stat()) for file in _tool_files(compiler))
    return tuple((str(file), at.st_size, at.st_mtime_ns) for file, at in found)


def _tool_files(compiler: CompilerName) -> Iterator[Path]:
    if compiler == "clang":
        yield from (clang.program(), clang.WORDS)
    else:
        yield library_path()
        for headers in include_folders():
            yield headers
            yield from sorted(headers.glob("cuda_*.h"))
    if getattr(sys, "frozen", False):  # all modules lie in the program's own file
        yield Path(sys.executable)
        return
    spec = find_spec("tree_sitter_cuda")
    if spec is not None and spec.origin:
        yield Path(spec.origin)
    for package in ("compiler", "ptx/debug", "source"):  # the second reads lines of machine code
        yield from sorted((Path(__file__).resolve().parents[1] / package).glob("*.py"))
    yield from sorted(FOLDER.iterdir())


def _packed(made: Compiled) -> bytes:
    said = [(d.severity, d.line, d.column, d.message) for d in made.diagnostics]
    head = json.dumps((made.entry, said, made.compiler, plain(made.machine))).encode()
    whole = len(head).to_bytes(4, "little") + head + made.image
    return zlib.compress(whole, 1)  # to a sixth, so that the folder holds six times as much


def _unpacked(content: bytes | None) -> Compiled | None:
    if content is None:
        return None
    content = zlib.decompress(content)
    start = 4 + int.from_bytes(content[:4], "little")
    entry, said, compiler, machine = json.loads(content[4:start])
    diagnostics = tuple(Diagnostic(*row) for row in said)
    return Compiled(content[start:], diagnostics, entry, compiler, typed(MachineFacts, machine))
