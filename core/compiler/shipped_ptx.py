"""The PTX that comes with the program: of every rung and lesson, as written, at the sizes offered.

Where NVRTC is not to be had (macOS) these kernels run all the same; elsewhere a first trace is
quicker. `scripts/compile_shipped.py` makes the file, an entry for each source text.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from core.compiler.cubin import MachineFacts
from core.dataclasses_as_json import typed

FILE = Path(__file__).resolve().parents[2] / "resources" / "compiled.zip"
ABOUT = "about.json"
_FILE_LINE = re.compile(r'^(\s*\.file\s+\d+ )"[^"\n]*?([^"/\\\n]*)"', re.MULTILINE)

Asked = tuple[tuple[tuple[str, str], ...], tuple[str, ...], str, str]
"""Macros, options, kernel and the source's name."""


Answer = tuple[str, str, MachineFacts]
"""The PTX of a source, its instance's name in it ("" for none), and of its machine code."""


def find(source: str, asked: Asked) -> Answer | None:
    """What was made of a source; None: it is not among these."""
    found = _entry(source_digest(source)).get(asked_digest(asked))
    if found is None:
        return None
    ptx, instance, *machine = found
    return ptx, instance, typed(MachineFacts, machine)


def source_digest(source: str) -> str:
    """Names a source's entry."""
    return f"{hashlib.sha256(source.encode()).hexdigest()[:24]}.json"


def asked_digest(asked: Asked) -> str:
    """Names one build of it."""
    return hashlib.sha256(repr(asked).encode()).hexdigest()[:24]


def placeless(ptx: str) -> str:
    """PTX without the folder in which it was made: NVRTC writes it before the file's name."""
    return _FILE_LINE.sub(r'\1"\2"', ptx)


@cache
def _names() -> frozenset[str]:
    try:
        with zipfile.ZipFile(FILE) as archive:
            return frozenset(archive.namelist())
    except OSError:
        return frozenset()


@cache
def _entry(name: str) -> Mapping[str, list[Any]]:
    if name not in _names():
        return {}
    with zipfile.ZipFile(FILE) as archive:
        found: Mapping[str, list[Any]] = json.loads(archive.read(name))
    return found


def about() -> Mapping[str, str]:
    """The version of NVRTC that made them, and the day."""
    with zipfile.ZipFile(FILE) as archive:
        found: Mapping[str, str] = json.loads(archive.read(ABOUT))
    return found
