"""What the benchmark page is made of: fields, two plots, and a table of results."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from gui.frames.pieces import PAUSE, Steps
from gui.views.base import Caption, Panel
from gui.views.bench_curves import CurvesPanel
from gui.views.bench_results import ResultsPanel
from gui.views.bench_setup import SetupStrip
from gui.views.launch_plot import LaunchPlot
from gui.views.page_parts import panels_in
from gui.views.page_view import PageView


class BenchmarkParts(PageView):
    """The page's widgets in their places; a subclass has them do something."""

    def arithmetics(self) -> Mapping[str, str]:
        """What each matrix product that is offered computes with, by its name."""
        raise NotImplementedError

    def building(self) -> Steps:
        """Make the page."""
        self.caption = Caption("Looking for a GPU …")
        self.trouble = Caption(role="error")
        self.trouble.hide()
        self.shown = Caption()
        yield from self._build_setup()
        # They are in their places before they are filled: Qt styles what is put in, each by itself.
        plots, splitter = panels_in(Qt.Orientation.Horizontal), panels_in(Qt.Orientation.Vertical)
        splitter.addWidget(plots)
        self._page.addWidget(splitter, 1)
        yield PAUSE
        yield from self._build_plots(plots)
        yield from self._build_results(splitter)

    def restyling(self) -> Steps:
        """Take up the theme's colours."""
        self.strip.restyle()
        yield PAUSE
        yield from self.results.table.fitting()
        self.launches.restyle()
        yield
        yield from self.curves.plot.drawing()

    def _build_setup(self) -> Steps:
        self._page = QVBoxLayout(self)
        self._page.setContentsMargins(0, 0, 0, 0)
        self._page.setSpacing(8)
        setup = QWidget()
        inner = QVBoxLayout(setup)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(4)
        self.strip = SetupStrip()
        yield PAUSE
        yield from self.strip.building()
        self.run_button, self.stop_button = self.strip.run_button, self.strip.stop_button
        inner.addWidget(self.strip)
        inner.addWidget(self.trouble)
        yield PAUSE
        panel = Panel("Measure", setup, caption=self.caption)
        yield PAUSE
        self._page.addWidget(panel)
        yield PAUSE

    def _build_plots(self, plots: QSplitter) -> Steps:
        self.launches = LaunchPlot()
        yield PAUSE
        yield from self.launches.building()
        yield PAUSE
        plots.addWidget(Panel("Launches", self.launches, caption=self.shown, flush=True))
        yield PAUSE
        self.curves = CurvesPanel()
        plots.addWidget(Panel("Sweep", self.curves, caption=self.curves.caption, flush=True))
        plots.setSizes([400, 600])
        yield PAUSE
        yield from self.curves.building()

    def _build_results(self, splitter: QSplitter) -> Steps:
        self.results = results = ResultsPanel(self.arithmetics())
        yield PAUSE
        panel = Panel(
            "Results", results, caption=results.caption, controls=results.controls, flush=True
        )
        yield PAUSE
        splitter.addWidget(panel)
        splitter.setSizes([520, 260])
        yield PAUSE
