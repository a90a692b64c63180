"""Kernels of other compilers: makes their PTX, and writes what became of each into docs.

    python scripts/record_foreign.py compile    write tests/data/foreign/*.ptx (see below)
    python scripts/record_foreign.py page       run them and fill docs/foreign.md
    python scripts/record_foreign.py check      exit status 1 if the page is out of date

`compile` runs where the compilers are, without a GPU:

    pip install triton numpy numba-cuda nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-nvrtc ziglang

Rust's is `rustc` with the target nvptx64-nvidia-cuda, clang the one in Zig.

The kernels and launches are those of tests/foreign_set.py. What a compiler says of this machine's
folders is left out of the PTX: debug information, and the folder of the source.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

from tests.foreign_set import FOLDER, FOREIGN, NUMBA, OTHERS, TRITON, Foreign, is_right

PAGE = ROOT / "docs" / "foreign.md"


def compile_all() -> None:
    """Writes the PTX of every kernel, and Triton's metadata."""
    sys.path.insert(0, str(FOLDER))
    for one in FOREIGN:
        text = {"triton": _triton, "numba": _numba}.get(one.maker, _assembly)(one)
        one.path.write_text(_neutral(text), encoding="utf-8")
        print(f"{one.name}: {one.path.stat().st_size:,} bytes")


def _triton(one: Foreign) -> str:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    function = getattr(importlib.import_module("triton_kernels"), one.kernel)
    signature = dict(zip(function.arg_names, one.types, strict=False))
    signature |= dict.fromkeys(one.constants, "constexpr")
    aligned = {  # as for arrays that cudaMalloc gave
        (place,): [["tt.divisibility", 16]]
        for place, kind in enumerate(one.types)
        if kind.startswith("*") or (one.aligned and kind == "i32")
    }
    source = ASTSource(function, signature, dict(one.constants), aligned)
    made = triton.compile(source, target=GPUTarget("cuda", one.capability, 32))
    told = {name: getattr(made.metadata, name) for name in ("name", "num_warps", "shared")}
    told["triton_version"] = triton.__version__
    one.path.with_suffix(".json").write_text(json.dumps(told) + "\n", encoding="utf-8")
    return str(made.asm["ptx"])


def _numba(one: Foreign) -> str:
    from numba import types
    from numba.cuda import compile_ptx

    function = getattr(importlib.import_module("numba_kernels"), one.kernel)
    signature = tuple(eval(kind, vars(types)) for kind in one.types)
    major_minor = divmod(one.capability, 10)
    return str(compile_ptx(function, signature, cc=major_minor, lineinfo=True)[0])


def _assembly(one: Foreign) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ptx"
        cpu, env = f"sm_{one.capability}", {**os.environ, "RUSTC_BOOTSTRAP": "1"}
        rust = ["rustc", "--target", "nvptx64-nvidia-cuda", "-Ctarget-cpu=" + cpu, "-O",
                "-Cdebuginfo=line-tables-only", "--emit=asm", "-Cpanic=abort",
                str(FOLDER / "rust_kernels.rs"), "-o", str(path)]  # fmt: skip
        clang = [sys.executable, "-m", "ziglang", "cc", "-target", "nvptx64-cuda-none", "-S", "-O2",
                 "-gline-tables-only", "-nostdlib", "-mcpu=" + cpu,
                 str(FOLDER / "clang_kernels.c"), "-o", str(path)]  # fmt: skip
        subprocess.run(rust if one.maker == "rust" else clang, check=True, env=env)
        return path.read_text(encoding="utf-8")


def _neutral(text: str) -> str:
    """PTX without debug information, and without the folders of its sources."""
    text = re.sub(
        r"^[ \t]*\.section\s+(\S+)\s*\{.*?^[ \t]*\}", r"\t.section\t\1\t{\t}", text,
        flags=re.MULTILINE | re.DOTALL,
    )  # fmt: skip
    text = re.sub(r'(\.file\s+\d+\s+")[^"]*/', r"\1", text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def page() -> str:
    """The table of all kernels."""
    from tests.foreign_runs import counters_apart, run

    rows, right, equal = [], 0, 0
    for one in FOREIGN:
        found = run(one)
        faults = len(found.trace.findings)
        good = is_right(one, found.error) and not faults
        right += good
        apart = counters_apart(one, found)
        equal += not apart
        told = "; ".join(f"{n} {ours:,}, there {theirs:,}" for n, (ours, theirs) in apart.items())
        variant = f" ({one.variant})" if one.variant else ""
        error = f"{found.error:.0e}" if found.error else "0"
        lines = ", ".join(f"{line}: {sectors:,}" for line, sectors in found.sectors.items())
        rows.append(
            f"| {one.maker} | `{one.kernel}`{variant} | {len(found.trace.module.instructions):,} "
            f"| {'right' if good else 'wrong'} | {error} | {told or 'equal'} | {lines} |"
        )
    return "\n".join(
        (
            f"{len(TRITON)} of Triton, {len(NUMBA)} of Numba, {len(OTHERS)} of Rust and clang; "
            f"{right} of these {len(FOREIGN)} are right and without a fault, "
            f"and {equal} have the hardware's value in every counter.",
            "",
            "| compiler | kernel | instructions | result | error | counters | sectors by line |",
            "|-|-|-|-|-|-|-|",
            *rows,
        )
    )


def main() -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("compile", "page", "check"))
    what = parser.parse_args().what
    if what == "compile":
        compile_all()
        return 0
    import pages

    return pages.fill(PAGE, "record_foreign.py", {"foreign": page()}, check=what == "check")


if __name__ == "__main__":
    sys.exit(main())
