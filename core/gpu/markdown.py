"""Results as a report in Markdown: machine and versions, a table, how it was timed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from core.gpu.result import BenchmarkResult

_HEADS = ("kernel", "parameters", "GFLOPS", "p5 to p95", "median ms", "GB/s", "launches", "result")


def report(
    results: Sequence[BenchmarkResult],
    *,
    failures: Sequence[tuple[str, str]] = (),
    pictures: Mapping[str, str] | None = None,
    ceilings: Mapping[int, tuple[str, float]] | None = None,
) -> str:
    """The report of results, in their order.

    failures: what failed and why. pictures: a title and a file's name. ceilings: the binding
    ceiling's name and GFLOPS, by the result's place.
    """
    lines = ["# GPU benchmark", ""]
    numbered = list(enumerate(results))
    for origin, group in groupby(numbered, lambda item: machine(item[1])):
        lines += [f"## {origin}", "", *_table(list(group), ceilings or {}), ""]
    if failures:
        lines += ["## Failed", ""]
        lines += [f"- {_cell(text)}: {_cell(why)}" for text, why in failures]
        lines.append("")
    for title, file in (pictures or {}).items():
        lines += [f"![{title}]({file})", ""]
    return "\n".join([*lines, *_method(results)]) + "\n"


def machine(result: BenchmarkResult) -> str:
    """Where and with what it was measured: "NVIDIA H200, 2026-11-21, driver 580.1 …"."""
    device = result.device
    parts = [device.name, result.date[:10], f"driver {device.driver} (CUDA {device.cuda_driver})"]
    parts += [f"NVRTC {result.nvrtc}"] if result.architecture != "cuBLAS" else []
    parts += [f"{name} {version}" for name, version in result.software.items() if name == "pycuda"]
    return ", ".join(parts)


def _table(
    group: Sequence[tuple[int, BenchmarkResult]], ceilings: Mapping[int, tuple[str, float]]
) -> Iterator[str]:
    known = any(place in ceilings for place, _ in group)
    heads = [*_HEADS, *(["of the binding ceiling"] if known else [])]
    yield "| " + " | ".join(heads) + " |"
    yield "|---|---|" + "---:|" * 5 + "---|" + ("---:|" if known else "")
    for place, result in group:
        cells = _cells(result)
        if known:
            name, gflops = ceilings.get(place, ("", 0.0))
            share = "" if not gflops or not result.gflops else f"{result.gflops / gflops:.1%}"
            cells.append(f"{share} ({name})" if share else "")
        yield "| " + " | ".join(_cell(text) for text in cells) + " |"


def _cells(result: BenchmarkResult) -> list[str]:
    parameters = ", ".join(f"{name} = {value}" for name, value in result.parameters.items())
    spread = ""
    if result.gflops_p5 is not None and result.gflops_p95 is not None:
        spread = f"{result.gflops_p5:,.0f} to {result.gflops_p95:,.0f}"
    return [
        result.title,
        parameters,
        _number(result.gflops, 0),
        spread,
        _number(result.median_ms, 4),
        _number(result.effective_gbs, 1),
        str(len(result.samples_ms)),
        "not checked" if result.ok is None else "right" if result.ok else "WRONG",
    ]


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _method(results: Sequence[BenchmarkResult]) -> Iterator[str]:
    timed = [r for r in results if r.samples_ms]
    if not timed:
        return
    flushed = {r.l2_flushed for r in timed}
    cache = {
        frozenset({True}): "The L2 cache was flushed before every launch",
        frozenset({False}): "The L2 cache was not flushed between launches",
    }.get(frozenset(flushed), "The L2 cache was flushed before the launches of some of them")
    yield (
        "Each result was compared with float64 before it was timed, unless the table says that it "
        f"was not checked. {cache}; times are between two CUDA events around one launch, the "
        f"median of all launches after {max(r.warm_up for r in timed)} to warm up; 5 % are below "
        "p5 and 5 % above p95. A multiply-add counts as two operations. GB/s is the effective "
        "bandwidth: each array's bytes once, over the median time."
    )
    clocks = sorted({r.readings.sm_mhz for r in timed if r.readings.sm_mhz is not None})
    if clocks:
        span = f"{clocks[0]:,.0f}" + (f" to {clocks[-1]:,.0f}" if clocks[1:] else "")
        yield ""
        yield f"The SM clock read {span} MHz at the end of the timings."
