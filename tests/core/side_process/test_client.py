"""Work in a process of its own: results, errors, and an end as soon as nobody wants it."""

import contextlib
import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from core.cancelling import cancelled_by, check, is_cancellable
from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.compiler.compile_request import LARGE
from core.errors import ArgumentError, Cancelled, CompileError, TilescopeError, TooMuchWork
from core.guessing.launch_guess import completed
from core.guessing.trial_runs import tried
from core.ladder.input_arrays import POISON_BYTE, filled, poisoned, random_array
from core.side_process.client import _kept, apart, end_kept, prepare, stoppable
from core.side_process.connection import Child
from core.user_files.launch_texts import FileLaunch, NoKernel, file_workload

KERNEL = "__global__ void twice(float* v, int n) { if (threadIdx.x < n) v[threadIdx.x] *= 2; }\n"
SOON_S = 20.0  # of a processor; the work itself takes minutes
WAIT_S = 60.0


def process_id(*_):
    return os.getpid()


def sleeps(path):
    path.write_text(str(os.getpid()))
    time.sleep(600)


def dies():
    os._exit(7)


def refuses(sentence):
    raise CompileError(sentence, ("a", "b"))


def breaks():
    raise ValueError("a defect")


def processor_spent():
    """Seconds of a processor that this process and its ended children took, on whatever machine."""
    return sum(os.times()[:4])


class Later:
    """Turns true when a condition does, and keeps the processor time spent until then."""

    def __init__(self, when):
        self.when, self.at = when, None

    def __call__(self):
        if self.at is None and self.when():
            self.at = processor_spent()
        return self.at is not None


def test_the_work_is_done_elsewhere():
    assert apart(process_id, np.zeros(100_000)) != os.getpid()
    assert np.array_equal(apart(np.arange, 300_000), np.arange(300_000))


@pytest.mark.slow
def test_one_process_is_kept_until_it_is_ended_or_had_much_to_do():
    first = apart(process_id)
    assert apart(process_id) == first
    with pytest.raises(ValueError, match="a defect"):
        apart(breaks)
    assert apart(process_id) == first
    apart(len, bytes(5 << 20))
    second = apart(process_id)
    assert second != first
    end_kept()
    prepare()
    assert apart(process_id) not in (first, second)


def test_one_that_ends_soon_after_it_was_cancelled_is_kept(monkeypatch):
    monkeypatch.setattr("core.side_process.client._GRACE_S", 60.0)
    first = apart(process_id)
    begun = time.monotonic()
    with cancelled_by(lambda: time.monotonic() - begun > 0.05), pytest.raises(Cancelled):
        apart(time.sleep, 0.2)
    assert apart(process_id) == first


@pytest.mark.slow
def test_one_that_died_meanwhile_is_replaced():
    there = apart(process_id)
    os.kill(there, 9)
    os.waitid(os.P_PID, there, os.WEXITED | os.WNOWAIT)
    assert apart(process_id) not in (there, os.getpid())


def test_where_no_process_can_be_started_the_work_is_done_here(monkeypatch):
    def refused(*args, **kwargs):
        raise BlockingIOError("no more processes")

    end_kept()
    monkeypatch.setattr("core.side_process.connection.subprocess.Popen", refused)
    prepare()
    assert apart(process_id) == os.getpid()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGIO"), reason="the system has no such signal")
@pytest.mark.parametrize("work", ["time.sleep, 600", "operator.pow, 3, 10**9"])
def test_it_ends_with_whom_it_works_for(work):
    """However that ended, and even while Python's lock is held, as by the second."""
    code = (
        "import operator, os, threading, time\n"
        "from core.side_process.client import apart\n"
        "print(apart(os.getpid), flush=True)\n"
        f"threading.Thread(target=apart, args=({work},), daemon=True).start()\n"
        "time.sleep(600)\n"
    )
    asks = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with asks:
        works = int(asks.stdout.readline())
        try:
            if "pow" in work:
                wait_for(lambda: processor_s(works) > 1)  # it has loaded what it needs, or computes
                time.sleep(0.5)
            asks.kill()
            asks.wait()
            wait_for(lambda: not is_there(works))
        finally:
            asks.kill()
            with contextlib.suppress(ProcessLookupError):
                os.kill(works, signal.SIGKILL)


def wait_for(what):
    end = time.monotonic() + WAIT_S
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)


def is_there(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def processor_s(process):
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def works(mark):
    mark.write_text(str(os.getpid()))
    while True:
        pass


@pytest.mark.slow
def test_work_without_an_end_is_given_up(monkeypatch, tmp_path):
    monkeypatch.setattr("core.side_process.client.MOST_S", 1.0)
    mark = tmp_path / "id"
    begun = time.monotonic()
    with pytest.raises(TooMuchWork, match=r"stopped after \d+ s: look for macros"):
        apart(works, mark)
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)
    assert time.monotonic() - begun > 0.9
    monkeypatch.setattr("core.side_process.client.MOST_S", 60.0)
    monkeypatch.setattr("core.side_process.client.MOST_WALL_S", 1.0)
    with pytest.raises(TooMuchWork, match="stopped after"):
        apart(works, mark)


@pytest.mark.slow
def test_a_source_that_takes_too_long_is_tried_once(monkeypatch):
    """The guess of its launch compiles it, and the launch would again, for as long."""
    monkeypatch.setattr("core.side_process.client.MOST_S", 2.0)
    doubled = "".join(f"#define A{i} (A{i - 1}+A{i - 1})\n" for i in range(1, 40))
    source = f"#define A0 (1+1)\n{doubled}__global__ void k(int *a) {{ a[threadIdx.x] = A39; }}\n"
    asked = FileLaunch("doubled.cu", "k", "", "", "")
    guess = completed(source, asked)
    with cancelled_by(lambda: False), pytest.raises(TooMuchWork, match="stopped after"):
        tried(source, guess.launch, None)


@pytest.mark.slow
def test_work_that_waits_is_given_up(monkeypatch, tmp_path):
    monkeypatch.setattr("core.side_process.client.IDLE_S", 2.0)
    mark = tmp_path / "id"
    with pytest.raises(TooMuchWork, match=r"waited for 2 s without working: look for an #include"):
        apart(sleeps, mark)
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)
    os.mkfifo(tmp_path / "pipe")
    # The kernel needs nothing of such a header, so the compiler is not given it.
    assert compile_ptx(f'#include "{tmp_path / "pipe"}"\n{KERNEL}').entries
    source = f'#if __has_include("{tmp_path / "pipe"}")\n#endif\n{KERNEL}'
    with cancelled_by(lambda: False), pytest.raises(TooMuchWork, match="waited for 2 s"):
        compile_ptx(source)


@pytest.fixture
def little_memory(monkeypatch):
    end_kept()
    monkeypatch.setattr("core.side_process.client.MOST_BYTES", 512 << 20)
    monkeypatch.setattr(_kept, "_ahead", ())  # what the command line loads takes most of that
    yield
    end_kept()


@pytest.mark.slow
@pytest.mark.usefixtures("little_memory")
def test_work_that_takes_much_memory_is_given_up():
    with pytest.raises(TilescopeError, match=r"takes more than the 0\.5 GB of memory"):
        apart(bytearray, 1 << 30)
    assert apart(len, b"123") == 3
    with cancelled_by(lambda: False), pytest.raises(TilescopeError, match=r"memory|stopped after"):
        compile_ptx(LONG)


@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGSEGV, r"crashed \(status -11\): a defect"), (signal.SIGKILL, "GB of memory")],
)
def test_a_crash_is_told_from_a_lack_of_memory(number, words):
    with pytest.raises(TilescopeError, match=words):
        apart(signal.raise_signal, number)


def reserves_and_crashes(seen):
    with mmap.mmap(-1, 300 << 20):
        while not seen.exists():
            time.sleep(0.01)
        signal.raise_signal(signal.SIGSEGV)


@pytest.mark.usefixtures("little_memory")
def test_memory_that_is_reserved_and_not_used_counts_to_the_limit(monkeypatch, tmp_path):
    look = Child.look_at_memory

    def looked(child):
        look(child)
        if child.reserved > 300 << 20:
            (tmp_path / "seen").touch()

    monkeypatch.setattr(Child, "look_at_memory", looked)
    with pytest.raises(TooMuchWork, match=r"takes more than the 0\.5 GB of memory"):
        apart(reserves_and_crashes, tmp_path / "seen")


@pytest.mark.usefixtures("little_memory")
def test_a_crash_is_one_where_this_process_has_had_much_memory():
    """Linux counts that to the peak of a process that it starts."""
    bytearray(b"1") * (400 << 20)
    with pytest.raises(TilescopeError, match=r"crashed \(status -11\): a defect"):
        apart(signal.raise_signal, signal.SIGSEGV)


def test_where_the_work_is_done_follows_from_whether_it_can_be_stopped():
    assert stoppable(process_id) == os.getpid()
    with cancelled_by(lambda: False):
        assert stoppable(process_id) != os.getpid()


def test_errors_come_back_as_they_are():
    with pytest.raises(CompileError, match="no such type") as raised:
        apart(refuses, "no such type")
    assert raised.value.diagnostics == ("a", "b")
    with pytest.raises(ValueError, match="a defect"):
        apart(breaks)
    with pytest.raises(TilescopeError, match=r"crashed \(status 7\)"):
        apart(dies)


@pytest.mark.slow
def test_a_cancelled_process_is_gone_at_once(tmp_path):
    mark = tmp_path / "id"
    later = Later(lambda: mark.exists() and mark.read_text())
    with cancelled_by(later), pytest.raises(Cancelled):
        apart(sleeps, mark)
    assert processor_spent() - later.at < SOON_S
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)


def test_cancelling_is_of_one_thread_and_ends_with_its_block():
    seen = []
    with cancelled_by(lambda: True):
        with pytest.raises(Cancelled):
            check()
        other = threading.Thread(target=lambda: seen.append(check()))
        other.start()
        other.join()
    check()
    assert seen == [None]


def odd(size):
    """A source that the compiler takes long for: functions that call one another."""
    lines = [f"__device__ float f{i}(float x) {{ return x * {i}.0f; }}" for i in range(size)]
    return KERNEL + "\n".join(lines)


@pytest.mark.slow
def test_a_large_source_gives_the_build_that_a_small_one_does_and_can_be_stopped():
    source = KERNEL + "// " + LARGE * "x" + "\n"
    assert compile_ptx(source).entries == compile_ptx(KERNEL).entries
    with pytest.raises(CompileError, match=r"kernel\.cu:1"):
        compile_ptx(source.replace("float* v", "flaot* v"))
    begun = time.monotonic()
    later = Later(lambda: time.monotonic() - begun > 0.5)
    with cancelled_by(later), pytest.raises(Cancelled):
        compile_ptx(odd(14_000))
    assert processor_spent() - later.at < SOON_S


TEN = "#define TEN(x) x x x x x x x x x x\n"
LONG = (
    f"{TEN}#define MANY(x) TEN(TEN(TEN(TEN(TEN(TEN(x))))))\n"
    "__global__ void k(float* v) { MANY(v[threadIdx.x] = v[threadIdx.x] * 1.5f + 1;) }\n"
)  # a million statements in 200 characters


@pytest.mark.parametrize(
    "kind", ["as_written", pytest.param("as_compiled", marks=pytest.mark.slow)]
)
def test_a_short_source_that_compiles_for_minutes_can_be_stopped(kind):
    begun = time.monotonic()
    later = Later(lambda: time.monotonic() - begun > 0.5)
    with cancelled_by(later), pytest.raises(Cancelled):
        compile_ptx(LONG, kind=kind)
    assert processor_spent() - later.at < SOON_S


def test_what_another_compiles_does_not_hold_up_other_sources():
    stopped = threading.Event()

    def long():
        with cancelled_by(stopped.is_set), pytest.raises(Cancelled):
            compile_ptx(LONG)

    with ThreadPoolExecutor(1) as other:
        waited = other.submit(long)
        with cancelled_by(lambda: False):
            assert compile_ptx(f"{KERNEL}// another\n").entries
        assert not waited.done()
        stopped.set()
        waited.result()


def test_outside_a_job_small_sources_are_compiled_here(monkeypatch):
    monkeypatch.setattr(
        "core.side_process.client.apart", lambda *_: pytest.fail("in another process")
    )
    assert not is_cancellable()
    assert compile_ptx(f"{KERNEL}// here\n").entries
    with cancelled_by(lambda: False):
        assert is_cancellable()


def test_reading_a_large_source_can_be_stopped():
    many = ", ".join(f"float* p{i:06d}" for i in range(50_000))
    launch = FileLaunch("x.cu", "many")
    begun = time.monotonic()
    later = Later(lambda: time.monotonic() - begun > 0.5)
    with cancelled_by(later), pytest.raises(Cancelled):
        file_workload(f"{KERNEL}__global__ void many({many}) {{ p000000[0] = 1; }}\n", launch)
    assert processor_spent() - later.at < SOON_S
    with pytest.raises(NoKernel):
        file_workload("int x;", launch)


def test_an_array_of_four_gigabytes_can_be_stopped():
    launch = FileLaunch("x.cu", "twice", arguments=(("v", "float32[1000000000]"), ("n", "32")))
    begun = time.monotonic()
    later = Later(lambda: time.monotonic() - begun > 0.3)
    with cancelled_by(later), pytest.raises(Cancelled):
        file_workload(KERNEL, launch)
    assert processor_spent() - later.at < SOON_S


def test_arrays_that_are_made_in_stretches_are_those_of_one_piece(monkeypatch):
    whole = random_array(np.random.default_rng(3), "float32", (7, 30))
    monkeypatch.setattr("core.ladder.input_arrays._STRETCH", 32)
    assert np.array_equal(random_array(np.random.default_rng(3), "float32", (7, 30)), whole)
    assert random_array(np.random.default_rng(3), "int8", (7, 30)).shape == (7, 30)
    assert np.array_equal(filled("int16", (5, 20), np.arange), np.arange(100).reshape(5, 20))
    assert np.isnan(poisoned("float16", (65,))).all()
    assert (poisoned("int32", (65,)).view(np.uint8) == POISON_BYTE).all()


def test_a_field_does_not_swallow_that_the_work_was_stopped():
    launch = FileLaunch("x.cu", "twice", arguments=(("v", "float32[32]"), ("n", "x")))
    with pytest.raises(ArgumentError):
        file_workload(KERNEL, launch)
    with cancelled_by(lambda: True), pytest.raises(Cancelled):
        file_workload(KERNEL, launch)
