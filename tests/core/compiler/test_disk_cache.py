"""What NVRTC made is kept on disk, and nothing that is wrong there is believed."""

import os

import pytest

from core.compiler import compile_ptx_and_cubin, compile_request, disk_cache
from core.compiler.compile_ptx_and_cubin import compile_cubin, compile_ptx
from core.errors import CompileError

SOURCE = """
template <typename T> __device__ T twice(T x) { return x + x; }
__global__ void scale(float *data) {
    int unused;
    data[threadIdx.x] = twice(data[threadIdx.x]);
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(disk_cache.FOLDER, str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def compilations(monkeypatch):
    """The requests that NVRTC itself has carried out; no build is kept in memory."""
    from core.compiler import compile_slice

    seen, compile_here = [], compile_slice.compile_here
    monkeypatch.setattr(
        compile_slice, "compile_here", lambda r: (seen.append(r), compile_here(r))[1]
    )
    for name in ("_builds", "_cubins"):
        monkeypatch.setattr(compile_ptx_and_cubin, name, compile_ptx_and_cubin._Cache(0))
    return seen


def test_an_equal_request_is_answered_from_the_disk(compilations):
    first = compile_ptx(SOURCE, kernel="scale")
    again = compile_ptx(SOURCE, kernel="scale")
    assert first == again
    assert "twice" in first.ptx
    assert [d.severity for d in first.diagnostics] == ["warning"]
    assert len(compilations) == 1


def test_machine_code_is_kept_too(compilations):
    assert compile_cubin(SOURCE) == compile_cubin(SOURCE)
    assert len(compilations) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"source": SOURCE.replace("x + x", "x * 3")},
        {"defines": {"A": "1"}},
        {"kind": "as_compiled"},
        {"architecture": "compute_80"},
        {"kernel": "scale"},
        {"headers": {"a.h": "int a;"}},
        {"source_name": "other.cu"},
    ],
)
def test_another_request_is_another_entry(compilations, other):
    compile_ptx(SOURCE)
    made = compile_ptx(**{"source": SOURCE, **other})
    assert len([r for r in compilations if r.output == "PTX"]) == 2
    assert made == compile_ptx(**{"source": SOURCE, **other})


def test_another_compiler_has_other_entries(compilations, monkeypatch):
    compile_ptx(SOURCE)
    monkeypatch.setattr(compile_request, "_tools", lambda *_: (("libnvrtc.so", 1, 2),))
    compile_ptx(SOURCE)
    assert len(compilations) == 2


def test_a_refusal_is_not_kept(compilations):
    for _ in range(2):
        with pytest.raises(CompileError, match="is undefined"):
            compile_ptx("__global__ void k() { nothing(); }")
    assert len(compilations) >= 2


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_a_damaged_entry_is_made_anew(compilations, folder, damage):
    first = compile_ptx(SOURCE)
    [entry] = folder.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(whole[:-3] + b"xyz" if damage is None else damage)
    assert compile_ptx(SOURCE) == first
    assert len(compilations) == 2
    assert entry.read_bytes() == whole


def test_a_folder_that_cannot_be_made(compilations, folder, monkeypatch):
    folder.write_text("a file lies in its place")
    assert compile_ptx(SOURCE) == compile_ptx(SOURCE)
    assert len(compilations) == 2
    monkeypatch.setenv(disk_cache.FOLDER, "")
    compile_ptx(SOURCE)
    assert len(compilations) == 3


def test_what_was_used_last_stays(folder, monkeypatch):
    monkeypatch.setattr(disk_cache, "MOST_BYTES", 5_000)
    for i in range(4):
        disk_cache.keep(f"key {i}", bytes([i]) * 1_000)
        os.utime(folder / disk_cache._name(f"key {i}"), (i, i))
    assert disk_cache.find("key 0") == bytes(1_000)  # and is the last that was used now
    disk_cache.keep("key 4", bytes(1_000))
    kept = [i for i in range(5) if disk_cache.find(f"key {i}") is not None]
    assert kept == [0, 4]


def test_where_entries_lie(monkeypatch, tmp_path):
    monkeypatch.delenv(disk_cache.FOLDER)
    monkeypatch.setattr(disk_cache, "_IS_LINUX", True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    import platformdirs

    expected = platformdirs.user_cache_path("tilescope", appauthor=False) / "compiled"
    assert disk_cache.folder() == expected
