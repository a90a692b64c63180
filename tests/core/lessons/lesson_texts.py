"""A lesson file in a folder of its own, and what is put in place of parts of it."""

from pathlib import Path

GOOD = """
id = "own-1"
title = "Strides"
aim = "Say how many sectors a strided load moves."

[concepts]
ring = "Ring buffers"

[[step]]
link = "copy_stride?n=64&stride=2&block_x=32"
at = "load:A"
kind = "number"
veil = ["warp.figures", "phases:1"]
concepts = ["sector", "ring"]
ask = "Stride {stride}: how many sectors?"
answer = "sectors()"
vary = { stride = [1, 3] }
hints = ["{32 * stride * 4} bytes."]
why = "{sectors()} of them."
[[step.wrong]]
given = "ideal()"
say = "That is what neighbours would take."
belief = "M1"

[[step]]
link = "tiled?n=4&tile=2"
at = "load:A@phase1"
kind = "choice"
concepts = ["phase"]
ask = "What does thread 0 load?"
why = "{element(0)}."
[[step.choice]]
say = "A[0,2]"
when = "element(0) == A[0,2]"
[[step.choice]]
say = "A[0,0]"
reply = "That was phase 0."

[[step]]
link = "twice?n=40"
at = "load:A"
kind = "edit"
start = "start.cu"
solution = "solution.cu"
concepts = ["mapping"]
ask = "Double {n} elements."
why = "Done."
hints = ["One.", "Two.", "Three."]
[[step.goal]]
say = "C is 2 A"
when = "right()"
"""

LADDER = """
[[rung]]
number = 1
name = "twice"
title = "Twice"
summary = "C = 2 A."
file = "twice.cu"
kernel = "twice"
parameters = [{ name = "n", label = "N", default = 40, minimum = 1, maximum = 4096 }]
block = ["32"]
grid = ["ceil_div(n, 32)"]
arguments = [
    { name = "A", dtype = "float32", shape = ["n"], role = "input" },
    { name = "C", dtype = "float32", shape = ["n"], role = "output" },
    { name = "N", dtype = "int32", value = "n" },
]
expected = { C = "A + A" }
"""

KERNEL = """
extern "C" __global__ void twice(const float* A, float* C, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N)
        C[i] = 2.0f * A[i];
}
"""


def write_lesson(
    folder: Path, text: str = GOOD, ladder: str = LADDER, kernel: str = KERNEL
) -> Path:
    """A lesson with a kernel of its own beside it."""
    (folder / "kernels").mkdir(parents=True, exist_ok=True)
    (folder / "kernels" / "ladder.toml").write_text(ladder, encoding="utf-8")
    (folder / "kernels" / "twice.cu").write_text(kernel, encoding="utf-8")
    (folder / "start.cu").write_text(KERNEL.replace("2.0f", "3.0f"), encoding="utf-8")
    (folder / "solution.cu").write_text(KERNEL, encoding="utf-8")
    file = folder / "own.toml"
    file.write_text(text, encoding="utf-8")
    return file
