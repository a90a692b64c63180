"""The list of licences names every package that an installation brings."""

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_every_package_is_listed():
    """Else: python scripts/licences.py."""
    path = ROOT / "scripts" / "licences.py"
    spec = importlib.util.spec_from_file_location("licences", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows = dict(
        re.findall(r"^\| ([\w-]+) \| (.+) \|$", module.PAGE.read_text("utf-8"), re.MULTILINE)
    )
    found = module.brought()
    assert set(found) >= {"numpy", "pyside6-essentials", "typer", "shiboken6"}
    assert not set(found) - set(rows)
    assert all(rows[name] == module.licence_of(one) for name, one in found.items() if name in rows)
