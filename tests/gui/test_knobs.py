"""Numbers of a user's own kernel that can be dragged."""

import time

import pytest
from PySide6.QtCore import Qt

from core.guessing.launch_guess import guess_launch
from gui.jobs.record_work import make_workload
from gui.looks.theme import apply_theme
from gui.scenes.configuration import Configuration
from gui.scenes.launch_form import follow, knob_rows, knob_stops, turned
from gui.shell.main_window import MainWindow

MS = 20_000
SOURCE = """#define TILE 8
constexpr int PAD = 1;
extern "C" __global__ void turn(const float *A, float *C, int n)
{
    __shared__ float tile[TILE][TILE + PAD];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x < n && y < n)
        tile[threadIdx.x][threadIdx.y] = A[y * n + x];
    __syncthreads();
    int row = blockIdx.x * TILE + threadIdx.y, column = blockIdx.y * TILE + threadIdx.x;
    if (row < n && column < n)
        C[row * n + column] = tile[threadIdx.y][threadIdx.x];
}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "turn.cu"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def shown(file):
    return Configuration("", {}, None, guess_launch(SOURCE, str(file)))


def test_rows_of_constants_macros_and_arguments(shown, ladder):
    workload, _ = make_workload(ladder, shown)
    rows = {row.name: row for row in knob_rows(workload, shown.own)}
    assert {name: row.kind for name, row in rows.items()} == {
        "TILE": "constant",
        "PAD": "constant",
        "n": "argument",
    }
    assert (rows["TILE"].value, rows["n"].value) == (8, 32)
    assert "Line 1 " in rows["TILE"].tip


def test_a_number_that_main_has_under_the_arguments_name_is_dragged_there(tmp_path, ladder):
    source = """__global__ void twice(const float* x, float* y, int n)
{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }
int main() {
    const int n = 96;
    float *x, *y; cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&y, n * sizeof(float));
    twice<<<3, 32>>>(x, y, n);
}
"""
    shown = Configuration("", {}, None, guess_launch(source, str(tmp_path / "twice.cu")))
    (tmp_path / "twice.cu").write_text(source)
    workload, _ = make_workload(ladder, shown)
    assert [(r.kind, r.name, r.value) for r in knob_rows(workload, shown.own)] == [
        ("constant", "n", 96)
    ]
    after, _ = make_workload(ladder, turned(shown, source, "constant", "n", 64))
    x, _, n = after.launch.arguments
    assert (x.data.size, int(n.value)) == (64, 64)


def test_the_constants_of_a_long_source_are_there_at_once(tmp_path, ladder):
    functions = "".join(
        f"__device__ float f{i}(float a{i}, int b{i}) {{ float c{i} = a{i} + b{i}; return c{i}; }}"
        for i in range(500)
    )
    source = f"""#define N 64
{functions}
__global__ void one(float *x) {{ if (threadIdx.x < N) x[threadIdx.x] = f1(1.0f, N); }}
"""
    own = guess_launch(source, str(tmp_path / "long.cu"))
    workload, _ = make_workload(ladder, Configuration("", {}, source, own))
    begun = time.thread_time()
    assert [row.name for row in knob_rows(workload, own)] == ["N"]
    assert time.thread_time() - begun < 1, "the window waits for it"


def test_a_constant_of_the_hosts_counts_as_it_is_dragged_or_is_none(tmp_path, ladder):
    source = """#define COUNT 4096
#define REPEATS 7
#define EACH 3
__global__ void scale(float *x, int n)
{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= EACH; }
int main() {
    float *d; cudaMalloc(&d, COUNT * sizeof(float));
    for (int r = 0; r < REPEATS; ++r) scale<<<COUNT / 64, 64>>>(d, COUNT);
}
"""
    path = tmp_path / "scale.cu"
    path.write_text(source)
    now = Configuration("", {}, None, guess_launch(source, str(path)))
    workload, _ = make_workload(ladder, now)
    rows = [row.name for row in knob_rows(workload, now.own)]
    assert rows == ["COUNT", "EACH", "n"], "nothing follows the repeats"
    for count in (512, 1024):
        now = turned(now, now.source or source, "constant", "COUNT", count)
        assert f"COUNT {count}" in now.source
        assert (now.own.grid, dict(now.own.arguments)["n"]) == (str(count // 64), str(count))


@pytest.mark.parametrize(
    ("value", "some", "none"),
    [(16, {1, 2, 8, 16, 64}, {3, 12}), (1, {0, 1, 2, 16}, {17}), (0, {0, 1, 16}, {-1})],
)
def test_stops_of_a_number(value, some, none):
    found = knob_stops(value)
    assert value in found
    assert some <= set(found)
    assert not none & set(found)
    assert list(found) == sorted(set(found))


def test_a_tile_of_two_is_dragged_through_powers_of_two(shown, file, ladder):
    text = SOURCE.replace("TILE 8", "TILE 2").replace("PAD = 1", "PAD = 2")
    file.write_text(text)
    own = guess_launch(text, str(file))
    workload, _ = make_workload(ladder, Configuration("", {}, None, own))
    stops = {row.name: row.stops for row in knob_rows(workload, own)}
    assert stops["TILE"][:4] == (1, 2, 4, 8), "none is 0, by which the kernel would divide"
    assert stops["PAD"][:4] == (0, 1, 2, 3)


def test_the_launch_follows_a_constant_as_long_as_it_was_guessed(shown):
    changed = turned(shown, SOURCE, "constant", "TILE", 4)
    assert changed.source.startswith("#define TILE 4\n")
    assert (shown.own.block, changed.own.block) == ("8,8", "4,4")
    own = Configuration("", {}, None, turned(shown, SOURCE, "argument", "n", 20).own)
    assert dict(own.own.arguments)["n"] == "20"
    kept = turned(own, SOURCE, "constant", "TILE", 4)
    assert dict(kept.own.arguments)["n"] == "20", "what was typed stays"
    assert follow(shown.own, SOURCE, "no kernel at all") == shown.own


def test_a_macro_given_to_the_compiler_is_turned_there(shown, file):
    text = SOURCE.replace("#define TILE 8\n", "")
    launch = guess_launch(text, str(file))
    assert "TILE=" in launch.defines
    given = Configuration("", {}, None, launch)
    changed = turned(given, text, "define", "TILE", 2)
    assert changed.source is None
    assert changed.own.defines == "TILE=2"


@pytest.fixture
def window(qtbot, qapp, ladder, file):
    apply_theme(qapp, "light")
    window = MainWindow(ladder)
    window.resize(1280, 800)
    window.show()
    qtbot.waitExposed(window)
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        window.workbench.open_file(str(file))
    yield window
    window.close()
    qapp.processEvents()


@pytest.mark.slow
def test_dragging_a_constant_edits_the_source_and_records(window, qtbot):
    knobs = window.form.knobs
    assert knobs.isVisible()
    slider = knobs.sliders["TILE"]
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        slider.setValue(slider.stops.index(4))
    assert window.step_page.source.edit.toPlainText().startswith("#define TILE 4\n")
    assert window.session.trace.workload.launch.block.count == 16
    assert window.form.file.current().block == "4,4"
    assert window.step_page.source.draft.edited
    assert not window.step_page.source.draft.stale
    assert window.form.knobs.sliders["TILE"] is slider, "the handle is still held"
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        slider = knobs.sliders["PAD"]
        slider.setValue(slider.stops.index(0))
    assert window.session.trace.shared_arrays[0].shape == (4, 4)
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        slider = knobs.sliders["n"]
        slider.setValue(slider.stops.index(20))
    assert window.form.file.current().arguments[-1] == ("n", "20")
    assert window.form.file.current().grid == "5,5"
    assert {a.shape for a in window.session.trace.arrays} == {(20, 20)}
    assert "#define TILE 4" in window.step_page.source.edit.toPlainText()


@pytest.mark.slow
def test_a_rung_has_no_such_rows(window, qtbot):
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        window.recorder.configure("tiled", {"n": 8, "tile": 4})
    assert not window.form.knobs.isVisible()
    assert window.form.fields.isVisible()


@pytest.mark.slow
def test_a_file_that_does_not_compile_has_no_rows_of_the_file_before(window, qtbot, tmp_path):
    assert window.form.knobs.isVisible()
    path = tmp_path / "wrong.cu"
    path.write_text("__global__ void wrong(float *a, int n)\n{\n    a[0] = b;\n}\n")
    window.workbench.open_file(str(path))
    qtbot.waitUntil(lambda: "wrong.cu:3" in window.message.sentence, timeout=MS)
    qtbot.waitUntil(lambda: not window.form.knobs.isVisible(), timeout=MS)


@pytest.mark.slow
def test_typing_a_number_is_recorded_after_a_rest(window, qtbot):
    field = window.form.knobs.fields["PAD"]
    field.setFocus()
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        field.selectAll()
        qtbot.keyClicks(field, "3")
    assert window.session.trace.shared_arrays[0].shape == (8, 11)
    qtbot.keyClick(field, Qt.Key.Key_Up)
    assert field.value() == 4


@pytest.mark.slow
def test_two_numbers_dragged_at_once_both_arrive(window, qtbot):
    sliders = window.form.knobs.sliders
    for name, value in (("TILE", 4), ("PAD", 2), ("PAD", 0), ("n", 20)):
        sliders[name].setValue(sliders[name].stops.index(value))
    qtbot.waitUntil(lambda: window.form.file.current().arguments[-1] == ("n", "20"), timeout=MS)
    qtbot.waitUntil(  # between two of them the recorder may rest
        lambda: (
            not window.recorder.worker.busy
            and window.session.trace.shared_arrays[0].shape == (4, 4)
            and "PAD = 0;" in window.step_page.source.edit.toPlainText()
        ),
        timeout=MS,
    )


@pytest.mark.slow
def test_two_numbers_typed_one_after_the_other_both_arrive(window, qtbot):
    fields = window.form.knobs.fields
    for name, value in (("PAD", "3"), ("n", "20")):
        fields[name].setFocus()
        fields[name].selectAll()
        qtbot.keyClicks(fields[name], value)

    def both():
        session = window.session
        n = session.origin.configuration.own.arguments[-1]
        return n == ("n", "20") and session.trace.shared_arrays[0].shape == (8, 11)

    qtbot.waitUntil(both, timeout=MS)


MAPPED = """#define X_ALONG_ROWS 0
extern "C" __global__ void twice(const float *A, float *C, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
#if X_ALONG_ROWS
    int row = x, column = y;
#else
    int row = y, column = x;
#endif
    if (row < n && column < n)
        C[row * n + column] = 2.0f * A[row * n + column];
}
"""


@pytest.mark.slow
def test_a_mapping_of_ones_own_is_a_switch(window, qtbot, tmp_path):
    path = tmp_path / "twice.cu"
    path.write_text(MAPPED)
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        window.workbench.open_file(str(path))
    switch = window.form.knobs.switches["X_ALONG_ROWS"]
    qtbot.waitUntil(switch.isVisible)
    assert switch.value == "0"
    assert "X_ALONG_ROWS" not in window.form.knobs.sliders
    window.session.update(thread=9)

    def gap():
        block = window.session.block_trace
        load = block.access(int(block.access_steps[0]))
        return int(load.addresses[1] - load.addresses[0])

    assert gap() == 4
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        switch.button("1").click()
    assert gap() > 4
    assert window.step_page.source.edit.toPlainText() == MAPPED.replace("ROWS 0", "ROWS 1")
    assert window.session.thread == 9
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        window.workbench.run_original()
    assert switch.value == "0"
