"""Results and plots of the benchmark page to files, results from files, and a file to sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)

from core.cuda.signature import kernel_names
from core.errors import TilescopeError
from core.gpu.files import READ, write_results
from core.gpu.plan import SIZE, FileKernel, make_plan
from core.launching.file_launch import FileLaunch
from core.launching.launch_guess import guess_launch
from core.launching.plain_files import read_source
from gui.frames.work import Worker
from gui.pictures.files import Picture, write_picture
from gui.pictures.painted import drawing_of, image_of
from gui.scenes.bench_plan import templated

if TYPE_CHECKING:
    from gui.scenes.bench_measured import Measured
    from gui.scenes.bench_plot import Ceilings

KINDS = (
    "Table (*.csv);;Results of this program (*.json);;Parquet (*.parquet);;"
    "Report with plots (*.md);;Plots as pictures (*.png);;Plots as drawings (*.svg)"
)
OPENED = f"Results ({' '.join('*' + ending for ending in READ)})"


class BenchFiles(QObject):
    """Writes and reads off the UI thread. `said(sentence, ok)` tells how it went."""

    said = Signal(str, bool)
    read = Signal(object)

    def __init__(self, page: QWidget, plots: Callable[[], dict[str, QWidget]]) -> None:
        super().__init__(page)
        self._page, self._plots = page, plots
        self._worker = Worker(self, "benchmark files", keeps_all=True)
        self._worker.finished.connect(lambda path: self.said.emit(f"Saved {path}", True))
        self._worker.failed.connect(lambda error: self.said.emit(_sentence(error), False))

    def close(self) -> None:
        """Wait until what is being written is written."""
        self._worker.close()

    def ask_and_save(
        self, measured: Sequence[Measured], failures: Sequence[tuple[str, str]], ceilings: Ceilings
    ) -> None:
        """Ask for a file, and save results, a report or the plots as its ending says."""
        name, kind = QFileDialog.getSaveFileName(
            self._page, "Save results", "tilescope-benchmark.csv", KINDS
        )
        if name:
            path = Path(name)
            if not path.suffix:
                path = path.with_suffix(kind[kind.index("*") + 1 : kind.index(")")])
            self.save(path, measured, failures, ceilings)

    def save(
        self,
        path: Path,
        measured: Sequence[Measured],
        failures: Sequence[tuple[str, str]] = (),
        ceilings: Ceilings | None = None,
    ) -> None:
        """Save to a file, as its ending says."""
        results = tuple(m.result for m in measured)
        ending = path.suffix.lower()
        if ending in (".png", ".svg"):
            self._worker.submit(self._pictures(path, ending)[0])
            return
        if ending != ".md":
            self._worker.submit(lambda *_: _written(path, lambda: write_results(path, results)))
            return
        pictures, files = self._pictures(path, ".svg")
        known = {}
        for place, m in enumerate(measured):
            key = m.ceiling_key
            found = None if key is None or ceilings is None else ceilings.get(key)
            if found is not None:
                known[place] = found

        def job(progress: Any, cancelled: Any) -> Path:
            from core.gpu.markdown import report

            pictures(progress, cancelled)
            text = report(results, failures=failures, pictures=files, ceilings=known)
            return _written(path, lambda: path.write_text(text, encoding="utf-8"))

        self._worker.submit(job)

    def _pictures(self, path: Path, ending: str) -> tuple[Any, dict[str, str]]:
        """The work of writing the plots beside `path`, and their files' names by title."""
        jobs, names = [], {}
        for title, widget in self._plots().items():
            content = drawing_of(widget) if ending == ".svg" else image_of(widget)
            file = path.with_name(f"{path.stem}-{title.lower().replace(' ', '-')}{ending}")
            jobs.append(partial(write_picture, Picture(title, content), file))
            names[title] = file.name

        def job(progress: Any, cancelled: Any) -> Path:
            for one in jobs:
                one(progress)
            return path.with_name(" and ".join(names.values()))

        return job, names

    def ask_and_read(self) -> list[Path]:
        """Ask for files of results."""
        names, _ = QFileDialog.getOpenFileNames(self._page, "Import results", "", OPENED)
        return [Path(name) for name in names]


def _written(path: Path, write: Callable[[], object]) -> Path:
    try:
        write()
    except OSError as error:
        raise TilescopeError(f"{path.name} cannot be written: {error.strerror}.") from error
    return path


def _sentence(error: object) -> str:
    return str(error) if isinstance(error, TilescopeError) else f"It was not saved: {error!r}."


class FileDialog(QDialog):
    """How a file's kernel is launched at any size: texts with `{n}` and `{tile}` in them."""

    FIELDS = (
        ("grid", "Grid", "{ceil_div(n, tile)}, {ceil_div(n, tile)}"),
        ("block", "Block", "{tile}, {tile}"),
        ("shared", "Dynamic shared memory, bytes", "0"),
        ("defines", "Defines", "TILE_WIDTH={tile}"),
    )

    def __init__(self, path: Path, launch: FileLaunch | None, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.setWindowTitle(f"Sweep {path.name}")
        self.source = read_source(path)
        names = kernel_names(self.source)
        if not names:
            raise TilescopeError(f"{path.name} has no kernel: mark a function __global__.")
        guess = launch or guess_launch(self.source, str(path), names[0])
        self._launch = templated(guess)
        self.kernel: FileKernel | None = None
        self._make()

    def _make(self) -> None:
        form = QFormLayout(self)
        intro = QLabel(
            "What stands in braces is filled in for each point of the sweep: {n} from the sizes, "
            "{tile} from the tiles; arithmetic such as {n // tile} works."
        )
        intro.setWordWrap(True)
        form.addRow(intro)
        self.fields: dict[str, QLineEdit] = {}
        for name, label, example in self.FIELDS:
            self.fields[name] = self._line(form, label, getattr(self._launch, name), example)
        self.arguments = QPlainTextEdit("\n".join(f"{n}={t}" for n, t in self._launch.arguments))
        self.arguments.setAccessibleName("Arguments")
        self.arguments.setMinimumWidth(420)
        self.arguments.setFixedHeight(110)
        form.addRow("Arguments", self.arguments)
        self.fields["flops"] = self._line(form, "Operations", "", "2*n*n*n, for GFLOPS")
        self.fields["expected"] = self._line(form, "Right result", "", "C = A @ B, to check it")
        self.error = QLabel()
        self.error.setProperty("role", "error")
        self.error.setTextFormat(Qt.TextFormat.PlainText)
        self.error.setWordWrap(True)
        form.addRow(self.error)
        kinds = QDialogButtonBox.StandardButton
        buttons = QDialogButtonBox(kinds.Ok | kinds.Cancel)
        buttons.accepted.connect(self.take)
        buttons.rejected.connect(self.reject)
        form.addRow(buttons)

    @staticmethod
    def _line(form: QFormLayout, label: str, text: str, example: str) -> QLineEdit:
        line = QLineEdit(text)
        line.setPlaceholderText(example)
        line.setAccessibleName(label)
        form.addRow(label, line)
        return line

    def take(self) -> None:
        """Check the texts with small sizes, and close; a mistake is shown and nothing closes."""
        pairs = [line.partition("=") for line in self.arguments.toPlainText().splitlines()]
        launch = replace(
            self._launch,
            **{name: self.fields[name].text() for name, _, _ in self.FIELDS},
            arguments=tuple((n.strip(), t.strip()) for n, _, t in pairs if n.strip()),
        )
        texts = self.fields["flops"].text().strip(), self.fields["expected"].text().strip()
        kernel = FileKernel(self.source, launch, *texts)
        try:
            axes = {
                axis: (value,) for axis, value in ((SIZE, 64), ("tile", 16)) if kernel.targets(axis)
            }
            make_plan([kernel], axes).points[0].subject.workload()
        except TilescopeError as error:
            self.error.setText(str(error))
            return
        self.error.setText("")
        self.kernel = kernel
        self.accept()
