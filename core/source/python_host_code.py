"""The Python around CUDA strings as a host program in C++: its numbers, arrays and launches.

What reads host programs then makes a launch of CuPy's or PyCUDA's small as it does one of a .cu
file. Only what is plain is translated: numbers, shapes and their arithmetic. A function that the
file calls stands where it is called; branches and loops run once. All else is left out, so that
what rests on it is unknown.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

_BYTES = {
    **dict.fromkeys(("bool", "bool_", "int8", "uint8", "byte"), 1),
    **dict.fromkeys(("int16", "uint16", "float16", "half"), 2),
    **dict.fromkeys(("int32", "uint32", "float32", "intc"), 4),
    **dict.fromkeys(("int64", "uint64", "float64", "double", "complex64"), 8),
    "complex128": 16,
}
_OF_SHAPE = {"zeros", "ones", "empty", "full", "random", "standard_normal"}
_OF_EXTENTS = {"rand", "randn", "arange"}
_OF_SIZE = {"randint", "uniform", "normal", "integers"}  # behind the limits
_ALIKE = {
    *("zeros_like", "ones_like", "empty_like", "full_like", "asarray", "array", "to_gpu"),
    *("ascontiguousarray", "to_device", "In", "Out", "InOut"),
}
_METHODS = {"astype", "copy", "ravel", "flatten", "get", "reshape"}
_FUNCTIONS = {"ceil": "ceil", "floor": "floor", "sqrt": "sqrt", "min": "min", "max": "max"}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "/",
    ast.Mod: "%",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_MAKES_KERNEL = {"RawKernel": 1, "get_function": 0}  # which argument is the name
_UNKNOWN = "unknown"  # no such variable is declared
_DEEPEST_CALL = 4
_MOST_STATEMENTS = 20_000  # run, behind which no function is entered any more
_LONGEST = 1000  # characters of a number: those that double each other have no end
_DEFAULT_BYTES = 8

_Array = tuple[list[str], int]  # extents, bytes of an element


@lru_cache(maxsize=4)
def host_code(text: str, name: str) -> str:
    """The host code of the file of that name; "" where it launches nothing or is no Python."""
    if name.endswith(".ipynb"):
        text = _cells(text)
    try:
        with warnings.catch_warnings(action="ignore"):  # of the style of the user's file
            tree = ast.parse(text)
        host = _Host(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    lines = "\n".join(host.lines)
    return f"int main() {{\n{lines}\n}}\n" if host.launches else ""


def _cells(text: str) -> str:
    """The code of a notebook, but for lines of magic."""
    try:
        cells = json.loads(text)["cells"]
        sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    plain = (source for source in sources if not source.lstrip().startswith("%%"))
    lines = "\n".join(plain).split("\n")
    return "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))


class _Host:
    """The statements of a file as lines of C++."""

    def __init__(self, tree: ast.Module) -> None:
        self.lines: list[str] = []
        self.launches = False
        self._functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        self._in_kernels = {*_names_in_kernels(tree)}  # in their texts: these keep their values
        self._numbers: dict[str, str] = {}
        self._tuples: dict[str, list[str]] = {}
        self._arrays: dict[str, _Array] = {}
        self._kernels: dict[str, str] = {}
        self._entered: set[str] = set()
        self._statements = 0
        self._run(tree.body, 0)
        for function in self._functions.values():
            if function.name not in self._entered:
                self._enter(function, (), (), 0)

    # Statements.

    def _run(self, body: Sequence[ast.stmt], depth: int) -> None:
        for statement in body:
            self._statements += 1
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                self._assign(statement.targets[0], statement.value, depth)
            elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
                self._assign(statement.target, statement.value, depth)
            elif isinstance(statement, ast.AugAssign):
                whole = ast.BinOp(_read(statement.target), statement.op, statement.value)
                self._assign(statement.target, whole, depth)
            elif isinstance(statement, ast.Expr | ast.Return) and statement.value is not None:
                self._call(statement.value, depth)
            elif not isinstance(statement, ast.FunctionDef | ast.ClassDef):
                for inner in ("body", "orelse", "finalbody"):
                    self._run(getattr(statement, inner, ()), depth)

    def _assign(self, target: ast.expr, value: ast.expr, depth: int) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, part in zip(target.elts, value.elts, strict=False):
                self._assign(one, part, depth)
        elif isinstance(target, ast.Name):
            self._set(target.id, value, depth)
        else:
            self._call(value, depth)

    def _set(self, name: str, value: ast.expr, depth: int) -> None:
        number, array = self._number(value), self._array(value)
        sizes = self._sizes(value) if isinstance(value, ast.Tuple) else []
        for known in (self._tuples, self._arrays, self._kernels):
            known.pop(name, None)
        if number:
            is_new, self._numbers[name] = name not in self._numbers, name
            if name in self._in_kernels:
                self._numbers[name] = number
            else:
                kind = "double" if isinstance(_constant(value), float) else "int"
                self.lines.append(f"{kind} {name} = {number};" if is_new else f"{name} = {number};")
        elif array:
            self._arrays[name] = array
            self.lines.append(f"char *{name}; cudaMalloc(&{name}, {_nbytes(array)});")
        elif sizes:
            self._tuples[name] = sizes
        elif kernel := self._kernel(value):
            self._kernels[name] = kernel
        else:
            self._numbers.pop(name, None)
            self._call(value, depth)

    def _call(self, value: ast.expr, depth: int) -> None:
        """A launch, or a function of the file's own."""
        if not isinstance(value, ast.Call):
            return
        if kernel := self._kernel(value.func):
            self._launch(kernel, value)
        elif isinstance(value.func, ast.Name) and value.func.id in self._functions:
            self._enter(self._functions[value.func.id], value.args, value.keywords, depth)

    def _enter(
        self,
        function: ast.FunctionDef,
        given: Sequence[ast.expr],
        named: Sequence[ast.keyword],
        depth: int,
    ) -> None:
        if depth >= _DEEPEST_CALL or self._statements > _MOST_STATEMENTS:
            return
        self._entered.add(function.name)
        formals = [one.arg for one in function.args.args]
        defaults = function.args.defaults
        values = dict(zip(formals[len(formals) - len(defaults) :], defaults, strict=True))
        values |= dict(zip(formals, given, strict=False))
        values |= {one.arg: one.value for one in named if one.arg in formals}
        for name in formals:
            is_same = isinstance(one := values.get(name), ast.Name) and one.id == name
            if name in values and not is_same:
                self._set(name, values[name], depth)
        self._run(function.body, depth + 1)

    def _launch(self, kernel: str, call: ast.Call) -> None:
        named = {one.arg: one.value for one in call.keywords}
        if "block" in named:  # PyCUDA's
            grid, block, given = named.get("grid"), named["block"], call.args
        elif len(call.args) == 3 and isinstance(call.args[2], ast.Tuple | ast.List):
            grid, block, given = call.args[0], call.args[1], call.args[2].elts
        else:
            return
        sizes = [f"dim3({', '.join(self._sizes(one) or [_UNKNOWN])})" for one in (grid, block)]
        nbytes = named.get("shared_mem", named.get("shared"))
        sizes.append(self._number(nbytes) if nbytes is not None else "0")
        passed = ", ".join(map(self._passed, given))
        self.lines.append(f"{kernel}<<<{', '.join(sizes)}>>>({passed});")
        self.launches = True

    def _passed(self, value: ast.expr) -> str:
        if isinstance(value, ast.Call) and value.args and _last(value.func) in _ALIKE:
            value = value.args[0]  # drv.In(a)
        if isinstance(value, ast.Name) and value.id in self._arrays:
            return value.id
        return self._number(value) or _UNKNOWN

    def _kernel(self, value: ast.expr) -> str:
        """The name of the kernel that an expression is, "" for any other."""
        if isinstance(value, ast.Name):
            return self._kernels.get(value.id, "")
        at = _MAKES_KERNEL.get(_last(value.func), -1) if isinstance(value, ast.Call) else -1
        given = value.args[at : at + 1] if isinstance(value, ast.Call) and at >= 0 else []
        name = _constant(given[0]) if given else None
        return name if isinstance(name, str) else ""

    # Values.

    def _sizes(self, value: ast.expr | None) -> list[str]:
        """The numbers of a shape or a grid; [] where one is not known."""
        if isinstance(value, ast.Name) and value.id in self._tuples:
            return self._tuples[value.id]
        if isinstance(value, ast.Attribute) and value.attr == "shape":
            array = self._array(value.value)
            return array[0] if array else []
        parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
        found = [self._number(part) if part is not None else "" for part in parts]
        return found if all(found) else []

    def _number(self, value: ast.expr) -> str:
        """A number as an expression of C++; "" for what is none, or not known."""
        found = self._expression(value)
        return found if len(found) <= _LONGEST else ""

    def _expression(self, value: ast.expr) -> str:
        known = _constant(value)
        if isinstance(known, int | float) and not isinstance(known, bool):
            return str(known)
        if isinstance(value, ast.Name):
            return self._numbers.get(value.id, "")
        if isinstance(value, ast.BinOp):
            return self._binary(value)
        if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
            inner = value.operand
            if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.FloorDiv):
                divided, by = _negated(inner.left), self._number(inner.right)
                number = self._number(divided) if divided is not None else ""
                return f"(({number} + {by} - 1) / {by})" if number and by else ""  # -(-n // 256)
            number = self._number(inner)
            return f"(-{number})" if number else ""
        if isinstance(value, ast.Attribute) and value.attr in ("size", "nbytes"):
            array = self._array(value.value)
            return "" if not array else _nbytes(array) if value.attr == "nbytes" else _count(array)
        if isinstance(value, ast.Subscript):
            sizes, at = self._sizes(value.value), _constant(value.slice)
            is_one = isinstance(at, int) and -len(sizes) <= at < len(sizes)
            return sizes[at] if isinstance(at, int) and is_one else ""
        return self._of_call(value) if isinstance(value, ast.Call) else ""

    def _binary(self, value: ast.BinOp) -> str:
        left, right = self._number(value.left), self._number(value.right)
        if not left or not right:
            return ""
        if isinstance(value.op, ast.Div):
            return f"((double){left} / {right})"
        if isinstance(value.op, ast.Pow):
            return f"pow({left}, {right})"
        mark = _OPERATORS.get(type(value.op))
        return f"({left} {mark} {right})" if mark else ""

    def _of_call(self, value: ast.Call) -> str:
        name = _last(value.func)
        if name == "len" and len(value.args) == 1:
            array = self._array(value.args[0])
            return array[0][0] if array else ""
        given = [self._number(one) for one in value.args]
        if not given or not all(given):
            return ""
        if name in _FUNCTIONS:
            return f"{_FUNCTIONS[name]}({', '.join(given)})"
        if len(given) == 1 and (name in _BYTES or name in ("int", "float")):
            return f"(int)({given[0]})" if name == "int" else given[0]
        return ""

    def _array(self, value: ast.expr) -> _Array | None:
        """The shape of an array, and the bytes of an element; None for what is none."""
        if isinstance(value, ast.Name):
            return self._arrays.get(value.id)
        if not isinstance(value, ast.Call):
            return None
        name, named = _last(value.func), {one.arg: one.value for one in value.keywords}
        first = value.args[0] if value.args else None
        nbytes = _BYTES.get(_last(named.get("dtype")), _DEFAULT_BYTES)
        if name in _METHODS and isinstance(value.func, ast.Attribute):
            if (own := self._array(value.func.value)) is None:
                return None
            if name == "astype":
                return own[0], _BYTES.get(_last(first or named.get("dtype")), own[1])
            shape = self._extents(value.args) if name == "reshape" else []
            return (shape, own[1]) if shape and "(-1)" not in shape else ([_count(own)], own[1])
        if name in _ALIKE and first is not None:
            own = self._array(first)
            return (own[0], nbytes if "dtype" in named else own[1]) if own else None
        if name == "mem_alloc" and first is not None:
            size = self._number(first)
            return ([size], 1) if size else None
        if name in _OF_SHAPE:
            shape = self._sizes(named.get("shape", named.get("size", first)))
        elif name in _OF_EXTENTS:
            shape = self._extents(value.args)
        elif name in _OF_SIZE:
            shape = self._sizes(named.get("size", value.args[2] if len(value.args) > 2 else None))
        else:
            return None
        return (shape, nbytes) if shape else None

    def _extents(self, given: Sequence[ast.expr]) -> list[str]:
        """A shape that is given as one tuple, or as several numbers."""
        return self._sizes(given[0] if len(given) == 1 else ast.Tuple([*given]))


def _names_in_kernels(tree: ast.AST) -> Iterator[str]:
    """The variables whose values Python puts into texts that may be kernels'."""
    for node in ast.walk(tree):
        within: Iterable[ast.AST] = ()
        if isinstance(node, ast.JoinedStr) and "__" in ast.unparse(node):
            within = [node]
        elif isinstance(node, ast.Call) and _last(node.func) in ("format", "substitute"):
            within = (*node.args, *node.keywords)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            within = [node.right] if isinstance(_constant(node.left), str) else []
        for part in within:
            yield from (one.id for one in ast.walk(part) if isinstance(one, ast.Name))


def _read(target: ast.expr) -> ast.expr:
    return ast.Name(target.id) if isinstance(target, ast.Name) else ast.Constant(None)


def _negated(value: ast.expr) -> ast.expr | None:
    is_negated = isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub)
    return value.operand if isinstance(value, ast.UnaryOp) and is_negated else None


def _constant(value: ast.expr) -> object:
    return value.value if isinstance(value, ast.Constant) else None


def _last(value: ast.expr | None) -> str:
    """`cp.float32`, `float32` and "float32" as float32."""
    if isinstance(value, ast.Attribute):
        return value.attr
    if isinstance(value, ast.Name):
        return value.id
    said = _constant(value) if value is not None else None
    return said if isinstance(said, str) else ""


def _count(array: _Array) -> str:
    return f"({' * '.join(array[0])})"


def _nbytes(array: _Array) -> str:
    return f"({_count(array)} * {array[1]})"
