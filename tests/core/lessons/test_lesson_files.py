"""A lesson of somebody's own: it is read, checked, and every mistake in it is one sentence."""

import pytest

from core.emulator.machine import Limits
from core.ladder import load_ladder
from core.lessons import launch_cache
from core.lessons.lesson import Choice, Edit, Number
from core.lessons.lesson_check import check_lesson
from core.lessons.lesson_expressions import LessonError
from core.lessons.lesson_files import inside, must_include_nothing_else, read_lesson
from core.links import pack, parse_link
from tests.core.lessons.lesson_texts import GOOD, KERNEL, LADDER, write_lesson


def test_a_lesson_of_ones_own_is_read_and_passes(tmp_path):
    lesson = read_lesson(write_lesson(tmp_path))
    assert [step.name for step in lesson.steps] == ["own-1.1", "own-1.2", "own-1.3"]
    assert [type(step.question) for step in lesson.steps] == [Number, Choice, Edit]
    assert lesson.steps[0].veil == {"warp.figures", "phases:1"}
    assert lesson.steps[0].sets == ({"stride": 1}, {"stride": 3})
    assert "twice" in lesson.ladder
    assert [trouble for trouble in check_lesson(lesson) if trouble] == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('id = "own-1"', 'id = "own 1"', "`id` is a short name"),
        ('title = "Strides"', "", "needs `title`"),
        ('aim = "', 'goal = "', "no field `goal`"),
        ('title = "Strides"', "title = 3", "`title` is a text"),
        ("[[step]]", "[[steps]]", "not valid TOML"),
        ("copy_stride?", "copy_strides?", "names no kernel"),
        ("stride=2", "stride=2&vs=./own.cu", "leads to a source of one's own"),
        ("stride=2", f"stride=2&vs=copy_stride&vs.source={pack('int i;')}", "of one's own"),
        ("stride=2", "strid=2", "sets `strid`"),
        ("stride=2", "stride=0", "too small"),
        ("stride=2", "stride=two", "whole number"),
        ("stride=2", "stride", "not NAME=VALUE"),
        ("load:A@phase1", "lod:A@phase1", "names no step"),
        ('kind = "number"', 'kind = "numbers"', "number, choice"),
        ('"warp.figures"', '"warp.figure"', "did you mean warp.figures"),
        ('"sector", "ring"', '"sectr"', "did you mean sector"),
        ('"sector", "ring"', "", "needs `concepts`"),
        ('belief = "M1"', 'belief = "M99"', "no belief M99"),
        ('answer = "sectors()"', 'answer = "sectrs()"', "sectrs is not a word"),
        ('answer = "sectors()"', 'answer = "sectors(strde=3)"', "takes no strde"),
        ('answer = "sectors()"', 'answer = "bank()"', "needs lane"),
        ('answer = "sectors()"', 'answer = "sectors(0, 1)"', "write sectors(warp=0)"),
        ('answer = "sectors()"', 'answer = "width"', "uses the name width"),
        ('answer = "sectors()"', 'answers = "sectors()"', "needs `answer`"),
        ("{sectors()} of them", "{sectors( of them", "single `{`"),
        ("vary = { stride = [1, 3] }", "vary = { strid = [1] }", "`vary` sets strid"),
        ("vary = { stride = [1, 3] }", 'vary = { stride = ["a"] }', "not a whole number"),
        ("vary = { stride = [1, 3] }", "vary = 3", "`vary` is"),
        ('solution = "solution.cu"', 'solution = "../own.toml"', "outside the lesson's folder"),
        ('solution = "solution.cu"', 'solution = "/etc/hostname"', "outside the lesson's folder"),
        ('solution = "solution.cu"', 'solution = "gone.cu"', "no file"),
        ('solution = "solution.cu"', 'solution = "rung:gone"', "no kernel called gone"),
        ('when = "right()"', "", "needs `when`"),
        ('say = "A[0,2]"', 'say = "A[0,2]"\nwhem = "1"', "did you mean `when`"),
    ],
)  # fmt: skip
def test_a_mistake_is_a_sentence_with_its_place(tmp_path, old, new, said):
    assert old in GOOD
    file = write_lesson(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(LessonError) as error:
        read_lesson(file)
    assert said in str(error.value)
    assert str(error.value).startswith("own.toml")
    assert "\n" not in str(error.value)


def test_the_place_is_a_line_and_a_step(tmp_path):
    file = write_lesson(tmp_path, GOOD.replace("element(0) == A[0,2]", "elemnt(0) == A[0,2]"))
    line = 1 + GOOD[: GOOD.index('[[step]]\nlink = "tiled')].count("\n")
    with pytest.raises(LessonError, match=rf"own.toml, line {line}, step own-1.2: `elemnt"):
        read_lesson(file)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("load:A@phase1", "load:A@phase7", "has no step"),
        ("element(0) == A[0,2]", "element(0) == A[0,3]", "none of the choices holds"),
        ('reply = "That was phase 0."', 'when = "1 < 2"', "2 of the choices hold"),
        ('say = "A[0,0]"', 'say = "A[0,2]"', "read the same"),
        ('given = "ideal()"', 'given = "sectors()"', "is right"),
        ("Stride {stride}:", "So", "reads as in another variant"),
        ('when = "right()"', 'when = "findings() < 0"', "does not meet the goal"),
        ('when = "right()"', 'when = "findings() == 0"', "start meets every goal"),
        ('"One.", "Two.", "Three."', '"One."', "has 3 hints"),
        ('answer = "sectors()"', 'answer = "element(0)"', "a number is wanted"),
        ('answer = "sectors()"', 'answer = "sectors(9)"', "no warp 9"),
        ('answer = "sectors()"', 'answer = "wavefronts()"', "about shared memory"),
        ('answer = "sectors()"', 'answer = "total(\\"sectors\\")"', "no counter sectors"),
    ],
)  # fmt: skip
def test_what_only_running_shows(tmp_path, old, new, said):
    text = GOOD.replace(old, new, 1)
    assert text != GOOD
    lesson = read_lesson(write_lesson(tmp_path, text))
    troubles = [str(trouble) for trouble in check_lesson(lesson) if trouble is not None]
    assert any(said.lower() in trouble.lower() for trouble in troubles), troubles


@pytest.mark.slow
def test_a_kernel_that_never_ends_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(launch_cache, "LIMITS", Limits(instructions=5000))
    endless = KERNEL.replace("C[i] = 2.0f * A[i];", "while (A[i] < 5.0f) C[i] = A[i];")
    lesson = read_lesson(write_lesson(tmp_path, kernel=endless))
    troubles = [trouble for trouble in check_lesson(lesson) if trouble is not None]
    assert troubles
    assert all("\n" not in str(trouble) for trouble in troubles)


@pytest.mark.parametrize(
    "include",
    [
        '#include "/etc/hostname"',
        '#include "../secret.h"',
        '#include "tools.cuh"',
        "#include </etc/hostname>",
        "#include <../secret.h>",
        "#include WHERE",
        "# /**/ include WHERE",
        "#\\\ninclude \"/etc/hostname\"",
        "%:include WHERE",
        "??=include WHERE",
        '#embed "/etc/hostname"',
        'char* a = "/*";\n#include "/etc/hostname"\nchar* b = "*/";',
        'char* a = "/*";\n# /* x */ include WHERE\nchar* b = "*/";',
        "/* x */ #include_next WHERE",
        '#inc\\\nlude "/etc/hostname"',
    ],
)  # fmt: skip
def test_a_kernel_includes_nothing_from_elsewhere(include):
    with pytest.raises(LessonError, match="may include"):
        must_include_nothing_else(f"int a;\n{include}\nint b;", "x.cu")


@pytest.mark.parametrize(
    "include", ["#include <cuda_fp16.h>", "#include <cub/cub.cuh> // all", "# include<mma.h>"]
)
def test_a_kernel_includes_cudas_headers(include):
    must_include_nothing_else(f"{include}\nint b;", "x.cu")


@pytest.mark.parametrize(
    "name",
    ["../x", "/etc/hostname", "a/../../x", "..", "C:\\x", "\\\\host\\x", "a\0b", "~/../../x"],
)
def test_a_name_that_leads_elsewhere(tmp_path, name):
    with pytest.raises(LessonError, match="outside"):
        inside(tmp_path / "lessons", name)


def test_a_link_that_leads_elsewhere(tmp_path):
    (tmp_path / "secret.cu").write_text(KERNEL)
    home = tmp_path / "lesson"
    file = write_lesson(home)
    (home / "solution.cu").unlink()
    (home / "solution.cu").symlink_to(tmp_path / "secret.cu")
    with pytest.raises(LessonError, match="outside"):
        read_lesson(file)


def test_a_registry_that_leads_elsewhere(tmp_path):
    (tmp_path / "secret.cu").write_text(KERNEL)
    file = write_lesson(tmp_path / "a", ladder=LADDER.replace("twice.cu", "../../secret.cu"))
    with pytest.raises(LessonError, match="use the name of a file"):
        read_lesson(file)


@pytest.mark.parametrize(
    "text", ["", "[", "x = " + "[" * 50_000, "\ufeff", "id = 'a'\ntitle = 'b'\nstep = []"]
)
def test_what_is_no_lesson(tmp_path, text):
    with pytest.raises(LessonError, match=r"own\.toml"):
        read_lesson(write_lesson(tmp_path, text))


def test_counting_a_kernel_that_never_ends_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(launch_cache, "LIMITS", Limits(instructions=5000))
    endless = KERNEL.replace("C[i] = 2.0f * A[i];", "while (A[i] < 5.0f) C[i] = A[i] * i;")
    text = GOOD.replace('when = "right()"', 'when = "loads() < 9"')
    file = write_lesson(tmp_path, text)
    (tmp_path / "solution.cu").write_text(endless)
    lesson = read_lesson(file)
    troubles = [str(trouble) for trouble in check_lesson(lesson) if trouble is not None]
    assert any("does not meet the goal" in trouble for trouble in troubles)


@pytest.mark.parametrize("name", ["..", ".", "", "gone.cu"])
def test_a_registry_that_names_no_file(tmp_path, name):
    with pytest.raises(LessonError, match=r"own\.toml"):
        read_lesson(write_lesson(tmp_path, ladder=LADDER.replace("twice.cu", name)))


def test_other_numbers_move_the_pages_along():
    ladder = load_ladder()
    link = parse_link("tiled?n=64&tile=16&page=occupancy&threads=512", ladder)
    varied = link.varied({"threads": 384, "device": "T4", "tile": 8, "own": "x"}, ladder)
    assert dict(varied.looks) == {"page": "occupancy", "threads": 384, "device": "T4"}
    assert varied.parameters["tile"] == 8
    assert parse_link(str(varied), ladder) == varied, "as the window reads it"
