"""PTX tokens to a `Module`: directives, declarations, labels, statements and their operands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

from core.cancelling import check
from core.errors import PtxSyntaxError, UnsupportedPtx
from core.garbage_collection import uncollected
from core.ptx.ast import (
    Address,
    Function,
    Group,
    Immediate,
    Instruction,
    Module,
    Negated,
    Operand,
    Pair,
    Register,
    Relocation,
    Selected,
    SourcePosition,
    Special,
    Symbol,
    Variable,
    Vector,
)
from core.ptx.lexer import Cursor, Token, number, tokens, without_sections
from core.ptx.opcodes import OPCODES, opcode_of
from core.ptx.types import TYPES, PtxType

# Labels, whose names are local to the `{ … }` they stand in (PTX ISA, "Labels").


class _Labels:
    """The labels of a module. A name that is taken already gets a suffix: `L`, `L#1`, …"""

    def __init__(self) -> None:
        self.pcs: dict[str, int] = {}
        self._branch_targets: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {}
        self.branch_targets: dict[str, tuple[str, ...]] = {}
        self._unique: dict[tuple[tuple[int, ...], str], str] = {}
        self._paths: dict[int, tuple[int, ...]] = {}  # instruction -> the blocks it lies in
        self._path: list[int] = []
        self._blocks = 0

    def push(self) -> None:
        """Enters a `{`."""
        self._blocks += 1
        self._path.append(self._blocks)

    def pop(self) -> None:
        """Leaves a `}`."""
        self._path.pop()

    def _declare(self, name: str) -> str:
        unique, count = name, 0
        while unique in self.pcs or unique in self._branch_targets:
            count += 1
            unique = f"{name}#{count}"
        self._unique[tuple(self._path), name] = unique
        return unique

    def define(self, name: str, pc: int) -> None:
        """`name:` before the instruction at `pc`."""
        self.pcs[self._declare(name)] = pc

    def define_targets(self, name: str, targets: Iterable[str]) -> None:
        """`name: .branchtargets …`"""
        self._branch_targets[self._declare(name)] = tuple(self._path), tuple(targets)

    def note(self, pc: int) -> None:
        """Remembers where the instruction at `pc` stands."""
        self._paths[pc] = tuple(self._path)

    def _resolve(self, path: tuple[int, ...], name: str) -> str:
        for depth in range(len(path), -1, -1):
            if (path[:depth], name) in self._unique:
                return self._unique[path[:depth], name]
        return name

    def resolve(self, instructions: list[Instruction], first: int) -> None:
        """Gives the jumps from `first` on the unique names of the labels they mean."""
        for place in range(first, len(instructions)):
            instruction = instructions[place]
            if opcode_of(instruction).kind == "jump":
                path = self._paths[instruction.pc]
                operands = tuple(
                    replace(o, name=self._resolve(path, o.name)) if isinstance(o, Symbol) else o
                    for o in instruction.operands
                )
                if operands != instruction.operands:
                    instructions[place] = replace(instruction, operands=operands)
        for name, (path, targets) in self._branch_targets.items():
            if name not in self.branch_targets:
                self.branch_targets[name] = tuple(self._resolve(path, t) for t in targets)

    def reached(self, instructions: list[Instruction], first: int) -> set[int]:
        """The pcs that the jumps from `first` on, whose names are resolved, may go to."""
        names = [
            operand.name
            for instruction in instructions[first:]
            if opcode_of(instruction).kind == "jump"
            for operand in instruction.operands
            if isinstance(operand, Symbol)
        ]
        targets = [t for name in names for t in self.branch_targets.get(name, (name,))]
        return {self.pcs[name] for name in targets if name in self.pcs}


# Initial values of variables: numbers, nested lists, and addresses of other symbols.


@dataclass
class _Values:
    data: bytearray
    relocations: list[Relocation]


def _parse_initialiser(
    cursor: Cursor, kind: PtxType, count: int
) -> tuple[bytes, tuple[Relocation, ...]]:
    """The bytes after `=`, at most `count` elements (0: any number), and the addresses to fill in.

    What follows them in the variable is zero.

    A symbol may stand as `name`, `name+offset`, `generic(name)` or `mask(0xFF…)(name)` (PTX ISA,
    "Initializers"). Raises `UnsupportedPtx` for anything else.
    """
    found = _Values(bytearray(), [])
    _element(cursor, kind, found)
    if count and len(found.data) > count * kind.nbytes:
        raise PtxSyntaxError(cursor.previous().line, "more values than the variable has elements.")
    return bytes(found.data), tuple(found.relocations)


def _element(cursor: Cursor, kind: PtxType, found: _Values) -> None:
    """A value, or a list of them in braces."""
    if cursor.accept("{"):
        while not cursor.accept("}"):
            _element(cursor, kind, found)
            if cursor.peek().text != "}":
                cursor.expect(",")
        return
    token = cursor.peek()
    if token.kind == "number" or token.text == "-":
        value = cursor.integer_or_bits(kind.bits) & (2**kind.bits - 1)
        found.data += value.to_bytes(kind.nbytes, "little")
        return
    if token.kind != "word":
        raise UnsupportedPtx(token.line, f"= {token.text}", "is an initialiser we cannot read")
    found.relocations.append(_symbol(cursor, len(found.data), kind))
    found.data += bytes(kind.nbytes)


def _symbol(cursor: Cursor, position: int, kind: PtxType) -> Relocation:
    name = cursor.take("word").text
    shift = 0
    if name == "mask":  # one byte of the address, chosen by the mask
        cursor.expect("(")
        mask = cursor.integer_or_bits()
        cursor.expect(")")
        shift = (mask & -mask).bit_length() - 1
        name = _in_parentheses(cursor)
    elif name == "generic":
        name = _in_parentheses(cursor)
    return Relocation(position, kind.nbytes, name, _offset(cursor), shift)


def _in_parentheses(cursor: Cursor) -> str:
    """`(name)` or `(generic(name))`."""
    cursor.expect("(")
    name = cursor.take("word").text
    if name == "generic":
        name = _in_parentheses(cursor)
    cursor.expect(")")
    return name


# Declarations of PTX: the variables of a state space, and the parameters of a function.


_SPACES = {".global": "global", ".const": "const", ".shared": "shared", ".local": "local"}
_MOST_BYTES = 1 << 31  # of one variable, as nvcc has it


def _variables(cursor: Cursor) -> list[Variable]:
    """`.space .align N .type name[dims] = {…}, …;`"""
    space = _SPACES[cursor.take().text]
    align, kind, vector = _alignment_and_type(cursor)
    found = []
    while True:
        found.append(_variable(cursor, space, align, kind, vector))
        if cursor.take().text == ";":
            return found


def _parameters(cursor: Cursor) -> tuple[Variable, ...]:
    """`(.param .type name, …)`, the formal parameters or results of a function."""
    cursor.expect("(")
    found: list[Variable] = []
    while not cursor.accept(")"):
        token = cursor.take("word")
        if token.text not in (".param", ".reg"):
            raise PtxSyntaxError(token.line, f"expected .param, found {token.text!r}.")
        align, kind, vector = _alignment_and_type(cursor)
        is_pointer = _skip_pointer_attributes(cursor)
        one = _variable(cursor, token.text[1:], align, kind, vector)
        found.append(replace(one, is_pointer=is_pointer))
        cursor.accept(",")
    return tuple(found)


def _alignment_and_type(cursor: Cursor) -> tuple[int, PtxType, int]:
    """What stands before a name: the alignment (0: the type's own), type and vector length."""
    align, vector = 0, 1
    while True:
        token = cursor.take("word")
        if token.text == ".align":
            align = cursor.integer()
        elif token.text in (".v2", ".v4"):
            vector = int(token.text[2:])
        elif token.text == ".attribute":
            cursor.skip_parentheses()
        elif token.text[1:] in TYPES:
            kind = TYPES[token.text[1:]]
            return align, kind, vector
        elif token.text not in (".ptr", ".global", ".const", ".shared", ".local"):
            raise UnsupportedPtx(token.line, token.text)


def _skip_pointer_attributes(cursor: Cursor) -> bool:
    """`.ptr .space .align N` after a parameter's type: of what is pointed to. Whether it is one."""
    is_pointer = cursor.peek().text == ".ptr"
    while cursor.peek().text in (".ptr", ".global", ".const", ".shared", ".local", ".align"):
        if cursor.take().text == ".align":
            cursor.take("number")
    return is_pointer


def _variable(cursor: Cursor, space: str, align: int, kind: PtxType, vector: int) -> Variable:
    """`name[dims] = {…}`."""
    name = cursor.take("word")
    count, unsized = vector, False
    while cursor.accept("["):
        if cursor.accept("]"):
            unsized = True
            continue
        count *= cursor.integer()
        cursor.expect("]")
    if count * kind.nbytes > _MOST_BYTES:
        raise PtxSyntaxError(
            name.line,
            f"{name.text} has {count * kind.nbytes:,} bytes; a variable can have {_MOST_BYTES:,}.",
        )
    initial: bytes | None = None
    relocations: tuple[Relocation, ...] = ()
    if cursor.accept("="):
        initial, relocations = _parse_initialiser(cursor, kind, 0 if unsized else count)
    nbytes = len(initial or b"") if unsized else count * kind.nbytes
    return Variable(name.text, space, kind, nbytes, align or kind.nbytes, initial, relocations)


# Operands of PTX instructions, and the scopes that their names live in.


# PTX ISA, "Special Registers"; the pm family is left out on purpose.
_OF_THREE_AXES = "tid ntid ctaid nctaid clusterid nclusterid cluster_ctaid cluster_nctaid"
_OTHER_SPECIALS = (
    "laneid warpid nwarpid smid nsmid gridid clock clock64 clock_hi globaltimer globaltimer_lo "
    "globaltimer_hi lanemask_eq lanemask_le lanemask_lt lanemask_ge lanemask_gt dynamic_smem_size "
    "total_smem_size is_explicit_cluster cluster_ctarank cluster_nctarank aggr_smem_size "
    "current_graph_exec"
)
_SPECIALS = frozenset(
    [f"%{name}.{axis}" for name in _OF_THREE_AXES.split() for axis in "xyz"]
    + [f"%{name}" for name in _OTHER_SPECIALS.split()]
    + [f"%reserved_smem_offset_{n}" for n in ("begin", "end", "cap", "0", "1")]
    + [f"%envreg{n}" for n in range(32)]
)


class _Scope:
    """Names declared in a function; an inner `{ … }` may declare a name again.

    Every register of the function ends up in `registers` under a name of its own: `%tmp` declared
    in two blocks becomes `%tmp` and `%tmp#1`.
    """

    def __init__(self) -> None:
        self.registers: dict[str, PtxType] = {}
        self.vectors: dict[str, tuple[str, ...]] = {}  # a vector register's elements
        self._names: list[dict[str, str]] = [{}]
        self._used: dict[str, int] = {}

    def push(self) -> None:
        """Enters a `{`."""
        self._names.append({})

    def pop(self) -> None:
        """Leaves a `}`."""
        self._names.pop()

    def _unique(self, name: str) -> str:
        count = self._used.get(name, 0)
        self._used[name] = count + 1
        unique = f"{name}#{count}" if count else name
        self._names[-1][name] = unique
        return unique

    def declare_register(self, name: str, kind: PtxType, vector: int = 1) -> None:
        """Declares a register, or a vector of them (`.v2`, `.v4`), in the innermost scope."""
        unique = self._unique(name)
        if vector == 1:
            self.registers[unique] = kind
            return
        self.vectors[unique] = tuple(f"{unique}.{part}" for part in "xyzw"[:vector])
        self.registers.update(dict.fromkeys(self.vectors[unique], kind))

    def declare_variable(self, variable: Variable, prefix: str = "") -> Variable:
        """Declares a variable in the innermost scope; returns it under its unique name.

        That begins with `prefix` where the name must be unique beyond this function.
        """
        unique = prefix + self._unique(variable.name)
        self._names[-1][variable.name] = unique
        return replace(variable, name=unique)

    def resolve(self, name: str) -> str:
        """The unique name that `name` stands for here, or `name` itself.

        A name whose scope has ended stands for nothing: what comes back is declared nowhere.
        """
        for names in reversed(self._names):
            if name in names:
                return names[name]
        return f"{name}#" if name in self._used else name

    def register(self, token: Token) -> Register:
        """The register that `token` names; `PtxSyntaxError` where there is none."""
        name = self.resolve(token.text)
        if name not in self.registers:
            raise PtxSyntaxError(token.line, f"{token.text} is not a register declared here.")
        return Register(name)


def _parse_operand(cursor: Cursor, scope: _Scope) -> Operand:
    """The operand at the cursor, `p|q` pairs included."""
    operand = _single(cursor, scope)
    if cursor.accept("|"):
        return Pair(operand, _single(cursor, scope))
    return operand


def _single(cursor: Cursor, scope: _Scope) -> Operand:
    token = cursor.peek()
    if cursor.accept("["):
        return _address(cursor, scope)
    if cursor.accept("{"):
        return Vector(_listed_operands(cursor, scope, "}"))
    if cursor.accept("("):
        return Group(_listed_operands(cursor, scope, ")"))
    if cursor.accept("!"):
        return Negated(_single(cursor, scope))
    if token.kind == "number" or token.text == "-":
        return _immediate(cursor)
    return _named(cursor, scope)


def _listed_operands(cursor: Cursor, scope: _Scope, closing: str) -> tuple[Operand, ...]:
    elements: list[Operand] = []
    while not cursor.accept(closing):
        elements.append(_parse_operand(cursor, scope))
        if cursor.peek().text != closing:
            cursor.expect(",")
    return tuple(elements)


def _immediate(cursor: Cursor) -> Immediate:
    negative = cursor.accept("-")
    token = cursor.take("number")
    value = number(token)
    prefix = token.text[:2].lower()
    if prefix in ("0f", "0d"):
        bits = 32 if prefix == "0f" else 64
        return Immediate(value ^ (1 << (bits - 1)) if negative else value, bits)  # type: ignore[operator]
    return Immediate(-value if negative else value)


def _named(cursor: Cursor, scope: _Scope) -> Operand:
    token = cursor.take("word")
    if token.text in _SPECIALS:
        return Special(token.text)
    if token.text == "WARP_SZ":
        return Immediate(32)
    name = scope.resolve(token.text)
    if name in scope.registers:
        return Register(name)
    if name in scope.vectors:
        return Vector(tuple(Register(element) for element in scope.vectors[name]))
    if f"{token.text}.x" in _SPECIALS:  # `mov.v4.u32 v, %tid`: the fourth element is 0
        axes = (Special(f"{token.text}.{axis}") for axis in "xyz")
        return Vector((*axes, Immediate(0)))
    part = _part(token, scope)
    if part is not None:
        return part
    if token.text.startswith("%"):
        raise PtxSyntaxError(token.line, f"{token.text} is not a register declared here.")
    if token.text == "_":
        return Symbol("_")
    return Symbol(name, _offset(cursor))


def _part(token: Token, scope: _Scope) -> Operand | None:
    """An element of a vector register (`v.x`, `v.r`), or a part of a register (`a.b0`, `a.h1`)."""
    base, _, part = token.text.rpartition(".")
    name = scope.resolve(base)
    if name in scope.vectors and part in (*"xyzw", *"rgba"):
        return Register(f"{name}.{'xyzw'['xyzwrgba'.index(part) % 4]}")
    if name in scope.registers and part in ("b0", "b1", "b2", "b3", "h0", "h1"):
        return Selected(Register(name), part)
    return None


def _offset(cursor: Cursor) -> int:
    total = 0
    while cursor.peek().text in ("+", "-"):
        sign = -1 if cursor.take().text == "-" else 1
        total += sign * cursor.integer_or_bits()
    return total


def _address(cursor: Cursor, scope: _Scope) -> Address:
    token = cursor.peek()
    base: Register | Symbol | None = None
    if token.kind == "word":
        cursor.take()
        name = scope.resolve(token.text)
        base = Register(name) if name in scope.registers else Symbol(name)
        offset = _offset(cursor)
    else:
        offset = cursor.integer_or_bits() + _offset(cursor)
    coordinates: list[Operand] = []
    while cursor.accept(","):
        coordinates.append(_parse_operand(cursor, scope))
    cursor.expect("]")
    return Address(base, offset, tuple(coordinates))


_NOT_32 = (
    "is not supported: use 64; NVIDIA's assembler takes no other for compute capability 9.0, which "
    "is emulated"
)
_LINKAGE = {".visible", ".extern", ".weak", ".common"}
# Performance directives that change nothing we model (PTX ISA, "Performance-Tuning Directives").
_TUNING = (
    ".minnctapersm .maxnctapersm .maxnreg .noreturn .pragma .explicitcluster .maxclusterrank "
    ".abi_preserve .unique .abi_preserve_control .blocksareclusters"
)
_IGNORED_IN_FUNCTION = frozenset(_TUNING.split())
_BLOCKS = (".maxntid", ".reqntid", ".reqnctapercluster")
_KEPT = 1 << 19  # characters of code up to which a module is kept for the next launch
_MOST_LINES = 1 << 31  # of a source file
_MOST_REGISTERS = 1 << 17  # of one declaration


def parse(text: str, own_lines: bool = False) -> Module:
    """Parses PTX `text`; with `own_lines` its instructions stand in its own lines, whatever `.loc`.

    Raises `PtxSyntaxError` for text that is not PTX and `UnsupportedPtx` for a directive that this
    program does not know, both with the line.
    """
    return _Parser(text).module(own_lines)


def is_kept(text: str) -> bool:
    """Whether `kept` keeps the module of a text: its code is fifteen times as large as one."""
    debug = text.find(".section")  # megabytes of headers' variables, no part of the module
    return (len(text) if debug < 0 else debug) <= _KEPT


def kept(text: str, own_lines: bool = False) -> Module:
    """As `parse`; a text that comes again gives the same module, unless its code is large."""
    with uncollected():
        return (_kept if is_kept(text) else parse)(text, own_lines)


_kept = lru_cache(maxsize=4)(parse)  # two launches side by side, in both builds


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.code = without_sections(text)
        self.cursor = Cursor(list(tokens(self.code)))
        self.version = self.target = ""
        self.functions: dict[str, Function] = {}
        self.variables: dict[str, Variable] = {}
        self.instructions: list[Instruction] = []
        self.labels = _Labels()
        self.files: dict[int, str] = {}
        self.position = SourcePosition(0, 0)
        self.own_file = 0  # the file that the function stands in
        self.callers: dict[SourcePosition, SourcePosition] = {}
        self.used_bytes: dict[int, int] = {}

    # -- module scope -----------------------------------------------------------------------

    def module(self, own_lines: bool) -> Module:
        while not self.cursor.at_end():
            self._directive()
        if own_lines or not any(i.position.line for i in self.instructions):
            self.instructions = [
                replace(i, position=SourcePosition(1, i.ptx_line)) for i in self.instructions
            ]
        return Module(
            self.version,
            self.target,
            MappingProxyType(self.functions),
            MappingProxyType(self.variables),
            tuple(self.instructions),
            MappingProxyType(self.labels.pcs),
            MappingProxyType(self.labels.branch_targets),
            MappingProxyType(self.files),
            self.text,
            MappingProxyType(self.used_bytes),
        )

    def _directive(self) -> None:
        cursor = self.cursor
        token = cursor.peek()
        word = token.text
        if word == ".version":
            cursor.take()
            self.version = cursor.take().text
        elif word == ".target":
            cursor.take()
            self.target = cursor.rest_of_line(token.line)
        elif word == ".address_size":
            if cursor.rest_of_line(token.line).endswith(" 32"):
                raise UnsupportedPtx(token.line, ".address_size 32", _NOT_32)
        elif word == ".pragma":
            cursor.skip_statement()
        elif word == ".file":
            self._file()
        elif word == ".section":
            raise PtxSyntaxError(token.line, "a .section without its { … }.")
        elif word == ".loc":
            self._loc()
        elif word == ".alias":
            raise UnsupportedPtx(token.line, cursor.rest_of_line(token.line))
        elif cursor.peek(1).text == ":":  # a label of debug information
            cursor.take()
            cursor.take()
        else:
            self._declaration()

    def _file(self) -> None:
        line = self.cursor.take().line
        number = self.cursor.integer()
        name = self.cursor.take("string").text
        self.cursor.rest_of_line(line)
        self.files[number] = _plain(name[1:-1])

    def _loc(self) -> None:
        line = self.cursor.take().line
        numbers = [self.cursor.integer() for _ in range(2)]
        column = self.cursor.integer() if self.cursor.peek().kind == "number" else 0
        if max(*numbers, column) >= _MOST_LINES:
            raise PtxSyntaxError(line, "a .loc with a number too large for a line.")
        here = SourcePosition(numbers[0], numbers[1], column)
        self.own_file = self.own_file or here.file
        called = re.search(r"inlined_at (\d+) (\d+) (\d+)", self.cursor.rest_of_line(line))
        self.callers.pop(here, None)
        if called:
            caller = (min(int(number), _MOST_LINES) for number in called.groups())
            self.callers[here] = SourcePosition(*caller)
        self.position = self._in_own_file(here)

    def _in_own_file(self, here: SourcePosition) -> SourcePosition:
        """Where the function itself calls what stands in another file, as far as `.loc` says.

        The position that `inlined_at` gives is that of a `.loc` before, which may have one, too.
        """
        call = here
        for _ in range(len(self.callers)):
            if call.file == self.own_file or call not in self.callers:
                break
            call = self.callers[call]
        return call if call.file == self.own_file else here

    def _declaration(self) -> None:
        cursor = self.cursor
        while cursor.peek().text in _LINKAGE:
            cursor.take()
        token = cursor.peek()
        if token.text in (".entry", ".func"):
            self._function()
        elif token.text in _SPACES:
            for found in _variables(cursor):
                self.variables[found.name] = found
        else:
            raise PtxSyntaxError(token.line, f"expected a directive, found {token.text!r}.")

    # -- functions --------------------------------------------------------------------------

    def _function(self) -> None:
        cursor = self.cursor
        is_entry = cursor.take().text == ".entry"
        returns = _parameters(cursor) if not is_entry and cursor.peek().text == "(" else ()
        name = cursor.take("word").text
        arguments = _parameters(cursor) if cursor.peek().text == "(" else ()
        blocks: dict[str, tuple[int, ...]] = {}
        while cursor.peek().text in (*_IGNORED_IN_FUNCTION, *_BLOCKS):
            directive = cursor.take()
            if directive.text in _BLOCKS:
                blocks[directive.text] = self._sizes()
                continue
            while cursor.peek().text not in ("{", ";") and cursor.peek().line == directive.line:
                cursor.take()
        first = len(self.instructions)
        scope = _Scope()
        found: list[Variable] = []
        if not cursor.accept(";"):
            cursor.expect("{")
            self.position = SourcePosition(0, 0)  # a function without `.loc` has no lines
            self.own_file = 0
            for formal in (*returns, *arguments):
                if formal.space == "reg":
                    length = formal.nbytes // formal.type.nbytes
                    scope.declare_register(formal.name, formal.type, length)
            self._body(name, scope, found)
            self.labels.resolve(self.instructions, first)
            self._end(first)
        elif name in self.functions:
            return  # a declaration after the definition adds nothing
        self.functions[name] = Function(
            name,
            is_entry,
            arguments,
            returns,
            MappingProxyType(scope.registers),
            tuple(found),
            first,
            len(self.instructions),
            *(blocks.get(d, ()) for d in _BLOCKS),
        )

    def _sizes(self) -> tuple[int, ...]:
        """`256` or `16, 16, 1`."""
        sizes = [self.cursor.integer()]
        while self.cursor.accept(","):
            sizes.append(self.cursor.integer())
        return tuple(sizes)

    def _end(self, first: int) -> None:
        """A function that may run into its closing brace returns there."""
        end = len(self.instructions)
        last = self.instructions[-1] if end > first else None
        ended = last and last.guard is None and not opcode_of(last).falls_through
        if not ended or end in self.labels.reached(self.instructions, first):
            line = self.cursor.previous().line
            self.instructions.append(
                Instruction(end, "ret", (), (), None, False, line, "}", self.position)
            )

    def _body(self, function: str, scope: _Scope, found: list[Variable]) -> None:
        """Statements up to the closing brace; braces inside open scopes of their own."""
        cursor = self.cursor
        depth = 1
        self.labels.push()
        while depth:
            check()
            token = cursor.peek()
            if token.kind == "end":
                raise PtxSyntaxError(token.line, "the function's closing } is missing.")
            if token.text == "{":
                cursor.take()
                scope.push()
                self.labels.push()
                depth += 1
            elif token.text == "}":
                cursor.take()
                scope.pop()
                self.labels.pop()
                depth -= 1
            elif token.text.startswith("."):
                self._directive_in_body(function, scope, found)
            elif cursor.peek(1).text == ":":
                self._label()
            elif token.text == ";":
                cursor.take()
            else:
                self.labels.note(len(self.instructions))
                self.instructions.append(self._instruction(scope))

    def _label(self) -> None:
        """`name:`, or a list that bears one: `name: .branchtargets a, b;`"""
        cursor = self.cursor
        name = cursor.take().text
        cursor.expect(":")
        if cursor.peek().text == ".branchtargets":
            cursor.take()
            targets = [cursor.take("word").text]
            while cursor.accept(","):
                targets.append(cursor.take("word").text)
            cursor.expect(";")
            self.labels.define_targets(name, targets)
        elif cursor.peek().text in (".callprototype", ".calltargets"):
            while not cursor.accept(";"):
                cursor.take()
        else:
            self.labels.define(name, len(self.instructions))

    def _directive_in_body(self, function: str, scope: _Scope, found: list[Variable]) -> None:
        cursor = self.cursor
        token = cursor.peek()
        if token.text == ".loc":
            self._loc()
        elif token.text == ".reg":
            self._registers(scope)
        elif token.text == ".param":
            cursor.take()
            align, kind, vector = _alignment_and_type(cursor)
            parameter = _variable(cursor, "param", align, kind, vector)
            cursor.expect(";")
            found.append(scope.declare_variable(parameter))
        elif token.text in _SPACES:
            for declared in _variables(cursor):
                if declared.space in ("global", "const"):  # one for all, as at module scope
                    one = scope.declare_variable(declared, f"{function}::")
                    self.variables[one.name] = one
                else:
                    found.append(scope.declare_variable(declared))
        elif token.text == ".pragma":
            # Which bytes of the next load matter, bit 0 the first.
            if mask := re.search(r"used_bytes_mask (\w+)", cursor.skip_statement()):
                self.used_bytes[len(self.instructions)] = int(mask[1], 0)
        else:
            raise UnsupportedPtx(token.line, cursor.rest_of_line(token.line))

    def _registers(self, scope: _Scope) -> None:
        """`.reg .f32 %f<13>, %x;`"""
        cursor = self.cursor
        cursor.take()
        _, kind, vector = _alignment_and_type(cursor)
        while True:
            name = cursor.take("word").text
            if cursor.accept("<"):
                line, count = cursor.peek().line, cursor.integer()
                if count > _MOST_REGISTERS:
                    raise PtxSyntaxError(line, f"{count:,} registers are more than we can hold.")
                for i in range(count):
                    scope.declare_register(f"{name}{i}", kind, vector)
                cursor.expect(">")
            else:
                scope.declare_register(name, kind, vector)
            if cursor.take().text == ";":
                return

    def _instruction(self, scope: _Scope) -> Instruction:
        cursor = self.cursor
        start = cursor.peek()
        guard, negated = None, False
        if cursor.accept("@"):
            negated = cursor.accept("!")
            guard = scope.register(cursor.take("word"))
        word = cursor.take("word")
        opcode, *modifiers = word.text.split(".")
        operands = []
        while not cursor.accept(";"):
            operands.append(_parse_operand(cursor, scope))
            if cursor.accept(","):
                if cursor.peek().text == ";":
                    raise PtxSyntaxError(cursor.peek().line, "an operand is missing before the ;.")
            elif cursor.peek().text != ";" and opcode != "call":
                cursor.expect(",")
        has_places = "tensor" in modifiers or (
            opcode in OPCODES and OPCODES[opcode].kind == "texture"
        )
        if not has_places and any(isinstance(o, Address) and o.coordinates for o in operands):
            raise UnsupportedPtx(start.line, self._text_from(start), "has a texture's address")
        return Instruction(
            len(self.instructions),
            opcode,
            tuple(modifiers),
            tuple(operands),
            guard,
            negated,
            start.line,
            self._text_from(start),
            self.position,
        )

    def _text_from(self, start: Token) -> str:
        """The statement that has just ended, in one line."""
        end = self.cursor.previous().start + 1
        return " ".join(self.code[start.start : end].split())


def _plain(name: str) -> str:
    """A file's name without the compiler's escapes: a backslash before octal bytes, and marks."""
    raw = re.sub(
        rb"\\([0-7]{3}|.)",
        lambda m: bytes([int(m[1], 8) & 0xFF]) if len(m[1]) == 3 else m[1],
        name.encode("utf-8", "surrogatepass"),
    )
    return raw.decode("utf-8", "replace")


# PTX text without what a launched kernel never reaches: a file may have thousands of functions.


_LINKAGES = ("", ".visible ", ".weak ")
_END = "\n}"
_NAME = re.compile(r"\s*(?:\([^()]*\)\s*)?([\w$.]+)")  # behind .entry or .func
_WORD = re.compile(r"[\w$.]+")
_COMMENT = re.compile(r"//[^\n]*")


@dataclass(frozen=True)
class _Function:
    """A definition, or a prototype, which has no body: characters `start` to `end`."""

    name: str
    start: int
    end: int
    is_entry: bool
    has_body: bool


def without_unreached(text: str, kernel: str) -> str:
    """The text with definitions blanked out, line numbers kept, that `kernel` never comes to.

    Those are all other entries, and the functions that neither it names, nor what it names, nor
    anything outside all functions. Long texts are searched without holding other threads up; a
    definition that does not end as the compiler's do is left as it is.
    """
    code_end = text.find("\n\t.section")
    functions = list(_functions(text, code_end if code_end >= 0 else len(text)))
    bodies = {f.name: f for f in functions if f.has_body}
    reached, waiting = set(), {kernel}
    at = 0
    for function in functions:
        waiting |= _words(text[at : function.start])
        at = function.end
    waiting |= _words(text[at:code_end] if code_end >= 0 else text[at:])
    while waiting:
        check()
        name = waiting.pop()
        if name in bodies and name not in reached:
            reached.add(name)
            waiting |= _words(text[bodies[name].start : bodies[name].end])
    kept: list[str] = []
    at = 0
    for function in functions:
        is_wanted = function.name == kernel if function.is_entry else function.name in reached
        if function.has_body and not is_wanted:
            newlines = "\n" * text.count("\n", function.start, function.end)
            kept += (text[at : function.start], newlines)
            at = function.end
    kept.append(text[at:])
    return "".join(kept)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(_COMMENT.sub("", text)))


def _functions(text: str, end: int) -> Iterator[_Function]:
    """The definitions and prototypes in front of `end`, in order."""
    at = 0
    nearest = {mark: text.find(mark, 0, end) for mark in (".entry ", ".func ")}
    while found := {place: mark for mark, place in nearest.items() if place >= 0}:
        check()
        place = min(found)
        mark = found[place]
        start = text.rfind("\n", 0, place) + 1
        name = _NAME.match(text, place + len(mark))
        if text[start:place] in _LINKAGES and name and start >= at:
            semicolon = text.find(";", name.end())
            is_prototype = 0 <= semicolon < text.find("{", name.end())
            stop = semicolon + 1 if is_prototype else _end(text, start)
            if stop > 0:
                yield _Function(name[1], start, stop, mark == ".entry ", not is_prototype)
                at = stop
        nearest[mark] = text.find(mark, max(at, place + 1), end)


def _end(text: str, start: int) -> int:
    """Where a definition ends: at a brace in the first column with which all are closed."""
    end, opened = start, 0
    while (found := text.find(_END, end)) >= 0:
        found += len(_END)
        opened += text.count("{", end, found) - text.count("}", end, found)
        if opened == 0:
            return found
        end = found
    return -1
