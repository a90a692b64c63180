"""Where a disk is full or a file is closed, what was there stays, and one sentence says so."""

import contextlib
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from core.atomic_files import replace_file, replacing
from core.errors import TilescopeError
from core.gpu.result_files import WRITTEN, load_recorded, write_results
from core.ladder import load_ladder
from core.recording.record_launch import record
from core.recording.trace_files import load_trace, save_trace
from core.user_files.sources_and_headers import read_source, write_source

OLD = b"what was there"


@contextlib.contextmanager
def little_room(most=100):
    """Within, no file of this process may have more than `most` bytes, as on a full disk.

    Nor is a module's code kept: Python would keep as much of it as there is room for.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        sys.dont_write_bytecode = before


def moments(path):
    from gui.scenes.lists_of_moments import Named, write

    write(path, [Named(f"moment {i}", f"tiled?n=8&step={i}") for i in range(20)])


@pytest.fixture(scope="module")
def trace():
    return record(load_ladder()["tiled"].workload(n=16, tile=8))


WRITERS = {
    "bytes": lambda path, _: replace_file(path, os.urandom(5000)),
    "source": lambda path, _: write_source(path, "int x;\n" * 500),
    "trace": lambda path, trace: save_trace(trace, path),
    "moments": lambda path, _: moments(path),
    **{
        ending: lambda path, _, ending=ending: write_results(path, load_recorded()[:3])
        for ending in WRITTEN
        if ending != ".parquet"  # which needs a package of its own
    },
}


@pytest.mark.parametrize("kind", WRITERS)
def test_a_full_disk_leaves_what_was_there(tmp_path, trace, kind):
    path = tmp_path / f"file{kind if kind.startswith('.') else '.x'}"
    path.write_bytes(OLD)
    with little_room(), pytest.raises(TilescopeError, match="could not be written: ") as error:
        WRITERS[kind](path, trace)
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path], "nothing half written is left"
    assert "None" not in str(error.value)
    WRITERS[kind](path, trace)
    assert path.read_bytes() != OLD


def test_a_full_device_is_a_sentence_and_stays_a_device(trace):
    with pytest.raises(TilescopeError, match="full could not be written: the disk is full"):
        save_trace(trace, Path("/dev/full"))
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="Linux has a folder for no files")
def test_a_folder_that_takes_no_file_is_not_said_to_be_missing():
    with pytest.raises(TilescopeError, match="no file can be made in /proc"):
        replace_file(Path("/proc/x.html"), "x")


def test_rights_and_links_are_kept(tmp_path):
    path, link = tmp_path / "mine.txt", tmp_path / "link"
    path.write_bytes(OLD)
    path.chmod(0o640)
    link.symlink_to(path)
    replace_file(link, "new µ")
    assert link.is_symlink()
    assert path.read_text(encoding="utf-8") == "new µ"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_what_fails_within_leaves_what_was_there(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(OLD)
    with pytest.raises(TypeError), replacing(path) as file:
        file.writelines([b"half", None])
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_written_to(tmp_path):
    reading, writing = os.pipe()
    replace_file(Path(f"/dev/fd/{writing}"), b"through")
    os.close(writing)
    assert os.read(reading, 100) == b"through"
    os.close(reading)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_source_keeps_the_ends_of_its_lines(tmp_path, mark, end):
    path = tmp_path / "x.cu"
    path.write_bytes(mark + end.join([b"int a;", b"int b;", b""]))
    write_source(path, read_source(path) + "int \u00b5;\n")
    wanted = end.join([b"int a;", b"int b;", "int \u00b5;".encode(), b""])
    assert path.read_bytes() == mark + wanted


@pytest.mark.slow
def test_the_command_line_leaves_what_was_there(tmp_path):
    saved, folder = tmp_path / "t.npz", tmp_path / "out"
    folder.mkdir()
    (folder / "C.npy").write_bytes(OLD)
    run = "import sys; from core.cli.app import main; sys.exit(main())"
    for option, place, kept in (
        ("--save", saved, saved),
        ("--save-outputs", folder, folder / "C.npy"),
    ):
        kept.write_bytes(OLD)
        done = subprocess.run(
            [sys.executable, "-c", run, "trace", "tiled", "--n", "16", option, str(place)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},  # as in `little_room`
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
        )
        assert done.returncode != 0
        said = " ".join(done.stderr.split())
        assert f"{kept.name} could not be written: " in said
        assert "None" not in said
        assert "Traceback" not in said
        assert kept.read_bytes() == OLD
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["C.npy", "out", "t.npz"]


def test_what_is_written_is_read(tmp_path, trace):
    path = tmp_path / "t.npz"
    save_trace(trace, path)
    np.testing.assert_array_equal(load_trace(path).outputs["C"], trace.outputs["C"])
