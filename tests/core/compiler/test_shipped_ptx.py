"""The PTX that comes with the program: NVRTC's, to the letter, and enough where there is none."""

import importlib.util
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from core.compiler import clang, compile_ptx_and_cubin, disk_cache, nvrtc, shipped_ptx
from core.compiler.compile_ptx_and_cubin import build_of, compile_ptx
from core.compiler.nvrtc import version as nvrtc_version
from core.errors import TilescopeError
from core.ladder import load_ladder
from core.lessons.course import course_lesson, load_course
from core.recording.record_launch import record

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "compile_shipped.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("compile_shipped", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def no_nvrtc(monkeypatch):
    """As on macOS: no library, and nothing that an earlier run kept."""

    def missing():
        raise nvrtc._missing(OSError("no such file"))

    monkeypatch.setenv(disk_cache.FOLDER, "")
    for module in (nvrtc, sys.modules["core.compiler.compile_request"]):
        monkeypatch.setattr(module, "library_path", missing)
    monkeypatch.setattr(nvrtc, "library", missing)
    sys.modules["core.compiler.compile_request"]._tools.cache_clear()
    monkeypatch.setattr(compile_ptx_and_cubin, "_builds", compile_ptx_and_cubin._Cache(32))
    monkeypatch.setattr(compile_ptx_and_cubin, "_cubins", compile_ptx_and_cubin._Cache(32))
    yield
    sys.modules["core.compiler.compile_request"]._tools.cache_clear()


def as_the_script(monkeypatch):
    """NVRTC writes the folder where it runs into the PTX: what it makes there is kept apart."""
    monkeypatch.chdir("/")
    monkeypatch.setenv(disk_cache.FOLDER, f"{os.environ[disk_cache.FOLDER]}-at-root")


def made_by_nvrtc(workload, monkeypatch):
    """The build without what is shipped."""
    with monkeypatch.context() as patched:
        as_the_script(patched)
        patched.setattr(shipped_ptx, "find", lambda *_: None)
        patched.setattr(compile_ptx_and_cubin, "_builds", compile_ptx_and_cubin._Cache(2))
        return compile_ptx(
            workload.source, source_name=workload.source_name, defines=workload.defines,
            kernel=workload.kernel,
        )  # fmt: skip


def check(workload, script, monkeypatch):
    found = shipped_ptx.find(workload.source, script.asked_of(workload))
    assert found is not None, f"{workload.source_name}: run scripts/compile_shipped.py"
    build = made_by_nvrtc(workload, monkeypatch)
    assert found[0] == shipped_ptx.placeless(build.ptx), "run scripts/compile_shipped.py"
    assert found[1] == build.instances.get(workload.kernel, "")


def same_compiler():
    return shipped_ptx.about()["nvrtc"] == nvrtc_version()


@pytest.mark.parametrize("name", ["vector_add", "tiled", "tensor_half"])  # the rest: see below
def test_a_rungs_default_is_what_nvrtc_makes_of_it(name, script, monkeypatch):
    if not same_compiler():
        pytest.skip(f"another NVRTC made it: {shipped_ptx.about()['nvrtc']}")
    check(load_ladder()[name].blank_workload(), script, monkeypatch)


@pytest.fixture
def nvrtcs(monkeypatch):
    """NVRTC's answers alone."""
    if not same_compiler():
        pytest.skip(f"another NVRTC made it: {shipped_ptx.about()['nvrtc']}")
    as_the_script(monkeypatch)
    monkeypatch.setattr(shipped_ptx, "find", lambda *_: None)


def all_kept():
    return {name: shipped_ptx._entry(name) for name in shipped_ptx._names() - {shipped_ptx.ABOUT}}


@pytest.mark.slow
@pytest.mark.usefixtures("nvrtcs")
def test_every_build_is_there_and_one_of_each_source_is_what_nvrtc_makes(script):
    kept, missing = all_kept(), []
    asked = script.asked()
    assert len(asked) > 30
    assert kept.keys() <= asked.keys(), "run scripts/compile_shipped.py"
    for source, asked_for in asked.items():
        entry = kept.get(source, {})
        assert entry.keys() <= asked_for.keys(), "run scripts/compile_shipped.py"
        missing += [workload for build, workload in asked_for.items() if build not in entry]
        for build, workload in list(asked_for.items())[-1:]:  # not the default, which others try
            made = script.entry_of(workload)
            assert made == entry.get(build), f"{workload.source_name}: run compile_shipped.py"
    assert [script.entry_of(workload) for workload in missing] == [None] * len(missing)


@pytest.mark.release
@pytest.mark.usefixtures("nvrtcs")
def test_all_of_it_is_what_nvrtc_makes(script):
    found = script.entries()
    assert len(found) > 30
    assert found == all_kept(), "run scripts/compile_shipped.py"


def test_no_folder_of_the_makers_is_in_it():
    assert shipped_ptx.placeless('\t.file\t1 "/a b/c/x.cu"\n') == '\t.file\t1 "x.cu"\n'
    assert shipped_ptx.placeless('\t.file\t1 "C:\\a\\x.cu", 1, 2') == '\t.file\t1 "x.cu", 1, 2'
    for name in shipped_ptx._names() - {shipped_ptx.ABOUT}:
        for ptx, *_ in shipped_ptx._entry(name).values():
            assert not re.findall(r'\.file\s+\d+ "[^"]*[/\\]', ptx)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vector_add", "tiled", "tile_2d"])
def test_the_ladder_runs_without_nvrtc(no_nvrtc, name):
    """What is shipped is NVRTC's, of which other tests run every rung."""
    workload = load_ladder()[name].workload_of("random", 3)
    trace = record(workload)
    for array, expected in workload.expected().items():
        assert not (np.abs(trace.outputs[array] - expected).max() > 1e-3)


def test_lessons_have_their_ptx_without_nvrtc(no_nvrtc):
    steps = 0
    for name in load_course().order:
        lesson = course_lesson(name)
        for step in lesson.steps:
            rung = lesson.ladder[step.link.rung]
            workload = rung.blank_workload(**step.link.parameters)
            assert f".entry {workload.kernel}" in build_of(workload).ptx, step.name
            steps += 1
    assert steps > 80


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_an_edited_text_says_what_is_missing(no_nvrtc, monkeypatch, system):
    monkeypatch.setattr(nvrtc.sys, "platform", system)
    monkeypatch.setattr(clang, "executable", lambda: None)
    workload = load_ladder()["tiled"].blank_workload()
    edited = workload.source.replace("0.0f", "1.0f")
    assert edited != workload.source
    with pytest.raises(TilescopeError) as raised:
        compile_ptx(edited, source_name=workload.source_name, defines=workload.defines)
    sentence = str(raised.value)
    if system == "darwin":
        assert "no NVRTC for macOS" in sentence
        assert "sizes" in sentence
    else:
        assert "pip install nvidia-cuda-nvrtc" in sentence
    assert '`pip install "tilescope[clang]"` brings another compiler' in sentence


def test_a_frozen_program_stands_for_its_modules(monkeypatch):
    request = sys.modules["core.compiler.compile_request"]
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    files = list(request._tool_files("nvrtc"))
    assert Path(sys.executable) in files
    assert not [file for file in files if file.suffix == ".py"]
