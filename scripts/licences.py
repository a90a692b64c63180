"""The licences of what the application ships: `python scripts/licences.py` fills docs/licences.md.

The packages are those that an installation of Tilescope with the extra `film` brings; versions and
licences are what the installed ones say of themselves.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "licences.md"
EXTRAS = ("", "film")
HEAD = """\
# Licences of what an installation brings

Tilescope itself is under the MIT licence (`LICENSE`). It bundles the typefaces Inter and JetBrains
Mono, both under the SIL Open Font License 1.1 (`resources/fonts/OFL.txt`). The package
imageio-ffmpeg brings the program ffmpeg, under the GNU GPL, as its build holds x264; it comes with
the extra `film` alone. `python scripts/licences.py` writes the table from what the packages say of
themselves.

| package | licence |
|---|---|
"""


def main() -> int:
    """Write the page; returns the exit status."""
    PAGE.write_text(page(), "utf-8")
    sys.stdout.write(f"Wrote {PAGE.relative_to(ROOT)}\n")
    return 0


def page() -> str:
    """The page's text."""
    rows = (f"| {name} | {licence_of(found)} |" for name, found in sorted(brought().items()))
    return HEAD + "\n".join(rows) + "\n"


def brought() -> dict[str, Distribution]:
    """The packages that an installation brings, by their normalised names."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["film"]]
    found: dict[str, Distribution] = {}
    while wanted:
        asked = Requirement(wanted.pop())
        name = re.sub(r"[-_.]+", "-", asked.name).lower()
        applies = asked.marker is None or any(
            asked.marker.evaluate({"extra": extra}) for extra in (*EXTRAS, *asked.extras)
        )
        if name in found or not applies:
            continue
        try:
            found[name] = distribution(asked.name)
        except PackageNotFoundError:
            continue  # of another system or Python
        wanted += found[name].requires or []
    return found


def licence_of(package: Distribution) -> str:
    """What a package says of its licence: the expression, the field, or the classifiers."""
    said = package.metadata
    classified = [
        line.rpartition(" :: ")[2]
        for line in said.get_all("Classifier") or ()
        if line.startswith("License :: ") and not line.endswith("OSI Approved")
    ]
    field = (said["License"] or "").strip() if "License" in said else ""
    short = field if field and "\n" not in field and len(field) < 80 else ""
    if "License-Expression" in said:
        return said["License-Expression"]
    return ", ".join(classified) or short or "see the package"


if __name__ == "__main__":
    sys.exit(main())
