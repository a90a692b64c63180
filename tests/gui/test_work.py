"""Background jobs: off the UI thread, the newest wins, errors and progress arrive by signal."""

import threading

import pytest

from core.cancelling import is_cancelled
from core.errors import Cancelled, ParameterError
from gui.background import Worker


@pytest.fixture
def worker(qtbot):
    worker = Worker()
    yield worker
    worker.close()


def test_a_job_runs_elsewhere_and_its_result_arrives_here(worker, qtbot):
    with qtbot.waitSignal(worker.finished) as caught:
        worker.submit(lambda _: threading.get_ident())
    assert caught.args[0] != threading.get_ident()
    assert not worker.busy


def test_a_job_gets_what_is_sent_with_it(worker, qtbot):
    with qtbot.waitSignal(worker.finished) as caught:
        worker.submit(lambda _, *args, **kwargs: (args, kwargs), 1, 2, scale=3)
    assert caught.args == [((1, 2), {"scale": 3})]


def test_progress_and_errors_arrive(worker, qtbot):
    def job(progress):
        progress(0.5)
        raise ParameterError("tile = 0 is too small.")

    with qtbot.waitSignals([worker.progressed, worker.failed, worker.idle]):
        worker.submit(job)


def test_the_newest_request_wins(worker, qtbot):
    started, results = threading.Event(), []
    worker.finished.connect(results.append)

    def slow(progress):
        started.set()
        while not is_cancelled():
            pass
        raise Cancelled("given up")

    worker.submit(slow)
    assert started.wait(5)
    for n in range(5):
        worker.submit(lambda _, n=n: n)
    qtbot.waitUntil(lambda: not worker.busy)
    assert results == [4]


def test_cancel_drops_the_result(worker, qtbot):
    started, results = threading.Event(), []
    worker.finished.connect(results.append)

    def job(progress):
        started.set()
        while not is_cancelled():
            pass
        return "late"

    worker.submit(job)
    assert started.wait(5)
    worker.cancel()
    assert not worker.busy
    with qtbot.waitSignal(worker.finished):
        worker.submit(lambda _: "next")
    assert results == ["next"]


def test_closing_while_working_waits_for_the_job(qtbot):
    worker, ended = Worker(), threading.Event()
    started = threading.Event()

    def job(progress):
        started.set()
        while not is_cancelled():
            pass
        ended.set()

    worker.submit(job)
    assert started.wait(5)
    worker.close()
    assert ended.is_set()


def test_where_all_is_kept_every_job_is_done_in_its_turn(qtbot):
    worker, results = Worker(keeps_all=True), []
    worker.finished.connect(results.append)
    for n in range(5):
        worker.submit(lambda _, n=n: n)
    qtbot.waitUntil(lambda: not worker.busy)
    worker.close()
    assert results == [0, 1, 2, 3, 4]


def test_where_all_is_kept_closing_does_what_is_left(qtbot):
    worker, first, written = Worker(keeps_all=True), threading.Event(), []

    def slow(progress):
        first.wait(5)
        written.append("first")

    worker.submit(slow)
    worker.submit(lambda _: written.append("second"))
    threading.Timer(0.05, first.set).start()
    worker.close()
    assert written == ["first", "second"]


def test_what_went_wrong_unforeseen_is_logged_though_nobody_listens(worker, qtbot, caplog):
    with qtbot.waitSignal(worker.idle):
        worker.submit(lambda _: 1 // 0)
    assert "ZeroDivisionError" in caplog.text


def test_a_sentence_for_the_reader_is_not_logged(worker, qtbot, caplog):
    def job(progress):
        raise ParameterError("tile = 0 is too small.")

    with qtbot.waitSignal(worker.idle):
        worker.submit(job)
    assert not caplog.text


def test_who_is_told_of_a_result_may_ask_for_the_next(worker, qtbot):
    results, idle = [], []
    worker.idle.connect(lambda: idle.append(tuple(results)))

    def more(result):
        results.append(result)
        if result < 3:
            worker.submit(lambda _: result + 1)
            assert worker.busy

    worker.finished.connect(more)
    worker.submit(lambda _: 1)
    qtbot.waitUntil(lambda: len(results) == 3 and not worker.busy)
    assert idle == [(1, 2, 3)]


def test_nothing_is_begun_after_closing(qtbot):
    """Neither by who is told, while it closes, that nothing is left to do, nor later."""
    worker, begun = Worker(name="closed"), []
    started = threading.Event()

    def slow(progress):
        started.set()
        while not is_cancelled():
            pass
        raise Cancelled("given up")

    worker.idle.connect(lambda: worker.submit(lambda _: begun.append("while it closes")))
    worker.submit(slow)
    started.wait(10)
    worker.close()
    worker.submit(lambda _: begun.append("later"))
    qtbot.wait(20)
    assert not worker.busy
    assert begun == []
