"""What a worker of a cluster does for a client: its task, once, and what it still has of others.

A worker writes every result down before it hands it over, in a folder of its user's. If the
scheduler or the network goes meanwhile, the client asks for what is there, and nothing is done
twice. A task is a function of this project with plain data: source and numbers.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import shutil
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from core.errors import GpuUnavailable, TilescopeError
from core.gpu.worker_messages import WorkerFailure

_KEPT_S = 7 * 24 * 3600.0  # results of a run that nobody has fetched
FOLDER_VARIABLE = "TILESCOPE_CLUSTER_FOLDER"


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
