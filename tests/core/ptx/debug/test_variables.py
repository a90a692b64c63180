"""Variables and their places, read from what NVRTC really writes.

Every variable's place holds its value, along every path through a kernel.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.compiler.disk_cache import FOLDER
from core.ptx.ast import Immediate, Module, Register
from core.ptx.debug.variables import debug_info, lookup
from core.ptx.parser import parse
from tests.core.ptx.debug.dwarf_kernels import (
    MANY,
    PATHS,
    TILED,
    info,
    module,
    names_at,
    pcs_of_line,
    variable,
)


def test_the_variables_of_a_kernel_come_in_the_order_of_the_source() -> None:
    function = info(TILED).functions["tiled"]
    assert [v.name for v in function.variables] == [
        "A", "B", "C", "N", "row", "column", "sum", "phase", "k", "product",
    ]  # fmt: skip
    assert [v.is_parameter for v in function.variables] == [True] * 4 + [False] * 6
    assert [v.declared_line for v in function.variables] == [1, 1, 1, 1, 5, 6, 7, 8, 12, 13]


def test_names_of_files_are_those_of_the_system(tmp_path, monkeypatch) -> None:
    """The compiler writes bytes that are not ASCII, and marks, with a backslash before them."""
    folder = tmp_path / 'caf\u00e9 "12"'
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv(FOLDER, "")  # what an earlier run compiled has its folder in it
    source = 'extern "C" __global__ void k(int* v) { int a = v[0]; v[1] = a; }'
    made = parse(compile_ptx(source, source_name="fol\u00e9der/k\u65e5.cu").ptx)
    assert made.files == {1: str(folder / "fol\u00e9der/k\u65e5.cu")}


def test_a_scope_ends() -> None:
    (inside,) = pcs_of_line(TILED, "float product", "mul")[-1:]
    (after,) = pcs_of_line(TILED, "C[row * N", "st")
    parameters = ["A", "B", "C", "N"]
    assert names_at(TILED, "tiled", inside) == [
        *parameters, "row", "column", "sum", "phase", "k", "product",
    ]  # fmt: skip
    assert names_at(TILED, "tiled", after) == [*parameters, "row", "column", "sum"]


def test_a_variable_has_no_place_before_it_has_a_value() -> None:
    first = info(TILED).functions["tiled"].first_pc
    assert all(v.location(first) is None for v in info(TILED).variables_of("tiled"))
    product = variable(TILED, "tiled", "product")
    (multiply,) = [
        pc
        for pc in pcs_of_line(TILED, "float product", "mul")
        if module(TILED).instructions[pc].modifiers == ("f32",)
    ]
    assert product.location(multiply) is None  # holds the product of the iteration before
    place = product.location(multiply + 1)
    assert place is not None
    assert Register(place.register or "") == module(TILED).instructions[multiply].operands[0]


@pytest.mark.parametrize(
    ("name", "spelling", "kind", "nbytes", "dtype"),
    [
        ("out", "float *", "pointer", 8, "u8"),
        ("in", "const float4 *", "pointer", 8, "u8"),
        ("p", "Point", "struct", 48, None),
        ("c", "unsigned char", "unsigned", 1, "u1"),
        ("s", "short", "int", 2, "i2"),
        ("b", "bool", "bool", 1, "u1"),
        ("d", "double", "float", 8, "f8"),
        ("big", "long long", "int", 8, "i8"),
        ("small", "char", "int", 1, "i1"),
        ("colour", "Colour", "enum", 4, "u4"),
        ("w", "word", "unsigned", 4, "u4"),
        ("rows", "float (*)[5]", "pointer", 8, "u8"),
        ("fixed", "const float *const", "pointer", 8, "u8"),
        ("reference", "float &", "pointer", 8, "u8"),
        ("vector", "float4", "struct", 16, None),
    ],
)
def test_types(name: str, spelling: str, kind: str, nbytes: int, dtype: str | None) -> None:
    found = variable(MANY, "many", name).type
    assert (found.name, found.kind, found.nbytes) == (spelling, kind, nbytes)
    assert found.dtype == (None if dtype is None else np.dtype(dtype))


def test_structs_arrays_and_enumerations_are_described() -> None:
    point = variable(MANY, "many", "p").type
    assert [(m.name, m.offset, m.type.name, m.bits) for m in point.members] == [
        ("x", 0, "float", None),
        ("y", 4, "int", None),
        ("z", 8, "double[3]", None),
        ("next", 32, "Point *", None),
        ("low", 40, "unsigned int", (0, 3)),
        ("high", 40, "int", (3, 5)),
    ]
    acc = variable(MANY, "_Z7genericILi8EdEvPT0_j", "acc").type
    assert (acc.name, acc.kind, acc.nbytes, acc.dims) == ("double[4][4]", "array", 128, (4, 4))
    assert acc.element is not None
    assert acc.element.dtype == np.float64
    colour = variable(MANY, "many", "colour").type
    assert (colour.kind, colour.dtype) == ("enum", np.uint32)


def test_constants_have_the_value_of_their_type() -> None:
    def constant(name: str) -> object:
        (place,) = variable(MANY, "many", name).locations
        return place.constant

    assert constant("seven") == 7
    assert constant("quarter") == 0.25
    assert constant("large") == 4000000000
    assert constant("negative") == -5


def test_local_memory_is_named_with_its_offset() -> None:
    (acc,) = variable(MANY, "_Z7genericILi8EdEvPT0_j", "acc").locations
    depot = module(MANY).functions["_Z7genericILi8EdEvPT0_j"].variables[0]
    assert (acc.symbol, acc.stack_offset, acc.register) == (depot.name, 0, None)
    (p,) = variable(MANY, "many", "p").locations
    (vector,) = variable(MANY, "many", "vector").locations
    assert p.symbol == vector.symbol
    assert p.symbol is not None
    assert p.symbol.startswith("__local_depot")
    assert p.stack_offset != vector.stack_offset
    assert variable(MANY, "many", "vector").space == "local"


def test_variables_of_the_module() -> None:
    found = {
        v.name: (v.type.name, v.space, v.locations[0].symbol) for v in info(MANY).module_variables
    }
    assert found == {
        "table": ("float[3][5]", "const", "table"),
        "counter": ("int", "global", "counter"),
        "common": ("double[7]", "shared", "common"),
        "outer::hidden": ("int[4]", "shared", "_ZN5outer6hiddenE"),
    }


def test_functions_are_keyed_by_symbol_and_inlined_variables_are_listed() -> None:
    functions = info(MANY).functions
    assert [v.name for v in functions["_Z6calledfi"].variables] == ["x", "n", "total", "q"]
    assert "_Z7genericILi8EdEvPT0_j" in functions
    inner = [v for v in functions["many"].variables if v.scope.function == "inlined"]
    assert [(v.name, v.is_parameter) for v in inner] == [("x", True), ("y", False)]
    assert all(v.locations for v in inner)
    assert all(v.scope.first_pc <= p.first_pc for v in inner for p in v.locations)


def test_an_inner_name_hides_the_outer_one_once_it_has_a_value() -> None:
    def line_of(name: str, pc: int) -> int:
        (found,) = [v for v in lookup(info(MANY).variables_of("many"), pc) if v.name == name]
        return found.declared_line

    outer, middle, inner = (
        next(n for n, row in enumerate(MANY.splitlines(), 1) if text in row)
        for text in ("int a = 1;", "int a = 2", "float a = ")
    )
    assert line_of("a", pcs_of_line(MANY, "out[0] = a;", "st")[0]) == outer
    assert line_of("a", pcs_of_line(MANY, "out[1] = a;", "st")[-1]) == inner
    assert line_of("a", pcs_of_line(MANY, "out[2] = a;", "st")[0]) == middle
    assert line_of("a", pcs_of_line(MANY, "out[4] =", "st")[0]) == outer


def test_bits_above_a_narrow_type_are_dropped() -> None:
    narrow = variable(MANY, "many", "narrow").type
    assert narrow.from_bits(np.array([0x1FF, 0x100], np.uint64)).tolist() == [255, 0]
    small = variable(MANY, "many", "small").type
    assert small.from_bits(np.array([0xFF80], np.uint64)).tolist() == [-128]
    real = variable(TILED, "tiled", "sum").type
    assert real.from_bits(np.array([0xBFC00000], np.uint64)).tolist() == [-1.5]
    flag = variable(MANY, "many", "b").type
    assert flag.from_bits(np.array([0, 0x100, 1], np.uint64)).tolist() == [False, False, True]
    with pytest.raises(TypeError, match="not a scalar"):
        variable(MANY, "many", "p").type.from_bits(np.zeros(1, np.uint64))


# -- what is missing or broken ----------------------------------------------------------------


def test_an_optimised_build_has_no_variables() -> None:
    found = debug_info(module(TILED, "as_compiled"))
    assert found.functions == {}
    assert found.variables_of("tiled") == ()


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (r"\.section\s+\.debug_abbrev\s*\{.*?\n\s*\}", ""),
        (r"\.section\s+\.debug_loc\s*\{.*?\n\s*\}", ""),
        (r"(\.section\s+\.debug_info\s*\{\n)(?:.*\n){9}", r"\1"),
        (r"(\.section\s+\.debug_abbrev\s*\{\n)(?:.*\n){5}", r"\1"),
        (r"\.b32 \.debug_abbrev", ".b32 77777"),
        (r"\$L__tmp\d+", "$L__lost"),
        (r"\.b8 144", ".b8 255"),
        (r"\.b8 (\d+)", r".b8 x\1"),
    ],
)
def test_broken_sections_give_fewer_variables_and_no_exception(
    pattern: str, replacement: str
) -> None:
    text = module(TILED).text
    cut = text.index(".section")
    broken = text[:cut] + re.sub(pattern, replacement, text[cut:], flags=re.DOTALL)
    assert broken != text
    found = debug_info(replace(module(TILED), text=broken))
    places = sum(len(v.locations) for v in found.variables_of("tiled"))
    assert places < sum(len(v.locations) for v in info(TILED).variables_of("tiled"))


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
