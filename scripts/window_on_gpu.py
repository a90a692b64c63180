"""The real window sweeping on a machine with an NVIDIA GPU, as pictures and a report.

    python scripts/window_on_gpu.py OUT [--ceilings]

Opens the window on Qt's offscreen platform, sweeps rungs over sizes and tiles on the Benchmark
page, with pictures while samples arrive and of each quantity at the end; where there are several
GPUs, a sweep over all of them; the Ceilings and Occupancy pages with the live device; then a sweep
with faults in it: a kernel that reads what it must not, one that never ends, arrays larger than the
card, and a worker that is killed in the midst. The window must live, say each for what it is, and
measure the rest. Writes OUT/window_on_gpu.json with what the pages said.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ["QT_QPA_PLATFORM"] = "offscreen"
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout, like `python -m gui`

from PySide6.QtWidgets import QApplication

from core.gpu.benchmark_job import Timing
from core.gpu.sweep_plan import FileKernel
from core.ladder import load_ladder
from core.user_files.launch_texts import FileLaunch
from gui.headless import record
from gui.looks.theme import apply_theme
from gui.scenes.benchmark_setup import plan_of
from gui.shell.main_window import MainWindow

RUNGS = ("uncoalesced", "coalesced", "tiled", "tile_2d", "vectorised", "warp_tiled", "cublas")
BODIES = {
    "illegal": "y[i + (1LL << 40)] = x[i];",
    "endless": "volatile float* v = y; while (v[0] != 42.0f) { }",
}


def wait(app: QApplication, until: Callable[[], Any], seconds: float, what: str) -> None:
    """Runs the event loop until something is true."""
    end = time.monotonic() + seconds
    while not until():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: nothing for {seconds:.0f} s")
        app.processEvents()
        time.sleep(0.002)


def faulty(name: str) -> FileKernel:
    """A kernel that misbehaves."""
    source = (
        f'extern "C" __global__ void {name}(const float* x, float* y)\n'
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; " + BODIES[name] + " }\n"
    )
    arrays = (("x", "float32[{n}]"), ("y", "float32[{n}]"))
    launch = FileLaunch(f"{name}.cu", name, "{n // 128}", "128", "0", "", arrays)
    return FileKernel(source, launch, "n")


def _done(page: Any) -> int:
    """Points measured so far."""
    progress = page.model.progress
    return 10**6 if progress is None else int(progress.done)


def sweep(
    app: QApplication, window: MainWindow, page: Any, out: Path, *, ceilings: bool
) -> dict[str, str]:
    """Rungs over sizes and tiles, with pictures."""
    kernels = frozenset(name for name in RUNGS if name == "cublas" or name in load_ladder())
    page.setup = replace(page.setup, kernels=kernels, sizes="512, 1024, 2048, 4096", budget_s=0.5)
    page.refresh(frozenset())
    page.run()
    said = {"plan": page.strip.plan.text()}
    wait(app, lambda: _done(page) >= 30, 200, "results")
    wait(app, lambda: len(page.launches.values) > 5 and "running" in page.shown.text(), 60, "rates")
    said["while_running"] = page.caption.text()
    save(window, out / "sweep_running.png")
    wait(app, lambda: not page.model.running, 300, "the end of the sweep")
    save(window, out / "sweep_done.png")
    for quantity, over in (("speedup", "size"), ("bandwidth", "size"), ("gflops", "tile")):
        page.curves.quantity.button(quantity).click()
        page.curves.over.button(over).click()
        save(window, out / f"{quantity}_over_{over}.png")
    page.curves.over.button("size").click()
    if ceilings:
        page.curves.quantity.button("share").click()
        wait(app, lambda: not page.ceilings.busy, 200, "the ceilings")
        save(window, out / "share_over_size.png")
    page.curves.quantity.button("gflops").click()
    page.files.save(out / "report.md", page.results.measured, (), page.ceilings.known)
    return {**said, "after": page.shown.text(), "machine": page.results.caption.text()}


def every_gpu(app: QApplication, window: MainWindow, page: Any, out: Path) -> dict[str, Any]:
    """A sweep over all GPUs of this machine."""
    gpus = page.strip.gpus
    offered = [gpus.itemText(i) for i in range(gpus.count())]
    if len(page.model.devices) < 2:
        return {"offered": offered}
    gpus.setCurrentIndex(gpus.count() - 1)
    page.setup = replace(
        page.setup, kernels=frozenset(("tiled", "coalesced", "vectorised")),
        sizes="1024, 2048, 4096", budget_s=0.5,
    )  # fmt: skip
    page.refresh(frozenset())
    before = len(page.measured)
    page.run()
    wait(app, lambda: _done(page) >= 3, 100, "results of all GPUs")
    save(window, out / "all_gpus_running.png")
    wait(app, lambda: not page.model.running, 200, "the end of the sweep over all GPUs")
    save(window, out / "all_gpus.png")
    found = page.measured[before:]
    counts = Counter(r.device.ordinal for r in found)
    gpus.setCurrentIndex(0)
    return {"offered": offered, "points": len(found), "by_gpu": counts,
            "right": sum(r.ok is True for r in found), "caption": page.caption.text()}  # fmt: skip


def live_pages(app: QApplication, window: MainWindow, out: Path) -> dict[str, Any]:
    """The Ceilings and Occupancy pages with the device that the driver describes."""
    launches = {
        "tiled": {"n": 64, "tile": 32},
        "coalesced": {"n": 64, "block_x": 32, "block_y": 32},
    }
    said = {name: live_ceilings(app, window, out, name, launches[name]) for name in launches}
    window.show_page("occupancy")
    filled: Any = window.pages.made("occupancy")
    wait(
        app,
        lambda: filled.sm_box.live and filled._compiled is not None,
        60,
        "the kernel's registers",
    )
    settle(app, 1.0, lambda: False)
    save(window, out / "occupancy.png")
    filled.shown.button("devices").click()
    save(window, out / "devices.png")
    said["occupancy"] = {"sm": filled.sm_box.currentText(), "caption": filled.caption.text()}
    window.show_page("benchmark")
    return said


def live_ceilings(
    app: QApplication, window: MainWindow, out: Path, rung: str, parameters: dict[str, int]
) -> dict[str, str]:
    """The Ceilings page for a launch of a rung."""
    record(window, app, rung, parameters)
    window.show_page("ceilings")
    page: Any = window.pages.made("ceilings")
    wait(app, lambda: page.model.live, 60, "the driver's devices")
    wait(app, lambda: page.found is not None, 120, "the ceilings")
    settle(app, 12.0, lambda: not page.model.placing)
    save(window, out / f"ceilings_{rung}.png")
    return {
        "device": page.device_box.currentText(), "figures": repr(page.device),
        "caption": page.caption.text(), "measured": page.against.text(),
    }  # fmt: skip


def settle(app: QApplication, seconds: float, until: Callable[[], bool]) -> None:
    """Lets the window do what it has begun, so long at most."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not until():
        app.processEvents()
        time.sleep(0.005)


def faults(app: QApplication, window: MainWindow, page: Any, out: Path) -> dict[str, Any]:
    """A sweep in which three of its points fail."""
    files = (faulty("illegal"), faulty("endless"))
    kernels = frozenset(("file:0", "file:1", "tiled"))
    page.setup = replace(page.setup, kernels=kernels, files=files, sizes="1024, 2048", tiles="16")
    plan = plan_of(page._ladder, page.session.configuration, page.setup)
    page.picked = None
    page.model.run(plan, Timing(budget_s=2.0, stable=0, launch_limit_s=3.0), (0,))
    page._timer.start()

    def in_the_second_tiled() -> bool:
        live = page.model.live.get("GPU 0")
        return (
            live is not None
            and live.point.title == "Tiled"
            and live.point.parameters["n"] == 2048
            and len(live.times) > 5
        )

    wait(app, in_the_second_tiled, 120, "samples of the point to be killed")
    page.model._worker(0).kill()
    wait(app, lambda: not page.model.running, 120, "the end of the sweep with faults")
    save(window, out / "faults.png")
    return {
        "caption": page.caption.text(),
        "last": page.trouble.text(),
        "shown": page.shown.text(),
        "failures": {o.point.text: o.failure.message for o in page.model.failed if o.failure},
    }


def no_memory(app: QApplication, page: Any) -> dict[str, Any]:
    """A point whose arrays are larger than what the card has left, and one that fits."""
    from tests.gpu import in_worker

    worker = page.model._worker(0)
    worker.submit(in_worker.fill_memory, 600 << 20).result(timeout=60)
    page.setup = replace(page.setup, kernels=frozenset(("tiled",)), files=(), sizes="8192, 512")
    plan = plan_of(page._ladder, page.session.configuration, page.setup)
    page.model.run(plan, Timing(budget_s=0.3, launch_limit_s=3.0), (0,))
    page._timer.start()
    wait(app, lambda: not page.model.running, 120, "the end of the sweep without memory")
    worker.submit(in_worker.empty_memory).result(timeout=60)
    return {
        "caption": page.caption.text(),
        "failures": {o.point.text: o.failure.message for o in page.model.failed if o.failure},
    }


def main() -> int:
    """Returns 0 when the sweeps ended and the window outlived its workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--ceilings", action="store_true", help="count them too: some minutes")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    os.environ["XDG_DATA_HOME"] = tempfile.mkdtemp()  # nothing of this stays with the user's own

    app = QApplication(["tilescope"])
    apply_theme(app, "light")
    window = MainWindow(load_ladder(), "light")
    window.resize(1600, 1000)
    window.show()
    record(window, app, "tiled", {"n": 16, "tile": 4})
    window.show_page("benchmark")
    page: Any = window.pages.made("benchmark")
    wait(app, lambda: page.model.devices, 60, "looking for a GPU")
    said: dict[str, Any] = {"ready": page.caption.text()}
    out = options.out
    steps: dict[str, Callable[[], Any]] = {
        "sweep": lambda: sweep(app, window, page, out, ceilings=options.ceilings),
        "all_gpus": lambda: every_gpu(app, window, page, out),
        "live": lambda: live_pages(app, window, out),
        "memory": lambda: no_memory(app, page),
        "faults": lambda: faults(app, window, page, out),
    }
    failed = False
    for name, step in steps.items():
        try:
            said[name] = step()
        except Exception:  # noqa: BLE001 - the other steps are worth having all the same
            said[name], failed = traceback.format_exc(), True
        keep(out, said)
    window.close()
    app.processEvents()
    sys.stdout.write(keep(out, said) + "\n")
    return int(failed)


def keep(out: Path, said: dict[str, Any]) -> str:
    """Write what was said so far."""
    text = json.dumps(said, indent=1, ensure_ascii=False)
    (out / "window_on_gpu.json").write_text(text, encoding="utf-8")
    return text


def save(window: MainWindow, path: Path) -> None:
    """A picture of the whole window."""
    QApplication.processEvents()
    window.grab().save(str(path))


if __name__ == "__main__":
    sys.exit(main())
