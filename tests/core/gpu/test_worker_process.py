"""The worker process's life and death, with jobs that need no GPU."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, Executor, wait
from pathlib import Path

import numpy as np
import pytest

from core.errors import (
    CompileError,
    GpuUnavailable,
    LaunchError,
    TilescopeError,
    UnsupportedPtx,
)
from core.gpu.events_and_failures import Sample, Stage, WorkerFailure
from core.gpu.worker_process import GpuWorker
from tests.core.gpu import fake_jobs

ROOT = Path(__file__).resolve().parents[3]

LIMIT = 30


@pytest.fixture
def worker():
    with GpuWorker(stall_s=LIMIT) as executor:
        yield executor


def failure_of(future):
    with pytest.raises(WorkerFailure) as caught:
        future.result(LIMIT)
    return caught.value


def test_it_is_an_executor(worker):
    assert isinstance(worker, Executor)
    assert list(worker.map(pow, [2, 3], [5, 2], timeout=LIMIT)) == [32, 9]
    assert worker.submit(os.getpid).result(LIMIT) == worker.pid != os.getpid()


def test_large_arrays_travel_both_ways(worker):
    data = np.random.default_rng(1).random((700, 900))
    back = worker.submit(np.ascontiguousarray, data.T).result(LIMIT)
    assert np.array_equal(back, data.T)


def test_samples_arrive_while_the_job_runs(worker):
    events, early = [], threading.Event()

    def see(event):
        events.append(event)
        if isinstance(event, Sample) and event.index == 2:
            early.set()

    future = worker.stream(see, fake_jobs.samples, 8, pause=0.05)
    assert early.wait(LIMIT)
    assert not future.done()
    assert future.result(LIMIT) == 8
    assert events == [Stage("timing"), *(Sample(i, 1.5 + i, None) for i in range(8))]


def test_a_fault_in_the_receiver_loses_nothing(worker, caplog):
    assert worker.stream(lambda _: 1 / 0, fake_jobs.samples, 2).result(LIMIT) == 2
    assert "ZeroDivisionError" in caplog.text


def test_stop_ends_a_job_early_with_its_result(worker):
    future = worker.stream(
        lambda event: worker.stop() if event.index == 5 else None, fake_jobs.until_stopped
    )
    assert future.result(LIMIT) >= 5
    assert worker.submit(fake_jobs.samples, 3).result(LIMIT) == 3  # the wish is forgotten


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV])
def test_killed_by_a_signal(worker, number):
    failure = failure_of(worker.submit(signal.raise_signal, number))
    assert failure.kind == "worker_died"
    assert number.name in str(failure)
    assert worker.submit(pow, 2, 3).result(LIMIT) == 8


def test_killed_from_outside_in_the_midst_of_a_job(worker):
    future = worker.stream(
        lambda event: (
            os.kill(worker.pid, signal.SIGKILL)
            if isinstance(event, Sample) and event.index == 3
            else None
        ),
        fake_jobs.samples,
        500,
        pause=0.02,
    )
    failure = failure_of(future)
    assert failure.kind == "worker_died"
    assert "while timing" in str(failure)
    assert worker.submit(pow, 2, 3).result(LIMIT) == 8


def test_ended_by_itself_tells_stage_status_and_last_words(worker):
    message = str(failure_of(worker.submit(fake_jobs.die, 7)))
    assert "exit status 7" in message
    assert "checking the result" in message
    assert "something terrible" in message


def test_killed_between_two_jobs_is_no_failure(worker):
    first = worker.submit(os.getpid).result(LIMIT)
    os.kill(first, signal.SIGKILL)
    time.sleep(0.2)
    assert worker.submit(os.getpid).result(LIMIT) != first


@pytest.mark.slow
def test_a_hang_is_cut_off_at_the_stage_s_limit(worker):
    failure = failure_of(worker.submit(fake_jobs.hang, 0.5))
    assert failure.kind == "timed_out"
    assert "running the kernel once" in str(failure)
    assert worker.submit(pow, 2, 3).result(LIMIT) == 8


def test_a_hang_without_a_word_is_cut_off_too():
    with GpuWorker(stall_s=0.5) as executor:
        assert failure_of(executor.submit(time.sleep, 600)).kind == "timed_out"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="descriptors")
def test_a_worker_that_closes_its_pipes_does_not_hang_us(worker):
    assert failure_of(worker.submit(fake_jobs.close_streams)).kind == "worker_died"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_pipes_held_by_a_grandchild_do_not_hang_us(worker):
    assert "exit status 9" in str(failure_of(worker.submit(fake_jobs.fork_and_die)))


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGSTOP")
def test_a_stopped_worker_is_given_up():
    with GpuWorker(stall_s=LIMIT) as executor:
        os.kill(executor.submit(os.getpid).result(LIMIT), signal.SIGSTOP)
        executor._stall_s = 1.0  # only now: to start takes longer on a busy machine
        big = np.zeros(1 << 20)  # larger than a pipe holds: writing it blocks
        assert failure_of(executor.submit(np.sum, big)).kind == "timed_out"


def test_a_sticky_error_gets_a_new_worker(worker):
    first = worker.submit(os.getpid).result(LIMIT)
    failure = failure_of(worker.submit(fake_jobs.raise_sticky))
    assert (failure.kind, failure.fatal) == ("illegal_access", True)
    assert worker.submit(os.getpid).result(LIMIT) != first


def test_ordinary_errors_keep_the_worker_and_their_type(worker):
    first = worker.submit(os.getpid).result(LIMIT)
    with pytest.raises(GpuUnavailable, match="no GPU here"):
        worker.submit(fake_jobs.raise_unavailable).result(LIMIT)
    with pytest.raises(CompileError) as compile_error:
        worker.submit(fake_jobs.raise_compile_error).result(LIMIT)
    assert compile_error.value.diagnostics == ("a diagnostic",)
    with pytest.raises(ValueError, match="invalid literal") as value_error:
        worker.submit(int, "x").result(LIMIT)
    assert "Traceback" in value_error.value.__notes__[0]
    with pytest.raises(UnsupportedPtx, match=r"bogus\.instruction") as unsupported:
        worker.submit(fake_jobs.raise_unsupported).result(LIMIT)
    assert unsupported.value.line == 7
    for kind, back, said in (
        (LaunchError, TilescopeError, "no pickle"),
        (KeyError, RuntimeError, "KeyError: 'no pickle'"),
    ):
        error = worker.submit(fake_jobs.raise_unpicklable, kind).exception(LIMIT)
        assert (type(error), str(error)) == (back, said)
    assert "pickle" in str(worker.submit(fake_jobs.not_a_result).exception(LIMIT)).lower()
    assert worker.submit(os.getpid).result(LIMIT) == first


def test_what_cannot_be_sent_fails_its_own_future_only(worker):
    assert worker.submit(lambda: 1).exception(LIMIT) is not None
    assert worker.submit(pow, 2, 3).result(LIMIT) == 8


def test_a_kernel_s_printf_does_not_disturb_the_protocol(worker):
    assert worker.submit(fake_jobs.speak).result(LIMIT) == "heard"


def test_a_worker_that_cannot_start():
    with GpuWorker(command=["/nonexistent/python"]) as executor:
        assert "could not be started" in str(failure_of(executor.submit(pow, 1, 1)))
    with GpuWorker(command=[sys.executable, "-c", "raise SystemExit('no module')"]) as executor:
        assert "no module" in str(failure_of(executor.submit(pow, 1, 1)))
    with GpuWorker(command=[sys.executable, "-c", "print('hello ' * 9)"]) as executor:
        assert failure_of(executor.submit(pow, 1, 1)).kind == "worker_died"


def test_shutdown_ends_the_process_and_cancels():
    executor = GpuWorker()
    pid = executor.submit(os.getpid).result(LIMIT)
    running = executor.submit(time.sleep, 0.5)
    while not running.running():
        time.sleep(0.01)
    waiting = [executor.submit(pow, 2, 2) for _ in range(3)]
    executor.shutdown(cancel_futures=True)
    assert running.result(LIMIT) is None
    assert wait(waiting, LIMIT).not_done == set()
    for future in waiting:
        with pytest.raises(CancelledError):
            future.result()
    with pytest.raises(RuntimeError):
        executor.submit(pow, 2, 2)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_nobody_here_imported_pycuda():
    """In a process of its own: other tests load them by themselves."""
    program = (
        "import sys\n"
        "from core.gpu.worker_process import GpuWorker\n"
        "with GpuWorker(stall_s=60) as worker: assert worker.submit(pow, 2, 3).result(60) == 8\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('pycuda', 'cuda')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_the_worker_does_not_outlive_a_killed_application():
    program = (
        "import os, sys, time\n"
        "from core.gpu.worker_process import GpuWorker\n"
        "worker = GpuWorker()\n"
        "print(worker.submit(os.getpid).result(20), flush=True)\n"
        "worker.submit(time.sleep, 600)\n"
        "time.sleep(600)\n"
    )
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-P", "-c", program]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as application:
        worker = int(application.stdout.readline())
        time.sleep(0.3)
        application.kill()
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{worker}/stat").exists():
            state = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[0]
            if state == "Z":  # ended; nobody has collected it yet
                return
        time.sleep(0.1)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("the worker process outlived the application")
