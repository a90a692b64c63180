import pytest

from core.errors import GpuUnavailable
from core.gpu.executor import GpuWorker
from core.gpu.session import describe_devices


@pytest.fixture(scope="session")
def gpu():
    """A worker on the first GPU; skips the test, saying why, where there is none."""
    with GpuWorker(stall_s=120) as worker:
        try:
            worker.submit(describe_devices).result(timeout=180)
        except GpuUnavailable as error:
            pytest.skip(f"no GPU: {error}")
        yield worker
