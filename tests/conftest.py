"""One folder for all processes of a test run, where a kernel that many tests compile is kept.

It outlives the run. What a source was compiled to is taken from there only where the options, the
compiler and our own part of compiling are the same, too (`core.compiler.compile_request`).
"""

import gc
import os
from pathlib import Path

import pytest

# A pool of OpenBLAS that a fork has ended starts again in the thread that multiplies next. Its
# threads stay, with that thread's name: a test would seem to leave its own behind.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from core.compiler.disk_cache import FOLDER


def pytest_configure():
    os.environ[FOLDER] = str(Path(__file__).resolve().parents[1] / "build" / "compiled-by-tests")


def pytest_collection_finish():
    """The collector would go through ten thousand tests again and again: a seventh of the time.

    What is no longer young it looks at more seldom than of itself: a twentieth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], 50)


@pytest.fixture(scope="session")
def no_repository(tmp_path_factory):
    return tmp_path_factory.mktemp("no_repository")


@pytest.fixture
def in_no_repository(no_repository, monkeypatch):
    """A source that is called `k.cu` lies in an empty folder.

    In this checkout a guess would look through all files, more each day, for one that launches its
    kernels; one that happens to be there would change the guess.
    """
    monkeypatch.chdir(no_repository)
    yield
    assert not any(no_repository.iterdir())
