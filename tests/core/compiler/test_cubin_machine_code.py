"""Machine code as it is read, against what nvdisasm prints."""

from __future__ import annotations

import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from core.compiler.builds import compile_cubin
from core.compiler.cubin import ACCESSES, OPCODES, SIZE, cubin_entries, machine_code
from core.errors import TilescopeError
from core.ladder import load_ladder

LADDER = load_ladder()
VERSIONS = ((7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0))
WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "32": 4, "64": 8, "128": 16}
NVDISASM = Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "bin" / "nvdisasm"


def cubin(rung: str, version: tuple[int, int]) -> bytes:
    workload = LADDER[rung].blank_workload()
    return compile_cubin(
        workload.source,
        source_name=workload.source_name,
        defines=workload.defines,
        compute_capability=version,
    )


def printed(image: bytes, folder: Path) -> tuple[list[str], dict[str, int]]:
    """Each instruction's text, and the address of each label."""
    path = folder / "image.cubin"
    path.write_bytes(image)
    NVDISASM.chmod(NVDISASM.stat().st_mode | 0o111)
    text = subprocess.run([NVDISASM, "-c", path], capture_output=True, text=True, check=True).stdout
    code: list[str] = []
    labels: dict[str, int] = {}
    for line in text.splitlines():
        if label := re.match(r"\s*(\.L_\w+):", line):
            labels[label[1]] = len(code) * SIZE
        elif found := re.match(r"\s*/\*[0-9a-f]{4,5}\*/\s+(.*?)\s*;", line):
            code.append(found[1])
    return code, labels


@pytest.mark.slow
@pytest.mark.skipif(not NVDISASM.exists(), reason="nvdisasm is not installed (`dev` extra)")
@pytest.mark.parametrize(
    ("rung", "version"),
    [
        *(("tiled_bounds", (major, minor)) for major, minor in VERSIONS),
        ("tensor_core", (8, 0)),
        ("tensor_core", (12, 0)),
    ],
)
def test_equals_nvdisasm(rung, version, tmp_path) -> None:
    image = cubin(rung, version)
    texts, labels = printed(image, tmp_path)
    code = machine_code(image, cubin_entries(image)[0])
    assert len(code) == len(texts) > 50
    branches = factors = accesses = 0
    for one, text in zip(code, texts, strict=True):
        plain = re.sub(r"^@!?U?P\w+ +", "", text)
        name = plain.split()[0].split(".")[0]
        assert one.name == (name if name in OPCODES.values() else ""), text
        if name == "BRA":
            label = re.search(r"`\((\.L_\w+)\)", plain)
            assert label is not None
            assert one.target == labels[label[1]], text
            assert one.guarded == (plain != text or "," in plain), text
            branches += 1
        if one.name in ACCESSES:
            sizes = re.findall(r"\.(64|128|[SU]8|[SU]16)\b", plain.split()[0])
            assert one.width == WIDTHS[sizes[0] if sizes else "32"], text
            accesses += 1
        if one.factors:
            shown = [part.strip().lstrip("-") for part in plain.split(",")[1:]]
            assert [
                "RZ" if f is None else f"R{f.register}" + ".reuse" * f.reuse for f in one.factors
            ] == shown, text
            factors += 1
    assert branches > 1
    assert accesses > 3
    assert factors > 10 or rung == "tensor_core"


def test_a_kernel_that_is_not_there() -> None:
    with pytest.raises(TilescopeError, match="no kernel nothing"):
        machine_code(cubin("coalesced", (9, 0)), "nothing")
