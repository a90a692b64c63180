"""The tests of this folder need a GPU: where no driver is installed, each file is skipped whole."""

import pytest

from core.errors import GpuUnavailable
from core.gpu.driver_session import WAY, WAYS, describe_devices, driver_is_installed
from core.gpu.worker_process import GpuWorker


class Skipped(pytest.Module):
    """A file that is not imported: thousands of cases, each skipped, take half a minute."""

    def collect(self):
        pytest.skip("no NVIDIA driver is installed", allow_module_level=True)


def pytest_pycollect_makemodule(module_path, parent):
    return None if driver_is_installed() else Skipped.from_parent(parent, path=module_path)


@pytest.fixture(scope="session", params=WAYS)
def gpu(request):
    """A worker on the first GPU, by each package that drives one; skips, saying why."""
    with pytest.MonkeyPatch.context() as patch, GpuWorker(stall_s=120) as worker:
        patch.setenv(WAY, request.param)  # which the process inherits when it starts
        try:
            worker.submit(describe_devices).result(timeout=180)
        except GpuUnavailable as error:
            pytest.skip(f"no GPU: {error}")
        yield worker
