"""The same moment in two records of different lengths."""

import numpy as np
import pytest

from gui.jobs.record_work import make_workload
from gui.scenes.configuration import Configuration
from gui.scenes.matching_steps import Anchor, Course, Lockstep, course_of
from gui.scenes.session import Session


@pytest.fixture(scope="module")
def traces(ladder):
    from core.recording.record_launch import record

    made = {}

    def get(rung, **values):
        key = (rung, *values.items())
        if key not in made:
            made[key] = record(make_workload(ladder, Configuration(rung, values))[0])
        return made[key]

    return get


@pytest.fixture(scope="module")
def block(traces):
    return lambda rung, **values: traces(rung, **values).block(0)


def what(block, step):
    access = block.access(step)
    return (access.kind, access.array.name) if access is not None else None


def table(here, there):
    lock = Lockstep(course_of(here), course_of(there))
    return [lock.counterpart(step) for step in range(here.n_steps)]


def test_equal_records_step_together(block):
    here = block("tiled", n=16, tile=4)
    assert table(here, here) == list(range(here.n_steps))


def test_other_patterns_of_one_algorithm_go_access_by_access(block):
    bad, good = block("uncoalesced", n=16), block("coalesced", n=16)
    there = table(bad, good)
    for step, other in enumerate(there):
        assert what(bad, step) == what(good, other)
        assert bad.phase[step] == good.phase[other]


PAIRS = [
    (("tiled", 4), ("tiled", 8)),
    (("tiled", 8), ("tiled", 4)),
    (("tiled", 2), ("tiled_bounds", 8)),
    (("tiled_bounds", 5), ("tiled_bounds", 7)),
    (("tiled", 8), ("uncoalesced", None)),
    (("coalesced", None), ("tiled", 4)),
    (("vector_add", None), ("tiled", 4)),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_the_clock_of_the_other_never_runs_back_and_ends_with_this(block, one, other):
    def get(rung, tile):
        return block(rung, n=16, **({"tile": tile} if tile else {}))

    here, there = get(*one), get(*other)
    found = table(here, there)
    assert found[0] == 0
    assert found[-1] == there.n_steps - 1
    assert (np.diff(found) >= 0).all()


def test_phases_that_begin_together_do_so_exactly(block):
    small, large = block("tiled", n=16, tile=4), block("tiled", n=16, tile=8)
    there = table(small, large)
    starts = [phase.first for phase in small.phases]
    assert [there[s] for s in starts[::2]] == [phase.first for phase in large.phases]
    for step in range(small.n_steps):
        if small.phase[step] >= 0:
            assert large.phase[there[step]] == small.phase[step] // 2


def test_a_finer_clock_shows_the_same_kind_of_access(block):
    """Within the multiplication of a tile twice as wide, loads of A stay with loads of A."""
    small, large = block("tiled", n=16, tile=4), block("tiled", n=16, tile=8)
    there = table(large, small)
    accesses = [s for s in range(large.n_steps) if what(large, s)]
    same = [what(large, s) == what(small, there[s]) for s in accesses]
    assert np.mean(same) > 0.99


def test_barriers_are_met_together(block):
    padded, plain = block("aat_padded", n=16, tile=8), block("tiled", n=16, tile=8)
    there = table(padded, plain)
    barriers = course_of(padded).barriers
    assert [there[s] for s in barriers] == list(course_of(plain).barriers)


def test_records_without_anything_in_common_go_at_the_same_share():
    def course(n, keys):
        steps = np.arange(1, n - 1)
        none = np.empty(0, np.intp)
        return Course(n, none, n, none, steps, tuple(keys for _ in steps))

    lock = Lockstep(course(12, "load global A"), course(102, "store shared T"))
    found = [lock.counterpart(step) for step in range(12)]
    assert found == [0, 1, 11, 21, 31, 41, 51, 61, 71, 81, 91, 101]


def test_an_empty_record_has_only_its_first_step():
    none = np.empty(0, np.intp)
    empty = Course(0, none, 0, none, none, ())
    short = Course(3, none, 3, none, np.array([1]), ("load global A",))
    assert Lockstep(short, empty).counterpart(1) == 0
    assert Lockstep(empty, short).counterpart(0) == 0


def test_the_session_keeps_the_moment_when_the_launch_changes(traces):
    session = Session()
    session.trace = traces("tiled", n=16, tile=4)
    first = session.block_trace
    third = range(first.phases[2].first, first.phases[2].last)
    chosen = [s for s in third if what(first, s) == ("load", "tile_b")][1]
    session.step = chosen
    session.trace = traces("tiled", n=16, tile=8)
    assert session.phase == 1
    assert what(session.block_trace, session.step) == ("load", "tile_b")
    session.trace = traces("tiled", n=16, tile=16)
    assert session.phase == 0
    session.trace = traces("tiled", n=16, tile=4)
    assert session.step == chosen, "nothing is lost on the way"


def test_a_step_that_was_chosen_on_the_way_is_the_one_that_is_kept(block):
    small, large = block("tiled", n=16, tile=4), block("tiled", n=16, tile=8)
    anchor = Anchor()
    anchor.carry(small, small.phases[3].first, large)
    assert anchor.carry(large, large.phases[0].first, small) == small.phases[0].first
