"""Which blocks share an SM: as `%smid` said on an H200."""

import json

import numpy as np
import pytest

from core.rules.l1_cache import SMS, sm_of
from tests.l1_set import FOLDER, placements

RECORD = json.loads((FOLDER / "h200_2026-11-21.json").read_text(encoding="utf-8"))["placements"]


@pytest.mark.parametrize(("place", "resident"), [(0, 32), (1, 8), (2, 2)])
def test_the_blocks_that_start_at_once_share_sms_as_on_the_gpu(place, resident):
    assert placements()[place].launch.block.count * resident == 2048
    theirs = np.array(RECORD[place])[: SMS * resident]
    ours = sm_of(np.arange(SMS * resident), SMS * resident, SMS, resident)
    assert (np.bincount(ours) == resident).all()
    pairs = np.unique(np.stack([ours, theirs]), axis=1)
    assert pairs.shape[1] == SMS  # one to one: only the names of the SMs differ


def test_later_blocks_go_anywhere_but_as_many_to_each_sm():
    first, rounds = SMS * 8, 5
    blocks = np.arange(first + SMS * rounds)
    places = sm_of(blocks, len(blocks), SMS, 8)
    assert (np.bincount(places[first:]) == rounds).all()
    assert (places[first:] != np.tile(places[first : first + SMS], rounds)).mean() > 0.7
    some = blocks[::7]
    assert (sm_of(some, len(blocks), SMS, 8) == places[::7]).all()  # a block's place is its own


def test_other_gpus_deal_their_blocks_out_in_turn():
    assert sm_of(np.arange(7), 7, 3, 2).tolist() == [0, 1, 2, 0, 1, 2, 0]


def test_up_to_as_many_blocks_as_sms_have_one_each():
    assert sorted(sm_of(np.arange(SMS), SMS, SMS, 8)) == list(range(SMS))
