"""The wheel: how the flat tree becomes one package, and that what is installed from it works."""

import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from tests import bare_root
from tests.gui.real_app import display, size

__all__ = ["display", "size"]  # fixtures

ROOT = Path(__file__).resolve().parents[1]
BACKEND = ROOT / "scripts" / "wheel" / "tilescope_build.py"

# What of the suite runs against the installed wheel: side processes, GPU worker, data, the window.
SUBSET = (
    "core/side_process/test_client.py::test_the_work_is_done_elsewhere",
    "core/gpu/test_worker_process.py::test_it_is_an_executor",
    "core/gpu/test_worker_process.py::test_killed_from_outside_in_the_midst_of_a_job",
    "core/ladder/test_ladder.py::test_every_source_has_a_rung_and_numbers_rise",
    "core/lessons/test_course.py",
    "gui/shell/test_header.py",
    "gui/test_commands.py::test_the_command_line",
    "gui/test_real_window.py",
)


@pytest.fixture(scope="module")
def build():
    spec = importlib.util.spec_from_file_location("tilescope_build", BACKEND)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("from core.trace import Trace", "from tilescope.core.trace import Trace"),
        ("from core import ladder", "from tilescope.core import ladder"),
        ("import core", "from tilescope import core"),
        ("import gui.looks.theme as t", "import tilescope.gui.looks.theme as t"),
        ("é = 'µ'; from gui import looks", "é = 'µ'; from tilescope.gui import looks"),
        ("if x:\n    from core.errors import (\n        A,\n    )",
         "if x:\n    from tilescope.core.errors import (\n        A,\n    )"),
        ("run('-m', 'core.gpu.worker_process')", "run('-m', 'tilescope.core.gpu.worker_process')"),
        ('A = ("core.compiler.compile_slice:warm",)',
         'A = ("tilescope.core.compiler.compile_slice:warm",)'),
        ('"`python -m gui.headless out`"', '"`python -m tilescope.gui.headless out`"'),
        # What is no module of this tree stays as it is.
        ("from core2 import a", "from core2 import a"),
        ("from .core import a", "from .core import a"),
        ("import numpy.core as c", "import numpy.core as c"),
        ('"core.gpu.nothing"', '"core.gpu.nothing"'),
        ('"the core of it"', '"the core of it"'),
        ("core = gui.x", "core = gui.x"),
    ],
)  # fmt: skip
def test_names_of_modules_move_into_the_package(build, line, expected):
    assert build.rewritten(line) == expected


@pytest.mark.parametrize(
    "line",
    ["import core.trace", "import os, gui.looks", 'run_module("gui")', "from \\\n core import x"],
)
def test_what_cannot_be_rewritten_is_refused(build, line):
    with pytest.raises(build.UnclearName, match="a module:"):
        build.rewritten(line)


def flat_names(tree):
    """The imports of a module that lead to a top-level `core` or `gui`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.slow
def test_the_staged_tree_has_no_flat_import_left(build, tmp_path):
    build.stage(ROOT, tmp_path)
    package = tmp_path / "tilescope"
    files = sorted(package.rglob("*.py"))
    assert len(files) > 300
    for path in files:
        names = [name.split(".")[0] for name in flat_names(ast.parse(path.read_text("utf-8")))]
        assert not {"core", "gui", "tests", "scripts"} & set(names), path
    assert {path.name for path in tmp_path.iterdir()} == {
        "LICENSE", "README.md", "pyproject.toml", "tilescope"
    }  # fmt: skip
    staged = tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))["project"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert staged.pop("scripts") == {"tilescope": "tilescope.core.cli.app:main"}
    assert project.pop("scripts") == {"tilescope": "core.cli.app:main"}
    assert staged == project


def test_no_mac_is_asked_for_what_it_cannot_have():
    from packaging.requirements import Requirement

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["gpu"], *extras["headers"]]
    asked = {
        system: {
            found.name
            for found in map(Requirement, wanted)
            if found.marker is None or found.marker.evaluate({"sys_platform": system})
        }
        for system in ("linux", "win32", "darwin")
    }
    assert not [name for name in asked["darwin"] if name.startswith(("cuda", "nvidia", "pycuda"))]
    assert asked["linux"] - asked["win32"] == {"pycuda"}
    assert asked["win32"] - asked["linux"] == {"cuda-bindings"}
    assert {"nvidia-cuda-nvrtc", "cuda-pathfinder"} <= asked["win32"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The file of the wheel, which holds one package."""
    dist = tmp_path_factory.mktemp("dist")
    hook = "import sys; sys.path.insert(0, sys.argv[1]); import tilescope_build as b; "
    code = f"{hook}print(b.build_wheel(sys.argv[2]))"
    subprocess.run(
        [sys.executable, "-c", code, str(BACKEND.parent), str(dist)],
        check=True, capture_output=True, cwd=dist,
    )  # fmt: skip
    (made,) = dist.glob("*.whl")
    top = {name.split("/")[0] for name in zipfile.ZipFile(made).namelist()}
    assert {name for name in top if not name.endswith(".dist-info")} == {"tilescope"}
    return made


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The Python of a new environment with the wheel in it, and this one's packages beside it."""
    folder = tmp_path_factory.mktemp("wheel")
    venv.create(folder / "env", symlinks=os.name == "posix")
    scripts = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / Path(sys.executable).name
    pip = [sys.executable, "-m", "pip", "--python", python]  # to have one there takes long
    command = [*pip, "install", "-qq", "--no-deps", "--no-index", wheel]
    subprocess.run(command, check=True)
    where = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(
        subprocess.run(where, check=True, capture_output=True, text=True).stdout.strip()
    )
    # A line of a .pth file adds a folder; the .pth of the checkout, which lies in it, is not read.
    (packages / "beside.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    return python


@pytest.fixture
def bare(tmp_path):
    """An environment that knows nothing of the checkout."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**kept, "HOME": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"}


@pytest.mark.slow
def test_the_command_works_from_the_wheel(installed, bare, tmp_path):
    def run(*arguments):
        command = [installed, "-P", "-m", "tilescope", *arguments]
        return subprocess.run(
            command, check=True, cwd=tmp_path, env=bare, capture_output=True, text=True
        ).stdout

    code = "import tilescope.core as c; print(c.__file__); import core"
    done = subprocess.run(
        [installed, "-P", "-c", code], cwd=tmp_path, env=bare, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert "No module named 'core'" in done.stderr
    assert str(ROOT) not in done.stdout
    assert "requests" in run("trace", "tiled")
    assert run("lesson", "list").startswith("1A")
    own = tmp_path / "own é.cu"
    own.write_bytes((ROOT / "kernels" / "12_tiled.cu").read_bytes())
    assert "own é.cu" in run("trace", str(own))
    command = installed.with_name("tilescope" + installed.suffix)
    assert subprocess.run([command, "--version"], env=bare, check=True).returncode == 0


# What asks for the checkout's own files or names.
OF_THE_CHECKOUT = (
    "tests/core/test_api.py::test_the_wheels_package_offers_the_same",
    "tests/test_app.py",
    "tests/test_layout.py",
    "tests/test_platforms.py::test_every_module_loads_elsewhere",
    "tests/test_wheel.py",
)


def left_out(name):
    """The option of pytest for a file, or a test, that is not to be run."""
    return f"--deselect={name}" if "::" in name else f"--ignore={name}"


NAMES = (  # in the tests, and in their texts of programs
    (r"\b(from|import) (core|gui)(?=[. ;])", r"\1 tilescope.\2"),
    (r"([\"'])(core|gui)\.", r"\1tilescope.\2."),
    (r"(\"-m\", \"|-m )(core|gui)\b", r"\1tilescope.\2"),
)


def staged_tests(folder):
    """All that is tracked but `core` and `gui`, with the names that modules have in the wheel."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if name.split("/")[0] not in ("core", "gui"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    for path in [*(folder / "tests").rglob("*.py"), *(folder / "scripts").glob("*.py")]:
        text = path.read_text("utf-8")
        for pattern, new in NAMES:
            text = re.sub(pattern, new, text)
        path.write_text(text, "utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chosen", "options"),
    [
        pytest.param([f"tests/{name}" for name in SUBSET], ["-x", "-m", "not slow"], id="part"),
        pytest.param(
            ["tests", "-m", "not release", *map(left_out, OF_THE_CHECKOUT)],
            ["-n", "2", "--dist", "worksteal"], id="all", marks=pytest.mark.release,
        ),
    ],
)  # fmt: skip
def test_the_suite_passes_against_the_wheel(installed, bare, tmp_path, chosen, options):
    staged_tests(tmp_path)
    done = subprocess.run(
        [installed, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, *chosen],
        cwd=tmp_path, env={**bare, "PYTHONPATH": str(tmp_path)},  # where the tests' own modules are
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
    print(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.release
@bare_root.NEEDED
def test_a_bare_debian_and_a_fresh_user_need_the_wheel_alone(wheel, display, tmp_path):
    """Of Debian: Python and the libraries that Qt takes from a desktop. No checkout, no network."""
    root = bare_root.Root.made(
        tmp_path / "root", "python3", "python3-venv", *bare_root.LIBRARIES_OF_QT
    )
    fetch(wheel, root.home / "wheels")
    root.run("python3", "-m", "venv", "env")
    quiet = ["-qq", "--no-index", "--find-links", "wheels"]
    root.run("env/bin/pip", "install", *quiet, "tilescope")
    assert str(ROOT) not in root.run("env/bin/pip", "list", "--verbose").stdout
    bare_root.show_its_work(root, "env/bin/tilescope", display, tmp_path / "Xvfb_screen0")


def fetch(wheel, folder):
    """Wheels of everything that an installation brings, for this Python."""
    versions = ROOT / "scripts" / "requirements-gpu.lock"
    quiet = ["-qq", "--disable-pip-version-check", "--only-binary", ":all:"]
    subprocess.run(
        [sys.executable, "-m", "pip", "download", *quiet, "-c", versions, "-d", folder, wheel],
        check=True,
    )  # fmt: skip
