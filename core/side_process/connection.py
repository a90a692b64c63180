"""The connection of two processes of this program, of which one started the other: both its ends.

Frames go through pipes: one byte (the kind), eight bytes (the payload's length, big endian) and the
payload, a pickle. `Child` is the end of the process that starts the other; nothing there waits for
ever: frames are sent from a thread of their own, received through a queue with a time-out, and a
process that does not end is killed. `Connection` is the end of the process that was started.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from core.errors import TilescopeError

# Frames.


CALL = b"C"  # to the started process: (function, args, kwargs)
STOP = b"S"  # to it: finish the running call early with what there is
EVENT = b"E"  # from it: an event of the running call
DONE = b"D"  # from it: the call's result
FAILED = b"F"  # from it: how to make the call's exception, see `failure`
_KINDS = frozenset((CALL, STOP, EVENT, DONE, FAILED))
_HEADER = struct.Struct("!cQ")


class ConnectionLost(Exception):
    """The other end is gone, or what it sent is not a frame."""


def write_frame(stream: BinaryIO, kind: bytes, payload: bytes = b"") -> None:
    """Write and flush one frame; raises ConnectionLost when the other end is gone."""
    try:
        stream.write(_HEADER.pack(kind, len(payload)))
        stream.write(payload)
        stream.flush()
    except (OSError, ValueError) as error:
        raise ConnectionLost(str(error)) from error


def read_frame(stream: BinaryIO) -> tuple[bytes, bytes]:
    """Read one whole frame: (kind, payload); raises ConnectionLost at its end or inside one."""
    kind, length = _HEADER.unpack(_read_exactly(stream, _HEADER.size))
    if kind not in _KINDS:
        raise ConnectionLost("this is not a frame")
    return kind, _read_exactly(stream, length)


def _read_exactly(stream: BinaryIO, count: int) -> bytes:
    try:
        data = stream.read(count)
    except (OSError, ValueError) as error:
        raise ConnectionLost(str(error)) from error
    if data is None or len(data) != count:
        raise ConnectionLost("the stream ended")
    return data


def failure(payload: bytes) -> Exception:
    """The exception that a FAILED frame tells of."""
    kind, args, fields = pickle.loads(payload)
    error: Exception = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


def _packed(error: Exception) -> bytes:
    """The exception with all it holds, or its text alone where that cannot be pickled."""
    try:
        payload = pickle.dumps((type(error), error.args, error.__dict__), protocol=5)
        failure(payload)
    except Exception:  # noqa: BLE001 - whatever fails: the text can be sent
        if isinstance(error, TilescopeError):
            return pickle.dumps((TilescopeError, (str(error),), {}), protocol=5)
        said = f"{type(error).__name__}: {error}"
        return pickle.dumps((RuntimeError, (said,), {}), protocol=5)
    return payload


# The started process.


class Connection:
    """The started process's end of the pipes.

    Frames come in on standard input. They go out on a private copy of standard output: whatever
    else is written there, as by a kernel's printf, goes to standard error. In a thread of its own,
    `hear(kind, payload)` gets each frame, and `ended()` is called when there are no more.
    """

    def __init__(self, hear: Callable[[bytes, bytes], None], ended: Callable[[], None]) -> None:
        private = os.dup(1)
        os.dup2(2, 1)
        self._out: BinaryIO = os.fdopen(private, "wb")
        self._lock = threading.Lock()
        self._hear, self._ended = hear, ended
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, kind: bytes, value: Any) -> None:
        """Pickle and send one value."""
        self._write(kind, pickle.dumps(value, protocol=5))

    def carry_out(self, call: bytes) -> Exception | None:
        """Do what a CALL's payload asks for and send the outcome; the exception if it failed.

        Raises ConnectionLost.
        """
        try:
            function, args, kwargs = pickle.loads(call)
            self.send(DONE, function(*args, **kwargs))
        except ConnectionLost:
            raise
        except Exception as error:  # noqa: BLE001 - every failure goes back to the caller
            if not isinstance(error, TilescopeError):
                error.add_note("In the other process:\n" + traceback.format_exc())
            self._write(FAILED, _packed(error))
            return error
        return None

    def _write(self, kind: bytes, payload: bytes) -> None:
        with self._lock:
            write_frame(self._out, kind, payload)

    def _listen(self) -> None:
        while True:
            try:
                frame = read_frame(sys.stdin.buffer)
            except ConnectionLost:
                break
            self._hear(*frame)
        self._ended()


# The process that starts it.


_STDERR_KEPT = 8192
_POLL_S = 0.003
_PEAK_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes, of ru_maxrss
_END: tuple[bytes, bytes] = (b"", b"")


class Child:
    """One running process of this program. Raises OSError where it cannot be started.

    `-P` in its command keeps the current folder off the path: a foreign `core` there would be
    imported instead. `pass_fds` are descriptors that it gets besides its three streams.
    """

    def __init__(self, command: Sequence[str], pass_fds: Sequence[int] = ()) -> None:
        # Linux begins the child's peak with that of the process that starts it.
        self._peak_before = _own_peak()
        self._peak_seen = 0
        root = str(Path(__file__).resolve().parents[__name__.count(".")])
        path = os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH", "")) if p)
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            pass_fds=pass_fds,
            # Ctrl-C in a terminal goes to the whole group; the parent ends this one.
            start_new_session=os.name == "posix",
        )
        self.used = 0  # the most bytes that it had in memory, once it has ended; 0: not known
        self.reserved = 0  # the most bytes of addresses that were seen taken, which a limit counts
        self._reaping = threading.Lock()
        self._frames: queue.Queue[tuple[bytes, bytes]] = queue.Queue()
        self._stderr = b""
        self._ended = False
        self._sending = threading.Lock()
        self._threads = [self._start(self._read_frames), self._start(self._read_stderr)]

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def send(self, kind: bytes, payload: bytes = b"") -> None:
        """Send a frame without waiting; a process that is gone shows in `receive`."""
        self._start(lambda: self._write(kind, payload))

    def receive(self, timeout: float) -> tuple[bytes, bytes] | None:
        """The next frame, or None after `timeout` seconds; raises ConnectionLost at the end."""
        if self._ended:
            raise ConnectionLost("the process ended")
        try:
            frame = self._frames.get(timeout=max(timeout, 0.001))
        except queue.Empty:
            if self._reap() is None or not self._frames.empty():
                return None
            # Dead, yet its pipe is open: a process that it started holds it. Do not wait for that.
            self._ended = True
            raise ConnectionLost("the process ended") from None
        if frame is _END:
            self._ended = True
            raise ConnectionLost("the process ended")
        return frame

    def exit_code(self, timeout: float = 2.0) -> int | None:
        """Its exit status (negative: the signal that ended it), or None if it runs on."""
        end = time.monotonic() + timeout
        while (code := self._reap()) is None and time.monotonic() < end:
            time.sleep(_POLL_S)
        return code

    def _reap(self) -> int | None:
        process = self._process
        with self._reaping, contextlib.suppress(ChildProcessError):
            if os.name == "posix" and process.returncode is None:
                ended, status, usage = os.wait4(process.pid, os.WNOHANG)
                if ended:
                    process.returncode = os.waitstatus_to_exitcode(status)
                    peak = usage.ru_maxrss * _PEAK_UNIT
                    self.used = peak if peak > self._peak_before else self._peak_seen
                return process.returncode
        return process.poll()

    def look_at_memory(self) -> None:
        """Note how many bytes it has had at most, and reserves, where the system tells (Linux)."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii", errors="replace")
            found = (status.split(f"{name}:")[1].split()[0] for name in ("VmHWM", "VmSize"))
            peak, size = (int(kilobytes) << 10 for kilobytes in found)
            self._peak_seen = max(self._peak_seen, peak)
            self.reserved = max(self.reserved, size)

    def processor_s(self) -> float | None:
        """Seconds that processors have worked for it, None where the system does not tell."""
        try:
            words = Path(f"/proc/{self.pid}/stat").read_bytes().rpartition(b")")[2].split()
            return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError, AttributeError):
            return None

    def forget_stderr(self) -> None:
        """Begin a new job: what an earlier one said explains nothing about it."""
        self._stderr = b""

    def stderr_tail(self) -> str:
        """The end of what it wrote to its standard error."""
        self._threads[1].join(0.5)
        return self._stderr.decode("utf-8", "replace")

    def close(self, grace: float = 5.0) -> None:
        """Ask it to end by closing its input; kills it after `grace` seconds."""
        self._start(self._close_stdin)
        if self.exit_code(grace) is None:
            self.kill()
        else:
            self._release()

    def kill(self) -> None:
        """End it at once. A process stuck in the driver is left to the system after 5 s."""
        if self.exit_code(0) is None:
            self._process.kill()
            self.exit_code(5.0)
        self._release()

    def _release(self) -> None:
        """Let go of the pipes; never wait for a thread that a foreign process keeps blocked.

        A process that it started may hold the other ends. The reading threads close what
        they read when they end, since closing a stream waits for whoever reads it.
        """
        for thread in self._threads:
            thread.join(1.0)
        if self._sending.acquire(timeout=1.0):
            self._sending.release()
            self._close_stdin()

    def _close_stdin(self) -> None:
        with self._sending:
            _close(cast(BinaryIO, self._process.stdin))

    def _write(self, kind: bytes, payload: bytes) -> None:
        # `receive` reports a lost connection, with the exit status.
        with self._sending, contextlib.suppress(ConnectionLost):
            write_frame(cast(BinaryIO, self._process.stdin), kind, payload)

    def _read_frames(self) -> None:
        with contextlib.closing(cast(BinaryIO, self._process.stdout)) as stream:
            while True:
                try:
                    self._frames.put(read_frame(stream))
                except ConnectionLost:
                    self._frames.put(_END)
                    return

    def _read_stderr(self) -> None:
        with contextlib.closing(cast(BinaryIO, self._process.stderr)) as stream:
            while data := os.read(stream.fileno(), 4096):
                self._stderr = (self._stderr + data)[-_STDERR_KEPT:]

    @staticmethod
    def _start(target: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=target, daemon=True)
        thread.start()
        return thread


def _own_peak() -> int:
    """The most bytes that this process has had in memory; 0 where the system does not tell."""
    if os.name != "posix":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _PEAK_UNIT


def _close(stream: BinaryIO) -> None:
    # A broken pipe while flushing: the process is gone, which is what we want.
    with contextlib.suppress(OSError):
        stream.close()
