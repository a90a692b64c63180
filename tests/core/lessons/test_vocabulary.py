"""Every word of lessons against what NumPy, or arithmetic by hand, says."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from core.errors import TilescopeError
from core.ladder import load_ladder
from core.lessons.launch_cache import Recorder
from core.lessons.lesson import TARGETS
from core.lessons.lesson_expressions import Element, Expression, LessonError
from core.lessons.lesson_files import lesson_ladder
from core.lessons.vocabulary import VOCABULARY, Situation, check_of_calls
from core.links import parse_link

LADDER = lesson_ladder(load_ladder()["tiled"].source_file.parent)
RECORDER = Recorder(LADDER)


def value(link, text):
    """What an expression gives at a link, checked as a lesson's is."""
    parsed = parse_link(link, LADDER)
    here = Situation(parsed, RECORDER)
    expression = Expression(text)
    expression.check(check_of_calls(parsed, LADDER), frozenset(here.names()))
    return expression.value(here)


def strided(stride, lanes=32):
    """Sectors, lines and used share of lanes that read every stride-th float from a line on."""
    addresses = 4 * stride * np.arange(lanes)
    sectors = np.unique(addresses // 32)
    return len(sectors), len(np.unique(addresses // 128)), 100 * 4 * lanes / (32 * len(sectors))


@pytest.mark.parametrize("stride", [1, 2, 3, 5, 8, 13])
def test_a_strided_load(stride):
    link = f"copy_stride?n=64&stride={stride}&block_x=32&at=load:A"
    sectors, lines, share = strided(stride)
    assert value(link, "sectors()") == sectors
    assert value(link, "lines()") == lines
    assert value(link, "used_share()") == pytest.approx(share)
    assert value(link, "ideal()") == min(4, sectors)
    assert value(link, "stride()") == stride
    assert value(link, "addresses()") == value(link, "active()") == 32
    assert value(link, "sector_numbers()") == sorted({4 * stride * i // 32 for i in range(32)})
    assert value(link, "element(5)") == Element("A", (5 * stride,))
    assert value(link, f"sectors(stride={stride + 1})") == strided(stride + 1)[0]


@pytest.mark.parametrize(("pad", "tile"), [(0, 32), (1, 32), (2, 32), (3, 16), (6, 16), (0, 8)])
def test_banks(pad, tile):
    link = f"aat_padded?n=32&tile={tile}&pad={pad}&at=store:tile_b"
    lanes = np.arange(32)
    words = (lanes % tile) * (tile + pad) + lanes // tile
    start = tile * tile  # tile_b lies behind tile_a
    banks = (words + start) % 32
    most = int(np.bincount(banks).max())
    assert [value(link, f"bank({lane})") for lane in (0, 7, 31)] == banks[[0, 7, 31]].tolist()
    assert value(link, f"lanes_in_bank({banks[0]})") == np.flatnonzero(banks == banks[0]).tolist()
    assert value(link, "wavefronts()") == most
    assert value(link, "conflicts()") == most - 1
    assert value(link, "shared_bytes()") == 4 * tile * (2 * tile + pad)


def test_a_blocks_loads_and_owners():
    link = "coalesced?n=6&block_x=3&block_y=2&block=1"
    assert value(link, "block_loads()") == 3 * 2 * 2 * 6
    assert value(link, "times_loaded(A[1,4])") == 3
    assert value(link, "times_loaded(B[4,5])") == 2
    assert value(link, "times_loaded(B[4,0])") == 0
    assert value(link, "loaders(B[4,5])") == [2, 5]
    assert value(link, "stored_by(4)") == [Element("C", (1, 4))]
    assert value(link, "owner(C[1,4])") == 4
    assert value(link, "owner(C[0,0])") == -1
    assert value(link, "times_loaded(A[1,4], block=0)") == 3
    assert value(link, "elements(at='load:A@phase2')") == [Element("A", (r, 2)) for r in range(2)]
    assert (value(link, "threads()"), value(link, "blocks()"), value(link, "warps()")) == (6, 6, 1)


def test_phases_and_tiles():
    link = "tiled?n=6&tile=2&inputs=small&seed=3&at=load:tile_b@phase1"
    arrays = {
        a.name: a.data for a in LADDER["tiled"].workload_of("small", 3, n=6, tile=2).launch.arrays
    }
    a, b = arrays["A"].astype(float), arrays["B"].astype(float)
    assert (value(link, "phases()"), value(link, "phase()"), value(link, "barriers()")) == (3, 1, 6)
    assert value(link, "held(tile_a[1,0])") == a[1, 2]
    assert value(link, "held(tile_b[0,1])") == b[2, 1]
    assert value(link, "stored(3)") == b[2, 1]
    assert value(link, "writer(tile_a[1,0])") == 2
    assert value(link, "times_read(tile_b[0,1], 2)") == 2
    assert value(link, "output(C[4,1])") == (a @ b)[4, 1]
    assert value(link, "variable('value', 1, at='barrier@phase1#2')") == (a[0, :4] @ b[:4, 1])
    assert value(link, "row(1, 2)[0]") == "A[0,5] -> tile_a[0,1]"
    assert value(link, "kind()") == "shared load"
    assert value(link, "target()") == "tile_b"
    source = LADDER["tiled"].source.splitlines()
    assert "tile_b[k][tx]" in source[value(link, "source_line()") - 1]
    assert value(link, "home('row')") == "register"


def test_edges_and_faults():
    assert value("tiled_bounds?n=3&tile=2&block=1", "zeros(0)") == ["tile_b[0,1]", "tile_b[1,1]"]
    link = "broken_bounds?n=3&tile=2"
    assert value(link, "findings('out_of_bounds')") + value(link, "findings('race')") == 4
    assert value(link, "findings()") == 4
    assert value(link, "faults('out_of_bounds')") == 25
    assert value(link, "right()") is False
    lines = value(link, "finding_lines()")
    assert lines == sorted(set(lines))
    beyond = sum(3 * row + col >= 9 for row in (2, 3) for col in (2, 3))
    assert value(f"{link}&block=3&at=load:A@phase1", "faulty()") == beyond


@pytest.mark.parametrize(("stages", "phase"), [(2, 0), (3, 1), (3, 2), (4, 3)])
def test_a_ring_that_copies_fill_ahead(stages, phase):
    link = f"row_times_matrix?m=32&stages={stages}&left={stages - 2}&at=load:ring@phase{phase}"
    newest = phase + stages - 1
    holds = [max(t for t in range(newest + 1) if t % stages == s) for s in range(stages)]
    assert value(link, f"[filling(s) for s in range({stages})]") == holds
    assert value(link, f"[is_there(s) for s in range({stages})]") == [t == phase for t in holds]
    assert value(link, "in_flight()") == stages - 1
    assert value(link, "ring_stages()") == stages
    assert value(link, "stage_bytes()") == 4 * 64 * 4
    assert value(link, "[warps_as('producer'), warps_as('consumer')]") == [[], []]
    assert value(link, "executed('cp.async.cg')") == 8 * 2
    assert value(link, "executing('cp.async.cg')") == list(range(64))
    assert value(link, "executed('cp.async.bulk') + copied_bytes()") == 0
    assert value(link, f"filling({stages - 1}, at='line:29')") == -1


@pytest.mark.parametrize(("stages", "tile"), [(1, 2), (2, 4), (2, 5), (3, 5)])
def test_a_ring_between_a_producer_and_consumers(stages, tile):
    link = f"row_times_matrix_bulk?m=24&rows=4&stages={stages}&at=load:ring#{4 * tile + 1}"
    stage = tile % stages
    assert value(link, f"phases_over(full[{stage}])") == tile // stages + 1
    assert value(link, f"phases_over(empty[{stage}])") == tile // stages
    assert value(link, f"filling({stage})") == tile
    assert value(link, f"is_there({stage})") is True
    assert value(link, "in_flight()") == min(stages - 1, 5 - tile)
    assert value(link, "warps_as('producer')") == [0]
    assert value(link, "warps_as('consumer')") == [1, 2]
    assert value(link, "executing('cp.async.bulk')") == [0]
    assert value(link, "executed('mbarrier.arrive.shared')") == 6 * 2
    assert value(link, "copied_bytes()") == 24 * 64 * 4


def test_boxes_bring_zeros_from_beyond_the_array():
    link = "tma_transpose?m=24&n=32&at=load:tile"
    assert value(link, "copied_bytes()") == 32 * 32 * 4
    assert value(link, "held(tile[24,0])") == 0
    plain = [value(link, f"bank({lane})") for lane in range(8)]
    link = "tma_transpose_swizzled?m=32&n=32&at=load:tile#3"
    assert plain == [0] * 8
    assert [value(link, f"bank({lane})") for lane in range(8)] == [4 * (2 ^ i) for i in range(8)]
    assert value("narrow_wgmma?k=128", "executed('wgmma.mma_async')") == 4 * 128 // 16


def test_words_about_a_ring_say_what_there_is():
    for link, text, said in (
        ("coalesced?n=4&block_x=2&block_y=2", "ring_stages()", "no shared memory"),
        ("row_times_matrix?m=8", "filling(3)", "There is no stage 3"),
        ("row_times_matrix?m=8", "phases_over(full[0])", "no shared array full"),
        ("row_times_matrix_bulk?m=8", "phases_over(full[2])", "There is no full[2]"),
    ):
        with pytest.raises(LessonError, match=re.escape(said)):
            value(link, text)


def test_a_race_shows_with_another_order():
    link = "broken_fill_barrier?n=16&tile=8"
    assert value(link, "right() and error() < 0.00001") is True
    assert value(link, "right(order='warp_by_warp') or error(order='warp_by_warp') < 0.1") is False


def test_counters_of_the_launch_and_of_another():
    link = "uncoalesced?n=64&block_x=32&block_y=4&vs=coalesced"
    requests = 64 * 64 // 32 * 64
    assert value(link, "total('global_ld_requests')") == 2 * requests
    assert value(link, "total('global_ld_sectors')") == 33 * requests
    assert value(link, "total('global_ld_sectors', of=vs)") == 5 * requests
    assert value(link, "of_array('A', 'global_ld_sectors')") == 32 * requests
    assert value(link, "per_request('B')") == 1
    assert value(link, "per_request('C', 'st', of=vs)") == 4
    with pytest.raises(LessonError, match="makes no such request to C"):
        value(link, "per_request('C') <= 4")  # a kernel that loads nothing meets no goal
    assert (
        value(link, "total('global_ld_sectors', of='coalesced?n=32&block_x=32&block_y=4')")
        == 5 * 32**3 // 32
    )


@pytest.mark.parametrize(("n", "tile"), [(1024, 16), (512, 8)])
def test_first_order_counts_at_any_size(n, tile):
    link = f"tiled?n={n}&tile={tile}"
    assert value(link, "flops()") == 2 * n**3
    assert value(link, "loads()") == 2 * n**3 // tile
    assert value(link, "per_load()") == tile
    assert value(link, "per_load_at_best()") == n
    assert value(link, "intensity()") == tile / 4
    assert value(link, "served()") == pytest.approx(100 * (1 - tile / n))
    assert value(link, "most('tile')") == 32


def test_devices():
    link = "tiled?n=1024&tile=16"
    assert value(link, "bandwidth('G80')") == 86.4
    assert value(link, "peak('G80')") == pytest.approx(2 * 128 * 1.35)
    assert value(link, "ceiling('G80', 'textbook')") == pytest.approx(4 * 86.4)
    assert (
        value(link, "ceiling('H200') <= ceiling('H200', 'textbook') or binding('H200') != ''")
        is True
    )
    assert value(link, "binding('GTX 8800')") in ("textbook", "fp32", "dram")
    assert value(link, "len(text(binding_title('H200')))") > 3
    assert value(link, "sm_blocks('Textbook SM', 256, 12)") == 16384 // (12 * 256) == 5
    assert value(link, "sm_threads('Textbook SM', 256, 12)") == 5 * 256
    assert value(link, "sm_registers('Textbook SM', 256, 12)") == 12 * 256
    assert value(link, "sm_occupancy('Textbook SM', 256, 12)") == pytest.approx(100 * 1280 / 1536)
    assert value(link, "sm_limit('Textbook SM', 256, 12)") == "registers"
    assert value(link, "sm_most('GTX 280', 'threads')") == 1024
    assert value(link, "registers('RTX 3090')") in range(8, 256)
    assert value(link, "blocks_on('RTX 3090')") == 6
    assert value(link, "occupancy_on('RTX 3090')") == 100
    assert "threads of an SM" in value(link, "limit_on('RTX 3090')")
    assert 8000 < value("tiled?n=4096&tile=16", "measured()") < 8300


@pytest.mark.parametrize(
    ("link", "text"),
    [
        ("tiled?n=4&tile=2&at=barrier", "sectors()"),
        ("tiled?n=4&tile=2&at=load:A", "wavefronts()"),
        ("tiled?n=4&tile=2&at=load:A", "sectors(3)"),
        ("tiled?n=4&tile=2&at=load:tile_a", "bank(32)"),
        ("tiled?n=4&tile=2", "element(99)"),
        ("tiled?n=4&tile=2", "times_loaded(A[9,9])"),
        ("tiled?n=4&tile=2", "times_loaded(Z[0])"),
        ("tiled?n=4&tile=2", "held(tile_a[5,0])"),
        ("tiled?n=4&tile=2", "variable('nothing')"),
        ("tiled?n=4&tile=2", "row(0, 9)"),
        ("tiled?n=4&tile=2", "total('x')"),
        ("tiled?n=4&tile=2", "findings('x')"),
        ("tiled?n=4&tile=2", "sectors(tile=3)"),
        ("tiled?n=4&tile=2", "sectors(of=1)"),
        ("tiled?n=4&tile=2", "sectors(of='nothing?n=1')"),
        ("tiled?n=4&tile=2", "barriers(block=99)"),
        ("tiled?n=4&tile=2", "measured()"),
        ("tiled?n=4&tile=2", "ceiling('no device')"),
        ("tiled?n=4&tile=2", "ceiling('H200', 'x')"),
        ("tiled?n=4&tile=2", "sm_most('H200', 'x')"),
        ("tiled?n=4&tile=2", "sectors('a')"),
        ("tiled?n=1024&tile=16", "total('global_ld_sectors')"),
        ("tiled?n=8192&tile=16", "sectors()"),
        ("copy_stride?n=64", "sum([threads(stride=s % 60 + 1) for s in range(200)])"),
    ],
)
def test_what_cannot_be_said_is_a_sentence(link, text):
    with pytest.raises(TilescopeError) as error:
        value(link, text)
    assert "\n" not in str(error.value)
    assert str(error.value).endswith(".")


def test_other_calls_are_refused_before_anything_runs():
    for text in ("sector()", "bank()", "bank(1, 2, 3)", "sectors(warps=1)", "sectors(0, warp=1)"):
        with pytest.raises(LessonError, match=r"\S"):
            value("tiled?n=4&tile=2", text)


def test_every_word_was_asked_here():
    text = Path(__file__).read_text(encoding="utf-8")
    assert [word for word in VOCABULARY if not re.search(rf"\b{word}\(", text)] == []


def test_words_are_documented_and_typed():
    for word in VOCABULARY.values():
        assert word.meaning.endswith((".", "…"))
        assert all(p.annotation is not inspect.Parameter.empty for p in word.parameters)
        assert not {"of", "at", "block", "seed", "order"} & {p.name for p in word.parameters}
    assert {"element", "thread", "lane", "bank"} <= set(TARGETS)
