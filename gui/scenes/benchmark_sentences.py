"""Sentences of the benchmark page: what runs, how far it is, how it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from core.gpu.benchmark_result import BenchmarkResult, DeviceReport, Readings, summarise
from core.gpu.sweep import Progress
from core.gpu.sweep_plan import Point
from core.wording import clock
from gui.scenes.benchmark_results import Measured, parameters_text
from gui.scenes.benchmark_sweep import BenchModel, Live
from gui.scenes.numbers_and_sentences import capital, grouped, plural, spaced


def state_sentence(model: BenchModel) -> str:
    """What the page can do, or does."""
    progress = model.progress
    if progress is not None:
        return _running(model, progress)
    if model.cluster:
        return model.said or f"Looking for the workers at {model.cluster} …"
    if model.left or model.failed or model.closed_lanes:
        return _ended_sentence(model)
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


def _point_text(point: Point | BenchmarkResult) -> str:
    sizes = parameters_text(point.parameters)
    return f"{point.title} ({sizes})" if sizes else point.title


def _running(model: BenchModel, progress: Progress) -> str:
    parts = [f"{progress.done} of {progress.total}"]
    if progress.failed:
        parts[0] += f", {progress.failed} failed"
    if model.stopping:
        parts.append("stopping; the launches so far are kept")
    elif model.paused:
        waits = all(live.done for live in model.live.values())
        parts.append("paused" if waits else "pausing when this launch is measured")
    elif progress.left_s is not None:
        parts.append(f"{clock(progress.left_s)} left")
    if model.cluster:
        sent = sum(not live.done for live in model.live.values())
        parts.append(f"{plural(sent, 'launch', 'launches')} sent to {model.cluster}")
        return f"{capital('; '.join(parts))}. {model.said}".rstrip()
    for lane, live in model.live.items():
        if live.done:
            continue
        where = f" on {lane}" if len(model.live) > 1 else ""
        parts.append(f"{live.doing}{where}")
    sensed = next((live.readings for live in reversed(model.live.values())), Readings())
    return capital("; ".join(filter(None, (*parts, _readings_text(sensed))))) + "."


def _readings_text(readings: Readings) -> str:
    """Clocks, temperature and power as they were read, those that were."""
    values = (
        (readings.sm_mhz, "SM {:,.0f} MHz"),
        (readings.launch_mhz, "{:,.0f} MHz during the launches"),
        (readings.memory_mhz, "memory {:,.0f} MHz"),
        (readings.temperature_c, "{:.0f} °C"),
        (readings.power_w, "{:.0f} W"),
    )
    return ", ".join([form.format(value).replace(",", "\u202f") for value, form in values if value])


def _ended_sentence(model: BenchModel) -> str:
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
    """Why a sweep could not begin, or its last failure, whole; empty without one."""
    if not model.failed:
        return model.refused
    last = model.failed[-1]
    assert last.failure is not None
    kept = ""
    if last.result is not None:
        kept = f" Its first {plural(len(last.result.samples_ms), 'launch', 'launches')} are kept."
    return f"{_point_text(last.point)}: {last.failure.message}{kept}"


def live_sentence(live: Live) -> str:
    """What the plot of launches shows while they come."""
    text = _point_text(live.point)
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
    title = _point_text(result)
    if result.ok is False:
        return f"{title}: a wrong result, so it was not timed."
    where = f"{measured.when} on {result.device.name}"
    parts = [plural(len(result.samples_ms), "launch", "launches")]
    if result.median_ms is not None:
        parts.append(f"median {result.median_ms:.4g} ms")
    parts.append("checked against float64" if result.ok else "not checked")
    if measured.failure is not None:
        parts.append(f"cut off: {measured.failure.title}")
    parts += [spaced(result.clock_text)] if result.clock_fell else []
    told = filter(None, (", ".join(parts), _readings_text(result.readings)))
    return f"{title}, {where}: {'; '.join(told)}."


def counting_sentence(left: int) -> str:
    """How many ceilings are still to come; empty when none is."""
    return f"{plural(left, 'ceiling is', 'ceilings are')} still being counted." if left else ""
