import pytest

from core.errors import GpuUnavailable
from core.gpu.executor import GpuWorker
from core.gpu.session import WAY, WAYS, describe_devices


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
