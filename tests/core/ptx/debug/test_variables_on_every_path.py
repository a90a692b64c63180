"""Every variable's place holds its value, along every path through a kernel."""

from __future__ import annotations

import re

import numpy as np

from core.ptx.ast import Immediate, Module, Register
from core.ptx.debug.model import lookup
from tests.core.ptx.debug.dwarf_kernels import (
    PATHS,
    info,
    module,
)


class Thread:
    """Executes the few opcodes of PATHS, to see what a register holds at a store."""

    def __init__(self, code: Module, n: int, values: list[float]) -> None:
        self.code, self.values = code, values
        self.registers: dict[str, float] = {}
        self.parameters = {"paths_param_0": 0, "paths_param_1": 1 << 20, "paths_param_2": n}

    def value(self, operand: object) -> float:
        if isinstance(operand, Immediate):
            if operand.float_bits:
                return float(np.array([operand.value], np.uint32).view(np.float32)[0])
            return operand.value
        assert isinstance(operand, Register)
        return self.registers[operand.name]

    def run(self) -> list[tuple[int, float, dict[str, float]]]:
        """(pc, stored value, registers) of each store."""
        stores, pc = [], self.code.functions["paths"].first_pc
        for _ in range(5000):
            i = self.code.instructions[pc]
            pc += 1
            if i.guard is not None and bool(self.registers[i.guard.name]) == i.guard_negated:
                continue
            if i.opcode in {"ret", "exit"}:
                return stores
            if i.opcode == "bra":
                pc = self.code.labels[i.operands[0].name]
            elif i.opcode == "st":
                stores.append((i.pc, self.value(i.operands[1]), dict(self.registers)))
            else:
                self.registers[i.operands[0].name] = self.result(i)
        raise AssertionError("does not end")

    def result(self, i: object) -> float:
        if i.opcode == "ld":
            if i.modifiers[0] == "param":
                return self.parameters[i.operands[1].base.name]
            address = self.registers[i.operands[1].base.name] + i.operands[1].offset
            return self.values[(int(address) - (1 << 20)) // 4]
        v = [self.value(operand) for operand in i.operands[1:]]
        relation = {
            "lt": lambda: v[0] < v[1], "gt": lambda: v[0] > v[1], "le": lambda: v[0] <= v[1],
            "ge": lambda: v[0] >= v[1], "eq": lambda: v[0] == v[1], "ne": lambda: v[0] != v[1],
        }  # fmt: skip
        operation = {
            "mov": lambda: v[0], "cvt": lambda: v[0], "not": lambda: not v[0],
            "add": lambda: v[0] + v[1], "sub": lambda: v[0] - v[1], "mul": lambda: v[0] * v[1],
            "div": lambda: int(v[0] / v[1]), "and": lambda: int(v[0]) & int(v[1]),
            "shl": lambda: int(v[0]) << int(v[1]),
        }  # fmt: skip
        return relation[i.modifiers[0]]() if i.opcode == "setp" else operation[i.opcode]()


def test_every_variable_holds_what_the_source_says_on_every_path() -> None:
    code, known = module(PATHS), info(PATHS).variables_of("paths")
    lines = PATHS.splitlines()
    reached = set()
    rng = np.random.default_rng(11)
    for n in range(-1, 8):
        values = [float(v) for v in rng.normal(size=64).round(3)]
        for pc, stored, registers in Thread(code, n, values).run():
            text = lines[code.instructions[pc].position.line - 1]
            slot, name = re.findall(r"o\[(\d+)\] = (\w+);", text)[0]
            (found,) = [v for v in lookup(known, pc) if v.name == name]
            place = found.location(pc)
            assert place is not None, text
            assert registers[place.register or ""] == stored, (n, text)
            reached.add(int(slot))
    assert reached == set(range(32))


def test_no_place_names_a_register_that_was_not_written_on_the_way() -> None:
    code, known = module(PATHS), info(PATHS).variables_of("paths")
    for n in range(-1, 8):
        for pc, _, registers in Thread(code, n, [float(v) for v in range(64)]).run():
            for found in lookup(known, pc):
                place = found.location(pc)
                assert place is None or place.register in registers, (n, found.name, pc)
