"""Where pieces lie in the banks: the counted passes, and the rows and pieces of swizzled tiles."""

import re

import numpy as np
import pytest

from core.explain.bank_map import BankMap, Piece, Round, bank_map, explain_bank_map, verdict
from core.ladder import load_ladder
from core.recording.record_launch import record
from core.tensor_maps import SWIZZLES

LADDER = load_ladder()


@pytest.fixture(scope="module")
def tma():
    return record(LADDER["tma_pipeline"].workload(m=64, k=136, n=64)).block(0)


def steps_of(block, kind):
    events = [e for e in block.record.transfers if e.kind == kind]
    return [block.step_at(e.tick) for e in events]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rung", "parameters"),
    [
        ("aat_shared", {"n": 32, "tile": 32}),
        ("vectorised", {}),
        ("conflict_free", {}),
        ("tensor_half", {}),
        ("transpose_padded", {}),
    ],
)
def test_the_rounds_of_lanes_add_up_to_the_wavefronts(rung, parameters):
    block = record(LADDER[rung].workload(**parameters), blocks=[0]).block(0)
    accesses = [block.access(int(s)) for s in block.access_steps]
    shared = [a for a in accesses if a.space == "shared" and a.active[:32].any()]
    assert shared
    for access in shared[:: max(len(shared) // 40, 1)]:
        thread = int(np.flatnonzero(access.active[:32])[0])
        found = bank_map(block, access.step, thread, access)
        assert sum(r.ways for r in found.rounds) == access.warp(0).wavefronts
        lanes = [p.lane for r in found.rounds for p in r.pieces]
        assert sorted(lanes) == np.flatnonzero(access.active[:32]).tolist()
        assert thread in [p.lane for p in found.round.pieces]
        said = verdict(found)
        assert ("no conflict" in said) == (found.round.ways == 1)
        if found.round.ways > 1:
            assert f"{found.round.ways} wavefronts" in said


@pytest.mark.slow
def test_a_product_reads_core_matrices_without_conflict_thanks_to_the_swizzle(tma):
    for step in steps_of(tma, "product"):
        found = bank_map(tma, step, 40, None)
        assert found.swizzle == 128
        # A: 16 rows of a warp by 32 bytes; B: 16 rows by 128 bytes.
        assert len(found.rounds) == 2 * 2 + 2 * 8
        for turn in range(len(found.rounds)):
            one = bank_map(tma, step, 40, None, turn)
            assert one.chosen == turn
            assert len(one.round.pieces) == 8
            assert one.round.ways == 1
            assert one.plain.ways == 8
            places = [one.place_in_tile(p.offset) for p in one.round.pieces]
            assert len({piece for _, piece in places}) == 1
            rows = [row for row, _ in places]
            assert rows == list(range(rows[0], rows[0] + 8))
            assert rows[0] % 8 == 0
    assert "8 wavefronts" in verdict(found)


def test_a_copy_puts_pieces_where_the_map_says(tma):
    step = steps_of(tma, "load")[0]
    found = bank_map(tma, step, 0, None)
    assert found.swizzle == 128
    assert found.is_asynchronous
    for line in found.lines:
        held = [found.place_in_tile(line * 128 + chunk * 16) for chunk in range(8)]
        assert [piece for _, piece in held] == [chunk ^ (line % 8) for chunk in range(8)]
        assert len({row for row, _ in held}) == 1


@pytest.mark.parametrize("swizzle", SWIZZLES)
def test_a_tile_without_a_wide_swizzle_is_counted_by_its_own_rows(swizzle):
    rows = swizzle or 128
    found = BankMap(0, "", (Round("", (Piece("", 4096, 16),)),), 0, swizzle, 4096)
    seen = [found.place_in_tile(4096 + at) for at in range(0, 1024, 16)]
    assert sorted(seen) == [(r, c) for r in range(1024 // rows) for c in range(rows // 16)]


def test_an_explanation_computes_each_piece(tma):
    found = bank_map(tma, steps_of(tma, "product")[0], 0, None)
    lines = explain_bank_map(found).sections[0].lines
    assert len(lines) == 8
    for text, piece in zip(lines, found.round.pieces, strict=True):
        found_in = re.search(r"line (\d+): (\d+) xor \((\d+) mod (\d+)\) = (\d+)", text)
        line, before, same, modulo, at = map(int, found_in.groups())
        assert line == same == piece.offset // 128
        assert before ^ (line % modulo) == at == piece.offset % 128 // 16


def test_before_any_use_there_is_none(tma):
    assert bank_map(tma, 0, 0, None) is None
