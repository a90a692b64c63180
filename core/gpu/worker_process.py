"""The process that owns a GPU: `GpuWorker` has it run functions, `main` is what runs in it.

    with GpuWorker() as gpu:
        future = gpu.stream(print, run_benchmark, job)     # print gets each sample as it is taken
        result = future.result()

It is started as `python -P -m core.gpu.worker_process --device 0`. Any other Executor (a thread
pool in tests, `dask.distributed.Client.get_executor()`) runs the same functions; only the stream of
events differs.
"""

from __future__ import annotations

import argparse
import logging
import os
import pickle
import queue
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.gpu import events_and_failures
from core.gpu.events_and_failures import Event, Stage, WorkerFailure, from_exit, timed_out
from core.side_process.connection import (
    CALL,
    DONE,
    EVENT,
    STOP,
    Child,
    Connection,
    ConnectionLost,
    failure,
)

if TYPE_CHECKING:
    from core.gpu.benchmark_result import DeviceReport

_WORKER = (sys.executable, "-P", "-m", "core.gpu.worker_process", "--device")
_ORPHAN_GRACE_S = 2.0  # that a job may go on after the application is gone
_log = logging.getLogger(__name__)

OnEvent = Callable[[Event], None]


@dataclass(frozen=True)
class _Task:
    future: Future[Any]
    on_event: OnEvent
    call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class GpuWorker(Executor):
    """Runs functions one after another in a process of its own.

    device: ordinal of the GPU. stall_s: how long the worker may give no sign before it is stopped,
    unless the job names its own limit (`Stage.limit_s`).
    A job that fails raises from its future: WorkerFailure (the GPU or the worker), GpuUnavailable
    (no driver, no GPU, nothing to drive it), or what the function itself raised. The worker starts
    with the first job, and anew after a failure that ended it.
    """

    def __init__(
        self, device: int = 0, *, stall_s: float = 60.0, command: Sequence[str] | None = None
    ) -> None:
        self._command = list(command) if command is not None else [*_WORKER, str(device)]
        self._stall_s = stall_s
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._child: Child | None = None
        self._shut = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._serve, name="gpu-worker", daemon=True)
        self._thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Runs `fn(*args, **kwargs)` in the worker; all of them must be picklable."""
        return self.stream(lambda event: None, fn, *args, **kwargs)

    def stream(
        self, on_event: OnEvent, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """Like `submit`, and calls `on_event` with each event of the job, from another thread."""
        with self._lock:
            if self._shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
            task = _Task(Future(), on_event, (fn, args, kwargs))
            self._tasks.put(task)
        return task.future

    def stop(self) -> None:
        """Asks the running job to finish early; its future then gives what it has."""
        child = self._child
        if child is not None:
            child.send(STOP)

    def kill(self) -> None:
        """Ends the worker process at once; a running job fails with `worker_died`."""
        child = self._child
        if child is not None:
            child.kill()

    @property
    def pid(self) -> int | None:
        """The process id of the worker, or None while there is none."""
        child = self._child
        return None if child is None else child.pid

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the worker after the jobs in the queue (or cancels those not yet begun)."""
        with self._lock:
            if not self._shut:
                self._shut = True
                if cancel_futures:
                    self._cancel_waiting()
                self._tasks.put(None)
        if wait:
            self._thread.join()

    def _cancel_waiting(self) -> None:
        while True:
            try:
                task = self._tasks.get_nowait()
            except queue.Empty:
                return
            if task is not None and task.future.cancel():
                task.future.set_running_or_notify_cancel()  # wakes `concurrent.futures.wait`

    def _serve(self) -> None:
        while (task := self._tasks.get()) is not None:
            if not task.future.set_running_or_notify_cancel():
                continue
            try:
                result = self._run(task)
            except BaseException as error:  # noqa: BLE001 - the future carries every failure
                task.future.set_exception(error)
            else:
                task.future.set_result(result)
        self._discard(kill=False)

    def _run(self, task: _Task) -> Any:
        payload = pickle.dumps(task.call, protocol=5)
        child = self._child
        if child is None or child.exit_code(0) is not None:
            self._discard(kill=True)
            try:
                child = self._child = Child(self._command)
            except OSError as error:
                raise WorkerFailure(f"The GPU worker could not be started: {error}.") from error
        else:
            child.forget_stderr()
        child.send(CALL, payload)
        return self._converse(child, task)

    def _converse(self, child: Child, task: _Task) -> Any:
        stage = Stage("running the job", self._stall_s)
        deadline = time.monotonic() + stage.limit_s
        while True:
            try:
                frame = child.receive(min(0.2, deadline - time.monotonic()))
            except ConnectionLost:
                code, said = child.exit_code(), child.stderr_tail()
                self._discard(kill=True)
                raise from_exit(code, stage.doing, said) from None
            if frame is None:
                if time.monotonic() > deadline:
                    self._discard(kill=True)
                    raise timed_out(stage.limit_s, stage.doing)
                continue
            kind, payload = frame
            if kind == EVENT:
                event = pickle.loads(payload)
                stage = event if isinstance(event, Stage) else stage
                deadline = time.monotonic() + stage.limit_s
                self._notify(task, event)
            elif kind == DONE:
                return pickle.loads(payload)
            else:
                error = failure(payload)
                if isinstance(error, WorkerFailure) and error.fatal:
                    self._discard(kill=False)
                raise error

    def _notify(self, task: _Task, event: Event) -> None:
        try:
            task.on_event(event)
        except Exception:  # noqa: BLE001 - a fault in a plot must not lose the measurement
            _log.exception("the receiver of GPU events failed")

    def _discard(self, *, kill: bool) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill() if kill else child.close()


def devices_here() -> tuple[DeviceReport, ...]:
    """Every GPU that the driver finds, asked in a process of its own; raises GpuUnavailable."""
    from core.gpu.driver_session import describe_devices

    with GpuWorker() as worker:
        found: tuple[DeviceReport, ...] = worker.submit(describe_devices).result()
        return found


def main(arguments: list[str] | None = None) -> int:
    """In the worker process: serves jobs until standard input ends."""
    parser = argparse.ArgumentParser(description="The GPU worker process of Tilescope.")
    parser.add_argument("--device", type=int, default=0)
    options = parser.parse_args(arguments)
    calls: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def hear(kind: bytes, payload: bytes) -> None:
        if kind == CALL:
            events_and_failures.stop.clear()  # an earlier job was asked
            calls.put(payload)
        elif kind == STOP:
            events_and_failures.stop.set()

    def ended() -> None:
        """The application ended or closed this process: finish, even in the midst of a kernel."""
        events_and_failures.stop.set()
        calls.put(None)
        threading.Timer(_ORPHAN_GRACE_S, os._exit, (3,)).start()

    connection = Connection(hear, ended)
    events_and_failures.set_sink(lambda event: connection.send(EVENT, event))
    from core.gpu import driver_session

    driver_session.choose_device(options.device)
    while (payload := calls.get()) is not None:
        try:
            error = connection.carry_out(payload)
        except ConnectionLost:
            os._exit(4)
        if isinstance(error, WorkerFailure) and error.fatal:
            # After a sticky CUDA error the context cannot be taken down in order.
            os._exit(4)
    driver_session.close()
    return 0


if __name__ == "__main__":
    sys.stdout.flush()
    code = main()
    sys.stdout.flush()
    # Nothing is left to do; skip waiting for the orphan timer's thread.
    os._exit(code)
