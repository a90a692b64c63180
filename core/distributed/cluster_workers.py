"""The workers of a cluster: how they are started on this machine, and what they do for a client.

There is a process for each GPU, or for each core that emulates. Each has a Nanny of dask's, which
starts its process anew when it dies. A worker that loses its scheduler ends; here it is started
again and waits for the next scheduler at that address.

A task is a function of this project with plain data: source and numbers. A worker writes every
result down before it hands it over, in a folder of its user's. If the scheduler or the network goes
meanwhile, the client asks for what is there, and nothing is done twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import logging
import os
import pickle
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import platformdirs

from core.errors import GpuUnavailable, ParameterError, TilescopeError
from core.gpu.events_and_failures import WorkerFailure

Resource = Literal["GPU", "EMULATOR"]
VERSION_PREFIX = "tilescope-"
FOLDER_VARIABLE = "TILESCOPE_CLUSTER_FOLDER"
_KEPT_S = 7 * 24 * 3600.0  # results of a run that nobody has fetched
_AGAIN_S = 0.5
_VISIBLE = "CUDA_VISIBLE_DEVICES"
# dask watches itself many times a second, which costs each process 4 to 7 % of a core. Nobody looks
# at that here. What a user has configured still holds.
_SELDOM = {
    "distributed": {
        "worker": {"profile": {"enabled": False}, "memory": {"monitor-interval": "1s"}},
        "admin": {"tick": {"interval": "500ms"}, "system-monitor": {"interval": "5s"}},
    }
}
_NO_DISTRIBUTED = "A worker needs the package distributed: `pip install distributed`."


def worker_options(resource: Resource, gpu: int | None = None) -> Mapping[str, Any]:
    """A Nanny's options for a worker that does one task at a time, on a GPU of that number.

    Raises ParameterError where this process does not see so many GPUs.
    """
    options: dict[str, Any] = {
        "nthreads": 1,
        "resources": {resource: 1, version_resource(): 1},
        "dashboard": False,
        "silence_logs": logging.CRITICAL,
    }
    if gpu is not None:
        options["env"] = {_VISIBLE: _name_of(gpu)}
    return options


def _name_of(gpu: int) -> str:
    """What CUDA calls the GPU of a number; raises ParameterError where this process sees fewer."""
    visible = os.environ.get(_VISIBLE)
    if visible is None:
        return str(gpu)
    names = [name.strip() for name in visible.split(",") if name.strip()]
    if gpu >= len(names):
        raise ParameterError(
            f"There is no GPU {gpu}: {_VISIBLE} names {len(names)}, which count from 0."
        )
    return names[gpu]


def chosen_workers(gpus: Sequence[int] | None, emulators: int) -> list[Mapping[str, Any]]:
    """The options of all workers: of GPUs by number (None: all there are), and emulators."""
    if gpus is None:
        from core.gpu.worker_process import devices_here

        gpus = range(len(devices_here()))
    options = [worker_options("GPU", gpu) for gpu in gpus]
    return options + [worker_options("EMULATOR")] * emulators


def serve(address: str, workers: Sequence[Mapping[str, Any]], tell: Callable[[str], None]) -> None:
    """Run workers for the scheduler at an address, which is a whole one, until asked to end."""
    _load_dask()
    for name in ("distributed.nanny", "distributed.worker", "distributed.core", "distributed.comm"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    asyncio.run(_serve(address, workers, tell))


def _load_dask() -> None:
    try:
        import dask.config
        import distributed  # noqa: F401 - its defaults come first
    except ImportError:
        raise TilescopeError(_NO_DISTRIBUTED) from None
    dask.config.update_defaults(_SELDOM)


async def _serve(
    address: str, workers: Sequence[Mapping[str, Any]], tell: Callable[[str], None]
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows
            loop.add_signal_handler(number, stop.set)
    tasks = [asyncio.create_task(_mind(address, options, stop, tell)) for options in workers]
    tell(f"{len(tasks)} workers wait for {address}; Ctrl-C ends them.")
    await stop.wait()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _mind(
    address: str, options: Mapping[str, Any], stop: asyncio.Event, tell: Callable[[str], None]
) -> None:
    """One worker, started again whenever it ends."""
    from distributed import Nanny

    stopped = asyncio.create_task(stop.wait())
    while not stop.is_set():
        nanny: Any = None
        try:
            nanny = Nanny(address, **options)
            start = asyncio.ensure_future(nanny)
            await asyncio.wait({start, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if start.done():
                start.result()
                ended = asyncio.create_task(nanny.finished())
                await asyncio.wait({ended, stopped}, return_when=asyncio.FIRST_COMPLETED)
                ended.cancel()
                if not stop.is_set():
                    tell("The scheduler is gone: waiting for it.")
            else:
                start.cancel()
        except (OSError, TimeoutError, RuntimeError) as error:
            logging.getLogger(__name__).info("a worker could not be started: %s", error)
        finally:
            if nanny is not None:
                with contextlib.suppress(Exception):
                    await nanny.close(timeout=5)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(stopped), _AGAIN_S)


@contextmanager
def local_cluster(resource: Resource, jobs: int) -> Iterator[str]:
    """The address of a scheduler in this process, with workers in processes of their own."""
    _load_dask()
    from distributed import Nanny, Scheduler, SpecCluster

    every = chosen_workers(None, 0) if resource == "GPU" else chosen_workers((), jobs)
    with SpecCluster(
        workers={place: {"cls": Nanny, "options": dict(one)} for place, one in enumerate(every)},
        scheduler={
            "cls": Scheduler,
            "options": {
                "protocol": "tcp://",
                "host": "127.0.0.1",
                "port": 0,
                "dashboard": False,
                "dashboard_address": ":0",  # it serves HTTP even so
            },
        },
        silence_logs=logging.CRITICAL,
    ) as cluster:
        yield str(cluster.scheduler_address)


# -- what a worker does for a client ---------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What became of a task: a value, or the sentence or failure that it ended with.

    `events` are what a job of a GPU said before it failed. `host` is the machine that did it.
    """

    value: Any = None
    error: TilescopeError | None = None
    events: tuple[Any, ...] = ()
    host: str = ""


@functools.cache
def version() -> str:
    """Equal for equal code: a digest of the sources that a task runs."""
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for folder in ("core", "kernels", "resources"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".py", ".toml", ".cu", ".cuh", ".h"):
                digest.update(path.relative_to(root).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def version_resource() -> str:
    """The resource that only workers with the same sources have."""
    return f"{VERSION_PREFIX}{version()}"


def carry_out(run: str, key: str, function: Callable[[Any], Any], task: Any) -> Answer:
    """The answer to a task: the one that was written down if there is one, else by doing it."""
    path = _folder(run) / key
    known = _read(path)
    if known is not None:
        return known
    host = socket.gethostname()
    try:
        found = function(task)
        answer = found if isinstance(found, Answer) else Answer(found, host=host)
    except TilescopeError as error:
        answer = Answer(error=error, host=host)
    _write(path, answer)
    return answer


def held(run: str) -> dict[str, Answer]:
    """The answers of a run that lie on this machine."""
    folder = _folder(run)
    found = {path.name: _read(path) for path in folder.iterdir() if not path.name.startswith(".")}
    return {key: answer for key, answer in found.items() if answer is not None}


def forget(run: str) -> None:
    """Deletes a run's answers, which the client has, and those of runs long ago."""
    home = _home()
    shutil.rmtree(home / run, ignore_errors=True)
    for folder in home.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > _KEPT_S:
                shutil.rmtree(folder, ignore_errors=True)


def _home() -> Path:
    given = os.environ.get(FOLDER_VARIABLE)
    home = Path(given) if given else platformdirs.user_cache_path("tilescope") / "cluster"
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    return home


def _folder(run: str) -> Path:
    folder = _home() / run
    folder.mkdir(exist_ok=True, mode=0o700)
    return folder


def _read(path: Path) -> Answer | None:
    try:
        answer = pickle.loads(path.read_bytes())
    except (OSError, EOFError, pickle.UnpicklingError, AttributeError, ImportError):
        return None
    return answer if isinstance(answer, Answer) else None


def _write(path: Path, answer: Answer) -> None:
    """A full disk loses the second copy only: the answer is on its way to the client."""
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    with contextlib.suppress(OSError):
        draft.write_bytes(pickle.dumps(answer, protocol=5))
        draft.replace(path)


# -- jobs of a GPU --------------------------------------------------------------------------------


@functools.cache
def _gpu() -> Any:
    """The process that owns this worker's GPU: the first that CUDA_VISIBLE_DEVICES lets it see."""
    from core.gpu.worker_process import GpuWorker

    return GpuWorker(0)


@dataclass(frozen=True)
class GpuTask:
    """A job and the function that does it, in the process that owns the GPU."""

    function: Callable[[Any], Any]
    job: Any


def on_gpu(task: GpuTask) -> Answer:
    """Has the GPU's process do a job; what it said comes along where it failed."""
    events: list[Any] = []
    host = socket.gethostname()
    try:
        value = _gpu().stream(events.append, task.function, task.job).result()
    except GpuUnavailable as error:  # of this worker: others may go on
        return Answer(error=WorkerFailure(f"{host}: {error}", "driver"), host=host)
    except TilescopeError as error:
        return Answer(error=error, events=tuple(events), host=host)
    return Answer(value, host=host)


def first_device(_: None) -> Any:
    """The first GPU that a process sees, as its driver describes it (`DeviceReport`).

    Raises GpuUnavailable where there is none.
    """
    from core.gpu.driver_session import describe_devices

    return describe_devices()[0]


def stop_job() -> None:
    """Ask the running job to finish with what it has."""
    _gpu().stop()
