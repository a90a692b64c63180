"""The packages of core and gui, from the highest layer to the lowest: size, and what each imports.

    python scripts/package_graph.py            the graph; fails where an arrow runs back
    python scripts/package_graph.py --sizes    lines by package alone; fails likewise
    python scripts/package_graph.py --files    every file, and what it says that it is about

Imports for type checkers count like any other: a name that hides a circle is one.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from pathlib import Path

import grimp
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

ROOT = Path(__file__).resolve().parents[1]
MOST_IN_A_CIRCLE = 2  # files


def package_of(module: str) -> str:
    """`core.trace` of `core.trace.block`; a module right below core or gui stands for itself."""
    return ".".join(module.split(".")[:2])


def sizes() -> Counter[str]:
    """Lines of Python by package."""
    found: Counter[str] = Counter()
    for top in ("core", "gui"):
        for path in files_of(top):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            package = package_of(module.removesuffix(".__init__"))
            found[package] += len(path.read_text(encoding="utf-8").splitlines())
    return found


def print_files() -> None:
    """Each file's name, lines, and the first sentence of its docstring, folder by folder."""
    for folder in sorted({path.parent for top in ("core", "gui") for path in files_of(top)}):
        print(f"\n{folder.relative_to(ROOT)}/")
        for path in sorted(folder.glob("*.py")):
            text = path.read_text(encoding="utf-8")
            about = (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")[0]
            if path.name != "__init__.py" or len(text.splitlines()) > 1:
                print(f"  {path.name:36}{len(text.splitlines()):5}  {' '.join(about.split())}")


def files_of(top: str) -> list[Path]:
    """The files of Python of core or gui."""
    return sorted((ROOT / top).rglob("*.py"))


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """The groups of names that can all reach each other."""
    names = sorted(arrows)
    places = {name: place for place, name in enumerate(names)}
    pairs = np.array([(places[a], places[b]) for a in names for b in arrows[a]], int).reshape(-1, 2)
    matrix = csr_array((np.ones(len(pairs)), pairs.T), shape=(len(names), len(names)))
    _, groups = connected_components(matrix, directed=True, connection="strong")
    members = defaultdict(list)
    for name, group in zip(names, groups, strict=True):
        members[group].append(name)
    return [group for group in members.values() if len(group) > 1]


def layers(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Names so that each imports only from earlier lists; needs a graph without circles."""
    left, order = set(arrows), []
    while left:
        free = sorted(name for name in left if not arrows[name] & left)
        order.append(free)
        left -= set(free)
    return order


def main() -> int:
    """Print the graph; 1 where packages, or more than two files, form a circle."""
    if "--files" in sys.argv:
        print_files()
        return 0
    size = sizes()
    sys.path.insert(0, str(ROOT))
    graph = grimp.build_graph("core", "gui", cache_dir=None)
    files = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    packages: dict[str, set[str]] = {package_of(name): set() for name in files}
    for name, imported in files.items():
        packages[package_of(name)] |= {package_of(other) for other in imported}
    for name, imported in packages.items():
        imported.discard(name)
    bad = circles(packages) + [c for c in circles(files) if len(c) > MOST_IN_A_CIRCLE]
    for circle in bad:
        print("A circle:", ", ".join(circle))
    if bad:
        return 1
    if "--sizes" in sys.argv:
        for package, lines in size.most_common():
            print(f"{lines:7,}  {package}")
        print(f"{size.total():7,}  core and gui")
        return 0
    for layer in reversed(layers(packages)):
        for name in layer:
            print(f"{name:24}{size[name]:7,} lines  ->  {', '.join(sorted(packages[name])) or '-'}")
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
