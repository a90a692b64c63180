"""One folder for all processes of a test run, where a kernel that many tests compile is kept."""

import os
import shutil
import tempfile

# A pool of OpenBLAS that a fork has ended starts again in the thread that multiplies next. Its
# threads stay, with that thread's name: a test would seem to leave its own behind.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from core.compiler.disk_cache import FOLDER


def pytest_configure(config):
    if hasattr(config, "workerinput"):  # a process of xdist's has the first one's environment
        return
    folder = tempfile.mkdtemp(prefix="tilescope-tests-")
    os.environ[FOLDER] = folder
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
