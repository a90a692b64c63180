"""A host program made ready to run: what its statements do, and what its expressions are worth.

It interprets the part of C++ that computes sizes and pointers, over the parser's tree. The body of
a loop runs once. Where a condition is unknown, both branches run. A variable keeps its value where
the new one is unknown. Functions of the program run when they are called, and the calls of CUDA's
runtime that allocate and set memory have their effect. No code of the user's is compiled for the
host or executed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from core.compiler.kernel_parameters import without_spaces
from core.host_program.tensor_map_calls import ENUMERATORS, encoded
from core.host_program.variables_and_memory import (
    POINTS_ON,
    SIZE,
    TENSOR_EXTENT,
    Address,
    Cell,
    EnoughError,
    Frame,
    Lambda,
    MadeMap,
    Pointer,
    Run,
    Struct,
    allocate,
    allocated,
    as_triple,
    copy_bytes,
    copy_to_symbol,
    count_up,
    element_of,
    fill,
    fill_with,
    led_to,
    member_of,
    moved,
    numbers_at,
    of_container,
    own_name,
    put_through,
    set_bytes,
    triple,
    vector_of,
    world_of,
)
from core.launch import MAX_STATIC_SHARED, MAX_THREADS_PER_BLOCK, WARP
from core.source.c_numbers import (
    NUMBERS,
    VECTOR_BASES,
    Evaluate,
    Number,
    Reader,
    applied,
    bytes_of,
    is_number_type,
    nothing,
    plain_name,
    split_template,
)
from core.source.cuda_parser import CLASSES, expression, field_of, parse, text_in, text_of
from core.source.functions_and_calls import (
    Declared,
    Function,
    HostSyntax,
    arguments_of,
    called_name,
    declared,
    formals_of,
    named_by,
    nearest,
)
from core.source.preprocessor import split_at_commas, with_meaning

if TYPE_CHECKING:
    from tree_sitter import Node

_NO_WHOLE = re.compile(r"\b(?:float|double|bool|char|half|void|cuda\w*|real\w*)\b")
_NO_SIZE = re.compile(r"\b(?:auto|float|double|bool|dim3)\b")
_WHOLE = re.compile(r"(?:(?:const|unsigned|signed|long|short|static|std::)\s*)*[a-z_]\w*")
_COMMAND_LINE = re.compile(r"ato[il]l?|sto[iul]l*|strto\w+")
_ROUNDS_UP = re.compile(
    r"i?_?div_?(round)?_?up|c(eil)?_?div|div_?(and_?)?ceil|updiv", re.IGNORECASE
)
_ALLOCATOR = re.compile(r"\w*(?:malloc|calloc)|alloc\w*|\w*_alloc\w*", re.IGNORECASE)
_DEVICE_ALLOCATORS = {
    "cudaMalloc",
    "cudaMallocManaged",
    "cudaMallocHost",
    "cudaMallocAsync",
    "cudaHostAlloc",
}
_SETS_UP = re.compile(r"init|set|resize|alloc|create|config|reset", re.IGNORECASE)
_OF_TENSOR = re.compile(r"\w+\.(?:size\(-?\d\)|(?:sizes\(\)|shape)\[\d\]|numel\(\))")
_CASTS = {"reinterpret_cast", "const_cast", "dynamic_cast", "bit_cast"}
_VECTOR = re.compile(r"\w*(?:vector|Vector)")
_MAKES_OBJECT = {"make_unique", "make_shared"}
_MAKES = re.compile(r"make_[a-z]+([1-4])")
LEAST = 32  # a smaller number is no size to halve
LONGEST = 2000  # characters of an expression
_PITCH_OF_ROWS = 64  # bytes
_ELEMENT = 4  # bytes of what nothing is known of
_MOST_EXPANSIONS = 2_500  # of macros in a program
_DEEPEST = 8  # macros in macros, pointers to pointers
_DEEPEST_CALL = 2
_DEVICE: Mapping[str, Number] = {  # of cudaDeviceProp: a small one, so that a launch is to look at
    "maxThreadsPerMultiProcessor": 2048,
    "multiProcessorCount": 4,
    "maxThreadsPerBlock": MAX_THREADS_PER_BLOCK,
    "sharedMemPerBlock": MAX_STATIC_SHARED,
    "warpSize": WARP,
}
_ATTRIBUTES = {
    "cudaDevAttrMaxThreadsPerMultiProcessor": _DEVICE["maxThreadsPerMultiProcessor"],
    "cudaDevAttrMultiProcessorCount": _DEVICE["multiProcessorCount"],
    "cudaDevAttrMaxThreadsPerBlock": _DEVICE["maxThreadsPerBlock"],
    "cudaDevAttrMaxSharedMemoryPerBlock": _DEVICE["sharedMemPerBlock"],
    "cudaDevAttrMaxSharedMemoryPerMultiprocessor": _DEVICE["sharedMemPerBlock"],
    "cudaDevAttrMaxSharedMemoryPerBlockOptin": _DEVICE["sharedMemPerBlock"],
    "cudaDevAttrWarpSize": _DEVICE["warpSize"],
}
_CONSTANTS: Mapping[str, Number] = {"cudaSuccess": 0, "CUDA_SUCCESS": 0, **ENUMERATORS}
_STRUCTURES = {
    4: ("cuuint32_t", "half2", "__half2"),
    8: ("unsigned long long int", "cuuint64_t", "cuComplex", "cufftComplex"),
    16: ("cuDoubleComplex",),
    48: ("curandState", "curandState_t", "curandStateXORWOW_t"),
    64: ("curandStatePhilox4_32_10_t",),
    128: ("CUtensorMap",),
}
_VECTORS = [f"{base}{lanes}" for base in VECTOR_BASES for lanes in (1, 2, 3, 4)]
SIZES: Mapping[str, int] = {
    **{name: bytes_of(name) or 0 for name in (*NUMBERS, *_VECTORS)},
    **dict.fromkeys(("__nv_bfloat16", "nv_bfloat16"), 2),
    **{name: nbytes for nbytes, names in _STRUCTURES.items() for name in names},
}

Statement = Callable[["Frame"], None]
Place = Callable[["Frame"], "Cell | None"]
_Binding = Callable[["Frame", "Frame", bool], None]


def is_whole_number(formal: Declared) -> bool:
    """Whether a function gets a whole number there."""
    is_plain = not formal.stars and not formal.extents
    kind = re.sub(r"\bstd\s*::\s*", "", formal.type)
    is_number = not formal.is_reference or "const" in kind.split() or kind in SIZES
    return is_plain and is_number and bool(_WHOLE.fullmatch(kind)) and not _NO_WHOLE.search(kind)


def _may_wait(one: Declared) -> bool:
    """Whether a variable is a size that the program learns when it runs, where it is 0 at first."""
    is_whole = is_number_type(one.type) and not _NO_SIZE.search(one.type)
    is_plain = not one.stars and not one.extents and "const" not in one.type
    return is_whole and is_plain and SIZE.fullmatch(one.name) is not None


class HostCode:
    """Statements and expressions made ready to run, each once."""

    def __init__(
        self,
        syntax: HostSyntax,
        macros: Mapping[str, tuple[tuple[str, ...] | None, str]],
        sizes: Mapping[str, int],
        of_classes: Mapping[str, Number],
        given_names: Collection[str],
    ) -> None:
        """`macros` are (parameters, meaning) by name, `sizes` bytes of types.

        `of_classes` are constants as `Traits::kThreads`, `given_names` the macros that are given.
        """
        self._syntax, self._macros = syntax, macros
        self._sizes, self._of_classes, self.given_names = sizes, of_classes, given_names
        self._reader = Reader(self._value, lenient=True)
        self._bodies: dict[int, tuple[Function, Statement]] = {}
        self._bound: dict[tuple[int, int], tuple[Node, list[_Binding]]] = {}
        self._evaluated: dict[str, Evaluate] = {}
        self._read_macros: dict[str, Evaluate] = {}
        self._open_macros: set[str] = set()  # that are being read
        self._depth = 0  # of macros that are being expanded
        self._expanded = 0  # macros that were

    def evaluated(self, text: str) -> Evaluate:
        """What gives the value of an expression from a frame."""
        if text not in self._evaluated:
            is_short = len(text) <= LONGEST and text.isascii()
            self._evaluated[text] = self.value(expression(text) if is_short else None)
        return self._evaluated[text]

    # Statements.

    def numeric(self, name: str, text: str) -> Statement:
        """A macro that is a number as a variable."""
        value = self.value(expression(text))

        def declares(frame: Frame) -> None:
            frame.run.put_literal(frame.declare(name), value(frame))

        return declares

    def outside(self, one: Declared) -> Statement:
        """A variable at namespace level; a size that is 0 waits until the program knows it."""
        made: list[Statement] = []

        def declares(frame: Frame) -> None:
            if not made:
                made.append(self._declares(one))
            cell = frame.declare(one.name)
            made[0](frame)
            if cell.value == 0 and _may_wait(one):
                frame.run.put_unknown([cell])

        return declares

    def up_to(self, node: Node, stop: int) -> list[Statement]:
        """The statements within a node up to a place, of branches those that hold it."""
        made = [self._first_of(node)] if node.type == "for_range_loop" else []
        update = node.child_by_field_name("update")
        for child in node.children:
            if child.start_byte >= stop:
                break
            if child == update:
                continue
            if stop >= child.end_byte:
                if not (node.type == "if_statement" and child.type != "condition_clause"):
                    made.append(self.statement(child))
                continue
            if child.type == "lambda_expression":
                made.append(self._open_formals(child))
            if node.type == "switch_statement" and child.type == "compound_statement":
                return [*made, *self._of_case(child, stop)]
            return [*made, *self.up_to(child, stop)]
        return made

    def _of_case(self, body: Node, stop: int) -> list[Statement]:
        """What runs of a switch up to a place in one of its cases."""
        made: list[Statement] = []
        for child in body.children:
            if child.start_byte <= stop < child.end_byte:
                return [*made, *self.up_to(child, stop)]
            if child.type != "case_statement" and child.start_byte < stop:
                made.append(self.statement(child))
        return made

    def _open_formals(self, node: Node) -> Statement:
        """The whole numbers that a lambda is given by nobody."""
        listed = formals_of(field_of(node, "declarator"))
        formals = [one for one in listed if is_whole_number(one) and one.name]

        def opens(frame: Frame) -> None:
            cells = [frame.declare(formal.name) for formal in formals]
            frame.run.put_unknown([cell for cell in cells if cell.value is None])

        return opens

    def statement(self, node: Node | None) -> Statement:
        """What a statement does."""
        if node is None:
            return nothing
        kind = node.type
        if kind == "declaration":
            return self._declaration(node)
        if kind == "if_statement":
            return self._if(node)
        if kind == "switch_statement":
            return self._switch(node)
        if kind in ("for_statement", "while_statement", "do_statement", "for_range_loop"):
            return self._loop(node)
        if kind == "return_statement":
            return self._return(node)
        if kind in ("alias_declaration", "type_definition"):
            name = text_in(node, "name") or text_in(node, "declarator")
            meaning = text_in(node, "type")

            def means(frame: Frame) -> None:
                frame.types[name] = meaning

            return means
        if kind in ("function_definition", "template_declaration", "comment", *CLASSES):
            return nothing
        if kind == "expression_statement" and (rows := list(_pointers_to_arrays(node))):
            return self._block([self._declares(one) for one in rows])
        if kind.endswith("expression") or kind == "condition_clause":
            return self._evaluates(node.child_by_field_name("value") or node)
        if kind in ("compound_statement", "expression_statement") or node.named_child_count:
            return self._block([self.statement(child) for child in node.named_children])
        return nothing

    def _evaluates(self, node: Node) -> Statement:
        value = self.value(node)

        def runs(frame: Frame) -> None:
            value(frame)

        return runs if value is not nothing else nothing

    def _statements_of(self, case: Node) -> list[Statement]:
        value = case.child_by_field_name("value")
        return [self.statement(child) for child in case.named_children if child != value]

    @staticmethod
    def _block(statements: Sequence[Statement]) -> Statement:
        statements = [one for one in statements if one is not nothing]
        if not statements:
            return nothing
        if len(statements) == 1:
            return statements[0]

        def runs(frame: Frame) -> None:
            frame.run.count(len(statements))
            for one in statements:
                one(frame)
                if frame.is_done:
                    return

        return runs

    def _in_doubt(self, statements: Sequence[Statement]) -> Statement:
        """Statements that may not run."""
        inner = self._block(statements)

        def runs(frame: Frame) -> None:
            frame.doubts += 1
            inner(frame)
            frame.doubts -= 1

        return runs

    def _if(self, node: Node) -> Statement:
        first, second = field_of(node, "consequence"), field_of(node, "alternative")
        inside = field_of(field_of(node, "condition"), "value")
        if inside is not None and inside.type == "declaration":
            made: Statement = self._declaration(inside)
            test: Evaluate = nothing
        else:
            made, test = nothing, self.value(inside)
        then, otherwise = self.statement(first), self.statement(second)
        unclear = self._in_doubt([then, otherwise])
        is_one = second is None and first is not None and _sets_one(first)

        def chooses(frame: Frame) -> None:
            made(frame)
            known = test(frame)
            if isinstance(known, int | float):
                (then if known else otherwise)(frame)
            elif not is_one or frame.find(is_one) is None:
                unclear(frame)  # but `if (large) n = 64;` leaves what is known

        return chooses

    def _switch(self, node: Node) -> Statement:
        body = field_of(node, "body")
        test = self.value(field_of(field_of(node, "condition"), "value"))
        cases = [c for c in (body.named_children if body else ()) if c.type == "case_statement"]
        values = [c.child_by_field_name("value") for c in cases]
        asked = [self.value(value) if value is not None else None for value in values]
        parts = [self._block(self._statements_of(case)) for case in cases]
        ends = [any(c.type == "break_statement" for c in case.named_children) for case in cases]
        unclear = self._in_doubt(parts)

        def chooses(frame: Frame) -> None:
            known = test(frame)
            if not isinstance(known, int | float):
                return unclear(frame)
            found = [v is not None and v(frame) == known for v in asked]
            start = found.index(True) if True in found else -1
            if start < 0 and None in asked:
                start = asked.index(None)
            for part, is_last in [*zip(parts, ends, strict=True)][start:] if start >= 0 else ():
                part(frame)
                if is_last or frame.is_done:
                    return None
            return None

        return chooses

    def _loop(self, node: Node) -> Statement:
        first = node.child_by_field_name("initializer")
        body, condition = node.child_by_field_name("body"), node.child_by_field_name("condition")
        is_range = first is None and node.type == "for_range_loop"
        begins = self._first_of(node) if is_range else self.statement(first)
        test, inner = self.statement(condition), self._in_doubt([self.statement(body)])

        def loops(frame: Frame) -> None:
            begins(frame)
            test(frame)
            inner(frame)

        return loops

    def _first_of(self, node: Node) -> Statement:
        """`for (int n : sizes)` with the first of them."""
        made = list(declared(node))
        right = self.value(node.child_by_field_name("right"))

        def begins(frame: Frame) -> None:
            of = right(frame)
            if made and made[0].is_reference and "const" not in made[0].type.split():
                fill(of)
            first = of.members.get(0) if isinstance(of, Struct) else None
            if made and first is not None:
                cell = frame.declare(made[0].name)
                is_literal = first.is_literal and not frame.depth
                (frame.run.put_literal if is_literal else frame.run.put)(cell, first.value)

        return begins

    def _return(self, node: Node) -> Statement:
        value = self.value(node.named_children[0] if node.named_child_count else None)

        def returns(frame: Frame) -> None:
            found = value(frame)
            if frame.value is None:
                frame.value = found
            frame.is_done = not frame.doubts and frame.depth > 0

        return returns

    def _declaration(self, node: Node) -> Statement:
        return self._block([self._declares(one) for one in declared(node)])

    def _declares(self, one: Declared) -> Statement:
        extents = [self.value(extent) for extent in one.extents]
        sets = self._sets(one.value, one)
        made = self._made_default(one) if one.value is None and not one.stars else nothing

        def declares(frame: Frame) -> None:
            cell = frame.declare(one.name)
            if cell.type and (cell.type, cell.stars) != (one.type, one.stars):
                del frame.cells[one.name]  # of another block
                cell = frame.declare(one.name)
            cell.type, cell.stars, cell.points_to_array = one.type, one.stars, one.points_to_array
            cell.extents = tuple(extent(frame) for extent in extents)
            if one.is_reference and (there := sets.place(frame)) is not None:
                frame.cells[one.name] = there
                return
            if one.value is None:
                frame.run.put(cell, made(frame), literals=not frame.depth)
            else:
                sets(frame, cell)

        return declares

    def _made_default(self, one: Declared) -> Evaluate:
        if "dim3" in one.type.split():
            return lambda _: triple([1, 1, 1])
        if _base(one.type) in self._syntax.known_classes and not one.extents:
            return self._constructed(one.type, [])
        return nothing

    def _sets(self, node: Node | None, one: Declared | None = None) -> _Setter:
        is_plain = one is not None and not one.stars and not one.extents
        kind = one.type if one is not None and is_plain else ""
        value = self._initial(node, kind) if one is not None else self.value(node)
        return _Setter(self, node, value, kind)

    def _initial(self, node: Node | None, kind: str) -> Evaluate:
        """The value of a variable of a type that is declared with one."""
        if node is None or node.end_byte - node.start_byte > LONGEST:
            return nothing
        if node.type in ("argument_list", "initializer_list"):
            given = arguments_of(node)
            if node.type == "argument_list" or kind not in ("", "auto"):
                return self._constructed(kind, given)
        value = self.value(node)
        if "dim3" in kind.split():
            return lambda frame: as_triple(value(frame))
        return value

    # Values.

    def value(self, node: Node | None) -> Evaluate:
        """What gives the value of an expression."""
        if node is None or node.end_byte - node.start_byte > LONGEST:
            return nothing
        return self._reader.read(node)

    def _value(self, node: Node) -> Evaluate | None:
        make = _VALUES.get(node.type)
        return make(self, node) if make is not None else None

    def place(self, node: Node | None) -> Place:
        """What gives the variable that an expression names."""
        make = _PLACES.get(node.type) if node is not None else None
        return make(self, node) if make is not None and node is not None else nothing

    def _named(self, node: Node) -> Evaluate | None:
        name = text_of(node)
        macro = self._macros.get(name)
        if macro is not None and macro[0] is None:
            return self._of_macro(name, macro[1])
        if name in self._syntax.enumerators:
            return self._enumerator(name)
        constant = _CONSTANTS.get(name, _ATTRIBUTES.get(name))

        def value(frame: Frame) -> Any:
            cell = frame.find(name)
            if cell is not None and cell.value is not None:
                return cell.value
            return frame.run.fixed.get(f"{frame.prefix}{name}", constant)

        return value

    def _of_macro(self, name: str, meaning: str) -> Evaluate:
        """What a macro without parameters is worth; it is read once."""
        if name in self._read_macros:
            return self._read_macros[name]
        if name in self._open_macros or not self._may_expand() or not meaning.isascii():
            return nothing
        self._open_macros.add(name)
        try:
            with self._expanding():
                self._read_macros[name] = _counted(self.value(expression(meaning)))
        finally:
            self._open_macros.discard(name)
        return self._read_macros[name]

    def _may_expand(self) -> bool:
        return self._depth <= _DEEPEST and self._expanded < _MOST_EXPANSIONS

    @contextmanager
    def _expanding(self) -> Iterator[None]:
        self._depth += 1
        self._expanded += 1
        try:
            yield
        finally:
            self._depth -= 1

    def _enumerator(self, name: str) -> Evaluate:
        first, behind = self._syntax.enumerators[name]
        if not self._may_expand():
            return nothing
        with self._expanding():
            begins = self.value(first) if first is not None else lambda _: 0
        return lambda frame: applied("+", begins(frame), behind)

    def _qualified(self, node: Node) -> Evaluate:
        name = plain_name(text_of(node))
        scope, _, last = name.rpartition("::")
        known = self._of_classes.get(name)
        owner = self._syntax.known_classes.get(_base(scope))
        member = owner.members.get(last) if owner is not None else None
        default = self.value(member.value if member is not None else None)
        plain = self._enumerator(last) if last in self._syntax.enumerators else None

        def value(frame: Frame) -> Any:
            if (fixed := frame.run.fixed.get(name, known)) is not None:
                return fixed
            if member is not None:
                return default(frame)
            if plain is not None:
                return plain(frame)
            cell = frame.find(last)
            return cell.value if cell is not None else _CONSTANTS.get(last)

        return value

    def _name_place(self, node: Node) -> Place:
        name = plain_name(text_of(node)).rpartition("::")[2]

        def place(frame: Frame) -> Cell:
            found = frame.find(name)
            if found is None and frame.this is not None:
                member = self._declared_member(frame.this, name)
                if member is not None:
                    found = member_of(frame.this, name)
                    found.type, found.stars = member.type, member.stars
            return found if found is not None else frame.declare(name)

        return place

    def _declared_member(self, this: Cell, name: str) -> Declared | None:
        of = this.value.owner if isinstance(this.value, Struct) else ""
        classes = self._syntax.known_classes
        owners = (classes[c] for c in self._syntax.lineage(of) if c in classes)
        return next((owner.members[name] for owner in owners if name in owner.members), None)

    def _member_place(self, node: Node) -> Place:
        of = self.place(node.child_by_field_name("argument"))
        through = self.value(node.child_by_field_name("argument"))
        name = text_in(node, "field")

        def place(frame: Frame) -> Cell | None:
            cell = of(frame)
            value = cell.value if cell is not None else through(frame)
            inner = led_to(value)
            if inner is None and isinstance(value, Struct) and cell is None:
                inner = Cell("", value)
            inner = inner or cell
            return member_of(inner, name) if inner is not None else None

        return place

    def _member_value(self, node: Node) -> Evaluate:
        place, name = self._member_place(node), text_in(node, "field")

        def value(frame: Frame) -> Any:
            cell = place(frame)
            if cell is not None and cell.value is not None:
                return cell.value
            known = frame.run.fixed.get(cell.key) if cell is not None else None
            return _DEVICE.get(name) if known is None else known

        return value

    def _index(self, node: Node) -> Evaluate:
        """What is between the brackets of `a[i]`."""
        index = node.child_by_field_name("indices") or node.child_by_field_name("index")
        inside = arguments_of(index) if index is not None else []
        return self.value(inside[0] if len(inside) == 1 else None)

    def _element_place(self, node: Node) -> Place:
        of, at = self.place(node.child_by_field_name("argument")), self._index(node)

        def place(frame: Frame) -> Cell | None:
            cell = of(frame)
            number = at(frame)
            return element_of(cell, int(number) if isinstance(number, int | float) else 0)

        return place

    def _pointed_place(self, node: Node) -> Place:
        inside = node.child_by_field_name("argument")
        value = self.value(inside)
        return (lambda frame: led_to(value(frame))) if text_of(node)[:1] == "*" else nothing

    def _pointer_value(self, node: Node) -> Evaluate:
        if text_of(node)[:1] == "*":
            return _content(self._pointed_place(node))
        inside = node.child_by_field_name("argument")
        place = self.place(inside)
        array: Evaluate = nothing
        at: Evaluate = nothing
        if inside is not None and inside.type == "subscript_expression":
            array, at = self.value(inside.child_by_field_name("argument")), self._index(inside)

        def address(frame: Frame) -> Any:
            of, number = array(frame), at(frame)
            if isinstance(of, Pointer | Struct | Address):
                return moved(of, number, 1)
            cell = place(frame)
            return Address(cell) if cell is not None else None

        return address

    def _binary(self, node: Node) -> Evaluate | None:
        mark = text_in(node, "operator")
        if mark not in ("+", "-"):
            return None
        left = self.value(node.child_by_field_name("left"))
        right = self.value(node.child_by_field_name("right"))

        def value(frame: Frame) -> Any:
            first, second = left(frame), right(frame)
            if isinstance(first, Pointer | Address | Struct):
                return moved(first, second, 1 if mark == "+" else -1)
            return applied(mark, first, second)

        return value

    def _conditional(self, node: Node) -> Evaluate:
        test, first, second = (
            self.value(node.child_by_field_name(name))
            for name in ("condition", "consequence", "alternative")
        )
        asks_for_arguments = re.search(r"\bargc\b", text_in(node, "condition")) is not None

        def value(frame: Frame) -> Any:
            known = test(frame)
            if known is not None and not isinstance(known, Struct):
                return first(frame) if known else second(frame)
            one, other = first(frame), second(frame)
            if one is None or other is None or asks_for_arguments or one == other:
                return one if other is None else other
            return None

        return value

    def _cast(self, node: Node) -> Evaluate | None:
        kind = text_in(node, "type")
        if "*" not in kind or "(" in kind:
            return None
        return self.value(node.child_by_field_name("value"))

    def _through(self, node: Node) -> Place:
        return self.place(node.child_by_field_name("value") or node.named_children[0])

    def _assignment(self, node: Node) -> Evaluate:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        place, mark = self.place(left), text_in(node, "operator")
        mixes = self._mixes(left)
        if mark == "=":
            sets = self._sets(right)

            def assigns(frame: Frame) -> Any:
                mixes(frame)
                cell = place(frame)
                if cell is None:
                    return None
                sets(frame, cell)
                return cell.value

            return assigns
        value = self.value(right)

        def changes(frame: Frame) -> Any:
            mixes(frame)
            cell, by = place(frame), value(frame)
            if cell is None:
                return None
            if not frame.doubts:  # in a loop it would be wrong
                if isinstance(cell.value, Pointer | Address) and mark in ("+=", "-="):
                    cell.value = moved(cell.value, by, 1 if mark == "+=" else -1)
                else:
                    frame.run.put(cell, applied(mark[:-1], cell.value, by))
            elif mark == "+=":
                count_up(frame, cell)
            return cell.value

        return changes

    def _mixes(self, left: Node | None) -> Statement:
        """In a loop an assignment to an element gives an array other values than one alone."""
        if left is None or left.type != "subscript_expression":
            return nothing
        array = self.value(left.child_by_field_name("argument"))

        def mixes(frame: Frame) -> None:
            if frame.doubts:
                fill(array(frame))

        return mixes

    def _update(self, node: Node) -> Evaluate:
        place = self.place(node.child_by_field_name("argument"))
        step = 1 if "++" in text_of(node) else -1
        is_first = text_of(node).startswith(("++", "--"))

        def changes(frame: Frame) -> Any:
            cell = place(frame)
            before = cell.value if cell is not None else None
            if cell is not None and not frame.doubts and isinstance(before, int):
                frame.run.put(cell, before + step)
                return before + step if is_first else before
            if cell is not None and step > 0:
                count_up(frame, cell)
            return before

        return changes

    def _comma(self, node: Node) -> Evaluate:
        parts = [self.value(child) for child in node.named_children]
        return lambda frame: [part(frame) for part in parts][-1]

    def _literal(self, node: Node) -> Evaluate:
        given = node.child_by_field_name("value")
        kind = text_in(node, "type")
        return self._constructed(kind, arguments_of(given) if given is not None else [])

    def _new(self, node: Node) -> Evaluate:
        kind = text_in(node, "type")
        count = field_of(field_of(node, "declarator"), "length")
        if count is not None:
            number = self.value(count)
            return lambda frame: allocated(
                applied("*", number(frame), self._bytes_of_type(kind, frame))
            )
        given = node.child_by_field_name("arguments")
        return self._newly_made(kind, arguments_of(given) if given is not None else [])

    def _newly_made(self, kind: str, given: Sequence[Node]) -> Evaluate:
        """`new Kind(given)`, `std::make_unique<Kind>(given)`."""
        made = self._constructed(kind, given)

        def value(frame: Frame) -> Any:
            return Address(Cell(f"{frame.prefix}new {kind}", made(frame)))

        return value

    def _sizeof(self, node: Node) -> Evaluate:
        inside = node.child_by_field_name("value")
        if inside is not None and inside.type == "parenthesized_expression":
            inside = inside.named_children[0] if inside.named_child_count == 1 else inside
        kind = text_in(node, "type") or text_of(inside)
        place = self.place(inside)

        def value(frame: Frame) -> int:
            found = self._known_bytes(kind, frame)
            if found is None and inside is not None:
                found = self._bytes_of_place(inside, place(frame), frame)
            return _ELEMENT if found is None else found

        return value

    def _bytes_of_type(self, kind: str, frame: Frame) -> int:
        found = self._known_bytes(kind, frame)
        return _ELEMENT if found is None else found

    def _known_bytes(self, kind: str, frame: Frame, depth: int = 0) -> int | None:
        """Bytes of a type by its words; None where it is not known."""
        words = re.sub(r"\b(?:const|constexpr|static|struct|volatile|inline)\b", " ", kind)
        name = without_spaces(" ".join(words.split()))
        if name.endswith("*"):
            return 8
        if array := re.fullmatch(r"(.+?)\s*\[([^\[\]]+)\]", name):
            count = self.evaluated(array[2])(frame)
            inner = self._known_bytes(array[1], frame, depth)
            return int(count) * inner if isinstance(count, int) and inner is not None else None
        plain = re.sub(r"^(?:\w*::)+", "", name)
        if plain in self._sizes:
            return self._sizes[plain]
        meaning = frame.type_of(plain) or self._syntax.aliases.get(plain, "")
        if meaning and meaning != kind and depth < _DEEPEST:
            return self._known_bytes(meaning, frame, depth + 1)
        if "<" in plain:  # of a template that the kernel has one instance of
            base = plain.partition("<")[0] + "<"
            known = {v for n, v in self._sizes.items() if n.startswith(base)}
            return known.pop() if len(known) == 1 else None
        return None

    def _bytes_of_place(self, node: Node, cell: Cell | None, frame: Frame) -> int | None:
        """The size of `a`, `*a` or `a[0]`, as it is declared."""
        steps, inner = 0, node
        while inner.type in ("subscript_expression", "pointer_expression"):
            argument = inner.child_by_field_name("argument")
            if argument is None or text_of(inner)[:1] == "&":
                return None
            steps, inner = steps + 1, argument
        if inner is not node:
            cell = self.place(inner)(frame)
        held = cell.value.block if cell is not None and isinstance(cell.value, Pointer) else None
        if held is not None and held.count and steps == 1:  # `v[0]` of a std::vector
            return held.nbytes // held.count
        if cell is None or not cell.type:
            return None
        nbytes = self._known_bytes(cell.type, frame)
        extents = [*cell.extents]
        if cell.points_to_array:
            if not steps:
                return 8
            steps -= 1
        elif steps >= len(extents):
            return 8 if steps - len(extents) < cell.stars else nbytes
        elif cell.stars:
            nbytes = 8
        left = extents[steps:]
        if nbytes is None or not all(isinstance(extent, int) for extent in left):
            return None
        return nbytes * math.prod(int(extent or 0) for extent in left)

    # Calls.

    def _call(self, node: Node) -> Evaluate | None:
        function, given = node.child_by_field_name("function"), arguments_of(node)
        name = called_name(node)
        if function is None or node.child_by_field_name("arguments") is None:
            return nothing
        if any(child.type == "kernel_call_syntax" for child in node.children):
            return self._fills(given)
        if function.type == "lambda_expression":
            return lambda frame: self._run_lambda(Lambda(function, frame), node, frame)
        if (macro := self._macros.get(name)) is not None and function.type == "identifier":
            return self._called_macro(macro, given)
        written = plain_name(text_of(function))
        template = split_template(written)[1]
        if name in _CASTS and len(given) == 1:
            return self.value(given[0])
        if name in _MAKES_OBJECT and template in self._syntax.classes:
            return self._newly_made(template, given)
        if name == "dim3" or _VECTOR.fullmatch(name):
            return self._constructed(written, given)
        if (made := _MAKES.fullmatch(name)) and len(given) == int(made[1]):
            return self._made_vector(given)
        if (api := self._of_cuda(name, given)) is not None:
            return api
        return self._called(node, function, name, template, given)

    def _made_vector(self, given: Sequence[Node]) -> Evaluate:
        """`make_float3(x, y, z)`."""
        values = [self.value(one) for one in given]

        def value(frame: Frame) -> Struct:
            parts = zip("xyzw", values, strict=False)
            return Struct({axis: Cell("", one(frame)) for axis, one in parts})

        return value

    def _called(
        self, node: Node, function: Node, name: str, template: str, given: Sequence[Node]
    ) -> Evaluate | None:
        """A function of the program's, a method, a lambda, or what is not known."""
        candidates = [f for f in self._syntax.by_name.get(name, ()) if f.takes(len(given))]
        if len(candidates) > 1:
            candidates = nearest(function, candidates)
        of = function.child_by_field_name("argument")
        if function.type != "field_expression":
            of = None
            if name in self._syntax.known_classes and not candidates:
                return self._constructed(name, given)
            if not candidates and (plain := self._reader.called(node)) is not None:
                return plain  # ceil, min
        values = [self.value(one) for one in given]
        object_of, value_of = self.place(of), self.value(of)
        otherwise = self._unknown(name, template, given, values)

        def value(frame: Frame) -> Any:
            cell = object_of(frame)
            base = cell.value if cell is not None else value_of(frame)
            led = led_to(base)
            owner = led.value if led is not None else base
            kind = owner.owner if isinstance(owner, Struct) else ""
            chosen = candidates
            if of is not None:
                chosen = [f for f in candidates if f.owner == kind and kind]
                if not chosen and isinstance(base, Pointer | Struct):
                    found = of_container(name, base)
                    if found is not None:
                        return found
            if chosen:
                this = (led or cell) if of is not None else frame.this
                if chosen[0].owner and this is None:
                    this = Cell("", Struct(owner=chosen[0].owner))
                found = self._entered(chosen[0], node, frame, this)
                return otherwise(frame) if found is None and not chosen[0].owner else found
            held = frame.find(name)
            if held is not None and isinstance(held.value, Lambda):
                return self._run_lambda(held.value, node, frame)
            return otherwise(frame)

        return value

    def _unknown(
        self, name: str, template: str, given: Sequence[Node], values: Sequence[Evaluate]
    ) -> Evaluate:
        """A function that the text does not have."""
        reads = any(text_of(one) == "argv" for one in given) and not _COMMAND_LINE.fullmatch(name)
        allocates = _ALLOCATOR.fullmatch(name) is not None
        rounds_up = _ROUNDS_UP.fullmatch(name) is not None

        def value(frame: Frame) -> Any:
            found = [one(frame) for one in values]
            if reads and found and isinstance(found[-1], int | float):
                return found[-1]  # read(argc, argv, "-n", 20)
            if name in POINTS_ON and len(found) == 1:
                return found[0]
            numbers = [one for one in found if isinstance(one, int | float)]
            if rounds_up and len(found) == len(numbers) == 2:
                return -int(-numbers[0] // numbers[1]) if numbers[1] > 0 else None
            if allocates and numbers and len(numbers) == len(found):
                counts = numbers[:1] if template else numbers
                if "calloc" in name.lower():
                    counts = numbers[:2]
                elif template:
                    counts = [*counts, self._bytes_of_type(template, frame)]
                return allocated(math.prod(counts))
            for one in found:
                fill(one)
            return None

        return value

    def _called_macro(
        self, macro: tuple[tuple[str, ...] | None, str], given: Sequence[Node]
    ) -> Evaluate:
        formals, meaning = macro
        if formals is None or not self._may_expand():
            return self._fills(given)
        text = with_meaning(meaning, formals, [text_of(one) for one in given])
        if len(text) > LONGEST or not text.isascii():
            return self._fills(given)
        with self._expanding():
            if (node := expression(text)) is not None:
                return _counted(self.value(node))
            made = parse(f"void _() {{ {text}; }}").root_node.named_children
            runs = self._block([self.statement(one) for f in made[:1] for one in f.named_children])

        def value(frame: Frame) -> None:
            frame.doubts += 1
            runs(frame)
            frame.doubts -= 1

        return value

    def _fills(self, given: Sequence[Node]) -> Evaluate:
        values = [self.value(one) for one in given]

        def value(frame: Frame) -> None:
            for one in values:
                fill(one(frame))

        return value

    def _of_cuda(self, name: str, given: Sequence[Node]) -> Evaluate | None:
        values = [self.value(one) for one in given]
        if name in _DEVICE_ALLOCATORS and len(given) > 1:
            return lambda frame: allocate(values[0](frame), values[1](frame))
        if name == "cudaMallocPitch" and len(given) == 4:

            def rows(frame: Frame) -> int:
                pointer, pitch, width, height = (value(frame) for value in values)
                if isinstance(width, int | float) and isinstance(height, int | float):
                    nbytes = -(-int(width) // _PITCH_OF_ROWS) * _PITCH_OF_ROWS
                    put_through(frame, pitch, nbytes)
                    allocate(pointer, nbytes * int(height))
                return 0

            return rows
        if (name.startswith("cudaMemset") or name == "memset") and len(given) > 2:
            return lambda frame: set_bytes(*(value(frame) for value in values[:3]))
        if name.startswith("cudaMemcpyToSymbol") and len(given) > 1:
            symbol = own_name(text_of(given[0]).lstrip("&"))
            return lambda frame: copy_to_symbol(frame, symbol, values[1](frame))
        if name.startswith(("cudaMemcpy", "cuMemcpy")) and len(given) > 1:
            return lambda frame: copy_bytes(frame, *(value(frame) for value in values[:3]))
        if name == "fill" and len(given) == 3 and name not in self._syntax.by_name:
            return lambda frame: fill_with(values[0](frame), values[2](frame))
        if name == "cudaDeviceGetAttribute" and len(given) > 1:
            return lambda frame: put_through(frame, values[0](frame), values[1](frame))
        if name.startswith("cudaOccupancyMaxPotentialBlockSize") and len(given) > 2:

            def occupies(frame: Frame) -> int:
                put_through(frame, values[0](frame), _DEVICE["multiProcessorCount"])
                return put_through(frame, values[1](frame), 256)

            return occupies
        if name.startswith("cudaOccupancyMaxActiveBlocks") and len(given) > 2:
            return lambda frame: put_through(frame, values[0](frame), 1)
        if name in ("cudaFree", "free", "cudaGetDeviceProperties", "cudaFreeHost"):
            return lambda _: 0  # it succeeds
        is_known = any(f.takes(len(given)) for f in self._syntax.by_name.get(name, ()))
        if len(given) == 12 and not is_known:

            def encodes(frame: Frame) -> int:
                found = [value(frame) for value in values]
                cell = led_to(found[0])
                text = encoded([numbers_at(one) for one in found])
                if cell is not None and text:
                    cell.value = MadeMap(text)
                return 0

            return encodes
        return None

    def _entered(self, function: Function, call: Node, frame: Frame, this: Cell | None) -> Any:
        """What a function of the program returns; it may set what it is passed."""
        if frame.depth >= _DEEPEST_CALL:
            return None
        frame.run.count(1)
        made = Frame(frame.run, f"{function.name}::", world_of(frame), this, frame.depth + 1)
        self.bind(function, call, frame, made)
        self._body(function)(made)
        return made.value

    def _body(self, function: Function) -> Statement:
        key = function.body.id
        if key not in self._bodies:
            first = self._initializers(function)
            body = self._block([*first, self.statement(function.body)])
            self._bodies[key] = function, body  # the node stays, so that its id is its own
        return self._bodies[key][1]

    def _initializers(self, function: Function) -> list[Statement]:
        """`: rows(n), columns{n}` of a constructor."""
        listed = [c for c in function.node.named_children if c.type == "field_initializer_list"]
        made: list[Statement] = []
        for one in listed[0].named_children if listed else ():
            parts = one.named_children
            if len(parts) != 2 or len(arguments_of(parts[1])) != 1:
                continue
            name, sets = text_of(parts[0]), self._sets(arguments_of(parts[1])[0])

            def initializes(frame: Frame, name: str = name, sets: _Setter = sets) -> None:
                if frame.this is not None:
                    sets(frame, member_of(frame.this, name))

            made.append(initializes)
        return made

    def _run_lambda(self, held: Lambda, call: Node, frame: Frame) -> Any:
        if frame.depth >= _DEEPEST_CALL:
            return None
        body = held.node.child_by_field_name("body")
        if body is None:
            return None
        formals = formals_of(field_of(held.node, "declarator"))
        function = Function("", "", formals, (), held.node, body, is_kernel=False)
        outer = held.frame
        made = Frame(frame.run, f"{outer.prefix}lambda::", outer, outer.this, frame.depth + 1)
        self.bind(function, call, frame, made)
        self._body(function)(made)
        return made.value

    def bind(
        self, function: Function, call: Node, frame: Frame, made: Frame, *, literals: bool = False
    ) -> None:
        """A function's parameters are what a call passes; `literals` may be given other values."""
        key = (function.node.id, call.id)
        if key not in self._bound:
            self._bound[key] = (call, self._parameters(function, call))
        for one in self._bound[key][1]:
            one(frame, made, literals)

    @cached_property
    def accessed(self) -> frozenset[str]:
        """The tensors of PyTorch's that kernels get as accessors."""
        return frozenset(re.findall(r"\b(\w+)\.(?:packed_)?accessor", self._syntax.text))

    def put_default(self, formal: Declared, cell: Cell, frame: Frame) -> None:
        """What a parameter is that nobody passes, if it says so."""
        if formal.value is not None and not formal.stars:
            self._sets(formal.value, formal)(frame, cell)

    def _parameters(self, function: Function, call: Node) -> list[_Binding]:
        """What sets each parameter of a function that a call calls."""
        named = named_by(call.child_by_field_name("function"))
        template = named[1] if named is not None else ()
        written = dict(zip((p.name for p in function.template), template, strict=False))
        made = [
            self._template_parameter(p.name, text)
            for p in function.template
            if (text := written.get(p.name, p.default))
        ]
        given = arguments_of(call)
        for at, formal in enumerate(function.formals):
            node = given[at] if at < len(given) else formal.value
            if node is not None and formal.name:
                made.append(self._parameter(formal, node, is_given=at < len(given)))
        return made

    def _parameter(self, formal: Declared, node: Node, *, is_given: bool) -> _Binding:
        place, sets = self.place(node), self._sets(node)

        def binds(frame: Frame, made: Frame, literals: bool) -> None:
            cell = place(frame) if is_given else None
            if formal.is_reference and cell is not None:
                made.cells[formal.name] = cell
                return
            own = made.declare(formal.name)
            own.type, own.stars = formal.type, formal.stars + bool(formal.extents)
            value = sets.value(frame)
            if cell is not None and own.stars and isinstance(value, Struct):
                own.value = Address(cell)
            elif literals and sets.is_literal(frame):
                frame.run.put_literal(own, value)
            else:
                frame.run.put(own, value)

        return binds

    def _template_parameter(self, name: str, text: str) -> _Binding:
        value = self.evaluated(text)

        def binds(frame: Frame, made: Frame, literals: bool) -> None:
            made.types[name] = frame.type_of(text) or text
            number = value(frame)
            if isinstance(number, int | float):
                frame.run.put(made.declare(name), number)

        return binds

    # Objects.

    def _constructed(self, kind: str, given: Sequence[Node]) -> Evaluate:
        """A value of a type that is made of some arguments."""
        words = [w for w in kind.split() if w not in ("const", "constexpr", "static", "inline")]
        plain = plain_name(" ".join(words))
        name, template = split_template(plain.rpartition("::")[2] if "<" not in plain else plain)
        name = name.rpartition("::")[2]
        pairs = [one for one in given if one.type == "initializer_pair"]
        values = [self.value(one) for one in given]
        if name == "dim3":
            return lambda frame: triple([value(frame) for value in values] or [1])
        if _VECTOR.fullmatch(name) and template and len(values) in (1, 2):
            inside = split_at_commas(template)[0]
            if given[0].type != "initializer_list":
                value = values[1] if len(values) > 1 else nothing
                return lambda frame: vector_of(
                    values[0](frame), self._bytes_of_type(inside, frame), value(frame)
                )
        if not values and is_number_type(plain):
            return lambda _: 0
        if pairs and name not in self._syntax.known_classes:
            return self._designated(pairs)
        if len(values) == 1 and (is_number_type(plain) or not plain):
            if given[0].type == "initializer_list" or not plain:
                return self._elements(given, values)
            return values[0]
        if name in self._syntax.known_classes:
            return self._object(name, template, given, values)
        if len(values) == 1 and not plain.endswith(">"):
            return values[0]
        return self._elements(given, values)

    @staticmethod
    def _elements(given: Sequence[Node], values: Sequence[Evaluate]) -> Evaluate:
        literal = [one.type == "number_literal" for one in given]

        def value(frame: Frame) -> Struct:
            cells = (
                Cell("", one(frame), is_literal=is_literal)
                for one, is_literal in zip(values, literal, strict=True)
            )
            return Struct(dict(enumerate(cells)))

        return value

    def _designated(self, pairs: Sequence[Node]) -> Evaluate:
        named = {
            text_in(one, "designator").strip(". "): self.value(one.child_by_field_name("value"))
            for one in pairs
        }
        return lambda frame: Struct({n: Cell("", one(frame)) for n, one in named.items()})

    def _object(
        self, name: str, template: str, given: Sequence[Node], values: Sequence[Evaluate]
    ) -> Evaluate:
        """An object of a class of the program's: by its constructor, or its members in order."""
        owner = self._syntax.known_classes[name]
        methods = self._syntax.methods.get(name, ())
        makers = [f for f in methods if f.name == name and f.takes(len(given))]
        defaults = {n: self._sets(m.value, m) for n, m in owner.members.items() if m.value}
        pairs = [one for one in given if one.type == "initializer_pair"]
        designated = self._designated(pairs) if pairs else nothing
        names = [*owner.members]

        def value(frame: Frame) -> Any:
            if len(values) == 1 and not makers:
                known = values[0](frame)
                if isinstance(known, Struct):
                    return known  # a copy
            formals = (parameter.name for parameter in owner.template)
            types = dict(zip(formals, split_at_commas(template), strict=False))
            types = {n: frame.type_of(text) or text for n, text in types.items()}
            made = Struct(owner=name, types=types)
            cell = Cell(f"{frame.prefix}{name}", made)
            for member, default in defaults.items():
                own, first = member_of(cell, member), default.value(frame)
                if first == 0 and _may_wait(owner.members[member]):
                    frame.run.put_unknown([own])
                else:
                    frame.run.put(own, first)
                    own.is_literal = default.is_literal(frame)
            if makers and frame.depth < _DEEPEST_CALL:
                call = given[0].parent if given else None
                inner = Frame(frame.run, f"{name}::", world_of(frame), cell, frame.depth + 1)
                for n, text in types.items():
                    number = self.evaluated(text)(frame)
                    if isinstance(number, int | float):
                        frame.run.put(inner.declare(n), number)
                if call is not None:
                    self.bind(makers[0], call, frame, inner)
                for formal in makers[0].formals if call is None else ():
                    self.put_default(formal, inner.declare(formal.name), inner)
                self._body(makers[0])(inner)
            elif pairs and isinstance(listed := designated(frame), Struct):
                made.members |= listed.members
            else:
                for member, node, one in zip(names, given, values, strict=False):
                    own = member_of(cell, member)
                    own.value, own.type = one(frame), owner.members[member].type
                    own.is_literal = node.type == "number_literal"
            return made

        return value

    def object_of(self, call: Node, frame: Frame) -> Cell | None:
        """The object whose method a call calls."""
        function = call.child_by_field_name("function")
        if function is None or function.type != "field_expression":
            return frame.this
        of = function.child_by_field_name("argument")
        cell = self.place(of)(frame)
        led = led_to(cell.value) if cell is not None else None
        found = led or cell
        return found if found is not None and isinstance(found.value, Struct) else None

    def any_object(self, function: Function, made: Frame) -> Cell:
        """An object of a method's class that its other methods have set up, by nobody's numbers."""
        this, world = Cell("", Struct(owner=function.owner)), world_of(made)
        lineage = self._syntax.lineage(function.owner)
        known = self._syntax.known_classes
        classes = [known[one] for one in lineage if one in known]
        for member in (member for owner in classes for member in owner.members.values()):
            sets = self._sets(member.value, member)
            first, cell = sets.value(made), self._member_of_this(this, member.name)
            cell.type, cell.stars = member.type, member.stars
            if first in (None, 0) and _may_wait(member):
                world.run.put_unknown([cell])
            elif sets.is_literal(made):
                world.run.put_literal(cell, first)
            else:
                world.run.put(cell, first)
        methods = (f for one in reversed(lineage) for f in self._syntax.methods.get(one, ()))
        others = (f for f in methods if f is not function)
        for other in sorted(others, key=lambda f: f.name != f.owner):
            members = Struct(owner=function.owner)
            copy = Cell("", members)
            inner = Frame(world.run, f"{other.name}::", world, copy, 1)
            if other.name == other.owner or _SETS_UP.match(other.name):
                given = [f for f in other.formals if f.name and is_whole_number(f)]
                world.run.put_unknown([inner.declare(f.name) for f in given])
            self._body(other)(inner)
            for key, cell in members.members.items():
                if cell.value not in (None, 0):  # 0 waits for its value
                    own = self._member_of_this(this, str(key))
                    own.type, own.stars = cell.type, cell.stars
                    world.run.put(own, cell.value)
        return this

    @staticmethod
    def _member_of_this(this: Cell, name: str) -> Cell:
        members: dict[str | int, Cell] = this.value.members
        return members.setdefault(name, Cell(name))


class _Setter:
    """Sets a variable to an expression's value, and knows what kind of value that is."""

    def __init__(self, code: HostCode, node: Node | None, value: Evaluate, kind: str) -> None:
        self._code, self._node, self.value = code, node, value
        text = text_of(node)
        self.place = code.place(node)
        self._exponent = code.place(_exponent_of(node))
        self._is_of_tensor = _OF_TENSOR.fullmatch(text) is not None
        tensor, _, of = text.partition(".")
        self._is_of_accessor = (
            self._is_of_tensor and not of.startswith("numel") and tensor in code.accessed
        )
        self._is_of_command_line = node is not None and _is_of_command_line(node)
        self._is_of_object = node is not None and _is_of_object(node)
        self._kind = kind
        self._is_literal: bool | None = None

    def __call__(self, frame: Frame, cell: Cell) -> None:
        value = self.value(frame)
        run = frame.run
        if value is None:
            kind = self._kind or cell.type
            is_size = bool(kind) and not cell.stars and not _NO_SIZE.search(kind)
            is_open = self._is_of_command_line or (is_size and self._is_of_object)
            if self._is_of_accessor:
                run.put(cell, TENSOR_EXTENT)
            elif self._is_of_tensor or (is_open and cell.value is None):
                run.put_unknown([cell])
        elif "dim3" in cell.type.split() and not cell.stars:
            run.put(cell, as_triple(value))
        elif isinstance(value, int | float) and not frame.depth and self.is_literal(frame):
            run.put_literal(cell, value)
            exponent = self._exponent(frame)
            if exponent is not None and exponent.value == run.roots.get(exponent.key):
                run.put(exponent, int(cell.value).bit_length() - 1)  # no loop counts it
        else:
            run.put(cell, value, literals=not frame.depth)

    def is_literal(self, frame: Frame) -> bool:
        """Whether a variable set to that may as well have another value: it is made of literals.

        So may a power of two whose exponent is a variable, which follows, unless it is fixed; and a
        number that is listed in an array. What follows from macros that are given follows.
        """
        if self._node is not None and self._node.type == "subscript_expression":
            element = self.place(frame)
            return element is not None and element.is_literal
        exponent = self._exponent(frame)
        if exponent is not None and exponent.key in frame.run.fixed:
            return False
        if self._is_literal is None:
            self._is_literal = self._node is not None and self._made_of_literals(self._node)
        return self._is_literal

    def _made_of_literals(self, node: Node) -> bool:
        text = text_of(node)
        if _exponent_of(node) is not None:
            return True
        try:
            if not isinstance(self.value(Frame(Run())), int | float):
                return False
        except (EnoughError, RecursionError):
            return False
        names = set(re.findall(r"[A-Za-z_]\w*", text))
        literals = (int(digits) for digits in re.findall(r"(?<!\w)\d{1,9}(?!\w)", text))
        return names.isdisjoint(self._code.given_names) or any(one >= LEAST for one in literals)


def _exponent_of(node: Node | None) -> Node | None:
    """The n of `1 << n`; None where a node is no power of two of a variable."""
    while node is not None and node.type == "parenthesized_expression":
        node = node.named_children[0] if node.named_children else None
    if node is None or node.type != "binary_expression" or text_in(node, "operator") != "<<":
        return None
    exponent = node.child_by_field_name("right")
    is_of_two = re.fullmatch(r"1[uUlL]*", text_in(node, "left"))
    return exponent if is_of_two and exponent and exponent.type == "identifier" else None


def _counted(value: Evaluate) -> Evaluate:
    """Each evaluation of the value counts as a step: a short name may stand for much work."""

    def counts(frame: Frame) -> Any:
        frame.run.count(1)
        return value(frame)

    return counts


def _content(place: Place) -> Evaluate:
    """What the variable at a place holds."""

    def value(frame: Frame) -> Any:
        cell = place(frame)
        return cell.value if cell is not None else None

    return value


def _pointers_to_arrays(node: Node) -> Iterator[Declared]:
    """`int (*a)[W][H], (*b)[W];`, which the parser takes for a call and its elements."""
    parts, kind = [*node.named_children], ""
    while parts and parts[0].type == "comma_expression":
        parts[:1] = parts[0].named_children
    for part in parts:
        extents: list[Node | None] = []
        inner: Node | None = part
        while inner is not None and inner.type == "subscript_expression":
            index = inner.child_by_field_name("indices")
            extents.insert(0, index.named_children[0] if index and index.named_children else None)
            inner = inner.child_by_field_name("argument")
        if inner is None or not extents:
            return
        if inner.type == "call_expression" and text_in(inner, "function") in SIZES:
            kind, inner = text_in(inner, "function"), inner.child_by_field_name("arguments")
        name = re.fullmatch(r"\(\s*\*\s*(\w+)\s*\)", text_of(inner)) if inner and kind else None
        if name is None:
            return
        yield Declared(name[1], kind, 0, extents=tuple(extents), points_to_array=True)


def _sets_one(node: Node) -> str:
    """The variable that is all a branch sets, "" if it does more."""
    inside = node
    if node.type == "compound_statement":
        if node.named_child_count != 1:
            return ""
        inside = node.named_children[0]
    is_expression = inside.type == "expression_statement" and inside.named_child_count
    assigned = inside.named_children[0] if is_expression else None
    if assigned is None or assigned.type != "assignment_expression":
        return ""
    return text_in(assigned, "left") if text_in(assigned, "operator") == "=" else ""


def _is_of_command_line(node: Node) -> bool:
    inner: Node | None = node
    while inner is not None:
        if inner.type == "call_expression":
            return _COMMAND_LINE.fullmatch(called_name(inner)) is not None
        inner = (
            inner.child_by_field_name("left")
            or inner.child_by_field_name("value")
            or (inner.named_children[0] if inner.type == "parenthesized_expression" else None)
        )
    return False


def _is_of_object(node: Node) -> bool:
    """`image.cols`, `v->size()`, `(int)a.length()`, `parts[i].width / 4`."""
    if node.type == "cast_expression":
        inner = node.child_by_field_name("value")
        return inner is not None and _is_of_object(inner)
    if node.type == "binary_expression":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        is_number = right is not None and right.type == "number_literal"
        return left is not None and is_number and _is_of_object(left)
    if node.type == "call_expression":
        function = node.child_by_field_name("function")
        is_path = function is not None and function.type in (
            "field_expression",
            "qualified_identifier",
        )
        return is_path and not arguments_of(node)
    return node.type in ("field_expression", "qualified_identifier")


def _base(kind: str) -> str:
    """`const ns::Matrix<float>` is Matrix."""
    words = [w for w in kind.partition("<")[0].split() if w not in ("const", "static", "struct")]
    return words[-1].rpartition("::")[2] if words else ""


_VALUES: Mapping[str, Callable[[HostCode, Node], Evaluate | None]] = {
    "identifier": HostCode._named,
    "type_identifier": HostCode._named,
    "qualified_identifier": HostCode._qualified,
    "field_expression": HostCode._member_value,
    "subscript_expression": lambda code, node: _content(code._element_place(node)),
    "pointer_expression": HostCode._pointer_value,
    "binary_expression": HostCode._binary,
    "conditional_expression": HostCode._conditional,
    "cast_expression": HostCode._cast,
    "this": lambda code, _: lambda frame: Address(frame.this) if frame.this is not None else None,
    "assignment_expression": HostCode._assignment,
    "update_expression": HostCode._update,
    "initializer_list": lambda code, node: code._constructed("", arguments_of(node)),
    "lambda_expression": lambda _, node: lambda frame: Lambda(node, frame),
    "new_expression": HostCode._new,
    "sizeof_expression": HostCode._sizeof,
    "call_expression": HostCode._call,
    "compound_literal_expression": HostCode._literal,
    "comma_expression": HostCode._comma,
}
_PLACES: Mapping[str, Callable[[HostCode, Node], Place]] = {
    "identifier": HostCode._name_place,
    "qualified_identifier": HostCode._name_place,
    "field_expression": HostCode._member_place,
    "subscript_expression": HostCode._element_place,
    "pointer_expression": HostCode._pointed_place,
    "parenthesized_expression": HostCode._through,
    "cast_expression": HostCode._through,
    "this": lambda code, _: lambda frame: frame.this,
}
