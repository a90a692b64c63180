"""What plots are drawn with is imported without what they do not use."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys
from gui.views.plots import RUNTIME, pg
assert pg.PlotCurveItem
assert RUNTIME not in sys.modules
try:
    import cuda.bindings.runtime
except ImportError:
    pass  # not installed here
else:
    assert RUNTIME in sys.modules
print("as meant")
"""


@pytest.mark.slow
def test_pyqtgraph_comes_without_cudas_runtime_which_others_may_import():
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.stdout.strip() == "as meant", done.stderr
