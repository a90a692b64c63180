"""Every rung's outputs equal a GPU's to the last bit, in both builds.

`scripts/record_rungs.py` took the hashes. The reference set (tests/core/test_reference.py) and the
instruction set (tests/core/emulator/test_isa_hardware.py) are compared with theirs in the same way.
"""

import json

import pytest

from tests.rung_set import BUILDS, FOLDER, emulated, rung_launches

RECORD = json.loads((FOLDER / "h200_2026-11-21.json").read_text(encoding="utf-8"))["rows"]
LAUNCHES = rung_launches()


@pytest.mark.slow
@pytest.mark.parametrize("kind", BUILDS)
@pytest.mark.parametrize("name", LAUNCHES)
def test_outputs_equal_the_hardware(name, kind):
    if name not in RECORD:
        pytest.skip("not on record yet: scripts/record_rungs.py takes it from a GPU")
    hashes, _ = emulated(name, kind)
    wanted = RECORD[name][kind]
    assert wanted
    assert {output: hashes[output] for output in wanted} == wanted
