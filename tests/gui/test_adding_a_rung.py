"""Adding a rung is one file and one row: trace, window and bench know it at once."""

import json
import shutil

import numpy as np
import pytest

from core.cli.app import main
from core.compiler.compile_ptx_and_cubin import compile_cubin
from core.compiler.cubin import cubin_entries
from core.ladder import KERNELS_FOLDER, load_ladder
from gui.looks.theme import apply_theme
from gui.shell.main_window import MainWindow
from tests.core.gpu.fake_gpu import FakeGpu

SOURCE = """// 60 scaled_rows: C = A + A, every thread takes STEPS elements of a row.
//
// The idea     A rung that no program has heard of.

extern "C" __global__ void scaled_rows(const float* A, float* C, int N)
{
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * STEPS;

    for (int i = first; i < first + STEPS && i < N; i++)
        C[i] = A[i] + A[i];
}
"""
ROW = """
[[rung]]
number = 60
name = "scaled_rows"
title = "Scaled rows"
summary = "A rung that no program has heard of."
file = "60_scaled_rows.cu"
kernel = "scaled_rows"
parameters = [
    { name = "n", label = "N, elements", default = 100, minimum = 1, maximum = 4096 },
    { name = "steps", label = "elements a thread", default = 4, minimum = 1, maximum = 64 },
]
defines = { STEPS = "steps" }
block = [32]
grid = ["ceil_div(n, 32 * steps)"]
arguments = [
    { name = "A", dtype = "float32", shape = ["n"], role = "input" },
    { name = "C", dtype = "float32", shape = ["n"], role = "output" },
    { name = "N", dtype = "int32", value = "n" },
]
flops = "n"
expected = { C = "A + A" }
tuned = { steps = 2 }
"""


@pytest.fixture(autouse=True)
def added(tmp_path, monkeypatch):
    """A copy of the kernels with one file and one row more, in place of the project's."""
    folder = tmp_path / "kernels"
    shutil.copytree(KERNELS_FOLDER, folder)
    (folder / "60_scaled_rows.cu").write_text(SOURCE, encoding="utf-8")
    with (folder / "ladder.toml").open("a", encoding="utf-8") as registry:
        registry.write(ROW)
    monkeypatch.setattr("core.ladder.KERNELS_FOLDER", folder)


def test_trace(capfd):
    assert main(["trace", "scaled_rows", "--n", "70", "--set", "steps=3", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["parameters"] == {"n": 70, "steps": 3}
    assert main(["trace", "scaled_rows", "--set", "steps=65"]) == 2
    assert "steps = 65 is too large: use 1 to 64" in capfd.readouterr().err


def test_window(qtbot, qapp):
    apply_theme(qapp, "light")
    window = MainWindow(load_ladder())
    window.show()
    with qtbot.waitSignal(window.recorder.recorded, timeout=20_000):
        window.recorder.configure("scaled_rows", {"n": 50, "steps": 2})
    trace = window.session.trace
    a = next(array.data for array in trace.workload.launch.arrays if array.name == "A")
    assert np.array_equal(trace.outputs["C"], a + a)
    assert window.form.values() == {"n": 50, "steps": 2}
    rows = window.ladder_panel.list
    assert "Scaled rows" in [rows.item(i).text() for i in range(rows.count())]
    window.close()
    qapp.processEvents()


def test_bench(capfd, monkeypatch):
    monkeypatch.setattr("core.cli.bench.GpuWorker", lambda number: FakeGpu())
    assert main(["bench", "scaled_rows", "--n", "64", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["parameters"] == {"n": 64, "steps": 2}  # as tuned
    work = load_ladder()["scaled_rows"].workload(n=64)
    image = compile_cubin(work.source, source_name=work.source_name, defines=work.defines)
    assert cubin_entries(image) == ("scaled_rows",)
