"""What the forms of a launch offer, and how the launch follows when a number or its source changes.

Grid, dynamic shared memory, arrays and numbers of a user's own kernel were guessed at first. As
long as they are what would be guessed, they are guessed anew; what somebody has typed stays.
"""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from core.errors import TilescopeError
from core.launch import ScalarArgument
from core.user_files import argument_texts
from core.user_files.launch_texts import LARGE, FileLaunch, join_defines, split_defines
from gui.scenes.configuration import Configuration

if TYPE_CHECKING:
    from core.ladder import Parameter, Rung
    from core.launch import Workload
    from core.source.constants import Knob

FILLS = tuple(argument_texts.FILLS)
FILE = "file…"
NULL = "null"  # a pointer to nothing


def split_array(text: str, dtype: str) -> tuple[str, str]:
    """`zeros:float32[8,8]` as (fill, shape); the type stays with the shape unless it is `dtype`."""
    if text.startswith("@"):
        return FILE, text[1:]
    if text.strip() == NULL:
        return NULL, ""
    fill, _, buffer = text.partition(":")
    if "[" in fill:  # no fill, but words behind the shape
        fill, buffer = "", text
    elif not buffer:
        fill, buffer = "", fill
    match = re.fullmatch(r"(\w+)\[([^\]]*)\]", buffer.strip())
    shape = match[2] if match and match[1] == dtype else buffer.strip()
    return fill.strip() or "random", shape


def array_text(fill: str, shape: str, dtype: str) -> str:
    """What `split_array` took apart."""
    if fill == FILE:
        return f"@{shape.strip()}"
    if fill == NULL:
        return NULL
    shape = shape.strip()
    return f"{fill}:{shape}" if "[" in shape else f"{fill}:{dtype}[{shape}]"


REACH = 4096
"""Up to here a slider goes by itself; larger values are typed, or are among a rung's choices."""
EVERY = 32
"""Up to here every value is a stop; beyond, each doubling has `PARTS` of them."""
PARTS = 8
FEW = 64
"""A parameter with so few values stops at each of them, whatever choices a form offers."""


def candidates(parameter: Parameter) -> tuple[int, ...]:
    """The stops of a parameter by itself, ascending."""
    low, high = parameter.minimum, parameter.maximum
    if high - low <= FEW:
        return tuple(range(low, high + 1))
    if parameter.choices is None:
        found = spread(low, min(high, max(REACH, parameter.default)))
    elif all(choice & (choice - 1) == 0 for choice in parameter.choices):
        found = parameter.choices
    else:  # odd values matter: an offset, a stride
        found = (*range(low, min(max(parameter.choices), EVERY) + 1), *parameter.choices)
    return tuple(sorted({*found, parameter.default}))


def spread(low: int, high: int) -> tuple[int, ...]:
    """Whole numbers from `low` to `high`, dense where small and of equal ratio where large."""
    found = list(range(low, min(high, EVERY) + 1))
    step = EVERY // PARTS
    value = EVERY + step
    while value <= high:
        if value >= low:
            found.append(value)
        if value & (value - 1) == 0:
            step *= 2
        value += step
    if high > EVERY and (not found or found[-1] != high):
        found.append(high)
    return tuple(found)


def stops(rung: Rung, name: str, values: Mapping[str, int]) -> tuple[int, ...]:
    """The values of one parameter with which the rung can be launched, the others being `values`.

    The value there is comes with them, even if it cannot be launched; ascending.
    """
    parameter = next(p for p in rung.parameters if p.name == name)
    fit = {v for v in candidates(parameter) if rung.accepts(**{**values, name: v})}
    return tuple(sorted(fit | {values[name]}))


def place_of(value: int, among: tuple[int, ...]) -> int:
    """Where a value stands among ascending stops: the last that is not larger, or the first."""
    return max(bisect.bisect_right(among, value) - 1, 0)


def moved(value: int, by: int, among: tuple[int, ...]) -> int:
    """The stop `by` places from a value, which need not be one itself; ends at the ends."""
    if not among:
        return value
    place = bisect.bisect_left(among, value)
    between = place >= len(among) or among[place] != value
    place += by - (1 if between and by > 0 else 0)
    return among[min(max(place, 0), len(among) - 1)]


def reach_text(among: Iterable[int]) -> str:
    """The stops in a few words: "2, 4 or 8", "1 to 32", "4 to 4096 in 40 stops"."""
    found = tuple(among)
    if len(found) == 1:
        return f"only {found[0]}"
    if len(found) <= 6:
        return f"{', '.join(map(str, found[:-1]))} or {found[-1]}"
    if found == tuple(range(found[0], found[-1] + 1)):
        return f"{found[0]} to {found[-1]}"
    return f"{found[0]} to {found[-1]} in {len(found)} stops"


_BUFFER = re.compile(r"(?P<fill>.*?)(?P<buffer>\w+\[[^\]]*\])")


def follow(launch: FileLaunch, before: str, after: str, name: str = "") -> FileLaunch:
    """A launch for a changed source: what was guessed from the one before is guessed anew.

    Where somebody has set the constant of that `name`, its value counts, and is made no smaller.
    """
    from core.guessing.launch_guess import guess_launch  # loads the reading of C++

    def guess(text: str, name: str = "") -> FileLaunch:
        defines = {k.name: str(k.value) for k in knobs(text) if k.name == name}
        return guess_launch(text, launch.path, launch.kernel, given_defines=defines)

    def alike(old: FileLaunch) -> int:
        return len({*old.arguments, old.grid} & {*launch.arguments, launch.grid})

    from core.source.constants import knobs

    try:
        old = max([guess(before), *([guess(before, name)] if name else [])], key=alike)
        new = guess(after, name)
    except TilescopeError:
        return launch
    return _followed(launch, launch, old, new)


def renumbered(before: FileLaunch, after: FileLaunch, source: str) -> FileLaunch:
    """`after`, which somebody changed from `before`: what was guessed follows what is new in it.

    Nothing follows in a source that takes long to read.
    """
    from core.guessing.launch_guess import guess_launch  # loads the reading of C++

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
    from core.guessing.launch_guess import guess_launch  # loads the reading of C++

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


Kind = Literal["constant", "define", "argument"]
_MEANING = re.compile(  # of a macro, or a variable, and the size that cudaMalloc(&a, n) gives one
    r"#[ \t]*define[ \t]+(\w+)(?=[ \t(]([^\n]*))"
    r"|\b([A-Za-z_]\w*)\s*(?:[-+*/]?=(?!=)|[({,])(?=([^;{}\n]{0,999}))"
)
_OF_BLOCKS = re.compile(r"tile|block|width|size|dim|warp|thread", re.IGNORECASE)
MOST = 8  # rows; a source with more constants than this has few that matter


@dataclass(frozen=True)
class KnobRow:
    """One number: where it comes from, its value, and the values that it is dragged along."""

    kind: Kind
    name: str
    value: int
    stops: tuple[int, ...]
    tip: str
    switch: bool = False
    """Whether it is on (1) or off (0), and nothing else."""


def knob_rows(workload: Workload, launch: FileLaunch) -> tuple[KnobRow, ...]:
    """The rows of a launch: macros given to the compiler, constants of the source, arguments.

    Of an argument and a constant with one name, as `main` often has it, the constant is dragged:
    the argument follows, and the arrays whose sizes were guessed from it.
    """
    from core.source.constants import knobs  # loads the reading of C++

    found = []
    defines = split_defines(launch.defines)
    for name, text in defines.items():
        if text.isdecimal():
            found.append(_row("define", name, int(text), f"-D{name}"))
    constants = knobs(workload.source) if not workload.ptx else ()
    if len(workload.source) <= LARGE and constants:
        used = _reached(workload.source, workload.kernel)
        constants = tuple(knob for knob in constants if knob.name in used)
    found += [_constant(knob) for knob in constants if knob.name not in defines]
    named = {row.name for row in found}
    asked = {name for name, text in launch.arguments if text != "null"}
    found += [
        _row("argument", argument.name, int(argument.value), "An argument of the kernel")
        for argument in workload.launch.arguments
        if isinstance(argument, ScalarArgument)
        and argument.value.dtype.kind in "iu"
        and argument.name in asked - named
    ]
    return tuple(found[:MOST])


@lru_cache(maxsize=4)
def _reached(source: str, kernel: str) -> frozenset[str]:
    """The names that device code and the launches of a kernel use, and what these are made of."""
    from core.source.kernel_slice import without_host_code
    from core.source.kernels_and_launches import launches_by_kernel, unscoped
    from core.source.preprocessor import plain_text

    text = plain_text(source)
    device = re.sub(r"#[ \t]*define\b.*", "", without_host_code(text))
    launches = launches_by_kernel(source).get(unscoped(kernel), ())
    waiting = [device, *(part for x in launches for part in (*x.configuration, *x.arguments))]
    meanings: dict[str, list[str]] = defaultdict(list)
    for m in _MEANING.finditer(text):
        meanings[m[1] or m[3]].append(m[2] or m[4] or "")
    found: set[str] = set()
    while waiting:
        new = set(re.findall(r"[A-Za-z_]\w*", waiting.pop())) - found
        found |= new
        waiting += (meaning for name in new for meaning in meanings.get(name, ()))
    return frozenset(found)


def _constant(knob: Knob) -> KnobRow:
    where = f"Line {knob.line} of the source"
    if knob.switch:
        return KnobRow(
            "constant", knob.name, knob.value, (0, 1), f"{where}: a click edits it", True
        )
    return _row("constant", knob.name, knob.value, f"{where}: dragging edits it")


def _row(kind: Kind, name: str, value: int, tip: str) -> KnobRow:
    sizes = kind != "argument"
    least = 2 if _OF_BLOCKS.search(name) else 4
    return KnobRow(kind, name, value, knob_stops(value, sizes=sizes, least=least), tip)


def knob_stops(value: int, *, sizes: bool = True, least: int = 4) -> tuple[int, ...]:
    """Numbers up to four times the value; of `sizes` that are powers of two only such.

    Below `least` a number may be anything, such as a padding.
    """
    if sizes and value >= least and value & (value - 1) == 0:
        top = max(64, 4 * value)
        return tuple(1 << power for power in range(top.bit_length()))
    low = min(0, 4 * value)
    return tuple(sorted({*spread(low, max(16, 4 * value)), value}))


def turned(shown: Configuration, text: str, kind: Kind, name: str, value: int) -> Configuration:
    """The configuration with one number changed; `text` is the source as it is shown now.

    Grid, block and sizes follow as long as they are those that would be guessed.
    """
    assert shown.own is not None
    launch = shown.own
    if kind == "argument":
        arguments = tuple((n, str(value) if n == name else t) for n, t in launch.arguments)
        return replace(shown, own=renumbered(launch, replace(launch, arguments=arguments), text))
    if kind == "define":
        words = {**split_defines(launch.defines), name: str(value)}
        return replace(shown, own=replace(launch, defines=join_defines(words)))
    from core.source.constants import with_value

    changed = with_value(text, name, value)
    return replace(shown, source=changed, own=follow(launch, text, changed, name))
