"""Nsight Compute's counters beside those of the shown launch, in the whole window."""

from dataclasses import replace
from pathlib import Path

import pytest

from gui.commands.nsight_profile import NO_LAUNCH
from gui.scenes.configuration import Profile
from gui.scenes.counter_table import CounterRow
from gui.scenes.nsight_profile_table import (
    ProfileRow,
    first_difference,
    profile_caption,
    profile_rows,
)

DATA = Path(__file__).parents[1] / "data" / "ncu"
PRINTED = DATA / "as_compiled-printed.csv"
COUNTING_MS = 30_000


def record(window, qtbot, rung, parameters):
    with qtbot.waitSignal(window.recorder.recorded, timeout=COUNTING_MS):
        window.recorder.configure(rung, parameters)


def compare(window, qtbot, path):
    profiling = window.commands.profiling
    with qtbot.waitSignal(profiling.worker.idle, timeout=COUNTING_MS):
        profiling.compare(path)
    return window.step_page.views["Counters"]


def rows_of(view):
    return [r for r in view.beside.rows if isinstance(r, ProfileRow)]


@pytest.fixture
def tiled(window, qtbot):
    record(window, qtbot, "tiled", {"n": 96, "tile": 8})
    return window


def spoiled(tmp_path, by):
    """The profile with every sector stored by one launch's kernel counted more often."""
    metric = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
    lines = PRINTED.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.startswith('"5"') and metric in line)
    head, value, tail = lines[at].rsplit('"', 2)
    changed = int(value.replace(",", "")) + by
    lines[at] = f'{head}"{changed}"{tail}'
    path = tmp_path / "spoiled.csv"
    path.write_text("".join(lines))
    return path


@pytest.mark.slow
def test_the_table_has_nsights_values_beside_ours(tiled, qtbot):
    view = compare(tiled, qtbot, PRINTED)
    assert tiled.session.counts_by == "profile"
    assert view.tables.currentWidget() is view.beside_table
    assert not view.grouping.button("profile").isHidden()
    profile = tiled.session.profile
    counted = {c.name: c.ours for c in profile.comparison.counters}
    found = {(r.place, r.what): (r.ours, r.theirs, r.difference) for r in rows_of(view)}
    for place, what, name in (
        ("global loads", "sectors", "global_ld_sectors"),
        ("shared stores", "wavefronts", "shared_st_wavefronts"),
    ):
        assert counted[name]
        assert found[place, what] == (counted[name], counted[name], "=")
    there = [c for c in profile.comparison.counters if c.theirs is not None]
    assert f"all {len(there)} counters equal" in view.caption.text()
    assert "launch 5" in view.caption.text()


@pytest.mark.slow
def test_a_row_that_differs_is_marked_and_explained(tiled, qtbot, tmp_path):
    view = compare(tiled, qtbot, spoiled(tmp_path, 3))
    (row,) = [r for r in rows_of(view) if not r.equal]
    assert (row.place, row.what, row.difference) == ("global stores", "sectors", "+3")
    assert row.why
    assert view.beside.bold(row, 0)
    assert view.beside.color(row, 2) == "conflict"
    assert row.why in view.caption.text().replace("\u202f", ",")
    other = next(r for r in rows_of(view) if r.equal)
    view.beside_table.selectRow(view.beside.rows.index(other))
    assert other.name in view.caption.text()
    assert row.why not in view.caption.text()


@pytest.mark.slow
def test_another_launch_takes_the_profile_away(tiled, qtbot):
    view = compare(tiled, qtbot, PRINTED)
    record(tiled, qtbot, "tiled", {"n": 64, "tile": 8})
    assert tiled.session.profile is None
    assert tiled.session.counts_by == "array"
    assert view.tables.currentWidget() is view.table
    assert any(isinstance(row, CounterRow) for row in view.model.rows)
    assert view.grouping.button("profile").isHidden()


@pytest.mark.slow
def test_what_cannot_be_compared_gets_one_sentence(window, qtbot, tmp_path, monkeypatch):
    window.commands.profiling.ask_and_compare()
    assert window.message.sentence == NO_LAUNCH
    record(window, qtbot, "tiled", {"n": 8, "tile": 4})
    view = compare(window, qtbot, PRINTED)
    assert "The profile has no launch of tiled with grid 2 × 2" in window.message.sentence
    text = tmp_path / "notes.csv"
    text.write_text("nothing of ncu's\n")
    compare(window, qtbot, text)
    assert "no CSV of Nsight Compute" in window.message.sentence
    compare(window, qtbot, tmp_path / "gone.csv")
    assert "gone.csv cannot be read" in window.message.sentence
    assert window.session.profile is None
    assert view.tables.currentWidget() is view.table


@pytest.mark.slow
def test_the_table_by_line_selects_lines_and_veils_hide_it(window, qtbot):
    """A report's figures by line, made of a comparison: not every machine reads reports."""
    from core.ladder import load_ladder
    from core.nsight import ComparedLine, compare, read_profile

    workload = load_ladder()["tiled"].blank_workload(n=96, tile=8)
    found = compare(read_profile(PRINTED), workload)
    lines = (ComparedLine(24, "global sectors", 7, 7.0), ComparedLine(30, "global sectors", 5, 9.0))
    profile = Profile(replace(found, lines=lines, more=2), workload, "r.ncu-rep")
    rows = profile_rows(profile)
    assert [r.line for r in rows if isinstance(r, ProfileRow)][-2:] == [24, 30]
    assert first_difference(rows).line == 30
    assert "1 of 2 figures by line; 2 more" in profile_caption(profile)
    record(window, qtbot, "tiled", {"n": 96, "tile": 8})
    session, view = window.session, window.step_page.views["Counters"]
    session.update(profile=profile, counts_by="profile")
    window.step_page.front("Counters")
    qtbot.waitUntil(lambda: bool(view.beside.rows))
    place = len(view.beside.rows) - 1
    view.beside_table.clicked.emit(view.beside.index(place, 0))
    assert session.line == 30
    session.update(veiled=["counters"])
    assert view.tables.currentWidget() is view.table
    assert not view.model.rows
    assert "Nsight" not in view.caption.text()
