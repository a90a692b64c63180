"""Pictures of one window: of what is not shown as well, said, stopped, and never half a file."""

import errno
import threading
from pathlib import Path

import pytest
from pypdf import PdfReader
from PySide6.QtCore import QPoint
from PySide6.QtGui import QContextMenuEvent, QImage
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu

from gui.commands import saving_pictures
from gui.commands.saving_pictures import WINDOW
from gui.pictures import Picture, image_of

MS = 20_000


@pytest.fixture
def window(window, qtbot):
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        window.recorder.configure("tiled", {"n": 8, "tile": 4})
    return window


def saved(window, qtbot, name, path, scale=saving_pictures.SCALE):
    with qtbot.waitSignal(window.pictures.writer.finished, timeout=MS):
        window.pictures.save(name, path, scale)
    return QImage(str(path))


def words_of(path):
    """All that a PDF holds as text."""
    (page,) = PdfReader(path).pages
    return " ".join(page.extract_text().split())  # a space may be a tab


def how_it_is(window):
    """What a picture must leave as it was."""
    page = window.step_page
    docks = {n: (d.isHidden(), d.view.isHidden(), d.isFloating()) for n, d in page.docks.items()}
    session = window.session
    state = session.page, session.view, session.large, session.step, page.arranged
    return docks, state, window.pages.currentWidget(), window.focusWidget(), page.save_layout()


@pytest.mark.parametrize("name", ["PTX", "Counters", "Breakpoints"])
@pytest.mark.slow
def test_a_view_behind_a_tab_is_had_as_it_would_be_shown(window, qtbot, tmp_path, name):
    view = window.step_page.views[name]
    assert not view.isVisible()
    before = how_it_is(window)
    image = saved(window, qtbot, name, tmp_path / "x.png")
    assert how_it_is(window) == before
    window.step_page.front(name)
    qtbot.waitUntil(view.isVisible, timeout=MS)
    QApplication.processEvents()
    shown = image_of(view, saving_pictures.SCALE)
    assert abs(image.width() - shown.width()) < 16  # a caption may take another line
    assert len({image.pixel(x, y) for x in range(0, 600, 3) for y in range(0, 300, 3)}) > 5


@pytest.mark.slow
def test_views_of_other_pages_are_had_without_turning_to_them(window, qtbot, tmp_path):
    before, turned = how_it_is(window), []
    window.pages.turned.connect(turned.append)
    image = saved(window, qtbot, "Occupancy page", tmp_path / "x.png")
    assert image.width() == 2 * window.pages.width()
    assert "Devices" in window.pictures.gallery.places()  # its page is made now
    saved(window, qtbot, "Devices", tmp_path / "devices.pdf")
    assert "H200" in words_of(tmp_path / "devices.pdf")
    assert how_it_is(window) == before
    assert not turned


@pytest.mark.slow
def test_the_step_page_is_had_from_another_page(window, qtbot, tmp_path):
    saved(window, qtbot, "Step through page", tmp_path / "1.pdf")
    there = words_of(tmp_path / "1.pdf")
    window.show_page("occupancy")
    view = window.session.view
    saved(window, qtbot, "Step through page", tmp_path / "2.pdf")
    here = words_of(tmp_path / "2.pdf")
    assert window.session.page == "occupancy"
    assert window.session.view == view
    for words in ("tile_b", "Sector efficiency", "Loaded now", "threadIdx"):
        assert words in there
        assert words in here


@pytest.mark.slow
def test_scales(window, qtbot, tmp_path, monkeypatch):
    for kind, scale in saving_pictures.SCALES.items():
        path = tmp_path / f"x{scale:g}"  # a file that is there is asked about
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, k=kind, p=path: (str(p), k))
        with qtbot.waitSignal(window.pictures.writer.finished, timeout=MS):
            window.pictures.export("Scrub bar")
        ratio = scale or window.devicePixelRatioF()
        assert QImage(f"{path}.png").width() == ratio * window.transport.scrub.width()


@pytest.mark.slow
def test_what_went_wrong_is_still_said_after_a_picture(window, qtbot, tmp_path):
    window.message.show_message("A race.")
    for name in ("x.png", "y.png"):
        saved(window, qtbot, "PTX", tmp_path / name)
        assert window.message.sentence.startswith("Saved")
    window.message.close_button.click()
    assert window.message.sentence == "A race."


@pytest.mark.slow
def test_a_picture_of_the_window_does_not_say_that_another_was_saved(window, qtbot, tmp_path):
    first = saved(window, qtbot, WINDOW, tmp_path / "1.png")
    assert window.message.sentence.startswith("Saved")
    second = saved(window, qtbot, WINDOW, tmp_path / "2.png")
    assert second.size() == first.size()
    width = first.width()
    rows = range(2 * window.header.height(), 2 * window.header.height() + 40)
    below = [[i.pixel(x, y) for y in rows for x in range(0, width, 7)] for i in (first, second)]
    assert below[0] == below[1]  # where the message stands


class Gate:
    """Keeps the writer from going on, so that what happens meanwhile can be seen."""

    def __init__(self, monkeypatch):
        self.open, self.reached = threading.Event(), threading.Event()
        encoded = Picture.encoded

        def waits(picture):
            self.reached.set()
            assert self.open.wait(20)
            return encoded(picture)

        monkeypatch.setattr(Picture, "encoded", waits)


@pytest.mark.slow
@pytest.mark.parametrize("file", ["x.png", "x.pdf"])
def test_what_is_written_is_said_and_can_be_stopped(window, qtbot, tmp_path, monkeypatch, file):
    path = tmp_path / file
    path.write_bytes(b"what was there")
    gate = Gate(monkeypatch)
    window.pictures.save(WINDOW, path)
    assert window.message.sentence == f"Writing {file} …"
    qtbot.waitUntil(gate.reached.is_set, timeout=MS)
    assert window.message.go.text() == "Cancel (Ctrl+.)"
    window.message.go.click()
    gate.open.set()
    qtbot.waitUntil(lambda: not window.pictures.busy, timeout=MS)
    assert window.message.sentence == f"{file} was not written."
    assert path.read_bytes() == b"what was there"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_ctrl_full_stop_stops_all_that_is_asked_for(window, qtbot, tmp_path, monkeypatch):
    gate = Gate(monkeypatch)
    for name in (WINDOW, "Matrices", "PTX", "Occupancy page"):
        window.pictures.save(name, tmp_path / f"{name}.png")
    window.workbench.waiting.stop()
    gate.open.set()
    qtbot.waitUntil(lambda: not window.pictures.busy, timeout=MS)
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()
    assert saved(window, qtbot, "Matrices", tmp_path / "x.png").width() > 0  # the next is written


def failure(window, qtbot, path):
    with qtbot.waitSignal(window.pictures.writer.failed, timeout=MS):
        window.pictures.save("Scrub bar", path)
    return window.message.sentence


@pytest.mark.slow
def test_what_cannot_be_written_is_said_with_what_to_do(window, qtbot, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    said = failure(window, qtbot, gone / "x.png")
    assert said == (
        f"x.png could not be written: there is no folder {gone}. Choose another, or make it."
    )
    folder = tmp_path / "x.pdf"
    folder.mkdir()
    assert "a folder has that name" in failure(window, qtbot, folder)
    monkeypatch.setattr("core.atomic_files.os.access", lambda *a: False)
    assert "may not be written to. Choose another folder." in failure(
        window, qtbot, tmp_path / "y.png"
    )
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("file", ["x.png", "x.pdf"])
@pytest.mark.slow
def test_a_full_disk_leaves_what_was_there(window, qtbot, tmp_path, monkeypatch, file):
    path = tmp_path / file
    path.write_bytes(b"what was there")

    def full(self, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert "the disk is full. Make room" in failure(window, qtbot, path)
    assert path.read_bytes() == b"what was there"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_to_a_file_stays_one(window, qtbot, tmp_path):
    real, link = tmp_path / "real.png", tmp_path / "link.png"
    real.write_bytes(b"")
    real.chmod(0o640)
    link.symlink_to(real)
    saved(window, qtbot, "Scrub bar", link)
    assert link.is_symlink()
    assert QImage(str(real)).width() > 0
    assert real.stat().st_mode & 0o777 == 0o640


@pytest.mark.slow
def test_a_picture_is_copied(window, qtbot, qapp):
    window.step_page.matrices.setFocus()
    size = window.step_page.matrices.size()  # before the message takes up room
    with qtbot.waitSignal(window.pictures.writer.finished, timeout=MS):
        window.pictures.copy_view()
    data = qapp.clipboard().mimeData()
    image = QImage.fromData(data.data("image/png"))
    assert image.size() == 2 * size
    assert data.hasImage()
    assert qapp.clipboard().image().size() == image.size()
    assert window.message.sentence.startswith("Copied Matrices, ")
    with qtbot.waitSignal(window.pictures.writer.finished, timeout=MS):
        window.pictures.copy_window()
    size = 2 * window.size()
    assert qapp.clipboard().image().size() == size
    window.close()
    assert not qapp.clipboard().mimeData().hasFormat(saving_pictures.OURS)
    assert qapp.clipboard().image().size() == size  # still there for others


@pytest.mark.slow
def test_a_heading_has_a_menu_with_the_picture_of_its_view(window, qtbot):
    heading = window.step_page.docks["Matrices"].title.heading
    at = heading.rect().center()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, heading.mapToGlobal(at))
    QApplication.sendEvent(heading, event)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    texts = [action.text() for action in menu.actions()]
    assert texts == ["Copy a picture of “Matrices”", "Export “Matrices”…", "Views"]
    menu.close()
    assert window.pictures.gallery.at(window.header) == WINDOW
    assert window.pictures.gallery.at(window.childAt(QPoint(4, 4))) == WINDOW
