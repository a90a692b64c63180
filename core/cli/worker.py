"""`tilescope worker`: this machine's GPUs, or its cores, for the sweeps of others."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from core.cli.console import tell
from core.errors import GpuUnavailable, ParameterError
from core.gpu.sweep_plan import parse_values
from core.gpu.worker_process import devices_here


def worker(
    address: Annotated[
        str, typer.Argument(metavar="tcp://HOST:8786", help="The scheduler to work for.")
    ],
    device: Annotated[
        str, typer.Option(help="Numbers of the GPUs that work, all, or none.")
    ] = "all",
    emulate: Annotated[
        int | None,
        typer.Option(
            help="Processes that emulate.", show_default="one a core where there is no GPU", min=0
        ),
    ] = None,
) -> None:
    """Work for a scheduler of dask: one process a GPU, and as many as --emulate says.

    It starts what dies again, and waits where the scheduler is away. Ctrl-C ends it.
    """
    from core.distributed.cluster import checked_address
    from core.distributed.cluster_workers import chosen_workers, serve

    gpus = _gpus(device, given=emulate is not None)
    emulators = emulate if emulate is not None else 0 if gpus else os.cpu_count() or 1
    every = chosen_workers(gpus, emulators)
    if not every:
        raise ParameterError("There is nothing to work with: give --emulate 4, or GPUs.")
    serve(checked_address(address), every, tell)


def _gpus(text: str, *, given: bool) -> tuple[int, ...]:
    """The numbers of the GPUs; none where nobody asked for any and there is none."""
    if text.strip() == "none":
        return ()
    if text.strip() != "all":
        return parse_values(text, "--device", "0, or 0,1, or all, or none")
    if given:
        return ()  # --emulate alone asks for emulators
    try:
        return tuple(range(len(devices_here())))
    except GpuUnavailable:
        return ()
