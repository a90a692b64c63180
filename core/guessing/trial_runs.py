"""A guessed launch, tried before anybody sees it: what the kernel does shows what is guessed wrong.

An array whose size nothing says becomes as large as the kernel reaches, and a number with which no
thread touches memory gets another value. Nothing is recorded, and a run that takes long is left.

Then the checkers look on, as findings that another guess ends are no faults. A kernel whose tiles
do not divide a guessed size, or that needs more elements than were guessed, reads what nobody
wrote, and its threads meet where they would not. So other values are tried: small sizes grow and
strides of one array keep its rows apart; or, where an access is out of bounds, random indices
become zeros. A fault of the kernel's own is found with all of them, and stays. Where the guess has
a part of the grid alone, the last blocks of all of it are looked at, too: that they are where the
arrays end shows which of them reach too far.
"""

from __future__ import annotations

import itertools
import math
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from core.cancelling import PassingOverMistakes, check
from core.compiler.compile_ptx_and_cubin import build_of, find_entry
from core.emulator.budget import Limits
from core.emulator.events import AccessEvent, FaultEvent, Observer
from core.emulator.geometry import Geometry
from core.emulator.launch_image import Image
from core.emulator.machine import Machine
from core.errors import (
    ArgumentError,
    BudgetExceeded,
    Cancelled,
    LaunchError,
    TilescopeError,
    TooMuchWork,
)
from core.guessing.argument_guesses import has_one_more, is_pitch
from core.guessing.launch_guess import Guess, completed, with_host_grid
from core.ladder.rung import DEFAULT_SEED
from core.launch import MAX_SHARED_BYTES, WARP, Dim3, Workload
from core.ptx.ast import Function
from core.ptx.parser import kept
from core.recording.record_launch import run_part
from core.side_process.client import stoppable
from core.trace.finding import Finding
from core.user_files.launch_texts import FileLaunch, dim3_text, file_workload, parse_dim3


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


def tried(source: str, launch: FileLaunch, known: FileLaunch | None) -> FileLaunch:
    """`fitted` of a launch that was guessed, in which what is `known` stays."""
    asked = known or replace(launch, grid="", block="", shared="", arguments=())
    guess = stoppable(completed, source, asked)
    try:
        return fitted(source, guess) if guess.launch == launch else launch
    except PointersWithin:  # the window shows where it goes astray
        return guess.launch


# With values at which the checkers find least.


_CHECKED_INSTRUCTIONS = 30_000  # of the blocks that are looked at
_TO_THE_END = 400_000  # instructions that a launch whose arrays have grown may take
_CHECKED_LANES = 512
_MOST_THREADS = 1 << 22  # of a grid that is shown whole for what its last blocks do
_SECONDS_FOR_SIZES = 8.0  # after which no further size is tried
_AT_LEAST = (128, 256, 512)  # sizes that tiles of most kernels divide
_INNERMOST, _RATIO = 128, 64  # elements of the innermost stride; how many of it the next one is


def _with_least_found(source: str, guess: Guess, launch: FileLaunch, seed: int) -> FileLaunch:
    """The launch, or one of other values in whose first blocks less is found."""
    start = time.thread_time()
    with PassingOverMistakes(PointersWithin):  # whoever runs the launch says what is wrong with it
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
            if not left or time.thread_time() - start > _SECONDS_FOR_SIZES:
                break
    return launch


def _with_last_blocks(source: str, guess: Guess, launch: FileLaunch, seed: int) -> FileLaunch:
    """The launch with all of its grid, where only the last blocks go beyond an array.

    Not beyond one whose size is a guess: it was made for the part of the grid.
    """
    if not guess.uncut or launch.grid != guess.launch.grid:
        return launch
    whole = replace(launch, grid=guess.uncut)
    with PassingOverMistakes():  # whoever runs the launch says what is wrong with it
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
    return launch


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
    blocks = blocks or range(min(size.grid.count, max(1, _CHECKED_LANES // size.block.count)))
    limits = Limits(instructions=_CHECKED_INSTRUCTIONS)
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
        name: value
        for name, value in _numbers(launch).items()
        if name in guess.sizes or (name in guess.open and is_pitch(name))
    }
    grown = [{n: max(least, value) for n, value in sizes.items()} for least in _AT_LEAST]
    for numbers in filter(None, [_nested(sizes), *(one for one in grown if one != sizes)]):
        given = tuple((name, str(value)) for name, value in numbers.items())
        with PassingOverMistakes():  # so large it cannot be
            yield completed(source, replace(guess.asked, arguments=given + guess.asked.arguments))


def _with_classes(guess: Guess) -> Iterator[Guess]:
    """The guess with zeros for random whole numbers: they may be places, or numbers of classes.

    The host's code may say how many there are, but hardly which.
    """
    names = dict(guess.launch.arguments).keys() - dict(guess.asked.arguments).keys()
    other = _filled_with("zeros:", guess.launch, names)
    if other != guess.launch:
        yield replace(guess, launch=other)


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


# With sizes and numbers at which the kernel keeps within its arrays.


_INSTRUCTIONS = 50_000  # of the blocks that run together
_SECONDS = 1.0
_MORE_ASTRAY = 3  # times as long, where some array is too small
_SECONDS_TO_WAIT = 3.0
_SECONDS_IN_ALL = 20.0  # then each further trial runs its first blocks alone
_MORE_OF_FEW = 4  # times as many, where one number was made small
_AHEAD = 16  # times as long as it is reached, where strides alone lead through an array
_LANES = 4096
_MOST_ELEMENTS = 1 << 22  # of an array that was made larger
_FEW = 4  # a number with which a kernel reaches less far
_FAR = 1.25  # a kernel that knows its size and reaches less beyond it has a fault
_HALO = 16  # elements beyond the next row, likewise
_SMALL = 8  # a number with which most kernels reach not far
_ROUNDS = 3
_MOST_ALIKE = 6  # sizes: more are not those of matrices
_MODEST = 512  # a side up to which the blocks that a trial did not come to reach no further
_ASSERTS = re.compile(r"\bassert\s*\(")
_LONG = 64  # a size that may make a trial long
_PARTS = (4, 8, 16)  # of sizes with which a trial does not end
_LARGER = (2, 4, 8, 16, 32)  # times as large sizes, tried where an assertion fails
_BUFFER = re.compile(
    r"(?P<front>(?P<pointers>pointers\()?\w+:\w+)\[(?P<shape>[\d,]+)\](?P<behind>(?:\+\d+|\))?)"
)


def trial_of(source: str, guess: Guess, seed: int) -> FileLaunch:
    """The guess, with the sizes and numbers that a trial shows to be wrong put right.

    What is given, or what the host's code says, stays. So does a launch that cannot be run.
    """
    launch = guess.launch
    if guess.asked.grid and guess.asked.block and not _is_open(source, guess):
        return launch  # arrays of gigabytes take many seconds to fill
    with PassingOverMistakes():  # whoever runs the launch says what is wrong with it
        function, block = _kernel_of(source, launch, seed)
        if not guess.asked.block and (let := _block_that_is_let(function, block)):
            guess = completed(source, replace(guess.asked, block=let))
        if not guess.asked.grid and function.cluster:
            if guess.is_refused(function.cluster):
                return with_host_grid(guess, function.cluster).launch
            grid = parse_dim3(guess.launch.grid, "grid")
            if (whole := grid.in_clusters(function.cluster)) != grid:
                guess = completed(source, replace(guess.asked, grid=dim3_text(whole)))
        launch = guess.launch
        if _is_open(source, guess):
            return _with_trials(_Trials(source, guess, seed))
    return launch


def _is_open(source: str, guess: Guess) -> bool:
    """Whether there is something that a trial may change."""
    sizes = _guessed_sizes(guess, guess.launch)
    is_long = any(value >= _LONG for value in sizes.values()) and not guess.asked.grid
    halved = guess.halved and _ASSERTS.search(source)
    return bool(guess.open or guess.shared_open or is_long or halved)


def _numbers(launch: FileLaunch) -> dict[str, int]:
    """The whole numbers among the arguments, none below 0."""
    return {name: int(text) for name, text in launch.arguments if text.isdecimal()}


def _guessed_sizes(guess: Guess, launch: FileLaunch) -> Mapping[str, int]:
    """The whole numbers among the arguments that nobody gave."""
    given = dict(guess.asked.arguments)
    return {n: value for n, value in _numbers(launch).items() if n not in given}


def _kernel_of(source: str, launch: FileLaunch, seed: int) -> tuple[Function, Dim3]:
    """The kernel, and the block that the launch has."""
    workload = file_workload(source, launch, seed)
    build = build_of(workload)
    entry = find_entry(build, workload.kernel)
    return kept(build.ptx).functions[entry], workload.launch.block


def _block_that_is_let(function: Function, block: Dim3) -> str:
    """A block of as many threads as the kernel itself lets it have; "" where the launch's may be.

    `__launch_bounds__` and `__block_size__` say so. Rows have the threads of a warp.
    """
    if function.wanted_threads:
        return ",".join(map(str, function.wanted_threads))
    most = math.prod(function.most_threads)
    if not function.most_threads or block.count <= most:
        return ""
    return f"{most}" if block.y == block.z == 1 or most % WARP else f"{WARP},{most // WARP}"


@dataclass
class Reach(Observer):
    """How a launch touches global memory.

    `sizes` are the elements that would hold every access behind an array's end, by array; `astray`
    says whether any lies elsewhere: in front of an array, or near none; `beyond_own` whether a
    thread reaches beyond an array of its own. `shared` are the bytes of
    dynamic shared memory that would hold every access to it, 0 where none was too far. `ended` says
    that every block ran to its end.
    """

    touched: bool = False
    shared: int = 0
    sizes: dict[str, int] = field(default_factory=dict)
    astray: bool = False
    beyond_own: bool = False
    ended: bool = False
    asserted: bool = False  # that some assertion of the kernel's fails

    @property
    def is_within(self) -> bool:
        """Whether it touches memory, and its arrays alone."""
        return self.touched and not self.astray and not self.sizes

    def on_access(self, event: AccessEvent) -> None:
        """A legal access."""
        self.touched = self.touched or event.region.space != "local"

    def on_fault(self, event: FaultEvent) -> None:
        """Notes how far behind its array an access lies."""
        self.touched = self.touched or bool(event.access)
        self.asserted = self.asserted or event.kind == "assert"
        if event.kind != "out_of_bounds":
            return
        region = event.region
        if region is not None and region.space == "shared":
            end = int(event.address.max()) + event.width - region.base
            self.shared = max(self.shared, end - region.nbytes)
            return
        if region is None or region.space != "global" or int(event.address.min()) < region.base:
            self.astray = True
            self.beyond_own = self.beyond_own or (region is not None and region.space == "local")
            return
        end = int(event.address.max()) + event.width - region.base
        self.sizes[region.name] = max(self.sizes.get(region.name, 0), end)


def reach_of(
    workload: Workload, seconds: float = _SECONDS, instructions: int = _INSTRUCTIONS
) -> Reach:
    """How the launch touches memory, as far as its blocks run within the time and instructions.

    Where an array is too small it may take three times as long.
    """
    build = build_of(workload)
    entry = find_entry(build, workload.kernel)
    launch = workload.launch
    image = Image(kept(build.ptx), entry, launch)
    found, start = Reach(), time.thread_time()
    at_once = max(1, _LANES // launch.block.count)
    firsts = range(0, launch.grid.count, at_once)  # never a list: a grid may have 10**18 blocks
    for first in itertools.chain(firsts[:1], firsts[:0:-1]):  # the last blocks reach furthest
        check()
        blocks = np.arange(first, min(launch.grid.count, first + at_once))
        geometry = Geometry(launch.grid, launch.block, blocks)
        limits = Limits(instructions=instructions)
        try:
            Machine(image, geometry, (found,), None, limits).run()
        except BudgetExceeded:
            break
        if time.thread_time() - start > seconds * (_MORE_ASTRAY if found.sizes else 1):
            found.ended = first == (firsts[1] if len(firsts) > 1 else firsts[0])
            break
    else:
        found.ended = True
    sizes = {a.name: a.data.dtype.itemsize for a in launch.arrays}
    found.shared = found.shared and launch.shared_bytes + found.shared
    found.sizes = {n: -(-end // sizes[n]) for n, end in found.sizes.items() if n in sizes}
    return found


@dataclass
class _Trials:
    """Runs variants of a guess, only their first blocks once that took long in all."""

    source: str
    guess: Guess
    seed: int
    start: float = field(default_factory=time.thread_time)

    def __call__(self, one: FileLaunch, instructions: int = _INSTRUCTIONS) -> Reach:
        """How a launch touches memory."""
        late = time.thread_time() - self.start > _SECONDS_IN_ALL
        try:
            workload = file_workload(self.source, one, self.seed)
            if late:
                return reach_of(workload, 0.0)
            return reach_of(workload, instructions=instructions)
        except (Cancelled, TooMuchWork):
            raise
        except ArgumentError:  # no value of that parameter
            return Reach(astray=True)
        except TilescopeError:  # as far as it came it was right: what stops it now is told later
            if one == self.guess.launch:
                raise
            return Reach(touched=True, astray=True)


def _with_trials(trials: _Trials) -> FileLaunch:
    guess, launch = trials.guess, trials.guess.launch
    found = trials(launch)
    if found.asserted and (more := _that_holds(trials)):
        return more
    if not found.touched:
        launch, found = _touching(launch, trials) or (launch, found)
    for side, square in _alike(trials) if found.astray or found.sizes else ():
        again = trials(square)
        if again.is_within and (again.ended or side <= _MODEST):
            return square
    launch, found = _grown(launch, trials, found)
    if found.beyond_own or any(need > _MOST_ELEMENTS for need in found.sizes.values()):
        launch, found = _reaching_less(launch, trials) or (launch, found)
    if found.astray or found.sizes:  # elements that nobody knew to be indices may be
        indices = _filled_with("index:", launch, guess.open)
        if indices != launch:
            again = trials(indices)
            larger = _larger(indices, guess, again)
            if larger != indices:
                indices, again = larger, trials(larger)
            if not again.astray and not again.sizes:
                return _to_its_end(indices, again, trials)
        numbers = _small_numbers(launch, guess)
        meant = any(n in guess.tied and s <= _meant(guess, n) for n, s in found.sizes.items())
        for other in (launch, indices) if numbers and not meant else ():
            small, again = _grown(_with_arguments(other, numbers), trials)
            if again.is_within:
                return small
    elif launch != guess.launch:
        return _to_its_end(launch, found, trials)
    elif not (found.ended or guess.asked.grid) and _takes_long(launch, trials):
        return _with_less(launch, trials, _guessed_sizes(guess, launch), _LONG) or launch
    return launch


def _takes_long(launch: FileLaunch, trials: _Trials) -> bool:
    """Whether somebody would wait for the launch: it runs some seconds, without the checkers."""
    start = time.thread_time()
    found = trials(launch, _MORE_OF_FEW * _INSTRUCTIONS)
    return not found.ended or time.thread_time() - start > _SECONDS_TO_WAIT


def _with_less(
    launch: FileLaunch, trials: _Trials, names: Collection[str], least: int
) -> FileLaunch | None:
    """The guess anew with parts of these sizes from `least` on, if it ends within bounds then."""
    numbers = {n: value for n, value in _numbers(launch).items() if n in names and not is_pitch(n)}
    sizes = {n: value for n, value in numbers.items() if value >= least}
    longest = {n: value for n, value in sizes.items() if value == max(sizes.values())}
    groups = [longest, *([sizes] if longest != sizes else [])] if sizes else []
    for some, part in itertools.product(groups, _PARTS):
        parts = {name: str(max(value // part, least // 2, _SMALL)) for name, value in some.items()}
        other = replace(trials, guess=_anew(trials, parts))
        less, again = _grown(other.guess.launch, other, instructions=_MORE_OF_FEW * _INSTRUCTIONS)
        if again.ended and again.is_within:
            return less
    return None


def _that_holds(trials: _Trials) -> FileLaunch | None:
    """The guess anew with larger sizes, if with these the kernel's assertions hold.

    Each that need not be larger stays as it is. None where no such sizes are found.
    """
    guess, given = trials.guess, dict(trials.guess.asked.arguments)
    free = guess.open | guess.halved
    numbers = _numbers(guess.launch)
    sizes = {n: value for n, value in numbers.items() if n in free and value >= _SMALL}

    def with_sizes(larger: Mapping[str, int]) -> FileLaunch | None:
        texts = {**given, **{name: str(value) for name, value in larger.items()}}
        with PassingOverMistakes():
            asked = replace(guess.asked, arguments=tuple(texts.items()))
            other = completed(trials.source, asked).launch
            found = trials(other)
            return None if found.asserted or found.astray else other
        return None

    for times in _LARGER if len(sizes) <= _MOST_ALIKE else ():
        larger = {name: times * value for name, value in sizes.items()}
        if launch := with_sizes(larger):
            for name, value in sizes.items():
                if less := with_sizes({**larger, name: value}):
                    launch, larger = less, {**larger, name: value}
            return launch
    return None


def _to_its_end(launch: FileLaunch, found: Reach, trials: _Trials) -> FileLaunch:
    """The launch, or one with smaller numbers if only that ends: what did not run may reach far.

    Sizes become parts of what they are, with the grid that follows; where that does not help all
    numbers are made small.
    """
    numbers = _small_numbers(launch, trials.guess)
    if found.ended or not numbers:
        return launch
    if less := _with_less(launch, trials, numbers.keys() & trials.guess.sizes, _SMALL + 1):
        return less
    small, again = _grown(_with_arguments(launch, numbers), trials)
    return small if again.ended and again.is_within else launch


def _alike(trials: _Trials) -> Iterator[tuple[int, FileLaunch]]:
    """The guess anew with one value for all sizes: a kernel may be meant for square matrices.

    Small ones are none of these: channels, heads.
    """
    guess = trials.guess
    sizes = {n: v for n, v in _numbers(guess.launch).items() if n in guess.sizes}
    values = {n: v for n, v in sizes.items() if v >= _SMALL and not is_pitch(n)}
    several = sorted(set(values.values()))
    for value in several if len(several) > 1 and len(values) <= _MOST_ALIKE else ():
        yield value, _anew(trials, dict.fromkeys(values, str(value))).launch


def _anew(trials: _Trials, numbers: Mapping[str, str]) -> Guess:
    """The guess anew, with these numbers given."""
    asked = trials.guess.asked
    given = (*numbers.items(), *asked.arguments)
    return completed(trials.source, replace(asked, arguments=given))


def _small_numbers(launch: FileLaunch, guess: Guess) -> dict[str, str]:
    """The numbers that may as well be smaller, so small; no strides, with which rows overlap."""
    large = {name for name, value in _numbers(launch).items() if value > _SMALL}
    return {name: str(_SMALL) for name in large & guess.open if not is_pitch(name)}


def _grown(
    launch: FileLaunch,
    trials: _Trials,
    found: Reach | None = None,
    instructions: int = _INSTRUCTIONS,
) -> tuple[FileLaunch, Reach]:
    """The launch with arrays as long as they are reached, and what is reached then.

    Dynamic shared memory grows with them. `found` is what the launch reaches, where that is known.
    """
    found = found or trials(launch, instructions)
    for _ in range(_ROUNDS):
        larger = _larger(launch, trials.guess, found)
        if trials.guess.shared_open and 0 < found.shared <= MAX_SHARED_BYTES:
            larger = replace(larger, shared=str(found.shared))
        if larger == launch:
            break
        launch, found = larger, trials(larger, instructions)
    return launch, found


def _touching(launch: FileLaunch, trials: _Trials) -> tuple[FileLaunch, Reach] | None:
    """The launch with another value of one guessed number, if that makes threads touch memory."""
    for name, text in launch.arguments:
        if name not in trials.guess.open or not re.fullmatch(r"-?\d+", text):
            continue
        for other in dict.fromkeys(("1", "4", "0", str(4 * abs(int(text))))):
            if other != text:
                changed = _with_arguments(launch, {name: other})
                found = trials(changed)
                if found.touched:
                    return changed, found
    return None


def _reaching_less(launch: FileLaunch, trials: _Trials) -> tuple[FileLaunch, Reach] | None:
    """The launch with one guessed number so small that arrays hold what the kernel reaches."""
    for name, value in _numbers(launch).items():
        if name not in trials.guess.open or value <= _FEW:
            continue
        less, found = _grown(_with_arguments(launch, {name: str(_FEW)}), trials)
        if found.is_within:
            return less, found
    return None


def _larger(launch: FileLaunch, guess: Guess, found: Reach) -> FileLaunch:
    """The launch with arrays as long as they are reached, where their sizes are guesses.

    Those that the kernel indexes alike grow together: the trial may end before it comes to them.
    If the trial ended early, their sizes are rounded up to a power of two.
    """
    changed = {}
    sizes = dict(found.sizes)
    for name, need in [*sizes.items()]:
        for other in guess.alike.get(name, ()):
            sizes[other] = max(sizes.get(other, 0), need)
    for name, text in launch.arguments:
        buffer = _BUFFER.fullmatch(text)
        if name not in sizes or name not in guess.open or not buffer:
            continue
        shape = [int(extent) for extent in buffer["shape"].split(",")]
        have, need = int(np.prod(shape)), sizes[name]
        if need <= have:
            continue
        is_close = need <= _meant(guess, name) and not _is_window(launch, have, need)
        stays = name in guess.tied and (guess.is_ragged or is_close)
        is_of_rows = "int" in buffer["front"] and has_one_more(name)
        stays &= not (is_of_rows and need == have + 1)
        if need > _MOST_ELEMENTS or stays:
            continue
        if guess.is_strided:  # the trial may end before it comes to the last row
            need = min(_AHEAD * need, _MOST_ELEMENTS)
        elif not found.ended:
            need = 1 << (need - 1).bit_length()
        grows = 1 if buffer["pointers"] else 0  # the last row grows, and with it the others
        others = (shape[0] - 1) * math.prod(shape[1:]) if grows else 0
        shape[grows] = -(-(need - others) * shape[grows] // (have - others))
        changed[name] = f"{buffer['front']}[{','.join(map(str, shape))}]{buffer['behind']}"
    return _with_arguments(launch, changed)


def _is_window(launch: FileLaunch, have: int, need: int) -> bool:
    """Whether each of `have` threads reads as many elements as a number of the launch says."""
    numbers = _numbers(launch).values()
    return any(1 < number < have and need == have + number - 1 for number in numbers)


def _meant(guess: Guess, name: str) -> float:
    """Elements up to which a kernel that reaches beyond the guessed size has a fault."""
    buffer = _BUFFER.fullmatch(dict(guess.launch.arguments)[name])
    if not buffer:
        return 0
    shape = [int(extent) for extent in buffer["shape"].split(",")]
    have, row = math.prod(shape), math.prod(shape[1:])
    return min(_FAR * have, have + row + _HALO)


def _filled_with(fill: str, launch: FileLaunch, names: Collection[str]) -> FileLaunch:
    """The launch with zeros, or indices, for the random whole numbers in these arrays."""
    changed = {
        name: text.replace("random:", fill)
        for name, text in launch.arguments
        if name in names and re.match(r"random:u?int(16|32|64)\[", text)
    }
    return _with_arguments(launch, changed)


def _with_arguments(launch: FileLaunch, changed: Mapping[str, str]) -> FileLaunch:
    """The launch with other texts for some of its arguments."""
    return replace(launch, arguments=tuple((n, changed.get(n, t)) for n, t in launch.arguments))
