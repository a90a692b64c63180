"""A thousand damaged lessons: each is read, or is a sentence, and none reads what it must not."""

import random
import re
import sys
from pathlib import Path

import pytest

from core.emulator.machine import Limits
from core.lessons import launch_cache
from core.lessons.lesson_check import check_lesson
from core.lessons.lesson_expressions import LessonError
from core.lessons.lesson_files import read_lesson
from tests.core.lessons.lesson_texts import GOOD, KERNEL, LADDER, write_lesson

ROOT = Path(__file__).resolve().parents[3]
HOSTILE = [
    "../secret.cu",
    "/etc/hostname",
    "rung:tiled",
    "..",
    "\\u0000",
    "%2e%2e",
    "kernels/../../secret.cu",
    "__import__('os').system('touch CANARY')",
    "().__class__.__base__.__subclasses__()",
    "open('CANARY', 'w')",
    "exec('x')",
    "[x for x in range(4096) for y in range(4096)]",
    "sectors(stride=10000000000)",
    "sum(sectors(stride=s) for s in range(1, 64))",
    "{{{{",
    "}",
    "{",
    "(((((((((",
    "9" * 40,
    "-1",
    "0",
    "1e400",
    "NaN",
    "true",
    "null",
    "\\n",
    "é",
    "\u202e",
    "n * n * n * n",
    '#include \\"../secret.cu\\"',
    "@secret.npy",
    "block=99999999",
    "step=-5",
    "n=2000000000",
    "n=65536",
    "at=load:A#999999",
    "order=random",
    "vs=tiled",
    "vs.n=3",
    "inputs=places",
    "seed=4294967296",
    "A[0,99]",
    "A[-1]",
    "A",
    'total(\\"x\\")',
    "row(0, 0)",
    "held(tile_a[9,9])",
    "text(text(1))",
]
opened: list[str] = []
watching = False


def _watch(event, arguments):
    if watching and event == "open" and isinstance(arguments[0], str | bytes | Path):
        opened.append(str(arguments[0]))


sys.addaudithook(_watch)


def mutated(chance: random.Random, text: str) -> str:
    for _ in range(chance.choice([1, 1, 1, 2, 3, 8])):
        lines = text.split("\n")
        place = chance.randrange(len(lines))
        match chance.randrange(9):
            case 0:
                del lines[place]
            case 1:
                lines.insert(place, lines[chance.randrange(len(lines))])
            case 2:
                other = chance.randrange(len(lines))
                lines[place], lines[other] = lines[other], lines[place]
            case 3:
                at = chance.randrange(len(lines[place]) + 1)
                lines[place] = (
                    lines[place][:at] + chr(chance.randrange(32, 500)) + lines[place][at:]
                )
            case 4:
                at = chance.randrange(len(lines[place]) + 1)
                lines[place] = lines[place][:at] + lines[place][at + 1 + chance.randrange(4) :]
            case 5:
                hostile = chance.choice(HOSTILE)
                lines[place] = re.sub(
                    r'"[^"]*"', lambda _, h=hostile: f'"{h}"', lines[place], count=1
                )
            case 6:
                lines[place] = re.sub(
                    r"\d+", str(chance.choice([0, -1, 7, 33, 10**6, 10**12])), lines[place], count=1
                )
            case 7:
                words = re.findall(r"[A-Za-z_]\w*", text) or ["id"]
                lines[place] = re.sub(r"[A-Za-z_]\w*", chance.choice(words), lines[place], count=1)
            case 8:
                lines[place] = lines[place].replace(
                    "(", chance.choice(["((", "[", "(*", "( -", ""]), 1
                )
        text = "\n".join(lines)
    return text


def survives(folder: Path, seed: int) -> str:
    """What became of one damaged lesson: "read", "refused"; any other exception is passed on."""
    chance = random.Random(seed)
    texts = [GOOD, LADDER, KERNEL]
    which = chance.choice([0, 0, 0, 0, 0, 0, 1, 1, 2])
    texts[which] = mutated(chance, texts[which])
    file = write_lesson(folder, *(t.encode("utf-8", "replace").decode() for t in texts))
    try:
        lesson = read_lesson(file)
    except LessonError as error:
        said, outcome = [str(error)], "refused"
    else:
        said, outcome = [str(trouble) for trouble in check_lesson(lesson) if trouble], "read"
    assert not [text for text in said if "\n" in text or "Traceback" in text]
    return outcome


@pytest.mark.parametrize(
    ("first", "count"),
    [
        (0, 12),
        pytest.param(12, 188, marks=pytest.mark.slow),
        *(pytest.param(200 * part, 200, marks=pytest.mark.release) for part in range(1, 5)),
    ],
)
def test_a_damaged_lesson_is_a_lesson_or_a_sentence(tmp_path, monkeypatch, first, count):
    global watching
    monkeypatch.setattr(launch_cache, "LIMITS", Limits(instructions=20_000, seconds=None))
    monkeypatch.setattr(launch_cache, "MOST_THREADS", 1 << 12)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.cu").write_text(KERNEL)
    opened.clear()
    home = tmp_path / "home" / "lesson"
    outcomes = {"read": 0, "refused": 0}
    try:
        watching = True
        for seed in range(first, first + count):
            outcomes[survives(home, seed)] += 1
    finally:
        watching = False
    assert min(outcomes.values()) >= count // 20, outcomes
    assert not list(tmp_path.rglob("*CANARY*"))
    outside = [
        path for path in map(Path, opened) if "secret" in path.name or path.parent == Path("/etc")
    ]
    assert outside == []
    mine = [path for path in opened if str(tmp_path) in path and not path.startswith(str(home))]
    assert mine == []
