"""Two launches on one clock: what follows what, and what the difference is. No window."""

import numpy as np
import pytest

from core.errors import ParameterError
from core.recording.record_launch import record
from gui.jobs.record_work import make_workload
from gui.looks.theme import theme_names
from gui.scenes.comparisons_to_open import PRESETS
from gui.scenes.configuration import Configuration, Origin
from gui.scenes.launch_differences import Difference, differences, verdict
from gui.scenes.matching_steps import same_place
from gui.scenes.moment_links import configuration_of, link_to, window_link
from gui.scenes.paired_sessions import Comparison, launch_text, moment_text
from gui.scenes.selection import Hover
from gui.scenes.session import Session


@pytest.fixture(scope="module")
def launches(ladder):
    made = {}

    def get(rung, **values):
        key = (rung, *values.items())
        if key not in made:
            wanted = Configuration(rung, {**ladder[rung].defaults, **values})
            workload, original = make_workload(ladder, wanted)
            made[key] = record(workload), Origin(wanted, original)
        session = Session()
        session.trace, session.origin = made[key]
        return session

    return get


@pytest.fixture
def compared(launches):
    made = []

    def get(one, other):
        pair = Comparison(launches(one[0], **one[1]), launches(other[0], **other[1]))
        pair.active = True
        made.append(pair)
        return pair

    yield get
    for pair in made:
        pair.close()


def tile(width, n=16):
    return "tiled", {"n": n, "tile": width}


def test_the_clock_of_one_moves_the_other_by_phases(compared):
    pair = compared(tile(4), tile(8))
    starts = [phase.first for phase in pair.b.block_trace.phases]
    pair.a.step = pair.a.block_trace.phases[2].first
    assert (pair.b.step, pair.b.phase) == (starts[1], 1)
    pair.a.last()
    assert pair.b.step == pair.b.n_steps - 1
    pair.a.first()
    assert pair.b.step == 0


def test_a_click_on_the_other_side_moves_the_first(compared):
    pair = compared(tile(4), tile(8))
    pair.b.step = pair.b.block_trace.phases[1].first
    assert pair.a.phase == 2
    assert pair.b.phase == 1, "it stays where it was put"


def test_the_other_side_never_moves_the_one_that_leads(compared):
    """Moving B to A's moment must not round A's step to one that B has."""
    pair = compared(tile(4), tile(16))
    for step in range(pair.a.n_steps):
        pair.a.step = step
        assert pair.a.step == step


def test_warp_lane_line_and_element_are_shared(compared):
    pair = compared(tile(8), tile(4))
    pair.a.thread = 37
    assert pair.b.thread == 15, "its last"
    pair.a.update(thread=9, element=("A", (3, 2)), line=24)
    assert (pair.b.thread, pair.b.element, pair.b.line) == (9, ("A", (3, 2)), 24)
    pair.a.element = ("tile_a", (7, 7))
    assert pair.b.element == ("A", (3, 2)), "a tile of 4 has no such element"
    pair.a.element = None
    assert pair.b.element is None


def test_a_line_of_another_source_is_left_alone(compared):
    pair = compared(tile(8), ("coalesced", {"n": 16}))
    pair.a.line = 24
    assert pair.b.line is None


def test_what_the_pointer_rests_on_lights_up_where_it_exists(compared):
    pair = compared(tile(8), ("coalesced", {"n": 16, "block_x": 4, "block_y": 2}))
    pair.a.hover = Hover(thread=30, element=("A", (1, 1)), line=24, bank=3)
    assert pair.b.hover == Hover(thread=None, element=("A", (1, 1)), line=None, bank=3)
    pair.a.hover = Hover(thread=5, element=("tile_a", (0, 0)))
    assert pair.b.hover == Hover(thread=5)
    pair.a.hover = None
    assert pair.b.hover is None


def test_the_block_is_the_one_with_the_same_part_of_the_matrix(compared):
    pair = compared(tile(4), tile(8))  # grids of 4 x 4 and 2 x 2
    pair.a.block = 4 * 2 + 3
    assert pair.b.block == 2 * 1 + 1
    pair.a.block = 4 * 1 + 2
    assert pair.b.block == 1
    pair.b.block = 2
    assert pair.a.block == 8


def test_places_in_another_grid():
    assert same_place(5, (4, 4, 1), (4, 4, 1)) == 5
    assert same_place(11, (4, 4, 1), (2, 2, 1)) == 3
    assert same_place(3, (2, 2, 1), (6, 4, 1)) == 15
    assert same_place(7, (2, 2, 2), (1, 1, 1)) == 0


def test_a_block_that_is_not_recorded_is_asked_for(compared, launches):
    pair = compared(tile(4), tile(8))
    asked = []
    pair.b.block_wanted.connect(asked.append)
    pair.b.trace = record(pair.b.trace.workload, blocks=[0], only_recorded=True)
    assert pair.b.trace.recorded_blocks == (0,)
    pair.a.block = 15
    assert asked == [3]
    assert pair.b.block == 0


def test_another_launch_on_either_side_joins_the_clock(compared, launches):
    pair = compared(tile(4), tile(8))
    pair.a.step = pair.a.block_trace.phases[2].first
    pair.b.trace = launches(*[tile(16)[0]], **tile(16)[1]).trace
    assert pair.b.phase == 0
    pair.b.trace = launches("coalesced", n=16).trace
    assert pair.b.phase == 8, "half of what there is to sum"
    pair.a.trace = launches("tiled", n=16, tile=8).trace
    assert pair.a.phase == 1
    assert pair.b.phase == 8


def test_an_inactive_comparison_leaves_both_alone(compared):
    pair = compared(tile(4), tile(8))
    pair.active = False
    pair.a.last()
    assert pair.b.step != pair.b.n_steps - 1
    pair.active = True
    assert pair.b.step == pair.b.n_steps - 1


def test_what_each_side_is(compared):
    pair = compared(tile(4), ("vector_add", {"n": 100}))
    assert launch_text(pair.a) == "n = 16, tile = 4; 16 blocks of 16 threads"
    assert launch_text(pair.b) == "n = 100, block_x = 64; 2 blocks of 64 threads"
    pair.a.step = pair.a.block_trace.phases[1].first
    assert moment_text(pair.a).startswith("phase 1 (of 0..3), step ")
    assert moment_text(pair.b).startswith("step ")
    assert moment_text(Session()) == launch_text(Session()) == ""


# ---- differences


def rows(a, b, grouping="total"):
    return {r.label: r for r in differences(a, b, grouping) if isinstance(r, Difference)}


def test_the_issue_s_examples_come_out_as_they_must(launches):
    """For a warp down a column of A: 32 sectors, and one for a broadcast."""
    bad, good = launches("uncoalesced", n=64), launches("coalesced", n=64)
    table = rows(bad, good, "array")
    assert table["Loads: sectors"]  # of the last array that is loaded
    by_array = {}
    heading = ""
    for row in differences(bad, good, "array"):
        if isinstance(row, str):
            heading = row
        else:
            by_array[heading, row.label] = row
    loads = by_array["A", "Loads: sectors"]
    warps, k = 64 * 64 // 32, 64
    assert (loads.a, loads.b) == (32 * warps * k, warps * k)
    assert (loads.winner, loads.ratio_text) == ("b", "32 times fewer")
    assert by_array["B", "Loads: sectors"].winner == "a"


def test_padding_takes_the_conflicts_away(launches):
    plain, padded = (launches("aat_padded", n=64, tile=32, pad=pad) for pad in (0, 1))
    conflicts = rows(plain, padded)["Stores: bank conflicts"]
    stores = 4 * 2 * 32  # blocks, phases, warps
    assert (conflicts.a, conflicts.b) == (31 * stores, 0)
    assert (conflicts.winner, conflicts.ratio_text) == ("b", "none left")
    assert rows(padded, plain)["Stores: bank conflicts"].ratio_text == "new"
    assert "Loads: bank conflicts" not in rows(plain, padded), "neither side has any"
    sizes = rows(plain, padded)["Shared memory in a block, bytes"]
    assert (sizes.a, sizes.b, sizes.winner) == (8192, 8192 + 128, "")


def test_a_wider_tile_does_more_with_each_byte(launches):
    small, large = launches("tiled", n=32, tile=4), launches("tiled", n=32, tile=8)
    table = rows(small, large)
    flop = table["FLOP for each byte moved"]
    moved = {
        side: 32 * (2 * 32**3 // t * 4 // 32 + 32 * 32 * 4 // 32)
        for side, t in (("a", 4), ("b", 8))
    }
    assert flop.better == "more"
    assert flop.winner == "b"
    assert np.isclose(flop.b, 2 * 32**3 / moved["b"])
    phases = table["Phases"]
    assert (phases.a, phases.b, phases.change_text) == (8, 4, "−4")
    requests = table["Loads: requests"]
    assert requests.winner == "", "fewer requests are not better by themselves"


def test_equal_launches_differ_in_nothing(launches):
    one = launches("tiled", n=16, tile=4)
    for row in rows(one, one).values():
        assert (row.change_text, row.ratio_text, row.winner) == ("0", "the same", "")
    assert verdict(one, one, "B") == (
        "B: as many global sectors and shared wavefronts as A, the same right result, no findings."
    )


def test_figures_in_words():
    assert Difference("", 100, 12).ratio_text == "8.3 times fewer"
    assert Difference("", 100, 104).ratio_text == "4.0 % more"
    assert Difference("", 2, 5000).ratio_text == "2500 times more"
    assert Difference("", 100, 12).factor_text == "÷ 8.3"
    assert Difference("", 2, 5000).factor_text == "× 2500"
    assert Difference("", 100, 104).factor_text == "+ 4.0 %"
    assert Difference("", 100, 100).factor_text == "the same"
    assert Difference("", 100, 25).shares == (1.0, 0.25)
    assert Difference("", 0, None).shares == (0.0, 0.0)
    assert Difference("", 0.5, 2.0, "more", 2).change_text == "+1.50"
    empty = Difference("", None, 4)
    assert (empty.text("a"), empty.change_text, empty.ratio_text, empty.winner) == ("–", "", "", "")


def test_a_launch_that_is_not_counted_whole_is_not_compared_in_silence(launches):
    whole = launches("tiled", n=16, tile=4)
    part = launches("tiled", n=16, tile=8)
    part.trace = record(part.trace.workload, blocks=[0], only_recorded=True)
    assert "still being counted" in verdict(whole, part, "B")
    assert rows(whole, part)["FLOP for each byte moved"].b is None
    assert "in the recorded blocks alone." in verdict(part, part, "B")
    assert "result" not in verdict(part, part, "B"), "a part of a launch has none"
    assert "being recorded" in verdict(whole, Session(), "B")


# ---- links and presets


def test_a_link_says_what_is_compared(ladder):
    moment = window_link("tiled?n=64&tile=8&step=12&vs=coalesced&vs.block_y=2", ladder, ("light",))
    assert (moment.rung, dict(moment.parameters), moment.step) == (
        "tiled",
        {"n": 64, "tile": 8},
        12,
    )
    versus = Configuration("coalesced", {"n": 64, "block_x": 32, "block_y": 2})
    assert configuration_of(moment.versus) == versus
    assert window_link("tiled?n=8", ladder, ()).versus is None


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("tiled?vs=nothing", "no kernel of the ladder"),
        ("tiled?vs.tile=4", "not which kernel"),
        ("tiled?vs=tiled&vs.width=4", "`vs.width`"),
        ("tiled?vs=tiled&vs.tile=four", "vs.tile is `four`"),
        ("tiled?vs=tiled&vs=coalesced", "`vs` twice"),
        ("tiled?vs=tiled&vs.step=4", "`vs.step`"),
    ],
)
def test_a_wrong_comparison_is_a_sentence(ladder, link, said):
    with pytest.raises(ParameterError, match=said):
        window_link(link, ladder, theme_names())


def test_a_link_to_a_comparison_leads_back_to_it(launches, ladder):
    session = launches("tiled", n=16, tile=4)
    session.update(step=23, thread=3)
    versus = Configuration("tiled_bounds", {"n": 15, "tile": 7}, "__global__ void k() {}")
    moment = window_link(link_to(session, versus), ladder, ("dark",))
    assert configuration_of(moment.versus) == versus
    assert (moment.step, moment.thread, dict(moment.looks)) == (23, 3, {"page": "step"})


@pytest.mark.parametrize("preset", PRESETS, ids=lambda p: p.title)
def test_every_preset_can_be_launched(ladder, preset):
    moment = window_link(preset.link, ladder, ())
    ladder[moment.rung].check(**moment.parameters)
    ladder[moment.versus.rung].check(**moment.versus.parameters)
    assert preset.lesson.endswith(".")


def test_what_differs_comes_first(launches):
    plain, padded = (launches("aat_padded", n=64, tile=32, pad=pad) for pad in (0, 1))
    found = differences(plain, padded, "total")
    assert found[0] == "Shared memory"
    winners = [bool(r.winner) for r in found[1 : found.index("Global memory")]]
    assert winners == sorted(winners, reverse=True)
    assert winners[0]
    assert found[-1].label == "Phases", "the launch keeps its place"
