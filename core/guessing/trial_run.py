"""A guessed launch, tried before anybody sees it: what the kernel does shows what is guessed wrong.

An array whose size nothing says becomes as large as the kernel reaches, and a number with which no
thread touches memory gets another value. Nothing is recorded, and a run that takes long is left.
"""

from __future__ import annotations

import itertools
import math
import re
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from core.cancelling import check
from core.compiler.builds import build_of, find_entry
from core.emulator.budget import Limits
from core.emulator.events import AccessEvent, FaultEvent, Observer
from core.emulator.geometry import Geometry
from core.emulator.launch_image import Image
from core.emulator.machine import Machine
from core.errors import ArgumentError, BudgetExceeded, Cancelled, TilescopeError, TooMuchWork
from core.guessing.argument_values import has_one_more, is_pitch
from core.guessing.first_launch import Guess, completed, with_host_grid
from core.launch import MAX_SHARED_BYTES, Dim3, Workload
from core.own_files.launch_texts import FileLaunch, dim3_text, file_workload, parse_dim3
from core.ptx.ast import Function
from core.ptx.parser import kept

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
_LOOP_ENDS = re.compile(r"\bfor\s*\([^;]{0,200};[^;<]{0,200}<=?\s*(\w+)\s*;")
_LONG = 64  # a size that may make a trial long
_PARTS = (4, 8, 16)  # of sizes with which a trial does not end
_LARGER = (2, 4, 8, 16, 32)  # times as large sizes, tried where an assertion fails
_WARP = 32
_BUFFER = re.compile(
    r"(?P<front>(?P<pointers>pointers\()?\w+:\w+)\[(?P<shape>[\d,]+)\](?P<behind>(?:\+\d+|\))?)"
)


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


def trial_of(source: str, guess: Guess, seed: int) -> FileLaunch:
    """The guess, with the sizes and numbers that a trial shows to be wrong put right.

    What is given, or what the host's code says, stays. So does a launch that cannot be run.
    """
    launch = guess.launch
    if guess.asked.grid and guess.asked.block and not _is_open(source, guess):
        return launch  # arrays of gigabytes take many seconds to fill
    try:
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
        return _fitted(_Trials(source, guess, seed)) if _is_open(source, guess) else launch
    except (Cancelled, TooMuchWork):  # whoever runs the launch would wait for as long again
        raise
    except TilescopeError:  # whoever runs the launch says what is wrong with it
        return launch


def _is_open(source: str, guess: Guess) -> bool:
    """Whether there is something that a trial may change."""
    sizes = _guessed_sizes(guess, guess.launch)
    is_long = any(value >= _LONG for value in sizes.values()) and not guess.asked.grid
    halved = guess.halved and _ASSERTS.search(source)
    return bool(guess.open or guess.shared_open or is_long or halved)


def _guessed_sizes(guess: Guess, launch: FileLaunch) -> Mapping[str, int]:
    """The whole numbers among the arguments that nobody gave."""
    given = dict(guess.asked.arguments)
    return {n: int(t) for n, t in launch.arguments if n not in given and t.isdecimal()}


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
    return f"{most}" if block.y == block.z == 1 or most % _WARP else f"{_WARP},{most // _WARP}"


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


def _fitted(tried: _Trials) -> FileLaunch:
    guess, launch = tried.guess, tried.guess.launch
    found = tried(launch)
    if found.asserted and (more := _that_holds(tried)):
        return more
    if not found.touched:
        launch, found = _touching(launch, tried) or (launch, found)
    for side, square in _alike(tried) if found.astray or found.sizes else ():
        again = tried(square)
        is_clean = again.touched and not again.astray and not again.sizes
        if is_clean and (again.ended or side <= _MODEST):
            return square
    launch, found = _grown(launch, tried, found)
    if found.beyond_own or any(need > _MOST_ELEMENTS for need in found.sizes.values()):
        launch, found = _reaching_less(launch, tried) or (launch, found)
    if found.astray or found.sizes:  # elements that nobody knew to be indices may be
        indices = _with_indices(launch, guess)
        if indices != launch:
            again = tried(indices)
            larger = _larger(indices, guess, again)
            if larger != indices:
                indices, again = larger, tried(larger)
            if not again.astray and not again.sizes:
                return _to_its_end(indices, again, tried)
        numbers = _small_numbers(launch, guess)
        meant = any(n in guess.tied and s <= _meant(guess, n) for n, s in found.sizes.items())
        for other in (launch, indices) if numbers and not meant else ():
            small, again = _grown(with_arguments(other, numbers), tried)
            if again.touched and not again.astray and not again.sizes:
                return small
    elif launch != guess.launch:
        return _to_its_end(launch, found, tried)
    elif not (found.ended or guess.asked.grid) and _takes_long(launch, tried):
        return _with_less(launch, tried, _guessed_sizes(guess, launch), _LONG) or launch
    return launch


def _takes_long(launch: FileLaunch, tried: _Trials) -> bool:
    """Whether somebody would wait for the launch: it runs some seconds, without the checkers."""
    start = time.thread_time()
    found = tried(launch, _MORE_OF_FEW * _INSTRUCTIONS)
    return not found.ended or time.thread_time() - start > _SECONDS_TO_WAIT


def _with_less(
    launch: FileLaunch, tried: _Trials, names: Collection[str], least: int
) -> FileLaunch | None:
    """The guess anew with parts of these sizes from `least` on, if it ends within bounds then."""
    sizes = {n: int(t) for n, t in launch.arguments if n in names and t.isdecimal()}
    sizes = {n: value for n, value in sizes.items() if value >= least and not is_pitch(n)}
    longest = {n: value for n, value in sizes.items() if value == max(sizes.values())}
    groups = [longest, *([sizes] if longest != sizes else [])] if sizes else []
    for some, part in itertools.product(groups, _PARTS):
        parts = {name: str(max(value // part, least // 2, _SMALL)) for name, value in some.items()}
        other = replace(tried, guess=_anew(tried, parts))
        less, again = _grown(other.guess.launch, other, instructions=_MORE_OF_FEW * _INSTRUCTIONS)
        if again.touched and again.ended and not again.astray and not again.sizes:
            return less
    return None


def _that_holds(tried: _Trials) -> FileLaunch | None:
    """The guess anew with larger sizes, if with these the kernel's assertions hold.

    Each that need not be larger stays as it is. None where no such sizes are found.
    """
    guess, given = tried.guess, dict(tried.guess.asked.arguments)
    sizes = {
        name: int(text)
        for name, text in guess.launch.arguments
        if name in guess.open | guess.halved and text.isdecimal() and int(text) >= _SMALL
    }

    def with_sizes(larger: Mapping[str, int]) -> FileLaunch | None:
        texts = {**given, **{name: str(value) for name, value in larger.items()}}
        try:
            asked = replace(guess.asked, arguments=tuple(texts.items()))
            other = completed(tried.source, asked).launch
        except (Cancelled, TooMuchWork):
            raise
        except TilescopeError:
            return None
        found = tried(other)
        return None if found.asserted or found.astray else other

    for times in _LARGER if len(sizes) <= _MOST_ALIKE else ():
        larger = {name: times * value for name, value in sizes.items()}
        if launch := with_sizes(larger):
            for name, value in sizes.items():
                if less := with_sizes({**larger, name: value}):
                    launch, larger = less, {**larger, name: value}
            return launch
    return None


def _to_its_end(launch: FileLaunch, found: Reach, tried: _Trials) -> FileLaunch:
    """The launch, or one with smaller numbers if only that ends: what did not run may reach far.

    Sizes become parts of what they are, with the grid that follows. Where that does not help all
    numbers are made small, and then each that ends a loop alone.
    """
    numbers = _small_numbers(launch, tried.guess)
    if found.ended or not numbers:
        return launch
    if less := _with_less(launch, tried, numbers.keys() & tried.guess.sizes, _SMALL + 1):
        return less
    alone = ({name: str(_FEW)} for name in numbers.keys() & set(_LOOP_ENDS.findall(tried.source)))
    longer = _MORE_OF_FEW * _INSTRUCTIONS
    for changed, most in ((numbers, _INSTRUCTIONS), *((one, longer) for one in alone)):
        small, again = _grown(with_arguments(launch, changed), tried, instructions=most)
        if again.touched and again.ended and not again.astray and not again.sizes:
            return small
    return launch


def _alike(tried: _Trials) -> Iterator[tuple[int, FileLaunch]]:
    """The guess anew with one value for all sizes: a kernel may be meant for square matrices.

    Small ones are none of these: channels, heads.
    """
    guess = tried.guess
    texts = {n: t for n, t in guess.launch.arguments if n in guess.sizes and not is_pitch(n)}
    values = {n: int(t) for n, t in texts.items() if t.isdecimal() and int(t) >= _SMALL}
    several = sorted(set(values.values()))
    for value in several if len(several) > 1 and len(values) <= _MOST_ALIKE else ():
        yield value, _anew(tried, dict.fromkeys(values, str(value))).launch


def _anew(tried: _Trials, numbers: Mapping[str, str]) -> Guess:
    """The guess anew, with these numbers given."""
    asked = tried.guess.asked
    given = (*numbers.items(), *asked.arguments)
    return completed(tried.source, replace(asked, arguments=given))


def _small_numbers(launch: FileLaunch, guess: Guess) -> dict[str, str]:
    """The numbers that may as well be smaller, so small; no strides, with which rows overlap."""
    return {
        n: str(_SMALL)
        for n, text in launch.arguments
        if n in guess.open and not is_pitch(n) and text.isdecimal() and int(text) > _SMALL
    }


def _grown(
    launch: FileLaunch,
    tried: _Trials,
    found: Reach | None = None,
    instructions: int = _INSTRUCTIONS,
) -> tuple[FileLaunch, Reach]:
    """The launch with arrays as long as they are reached, and what is reached then.

    Dynamic shared memory grows with them. `found` is what the launch reaches, where that is known.
    """
    found = found or tried(launch, instructions)
    for _ in range(_ROUNDS):
        larger = _larger(launch, tried.guess, found)
        if tried.guess.shared_open and 0 < found.shared <= MAX_SHARED_BYTES:
            larger = replace(larger, shared=str(found.shared))
        if larger == launch:
            break
        launch, found = larger, tried(larger, instructions)
    return launch, found


def _touching(launch: FileLaunch, tried: _Trials) -> tuple[FileLaunch, Reach] | None:
    """The launch with another value of one guessed number, if that makes threads touch memory."""
    for name, text in launch.arguments:
        if name not in tried.guess.open or not re.fullmatch(r"-?\d+", text):
            continue
        for other in dict.fromkeys(("1", "4", "0", str(4 * abs(int(text))))):
            if other != text:
                changed = with_arguments(launch, {name: other})
                found = tried(changed)
                if found.touched:
                    return changed, found
    return None


def _reaching_less(launch: FileLaunch, tried: _Trials) -> tuple[FileLaunch, Reach] | None:
    """The launch with one guessed number so small that arrays hold what the kernel reaches."""
    for name, text in launch.arguments:
        if name not in tried.guess.open or not text.isdecimal() or int(text) <= _FEW:
            continue
        less, found = _grown(with_arguments(launch, {name: str(_FEW)}), tried)
        if found.touched and not found.sizes and not found.astray:
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
    return with_arguments(launch, changed)


def _is_window(launch: FileLaunch, have: int, need: int) -> bool:
    """Whether each of `have` threads reads as many elements as a number of the launch says."""
    numbers = (int(text) for _, text in launch.arguments if text.isdecimal())
    return any(1 < number < have and need == have + number - 1 for number in numbers)


def _meant(guess: Guess, name: str) -> float:
    """Elements up to which a kernel that reaches beyond the guessed size has a fault."""
    buffer = _BUFFER.fullmatch(dict(guess.launch.arguments)[name])
    if not buffer:
        return 0
    shape = [int(extent) for extent in buffer["shape"].split(",")]
    have, row = math.prod(shape), math.prod(shape[1:])
    return min(_FAR * have, have + row + _HALO)


def _with_indices(launch: FileLaunch, guess: Guess) -> FileLaunch:
    """The launch with `index` in place of random whole numbers."""
    return with_arguments(
        launch,
        {
            name: text.replace("random:", "index:")
            for name, text in launch.arguments
            if name in guess.open and re.match(r"random:u?int(16|32|64)\[", text)
        },
    )


def with_arguments(launch: FileLaunch, changed: Mapping[str, str]) -> FileLaunch:
    """The launch with other texts for some of its arguments."""
    return replace(launch, arguments=tuple((n, changed.get(n, t)) for n, t in launch.arguments))
