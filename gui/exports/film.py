"""Films of recorded steps: MP4 by ffmpeg, GIF and WebP by Pillow, or a folder of pictures.

A picture has views beside each other, what happens below them, and the time line.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO
from uuid import uuid4

from PySide6.QtCore import QEvent, QPoint, QSize, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QGridLayout, QHBoxLayout, QLabel, QWidget

from core.atomic_files import replace_file, replacing
from core.cancelling import check
from core.errors import TilescopeError
from gui.exports.exported_views import GLOBAL, MEMORY, caption_of, let_go, memory_of
from gui.looks.labels_and_layouts import side_by_side, stacked, styled_label
from gui.looks.style_sheet import TEXT_SIZE, size_rules, stylesheet, window_name
from gui.looks.theme import current_theme
from gui.pictures import painting, png
from gui.scenes.session import Session
from gui.scenes.step_views import VIEWS
from gui.scenes.transport_bar import event_caption, phase_label, step_label
from gui.views.captions_and_panels import Caption, Panel
from gui.views.session_view import SessionView, view_of
from gui.views.transport_bar import ScrubBar

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


LIKE_WINDOW = 720
"""Pixels of the window that a film is high, whatever its own: so large is its type."""


class Frame(QWidget):
    """The views of some names, one large where there are several, as they are at a step."""

    def __init__(
        self, session: Session, names: Sequence[str], title: str, *, captions: bool = True
    ) -> None:
        super().__init__()
        self.session, self._rows = session, {row.name: row for row in VIEWS}
        self._memory: dict[str, Panel] = {}
        self.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen)
        theme = current_theme()
        self.setObjectName(window_name(theme.name))
        self.setProperty(TEXT_SIZE, theme.text_size)
        self.setStyleSheet(stylesheet() + size_rules())
        panels = [panel for name in names for panel in self._panels(name, captions)]
        grid = QGridLayout()
        grid.setSpacing(8)
        large = len(names) > 1
        for name, panel in panels:
            place = names.index(name)
            if large and place == 0:
                grid.addWidget(panel, 0, 0, max(len(names) - 1, 1), 1)
            else:
                grid.addWidget(panel, place - large, int(large))
        grid.setColumnStretch(0, 1)
        grid.setColumnStretch(1, int(large))
        for row in range(max(len(names) - 1, 1)):
            grid.setRowStretch(row, 1)
        self.scrub = ScrubBar(session)
        below = self._below(title, captions)
        stacked(self, (grid, 1), below, self.scrub, edges=(12, 8, 12, 8))

    def _panels(self, name: str, captions: bool) -> list[tuple[str, Panel]]:
        found = []
        for one in (GLOBAL, "Shared") if name == MEMORY else (name,):
            row = self._rows[one]
            view = view_of(row, self.session)
            panel = Panel(row.title, view, caption=caption_of(view) if captions else None)
            if name == MEMORY:
                self._memory[one] = panel
            found.append((name, panel))
        return found

    def _below(self, title: str, captions: bool) -> QHBoxLayout:
        self.event_, self.where = Caption(), QLabel()
        self.event_.setVisible(captions)
        self.event_.setAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignHCenter)
        between = () if captions else (None,)
        heading = styled_label(title, role="heading")
        return side_by_side(None, heading, *between, (self.event_, 1), self.where)

    def image(self, step: int, size: QSize) -> QImage:
        """A picture of a step, in pixels of the film."""
        scale = size.height() / LIKE_WINDOW
        if not self.isVisible():
            self.resize(round(size.width() / scale), LIKE_WINDOW)
            self.show()
        session = self.session
        session.step = step
        memory = memory_of(session)
        for name, panel in self._memory.items():
            panel.setVisible(name == memory)
        session.turns.finish()
        self.event_.setText(event_caption(session))
        self.where.setText(f"{phase_label(session)}   step {step_label(session)}".strip())
        QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
        session.turns.finish()
        image = QImage(size, QImage.Format.Format_RGB32)
        image.fill(self.palette().window().color())
        with painting(image) as painter:
            painter.scale(size.width() / self.width(), size.height() / self.height())
            self.render(painter, QPoint(0, 0))
        return image

    def shut_down(self) -> None:
        """Stop what its views work out elsewhere, and let it go."""
        let_go(self.findChildren(SessionView))
        self.close()
        self.deleteLater()
