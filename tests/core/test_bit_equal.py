"""Every rung's outputs equal a GPU's to the last bit, in both builds.

`scripts/record_rungs.py` took the hashes. The reference set (tests/core/test_reference.py) and the
instruction set (tests/core/emulator/test_isa_hardware.py) are compared with theirs in the same way.
"""

import hashlib
import json

import pytest

from core.recording import record
from tests.rung_set import BUILDS, FOLDER, rung_launches

RECORD = json.loads((FOLDER / "h200_2026-11-21.json").read_text(encoding="utf-8"))["rows"]
LAUNCHES = rung_launches()


@pytest.mark.parametrize("kind", BUILDS)
@pytest.mark.parametrize("name", LAUNCHES)
def test_outputs_equal_the_hardware(name, kind):
    if name not in RECORD:
        pytest.skip("not on record yet: scripts/record_rungs.py takes it from a GPU")
    outputs = record(LAUNCHES[name], kind=kind, blocks=[0], checks=False).outputs
    wanted = RECORD[name][kind]
    assert wanted
    for output, digest in wanted.items():
        assert hashlib.sha256(outputs[output].tobytes()).hexdigest() == digest, output
