"""Workers of a cluster on this machine: a process for each GPU, or for each core that emulates.

Each has a Nanny of dask's, which starts its process anew when it dies. A worker that loses its
scheduler ends; here it is started again and waits for the next scheduler at that address.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from core.distributed.cluster import Resource, checked_address, version_resource
from core.errors import ParameterError, TilescopeError

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


def gpus_here() -> int:
    """How many GPUs the driver finds; raises GpuUnavailable where there is none."""
    from core.gpu.driver_session import describe_devices
    from core.gpu.worker_process import GpuWorker

    with GpuWorker(0) as worker:
        return len(worker.submit(describe_devices).result())


def chosen_workers(gpus: Sequence[int] | None, emulators: int) -> list[Mapping[str, Any]]:
    """The options of all workers: of GPUs by number (None: all there are), and emulators."""
    if gpus is None:
        gpus = range(gpus_here())
    options = [worker_options("GPU", gpu) for gpu in gpus]
    return options + [worker_options("EMULATOR")] * emulators


def serve(address: str, workers: Sequence[Mapping[str, Any]], tell: Callable[[str], None]) -> None:
    """Run workers for the scheduler at an address until this process is asked to end."""
    _load_dask()
    for name in ("distributed.nanny", "distributed.worker", "distributed.core", "distributed.comm"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    asyncio.run(_serve(checked_address(address), workers, tell))


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
