"""Sentences of the benchmark page: what runs, how far it is, how it ended. No Qt here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.gpu.result import Readings
from core.gpu.statistics import summarise
from gui.scenes.bench_measured import parameters_text
from gui.scenes.text import capital, grouped, plural

if TYPE_CHECKING:
    from core.gpu.plan import Point
    from core.gpu.result import DeviceReport
    from core.gpu.updates import Progress
    from gui.scenes.bench_measured import Measured
    from gui.scenes.bench_model import BenchModel, Live


def state_sentence(model: BenchModel) -> str:
    """What the page can do, or does."""
    progress = model.progress
    if progress is not None:
        return _running(model, progress)
    if model.left or model.failed or model.closed_lanes:
        return ended_sentence(model)
    if model.devices:
        return f"Ready: {_gpus(model.devices)}."
    if model.trouble:
        elsewhere = " These results were recorded elsewhere." if model.measured else ""
        return f"{model.trouble}{elsewhere}"
    return "Looking for a GPU …"


def _gpus(devices: Sequence[DeviceReport]) -> str:
    """The GPUs by name; those that are alike together."""
    alike = Counter((device.name, device.sms) for device in devices)
    return "; ".join(
        f"{name}, {sms} SMs" if count == 1 else f"{count} × {name}, {sms} SMs each"
        for (name, sms), count in alike.items()
    )


def point_text(point: Point) -> str:
    """A kernel and its parameters in short."""
    sizes = parameters_text(point.parameters)
    return f"{point.title} ({sizes})" if sizes else point.title


def _running(model: BenchModel, progress: Progress) -> str:
    parts = [f"{progress.done} of {progress.total}"]
    if progress.failed:
        parts[0] += f", {progress.failed} failed"
    if model.stopping:
        parts.append("stopping; what was measured is kept")
    elif model.paused:
        waits = all(live.done for live in model.live.values())
        parts.append("paused" if waits else "pausing when this launch is measured")
    elif progress.left_s is not None:
        parts.append(f"{clock(progress.left_s)} left")
    for lane, live in model.live.items():
        if live.done:
            continue
        where = f" on {lane}" if len(model.live) > 1 else ""
        parts.append(f"{live.doing}{where}")
    sensed = next((live.readings for live in reversed(model.live.values())), Readings())
    return capital("; ".join(parts)) + _with_comma(readings_text(sensed)) + "."


def _with_comma(text: str) -> str:
    return f"; {text}" if text else ""


def readings_text(readings: Readings) -> str:
    """Clocks, temperature and power as they were read, those that were."""
    values = (
        (readings.sm_mhz, "SM {:,.0f} MHz"),
        (readings.memory_mhz, "memory {:,.0f} MHz"),
        (readings.temperature_c, "{:.0f} °C"),
        (readings.power_w, "{:.0f} W"),
    )
    shown = [form.format(value).replace(",", "\u202f") for value, form in values if value]
    return ", ".join(shown)


def ended_sentence(model: BenchModel) -> str:
    """How the last sweep ended."""
    parts = []
    if model.failed:
        kinds = ", ".join(
            dict.fromkeys(o.failure.title for o in model.failed if o.failure is not None)
        )
        parts.append(f"{plural(len(model.failed), 'launch', 'launches')} failed ({kinds})")
    parts += [f"{lane} was given up: {why.rstrip('.')}" for lane, why in model.closed_lanes.items()]
    if model.left:
        parts.append(f"{plural(len(model.left), 'launch', 'launches')} not measured")
    return f"{capital('; '.join(parts))}. All else is below." if parts else "Done."


def failure_sentence(model: BenchModel) -> str:
    """The last failure of the sweep, whole; empty without one."""
    if not model.failed:
        return ""
    last = model.failed[-1]
    assert last.failure is not None
    kept = ""
    if last.result is not None:
        kept = f" Its first {plural(len(last.result.samples_ms), 'launch', 'launches')} are kept."
    return f"{point_text(last.point)}: {last.failure.message}{kept}"


def live_sentence(live: Live) -> str:
    """What the plot of launches shows while they come."""
    text = point_text(live.point)
    if not live.times:
        return f"{text}: {live.doing} …"
    summary = summarise(live.times)
    flops = live.begun.flops if live.begun is not None else None
    rate = "" if flops is None else f", {grouped(round(flops / summary.median / 1e6))} GFLOPS"
    launches = plural(len(live.times), "launch", "launches")
    return f"{text}: {launches}, median {summary.median:.4g} ms{rate}, running."


def measured_sentence(measured: Measured) -> str:
    """What the plot of a result's launches shows."""
    result = measured.result
    sizes = parameters_text(result.parameters)
    title = f"{result.title} ({sizes})" if sizes else result.title
    if result.ok is False:
        return f"{title}: a wrong result, so it was not timed."
    where = f"{measured.when} on {result.device.name}"
    parts = [plural(len(result.samples_ms), "launch", "launches")]
    if result.median_ms is not None:
        parts.append(f"median {result.median_ms:.4g} ms")
    parts.append("checked against float64" if result.ok else "not checked")
    if measured.failure is not None:
        parts.append(f"cut off: {measured.failure.title}")
    readings = readings_text(result.readings)
    return f"{title}, {where}: {', '.join(parts)}{_with_comma(readings)}."


def counting_sentence(left: int) -> str:
    """How many ceilings are still to come; empty when none is."""
    return f"{plural(left, 'ceiling is', 'ceilings are')} still being counted." if left else ""


def rates_of(times_ms: Sequence[float], flops: int | None) -> list[float]:
    """GFLOPS of each launch, or its milliseconds where the work is not known."""
    return [flops / (ms * 1e6) if flops is not None else ms for ms in times_ms if ms > 0]


def clock(seconds: float) -> str:
    """65.2 as "1 min 5 s"."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
