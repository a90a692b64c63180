"""Benchmark results as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich import box
from rich.table import Table

from core.gpu.result import BenchmarkResult

_NUMBERS = ("GFLOPS", "p5", "p95", "median ms", "GB/s")


def _text(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def result_table(result: BenchmarkResult) -> Table:
    """One result, a fact a row."""
    table = Table(
        title=f"{result.title} ({_sizes(result)})", show_header=False, title_justify="left"
    )
    for name, text in _rows(result):
        table.add_row(name, text)
    return table


def recorded_tables(results: Sequence[BenchmarkResult], word: str = "Recorded") -> Iterator[Table]:
    """A table for each machine and day, both in plain sight; a result a row."""

    def origin(result: BenchmarkResult) -> str:
        device = result.device
        return f"{word} on {device.name}, driver {device.driver}, {result.date[:10]}"

    for title, rows in groupby(results, origin):
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
        for heading in ("kernel", "parameters", *_NUMBERS):
            table.add_column(heading, justify="right" if heading in _NUMBERS else "left")
        for result in rows:
            table.add_row(
                result.rung or result.series,
                _sizes(result),
                "wrong result" if result.ok is False else _text(result.gflops, ",.0f"),
                _text(result.gflops_p5, ",.0f"),
                _text(result.gflops_p95, ",.0f"),
                _text(result.median_ms, ",.4f"),
                _text(result.effective_gbs, ",.1f"),
            )
        yield table


def _sizes(result: BenchmarkResult) -> str:
    return ", ".join(f"{name} = {value}" for name, value in result.parameters.items())


def _rows(result: BenchmarkResult) -> Iterator[tuple[str, str]]:
    device = result.device
    major, minor = device.compute_capability
    shared = result.static_shared_bytes + result.dynamic_shared_bytes
    yield "device", f"{device.name}, compute capability {major}.{minor}, {device.sms} SMs"
    yield "driver", f"{device.driver} (CUDA {device.cuda_driver}), NVRTC {result.nvrtc}"
    yield "launch", f"grid {_by(result.grid)}, block {_by(result.block)}"
    yield (
        "kernel",
        f"{result.kernel}: {result.registers} registers, {shared:,} bytes of shared memory",
    )
    yield from _verdicts(result)
    if result.median_ms is not None:
        yield (
            "time",
            f"median {result.median_ms:.4f} ms; 5 % under {result.p5_ms:.4f}, 95 % under "
            f"{result.p95_ms:.4f}; {len(result.samples_ms)} launches (ended: {result.ended})",
        )
    if result.gflops is not None:
        yield (
            "rate",
            f"{result.gflops:,.1f} GFLOPS; 5 % under {result.gflops_p5:,.1f}, 95 % under "
            f"{result.gflops_p95:,.1f}",
        )
    if result.effective_gbs is not None:
        yield (
            "bandwidth",
            f"{result.effective_gbs:,.1f} GB/s effective: {result.bytes_once:,} bytes, those of "
            "each array once",
        )
    written = f"flushed before each launch ({result.flush_bytes >> 20} MiB written)"
    yield "L2 cache", written if result.l2_flushed else "not flushed"
    yield "sensors", _sensors(result)
    yield "measured", result.date
    for note in result.notes:
        yield "note", note


def _verdicts(result: BenchmarkResult) -> Iterator[tuple[str, str]]:
    if not result.checks:
        yield "result", "not checked: this kernel's true result is not known"
    for check in result.checks:
        verdict = "right" if check.ok else "WRONG"
        error = "not a number" if check.max_error is None else f"{check.max_error:.3g}"
        yield "result", f"{verdict}: largest error {error}; {check.method}"
        if check.unwritten:
            yield "", f"{check.unwritten:,} elements were never written, or are NaN"


def _sensors(result: BenchmarkResult) -> str:
    readings = result.readings
    values = (
        (readings.sm_mhz, "MHz (SM)"),
        (readings.memory_mhz, "MHz (memory)"),
        (readings.temperature_c, "°C"),
        (readings.power_w, "W"),
    )
    shown = [f"{value:,.0f} {unit}" for value, unit in values if value is not None]
    return ", ".join(shown) or "not readable (NVML)"


def _by(size: tuple[int, int, int]) -> str:
    x, y, z = size
    return f"{x} x {y}" + (f" x {z}" if z != 1 else "")
