"""The repository is laid out as its documents say, and `core` and `gui` are ours."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import core
import gui

ROOT = Path(__file__).resolve().parents[1]
TOP_LEVEL = {
    ".ci",
    ".github",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "core",
    "docs",
    "gui",
    "kernels",
    "pyproject.toml",
    "resources",
    "scripts",
    "tests",
}


@pytest.mark.parametrize("package", [core, gui])
def test_package_lies_in_this_repository(package):
    assert Path(package.__file__).resolve().is_relative_to(ROOT)


@pytest.mark.parametrize("folder", ["kernels", "resources"])
def test_data_folders_hold_no_python(folder):
    assert (ROOT / folder).is_dir()
    assert not list((ROOT / folder).rglob("*.py"))


def test_top_level_holds_nothing_unexpected():
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        [git, "-c", f"safe.directory={ROOT}", "ls-files", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert {name.split("/")[0] for name in listed.split("\0") if name} <= TOP_LEVEL


def names_nothing(name: str) -> bool:
    """Whether a dotted name such as `core.trace.block.BlockTrace` is none of this program's."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        place = ROOT.joinpath(*parts[:end])
        package = place / "__init__.py"
        file = package if package.is_file() else place.with_suffix(".py")
        if file.is_file():
            rest = parts[end:]
            return bool(rest) and not re.search(rf"\b{rest[0]}\b", file.read_text("utf-8"))
    return True


@pytest.mark.parametrize("package", ["core", "gui"])
def test_comments_name_modules_that_are_there(package):
    folders = ("core", "gui", "scripts", "tests")
    files = {path.name for folder in folders for path in (ROOT / folder).rglob("*.py")}
    stale = []
    for path in sorted((ROOT / package).rglob("*.py")):
        text = path.read_text("utf-8")
        stale += [(path, n) for n in re.findall(r"`(\w+\.py)`", text) if n not in files]
        named = re.findall(r"`((?:core|gui)\.[\w.]+)`", text)
        stale += [(path, name) for name in named if names_nothing(name)]
    assert stale == []
