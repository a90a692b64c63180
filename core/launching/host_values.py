"""What a host function computes before it launches a kernel: sizes, dim3s, and what it allocates.

Not an interpreter: declarations and assignments up to the launch are evaluated in their order,
expressions of numbers only; what cannot be told is left out. A variable may be given another value,
so that the same program can be had in small.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from core.cuda.instances import HostLaunch
from core.cuda.kernel_text import closing, split_at_commas, with_kernel_macros, without_comments

Number = int | float
_TYPE = (
    r"(?:(?:const|constexpr|static|unsigned|signed|long|std::)\s*)*"
    r"(?:int|unsigned|long|short|char|size_t|uint|u?int\d+_t|float|double|auto|bool|dim3|uint3)"
)
_DECLARED = re.compile(rf"(?<![\w:<,])\s*{_TYPE}\s+(?=[A-Za-z_])")
_ALLOCATED = re.compile(
    r"\b(?:cudaMalloc|cudaMallocManaged|cudaMallocHost|cudaMallocAsync|cudaHostAlloc)"
    r"(?:<[^>]*>)?\s*\("
)
_NUMBER = re.compile(r"\b(0[xX][\da-fA-F]+|\d+)[uUlL]+\b")
_FLOAT = re.compile(
    r"(?<![\w.])(\d+\.\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)[fF]?"
)
_INT_CAST = re.compile(
    r"\(\s*(?:const\s+)?(?:unsigned|signed|int|long|size_t|uint|u?int\d+_t|long long)\s*\)"
)
_FLOAT_CAST = re.compile(r"\(\s*(?:float|double)\s*\)\s*(\w[\w.]*|\([^()]*\))")
_STATIC_CAST = re.compile(r"\bstatic_cast\s*<[^<>]*>\s*")
_ROUND = "([{)]}"
_MEMBERS = ("x", "y", "z")
_FUNCTIONS: Mapping[str, Callable[..., Number]] = {
    "ceil": math.ceil, "ceilf": math.ceil, "floor": math.floor, "floorf": math.floor,
    "sqrt": math.sqrt, "sqrtf": math.sqrt, "log2": math.log2, "log2f": math.log2,
    "min": min, "max": max, "abs": abs, "pow": pow, "round": round, "int": int, "float": float,
    "size_t": int, "unsigned": int,
}  # fmt: skip
_BINARY: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.LShift: lambda a, b: int(a) << min(int(b), 62),
    ast.RShift: lambda a, b: int(a) >> min(int(b), 62),
    ast.BitAnd: lambda a, b: int(a) & int(b),
    ast.BitOr: lambda a, b: int(a) | int(b),
}
_WHOLE = (
    r"(?:(?:const|unsigned|long)\s+)*(?!float|double|bool|char|half|cuda|real)[a-z_]\w*\s+(\w+)"
)
_KNOWN_BY_NAME = (
    (re.compile(r"\w*threads\w*|block_?(size|dim)\w*", re.IGNORECASE), 128),
    (re.compile(r"\w*(blocks|grid)\w*", re.IGNORECASE), 4),
    (re.compile(r"n|\w*(size|len|length|count|elements|total|num)", re.IGNORECASE), 1024),
)
_PITCH = re.compile(r"pitch|stride|bytes|^ld[abc]?$", re.IGNORECASE)
_ANY = "*"  # in what is given: every whole number that a function is given
_UNKNOWN = 64  # what a whole number that a function is given may be
_DEEPEST = 6
_LONGEST = 2000


@dataclass
class HostValues:
    """Numbers by name (`n`, `grid.x`), bytes by pointer; `roots` are literals' own variables."""

    numbers: dict[str, Number] = field(default_factory=dict)
    bytes_at: dict[str, int] = field(default_factory=dict)
    roots: dict[str, Number] = field(default_factory=dict)
    formals: set[str] = field(default_factory=set)  # what the function is given


class HostProgram:
    """The text of a file for nvcc, ready to evaluate what leads to one of its launches."""

    def __init__(self, source: str, sizes: Mapping[str, int], defines: Mapping[str, str]) -> None:
        """`sizes` are bytes of types by name, beyond the built-in ones."""
        self._text = with_kernel_macros(without_comments(source))
        self._sizes = {**_SIZES, **sizes}
        self._macros = {**_macros(self._text), **{name: ((), v) for name, v in defines.items()}}
        self._macros |= _small_functions(self._text)

    def before(self, launch: HostLaunch, given: Mapping[str, Number]) -> HostValues:
        """The values when `launch` is reached; `given` replaces what variables are set to."""
        found = HostValues()
        start = self._function_start(launch.position)
        self._run(_outside_functions(self._text[:start]), given, found)
        for name in self._formals(start):
            if _PITCH.search(name):
                found.numbers[name] = 4 * _UNKNOWN  # more than any width
                continue
            found.roots[name] = given.get(_ANY) or _unknown(name)
            found.numbers[name] = given.get(name, found.roots[name])
            found.formals.add(name)
        self._run(self._text[start : launch.position], given, found)
        return found

    def value(self, expression: str, values: Mapping[str, Number]) -> Number | None:
        """The value of an expression, None where it cannot be told."""
        text = self._expand(expression, _DEEPEST)
        text = _STATIC_CAST.sub("", re.sub(r"\bstd::", "", text))
        text = self._without_sizeof(text)
        text = _INT_CAST.sub("", _FLOAT_CAST.sub(r"(1.0 * \1)", text))
        text = _FLOAT.sub(r"\1", _NUMBER.sub(r"\1", text))
        text = text.replace("&&", " and ").replace("||", " or ").replace("->", ".").strip()
        text = re.sub(r"^(.*)\?(.*):(.*)$", r"((\2) if (\1) else (\3))", text)
        if not text or len(text) > _LONGEST:
            return None
        try:
            found = _evaluated(ast.parse(text, mode="eval").body, values)
        except (SyntaxError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
            return None
        return found if abs(found) < 1 << 62 else None

    def size3(self, expression: str, values: Mapping[str, Number]) -> tuple[int, int, int] | None:
        """A grid or block: a number, the name of a dim3, or `dim3(…)`."""
        made = re.fullmatch(r"dim3\s*[({](.*)[)}]", expression.strip(), re.DOTALL)
        if made:
            parts = [self.value(part, values) for part in split_at_commas(made[1], _ROUND)]
        elif f"{expression.strip()}.x" in values:
            parts = [values.get(f"{expression.strip()}.{axis}", 1) for axis in _MEMBERS]
        else:
            parts = [self.value(expression, values)]
        if any(part is None or part < 1 for part in parts) or not parts:
            return None
        x, y, z = [*(int(part or 1) for part in parts), 1, 1][:3]
        return x, y, z

    def _formals(self, start: int) -> list[str]:
        """The whole numbers among the parameters of the function whose body begins there."""
        header = re.search(r"\(([^(){};]*)\)[^(){};]*\{$", self._text[:start])
        formals = split_at_commas(header[1]) if header else []
        found = (re.fullmatch(_WHOLE, f.partition("=")[0].strip()) for f in formals)
        return [match[1] for match in found if match and match[1] != "argc"]

    def _function_start(self, position: int) -> int:
        """Where the body of the function around a position begins, parameters included."""
        depth = 0
        for at in range(position - 1, -1, -1):
            depth += (self._text[at] == "}") - (self._text[at] == "{")
            if depth < 0:
                header = re.search(r"[\w>&*\s]+\([^;{}]*\)[^;{}()]*$", self._text[:at])
                word = re.search(r"(\w+)\s*\([^;{}]*$", header[0]) if header else None
                if header and word and word[1] not in ("for", "if", "while", "switch", "else"):
                    return at + 1
                depth = 0
        return 0

    def _run(self, text: str, given: Mapping[str, Number], found: HostValues) -> None:
        text = re.sub(r"^[ \t]*#[^\n]*", "", text, flags=re.MULTILINE)
        for statement in re.split(r"[;{}]", _without_bodies_of_loops(text)):
            self._statement(statement.strip(), given, found)

    def _statement(self, statement: str, given: Mapping[str, Number], found: HostValues) -> None:
        allocation = _ALLOCATED.search(statement)
        if allocation:
            self._allocate(statement[allocation.end() :], found)
            return
        pitched = re.search(r"\bcudaMallocPitch\s*\((.*)\)", statement, re.DOTALL)
        if pitched:
            self._pitch(split_at_commas(pitched[1], _ROUND), found)
            return
        loop = re.search(r"\bfor\s*\((.*)", statement, re.DOTALL)
        text = loop[1] if loop else statement
        declared = _DECLARED.search(text)
        if declared and not text[: declared.start()].strip():
            is_dim3 = "dim3" in declared[0]
            for part in split_at_commas(text[declared.end() :], _ROUND):
                self._declare(part, is_dim3, given, found)
            return
        assigned = re.match(r"([\w.]+(?:->\w+)?)\s*(?<![=!<>+\-*/])=(?!=)\s*(.+)$", text, re.DOTALL)
        if assigned:
            for name in _names(assigned[1], assigned[2]):
                self._set(name, re.split(r"(?<![=!<>])=(?!=)", assigned[2])[-1], given, found)

    def _declare(
        self, part: str, is_dim3: bool, given: Mapping[str, Number], found: HostValues
    ) -> None:
        match = re.match(r"(\w+)\s*(?:=\s*(.*)|([({].*)[)}])?\s*$", part, re.DOTALL)
        if not match or not (match[2] or match[3]):
            if is_dim3 and re.fullmatch(r"\w+", part):
                found.numbers |= {f"{part}.{axis}": 1 for axis in _MEMBERS}
            return
        name, expression = match[1], match[2] or match[3][1:]
        if is_dim3:
            whole = expression if match[2] else f"dim3({expression})"
            if size := self.size3(whole, found.numbers):
                found.numbers |= {f"{name}.{a}": v for a, v in zip(_MEMBERS, size, strict=True)}
            return
        self._set(name, expression, given, found)

    def _set(
        self, name: str, expression: str, given: Mapping[str, Number], found: HostValues
    ) -> None:
        name = name.replace("->", ".")
        value = self.value(expression, found.numbers)
        if value is None:
            return  # what it was before, as where a program may read it from its command line
        if self.value(expression, {}) is not None:
            found.roots[name] = value
            value = given.get(name, value)
        found.numbers[name] = value

    def _allocate(self, inside: str, found: HostValues) -> None:
        parts = split_at_commas(inside[: closing(inside, 0)], _ROUND)
        if len(parts) < 2:
            return
        nbytes = self.value(parts[1], found.numbers)
        if nbytes is not None:
            found.bytes_at[_pointer(parts[0])] = int(nbytes)

    def _pitch(self, parts: list[str], found: HostValues) -> None:
        if len(parts) != 4:
            return
        width, height = (self.value(part, found.numbers) for part in parts[2:])
        if width is None or height is None:
            return
        pitch = -(-int(width) // 64) * 64
        found.numbers[_pointer(parts[1])] = pitch
        found.bytes_at[_pointer(parts[0])] = pitch * int(height)

    def _expand(self, text: str, depth: int) -> str:
        def plain(match: re.Match[str]) -> str:
            macro = self._macros.get(match[0])
            return macro[1] if macro and not macro[0] else match[0]

        for name, (formals, body) in self._macros.items():
            at = 0
            while formals and (call := re.compile(rf"\b{name}\s*\(").search(text, at)):
                end = closing(text, call.end())
                given = split_at_commas(text[call.end() : end])
                values = dict(zip(formals, given, strict=False))
                made = re.sub(r"\w+", lambda m, v=values: v.get(m[0], m[0]), body)  # type: ignore[misc]
                text = f"{text[: call.start()]}({made}){text[end + 1 :]}"
                at = call.start() + len(made)
                if len(text) > _LONGEST:
                    return text
        again = re.sub(r"[A-Za-z_]\w*", plain, text)
        return self._expand(again, depth - 1) if again != text and depth else again

    def _without_sizeof(self, text: str) -> str:
        def size(match: re.Match[str]) -> str:
            name = " ".join((match[1] or match[2]).replace("const ", "").split())
            nbytes = 8 if name.endswith("*") else self._sizes.get(name.lstrip("* "))
            return str(nbytes if nbytes is not None else _ELEMENT)

        return re.sub(r"\bsizeof\s*(?:\(([^()]*)\)|(\*?\s*\w+))", size, text)


_ELEMENT = 4  # bytes of what nothing is known of
_SIZES: Mapping[str, int] = {
    "char": 1, "bool": 1, "unsigned char": 1, "uint8_t": 1, "int8_t": 1, "uchar": 1,
    "short": 2, "unsigned short": 2, "half": 2, "__half": 2, "__nv_bfloat16": 2,
    "uint16_t": 2, "int16_t": 2, "half2": 4, "__half2": 4,
    "int": 4, "unsigned": 4, "unsigned int": 4, "uint": 4, "float": 4, "uchar4": 4, "short2": 4,
    "int32_t": 4, "uint32_t": 4, "long": 8, "unsigned long": 8, "long long": 8,
    "unsigned long long": 8, "unsigned long long int": 8, "size_t": 8, "double": 8, "float2": 8,
    "int2": 8, "uint2": 8, "int64_t": 8, "uint64_t": 8, "cuComplex": 8, "cufftComplex": 8,
    "float3": 12, "int3": 12, "float4": 16, "int4": 16, "uint4": 16, "double2": 16,
    "cuDoubleComplex": 16,
}  # fmt: skip


def _unknown(name: str) -> int:
    return next((n for pattern, n in _KNOWN_BY_NAME if pattern.fullmatch(name)), _UNKNOWN)


def _evaluated(node: ast.expr, values: Mapping[str, Number]) -> Number:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.Attribute):
        return values[ast.unparse(node)]
    if isinstance(node, ast.UnaryOp):
        value = _evaluated(node.operand, values)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        left, right = _evaluated(node.left, values), _evaluated(node.right, values)
        if isinstance(node.op, ast.Div | ast.FloorDiv):
            return _divided(left, right)
        if isinstance(node.op, ast.Mod):
            return int(math.fmod(left, right))
        return _BINARY[type(node.op)](left, right)
    if isinstance(node, ast.IfExp):
        chosen = node.body if _evaluated(node.test, values) else node.orelse
        return _evaluated(chosen, values)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return int(_compared(node, values))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _FUNCTIONS[node.func.id](*(_evaluated(a, values) for a in node.args))
    raise ValueError(ast.dump(node))


def _compared(node: ast.Compare, values: Mapping[str, Number]) -> bool:
    left, right = _evaluated(node.left, values), _evaluated(node.comparators[0], values)
    tests: dict[type[ast.cmpop], bool] = {
        ast.Lt: left < right, ast.LtE: left <= right, ast.Gt: left > right,
        ast.GtE: left >= right, ast.Eq: left == right, ast.NotEq: left != right,
    }  # fmt: skip
    return tests[type(node.ops[0])]


def _divided(left: Number, right: Number) -> Number:
    if isinstance(left, float) or isinstance(right, float):
        return left / right
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _macros(text: str) -> dict[str, tuple[tuple[str, ...], str]]:
    """(parameters, meaning) of the file's macros, where the meaning may be an expression."""
    found: dict[str, tuple[tuple[str, ...], str]] = {}
    pattern = r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)\n]*\))?[ \t]+([^\n]+?)[ \t]*$"
    for name, formals, body in re.findall(pattern, text, re.MULTILINE):
        if not re.search(r"[;{}\"=]", body):
            names = tuple(split_at_commas(formals[1:-1])) if formals else ()
            found[name] = (names, f"({body})" if re.search(r"\W", body) else body)
    return found


def _small_functions(text: str) -> dict[str, tuple[tuple[str, ...], str]]:
    """Functions of the host that are one expression, such as a division rounded up."""
    pattern = rf"{_TYPE}\s+(\w+)\s*\(([^(){{}};]*)\)\s*\{{\s*return\s+([^;{{}}]+);\s*\}}"
    found = {}
    for name, formals, body in re.findall(pattern, text):
        names = tuple(re.findall(r"\w+", p)[-1] for p in split_at_commas(formals))
        if names and name not in body:
            grouped = re.sub(rf"\b({'|'.join(names)})\b", r"(\1)", body)
            found[name] = (names, grouped)
    return found


def _outside_functions(text: str) -> str:
    """The declarations at namespace level."""
    parts, at = [], 0
    for match in re.finditer(r"\{", text):
        if match.start() < at:
            continue
        header = text[at : match.start()]
        if re.search(r"\bnamespace\b[^;()]*$", header):
            parts.append(re.sub(r"[^;{}]*$", ";", header))
            at = match.end()
            continue
        parts.append(re.sub(r"[^;{}]*$", "", header))
        at = closing(text, match.end(), "{}") + 1
    return "".join([*parts, text[at:]])


def _without_bodies_of_loops(text: str) -> str:
    """As `;` ends a statement, those inside `for (…)` become ends of statements, too."""
    return re.sub(r"\b(if|while|switch)\s*\([^;{}]*\)", ";", text)


def _names(first: str, rest: str) -> Iterator[str]:
    """`a = b = c = 3`: all the names that get the value."""
    yield first
    for part in re.split(r"(?<![=!<>])=(?!=)", rest)[:-1]:
        if re.fullmatch(r"\s*[\w.]+\s*", part):
            yield part.strip()


def _pointer(text: str) -> str:
    """`(void **)&d_a` is the pointer d_a."""
    plain = re.sub(r"\(\s*(?:const\s+)?\w+(?:\s+\w+)*\s*\*+\s*\)", "", text)
    plain = re.sub(r"\b(?:reinterpret_cast|static_cast)\s*<[^<>]*>\s*", "", plain)
    return plain.strip("&() \t\n").replace("->", ".")
