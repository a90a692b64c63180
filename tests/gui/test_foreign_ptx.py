"""PTX of Triton and Numba in the window: its Python, its form, and what cannot be edited."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from tests.foreign_set import FOLDER

RECORDING_MS = 40_000


@pytest.fixture
def folder(tmp_path):
    for name in ("triton_kernels.py", "numba_kernels.py", "triton_softmax.ptx",
                 "triton_softmax.json", "numba_gather.ptx"):  # fmt: skip
        shutil.copy(FOLDER / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def show(window, qtbot, folder):
    def opened(name):
        with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
            window.workbench.open_file(str(folder / name))
        return window

    return opened


@pytest.mark.slow
def test_the_source_is_python_with_the_sectors_of_its_lines(show, folder) -> None:
    window = show("triton_softmax.ptx")
    source = window.step_page.source
    assert source.edit.toPlainText() == (folder / "triton_kernels.py").read_text()
    lines = source.edit.toPlainText().splitlines()
    touched = [lines[line - 1] for line, t in source.edit.gutter.totals.items() if "sectors" in t]
    assert len(touched) == 2
    assert "tl.load" in touched[0]
    assert "tl.store" in touched[1]
    form = window.session.configuration.own
    assert dict(form.arguments)["columns"] == "240"
    assert not window.session.trace.findings
    window.step_page.front("PTX")
    assert "ld.global" in window.step_page.ptx.text.toPlainText()
    start = next(i for i, text in enumerate(lines) if text.startswith("def softmax"))
    assert {s.category for s in source.edit._spans_of(start, start + 1)[0]} >= {
        "keyword",
        "function",
    }


@pytest.mark.slow
def test_a_number_of_the_form_is_taken_and_numbas_arrays_are_one_argument(show, qtbot) -> None:
    window = show("numba_gather.ptx")
    own = window.session.configuration.own
    assert own.kernel == "gather"
    assert [name for name, _ in own.arguments] == ["x", "index", "out"]
    texts = {"x": "float32[50]", "index": "index:int64[50]", "out": "zeros:float32[50]"}
    wanted = type(own)(own.path, own.kernel, "1", "64", "0", "", tuple(texts.items()))
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.workbench._launch(wanted)
    trace = window.session.trace
    data = {a.name: a.data for a in trace.workload.launch.arrays}
    assert (trace.outputs["out"] == data["x"][data["index"]]).all()


@pytest.mark.slow
def test_arrays_and_grid_follow_a_number(show, qtbot) -> None:
    window = show("triton_softmax.ptx")
    own = window.session.configuration.own
    assert dict(own.arguments)["x_ptr"] == "float32[4,240]"
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.workbench._turn("argument", "columns", 100)
    now = dict(window.session.configuration.own.arguments)
    assert now == {"x_ptr": "float32[4,100]", "out_ptr": "zeros:float32[4,100]", "columns": "100"}
    chosen = tuple({**now, "x_ptr": "ones:float32[4,100]"}.items())
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.workbench._launch(replace(window.session.configuration.own, arguments=chosen))
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.workbench._turn("argument", "columns", 50)
    now = dict(window.session.configuration.own.arguments)
    assert now["x_ptr"] == "ones:float32[4,100]"  # somebody chose it
    assert now["out_ptr"] == "zeros:float32[4,50]"
    assert not window.session.trace.findings


@pytest.mark.slow
def test_the_python_is_neither_edited_nor_saved_over_the_ptx(show, folder) -> None:
    window = show("triton_softmax.ptx")
    before = (folder / "triton_softmax.ptx").read_text()
    window.workbench.edit_source()
    assert not window.step_page.source.edit.editing
    assert "compile it there" in window.message.sentence
    window.message.clear()
    window.workbench.save_source()
    assert "compile it there" in window.message.sentence
    assert (folder / "triton_softmax.ptx").read_text() == before


@pytest.mark.slow
def test_ptx_without_its_source_is_stepped_through_and_can_be_edited(show, qtbot, folder) -> None:
    (folder / "numba_kernels.py").unlink()
    window = show("numba_gather.ptx")
    text = (folder / "numba_gather.ptx").read_text()
    assert window.step_page.source.edit.toPlainText() == text
    changed = text.replace("st.global.f32 \t[%rd", "neg.f32 %f1, %f1; st.global.f32 \t[%rd")
    assert changed != text
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.workbench.edit_source()
        window.step_page.source.edit.set_text(changed)
        window.workbench.run_source()
    trace = window.session.trace
    assert not trace.findings
    x, index, out = (array for array in trace.workload.launch.arrays)
    assert (x.name, index.name, out.name) == ("p4", "p11", "p18")  # nobody tells their names
    assert (trace.outputs[out.name] == -x.data[index.data]).all()
