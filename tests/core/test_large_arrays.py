"""Large arrays: contents, refusal where memory is short, freed while other threads go on."""

import mmap

import numpy as np
import pytest

from core import large_arrays
from core.emulator.address_spaces import copied
from core.errors import TilescopeError
from core.ladder.input_arrays import random_array
from core.large_arrays import available_bytes, unset, zeroed
from core.recording.record_launch import record
from core.user_files.launch_texts import FileLaunch, file_workload

KERNEL = "__global__ void twice(float* v, int n) { if (threadIdx.x < n) v[threadIdx.x] *= 2; }\n"


@pytest.fixture
def all_large(monkeypatch):
    monkeypatch.setattr(large_arrays, "LARGE_BYTES", 1)


def base_of(array):
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array.obj if isinstance(array, memoryview) else array


def test_they_lie_in_mappings_of_their_own(all_large):
    for array in (zeroed(np.dtype("float32"), 5000), unset(np.dtype("int16"), 7)):
        assert isinstance(base_of(array), mmap.mmap)
        assert array.flags.writeable
    assert not zeroed(np.dtype("float64"), 3000).any()
    raw = np.arange(1, 77, dtype=np.uint8)
    assert np.array_equal(copied(raw, 100)[:76], raw)


def test_a_launch_is_the_same_on_them(monkeypatch):
    arguments = (("v", "float32[32]"), ("n", "20"))
    launch = FileLaunch("x.cu", "twice", arguments=arguments)
    small = record(file_workload(KERNEL, launch)).outputs["v"]
    monkeypatch.setattr(large_arrays, "LARGE_BYTES", 1)
    workload = file_workload(KERNEL, launch)
    assert isinstance(base_of(workload.launch.arrays[0].data), mmap.mmap)
    large = record(workload).outputs["v"]
    assert np.array_equal(small, large)
    assert small.any()


def test_what_there_is_no_memory_for_is_refused_before_it_is_made(all_large, monkeypatch):
    monkeypatch.setattr(large_arrays, "available_bytes", lambda: 3_000_000_000)
    made = []
    monkeypatch.setattr("core.ladder.input_arrays.check", lambda: made.append(1))
    with pytest.raises(TilescopeError, match=r"4\.0 GB of memory and 3\.0 GB are free"):
        random_array(np.random.default_rng(1), "float32", (1_000_000_000,))
    assert not made
    monkeypatch.setattr(large_arrays, "available_bytes", lambda: 50)
    assert not copied(np.zeros(60, np.uint8), 60)[:60].any()
    with pytest.raises(TilescopeError, match="are free"):
        copied(np.ones(60, np.uint8), 60)


def test_a_process_that_may_not_have_it_is_told_so(all_large, monkeypatch):
    def refused(*args, **kwargs):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(large_arrays.mmap, "mmap", refused)
    with pytest.raises(TilescopeError, match="may not have"):
        zeroed(np.dtype("uint8"), 1000)


def test_the_memory_that_is_free_is_known_here():
    found = available_bytes()
    assert found is None or found > 1 << 20
