"""Colours, totals and the caption of the source pane."""

from gui.scenes.source_pane import highlight, line_totals, source_caption
from tests.gui.fake_trace import SOURCE


def test_source_is_coloured_line_by_line():
    lines = highlight(SOURCE)
    assert len(lines) == SOURCE.count("\n") + 1
    assert [s.category for s in lines[0]] == ["comment"]
    for text, spans in zip(SOURCE.split("\n"), lines, strict=True):
        assert all(s.start >= 0 and s.start + s.length <= len(text) for s in spans)
    row = SOURCE.split("\n")[6]
    builtins = {row[s.start : s.start + s.length] for s in lines[6] if s.category == "builtin"}
    assert builtins >= {"blockIdx", "threadIdx"}


def test_line_totals_add_up(trace):
    totals = line_totals(trace)
    assert totals[12]["sectors"].text == "64/64"
    assert totals[17]["wavefronts"].actual == 256
    assert not totals[17]["wavefronts"].wasteful
    assert 14 not in totals


def test_source_caption_follows_the_line(session):
    assert source_caption(session) == (
        "Line 12, over the launch: 64 global sectors, none wasted; "
        "16 shared wavefronts, none wasted."
    )
    session.step = 0
    assert source_caption(session) == "Line 7 runs; it touches no memory."
