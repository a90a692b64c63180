"""A host program run up to the launch of a kernel: the sizes, dim3s and arrays that it has then.

The functions on the way to the launch run from their front, the outermost first. Of several
launches of a kernel the first counts that the program comes to.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from core.host_program.interpreter import (
    LONGEST,
    SIZES,
    HostCode,
    Statement,
    is_whole_number,
)
from core.host_program.variables_and_memory import (
    AXES,
    NOTHING,
    EnoughError,
    Frame,
    MadeMap,
    Pointer,
    Run,
    Struct,
    led_to,
)
from core.source.c_numbers import Number, Reader
from core.source.cuda_parser import expression, text_in, text_of, within
from core.source.functions_and_calls import Step, arguments_of, declared, host_syntax
from core.source.kernels_and_launches import (
    HostLaunch,
    host_launches,
    kernel_called,
    kernels,
    launches_by_kernel,
    split_instance,
    unscoped,
)
from core.source.preprocessor import plain_text, split_at_commas, taken
from core.source.template_instances import instance_of, launches_of

if TYPE_CHECKING:
    from tree_sitter import Node


_MOST_POINTERS = 8  # that lead to pointers


def first_launch(source: str, kernel: str) -> HostLaunch | None:
    """The first launch of a kernel, or of an instance, in a source's text; None for none.

    One that the program does not come to counts where there is no other.
    """
    given, declared = split_instance(kernel)[1], kernel_called(source, kernel)
    if declared is not None:
        found = launches_of(source, declared)
    else:
        found = launches_by_kernel(source).get(unscoped(kernel), ())
    exact = [x for x in found if x.template and x.template == given]
    if declared is not None and given and not exact:
        exact = [x for x in found if instance_of(source, declared, x) == kernel]
    own = exact or found
    reached = (x for x in own if len(own) == 1 or is_reached(source, x))
    first = next(reached, next(iter(own), None))
    return first or _through_a_pointer(source, unscoped(kernel))


@lru_cache(maxsize=64)
def is_reached(source: str, launch: HostLaunch) -> bool:
    """Whether a source's program comes to a launch, as far as its own numbers say.

    Of `case 512:` and `case 128:` the one whose number callers pass.
    """
    return HostProgram(source, {}, {}, launch).is_reached


def _through_a_pointer(source: str, kernel: str) -> HostLaunch | None:
    """A launch by a variable, of as many arguments, in a source that assigns the kernel's name."""
    there = {k.name: k for k in kernels(source)}
    assigned = rf"[=,{{(?:]\s*&?\s*{re.escape(kernel)}\s*(?:<([^;<>]*)>\s*)?[;,:}})]"
    where = re.search(assigned, plain_text(source))
    if kernel not in there or where is None:
        return None
    count = len(there[kernel].parameters)
    others = [x for x in host_launches(source) if x.name not in there and len(x.arguments) == count]
    behind = [x for x in others if x.position > where.start()]
    found = next(iter([*behind, *others]), None)
    template = tuple(split_at_commas(where[1] or ""))
    return replace(found, template=template) if found is not None else None


class HostProgram:
    """The text of a file for nvcc, ready to evaluate what leads to one of its launches."""

    def __init__(
        self,
        source: str,
        sizes: Mapping[str, int],
        defines: Mapping[str, str],
        launch: HostLaunch,
        *,
        through_callers: bool = True,
        of_classes: Mapping[str, Number] = NOTHING,
    ) -> None:
        """`sizes` are bytes of types by name, beyond the built-in ones.

        `of_classes` are constants as `Traits::kThreads`. Of the macros that are numbers those lead
        to `launch` which its function names. Callers of that function run, too, unless they are to
        be left out.
        """
        text = plain_text(source)
        shown = taken(text, defines)
        position = launch.position
        if shown[position : position + 1] == text[position : position + 1]:
            text = shown
        self.syntax = syntax = host_syntax(text)
        self.text, self.launch = syntax.text, launch
        self._of_classes = of_classes
        self._way = syntax.way_to(position, through_callers=through_callers)
        self._macros = {**syntax.macros, **{n: (None, v) for n, v in defines.items()}}
        said = self.launching_text + text[position : position + LONGEST]
        named = self.with_those_in_macros(re.findall(r"[A-Za-z_]\w*", said)) - defines.keys()
        self._numeric = {
            name: self._macros.pop(name)[1]
            for name in sorted(named & self._macros.keys())
            if self._is_whole(name)
        }
        self.code = HostCode(syntax, self._macros, {**SIZES, **sizes}, of_classes, defines.keys())
        self._compiled: dict[int, Sequence[Statement]] = {}

    @property
    def has_callers(self) -> bool:
        """Whether the launching function is called, and what calls it counts."""
        return len(self._way) > 1

    @property
    def launching_text(self) -> str:
        """The launching function up to the launch."""
        start = self._way[-1].function.body.start_byte if self._way else 0
        return self.text[start : self.launch.position]

    @property
    def macros(self) -> Mapping[str, str]:
        """What macros without parameters stand for."""
        return {name: body for name, (formals, body) in self._macros.items() if formals is None}

    def with_those_in_macros(self, names: Collection[str]) -> frozenset[str]:
        """Names, and those in what the macros among them stand for."""
        found = set(names)
        waiting = [name for name in names if name in self._macros]
        while waiting:
            more = set(re.findall(r"[A-Za-z_]\w*", self._macros[waiting.pop()][1])) - found
            found |= more
            waiting += [name for name in more if name in self._macros]
        return frozenset(found)

    def _is_whole(self, name: str) -> bool:
        """Whether a macro is a whole number that may be a size, of literals alone."""
        formals, meaning = self._macros[name]
        if formals is not None or not re.match(r"[\d(]", meaning):
            return False
        if re.search(r"[A-Za-z_]\w*\s*\(|[;{}\"=]", meaning) or not meaning.isascii():
            return False
        node = expression(meaning)
        value = Reader(lambda _: None, lenient=True).read(node)({}) if node is not None else None
        return isinstance(value, int) and value > 1

    @cached_property
    def constants(self) -> Mapping[str, str]:
        """The constants at namespace level, which kernels see as the host does: their texts."""
        found = dict(self._numeric)
        start = self._way[-1].function.node.start_byte if self._way else len(self.text)
        for node in self.syntax.outside():
            for one in declared(node) if node.start_byte < start else ():
                if re.search(r"\bconst(?:expr)?\b", one.type) and one.value is not None:
                    found.setdefault(one.name, text_of(one.value))
        return found

    @property
    def is_reached(self) -> bool:
        """Whether no condition around the launch is otherwise by what the program passes."""
        asked = dict(self._asked())
        values = self.before({}) if asked else None
        return values is None or all(
            name in values.formals or values.value(name) in (None, wanted)
            for name, wanted in asked.items()
        )

    def conditions(self) -> Iterator[tuple[str, int]]:
        """What variables are where the launch is made: `if (n == 16)`, `case 16:`, `if (a)`.

        Of a variable that is tested for not being 0 only where it would be 0.
        """
        return ((name, wanted) for name, wanted in self._asked() if name.isidentifier())

    def _asked(self) -> Iterator[tuple[str, int]]:
        """What variables and members of objects (`config.block`) are where the launch is made."""
        if not self._way:
            return
        at, body = self.launch.position, self._way[-1].function.body
        node = body.descendant_for_byte_range(at, at)
        while node is not None and node != body and node.parent is not None:
            around = node.parent
            if around.type == "if_statement":
                yield from self._of_if(
                    around, is_so=around.child_by_field_name("consequence") == node
                )
            if node.type == "case_statement" and around.parent is not None:
                yield from _of_case(node, around.parent)
            node = around

    def _of_if(self, node: Node, *, is_so: bool) -> Iterator[tuple[str, int]]:
        """What a variable is that an `if` asks for, in the branch for true or in the other."""
        asked = re.fullmatch(
            r"\(\s*(!?)\s*([\w.]+)\s*(?:==\s*(\d{1,9}))?\s*\)", text_in(node, "condition")
        )
        if asked is None or (asked[3] and (asked[1] or not is_so)):
            return
        if asked[3]:
            yield asked[2], int(asked[3])
        elif is_so == bool(asked[1]):
            yield asked[2], 0
        elif self.before({}).value(asked[2]) == 0:
            yield asked[2], 1

    def made_of(self, name: str) -> tuple[str, ...]:
        """The texts of x, y and z of `dim3(…)`, or of a variable that holds one; () for none."""
        node = expression(name) if name.isascii() else None
        if node is not None and node.type == "identifier":
            node = None
            for step in self._way:
                body = step.function.body
                for found in _settings(body, step.stop):
                    if found[0] == name:
                        node = found[1]
        is_made = node is not None and (
            node.type in ("argument_list", "initializer_list")
            or (node.type.startswith(("call", "compound")) and text_of(node).startswith("dim3"))
        )
        if node is None or not is_made:
            return ()
        given = node.child_by_field_name("value") or node
        return tuple(text_of(child) for child in arguments_of(given))

    def before(
        self, given: Mapping[str, Number], fixed: Mapping[str, Number] = NOTHING
    ) -> HostValues:
        """The values when the launch is reached.

        `given` replaces what variables are first set to, `fixed` whatever those of the launching
        function are set to.
        """
        fixed = {**self._of_classes, **fixed}
        run = Run(given, fixed | self._fixed_in_callers(fixed), dict(fixed))
        frame = world = Frame(run)
        for at, step in enumerate(self._way):
            caller, prefix = frame, "" if step is self._way[-1] else f"{step.function.name}::"
            frame = Frame(run, prefix, world)
            run.steps = 0
            try:
                world.waiting = self._outside
                self._enter(at, caller, frame)
                for statement in self._leading(step):
                    statement(frame)
            except (EnoughError, RecursionError):
                continue  # what is known until then counts
        return HostValues(self, frame)

    @cached_property
    def _outside(self) -> Mapping[str, Statement]:
        """What declares the variables at namespace level, and macros that are numbers."""
        found: dict[str, Statement] = {}
        for node in self.syntax.outside():
            for one in declared(node):
                found.setdefault(one.name, self.code.outside(one))
        made = {name: self.code.numeric(name, text) for name, text in self._numeric.items()}
        return found | made

    def _leading(self, step: Step) -> Sequence[Statement]:
        if step.stop not in self._compiled:
            self._compiled[step.stop] = self.code.up_to(step.function.body, step.stop)
        return self._compiled[step.stop]

    def _fixed_in_callers(self, fixed: Mapping[str, Number]) -> dict[str, Number]:
        """What callers' variables must be that are passed for such that are fixed."""
        found: dict[str, Number] = {}
        inner: Mapping[str, Number] = fixed
        for above, step in reversed([*zip(self._way, self._way[1:], strict=False)]):
            there: dict[str, Number] = {}
            given = arguments_of(above.call) if above.call is not None else []
            for formal, node in zip(step.function.formals, given, strict=False):
                if formal.name in inner and node.type == "identifier":
                    there[text_of(node)] = inner[formal.name]
            found |= {f"{above.function.name}::{name}": value for name, value in there.items()}
            inner = there
        return found

    def _enter(self, at: int, caller: Frame, made: Frame) -> None:
        """Sets what a function on the way gets from the one before it, or from nobody."""
        function = self._way[at].function
        call = self._way[at - 1].call if at else None
        if function.owner:
            made.this = self.code.object_of(call, caller) if call is not None else None
            made.this = made.this or self.code.any_object(function, made)
        if call is not None:
            self.code.bind(function, call, caller, made, literals=True)
        for parameter in function.template:
            if parameter.name in made.run.fixed:
                made.declare(parameter.name)
        open_ones = []
        for formal in (one for one in function.formals if one.name):
            cell = made.declare(formal.name)
            if call is not None and formal.is_reference and cell.value is not None:
                continue  # the caller's own
            cell.type, cell.stars = formal.type, formal.stars + bool(formal.extents)
            if call is None and cell.value is None:
                self.code.put_default(formal, cell, made)
            if cell.value is None and is_whole_number(formal) and formal.name != "argc":
                open_ones.append(cell)
        made.run.put_unknown(open_ones)


class HostValues:
    """What a program has computed when a launch is reached.

    `numbers` are those by name: `n`, `grid.x`, of a caller `main::n`. `roots` are the first values
    of those that are set to literals, `formals` the names of those that nobody says. `symbols` are
    the numbers that `cudaMemcpyToSymbol` copies to variables of the device.
    """

    def __init__(self, program: HostProgram, frame: Frame) -> None:
        self.numbers: Mapping[str, Number] = frame.run.numbers
        self.roots: Mapping[str, Number] = frame.run.roots
        self.formals: set[str] = frame.run.formals
        self.symbols: Mapping[str, Number] = frame.run.symbols
        self._program, self._frame = program, frame
        self._found: dict[str, Any] = {}

    def value(self, text: str) -> Number | None:
        """The value of an expression of the launching function, None where it cannot be told."""
        found = self._evaluated(text)
        is_one = isinstance(found, int | float) and abs(found) < 1 << 62
        return found if is_one else None

    def size3(self, text: str) -> tuple[int, int, int] | None:
        """A grid or block: a number, the name of a dim3, or `dim3(…)`."""
        found = self._evaluated(text)
        parts = [found]
        if isinstance(found, Struct):
            cells = (
                found.members.get(axis) or found.members.get(at) for at, axis in enumerate(AXES)
            )
            parts = [cell.value if cell is not None else 1 for cell in cells]
        if not all(isinstance(part, int | float) and part >= 1 for part in parts):
            return None
        x, y, z = [*(int(part) for part in parts), 1, 1][:3]
        return x, y, z

    def pointer(self, text: str) -> tuple[int, int] | None:
        """The bytes of the array that a pointer leads into, and the element that it leads to."""
        found = self._evaluated(text)
        return (found.block.nbytes, found.start) if isinstance(found, Pointer) else None

    def only_set(self, text: str) -> tuple[int, int] | None:
        """How many bytes of an array the host sets to one value, and that; None for several."""
        found = self._evaluated(text)
        if not isinstance(found, Pointer) or found.block.is_filled or found.block.n_set is None:
            return None
        return found.block.n_set, found.block.set_to

    def tensor_map(self, text: str) -> str:
        """The tensor map that an argument is, or leads to, as it is typed; "" for none."""
        found = self._evaluated(text)
        for _ in range(_MOST_POINTERS):
            if (cell := led_to(found)) is None:
                break
            found = cell.value
            if isinstance(found, Struct) and 0 in found.members:
                found = found.members[0].value
        return found.text if isinstance(found, MadeMap) else ""

    def _evaluated(self, text: str) -> Any:
        if text not in self._found:
            self._frame.run.steps = 0
            try:
                self._found[text] = self._program.code.evaluated(text)(self._frame)
            except (EnoughError, RecursionError):
                self._found[text] = None
        return self._found[text]


def _settings(body: Node, stop: int) -> Iterator[tuple[str, Node]]:
    """The declarations and assignments of plain variables in a body, up to a place."""
    for node in within(body):
        if node.start_byte >= stop:
            return
        if node.type == "declaration":
            for one in declared(node):
                if one.value is not None:
                    yield one.name, one.value
        elif node.type == "assignment_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is not None and right is not None:
                yield text_of(left), right


def _of_case(case: Node, switch: Node) -> Iterator[tuple[str, int]]:
    """What the variable of a `switch (n / 2)` is in a case."""
    value = text_in(case, "value")
    asked = re.fullmatch(
        r"\(\s*([\w.]+)\s*(?:([/*])\s*(\d{1,4})\s*)?\)", text_in(switch, "condition")
    )
    if asked and re.fullmatch(r"\d{1,9}", value):
        by = max(int(asked[3] or 1), 1)
        yield asked[1], int(value) // by if asked[2] == "*" else int(value) * by
