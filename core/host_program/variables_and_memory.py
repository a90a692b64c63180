"""What variables of a host program hold while it runs, and how its calls change that.

A number, a structure, a pointer into memory that was allocated, the address of a variable, a tensor
map; None is what cannot be told. A variable that is set to a literal may be given another value, so
that the same program can be had in small.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from core.source.c_numbers import Number, applied, of_type

if TYPE_CHECKING:
    from tree_sitter import Node

AXES = ("x", "y", "z")
TENSOR_EXTENT = 16
"""Elements along each dimension of a PyTorch tensor that a kernel gets as an accessor."""
RADIUS = 2
"""Of a window around a place."""
WINDOW = re.compile(
    r"(?!.*(input|output|image|_in|in_|out_|_out))\w*(mask|filter|kernel|window)_?"
    r"([whd]|width|height|depth|rows|cols|columns|size|len(gth)?|dim|sz)"
    r"|[kf]_?(size|h|w)|k_([drc]|width|height|depth|rows|cols|columns)|ksz|taps",
    re.IGNORECASE,
)
"""How far a filter that goes over an array reaches."""
_KNOWN_BY_NAME = (
    (re.compile(r"(pad(ding)?|stride|dil(ation)?)_?([hwd]|height|width)", re.IGNORECASE), 1),
    (WINDOW, 3),
    (re.compile(r"r|\w*radius", re.IGNORECASE), RADIUS),
    (re.compile(r"\w*batch(_?(size|count))?|batches", re.IGNORECASE), 4),
    (re.compile(r"\w*(splits|gpus|devices|streams|stream_?count|ranks|heads?)", re.IGNORECASE), 4),
    (re.compile(r"\w*(tile|group)_?(size|dim)", re.IGNORECASE), 16),
    (re.compile(r"\w*threads\w*|block_?(size|dim)\w*", re.IGNORECASE), 128),
    (re.compile(r"(?!\w*(rows|col|width|height|points))\w*(blocks|grid)\w*", re.IGNORECASE), 4),
    (re.compile(r"n|\w*(size|len|length|count|elements|total|num|samples)", re.IGNORECASE), 1024),
)
_MODEL = re.compile(r"(d|dim)_?model|(embed(ding)?|hidden)_?(dim|size)", re.IGNORECASE)
_PITCH = re.compile(r"pitch|stride|bytes|^ld[abc]?$", re.IGNORECASE)
_OF_BYTES = re.compile(r"pitch|bytes", re.IGNORECASE)
SIZE = re.compile(
    r"\w*(?:width|height|depth|rows|cols|columns|size|count|num|length|pitch|stride|points)\w*"
    r"|[nmkwh]_?",
    re.IGNORECASE,
)
POINTS_ON = {"raw_pointer_cast", "data", "data_ptr", "get", "begin", "move", "forward", "ref"}
_PIXEL = 16  # bytes at most
_MOST_BYTES = 1 << 62
_MOST_STEPS = 5_000  # in one run
_MOST_MEMBERS = 64  # of a structure that is copied
_ANY = "*"  # in what is given: every whole number that a function is given
_UNKNOWN = 64  # what a whole number that a function is given may be
NOTHING: Mapping[str, Number] = MappingProxyType({})


@dataclass(eq=False)
class Cell:
    """A variable, member or element; `key` is how others name it: `n`, `grid.x`, `main::n`."""

    key: str
    value: Any = None
    type: str = ""
    stars: int = 0
    extents: tuple[Number | None, ...] = ()
    points_to_array: bool = False
    is_literal: bool = False  # of an element that is listed as a number


@dataclass(eq=False)
class Struct:
    """Members by name, elements by number; `types` are what the template parameters are."""

    members: dict[str | int, Cell] = field(default_factory=dict)
    owner: str = ""
    types: Mapping[str, str] = field(default_factory=dict)


@dataclass(eq=False)
class Block:
    """Memory that was allocated. `n_set` bytes are set to `set_to`, and `is_filled` by others."""

    nbytes: int
    cell: Cell
    count: int | None = None  # elements of a std::vector
    n_set: int | None = None
    set_to: int = 0
    is_filled: bool = False


@dataclass(frozen=True)
class Pointer:
    """Into a block, so many elements behind its first."""

    block: Block
    start: int = 0


@dataclass(frozen=True)
class Address:
    """Of a variable; of an element of an array also which one."""

    cell: Cell
    array: Struct | None = None
    index: int = 0


@dataclass(frozen=True)
class Lambda:
    """A function without a name, and where it was made."""

    node: Node
    frame: Frame


@dataclass(frozen=True)
class MadeMap:
    """A tensor map, as it is typed."""

    text: str


class EnoughError(Exception):
    """A run takes too long."""


@dataclass
class Run:
    """One way to the launch: what is given, and the numbers that come of it, by key.

    `given` replaces what variables are first set to, `fixed` whatever they are set to. `roots` are
    the values of literals' own variables, `formals` the numbers that nobody says, `symbols` those
    that were copied to the device's variables.
    """

    given: Mapping[str, Number] = field(default_factory=dict)
    fixed: Mapping[str, Number] = field(default_factory=dict)
    numbers: dict[str, Number] = field(default_factory=dict)
    roots: dict[str, Number] = field(default_factory=dict)
    formals: set[str] = field(default_factory=set)
    symbols: dict[str, Number] = field(default_factory=dict)
    steps: int = 0

    def count(self, steps: int) -> None:
        """Raises `EnoughError` where a run takes too many steps: statements, calls, macros."""
        self.steps += steps
        if self.steps > _MOST_STEPS:
            raise EnoughError

    def put(self, cell: Cell, value: Any, *, literals: bool = False) -> None:
        """A value into a variable; none leaves it as it was.

        `literals`: of a structure those members may be given others that are written as numbers.
        """
        if isinstance(value, int | float):
            value = of_type(cell.type, value) if not cell.stars else value
            value = self.fixed.get(cell.key, value)
            if "[" not in cell.key:
                self.numbers[cell.key] = value
        elif isinstance(value, Struct):
            value = self._copied(value, cell.key, literals=literals)
        if value is not None:
            cell.value, cell.is_literal = value, False

    def put_literal(self, cell: Cell, value: Any) -> None:
        """The value of a literal: another one may be given."""
        if isinstance(value, int | float) and "[" not in cell.key:
            value = of_type(cell.type, value)
            self.roots[cell.key] = value
            value = self.given.get(cell.key, value)
        self.put(cell, value)

    def put_unknown(self, cells: Sequence[Cell]) -> None:
        """Whole numbers that somebody else decides about: widths before the pitches of rows."""
        names = {cell.key: own_name(cell.key) for cell in cells}
        if any(_MODEL.fullmatch(name) for name in names.values()):  # which heads divide
            names = {key: "heads" if name in ("h", "H") else name for key, name in names.items()}
        for cell in sorted(cells, key=lambda c: _PITCH.search(names[c.key]) is not None):
            name = names[cell.key]
            if _PITCH.search(name) and usual(name) == _UNKNOWN:
                widths = (v for n, v in self.numbers.items() if n in self.formals)
                widest = max((_UNKNOWN, *widths))
                is_bytes = _OF_BYTES.search(name) is not None
                self.put(cell, _PIXEL * widest if is_bytes else max(4 * _UNKNOWN, widest))
                continue
            self.roots[cell.key] = self.given.get(_ANY) or usual(name)
            self.formals.add(cell.key)
            self.put(cell, self.given.get(cell.key, self.roots[cell.key]))

    def _copied(self, value: Struct, key: str, *, literals: bool) -> Struct:
        made = Struct(owner=value.owner, types=value.types)
        for name, cell in [*value.members.items()][:_MOST_MEMBERS]:
            self.count(1)
            if isinstance(name, int):
                made.members[name] = own = replace(cell, key=f"{key}[{name}]", value=None)
                self.put(own, cell.value)
                continue
            made.members[name] = own = replace(cell, key=f"{key}.{name}", value=None)
            (self.put_literal if cell.is_literal and literals else self.put)(own, cell.value)
            own.is_literal = cell.is_literal and not literals  # of a copy in a called function
        return made


class Frame:
    """A function while it runs: its variables, its template's types, its object."""

    def __init__(
        self,
        run: Run,
        prefix: str = "",
        outer: Frame | None = None,
        this: Cell | None = None,
        depth: int = 0,
    ) -> None:
        self.run, self.prefix, self.outer, self.this, self.depth = run, prefix, outer, this, depth
        self.cells: dict[str, Cell] = {}
        # What declares the variables that nobody has asked for yet, by name.
        self.waiting: Mapping[str, Callable[[Frame], None]] = {}
        self.types: dict[str, str] = {}
        self.doubts = 0  # of conditions and loops around: a `return` may not end it
        self.value: Any = None
        self.is_done = False

    def _around(self) -> Iterator[Frame]:
        """This frame and those that are seen from it."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.outer

    @property
    def _object(self) -> Struct | None:
        own = self.this.value if self.this is not None else None
        return own if isinstance(own, Struct) else None

    def find(self, name: str) -> Cell | None:
        """The variable of a name that is seen from here."""
        for frame in self._around():
            if name not in frame.cells and name in frame.waiting:
                frame.waiting[name](frame)
            if name in frame.cells:
                return frame.cells[name]
            if (own := frame._object) is not None and name in own.members:
                return own.members[name]
        return None

    def type_of(self, name: str) -> str:
        """What a template parameter or an alias of this function is, "" for another name."""
        for frame in self._around():
            if name in frame.types:
                return frame.types[name]
            if (own := frame._object) is not None and name in own.types:
                return own.types[name]
        return ""

    def declare(self, name: str) -> Cell:
        """The variable of a name in this function itself."""
        if name not in self.cells:
            key = f"{self.prefix}{name}"
            self.cells[name] = Cell(key, self.run.fixed.get(key))
        return self.cells[name]


def own_name(key: str) -> str:
    """`main::image.width` is width."""
    return re.split(r"::|\.", key)[-1]


def usual(name: str) -> int:
    """What a whole number of that name may be, where nobody says it."""
    return next((n for pattern, n in _KNOWN_BY_NAME if pattern.fullmatch(name)), _UNKNOWN)


def world_of(frame: Frame) -> Frame:
    """The frame of the variables at namespace level."""
    while frame.outer is not None:
        frame = frame.outer
    return frame


def member_of(cell: Cell, name: str) -> Cell:
    """A member of what a variable holds, made where there is none."""
    if not isinstance(cell.value, Struct):
        cell.value = Struct()
    members = cell.value.members
    if name not in members and name in AXES and AXES.index(name) in members:
        return members[AXES.index(name)]
    if name not in members:
        members[name] = Cell(f"{cell.key}.{name}" if cell.key else name)
    return members[name]


def element_of(cell: Cell | None, index: int) -> Cell | None:
    """An element of the array that a variable holds or leads to."""
    if cell is None:
        return None
    value = cell.value
    if isinstance(value, Address):
        if value.array is None:
            return value.cell if not index else None
        return _at(value.array, value.index + index, value.cell.key)
    if isinstance(value, Pointer):
        cell = value.block.cell
        index += value.start
    if not isinstance(cell.value, Struct):
        if cell.value is not None:
            return cell
        cell.value = Struct()
    return _at(cell.value, index, f"{cell.key}")


def _at(array: Struct, index: int, key: str) -> Cell:
    return array.members.setdefault(index, Cell(f"{key}[{index}]"))


def led_to(value: Any) -> Cell | None:
    """The variable that a pointer leads to."""
    if isinstance(value, Address):
        return value.cell
    return value.block.cell if isinstance(value, Pointer) else None


def moved(value: Any, by: Any, sign: int) -> Any:
    """A pointer, so many elements further; one that cannot be told leads where it did."""
    step = sign * int(by) if isinstance(by, int | float) else 0
    if isinstance(value, Pointer):
        return replace(value, start=value.start + step)
    if isinstance(value, Struct):
        return Address(_at(value, step, ""), value, step)
    if value.array is None:
        return value
    return Address(_at(value.array, value.index + step, ""), value.array, value.index + step)


def allocated(nbytes: Any) -> Pointer | None:
    """New memory; None where its size is not known."""
    if not isinstance(nbytes, int | float) or not 0 <= nbytes < _MOST_BYTES:
        return None
    return Pointer(Block(int(nbytes), Cell("[0]")))


def vector_of(count: Any, of: int, value: Any = None) -> Pointer | None:
    """A std::vector of so many elements of so many bytes, each of one value if that is known."""
    made = allocated(applied("*", count, of))
    if made is not None:
        made.block.count = int(count)
        set_bytes(made, _byte_of(value), made.block.nbytes)
    return made


def _byte_of(value: Any) -> int | None:
    """What every byte of a number is, of whatever width: of 0 and -1; None of others."""
    if value == 0:
        return 0
    return 0xFF if isinstance(value, int) and value == -1 else None


def allocate(pointer: Any, nbytes: Any) -> int:
    """`cudaMalloc`, which succeeds."""
    cell = led_to(pointer)
    if cell is not None and (made := allocated(nbytes)) is not None:
        cell.value = made
    return 0


def put_through(frame: Frame, pointer: Any, value: Any) -> int:
    """What a call of CUDA's writes where a pointer leads; it succeeds."""
    if (cell := led_to(pointer)) is not None:
        frame.run.put(cell, value)
    return 0


def set_bytes(pointer: Any, value: Any, nbytes: Any) -> int:
    """`cudaMemset`, which succeeds; of values that are not known others fill it."""
    if isinstance(pointer, Pointer):
        block = pointer.block
        is_known = isinstance(value, int | float) and isinstance(nbytes, int | float)
        if is_known and (block.n_set is None or block.set_to == int(value) & 255):
            block.n_set, block.set_to = max(block.n_set or 0, int(nbytes)), int(value) & 255
        else:
            block.is_filled = True
    return 0


_COPIED = Struct | MadeMap | Pointer


def copy_bytes(frame: Frame, to: Any, of: Any, nbytes: Any = None) -> int:
    """`cudaMemcpy`: what is known of a structure comes along, and a value that all bytes have.

    Of pointers the first does.
    """
    target, source = led_to(to), led_to(of)
    if isinstance(of, Struct) and 0 in of.members:
        source = of.members[0]
    if target is not None and source is not None and isinstance(source.value, _COPIED):
        frame.run.put(target, source.value)
    byte = _byte_at(of)
    if byte is None:
        fill(to)
        return 0
    return set_bytes(to, byte, nbytes)


def fill_with(pointer: Any, value: Any) -> int:
    """`std::fill` of all of an array."""
    if isinstance(pointer, Pointer):
        pointer.block.n_set, pointer.block.is_filled = None, False
        set_bytes(pointer, _byte_of(value), pointer.block.nbytes)
    return 0


def _byte_at(of: Any) -> int | None:
    """What every byte is where a pointer leads, a variable's or those of all of its memory."""
    if isinstance(of, Address):
        return _byte_of(of.cell.value) if of.array is None else None
    is_set = isinstance(of, Pointer) and not of.block.is_filled and of.block.n_set is not None
    return of.block.set_to if is_set and of.block.n_set == of.block.nbytes else None


def copy_to_symbol(frame: Frame, name: str, of: Any) -> int:
    """`cudaMemcpyToSymbol` of a number."""
    source = led_to(of)
    if source is not None and isinstance(source.value, int | float):
        frame.run.symbols[name] = source.value
    return 0


def count_up(frame: Frame, cell: Cell) -> None:
    """A size that is counted in a loop, from 0, is one that nobody says."""
    if cell.value == 0 and isinstance(cell.value, int) and SIZE.fullmatch(own_name(cell.key)):
        frame.run.put_unknown([cell])


def fill(value: Any) -> None:
    """Somebody may write what a pointer leads to."""
    if isinstance(value, Address) and isinstance(value.cell.value, Pointer):
        value = value.cell.value
    if isinstance(value, Pointer):
        value.block.is_filled = True


def numbers_at(value: Any) -> Any:
    """A number, or the numbers of an array as far as they are known."""
    first, array = 0, value
    if isinstance(value, Address) and value.array is not None:
        first, array = value.index, value.array
    elif (cell := led_to(value)) is not None:
        array = cell.value
    if not isinstance(array, Struct):
        return value
    found: list[int] = []
    while isinstance(cell := array.members.get(first + len(found)), Cell):
        if not isinstance(cell.value, int | float):
            break
        found.append(int(cell.value))
    return found


def of_container(name: str, value: Any) -> Any:
    """What `size()` and `data()` of a std::vector or std::array give."""
    if name in POINTS_ON:
        return value if isinstance(value, Pointer) else moved(value, 0, 1)
    if name == "size":
        if isinstance(value, Pointer):
            return value.block.count
        is_list = bool(value.members) and all(isinstance(key, int) for key in value.members)
        return len(value.members) if is_list else None
    return None


def triple(parts: Sequence[Any]) -> Struct | None:
    """A dim3; None where an extent is not known."""
    if len(parts) == 1 and isinstance(parts[0], Struct):
        return parts[0]
    if not all(isinstance(part, int | float) for part in parts) or len(parts) > 3:
        return None
    whole = [*(int(part) for part in parts), 1, 1][:3]
    return Struct({axis: Cell("", part) for axis, part in zip(AXES, whole, strict=True)})


def as_triple(value: Any) -> Any:
    """A number, or a list of such, as a dim3."""
    if isinstance(value, int | float):
        return triple([value])
    if isinstance(value, Struct) and 0 in value.members:
        return triple([value.members[at].value for at in sorted(value.members, key=str)])
    return value
