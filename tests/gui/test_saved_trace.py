"""A trace that `tilescope trace --save` wrote, opened in the window."""

import zipfile

import numpy as np
import pytest

from core.guessing.launch_guess import guess_launch
from core.ladder.rung import DEFAULT_SEED
from core.recording.record_launch import record
from core.recording.trace_files import save_trace
from core.user_files.launch_texts import UNTITLED, FileLaunch, file_workload
from core.user_files.ptx_files import ptx_workload, read_ptx
from gui.exports.export_command import opened as exported
from gui.looks.theme import theme_names
from gui.scenes.configuration import Conditions, Configuration

MS = 40_000
MINE = """
__global__ void scale(const float *x, float *y, float a, int n)
{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = a * x[i]; }
"""


def opened(window, qtbot, path):
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        window.workbench.open_file(str(path))
    qtbot.waitUntil(lambda: window.step_page.source.draft.key != "", timeout=MS)


@pytest.mark.slow
def test_a_rung_is_shown_as_it_was_recorded(window, qtbot, ladder, tmp_path):
    """Not recorded anew: with inputs that no form can make, and the counts that were saved."""
    workload = ladder["tiled"].workload(seed=123, n=12, tile=4)
    trace = record(workload)
    save_trace(trace, tmp_path / "t.npz")
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        window.recorder.configure("coalesced", {"n": 16})
    opened(window, qtbot, tmp_path / "t.npz")
    session = window.session
    shown = session.trace
    assert shown.counters == trace.counters
    np.testing.assert_array_equal(
        shown.workload.launch.arrays[0].data, workload.launch.arrays[0].data
    )
    assert session.configuration.rung == "tiled"
    assert window.form.values() == {"n": 12, "tile": 4}
    assert not window.recorder.worker.busy
    session.update(step=session.n_steps - 1, thread=5)
    assert session.step > 50
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):  # and goes on from there
        window.form.editors["n"].setValue(8)
    assert session.parameters == {"n": 8, "tile": 4}


@pytest.mark.slow
def test_a_kernel_of_ones_own_brings_its_launch(window, qtbot, tmp_path):
    launch = guess_launch(MINE, "mine.cu", "scale")
    workload = file_workload(MINE, launch, 5)
    trace = record(workload)
    save_trace(trace, tmp_path / "mine.npz")
    opened(window, qtbot, tmp_path / "mine.npz")
    session = window.session
    assert session.trace.counters == trace.counters
    assert session.trace.workload.source_name == "mine.cu"
    own = session.configuration.own
    assert (own.path, own.kernel) == (UNTITLED, "scale")
    kept = dict(own.arguments)
    (x,) = [a for a in workload.launch.arguments if a.name == "x"]
    assert kept["x"].endswith(f"float32[{x.data.size}]")
    assert window.step_page.source.edit.toPlainText() == MINE
    recorded = session.trace
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        window.workbench.run_source()
    assert session.trace is not recorded
    assert session.trace.counters == trace.counters


@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.slow
def test_other_builds_are_shown(window, qtbot, ladder, tmp_path, kind):
    trace = record(ladder["tiled_bounds"].workload(n=7, tile=4), kind=kind)
    save_trace(trace, tmp_path / "t.npz")
    opened(window, qtbot, tmp_path / "t.npz")
    session = window.session
    assert session.trace.build.kind == kind
    for step in range(0, session.n_steps, 7):
        session.step = step
        qtbot.wait(1)
    assert session.trace.counters == trace.counters


@pytest.mark.slow
def test_ptx_is_shown_too(window, qtbot, tmp_path):
    trace = record(file_workload(MINE, guess_launch(MINE, "mine.cu", "scale")))
    (tmp_path / "mine.ptx").write_text(trace.build.ptx)
    arguments = [("p0", "float32[256]"), ("p1", "zeros:float32[256]"), ("p2", "2.5"), ("p3", "250")]
    file = read_ptx(str(tmp_path / "mine.ptx"))
    launch = FileLaunch(file.path, file.kernel, "8", "32", "0", "", tuple(arguments))
    save_trace(record(ptx_workload(file, launch, 3)), tmp_path / "ptx.npz")
    opened(window, qtbot, tmp_path / "ptx.npz")
    assert window.session.trace.counters.totals == trace.counters.totals
    assert window.session.configuration.own.grid == "8,1,1"


def test_the_form_says_what_its_arrays_hold(window, qtbot, ladder, tmp_path):
    """A link or an export of it records anew, and has to begin with the same arrays."""
    rung = ladder["tiled"]
    for inputs, before in (("random", "places"), ("places", "random"), ("small", "places")):
        save_trace(record(rung.workload_of(inputs, n=6, tile=2)), tmp_path / "t.npz")
        with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
            window.recorder.ask(
                Configuration("tiled", {"n": 8, "tile": 4}), given=Conditions(inputs=before)
            )
        opened(window, qtbot, tmp_path / "t.npz")
        assert window.session.inputs == inputs
        assert window.form.inputs.choice.currentData() == inputs
        assert not window.recorder.worker.busy, "what was saved is shown, and not recorded anew"
        assert window.session.parameters == {"n": 6, "tile": 2}


@pytest.mark.parametrize(("saved", "before"), [(8, 8), (DEFAULT_SEED, 8)])
def test_the_seed_is_one_that_gives_its_arrays(window, qtbot, ladder, tmp_path, saved, before):
    save_trace(record(ladder["tiled"].workload_of("small", saved, n=6, tile=2)), tmp_path / "t.npz")
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        window.recorder.ask(
            Configuration("tiled", {"n": 8, "tile": 4}), given=Conditions(seed=before)
        )
    opened(window, qtbot, tmp_path / "t.npz")
    assert (window.session.inputs, window.session.seed) == ("small", saved)
    assert not window.recorder.worker.busy, "what was saved is shown, and not recorded anew"


def test_an_export_of_it_knows_its_inputs(qapp, ladder, tmp_path):
    save_trace(record(ladder["tiled"].workload_of("small", n=6, tile=2)), tmp_path / "t.npz")
    session = exported(str(tmp_path / "t.npz"), ladder, theme_names(), lambda _: None)
    assert session.inputs == "small"


@pytest.mark.parametrize("name", ["kept.trace", "kept.txt"])
def test_it_is_known_by_what_it_holds_and_not_by_its_name(window, qtbot, ladder, tmp_path, name):
    trace = record(ladder["tiled"].workload(n=6, tile=2))
    save_trace(trace, tmp_path / name)
    opened(window, qtbot, tmp_path / name)
    assert window.session.trace.counters == trace.counters
    assert window.form.values() == {"n": 6, "tile": 2}


def damage(path):
    """Flips a bit in the middle of the largest array's data, whose checksum then disagrees."""
    with zipfile.ZipFile(path) as archive:
        largest = max(archive.infolist(), key=lambda member: member.compress_size)
    data = bytearray(path.read_bytes())
    start = largest.header_offset + 30  # of the local header, without its two variable parts
    start += sum(int.from_bytes(data[start - n : start - n + 2], "little") for n in (4, 2))
    data[start + largest.compress_size // 2] ^= 4
    path.write_bytes(data)


def test_a_damaged_one_is_a_sentence_and_changes_nothing(window, qtbot, ladder, tmp_path):
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        window.recorder.configure("tiled", {"n": 8, "tile": 4})
    before = window.session.trace
    path = tmp_path / "t.npz"
    save_trace(before, path)
    damage(path)
    window.workbench.open_file(str(path))
    qtbot.waitUntil(lambda: "or it is damaged." in window.message.sentence, timeout=MS)
    assert window.session.trace is before
