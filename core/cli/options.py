"""Options that several commands have: a launch of a file of one's own, and values of a sweep."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from core.compiler import choice

SIZES = "Parameters"
FILE = "A kernel of your own"
RESULTS = "Results"


def option(*names: str, panel: str | None = None, text: str) -> Any:
    """A typer option whose default says nothing to a reader."""
    return typer.Option(*names, help=text, show_default=False, rich_help_panel=panel)


Size = Annotated[int | None, typer.Option(show_default=False, rich_help_panel=SIZES)]
Settings = Annotated[
    list[str] | None,
    option("--set", panel=SIZES, text="Any parameter by name: --set n=64. Repeatable."),
]

# One launch of a file.
KernelName = Annotated[
    str | None,
    option("--kernel", panel=FILE, text="The __global__ function, if there are several."),
]
Grid = Annotated[str | None, option("--grid", panel=FILE, text="Blocks in x, y, z: 8,8.")]
Block = Annotated[str | None, option("--block", panel=FILE, text="Threads of a block: 16,16.")]
Shared = Annotated[int | None, option("--shared", panel=FILE, text="Dynamic shared memory, bytes.")]
Defines = Annotated[
    list[str] | None,
    option("--define", "-D", panel=FILE, text="TILE_WIDTH=16, as for a compiler."),
]


def _choose(name: str | None) -> None:
    if name:
        os.environ[choice.CHOICE] = name


Compiler = Annotated[
    choice.CompilerName | None,
    typer.Option(
        "--compiler",
        callback=_choose,
        help=choice.HELP,
        show_default=False,
        rich_help_panel=FILE,
    ),
]
Arguments = Annotated[
    list[str] | None,
    option("--arg", panel=FILE, text="N=128 or A=float32[128,128]. Repeatable."),
]

# Many launches: values, and texts in which a name in braces stands for its value.
Values = Annotated[
    str | None,
    typer.Option(
        metavar="VALUES",
        help="512,1024, 8..32 (doubling) or 0..4.",
        show_default=False,
        rich_help_panel=SIZES,
    ),
]
GridText = Annotated[
    str | None, option("--grid", panel=FILE, text='Blocks: "{n//tile},{n//tile}".')
]
BlockText = Annotated[
    str | None, option("--block", panel=FILE, text='Threads of a block: "{tile},{tile}".')
]
SharedText = Annotated[str, option("--shared", panel=FILE, text="Dynamic shared memory, bytes.")]
DefineTexts = Annotated[
    list[str] | None, option("--define", "-D", panel=FILE, text='"TILE={tile}".')
]
ArgumentTexts = Annotated[
    list[str] | None, option("--arg", panel=FILE, text='"A=float32[{n},{n}]", "N={n}".')
]
Flops = Annotated[str, option("--flops", panel=FILE, text='Its operations: "2*n*n*n".')]
Expected = Annotated[
    str, option("--expect", panel=FILE, text='What an output must be: "C = A @ B".')
]
