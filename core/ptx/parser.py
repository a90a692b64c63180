"""PTX tokens to a `Module`: directives, declarations and labels; statements are in `operands`."""

from __future__ import annotations

import re
from dataclasses import replace
from types import MappingProxyType

from core.errors import PtxSyntaxError, UnsupportedPtx
from core.ptx.ast import Function, Instruction, Module, Relocation, SourcePosition, Variable
from core.ptx.cursor import Cursor
from core.ptx.initialisers import parse_initialiser
from core.ptx.labels import Labels
from core.ptx.lexer import tokens, without_sections
from core.ptx.operands import Scope, parse_operand
from core.ptx.types import TYPES, PtxType

_LINKAGE = {".visible", ".extern", ".weak", ".common"}
_SPACES = {".global": "global", ".const": "const", ".shared": "shared", ".local": "local"}
# Performance directives that change nothing we model (PTX ISA, "Performance-Tuning Directives").
_IGNORED_IN_FUNCTION = {
    ".maxntid", ".reqntid", ".minnctapersm", ".maxnctapersm", ".maxnreg", ".noreturn", ".pragma",
    ".explicitcluster", ".maxclusterrank", ".reqnctapercluster", ".abi_preserve", ".unique",
    ".abi_preserve_control", ".blocksareclusters",
}  # fmt: skip
_MOST_REGISTERS = 1 << 17  # of one declaration


def parse(text: str) -> Module:
    """Parses PTX `text`.

    Raises `PtxSyntaxError` for text that is not PTX and `UnsupportedPtx` for a directive that this
    program does not know, both with the line.
    """
    return _Parser(text).module()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.code = without_sections(text)
        self.cursor = Cursor(list(tokens(self.code)))
        self.version = self.target = ""
        self.functions: dict[str, Function] = {}
        self.variables: dict[str, Variable] = {}
        self.instructions: list[Instruction] = []
        self.labels = Labels()
        self.files: dict[int, str] = {}
        self.position = SourcePosition(0, 0)
        self.used_bytes: dict[int, int] = {}

    # -- module scope -----------------------------------------------------------------------

    def module(self) -> Module:
        while not self.cursor.at_end():
            self._directive()
        if not any(i.position.line for i in self.instructions):  # the PTX itself is the source
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
            cursor.rest_of_line(token.line)
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
        else:
            self._declaration()

    def _file(self) -> None:
        line = self.cursor.take().line
        number = self.cursor.integer()
        name = self.cursor.take("string").text
        self.cursor.rest_of_line(line)
        self.files[number] = name[1:-1].replace("\\\\", "\\")

    def _loc(self) -> None:
        line = self.cursor.take().line
        numbers = [self.cursor.integer() for _ in range(2)]
        column = self.cursor.integer() if self.cursor.peek().kind == "number" else 0
        self.cursor.rest_of_line(line)  # function_name, inlined_at …
        self.position = SourcePosition(numbers[0], numbers[1], column)

    def _declaration(self) -> None:
        cursor = self.cursor
        linkage = set()
        while cursor.peek().text in _LINKAGE:
            linkage.add(cursor.take().text)
        token = cursor.peek()
        if token.text in (".entry", ".func"):
            self._function(extern=".extern" in linkage)
        elif token.text in _SPACES:
            for variable in self._variables(extern=".extern" in linkage):
                self.variables[variable.name] = variable
        else:
            raise PtxSyntaxError(token.line, f"expected a directive, found {token.text!r}.")

    # -- variables --------------------------------------------------------------------------

    def _variables(self, *, extern: bool) -> list[Variable]:
        """`.space .align N .type name[dims] = {…}, …;`"""
        cursor = self.cursor
        space = _SPACES[cursor.take().text]
        align, kind, vector = self._alignment_and_type()
        found = []
        while True:
            found.append(self._variable(space, align, kind, vector, extern))
            if cursor.take().text == ";":
                return found

    def _alignment_and_type(self) -> tuple[int, PtxType, int]:
        cursor = self.cursor
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
                return self._pointer_attributes(align), kind, vector
            elif token.text not in (".ptr", ".global", ".const", ".shared", ".local"):
                raise UnsupportedPtx(token.line, token.text)

    def _pointer_attributes(self, align: int) -> int:
        """`.ptr .space .align N` after a parameter's type: of what is pointed to, not of it."""
        cursor = self.cursor
        while cursor.peek().text in (".ptr", ".global", ".const", ".shared", ".local", ".align"):
            if cursor.take().text == ".align":
                cursor.take("number")
        return align

    def _variable(
        self, space: str, align: int, kind: PtxType, vector: int, extern: bool
    ) -> Variable:
        cursor = self.cursor
        name = cursor.take("word").text
        count, unsized = vector, False
        while cursor.accept("["):
            if cursor.accept("]"):
                unsized = True
                continue
            count *= cursor.integer()
            cursor.expect("]")
        initial: bytes | None = None
        relocations: tuple[Relocation, ...] = ()
        if cursor.accept("="):
            initial, relocations = parse_initialiser(cursor, kind, 0 if unsized else count)
        nbytes = 0 if unsized and initial is None else count * kind.nbytes
        if initial is not None and unsized:
            nbytes = len(initial)
        return Variable(
            name, space, kind, nbytes, align or kind.nbytes, initial, extern, relocations
        )

    # -- functions --------------------------------------------------------------------------

    def _function(self, *, extern: bool) -> None:
        cursor = self.cursor
        is_entry = cursor.take().text == ".entry"
        returns = self._parameters() if not is_entry and cursor.peek().text == "(" else ()
        name = cursor.take("word").text
        parameters = self._parameters() if cursor.peek().text == "(" else ()
        while cursor.peek().text in _IGNORED_IN_FUNCTION:
            line = cursor.take().line
            while cursor.peek().text not in ("{", ";") and cursor.peek().line == line:
                cursor.take()
        first = len(self.instructions)
        scope = Scope()
        variables: list[Variable] = []
        if not cursor.accept(";"):
            cursor.expect("{")
            self.position = SourcePosition(0, 0)  # a function without `.loc` has no lines
            for variable in (*returns, *parameters):
                if variable.space == "reg":
                    scope.declare_register(variable.name, variable.type)
            self._body(scope, variables)
            self.labels.resolve(self.instructions, first)
        elif name in self.functions:
            return  # a declaration after the definition adds nothing
        self.functions[name] = Function(
            name, is_entry, parameters, returns, MappingProxyType(scope.registers),
            tuple(variables), first, len(self.instructions),
        )  # fmt: skip

    def _parameters(self) -> tuple[Variable, ...]:
        cursor = self.cursor
        cursor.expect("(")
        found: list[Variable] = []
        while not cursor.accept(")"):
            token = cursor.take("word")
            if token.text not in (".param", ".reg"):
                raise PtxSyntaxError(token.line, f"expected .param, found {token.text!r}.")
            align, kind, vector = self._alignment_and_type()
            found.append(self._variable(token.text[1:], align, kind, vector, extern=False))
            cursor.accept(",")
        return tuple(found)

    def _body(self, scope: Scope, variables: list[Variable]) -> None:
        """Statements up to the closing brace; braces inside open scopes of their own."""
        cursor = self.cursor
        depth = 1
        self.labels.push()
        while depth:
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
                self._directive_in_body(scope, variables)
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

    def _directive_in_body(self, scope: Scope, variables: list[Variable]) -> None:
        cursor = self.cursor
        token = cursor.peek()
        if token.text == ".loc":
            self._loc()
        elif token.text == ".reg":
            self._registers(scope)
        elif token.text == ".param":
            cursor.take()
            align, kind, vector = self._alignment_and_type()
            variable = self._variable("param", align, kind, vector, extern=False)
            cursor.expect(";")
            variables.append(scope.declare_variable(variable))
        elif token.text in _SPACES:
            variables.extend(scope.declare_variable(v) for v in self._variables(extern=False))
        elif token.text == ".pragma":
            self._pragma(cursor.skip_statement())
        else:
            raise UnsupportedPtx(token.line, cursor.rest_of_line(token.line))

    def _pragma(self, text: str) -> None:
        """`.pragma "used_bytes_mask N"`: which bytes of the next load matter, bit 0 the first."""
        found = re.search(r"used_bytes_mask (\w+)", text)
        if found:
            self.used_bytes[len(self.instructions)] = int(found[1], 0)

    def _registers(self, scope: Scope) -> None:
        """`.reg .f32 %f<13>, %x;`"""
        cursor = self.cursor
        cursor.take()
        _, kind, vector = self._alignment_and_type()
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

    def _instruction(self, scope: Scope) -> Instruction:
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
            operands.append(parse_operand(cursor, scope))
            if cursor.peek().text != ";" and not cursor.accept(",") and opcode != "call":
                cursor.expect(",")
        end = cursor.previous().start + 1
        return Instruction(
            len(self.instructions), opcode, tuple(modifiers), tuple(operands), guard, negated,
            start.line, " ".join(self.code[start.start : end].split()), self.position,
        )  # fmt: skip
