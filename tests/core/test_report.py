"""Reports: their figures are the trace's, and their text cannot be taken for anything else."""

import json
import re
from dataclasses import replace

import pytest

from core.cli.app import main
from core.devices.device_table import load_devices
from core.ladder import load_ladder
from core.recording.record_launch import record
from core.recording.trace_files import save_trace
from core.report import as_html, as_markdown, report_of, warp_svg


@pytest.fixture(scope="module")
def broken():
    rung = load_ladder()["broken_fill_barrier"]
    return record(rung.workload_of("random", 5, n=12, tile=4))


@pytest.fixture(scope="module")
def strided():
    return record(load_ladder()["uncoalesced"].workload_of("random", 5, n=32, block_y=2))


def table(report, heading):
    return next(t for t in report.tables if t.heading == heading)


@pytest.mark.slow
def test_the_figures_are_the_traces(strided):
    report = report_of(strided, device=load_devices().find("NVIDIA H200"))
    totals = strided.counters.totals
    rows = {row[0]: row for row in table(report, "Counters").rows}
    assert {name for name, count in totals.items() if count.value} == set(rows)
    for name, row in rows.items():
        assert int(row[1].replace(",", "")) == totals[name].value
        assert not row[2] or int(row[2].replace(",", "")) == totals[name].ideal
    lines = {int(row[0]): row for row in table(report, "By line").rows}
    source = strided.workload.source.split("\n")
    for line, row in lines.items():
        assert row[1] == source[line - 1].strip()
        counts = strided.counters.by_line[line]
        cost = sum(counts[f"global_{way}_sectors"].value for way in ("ld", "st"))
        assert row[2].startswith(f"{cost:,} / ")
    assert any(row[3] == "binds" for row in table(report, "Ceilings on H200").rows)
    assert table(report, "Measured on NVIDIA H200").rows
    assert "where" in report.verdict
    assert report.pictures


def test_faults_have_their_sentences_lines_and_pictures(broken):
    report = report_of(broken)
    assert len(report.faults) == len(broken.findings) == 2
    html, text = as_html(report), as_markdown(report)
    for fault, finding in zip(report.faults, broken.findings, strict=True):
        assert fault.sentence == finding.message
        assert fault.picture.startswith("<svg")
        assert fault.code in broken.workload.source
    assert html.count("<svg") == 2 + len(report.pictures)
    assert "2 faults found" in text
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)|<script|<link", html)


def test_a_warps_picture_links_its_lanes(strided):
    block = strided.block(0)
    access = next(a for s in block.access_steps if (a := block.access(int(s))).target == "A")
    svg = warp_svg(access)
    assert svg.count("<path") == 32
    assert "32 sectors where 4 would do" in svg


def test_foreign_text_stays_text(tmp_path, capsys):
    file = tmp_path / "x.cu"
    file.write_text(
        "// <script>alert(1)</script> | `x` \x1b[31m\n"
        "__global__ void k(float* a) { a[threadIdx.x] = 1.0f; } // <b>|\n"
    )
    for ending in ("html", "md"):
        out = tmp_path / f"r.{ending}"
        assert main(["report", str(file), "-o", str(out), "--device", "none"]) == 0
        text = out.read_text("utf-8")
        assert "<script" not in text
        assert "\x1b" not in text
    rows = [line for line in text.splitlines() if line.startswith("| 2 |")]
    assert rows
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 4 for row in rows)
    assert "nothing is wasted" in capsys.readouterr().out


def test_a_report_has_the_counts_of_trace(tmp_path, capsys):
    """The same options give the same arrays: here they decide which lanes store."""
    file, out = tmp_path / "half.cu", tmp_path / "r.md"
    file.write_text(
        "__global__ void half(const float* a, float* b) {\n"
        "  int i = threadIdx.x;\n  if (a[i] < 0.5f) b[8 * i] = 1.0f;\n}\n"
    )
    given = [str(file), "--grid", "1", "--block", "32", "--shared", "4"]
    given += ["--arg", "a=float32[32]", "--arg", "b=zeros:float32[256]"]
    assert main(["trace", *given, "--json"]) == 0
    stored = json.loads(capsys.readouterr().out)["counters"]["global_st_sectors"]
    assert 0 < stored < 32
    assert main(["report", *given, "-o", str(out)]) == 0
    assert f"| `global_st_sectors` | {stored} |" in out.read_text("utf-8")


def test_a_wrong_name_is_a_sentence(tmp_path, capsys):
    assert main(["report", "tiled", "-o", str(tmp_path / "r.doc")]) == 2
    assert "end its name with .html, .md or .pdf" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_a_changed_text_has_no_times_and_ceilings_of_its_own():
    rung = load_ladder()["copy_stride"]
    before = rung.workload_of("random", 5, n=512)
    twice = before.source.replace("C[i] =", "C[i] = 2.0f +", 1)
    assert twice != before.source
    trace = record(replace(before, source=twice))
    report = report_of(trace, device=load_devices().find("NVIDIA H200"))
    assert not [t for t in report.tables if t.heading.startswith("Measured")]
    assert report_of(record(before)).tables[-1].heading == "Measured on NVIDIA H200"


def test_the_bytes_that_lanes_ask_for_are_drawn_where_they_lie():
    trace = record(load_ladder()["copy_offset"].workload_of("random", 5, n=128, offset=7))
    block = trace.block(0)
    access = next(a for a in map(block.access, block.access_steps.tolist()) if a.target == "A")
    used = re.findall(r'<rect x="([\d.]+)" y="80" width="([\d.]+)" height="22" fill="#0072b2"/>',
                      warp_svg(access))  # fmt: skip
    boxes = re.findall(r'<rect x="([\d.]+)" y="80" width="([\d.]+)" height="22" fill="#dcc0c0"/>',
                       warp_svg(access))  # fmt: skip
    assert len(used) == len(boxes) == 5
    first, wide = map(float, boxes[0])
    assert abs(float(used[0][0]) - (first + wide * 28 / 32)) < 0.2  # the last four bytes of it
    assert abs(float(used[0][1]) - wide * 4 / 32) < 0.2
    assert abs(float(used[-1][0]) - float(boxes[-1][0])) < 0.2
    assert abs(float(used[-1][1]) - wide * 28 / 32) < 0.2


def test_a_text_that_does_not_compile_is_shown_at_its_line(tmp_path, capsys):
    file = tmp_path / "x.cu"
    file.write_text("__global__ void k(float* a) {\n  a[0] = b;\n}\n")
    assert main(["report", str(file), "-o", str(tmp_path / "r.html")]) == 2
    said = capsys.readouterr().err
    assert "2 |   a[0] = b;" in said
    assert not (tmp_path / "r.html").exists()


def test_a_saved_trace_takes_no_settings(tmp_path, capsys):
    assert main(["report", "x.npz", "-o", str(tmp_path / "r.md"), "--set", "n=9"]) == 2
    assert "leave out n" in capsys.readouterr().err


def test_a_saved_trace_is_one_whatever_its_name(strided, tmp_path):
    saved, out = tmp_path / "kept.trace", tmp_path / "r.md"
    save_trace(strided, saved)
    assert main(["report", str(saved), "-o", str(out)]) == 0
    assert out.read_text("utf-8") == as_markdown(
        report_of(strided, None, load_devices().find("NVIDIA H200"))
    )


GUESSED = """
__global__ void reverse(const float *in, float *out, int n)
{
    __shared__ float s[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (i < n) s[t] = in[i];
    out[i] = s[blockDim.x - 1 - t];
}
"""


def test_a_fault_that_rests_on_a_guess_says_so_and_its_lanes_are_red(tmp_path, capsys):
    (tmp_path / "race.cu").write_text(GUESSED)
    given = ["report", str(tmp_path / "race.cu"), "--device", "none", "--arg", "n=250"]
    caveat = "The size of out, 250, was guessed"
    for ending in ("html", "md"):
        out = tmp_path / f"r.{ending}"
        assert main([*given, "-o", str(out)]) == 0
        assert out.read_text("utf-8").count(caveat) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "3 faults found: race, out of bounds, uninitialised." in said
    assert "below" not in said
    assert main([*given, "--arg", "out=zeros:float32[200]", "-o", str(tmp_path / "r.html")]) == 0
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "was guessed" not in page, "it was given"
    red = re.findall(r'<text x="[^"]*" y="14"[^>]*>(\d+)</text><path d="[^"]*" stroke="#fff"', page)
    assert [int(lane) for lane in red] == [*range(8, 32)]
    assert page.count('fill="#b3261e"') == len(red)
    assert "lanes 8 to 31: out of bounds" in page


def test_no_fewer_would_do_where_nothing_is_wasted(strided):
    block = strided.block(0)
    access = next(a for s in block.access_steps if (a := block.access(int(s))).target == "B")
    assert "1 sector, and no fewer would do" in warp_svg(access)
