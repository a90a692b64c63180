"""The CUDA sources that a Python file or a notebook holds: strings with kernels, and whole cells.

CuPy's RawKernel and RawModule, PyCUDA's SourceModule and PyTorch's load_inline take such strings;
`%%cu`, `%%cuda` and `%%writefile` stand above such cells.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping
from functools import partial
from itertools import islice

from core.errors import TilescopeError
from core.source.preprocessor import closing, split_at_commas

ENDINGS = (".py", ".ipynb")
SOURCES = (".cu", ".cuh", *ENDINGS)
"""Ends of the names of all files that CUDA C++ is read from."""
_STRING = re.compile(  # and what may hold a quotation mark of its own: other strings, comments
    r"([A-Za-z]{0,3})(\"\"\"|''')((?:\\.|[^\\])*?)\2"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|#[^\n]*",
    re.DOTALL,
)
_KERNEL = re.compile(r"__global__[^;{}]*\{")
_ON_DEVICE = r"__(?:global|device)__[^;{}]*\{"
_OF_CUDA = re.compile(rf"^[ \t]*#(?:[ \t]*include[ \t]*[<\"]|define\b)|{_ON_DEVICE}", re.MULTILINE)
_FOR_DEVICE = re.compile(
    r"__(?:global|device)__(?:[^;{}()=]|__launch_bounds__\s*\([^()]*\))*?(\w+)\s*\("
)
_CONSTANT = re.compile(
    r"^([ \t]*)(\w+)[ \t]*=[ \t]*(\d+|\"[\w ]+\"|'[\w ]+')[ \t]*(?:#.*)?$", re.MULTILINE
)
_FORMALS = re.compile(r"^[ \t]*def[ \t]+\w+\(((?:[^()]|\([^()]{0,99}\)){0,999})\)", re.MULTILINE)
_GIVES = re.compile(r"%[ \t]*(\{)|\.(?:format|substitute|safe_substitute|format_map)[ \t]*(\()")
_PAIR = re.compile(  # `tile=TILE`, `tile: int = 16` or `"tile": TILE`
    r"(?:(\w+)\s*(?::\s*[\w.]+\s*)?=|[\"'](\w+)[\"']\s*:)\s*(.+)", re.DOTALL
)
_ESCAPED = re.compile(r"\\([\\\"'])")
_INSERTED = re.compile(r"\{\{|\}\}|\{([\w *+/()-]+)\}")  # of an f-string
_FORMATTED = re.compile(r"(?:%\(|\$\{)(\w+)(?:\)[sdi]|\})|\$(\w+)")  # and of a Template
_REPLACED = re.compile(r"\.replace\(\s*[\"'](\w+)[\"']\s*,")
_NAMED = re.compile(r"[\"']([\w./-]{1,99}\.(?:cu|cuh|ptx))[\"']")
_BY_NAME = re.compile(r"\b(\w{1,99})\.format\b")
_ASSIGNED = re.compile(r"(\w+)[ \t]*=[ \t\n(\\]*$")  # in front of a string
_MAGIC = re.compile(r"\s*%%.*")
_MOST_GIVEN = 200  # times that a file puts values into texts
_LONGEST_GIVEN = 2000  # characters of such values
_LONGEST_FRONT = 200  # characters between a variable and its string


class NoCudaWithin(TilescopeError):
    """A Python file or a notebook without a kernel, as most are."""


def cuda_within(text: str, name: str) -> str:
    """The CUDA sources of the file of that name; lines of a Python file stay in their places.

    One that defines a function for the device again, as the next version of a kernel does, is left
    out. Raises NoCudaWithin where there is none.
    """
    found = _first_of_each(_in_cells(text) if name.endswith(".ipynb") else [_in_strings(text)])
    if not _KERNEL.search(found):
        named = _NAMED.search(text)
        raise NoCudaWithin(
            f"{name} holds no CUDA source: no cell, and no string between triple quotes, has a "
            "__global__ function. "
            + (
                f"It names {named[1]}: open that file."
                if named
                else "A kernel of Numba or Triton opens as the PTX that it compiles to."
            )
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
    known = _values(text)
    passed, by_name = {**known, **_passed(text, known)}, {*_BY_NAME.findall(text)}
    replaced = _replaced(text, known)
    parts, at = [], 0
    for found in _STRING.finditer(text):
        if found[2] is None:
            continue
        prefix, inside = found[1].lower(), found[3]
        if "r" not in prefix:
            inside = _ESCAPED.sub(r"\1", inside)
        if "f" in prefix:
            inside = _INSERTED.sub(partial(_inserted, known), inside)
        elif _is_formatted(text, found, by_name):
            inside = _INSERTED.sub(partial(_inserted, passed), inside)
        if "%(" in inside:
            inside = inside.replace("%%", "%")
        inside = _FORMATTED.sub(partial(_formatted, passed), inside)
        for name, value in replaced.items():
            inside = re.sub(rf"\b{name}\b", value, inside)
        if _OF_CUDA.search(inside):
            parts += ["\n" * text.count("\n", at, found.start(3)), inside]
            at = found.end(3)
    return [*parts, "\n" * text.count("\n", at)]


def _values(text: str) -> dict[str, str]:
    """What names are at the beginning of a line, else within functions, else by their defaults."""
    constants = [(m[1], m[2], m[3].strip("\"'")) for m in _CONSTANT.finditer(text)]
    known = {name: value for indent, name, value in constants if not indent}
    for indent, name, value in constants:
        if indent:
            known.setdefault(name, value)
    for formals in _FORMALS.finditer(text):
        for name, value in _pairs(formals[1], known):
            known.setdefault(name, value)
    return known


def _passed(text: str, known: Mapping[str, str]) -> dict[str, str]:
    """What `% {"tile": TILE}`, `.format(tile=TILE)` and Template's `substitute` give names."""
    found = dict[str, str]()
    for gives in islice(_GIVES.finditer(text), _MOST_GIVEN):
        inside = _inside(text, gives.end(), "{}" if gives[1] else "()")
        for name, value in _pairs(inside, known):
            found.setdefault(name, value)
    return found


def _inside(text: str, start: int, brackets: str) -> str:
    """What stands in brackets that open before a place."""
    near = text[start : start + _LONGEST_GIVEN]
    return near[: closing(near, 0, brackets)]


def _replaced(text: str, known: Mapping[str, str]) -> dict[str, str]:
    """What `.replace("TILE", str(TILE))` puts in place of words."""
    found = dict[str, str]()
    for words in islice(_REPLACED.finditer(text), _MOST_GIVEN):
        value = _inside(text, words.end(), "()")
        found = {**dict(_pairs(f"{words[1]}={value}", known)), **found}
    return found


def _pairs(text: str, known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The names that a text gives values, as far as these are words or can be computed."""
    for part in split_at_commas(re.sub(r"#[^\n]*", "", text), "([{)]}"):
        if (pair := _PAIR.fullmatch(part)) is None:
            continue
        name = pair[1] or pair[2]
        quoted = re.fullmatch(r"([\"'])([\w ]+)\1", pair[3])
        plain = re.fullmatch(r"(?:str|int)\(([^()]+)\)|([\w. *+/()-]+)", pair[3])
        if quoted:
            yield name, quoted[2]
        elif plain:
            value = re.sub(
                r"\b[A-Za-z_]\w*\.(?=[A-Za-z_])", "", plain[1] or plain[2]
            )  # `self.TILE`
            if {*re.findall(r"[A-Za-z_]\w*", value)} <= known.keys():
                yield name, _computed(known, value)


def _is_formatted(text: str, string: re.Match[str], by_name: Container[str]) -> bool:
    """Whether a string is formatted where it stands, or by way of its variable."""
    before = text[max(0, string.start() - _LONGEST_FRONT) : string.start()]
    name = _ASSIGNED.search(before)
    return text.startswith(".format", string.end()) or (name is not None and name[1] in by_name)


def _inserted(known: Mapping[str, str], braces: re.Match[str]) -> str:
    """What an f-string has for a pair of braces: a value, or whole numbers to be computed."""
    if not braces[1]:
        return braces[0][0]
    return _computed(known, braces[1])


def _formatted(known: Mapping[str, str], found: re.Match[str]) -> str:
    """What a name in `%(…)s`, `${…}` or `$…` stands for; itself, if nothing says that."""
    return known.get(found[2], found[0]) if found[2] else known.get(found[1], found[1])


def _computed(known: Mapping[str, str], text: str) -> str:
    words = re.sub(r"[A-Za-z_]\w*", lambda m: known.get(m[0], m[0]), text)
    return words if re.fullmatch(r"\w+", text) else f"({words.replace('//', '/')})"


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
