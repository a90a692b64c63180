"""The window while the clock plays: pictures move in every frame, and a pause shows everything."""

from itertools import pairwise

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtGui import QImage

from gui.commands.saving_pictures import WINDOW
from gui.pictures import image_of
from gui.scenes.refresh_queue import LEAST_A_SECOND
from gui.scenes.setting_choices import MAX_SPEED
from gui.views.matrix_canvas import MatrixCanvas
from gui.views.session_view import SessionView

RECORDING_MS = 20_000
FRAME, LONGEST = frozenset({"step"}), int(MAX_SPEED) // LEAST_A_SECOND  # frames between two turns


@pytest.fixture
def window(window, qtbot, qapp):
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.recorder.configure("tiled", {"n": 12, "tile": 4})
    all_is_read(window, qapp)
    return window


def all_is_read(window, qapp):
    """Goes on until each canvas knows the other blocks' parts, which it draws then."""
    canvases = [view for view in window.findChildren(MatrixCanvas) if view.isVisible()]
    while any(canvas.sharing.isActive() for canvas in canvases):
        qapp.processEvents()


def play(window, qapp, frames):
    """Some frames at full speed, each painted; the test is the clock."""
    session = window.session
    session.update(speed=MAX_SPEED, playing=1)
    window.transport.stop()
    for _ in range(frames):
        if session.playing:
            session.play_on()
        qapp.processEvents()


def views_of(window):
    return [view for view in window.findChildren(SessionView) if view.isVisible()]


def pictures(window):
    return {
        type(view).__name__: view.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
        for view in views_of(window)
    }


def is_exact(window, qapp):
    """Whether the window looks as if every view had only just been told everything."""
    shown = pictures(window)
    captions = [view.caption.text() for view in views_of(window) if hasattr(view, "caption")]
    for view in views_of(window):
        view.refresh(view.WATCHES)
    qapp.processEvents()
    all_is_read(window, qapp)
    again = [view.caption.text() for view in views_of(window) if hasattr(view, "caption")]
    return pictures(window) == shown and again == captions


@pytest.mark.slow
@pytest.mark.parametrize("front", ["Source", "PTX", "Phases"])
def test_a_pause_shows_everything(window, qapp, qtbot, front):
    session = window.session
    session.view = front
    if front == "Phases":  # its arrival would change the picture, too
        qtbot.waitUntil(lambda: window.step_page.phases.table is not None)
    session.first()
    waited = 0
    for frames in (1, 2, 7, 13):
        play(window, qapp, frames)
        waited += session.turns.waiting
        session.playing = 0
        assert not session.turns.waiting
        qapp.processEvents()
        assert is_exact(window, qapp)
    assert waited > 8  # there was something to wait


@pytest.mark.slow
def test_no_view_starves_while_the_clock_plays(window, qapp):
    window.resize(1920, 1080)  # with room for the source and the variables at once
    session, seen = window.session, {}
    session.first()
    reading = [view for view in views_of(window) if view.READ]
    assert {type(view).__name__ for view in reading} >= {
        "SourceView", "VariablesView", "TransportBar"
    }  # fmt: skip
    for view in reading:
        frames = seen.setdefault(view, [0])
        refresh = view.refresh
        view.refresh = lambda names, refresh=refresh, frames=frames: (
            frames.append(len(painted)),
            refresh(names),
        )
    painted = []
    session.update(speed=MAX_SPEED, playing=1)
    window.transport.stop()
    for _ in range(24):
        painted.append(session.step)
        session.play_on()
        qapp.processEvents()
        assert window.step_page.matrices.scene is not None
    for frames in seen.values():
        assert max(after - before for before, after in pairwise([*frames, 25])) <= LONGEST
    session.playing = 0


@pytest.mark.slow
def test_pictures_move_in_every_frame(window, qapp):
    session = window.session
    session.first()
    session.update(speed=MAX_SPEED, playing=1)
    window.transport.stop()
    for _ in range(8):
        before = window.step_page.matrices.grab().toImage()
        step = session.step
        session.play_on()
        qapp.processEvents()
        assert session.step != step
        assert window.transport.scrub.x_of(session.step) != window.transport.scrub.x_of(step)
        assert window.step_page.matrices.grab().toImage() != before


@pytest.mark.slow
def test_the_end_of_play_and_a_breakpoint_show_everything(window, qapp):
    session = window.session
    session.first()
    play(window, qapp, session.n_steps)
    assert session.playing == 0  # it ran to the end
    assert session.step == session.n_steps - 1
    assert not session.turns.waiting
    assert is_exact(window, qapp)
    session.first()
    session.line = 26
    window.stopping.toggle_at_line()
    play(window, qapp, session.n_steps)
    assert 0 < session.step < session.n_steps - 1
    assert is_exact(window, qapp)


@pytest.mark.slow
def test_a_picture_saved_while_the_clock_plays_is_exact(window, qapp, monkeypatch, tmp_path):
    session, jobs = window.session, []
    monkeypatch.setattr(window.pictures.writer, "submit", lambda *job: jobs.append(job))
    monkeypatch.setattr(window.message, "show_message", lambda *a, **k: None)  # takes up room
    session.first()
    play(window, qapp, 9)
    assert session.turns.waiting
    window.pictures.save(WINDOW, tmp_path / "window.png")
    assert not session.turns.waiting
    for view in views_of(window):
        view.refresh(view.WATCHES)
    window.transport.stop()  # it is told, too, that the clock plays
    all_is_read(window, qapp)
    now = image_of(window).convertToFormat(QImage.Format.Format_RGB32)
    now.setDevicePixelRatio(1)
    write, *what = jobs[0]
    saved = QImage(str(write(lambda fraction: None, *what)))
    assert saved.convertToFormat(QImage.Format.Format_RGB32) == now


@pytest.mark.slow
def test_both_sides_of_a_comparison_take_turns_together(window, qapp, qtbot):
    window.show_page("compare")
    page = window.pages.made("compare")
    qtbot.waitUntil(lambda: page.comparing.b.trace is not None, timeout=RECORDING_MS)
    a, b = window.session, page.comparing.b
    assert a.turns is b.turns
    all_is_read(window, qapp)
    a.first()
    play(window, qapp, 6)
    assert a.turns.waiting
    a.playing = 0
    assert not a.turns.waiting
    qapp.processEvents()
    assert is_exact(window, qapp)


@pytest.mark.slow
def test_a_window_closed_while_it_plays_leaves_nothing(window, ladder):
    window.session.first()
    window.session.update(speed=MAX_SPEED, playing=1)
    for _ in range(5):
        window.session.play_on()
    window.form.show_rung(ladder["tuned"])
    assert [timer for timer in window.findChildren(QTimer) if timer.isActive()]
    window.close()
    assert not window.session.turns.waiting
    assert not [timer for timer in window.findChildren(QTimer) if timer.isActive()]
