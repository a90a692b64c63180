"""Where two launches' accesses cost something else: the search, the commands and the examples."""

import pytest
from PySide6.QtCore import Qt

from core.recording.record_launch import record
from gui.jobs.record_work import make_workload
from gui.scenes.comparisons_to_open import PRESETS
from gui.scenes.configuration import Configuration
from gui.scenes.paired_sessions import Comparison
from gui.scenes.session import Session
from gui.scenes.steps_that_cost_differently import Cost, Pairs, largest_difference, next_difference
from gui.shell.menus import compare_page

MS = 20_000


@pytest.fixture(scope="module")
def block(ladder):
    made = {}

    def get(rung, **values):
        key = (rung, *values.items())
        if key not in made:
            wanted = Configuration(rung, {**ladder[rung].defaults, **values})
            made[key] = record(make_workload(ladder, wanted)[0])
        return made[key].block(0)

    return get


def test_the_next_difference_is_the_next_access_that_costs_something_else(block):
    pairs = Pairs(block("uncoalesced", n=32), block("coalesced", n=32), 0)
    first = next_difference(pairs, -1)
    assert pairs.at(first) == (Cost("global", 32, 32), Cost("global", 32, 1))
    later = next_difference(pairs, first)
    assert later > first
    assert next_difference(pairs, later, forward=False) == first
    assert next_difference(pairs, first, forward=False) is None
    steps = [int(s) for s in pairs.a.access_steps if first < s < later]
    assert all(not mine.differs(theirs, "cost") for mine, theirs in map(pairs.at, steps))


def test_equal_launches_differ_nowhere(block):
    one = block("tiled", n=16, tile=8)
    pairs = Pairs(one, one, 1)
    assert next_difference(pairs, -1) is None
    assert largest_difference(pairs) is None
    assert next_difference(Pairs(one, one, 99), -1) is None, "a warp that is not there"


def test_the_largest_is_no_smaller_than_any(block):
    pairs = Pairs(block("aat_strided", n=64, block_x=32), block("aat_shared", n=64, tile=32), 0)
    found = largest_difference(pairs)

    def ratio(step):
        mine, theirs = pairs.at(step)
        if theirs is None or mine.space != theirs.space:
            return 1.0
        return max(mine.amount / theirs.amount, theirs.amount / mine.amount)

    ratios = {int(step): ratio(int(step)) for step in pairs.a.access_steps}
    assert ratios[found] == max(ratios.values()) > 1
    assert found == min(step for step, value in ratios.items() if value == ratios[found])


def test_b_looks_as_a_does_from_its_first_launch_on(block, ladder):
    a, b = Session(), Session()
    pair = Comparison(a, b)
    pair.active = True
    made = {r: record(make_workload(ladder, Configuration(r, {**ladder[r].defaults, "n": 8}))[0])
            for r in ("uncoalesced", "coalesced")}  # fmt: skip
    a.trace = made["uncoalesced"]
    a.update(heat=True, close_up=True, warp_trail=True, counts_by="line")
    b.trace = made["coalesced"]
    assert (b.heat, b.close_up, b.warp_trail, b.counts_by) == (True, True, True, "line")
    pair.close()


@pytest.mark.slow
def test_examples_open_where_the_sides_differ(window, qtbot):
    page = compare_page(window)
    a, b = window.session, page.comparing.b
    for title in ("[32][32] and [32][33]", "Coalesced and tiled", "Any N: guards and none"):
        preset = next(p for p in PRESETS if p.title == title)
        a.heat = False
        page.comparing.show_preset(preset)
        qtbot.waitUntil(lambda: page.comparing.differing._example is None, timeout=MS)
        qtbot.waitUntil(lambda: not page.comparing.differing.search.busy, timeout=MS)
        mine, theirs = Pairs(a.block_trace, b.block_trace, a.warp).at(a.step)
        if preset.opens == "end":
            assert a.step == a.n_steps - 1
            assert a.heat
            assert b.heat
        elif preset.opens == "lanes":
            assert mine.lanes < theirs.lanes
        else:
            assert (mine.amount, theirs.amount) == (32, 1)
            assert all(side.shared.isVisible() for side in page.sides)


@pytest.mark.slow
def test_keys_and_button_go_through_the_differences(window, qtbot):
    window.moments.open_link("uncoalesced?n=16&vs=coalesced")
    page = compare_page(window)
    session, search = window.session, page.comparing.differing.search
    qtbot.waitUntil(lambda: page.comparing.b.trace is not None and session.trace is not None)
    session.first()
    seen = []
    for _ in range(2):
        page.next.click()
        qtbot.waitUntil(lambda: not search.busy)
        seen.append(session.step)
    assert 0 < seen[0] < seen[1]
    qtbot.keyClick(window, Qt.Key.Key_D, Qt.KeyboardModifier.ShiftModifier)
    qtbot.waitUntil(lambda: not search.busy)
    assert session.step == seen[0]
    qtbot.keyClick(window, Qt.Key.Key_D)
    qtbot.waitUntil(lambda: not search.busy)
    assert session.step == seen[1]
    session.last()
    qtbot.keyClick(window, Qt.Key.Key_D)
    qtbot.waitUntil(lambda: "after this" in window.message.sentence)
    assert session.step == session.n_steps - 1
