"""The registry: every rung launches what its source says, and every mistake gets a sentence."""

import re
import shutil
from itertools import takewhile

import numpy as np
import pytest

from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.compiler.kernel_parameters import read_signature
from core.errors import ParameterError, TilescopeError
from core.ladder import KERNELS_FOLDER, load_ladder, rung_of
from core.launch import ArrayArgument
from core.recording.record_launch import record

LADDER = load_ladder()
RUNGS = list(LADDER.values())


def manual_of(rung):
    """The comment at the head of the source, without its comment marks."""
    head = takewhile(lambda line: line.startswith("//"), rung.source.splitlines())
    return "\n".join(line.removeprefix("//").removeprefix(" ") for line in head)


@pytest.fixture
def copied(tmp_path):
    """A copy of the kernels, and a function that edits its registry and loads it."""
    folder = tmp_path / "kernels"
    shutil.copytree(KERNELS_FOLDER, folder)
    registry = folder / "ladder.toml"

    def load(edit=lambda text: text):
        registry.write_text(edit(registry.read_text("utf-8")), "utf-8")
        return load_ladder(folder)

    return load


@pytest.mark.parametrize("rung", RUNGS, ids=lambda r: r.name)
class TestEveryRung:
    @pytest.mark.slow
    def test_default_launch_compiles_without_a_word(self, rung):
        workload = rung.workload()
        build = compile_ptx(
            workload.source, source_name=workload.source_name, defines=workload.defines
        )
        assert workload.kernel in build.entries
        assert build.diagnostics == ()

    def test_arguments_agree_with_the_signature(self, rung):
        workload = rung.workload()
        signature = read_signature(rung.source, rung.kernel, defines=workload.defines)
        arguments = workload.launch.arguments
        assert [p.name for p in signature] == [a.name for a in arguments]
        for parameter, argument in zip(signature, arguments, strict=True):
            is_array = isinstance(argument, ArrayArgument)
            if is_array and argument.map is not None:
                assert parameter.type == "CUtensorMap"
                continue
            assert parameter.is_pointer == is_array
            assert parameter.dtype == (argument.data.dtype if is_array else argument.value.dtype)
            if is_array:
                assert parameter.is_const == (argument.role == "input")

    def test_inputs_are_random_and_outputs_poisoned(self, rung):
        for array in rung.workload(seed=3).launch.arrays:
            if array.role == "output":
                assert np.isnan(array.data).all()
            else:
                values = 1 << 8 * min(array.data.itemsize, 2) - 4  # a half has fewer than 65,536
                assert np.unique(array.data).size > min(array.data.size // 2, values)
                assert array.data.min() < 0 < array.data.max()
                assert np.abs(array.data).max() <= 1

    def test_seed_decides_the_inputs(self, rung):
        first, again, other = (rung.workload(seed=s).launch.arrays[0].data for s in (1, 1, 2))
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)

    def test_expected_has_the_shape_of_each_output(self, rung):
        workload = rung.workload()
        shapes = {a.name: a.data.shape for a in workload.launch.arrays if a.role == "output"}
        assert {name: value.shape for name, value in workload.expected().items()} == shapes

    def test_file_name_and_manual(self, rung):
        assert rung.source_file.name == f"{rung.number:02d}_{rung.name}.cu"
        assert manual_of(rung).startswith(f"{rung.number:02d} {rung.name}: ")
        for heading in ("The idea", "Look at", "Limits"):
            assert re.search(rf"^{heading}\s", manual_of(rung), re.MULTILINE)

    def test_manual_names_the_rung_that_it_differs_from(self, rung):
        said = re.search(r"^Against (\d\d)\s", manual_of(rung), re.MULTILINE)
        if rung.number == 0:
            assert said is None
        else:
            assert int(said[1]) in {r.number for r in RUNGS if r.number < rung.number}

    def test_tuned_parameters_can_be_launched(self, rung):
        sizes = {name: 256 for name in ("m", "k", "n") if name in rung.defaults}
        for one in (*rung.tuned, rung.tuned_for(**sizes)):
            assert rung.check(**sizes, **one)

    def test_nothing_smaller_than_one(self, rung):
        for bad in (0, -1):
            with pytest.raises(ParameterError, match=f"n = {bad} is too small: use 1 to"):
                rung.workload(n=bad)


def test_a_rung_alone_is_the_one_of_the_ladder():
    assert [rung_of(rung.name) for rung in RUNGS] == RUNGS
    with pytest.raises(ParameterError, match="did you mean tiled"):
        rung_of("tilde")


def test_every_source_has_a_rung_and_numbers_rise():
    assert sorted(p.name for p in KERNELS_FOLDER.glob("*.cu")) == [
        r.source_file.name for r in RUNGS
    ]
    numbers = [r.number for r in RUNGS]
    assert numbers == sorted(set(numbers))
    for group, first, last in (("warm-up", 0, 9), ("ladder", 10, 89), ("broken", 90, 99)):
        assert {r.number for r in RUNGS if r.group == group} == {
            number for number in numbers if first <= number <= last
        }


def test_truth_of_a_rectangular_product():
    workload = LADDER["tiled_rect"].workload(m=3, k=5, n=7, tile=2)
    arrays = {a.name: a.data.astype(np.float64) for a in workload.launch.arrays}
    assert np.array_equal(workload.expected()["C"], arrays["A"] @ arrays["B"])
    assert workload.flops == 2 * 3 * 5 * 7


def test_tile_is_short_for_a_square_block():
    launch = LADDER["coalesced"].workload(n=128, tile=16).launch
    assert (launch.block.x, launch.block.y) == (16, 16)
    assert (launch.grid.x, launch.grid.y) == (8, 8)


@pytest.mark.parametrize(
    ("n", "tile_n"), [(512, 128), (1024, 128), (2048, 256), (4095, 256), (4096, 256), (4097, 128)]
)
def test_tuned_parameters_depend_on_how_full_the_last_wave_is(n, tile_n):
    # The faster of the two sets on an H200, measured: docs/ladder.md and docs/ladder_tuning.json.
    assert LADDER["tuned"].tuned_for(m=n, k=n, n=n)["tile_n"] == tile_n


def test_a_rung_without_tuned_parameters_is_taken_as_it_comes():
    assert LADDER["transpose_naive"].tuned_for(m=64) == {}
    assert LADDER["tiled"].tuned_for(n=64, nonsense=3) == LADDER["tiled"].tuned[0]


@pytest.mark.parametrize(
    ("name", "parameters", "sentence"),
    [
        ("tiled", {"n": 10}, "use n = 8 or 12, or the rung “Tiled, any N” \\(tiled_bounds\\)"),
        ("tiled", {"n": 2, "tile": 4}, "use n = 4 or 8"),
        ("tiled", {"tile": 33}, "use 1 to 32 .*1024"),
        ("tiled", {"n": 10**6}, "n = 1000000 is too large: use 1 to 32768"),
        ("tiled", {"n": 32768, "tile": 32}, "13 GB|12.9 GB .* use n of at most 18257"),
        ("tiled_rect", {"m": 32768, "n": 32768}, "make m, k or n smaller"),
        ("coalesced", {"tile": 64}, "64 x 64 is 4096 threads and CUDA allows 1024"),
        ("coalesced", {"tile": 8, "block_x": 3}, "block_x is given twice"),
        ("tiled", {"pad": 1}, "tiled has no parameter pad: it has n and tile"),
        ("aat_padded", {"paf": 1}, "did you mean pad"),
        ("aat_padded", {"pad": -1}, "use 0 to 32"),
        ("tile_1d", {"tile_k": 6}, "multiple of tile_n, such as by tile_k = 16"),
        ("warp_tiled", {"tile_n": 24}, "8 [*] thread_n columns: make tile_n a multiple of 64"),
        ("tuned", {"blocks": 16, "thread_n": 8, "tile_m": 64, "tile_n": 128}, "256 .* at most 8"),
        ("tensor_tuned", {"tile_k": 24}, "make tile_k a multiple of 16, such as 32"),
        ("tensor_tuned", {"tile_n": 128, "tile_k": 64, "stages": 6}, "313344 bytes .* has 232448"),
        ("tiled", {"n": 2.5}, "2.5 is not a whole number"),
        ("tiled", {"n": True}, "not a whole number"),
    ],
)
def test_bad_parameters_say_what_would_work(name, parameters, sentence):
    with pytest.raises(ParameterError, match=sentence):
        LADDER[name].workload(**parameters)


def test_unknown_rung_names_the_closest():
    with pytest.raises(
        ParameterError, match=r"^There is no kernel called tild: did you mean tiled"
    ):
        LADDER["tild"]
    assert LADDER.get("tild") is None
    assert "tild" not in LADDER


@pytest.mark.slow
def test_adding_a_rung_is_one_file_and_one_row(copied):
    def add(text):
        start = text.rindex("[[rung]]", 0, text.index('"aat_padded"'))
        row = text[start : text.index("[[rung]]", start + 1)]
        row = row.replace('"aat_padded"', '"mine"').replace("number = 22", "number = 99")
        row = row.replace("22_aat_padded.cu", "21_aat_shared.cu").replace('"mine"', '"mine"', 1)
        return f"{text}\n{row}"

    ladder = copied(add)
    assert ladder.names[-1] == "mine"
    assert ladder["mine"].workload(n=32).parameters["n"] == 32


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("12_tiled.cu", "12_gone.cu", "rung tiled: there is no file .*12_gone.cu"),
        ("number = 12\n", "number = 2\n", "two rungs have the number 2"),
        ('flops = "2 * n * n * n"', 'flop = "2"', "unknown field flop"),
        ("2 * tile * tile * 4", "2 ** tile", r"`2 \*\* tile` is not allowed"),
        ('kernel = "tiled"', "", "rung tiled: kernel missing"),
        ("default = 8", "default = 0", "n = 0 is too small"),
        ("[[rung]]", "[[rung]", "not valid TOML"),
        ("tuned = { tile = 32 }", "tuned = { til = 32 }", "tuned names no parameter by til"),
        ("tuned = { tile = 32 }", "tuned = [{ tile = 8 }, { tile = 32 }]", "need a cost to choose"),
        ('role = "output"', 'role = "result"', "role 'result' is none of"),
        ('x = "rows"', 'x = "row"', "rung uncoalesced: mapping.x is 'row', .* columns or rows"),
        ('x = "rows"', 'x = "columns"', "uncoalesced, mapping: x runs along columns in coalesced"),
        ('other = "coalesced"', 'other = "coalesce"', "mapping: there is no rung coalesce"),
        ('other = "coalesced"', 'other = "tiled"', "mapping: tiled does not name uncoalesced"),
        ('other = "coalesced"', 'other = "uncoalesced"', "mapping: the other rung is this one"),
        ('mapping = { x = "rows", ', "mapping = { ", "rung uncoalesced: .* 'x'"),
    ],
)
def test_mistakes_in_the_registry_are_named(copied, old, new, sentence):
    with pytest.raises(TilescopeError, match=sentence):
        copied(lambda text: text.replace(old, new))


def test_rungs_that_differ_in_more_than_the_mapping_are_no_pair(copied):
    def edit(text):
        at = text.index('name = "coalesced"')
        return text[:at] + text[at:].replace("default = 4, minimum", "default = 8, minimum", 1)

    with pytest.raises(TilescopeError, match="mapping: coalesced has other parameters"):
        copied(edit)


@pytest.mark.parametrize("rung", [r for r in RUNGS if r.mapping is not None], ids=lambda r: r.name)
def test_the_mapping_is_what_the_kernel_does(rung):
    trace = record(rung.workload(n=6, block_x=4, block_y=2), blocks=[0])
    block = trace.block(0)
    stores = (a for s in block.access_steps if (a := block.access(int(s))).kind == "store")
    access = next(stores)
    step = np.subtract(access.element(1), access.element(0)).tolist()
    assert step == {"columns": [0, 1], "rows": [1, 0]}[rung.mapping.x]


def test_static_shared_memory_is_checked(copied):
    ladder = copied(lambda text: text.replace("2 * tile * tile * 4", "2 * tile * tile * 64"))
    with pytest.raises(ParameterError, match=r"131072 bytes .* has 49152: use tile of at most 19"):
        ladder["tiled"].workload(n=32, tile=32)


def test_missing_registry(tmp_path):
    with pytest.raises(TilescopeError, match=r"no ladder\.toml"):
        load_ladder(tmp_path)
