"""A launch of a kernel in a user's file as a part of a link. No Qt here.

    /home/ada/mine.cu?kernel=add&gridDim=8&blockDim=32&arg.n=200&step=12

The names are CUDA's, `arg.` stands before an argument; what is left out is guessed from the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from core.errors import ParameterError
from core.launching.file_launch import FileLaunch
from gui.scenes.selection import UNTITLED

FIELDS = {
    "kernel": "kernel",
    "gridDim": "grid",
    "blockDim": "block",
    "shared": "shared",
    "defines": "defines",
}
"""What a link calls the fields of a launch."""
ARGUMENT = "arg."
ELSEWHERE = re.compile(r"\s*@?\s*[/\\]{2}")
"""Begins a path on another computer, or a device, on Windows: `//host/share/x.cu`."""
UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters, and those that turn the direction of what follows."""
PLAIN = "/:\\,=[]@.*"  # characters of paths and launches that a link shows as they are


def names_file(name: str) -> bool:
    """Whether a link begins with a path, and not with the name of a rung."""
    return any(mark in name for mark in "./\\%")


def launch_of(path: str, pairs: dict[str, str]) -> FileLaunch:
    """The launch that a link asks for, its keys taken out of `pairs`; empty where it says nothing.

    A path that does not begin at the root begins where the program was started, unless it is
    `UNTITLED` and `pairs` has the text. Raises
    ParameterError for one that leads to another computer, to no user's folder, or is none.
    """
    texts = {field: pairs.pop(key) for key, field in FIELDS.items() if key in pairs}
    given = [key for key in pairs if key.startswith(ARGUMENT)]
    arguments = tuple((key.removeprefix(ARGUMENT), pairs.pop(key)) for key in given)
    for said in (path, *(text for _, text in arguments)):
        if ELSEWHERE.match(said):
            raise ParameterError(
                f"The link leads to another computer or a device, `{said}`: copy the file to a "
                "folder of your own, and open it from there."
            )
    blank = dict.fromkeys(FIELDS.values(), "")
    is_text = path == UNTITLED and "source" in pairs
    return FileLaunch(
        path=path if is_text else _whole(path), arguments=arguments, **{**blank, **texts}
    )


def _whole(path: str) -> str:
    if UNSEEN.search(path):
        raise ParameterError(f"The link's path has characters that cannot be seen: {path!a}.")
    try:
        return str(Path(path).expanduser().absolute())
    except RuntimeError:
        raise ParameterError(
            f"The link's path is `{path}`, and there is no such user's folder: write the whole "
            "path, from the root."
        ) from None


def name_of(launch: FileLaunch) -> str:
    """The path as a link begins with it."""
    return quote(launch.path, safe=PLAIN.replace("=", ""))


def pairs_of(launch: FileLaunch, prefix: str = "") -> Iterator[str]:
    """`KEY=VALUE` for all that is said of a launch."""
    texts = {key: getattr(launch, field) for key, field in FIELDS.items()}
    texts |= {f"{ARGUMENT}{name}": text for name, text in launch.arguments}
    for key, text in texts.items():
        if text.strip():
            yield f"{prefix}{quote(key)}={quote(text, safe=PLAIN)}"


def refuse_unknown(keys: Mapping[str, str], more: tuple[str, ...], prefix: str = "") -> None:
    """Raise ParameterError for a key that a link to a file cannot have."""
    for key in keys:
        if key not in more:
            said = [name for name in more if name not in ("source", "check")]
            names = ", ".join([*FIELDS, f"{ARGUMENT}NAME", *said])
            raise ParameterError(
                f"The link sets `{prefix}{key}`, which a launch of a file has not: it has {names}."
            )
