"""Options that several commands have: how they print, a rung's sizes, a file's launch, a compiler.

Those that go together are the fields of a dataclass, which `spelt_out` shows typer one by one.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

from core.cli.named_launch import parse_settings
from core.compiler import nvrtc_or_clang

SIZES = "Parameters"
FILE = "A kernel of your own"
RESULTS = "Results"


def option(*names: str, panel: str | None = None, text: str, **more: Any) -> Any:
    """A typer option whose default says nothing to a reader."""
    return typer.Option(*names, help=text, show_default=False, rich_help_panel=panel, **more)


def cluster_option(text: str) -> Any:
    """The option `--cluster` of a command that spreads its work."""
    return option("--cluster", metavar="tcp://HOST:8786|local", text=text)


def spelt_out(command: Callable[..., None]) -> Callable[..., None]:
    """A command for typer: a parameter that is a dataclass stands for the options in its fields.

    Each paragraph of its text is one line, which typer breaks where the terminal ends.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters = []
    for name, one in inspect.signature(command).parameters.items():
        options = [one.replace(annotation=hints[name])]
        if name in groups:
            of = get_type_hints(groups[name], include_extras=True)
            options = [
                one.replace(name=field.name, default=field.default, annotation=of[field.name])
                for field in fields(groups[name])
            ]
        parameters += [option.replace(kind=option.KEYWORD_ONLY) for option in options]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        command(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    run.__doc__ = "\n\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs)
    return run


def program_options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True)
    ] = False,
) -> None:
    """The options of `tilescope` itself, before any command."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"tilescope {installed('tilescope')}")
        raise typer.Exit


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
AsJsonResult = Annotated[
    bool, typer.Option("--json", help="Print one JSON object.", rich_help_panel=RESULTS)
]
Size = Annotated[int | None, typer.Option(show_default=False, rich_help_panel=SIZES)]


@dataclass(frozen=True)
class Sizes:
    """The parameters of one launch of a rung."""

    n: Size = None
    m: Size = None
    k: Size = None
    tile: Size = None
    pad: Size = None
    block_x: Size = None
    block_y: Size = None
    settings: Annotated[
        list[str] | None,
        option("--set", panel=SIZES, text="Any parameter by name: --set n=64. Repeatable."),
    ] = None

    def given(self) -> dict[str, int]:
        """Those that are given, by name. Raises ParameterError."""
        named = {name: value for name, value in vars(self).items() if isinstance(value, int)}
        return named | parse_settings(self.settings or ())


# One launch of a file.
KernelName = Annotated[
    str | None,
    option("--kernel", panel=FILE, text="The __global__ function, if there are several."),
]


@dataclass(frozen=True)
class FileOptions:
    """The launch of a file's kernel, as far as it is said."""

    kernel_name: KernelName = None
    grid: Annotated[str | None, option("--grid", panel=FILE, text="Blocks in x, y, z: 8,8.")] = None
    block: Annotated[
        str | None, option("--block", panel=FILE, text="Threads of a block: 16,16.")
    ] = None
    shared: Annotated[
        int | None, option("--shared", panel=FILE, text="Dynamic shared memory, bytes.")
    ] = None
    define: Annotated[
        list[str] | None,
        option("--define", "-D", panel=FILE, text="TILE_WIDTH=16, as for a compiler."),
    ] = None
    arg: Annotated[
        list[str] | None,
        option("--arg", panel=FILE, text="N=128 or A=float32[128,128]. Repeatable."),
    ] = None

    def launch(self) -> dict[str, Any]:
        """What is given, as `core.cli.named_launch` has it; None for the rest."""
        given = {name: None if value == [] else value for name, value in vars(self).items()}
        return {"kernel": given.pop("kernel_name"), **given}


def _choose(name: str | None) -> None:
    if name:
        os.environ[nvrtc_or_clang.CHOICE] = name


Compiler = Annotated[
    nvrtc_or_clang.CompilerName | None,
    typer.Option(
        "--compiler",
        callback=_choose,
        help=nvrtc_or_clang.HELP,
        show_default=False,
        rich_help_panel=FILE,
    ),
]
