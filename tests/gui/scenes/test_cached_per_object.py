"""What is worked out of a record is worked out once, and goes with it."""

import gc
import weakref

from gui.scenes.cached_per_object import once_for_each


class Record:
    """Something that is told apart by identity."""

    def __eq__(self, other):
        raise AssertionError

    __hash__ = None


def test_answers_are_worked_out_once_and_go_with_their_record():
    asked = []

    @once_for_each
    def size(record):
        asked.append(1)
        return 7

    one, other = Record(), Record()
    assert [size(one), size(one), size(other)] == [7, 7, 7]
    assert asked == [1, 1]
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None
