"""Memory stays flat: nothing is left of a launch, a step or a form when the next has come."""

import gc
import tracemalloc
import weakref

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject

RECORDING_MS = 20_000
LAUNCHES = (
    ("tiled", {"n": 12, "tile": 4}),
    ("broken_bounds", {"n": 7, "tile": 4}),
    ("coalesced", {"n": 8, "block_x": 8, "block_y": 2}),
)
ROUNDS = 3
BYTES = 60_000  # a round may grow by: less than one of its records takes


@pytest.fixture
def filled(window):
    """A window whose views have all been looked at."""
    for name in window.step_page.docks:
        window.step_page.front(name)
        QCoreApplication.processEvents()
    return window


def one_round(window, qtbot):
    """Each launch once, with steps, the heat map and other threads; gives each one's block."""
    blocks = []
    for rung, parameters in LAUNCHES:
        with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
            window.recorder.configure(rung, parameters)
        session = window.session
        for place in range(4):
            session.update(step=place * session.n_steps // 4, thread=place, heat=place % 2 == 1)
            QCoreApplication.processEvents()
        works = window.step_page.phases.worker, window.recorder.counter
        qtbot.waitUntil(lambda: not any(work.busy for work in works))  # noqa: B023
        blocks.append(weakref.ref(session.block_trace))
    return blocks


def tidy():
    """As it is when the application's own loop has had its turn, and the collector its.

    A layout leaves an animation of Qt's to be deleted later, so deleting comes last.
    """
    QCoreApplication.processEvents()
    gc.collect()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


@pytest.mark.slow
def test_new_traces_and_steps_leave_nothing_behind(filled, qtbot):
    one_round(filled, qtbot)  # modules are imported, caches of texts and pictures filled
    tidy()
    tracemalloc.start()
    one_round(filled, qtbot)
    sizes, objects = [], []
    for _ in range(ROUNDS):
        blocks = one_round(filled, qtbot)
        tidy()
        sizes.append(tracemalloc.get_traced_memory()[0])
        objects.append(len(filled.findChildren(QObject)))
    tracemalloc.stop()
    assert [block() is None for block in blocks] == [True, True, False]
    assert len(set(objects)) == 1
    growth = (sizes[-1] - sizes[0]) / (ROUNDS - 1)
    assert growth < BYTES, sizes
