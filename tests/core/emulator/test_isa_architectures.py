"""What NVRTC makes of the kernels for other architectures, and with fast maths, is decoded."""

from __future__ import annotations

import pytest

from core.compiler.compile_request import ARCHITECTURE, Request, compile_request
from core.emulator.decode import decode
from core.ptx.ast import Module
from core.ptx.parser import parse
from tests.core.emulator.isa_kernels import HARDWARE, needs_headers, source

BUILDS = [("compute_75", ()), ("compute_90", ("--use_fast_math",)), ("compute_120", ())]


def addresses(module: Module) -> dict[str, int]:
    names = [*module.variables, *module.functions]
    for function in module.functions.values():
        names += [v.name for v in (*function.variables, *function.parameters)]
    return dict.fromkeys(names, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("architecture", "options"), BUILDS)
@pytest.mark.parametrize("name", HARDWARE["kernels"])
def test_every_function_is_decoded(name, architecture, options) -> None:
    if needs_headers(name):
        pytest.skip("CUDA's headers are not installed")
    # `compile_ptx` would make machine code as well, of which nothing here depends.
    whole = (f"{ARCHITECTURE}{architecture}", "-lineinfo", "--device-int128", *options)
    compiled = compile_request(Request(source(name), f"{name}.cu", (), whole, "PTX"))
    module = parse(compiled.image.decode().rstrip("\0"))
    places = addresses(module)
    for function in module.functions.values():
        assert len(decode(module, function, places).ops) == function.end_pc - function.first_pc
