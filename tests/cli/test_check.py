"""`tilescope check`, called as a build calls it: exit status, SARIF, and counters expected."""

import json
import re
from pathlib import Path

import pytest

from core.cli.app import main
from core.cli.check import _check_sent, _File, read_expected, sent, sources
from core.errors import TilescopeError
from core.findings.sarif import RULES

CLEAN = """__global__ void twice(const float* a, float* b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        b[i] = 2 * a[i];
}
"""
FAULTY = """__global__ void shifts(int* a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i + 3] = i;
}
__global__ void unordered(int* sum, const int* a) { sum[0] += a[threadIdx.x]; }
"""
# One warp computes before the other has stored: the second order reads what nobody has written.
IN_ONE_ORDER = """__global__ void late(int* out)
{
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = s[63 - threadIdx.x];
}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "kernels" / "more of them").mkdir(parents=True)
    (tmp_path / "kernels" / "twice.cu").write_text(CLEAN)
    (tmp_path / "kernels" / "more of them" / "faulty.cu").write_text(FAULTY)
    (tmp_path / "kernels" / "notes.txt").write_text("no source")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_exit_status_is_that_of_the_findings(folder, capsys):
    assert main(["check", "kernels/twice.cu"]) == 0
    assert "1 launch checked, 0 findings." in capsys.readouterr().out
    assert main(["check", "kernels"]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "out of bounds: Line 5" in text
    assert "race: Line 7" in text
    assert text.count("twice.cu: twice") == 1
    assert "3 launches checked, 2 findings." in text
    assert main(["check", "kernels", "--no-fail"]) == 0
    assert main(["check", "kernels", "--kernel", "twice"]) == 0
    capsys.readouterr()
    assert main(["check", "kernels", "--kernel", "gone"]) == 2
    assert "No file has a kernel gone" in capsys.readouterr().err
    assert main(["check", "kernels/twice.cu", "--sarif", "gone/s.sarif"]) == 2
    assert not capsys.readouterr().out  # before anything runs
    assert main(["check", "none.cu"]) == 2
    assert "There is no file none.cu." in capsys.readouterr().err
    (folder / "empty").mkdir()
    assert main(["check", "empty"]) == 2
    (folder / "broken.cu").write_text("__global__ void k(int* a) { a[0] = missing; }\n")
    assert main(["check", "broken.cu", "kernels/twice.cu"]) == 2
    shown = capsys.readouterr()
    assert "broken.cu: k:" in shown.err
    assert "1 launch checked, 0 findings, 1 refused." in shown.out


def within_python(kernels):
    return f'import cupy\n\nSOURCE = r"""\n{kernels}"""\n'


def notebook(kernels):
    cells = [{"cell_type": "code", "source": ["%%cuda\n", *kernels.splitlines(keepends=True)]}]
    return json.dumps({"cells": cells})


def test_a_folder_is_checked_with_its_python_files_and_notebooks(folder, capsys):
    mixed = folder / "mixed"
    for place in (".hidden", "venv/site-packages"):
        (mixed / place).mkdir(parents=True)
        (mixed / place / "faulty.py").write_text(within_python(FAULTY))
    (mixed / "plain.py").write_text("print('__global__ is no kernel')\n")
    with pytest.raises(TilescopeError, match=r"\.cu, \.cuh, \.py or \.ipynb"):
        list(sources([mixed]))
    (mixed / "twice.py").write_text(within_python(CLEAN))
    (mixed / "faulty.ipynb").write_text(notebook(FAULTY))
    (mixed / "damaged.py").write_bytes(b"\x00\xff\x00")
    assert main(["check", "mixed", "--orders", "1"]) == 1
    shown = capsys.readouterr()
    assert "twice.py: twice" in shown.out
    assert "faulty.ipynb: shifts" in shown.out
    assert "damaged.py" in shown.err
    assert "3 launches checked, 2 findings, 1 refused." in shown.out


def test_a_python_file_is_sent_to_a_worker_as_it_is(folder, tmp_path):
    for name, text in (("k.py", within_python(CLEAN)), ("k.ipynb", notebook(CLEAN))):
        path = folder / name
        path.write_text(text)
        file = _File(path, path, path, True, None, (), (), 1, 7)
        part, said = _check_sent(sent(file))
        assert not part["refused"], said
        assert len(part["counted"]) == 1


def test_what_another_order_shows_is_found_and_said(folder, capsys):
    (folder / "late.cu").write_text(IN_ONE_ORDER)
    assert main(["check", "late.cu", "--orders", "1"]) == 1
    first = capsys.readouterr().out
    assert main(["check", "late.cu"]) == 1
    text = capsys.readouterr().out
    assert "uninitialised" not in first
    assert "which no thread has written" in text
    assert "(In another order of the warps.)" in text


def test_the_sarif_log_has_what_its_schema_requires(folder):
    assert main(["check", "kernels", "--sarif", "out.sarif"]) == 1
    log = json.loads((folder / "out.sarif").read_text("utf-8"))
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "Tilescope"
    assert [rule["id"] for rule in driver["rules"]] == list(RULES)
    assert all(rule["shortDescription"]["text"] for rule in driver["rules"])
    assert len(run["results"]) == 2
    for result in run["results"]:
        assert result["message"]["text"]
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "kernels/more%20of%20them/faulty.cu"
        assert place["region"]["startLine"] >= 1
        assert all(re.fullmatch("[0-9a-f]{64}", v) for v in result["partialFingerprints"].values())
    found = {(r["ruleId"], r["locations"][0]["physicalLocation"]["region"]["startLine"])
             for r in run["results"]}  # fmt: skip
    assert found == {("out_of_bounds", 5), ("race", 7)}
    assert main(["check", "kernels/twice.cu", "--sarif", "none.sarif"]) == 0
    assert json.loads((folder / "none.sarif").read_text("utf-8"))["runs"][0]["results"] == []


def test_counters_above_what_is_expected_fail(folder, capsys):
    assert main(["check", "kernels/twice.cu", "--write", "counters.toml"]) == 0
    assert main(["check", "kernels/twice.cu", "--expect", "counters.toml"]) == 0
    text = (folder / "counters.toml").read_text("utf-8")
    (sectors,) = re.findall(r"global_ld_sectors = (\d+)", text)
    assert "shared_ld_conflicts = 0" in text
    fewer = text.replace(
        f"global_ld_sectors = {sectors}", f"global_ld_sectors = {int(sectors) - 1}"
    )
    (folder / "fewer.toml").write_text(fewer)
    capsys.readouterr()
    assert main(["check", "kernels", "--kernel", "twice", "--expect", "fewer.toml"]) == 1
    wanted = f"global_ld_sectors is {sectors}, and at most {int(sectors) - 1} is expected."
    assert wanted in " ".join(capsys.readouterr().out.split())
    # the same launch by other sizes: strided by 8, every element is a sector of its own
    (folder / "kernels" / "twice.cu").write_text(CLEAN.replace("a[i]", "a[i * 8 % n]"))
    assert main(["check", "kernels/twice.cu", "--expect", "counters.toml"]) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[launch]]\nfile = 'a.cu'\n", "needs a file and a kernel"),
        ("launch = 3\n", "has no launches"),
        ("[[launch]]\nfile='a.cu'\nkernel='k'\nsectors=3\n", "sectors is neither a counter"),
        ("[[launch]]\nfile='a.cu'\nkernel='k'\nglobal_ld_sectors=-1\n", "whole number from 0"),
        ("[[launch]", "is not TOML"),
    ],
)
def test_what_is_wrong_in_a_file_of_expectations_is_said(folder, capsys, text, said):
    (folder / "wrong.toml").write_text(text)
    assert main(["check", "kernels/twice.cu", "--expect", "wrong.toml"]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_launch_that_is_expected_and_not_there_is_said(folder, capsys):
    (folder / "gone.toml").write_text("[[launch]]\nfile='twice.cu'\nkernel='thrice'\n")
    assert main(["check", "kernels/twice.cu", "--expect", "gone.toml"]) == 2
    assert "thrice of twice.cu is expected" in " ".join(capsys.readouterr().err.split())


def test_the_documented_commands_have_their_options(folder, capsys):
    page = (Path(__file__).parents[2] / "docs" / "ci.md").read_text("utf-8")
    lines = [line for line in page.splitlines() if "tilescope check " in line]
    assert len(lines) >= 5
    assert main(["check", "--help"]) == 0
    shown = capsys.readouterr().out
    for option in {word for line in lines for word in re.findall(r"--[a-z-]+", line)}:
        assert option in shown
    assert all(rule in {**RULES} for rule in ("exceeds_expectation", "refused"))
    (row,) = re.findall(r"\[\[launch\]\][^#]*?shared_ld_conflicts = 0", page)
    (folder / "page.toml").write_text("\n".join(line.strip() for line in row.splitlines()))
    (expected,) = read_expected(folder / "page.toml")
    assert expected.most["shared_ld_conflicts"] == 0
    assert set(expected.options) == {"kernel", "grid", "block", "arg"}
