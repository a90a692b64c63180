"""Plain loads whose value an atomic compare-and-swap checks again before anything depends on it.

`old = *p; do { seen = old; old = atomicCAS(p, seen, f(seen)); } while (old != seen);` is how people
write the atomics that CUDA lacks (CUDA C++ Programming Guide, "Atomic Functions"): should another
thread change the word after the first load, the swap fails and the loop goes round.
"""

from __future__ import annotations

from core.ptx.ast import Address, Function, Group, Instruction, Module, Operand, Register, Symbol


def rechecked_loads(module: Module) -> frozenset[int]:
    """The pcs of loads whose value reaches, by moves alone, what a compare-and-swap compares.

    Unoptimised code swaps in a function of its own, so that the way may lead through calls.
    """
    if ".cas" not in module.text:
        return frozenset()
    flows = [_Flow(module, f) for f in module.functions.values() if f.end_pc > f.first_pc]
    compared: set[tuple[str, int]] = set()  # functions' parameters, by number
    size = -1
    while len(compared) > size:
        size = len(compared)
        for flow in flows:
            compared |= flow.compared_parameters(compared)
    return frozenset(pc for flow in flows for pc in flow.loads)


class _Flow:
    """The registers of one function that a compare-and-swap compares."""

    def __init__(self, module: Module, function: Function) -> None:
        self.function = function
        own = module.instructions[function.first_pc : function.end_pc]
        instructions = [i for i in own if len(i.operands) > 1]  # a function may be malformed
        self._calls = [i for i in instructions if i.opcode == "call"]
        self._loads = [i for i in instructions if i.opcode == "ld"]
        self._given = [i for i in instructions if i.opcode == "st" and "param" in i.modifiers]
        self._moves = [i for i in instructions if i.opcode == "mov"]
        self.compared = {
            _register(i.operands[2])
            for i in instructions
            if i.opcode == "atom" and "cas" in i.modifiers and len(i.operands) > 2
        } - {""}
        self.loads: list[int] = []

    def compared_parameters(self, known: set[tuple[str, int]]) -> set[tuple[str, int]]:
        """Follows the values back, given what is known of the functions that are called."""
        names = {name for call in self._calls for name in _compared_arguments(call, known)}
        for store in self._given:
            if _symbol(store.operands[0]) in names:
                self.compared.add(_register(store.operands[1]))
        size = -1
        while len(self.compared) > size:
            size = len(self.compared)
            for move in self._moves:
                if _register(move.operands[0]) in self.compared - {""}:
                    self.compared.add(_register(move.operands[-1]))
        loads = [i for i in self._loads if _register(i.operands[0]) in self.compared - {""}]
        self.loads = [i.pc for i in loads if "param" not in i.modifiers]
        taken = {_symbol(i.operands[1]) for i in loads if "param" in i.modifiers}
        own = enumerate(self.function.parameters)
        return {(self.function.name, number) for number, p in own if p.name in taken}


def _compared_arguments(call: Instruction, known: set[tuple[str, int]]) -> list[str]:
    """The variables that a call hands to parameters which are compared."""
    callee = next((o.name for o in call.operands if isinstance(o, Symbol)), "")
    groups = [o for o in call.operands if isinstance(o, Group)]
    arguments = groups[-1].elements if groups else ()
    return [_symbol(o) for number, o in enumerate(arguments) if (callee, number) in known]


def _register(operand: Operand) -> str:
    return operand.name if isinstance(operand, Register) else ""


def _symbol(operand: Operand) -> str:
    base = operand.base if isinstance(operand, Address) else operand
    return base.name if isinstance(base, Symbol) else ""
