"""Work that is given up: by who asked for it, by the job it is part of, or for its time."""

from __future__ import annotations

import threading

import pytest

from core.cancelling import (
    PassingOverMistakes,
    cancelled_by,
    check,
    is_cancellable,
    is_cancelled,
    within,
)
from core.errors import ArgumentError, Cancelled, LaunchError, ParameterError, TooMuchWork


def test_outside_any_job_nothing_is_cancelled() -> None:
    check()
    assert not is_cancelled()
    assert not is_cancellable()


def test_a_part_is_cancelled_with_the_whole_and_not_the_whole_with_a_part() -> None:
    whole, part = threading.Event(), threading.Event()
    with cancelled_by(whole.is_set):
        with cancelled_by(part.is_set):
            assert not is_cancelled()
            part.set()
            assert is_cancelled()
            part.clear()
            whole.set()
            assert is_cancelled()
            whole.clear()
            part.set()
        assert not is_cancelled()
        assert is_cancellable()
    assert not is_cancellable()


def test_another_thread_is_not_cancelled() -> None:
    found = []
    with cancelled_by(lambda: True):
        thread = threading.Thread(target=lambda: found.append(is_cancelled()))
        thread.start()
        thread.join()
    assert found == [False]


def test_work_that_takes_too_long_says_so() -> None:
    with pytest.raises(Cancelled, match="Too slow"), within(-1.0, "Too slow."):
        check()


def test_work_within_its_time_goes_on_and_its_errors_stay_its_own() -> None:
    with within(1000, "Too slow."):
        check()
    with pytest.raises(ParameterError, match="no tile"), within(1000, "Too slow."):
        raise ParameterError("no tile")


def test_a_job_that_is_given_up_does_not_say_that_it_took_too_long() -> None:
    with (
        cancelled_by(lambda: True),
        pytest.raises(Cancelled, match="Stopped"),
        within(1000, "Too slow."),
    ):
        check()


def test_mistakes_are_passed_over_and_work_that_is_given_up_is_not() -> None:
    with PassingOverMistakes():
        raise ArgumentError("wrong")
    for kind, but in ((Cancelled, ()), (TooMuchWork, ()), (LaunchError, (LaunchError,))):
        with pytest.raises(kind), PassingOverMistakes(*but):
            raise kind("given up")
    with pytest.raises(ZeroDivisionError), PassingOverMistakes():
        raise ZeroDivisionError
