"""The workflow of a release: it is valid, and whatever it calls and takes from here exists."""

import fnmatch
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tests import bare_root

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / ".github" / "workflows" / "release.yml"
WORKFLOW = yaml.safe_load(FILE.read_text("utf-8"))
JOBS = WORKFLOW["jobs"]
STEPS = [(job, step) for job, what in JOBS.items() for step in what["steps"]]
RUNS = [step["run"] for _, step in STEPS if "run" in step]


def test_its_shape():
    assert set(WORKFLOW) == {"name", True, "permissions", "defaults", "jobs"}  # `on` is YAML's true
    assert WORKFLOW[True]["push"]["tags"] == ["v*"]
    assert {job for job, step in STEPS if ("run" in step) == ("uses" in step)} == set()
    for what in JOBS.values():
        assert set(what) <= {"needs", "if", "strategy", "runs-on", "permissions", "steps"}
        needed = what.get("needs", [])
        assert set([needed] if isinstance(needed, str) else needed) <= set(JOBS)
    for system in ("ubuntu", "windows", "macos"):
        for job in ("installed", "app"):
            found = JOBS[job]["strategy"]["matrix"]["system"]
            assert any(name.startswith(system) for name in found), (job, system)
    used = re.findall(r"matrix\.(\w+)", FILE.read_text("utf-8"))
    assert set(used) == {"system", "python"}


def test_it_tries_every_python_that_is_promised():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    tried = JOBS["installed"]["strategy"]["matrix"]["python"]
    assert all(isinstance(version, str) for version in tried)  # 3.10 would be a number, 3.1
    assert project["requires-python"] == f">={tried[0]}"
    assert tried == [f"3.{minor}" for minor in range(11, 11 + len(tried))]


def test_what_it_calls_exists():
    scripts = {name for run in RUNS for name in re.findall(r"\bscripts/[\w./]+", run)}
    assert "scripts/wheel/make_app.py" in scripts
    assert not [name for name in scripts if not (ROOT / name).is_file()]
    targets = set(re.findall(r"^([a-z ]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    known = {name for group in targets for name in group.split()}
    called = {name for run in RUNS for name in re.findall(r"\bmake ([a-z]+)", run)}
    assert called <= known


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_its_commands_are_shell(tmp_path):
    for run in (step["run"] for _, step in STEPS if "run" in step and "shell" not in step):
        script = tmp_path / "run.sh"
        script.write_text(re.sub(r"\$\{\{.*?\}\}", "x", run), "utf-8")
        done = subprocess.run(["bash", "-n", script], capture_output=True, check=False, text=True)
        assert done.returncode == 0, (run, done.stderr)


def test_the_commands_of_the_application_are_known():
    from core.cli import COMMANDS

    asked = {name for run in RUNS for name in re.findall(r"\btilescope ([a-z]+)", run)}
    assert {"trace", "lesson", "export"} <= asked
    assert asked <= set(COMMANDS)


def test_what_it_keeps_is_what_is_made(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "wheel"))
    import make_app

    monkeypatch.setattr(make_app.shutil, "make_archive", lambda name, kind, *_: f"{name}.{kind}")
    monkeypatch.setattr(make_app.subprocess, "run", lambda *a, **k: None)
    kept = [
        pattern.strip()
        for job, step in STEPS
        if job == "app" and "upload-artifact" in step.get("uses", "")
        for pattern in step["with"]["path"].split()
    ]
    for system in ("win32", "darwin", "linux"):
        monkeypatch.setattr(make_app.sys, "platform", system)
        made = make_app.archive(Path("build/app")).as_posix()
        assert any(fnmatch.fnmatch(made, pattern) for pattern in kept), made
    monkeypatch.undo()
    for name in ("_0.1.0_amd64.deb", "-0.1.0-linux-x86_64", "-0.1.0-windows-amd64.exe"):
        assert any(fnmatch.fnmatch(f"build/app/tilescope{name}", pattern) for pattern in kept), name


def test_it_installs_what_qt_takes_from_a_desktop():
    (run,) = [run for run in RUNS if "apt-get install" in run]
    assert set(bare_root.LIBRARIES_OF_QT) <= set(run.split())


def test_the_script_says_the_version():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "wheel" / "make_app.py", "--version"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert done.stdout.strip() == project["version"]
