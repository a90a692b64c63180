"""A process of this program as seen from the one that started it: spoken to, watched, ended.

Nothing here waits for ever: frames are sent from a thread of their own, received through a queue
with a time-out, and a process that does not end is killed.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, cast

from core.side_process.message_frames import ConnectionLost, read_frame, write_frame

_STDERR_KEPT = 8192
_POLL_S = 0.003
_PEAK_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes, of ru_maxrss
_END: tuple[bytes, bytes] = (b"", b"")


def _own_peak() -> int:
    """The most bytes that this process has had in memory; 0 where the system does not tell."""
    if os.name != "posix":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _PEAK_UNIT


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
        """Note how many bytes it has had at most, where the system tells (Linux)."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii", errors="replace")
            self._peak_seen = max(self._peak_seen, int(status.split("VmHWM:")[1].split()[0]) << 10)

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


def _close(stream: BinaryIO) -> None:
    # A broken pipe while flushing: the process is gone, which is what we want.
    with contextlib.suppress(OSError):
        stream.close()
