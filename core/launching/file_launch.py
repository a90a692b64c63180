"""A launch of a kernel in a user's file as the texts of a form, and the workload they make.

The texts are those of the command line (`core.launching.arguments`). Every field is checked, so
that each mistake can stand beside the field that it is in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from core.errors import ArgumentError, Cancelled, TilescopeError
from core.ladder.limits import MAX_ARRAY_BYTES
from core.ladder.rung import DEFAULT_SEED
from core.launch import Argument, ArrayArgument, Dim3, Launch, MatrixLayout, Workload
from core.launching.arguments import array_bytes, divided, make_argument
from core.launching.launch_texts import check_launch, parse_defines, parse_dim3
from core.launching.local_headers import local_headers
from core.launching.reading import NoKernel, signature_of

_T = TypeVar("_T")


@dataclass(frozen=True)
class FileLaunch:
    """What a form holds for a file: texts, as they are typed.

    `defines` are NAME=VALUE with spaces between; `arguments` are (parameter, text) in the order of
    the kernel's signature.
    """

    path: str
    kernel: str
    grid: str = "1"
    block: str = "32"
    shared: str = "0"
    defines: str = ""
    arguments: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return Path(self.path).name

    @property
    def complete(self) -> bool:
        """Whether nothing that a launch needs is left empty, as a link may leave it."""
        return all((self.kernel, self.grid.strip(), self.block.strip(), self.shared.strip()))


class FieldErrors(ArgumentError):
    """What is wrong with a form: a sentence by field.

    A field is "kernel", "grid", "block", "shared", "defines", or an argument's name after "arg:".
    """

    def __init__(self, fields: Mapping[str, str]) -> None:
        super().__init__(next(iter(fields.values())))
        self.fields = MappingProxyType(dict(fields))


def split_defines(text: str) -> Mapping[str, str]:
    """`TILE=16 PAD=1` as a compiler's -D. Raises ArgumentError."""
    return parse_defines([word for word in re.split(r"[\s;]+", text) if word])


def file_workload(source: str, launch: FileLaunch, seed: int = DEFAULT_SEED) -> Workload:
    """The workload of a kernel in `source`, the text of the launch's file or an edit of it.

    Raises FieldErrors with every mistake that there is, and TilescopeError where there is no
    kernel.
    """
    wrong: dict[str, str] = {}

    def field(name: str, make: Callable[[], _T]) -> _T | None:
        try:
            return make()
        except (Cancelled, NoKernel):
            raise
        except TilescopeError as error:
            wrong[name] = str(error)
            return None

    grid = field("grid", lambda: _size(launch.grid, "grid"))
    block = field("block", lambda: _size(launch.block, "block"))
    shared = field("shared", lambda: _shared(launch.shared))
    defines = field("defines", lambda: split_defines(launch.defines)) or {}
    headers = local_headers(source, launch.path)
    before = "\n".join(headers.values())
    signature = (
        field("kernel", lambda: signature_of(
            source, launch.kernel, tuple(sorted(defines.items())), before, launch.name
        )) or ()
    )  # fmt: skip
    texts = dict(launch.arguments)
    generator = np.random.default_rng(seed)
    arguments: list[Argument] = []
    for parameter in signature:
        text = texts.get(parameter.name, "").strip()
        if parameter.is_symbol and not text:
            continue
        room = MAX_ARRAY_BYTES - sum(map(array_bytes, arguments))
        made = field(f"arg:{parameter.name}", lambda p=parameter, t=text, r=room: make_argument(  # type: ignore[misc]
            p, t, generator, r
        ))  # fmt: skip
        if made is not None:
            arguments.append(made)
    if wrong or grid is None or block is None or shared is None:
        raise FieldErrors(wrong)
    taken, symbols = divided(signature, arguments)
    return Workload(
        title=f"{launch.name}: {launch.kernel}",
        source=source,
        source_name=launch.name,
        kernel=launch.kernel,
        launch=Launch(grid, block, taken, shared, symbols),
        defines=MappingProxyType(dict(defines)),
        layout=product_layout(arguments),
        headers=headers,
    )


def product_layout(arguments: Sequence[Argument]) -> MatrixLayout | None:
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


def _size(text: str, what: str) -> Dim3:
    size = parse_dim3(text, what)
    one = Dim3(1)
    check_launch(size if what == "grid" else one, size if what == "block" else one, 0)
    return size


def _shared(text: str) -> int:
    if not re.fullmatch(r"\s*[0-9]{1,18}\s*", text):
        raise ArgumentError(f"`{text}` is no number of bytes: write 0 or more.")
    check_launch(Dim3(1), Dim3(1), int(text))
    return int(text)
