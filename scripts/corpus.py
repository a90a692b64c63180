"""What `tilescope trace FILE`, with nothing else, makes of other people's CUDA files.

    python scripts/corpus.py docs/corpus.tsv FOLDER RESULTS.jsonl            run what RESULTS lacks
    python scripts/corpus.py docs/corpus.tsv FOLDER RESULTS.jsonl --page     write docs/corpus.md

The list has a row a file: repository, commit, path, class, and what a person judged of its finding
("true: …", "false: …", or nothing). FOLDER/OWNER+NAME holds the headers and sources of a repository
at its commit, and a folder `.git`. The files run one at a time, each in a process of its own.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "corpus.md"
TRACE = "from core.cli.app import main; raise SystemExit(main())"

CLEAN, FINDING, UNTESTED, REFUSED, LATE, CRASH = OUTCOMES = (
    "clean",
    "finding",
    "untested",
    "refused",
    "late",
    "crash",
)
"""No fault; some fault; no thread touched memory; one sentence; over the limit; anything else."""

GOALS = {"textbook": 90, "sample": 85, "library": 60}
"""Percent of the files of a class that shall run bare."""


@dataclass(frozen=True)
class File:
    """A row of the list."""

    repository: str  # owner/name
    commit: str
    path: str
    kind: str  # the class: textbook, sample, library or other
    verdict: str = ""


@dataclass(frozen=True)
class Result:
    """What came of a file."""

    repository: str
    path: str
    outcome: str
    sentence: str  # of the refusal, or of the first finding
    kernel: str
    part: bool  # only some of the blocks ran
    seconds: float  # of wall time
    earlier: bool = False  # kept from a run of an earlier version


def read_list(path: Path) -> list[File]:
    """The rows of a list, a table with tabs and a head."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t")
        next(rows)
        return [File(*row) for row in rows]


def read_results(path: Path) -> dict[tuple[str, str], Result]:
    """Results by repository and path; none if there is no such file."""
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    results = [Result(**json.loads(line)) for line in lines]
    return {(r.repository, r.path): r for r in results}


def run(file: File, folder: Path, limit: float) -> Result:
    """Trace one file for at most `limit` seconds."""
    begin = time.perf_counter()
    # -P: a repository with a folder `core` or a file numpy.py must not be imported.
    command = [sys.executable, "-P", "-c", TRACE, "trace", file.path, "--json"]
    try:
        done = subprocess.run(
            command,
            cwd=folder / file.repository.replace("/", "+"),
            env={**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        status, out, err = LATE, "", f"not ended after {limit:g} s"
    else:
        out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        status = {0: CLEAN, 1: FINDING, 2: REFUSED}.get(done.returncode, CRASH)
    return _result(file, status, out, err, time.perf_counter() - begin)


def _result(file: File, status: str, out: str, err: str, seconds: float) -> Result:
    sentence, kernel, part = " ".join(err.split()), "", False
    if status in (CLEAN, FINDING):
        try:
            said = json.loads(out)
        except ValueError:
            status = CRASH
        else:
            kernel, part = said["kernel"], not said["complete"]
            messages = [_message(h) for h in said["hazards"] if not h["is_left_open"]]
            sentence = messages[0] if messages else said["note"] if part else ""
            if status == CLEAN and not said["tested"]:
                status = UNTESTED
    if "Traceback (most recent call last)" in err:
        status = CRASH
    return Result(file.repository, file.path, status, sentence, kernel, part, round(seconds, 1))


def _message(hazard: Mapping[str, Any]) -> str:
    guessed = " (The size is a guess.)" if hazard["size_is_guessed"] else ""
    return f"{hazard['kind']}: {hazard['message']}{guessed}"


def runs_bare(file: File, result: Result) -> bool:
    """Whether the file ran, and a finding, or that it touches no memory, was judged true."""
    if result.outcome in (FINDING, UNTESTED):
        return file.verdict.startswith("true")
    return result.outcome == CLEAN


def page(
    files: Sequence[File], results: Mapping[tuple[str, str], Result], limit: float
) -> Iterator[str]:
    """The lines of docs/corpus.md."""
    pairs = [(f, results[f.repository, f.path]) for f in files if (f.repository, f.path) in results]
    repositories = {f.repository for f, _ in pairs}
    yield "# Other people's files"
    yield ""
    stopped = sum(r.part for _, r in pairs)
    yield f"""\
{len(pairs)} `.cu` and `.cuh` files of {len(repositories)} public repositories, each run with
`tilescope trace FILE` and nothing else. `scripts/corpus.py` ran them and wrote this page; the files
themselves are no part of Tilescope. They were drawn by lot before any was run: a fixed number from
each repository, out of the files that define a kernel, tests and copies of other projects left out.
CUDA's own headers were installed, those of libcu++, CUB and cuRAND among them.

A file *runs bare* if its first kernel ran and what Tilescope says of it is right: no fault, or one
that a person judged to be in the file (*true*); one that nobody judged yet counts as wrong.
*Untested*: no thread touched memory. *Late*: not ended after {limit:g} s. {stopped} of those that
ran stopped after 30 s of processor time, with the blocks done until then.
"""
    if earlier := sum(r.earlier for _, r in pairs):
        yield f"{earlier} results are kept from a run of an earlier version. The others are new."
        yield ""
    yield "| class | files | " + " | ".join(OUTCOMES) + " | judged true | run bare | goal |"
    yield "|-|" + "-:|" * (len(OUTCOMES) + 4)
    for kind in sorted({f.kind for f, _ in pairs}, key=[*GOALS, "other"].index):
        of_kind = [(f, r) for f, r in pairs if f.kind == kind]
        yield _row(kind, of_kind, f"{GOALS[kind]} %" if kind in GOALS else "")
    yield _row("all", pairs, "")
    for outcome in OUTCOMES:
        chosen = [(f, r) for f, r in pairs if r.outcome == outcome]
        if chosen:
            yield from _files(outcome, chosen)


def _row(name: str, pairs: Sequence[tuple[File, Result]], goal: str) -> str:
    counts = Counter(r.outcome for _, r in pairs)
    true = sum(r.outcome != CLEAN and runs_bare(f, r) for f, r in pairs)
    bare = sum(runs_bare(f, r) for f, r in pairs)
    share = f"{100 * bare / len(pairs):.0f} %"
    cells = [name, len(pairs), *(counts[o] for o in OUTCOMES), true, share, goal]
    return "| " + " | ".join(map(str, cells)) + " |"


def _files(outcome: str, pairs: Sequence[tuple[File, Result]]) -> Iterator[str]:
    yield ""
    yield f"## {outcome.capitalize()}: {len(pairs)}"
    yield ""
    yield "| repository | commit | file | kernel | what it says | judged |"
    yield "|-|-|-|-|-|-|"
    for file, result in pairs:
        said = result.sentence if outcome != CLEAN or result.part else ""
        cells = [file.repository, file.commit[:10], file.path, result.kernel, said, file.verdict]
        yield "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    """Text that a table of Markdown shows as it is."""
    short = text if len(text) <= 400 else text[:399] + "…"
    for mark in "\\|<>*_`[]":
        short = short.replace(mark, f"\\{mark}")
    return short


def main(argv: Sequence[str] | None = None) -> int:
    """Run the files, or write the page; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("list", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--limit", type=float, default=60, help="seconds for one file")
    parser.add_argument("--page", action="store_true", help="write docs/corpus.md; run nothing")
    options = parser.parse_args(argv)
    files, results = read_list(options.list), read_results(options.results)
    if options.page:
        PAGE.write_text("\n".join(page(files, results, options.limit)) + "\n", encoding="utf-8")
        return 0
    with options.results.open("a", encoding="utf-8") as log:
        for file in files:
            if (file.repository, file.path) not in results:
                result = run(file, options.folder, options.limit)
                log.write(json.dumps(asdict(result)) + "\n")
                log.flush()
                print(f"{result.seconds:5.1f} s  {result.outcome:8}  {file.repository} {file.path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
