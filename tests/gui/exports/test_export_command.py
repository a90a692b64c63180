"""`tilescope export`, from the command line to the file."""

import pytest

from core.cli.app import main
from core.cli.export import size_of, steps_of
from core.errors import ParameterError
from core.recording.record_launch import record
from core.recording.trace_files import save_trace


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", (None, None)), ("3..40", (3, 40)), ("..7", (None, 7)), ("9..", (9, None)), ("5", (5, 5))],
)
def test_steps_are_read(text, expected):
    assert steps_of(text) == expected


@pytest.mark.parametrize("text", ["a", "3-4", "1..2..3", "-1..4"])
def test_wrong_steps_are_a_sentence(text):
    with pytest.raises(ParameterError, match=r"write them as 0\.\.40"):
        steps_of(text)


def test_steps_that_count_downwards_are_a_sentence():
    with pytest.raises(ParameterError, match=r"write them as 3\.\.7"):
        steps_of("7..3")


def test_sizes_are_read():
    assert size_of("1280x720") == (1280, 720)
    for text in ("1280", "0x0", "99999x99999", "12x720"):
        with pytest.raises(ParameterError, match="1920x1080"):
            size_of(text)


@pytest.fixture
def run(qapp, capsys, monkeypatch):
    def run(*arguments):
        status = main(["export", *map(str, arguments)])
        printed = capsys.readouterr()
        return status, printed.out, " ".join(printed.err.split())

    return run


def test_a_rungs_page_is_written(run, tmp_path):
    out = tmp_path / "mine é.html"
    status, said, _ = run("tiled?n=6&tile=2", "-o", out, "--steps", "2..9", "--views", "Warp")
    assert status == 0
    assert "8 steps" in said
    text = out.read_text("utf-8")
    assert "Warp and global memory" in text
    assert "<title>Tiled</title>" in text


def test_a_saved_traces_page_is_written_whatever_its_name(run, ladder, tmp_path):
    saved, out = tmp_path / "kept.trace", tmp_path / "mine.html"
    save_trace(record(ladder["tiled"].workload(n=6, tile=2)), saved)
    status, _, _ = run(saved, "-o", out, "--steps", "2..9", "--views", "Warp")
    assert status == 0
    assert "<title>Tiled</title>" in out.read_text("utf-8")


@pytest.mark.slow
def test_an_own_files_page_is_written(run, tmp_path):
    source = tmp_path / "add one.cu"
    source.write_text(
        "__global__ void addOne(float* v, int n) {\n  int i = threadIdx.x;\n"
        "  if (i < n) v[i] += 1.0f;\n}\n"
    )
    out = tmp_path / "x.html"
    status, _, err = run(source, "-o", out, "--theme", "dark")
    assert (status, err) == (0, "")
    assert "addOne in add one.cu" in out.read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nothing", "-o", "x.html"), "names no kernel"),
        (("tiled", "-o", "x.doc"), "end its name with .html, .mp4"),
        (("tiled", "-o", "x.html", "--theme", "pink"), "no theme pink"),
        (("tiled", "-o", "x.html", "--views", "Tiles"), "no view Tiles"),
        (("tiled", "-o", "nowhere/x.html"), "nowhere"),
        (("tiled?n=6&tile=2", "-o", "x.html", "--steps", "900.."), "not 900.."),
        (("tiled?n=6&tile=2", "-o", "x.html", "--steps", "6..900"), "some of them, not 6..900"),
        (("tiled?n=6&tile=2&step=9999", "-o", "x.html"), "step 9999 (the last is step="),
        (("tiled?n=6&tile=2", "-o", "x.gif", "--speed", "0"), "0.05 to 60 steps a second"),
        (("tiled?n=6&tile=2", "-o", "x.gif", "--speed", "nan"), "0.05 to 60 steps a second"),
        (("1a", "-o", "frames/"), "A lesson is exported as a page"),
    ],
)
def test_a_mistake_is_one_sentence(run, tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    status, _, err = run(*arguments)
    assert status == 2
    assert sentence in err
    assert not list(tmp_path.iterdir())
