"""The Python around CUDA strings as a host program in C++: its numbers, arrays and launches.

What reads host programs then makes a launch of CuPy's or PyCUDA's small as it does one of a .cu
file. Only what is plain is translated: numbers, shapes and their arithmetic. A function that the
file calls stands where it is called, with variables of its own; branches and loops run once. All
else is left out, so that what rests on it is unknown.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any

_BYTES = {
    **dict.fromkeys(("bool", "bool_", "int8", "uint8", "byte"), 1),
    **dict.fromkeys(("int16", "uint16", "float16", "half"), 2),
    **dict.fromkeys(("int32", "uint32", "float32", "intc"), 4),
    **dict.fromkeys(("int64", "uint64", "float64", "double", "complex64"), 8),
    "complex128": 16,
}
_OF_SHAPE = {"zeros", "ones", "empty", "full", "random", "standard_normal"}
_OF_EXTENTS = {"rand", "randn"}
_OF_SIZE = {"randint", "uniform", "normal", "integers"}  # behind the limits
_ALIKE = {
    *("zeros_like", "ones_like", "empty_like", "full_like", "asarray", "array", "to_gpu"),
    *("ascontiguousarray", "to_device", "In", "Out", "InOut"),
}
_PLACES_OF_TYPES = {  # among the arguments
    **dict.fromkeys(("zeros", "ones", "empty", "zeros_like", "ones_like", "empty_like"), 1),
    **dict.fromkeys(("asarray", "array", "ascontiguousarray", "standard_normal"), 1),
    **dict.fromkeys(("full", "full_like"), 2),
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
_FORMATS = ("format", "format_map", "substitute", "safe_substitute", "replace")
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


@dataclass(frozen=True)
class _Value:
    """What an expression is, as far as it is known: one of these, or nothing."""

    number: str
    is_float: bool
    array: _Array | None
    sizes: list[str]
    nbytes: int  # of the type's values
    kernel: str

    @property
    def is_known(self) -> bool:
        """Whether it is one of them."""
        return bool(self.number or self.array or self.sizes or self.nbytes or self.kernel)


_NOTHING = _Value("", False, None, [], 0, "")


class _Host:
    """The statements of a file as lines of C++."""

    def __init__(self, tree: ast.Module) -> None:
        self.lines: list[str] = []
        self.launches = False
        self._functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        self._globals = {name: _globals(one) for name, one in self._functions.items()}
        self._in_kernels = _names_in_kernels(tree)  # in their texts: these keep their values
        self._numbers: dict[str, str] = {}
        self._tuples: dict[str, list[str]] = {}
        self._arrays: dict[str, _Array] = {}
        self._kernels: dict[str, str] = {}
        self._types: dict[str, int] = {}  # of elements, in bytes
        self._pointers: dict[str, str] = {}  # what arrays are called in C++
        self._names: dict[str, str] = {}  # in C++, of the variables of this function
        self._taken: set[str] = set()
        self._returned: list[_Value] = []
        self._entered: set[str] = set()
        self._statements = 0
        self._holders = {*_option_holders(tree)}
        self._options = {name: self._option(name, value) for name, value in _options(tree)}
        self._run(tree.body, 0)
        for function in self._functions.values():
            if function.name not in self._entered:
                self._enter(function, (), (), 0)

    def _option(self, name: str, value: float) -> str:
        """What stands for a number of the command line: a variable, but in kernels' texts."""
        if name in self._in_kernels:
            return str(value)
        kind = "double" if isinstance(value, float) else "int"
        self.lines.append(f"{kind} option_{name} = {value};")
        self._taken.add(f"option_{name}")
        return f"option_{name}"

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
            elif isinstance(statement, ast.Return) and (value := statement.value) is not None:
                self._call(value, depth)
                parts = value.elts if isinstance(value, ast.Tuple) else [value]
                self._returned = [self._value(part) for part in parts]
            elif isinstance(statement, ast.Expr):
                self._call(statement.value, depth)
            elif not isinstance(statement, ast.FunctionDef | ast.ClassDef):
                for inner in ("body", "orelse", "finalbody"):
                    self._run(getattr(statement, inner, ()), depth)

    def _assign(self, target: ast.expr, value: ast.expr, depth: int) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, part in zip(target.elts, value.elts, strict=False):
                self._assign(one, part, depth)
            return
        known = self._value(value)
        returned = [] if known.is_known else self._call(value, depth)
        names, values = [target], returned or [known]
        if isinstance(target, ast.Tuple):
            names, sizes = target.elts, self._sizes(value)  # `rows, columns = a.shape`
            values = [replace(_NOTHING, number=size) for size in sizes] or returned
        if len(values) != len(names):
            values = [_NOTHING] * len(names)
        for name, found in zip(names, values, strict=True):
            if isinstance(name, ast.Name):
                self._set(name.id, found)

    def _value(self, value: ast.expr) -> _Value:
        is_type = isinstance(value, ast.Name | ast.Attribute)
        return _Value(
            self._number(value),
            isinstance(_constant(value), float),
            self._array(value),
            self._sizes(value) if isinstance(value, ast.Tuple) else [],
            self._bytes_of(value) if is_type else 0,
            self._kernel(value),
        )

    def _set(self, name: str, value: _Value) -> None:
        is_new = name not in self._names or name not in self._numbers
        for known in self._known():
            known.pop(name, None)
        number = value.number
        if number and name in self._in_kernels:
            self._numbers[name] = number
        elif number:
            own = self._numbers[name] = self._named(name)
            kind = "double" if value.is_float else "int"
            self.lines.append(f"{kind} {own} = {number};" if is_new else f"{own} = {number};")
        elif value.array:
            own = self._pointers[name] = self._named(name)
            self._arrays[name] = value.array
            self.lines.append(f"char *{own}; cudaMalloc(&{own}, {_nbytes(value.array)});")
        elif value.sizes:
            self._tuples[name] = value.sizes
        elif value.nbytes:
            self._types[name] = value.nbytes
        elif value.kernel:
            self._kernels[name] = value.kernel

    def _known(self) -> tuple[dict[str, Any], ...]:
        arrays = self._arrays, self._pointers
        return self._numbers, self._tuples, *arrays, self._kernels, self._types

    def _named(self, name: str) -> str:
        """What a variable of this function is called in C++: other functions may have one, too."""
        if name not in self._names:
            own = name
            while own in self._taken:
                own = f"{own}_{len(self._taken)}"
            self._names[name] = own
            self._taken.add(own)
        return self._names[name]

    def _call(self, value: ast.expr, depth: int) -> list[_Value]:
        """A launch, or a function of the file's own, which may return values."""
        if not isinstance(value, ast.Call):
            return []
        if kernel := self._kernel(value.func):
            self._launch(kernel, value)
        elif isinstance(value.func, ast.Name) and value.func.id in self._functions:
            return self._enter(self._functions[value.func.id], value.args, value.keywords, depth)
        return []

    def _enter(
        self,
        function: ast.FunctionDef,
        given: Sequence[ast.expr],
        named: Sequence[ast.keyword],
        depth: int,
    ) -> list[_Value]:
        if depth >= _DEEPEST_CALL or self._statements > _MOST_STATEMENTS:
            return []
        self._entered.add(function.name)
        formals = [one.arg for one in function.args.args]
        defaults = function.args.defaults
        values = dict(zip(formals[len(formals) - len(defaults) :], defaults, strict=True))
        values |= dict(zip(formals, given, strict=False))
        values |= {one.arg: one.value for one in named if one.arg in formals}
        passed = {
            name: self._value(one)
            for name, one in values.items()
            if not isinstance(one, ast.Name) or one.id != name
        }
        outer, names = [dict(known) for known in self._known()], self._names
        self._names, self._returned = {}, []
        for name, one in passed.items():
            self._set(name, one)
        self._run(function.body, depth + 1)
        shared = self._globals[function.name]
        for known, before in zip(self._known(), outer, strict=True):
            kept = {name: known[name] for name in shared & known.keys()}
            own = {name: value for name, value in before.items() if name not in shared}
            known.clear()
            known.update({**own, **kept})
        self._names = names
        returned, self._returned = self._returned, []
        return returned

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
            return self._pointers[value.id]
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
        if isinstance(value, ast.Attribute) and _last(value.value) in self._holders:
            return self._options.get(value.attr, "")  # `args.rows`
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
        at = _PLACES_OF_TYPES.get(name, len(value.args))
        kind = named.get("dtype", value.args[at] if at < len(value.args) else None)
        nbytes = _DEFAULT_BYTES if kind is None else self._bytes_of(kind)
        if name in _METHODS and isinstance(value.func, ast.Attribute):
            if (own := self._array(value.func.value)) is None:
                return None
            if name == "astype":
                return own[0], self._bytes_of(first or kind) or own[1]
            shape = self._extents(value.args) if name == "reshape" else []
            return (shape, own[1]) if shape and "(-1)" not in shape else ([_count(own)], own[1])
        if name in _ALIKE and first is not None:
            own = self._array(first)
            return (own[0], own[1] if kind is None else nbytes) if own and nbytes else None
        if name == "mem_alloc" and first is not None:
            size = self._number(first)
            return ([size], 1) if size else None
        if name in _OF_SHAPE:
            shape = self._sizes(named.get("shape", named.get("size", first)))
        elif name in _OF_EXTENTS:
            shape = self._extents(value.args)
        elif name == "arange":
            shape = self._sizes(ast.Tuple([_difference(value.args)]) if value.args else None)
        elif name in _OF_SIZE:
            shape = self._sizes(named.get("size", value.args[2] if len(value.args) > 2 else None))
        else:
            return None
        return (shape, nbytes) if shape and nbytes else None

    def _bytes_of(self, kind: ast.expr | None) -> int:
        """The bytes of a type's values; 0: not known."""
        name = _last(kind)
        return _BYTES.get(name, self._types.get(name, 0))

    def _extents(self, given: Sequence[ast.expr]) -> list[str]:
        """A shape that is given as one tuple, or as several numbers."""
        one = given[0] if len(given) == 1 else ast.Tuple([*given])
        return self._sizes(one.value if isinstance(one, ast.Starred) else one)


def _options(tree: ast.AST) -> Iterator[tuple[str, float]]:
    """The numbers that `add_argument("--rows", default=50)` of argparse has without any given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _last(node.func) == "add_argument":
            named = {one.arg: one.value for one in node.keywords}
            default, own = _constant(named.get("default")), _constant(named.get("dest"))
            flags = [said for one in node.args if isinstance(said := _constant(one), str)]
            names = [own] if isinstance(own, str) else sorted(flags, key=len)[-1:]
            if isinstance(default, int | float) and not isinstance(default, bool):
                plain = (name.lstrip("-").replace("-", "_") for name in names)
                yield from ((name, default) for name in plain if name.isidentifier())


def _option_holders(tree: ast.AST) -> Iterator[str]:
    """The variables that hold what `parse_args` returns."""
    for node in ast.walk(tree):
        called = node.value if isinstance(node, ast.Assign) else None
        makes = _last(called.func) if isinstance(called, ast.Call) else ""
        if isinstance(node, ast.Assign) and makes in ("parse_args", "parse_known_args"):
            yield from (name for target in node.targets for name in _names(target))


def _names_in_kernels(tree: ast.AST) -> set[str]:
    """The variables whose values Python puts into texts that may be kernels', also by others."""
    found = {*_names_in_texts(tree)}
    sources = [*_what_names_are(tree)]
    for _ in range(_DEEPEST_CALL):
        found |= {name for target, names in sources if target in found for name in names}
    return found


def _what_names_are(tree: ast.AST) -> Iterator[tuple[str, set[str]]]:
    """What variables and parameters are made of, by name."""
    for node in ast.walk(tree):
        values: list[tuple[str, ast.expr]] = []
        if isinstance(node, ast.Assign):
            values = [(one.id, node.value) for one in node.targets if isinstance(one, ast.Name)]
        elif isinstance(node, ast.FunctionDef):
            defaults = node.args.defaults
            formals = node.args.args[len(node.args.args) - len(defaults) :]
            values = [(one.arg, value) for one, value in zip(formals, defaults, strict=True)]
        elif isinstance(node, ast.Call):
            values = [(one.arg, one.value) for one in node.keywords if one.arg]
        for name, value in values:
            yield name, {*_names(value)}


def _names(value: ast.AST) -> Iterator[str]:
    """The variables in an expression, and what it takes of objects (`args.tile`)."""
    for one in ast.walk(value):
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Attribute):
            yield one.attr


def _names_in_texts(tree: ast.AST) -> Iterator[str]:
    """The variables that stand in an f-string, or in what formats a string."""
    for node in ast.walk(tree):
        within: Iterable[ast.AST] = ()
        if isinstance(node, ast.JoinedStr) and "__" in ast.unparse(node):
            within = [node]
        elif isinstance(node, ast.Call) and _last(node.func) in _FORMATS:
            within = (*node.args, *node.keywords)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            within = [node.right] if isinstance(_constant(node.left), str) else []
        for part in within:
            yield from _names(part)


def _globals(function: ast.FunctionDef) -> frozenset[str]:
    said = (one.names for one in ast.walk(function) if isinstance(one, ast.Global))
    return frozenset(chain.from_iterable(said))


def _read(target: ast.expr) -> ast.expr:
    return ast.Name(target.id) if isinstance(target, ast.Name) else ast.Constant(None)


def _negated(value: ast.expr) -> ast.expr | None:
    is_negated = isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub)
    return value.operand if isinstance(value, ast.UnaryOp) and is_negated else None


def _difference(limits: Sequence[ast.expr]) -> ast.expr:
    """How many numbers a range has, of one or two limits; with a step it is not known."""
    if len(limits) == 1:
        return limits[0]
    return ast.BinOp(limits[1], ast.Sub(), limits[0]) if len(limits) == 2 else ast.Constant(None)


def _constant(value: ast.expr | None) -> object:
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
