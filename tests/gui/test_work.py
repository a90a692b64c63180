"""Background jobs: off the UI thread, the newest wins, errors and progress arrive by signal."""

import threading

import pytest

from core.errors import Cancelled, ParameterError
from gui.work import Worker


@pytest.fixture
def worker(qtbot):
    worker = Worker()
    yield worker
    worker.close()
    assert not worker._thread.isRunning()


def test_a_job_runs_elsewhere_and_its_result_arrives_here(worker, qtbot):
    with qtbot.waitSignal(worker.finished) as caught:
        worker.submit(lambda progress, cancelled: threading.get_ident())
    assert caught.args[0] != threading.get_ident()
    assert not worker.busy


def test_progress_and_errors_arrive(worker, qtbot):
    def job(progress, cancelled):
        progress(0.5)
        raise ParameterError("tile = 0 is too small.")

    with qtbot.waitSignals([worker.progressed, worker.failed, worker.idle]):
        worker.submit(job)


def test_the_newest_request_wins(worker, qtbot):
    started, results = threading.Event(), []
    worker.finished.connect(results.append)

    def slow(progress, cancelled):
        started.set()
        while not cancelled():
            pass
        raise Cancelled("given up")

    worker.submit(slow)
    assert started.wait(5)
    for n in range(5):
        worker.submit(lambda progress, cancelled, n=n: n)
    qtbot.waitUntil(lambda: not worker.busy)
    assert results == [4]


def test_cancel_drops_the_result(worker, qtbot):
    started, results = threading.Event(), []
    worker.finished.connect(results.append)

    def job(progress, cancelled):
        started.set()
        while not cancelled():
            pass
        return "late"

    worker.submit(job)
    assert started.wait(5)
    worker.cancel()
    assert not worker.busy
    with qtbot.waitSignal(worker.finished):
        worker.submit(lambda progress, cancelled: "next")
    assert results == ["next"]


def test_closing_while_working_waits_for_the_job(qtbot):
    worker, ended = Worker(), threading.Event()
    started = threading.Event()

    def job(progress, cancelled):
        started.set()
        while not cancelled():
            pass
        ended.set()

    worker.submit(job)
    assert started.wait(5)
    worker.close()
    assert ended.is_set()
