"""Files of one's own, read: sources, arrays, and the headers that lie beside a source.

A launch may come from a link that somebody else wrote, and `/dev/zero` never ends: plain files of a
bounded size are read, never a pipe or a device. Headers go to the compiler by name, and types,
macros and constants in them count when arguments are read.
"""

from __future__ import annotations

import codecs
import contextlib
import itertools
import math
import os
import re
import stat
import tokenize
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from core.atomic_files import replace_file
from core.errors import ArgumentError, TilescopeError
from core.ladder.input_arrays import filled
from core.launch import MAX_ARRAY_BYTES
from core.source.cuda_in_python import ENDINGS, cuda_within
from core.source.host_headers import FIRST, OF_HOST_ALONE
from core.source.preprocessor import includes, with_includes, without_include

MOST_SOURCE = 1 << 20  # bytes of a source
MOST_NOTEBOOK = 1 << 25  # with its pictures
MOST_LINES = MOST_IN_LINE = 1 << 16
"""Lines of a source, and characters of one of them: an editor lays each out in one piece."""
_ARCHIVE = b"PK\x03\x04"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
BAD_HEADER = (
    *(ValueError, EOFError, SyntaxError, TypeError, RecursionError, MemoryError),
    tokenize.TokenError,
)
"""What reading the header of a file that is not an array may raise."""


def checked_size(path: Path, most: int) -> int:
    """A plain file's size in bytes; TilescopeError where it is none or has more than `most`."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a NUL in the path
        raise TilescopeError(f"There is no file {path}.") from None
    except OSError as error:
        raise TilescopeError(f"{path} cannot be read: {error.strerror}.") from None
    if stat.S_ISDIR(found.st_mode):
        raise TilescopeError(f"{path} cannot be read: it is a folder.")
    if not stat.S_ISREG(found.st_mode):
        raise TilescopeError(f"{path} cannot be read: it is a pipe or a device, not a plain file.")
    if found.st_size > most:
        raise TilescopeError(
            f"{path} has {found.st_size:,} bytes, and at most {most:,} are read: "
            "use a smaller file."
        )
    return found.st_size


def is_saved_trace(path: Path) -> bool:
    """Whether a plain file is an archive, as only a trace that was saved is; False for no file."""
    if path.suffix == ".npz":
        return True
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(_ARCHIVE)) == _ARCHIVE
    except (OSError, ValueError):
        return False


def read_plain(path: Path, most: int) -> bytes:
    """All of a plain file; TilescopeError where it cannot be read or has more than `most` bytes."""
    size = checked_size(path, most)
    try:
        with path.open("rb") as file:
            return file.read(size)  # a file of the system's own says 0 and may not end
    except OSError as error:
        raise TilescopeError(f"{path} cannot be read: {error.strerror}.") from None


def read_source(path: Path, most: int = MOST_SOURCE) -> str:
    """The text of a CUDA source as `read_text` gives it; of Python and notebooks what they hold."""
    if path.suffix not in ENDINGS:
        return read_text(path, most)
    found = cuda_within(read_text(path, MOST_NOTEBOOK), path.name)
    must_be_short_enough(found, str(path), most)
    return found


def read_text(path: Path, most: int = MOST_SOURCE) -> str:
    """The text of a file, its lines ended by newlines alone.

    UTF-8, or UTF-16 that begins with its mark; what is neither is taken for Latin-1, as in old
    comments. A listing loses the numbers of its lines. Raises TilescopeError where the file cannot
    be read, is not a plain file, has more than `most` bytes, is not text, or is too long.
    """
    raw = read_plain(path, most)
    if path.suffix == ".ptx":
        raw = raw.removesuffix(b"\0")  # NVRTC gives a C string
    try:
        text = raw.decode("utf-16" if raw[:2] in _UTF16_MARKS else "utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    if "\0" in text:
        raise TilescopeError(f"{path} is not a text file.")
    text = without_line_numbers(text.replace("\r\n", "\n").replace("\r", "\n"))
    must_be_short_enough(text, str(path), most)
    return text


_NUMBERED = re.compile(r"^([ \t]*)([0-9]{1,4})([.:)|]?)(?=[ \t]|$)", re.MULTILINE)


def without_line_numbers(text: str) -> str:
    """The text of a printed listing without the numbers that stand before its lines.

    They have a mark, as in `12. x = 1;`, and begin 1, 2, 3; or every line that is not blank has
    one, and they go on by one. Blanks take the place of the numbers; any other text stays as it is.
    """
    found = [(int(number), mark) for _, number, mark in _NUMBERED.findall(text)]
    numbers = [number for number, _ in found]
    marked = [number for number, mark in found if mark][:3] == [1, 2, 3]
    lines = sum(bool(line.strip()) for line in text.split("\n"))
    whole = lines == len(found) > 2 and numbers == [*range(numbers[0], numbers[0] + lines)]
    if not (marked or whole):
        return text
    return _NUMBERED.sub(lambda m: m[0] if marked and not m[3] else " " * len(m[0]), text)


def write_source(path: Path, text: str) -> None:
    """Write a source in UTF-8, or as the file there is: its lines' ends and its mark are kept.

    Raises TilescopeError where it cannot be written; what was there stays then.
    """
    if path.suffix in ENDINGS:
        raise TilescopeError(
            f"{path.name} holds more than its kernels: save them as a file that ends with .cu."
        )
    raw = b""
    if path.is_file():
        with contextlib.suppress(OSError), path.open("rb") as file:
            raw = file.read(MOST_SOURCE)
    if b"\r\n" in raw:
        text = text.replace("\n", "\r\n")
    replace_file(path, text.encode("utf-8-sig" if raw.startswith(codecs.BOM_UTF8) else "utf-8"))


def must_be_short_enough(text: str, name: str, most: int = MOST_SOURCE) -> None:
    """TilescopeError where a text is too long for an editor; `most` is that of its characters.

    Nobody edits a text of more than MOST_SOURCE, such as PTX: its lines are not looked at.
    """
    if len(text) > most:
        raise TilescopeError(
            f"{name} has {len(text):,} characters, and at most {most:,} are read: make it shorter."
        )
    if most > MOST_SOURCE:
        return
    count = text.count("\n") + 1
    if count > MOST_LINES:
        raise TilescopeError(
            f"{name} has {count:,} lines, and at most {MOST_LINES:,} are read: make it shorter."
        )
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MOST_IN_LINE:
            raise TilescopeError(
                f"Line {number:,} of {name} has {len(line):,} characters, and at most "
                f"{MOST_IN_LINE:,} are read: break it into shorter ones."
            )


def load_array(path: Path) -> NDArray[Any]:
    """The array that numpy.save wrote; ArgumentError where it is none or too large.

    The header is held against the file's size before memory is taken for what it promises.
    """
    try:
        size = checked_size(path, MAX_ARRAY_BYTES)
    except TilescopeError as error:
        raise ArgumentError(str(error)) from None
    try:
        with path.open("rb") as file:
            shape, is_fortran, dtype = promised(file)
            count = math.prod(shape)
            if count * dtype.itemsize > size - file.tell():
                raise ValueError("the file ends too early")
            data = filled(dtype, (count,), lambda start, end: np.fromfile(file, dtype, end - start))
            return data.reshape(shape[::-1]).T if is_fortran else data.reshape(shape)
    except (OSError, *BAD_HEADER) as error:
        raise ArgumentError(f"{path} is not an array saved by numpy.save: {error}.") from None


def promised(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order (Fortran's or C's) and type of the array whose header is read.

    ValueError for what is not an array of numbers.
    """
    version = npy.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"it is of version {'.'.join(map(str, version))}")
    shape, is_fortran, dtype = _HEADERS[version](file)
    if dtype.hasobject or not dtype.itemsize or any(extent < 0 for extent in shape):
        raise ValueError("it holds no plain numbers")
    return tuple(int(extent) for extent in shape), bool(is_fortran), dtype


# Headers.


_ELSEWHERE = re.compile(r"[/\\]{2}")  # on Windows another computer's folder, or a device
_MOST = 1024  # headers: CUTLASS has a GEMM include 260
_MOST_OF_HEADERS = 32 << 20  # characters
_MOST_FILES = 20_000  # of a repository that is looked through for a header
_HEADER_SUFFIXES = {".h", ".hpp", ".cuh", ".hh", ".hxx", ".inl", ".inc", ".ipp", ".cu"}
_DEEPEST = 6  # folders from a file up to that of its repository
_USUAL = (
    *("", "include", "includes", "inc", "src", "common", "Common", "common/inc", "utils"),
    *("util", "lib", "third_party", "csrc", "source", "headers"),
)


def local_headers(
    source: str, path: str, folders: Sequence[str] = (), included: Sequence[str] = ()
) -> Mapping[str, str]:
    """Names as they are included, and texts, of the headers of a source that lies at `path`.

    They are looked for beside the file that includes them, in `folders` (-I), and in the folders
    above the source up to its repository's, with their usual ones for headers. One that is not
    there, is not text or is very large is left out: CUDA may have it, or nobody. The files that are
    `included` (--include) come before the source, with their own headers; where one of them
    includes the source itself it gets nothing. Raises TilescopeError where one cannot be read.
    """
    files = dict(local_files(source, path, folders))
    first = []
    for file in included:
        name, text = Path(file).as_posix(), read_source(Path(file))
        files = {**local_files(text, file, folders), **files, name: (Path(file), text)}
        first.append(f'#include "{name}"\n')
    found = {n: text for n, (place, text) in files.items() if not _is_same(place, Path(path))}
    for name in files.keys() - found.keys() if included else ():
        found = {n: without_include(text, name) for n, text in found.items()}
    return MappingProxyType({**found, **({FIRST: "".join(first)} if first else {})})


def local_files(
    source: str, path: str, folders: Sequence[str] = ()
) -> Mapping[str, tuple[Path, str]]:
    """Where the headers of a source lie, and their texts, by the names that it includes them by."""
    found: dict[str, tuple[Path, str]] = {}
    _collect(source, Path(path).parent, found, _Roots(Path(path), folders))
    return found


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False


class _Roots:
    """Folders in which headers of a source may lie, those above it looked up when needed."""

    def __init__(self, path: Path, folders: Sequence[str]) -> None:
        self._path, self._given = path, [Path(folder) for folder in folders]
        self._found: dict[tuple[str, Path, bool], Path | None] = {}
        self._names: dict[Path, str] = {}
        self._places: dict[str, Path] = {}

    def find(self, name: str, beside: Path, is_quoted: bool) -> Path | None:
        """The header of that name, None where there is none."""
        asked = name, beside, is_quoted
        if asked not in self._found:
            self._found[asked] = self._find(*asked)
        return self._found[asked]

    def _find(self, name: str, beside: Path, is_quoted: bool) -> Path | None:
        if OF_HOST_ALONE.match(name):
            return None
        candidates = [beside, *self._given] if is_quoted else self._given
        for folder in candidates:
            if _is_file(folder / name):
                return folder / name
        from core.compiler.compile_slice import is_known  # NVRTC, and a parser, which not all read

        if is_known(name):
            return None
        above = next((f / name for f in self._above if _is_file(f / name)), None)
        return above or self._elsewhere(name)

    def _elsewhere(self, name: str) -> Path | None:
        """The header wherever the repository has it, under the folders that its name begins with.

        Of several the one with the most folders in common with the source. Where
        none has exactly this name, one in other capitals is taken, as on Windows.
        """
        parts = Path(name).parts
        if ".." in parts or not parts:
            return None
        own = self._path.resolve().parts
        ends = (
            (path, path.parts[-len(parts) :])
            for path in self._headers.get(parts[-1].casefold(), ())
        )
        alike = [(path, end == parts) for path, end in ends if _folded(end) == _folded(parts)]
        found = [path for path, exact in alike if exact] or [path for path, _ in alike]
        return max(found, key=lambda path: _in_common(own, path.parts), default=None)

    @cached_property
    def _headers(self) -> Mapping[str, list[Path]]:
        root = repository_of(self._path)
        found: dict[str, list[Path]] = {}
        count = 0
        for folder, names, files in os.walk(root) if root is not None else ():
            names[:] = sorted(n for n in names if n[:1] != ".")
            count += len(files)
            if count > _MOST_FILES:
                break
            for file in files:
                if Path(file).suffix in _HEADER_SUFFIXES:
                    found.setdefault(file.casefold(), []).append(Path(folder, file))
        return found

    def one_name(self, header: str, path: Path) -> str:
        """The name under which a file is known: the first that it was included by.

        A library includes one file by several names: it is one, and `mma.h` of two folders are two.
        """
        place = Path(os.path.normpath(path))
        if place not in self._names:
            is_free = self._places.setdefault(header, place) == place
            beside = os.path.relpath(place, self._path.parent)
            self._names[place] = header if is_free else Path(beside).as_posix()
        return self._names[place]

    def with_one_name(self, text: str, folder: Path) -> str:
        """A header's text in which every file has one name, wherever it is included."""

        def name(header: str, is_quoted: bool) -> str:
            path = self.find(header, folder, is_quoted)
            return header if path is None else self.one_name(header, path)

        return with_includes(text, name)

    @cached_property
    def _above(self) -> tuple[Path, ...]:
        folders = _folders_above(self._path)
        return tuple(f / usual for f in folders for usual in _USUAL if (f / usual).is_dir())


def _folded(parts: Sequence[str]) -> list[str]:
    return [part.casefold() for part in parts]


def _in_common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many folders two paths begin with alike."""
    same = (a == b for a, b in zip(one, other, strict=False))
    return sum(1 for _ in itertools.takewhile(bool, same))


def repository_of(path: Path) -> Path | None:
    """The folder with a `.git` in which a file lies, none more than six folders above it."""
    return next((f for f in _folders_above(path) if (f / ".git").exists()), None)


def _folders_above(path: Path) -> tuple[Path, ...]:
    """A file's folder and those above it, up to that of its repository."""
    found: list[Path] = []
    try:
        home, folder = Path.home(), path.resolve().parent
    except (OSError, RuntimeError, ValueError):
        return ()
    for _ in range(_DEEPEST):
        if folder in (home, folder.parent):  # nobody's project
            break
        found.append(folder)
        if (folder / ".git").exists():
            break
        folder = folder.parent
    return tuple(found)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _collect(source: str, folder: Path, found: dict[str, tuple[Path, str]], roots: _Roots) -> None:
    for name, is_quoted in includes(source):
        room = _MOST_OF_HEADERS - sum(len(text) for _, text in found.values())
        if name in found or len(found) >= _MOST or _ELSEWHERE.match(name):
            continue
        path = roots.find(name, folder, is_quoted)
        if path is None:
            continue
        try:
            text = read_source(path, max(room, MOST_SOURCE))
        except TilescopeError:
            continue
        if len(text) <= room:
            roots.one_name(name, path)
            text = roots.with_one_name(text, path.parent)
            found[name] = path, text
            _collect(text, path.parent, found, roots)
