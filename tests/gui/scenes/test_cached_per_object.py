"""What is worked out of a record is worked out once, and goes with it."""

import gc
import weakref

from gui.scenes.cached_per_object import last_for_each, once_for_each


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

    @last_for_each
    def scene(record, step, warp=0):
        asked.append((step, warp))
        return [step, warp]

    one, other = Record(), Record()
    assert [size(one), size(one), size(other)] == [7, 7, 7]
    assert asked == [1, 1]
    assert scene(one, 3) is scene(one, 3)
    assert scene(other, 3) is not scene(one, 3)
    assert asked == [1, 1, (3, 0), (3, 0)]
    assert scene(one, 4) == [4, 0]
    assert scene(one, 3, warp=1) == [3, 1]
    assert len(asked) == 6
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None
