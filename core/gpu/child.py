"""The worker process as seen from the application: started, spoken to, watched, ended.

Nothing here waits for ever: frames are sent from a thread of their own, received through a queue
with a time-out, and a process that does not end is killed.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, BinaryIO, cast

from core.gpu.protocol import ConnectionLost, read_frame, write_frame

_STDERR_KEPT = 8192
_END: tuple[bytes, bytes] = (b"", b"")


def worker_command(device: int) -> list[str]:
    """The command line of the worker for the device of that ordinal.

    `-P` keeps the current folder off the path: a foreign `core` there would be imported instead.
    """
    return [sys.executable, "-P", "-m", "core.gpu.worker", "--device", str(device)]


class Child:
    """One running worker process."""

    def __init__(self, command: Sequence[str]) -> None:
        root = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH", "")) if p)
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            # Ctrl-C in a terminal goes to the whole group; the worker is ended by its parent.
            start_new_session=os.name == "posix",
        )
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
        """Sends a frame without waiting; a worker that is gone shows in `receive`."""
        self._stderr = b""  # what an earlier job said explains nothing about this one
        self._start(lambda: self._write(kind, payload))

    def receive(self, timeout: float) -> tuple[bytes, bytes] | None:
        """The next frame, or None after `timeout` seconds; raises ConnectionLost at the end."""
        if self._ended:
            raise ConnectionLost("the worker process ended")
        try:
            frame = self._frames.get(timeout=max(timeout, 0.001))
        except queue.Empty:
            if self._process.poll() is None or not self._frames.empty():
                return None
            # Dead, yet its pipe is open: a process that it started holds it. Do not wait for that.
            self._ended = True
            raise ConnectionLost("the worker process ended") from None
        if frame is _END:
            self._ended = True
            raise ConnectionLost("the worker process ended")
        return frame

    def exit_code(self, timeout: float = 2.0) -> int | None:
        """Its exit status (negative: the signal that ended it), or None if it runs on."""
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def stderr_tail(self) -> str:
        """The end of what it wrote to its standard error."""
        self._threads[1].join(0.5)
        return self._stderr.decode("utf-8", "replace")

    def close(self, grace: float = 5.0) -> None:
        """Asks it to end by closing its input; kills it after `grace` seconds."""
        self._start(self._close_stdin)
        if self.exit_code(grace) is None:
            self.kill()
        else:
            self._release()

    def kill(self) -> None:
        """Ends it at once. A process stuck in the driver is left to the system after 5 s."""
        self._process.kill()
        self.exit_code(5.0)
        self._release()

    def _release(self) -> None:
        for thread in self._threads:
            thread.join(1.0)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            self._close_quietly(stream)

    def _close_stdin(self) -> None:
        with self._sending:
            self._close_quietly(self._process.stdin)

    @staticmethod
    def _close_quietly(stream: IO[bytes] | None) -> None:
        if stream is not None:
            try:
                stream.close()
            except OSError:
                pass  # a broken pipe while flushing: the process is gone, which is what we want

    def _write(self, kind: bytes, payload: bytes) -> None:
        with self._sending:
            try:
                write_frame(cast(BinaryIO, self._process.stdin), kind, payload)
            except ConnectionLost:
                pass  # `receive` reports it, with the exit status

    def _read_frames(self) -> None:
        stream = cast(BinaryIO, self._process.stdout)
        while True:
            try:
                self._frames.put(read_frame(stream))
            except ConnectionLost:
                self._frames.put(_END)
                return

    def _read_stderr(self) -> None:
        stream = cast(BinaryIO, self._process.stderr)
        while True:
            try:
                data = os.read(stream.fileno(), 4096)
            except (OSError, ValueError):
                return
            if not data:
                return
            self._stderr = (self._stderr + data)[-_STDERR_KEPT:]

    @staticmethod
    def _start(target: object) -> threading.Thread:
        thread = threading.Thread(target=target, daemon=True)  # type: ignore[arg-type]
        thread.start()
        return thread
