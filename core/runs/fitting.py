"""A guessed launch that is worth showing: findings that end at larger sizes are no faults.

A kernel whose tiles do not divide a guessed size, or that needs more elements than were guessed,
reads what nobody wrote, and its threads meet where they would not. `core.launching.trial` puts
right what accesses out of bounds show. Here the checkers look on, and where they find something the
small ones among the guessed sizes grow. A fault of the kernel's own is found at every size, and stays.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from core.emulator.budget import Limits
from core.errors import Cancelled, TilescopeError
from core.ladder.rung import DEFAULT_SEED
from core.launching.argument_guess import is_pitch
from core.launching.file_launch import FileLaunch, file_workload
from core.launching.guess import Guess, completed
from core.launching.trial import trial_of
from core.runs.recording import run_part
from core.side_process.client import stoppable

_INSTRUCTIONS = 30_000  # of the blocks that are looked at
_LANES = 512
_SECONDS = 8.0  # after which no further size is tried
_AT_LEAST = (128, 256, 512)  # sizes that tiles of most kernels divide


def fitted(source: str, guess: Guess, seed: int = DEFAULT_SEED) -> FileLaunch:
    """The guess put right by trials, in sizes at which the checkers find nothing if there are such.

    What is given, or what the host's code says, stays. So does a launch that cannot be run.
    """
    launch = trial_of(source, guess, seed)
    if not guess.open:
        return launch
    start = time.thread_time()
    try:
        if _is_clean(source, launch, seed):
            return launch
        for larger in _larger(source, guess, launch):
            again = trial_of(source, larger, seed)
            if _is_clean(source, again, seed):
                return again
            if time.thread_time() - start > _SECONDS:
                break
    except Cancelled:
        raise
    except TilescopeError:  # whoever runs the launch says what is wrong with it
        pass
    return launch


def tried(source: str, launch: FileLaunch, known: FileLaunch | None) -> FileLaunch:
    """`fitted` of a launch that was guessed, in which what is `known` stays."""
    asked = known or replace(launch, grid="", block="", shared="", arguments=())
    guess = stoppable(completed, source, asked)
    return fitted(source, guess) if guess.launch == launch else launch


def _is_clean(source: str, launch: FileLaunch, seed: int) -> bool:
    """Whether the first blocks run, as far as they are run, without a finding."""
    workload = file_workload(source, launch, seed)
    size = workload.launch
    blocks = range(min(size.grid.count, max(1, _LANES // size.block.count)))
    limits = Limits(instructions=_INSTRUCTIONS)
    part = run_part(workload, blocks, limits=limits, may_be_cut=True)
    return not part.findings


def _larger(source: str, guess: Guess, launch: FileLaunch) -> Iterator[Guess]:
    """The guess with larger numbers where they say how large something is."""
    sizes = {
        name: int(text)
        for name, text in launch.arguments
        if text.isdecimal() and (name in guess.sizes or (name in guess.open and is_pitch(name)))
    }
    for least in _AT_LEAST:
        numbers = tuple((name, str(max(least, value))) for name, value in sizes.items())
        if all(value >= least for value in sizes.values()):
            continue
        try:
            yield completed(source, replace(guess.asked, arguments=numbers + guess.asked.arguments))
        except TilescopeError:  # so large it cannot be
            return
