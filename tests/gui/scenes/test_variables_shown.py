"""Variables of a thread and of its warp, without Qt."""

import pytest

from core.ladder import load_ladder
from core.recording.record_launch import record
from gui.scenes.numbers_and_sentences import variable_text
from gui.scenes.session import Session
from gui.scenes.variables_shown import builtin_rows, table_rows, variable_rows, variables_caption


def test_variables_of_a_thread_and_of_its_warp(session):
    session.update(step=40, thread=37)
    rows = {r.name: r for r in variable_rows(session, warp_table=True)}
    assert rows["row"].value == "4"
    assert rows["column"].value == "5"
    assert rows["column"].lanes == tuple(str(i % 8) for i in range(32))
    assert rows["k"].uniform
    assert not rows["column"].uniform


def test_changed_variables_are_named(session):
    session.step = 0
    while "row" not in {r.name for r in variable_rows(session)}:
        session.seek("line")
    assert [r.name for r in variable_rows(session) if r.changed] == ["row"]
    assert variables_caption(session, variable_rows(session)).endswith("row just changed.")


def test_builtins_are_cudas(session):
    session.update(block=2, thread=11)
    assert dict(builtin_rows(session)) == {
        "threadIdx": "(3, 1, 0)",
        "blockIdx": "(0, 1, 0)",
        "blockDim": "(8, 8, 1)",
        "gridDim": "(2, 2, 1)",
    }


@pytest.mark.slow
def test_a_local_array_has_a_row_for_each_element():
    """16 sums of a thread: rows of their own, after the others, of which one changes at a time."""
    session = Session()
    session.trace = record(load_ladder()["tile_2d"].workload())
    block = session.block_trace
    whole = {v.name: v.value for v in block.variables(block.n_steps // 2, 3)}["values"]
    session.update(step=block.n_steps // 2, thread=3)
    rows = {row.name: row for row in variable_rows(session, warp_table=True)}
    names = list(rows)
    assert "values" not in rows
    assert names.index("values[0][0]") > names.index("phase")
    for place, value in enumerate(whole):
        row = rows[f"values[{place // 4}][{place % 4}]"]
        assert (row.type, row.value, row.lanes[3]) == ("float", variable_text(value), row.value)
    added = 0
    for step in range(134, 180):  # the first products are added
        session.step = step
        rows = variable_rows(session)
        changed = [r.name for r in rows if r.changed and r.name.startswith("values[")]
        old, new = (
            {v.name: v.value for v in block.variables(at, 3)}["values"] for at in (step - 1, step)
        )
        places = [place for place in range(16) if old[place] != new[place]]
        assert changed == [f"values[{place // 4}][{place % 4}]" for place in places]
        added += len(changed)
    assert added >= 8


def test_rows_of_the_table_end_with_cudas_own_and_pointers(session):
    session.step = 8
    rows = table_rows(session, warp_table=True)
    names = [row.name for row in rows]
    given = [row.name for row in rows if row.given]
    assert given == ["threadIdx", "blockIdx", "blockDim", "gridDim"]
    first = names.index("threadIdx")
    assert all(row.pointer for row in rows[first + 4 :])
    assert not any(row.pointer for row in rows[:first])
    threads = rows[first]
    assert threads.lanes[:2] == ("(0, 0, 0)", "(1, 0, 0)")
    assert not threads.uniform
    assert rows[first + 1].uniform
