"""Pictures of the window and of its views as PNG or SVG files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QObject, QPoint, QRect
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QFileDialog, QWidget

from core.errors import TilescopeError
from gui.frames.work import Worker
from gui.views.asking import ask_choice

if TYPE_CHECKING:
    from gui.main_window import MainWindow

SCALE = 2  # pixels of a PNG for one of the window
KINDS = "PNG picture (*.png);;SVG drawing (*.svg)"
WINDOW = "Whole window"


def svg_of(widget: QWidget, title: str) -> bytes:
    """A widget as an SVG document."""
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    generator = QSvgGenerator(QSvgGenerator.SvgVersion.Svg11)  # which knows how to clip
    generator.setOutputDevice(buffer)
    generator.setSize(widget.size())
    generator.setViewBox(QRect(QPoint(0, 0), widget.size()))
    generator.setResolution(96)
    generator.setTitle(title)
    painter = QPainter(generator)
    QWidget.render(widget, painter, QPoint(0, 0))  # a plot has a render of its own
    painter.end()
    buffer.close()
    return _with_generic_faces(bytes(data.data()))


def _with_generic_faces(svg: bytes) -> bytes:
    """Where none of the theme's faces is installed, text stays sans-serif or monospaced."""
    for last, generic in ((b"DejaVu Sans", b"sans-serif"), (b"DejaVu Sans Mono", b"monospace")):
        svg = svg.replace(b',%s"' % last, b',%s,%s"' % (last, generic))
    return svg


def image_of(widget: QWidget) -> QImage:
    """A widget as an image of SCALE pixels for each of its own."""
    image = QImage(widget.size() * SCALE, QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(SCALE)
    image.fill(widget.palette().window().color())
    painter = QPainter(image)
    QWidget.render(widget, painter, QPoint(0, 0))  # a plot has a render of its own
    painter.end()
    return image


def write_job(picture: QImage | bytes, path: Path) -> Any:
    """The work of writing a picture; gives the path, or raises TilescopeError."""

    def job(progress: Any, cancelled: Any) -> Path:
        try:
            if isinstance(picture, bytes):
                path.write_bytes(picture)
            else:
                path.touch()  # says why, where Qt only says that it failed
                if not picture.save(str(path)):
                    raise TilescopeError(f"{path.name} could not be written: the disk may be full.")
        except OSError as error:
            raise TilescopeError(f"{path.name} could not be written: {error.strerror}.") from None
        return path

    return job


class Exporter(QObject):
    """The commands that save pictures of one window; files are written off the UI thread."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.main = window
        self.writer = Worker(self, "exporter", keeps_all=True)
        self.writer.finished.connect(self._written)
        self.writer.failed.connect(self._failed)

    def close(self) -> None:
        """Wait until what is being written is written."""
        self.writer.close()

    def views(self) -> Mapping[str, QWidget]:
        """What can be saved by itself and is shown now, by its name."""
        main = self.main
        main.pages.finish()
        found: dict[str, QWidget] = {
            "Matrices": main.matrices,
            "Warp and global memory": main.warp,
            "Shared memory": main.shared,
            "Source": main.source,
            "PTX": main.ptx,
            "Phase table": main.phases,
            "Variables": main.variables,
            "Counters": main.counters,
            "Breakpoints": main.breakpoints,
            "Findings": main.findings,
            "Scrub bar": main.transport.scrub,
        }
        found |= main.pages.current.pictures()
        shown = {name: view for name, view in found.items() if view.isVisible()}
        return {WINDOW: main, **shown}

    def export_window(self) -> None:
        """Ask for a file and save the whole window."""
        self.export(WINDOW)

    def export_view(self) -> None:
        """Ask which view, then for a file, and save it; the one with the keyboard comes first."""
        names = [name for name in self.views() if name != WINDOW]
        focused = self.main.focusWidget()
        first = next(
            (
                place
                for place, name in enumerate(names)
                if focused is not None
                and (self.views()[name] is focused or self.views()[name].isAncestorOf(focused))
            ),
            0,
        )
        name = ask_choice(self.main, "Export a view", names, first, action="Export…")
        if name is not None:
            self.export(name)

    def export(self, name: str) -> None:
        """Ask for a file and save one of `views` to it."""
        first = f"tilescope-{name.lower().replace(' ', '-')}.png"
        if name == WINDOW:
            first = "tilescope.png"
        file, kind = QFileDialog.getSaveFileName(self.main, f"Export: {name}", first, KINDS)
        if file:
            path = Path(file)
            if not path.suffix:
                path = path.with_suffix(".svg" if "svg" in kind else ".png")
            self.save(name, path)

    def save(self, name: str, path: Path) -> None:
        """Save one of `views` as the file's name says, .png or .svg."""
        widget = self.views().get(name)
        if widget is None:
            self._failed(TilescopeError(f"{name} is not shown now: show it first."))
            return
        if path.suffix.lower() not in (".png", ".svg"):
            sentence = f"{path.name} is neither .png nor .svg: choose one of the two."
            self._failed(TilescopeError(sentence))
            return
        self.main.session.turns.finish()
        self.main.dressing.finish()
        svg = path.suffix.lower() == ".svg"
        picture = svg_of(widget, f"Tilescope: {name}") if svg else image_of(widget)
        self.writer.submit(write_job(picture, path))

    def _written(self, path: Path) -> None:
        self.main.message.show_message(f"Saved {path}", kind="info")

    def _failed(self, error: object) -> None:
        if not isinstance(error, TilescopeError):
            error = TilescopeError(f"The picture could not be saved: {error!r}.")
        self.main.message.show_message(str(error))
