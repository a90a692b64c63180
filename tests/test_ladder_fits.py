"""Every tuned rung compiles for other GPUs and fits there as docs/ladder_fits.json says."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

import ladder_fits as made

from core.ladder import load_ladder

ROWS = {row["rung"]: row for row in json.loads(made.FITS.read_text("utf-8"))["rows"]}
LADDER = load_ladder()
RUNGS = made.fitted()


def test_every_rung_is_there_as_it_is_tuned():
    assert list(ROWS) == [rung.name for rung in RUNGS]
    for rung in RUNGS:
        assert ROWS[rung.name]["parameters"] == made.tuned(rung)
        assert list(ROWS[rung.name]["fits"]) == list(made.CAPABILITIES)


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
@pytest.mark.slow
def test_an_a100_holds_a_block_of_every_tuned_rung(rung):
    found, said = made.fit(rung, made.tuned(rung), "8.0"), ROWS[rung.name]["fits"]["8.0"]
    assert found["blocks"] > 0
    assert found["registers"] <= 255
    # Registers, and with them blocks, differ a little from one version of NVRTC to the next.
    assert found["shared_bytes"] == said["shared_bytes"]
    assert said["blocks"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tuned", "tensor_core", "tensor_tuned", "tensor_half"])
def test_smaller_gpus_hold_a_block_of_the_defaults(name):
    for capability in ("8.6", "8.9"):
        assert made.fit(LADDER[name], LADDER[name].defaults, capability)["blocks"] > 0


def test_a_row_of_the_file_is_made_anew():
    assert made.fit(LADDER["tiled"], made.tuned(LADDER["tiled"]), "9.0")["shared_bytes"] == 8192
