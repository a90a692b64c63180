"""What a launch names may be anybody's: pipes, devices, sizes beyond all measure."""

import os
from pathlib import Path

import numpy as np
import pytest

from core.compiler.kernel_parameters import read_signature
from core.errors import ArgumentError, TilescopeError
from core.user_files.launch_texts import (
    FieldErrors,
    FileLaunch,
    LaunchForm,
    file_workload,
)
from core.user_files.sources_and_headers import (
    MOST_IN_LINE,
    MOST_LINES,
    MOST_SOURCE,
    local_headers,
    read_source,
)

SOURCE = "__global__ void copy(const float* A, float* C, int N) { C[threadIdx.x] = A[N]; }\n"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "mine.cu"
    path.write_text(SOURCE)
    return path


def bound(a, c="zeros:float32[32]"):
    signature = read_signature(SOURCE, "copy", {})
    launch = FileLaunch("k.cu", "copy", arguments=(("A", a), ("C", c), ("N", "3")))
    return LaunchForm(launch).arguments(signature, seed=7)


def test_only_plain_files_of_a_bounded_size_are_read(tmp_path, source):
    os.mkfifo(tmp_path / "pipe")
    for path, words in (
        (tmp_path / "pipe", "is a pipe or a device"),
        (Path("/dev/zero"), "is a pipe or a device"),
        (tmp_path, "is a folder"),
        (tmp_path / "a\0b.cu", "There is no file"),
        (source / "inside.cu", "There is no file"),
        (tmp_path / ("long" * 99), "cannot be read"),
    ):
        with pytest.raises(TilescopeError, match=words):
            read_source(path)
        with pytest.raises(ArgumentError, match=words):
            bound(f"@{path}")
    long = tmp_path / "long.cu"
    line = b"/" * 63 + b"\n"
    long.write_bytes(line * (MOST_SOURCE // len(line)))
    assert len(read_source(long)) == MOST_SOURCE
    long.write_bytes(line * (MOST_SOURCE // len(line)) + b"/")
    with pytest.raises(TilescopeError, match=r"has 1,048,577 bytes, and at most 1,048,576 are"):
        read_source(long)


def test_a_header_may_not_come_from_another_computer(tmp_path, source):
    (tmp_path / "near.cuh").write_text("#define NEAR 1\n")
    os.mkfifo(tmp_path / "pipe.cuh")
    far = f"/{tmp_path}/near.cuh"
    assert far.startswith("//")
    text = f'#include "{far}"\n#include "pipe.cuh"\n#include "near.cuh"\n'
    assert list(local_headers(text, str(source))) == ["near.cuh"]


def npy_bytes(header):
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


BROKEN = {
    "promises much": npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (10**12,)}"),
    "long": npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999,)}"),
    "negative": npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (-4, 8)}") + b"0" * 99,
    "objects": npy_bytes("{'descr': '|O', 'fortran_order': False, 'shape': (4,)}") + b"0" * 99,
    "void": npy_bytes("{'descr': '|V0', 'fortran_order': False, 'shape': (100000000000,)}"),
    "no text": npy_bytes("{'descr': '<U0', 'fortran_order': False, 'shape': (4,)}") + b"0" * 99,
    "no bytes": npy_bytes(
        "{'descr': '|S0', 'fortran_order': False, 'shape': (4611686018427387904,)}"
    ),
    "brackets": npy_bytes("(" * 117),
    "quotes": npy_bytes("'" * 3),
    "version": b"\x93NUMPY\x09\x00",
    "archive": b"PK\x03\x04",
    "nothing": b"",
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_array_file_is_held_against_its_size(tmp_path, name):
    (tmp_path / "a.npy").write_bytes(BROKEN[name])
    with pytest.raises(ArgumentError, match=r"is not an array saved by numpy\.save: "):
        bound(f"@{tmp_path / 'a.npy'}")


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_file_is_taken_as_it_was_saved(tmp_path, order):
    data = np.asarray(np.random.default_rng(4).random((5, 7)), np.float32, order=order)
    np.save(tmp_path / "a.npy", data)
    found = bound(f"@{tmp_path / 'a.npy'}")
    assert np.array_equal(found[0].data, data)


def test_memory_is_counted_over_all_arrays(monkeypatch):
    for module in ("argument_texts", "sources_and_headers", "launch_texts"):
        monkeypatch.setattr(f"core.user_files.{module}.MAX_ARRAY_BYTES", 1000)
    assert len(bound("float32[125]", "zeros:float32[125]")) == 3
    words = "takes, with the arrays before it, 0.0 GB: at most"
    with pytest.raises(ArgumentError, match=words):
        bound("float32[125]", "zeros:float32[126]")
    both = (("A", "float32[200]"), ("C", "zeros:float32[60]"), ("N", "3"))
    with pytest.raises(FieldErrors) as caught:
        file_workload(SOURCE, FileLaunch("", "copy", arguments=both))
    assert list(caught.value.fields) == ["arg:C"]


@pytest.mark.parametrize(
    "shape", ["9" * 5000, ",".join(["9" * 15] * 16), ",".join("1" * 65), "0", "٤"]
)
def test_sizes_beyond_all_measure_get_a_sentence(shape):
    with pytest.raises(ArgumentError, match=r"a shape (is whole numbers|has at most)|GB work"):
        bound(f"zeros:float32[{shape}]")
    with pytest.raises(FieldErrors) as caught:
        file_workload(SOURCE, FileLaunch("", "copy", shape, shape, "9" * 5000, "", (("N", shape),)))
    assert {"grid", "block", "shared"} <= set(caught.value.fields)


def test_lines_that_no_editor_could_lay_out_are_refused(tmp_path):
    path = tmp_path / "odd.cu"
    path.write_text("\n" * (MOST_LINES - 1))
    assert read_source(path).count("\n") == MOST_LINES - 1
    path.write_text("\n" * MOST_LINES)
    with pytest.raises(TilescopeError, match=r"odd\.cu has 65,537 lines, and at most 65,536"):
        read_source(path)
    path.write_text("a\n" + "b" * MOST_IN_LINE + "\nc")
    read_source(path)
    path.write_text("a\n" + "b" * (MOST_IN_LINE + 1) + "\nc")
    with pytest.raises(TilescopeError, match=r"Line 2 of .*odd\.cu has 65,537 characters"):
        read_source(path)
    assert read_source(path, most=MOST_SOURCE + 1)  # as PTX, which nobody edits
