"""Two versions of one source and what comes of a change, without a window."""

from dataclasses import replace

import numpy as np
import pytest

from core.gpu.result_files import load_recorded
from core.recording.record_launch import record
from gui.jobs.record_work import make_workload
from gui.scenes.configuration import Configuration, Origin
from gui.scenes.findings_list import fault_names
from gui.scenes.launch_differences import Difference, differences, moved, verdict
from gui.scenes.launch_outcome import Outcome, outcome, reference_text, repaired_text, result_text
from gui.scenes.paired_sessions import Naming, naming, older
from gui.scenes.recorded_times import times_text
from gui.scenes.session import Session


@pytest.fixture(scope="module")
def shown(ladder):
    """A session that shows a rung, edited where `edit` (a text and what replaces it) says so."""
    made = {}

    def get(rung, edit=None, **values):
        wanted = Configuration(rung, {**ladder[rung].defaults, **values})
        key = rung, edit, *values.items()
        if key not in made:
            workload, original = make_workload(ladder, wanted)
            if edit is not None:
                assert edit[0] in original
                edited = original.replace(*edit)
                wanted, workload = (replace(w, source=edited) for w in (wanted, workload))
            made[key] = record(workload), Origin(wanted, original)
        session = Session()
        trace, session.origin = made[key]
        session.trace = trace
        return session

    return get


SWAPPED = "A[row * N + phase * TILE_WIDTH + tx]", "A[(phase * TILE_WIDTH + tx) * N + row]"
RACY = (
    "            value += tile_a[ty][k] * tile_b[k][tx];\n        __syncthreads();\n",
    ("            value += tile_a[ty][k] * tile_b[k][tx];\n"),
)


def test_the_text_before_any_edit_is_the_older_one(shown):
    old, new = shown("tiled", n=16, tile=4), shown("tiled", SWAPPED, n=16, tile=4)
    versions = new.versions
    assert naming(versions, new, old) == Naming("After", "Before", "b")
    assert naming(versions, old, new) == Naming("Before", "After", "a")
    assert (naming(versions, new, old).first, naming(versions, new, old).second) == (
        "Before",
        "After",
    )


def test_of_two_edits_the_one_that_ran_first_is_older(shown):
    one, two = shown("tiled", SWAPPED, n=16, tile=4), shown("tiled", RACY, n=16, tile=4)
    for first, second, left in ((one, two, "a"), (two, one, "b")):
        versions = Session().versions
        for session in (first, second):
            versions.note("tiled", session.trace.workload.source)
        assert older(versions, one, two) == left
        assert versions.before("tiled", second.trace.workload.source) == (
            first.trace.workload.source
        )
        assert versions.before("tiled", first.trace.workload.source) is not None
        assert versions.before("coalesced", "") is None


def test_launches_of_one_text_or_of_two_sources_are_no_versions(shown):
    for one, two in (
        (shown("tiled", n=16, tile=4), shown("tiled", n=16, tile=8)),
        (shown("tiled", n=16, tile=4), shown("coalesced", n=16)),
        (shown("tiled", n=16, tile=4), Session()),
    ):
        assert naming(one.versions, one, two) == Naming()


# ---- the verdict


def test_a_repair_is_said_in_a_sentence(shown):
    racy, sound = shown("tiled", RACY, n=16, tile=8), shown("tiled", n=16, tile=8)
    assert fault_names(racy.trace)
    said = verdict(racy, sound, "After")
    assert said.startswith("After: as many global sectors")
    assert " as before, " in said
    assert "no findings. The race on tile_a" in said
    assert said.endswith("gone.")
    back = verdict(sound, racy, "After")
    assert "New: race on tile_a" in back
    assert "no findings" not in back
    text = repaired_text(fault_names(racy.trace), outcome(racy.trace), outcome(sound.trace))
    assert text.startswith("Race on tile_a")
    assert "gone, result right: C equals the reference" in text


def test_a_change_that_breaks_the_result_is_said_so(shown):
    sound, wrong = shown("tiled", n=16, tile=4), shown("tiled", SWAPPED, n=16, tile=4)
    assert "a wrong result instead of the right one" in verdict(sound, wrong, "After")
    assert "the right result instead of a wrong one" in verdict(wrong, sound, "After")
    broken = outcome(wrong.trace)
    worst = np.abs(wrong.trace.outputs["C"] - wrong.trace.workload.expected()["C"]).max()
    assert reference_text(broken, None).endswith(f"differs from the reference by up to {worst:.3g}")
    assert ", but result wrong" in repaired_text(["race on x"], None, broken)


def test_results_without_a_reference_are_compared_with_each_other():
    def gave(*arrays, given="x"):
        return Outcome({"x": given}, dict(arrays), ())

    one, other = gave(("C", "1"), ("D", "2")), gave(("C", "1"), ("D", "3"))
    assert result_text(one, one) == "the same result"
    assert result_text(one, other) == "another result in D"
    assert result_text(one, gave(("C", "1"), ("D", "2"), given="y")) == ""
    assert result_text(one, gave(("E", "1"))) == ""
    assert result_text(None, one) == ""
    assert "the same as before, and there is no reference" in reference_text(one, one)
    assert "not as before" in reference_text(other, one)
    assert "no result" in reference_text(None, one)


PAIRS = [
    (("uncoalesced", {"n": 64}), ("coalesced", {"n": 64})),
    (("tiled", {"n": 64, "tile": 16}), ("coalesced", {"n": 64})),
    (("tiled", {"n": 64, "tile": 16}), ("tiled", {"n": 64, "tile": 32})),
    (("tiled", {"n": 64, "tile": 4}), ("aat_padded", {"n": 64, "tile": 32, "pad": 0})),
    (("transpose_naive", {}), ("transpose_tiled", {})),
    (("transpose_tiled", {}), ("transpose_padded", {})),
    (("tiled", {"n": 32}), ("tiled", {"n": 64})),
    (("aat_strided", {"n": 64}), ("aat_shared", {"n": 64})),
]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: f"{p[0][0]}-{p[1][0]}")
@pytest.mark.slow
def test_no_row_goes_against_the_verdict_in_silence(shown, pair, turned):
    (one, few), (other, more) = pair[::-1] if turned else pair
    a, b = shown(one, **few), shown(other, **more)
    said = verdict(a, b, "B")
    rows = [row for row in differences(a, b, "total") if isinstance(row, Difference)]
    for space in ("global", "shared"):
        total = moved(a, b, space)
        for row in rows:
            if row.topic is None or row.topic.space != space or not row.winner:
                continue
            assert row.a or row.b
            if row.winner != total.winner:
                assert row.ratio_text in said.partition("but ")[2]
    traffic = moved(a, b, "global").winner
    for row in rows[-7:]:
        assert row.topic is not None or not row.winner or row.winner == traffic or not traffic
    for row in rows:
        if row.ratio_text in ("new", "none left") and row.winner:
            assert "conflicts" in row.label, "what the other side does not do at all is not judged"


def test_another_amount_of_work_is_not_called_worse(shown):
    small, large = shown("tiled", n=32, tile=16), shown("tiled", n=64, tile=16)
    for row in differences(small, large, "total"):
        assert isinstance(row, str) or not row.winner or row.better == "more"


# ---- recorded times


@pytest.mark.slow
def test_recorded_times_are_those_of_the_files(shown):
    at = {
        (r.rung, r.parameters["n"], r.block[:2]): r
        for r in load_recorded()
        if r.rung in ("uncoalesced", "coalesced") and not r.clock_fell
    }
    one, two = (
        max(
            (r for (rung, n, _), r in at.items() if (rung, n) == (name, 4096)),
            key=lambda r: r.gflops,
        )
        for name in ("uncoalesced", "coalesced")
    )
    said = times_text(shown("uncoalesced", n=64), shown("coalesced", n=64)).replace("\u202f", "")
    assert said.startswith("Recorded on an NVIDIA H200 at N = 4096: ")
    for r in (one, two):
        assert f"{r.gflops:.0f}" in said
        assert f"(its fastest block, {r.block[0]} × {r.block[1]})" in said
    assert f"{two.gflops / one.gflops:.1f} times as fast" in said
    blocks = {"block_x": 16, "block_y": 16}
    pair = (shown(rung, n=64, **blocks) for rung in ("coalesced", "uncoalesced"))
    said = times_text(*pair).replace("\u202f", "")
    slow, fast = (at[rung, 4096, (16, 16)].gflops for rung in ("uncoalesced", "coalesced"))
    assert said == (
        f"Recorded on an NVIDIA H200 at N = 4096: {fast:.0f} GFLOPS and {slow:.0f}, "
        f"{fast / slow:.1f} times slower."
    )


def test_no_time_is_taken_from_a_run_whose_clock_fell(shown):
    pair = shown("uncoalesced", n=64), shown("coalesced", n=64)
    results = [r for r in load_recorded() if r.rung in ("uncoalesced", "coalesced")]
    assert "at N = 4096: " in times_text(*pair, tuple(results))
    slow = [
        replace(r, readings=replace(r.readings, sm_mhz=1500.0))
        if r.rung == "coalesced" and r.parameters["n"] == 4096
        else r
        for r in results
    ]
    assert "at N = 4096: " not in times_text(*pair, tuple(slow))
    assert "at N = 2048: " in times_text(*pair, tuple(slow))


def test_no_recorded_times_are_claimed_for_what_was_not_measured(shown):
    tiled = shown("tiled", n=64, tile=16)
    assert times_text(tiled, shown("tiled", SWAPPED, n=64, tile=16)) == ""
    assert times_text(tiled, shown("tiled", n=64, tile=4)) == "", "never measured with tiles of 4"
    assert times_text(tiled, tiled) == ""
    bare = shown("aat_padded", n=64, tile=32, pad=0)
    assert times_text(tiled, bare) == "", "the padded one was measured, and that is the lesson"
    assert times_text(tiled, shown("aat_padded", n=64, tile=32, pad=1))
    assert times_text(tiled, shown("copy_offset")) == ""
    assert times_text(tiled, shown("coalesced", n=64), ()) == ""
    copies = shown("transpose_naive", tile=16), shown("transpose_tiled", tile=16)
    assert "GB/s and " in times_text(*copies)
