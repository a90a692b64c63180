"""The window's two commands: what they are given, and the one that needs no display."""

import pytest

from core.errors import ParameterError
from core.links import Link
from gui import headless
from gui.shell import app
from gui.shell.app import parse, parse_start
from gui.shell.session_persistence import theme_of


def test_the_command_line(ladder, tmp_path):
    options = parse(["tiled?n=4&tile=2&step=12", "--set", "n=8", "--fresh"])
    assert options.fresh
    start = parse_start(options.rung, {"n": 8}, ladder)
    assert start == Link("tiled", {"n": 8, "tile": 2}, step=12)
    assert parse_start(None, {}, ladder) is None
    assert parse_start("coalesced", {}, ladder) == Link("coalesced", ladder["coalesced"].defaults)
    assert parse_start("a/b.cu", {}, ladder).name == "b.cu"
    with pytest.raises(ParameterError):
        parse_start("tile", {}, ladder)
    with pytest.raises(ParameterError):
        parse_start("tiled?n=", {}, ladder)
    assert theme_of(None, None) == "light"


@pytest.mark.parametrize(
    "wrong", [["--set", "n=--5"], ["--set", "n=²"], ["--theme", "pink"], ["--size", "large"]]
)
def test_wrong_options_are_a_sentence(capsys, qapp, wrong):
    for main in (app.main, headless.main):
        try:
            status = main(wrong)
        except SystemExit as left:  # argparse
            status = left.code
        assert status == 2
        assert wrong[1] in capsys.readouterr().err


@pytest.mark.slow
def test_the_headless_run_prints_the_table_and_writes_pictures(tmp_path, capsys, qapp):
    assert headless.main([str(tmp_path), "--size", "1280x800"]) == 0
    text = capsys.readouterr().out
    assert "sectors" in text
    assert "Stepped" in text
    pictures = sorted(tmp_path.glob("*.png"))
    assert len(pictures) >= 5
    assert all(p.stat().st_size > 20_000 for p in pictures)
    assert headless.main([str(tmp_path), "--set", "n=0"]) == 2
