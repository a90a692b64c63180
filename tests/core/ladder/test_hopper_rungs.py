"""The rungs for Hopper: right at odd sizes without findings, and found out without a wait."""

from dataclasses import replace

import pytest

from core.emulator.scheduling import ORDERS
from core.gpu.result_check import check
from core.ladder import load_ladder
from core.recording.record_launch import record

LADDER = load_ladder()
NAMES = ("wgmma", "tma_pipeline", "warp_specialised", "clustered", "clustered_tf32")
# M, N and K all different, none a multiple of a tile; more phases than stages.
ODD = {"m": 100, "k": 264, "n": 200}
SHAPES = {
    "wgmma": {},
    "tma_pipeline": {"stages": 3, "tile_n": 128},
    "warp_specialised": {"stages": 2, "tile_m": 128},
    "clustered": {"stages": 3, "blocks": 4, "group": 1},
    "clustered_tf32": {"stages": 3, "blocks": 4, "group": 1},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize("name", NAMES)
def test_right_at_odd_sizes(name, kind):
    work = LADDER[name].workload(**ODD, **SHAPES[name])
    trace = record(work, kind=kind)
    (outcome,) = check(work, trace.outputs)
    assert outcome.ok
    assert outcome.unwritten == 0
    assert not trace.findings


SMALL = {"m": 100, "k": 136, "n": 72}  # two tiles of rows and of columns, three phases
OTHERS = [order for order in ORDERS if order != "lockstep"]  # in which all other tests run


@pytest.mark.parametrize(
    ("name", "order", "kind"),
    [
        pytest.param(
            name,
            order,
            kind,
            marks=[]
            if (name, order, kind) == ("clustered", "warp_by_warp", "as_compiled")
            else [pytest.mark.slow],
        )
        for name in NAMES
        for order in OTHERS
        for kind in ("as_written", "as_compiled")
    ],
)
def test_right_in_every_order_of_the_warps(name, order, kind):
    work = LADDER[name].workload(**SMALL)
    trace = record(work, kind=kind, order=order, seed=7)
    (outcome,) = check(work, trace.outputs)
    assert outcome.ok
    assert outcome.unwritten == 0
    assert not trace.findings


def test_a_box_all_of_which_lies_outside_its_map_brings_zeros():
    """Of 128 columns a block's second box begins behind the last: an H200 takes it (`all of it
    outside` in tests/hopper_forms.py), and so do rungs at ragged sizes."""
    work = LADDER["tma_pipeline"].workload(m=64, k=72, n=136, tile_n=128)
    trace = record(work, kind="as_compiled")
    (outcome,) = check(work, trace.outputs)
    assert outcome.ok
    assert outcome.unwritten == 0
    assert not trace.findings


FENCE = '        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");\n'
BYTES = "(TILE_M + TILE_N) * TILE_K * sizeof(half)"
# What a rung needs, taken away, and the kind of finding that says so.
BROKEN = [
    ("wgmma", FENCE, "", "proxy_fence"),
    ("tma_pipeline", "wgmma.wait_group.sync.aligned 0;", "", "not_awaited"),
    ("tma_pipeline", "wgmma.wait_group.sync.aligned 1;", "", "not_awaited"),
    ("tma_pipeline", "phase / STAGES % 2", "(phase / STAGES + 1) % 2", "not_awaited"),
    ("warp_specialised", BYTES, f"{BYTES} + 16", "hang"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "needed", "instead", "kind"), BROKEN)
def test_what_is_missing_is_found(name, needed, instead, kind):
    work = LADDER[name].workload(k=320)
    assert needed in work.source
    trace = record(replace(work, source=work.source.replace(needed, instead)), kind="as_compiled")
    assert kind in {finding.kind for finding in trace.findings}
