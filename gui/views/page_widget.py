"""What a page is to the stack that makes it, shows it and ends it (`gui.page_stack`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from gui.frames.pieces import Steps

if TYPE_CHECKING:
    from core.gpu.result import BenchmarkResult

    Base = QWidget
else:
    Base = object  # any kind of widget may be a page: this stands before it among the bases


class PageWidget(Base):
    """Base of every page, beside its kind of widget: `class SomePage(PageWidget, QWidget)`.

    What a page does not say is done as here: nothing.
    """

    modest = True
    """Whether it may be shown for a picture: nothing else in the window follows that."""

    def building(self) -> Steps:
        """Make the widgets piece by piece, none longer than a few milliseconds; whole at last."""
        yield from ()

    def preparing(self) -> Steps:
        """Have Qt do to the hidden page what it would do in one piece when it is first shown."""
        widgets = [self, *self.findChildren(QWidget)]
        for widget in widgets:
            widget.ensurePolished()
            yield
        for widget in reversed(widgets):  # parents come before their children
            layout = widget.layout()
            if layout is not None:
                layout.activate()
                yield

    def catching_up(self) -> Steps:
        """Bring to date what will be seen, piece by piece, before the page is shown again."""
        yield from ()

    def restyling(self) -> Steps:
        """Take up a new theme, piece by piece; each `SessionView` on the page does so by itself."""
        yield from ()

    def finish(self) -> None:
        """Show at once what is being brought up to date."""

    def shut_down(self) -> None:
        """End what runs, and wait for it."""

    def main_view(self) -> QWidget:
        """What has the keyboard when the page is opened."""
        return self

    @property
    def measured(self) -> tuple[BenchmarkResult, ...]:
        """What was measured, or imported, on this page."""
        return ()

    def pictures(self) -> dict[str, QWidget]:
        """What can be saved by itself, by name."""
        return {}
