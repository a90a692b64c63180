"""Whole kernels of every instruction family: each byte they write equals what an H200 wrote.

tests/data/isa/h200_2026-11-21.json holds the SHA-256 (first 16 digits) of every slot, taken by
running the cubins of the same sources (-G, and optimised) through the driver. Functions that are
only approximate are compared in test_isa_mathematics.py.
"""

from __future__ import annotations

import hashlib

import pytest

from tests.core.emulator.isa_kernels import HARDWARE, needs_headers, run, slots

CASES = [
    (name, kernel, kind)
    for name, kernels in HARDWARE["kernels"].items()
    for kernel, builds in kernels.items()
    for kind in (("as_written", "as_compiled") if "both" in builds else builds)
]


def test_the_set_is_large() -> None:
    assert len(CASES) >= 60


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kernel", "kind"), CASES)
def test_equals_the_hardware(name, kernel, kind) -> None:
    if needs_headers(name):
        pytest.skip("CUDA's headers are not installed: pip install -e '.[headers]'")
    builds = HARDWARE["kernels"][name][kernel]
    expected = builds.get("both") or builds[kind]
    written = slots(run(name, kernel, kind))
    wrong = [
        int(slot)
        for slot, digest in expected.items()
        if hashlib.sha256(written[int(slot)].tobytes()).hexdigest()[:16] != digest
    ]
    assert wrong == [], f"slots that differ from the hardware's in {name}.cu, {kernel}"
