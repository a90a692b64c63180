"""docs/lessons.md has what the program has."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from core.lessons.lesson import KINDS, TARGETS
from core.lessons.lesson_check import check_lesson
from core.lessons.lesson_files import read_lesson

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", ["lessons_page.py", "glossary_page.py"])
def test_the_page_is_up_to_date(name):
    done = subprocess.run([sys.executable, ROOT / "scripts" / name, "--check"], check=False)
    assert done.returncode == 0, f"run scripts/{name}"


def test_the_example_of_the_page_is_a_lesson(tmp_path):
    page = (ROOT / "docs" / "lessons.md").read_text(encoding="utf-8")
    start = page.index('    id = "my-1"')
    example = page[start : page.index("\n### ", start)]
    file = tmp_path / "example.toml"
    file.write_text(textwrap.dedent(example), encoding="utf-8")
    lesson = read_lesson(file)
    results = list(check_lesson(lesson))
    assert [str(trouble) for trouble in results if trouble is not None] == []
    assert len(results) == 5


def test_the_page_names_every_kind_and_target():
    page = (ROOT / "docs" / "lessons.md").read_text(encoding="utf-8")
    assert [name for name in (*KINDS, *TARGETS) if f"`{name}`" not in page] == []
