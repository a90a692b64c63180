"""`tilescope check --cluster` says what one process says, to the letter."""

import json

import pytest

from core.cli.app import main
from core.distributed import cluster
from tests.cli.test_check import CLEAN, FAULTY, IN_ONE_ORDER

pytest.importorskip("distributed")

pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.slow]

WITH_HEADER = """#include "tools/width.cuh"
__global__ void wide(float* out) { out[threadIdx.x * WIDTH] = 1.0f; }
"""
EXPECTED = """
[[launch]]
file = "twice.cu"
kernel = "twice"
grid = "2"
block = "64"
arg = ["a=float32[128]", "b=float32[128]", "n=128"]
global_ld_sectors = 3
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    kernels = tmp_path / "kernels"
    (kernels / "deep").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "include" / "tools").mkdir(parents=True)
    (tmp_path / "include" / "tools" / "width.cuh").write_text("#define WIDTH 3\n")
    (kernels / "twice.cu").write_text(CLEAN)
    (kernels / "faulty.cu").write_text(FAULTY)
    (kernels / "late.cu").write_text(IN_ONE_ORDER)
    (kernels / "deep" / "wide.cu").write_text(WITH_HEADER)
    (kernels / "broken.cu").write_text("__global__ void k(int* a) { a[0] = nothing; }\n")
    (kernels / "bytes.cu").write_bytes(b"\x00\xff\x00")
    (tmp_path / "expected.toml").write_text(EXPECTED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(arguments, capsys):
    status = main(arguments)
    return (status, *capsys.readouterr())


def test_the_same_findings_files_and_status_as_one_process(folder, capsys):
    options = ["check", "kernels", "kernels/deep/wide.cu", "--expect", "expected.toml"]
    alone = said([*options, "--sarif", "a.sarif", "--write", "a.toml"], capsys)
    spread = said(
        [*options, "--sarif", "b.sarif", "--write", "b.toml", "--cluster", "local", "-j", "2"],
        capsys,
    )
    assert alone[0] == 1
    assert spread == alone
    text = " ".join(alone[1].split())
    for words in ("race: Line 7", "too much:", "In another order", "deep/wide.cu: wide"):
        assert words in text
    assert "bytes.cu" in alone[2]
    assert "broken.cu" in alone[2]
    assert json.loads((folder / "a.sarif").read_text()) == json.loads(
        (folder / "b.sarif").read_text()
    )
    assert (folder / "a.toml").read_text() == (folder / "b.toml").read_text()


def test_a_clean_folder_ends_with_0_and_a_wrong_address_with_2(folder, capsys, monkeypatch):
    only = ["check", "kernels/twice.cu", "--cluster"]
    assert said([*only, "local"], capsys)[0] == 0
    monkeypatch.setattr(cluster, "_CONNECT_S", 2.0)
    status, _, error = said([*only, "tcp://127.0.0.1:9"], capsys)
    assert status == 2
    assert "There is no scheduler at tcp://127.0.0.1:9" in " ".join(error.split())
