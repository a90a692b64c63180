"""`tilescope export`: recorded steps as a page to replay, a film, or pictures."""

from __future__ import annotations

import importlib
import os
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from core.cancelling import cancelled_by
from core.errors import Cancelled, ParameterError

WHERE = "gui.exports.export_command"
"""What does the work: `core` itself never imports `gui`, whose libraries a server may lack."""
SLOWEST, FASTEST = 0.05, 60.0  # steps a second


def export(
    what: Annotated[
        str,
        typer.Argument(
            metavar="LINK",
            help="A link (tiled?n=8&step=12), a rung, a .cu or .ptx file, a trace, a lesson (1A).",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("-o", "--out", help="x.html, x.mp4, x.gif, x.webp, or a folder/ of pictures."),
    ],
    steps: Annotated[
        str, typer.Option(help="Which steps, such as 0..40; all of the block's if not said.")
    ] = "",
    views: Annotated[
        str, typer.Option(help="Which views, separated by commas, such as Matrices,Memory.")
    ] = "",
    theme: Annotated[str, typer.Option(help="light, dark or projector.")] = "light",
    size: Annotated[str, typer.Option(help="Of a film, in pixels.")] = "1920x1080",
    speed: Annotated[float, typer.Option(help="Of a film: steps a second.")] = 2.0,
    captions: Annotated[bool, typer.Option(help="Of a film: whether it has its sentences.")] = True,
    percent: Annotated[bool, typer.Option("--percent", hidden=True)] = False,
) -> None:
    """Export recorded steps: one HTML page to replay them anywhere, or a film."""
    if not SLOWEST <= speed <= FASTEST:
        raise ParameterError(
            f"The speed is {speed:g}: give {SLOWEST:g} to {FASTEST:g} steps a second."
        )
    first, last = steps_of(steps)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    command = importlib.import_module(WHERE)
    with _stopped_between_pictures():
        command.export(
            what,
            out,
            first=first,
            last=last,
            views=[name.strip() for name in views.split(",") if name.strip()],
            theme=theme,
            size=size_of(size),
            speed=speed,
            captions=captions,
            percent=percent,  # for a program that reads it
        )


@contextmanager
def _stopped_between_pictures() -> Iterator[None]:
    """Ctrl-C and SIGTERM end the work where it asks, and no half file is left.

    An exception in the midst of painting would have Qt crash, with the draft still there.
    """
    asked = threading.Event()
    numbers = signal.SIGINT, signal.SIGTERM
    before = [signal.signal(number, lambda *_: asked.set()) for number in numbers]
    try:
        with cancelled_by(asked.is_set):
            yield
    except Cancelled:
        raise KeyboardInterrupt from None
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def steps_of(text: str) -> tuple[int | None, int | None]:
    """`3..40`, `3..`, `..40` or `7` as the first and the last step, None for an open end.

    Raises ParameterError.
    """
    found = re.fullmatch(r"\s*(\d{0,9})(?:\s*\.\.\s*(\d{0,9}))?\s*", text)
    if found is None:
        raise ParameterError(f"The steps are `{text}`: write them as 0..40.")
    first = int(found[1]) if found[1] else None
    if found[2] is None:
        return first, first
    last = int(found[2]) if found[2] else None
    if first is not None and last is not None and first > last:
        raise ParameterError(f"The steps are `{text}`: write them as {last}..{first}.")
    return first, last


def size_of(text: str) -> tuple[int, int]:
    """`1920x1080` as width and height. Raises ParameterError for what is not a size of a film."""
    found = re.fullmatch(r"(\d{2,5})[x×](\d{2,5})", text)
    size = (int(found[1]), int(found[2])) if found else (0, 0)
    if not all(160 <= side <= 7680 for side in size):
        raise ParameterError(f"The size is `{text}`: write it as 1920x1080, each 160 to 7680.")
    return size
