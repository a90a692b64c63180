"""The benchmark page's model on clusters: joined, refused, silent, with workers that die."""

import json
import os
import signal
import threading
import time
from contextlib import contextmanager

import pytest

pytest.importorskip("distributed")

from core.distributed import cluster as cluster_module
from core.gpu.benchmark_job import Timing
from core.gpu.sweep import Lane
from core.gpu.sweep_plan import RungKernel, make_plan
from gui.scenes.benchmark_results import HERE
from gui.scenes.benchmark_sentences import failure_sentence, state_sentence
from gui.scenes.benchmark_sweep import MOST_REMEMBERED, Addresses, BenchModel, places
from tests.core.gpu.fake_gpu import FAKE_DEVICE, FakeGpu, fake_benchmark, second_gpu

HUNG_S = 300


def plan(ladder, *sizes):
    return make_plan([RungKernel(ladder["tiled"])], {"size": sizes, "tile": (8,)})


def drain(model, until):
    end = time.monotonic() + HUNG_S
    while not until():
        assert time.monotonic() < end, "it hangs"
        model.drain()
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def nothing_left_running():
    """dask keeps the thread of its loop where a scheduler could not be reached."""
    return


@pytest.fixture
def model(tmp_path):
    made = BenchModel(lambda number: FakeGpu(), tmp_path, fake_benchmark)
    yield made
    made.shut_down()


class FakeCluster:
    """What `gpu_lanes` gives, without a scheduler: lanes of one fake GPU, and words to say."""

    def __init__(self):
        self.gpu, self.tell, self.left = FakeGpu(), None, threading.Event()

    @contextmanager
    def lanes(self, address, tell, *, patience_s):
        self.tell = tell
        yield [Lane("cluster 0", self.gpu), Lane("cluster 1", self.gpu)]
        self.left.set()


@pytest.fixture
def fake(monkeypatch):
    made = FakeCluster()
    monkeypatch.setattr(cluster_module, "gpu_lanes", made.lanes)
    return made


def test_a_sweep_on_a_cluster_streams_and_its_address_is_remembered(model, fake, ladder, tmp_path):
    fake.gpu.hold.clear()
    model.run(plan(ladder, 16, 32, 48), Timing(), cluster="there:1234")
    assert state_sentence(model) == "Looking for the workers at tcp://there:1234 …"
    drain(model, lambda: len(model.live) == 2)
    assert "2 launches sent to tcp://there:1234" in state_sentence(model)
    fake.tell("1 workers are at tcp://there:1234 now, 2 were there.")
    drain(model, lambda: model.said)
    assert state_sentence(model).endswith("now, 2 were there.")
    fake.gpu.hold.set()
    drain(model, lambda: not model.running)
    assert len([m for m in model.measured if m.origin == HERE]) == 3
    assert fake.left.wait(HUNG_S)
    assert Addresses(tmp_path).known == ("tcp://there:1234",)
    assert not model.cluster


def test_a_sweep_can_be_stopped_while_its_cluster_is_looked_for(model, ladder, monkeypatch):
    from core.cancelling import check

    begun, ended = threading.Event(), threading.Event()

    @contextmanager
    def never(address, tell, *, patience_s):
        begun.set()
        try:
            while True:
                check()
                time.sleep(0.01)
            yield []
        finally:
            ended.set()

    monkeypatch.setattr(cluster_module, "gpu_lanes", never)
    model.run(plan(ladder, 16), Timing(), cluster="tcp://there:1")
    assert begun.wait(HUNG_S)
    assert model.running
    model.stop()
    assert not model.running
    assert ended.wait(HUNG_S)


@pytest.mark.slow
def test_wrong_addresses_are_one_sentence_each(model, ladder, monkeypatch, tmp_path):
    from core.errors import TilescopeError

    with pytest.raises(TilescopeError, match="not an address of a scheduler"):
        model.run(plan(ladder, 16), Timing(), cluster="ftp://x:1")
    assert not model.running
    monkeypatch.setattr(cluster_module, "_CONNECT_S", 1.0)
    model.run(plan(ladder, 16), Timing(), cluster="tcp://127.0.0.1:9")
    drain(model, lambda: not model.running)
    said = failure_sentence(model)
    assert said.startswith("There is no scheduler at tcp://127.0.0.1:9")
    assert "start one with `dask scheduler`" in said
    assert not list(tmp_path.glob("*.jsonl"))


def test_addresses_are_few_and_a_broken_file_is_none(tmp_path):
    known = Addresses(tmp_path)
    for number in range(MOST_REMEMBERED + 2):
        known.remember(f"tcp://a:{number}")
    known.remember("tcp://a:4")
    assert Addresses(tmp_path).known == known.known
    assert len(known.known) == MOST_REMEMBERED
    assert known.known[0] == "tcp://a:4"
    (tmp_path / "clusters.json").write_text(json.dumps({"a": 1}))
    assert Addresses(tmp_path).known == ()
    (tmp_path / "clusters.json").write_text("{")
    assert Addresses(tmp_path).known == ()


def test_the_list_of_places():
    found = places([FAKE_DEVICE, second_gpu()], ["H200, recorded"], ["tcp://a:1"])
    assert [p.ordinals for p in found if p.ordinals] == [(0,), (1,), (0, 1)]
    assert [p.recorded for p in found if p.recorded] == ["H200, recorded"]
    assert [p.cluster for p in found if p.cluster] == ["tcp://a:1", "local"]
    assert found[-1].is_typed
    assert places([], ["H200, recorded"], [])[0].recorded == "H200, recorded"


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
class TestOverAScheduler:
    """The same over dask's own scheduler, with workers that take their word for their GPUs."""

    @pytest.fixture
    def machines(self, tmp_path, monkeypatch):
        from tests.core.distributed.test_cluster import Machines

        found = Machines(tmp_path / "held", monkeypatch)
        yield found
        found.end()

    def test_measured_by_workers_of_which_one_dies(self, machines, model, ladder):
        from distributed import Client

        machines.start_workers("--device", "0,1")
        model.run(plan(ladder, *range(16, 176, 16)), Timing(), cluster=machines.address)
        drain(model, lambda: model.measured)
        with Client(machines.address, set_as_default=False) as client:
            pids = client.run(os.getpid)
        os.kill(min(pids.values()), signal.SIGKILL)
        drain(model, lambda: not model.running)
        assert failure_sentence(model) == ""
        sizes = [m.result.parameters["n"] for m in model.measured]
        assert sorted(sizes) == list(range(16, 176, 16))

    def test_another_version_is_a_sentence(self, machines, model, ladder, monkeypatch):
        from core.distributed import cluster_workers

        machines.start_workers("--device", "0")
        with cluster_module.Cluster(machines.address, "GPU", patience_s=150):
            pass
        monkeypatch.setattr(cluster_workers, "version", lambda: "another")
        monkeypatch.setattr(cluster_module, "_SETTLE_S", 0.5)
        model.run(plan(ladder, 16), Timing(), cluster=machines.address)
        drain(model, lambda: not model.running)
        assert "and this is version another: bring both" in failure_sentence(model)
