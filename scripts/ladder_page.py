"""Makes docs/ladder.md and its picture from what was measured and counted; nothing is typed.

    python scripts/ladder_page.py count    count rungs with new parameters: docs/ladder_counts.json
    python scripts/ladder_page.py count --all    every rung anew, as after a change of the ceilings
    python scripts/ladder_fits.py          compile every rung for other GPUs: docs/ladder_fits.json
    python scripts/ladder_page.py          write docs/ladder.md and docs/ladder.svg
    python scripts/ladder_page.py --check  only say whether they are up to date (status 1: not)

Speeds are those of resources/ladder_h200.json (scripts/measure_ladder.py), sentences those of
kernels/ladder.toml, counts those of the optimised build in the emulator.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

from ladder_fits import CAPABILITIES, FITS
from ladder_picture import NAMES, Bar, picture
from ladder_tools import HOPPER, SIZE, rungs, sizes, tuned

from core.devices.device_table import load_devices
from core.gpu.benchmark_result import CLOCK_KEPT, clock_fell
from core.ladder import load_ladder
from core.ladder.rung import Rung

HOPPER_SPEEDS = tuple(ROOT / "resources" / f"hopper_{gpu}.json" for gpu in ("h200", "h100"))
NAMES_16 = {"float16": "F16", "bfloat16": "BF16", "tf32": "TF32"}
SPEEDS = ROOT / "resources" / "ladder_h200.json"
COUNTS = ROOT / "docs" / "ladder_counts.json"
TUNING = ROOT / "docs" / "ladder_tuning.json"
PAGE, PICTURE = ROOT / "docs" / "ladder.md", ROOT / "docs" / "ladder.svg"
DEVICE = "H200"
HOPPER_SIZES = (1024, 4096, 8192)
_MHZ = 1000.0
COUNTED_AT = 256  # and at twice and three times that, from where figures are followed to SIZE
Row = Mapping[str, Any]
FELL = "↓"  # beside the clock of a row during which it fell


def counted(rung: Rung) -> dict[str, Any]:
    """What the page says of one rung's counts, as compiled."""
    from core.devices.device_table import load_devices
    from core.models.ceiling_counts import measure_rung
    from core.models.ceilings import ceilings
    from core.recording.count_launch import count

    counts = measure_rung(rung, tuned(rung), written=False, steps=(COUNTED_AT,))
    found = ceilings(counts, load_devices().find(DEVICE))
    small = rung.blank_workload(**{**tuned(rung), **sizes(rung, COUNTED_AT)})
    totals = count(small, kind="as_compiled").counters.totals
    sectors, requests = (totals[f"global_ld_{what}"].value for what in ("sectors", "requests"))
    return {
        "rung": rung.name,
        "parameters": tuned(rung),
        "intensity": round(counts.intensity or 0.0, 3),
        "sectors_per_request": round(sectors / requests, 3),
        "binding": found.binding,
        "ceiling": round(found.lowest.gflops, 1),
        "note": counts.note,
    }


def counted_per_clock(rung: Rung, size: int) -> dict[str, Any]:
    """The lowest ceiling of a rung for Hopper at a size, in FLOP a clock of the whole device.

    DRAM, whose rate is no matter of the SMs' clock, does not bind there.
    """
    from core.models.ceiling_counts import measure_rung
    from core.models.ceilings import ceilings

    counts = measure_rung(rung, tuned(rung, size), written=False, steps=(COUNTED_AT,))
    found = ceilings(counts, load_devices().find(DEVICE)).at(_MHZ)
    return {
        "rung": rung.name,
        "size": size,
        "parameters": tuned(rung, size),
        "binding": found.binding,
        "flop_per_clock": round(found.lowest.gflops / _MHZ * 1e3, 1),
    }


def count_rungs(*, anew: bool) -> None:
    """Writes COUNTS; unless `anew`, rungs that are there with the same parameters stay."""
    known: dict[tuple[str, int], Row] = {}
    if COUNTS.exists() and not anew:
        found = json.loads(COUNTS.read_text(encoding="utf-8"))
        known = {(row["rung"], 0): row for row in found["rows"]}
        known |= {(row["rung"], row["size"]): row for row in found["hopper"]}
    ladder = load_ladder()
    wanted = [(rung, 0) for rung in rungs() if rung.name not in HOPPER]
    # Blocks that stay do more the larger N is, so their counts cannot be followed to it.
    followed = [ladder[name] for name in HOPPER if "blocks" not in ladder[name].defaults]
    wanted += [(rung, size) for rung in followed for size in HOPPER_SIZES]
    rows: dict[str, list[Row]] = {"rows": [], "hopper": []}
    for rung, size in wanted:
        row = known.get((rung.name, size), {})
        if row.get("parameters") != tuned(rung, size or SIZE):
            row = counted_per_clock(rung, size) if size else counted(rung)
            print(row, flush=True)
        rows["hopper" if size else "rows"].append(row)
    parts = (
        f'"{name}": [\n' + ",\n".join(json.dumps(one) for one in part) + "\n]"
        for name, part in rows.items()
    )
    COUNTS.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")


def _rows(path: Path) -> list[Row]:
    found: list[Row] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return found


@dataclass(frozen=True)
class Clock:
    """The lowest SM clock read while a row was timed, and the GPU's highest, in MHz."""

    lowest: float
    highest: float

    @property
    def fell(self) -> bool:
        """Whether the row is compared with nothing."""
        return clock_fell(self.lowest, self.highest)

    @property
    def text(self) -> str:
        """The clock, marked where it fell."""
        return f"{self.lowest:,.0f}{' ' + FELL if self.fell else ''}"


def _ratio(rate: float, other: float, form: str, *clocks: Clock) -> str:
    """One rate over another; nothing where the clock of either fell."""
    return "" if any(clock.fell for clock in clocks) else format(rate / other, form)


def page() -> tuple[str, str]:
    """The page and its picture."""
    speeds = json.loads(SPEEDS.read_text(encoding="utf-8"))
    measured = [r for r in speeds["rows"] if r["size"] == SIZE]
    counts = {row["rung"]: row for row in _rows(COUNTS)}
    rates = {row["rung"]: row["gflops"] for row in measured}
    clocks = {row["rung"]: Clock(min(row["sm_mhz"]), speeds["clock_mhz"]) for row in measured}
    shown = [rung for rung in rungs() if rung.name in rates and rung.name in counts]
    bars = [
        Bar(
            f"{rung.number} {rung.name}",
            rates[rung.name],
            counts[rung.name]["ceiling"],
            rung.arithmetic,
        )
        for rung in shown
    ]
    marks = {a: rates[f"cublas {a}"] for a in NAMES if f"cublas {a}" in rates}
    text = "\n\n".join(
        [
            "# The ladder",
            _introduction(speeds, marks),
            "![Each rung's GFLOPS, its ceiling and cuBLAS](ladder.svg)",
            "\n".join(_table(shown, rates, clocks, counts)),
            _reading(speeds["clock_mhz"]),
            "## Other sizes",
            "\n".join(_other_sizes(speeds)),
            "## Hopper",
            "\n".join(_hopper()),
            "## Parameters",
            "\n".join(_parameters(shown)),
            "## Other GPUs",
            "\n".join(_other_gpus(shown)),
            "## Right",
            _right(speeds),
            "## Tuning",
            "\n".join(_tuning()),
        ]
    )
    return text + "\n", picture(bars, marks)


def _introduction(speeds: Row, marks: Mapping[str, float]) -> str:
    tensor = [f"{rate:,.0f} with {NAMES[a]}" for a, rate in marks.items() if a != "float32"]
    return (
        "Written by `scripts/ladder_page.py`; every figure is measured or counted.\n\n"
        f"{SIZE} x {SIZE} matrices on an {speeds['gpu']} (driver {speeds['driver']}, NVRTC "
        f"{speeds['nvrtc']}, {speeds['date']}), each launch after a flush of the L2 cache, medians "
        "of launches that took turns with cuBLAS. cuBLAS reaches "
        f"{marks['float32']:,.0f} GFLOPS in float32, {' and '.join(tensor)}."
    )


def _table(
    shown: Sequence[Rung],
    rates: Mapping[str, float],
    clocks: Mapping[str, Clock],
    counts: Mapping[str, Row],
) -> list[str]:
    heads = (
        "rung", "GFLOPS", "SM MHz", "of cuBLAS", "FLOP/B", "sectors a request", "ceiling", "of it",
        "",
    )  # fmt: skip
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * 7 + "---|"]
    for rung in shown:
        rate, row, clock = rates[rung.name], counts[rung.name], clocks[rung.name]
        library = f"cublas {rung.arithmetic}"
        cells = (
            f"[{rung.number} {rung.name}](../kernels/{rung.source_file.name})",
            f"{rate:,.0f}",
            clock.text,
            _ratio(rate, rates[library], ".1%", clock, clocks[library]),
            f"{row['intensity']:.3g}",
            f"{row['sectors_per_request']:.3g}",
            f"{row['ceiling']:,.0f} ({row['binding']})",
            _ratio(rate, row["ceiling"], ".0%", clock),
            rung.summary,
        )
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _reading(highest: float) -> str:
    return (
        f"`SM MHz` is the lowest clock that was read after a launch of that row; {highest:,.0f} is "
        f"the highest there is. {FELL} marks one below {CLOCK_KEPT:.0%} of that: such a row is "
        "compared with nothing. "
        "`of cuBLAS` compares with cuBLAS in the same arithmetic, on arrays of the same types: "
        "TF32 or F16 for the rungs on tensor cores, float32 for the rest. `FLOP/B` is the work "
        "over the bytes that loads from global memory ask for; `sectors a request` is the mean "
        "over those loads. `ceiling` is the lowest of the rates that [ceilings.md](ceilings.md) "
        "explains; `of it` says how near the rung is."
    )


def _other_sizes(speeds: Row) -> Iterator[str]:
    yield "| N | rung | parameters | GFLOPS | SM MHz | cuBLAS | SM MHz | of cuBLAS |"
    yield "|---:|---|---|---:|---:|---:|---:|---:|"
    ladder, rows = load_ladder(), speeds["rows"]
    yardsticks = {(r["size"], r["rung"]): r for r in rows if "cublas" in r["rung"]}
    for row in sorted(rows, key=lambda row: int(row["size"])):
        if row["size"] == SIZE or row["rung"].startswith("cublas"):
            continue
        rung = ladder[row["rung"]]
        library = yardsticks[row["size"], f"cublas {rung.arithmetic}"]
        own, theirs = (Clock(min(r["sm_mhz"]), speeds["clock_mhz"]) for r in (row, library))
        usual = tuned(rung)
        different = {k: v for k, v in row["parameters"].items() if usual[k] != v and k not in "mkn"}
        yield (
            f"| {row['size']} | {rung.name} | {_settings(different) or 'as below'} | "
            f"{row['gflops']:,.0f} | {own.text} | {library['gflops']:,.0f} | {theirs.text} | "
            f"{_ratio(row['gflops'], library['gflops'], '.1%', own, theirs)} |"
        )


def _settings(values: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _hopper() -> Iterator[str]:
    """The rungs for Hopper beside cuBLAS, by machine, size and type of the factors."""
    yield (
        "The rungs that use Hopper's own instructions (`scripts/measure_hopper.py`). Sums are "
        "float32 everywhere. TFLOPS, medians of launches that took turns. The rungs store C as "
        "float32, and are compared with cuBLAS that does so, and with cuBLAS that stores 16 bits; "
        "the BF16 rows are the same kernels with the type exchanged, and `clustered_tf32` takes B "
        "transposed. `fast.cu 11` is the fastest kernel of github.com/pranjalssh/fast.cu "
        "(38eb642), which takes B transposed and stores 16 bits. `MHz` is the median clock of the "
        "SMs during the launches, by their own counters, and `of it` the rate over the lowest "
        "ceiling at that clock ([ceilings.md](ceilings.md)); for cuBLAS, fast.cu and the rungs "
        "whose blocks stay it is the rate over what the tensor cores can do. Both are missing "
        "where a launch takes less than 0.1 ms. A row for which NVML read less than 98% of the "
        "highest clock is compared with nothing."
    )
    lowest = {
        (f"{load_ladder()[row['rung']].number} {row['rung']}", row["size"]): row
        for row in json.loads(COUNTS.read_text(encoding="utf-8"))["hopper"]
    }
    for binding in dict.fromkeys(row["binding"] for row in lowest.values()):
        of = dict.fromkeys(row["rung"] for row in lowest.values() if row["binding"] == binding)
        yield ""
        yield f"`{binding}` binds {', '.join(f'`{name}`' for name in of)}."
    for path in HOPPER_SPEEDS:
        found = json.loads(path.read_text(encoding="utf-8"))
        by = {(r["size"], r["type"], r["name"]): r for r in found["rows"]}
        clocked = any(row.get("launch_mhz") for row in found["rows"])
        kinds = tuple(dict.fromkeys(kind for _, kind, _ in by))
        yield ""
        yield (
            f"### {found['gpu']}\n\nDriver {found['driver']}, NVRTC {found['nvrtc']}, "
            f"{found['date']}."
        )
        for size in dict.fromkeys(size for size, _, _ in by):
            columns = ("MHz", "of it") * clocked + ("of cuBLAS, C float32", "C 16 bits")
            yield ""
            heads = [head for kind in kinds for head in (NAMES_16[kind], *columns)]
            yield f"| N = {size} | {' | '.join(heads)} |"
            yield "|---|" + "---:|" * ((1 + len(columns)) * len(kinds))
            for name in dict.fromkeys(name for one, _, name in by if one == size):
                cells: list[str] = []
                for kind in kinds:
                    row = by.get((size, kind, name))
                    if row is None:
                        cells += [""] * (1 + len(columns))
                        continue
                    cells.append(f"{row['tflops']:,.1f}")
                    cells += _in_launch(row, kind, lowest.get((name, size))) if clocked else ()
                    for end in ("C float32", "C 16 bits"):
                        others = [
                            one
                            for (at, of, other), one in by.items()
                            if (at, of) == (size, kind) and other.endswith(end)
                        ]
                        best = max(others, key=lambda one: one["tflops"], default=None)
                        if name.startswith("cuBLAS") or best is None:
                            cells.append("")
                        else:
                            cells.append(_hopper_ratio(row, best, found))
                yield f"| {name} | {' | '.join(cells)} |"


def _in_launch(row: Row, kind: str, lowest: Row | None) -> tuple[str, str]:
    """The SMs' clock, and the rate over the `lowest` ceiling, or that of busy tensor cores."""
    if not row["launch_mhz"]:
        return "", ""
    mhz = median(row["launch_mhz"])
    if lowest is not None:
        peak = lowest["flop_per_clock"] * mhz / 1e6
    else:
        device = replace(load_devices().find(DEVICE), boost_mhz=mhz)
        peak = device.tensor_gflops / 1e3 / (2 if kind == "tf32" else 1)
    return f"{mhz:,.0f}", f"{row['tflops'] / peak:.0%}"


def _hopper_ratio(row: Row, other: Row, found: Row) -> str:
    clocks = [Clock(min(one["sm_mhz"]), found["clock_mhz"]) for one in (row, other)]
    return _ratio(row["tflops"], other["tflops"], ".1%", *clocks)


def _parameters(shown: Sequence[Rung]) -> Iterator[str]:
    yield "| rung | tuned |"
    yield "|---|---|"
    for rung in shown:
        yield from (f"| {rung.name} | {_settings(one)} |" for one in rung.tuned)
    yield ""
    yield (
        "Neighbours with equal parameters differ in their idea alone. Where a rung has several "
        "sets, its row in `kernels/ladder.toml` says by what cost one of them is taken for the "
        "sizes at hand; nobody who runs it has to choose."
    )


def _other_gpus(shown: Sequence[Rung]) -> Iterator[str]:
    fits = {row["rung"]: row["fits"] for row in _rows(FITS)}
    yield (
        "The measurements are of an H200 only. For other GPUs `scripts/ladder_fits.py` compiles "
        "each rung with its tuned parameters: the registers of a thread, the shared memory "
        "of a block, and the blocks that an SM of each compute capability then holds (8.0 is the "
        "A100, 8.6 the RTX 30 series, 8.9 the RTX 40 series, 9.0 the H100 and H200)."
    )
    yield ""
    yield f"| rung | registers | shared bytes | {' | '.join(CAPABILITIES)} |"
    yield "|---|---:|---:|" + "---:|" * len(CAPABILITIES)
    for rung in shown:
        found = fits[rung.name]
        registers = sorted({one["registers"] for one in found.values()})
        span = f"{registers[0]} to {registers[-1]}" if len(registers) > 1 else f"{registers[0]}"
        blocks = " | ".join(str(found[one]["blocks"]) for one in CAPABILITIES)
        shared = found[CAPABILITIES[-1]]["shared_bytes"]
        yield f"| {rung.name} | {span} | {shared:,} | {blocks} |"
    refused = [r.name for r in shown if not all(one["blocks"] for one in fits[r.name].values())]
    if refused:
        yield ""
        yield (
            "0: a block needs more shared memory than the GPU has, and the GPU refuses the "
            f"launch. There, give smaller tiles or fewer stages to {' and '.join(refused)}."
        )


def _right(speeds: Row) -> str:
    checked = [r for r in speeds["rows"] if "right" in r]
    wrong = [r["rung"] for r in checked if not r["right"]]
    tools = speeds["sanitizer"]
    clean = ", ".join(f"{tool} {' '.join(said['summary'])}" for tool, said in tools.items())
    launches = next(iter(tools.values()))["launches"]
    verdict = "every one was right" if not wrong else f"wrong were {', '.join(wrong)}"
    return (
        f"Before timing, each of the {len(checked)} launches above was compared with float64, to "
        f"within the rounding bound for its K and its arithmetic: {verdict}. compute-sanitizer "
        f"watched {launches} small launches of all rungs and warm-ups: {clean}. The same launches' "
        "outputs equal the emulator's to the last bit, in both builds, "
        "and their counters equal its counts (`tests/core/ladder/test_rung_launches.py`)."
    )


def _tuning() -> Iterator[str]:
    found = json.loads(TUNING.read_text(encoding="utf-8"))
    yield (
        "`scripts/tune_ladder.py` tried these combinations, without flushing the cache; all are in "
        "[ladder_tuning.json](ladder_tuning.json). The best of each rung and N, measured in turns "
        "with cuBLAS. The SM clock was not recorded there, so rows of different N or arithmetic "
        "are not to be compared:"
    )
    yield ""
    yield "| rung | N | tried | best | GFLOPS | cuBLAS |"
    yield "|---|---:|---:|---|---:|---:|"
    measures = ("gflops", "gflops_in_turns", "registers", "right", "failed")
    for rung in found["rungs"]:
        final = [row for row in rung["rows"] if "gflops_in_turns" in row]
        best = max(final, key=lambda row: row["gflops_in_turns"])
        settings = _settings({k: v for k, v in best.items() if k not in measures})
        yield (
            f"| {rung['rung']} | {rung['size']} | {len(rung['rows'])} | {settings} | "
            f"{best['gflops_in_turns']:,.0f} | {rung['cublas'][1]:,.0f} |"
        )


def main() -> int:
    """Counts, writes or checks; 1 where a check finds the page out of date."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", nargs="?", choices=("count",))
    parser.add_argument("--check", action="store_true", help="only compare")
    parser.add_argument("--all", action="store_true", help="count every rung")
    options = parser.parse_args()
    if options.step == "count":
        count_rungs(anew=options.all)
        return 0
    made = dict(zip((PAGE, PICTURE), page(), strict=True))
    if options.check:
        return int(any(path.read_text(encoding="utf-8") != text for path, text in made.items()))
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
