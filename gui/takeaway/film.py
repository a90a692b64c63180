"""Films of recorded steps: MP4 by ffmpeg, GIF and WebP by Pillow, or a folder of pictures."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO
from uuid import uuid4

from PySide6.QtCore import QSize
from PySide6.QtGui import QImage

from core.cancelling import check
from core.errors import TilescopeError
from core.files import replace_file, replacing
from gui.pictures.files import png
from gui.scenes.session import Session
from gui.takeaway.frame import Frame

KINDS = (".mp4", ".gif", ".webp")
RATE = 10
"""Pictures a second of an MP4: a step's is repeated, so that players can go to any second."""
_NEEDS = (
    "{suffix} films need the package {package}: install it with "
    '`pip install "tilescope[film]"`, or export a folder of pictures (-o frames/).'
)


def write_film(
    session: Session,
    steps: Sequence[int],
    out: Path,
    *,
    names: Sequence[str],
    title: str,
    size: tuple[int, int],
    speed: float,
    captions: bool,
    said: Callable[[float], None] = lambda _: None,
) -> None:
    """Write a film of steps, as the file's name says; a name without an ending is a folder.

    size: of the film, in pixels. speed: steps a second. `said` is told how much of it is done, 0 to
    1. What was at `out` stays until all of the film is there. Raises Cancelled, and TilescopeError
    where a package is missing or the file cannot be written.
    """
    suffix = out.suffix.lower()
    tool = _tool(suffix)
    frame = Frame(session, names, title, captions=captions)
    whole = QSize(size[0] // 2 * 2, size[1] // 2 * 2)  # H.264 halves the colours' pixels

    def images() -> Iterator[QImage]:
        for done, step in enumerate(steps, start=1):
            check()
            yield frame.image(step, whole)
            said(done / len(steps))

    try:
        if tool is None:
            _pictures(images(), out, steps, title)
            return
        if suffix != ".mp4":
            with replacing(out) as file:
                _pillow(tool, images(), file, suffix, whole, speed)
            return
        draft = out.with_name(f".{out.stem[:40]}-{uuid4().hex[:12]}{suffix}")
        try:
            _mp4(tool, images(), draft, whole, speed)
            check()
            draft.replace(out)
        finally:
            draft.unlink(missing_ok=True)
    except (OSError, RuntimeError) as error:  # imageio-ffmpeg raises the latter without ffmpeg
        why = getattr(error, "strerror", None) or str(error).rstrip(".")
        if isinstance(error, OSError) and error.errno is None:  # its words hold ffmpeg's command
            why = "ffmpeg ended early. Make room on the disk, or choose another folder"
        raise TilescopeError(f"{out} could not be written: {why}.") from error
    finally:
        frame.shut_down()


def _tool(suffix: str) -> Any:
    """The package that encodes such a film, None for pictures. Raises TilescopeError."""
    if suffix not in KINDS:
        return None
    package, module = (
        ("imageio-ffmpeg", "imageio_ffmpeg") if suffix == ".mp4" else ("pillow", "PIL.Image")
    )
    try:
        return importlib.import_module(module)
    except ImportError:
        raise TilescopeError(_NEEDS.format(suffix=suffix[1:].upper(), package=package)) from None


def _bytes_of(image: QImage) -> bytes:
    """The pixels, four bytes each: blue, green, red and one that means nothing."""
    assert image.bytesPerLine() == 4 * image.width()
    return bytes(image.constBits())


def _mp4(tool: ModuleType, images: Iterator[QImage], path: Path, size: QSize, speed: float) -> None:
    writer = tool.write_frames(
        str(path),
        (size.width(), size.height()),
        fps=speed,
        pix_fmt_in="bgr0",
        codec="libx264",
        macro_block_size=2,
        ffmpeg_log_level="quiet",
        output_params=["-r", str(RATE), "-preset", "veryfast", "-crf", "20",
                       "-movflags", "+faststart", "-tune", "stillimage"],
    )  # fmt: skip
    writer.send(None)
    sent = 0
    try:
        for image in images:
            writer.send(_bytes_of(image))
            sent += 1
    finally:
        writer.close()
    try:  # the package does not say how ffmpeg ended: on a full disk the film lacks its end
        seconds = tool.count_frames_and_secs(str(path))[1]
    except RuntimeError:
        seconds = 0.0
    if seconds < sent / speed - 2 / RATE:
        raise OSError


def _pillow(
    tool: ModuleType,
    images: Iterator[QImage],
    file: BinaryIO,
    suffix: str,
    size: QSize,
    speed: float,
) -> None:
    shape = (size.width(), size.height())
    whole = (tool.frombuffer("RGB", shape, _bytes_of(i), "raw", "BGRX", 0, 1) for i in images)
    first = next(whole)
    options: dict[str, Any] = {"duration": round(1000 / speed), "loop": 0}
    if suffix == ".webp":
        options |= {"method": 2, "quality": 90}
    first.save(file, suffix[1:], save_all=True, append_images=whole, **options)


def _pictures(images: Iterator[QImage], folder: Path, steps: Sequence[int], title: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    kernel = "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split())
    for step, image in zip(steps, images, strict=True):
        replace_file(folder / f"{kernel}-step-{step:04d}.png", png(image))
