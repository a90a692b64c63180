"""Products and sums that the assembler fuses into one multiply-add.

PTX lets it fuse a `mul` and an `add` or `sub` that have no rounding modifier (PTX ISA, "Floating
Point Instructions"); ptxas does so where every use of the product, in its stretch of code, is such
a sum. Of a sum of two products the first operand's is fused. Read off the machine code that ptxas
13.0 made of some fifty patterns; an H200's results agree (`docs/counting.md`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from core.assembler.rewriting import Rewriting, jump_targets
from core.ptx.ast import Function, Instruction, Module, Register
from core.ptx.dataflow import reads, results
from core.ptx.opcodes import opcode_of
from core.ptx.types import PtxType

_TYPES = frozenset({"f16", "f16x2", "bf16", "bf16x2", "f32", "f64"})


def contracted(module: Module) -> Module:
    """The module with those products and sums fused."""
    rewriting, targets = Rewriting(module), jump_targets(module)
    for function in module.functions.values():
        instructions = module.instructions[function.first_pc : function.end_pc]
        block: list[Instruction] = []
        outside = _read_by_blocks(instructions, targets)
        for block in _blocks(instructions, targets):
            _Block(function, block, outside, rewriting).contract()
    return rewriting.module()


def _blocks(
    instructions: tuple[Instruction, ...], targets: frozenset[int]
) -> Iterator[list[Instruction]]:
    block: list[Instruction] = []
    for instruction in instructions:
        if instruction.pc in targets and block:
            yield block
            block = []
        block.append(instruction)
        if opcode_of(instruction).ends_block:
            yield block
            block = []
    if block:
        yield block


def _read_by_blocks(
    instructions: tuple[Instruction, ...], targets: frozenset[int]
) -> dict[str, int]:
    """In how many blocks a register is read."""
    found: dict[str, int] = {}
    for block in _blocks(instructions, targets):
        for name in {name for instruction in block for name in reads(instruction)}:
            found[name] = found.get(name, 0) + 1
    return found


@dataclass
class _Product:
    """A `mul`, and the sums that use it: places in the block."""

    place: int
    register: str
    uses: list[int]


class _Block:
    def __init__(
        self,
        function: Function,
        block: list[Instruction],
        read_by: dict[str, int],
        rewriting: Rewriting,
    ) -> None:
        self._function, self._code, self._read_by = function, block, read_by
        self._rewriting = rewriting

    def contract(self) -> None:
        """Fuses what can be fused. Products go from the last to the first, as ptxas has it."""
        products = {p.place: p for place in range(len(self._code)) if (p := self._product(place))}
        for product in reversed(tuple(products.values())):
            if not all(self._wins(product, use, products) for use in product.uses):
                del products[product.place]
        for number, product in enumerate(products.values()):
            for use in product.uses:
                self._fuse(product, use, number)
            self._rewriting.replace(self._code[product.place].pc, ())

    def _product(self, place: int) -> _Product | None:
        """The product at a place, if all its uses are sums in this block."""
        mul = self._code[place]
        if mul.opcode != "mul" or mul.guard is not None or _kind(mul) is None:
            return None
        if not isinstance(mul.operands[0], Register):
            return None
        name, factors, uses = mul.operands[0].name, reads(mul), []
        for later in range(place + 1, len(self._code)):
            instruction = self._code[later]
            if name in reads(instruction):
                if not self._sum_of(instruction, name, mul):
                    return None
                uses.append(later)
            if name in results(instruction):
                break
            if factors & results(instruction):
                if self._is_used_later(name, later, place):
                    return None
                break
        else:
            if self._is_used_later(name, len(self._code), place):
                return None
        return _Product(place, name, uses) if uses else None

    def _is_used_later(self, name: str, after: int, place: int) -> bool:
        """Whether the product at `place` may be read beyond the use at `after`."""
        rest = (*self._code[after + 1 :], *self._code[: place + 1])  # this may be a loop
        return self._read_by.get(name, 0) > 1 or any(name in reads(i) for i in rest)

    @staticmethod
    def _sum_of(instruction: Instruction, name: str, mul: Instruction) -> bool:
        if instruction.opcode not in ("add", "sub") or _kind(instruction) != _kind(mul):
            return False
        if ("ftz" in instruction.modifiers) != ("ftz" in mul.modifiers):
            return False
        return sum(operand == Register(name) for operand in instruction.operands[1:]) == 1

    def _wins(self, product: _Product, use: int, products: dict[int, _Product]) -> bool:
        """Whether no other product is fused with that sum."""
        first = self._code[use].operands[1]
        if first == Register(product.register):
            return True
        return not any(first == Register(p.register) and use in p.uses for p in products.values())

    def _fuse(self, product: _Product, use: int, number: int) -> None:
        mul, total = self._code[product.place], self._code[use]
        kind = _kind(mul)
        assert kind is not None
        result, left, right = total.operands
        factor, other = mul.operands[1:]
        first = left == Register(product.register)
        addend, extra = (right if first else left), []
        if total.opcode == "sub":
            name = f"{product.register}#negated{number}"
            self._rewriting.declare(self._function.name, name, self._type(mul))
            negated = addend if first else factor
            extra = [
                replace(total, opcode="neg", modifiers=(kind,), operands=(Register(name), negated))
            ]
            if first:
                addend = Register(name)
            else:
                factor = Register(name)
        kept = tuple(m for m in total.modifiers if m in ("ftz", "sat"))
        fused = replace(
            total,
            opcode="fma",
            modifiers=("rn", *kept, kind),
            operands=(result, factor, other, addend),
        )
        self._rewriting.replace(total.pc, (*extra, fused))

    def _type(self, mul: Instruction) -> PtxType:
        destination = mul.operands[0]
        assert isinstance(destination, Register)
        return self._function.registers[destination.name]


def _kind(instruction: Instruction) -> str | None:
    """The type of an arithmetic instruction that leaves its rounding open."""
    allowed = {"ftz", "sat"} if instruction.opcode in ("add", "sub") else {"ftz"}
    *others, kind = instruction.modifiers
    return kind if kind in _TYPES and set(others) <= allowed else None
