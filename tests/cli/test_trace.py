"""`tilescope trace`, called as a user calls it: standard output, standard error, exit status."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from core.cli.app import main
from core.recording.trace_files import load_trace
from core.rules.counters import COUNTERS

SCALE = """extern "C" __global__ void scale(const float* A, float* B, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N)
        B[i] = 2 * A[i * STRIDE];
}
"""
SCALE_ARGS = ["--grid", "2", "--block", "32", "-D", "STRIDE=1"]
SCALE_BUFFERS = ["--arg", "A=float32[64]", "--arg", "B=zeros:float32[64]", "--arg", "N=50"]


@pytest.fixture
def scale(tmp_path):
    path = tmp_path / "scale.cu"
    path.write_text(SCALE)
    return str(path)


@pytest.fixture
def traced(capsys):
    """Run `tilescope trace … --json` and return the object that it printed."""

    def run(*arguments):
        status = main(["trace", *arguments, "--json"])
        captured = capsys.readouterr()
        result = json.loads(captured.out)
        assert status == (1 if result["hazards"] else 0), captured.err
        return result

    return run


@pytest.fixture
def refused(capsys):
    """Run a command that must fail as a user's mistake; return what it wrote to standard error."""

    def run(*arguments):
        assert main(list(arguments)) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "Traceback" not in captured.err
        return " ".join(captured.err.split())

    return run


def test_json_of_a_rung(traced):
    result = traced("tiled", "--n", "16", "--tile", "8")
    assert (result["kernel"], result["rung"], result["build"]) == ("tiled", "tiled", "as_written")
    assert (result["grid"], result["block"]) == ([2, 2, 1], [8, 8, 1])
    assert set(COUNTERS) <= set(result["counters"])
    assert set(result["counters"]) == set(result["ideal"])
    # 4 blocks x 2 phases x 2 loads x 2 warps, and 4 blocks x 2 warps of stores
    assert result["counters"]["global_ld_requests"] == 32
    assert result["counters"]["global_st_requests"] == 8
    assert result["hazards"] == []
    assert result["outputs"]["C"]["shape"] == [16, 16]
    assert result["outputs"]["C"]["dtype"] == "float32"
    assert list(result["outputs"]) == ["C"]
    assert result["error"]["C"] < 1e-5


def test_parts_add_up_to_the_totals(traced):
    result = traced("aat_shared", "--n", "32", "--tile", "16")
    for name in COUNTERS:
        for part in ("by_array", "by_line") if COUNTERS[name].way else ("by_line",):
            rows = result[part].values()
            assert sum(row[name]["value"] for row in rows) == result["counters"][name]
            assert sum(row[name]["ideal"] for row in rows) == result["ideal"][name]
    assert result["counters"]["shared_st_conflicts"] > 0
    assert set(result["by_array"]) == {"A", "C", "tile_a", "tile_b"}


def test_seed_decides_the_bytes(traced):
    digests = [
        traced("coalesced", "--n", "5", "--seed", seed)["outputs"]["C"]["sha256"]
        for seed in ("1", "1", "2")
    ]
    assert digests[0] == digests[1] != digests[2]


def test_saved_outputs_are_those_of_the_digest(traced, tmp_path):
    folder = tmp_path / "a" / "b"
    result = traced("tiled_rect", "--m", "3", "--k", "5", "--n", "7", "--save-outputs", str(folder))
    saved = np.load(folder / "C.npy")
    assert saved.shape == (3, 7)
    assert hashlib.sha256(saved.tobytes()).hexdigest() == result["outputs"]["C"]["sha256"]


def test_tile_and_set_and_blocks(traced):
    by_option = traced("coalesced", "--n", "8", "--tile", "4", "--blocks", "0")
    by_name = traced("coalesced", "--set", "n=8", "--set", "block_x=4", "--set", "block_y=4")
    assert by_option == by_name
    assert by_option["block"] == [4, 4, 1]


def test_only_the_blocks_named_are_run(traced):
    part = traced("coalesced", "--n", "1024", "--tile", "32", "--blocks", "5", "--only")
    # 32 warps, 1024 rounds: a broadcast of A and a row of B, and one store at the end.
    assert part["counters"]["global_ld_sectors"] == 32 * 1024 * (1 + 4)
    assert part["counters"]["global_st_requests"] == 32
    assert part["error"] == {}  # most of C was never computed


def test_own_kernel(traced, scale, tmp_path):
    data = np.linspace(-3, 3, 64, dtype=np.float32)
    np.save(tmp_path / "a.npy", data)
    buffers = ["--arg", f"A=@{tmp_path / 'a.npy'}", *SCALE_BUFFERS[2:]]
    out = tmp_path / "out"
    result = traced(scale, "--kernel", "scale", *SCALE_ARGS, *buffers, "--save-outputs", str(out))
    assert (result["rung"], result["source"]) == (None, "scale.cu")
    assert result["counters"]["global_ld_requests"] == 2
    assert result["error"] == {}
    expected = np.where(np.arange(64) < 50, 2 * data, 0).astype(np.float32)
    assert np.array_equal(np.load(out / "B.npy"), expected)


def test_out_of_bounds_is_a_finding_and_no_failure(traced, scale):
    arguments = [a.replace("STRIDE=1", "STRIDE=2") for a in SCALE_ARGS]
    (hazard,) = traced(scale, *arguments, *SCALE_BUFFERS)["hazards"]
    assert (hazard["kind"], hazard["line"], hazard["array"]) == ("out_of_bounds", 5, "A")


def test_the_exit_status_says_whether_faults_were_found(capsys, tmp_path, scale):
    wrong = [a.replace("STRIDE=1", "STRIDE=2") for a in SCALE_ARGS]
    assert main(["trace", scale, *SCALE_ARGS, *SCALE_BUFFERS]) == 0
    saved = str(tmp_path / "t.npz")
    assert main(["trace", scale, *wrong, *SCALE_BUFFERS, "--save", saved]) == 1
    assert main(["trace", scale, *wrong, *SCALE_BUFFERS, "--no-fail"]) == 0
    assert main(["trace", saved]) == 1
    assert main(["trace", saved, "--no-fail"]) == 0
    assert main(["trace", scale, "--kernel", "none"]) == 2
    assert "0 if no fault was found, 1 if some were, 2" in " ".join(help_of(capsys).split())


def help_of(capsys):
    capsys.readouterr()
    assert main(["trace", "--help"]) == 0
    return capsys.readouterr().out


def test_a_guessed_size_is_said_with_the_one_that_would_hold(capsys, tmp_path):
    path = tmp_path / "ends.cu"
    path.write_text(
        "__global__ void ends(const float* a, float* b, int n)\n{\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i <= n) b[i] = a[i];\n}\n"
    )
    assert main(["trace", str(path), "--json"]) == 1
    hazards = json.loads(capsys.readouterr().out)["hazards"]
    assert {(h["array"], h["needs"], h["size_is_guessed"]) for h in hazards} == {
        ("a", 251, True), ("b", 251, True)
    }  # fmt: skip
    assert main(["trace", str(path), "--arg", "a=float32[250]"]) == 1
    text = capsys.readouterr().out
    assert "The size of b, 250, was guessed, as nothing in the file says it, and 251 would" in text
    assert "The size of a" not in text


NOTHING = """__global__ void skips(float* o, const float* x, int k, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int j = 300; j < k; j++)
        o[i] += x[j];
}
"""


def test_a_verdict_on_nothing_says_so_and_what_decided(capsys, tmp_path):
    path = tmp_path / "skips.cu"
    path.write_text(NOTHING)
    assert main(["trace", str(path), "--arg", "k=2"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Nothing was tested: no thread touched memory." in text
    assert "k = 2" in text
    assert "No races" not in text
    path.write_text(NOTHING.replace("    for", "    o[i] = 1;\n    for"))
    assert main(["trace", str(path), "--arg", "k=2", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["tested"], result["untested_lines"]) == (True, [7])
    assert main(["trace", str(path), "--arg", "k=402", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["untested_lines"] == []


def test_table_for_people(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["trace", "uncoalesced", "--n", "32", "--tile", "32"]) == 0
    text = capsys.readouterr().out
    assert "Global memory by array" in text
    assert "Global memory by source line" in text
    assert "Barriers" not in text  # there are none
    assert "Shared memory" not in text
    assert "value += A[row * N + k] * B[k * N + col];" in text
    assert "No races" in text
    assert "C differs from NumPy in float64 by at most" in text


def test_what_a_misplaced_brace_costs(capsys):
    """Barriers of a warp: 2 in each of 4 phases, against 17 (16 turns of the inner loop)."""
    for kernel, each in (("tiled", 8), ("broken_inner_barrier", 68)):
        main(["trace", kernel, "--n", "64", "--tile", "16", "--counters-only"])
        text = capsys.readouterr().out
        assert f"Barriers that warps came to, summed over the warps: {each * 128:,}." in text


def test_a_constant_that_is_read_by_generic_addresses_is_marked(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "120")
    file = tmp_path / "weigh.cu"
    file.write_text(
        "__constant__ float weight[4];\n"
        'extern "C" __global__ void weigh(const float* in, float* out)\n'
        "{ out[threadIdx.x] = weight[threadIdx.x % 4] * in[threadIdx.x]; }\n",
        "utf-8",
    )
    main(["trace", str(file), "--grid", "1", "--block", "32", "--arg", "in=random:float32[32]"])
    out = capsys.readouterr().out
    assert "weight (constant)" in out
    assert "in (constant)" not in out
    assert "out (constant)" not in out


def test_lines_keep_room_for_the_source_in_a_narrow_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    main(["trace", "uncoalesced", "--n", "32"])
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines()[1:])) <= 80  # the headline is left to wrap
    line = next(row for row in text.splitlines() if "C[row * N + col] = value;" in row)
    assert line.split()[-4:] == ["store", "32", "1,024", "128"]


def test_as_compiled_build(traced):
    result = traced("coalesced", "--n", "8", "--build", "as_compiled")
    assert result["build"] == "as_compiled"
    assert result["error"]["C"] < 1e-5


def test_compile_error_shows_line_and_caret(capsys, tmp_path):
    path = tmp_path / "bad.cu"
    path.write_text("__global__ void k(float* a)\n{\n\ta[0] = missing;\n}\n")
    command = ["trace", str(path), "--grid", "1", "--block", "1", "--arg", "a=float32[1]"]
    assert main(command) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == 'error: bad.cu:3: identifier "missing" is undefined.'
    assert lines[1].endswith("|     a[0] = missing;")
    assert lines[2].index("^") == lines[1].index("missing")
    assert 'error: identifier "missing" is undefined' in lines[3]


LONG = """__global__ void k(int* a, int most)
{
    for (int i = 0; i < 10000000; i++)
        if (i < most)
            a[i] = i;
}
"""


@pytest.mark.parametrize("most", [65, 64])
def test_what_was_found_before_the_budget_was_spent_is_shown(capsys, tmp_path, most):
    path = tmp_path / "long.cu"
    path.write_text(LONG)
    launch = ["--grid", "1", "--block", "32", "--budget", "20000"]
    arguments = ["--arg", "a=zeros:int32[64]", "--arg", f"most={most}"]
    kept = tmp_path / "kept.npz"
    assert main(["trace", str(path), *launch, *arguments, "--json", "--save", str(kept)]) == 2
    captured = capsys.readouterr()
    said = "The kernel was still running after 20,000 instructions of its threads, then in line"
    assert captured.err.startswith(f"error: {said}")
    assert "raise the instruction budget" in " ".join(captured.err.split())
    result = json.loads(captured.out)
    found = [(h["kind"], h["line"], h["index"]) for h in result["hazards"]]
    assert found == ([("out_of_bounds", 5, [64])] if most == 65 else [])
    assert result["counters"]["global_st_requests"] == 64
    assert not result["complete"]
    assert result["note"].startswith(said)
    assert load_trace(kept).cut.startswith(said)

    assert main(["trace", str(path), *launch, *arguments]) == 2
    text = capsys.readouterr().out
    assert "The run was cut short: this is the record up to there." in text
    clean = "Until then: No races, uninitialised reads or accesses out of bounds."
    assert (clean in text) == (most == 64)
    assert ("out of bounds: Line 5: thread (0,0)" in text) == (most == 65)


def test_unsupported_instruction_is_named(refused, tmp_path):
    path = tmp_path / "odd.cu"
    path.write_text(
        "__global__ void k(unsigned* a)\n"
        '{\n    asm volatile("mov.u32 %0, %%pm0;" : "=r"(a[0]));\n}\n'
    )
    launch = ["--grid", "1", "--block", "1", "--arg", "a=zeros:uint32[1]"]
    message = refused("trace", str(path), *launch)
    assert "PTX line" in message
    assert "pm0" in message


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["tild"], "no kernel called tild: did you mean tiled? The ladder has vector_add"),
        (["tiled", "--n", "0"], "n = 0 is too small: use 1 to 32768"),
        (["tiled", "--n", "10"], "use n = 8 or 12"),
        (["tiled", "--n", "1000000"], "n = 1000000 is too large"),
        (["coalesced", "--tile", "64"], "4096 threads and CUDA allows 1024"),
        (["tiled", "--m", "3"], "tiled has no parameter m: it has n and tile"),
        (["tiled", "--set", "n"], "`--set n` is not NAME=NUMBER"),
        (["tiled", "--grid", "8"], "--grid is for a source file; the rung tiled is set with --n"),
        (["tiled", "--blocks", "9"], "block numbers from 0 to 3"),
        (["tiled", "--only"], "name them, as in --blocks 0"),
        (["tiled", "--blocks", "0", "--only", "--l1"], "--only leaves out blocks"),
        (["tiled", "more.cu"], "takes no files: leave out more.cu"),
        (["tiled", "--counters-only", "--save", "t.npz"], "records nothing: leave out --save"),
        (["tiled", "--save", "gone/t.npz"], "there is no folder gone"),
        (["FOLDER"], "is a folder: name a file in it"),
        (["tiled", "--n", "x"], "Invalid value for '--n'"),
        (["tiled", "--colour"], "No such option"),
        (["gone.cu", "--grid", "1", "--block", "1"], "There is no file gone.cu"),
        (["gone.ptx", "--block", "1"], "There is no file gone.ptx"),
        (["gone.cu", "--n", "4"], "--n is for a rung"),
        (["SCALE", "--grid", "1,a", "--block", "1"], "`1,a` is not a grid"),
        (["SCALE", "--grid", "1", "--block", "2048"], "block's x is 2048: use 1 to 1024"),
        (["SCALE", "--grid", "1", "--block", "1", "--shared", "999999"], "dynamic shared memory"),
        (
            ["SCALE", "--grid", "1", "--block", "1", "--kernel", "k"],
            "has no kernel k: it has scale",
        ),
        (["SCALE", "--grid", "1", "--block", "1", "--arg", "A"], "is not NAME=VALUE"),
        (
            ["SCALE", "--grid", "1", "--block", "1", "--arg", "A=int32[4]", *SCALE_BUFFERS[2:]],
            "agree",
        ),
        (["SCALE", "--grid", "1", "--block", "1", "-D", "1=2"], "is not NAME=VALUE"),
    ],
)
def test_mistakes_get_one_sentence(refused, scale, arguments, sentence, monkeypatch):
    places = {"SCALE": scale, "FOLDER": Path(scale).parent.name}
    monkeypatch.chdir(Path(scale).parent.parent)
    arguments = [places.get(a, a) for a in arguments]
    assert sentence in refused("trace", *arguments)


def test_outputs_that_cannot_be_saved(refused, tmp_path):
    (tmp_path / "file").write_text("")
    message = refused("trace", "tiled", "--save-outputs", str(tmp_path / "file"))
    assert "is a file: name a folder for the outputs" in message


def test_missing_nvrtc_is_one_sentence(refused, monkeypatch):
    from core.compiler import compile_ptx_and_cubin, nvrtc
    from core.errors import TilescopeError

    def refuse():
        raise TilescopeError("NVRTC is missing: pip install nvidia-cuda-nvrtc.")

    monkeypatch.setenv("TILESCOPE_CACHE", "")  # what another test compiled is kept there
    monkeypatch.setattr(nvrtc, "library", refuse)
    monkeypatch.setattr(
        compile_ptx_and_cubin._builds, "_items", type(compile_ptx_and_cubin._builds._items)()
    )
    assert "pip install nvidia-cuda-nvrtc" in refused("trace", "tiled_rect", "--tile", "3")


def test_order_of_the_warps_and_no_checks(traced):
    lockstep = traced("broken_fill_barrier")
    ordered = traced("broken_fill_barrier", "--order", "warp_by_warp")
    unchecked = traced("broken_fill_barrier", "--order", "warp_by_warp", "--no-checks")
    assert {hazard["kind"] for hazard in lockstep["hazards"]} == {"race"}
    assert all(hazard["step"] >= 0 for hazard in lockstep["hazards"])
    assert lockstep["error"]["C"] < 1e-5 < 0.01 < ordered["error"]["C"]
    assert ordered["outputs"] == unchecked["outputs"]
    assert unchecked["hazards"] == []


def test_switched_off_checks_are_said(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["trace", "broken_fill_barrier", "--no-checks"]) == 0
    assert "were not looked for" in capsys.readouterr().out


def test_l1_estimate_is_in_the_json_when_asked_for(traced):
    """Four blocks of 8 x 8 threads load 8 rows of A and 8 columns of B, a sector for 8 floats."""
    assert "l1" not in traced("coalesced", "--n", "16", "--block-x", "8", "--block-y", "8")
    result = traced("coalesced", "--n", "16", "--block-x", "8", "--block-y", "8", "--l1")
    assert (result["grid"], result["block"]) == ([2, 2, 1], [8, 8, 1])
    l1, sectors = result["l1"], result["counters"]["global_ld_sectors"]
    different = 4 * (8 * 2 + 16 * 1)  # each block has an SM to itself
    assert l1["total"] == {
        "sectors": sectors,
        "hits": sectors - different,
        "hit_rate": pytest.approx(1 - different / sectors),
    }
    assert {name: row["hits"] - row["sectors"] for name, row in l1["by_array"].items()} == {
        "A": -4 * 16,
        "B": -4 * 16,
    }
    assert l1["extrapolated"] is False


def test_l1_estimate_is_shown_as_tables(capsys):
    assert main(["trace", "coalesced", "--n", "16", "--l1"]) == 0
    shown = capsys.readouterr().out
    assert "L1 estimate by array" in shown
    assert "hit rate" in shown
    assert main(["trace", "coalesced", "--n", "16"]) == 0
    assert "L1" not in capsys.readouterr().out


def test_l1_estimate_needs_every_block(refused):
    assert "--counters-only runs one of each kind" in refused(
        "trace", "coalesced", "--n", "16", "--l1", "--counters-only"
    )


def test_a_saved_trace_is_shown_again(capsys, refused, tmp_path):
    """All that can be said of it without the launch that made it."""
    path = tmp_path / "t.npz"
    assert (
        main(["trace", "tiled_rect", "--m", "3", "--k", "5", "--n", "7", "--save", str(path)]) == 0
    )
    first = capsys.readouterr().out
    assert main(["trace", str(path), "--save-outputs", str(tmp_path)]) == 0
    again = capsys.readouterr().out
    compared = [line for line in first.splitlines() if "differs from NumPy" not in line]
    assert again.splitlines() == compared
    assert len(compared) > 20
    assert np.load(tmp_path / "C.npy").shape == (3, 7)
    assert main(["trace", str(path), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["rung"], data["parameters"]["k"], data["seed"]) == ("tiled_rect", 5, None)
    other = tmp_path / "kept.trace"  # known by what it begins with
    other.write_bytes(path.read_bytes())
    assert "--n sets a launch" in refused("trace", str(other), "--n", "4")
    assert "--blocks sets a launch" in refused("trace", str(path), "--blocks", "0")
    other.write_bytes(path.read_bytes()[:-30])
    assert "or it is damaged." in refused("trace", str(other))
    assert "There is no file" in refused("trace", str(tmp_path / "none.npz"))


SCATTER = """__global__ void scatter(const int* place, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[place[i]] = i;
}
"""


def test_indices_to_store_at_are_guessed_as_a_place_each(capsys, tmp_path):
    path = tmp_path / "scatter.cu"
    path.write_text(SCATTER)
    assert main(["trace", str(path)]) == 0
    assert "place=permutation:int32[250]" in capsys.readouterr().out


def test_a_race_over_guessed_places_is_left_open(capsys, tmp_path):
    path = tmp_path / "scatter.cu"
    path.write_text(SCATTER.replace("out[place[i]] = i", "{ int to = place[i]; out[to] = i; }"))
    assert main(["trace", str(path)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "perhaps a race: Line 4" in text
    assert "The elements of place, which lead there, are guesses" in text
    assert "--arg place=@FILE.npy" in text
    assert "No other fault was found." in text
    assert main(["trace", str(path), "--json"]) == 0
    (hazard,) = json.loads(capsys.readouterr().out)["hazards"]
    assert (hazard["rests_on"], hazard["is_left_open"]) == (["place"], True)
    assert main(["trace", str(path), "--arg", "place=index:int32[250]", "--json"]) == 1
    (hazard,) = json.loads(capsys.readouterr().out)["hazards"]
    assert (hazard["rests_on"], hazard["is_left_open"]) == ([], False)


def test_other_files_of_a_program_are_named_behind_the_first(capsys, tmp_path):
    (tmp_path / "apart").mkdir()
    other = tmp_path / "apart" / "other.cu"
    other.write_text("struct Scale { float by; };\n__device__ Scale scale() { return {3}; }\n")
    path = tmp_path / "main.cu"
    path.write_text("__global__ void k(float* v) { v[threadIdx.x] = scale().by; }\n")
    assert main(["trace", str(path), "--json"]) == 2
    assert "scale" in capsys.readouterr().err
    assert main(["trace", str(path), str(other), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kernel"] == "k"
    assert main(["trace", "tiled", str(other)]) == 2
    assert "takes no files: leave out " in capsys.readouterr().err
