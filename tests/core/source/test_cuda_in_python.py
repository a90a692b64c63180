"""CUDA within Python files and notebooks: what is taken, where its lines are, what is refused."""

from __future__ import annotations

import json
import time

import pytest

from core.cli.app import main
from core.errors import TilescopeError
from core.source.cuda_in_python import cuda_within
from core.user_files.sources_and_headers import read_source, write_source

ADD = "__global__ void {}(float *x, int n) {{ int i = threadIdx.x; if (i < n) x[i] += 1; }}"


def test_strings_of_a_python_file_stay_on_their_lines():
    text = (
        '"""Adds, with __global__ functions."""\n'
        "import cupy\n"
        'first = r"""\n'
        "#define ONE 1.0f\n"
        '"""\n'
        "code = '''\n" + ADD.format("add") + "\n'''\n"
        f'again = """{ADD.format("add")}"""\n'
        f'other = """{ADD.format("other")}"""\n'
    )
    lines = cuda_within(text, "k.py").split("\n")
    assert lines[3] == "#define ONE 1.0f"
    assert lines[6] == ADD.format("add")
    assert lines[9] == ADD.format("other")
    assert sum(bool(line.strip()) for line in lines) == 3, "no docstring, and no kernel twice"


def test_what_python_puts_into_a_string_is_there():
    text = (
        "TILE = 16\n"
        'a = f"""__global__ void a(float *x) {{ x[{TILE}] = {N} - {TILE // 2}; }}"""\n'
        'b = """__global__ void b(float *x) { x[%(TILE)d] = ${TILE}; }""" % {"TILE": TILE}\n'
    )
    found = cuda_within(text, "k.py")
    assert "void a(float *x) { x[16] = N - (16 / 2); }" in found
    assert "void b(float *x) { x[16] = 16; }" in found


MOST_S = 5.0  # of a processor, which took 19 where each letter of a word could begin a string
PLAIN = "__global__ void k(%(kind)s *x) { x[0] = %(tile)d; }"
OF_TEMPLATE = "__global__ void k(${kind} *x) { x[0] = ${tile}; }"
OF_WORDS = "__global__ void k($kind *x) { x[0] = $tile; }"
WITH_WORDS = "__global__ void k(KIND *x) { x[0] = TILE; }"
IN_BRACES = "__global__ void k({kind} *x) {{ x[0] = {tile}; }}"


@pytest.mark.parametrize(
    "text",
    [
        f'TILE = 16\ns = """{PLAIN}""" % {{"kind": \'float\', "tile": TILE}}\n',
        f's = """{PLAIN}"""\nt = s % {{\n    "kind": "float",  # one, two\n    "tile": 16,\n}}\n',
        f'T = 16\ns = Template("""{OF_TEMPLATE}""")\ns.substitute(kind="float", tile=str(T))\n',
        f'N = 16\ndef f(n, tile: int = N, kind="float"):\n    return f"""{IN_BRACES}"""\n',
        f'def f():\n    tile = 16\n    kind = "float"\n    return f"""{IN_BRACES}"""\n',
        f'class K:\n    T = 16\n    S = Template("""{OF_WORDS}""")\n    def f(self, kind="float"):'
        "\n        return self.S.substitute(kind=kind, tile=self.T)\n",
        f'TILE = 16\ns = """{WITH_WORDS}""".replace("TILE", str(TILE)).replace("KIND", "float")\n',
        f'CODE = """{IN_BRACES}"""\nmake(CODE.format(kind="float", tile=16))\n',
    ],
)
def test_what_python_passes_to_a_string_is_there(text):
    assert "__global__ void k(float *x) { x[0] = 16; }" in cuda_within(text, "k.py")


def test_a_type_of_two_words_stays_bare():
    text = f's = """{IN_BRACES}""".format(kind="unsigned int", tile=8 * 2)\n'
    assert "void k(unsigned int *x) { x[0] = (8 * 2); }" in cuda_within(text, "k.py")


STRINGS = r'''TILE = 16  # """
quotes = '"""'
"""
# include the file
"""
a = """
#define NEXT(i) \\
    (i + 1)
__global__ void a() { printf("\\n"); }
"""
b = """__global__ void b(int *x) {{ x[0] = {TILE}; }}""".format(TILE=TILE)
c = """__global__ void c(int *x) { x[0] = 5 %% %(TILE)s; }""" % vars()
d = r"""__global__ void d() { printf("\\"); }"""
'''


def test_strings_are_read_as_python_reads_them():
    lines = cuda_within(STRINGS, "k.py").split("\n")
    assert not any(lines[:6])
    assert lines[6:9] == [
        "#define NEXT(i) \\",
        "    (i + 1)",
        r'__global__ void a() { printf("\n"); }',
    ]
    assert lines[10:13] == [
        "__global__ void b(int *x) { x[0] = 16; }",
        "__global__ void c(int *x) { x[0] = 5 % 16; }",
        r'__global__ void d() { printf("\\"); }',
    ]


def notebook(*cells):
    made = [{"cell_type": "code", "source": [cell]} for cell in cells]
    return json.dumps({"cells": [{"cell_type": "markdown", "source": ["__global__ {"]}, *made]})


def test_cells_of_a_notebook_are_one_source():
    found = cuda_within(
        notebook(
            "!pip install x\nimport torch",
            "# include what is needed\n#define the model\nimport torch",
            "%%cu\n#include <cstdio>\n" + ADD.format("add"),
            "%%writefile two.cu\n" + ADD.format("add").replace("1", "2"),
            f"cuda = '''\n{ADD.format('other')}\n'''",
            "__global__ void wide(int *x) {\n  x[9\n    % 5] = 1;\n}",
        ),
        "k.ipynb",
    )
    assert [line for line in found.split("\n") if line] == [
        "#include <cstdio>",
        ADD.format("add"),
        ADD.format("other"),
        *("__global__ void wide(int *x) {", "  x[9", "    % 5] = 1;", "}"),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("k.py", "import numba\n@numba.cuda.jit\ndef add(x): ...\n"),
        ("k.ipynb", notebook("print(1)")),
        ("k.ipynb", "{"),
        ("k.ipynb", "[]"),
        ("k.ipynb", '{"cells": [{"cell_type": "code"}]}'),
    ],
)
def test_a_file_without_cuda_is_refused_in_a_sentence(name, text):
    with pytest.raises(TilescopeError, match=rf"{name} holds no CUDA source: .* as the PTX"):
        cuda_within(text, name)


def test_a_word_that_fills_a_line_takes_no_time():
    began = time.process_time()
    cuda_within(f'a = """{ADD.format("add")}"""\n' + "a" * 60_000 + "\n", "k.py")
    assert time.process_time() - began < MOST_S


def test_a_python_file_that_reads_its_kernels_says_which_file_to_trace():
    text = 'code = (Path(__file__).parent / "kernels" / "ops.cu").read_text()\n'
    with pytest.raises(TilescopeError, match=r"It names ops\.cu: open that file\."):
        cuda_within(text, "k.py")


def test_a_kernel_of_a_python_file_is_traced_and_the_file_is_not_overwritten(tmp_path, capsys):
    path = tmp_path / "k.py"
    text = f"import cupy\nadd = cupy.RawKernel('''{ADD.format('add')}''', 'add')\n"
    path.write_text(text)
    assert main(["trace", str(path)]) == 0
    assert "k.py: add: grid" in (said := capsys.readouterr().out)
    assert " 2   " in said, "the line of the file"
    with pytest.raises(TilescopeError, match=r"save them as a file that ends with \.cu"):
        write_source(path, read_source(path))
    assert path.read_text() == text
