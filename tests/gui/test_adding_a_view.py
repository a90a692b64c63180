"""A view of the Step page is a file and a row; what follows from the row, in a fresh process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

WIDGET = """
from gui.views.session_view import SessionView
from gui.views.captions_and_panels import Caption


class NoteView(SessionView):
    def __init__(self, session):
        super().__init__(session)
        self.caption = Caption()

    def refresh(self, names):
        self.caption.setText(f"step {self.session.step} of {self.session.n_steps}")
"""

PROGRAM = """
import sys
from pathlib import Path

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QApplication, QMenu

from gui.scenes import step_views

row = step_views.StepView("Note", "Note of the step", "lists", "note_view:NoteView")
step_views.VIEWS += (row,)
step_views.VIEW_NAMES += (row.name,)

from core.ladder import load_ladder
from core.recording.record_launch import record
from gui.views.view_docks import layout_for
from gui.scenes.moment_links import window_link
from gui.shell.main_window import MainWindow

app = QApplication([])
ladder = load_ladder()
window = MainWindow(ladder)
window.show()
session, page = window.session, window.step_page
session.trace = record(ladder["tiled"].workload(n=8, tile=4))
for size in (QSize(784, 400), QSize(1264, 640), QSize(2000, 900), QSize(3800, 2000)):
    columns = layout_for(size, 12, 23)
    rows = [row for column in columns for row in column.rows]
    names = [name for row in rows for cell in row.cells for name in cell.names]
    assert names.count("Note") == 1, names
session.view = "Note"
for _ in range(20):
    app.processEvents()
assert page.in_front("Note")
assert page.views["Note"].caption.text() == f"step {session.step} of {session.n_steps}"
assert window_link("tiled?n=8&tile=4&view=Note", ladder, ("light",)).looks["view"] == "Note"
assert "Note of the step" in window.pictures.gallery.places()
titles = [action.text() for menu in window.findChildren(QMenu) for action in menu.actions()]
assert "Note of the step" in titles, titles
window.pictures.save("Note of the step", Path(sys.argv[1]))
window.close()
for _ in range(20):
    app.processEvents()
"""


@pytest.mark.slow
def test_a_row_gives_a_view_its_dock_place_menu_link_and_picture(tmp_path):
    (tmp_path / "note_view.py").write_text(WIDGET)
    picture = tmp_path / "note.png"
    root = Path(__file__).parents[2]
    paths = os.pathsep.join((str(root), str(tmp_path)))
    environment = os.environ | {"PYTHONPATH": paths, "QT_QPA_PLATFORM": "offscreen"}
    command = [sys.executable, "-c", PROGRAM, str(picture)]
    done = subprocess.run(
        command, check=False, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert picture.stat().st_size > 0
