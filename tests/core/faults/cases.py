"""The kernels of this folder: each faulty one, its clean twin, and what is to be found."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.launch import ArrayArgument, Dim3, Launch, Member, ScalarArgument, Workload
from core.recording.record_launch import record
from core.tensor_maps import TensorMap, kind_of

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """A kernel, its launch as text, and what is to be found: kind, line, array."""

    file: str
    kernel: str
    launch: str
    expected: frozenset[tuple[str, int, str]]


def cases(path):
    """The faulty kernels of a file and their clean twins, which bear the same name and `_ok`."""
    lines = path.read_text("utf-8").splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("//@ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        name, launch = lines[start].removeprefix("//@ ").split(" ", 1)
        expected = {
            (kind, number + 1, re.sub("_(memory|heap)$", r" \1", array))
            for number in range(start + 1, end)
            for kind, array in re.findall(r"//! (\w+)[ ]?(\w*)", lines[number])
        }
        assert expected, name
        yield Case(path.name, name, launch, frozenset(expected))
        yield Case(path.name, f"{name}_ok", launch, frozenset())


CASES = [case for path in sorted(FOLDER.glob("*.cu")) for case in cases(path)]


def array(name, role, text, generator):
    """An argument from `role:dtype[shape]`; of `zero:dtype[shape]:n` only n elements are set."""
    dtype, shape, front = re.fullmatch(r"(\w+)\[([\d,]+)\](?::(\d+))?", text).groups()
    dtype, shape = np.dtype(dtype), tuple(int(size) for size in shape.split(","))
    if role == "zero":
        written = None if front is None else int(front) * dtype.itemsize
        return ArrayArgument(name, np.zeros(shape, dtype), "inout", written=written)
    if role == "output":
        data = np.full(shape, np.nan if dtype.kind == "f" else 77, dtype)
    else:
        low = 0 if dtype.kind == "u" else -100
        data = generator.integers(low, 128, shape).astype(dtype)
    return ArrayArgument(name, data, role)


@cache
def build_of(file, source, kernel, kind):
    return compile_ptx(source, source_name=file, kernel=kernel, kind=kind)


LIBRARIES, LARGE = "library_copies.cu", 40_000  # characters


def build_for(case, kind="as_written"):
    """The build of a case's file; of a large one the part alone that its kernel needs.

    Its thousand variables would be read anew for each kernel. What takes parts of libraries has
    sections, each with its own headers: as written they are compiled apart.
    """
    source = (FOLDER / case.file).read_text("utf-8")
    if case.file != LIBRARIES:
        is_large = "#include" in source or len(source) > LARGE
        return build_of(case.file, source, case.kernel if is_large else "", kind)
    if kind == "as_written":
        head, *sections = re.split(r"\n(?=// )", source)
        source = head + "".join(
            f"\n{section}" if f" {case.kernel}(" in section else "\n" * (section.count("\n") + 1)
            for section in sections
        )
    return build_of(case.file, source, "", kind)


def workload(case, source=None):
    """The launch of a case, of its file or a source. Inputs are the same in every run."""
    fields = dict(item.split("=", 1) for item in case.launch.split())
    generator = np.random.default_rng(5)
    arguments = []
    for name, text in fields.items():
        kind, _, value = text.partition(":")
        if kind == "int32":
            arguments.append(ScalarArgument(name, np.int32(value)))
        elif kind == "map":  # map:box:swizzle:role:dtype[shape]
            box, swizzle, role, of = value.split(":", 3)
            data = array(name, role, of, generator).data
            sides = [int(side) for side in box.split("x")]
            kind = kind_of(data.dtype)
            what = TensorMap.of_array(data.shape, data.itemsize, sides, int(swizzle), kind=kind)
            member = Member(name, 0, 128, 64)
            arguments.append(ArrayArgument(name, data, "inout", member, map=what))
        elif value:
            arguments.append(array(name, kind, value, generator))
    grid, block = (Dim3(*map(int, fields[name].split(","))) for name in ("grid", "block"))
    launch = Launch(grid, block, tuple(arguments), int(fields.get("shared", "0")))
    source = source or (FOLDER / case.file).read_text("utf-8")
    return Workload(case.kernel, source, case.file, case.kernel, launch)


def run(case, **options):
    return record(workload(case), build=build_for(case), **options)


def places(trace):
    return {(f.kind, f.line, f.array) for f in trace.findings}
