"""Tasks on the workers of a dask scheduler: each answered exactly once, whoever dies meanwhile.

    with Cluster("tcp://10.0.0.7:8786", "EMULATOR") as cluster:
        future = cluster.submit(scan_point, task)     # a concurrent.futures.Future

dask.distributed finds the workers, balances them, and gives the tasks of one that died to others.
Where the scheduler itself goes, its tasks go with it: then the client waits for a new one at that
address, fetches what workers wrote down meanwhile (`core.distributed.cluster_workers`), and submits
the rest again. Only workers that run the same sources get tasks: their version is a resource.
"""

from __future__ import annotations

import itertools
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, InvalidStateError, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from core.cancelling import check
from core.distributed import cluster_workers
from core.distributed.cluster_workers import (
    VERSION_PREFIX,
    Answer,
    GpuTask,
    Resource,
    local_cluster,
    version_resource,
)
from core.errors import TilescopeError
from core.gpu.events_and_failures import WorkerFailure
from core.gpu.sweep import Lane

LOCAL = "local"
PORT = 8786
_CONNECT_S = 20.0
_LOOK_S = 0.2
_FETCH_S = 30.0
_ASK_S = 10.0  # that a scheduler may take for a question
_SETTLE_S = 5.0  # that others may take to come where workers are there and none of them suits
_MIND_S = 2.0
_AT_ONCE = 256
# A task that a scheduler holds has its worker already, and takes some of its memory. So it holds
# two a worker, one of which waits, and where tasks are short as many as end in this time.
_AHEAD_EACH = 2
_AHEAD_S = 1.0

_NO_DISTRIBUTED = (
    "A cluster needs the package distributed: `pip install distributed` (the extra cluster), here "
    "and on every worker."
)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Roll:
    """Who is there: workers that suit, those of other versions (`versions`), and all the rest."""

    fit: int = 0
    versions: tuple[str, ...] = ()
    rest: int = 0

    @property
    def others(self) -> int:
        """Workers that do not suit."""
        return len(self.versions) + self.rest


class Cluster(Executor):
    """Runs functions on workers with a resource: "GPU" or "EMULATOR".

    patience_s: how long a scheduler, or the last worker, may be away. tell: hears in sentences what
    happens to the cluster, from another thread. Raises TilescopeError where the scheduler cannot
    be reached, or no worker suits, and Cancelled where nobody waits for it any more.
    """

    def __init__(
        self,
        address: str,
        resource: Resource,
        *,
        patience_s: float = 60.0,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._address, self._resource = checked_address(address), resource
        self._patience_s, self._tell = patience_s, tell or (lambda text: None)
        self._run = uuid4().hex
        self._lock = threading.RLock()
        self._open: dict[str, tuple[Callable[..., Any], Any, Future[Answer]]] = {}
        self._sent: dict[str, Any] = {}  # dask's futures, which hold the tasks
        self._later: dict[str, None] = {}  # what is sent once the scheduler holds less, in order
        self._ended: deque[float] = deque()  # when tasks did, within the last _AHEAD_S
        self._events: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._attempt = 0
        self._closing = self._stopping = False
        self._client = self._connected()
        try:
            self.workers = self._awaited_workers()
        except BaseException as error:
            with suppress(Exception):
                self._client.close(timeout=2)
            if isinstance(error, TimeoutError):
                raise TilescopeError(
                    f"The scheduler at {self._address} does not answer: look whether it runs, and "
                    "the network between."
                ) from None
            raise
        self._most = self._seen = self.workers
        self._alone_since: float | None = None
        self._silent_since: float | None = None
        self._thread = threading.Thread(target=self._manage, name="cluster", daemon=True)
        self._thread.start()

    # ---- what callers do

    def ask(self, function: Callable[[Any], Any], task: Any) -> Future[Answer]:
        """The answer to `function(task)`, which a worker gives. Functions are of this project."""
        future: Future[Answer] = Future()
        future.set_running_or_notify_cancel()
        key = uuid4().hex[:16]
        with self._lock:
            if self._closing:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._open[key] = (function, task, future)
        self._events.put(key)
        return future

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """`fn(task)` on a worker; its future raises what the function raised."""
        (task,) = args
        return _unpacked(self.ask(fn, task))

    def stream(
        self, on_event: Callable[[Any], None], fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """A job in the process that owns a worker's GPU; if it fails, what it said comes then."""
        (job,) = args
        return _unpacked(self.ask(cluster_workers.on_gpu, GpuTask(fn, job)), on_event)

    def spread(
        self, function: Callable[[Any], Any], tasks: Sequence[Any]
    ) -> Iterator[tuple[int, Any]]:
        """Each task's place and what `function` gives for it, in the order in which they end."""
        places = {self.submit(function, task): place for place, task in enumerate(tasks)}
        for future in as_completed(places):
            yield places[future], future.result()

    def stop(self) -> None:
        """Ask running jobs of GPUs to finish with what they have; returns at once."""
        self._stopping = True

    def kill(self) -> None:
        """Give up what is not done."""
        self._fail(WorkerFailure("Stopped.", "worker_died"))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster, whose workers go on; their copies of the answers are deleted."""
        if cancel_futures:
            self.kill()
        elif wait:
            with self._lock:
                waiting = [future for _, _, future in self._open.values()]
            for future in waiting:
                with suppress(Exception):
                    future.result()
        with self._lock:
            if self._closing:
                return
            self._closing = True
        self._thread.join(timeout=_CONNECT_S)
        with suppress(Exception):
            self._run_on_all(cluster_workers.forget, self._run)
        with suppress(Exception):
            self._client.close(timeout=2)

    # ---- the scheduler

    def _connected(self) -> Any:
        try:
            from distributed import Client
        except ImportError:
            raise TilescopeError(_NO_DISTRIBUTED) from None
        for name in ("distributed.client", "distributed.comm", "distributed.core"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # what they report is told here
        made: Future[Any] = Future()

        def connect() -> None:
            """In a thread that may be left: dask waits for ever to close what nobody answers."""
            try:
                client = Client(self._address, timeout=_CONNECT_S, set_as_default=False)
            except BaseException as error:  # noqa: BLE001 - the future carries it
                with suppress(InvalidStateError):
                    made.set_exception(error)
                return
            try:
                made.set_result(client)
            except InvalidStateError:  # too late
                client.close(timeout=2)

        threading.Thread(target=connect, name="connecting", daemon=True).start()
        try:
            return made.result(_CONNECT_S + 2)
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            made.cancel()
            raise TilescopeError(
                f"There is no scheduler at {self._address} ({type(error).__name__}): start one "
                f"with `dask scheduler`, and workers with `tilescope worker {self._address}`."
            ) from None

    def _run_on_all(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """What `function` gives on each worker; raises TimeoutError where nobody answers."""
        client = self._client
        return client.sync(client._run, function, *args, callback_timeout=_ASK_S, **options)

    def _workers(self) -> Roll:
        """Who is there; raises TimeoutError where the scheduler does not answer."""
        client = self._client
        client.sync(client._update_scheduler_info, n_workers=-1, callback_timeout=_ASK_S)
        fit, rest, versions = 0, 0, []
        for one in client._scheduler_identity["workers"].values():
            its = [name for name in one["resources"] if name.startswith(VERSION_PREFIX)]
            if self._resource not in one["resources"] or not its:
                rest += 1
            elif its == [version_resource()]:
                fit += 1
            else:
                versions.append(its[0].removeprefix(VERSION_PREFIX))
        return Roll(fit, tuple(versions), rest)

    def _awaited_workers(self) -> int:
        """The number of workers that suit, once there is one."""
        deadline = time.monotonic() + self._patience_s
        while True:
            check()
            roll = self._workers()
            if roll.fit:
                if roll.versions:
                    self._tell(
                        f"{len(roll.versions)} of the workers at {self._address} run another "
                        "version of Tilescope and get no task."
                    )
                return roll.fit
            if roll.others:
                deadline = min(deadline, time.monotonic() + _SETTLE_S)
            if time.monotonic() > deadline:
                raise TilescopeError(self._without_workers(roll))
            time.sleep(_LOOK_S)

    def _without_workers(self, roll: Roll) -> str:
        start = f"`tilescope worker {self._address}`"
        if roll.versions:
            return (
                f"The workers at {self._address} run version {roll.versions[0]} of Tilescope and "
                f"this is version {cluster_workers.version()}: bring both to one state of the "
                f"sources, and start them again with {start}."
            )
        if roll.rest:
            return (
                f"None of the {roll.rest} workers at {self._address} offers the resource "
                f"{self._resource}: start others with {start}."
            )
        return f"The scheduler at {self._address} has no workers: start some with {start}."

    # ---- the thread that minds the tasks

    def _manage(self) -> None:
        looked = time.monotonic()
        while not self._closing:
            keys = self._due()
            try:
                if self._stopping:
                    self._stopping = False
                    self._run_on_all(cluster_workers.stop_job, wait=False)
                if keys:
                    self._look_at(keys)
                elif self._client.status != "running":
                    self._recover()
                if self._open and time.monotonic() - looked > _MIND_S:
                    looked = time.monotonic()
                    self._mind_workers()
                    self._hear_again()
                    self._look_again()
            except TimeoutError:
                self._mind_silence()
            except Exception as error:  # noqa: BLE001 - the scheduler may go at any moment
                _log.info("the cluster: %s", error)
                if self._client.status == "running":
                    time.sleep(_LOOK_S)
                    for key in keys:
                        self._events.put(key)
                else:
                    with suppress(Exception):  # it may go once more: the next turn tries again
                        self._recover()

    def _due(self) -> list[str]:
        """The tasks of which there is news, all at once: each fetch costs a turn of the network."""
        keys: dict[str, None] = {}  # in order
        with suppress(queue.Empty):
            keys[self._events.get(timeout=_LOOK_S)] = None
            while len(keys) < _AT_ONCE:
                keys[self._events.get_nowait()] = None
        return list(keys)

    def _look_at(self, keys: Sequence[str]) -> None:
        with self._lock:
            there = {key: self._open[key] for key in keys if key in self._open}
        finished: dict[str, Any] = {}
        for key, (function, task, _) in there.items():
            sent = self._sent.get(key)
            if sent is None and len(self._sent) >= self._ahead():
                self._later[key] = None
            elif sent is None:
                self._later.pop(key, None)
                self._send(key, function, task)
            elif sent.status == "finished":
                finished[key] = sent
            elif sent.status == "error":
                self._settle(key, sent.exception(timeout=_FETCH_S))
            elif sent.status in ("cancelled", "lost"):
                self._recover()
                return
        if finished:
            self._fetch(finished)

    def _fetch(self, finished: dict[str, Any]) -> None:
        """Settle tasks that are done; those that cannot be fetched in time are sent again."""
        client = self._client
        try:
            answers = client.sync(
                client._gather, list(finished.values()), callback_timeout=_FETCH_S
            )
        except TimeoutError:  # who has them is gone, which the scheduler has not seen yet
            self._attempt += 1
            for key in finished:
                self._sent.pop(key, None)
                self._events.put(key)
            return
        for key, answer in zip(finished, answers, strict=True):
            self._settle(key, answer)

    def _look_again(self) -> None:
        """Whatever has news, or was never sent: a notice may be lost with its connection."""
        with self._lock:
            keys = list(self._open)
        for key in keys:
            sent = self._sent.get(key)
            if (sent is None and key not in self._later) or (
                sent is not None and sent.status != "pending"
            ):
                self._events.put(key)

    def _send(self, key: str, function: Callable[..., Any], task: Any) -> None:
        sent = self._client.submit(
            cluster_workers.carry_out,
            self._run,
            key,
            function,
            task,
            key=f"{getattr(function, '__name__', 'task')}-{key}-{self._attempt}",
            pure=False,
            resources={self._resource: 1, version_resource(): 1},
        )
        self._sent[key] = sent
        sent.add_done_callback(lambda _: self._events.put(key))

    def _ahead(self) -> int:
        """How many tasks the scheduler may hold now."""
        while self._ended and self._ended[0] < time.monotonic() - _AHEAD_S:
            self._ended.popleft()
        return _AHEAD_EACH * max(1, self.workers, self._seen) + len(self._ended)

    def _settle(self, key: str, answer: Any) -> None:
        with self._lock:
            found = self._open.pop(key, None)
            self._sent.pop(key, None)  # the scheduler forgets it
            self._later.pop(key, None)
            self._ended.append(time.monotonic())
            free = max(0, self._ahead() - len(self._sent))
            for following in list(itertools.islice(self._later, free)):
                del self._later[following]
                self._events.put(following)
        if found is None:
            return
        future = found[2]
        if isinstance(answer, Answer):
            future.set_result(answer)
        elif type(answer).__name__ == "KilledWorker":
            text = "Every worker that tried this died of it, most likely for lack of memory."
            future.set_result(Answer(error=WorkerFailure(text, "worker_died", fatal=True)))
        else:
            future.set_exception(answer)

    def _fail(self, error: TilescopeError) -> None:
        with self._lock:
            keys = list(self._open)
        for key in keys:  # the scheduler gives up tasks whose futures nobody holds
            self._settle(key, Answer(error=error))

    def _mind_workers(self) -> None:
        """Say when workers come or go, and give up when none has been there for long."""
        roll = self._workers()
        if self._client.status != "running":
            return
        fit = roll.fit
        if (
            fit != self.workers and fit == self._seen
        ):  # twice in a row: not in the midst of a change
            self._tell(f"{fit} workers are at {self._address} now, {self.workers} were there.")
            self.workers = fit
        self._seen = fit
        self._most = max(self._most, fit)
        now = time.monotonic()
        self._alone_since = None if fit else self._alone_since or now
        if self._alone_since is not None and now - self._alone_since > self._patience_s:
            self._fail(WorkerFailure(self._without_workers(roll), "worker_died"))

    def _mind_silence(self) -> None:
        """Say that a scheduler to which there is a connection answers nothing, and give up late."""
        if self._silent_since is None:
            self._silent_since = time.monotonic() - _ASK_S
            self._tell(self._waiting_text())
        if time.monotonic() - self._silent_since > self._patience_s:
            self._fail(WorkerFailure(self._silent_text(), "worker_died"))

    def _hear_again(self) -> None:
        if self._silent_since is not None:
            self._silent_since = None
            self._tell(f"The scheduler at {self._address} answers again.")

    def _waiting_text(self) -> str:
        return f"The scheduler at {self._address} does not answer: waiting for it."

    def _silent_text(self) -> str:
        return (
            f"The scheduler at {self._address} has not answered for {self._patience_s:.0f} s; what "
            "was measured is kept."
        )

    def _recover(self) -> None:
        """Wait for a scheduler, fetch what was written down, and send the rest again."""
        if self._closing:
            return
        deadline = time.monotonic() + self._patience_s
        self._tell(self._waiting_text())
        while self._client.status != "running":
            if time.monotonic() > deadline or self._closing:
                self._fail(WorkerFailure(self._silent_text(), "worker_died"))
                return
            if self._client.status == "closed":
                with suppress(TilescopeError):
                    self._client = self._connected()
            time.sleep(_LOOK_S)
        self._await_return(deadline)
        self._sent.clear()
        self._attempt += 1
        kept = self._fetch_held()
        with self._lock:
            left = list(self._open)
        self._tell(
            f"The scheduler answers again, with {self.workers} workers: {kept} results were kept "
            f"there, {len(left)} tasks are sent again."
        )
        for key in left:
            self._events.put(key)

    def _await_return(self, deadline: float) -> None:
        """Wait a little for the workers that were there, so that what they have can be fetched."""
        soon = min(deadline, time.monotonic() + _CONNECT_S)
        while True:
            self.workers = self._workers().fit
            if self.workers >= self._most or (time.monotonic() > soon and self.workers):
                return
            if time.monotonic() > deadline:
                return
            time.sleep(_LOOK_S)

    def _fetch_held(self) -> int:
        answers: dict[str, Answer] = {}
        for found in self._run_on_all(cluster_workers.held, self._run, on_error="ignore").values():
            answers |= found
        kept = 0
        for key, answer in answers.items():
            if key in self._open:
                self._settle(key, answer)
                kept += 1
        return kept


def _unpacked(asked: Future[Answer], on_event: Callable[[Any], None] | None = None) -> Future[Any]:
    """The answer's value, or its error, as a future's."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()

    def settle(done: Future[Answer]) -> None:
        error = done.exception()
        if error is not None:
            future.set_exception(error)
            return
        answer = done.result()
        for event in answer.events if on_event else ():
            assert on_event is not None
            on_event(event)
        if answer.error is not None:
            future.set_exception(answer.error)
        else:
            future.set_result(answer.value)

    asked.add_done_callback(settle)
    return future


def checked_address(text: str) -> str:
    """tcp://HOST:8786 of what was given; raises TilescopeError where it is not an address."""
    address = text.strip()
    scheme, separator, rest = address.partition("://")
    if not separator:
        scheme, rest = "tcp", address
    host, colon, port = rest.rpartition(":")
    if not colon or not port.isdecimal():
        host, port = rest.rstrip(":"), str(PORT)
    if scheme not in ("tcp", "tls", "ws", "wss", "inproc") or not host or int(port) > 65535:
        raise TilescopeError(
            f"`{text}` is not an address of a scheduler: write tcp://HOST:{PORT}, "
            f"tls://HOST:{PORT} or {LOCAL}."
        )
    return f"{scheme}://{host}:{port}"


@contextmanager
def opened(
    address: str,
    resource: Resource,
    *,
    jobs: int,
    tell: Callable[[str], None] | None = None,
    patience_s: float = 60.0,
) -> Iterator[Cluster]:
    """A cluster at an address; "local" starts a scheduler and `jobs` workers on this machine."""
    if address.strip() != LOCAL:
        with Cluster(address, resource, tell=tell, patience_s=patience_s) as cluster:
            yield cluster
        return
    with (
        local_cluster(resource, jobs) as here,
        Cluster(here, resource, tell=tell, patience_s=patience_s) as cluster,
    ):
        yield cluster


@contextmanager
def gpu_lanes(
    address: str, tell: Callable[[str], None], *, patience_s: float = 60.0
) -> Iterator[list[Lane]]:
    """The GPUs of a cluster as lanes of a sweep; "local" is every GPU of this machine.

    There are more lanes than workers: one that is done finds its next point waiting.
    """
    with opened(address, "GPU", jobs=0, tell=tell, patience_s=patience_s) as cluster:
        yield [Lane(f"cluster {number}", cluster) for number in range(2 * cluster.workers + 2)]
