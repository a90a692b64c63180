"""The words of lessons: what an expression can ask of a launch, of a step of it, and of devices.

Each is a function here; its signature says what it takes, its docstring what it gives. The table in
docs/lessons.md is made from them. The first argument is the situation that is asked about: a
launch, a block of its record, a step of that, and the values of names. An expression that names
other parameters (`sectors(stride=s)`) is evaluated in another situation, whose launch is recorded
when it is first asked for.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.devices.device_table import find_capability, load_devices
from core.devices.occupancy import LIMITS, Occupancy, Resources, occupancy
from core.errors import ParameterError, TilescopeError
from core.explain.phase_table import phase_table
from core.gpu.result_check import Check, check
from core.gpu.result_files import load_recorded
from core.ladder import Ladder
from core.launch import WARP, Launch, Workload
from core.lessons.launch_cache import NOT_WHOLE, Recorder
from core.lessons.lesson_expressions import CheckCall, Element, LessonError, Value
from core.links import Link, parse_rung_link
from core.models.ceiling_counts import Counts
from core.models.ceilings import NAMES, Ceilings
from core.models.ceilings import ceilings as all_ceilings
from core.ptx.debug.variables import debug_info
from core.rules.counters import COUNTERS, Count
from core.rules.global_memory import SECTOR
from core.trace.access import Access, Array, SharedState, WarpAccess
from core.trace.finding import KINDS, Finding
from core.trace.pipeline import Filling, Pipeline, pipeline
from core.trace.step_names import step_named

if TYPE_CHECKING:
    from core.explain.phase_table import Entry
    from core.trace import BlockTrace, Trace

MOST_LAUNCHES = 160  # that one evaluation may ask for
CHANGES = ("at", "block", "thread", "seed", "of", "order")
"""What an expression may say of the place it asks about, beside the launch's parameters."""


@dataclass(frozen=True)
class Situation:
    """Where an expression is evaluated. `source` is an edited text in place of the rung's own.

    `values` are the names of the step beside the launch's parameters. `expected` overrides what
    the outputs have to be. `in_window` says where sentences are read. `_asked` counts the launches
    that one evaluation has asked for.
    """

    link: Link
    recorder: Recorder
    values: Mapping[str, Value] = field(default_factory=dict)
    source: str | None = None
    expected: Callable[[Workload], Workload] | None = None
    in_window: bool = True
    _asked: list[int] = field(default_factory=lambda: [0])

    # -- what expressions are given ----------------------------------------------------------

    def names(self) -> Mapping[str, Value]:
        """Values by name: the launch's parameters, the step's own, and `vs` where there is one."""
        other: Mapping[str, Value] = {} if self.link.versus is None else {"vs": "vs"}
        return {**self.link.parameters, **self.values, **other}

    def call(self, word: str, given: list[Value], named: Mapping[str, Value]) -> Value:
        """What a word of the vocabulary says here. Raises TilescopeError."""
        row = VOCABULARY[word]
        own = {name: value for name, value in named.items() if name in row.names}
        changes = {name: value for name, value in named.items() if name not in row.names}
        return row.say(self.changed(changes) if changes else self, given, own)

    def changed(self, changes: Mapping[str, Value]) -> Situation:
        """The situation with other parameters, another place, or that of the other launch."""
        self._asked[0] += 1
        if self._asked[0] > MOST_LAUNCHES:
            raise LessonError(f"An expression asks for more than {MOST_LAUNCHES} situations.")
        numbers = dict(changes)
        link, source = self.link, self.source
        if (of := numbers.pop("of", None)) is not None:
            link, source = self._other(of), None
        for name in ("at", "order"):
            if (text := numbers.pop(name, None)) is not None:
                if not isinstance(text, str):
                    raise LessonError(f'{name} is a text, such as {name}="load:A@phase0".')
                link = replace(link, **{name: text})  # type: ignore[arg-type]
        whole: dict[str, int] = {}
        for name, value in numbers.items():
            if isinstance(value, bool) or not isinstance(value, int):
                raise LessonError(f"{name} is a whole number.")
            whole[name] = value
        return replace(self, link=link.varied(whole, self.recorder.ladder), source=source)

    def _other(self, of: Value) -> Link:
        """The launch compared with, at the same place; or that of a link."""
        link = self.link
        if of == "vs" and link.versus is not None:
            return replace(link.versus, block=link.block, at=link.at, step=link.step)
        if isinstance(of, str) and of != "vs":
            return parse_rung_link(of, self.recorder.ladder)
        raise LessonError('of is vs, if the link compares, or a link: of="tiled?n=4&tile=2".')

    def of(self, link: Link, source: str | None = None) -> Situation:
        """The same names at another launch; its launches are counted anew."""
        return replace(self, link=link, source=source, _asked=[0])

    # -- what words ask ------------------------------------------------------------------------

    @cached_property
    def trace(self) -> Trace:
        """The record of the launch."""
        return self.recorder.trace(self.link, self.source)

    @cached_property
    def whole(self) -> Trace:
        """The record, where every block was run; a TilescopeError where only one was."""
        if not self.trace.complete:
            raise LessonError(NOT_WHOLE)
        return self.trace

    @cached_property
    def block(self) -> BlockTrace:
        """The record of the link's block."""
        return self.trace.block(self.link.block)

    @cached_property
    def step(self) -> int:
        """The step of the block. Raises ParameterError where there is none such."""
        block, link = self.block, self.link
        if link.at:
            return step_named(block, link.at)
        if link.step is None:
            steps = block.access_steps
            return int(steps[0]) if len(steps) else 0
        if link.step >= block.n_steps:
            raise ParameterError(
                f"The launch has no step {link.step}: the last is {block.n_steps - 1}."
            )
        return link.step

    @cached_property
    def access(self) -> Access:
        """What the step accesses. Raises TilescopeError where it accesses nothing."""
        found = self.block.access(self.step)
        if found is None:
            raise LessonError(
                f"Step {self.step} of {self.link.rung} accesses no memory: name one that does, "
                "such as at=load:A@phase0."
            )
        return found

    @cached_property
    def launch(self) -> Launch:
        """The launch itself, its arrays empty."""
        rung = self.recorder.ladder[self.link.rung]
        return rung.blank_workload(**self.link.parameters).launch

    @cached_property
    def counts(self) -> Counts:
        """What the launch needs as compiled, at any size."""
        return self.recorder.counts(self.link, self.source)


# -- words as data -----------------------------------------------------------------------------

Says = Callable[..., Value]
_S = TypeVar("_S", bound=Says)
_TYPES: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "Element": (Element,),
}
_EXAMPLES: Mapping[str, str] = {
    "int": "a whole number",
    "float": "a number",
    "str": 'a text, such as "A"',
    "Element": "an element, such as A[0,2]",
}
_GIVES: Mapping[str, str] = {
    "int": "whole number",
    "float": "number",
    "str": "text",
    "bool": "true or false",
    "list[Value]": "list",
    "Element | None": "element",
}


@dataclass(frozen=True)
class Word:
    """A word: what it takes, by name and type, what it gives, and what it means."""

    name: str
    group: str
    meaning: str
    gives: str
    function: Says
    parameters: tuple[inspect.Parameter, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What it takes, in order."""
        return tuple(p.name for p in self.parameters)

    @property
    def call(self) -> str:
        """How it is written: `bank(lane, warp=0)`."""
        parts = [
            p.name if p.default is p.empty else f"{p.name}={p.default!r}".replace("'", '"')
            for p in self.parameters
        ]
        return f"{self.name}({', '.join(parts)})"

    def misfit(self, given: int, named: frozenset[str]) -> str:
        """What is wrong with a call of so many values and these names; "" where nothing is."""
        wanted = [p.name for p in self.parameters]
        if given > len(wanted) or set(wanted[:given]) & named:
            return f"takes {', '.join(wanted) or 'nothing'}: write {self.call}"
        open_ones = [p for p in self.parameters[given:] if p.default is p.empty]
        missing = [p.name for p in open_ones if p.name not in named]
        return f"needs {', '.join(missing)}: write {self.call}" if missing else ""

    def say(self, here: Situation, given: Sequence[Value], named: Mapping[str, Value]) -> Value:
        """What it gives in a situation. Raises TilescopeError."""
        values = {**dict(zip(self.names, given, strict=False)), **named}
        for parameter in self.parameters:
            if parameter.name in values:
                self._must_fit(parameter, values[parameter.name])
        return self.function(here, **values)

    def _must_fit(self, parameter: inspect.Parameter, value: Value) -> None:
        kind = str(parameter.annotation)
        is_odd_bool = isinstance(value, bool) and kind in ("int", "float")
        if is_odd_bool or not isinstance(value, _TYPES[kind]):
            raise LessonError(f"{self.name}: {parameter.name} is {_EXAMPLES[kind]}.")


_WORDS: dict[str, Word] = {}
_group = ""


def _begin(group: str) -> None:
    global _group
    _group = group


def _word(function: _S) -> _S:
    name = function.__name__.removesuffix("_")
    parameters = tuple(inspect.signature(function).parameters.values())[1:]
    meaning = inspect.getdoc(function) or ""
    gives = _GIVES[str(inspect.signature(function).return_annotation)]
    _WORDS[name] = Word(name, _group, meaning, gives, function, parameters)
    return function


VOCABULARY: Mapping[str, Word] = MappingProxyType(_WORDS)
"""All words by name, in the order of the table."""


def check_of_calls(link: Link, ladder: Ladder) -> CheckCall:
    """Which calls are good at a link: for the check of expressions when a lesson is read."""
    parameters = {*ladder[link.rung].defaults}
    if link.versus is not None:
        parameters |= {*ladder[link.versus.rung].defaults}

    def check_call(word: str, given: int, named: frozenset[str]) -> str:
        row = VOCABULARY.get(word)
        if row is None:
            return "is not a word of lessons; docs/lessons.md has all of them"
        for name in sorted(named - set(row.names) - set(CHANGES) - parameters):
            return (
                f"takes no {name}: it takes {', '.join(row.names) or 'nothing'}, "
                f"and {', '.join(CHANGES)} and parameters of the launch"
            )
        return row.misfit(given, named)

    return check_call


# -- the access that the step makes ------------------------------------------------------------

_begin("The access that the step makes")


def _part(here: Situation, warp: int) -> WarpAccess:
    if not 0 <= warp < here.block.n_warps:
        raise LessonError(f"The block has no warp {warp}: it has {here.block.n_warps}.")
    return here.access.warp(warp)


def _request(here: Situation, space: str, warp: int) -> WarpAccess:
    """The warp's part of the step's access, which has to be to that memory."""
    if here.access.space != space:
        raise LessonError(
            f"The step accesses {here.access.space} memory, and this word is about {space} memory."
        )
    return _part(here, warp)


@_word
def sectors(here: Situation, warp: int = 0) -> int:
    """Sectors of 32 bytes that the warp's request moves."""
    return int(_request(here, "global", warp).n_sectors)


@_word
def ideal(here: Situation, warp: int = 0) -> int:
    """Sectors that the request would move if its bytes lay side by side."""
    return int(_request(here, "global", warp).ideal_sectors)


@_word
def lines(here: Situation, warp: int = 0) -> int:
    """Lines of 128 bytes that the request touches."""
    return len(_request(here, "global", warp).lines)


@_word
def used_share(here: Situation, warp: int = 0) -> float:
    """Bytes used of those fetched, in per cent."""
    part = _request(here, "global", warp)
    return 100 * float(part.bytes_used.sum()) / (SECTOR * max(len(part.sectors), 1))


@_word
def sector_numbers(here: Situation, warp: int = 0) -> list[Value]:
    """The sectors that the request touches, counted from the start of the array."""
    part, array = _request(here, "global", warp), here.access.array
    if not isinstance(array, Array):
        raise LessonError("The step accesses no array of the launch.")
    return [int(s) // SECTOR - array.base // SECTOR for s in part.sectors]


@_word
def wavefronts(here: Situation, warp: int = 0) -> int:
    """Wavefronts that shared memory needs for the warp's request."""
    return int(_request(here, "shared", warp).wavefronts)


@_word
def conflicts(here: Situation, warp: int = 0) -> int:
    """Wavefronts beyond those of an access without bank conflicts."""
    return int(_request(here, "shared", warp).conflicts)


@_word
def bank(here: Situation, lane: int, warp: int = 0) -> int:
    """The bank of the lane's word, 0 to 31."""
    return int(_request(here, "shared", warp).banks[_lane(lane)])


@_word
def lanes_in_bank(here: Situation, bank: int, warp: int = 0) -> list[Value]:
    """The lanes whose words lie in a bank."""
    return [int(lane) for lane in np.flatnonzero(_request(here, "shared", warp).banks == bank)]


def _lane(lane: int) -> int:
    if not 0 <= lane < WARP:
        raise LessonError(f"There is no lane {lane}: a warp has lanes 0 to {WARP - 1}.")
    return lane


def _thread(block: BlockTrace, thread: int) -> int:
    if not 0 <= thread < block.n_threads:
        raise LessonError(f"The block has no thread {thread}: it has {block.n_threads}.")
    return thread


@_word
def element(here: Situation, thread: int) -> Element | None:
    """The element that a thread (linear in its block) accesses; nothing where it is idle."""
    access = here.access
    found = access.element(_thread(here.block, thread))
    return None if found is None or access.array is None else Element(access.array.name, found)


@_word
def elements(here: Situation) -> list[Value]:
    """The elements that the block's threads access in this step, each once, ascending."""
    access = here.access
    if access.array is None:
        raise LessonError("The step accesses no array of the launch.")
    flat = np.unique(access.elements[access.elements >= 0])
    return [Element(access.array.name, access.array.index(int(i))) for i in flat]


@_word
def stride(here: Situation, warp: int = 0) -> int:
    """How many elements further on the warp's lane 1 reaches than its lane 0."""
    found = _part(here, warp).elements
    if found[0] < 0 or found[1] < 0:
        raise LessonError("Lane 0 or 1 is idle in this step.")
    return int(found[1] - found[0])


@_word
def addresses(here: Situation, warp: int = 0) -> int:
    """How many different addresses the warp's active lanes ask for."""
    part = _part(here, warp)
    return len(np.unique(part.addresses[part.active]))


@_word
def active(here: Situation) -> int:
    """How many threads of the block take part in the step."""
    return int(here.block.active(here.step).sum())


@_word
def faulty(here: Situation) -> int:
    """For how many threads of the block the access is illegal."""
    return int(here.access.faulty.sum())


@_word
def kind(here: Situation) -> str:
    """Memory and kind of the access: "global load", "shared store", "constant load"."""
    space = "constant" if here.access.space == "const" else here.access.space
    return f"{space} {here.access.kind}"


@_word
def target(here: Situation) -> str:
    """The array or variable that is accessed."""
    return here.access.target


# -- the block ---------------------------------------------------------------------------------

_begin("The block")


@_word
def source_line(here: Situation) -> int:
    """The source line of the step."""
    return int(here.block.line[here.step])


@_word
def phase(here: Situation) -> int:
    """The phase of the step, -1 outside."""
    return int(here.block.phase[here.step])


@_word
def phases(here: Situation) -> int:
    """How many phases the block has: iterations of its main loop."""
    return len(here.block.phases)


@_word
def barriers(here: Situation) -> int:
    """How many times the block's threads meet at a barrier."""
    return here.block.barriers


@_word
def threads(here: Situation) -> int:
    """Threads of a block."""
    return here.launch.block.count


@_word
def warps(here: Situation) -> int:
    """Warps of a block."""
    return -(-here.launch.block.count // WARP)


@_word
def blocks(here: Situation) -> int:
    """Blocks of the grid."""
    return here.launch.grid.count


def _accesses(here: Situation, *, last: int | None = None) -> list[Access]:
    """The block's accesses to memory that threads share, up to a step."""
    steps = here.block.access_steps
    steps = steps if last is None else steps[steps <= last]
    return [a for a in (here.block.access(int(s)) for s in steps) if a is not None]


def _flat(access: Access, of: Element) -> int | None:
    """The element's place in the access's array; None where it is another array."""
    array = access.array
    if array is None or array.name != of.array:
        return None
    _must_be_inside(of, array.shape)
    return int(np.ravel_multi_index(of.index, array.shape))


def _must_be_inside(of: Element, shape: tuple[int, ...]) -> None:
    if len(of.index) != len(shape) or not all(
        0 <= i < extent for i, extent in zip(of.index, shape, strict=True)
    ):
        raise LessonError(f"There is no {of}: {of.array} has the shape {list(shape)}.")


def _must_have(here: Situation, array: str) -> None:
    shared = [one.name for one in here.trace.shared_arrays]
    known = [*(one.name for one in here.trace.arrays), *shared]
    if array not in known:
        raise LessonError(f"The launch has no array {array}: it has {', '.join(known)}.")


def _users(here: Situation, of: Element, kinds: tuple[str, ...]) -> list[int]:
    """The threads that access an element of global memory, as often as they do."""
    _must_have(here, of.array)
    found: list[int] = []
    for access in _accesses(here):
        if access.kind in kinds and access.space == "global":
            flat = _flat(access, of)
            if flat is not None:
                found += [int(t) for t in np.flatnonzero(access.elements == flat)]
    return found


@_word
def block_loads(here: Situation) -> int:
    """Loads of elements from global memory that the block's threads make, all together."""
    return sum(
        int(a.active.sum()) for a in _accesses(here) if a.space == "global" and a.kind == "load"
    )


@_word
def times_loaded(here: Situation, element: Element) -> int:
    """How often the block's threads load an element of a global array."""
    return len(_users(here, element, ("load",)))


@_word
def times_read(here: Situation, element: Element, phase: int = 0) -> int:
    """How often the block's threads read an element of a shared array in a phase."""
    found = 0
    for access in _accesses(here):
        if access.space == "shared" and access.kind == "load":
            if int(here.block.phase[access.step]) != phase:
                continue
            flat = _flat(access, element)
            found += 0 if flat is None else int(np.count_nonzero(access.elements == flat))
    return found


@_word
def loaders(here: Situation, element: Element) -> list[Value]:
    """The threads of the block, linear, that load an element of a global array."""
    return list[Value](sorted(set(_users(here, element, ("load",)))))


@_word
def owner(here: Situation, element: Element) -> int:
    """The thread of the block, linear, that stores an element of a global array; -1: none."""
    found = _users(here, element, ("store", "atomic"))
    return found[-1] if found else -1


@_word
def stored_by(here: Situation, thread: int) -> list[Value]:
    """The elements of global arrays that a thread of the block stores, ascending."""
    _thread(here.block, thread)
    found = {
        Element(a.array.name, index)
        for a in _accesses(here)
        if a.space == "global" and a.kind == "store" and a.array is not None
        if (index := a.element(thread)) is not None
    }
    return list[Value](sorted(found))


def _shared(here: Situation, element: Element) -> SharedState:
    """The shared array that has an element, as the step leaves it."""
    state = here.block.shared(here.step).get(element.array)
    if state is None:
        raise LessonError(f"The kernel has no shared array {element.array}.")
    _must_be_inside(element, state.values.shape)
    return state


@_word
def writer(here: Situation, element: Element) -> int:
    """The thread, linear, that had stored an element of a shared array by this step; -1: none."""
    return int(_shared(here, element).last_writer[element.index])


@_word
def held(here: Situation, element: Element) -> float:
    """What an element of a shared array holds after this step."""
    return _plain(_shared(here, element).values[element.index])


@_word
def stored(here: Situation, thread: int) -> float:
    """The value that a thread loads or stores in this step."""
    access = here.access
    if not access.active[_thread(here.block, thread)]:
        raise LessonError(f"Thread {thread} is idle in this step.")
    return _plain(np.ravel(access.values[thread])[0])


@_word
def variable(here: Situation, name: str, thread: int = 0) -> float:
    """What a variable of the source holds in a thread at this step."""
    _thread(here.block, thread)
    for one in here.block.variables(here.step, thread):
        if one.name == name and isinstance(one.value, int | float):
            return _plain(one.value)
    raise LessonError(f"Thread {thread} has no variable {name} with a number at this step.")


def _plain(value: Any) -> float | int:
    found = float(value)
    return int(found) if found == int(found) and abs(found) < 1e15 else found


def _cell(here: Situation, thread: int, phase: int) -> tuple[Entry, ...]:
    table = phase_table(here.trace, here.block)
    _thread(here.block, thread)
    for place, column in enumerate(table.columns):
        if column.phase == phase:
            return table.rows[thread].cells[place]
    raise LessonError(f"The block has no phase {phase}: it has {len(here.block.phases)}.")


@_word
def home(here: Situation, variable: str) -> str:
    """Where the code as written keeps a variable of a thread: "register" or "local memory"."""
    info = debug_info(here.trace.module)
    for one in info.variables_of(here.trace.image.function.name):
        if one.name == variable:
            in_register = any(place.register is not None for place in one.locations)
            return "register" if in_register else "local memory"
    raise LessonError(f"The kernel has no variable {variable}.")


@_word
def row(here: Situation, thread: int, phase: int) -> list[Value]:
    """What a thread does in a phase, as the phase table has it: "A[0,2] -> tile_a[0,0]"."""
    return [entry.text for entry in _cell(here, thread, phase)]


@_word
def zeros(here: Situation, phase: int) -> list[Value]:
    """The places of shared arrays that get 0 in a phase because there is nothing to load."""
    found: list[Value] = []
    for thread in range(here.block.n_threads):
        texts = [entry.text for entry in _cell(here, thread, phase)]
        found += [text.removeprefix("0 -> ") for text in texts if text.startswith("0 -> ")]
    return found


# -- the pipeline of shared memory -------------------------------------------------------------

_begin("The pipeline of shared memory")


def _ring(here: Situation) -> tuple[Pipeline, int]:
    """The block's pipeline, and the place of its last moment at the step, -1 before the first."""
    made = pipeline(here.block, here.trace.shared_arrays)
    if isinstance(made, str):
        raise LessonError(made)
    return made, made.at(here.step)


def _held(here: Situation, stage: int) -> Filling | None:
    made, place = _ring(here)
    return made.held(_stage(made, stage), place)


def _stage(made: Pipeline, stage: int) -> int:
    if not 0 <= stage < len(made.stages):
        raise LessonError(f"There is no stage {stage}: there are {len(made.stages)}.")
    return stage


@_word
def ring_stages(here: Situation) -> int:
    """How many stages there are: parts of shared memory that are filled as a whole."""
    return len(_ring(here)[0].stages)


@_word
def stage_bytes(here: Situation, stage: int = 0) -> int:
    """Bytes of a stage."""
    made, _ = _ring(here)
    return made.stages[_stage(made, stage)].nbytes


@_word
def filling(here: Situation, stage: int) -> int:
    """Which filling a stage holds or is being given at the step, counted from 0; -1: none yet."""
    held = _held(here, stage)
    return -1 if held is None else held.number


@_word
def is_there(here: Situation, stage: int) -> bool:
    """Whether what a stage is given is known to be there: its copies were awaited."""
    held = _held(here, stage)
    return held is not None and 0 <= held.ready <= _ring(here)[1]


@_word
def in_flight(here: Situation) -> int:
    """How many stages are being filled at the step: copies are begun, and not awaited yet."""
    stages = range(ring_stages(here))
    return sum(filling(here, stage) >= 0 and not is_there(here, stage) for stage in stages)


@_word
def warps_as(here: Situation, role: str) -> list[Value]:
    """The warps that are "producer" (fill stages alone) or "consumer" (read them alone)."""
    actors = _ring(here)[0].actors
    return list[Value](sorted(w for actor in actors if actor.role == role for w in actor.warps))


@_word
def phases_over(here: Situation, barrier: Element) -> int:
    """How many phases of an mbarrier, such as full[0], are over at the step."""
    for array in here.trace.shared_arrays:
        if array.name == barrier.array:
            _must_be_inside(barrier, array.shape)
            flat = int(np.ravel_multi_index(barrier.index, array.shape))
            first = here.block.place * here.block.shared_stride + array.offset
            place = (first + flat * array.dtype.itemsize) // 8
            return sum(
                event.kind == "end"
                and place in event.places
                and here.block.step_at(event.tick) <= here.step
                for event in here.block.record.phases
            )
    raise LessonError(f"The kernel has no shared array {barrier.array}.")


@_word
def copied_bytes(here: Situation) -> int:
    """Bytes that bulk copies bring to the block's shared memory, all together."""
    first = here.block.place * here.block.shared_stride
    return sum(
        span.width
        * int(((span.place >= first) & (span.place < first + here.block.shared_stride)).sum())
        for event in here.block.record.transfers
        for span in event.writes
        if span.region.space == "shared"
    )


@_word
def executed(here: Situation, opcode: str) -> int:
    """How often the block's warps execute an instruction of PTX that begins so: "mma.sync"."""
    return sum(len(np.unique(lanes // WARP)) for lanes in _executions(here, opcode))


@_word
def executing(here: Situation, opcode: str) -> list[Value]:
    """The threads of the block, linear, that ever execute such an instruction."""
    first = here.block.lanes.start
    return list[Value](sorted({int(i) - first for each in _executions(here, opcode) for i in each}))


def _executions(here: Situation, opcode: str) -> Iterator[NDArray[np.intp]]:
    for one in here.block.instructions:
        if ".".join((one.opcode, *one.modifiers)).startswith(opcode):
            yield from (lanes for _, lanes in here.block.executions(one.pc))


# -- the whole launch --------------------------------------------------------------------------

_begin("The whole launch")


def _count(counts: Mapping[str, Count], name: str) -> int:
    if name not in COUNTERS:
        raise LessonError(f"There is no counter {name}: there are {', '.join(COUNTERS)}.")
    return int(counts[name].value)


@_word
def total(here: Situation, counter: str) -> int:
    """A counter of the whole launch, such as "global_ld_sectors"."""
    return _count(here.whole.counters.totals, counter)


@_word
def of_array(here: Situation, array: str, counter: str) -> int:
    """The part of a counter that belongs to an array; 0 where nothing accesses it."""
    counts = here.whole.counters.by_array
    _must_have(here, array)
    return _count(counts[array], counter) if array in counts else 0


@_word
def per_request(here: Situation, array: str, way: str = "ld") -> float:
    """Sectors that a request to an array moves on average; way is "ld", "st", "atom" or "red".

    Without a request there is no answer, and no goal is met.
    """
    requests = of_array(here, array, f"global_{way}_requests")
    if not requests:
        raise LessonError(f"The kernel makes no such request to {array}.")
    return of_array(here, array, f"global_{way}_sectors") / requests


@_word
def findings(here: Situation, kind: str = "") -> int:
    """How many findings of a kind ("race", "out_of_bounds" …) there are, of any if left out."""
    return len(_found(here, kind))


@_word
def finding_lines(here: Situation, kind: str = "") -> list[Value]:
    """The source lines of the findings of a kind, ascending."""
    return list[Value](sorted({f.line for f in _found(here, kind)}))


@_word
def faults(here: Situation, kind: str = "") -> int:
    """How many accesses the findings of a kind are about, all together."""
    return sum(f.count for f in _found(here, kind))


def _found(here: Situation, kind: str) -> list[Finding]:
    if kind and kind not in KINDS:
        raise LessonError(f"There is no finding {kind}: there are {', '.join(KINDS)}.")
    return [f for f in here.whole.findings if not kind or f.kind == kind]


@_word
def right(here: Situation) -> bool:
    """Whether every output is what it should be, compared in float64."""
    return all(one.ok for one in _checks(here))


@_word
def error(here: Situation) -> float:
    """The largest error of the outputs, as an absolute number."""
    worst = [one.max_error for one in _checks(here)]
    if None in worst:
        raise LessonError("An element of an output was never stored, or is not a number.")
    return max(e for e in worst if e is not None)


def _checks(here: Situation) -> Sequence[Check]:
    workload = here.whole.workload
    if here.expected is not None:
        workload = here.expected(workload)
    found = check(workload, here.whole.outputs)
    if not found:
        raise LessonError("Nobody says what the outputs should be: give the step `expected`.")
    return found


@_word
def output(here: Situation, element: Element) -> float:
    """What an element of an output holds at the end."""
    data = here.whole.outputs.get(element.array)
    if data is None:
        raise LessonError(f"The launch has no array {element.array}.")
    _must_be_inside(element, data.shape)
    return _plain(data[element.index])


@_word
def shared_bytes(here: Situation) -> int:
    """Shared memory of a block, bytes, as the kernel declares it."""
    return sum(array.nbytes for array in here.trace.shared_arrays)


@_word
def flops(here: Situation) -> int:
    """Floating-point operations of the launch, a multiply-add counted as two."""
    return here.counts.flops


@_word
def loads(here: Situation) -> int:
    """Elements that the launch's threads load from global memory, at any size."""
    return here.counts.transfers


@_word
def per_load(here: Situation) -> float:
    """Operations for each element loaded from global memory."""
    return _share(here.counts.flops, here.counts.transfers)


@_word
def per_load_at_best(here: Situation) -> float:
    """The same if each element of the arrays were loaded once."""
    return _share(here.counts.flops, here.counts.least_transfers)


@_word
def intensity(here: Situation) -> float:
    """Arithmetic intensity: operations for each byte that the source's loads ask for, FLOP/B."""
    return here.counts.intensity or 0.0


@_word
def served(here: Situation) -> float:
    """What caches can serve of the bytes asked for, in per cent."""
    return 100 * here.counts.served


def _share(a: int, b: int) -> float:
    return a / b if b else 0.0


# -- devices -----------------------------------------------------------------------------------

_begin("Devices")


def _ceilings(here: Situation, device: str) -> Ceilings:
    return all_ceilings(here.counts, load_devices().find(device))


@_word
def ceiling(here: Situation, device: str, name: str = "") -> float:
    """A ceiling of the launch on a device, GFLOPS: "textbook", "dram" …; else that which binds."""
    found = _ceilings(here, device)
    one = found.ceilings.get(name or found.binding)
    if one is None:
        raise LessonError(f"{device} has no ceiling {name}: there are {', '.join(found.ceilings)}.")
    return one.gflops


@_word
def binding(here: Situation, device: str) -> str:
    """The name of the ceiling that binds on a device: "textbook", "dram", "data_stage" …"""
    return _ceilings(here, device).binding


@_word
def binding_title(here: Situation, device: str) -> str:
    """What the ceiling that binds is called in the window."""
    return NAMES[_ceilings(here, device).binding]


@_word
def bandwidth(here: Situation, device: str) -> float:
    """DRAM bandwidth of a device, GB/s."""
    return load_devices().find(device).bandwidth_gbs


@_word
def peak(here: Situation, device: str) -> float:
    """FP32 peak of a device, GFLOPS."""
    return load_devices().find(device).peak_gflops


def _sm(sm: str, threads: int, registers: int, shared: int) -> Occupancy:
    return occupancy(find_capability(sm)[0], Resources(threads, registers, shared))


@_word
def sm_blocks(here: Situation, sm: str, threads: int, registers: int = 0, shared: int = 0) -> int:
    """Blocks that an SM of a device holds, of so many threads, registers a thread, shared bytes."""
    return _sm(sm, threads, registers, shared).blocks


@_word
def sm_threads(here: Situation, sm: str, threads: int, registers: int = 0, shared: int = 0) -> int:
    """Threads that the SM holds then."""
    return _sm(sm, threads, registers, shared).threads


@_word
def sm_occupancy(
    here: Situation, sm: str, threads: int, registers: int = 0, shared: int = 0
) -> float:
    """Occupancy then, in per cent of the SM's warps."""
    return 100 * _sm(sm, threads, registers, shared).occupancy


@_word
def sm_registers(
    here: Situation, sm: str, threads: int, registers: int = 0, shared: int = 0
) -> int:
    """Registers that a block is given then."""
    return _sm(sm, threads, registers, shared).registers_per_block


@_word
def sm_limit(here: Situation, sm: str, threads: int, registers: int = 0, shared: int = 0) -> str:
    """What limits the number of blocks then: "threads of an SM", "registers" …"""
    return _limits(_sm(sm, threads, registers, shared))


def _limits(found: Occupancy) -> str:
    return " and ".join(LIMITS[name] for name in found.limited_by)


@_word
def sm_most(here: Situation, sm: str, what: str) -> int:
    """What an SM has at most: "threads", "threads_per_block", "blocks", "registers", "shared"."""
    row = find_capability(sm)[0]
    most = {
        "threads": row.threads,
        "threads_per_block": row.threads_per_block,
        "blocks": row.blocks,
        "registers": row.registers,
        "shared": row.shared_kib * 1024,
    }
    if what not in most:
        raise LessonError(f"sm_most: what is one of {', '.join(most)}.")
    return most[what]


@_word
def measured(here: Situation, device: str = "H200") -> float:
    """The recorded rate of this launch on a GPU, GFLOPS, at these parameters exactly."""
    wanted = load_devices().find(device)
    for one in load_recorded():
        same = one.rung == here.link.rung and dict(one.parameters) == dict(here.link.parameters)
        if same and one.gflops is not None and _is_device(one.device.name, wanted.names):
            return float(one.gflops)
    raise LessonError(f"No rate of {here.link} was recorded on {device}.")


def _is_device(reported: str, names: tuple[str, ...]) -> bool:
    try:
        return load_devices().find(reported).name in names
    except TilescopeError:
        return False


@_word
def registers(here: Situation, device: str) -> int:
    """Registers that a thread of the optimised kernel takes on a device."""
    return _compiled(here, device).resources.registers


@_word
def blocks_on(here: Situation, device: str) -> int:
    """Blocks of the optimised kernel that an SM of a device holds."""
    return _compiled(here, device).blocks


@_word
def occupancy_on(here: Situation, device: str) -> float:
    """Occupancy of the optimised kernel on a device, in per cent."""
    return 100 * _compiled(here, device).occupancy


@_word
def limit_on(here: Situation, device: str) -> str:
    """What limits the blocks of the optimised kernel on a device: "threads of an SM" …"""
    return _limits(_compiled(here, device))


def _compiled(here: Situation, device: str) -> Occupancy:
    capability = find_capability(device)[0]
    return occupancy(capability, here.recorder.needs(here.link, here.source, capability.name))


@_word
def most(here: Situation, parameter: str) -> int:
    """The largest value that a parameter of the launch's kernel may have."""
    for one in here.recorder.ladder[here.link.rung].parameters:
        if one.name == parameter:
            return one.maximum
    raise LessonError(f"{here.link.rung} has no parameter {parameter}.")
