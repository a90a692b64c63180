"""The collector of garbage goes through little where a window must paint."""

import gc
import sys

import pytest

from core import garbage_collection


@pytest.fixture(autouse=True)
def collector():
    """The collector and the switch of threads as they were."""
    before, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.unfreeze()
    yield
    sys.setswitchinterval(interval)
    gc.freeze()  # as tests/conftest.py has it
    gc.set_threshold(*before)


def test_what_stays_is_out_of_the_collectors_sight():
    garbage_collection.keep_pauses_short()
    assert gc.get_threshold()[2] > 10
    assert sys.getswitchinterval() < 0.001
    frozen = gc.get_freeze_count()
    assert frozen > 10 * len(gc.get_objects())
    kept = [[i] for i in range(1000)]
    garbage_collection.leave_out()
    assert gc.get_freeze_count() >= frozen + len(kept)


def test_a_process_that_ends_leaves_its_garbage():
    frozen, before = gc.get_freeze_count(), gc.get_threshold()
    with garbage_collection.seldom_collected(ends=False):
        assert gc.get_threshold()[0] > before[0]
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == frozen
    with garbage_collection.seldom_collected(ends=True):
        kept = [[i] for i in range(1000)]
    assert gc.get_freeze_count() >= frozen + len(kept)
