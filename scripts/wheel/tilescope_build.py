"""The build backend (PEP 517): setuptools', and a wheel of this flat tree that holds one package.

In the checkout imports are flat (`from core.trace import Trace`) and an editable install is one
.pth line. `core` and `gui` at the top level of other people's environments would collide with
theirs, so the wheel holds `tilescope.core`, `tilescope.gui`, and the data folders beside them: the
tree is copied, and what names a module of it is rewritten, in imports and in strings.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    get_requires_for_build_editable,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "rewritten",
    "stage",
]

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "tilescope"
TOP = ("core", "gui")
DATA = ("kernels", "resources")
OWN = Path(__file__).with_name("package")
"""What the package itself holds besides: its public names, and what runs with `-m`."""
_MODULE = re.compile(r"(?:core|gui)(?:\.\w+)*")
_NAMED = re.compile(r"(?:core|gui)(?:\.\w+)+(?::\w+)?")
_RUN = re.compile(r"(\bpython (?:-P )?-m )(?=(?:core|gui)\b)")


class UnsupportedOperation(Exception):
    """PEP 517's word for a hook that a backend does not offer."""


class UnclearName(ValueError):
    """A line names a module in a way that cannot be rewritten."""


def build_wheel(
    wheel_directory: str,
    config_settings: Mapping[str, str] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel; returns its file name. No metadata are prepared before it."""
    wheel_directory = str(Path(wheel_directory).resolve())
    with tempfile.TemporaryDirectory() as folder:
        stage(ROOT, Path(folder))
        with _within(folder):
            made: str = build_meta.build_wheel(wheel_directory, config_settings)
    return made


def build_sdist(*_: object) -> NoReturn:
    """None: the source is the checkout."""
    raise UnsupportedOperation("Tilescope is built from its checkout: make wheel.")


def stage(root: Path, folder: Path) -> None:
    """Lay the tree out in an empty folder as the wheel has it, with a pyproject.toml for it."""
    package = folder / PACKAGE
    ignored = shutil.ignore_patterns("__pycache__", "*.py[co]")
    shutil.copytree(OWN, package, ignore=ignored)
    for name in (*TOP, *DATA):
        shutil.copytree(root / name, package / name, ignore=ignored)
    for path in sorted(package.rglob("*.py")):
        path.write_text(rewritten(path.read_text("utf-8"), str(path)), "utf-8", newline="\n")
    (package / "py.typed").touch()
    for name in ("README.md", "LICENSE"):
        shutil.copy(root / name, folder)
    text = (root / "pyproject.toml").read_text("utf-8")
    (folder / "pyproject.toml").write_text(project_text(text), "utf-8")


def project_text(text: str) -> str:
    """The pyproject.toml of the staged tree: what setuptools needs of the checkout's."""
    project = tomllib.loads(text)["project"]
    commands = "".join(
        f'{name} = "{PACKAGE}.{place}"\n' for name, place in project["scripts"].items()
    )
    kept = text[text.index("[project]") : text.index("[project.scripts]")]
    return (
        '[build-system]\nrequires = ["setuptools>=70.1"]\n'
        f'build-backend = "setuptools.build_meta"\n\n{kept}'
        f"[project.scripts]\n{commands}\n"
        f'[tool.setuptools.packages.find]\ninclude = ["{PACKAGE}", "{PACKAGE}.*"]\n'
        "namespaces = false\n\n"
        f'[tool.setuptools.package-data]\n{PACKAGE} = ["py.typed", "kernels/**", "resources/**"]\n'
    )


def rewritten(source: str, place: str = "a module") -> str:
    """A module's text with each name of a module of this tree inside the package.

    Rewritten are imports, strings that are a module's dotted name (with or without ":attribute"),
    and `python -m …` in texts. Raises UnclearName for `import core.x`, which binds `core`, and for
    the plain strings "core" and "gui" as arguments of a call.
    """
    lines = source.encode().split(b"\n")  # ast counts columns in bytes of UTF-8
    for line, column, old, new in sorted(_edits(ast.parse(source), place), reverse=True):
        text = lines[line - 1]
        at = text.find(old.encode(), column)
        if at < 0:
            raise UnclearName(f"{place}:{line}: `{old}` stands on another line than its statement.")
        lines[line - 1] = text[:at] + new.encode() + text[at + len(old.encode()) :]
    return _RUN.sub(rf"\1{PACKAGE}.", b"\n".join(lines).decode())


def _edits(tree: ast.Module, place: str) -> Iterator[tuple[int, int, str, str]]:
    """Line, column to look from, what stands there and what is to stand there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level and _is_ours(node.module or ""):
            old = f"from {node.module}"
            yield node.lineno, node.col_offset, old, f"from {PACKAGE}.{node.module}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if not _is_ours(alias.name):
                    continue
                if "." not in alias.name and alias.asname is None and len(node.names) == 1:
                    new = f"from {PACKAGE} import {alias.name}"
                    yield node.lineno, node.col_offset, f"import {alias.name}", new
                elif alias.asname is not None:
                    yield alias.lineno, alias.col_offset, alias.name, f"{PACKAGE}.{alias.name}"
                else:
                    raise UnclearName(f"{place}:{node.lineno}: write `from … import …`.")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if _NAMED.fullmatch(node.value) and _is_there(node.value.partition(":")[0]):
                yield node.lineno, node.col_offset, node.value, f"{PACKAGE}.{node.value}"
        elif isinstance(node, ast.Call):
            for argument in node.args:
                if isinstance(argument, ast.Constant) and argument.value in TOP:
                    raise UnclearName(f"{place}:{node.lineno}: write a module's full name.")


def _is_ours(name: str) -> bool:
    return _MODULE.fullmatch(name) is not None


def _is_there(name: str) -> bool:
    """Whether a dotted name is a module's or package's of the checkout."""
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


@contextmanager
def _within(folder: str) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
