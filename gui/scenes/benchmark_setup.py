"""What the benchmark page is set to measure: its fields as the plan of a sweep."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from core.errors import TilescopeError
from core.gpu.sweep_plan import (
    SIZE,
    CublasKernel,
    FileKernel,
    Kernel,
    Plan,
    RungKernel,
    make_plan,
    parse_values,
)
from core.ladder import Ladder
from core.user_files.launch_texts import FileLaunch
from core.user_files.sources_and_headers import read_source
from gui.scenes.configuration import Configuration
from gui.scenes.numbers_and_sentences import plural

CONFIGURED, CUBLAS = "configured", "cublas"
TILE = "tile"


@dataclass(frozen=True)
class Setup:
    """The page's fields as they are typed. `kernels` are keys of `choices`.

    tuned: blocks and tiles that the fields do not set are those that are fast on a GPU, where the
    ladder knows some, instead of those that are configured for stepping.
    """

    kernels: frozenset[str] = frozenset((CONFIGURED,))
    sizes: str = "512, 1024, 2048, 4096"
    tiles: str = "8, 16, 32"
    budget_s: float = 2.0
    tuned: bool = True
    files: tuple[FileKernel, ...] = field(default_factory=tuple)


def choices(ladder: Ladder, configuration: Configuration | None, setup: Setup) -> Mapping[str, str]:
    """What may be measured, by its key: the configured kernel first."""
    found = {CONFIGURED: "Configured kernel"}
    if configuration is not None:
        own = configuration.own
        found[CONFIGURED] = f"Configured: {own.name if own else ladder[configuration.rung].title}"
    listed = (ladder[name] for name in ladder.names)
    found |= {rung.name: rung.title for rung in listed if rung.group != "broken"}
    found[CUBLAS] = CublasKernel().title
    return found | {f"file:{i}": kernel.title for i, kernel in enumerate(setup.files)}


def _configured_kernel(ladder: Ladder, configuration: Configuration, *, tuned: bool) -> Kernel:
    """The kernel that is configured, with its edit; raises TilescopeError for a lost file."""
    own = configuration.own
    if own is None:
        rung = ladder[configuration.rung]
        return RungKernel(rung, configuration.parameters, configuration.source, tuned=tuned)
    return FileKernel(configuration.source or read_source(Path(own.path)), own)


def plan_of(ladder: Ladder, configuration: Configuration | None, setup: Setup) -> Plan:
    """The sweep that the fields say. Raises TilescopeError with what is wrong with them."""
    kernels = list(_chosen(ladder, configuration, setup))
    axes: dict[str, Sequence[int]] = {}
    for axis, text, what in ((SIZE, setup.sizes, "N"), (TILE, setup.tiles, "the tile")):
        values = parse_values(text, what) if text.strip() else ()
        if values and any(kernel.targets(axis) for kernel in kernels):
            axes[axis] = values
    return make_plan(kernels, axes)


def _chosen(ladder: Ladder, configuration: Configuration | None, setup: Setup) -> Sequence[Kernel]:
    found: list[Kernel] = []
    for key in choices(ladder, configuration, setup):
        if key not in setup.kernels:
            continue
        if key == CONFIGURED:
            if configuration is not None:  # equal points, of a rung chosen twice, are one
                found.append(_configured_kernel(ladder, configuration, tuned=setup.tuned))
        elif key == CUBLAS:
            found.append(CublasKernel())
        elif key.startswith("file:"):
            found.append(setup.files[int(key.removeprefix("file:"))])
        else:
            rung = ladder[key]
            same = configuration is not None and configuration.rung == key
            given = dict(configuration.parameters) if same and configuration is not None else {}
            found.append(RungKernel(rung, given, tuned=setup.tuned))
    if not found:
        raise TilescopeError("Choose at least one kernel to measure.")
    return found


def plan_sentence(plan: Plan) -> str:
    """How much a plan is: "3 kernels, 36 launches; 4 left out (N must be …)"."""
    kernels = len({point.title for point in plan.points})
    text = f"{plural(kernels, 'kernel')}, {plural(len(plan.points), 'launch', 'launches')}"
    if kernels == 1 and len(plan.points) == 1:
        text = plan.points[0].text
    if plan.left_out:
        text += f"; {plural(len(plan.left_out), 'combination')} cannot be launched"
    return text + "."


def templated(launch: FileLaunch) -> FileLaunch:
    """A launch of a file with its sizes as `{n}` and `{tile}`, where they can be made out.

    A first guess for a form, which the user corrects: the scalar argument called N, in any case, is
    `{n}` wherever its number stands; the define or block side called TILE… is `{tile}`.
    """
    size = next((t for name, t in launch.arguments if name.lower() == "n" and t.isdecimal()), None)
    tile = next(
        (word.partition("=")[2] for word in launch.defines.split() if "TILE" in word.upper()), None
    )
    block = launch.block.replace("x", ",").split(",")
    if tile is None and len(block) > 1 and block[0].strip() == block[1].strip():
        tile = block[0].strip()

    def fill(text: str) -> str:
        out = _with_number(text, size, "{n}")
        return _with_number(out, tile, "{tile}")

    grid = launch.grid
    if size and tile and tile.isdecimal() and int(tile):
        blocks = -(-int(size) // int(tile))
        grid = _with_number(grid, str(blocks), "{ceil_div(n, tile)}")
    return replace(
        launch,
        grid=grid,
        block=_with_number(launch.block, tile, "{tile}"),
        defines=_with_number(launch.defines, tile, "{tile}"),
        arguments=tuple((name, fill(text)) for name, text in launch.arguments),
    )


def _with_number(text: str, number: str | None, template: str) -> str:
    if not number:
        return text
    return re.sub(rf"(?<![\w.{{]){re.escape(number)}(?![\w.}}])", template, text)
