"""Sweeps over a dask scheduler and its workers, on the loop-back, with things that die."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from core.cli.app import main
from core.distributed import cluster as cluster_module
from core.distributed import cluster_workers
from core.distributed.cluster import Cluster, checked_address
from core.errors import GpuUnavailable, TilescopeError
from core.gpu.driver_session import describe_devices
from core.gpu.events_and_failures import WorkerFailure
from core.gpu.sweep_plan import RungKernel, make_plan
from core.gpu.worker_process import GpuWorker
from core.ladder import load_ladder
from core.tuning.parameter_search import Task, ranked, scan_point
from tests.core.gpu import fake_jobs

# What dask itself leaves behind or warns of is none of ours.
pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.slow,
]
ROOT = Path(__file__).resolve().parents[3]


class Machines:
    """A scheduler and workers in processes of their own, which a test may kill."""

    def __init__(self, folder: Path, monkeypatch) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.environment = {
            **os.environ,
            cluster_workers.FOLDER_VARIABLE: str(folder),
            "PYTHONPATH": str(ROOT),
            "DASK_LOGGING__DISTRIBUTED": "critical",
            "OMP_NUM_THREADS": "1",
        }
        self.processes: list[subprocess.Popen] = []
        self.start_scheduler()

    def start_scheduler(self) -> None:
        self.scheduler = self._start(
            "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(self.port),
            "--no-dashboard", "--no-show",
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.1)

    def start_workers(self, *options: str) -> subprocess.Popen:
        code = "import sys; from core.cli.app import main; sys.exit(main())"
        return self._start(None, "worker", self.address, *options, code=code)

    def _start(self, module, *arguments, code="") -> subprocess.Popen:
        what = ["-m", module] if module else ["-c", code]
        process = subprocess.Popen(
            [sys.executable, *what, *arguments],
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def end(self) -> None:
        """Ends all processes and those that they have started; some would wait for others first."""
        for process in self.processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def machines(tmp_path, monkeypatch):
    found = Machines(tmp_path / "held", monkeypatch)
    yield found
    found.end()


def connected(machines, workers: int, resource="EMULATOR", **options) -> Cluster:
    cluster = Cluster(machines.address, resource, **{"patience_s": 150, **options})
    deadline = time.monotonic() + 150
    while cluster._workers().fit < workers and time.monotonic() < deadline:
        time.sleep(0.2)
    cluster.workers = cluster._workers().fit
    assert cluster.workers == workers
    return cluster


def noted(task: tuple[str, int, float]) -> int:
    """Writes down that it was done, and by whom."""
    folder, number, seconds = task
    time.sleep(seconds)
    with (Path(folder) / "done.txt").open("a") as file:
        file.write(f"{number} {os.getpid()}\n")
    return number * number


def refused(number: int) -> int:
    raise WorkerFailure(f"{number} is refused.", "illegal_access", fatal=True)


def broken(number: int) -> int:
    raise ZeroDivisionError(number)


def deadly(number: int) -> int:
    os._exit(1)


def test_answers_failures_and_defects_come_back(machines, tmp_path, monkeypatch) -> None:
    machines.start_workers("--emulate", "2")
    for ahead in (256, 1):  # that a scheduler holds a worker: the rest wait here
        monkeypatch.setattr(cluster_module, "_AHEAD_EACH", ahead)
        folder = tmp_path / str(ahead)
        folder.mkdir()
        with connected(machines, 2) as cluster:
            tasks = [(str(folder), number, 0.0) for number in range(30)]
            found = dict(cluster.spread(noted, tasks))
            assert found == {number: number * number for number in range(30)}
            by = [line.split() for line in (folder / "done.txt").read_text().splitlines()]
            assert Counter(number for number, _ in by) == Counter(map(str, range(30)))
            assert len({pid for _, pid in by}) == 2
            with pytest.raises(WorkerFailure, match="7 is refused") as error:
                cluster.submit(refused, 7).result(60)
            assert error.value.kind == "illegal_access"
            with pytest.raises(ZeroDivisionError):
                cluster.submit(broken, 7).result(60)
    assert not list((tmp_path / "held").iterdir())  # nothing stays with the workers


def test_a_task_that_kills_every_worker_is_a_failure(machines) -> None:
    machines.start_workers("--emulate", "2")
    with connected(machines, 2) as cluster, pytest.raises(WorkerFailure, match="died of it"):
        cluster.submit(deadly, 1).result(120)


def test_a_scheduler_that_does_not_come_back_is_told(machines, tmp_path) -> None:
    machines.start_workers("--emulate", "1")
    said: list[str] = []
    cluster = connected(machines, 1, tell=said.append)
    cluster._patience_s = 3
    future = cluster.submit(noted, (str(tmp_path), 1, 60.0))
    time.sleep(1)
    machines.scheduler.kill()
    with pytest.raises(WorkerFailure, match="has not answered for 3 s"):
        future.result(60)
    assert any("waiting for it" in text for text in said)
    cluster.shutdown()


def test_a_scheduler_that_answers_nothing_is_told_and_may_come_back(
    machines, tmp_path, monkeypatch
) -> None:
    """Its process is stopped: the connection stays, as where a network stalls."""
    monkeypatch.setattr(cluster_module, "_ASK_S", 1.0)
    monkeypatch.setattr(cluster_module, "_CONNECT_S", 2.0)
    machines.start_workers("--emulate", "1")
    said: list[str] = []
    with connected(machines, 1, tell=said.append) as cluster:
        future = cluster.submit(noted, (str(tmp_path), 3, 1.0))
        machines.scheduler.send_signal(signal.SIGSTOP)
        try:
            until(lambda: any("does not answer: waiting" in text for text in said))
            with pytest.raises(TilescopeError, match=r"no scheduler at|does not answer"):
                Cluster(machines.address, "EMULATOR", patience_s=1)
        finally:
            machines.scheduler.send_signal(signal.SIGCONT)
        assert future.result(60) == 9
        until(lambda: any("answers again" in text for text in said) or not cluster._open)
        cluster._patience_s = 3
        lost = cluster.submit(noted, (str(tmp_path), 4, 60.0))
        machines.scheduler.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(WorkerFailure, match="has not answered for 3 s"):
                lost.result(60)
        finally:
            machines.scheduler.send_signal(signal.SIGCONT)


def until(there) -> None:
    deadline = time.monotonic() + 60
    while not there():
        assert time.monotonic() < deadline, "it hangs"
        time.sleep(0.05)


def test_mistakes_are_sentences(machines, monkeypatch) -> None:
    with pytest.raises(TilescopeError, match="has no workers: start some with `tilescope worker"):
        Cluster(machines.address, "EMULATOR", patience_s=1)
    machines.start_workers("--emulate", "1")
    with connected(machines, 1):
        pass
    with pytest.raises(TilescopeError, match=r"None of the 1 workers.*resource GPU"):
        Cluster(machines.address, "GPU", patience_s=1)
    monkeypatch.setattr(cluster_workers, "version", lambda: "another")
    with pytest.raises(TilescopeError, match=r"and this is version another: bring both"):
        Cluster(machines.address, "EMULATOR", patience_s=1)
    machines.scheduler.kill()
    machines.scheduler.wait()
    monkeypatch.setattr(cluster_module, "_CONNECT_S", 2.0)
    with pytest.raises(TilescopeError, match=r"no scheduler at .*dask scheduler"):
        Cluster(machines.address, "EMULATOR", patience_s=1)


@pytest.mark.parametrize(
    ("text", "address"),
    [("tcp://a:1", "tcp://a:1"), ("a", "tcp://a:8786"), ("tls://a", "tls://a:8786")],
)
def test_addresses(text, address) -> None:
    assert checked_address(text) == address


@pytest.mark.parametrize("text", ["", "ftp://a:1", "tcp://:1", "tcp://a:99999"])
def test_addresses_that_are_none(text) -> None:
    with pytest.raises(TilescopeError, match="not an address of a scheduler"):
        checked_address(text)


def without_gpu(job: object) -> None:
    raise GpuUnavailable("There is no GPU here.")


def test_jobs_of_a_gpu_run_in_its_process(machines, tmp_path, capfd) -> None:
    machines.start_workers("--device", "0")  # which takes its word that there is one
    with connected(machines, 1, resource="GPU") as cluster:
        assert cluster.stream(lambda event: None, fake_jobs.samples, 3).result(60) == 3
        events: list[object] = []
        with pytest.raises(WorkerFailure, match="something terrible") as error:
            cluster.stream(events.append, fake_jobs.die, 9).result(60)
        assert error.value.kind == "worker_died"
        assert [event.doing for event in events] == ["checking the result"]
        with pytest.raises(WorkerFailure, match="There is no GPU here"):
            cluster.stream(events.append, without_gpu, 1).result(60)
    if not cuda_is_here():
        journal = tmp_path / "r.jsonl"
        arguments = ["tiled", "--n", "64", "--tile", "8,16", "--cluster", machines.address]
        assert main(["bench", *arguments, "--json", f"--out={journal}"]) == 1
        failures = json.loads(capfd.readouterr().out)["failures"]
        assert {one["kind"] for one in failures} == {"driver"}
        assert all("no NVIDIA driver" in one["message"] for one in failures)
        assert len(journal.read_text().splitlines()) == 2


def cuda_is_here() -> bool:
    try:
        return bool(GpuWorker(0).submit(describe_devices).result())
    except GpuUnavailable:
        return False


def test_400_points_while_two_workers_and_the_scheduler_are_killed(machines) -> None:
    """Every point exactly once, and equal to the table of one process."""
    axes = {"n": range(33, 133), "block_x": (32, 64, 96, 128)}
    plan = make_plan([RungKernel(load_ladder()["vector_add"])], axes)
    tasks = [Task(point, "RTX 3090", "as_written") for point in plan.points]
    assert len(tasks) == 400
    machines.start_workers("--emulate", "4")
    said: list[str] = []
    found: list[tuple[int, object]] = []
    kills: list[str] = []
    with connected(machines, 4, tell=said.append) as cluster:
        draw = random.Random(20261123)
        moments = sorted(draw.sample(range(40, 330), 3))
        victims = draw.sample(["worker", "worker", "scheduler"], 3)
        due = dict(zip(moments, victims, strict=True))

        def kill(what: str) -> None:
            if what == "worker":
                end, pids, known = time.monotonic() + 30, {}, 0
                while not 0 < len(pids) == known and time.monotonic() < end:
                    time.sleep(0.05)  # a new scheduler has none at first, and then they come
                    pids = cluster._client.run(os.getpid)
                    known = len(cluster._client.scheduler_info()["workers"])
                assert 0 < len(pids) == known
                os.kill(draw.choice(sorted(pids.values())), signal.SIGKILL)
            else:
                machines.scheduler.kill()
                machines.scheduler.wait()
                time.sleep(draw.uniform(0.5, 2))
                machines.start_scheduler()
            kills.append(what)

        threads = []
        for place, one in cluster.spread(scan_point, tasks):
            found.append((place, one))
            if what := due.get(len(found)):
                threads.append(threading.Thread(target=kill, args=(what,)))
                threads[-1].start()
                threads[-1].join()
    assert sorted(kills) == ["scheduler", "worker", "worker"]
    assert sorted(place for place, _ in found) == list(range(400))
    assert any("answers again" in text for text in said)
    alone = [scan_point(task) for task in tasks]
    assert [one for _, one in sorted(found, key=lambda row: row[0])] == alone
    assert ranked(one for _, one in found) == ranked(alone)
