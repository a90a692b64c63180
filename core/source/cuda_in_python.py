"""The CUDA sources that a Python file or a notebook holds: strings with kernels, and whole cells.

CuPy's RawKernel and RawModule, PyCUDA's SourceModule and PyTorch's load_inline take such strings;
`%%cu`, `%%cuda` and `%%writefile` stand above such cells.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial

from core.errors import TilescopeError

ENDINGS = (".py", ".ipynb")
SOURCES = (".cu", ".cuh", *ENDINGS)
"""Ends of the names of all files that CUDA C++ is read from."""
_STRING = re.compile(  # and what may hold a quotation mark of its own: other strings, comments
    r"([A-Za-z]*)(\"\"\"|''')((?:\\.|[^\\])*?)\2"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|#[^\n]*",
    re.DOTALL,
)
_KERNEL = re.compile(r"__global__[^;{}]*\{")
_ON_DEVICE = r"__(?:global|device)__[^;{}]*\{"
_OF_CUDA = re.compile(rf"^[ \t]*#(?:[ \t]*include[ \t]*[<\"]|define\b)|{_ON_DEVICE}", re.MULTILINE)
_FOR_DEVICE = re.compile(
    r"__(?:global|device)__(?:[^;{}()=]|__launch_bounds__\s*\([^()]*\))*?(\w+)\s*\("
)
_CONSTANT = re.compile(r"^(\w+)[ \t]*=[ \t]*(\d+)[ \t]*(?:#.*)?$", re.MULTILINE)
_ESCAPED = re.compile(r"\\([\\\"'])")
_INSERTED = re.compile(r"\{\{|\}\}|\{([\w *+/()-]+)\}")  # of an f-string
_FORMATTED = re.compile(r"(?:%\(|\$\{)(\w+)(?:\)[sdi]|\})")  # and of a Template
_MAGIC = re.compile(r"\s*%%.*")


class NoCudaWithin(TilescopeError):
    """A Python file or a notebook without a kernel, as most are."""


def cuda_within(text: str, name: str) -> str:
    """The CUDA sources of the file of that name; lines of a Python file stay in their places.

    One that defines a function for the device again, as the next version of a kernel does, is left
    out. Raises NoCudaWithin where there is none.
    """
    found = _first_of_each(_in_cells(text) if name.endswith(".ipynb") else [_in_strings(text)])
    if not _KERNEL.search(found):
        raise NoCudaWithin(
            f"{name} holds no CUDA source: no cell, and no string between triple quotes, has a "
            "__global__ function. A kernel of Numba or Triton opens as the PTX that it compiles to."
        )
    return re.sub(r"\n{3,}", "\n\n", found) if name.endswith(".ipynb") else found


def _in_cells(text: str) -> Iterator[list[str]]:
    """What each cell of a notebook holds; nothing of one that is damaged."""
    try:
        cells = json.loads(text)["cells"]
        sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return
    for source in sources:
        within, magic = _in_strings(source), _MAGIC.match(source)
        if len(within) > 1:
            yield within
        elif magic or re.search(_ON_DEVICE, source):  # else `# define …` is Python's comment
            yield [source[magic.end() :] if magic else source]


def _in_strings(text: str) -> list[str]:
    """The strings with CUDA code, and between them blank lines for all else."""
    known = dict(_CONSTANT.findall(text))
    parts, at = [], 0
    for found in _STRING.finditer(text):
        if found[2] is None:
            continue
        prefix, inside = found[1].lower(), found[3]
        if "r" not in prefix:
            inside = _ESCAPED.sub(r"\1", inside)
        if "f" in prefix or text.startswith(".format(", found.end()):
            inside = _INSERTED.sub(partial(_inserted, known), inside)
        if "%(" in inside:
            inside = inside.replace("%%", "%")
        inside = _FORMATTED.sub(lambda m: known.get(m[1], m[1]), inside)
        if _OF_CUDA.search(inside):
            parts += ["\n" * text.count("\n", at, found.start(3)), inside]
            at = found.end(3)
    return [*parts, "\n" * text.count("\n", at)]


def _inserted(known: Mapping[str, str], braces: re.Match[str]) -> str:
    """What an f-string has for a pair of braces: a value, or whole numbers to be computed."""
    if not braces[1]:
        return braces[0][0]
    words = re.sub(r"[A-Za-z_]\w*", lambda m: known.get(m[0], m[0]), braces[1])
    return words if re.fullmatch(r"\w+", words) else f"({words.replace('//', '/')})"


def _first_of_each(groups: Iterator[list[str]] | list[list[str]]) -> str:
    """The texts, with blank lines for those that define what one before them defines."""
    known, texts = set[str](), list[str]()
    for group in groups:
        for text in group:
            own = set(_FOR_DEVICE.findall(text))
            is_new = _OF_CUDA.search(text) and not own & known
            texts.append(text if is_new else "\n" * text.count("\n"))
            known |= own
        texts.append("\n")
    return "".join(texts)
