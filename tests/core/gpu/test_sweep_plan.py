import numpy as np
import pytest

from core.errors import ParameterError, TilescopeError
from core.gpu.benchmark_job import FileSubject
from core.gpu.sweep_plan import CublasKernel, FileKernel, RungKernel, make_plan, parse_values
from core.ladder import load_ladder
from core.user_files.launch_texts import FileLaunch

LADDER = load_ladder()
TILED = LADDER["tiled"]
OWN = FileLaunch(
    "mine.cu", "tiled", "{n // tile},{n // tile}", "{tile},{tile}", "0", "TILE_WIDTH={tile}",
    (("A", "float32[{n},{n}]"), ("B", "float32[{n},{n}]"), ("C", "float32[{n},{n}]"),
     ("N", "{n}")),
)  # fmt: skip


def rungs(*names, **given):
    return [RungKernel(LADDER[name], given) for name in names]


def test_every_combination_once_and_small_sizes_first():
    plan = make_plan(rungs("uncoalesced", "tiled"), {"size": (1024, 512), "tile": (16, 8)})
    assert [p.text for p in plan.points] == [
        "Uncoalesced, n = 512, block_x = 16, block_y = 16",
        "Uncoalesced, n = 512, block_x = 8, block_y = 8",
        "Tiled, n = 512, tile = 16",
        "Tiled, n = 512, tile = 8",
        "Uncoalesced, n = 1024, block_x = 16, block_y = 16",
        "Uncoalesced, n = 1024, block_x = 8, block_y = 8",
        "Tiled, n = 1024, tile = 16",
        "Tiled, n = 1024, tile = 8",
    ]
    assert len({p.key for p in plan.points}) == 8


def test_sizes_set_all_sizes_that_a_kernel_has():
    plan = make_plan([*rungs("tiled_rect"), CublasKernel()], {"size": (96,), "tile": (8,)})
    assert [dict(p.parameters) for p in plan.points] == [
        {"m": 96, "k": 96, "n": 96, "tile": 8},
        {"n": 96},
    ]
    plan = make_plan(rungs("tiled_rect"), {"m": (64, 32), "k": (48,)})
    sizes = [(p.parameters["m"], p.parameters["k"], p.parameters["n"]) for p in plan.points]
    assert sizes == [(32, 48, 14), (64, 48, 14)]


def test_what_cannot_be_launched_is_left_out_and_told():
    plan = make_plan(rungs("tiled"), {"size": (500, 512), "tile": (16, 64)})
    assert [p.text for p in plan.points] == ["Tiled, n = 512, tile = 16"]
    assert [(o.parameters["n"], o.parameters["tile"]) for o in plan.left_out] == [
        (500, 16), (500, 64), (512, 64),
    ]  # fmt: skip
    assert "multiple of the tile width" in plan.left_out[0].why


def test_a_kernel_without_an_axis_is_measured_once():
    plan = make_plan(rungs("vector_add", "tiled"), {"size": (64,), "tile": (8, 16)})
    assert [p.title for p in plan.points] == ["Vector addition", "Tiled", "Tiled"]


def test_given_parameters_stay_unless_an_axis_sets_them():
    plan = make_plan(rungs("coalesced", block_x=64, block_y=2), {"size": (128,)})
    assert plan.points[0].parameters == {"n": 128, "block_x": 64, "block_y": 2}


def test_a_file_with_its_sizes_in_braces():
    own = FileKernel(TILED.source, OWN, "2*n*n*n", "C = A @ B")
    assert own.names == ("n", "tile")
    plan = make_plan([own], {"size": (64, 96), "tile": (16,)})
    subject = plan.points[1].subject
    assert isinstance(subject, FileSubject)
    workload = subject.workload()
    assert (workload.launch.grid.x, workload.launch.block.y) == (6, 16)
    assert workload.flops == 2 * 96**3
    assert workload.defines == {"TILE_WIDTH": "16"}
    a, b, c = (array.data for array in workload.launch.arrays)
    assert np.all(np.isnan(c))
    assert np.array_equal(workload.expected()["C"], a.astype(np.float64) @ b.astype(np.float64))
    with pytest.raises(TilescopeError, match="needs values for tile"):
        make_plan([own], {"size": (64,)})


@pytest.mark.parametrize(
    ("equation", "complaint"),
    [("A @ B", "does not say"), ("D = A @ B", "does not say"), ("C = A @ N", "does not fit")],
)
def test_a_truth_that_makes_no_sense(equation, complaint):
    own = FileKernel(TILED.source, OWN, "", equation)
    subject = make_plan([own], {"size": (64,), "tile": (16,)}).points[0].subject
    with pytest.raises(TilescopeError, match=complaint):
        subject.workload()


def test_mistakes_in_the_axes():
    with pytest.raises(ParameterError, match="no parameter pad in Tiled or cuBLAS"):
        make_plan([*rungs("tiled"), CublasKernel()], {"pad": (1,)})
    with pytest.raises(ParameterError, match="set by two axes"):
        make_plan(rungs("tiled"), {"size": (64,), "n": (32,)})
    with pytest.raises(ParameterError, match="choose a kernel"):
        make_plan([], {})
    with pytest.raises(ParameterError, match="too many"):
        make_plan(rungs("tiled"), {"size": range(1, 9999), "tile": (1, 2)})


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("512", (512,)),
        ("1024, 512,512", (1024, 512)),
        ("256..4096", (256, 512, 1024, 2048, 4096)),
        ("100..500", (100, 200, 400)),
        ("16..64:16 8", (16, 32, 48, 64, 8)),
        ("7..7", (7,)),
        ("0..4", (0, 1, 2, 3, 4)),
        ("0..0", (0,)),
    ],
)
def test_lists_of_values(text, values):
    assert parse_values(text, "N") == values


@pytest.mark.parametrize("text", ["", "a", "4..2", "1..9:0", "-4", "1.5", "0..999999:1"])
def test_lists_that_are_none(text):
    with pytest.raises(ParameterError, match="for N"):
        parse_values(text, "N")


def test_keys_tell_edits_and_seeds_apart():
    def key(kernel, seed=7):
        return make_plan([kernel], {"size": (64,), "tile": (16,)}, seed).points[0].key

    edited = RungKernel(TILED, {}, TILED.source + "\n")
    assert key(RungKernel(TILED)) == key(RungKernel(TILED))
    assert len({key(RungKernel(TILED)), key(edited), key(RungKernel(TILED), 8)}) == 3
    plan = make_plan([RungKernel(TILED), edited], {"size": (64,), "tile": (16,)})
    assert len(plan.without(frozenset([key(edited)])).points) == 1


def test_tuned_parameters_follow_the_size_and_what_is_asked_for_wins():
    tuned = RungKernel(LADDER["tuned"], {"tile_n": 32, "stages": 4}, tuned=True)
    plan = make_plan([tuned], {"size": (4096, 4097)})
    for point, n in zip(plan.points, (4096, 4097), strict=True):
        expected = LADDER["tuned"].tuned_for(m=n, k=n, n=n)
        assert point.parameters == {"m": n, "k": n, "n": n, **expected}
    assert [p.parameters["tile_n"] for p in plan.points] == [256, 128]
    (point,) = make_plan([tuned], {"size": (4097,), "stages": (2,)}).points
    assert (point.parameters["stages"], point.parameters["tile_n"]) == (2, 128)
