"""The public API: its names, what it records, and the example notebook."""

import importlib.util
import inspect
import json
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from core import api

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "example.ipynb"
SAXPY = """\
__global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[2 * i] + y[i];
}
"""


def test_the_names_stay():
    """Whoever changes these breaks other people's notebooks."""
    assert api.__all__ == ["ACCESS", "Record", "TilescopeError", "load", "rungs", "trace"]
    assert [*inspect.signature(api.trace).parameters] == [
        "source", "kernel", "grid", "block", "shared", "defines", "seed", "blocks", "build",
        "arguments", "more",
    ]  # fmt: skip
    assert sorted(name for name in vars(api.Record) if not name.startswith("_")) == [
        "accesses", "blocks", "by_array", "by_line", "counters", "findings", "ideal", "kernel",
        "launch", "outputs", "printed", "ptx", "report", "save", "source", "warp_picture",
    ]  # fmt: skip
    assert api.ACCESS.names == (
        "block", "step", "line", "kind", "space", "array", "thread", "warp", "lane", "address",
        "element", "width",
    )  # fmt: skip
    for name in api.__all__:
        assert getattr(api, name).__doc__ or name == "ACCESS"


@pytest.fixture(scope="module")
def saxpy():
    generator = np.random.default_rng(3)
    x, y = generator.random(180, np.float32), generator.random(90, np.float32)
    return x, y, api.trace(SAXPY, grid=3, block=(32, 1), a=2.5, x=x, y=y, n=90)


def test_the_outputs_are_the_arrays_own(saxpy):
    x, y, record = saxpy
    expected = np.float64(2.5) * x[::2] + y
    error = np.abs(record.outputs["y"] - expected).max()
    assert not (error > 1e-6)
    assert record.kernel == "saxpy"
    assert record.launch.grid.x == 3
    assert record.source == SAXPY
    assert ".entry" in record.ptx


def test_counters_are_mappings_of_numbers(saxpy):
    _, _, record = saxpy
    # 90 threads in 3 warps: every second float of x, 8 sectors a warp; 26 threads have 7.
    assert record.by_array["x"]["global_ld_sectors"] == 8 + 8 + 7
    assert record.by_array["y"]["global_st_sectors"] == 4 + 4 + 4
    assert record.counters["global_ld_requests"] == 6
    assert record.ideal["global_ld_sectors"] < record.counters["global_ld_sectors"]
    assert record.by_line[3] == {**record.counters, "barriers": record.by_line[3]["barriers"]}
    with pytest.raises(TypeError):
        record.counters["global_ld_requests"] = 0


def test_accesses_are_rows_of_threads(saxpy):
    _, _, record = saxpy
    rows = record.accesses()
    assert rows.dtype == api.ACCESS
    loads = rows[(rows["array"] == "x") & (rows["kind"] == "load")]
    assert len(loads) == 90
    whole = loads["block"] * 32 + loads["thread"]
    assert (loads["element"] == 2 * whole).all()
    assert (np.diff(loads["address"]) == 8).all()
    assert set(rows["line"].tolist()) == {3}
    assert (rows["lane"] == rows["thread"] % 32).all()
    assert len(record.accesses(2)) == 3 * 26
    with pytest.raises(api.TilescopeError, match="was not recorded"):
        record.accesses(7)


def test_it_shows_itself(saxpy):
    _, _, record = saxpy
    html = record._repr_html_()
    assert "<svg" in html
    assert "global_ld_sectors" in html
    assert "8 sectors where 4 would do" in html
    assert repr(record) == "<tilescope.Record of saxpy: grid 3 x 1, block 32 x 1, 0 faults>"
    for wrong in ({"step": 9999}, {"warp": 1}):
        with pytest.raises(api.TilescopeError, match="use 0 to "):
            record.warp_picture(**wrong)


def test_faults_are_found(saxpy):
    x, y, _ = saxpy
    record = api.trace(SAXPY, grid=4, block=32, a=1.0, x=x, y=y, n=110)
    assert {finding.kind for finding in record.findings} == {"out_of_bounds"}
    assert {finding.line for finding in record.findings} == {3}
    assert "<li>" in record._repr_html_()


def test_an_array_of_another_library_is_taken(saxpy):
    x, y, before = saxpy

    class Elsewhere:  # as CuPy's arrays: on a device, with `get`
        ndim, shape = 1, (180,)

        def __array__(self, *args, **kwargs):
            raise TypeError("implicit conversion is not allowed")

        def get(self):
            return x

    record = api.trace(SAXPY, grid=3, block=32, a=2.5, x=Elsewhere(), y=y, n=90)
    assert (record.outputs["y"] == before.outputs["y"]).all()


def test_an_array_of_another_byte_order_is_taken(saxpy):
    x, y, before = saxpy
    there = x.astype(">f4")
    record = api.trace(SAXPY, grid=3, block=32, a=2.5, x=there, y=y.astype(">f4"), n=90)
    assert (record.outputs["y"] == before.outputs["y"]).all()


SCALED = """
__constant__ float coefficients_of_each_of_the_four_lanes[4];
extern "C" __global__ void scaled(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * coefficients_of_each_of_the_four_lanes[i & 3];
}
"""


def test_an_array_in_constant_memory_holds_what_was_given():
    rng = np.random.default_rng(5)
    name = "coefficients_of_each_of_the_four_lanes"
    x, given = (rng.random(n, np.float32) for n in (40, 4))
    record = api.trace(SCALED, grid=2, block=32, n=37, x=x, arguments={name: given})
    assert (record.outputs["y"][:37] == (x * np.resize(given, 40))[:37]).all()
    arrays = set(record.accesses()["array"].tolist())
    assert arrays == {"x", "y", name}  # whole, though `ACCESS` has room for 32 characters


def test_files_rungs_and_saved_records(saxpy, tmp_path):
    x, y, before = saxpy
    file = tmp_path / "my saxpy.cu"
    file.write_text(SAXPY)
    record = api.trace(file, grid=3, block=32, arguments={"a": 2.5, "n": 90}, x=x, y=y)
    assert dict(record.counters) == dict(before.counters)
    again = api.load(record.save(tmp_path / "x.npz"))
    assert (again.accesses() == record.accesses()).all()
    assert "tiled" in api.rungs()
    tiled = api.trace("tiled", n=6, tile=3)
    assert tiled.counters["barriers"] > 0
    assert "# Tiled" in tiled.report(tmp_path / "r.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"z": 1}, "has no parameter z"),
        ({"x": np.zeros(4, np.int32)}, "is float32"),
        ({"x": np.zeros(0, np.float32)}, "is empty"),
        ({"grid": 0}, "grid"),
        ({"grid": "a"}, "`a` is not a grid"),
        ({"block": (8, 1.5)}, "`8,1.5` is not a block"),
        ({"kernel": "other"}, "other"),
        ({"build": "fast"}, "use as_written or as_compiled"),
        ({"seed": -1}, "use 0 or more"),
    ],
)
def test_a_mistake_is_one_sentence(given, sentence):
    with pytest.raises(api.TilescopeError, match=sentence):
        api.trace(SAXPY, **{"grid": 1, "block": 32, "n": 4, **given})
    with pytest.raises(api.TilescopeError, match="no kernel called saxpy"):
        api.trace("saxpy")


def test_the_wheels_package_offers_the_same():
    path = ROOT / "scripts" / "wheel" / "package" / "__init__.py"
    spec = importlib.util.spec_from_file_location("tilescope", path)
    package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    assert set(package.__all__) == {*api.__all__, "__version__"}
    assert all(getattr(package, name) is getattr(api, name) for name in api.__all__)
    with pytest.raises(AttributeError):
        package.nothing  # noqa: B018


@pytest.mark.slow
def test_the_example_notebook_runs(monkeypatch, tmp_path):
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 3
    module = types.ModuleType("tilescope")
    vars(module).update({name: getattr(api, name) for name in api.__all__})
    monkeypatch.setitem(sys.modules, "tilescope", module)
    monkeypatch.chdir(tmp_path)
    names = {}
    for text in code:
        exec(compile(text, "cell", "exec"), names)
    assert isinstance(names["t"], api.Record)
