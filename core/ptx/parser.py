"""PTX tokens to a `Module`: directives, declarations and labels; statements are in `operands`."""

from __future__ import annotations

import re
from dataclasses import replace
from types import MappingProxyType

from core.cancelling import check
from core.errors import PtxSyntaxError, UnsupportedPtx
from core.ptx.ast import Function, Instruction, Module, SourcePosition, Variable
from core.ptx.cursor import Cursor
from core.ptx.declarations import SPACES, alignment_and_type, parameters, variable, variables
from core.ptx.labels import Labels
from core.ptx.lexer import Token, tokens, without_sections
from core.ptx.operands import Scope, parse_operand

_LINKAGE = {".visible", ".extern", ".weak", ".common"}
# Performance directives that change nothing we model (PTX ISA, "Performance-Tuning Directives").
_IGNORED_IN_FUNCTION = {
    ".maxntid", ".reqntid", ".minnctapersm", ".maxnctapersm", ".maxnreg", ".noreturn", ".pragma",
    ".explicitcluster", ".maxclusterrank", ".reqnctapercluster", ".abi_preserve", ".unique",
    ".abi_preserve_control", ".blocksareclusters",
}  # fmt: skip
TEXTURES = frozenset({"tex", "tld4", "suld", "sust", "sured"})  # kept without their operands
_ENDS = ("ret", "exit", "bra", "brx", "trap")
_MOST_LINES = 1 << 31  # of a source file
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
            if cursor.rest_of_line(token.line).endswith(" 32"):
                raise UnsupportedPtx(token.line, ".address_size 32", "is not supported: use 64")
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
        if max(*numbers, column) >= _MOST_LINES:
            raise PtxSyntaxError(line, "a .loc with a number too large for a line.")
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
        elif token.text in SPACES:
            for found in variables(cursor, extern=".extern" in linkage):
                self.variables[found.name] = found
        else:
            raise PtxSyntaxError(token.line, f"expected a directive, found {token.text!r}.")

    # -- functions --------------------------------------------------------------------------

    def _function(self, *, extern: bool) -> None:
        cursor = self.cursor
        is_entry = cursor.take().text == ".entry"
        returns = parameters(cursor) if not is_entry and cursor.peek().text == "(" else ()
        name = cursor.take("word").text
        arguments = parameters(cursor) if cursor.peek().text == "(" else ()
        while cursor.peek().text in _IGNORED_IN_FUNCTION:
            line = cursor.take().line
            while cursor.peek().text not in ("{", ";") and cursor.peek().line == line:
                cursor.take()
        first = len(self.instructions)
        scope = Scope()
        found: list[Variable] = []
        if not cursor.accept(";"):
            cursor.expect("{")
            self.position = SourcePosition(0, 0)  # a function without `.loc` has no lines
            for formal in (*returns, *arguments):
                if formal.space == "reg":
                    scope.declare_register(formal.name, formal.type)
            self._body(scope, found)
            self.labels.resolve(self.instructions, first)
            self._end(first)
        elif name in self.functions:
            return  # a declaration after the definition adds nothing
        self.functions[name] = Function(
            name, is_entry, arguments, returns, MappingProxyType(scope.registers),
            tuple(found), first, len(self.instructions),
        )  # fmt: skip

    def _end(self, first: int) -> None:
        """A function that may run into its closing brace returns there."""
        end = len(self.instructions)
        last = self.instructions[-1] if end > first else None
        ended = last is not None and last.guard is None and last.opcode in _ENDS
        if not ended or end in self.labels.reached(self.instructions, first):
            line = self.cursor.previous().line
            self.instructions.append(
                Instruction(end, "ret", (), (), None, False, line, "}", self.position)
            )

    def _body(self, scope: Scope, found: list[Variable]) -> None:
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
                self._directive_in_body(scope, found)
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

    def _directive_in_body(self, scope: Scope, found: list[Variable]) -> None:
        cursor = self.cursor
        token = cursor.peek()
        if token.text == ".loc":
            self._loc()
        elif token.text == ".reg":
            self._registers(scope)
        elif token.text == ".param":
            cursor.take()
            align, kind, vector = alignment_and_type(cursor)
            parameter = variable(cursor, "param", align, kind, vector)
            cursor.expect(";")
            found.append(scope.declare_variable(parameter))
        elif token.text in SPACES:
            found.extend(scope.declare_variable(v) for v in variables(cursor, extern=False))
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
        _, kind, vector = alignment_and_type(cursor)
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
        if opcode in TEXTURES:  # their operands have forms of their own
            cursor.skip_statement()
        while opcode not in TEXTURES and not cursor.accept(";"):
            operands.append(parse_operand(cursor, scope))
            if cursor.accept(","):
                if cursor.peek().text == ";":
                    raise PtxSyntaxError(cursor.peek().line, "an operand is missing before the ;.")
            elif cursor.peek().text != ";" and opcode != "call":
                cursor.expect(",")
        return Instruction(
            len(self.instructions), opcode, tuple(modifiers), tuple(operands), guard, negated,
            start.line, self._text_from(start), self.position,
        )  # fmt: skip

    def _text_from(self, start: Token) -> str:
        """The statement that has just ended, in one line."""
        end = self.cursor.previous().start + 1
        return " ".join(self.code[start.start : end].split())
