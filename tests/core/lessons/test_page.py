"""docs/lessons.md has what the program has."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_is_up_to_date():
    script = ROOT / "scripts" / "lessons_page.py"
    done = subprocess.run([sys.executable, script, "--check"], check=False)
    assert done.returncode == 0, "run scripts/lessons_page.py"
