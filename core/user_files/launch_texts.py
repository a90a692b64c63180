"""A launch of a kernel in a user's file as the texts of a form, and the workload they make.

The texts are those of the command line (`core.user_files.argument_texts`). Every field is checked,
so that each mistake can stand beside the field that it is in.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from core.control_characters import visible
from core.errors import ArgumentError, Cancelled, LaunchError, TilescopeError, TooMuchWork
from core.ladder.rung import DEFAULT_SEED
from core.launch import (
    MAX_ARRAY_BYTES,
    MAX_BLOCK,
    MAX_GRID,
    MAX_SHARED_BYTES,
    MAX_THREADS_PER_BLOCK,
    Argument,
    ArrayArgument,
    Dim3,
    Launch,
    MatrixLayout,
    Workload,
)
from core.side_process.client import stoppable
from core.source.preprocessor import without_comments
from core.user_files.argument_texts import array_bytes, divided, make_argument
from core.user_files.sources_and_headers import local_headers

if TYPE_CHECKING:
    from core.compiler.kernel_parameters import KernelParameter

# Grid, block and macros of a launch from their texts.


_SIZE = r"\s*[0-9]{1,18}\s*"
_LARGEST = {"grid": MAX_GRID, "block": MAX_BLOCK}


def split_defines(text: str) -> Mapping[str, str]:
    """`TILE=16 'T=long long'` as a shell would hand them to -D; `;` ends one, too.

    Raises ArgumentError.
    """
    words = shlex.shlex(text, posix=True, punctuation_chars=False)
    words.whitespace, words.whitespace_split, words.commenters = " \t\r\n;", True, ""
    try:
        return parse_defines(list(words))
    except ValueError:
        raise ArgumentError(f"`{visible(text)}`: a quotation mark is not closed.") from None


def join_defines(defines: Mapping[str, str]) -> str:
    """The text that `split_defines` reads so."""
    return shlex.join(f"{name}={value}" for name, value in defines.items())


def dim3_text(size: Dim3) -> str:
    """As `parse_dim3` reads it, without ones at its end."""
    sizes = [*size]
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return ",".join(map(str, sizes))


def parse_dim3(text: str, what: str) -> Dim3:
    """`8`, `8,8` or `8,8,2` as a Dim3; `what` ("grid", "block") is for the message."""
    parts = re.split(r"[,x]", text.strip())
    if not 1 <= len(parts) <= 3 or not all(re.fullmatch(_SIZE, part) for part in parts):
        raise LaunchError(f"`{text}` is not a {what}: write one to three sizes, such as 8,8.")
    return Dim3(*(int(part) for part in parts))


def parse_defines(texts: Sequence[str]) -> Mapping[str, str]:
    """`NAME=VALUE` or `NAME` (which means 1), as given to a compiler's -D. Raises ArgumentError."""
    defines = {}
    for text in texts:
        name, has_value, value = text.partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise ArgumentError(f"`-D {visible(text)}` is not NAME=VALUE.")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ArgumentError(
                f"`-D {visible(text)}` is not text in UTF-8: write it anew."
            ) from None
        defines[name] = value if has_value else "1"
    return MappingProxyType(defines)


# What a source says of a kernel's parameters, read where that can be stopped.


LARGE = 1 << 16
"""Characters of a source that may take a second to read, and far more where it is odd."""


class NoKernel(TilescopeError):
    """The source has nothing that could be launched."""


@lru_cache(maxsize=8)
def _signature_of(
    source: str,
    kernel: str,
    defines: tuple[tuple[str, str], ...],
    headers: tuple[tuple[str, str], ...],
    name: str,
) -> tuple[KernelParameter, ...]:
    """`read_signature` of a kernel; NoKernel where the source, called `name`, has none at all."""
    return stoppable(_read, source, kernel, defines, headers, name)


def _read(
    source: str,
    kernel: str,
    defines: tuple[tuple[str, str], ...],
    headers: tuple[tuple[str, str], ...],
    name: str,
) -> tuple[KernelParameter, ...]:
    from core.compiler.kernel_parameters import read_signature  # loads the compiler
    from core.source.template_instances import kernel_names

    if not kernel_names("\n".join((source, *(text for _, text in headers)))):
        raise NoKernel(f"{name} has no kernel: mark a function __global__.")
    return read_signature(source, kernel, dict(defines), dict(headers), name)


_T = TypeVar("_T")
_LARGE_CLUSTERS = re.compile(  # the attribute of the runtime's API, and of the driver's
    r"\bcudaFuncAttributeNonPortableClusterSizeAllowed\b"
    r"|\bCU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED\b"
)


UNTITLED = "untitled.cu"
"""The path of a text that is in no file. Paths of files are absolute: none equals this."""


@dataclass(frozen=True)
class FileLaunch:
    """What a form holds for a file: texts, as they are typed.

    `defines` are NAME=VALUE with spaces between, in quotes where they hold some; `arguments` are
    (parameter, text) in the order of the kernel's signature. `folders` (-I) hold headers,
    `included` files come before the source: paths as a shell would take them. `architecture` is a
    virtual one, such as compute_80, "" for the usual one. `cluster` is the launch attribute, "" for
    what the kernel says.
    """

    path: str
    kernel: str
    grid: str = "1"
    block: str = "32"
    shared: str = "0"
    defines: str = ""
    arguments: tuple[tuple[str, str], ...] = ()
    folders: str = ""
    included: str = ""
    architecture: str = ""
    cluster: str = ""

    @property
    def name(self) -> str:
        """The file's name without its folder, as it can be printed."""
        return visible(Path(self.path).name)

    @property
    def complete(self) -> bool:
        """Whether nothing that a launch needs is left empty, as a link may leave it."""
        return all((self.kernel, self.grid.strip(), self.block.strip(), self.shared.strip()))


def headers_of(source: str, launch: FileLaunch) -> Mapping[str, str]:
    """The headers of a launch's source, by the names that it includes them by."""
    return local_headers(
        source, launch.path, shlex.split(launch.folders), shlex.split(launch.included)
    )


class FieldErrors(ArgumentError):
    """What is wrong with a form: a sentence by field.

    A field is "kernel", "grid", "block", "shared", "cluster", "defines", or an argument's name
    after "arg:".
    """

    def __init__(self, fields: Mapping[str, str]) -> None:
        super().__init__(next(iter(fields.values())))
        self.fields = MappingProxyType(dict(fields))


class LaunchForm:
    """The fields of a launch as they are read, with a sentence for each that is wrong."""

    def __init__(self, launch: FileLaunch) -> None:
        self._texts = dict(launch.arguments)
        self._wrong: dict[str, str] = {}
        self._grid = self.field("grid", lambda: _size(launch.grid, "grid"))
        self._block = self.field("block", lambda: _size(launch.block, "block"))
        self._shared = self.field("shared", lambda: _shared(launch.shared))
        self._cluster = self.field("cluster", lambda: cluster_of(launch))

    def field(self, name: str, make: Callable[[], _T]) -> _T | None:
        """What a field says; None where it is wrong."""
        try:
            return make()
        except (Cancelled, NoKernel, TooMuchWork):
            raise
        except TilescopeError as error:
            self._wrong[name] = str(error)
            return None

    def arguments(
        self,
        signature: Sequence[KernelParameter],
        seed: int,
        make: Callable[..., Argument] = make_argument,
    ) -> list[Argument]:
        """The kernel's arguments, the last fields of all, each as `make_argument` makes it.

        Raises FieldErrors with every mistake that there is in any field.
        """
        generator = np.random.default_rng(seed)
        found: list[Argument] = []
        for parameter in signature:
            text = self._texts.get(parameter.name, "").strip()
            if parameter.is_symbol and not text:
                continue
            room = MAX_ARRAY_BYTES - sum(map(array_bytes, found))
            made = self.field(
                f"arg:{parameter.name}", partial(make, parameter, text, generator, room)
            )
            if made is not None:
                found.append(made)
        if self._wrong:
            raise FieldErrors(self._wrong)
        return found

    def launch(
        self,
        arguments: Sequence[Argument],
        symbols: Sequence[Argument] = (),
        *,
        is_portable: bool = False,
    ) -> Launch:
        """The launch, once all its fields are right; `is_portable` as in `Launch`."""
        grid, block, shared = self._grid, self._block, self._shared
        assert grid is not None and block is not None and shared is not None  # noqa: PT018
        return Launch(
            grid, block, tuple(arguments), shared, tuple(symbols), self._cluster, is_portable
        )


def file_workload(source: str, launch: FileLaunch, seed: int = DEFAULT_SEED) -> Workload:
    """The workload of a kernel in `source`, the text of the launch's file or an edit of it.

    Raises FieldErrors with every mistake that there is, and TilescopeError where there is no
    kernel.
    """
    from core.source.constants import with_defines  # loads the reading of C++

    form = LaunchForm(launch)
    defines = form.field("defines", lambda: split_defines(launch.defines)) or {}
    headers = headers_of(source, launch)
    about = tuple(sorted(defines.items())), tuple(headers.items()), launch.name
    text = with_defines(source, defines)
    signature = form.field("kernel", lambda: _signature_of(text, launch.kernel, *about)) or ()
    arguments = form.arguments(signature, seed)
    taken, symbols = divided(signature, arguments)
    return Workload(
        title=visible(f"{launch.name}: {launch.kernel}"),
        source=source,
        source_name=launch.name,
        kernel=launch.kernel,
        launch=form.launch(taken, symbols, is_portable=_is_portable(text, headers, launch.kernel)),
        defines=MappingProxyType(dict(defines)),
        layout=_product_layout(arguments),
        headers=headers,
        architecture=launch.architecture,
    )


def _is_portable(source: str, headers: Mapping[str, str], kernel: str) -> bool:
    """Whether host code launches the kernel, and nothing in it allows large clusters."""
    whole = "\n".join((*headers.values(), source))
    if "cluster" not in whole.lower():
        return False
    from core.host_program.run_to_launch import first_launch  # loads the reading of C++

    launches = first_launch(whole, kernel) is not None
    return launches and _LARGE_CLUSTERS.search(without_comments(whole)) is None


def _product_layout(arguments: Sequence[Argument]) -> MatrixLayout | None:
    """Two matrices that are only read and one that is written, of fitting shapes: C = A B.

    None where the arguments do not look like a matrix product, or not clearly.
    """
    matrices = [a for a in arguments if isinstance(a, ArrayArgument)]
    if len(matrices) != 3 or any(a.data.ndim != 2 for a in matrices):
        return None
    left, top, result = matrices
    (m, k), (inner, n) = left.data.shape, top.data.shape
    fits = k == inner and result.data.shape == (m, n)
    roles: list[Any] = [a.role for a in matrices]
    if not fits or roles != ["input", "input", "inout"]:
        return None
    return MatrixLayout(left.name, top.name, result.name)


def cluster_of(launch: FileLaunch) -> Dim3 | None:
    """The cluster that a launch asks for; None where the kernel says it, or there is none."""
    return parse_dim3(launch.cluster, "cluster") if launch.cluster.strip() else None


def _size(text: str, what: str) -> Dim3:
    """A grid or block that CUDA allows; raises LaunchError."""
    size = parse_dim3(text, what)
    for axis, extent, most in zip("xyz", size, _LARGEST[what], strict=True):
        if not 1 <= extent <= most:
            raise LaunchError(f"The {what}'s {axis} is {extent}: use 1 to {most}.")
    if what == "block" and size.count > MAX_THREADS_PER_BLOCK:
        raise LaunchError(
            f"A block of {size} is {size.count} threads: CUDA allows {MAX_THREADS_PER_BLOCK}."
        )
    return size


def _shared(text: str) -> int:
    if not re.fullmatch(_SIZE, text):
        raise ArgumentError(f"`{text}` is not a number of bytes: write 0 or more.")
    if int(text) > MAX_SHARED_BYTES:
        raise LaunchError(
            f"{int(text)} bytes of dynamic shared memory: a block may ask for 0 to "
            f"{MAX_SHARED_BYTES}."
        )
    return int(text)
