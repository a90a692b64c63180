"""Other files of the repository that a file lies in, which say what it does not.

A header of kernels, or a source whose host code lies apart, says nothing of grids and sizes; the
file that launches its kernels does, and the one that calls the launching function. Others include
it, or define the kernels and device functions that it only declares. The nearest count.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path

from core.errors import TilescopeError
from core.source.cuda_in_python import ENDINGS
from core.source.functions_and_calls import host_syntax
from core.source.kernels_and_launches import host_launches, kernels, launches_by_kernel, unscoped
from core.source.preprocessor import includes, plain_text, without_comments
from core.source.python_host_code import host_code
from core.user_files.launch_texts import FileLaunch
from core.user_files.sources_and_headers import (
    MOST_NOTEBOOK,
    local_files,
    read_source,
    read_text,
    repository_of,
)

_SUFFIXES = {".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".inl", ".inc"}
_MOST_FILES = 4000
_MOST_BYTES = 1 << 19  # of one file
_MOST_READ = 48 << 20  # bytes of all files
_MOST_TEXT = 2 << 20  # characters of a user's headers
_DEEPEST = 4  # files that include each other
_MOST_OF_CALLERS = 8 << 20  # bytes of the files in which callers are looked for
_MOST_LIKELY = 16  # files that are read for one function
_MOST_BESIDE = 1 << 18  # bytes of the files beside a caller that its own functions come from
_LAUNCHES = re.compile(rb"<< {0,4}<|LaunchKernel")  # a formatter may put spaces between


@dataclass(frozen=True)
class User:
    """A file that launches a kernel of another: its path, its text, whether it includes that one.

    `headers` is the text of its own headers, without the file whose kernel it launches.
    """

    path: Path
    text: str
    includes_it: bool
    headers: str


def user_of(path: str, kernel: str) -> User | None:
    """The file nearest to the one at `path` that launches its `kernel` (a name without namespace).

    One that includes the file counts before all others; one that defines a kernel of that name
    itself does not count. A Python file has its own host code, as C++. None where there is none, or
    where the file lies in no repository.
    """
    own = Path(path).resolve()
    if own.suffix in ENDINGS:
        with suppress(TilescopeError):
            code = host_code(read_text(own, MOST_NOTEBOOK), own.name)
            if kernel in launches_by_kernel(code):
                return User(own, code, includes_it=False, headers="")
    root = repository_of(own)
    return None if root is None else _user_of(own, root, kernel, _state(root, own))


@lru_cache(maxsize=32)
def _user_of(own: Path, root: Path, kernel: str, state: int) -> User | None:
    word = re.compile(rf"\b{re.escape(kernel)}\b".encode())
    others: list[User] = []
    for place, raw in _texts(root, own):
        if not _LAUNCHES.search(raw) or not word.search(raw):
            continue
        found = _user(place, own, kernel)
        if found is not None and found.includes_it:
            return found
        others += [found] if found is not None else []
    return others[0] if others else None


def _user(place: Path, own: Path, kernel: str) -> User | None:
    try:
        text = read_source(place)
    except TilescopeError:
        return None
    if kernel not in launches_by_kernel(text):
        return None
    named = any(name.rpartition("/")[2] == own.name for name, _ in includes(text))
    headers = dict(local_files(text, str(place)))
    includes_it = named and any(path.resolve() == own for path, _ in headers.values())
    if not includes_it and any(k.name == kernel and k.is_defined for k in kernels(text)):
        return None
    texts, room = [], _MOST_TEXT
    for file, header in headers.values():
        if file.resolve() != own and len(header) <= room:
            texts.append(header)
            room -= len(header)
    return User(place, text, includes_it, "\n".join(texts))


def callers_of(path: str, function: str) -> str:
    """The text of the file nearest to the one at `path` that calls a function.

    One that defines a function of that name itself does not count. Behind it come the files beside
    it whose functions it calls and which allocate. "" where no file calls it, or where the file
    lies in no repository.
    """
    own = Path(path).resolve()
    root = repository_of(own)
    return "" if root is None else _callers_of(own, root, function, _state(root, own))


@lru_cache(maxsize=32)
def _callers_of(own: Path, root: Path, function: str, state: int) -> str:
    word = re.compile(rf"\b{re.escape(function)}\s*\(".encode())
    for place, raw in _texts(root, own, _MOST_OF_CALLERS):
        if not word.search(raw):
            continue
        text = _read(place)
        caller = host_syntax(without_comments(text))
        if not caller.is_called(function) or function in caller.by_name:  # it calls its own
            continue
        beside, room = [text], _MOST_BESIDE
        for other in sorted(place.parent.iterdir()):
            if other.suffix not in _SUFFIXES or other in (own, place):
                continue
            more = _read(other)
            if "cudaMalloc" not in more or len(more) > room:
                continue
            if caller.called & host_syntax(without_comments(more)).by_name.keys():
                beside.append(more)
                room -= len(more)
        return "\n".join(beside)
    return ""


def program_of(path: str) -> Path | None:
    """The file that includes the one at `path`, or what includes that, as far up as there is one.

    None where no file of the repository includes it.
    """
    own = Path(path).resolve()
    root = repository_of(own)
    return None if root is None else _program_of(own, root, _state(root, own))


@lru_cache(maxsize=32)
def _program_of(own: Path, root: Path, state: int) -> Path | None:
    found: Path | None = None
    for _ in range(_DEEPEST):
        above = _includer(root, found or own)
        if above is None or above == own:
            break
        found = above
    return found


def _includer(root: Path, own: Path) -> Path | None:
    name = own.name.encode()
    for place, raw in _texts(root, own):
        if name not in raw:
            continue
        for wanted, _ in includes(raw.decode("utf-8", "replace")):
            if wanted.endswith(own.name) and (place.parent / wanted).resolve() == own:
                return place
    return None


def at_its_kernels(source: str, asked: FileLaunch) -> tuple[str, FileLaunch]:
    """The source, or the file that has the kernel which is asked for, or any.

    That is a file that the source includes, or one near it that defines a kernel which the source
    declares or launches alone, or that launches one in a function which the source calls. A file of
    headers alone is launched as they are, with the source before them, as the source may have the
    types that a kernel takes, and launches it.
    """
    wanted = unscoped(asked.kernel)

    def has(text: str, headers: str = "") -> bool:
        return any(k.is_defined and wanted in ("", k.name) for k in kernels(text, headers))

    if has(source):
        return source, asked
    files = local_files(source, asked.path, shlex.split(asked.folders)).values()
    if has(source, "\n".join(text for _, text in files if "__global__" in text)):
        return source, asked
    there = [(path, text) for path, text in files if "__global__" in text and has(text)]
    launched = launches_by_kernel(source)
    there.sort(key=lambda file: not any(kernel.name in launched for kernel in kernels(file[1])))
    for path, text in there:
        included = _with(asked.included, asked.path)
        return text, replace(asked, path=str(path), included=included)
    for name in dict.fromkeys((*launched, *(kernel.name for kernel in kernels(source)))):
        elsewhere = _definition_of(asked.path, name) if wanted in ("", name) else None
        if elsewhere is not None:
            return _at(elsewhere, name, asked)
    if not launched and (launcher := _launcher_for(asked.path, source, wanted)) is not None:
        place, name = launcher
        return _at(place, name, replace(asked, included=_with(asked.included, asked.path)))
    return source, asked


def _with(included: str, path: str) -> str:
    return shlex.join([*shlex.split(included), path])


def _at(place: Path, kernel: str, asked: FileLaunch) -> tuple[str, FileLaunch]:
    """Another file's source, and what is asked for as of that file, which is not included too."""
    others = (name for name in shlex.split(asked.included) if Path(name).resolve() != place)
    kernel, included = asked.kernel or kernel, shlex.join(others)
    return read_source(place), replace(asked, path=str(place), kernel=kernel, included=included)


def _launcher_for(path: str, source: str, wanted: str) -> tuple[Path, str] | None:
    """The nearest file with a kernel and a function launching it that a source calls, and its name.

    `wanted` is a kernel's name, or "" for any.
    """
    own, syntax = Path(path).resolve(), host_syntax(plain_text(source))
    called = syntax.calls.keys() - syntax.by_name.keys()
    word = re.compile(rb"\b(?:%s)\s*\(" % b"|".join(name.encode() for name in sorted(called)))
    texts = _texts(repository_of(own) or own.parent, own, _MOST_OF_CALLERS)
    likely = (place for place, raw in texts if b"<<<" in raw and called and word.search(raw))
    for place in islice(likely, _MOST_LIKELY):
        text = _read(place)
        defined = {kernel.name for kernel in kernels(text) if kernel.is_defined}
        for launch in host_launches(text):
            name = unscoped(launch.name)
            if launch.function in called and name in defined and wanted in ("", name):
                return place, name
    return None


def _definition_of(path: str, kernel: str) -> Path | None:
    """The file nearest to the one at `path` that defines the kernel of that name.

    Looked for in its repository; without one, in its folder.
    """
    own = Path(path).resolve()
    word = re.compile(rf"\b{re.escape(kernel)}\b".encode())
    for place, raw in _texts(repository_of(own) or own.parent, own):
        if b"__global__" in raw and word.search(raw):
            try:
                found = kernels(read_source(place))
            except TilescopeError:
                continue
            if any(k.name == kernel and k.is_defined for k in found):
                return place
    return None


def defined_apart(path: str, source: str, headers: str) -> tuple[Path, ...]:
    """The files near the one at `path` with device functions that its source calls.

    It, or its headers, only declare these: a program that is compiled in parts (nvcc -rdc=true) has
    them in other files.
    """
    own, text = Path(path).resolve(), f"{headers}\n{source}"
    if "__device__" not in text:
        return ()
    called = host_syntax(plain_text(source)).calls.keys()
    wanted = set(called & host_syntax(plain_text(text)).declared_for_device)
    if not wanted:
        return ()
    word = re.compile(rb"\b(?:%s)\s*\(" % b"|".join(name.encode() for name in sorted(wanted)))
    texts = _texts(repository_of(own) or own.parent, own, _MOST_OF_CALLERS)
    likely = (place for place, raw in texts if b"__device__" in raw and word.search(raw))
    found: list[Path] = []
    for place in islice(likely, _MOST_LIKELY):
        if wanted:
            functions = host_syntax(plain_text(_read(place))).functions
            there = {f.name for f in functions if f.is_for_device} & wanted
            found += [place] if there else []
            wanted -= there
    return tuple(found)


# The sources of a repository.


def _texts(root: Path, own: Path, most: int = _MOST_READ) -> Iterator[tuple[Path, bytes]]:
    """The sources of a repository as far as they may be read, those nearest to a file first."""
    read = 0
    for file in _files(root, own):
        place = Path(file.path)
        try:
            if file.stat().st_size > _MOST_BYTES:
                continue
            raw = place.read_bytes()
        except OSError:
            continue
        read += len(raw)
        if read > most:
            return
        yield place, raw


def _files(root: Path, own: Path) -> Iterator[os.DirEntry[str]]:
    """The sources of a repository, those nearest to a file first."""
    seen: set[str] = set()
    count = 0
    for top in map(str, (own.parent, *own.parent.parents)):
        for file in _below(top, seen):
            if file.path == str(own):
                continue
            count += 1
            if count > _MOST_FILES:
                return
            yield file
        seen.add(top)
        if top == str(root):
            return


def _below(folder: str, seen: set[str]) -> Iterator[os.DirEntry[str]]:
    """The sources in a folder and in those below it, but for hidden ones and those `seen`.

    Many thousands of other files may lie there: no Path is made of them, and they are not sorted.
    """
    waiting = [folder]
    while waiting:
        files, folders = [], []
        try:
            with os.scandir(waiting.pop()) as found:
                for entry in found:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name[:1] != "." and entry.path not in seen:
                            folders.append(entry)
                    elif os.path.splitext(entry.name)[1] in _SUFFIXES:  # noqa: PTH122
                        files.append(entry)
        except OSError:
            continue
        yield from sorted(files, key=lambda file: file.name)
        folders.sort(key=lambda one: one.name, reverse=True)
        waiting += [one.path for one in folders]


def _read(place: Path) -> str:
    """A file's text; "" for one that cannot be read."""
    try:
        return read_source(place)
    except TilescopeError:
        return ""


def _state(root: Path, own: Path) -> int:
    """Another number once a source of the repository is written, added or removed."""
    seen = []
    for file in _files(root, own):
        with suppress(OSError):
            about = file.stat()
            seen.append((file.path, about.st_mtime_ns, about.st_size))
    return hash(tuple(seen))
