"""Makes resources/compiled.zip: the PTX of every rung and lesson kernel at the sizes offered.

    python scripts/compile_shipped.py

Run it after a kernel, its sizes or NVRTC have changed; `tests/core/compiler/test_shipped_ptx.py`
says when that is.
"""

from __future__ import annotations

import io
import json
import os
import sys
import zipfile
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout, like `python -m gui`

from core.compiler import disk_cache, shipped_ptx
from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.compiler.cubin import MachineFacts
from core.compiler.nvrtc import version as nvrtc_version
from core.dataclasses_as_json import plain
from core.errors import TilescopeError
from core.ladder import load_ladder
from core.ladder.rung import Rung
from core.launch import Workload
from core.lessons.course import course_lesson, load_course
from core.lessons.lesson import Edit

MOST = 64
"""Of more builds than so many, those are made in which one parameter is not the default."""
_DATE = (2026, 1, 1, 0, 0, 0)  # of the archive's entries: equal content gives equal bytes


def offered(rung: Rung) -> Iterator[Mapping[str, int]]:
    """The parameters of each build of a rung that its form offers."""
    names = {name for rule in rung.defines.values() for name in rule.names}
    known = {
        p.name: sorted({p.default, *(p.choices or ())}) for p in rung.parameters if p.name in names
    }
    every = [dict(zip(known, values, strict=True)) for values in product(*known.values())]
    if len(every) > MOST:
        every = [{name: value} for name, values in known.items() for value in values]
    for one in (*every, *({**t} for t in rung.tuned)):
        fitted = {**rung.defaults, **one}
        if rung.accepts(**fitted):
            yield fitted
        else:  # other sizes may be multiples of the tile
            large = {p.name: 256 for p in rung.parameters if p.name in ("n", "m", "k")}
            if rung.accepts(**{**fitted, **large}):
                yield {**fitted, **large}


def workloads() -> Iterator[Workload]:
    """One launch for each build."""
    for rung in load_ladder().values():
        for parameters in offered(rung):
            yield rung.blank_workload(**parameters)
    course = load_course()
    for name in course.order:
        lesson = course_lesson(name)
        for step in lesson.steps:
            for values in ({}, *step.sets):
                numbers = {k: v for k, v in values.items() if isinstance(v, int)}
                link = step.link.varied(numbers, lesson.ladder)
                for one in filter(None, (link, link.versus)):
                    rung = lesson.ladder[one.rung]
                    if rung.accepts(**one.parameters):
                        yield rung.blank_workload(**one.parameters)
                        if isinstance(step.question, Edit) and step.question.start:
                            from dataclasses import replace

                            made = rung.blank_workload(**one.parameters)
                            yield replace(made, source=step.question.start)


def entries() -> dict[str, dict[str, list[Any]]]:
    """The content of the archive, but for what it says of itself."""
    found: dict[str, dict[str, list[Any]]] = {}
    for source, builds in asked().items():
        made = {build: entry_of(workload) for build, workload in builds.items()}
        kept = {build: entry for build, entry in made.items() if entry is not None}
        if kept:
            found[source] = kept
    return found


def asked() -> dict[str, dict[str, Workload]]:
    """A launch of each build, by the names that it has and its source has in the archive."""
    found: dict[str, dict[str, Workload]] = {}
    for workload in workloads():
        builds = found.setdefault(shipped_ptx.source_digest(workload.source), {})
        builds.setdefault(shipped_ptx.asked_digest(asked_of(workload)), workload)
    return found


def entry_of(workload: Workload) -> list[Any] | None:
    """What the archive holds of a build; None where only NVRTC may say something of it."""
    try:
        build = compile_ptx(
            workload.source,
            source_name=workload.source_name,
            defines=workload.defines,
            kernel=workload.kernel,
        )
    except TilescopeError as error:
        print(f"{workload.source_name} {dict(workload.defines)}: {error}", file=sys.stderr)
        return None
    if build.diagnostics:
        return None
    instance = build.instances.get(workload.kernel, "")
    machine = MachineFacts(build.yields, build.saves, (*build.accesses.items(),), build.ways)
    return [shipped_ptx.placeless(build.ptx), instance, *plain(machine).values()]


def asked_of(workload: Workload) -> shipped_ptx.Asked:
    """What `compile_ptx` asks of NVRTC for a workload as written."""
    from core.compiler.compile_ptx_and_cubin import architecture_for
    from core.compiler.requests_and_answers import define_items

    options = (f"--gpu-architecture={architecture_for(workload.source)}", "-G")
    return define_items(workload.defines), options, workload.kernel, workload.source_name


def archive_of(found: Mapping[str, object], about: Mapping[str, str]) -> bytes:
    """The zip file's bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as archive:
        for name, content in sorted({**found, shipped_ptx.ABOUT: about}.items()):
            info = zipfile.ZipInfo(name, _DATE)
            info.compress_type = zipfile.ZIP_LZMA
            archive.writestr(info, json.dumps(content, sort_keys=True))
    return buffer.getvalue()


def main() -> int:
    """Write the archive; returns the exit status."""
    os.chdir("/")  # NVRTC writes the folder where it runs into the PTX
    os.environ[disk_cache.FOLDER] = ""
    shipped_ptx.FILE.unlink(missing_ok=True)  # what is there would be taken for NVRTC's answer
    found = entries()
    data = archive_of(found, {"nvrtc": nvrtc_version()})
    shipped_ptx.FILE.write_bytes(data)
    builds = sum(len(entry) for entry in found.values())
    print(f"{shipped_ptx.FILE.name}: {builds} builds of {len(found)} sources, {len(data):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
