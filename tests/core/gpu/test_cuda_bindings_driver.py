"""The driver through cuda-bindings, on a library that has the driver's functions and no GPU."""

import importlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.compiler.compile_ptx_and_cubin import compile_cubin
from core.errors import GpuUnavailable
from core.gpu import cuda_bindings_driver, driver_session

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SOURCE = """
__constant__ double factor;
extern "C" __global__ void k(short a, double b, float *o, const int *i, unsigned char c, float d)
{ extern __shared__ float s[]; s[c] = a; o[0] = factor * b + s[i[0]] * d; }
"""
NAMES = sorted(set(re.findall(r'"(cu[A-Z]\w+)"', inspect.getsource(cuda_bindings_driver))))


def test_the_package_has_every_function_that_is_called():
    driver = importlib.import_module("cuda.bindings.driver")
    assert len(NAMES) > 25
    assert not [name for name in NAMES if not callable(getattr(driver, name, None))]
    made = cuda_bindings_driver.BoundDriver(driver)
    asked = inspect.getsource(driver_session.describe)
    for name in re.findall(r"at\.([A-Z_0-9]+)", asked):
        assert int(getattr(made.device_attribute, name)) > 0
    for name in ("NUM_REGS", "SHARED_SIZE_BYTES", "LOCAL_SIZE_BYTES"):
        assert int(getattr(made.function_attribute, name)) > 0
    with pytest.raises(AttributeError):
        _ = made.device_attribute.NOTHING


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("no C compiler to make a driver with")
    folder = tmp_path_factory.mktemp("driver")
    made = folder / "libcuda.so.1"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", made, HERE / "fake_driver.c", "-ldl"], check=True
    )
    return folder


@pytest.mark.slow
def test_a_launch_through_cuda_bindings(library, tmp_path):
    cubin = tmp_path / "k.cubin"
    cubin.write_bytes(compile_cubin(SOURCE))
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(library),
        "PYTHONPATH": str(ROOT),
        driver_session.WAY: "cuda-bindings",
    }
    done = subprocess.run(
        [sys.executable, "-P", str(HERE / "run_cuda_bindings_driver.py"), str(cubin)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["report"] == ["Fake GPU", [1075, 1076], 7 << 30, "13.1"]
    assert said["sms"] == 1016  # the fake answers 1000 + the attribute's number
    assert said["shape"] == [5, 3, 2, 32, 4, 1, 60 << 10]
    # `struct` pads before a value, C also after the last one.
    assert said["expected"].startswith(said["parameters"])
    assert len(said["expected"]) - len(said["parameters"]) < 16
    assert said["variable"] == 0x3FFC000000000000  # 1.75 as a double
    assert said["poisoned"] == [0xFFFFFFFF] * 11
    assert said["input"]
    assert said["time"] == [0.25, 0.25]
    assert said["registers"] == [14, 13, 60 << 10]
    assert said["errors"] == [
        ["out_of_memory", False],
        ["driver", False],
        ["launch_refused", False],
    ]
    assert said["contexts"] == [1, 0]


class Packages:
    """In place of `importlib`: what is installed, and what was asked for."""

    def __init__(self, **installed):
        self.installed, self.asked = installed, []

    def import_module(self, name):
        self.asked.append(name)
        found = self.installed.get(name.split(".")[0])
        if found is None:
            raise ModuleNotFoundError(name)
        return found


@pytest.mark.parametrize("has_pycuda", [True, False])
def test_what_drives_the_gpu_is_chosen_by_what_imports(monkeypatch, has_pycuda):
    monkeypatch.delenv(driver_session.WAY, raising=False)
    pycuda, bindings = object(), importlib.import_module("cuda.bindings.driver")
    packages = Packages(cuda=bindings, **({"pycuda": pycuda} if has_pycuda else {}))
    monkeypatch.setattr(driver_session, "importlib", packages)
    found = driver_session._bound()
    assert (found is pycuda) == has_pycuda
    assert isinstance(found, cuda_bindings_driver.BoundDriver) != has_pycuda
    monkeypatch.setenv(driver_session.WAY, "cuda-bindings")
    assert isinstance(driver_session._bound(), cuda_bindings_driver.BoundDriver)
    monkeypatch.setenv(driver_session.WAY, "rocm")
    with pytest.raises(GpuUnavailable, match="use pycuda or cuda-bindings"):
        driver_session._bound()


def test_where_nothing_drives_the_gpu_it_is_said(monkeypatch):
    monkeypatch.delenv(driver_session.WAY, raising=False)
    monkeypatch.setattr(driver_session, "importlib", Packages())
    with pytest.raises(GpuUnavailable, match=r"neither PyCUDA nor cuda-bindings is installed"):
        driver_session._bound()
