"""Jobs that the executor's tests run in the worker process, in place of a benchmark."""

import os
import threading
import time

from core.errors import CompileError, GpuUnavailable, UnsupportedPtx
from core.gpu.events_and_failures import Sample, Stage, WorkerFailure, report, stop


def samples(count, pause=0.0):
    report(Stage("timing"))
    for index in range(count):
        report(Sample(index, 1.5 + index, None))
        time.sleep(pause)
    return count


def until_stopped():
    index = 0
    while not stop.is_set():
        report(Sample(index, 1.0, 2.0))
        index += 1
        time.sleep(0.005)
    return index


def hang(limit):
    report(Stage("running the kernel once", limit))
    time.sleep(600)


def die(code):
    report(Stage("checking the result"))
    os.write(2, b"something terrible\n")
    os._exit(code)


def raise_sticky():
    raise WorkerFailure("The kernel read what it must not.", "illegal_access", fatal=True)


def raise_compile_error():
    raise CompileError("k.cu:3: no.", ("a diagnostic",))


def raise_unsupported():
    raise UnsupportedPtx(7, "bogus.instruction;")


def raise_unpicklable(kind):
    error = kind("no pickle")
    error.lock = threading.Lock()
    raise error


def raise_unavailable():
    raise GpuUnavailable("There is no GPU here.")


def speak():
    """Writes to the file descriptor that a kernel's printf uses."""
    os.write(1, b"noise on standard output\n" * 100)
    return "heard"


def close_streams():
    os.closerange(0, 64)
    time.sleep(600)


def fork_and_die():
    """Dies while a process it started still holds its pipes, for longer than the tests wait."""
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
    os._exit(9)


def not_a_result():
    return lambda: None
