"""A guessed launch that is worth showing: findings that another guess ends are no faults.

A kernel whose tiles do not divide a guessed size, or that needs more elements than were guessed,
reads what nobody wrote, and its threads meet where they would not. `core.guessing.trial_run` puts
right what accesses out of bounds show. Here the checkers look on, and where they find something
other values are tried: small sizes grow and strides of one array keep its rows apart; or, where an
access is out of bounds, random indices become zeros. A fault of the kernel's own is found with all
of them, and stays. Where the guess has a part of the grid alone, the last blocks of all of it are
looked at, too: that they are where the arrays end shows which of them reach too far.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from core.emulator.budget import Limits
from core.errors import Cancelled, LaunchError, TilescopeError, TooMuchWork
from core.guessing.argument_values import is_pitch
from core.guessing.first_launch import Guess, completed
from core.guessing.trial_run import reach_of, trial_of, with_arguments
from core.ladder.rung import DEFAULT_SEED
from core.own_files.launch_texts import FileLaunch, file_workload
from core.recording.record_launch import run_part
from core.side_process.client import stoppable
from core.trace.finding import Finding

_INSTRUCTIONS = 30_000  # of the blocks that are looked at
_TO_THE_END = 400_000  # instructions that a launch whose arrays have grown may take
_LANES = 512
_MOST_THREADS = 1 << 22  # of a grid that is shown whole for what its last blocks do
_SECONDS = 8.0  # after which no further size is tried
_AT_LEAST = (128, 256, 512)  # sizes that tiles of most kernels divide
_INNERMOST, _RATIO = 128, 64  # elements of the innermost stride; how many of it the next one is


class PointersWithin(LaunchError):
    """The kernel follows pointers in structures in memory, which no guess can make."""


def fitted(source: str, guess: Guess, seed: int = DEFAULT_SEED) -> FileLaunch:
    """The guess put right by trials, with values at which the checkers find least.

    What is given, or what the host's code says, stays. So does a launch that cannot be run. Raises
    PointersWithin for a kernel that follows pointers of structures in memory.
    """
    launch = trial_of(source, guess, seed)
    if guess.open or guess.holding or any(_with_classes(guess)):
        launch = _with_least_found(source, guess, launch, seed)
    return _with_last_blocks(source, guess, launch, seed)


def _with_least_found(source: str, guess: Guess, launch: FileLaunch, seed: int) -> FileLaunch:
    """The launch, or one of other values in whose first blocks less is found."""
    start = time.thread_time()
    try:
        found = _found(source, launch, seed)
        _must_not_lead_astray(guess, found)
        outside = any(finding.kind == "out_of_bounds" for finding in found)
        others = _with_classes(guess) if outside else _of_other_sizes(source, guess, launch)
        left = _places(found)
        for other in others if left else ():
            again = trial_of(source, other, seed)
            if again != other.launch and not _ends(source, again, seed):
                continue  # its arrays are as long as a part of the run has reached
            places = _places(_found(source, again, seed))
            if places < left:  # what is gone was the guess's, and what stays is the kernel's
                launch, left = again, places
            if not left or time.thread_time() - start > _SECONDS:
                break
    except (Cancelled, TooMuchWork, PointersWithin):
        raise
    except TilescopeError:  # whoever runs the launch says what is wrong with it
        pass
    return launch


def _with_last_blocks(source: str, guess: Guess, launch: FileLaunch, seed: int) -> FileLaunch:
    """The launch with all of its grid, where only the last blocks go beyond an array.

    Not beyond one whose size is a guess: it was made for the part of the grid.
    """
    if not guess.uncut or launch.grid != guess.launch.grid:
        return launch
    whole = replace(launch, grid=guess.uncut)
    try:
        size = file_workload(source, whole, seed).launch
        if size.grid.count * size.block.count > _MOST_THREADS:
            return launch
        xs, ys, zs = ({0, extent - 1} for extent in size.grid)
        corners = sorted(
            x + size.grid.x * (y + size.grid.y * z) for x, y, z in itertools.product(xs, ys, zs)
        )
        found = _found(source, whole, seed, corners[1:])
        outside = _places(f for f in found if f.kind == "out_of_bounds" and f.array)
        outside = {place for place in outside if place[2] not in guess.open}
        return whole if outside and outside - _places(_found(source, launch, seed)) else launch
    except (Cancelled, TooMuchWork):
        raise
    except TilescopeError:  # whoever runs the launch says what is wrong with it
        return launch


def tried(source: str, launch: FileLaunch, known: FileLaunch | None) -> FileLaunch:
    """`fitted` of a launch that was guessed, in which what is `known` stays."""
    asked = known or replace(launch, grid="", block="", shared="", arguments=())
    guess = stoppable(completed, source, asked)
    try:
        return fitted(source, guess) if guess.launch == launch else launch
    except PointersWithin:  # the window shows where it goes astray
        return guess.launch


def _must_not_lead_astray(guess: Guess, found: Iterable[Finding]) -> None:
    if guess.holding and any(f.kind == "out_of_bounds" and not f.array for f in found):
        name = min(guess.holding)
        raise PointersWithin(
            f"`{guess.launch.kernel}` follows pointers in the structures that `{name}` points to, "
            "and nothing says where these lead: have what they point to as parameters, or the "
            f"structure by value. `{name}` given by hand runs as it is given."
        )


def _found(
    source: str, launch: FileLaunch, seed: int, blocks: Sequence[int] = ()
) -> tuple[Finding, ...]:
    """What is found in these blocks, or in the first, as far as they are run."""
    workload = file_workload(source, launch, seed)
    size = workload.launch
    blocks = blocks or range(min(size.grid.count, max(1, _LANES // size.block.count)))
    limits = Limits(instructions=_INSTRUCTIONS)
    return run_part(workload, blocks, limits=limits, may_be_cut=True).findings


def _ends(source: str, launch: FileLaunch, seed: int) -> bool:
    """Whether the launch runs to its end, and within its arrays."""
    reach = reach_of(file_workload(source, launch, seed), instructions=_TO_THE_END)
    return reach.ended and not reach.sizes


def _places(found: Iterable[Finding]) -> set[tuple[str, int, str]]:
    """What the findings are of: kind, line and array."""
    return {(finding.kind, finding.line, finding.array) for finding in found}


def _of_other_sizes(source: str, guess: Guess, launch: FileLaunch) -> Iterator[Guess]:
    """The guess with other strides, then with larger sizes.

    Not where an access is out of bounds: `if (i <= n)` would go unseen with a larger n.
    """
    sizes = {
        name: int(text)
        for name, text in launch.arguments
        if text.isdecimal() and (name in guess.sizes or (name in guess.open and is_pitch(name)))
    }
    grown = [{n: max(least, value) for n, value in sizes.items()} for least in _AT_LEAST]
    for numbers in filter(None, [_nested(sizes), *(one for one in grown if one != sizes)]):
        given = tuple((name, str(value)) for name, value in numbers.items())
        try:
            yield completed(source, replace(guess.asked, arguments=given + guess.asked.arguments))
        except TilescopeError:  # so large it cannot be
            continue


def _with_classes(guess: Guess) -> Iterator[Guess]:
    """The guess with zeros for random whole numbers: they may be places, or numbers of classes.

    The host's code may say how many there are, but hardly which.
    """
    given = dict(guess.asked.arguments)
    changed = {
        name: text.replace("random:", "zeros:")
        for name, text in guess.launch.arguments
        if name not in given and re.match(r"random:u?int(16|32|64)\[", text)
    }
    if changed:
        yield replace(guess, launch=with_arguments(guess.launch, changed))


def _nested(names: Iterable[str]) -> dict[str, int]:
    """Strides of arrays that have several (`stride_bz_x`, `stride_h_x`), the last one smallest."""
    found: dict[str, int] = {}
    groups: dict[str, list[str]] = {}
    for name in names:
        if name.startswith("stride_"):
            groups.setdefault(name.rpartition("_")[2], []).append(name)
    for group in groups.values():
        found |= {name: _INNERMOST * _RATIO**i for i, name in enumerate(reversed(group))}
    return found
