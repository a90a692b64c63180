"""Takes the counters of kernels that no rule was made for: tests/data/blind_h200.json.

    python scripts/record_blind.py prepare FOLDER    compile what has no row yet (needs NVRTC)
    python scripts/record_blind.py run FOLDER OUT    launch it, then count it under ncu
    python scripts/record_blind.py write OUT         add what was found to the tests' data

`run` needs PyCUDA or cuda-bindings, and Nsight Compute (`ncu`, allowed to read counters). It writes
OUT/found.json after each part of the set, and begins none after `PATIENCE_S`. The launches are
those of tests/blind_textbook.py, with the sets before it. A kernel whose rows are deleted is taken
again.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import pickle
import sys
import tempfile
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools
import numpy as np

from core.launch import ArrayArgument, ScalarArgument, Workload
from tests import blind_set, blind_textbook

CUBINS, FOUND = "blind.pickle.xz", "found.json"
PATIENCE_S = 400
PART = 75  # launches that one ncu counts
_OF_CLUSTERS = 11, 12, 13  # CUfunction_attribute REQUIRED_CLUSTER_WIDTH, _HEIGHT, _DEPTH
Cubins = dict[tuple[str, str], bytes]


def launches(titles: Collection[str]) -> list[tuple[str, str, Workload]]:
    """The launches of some kernels."""
    return [found for found in blind_textbook.all_launches() if found[2].title in titles]


def prepare(folder: Path) -> None:
    """Compiles each kernel that lacks a row, in both builds."""
    from core.compiler import nvrtc

    known = json.loads(blind_set.RECORDED.read_text("utf-8"))["rows"]
    new = {
        work.title
        for name, build, work in blind_textbook.all_launches()
        if f"{name}, {build}" not in known
    }
    made: Cubins = {}
    for name, build, workload in launches(new):
        key = workload.title, build
        if key not in made:
            made[key] = tools.cubin_of(workload, blind_set.BUILDS[build])[0]
            print(name, build)
    folder.mkdir(parents=True, exist_ok=True)
    raw = pickle.dumps(({"nvrtc": nvrtc.version(), "inputs": inputs(new)}, made))
    (folder / CUBINS).write_bytes(lzma.compress(raw))
    print(f"{len(made)} cubins")


def inputs(titles: Collection[str]) -> str:
    """A hash of what all arrays hold at first: two versions of NumPy should draw the same."""
    found = hashlib.sha256()
    for _, _, workload in launches(titles):
        for array in workload.launch.arrays:
            found.update(array.data.tobytes())
    return found.hexdigest()[:16]


def launched(folder: Path, first: int, last: int) -> Iterator[dict[str, Any]]:
    """Launches some of the set; where its arrays began, and the hash of what it wrote."""
    from core.gpu.driver_session import load_driver

    cuda = load_driver()
    context = cuda.Device(0).make_context()
    _, cubins = _prepared(folder)
    modules = dict[tuple[str, str], Any]()
    for _, build, workload in launches({title for title, _ in cubins})[first:last]:
        key = workload.title, build
        if key not in modules:
            modules[key] = cuda.module_from_buffer(cubins[key])
        yield _launched(cuda, modules[key].get_function(workload.kernel), workload)
    context.pop()


def _prepared(folder: Path) -> tuple[dict[str, str], Cubins]:
    found: tuple[dict[str, str], Cubins]
    found = pickle.loads(lzma.decompress((folder / CUBINS).read_bytes()))  # we wrote it
    return found


def _launched(cuda: Any, function: Any, workload: Workload) -> dict[str, Any]:
    launch = workload.launch
    if launch.cluster is not None:
        for number, size in zip(_OF_CLUSTERS, launch.cluster, strict=True):
            function.set_attribute(cuda.function_attribute(number), size)
    function.prepare("PPPi")
    buffers, values = [], list[Any]()
    for argument in launch.arguments:
        if isinstance(argument, ArrayArgument):
            buffers.append(cuda.mem_alloc(argument.data.nbytes))
            cuda.memcpy_htod(buffers[-1], argument.data)
            values.append(np.uintp(int(buffers[-1])))
        elif isinstance(argument, ScalarArgument):
            values.append(argument.value)
    shape = tuple(launch.grid), tuple(launch.block)
    function.prepared_async_call(*shape, None, *values, shared_size=launch.shared_bytes)
    cuda.Context.synchronize()
    out = np.empty_like(launch.arrays[-1].data)
    cuda.memcpy_dtoh(out, buffers[-1])
    for buffer in buffers:
        buffer.free()
    begins = [int(value) % (2 << 20) for value in values[: len(buffers)]]
    return {"begins": begins, "out": hashlib.sha256(out.tobytes()).hexdigest()[:16]}


def run(folder: Path, out: Path) -> None:
    """Launches all, then counts them part by part."""
    started = time.monotonic()
    made, cubins = _prepared(folder)
    titles = {title for title, _ in cubins}
    names = [f"{name}, {build}" for name, build, _ in launches(titles)]
    plain = [dict[str, Any]() for _ in names]
    for at, found in enumerate(launched(folder, 0, len(names))):
        plain[at] = found
        print(f"{names[at]}: {found['out']}", flush=True)  # who hangs is the one after the last
    if made["inputs"] != inputs(titles):
        raise SystemExit("NumPy draws other inputs here than where the set was prepared.")
    rows = dict[str, Any]()
    metrics = blind_set.ALL_METRICS
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as reports:
        for first in range(0, len(names), PART):
            if time.monotonic() - started > PATIENCE_S:
                break
            part = names[first : first + PART]
            me = [sys.executable, __file__, "launch", str(folder), str(first)]
            counted = tools.counted([*metrics.values()], f"{reports}/{first}", me)
            for at, (name, row) in enumerate(zip(part, counted, strict=True), first):
                counts = {n: _number(row.get(metric, "")) for n, metric in metrics.items()}
                rows[name] = {**plain[at], **{n: c for n, c in counts.items() if c}}
            text = json.dumps({**tools.machine(), **made, "rows": rows})
            (out / FOUND).write_text(text, encoding="utf-8")
            print(f"{len(rows)} of {len(names)}: {time.monotonic() - started:.0f} s", flush=True)


def _number(text: str) -> int | None:
    """A count; None for a metric that the GPU lacks."""
    return round(float(text.replace(",", ""))) if text and text != "n/a" else None


def write(out: Path) -> None:
    """One row a line, in the order of the launches; counters that are 0 are left out."""
    found = json.loads((out / FOUND).read_text("utf-8"))
    known = json.loads(blind_set.RECORDED.read_text("utf-8"))["rows"] | found.pop("rows")
    names = [f"{name}, {build}" for name, build, _ in blind_textbook.all_launches()]
    head = json.dumps({**found, "rows": None}, indent=1).removesuffix("null\n}")
    rows = (f"  {json.dumps(name)}: {json.dumps(known[name])}" for name in names if name in known)
    text = f"{head}{{\n" + ",\n".join(rows) + "\n }\n}\n"
    blind_set.RECORDED.write_text(text, encoding="utf-8")


def main() -> None:
    """Does what the command line names."""
    what, folder, *others = sys.argv[1:]
    if what == "launch":
        for _ in launched(Path(folder), int(others[0]), int(others[0]) + PART):
            pass
    elif what == "run":
        run(Path(folder), Path(others[0]))
    else:
        {"prepare": prepare, "write": write}[what](Path(folder))


if __name__ == "__main__":
    main()
