"""`tilescope trace`: runs a kernel in the emulator and counts its memory traffic."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer
from rich import box
from rich.table import Table
from rich.text import Text

from core.atomic_files import must_be_writable, replacing
from core.cli.console import (
    FOUND,
    Terminal,
    compile_errors,
    print_json,
    progress_bar,
    standard_console,
    tell,
)
from core.cli.named_launch import OwnLaunch, faults, is_file, named_launch
from core.cli.options import (
    FILE,
    RESULTS,
    SIZES,
    AsJsonResult,
    Compiler,
    FileOptions,
    Sizes,
    cluster_option,
    option,
)
from core.errors import ArgumentError, TilescopeError
from core.launch import Workload
from core.rules.counters import SPACES, UNITS, WAYS, Count, measures_of
from core.user_files.sources_and_headers import is_saved_trace
from core.wording import assignments, in_number, listing

if TYPE_CHECKING:
    from core.assembler.machine_accesses import Assembly
    from core.compiler.compile_ptx_and_cubin import BuildKind
    from core.emulator.machine import Limits
    from core.recording.count_launch import Counted
    from core.rules.l1_cache import L1Count, L1Estimate, L1Probe
    from core.trace import Trace
    from core.trace.finding import Finding

_SECONDS = 30.0  # of processor time; then no more blocks are run
_NO_BUDGET = 1 << 62  # instructions
_PARTS_EACH = 4  # of a worker, so that none waits long for the last
_MOST_UNTESTED = 6  # lines that are named
_NARROW = 100  # columns; below, tables by line leave what can be worked out to the source


@dataclass(frozen=True)
class TracedFile(FileOptions):
    """The launch of a file's kernel, and how the file is read."""

    arg: Annotated[
        list[str] | None,
        option(
            "--arg",
            panel=FILE,
            text="N=128, A=float32[128,128] (random), C=zeros:float32[64] (or ones, range, "
            "small, places, poison; index: below the first size), B=@b.npy. Repeatable; types come "
            "from the kernel's signature. Tilescope guesses the rest.",
        ),
    ] = None
    include_dir: Annotated[
        list[str] | None,
        option(
            "--include-dir",
            "-I",
            panel=FILE,
            text="A folder with headers of the file, beside those of its repository. Repeatable.",
        ),
    ] = None
    include: Annotated[
        list[str] | None,
        option(
            "--include",
            panel=FILE,
            text="A file that comes before the source, as if it were included there. Repeatable.",
        ),
    ] = None
    arch: Annotated[
        str | None,
        option(
            "--arch",
            panel=FILE,
            text="The architecture that it is compiled for, such as sm_80; usually sm_90.",
        ),
    ] = None
    cluster_dims: Annotated[
        str | None,
        option(
            "--cluster-dims",
            panel=FILE,
            text="Blocks of a cluster in x, y, z, where the host's launch sets them: 2,1.",
        ),
    ] = None


def trace(
    context: typer.Context,
    kernel: Annotated[
        str,
        typer.Argument(
            metavar="RUNG|FILE.cu|FILE.ptx|FILE.npz",
            help="A rung of the ladder, a CUDA source, a PTX file, or a saved trace.",
        ),
    ],
    more: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE.cu ...]", help="Other files of a CUDA source's program, as --include."
        ),
    ] = None,
    *,
    sizes: Sizes,
    inputs: Annotated[
        Literal["random", "small", "places"] | None,
        option(
            "--inputs",
            panel=SIZES,
            text="The inputs of a rung: random numbers (the default), small whole numbers (1 to "
            "9), or places (3.2 in row 3, column 2).",
        ),
    ] = None,
    launch: TracedFile,
    build: Annotated[
        Literal["as_written", "as_compiled"],
        typer.Option(help="Trace the source as written (-G) or the optimised build."),
    ] = "as_written",
    compiler: Compiler = None,
    seed: Annotated[int, typer.Option(help="Seed of random buffers.", min=0)] = 7,
    blocks: Annotated[
        str | None,
        typer.Option(
            help="Blocks to record for stepping: all, or 0,3,5. Every block runs and counts.",
            show_default="as many as fit in memory",
        ),
    ] = None,
    only: Annotated[
        bool, typer.Option("--only", help="Run and count the blocks of --blocks alone.")
    ] = False,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help=f"Run every block, however long it takes, not only for {_SECONDS:.0f} s."
        ),
    ] = False,
    cluster: Annotated[
        str | None,
        cluster_option(
            "With --all: spread blocks over the workers of a dask scheduler; counts and "
            "faults, no steps and outputs."
        ),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(
            help="Stop after this many warp instructions of the blocks that run together.",
            min=1,
            show_default=False,
        ),
    ] = None,
    counters_only: Annotated[
        bool,
        option(
            "--counters-only",
            panel=RESULTS,
            text="Count only: one block of each kind runs, so that any size takes seconds. "
            "A file is launched as large as by its host.",
        ),
    ] = False,
    order: Annotated[
        Literal["lockstep", "round_robin", "warp_by_warp", "random"],
        typer.Option(help="How the warps of a block take turns; --seed also sets random."),
    ] = "lockstep",
    checks: Annotated[
        bool, typer.Option("--checks/--no-checks", help="Find races and reads of unwritten memory.")
    ] = True,
    no_fail: Annotated[
        bool,
        option("--no-fail", panel=RESULTS, text="Exit with status 0 even if there are faults."),
    ] = False,
    l1: Annotated[
        bool, option("--l1", panel=RESULTS, text="Estimate what an H200's L1 caches would hit.")
    ] = False,
    as_json: AsJsonResult = False,
    save: Annotated[
        Path | None,
        option(
            "--save",
            panel=RESULTS,
            text="Save the whole record as FILE.npz: `tilescope FILE.npz` opens it in the window.",
        ),
    ] = None,
    save_outputs: Annotated[
        Path | None,
        option("--save-outputs", panel=RESULTS, text="Save what the kernel wrote as DIR/*.npy."),
    ] = None,
) -> None:
    """Run a kernel in the emulator and show the memory transactions that it makes.

    Exit status: 0 if no fault was found, 1 if some were, 2 for a mistake in the command or source.
    """
    if is_saved_trace(Path(kernel)):
        result = _show_saved(Path(kernel), context, save_outputs, as_json=as_json)
        if result.findings and not no_fail:
            raise typer.Exit(FOUND)
        return
    if l1 and counters_only:
        raise ArgumentError(
            "--l1 follows the loads of every block, and --counters-only runs one of each kind: "
            "leave out one of them."
        )
    if more and not is_file(kernel):
        raise ArgumentError(f"{kernel} is a rung, which takes no files: leave out {more[0]}.")
    if counters_only:
        wrong: dict[str, object] = {
            "--save": save, "--save-outputs": save_outputs, "--blocks": blocks,
            "--cluster": cluster, "--all": every, "--order": order != "lockstep",
        }  # fmt: skip
        if taken := [name for name, value in wrong.items() if value]:
            raise ArgumentError(f"--counters-only records nothing: leave out {taken[0]}.")
    if save is not None:
        must_be_writable(save)
    if only and blocks is None:
        raise ArgumentError(
            "--only runs the blocks of --blocks alone: name them, as in --blocks 0."
        )
    if only and (l1 or counters_only):
        raise ArgumentError("--only leaves out blocks that --l1 and --counters-only need.")
    given, included = sizes.given(), [*(more or ()), *(launch.include or ())]
    options = replace(launch, include=included).launch()
    if inputs is not None and (is_file(kernel) or kernel.endswith(".ptx")):
        raise ArgumentError(f"--inputs is for a rung; say --arg A={inputs}:float32[64,64].")
    own = named_launch(kernel, given, options, seed, blank=counters_only, inputs=inputs)
    workload = own.workload
    if counters_only:
        _show_counts(workload, build, budget, seed, as_json=as_json)
        return
    if cluster is not None:
        wrong = {
            "--blocks": blocks, "--counters-only": counters_only, "--l1": l1, "--save": save,
            "--save-outputs": save_outputs, "--budget": budget, "--inputs": inputs,
            "--order": order != "lockstep",
        }  # fmt: skip
        if taken := [name for name, value in wrong.items() if value]:
            raise ArgumentError(f"--cluster records no steps: leave out {taken[0]}.")
        if not every:
            raise ArgumentError("--cluster runs every block: say so with --all.")
        result = _in_parts(workload, cluster, build, seed, checks=checks)
        if as_json:
            print_json(_trace_as_json(result, seed, own) | {"note": result.note})
        else:
            show_trace(result, own=own)
            standard_console().say(result.note)
        if faults(result, own) and not no_fail:
            raise typer.Exit(FOUND)
        return
    chosen = _chosen_blocks(blocks, workload)
    from core.recording.record_launch import CutShort, record

    limits, seconds = _limits(budget, every=every, only=only)
    probe: L1Probe | None = None
    if l1:
        from core.rules.l1_cache import L1Probe

        probe = L1Probe()
    over: CutShort | None = None
    with compile_errors(workload), progress_bar(f"running {workload.kernel}") as progress:
        try:
            result = record(
                workload,
                kind=build,
                blocks=chosen,
                limits=limits,
                order=order,
                seed=seed,
                checks=checks,
                only_recorded=only,
                progress=progress,
                l1=probe,
                seconds=seconds,
            )
        except CutShort as error:  # what ran and was found until then is shown first
            result, over, probe = error.so_far, error, None

    if save is not None:
        from core.recording.trace_files import save_trace

        save_trace(result, save)
    if save_outputs is not None:
        _write_outputs(result, save_outputs)
    estimate = probe.estimate() if probe is not None and result.complete else None
    _show_record(result, own, seed, estimate, as_json=as_json)
    if over is not None and budget is not None:  # else what ran in time is the answer
        raise over
    if faults(result, own) and not no_fail:
        raise typer.Exit(FOUND)


def _limits(budget: int | None, *, every: bool, only: bool) -> tuple[Limits, float | None]:
    """When a block is given up, and the seconds after which no further one is run."""
    from core.emulator.machine import Limits

    if every or budget is not None:
        return Limits(instructions=budget or _NO_BUDGET, seconds=None), None
    if only:
        return Limits(), None
    return Limits(instructions=_NO_BUDGET), _SECONDS  # the time alone ends it


def _show_record(
    result: Trace, own: OwnLaunch, seed: int, estimate: L1Estimate | None, *, as_json: bool
) -> None:
    """Print a launch that was just recorded, what was guessed of it, and its L1 `estimate`."""
    removed = _removed(result)
    if as_json:
        data = _trace_as_json(result, seed, own) | {"only_as_written": list(removed)}
        if estimate is not None:
            data["l1"] = _l1_as_json(estimate)
        print_json(data)
        return
    console = standard_console()
    show_trace(result, console, own)
    for sentence in removed:
        console.say(sentence, "yellow")
    if own.launch is not None and not result.complete:
        from core.guessing.launch_guess import smaller

        for fewer in smaller(result.workload.source, own.launch):
            console.say(Text(f"Smaller: {fewer}"))
    if own.left_out:
        console.say(Text(own.left_out))
    if own.options:
        console.say(Text(f"Guessed: {own.options}"))
    if estimate is not None:
        _show_l1(estimate, result.workload.source, console)


def _show_saved(
    path: Path, context: typer.Context, save_outputs: Path | None, *, as_json: bool
) -> Trace:
    """What was printed when the trace was recorded; only how it is shown can be chosen anew."""
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        given = source is not None and source.name == "COMMANDLINE"
        if given and name not in ("kernel", "as_json", "save_outputs", "no_fail"):
            raise ArgumentError(
                f"{parameter.opts[0]} sets a launch, and {path} is a recorded one: leave it out."
            )

    from core.recording.trace_files import load_trace

    result = load_trace(path)
    if save_outputs is not None:
        _write_outputs(result, save_outputs)
    if as_json:
        print_json(_trace_as_json(result, None, OwnLaunch(result.workload)))
    else:
        show_trace(result)
    return result


def _removed(result: Trace) -> tuple[str, ...]:
    """Faults of the stack that the optimised build no longer has."""
    if result.build.kind == "as_written" or result.workload.ptx:
        return ()
    from core.assembler.assembled_module import module_of
    from core.assembler.call_stack import removed_faults
    from core.compiler.compile_ptx_and_cubin import build_of, find_entry
    from core.emulator.budget import STACK_BYTES

    workload = result.workload
    written = build_of(workload)
    entry = find_entry(written, workload.kernel)
    return removed_faults(module_of(written, entry), result.module, entry, most_stack=STACK_BYTES)


def _in_parts(
    workload: Workload, address: str, build: BuildKind, seed: int, *, checks: bool
) -> Trace:
    """Counts and faults of a launch whose blocks ran on a cluster."""
    from core.distributed.cluster import opened
    from core.distributed.launch_parts import trace_in_parts
    from core.gpu.benchmark_job import RungSubject, WorkloadSubject

    if workload.ptx:
        raise ArgumentError("--cluster runs what NVRTC compiles; trace PTX here.")
    subject: RungSubject | WorkloadSubject
    if workload.rung is not None:
        subject = RungSubject(workload.rung, dict(workload.parameters), seed)
    else:
        subject = WorkloadSubject.of(replace(workload, expected=None))
    with (
        compile_errors(workload),
        opened(address, "EMULATOR", jobs=os.cpu_count() or 1, tell=tell) as cluster,
        progress_bar(f"running {workload.kernel}") as progress,
    ):
        return trace_in_parts(
            subject,
            cluster.spread,
            _PARTS_EACH * cluster.workers,
            kind=build,
            checks=checks,
            progress=progress,
        )


def _show_counts(
    workload: Workload, build: BuildKind, budget: int | None, seed: int, *, as_json: bool
) -> None:
    from core.emulator.machine import Limits
    from core.recording.count_launch import count

    limits = Limits() if budget is None else Limits(instructions=budget, seconds=None)
    with compile_errors(workload), progress_bar(f"counting {workload.kernel}") as progress:
        counted = count(workload, kind=build, limits=limits, progress=progress)
    if as_json:
        print_json(_counted_json(counted, seed))
    else:
        _show_counted(counted)


def _chosen_blocks(text: str | None, workload: Workload) -> Literal["all"] | tuple[int, ...] | None:
    if text is None or text == "all":
        return "all" if text else None
    count = workload.launch.grid.count
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) < count for part in parts):
        raise ArgumentError(
            f"`--blocks {text}`: write all, or block numbers from 0 to {count - 1}."
        )
    return tuple(sorted({int(part) for part in parts}))


# -- what is printed: one JSON object, or tables by array and by source line ----------------------


def _trace_as_json(trace: Trace, seed: int | None, own: OwnLaunch) -> dict[str, Any]:
    """The result as plain data. `counters` and `ideal` have the same keys.

    The seed of random buffers is None where it is not known any more.
    """
    from core.findings.unreached_accesses import touches_nothing, untested_lines

    resting = own.resting_on(trace)
    certain = faults(trace, own)
    return {
        **_launch_json(trace, seed),
        "hazards": [
            _hazard(finding)
            | {
                "size_is_guessed": _leaves_a_guess(finding, own.open),
                "rests_on": list(resting.get(finding, ())),
                "is_left_open": finding not in certain,
            }
            for finding in trace.findings
        ],
        "guessed": own.options,
        "left_out": own.left_out,
        "tested": not touches_nothing(trace),
        "untested_lines": list(untested_lines(trace)),
        "outputs": {name: _fingerprint(data) for name, data in outputs(trace).items()},
        "error": {n: e if math.isfinite(e) else None for n, e in errors(trace).items()},
        "printed": list(trace.printed),
        "complete": trace.complete,
        "note": "" if trace.complete else f"{trace.cut} {trace.note}".strip(),
    }


def _counted_json(counted: Counted, seed: int) -> dict[str, Any]:
    """The counts as plain data, and how many blocks of which kind were run for them."""
    kinds = [{"block": kind.block, "count": kind.count} for kind in counted.kinds]
    return {**_launch_json(counted, seed), "block_kinds": kinds, "note": counted.note}


def _launch_json(result: Trace | Counted, seed: int | None) -> dict[str, Any]:
    workload, counters = result.workload, result.counters
    return {
        "kernel": workload.kernel,
        "source": workload.source_name,
        "rung": workload.rung,
        "parameters": dict(workload.parameters),
        "defines": dict(workload.defines),
        "grid": list(workload.launch.grid),
        "block": list(workload.launch.block),
        "shared_bytes": workload.launch.shared_bytes,
        "seed": seed,
        "build": result.build.kind,
        "compiler": result.build.compiler or "NVRTC",
        "is_nvidias_compiler": not result.build.compiler,
        "machine_code": _machine_code(result.assembly),
        "counters": {name: int(count.value) for name, count in counters.totals.items()},
        "ideal": {name: int(count.ideal) for name, count in counters.totals.items()},
        "by_array": {name: _counts(row) for name, row in counters.by_array.items()},
        "by_line": {str(line): _counts(row) for line, row in sorted(counters.by_line.items())},
    }


def _machine_code(assembly: Assembly | None) -> dict[str, Any] | None:
    if assembly is None:
        return None
    lines = {
        str(line): {"counted": ptx, "machine_code": machine}
        for line, (ptx, machine) in assembly.lines.items()
    }
    return {"known": assembly.known, "exact": assembly.exact, "differences": lines}


def outputs(trace: Trace) -> Mapping[str, np.ndarray[Any, Any]]:
    """The final contents of the arrays that the kernel may write.

    A trace that was saved has left out large ones.
    """
    written = [a.name for a in trace.workload.launch.arrays if a.role != "input"]
    return {name: trace.outputs[name] for name in written if name in trace.outputs}


def errors(trace: Trace) -> Mapping[str, float]:
    """Largest difference of each output from its true value, NaN where an element is NaN.

    Empty where blocks were left out: their elements were never computed.
    """
    expected = trace.workload.expected
    if expected is None or not trace.complete:
        return {}
    return {
        name: float(np.max(np.abs(trace.outputs[name].astype(np.float64) - truth)))
        for name, truth in expected().items()
    }


def _write_outputs(trace: Trace, folder: Path) -> None:
    """Write each output to `folder`/NAME.npy, making the folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise TilescopeError(f"{folder} is a file: name a folder for the outputs.") from None
    except OSError as error:
        raise TilescopeError(f"Outputs cannot be saved in {folder}: {error.strerror}.") from None
    for name, data in outputs(trace).items():
        with replacing(folder / f"{name}.npy") as file:
            np.save(file, data)


def show_trace(trace: Trace, console: Terminal | None = None, own: OwnLaunch | None = None) -> None:
    """Print the tables for people; `own` says what was guessed of a file's launch."""
    console = console or standard_console()
    console.say(_headline(trace))
    _show_tables(trace, console, trace.constants)
    if trace.printed:
        console.print("Printed by the kernel:", style="bold")
        for text in trace.printed:
            console.say(Text(text))
    _show_assembly(trace, console)
    for line in verdict(trace, own or OwnLaunch(trace.workload)):
        console.say(line)


def _show_tables(
    result: Trace | Counted, console: Terminal, constants: frozenset[str] = frozenset()
) -> None:
    for table in _tables(result, console.width, constants):
        console.print(table)
    met = result.counters.totals.get("barriers")
    if met is not None and met.value:
        text = f"Barriers that warps came to, summed over the warps: {int(met.value):,}."
        console.say(text)


def _show_assembly(result: Trace | Counted, console: Terminal) -> None:
    """How far counts of an optimised build are those of its machine code."""
    if result.assembly is not None:
        for sentence in result.assembly.sentences:
            style = "" if result.assembly.exact else "yellow"
            console.say(sentence, style)


def _show_counted(counted: Counted) -> None:
    """Print the tables of a launch that was only counted."""
    console = standard_console()
    console.say(_headline(counted))
    _show_tables(counted, console)
    blocks = counted.workload.launch.grid.count
    ran = len(counted.kinds)
    note = counted.note or (
        f"Exact for all {blocks:,} blocks: they are of {ran} {in_number('kind', ran)}, "
        f"and one of each was run."
    )
    console.print(note, soft_wrap=True)
    _show_assembly(counted, console)


def _counts(row: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    return {
        name: {"value": int(count.value), "ideal": int(count.ideal)} for name, count in row.items()
    }


def _hazard(finding: Any) -> dict[str, Any]:
    names = ("kind", "message", "block", "thread", "line", "step", "array", "index", "needs")
    return {name: _plain(getattr(finding, name)) for name in names}


def _leaves_a_guess(finding: Finding, guessed: frozenset[str]) -> bool:
    """Whether an access lies outside an array whose size nobody says."""
    is_outside = finding.kind == "out_of_bounds" and not finding.is_in_front
    return is_outside and finding.array in guessed


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


def _fingerprint(data: np.ndarray[Any, Any]) -> dict[str, Any]:
    digest = hashlib.sha256(np.ascontiguousarray(data).tobytes()).hexdigest()
    return {"shape": list(data.shape), "dtype": data.dtype.name, "sha256": digest}


# -- tables ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Row:
    label: tuple[str | Text, ...]
    counts: Mapping[str, Any]

    def value(self, counter: str) -> int:
        return int(self.counts.get(counter, Count()).value)

    def ideal(self, counter: str) -> int:
        return int(self.counts.get(counter, Count()).ideal)


def _headline(trace: Trace | Counted) -> Text:
    workload = trace.workload
    sizes = assignments(workload.parameters)
    built = f"built {trace.build.described}"
    parts = [f"grid {workload.launch.grid}", f"block {workload.launch.block}", built]
    return Text.assemble(
        (workload.title, "bold"), ": ", ", ".join([*filter(None, [sizes]), *parts])
    )


def _tables(
    trace: Trace | Counted, width: int, constants: frozenset[str] = frozenset()
) -> Iterator[Table]:
    """Tables by array and by line.

    Generic loads of `constants`, which hardware counts as global loads, are marked by array.
    """
    counters = trace.counters
    arrays = [
        _Row((f"{name} (constant)" if name in constants else name,), row)
        for name, row in counters.by_array.items()
    ]
    total = _Row(("all",), counters.totals)
    yield from _pair("by array", ("array",), arrays, total, narrow=False)
    source = trace.workload.source.splitlines()
    lines = [
        _Row((str(line), Text(_code(source, line), overflow="ellipsis", no_wrap=True)), row)
        for line, row in sorted(counters.by_line.items())
    ]
    yield from _pair("by source line", ("line", "source"), lines, None, narrow=width < _NARROW)


def _code(source: list[str], line: int) -> str:
    return source[line - 1].strip() if 1 <= line <= len(source) else ""


def _pair(
    title: str, labels: Iterable[str], rows: list[_Row], total: _Row | None, narrow: bool
) -> Iterator[Table]:
    """One table for each space of memory, where there is anything to show."""
    for space in SPACES:
        body = list(_filled(rows, space))
        if not body:
            continue
        table = Table(
            title=f"{SPACES[space].title} {title}", title_justify="left", box=box.SIMPLE_HEAD
        )
        for label in labels:
            table.add_column(label, justify="right" if label == "line" else "left")
        table.add_column("", no_wrap=True)
        for head in _heads(space, narrow):
            table.add_column(head, justify="right", no_wrap=True)
        for row, op in body:
            table.add_row(*row.label, WAYS[op], *_cells(row, op, space, narrow))
        if total is not None and len(body) > 1:
            table.add_section()
            for row, op in _filled([total], space):
                table.add_row(*row.label, WAYS[op], *_cells(row, op, space, narrow))
        yield table


def _filled(rows: list[_Row], space: str) -> Iterator[tuple[_Row, str]]:
    """The rows with the ways in which they made requests in this memory space."""
    return ((row, op) for row in rows for op in WAYS if row.value(f"{space}_{op}_requests"))


def _heads(space: str, narrow: bool) -> tuple[str, ...]:
    """The heads of a space's table: requests, what they cost, and what else is measured of them."""
    unit = UNITS[space]
    first = ("requests", unit, "ideal")
    further = [m for m in measures_of(space) if m.name not in first]
    is_excess_said = any(not m.ideal for m in further)
    excess = () if is_excess_said else ("per request", "excess")
    return first if narrow else (*first, *(m.name for m in further), *excess)


def _cells(row: _Row, op: str, space: str, narrow: bool) -> Iterator[str | Text]:
    """What stands under these heads."""
    requests, unit = row.value(f"{space}_{op}_requests"), UNITS[space]
    moved, ideal = row.value(f"{space}_{op}_{unit}"), row.ideal(f"{space}_{op}_{unit}")
    each = moved / requests
    cells: dict[str, str | Text] = {
        "requests": f"{requests:,}",
        unit: _coloured(moved, moved > ideal) if narrow else f"{moved:,}",
        "ideal": f"{ideal:,}",
        "per request": f"{each:,.0f}" if each >= 100 else f"{each:.3g}",
        "excess": _coloured(moved - ideal, moved > ideal),
    }
    for measure in measures_of(space):
        found = row.value(f"{space}_{op}_{measure.name}")
        told = f"{found:,}" if measure.ideal else _coloured(found, found > 0)
        cells.setdefault(measure.name, told)
    return (cells[head] for head in _heads(space, narrow))


def _coloured(amount: int, bad: bool) -> Text:
    return Text(f"{amount:,}", style="bold red" if bad else "green")


def verdict(trace: Trace, own: OwnLaunch) -> Iterator[Text]:
    """What is wrong with the kernel, what nobody tested, and how exact its results are."""
    from core.findings.unreached_accesses import touches_nothing
    from core.guessing.findings_in_doubt import in_doubt, of_guessed_contents, of_guessed_size

    if not trace.complete:
        yield Text(f"{trace.cut} {trace.note}".strip(), "yellow")
    for diagnostic in trace.build.diagnostics:
        if diagnostic.severity == "warning":
            where = f", line {diagnostic.line}" if diagnostic.line else ""
            yield Text(f"warning{where}: {diagnostic.message}", "yellow")
    resting = own.resting_on(trace)
    certain = faults(trace, own)
    for finding in trace.findings:
        if finding in certain:
            kind = finding.kind.replace("_", " ")
            yield Text.assemble((f"{kind}: ", "bold red"), finding.message)
        else:
            yield Text.assemble((f"{in_doubt(finding.kind)}: ", "bold yellow"), finding.message)
        if _leaves_a_guess(finding, own.open):
            shape = next(a.shape for a in trace.arrays if a.name == finding.array)
            yield Text(of_guessed_size(finding, shape, f"--arg {finding.array}=…"), "yellow")
        if names := resting.get(finding, ()):
            first = f"--arg {names[0]}="
            yield Text(of_guessed_contents(finding, resting, first.__add__), "yellow")
    if touches_nothing(trace):
        yield Text(f"Nothing was tested: no thread touched memory.{_because(trace, own)}", "yellow")
    elif trace.findings and not certain:
        yield Text("No other fault was found.", "green")
    elif not trace.findings:
        clean = "No races, uninitialised reads or accesses out of bounds."
        part = "No accesses out of bounds; races and uninitialised reads were not looked for."
        until = "Until then: " if trace.cut else ""
        yield Text(f"{until}{clean if trace.checked else part}", "green")
    if trace.workload.rung is None and not touches_nothing(trace):
        yield from _untested(trace, own)
    for name, error in errors(trace).items():
        yield Text(f"{name} differs from NumPy in float64 by at most {error:.3g}.")


def _untested(trace: Trace, own: OwnLaunch) -> Iterator[Text]:
    from core.findings.unreached_accesses import untested_lines

    lines = untested_lines(trace)
    if lines:
        shown = listing([str(line) for line in lines[:_MOST_UNTESTED]])
        more = f" and {len(lines) - _MOST_UNTESTED} more" if len(lines) > _MOST_UNTESTED else ""
        what = f"line{'s' * (len(lines) > 1)} {shown}{more}"
        yield Text(f"Not tested: no thread came to {what}.{_because(trace, own)}", "yellow")


def _because(trace: Trace, own: OwnLaunch) -> str:
    """The numbers that the conditions above the first untested line look at."""
    from core.findings.unreached_accesses import deciding, untested_lines

    lines = untested_lines(trace)
    numbers = deciding(trace, lines[0]) if lines else {}
    said = [f"{n} = {v}{' (a guess)' * (n in own.guessed)}" for n, v in numbers.items()]
    return f" The conditions there look at {listing(said)}: choose others." if said else ""


# -- what --l1 adds: the L1 estimate as plain data and as tables -----------------------------------


def _l1_as_json(estimate: L1Estimate) -> dict[str, Any]:
    """The estimate as plain data; `hit_rate` is null where nothing was loaded."""
    from core.rules.l1_cache import DEVICE

    model = estimate.model
    return {
        "device": DEVICE,
        "sms": model.sms,
        "resident_blocks": model.resident,
        "bytes": model.nbytes,
        "extrapolated": estimate.extrapolated,
        "total": _count(estimate.total),
        "by_array": {name: _count(count) for name, count in estimate.by_array.items()},
        "by_line": {str(line): _count(count) for line, count in estimate.by_line.items()},
    }


def _show_l1(estimate: L1Estimate, source: str, console: Terminal) -> None:
    """Print the tables and what they rest on."""
    arrays: list[tuple[tuple[str, ...], L1Count]] = [
        ((name,), count) for name, count in estimate.by_array.items()
    ]
    if len(arrays) > 1:
        arrays.append((("all",), estimate.total))
    console.print(_table("L1 estimate by array, loads", ("array",), arrays))
    texts = source.splitlines()
    lines = [((str(n), _code(texts, n)), count) for n, count in estimate.by_line.items()]
    console.print(_table("L1 estimate by source line, loads", ("line", "source"), lines))
    console.say(_basis(estimate))


def _table(
    title: str, labels: tuple[str, ...], rows: Iterable[tuple[tuple[str, ...], L1Count]]
) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for label in labels:
        right = label == "line"
        table.add_column(label, justify="right" if right else "left", no_wrap=label == "source")
    for head in ("sectors", "hits", "hit rate"):
        table.add_column(head, justify="right", no_wrap=True)
    for texts, count in rows:
        rate = "" if count.hit_rate is None else f"{count.hit_rate:.1%}"
        cells = (Text(text, overflow="ellipsis") for text in texts)
        table.add_row(*cells, f"{count.sectors:,}", f"{count.hits:,}", rate)
    return table


def _basis(estimate: L1Estimate) -> str:
    from core.rules.l1_cache import DEVICE

    model = estimate.model
    text = f"L1 of an {DEVICE}: {model.sms} SMs, {model.nbytes // 1024} KiB each."
    if not estimate.extrapolated:
        return f"{text} Every block had an SM to itself and its data fitted."
    return (
        f"{text} SMs had several blocks (up to {model.resident} at a time), or data did not fit: "
        "docs/l1.md gives the error of such estimates."
    )


def _count(count: L1Count) -> dict[str, Any]:
    return {"sectors": count.sectors, "hits": count.hits, "hit_rate": count.hit_rate}
