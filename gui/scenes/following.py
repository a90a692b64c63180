"""What of a launch of a user's own kernel follows when a number or the source changes. No Qt here.

Grid, dynamic shared memory, arrays and numbers were guessed at first. As long as they are what
would be guessed, they are guessed anew; what somebody has typed stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from core.errors import TilescopeError
from core.launching.file_launch import FileLaunch
from core.launching.launch_guess import guess_launch
from core.launching.reading import LARGE

_BUFFER = re.compile(r"(?P<fill>.*?)(?P<buffer>\w+\[[^\]]*\])")


def follow(launch: FileLaunch, before: str, after: str) -> FileLaunch:
    """A launch for a changed source: what was guessed from the one before is guessed anew."""
    try:
        old = guess_launch(before, launch.path, launch.kernel)
        new = guess_launch(after, launch.path, launch.kernel)
    except TilescopeError:
        return launch
    return _followed(launch, launch, old, new)


def renumbered(before: FileLaunch, after: FileLaunch, source: str) -> FileLaunch:
    """`after`, which somebody changed from `before`: what was guessed follows what is new in it.

    Nothing follows in a source that takes long to read.
    """
    if before.kernel != after.kernel or before == after or len(source) > LARGE:
        return after
    was, wanted = dict(before.arguments), dict(after.arguments)
    changed = {name for name, text in wanted.items() if text != was.get(name)}
    try:
        plain = guess_launch(source, before.path, before.kernel)
        given = _given(before, plain, source)
        old = guess_launch(source, before.path, before.kernel, given) if given else plain
        now = {name: wanted[name] for name in {*given, *changed} & _numbers(after, plain)}
        new = guess_launch(source, before.path, before.kernel, now) if now else plain
    except TilescopeError:
        return after
    return _followed(before, after, old, new)


def _numbers(launch: FileLaunch, plain: FileLaunch) -> set[str]:
    """The arguments that are single numbers, other than those of a first guess."""
    usual = dict(plain.arguments)
    return {
        name
        for name, text in launch.arguments
        if not _BUFFER.fullmatch(text) and not text.startswith("@") and text != usual.get(name)
    }


def _given(launch: FileLaunch, plain: FileLaunch, source: str) -> Mapping[str, str]:
    """The numbers that were chosen: those that do not follow from the others anyway."""
    texts = dict(launch.arguments)
    given = {name: texts[name] for name in sorted(_numbers(launch, plain))}
    for name in list(given) if len(given) > 1 else ():
        rest = {n: text for n, text in given.items() if n != name}
        guess = guess_launch(source, launch.path, launch.kernel, rest)
        if dict(guess.arguments).get(name) == given[name]:
            given = rest
    return given


def _followed(
    before: FileLaunch, launch: FileLaunch, old: FileLaunch, new: FileLaunch
) -> FileLaunch:
    """`launch`: what it has in common with both `before` and the old guess is as in the new one."""
    fields = {
        name: getattr(new, name)
        for name in ("block", "shared")
        if getattr(launch, name) == getattr(before, name) == getattr(old, name)
    }
    block = fields.get("block", launch.block)
    if launch.grid == before.grid == _grid(old, before.block):
        fields["grid"] = _grid(new, block)
    was, guessed, usual = dict(before.arguments), dict(new.arguments), dict(old.arguments)
    arguments = tuple(
        (name, _text(text, usual.get(name, ""), guessed.get(name, text)))
        if text == was.get(name)
        else (name, text)
        for name, text in launch.arguments
    )
    return replace(launch, arguments=arguments, **fields)


def _grid(guess: FileLaunch, block: str) -> str:
    """The guessed grid, for blocks of another size: as many threads along each axis."""
    try:
        blocks = [int(n) for n in guess.grid.split(",")]
        sizes = [int(n) for n in guess.block.split(",")]
        wanted = [int(n) for n in block.split(",")]
    except ValueError:  # typed, and not whole
        return guess.grid
    one = all(n == 1 for n in blocks)  # perhaps a kernel for a single block
    if block == guess.block or one or not len(blocks) == len(sizes) == len(wanted):
        return guess.grid
    if min(wanted) < 1:
        return guess.grid
    return ",".join(str(-(-n * b // w)) for n, b, w in zip(blocks, sizes, wanted, strict=True))


def _text(text: str, old: str, new: str) -> str:
    """An argument that follows: of an array the sizes, whatever it is filled with."""
    if text == old:
        return new
    mine, was, now = (_BUFFER.fullmatch(t) for t in (text, old, new))
    if mine and was and now and mine["buffer"] == was["buffer"]:
        return f"{mine['fill']}{now['buffer']}"
    return text
