"""scripts/corpus.py: what it makes of two files, and the page that it writes of results."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "corpus.py"

CLEAN = """
#include <cstdio>
__global__ void twice(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * in[i];
}
int main() {
    float *in, *out;
    cudaMalloc(&in, 1000 * sizeof(float));
    cudaMalloc(&out, 1000 * sizeof(float));
    twice<<<4, 256>>>(in, out, 1000);
}
"""
FAULTY = CLEAN.replace("if (i < n) ", "")
"""Threads 1000 to 1023 are out of bounds."""


@pytest.fixture(scope="module")
def corpus():
    spec = importlib.util.spec_from_file_location("corpus", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["corpus"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["corpus"]


@pytest.mark.slow
def test_two_files_run_and_what_is_known_does_not_run_again(corpus, tmp_path, capsys):
    home = tmp_path / "somebody+things"
    (home / ".git").mkdir(parents=True)
    (home / "core").mkdir()
    (home / "core" / "__init__.py").write_text("raise SystemExit(7)")
    for name, text in (("good.cu", CLEAN), ("bad.cu", FAULTY)):
        (home / name).write_text(text)
    rows = ["repository\tcommit\tpath\tclass\tverdict"]
    rows += [f"somebody/things\t0123456789ab\t{name}.cu\tother\t" for name in ("good", "bad", "no")]
    (tmp_path / "list.tsv").write_text("\n".join(rows) + "\n")
    arguments = [str(tmp_path / name) for name in ("list.tsv", "", "results.jsonl")]

    assert corpus.main([*arguments, "--limit", "600"]) == 0
    results = corpus.read_results(tmp_path / "results.jsonl")
    found = {path: result.outcome for (_, path), result in results.items()}
    assert found == {"good.cu": "clean", "bad.cu": "finding", "no.cu": "refused"}
    bad = results["somebody/things", "bad.cu"]
    assert bad.kernel == "twice"
    assert bad.sentence.startswith("out_of_bounds: ")
    assert "no.cu" in results["somebody/things", "no.cu"].sentence

    capsys.readouterr()
    assert corpus.main(arguments) == 0
    assert capsys.readouterr().out == ""


def test_page_counts_by_class_and_only_true_findings_run_bare(corpus):
    def pair(number, kind, outcome, verdict="", sentence=""):
        file = corpus.File(f"o/r{number}", "c" * 40, f"{number}.cu", kind, verdict)
        result = corpus.Result(
            file.repository, file.path, outcome, sentence, kernel="k", part=False, seconds=1.0
        )
        return file, result

    pairs = [
        pair(1, "textbook", "clean"),
        pair(2, "textbook", "finding", "true: no bounds check"),
        pair(3, "textbook", "finding", "false: the size of a"),
        pair(4, "textbook", "untested", "true: it prints only"),
        pair(5, "library", "refused", sentence="a | b < c"),
        pair(6, "library", "finding"),
        pair(7, "library", "clean"),
    ]
    files = [file for file, _ in pairs]
    results = {(r.repository, r.path): r for _, r in pairs}
    lines = list(corpus.page(files, results, 60))

    rows = {cells[1]: cells[2:-1] for cells in (re.split(r" ?\| ?", x) for x in lines) if cells[1:]}
    assert rows["textbook"] == ["4", "1", "2", "1", "0", "0", "0", "2", "75 %", "90 %"]
    assert rows["library"] == ["3", "1", "1", "0", "1", "0", "0", "0", "33 %", "60 %"]
    assert rows["all"][-2] == "57 %"
    assert any(r"a \| b \< c" in line for line in lines)
    assert "## Refused: 1" in lines
