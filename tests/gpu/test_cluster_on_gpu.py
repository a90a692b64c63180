"""A sweep over all GPUs of this machine through a local cluster, one of whose workers is killed."""

import os
import signal

import pytest

pytest.importorskip("distributed")

from core.distributed import cluster_workers
from core.distributed.cluster import gpu_lanes
from core.gpu.benchmark_job import Timing
from core.gpu.sweep import Outcome, Sweep
from core.gpu.sweep_plan import RungKernel, make_plan
from core.gpu.worker_process import devices_here
from core.ladder import load_ladder

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("default")]


def test_every_point_comes_once_though_a_worker_is_killed(gpu, tmp_path, monkeypatch):
    monkeypatch.setenv(cluster_workers.FOLDER_VARIABLE, str(tmp_path))
    axes = {"n": tuple(range(512, 2560, 256)), "tile": (8, 16, 32)}
    points = make_plan([RungKernel(load_ladder()["tiled"])], axes).points
    found, killed = [], []

    def hear(update):
        if isinstance(update, Outcome):
            found.append(update)
            if len(found) == 8:
                pids = sorted(client.run(os.getpid).values())
                assert len(pids) == len(devices_here())
                os.kill(pids[-1], signal.SIGKILL)
                killed.append(pids[-1])

    with gpu_lanes("local", lambda text: None) as lanes:
        client = lanes[0].executor._client
        sweep = Sweep(points, lanes, Timing(budget_s=0.3, minimum=5), hear)
        sweep.start()
        assert sweep.wait(200)
    assert len(killed) == 1
    assert [one.failure for one in found] == [None] * len(points)
    assert {id(one.point) for one in found} == {id(point) for point in points}
    assert all(one.result.ok for one in found)
