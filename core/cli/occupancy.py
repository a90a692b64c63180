"""`tilescope occupancy`: how many blocks and warps an SM holds, and what limits it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from core.cli.console import Terminal, compile_errors, plain_table, print_json
from core.cli.named_launch import chosen_workload, is_file
from core.cli.options import AsJson, Sizes, option
from core.devices.device_table import Capability, find_capability
from core.devices.occupancy import LIMITS, Occupancy, Resources
from core.devices.occupancy import occupancy as occupancy_of
from core.errors import ParameterError
from core.ladder import load_ladder
from core.user_files.launch_texts import parse_dim3


def occupancy(
    rung: Annotated[
        str | None,
        typer.Argument(
            help="A rung; its compiled kernel gives registers, shared memory and block.",
            show_default=False,
        ),
    ] = None,
    *,
    device: Annotated[
        str, typer.Option(help="A device, a compute capability (8.6), or the Textbook SM.")
    ] = "RTX 3090",
    block: Annotated[str | None, option(text="Threads of a block: 256, or 16,16.")] = None,
    registers: Annotated[int | None, option(text="Registers of a thread.", min=0)] = None,
    shared: Annotated[int | None, option(text="Shared memory of a block, bytes.", min=0)] = None,
    barriers: Annotated[
        int, typer.Option(help="Named barriers of a block; __syncthreads is one.", min=0)
    ] = 1,
    carve_out: Annotated[
        int | None,
        typer.Option(
            help="Preferred share of L1 used as shared memory, per cent.", show_default="driver's"
        ),
    ] = None,
    sizes: Sizes,
    as_json: AsJson = False,
) -> None:
    """Compute how many blocks and warps an SM holds; needs no GPU."""
    capability, found = find_capability(device)
    given = sizes.given()
    if rung is not None:
        if block is not None or registers is not None or shared is not None:
            raise ParameterError(
                "A rung brings its block, registers and shared memory: leave out --block, "
                "--registers and --shared."
            )
        resources = _of_rung(rung, given, capability, barriers)
    else:
        if given:
            wrong = next(iter(given))
            raise ParameterError(f"--{wrong.replace('_', '-')} is for a rung: name one.")
        if block is None:
            raise ParameterError("Say how many threads a block has, as in --block 256.")
        threads = parse_dim3(block, "block").count
        resources = Resources(threads, registers or 0, shared or 0, barriers)
    result = occupancy_of(capability, resources, carve_out)
    name = capability.name if found is None else found.name
    if as_json:
        print_json(as_data(result, name))
    else:
        _show(result, name)


def as_data(result: Occupancy, device: str) -> dict[str, Any]:
    """The occupancy as plain data."""
    resources = result.resources
    return {
        "device": device,
        "capability": result.capability.name,
        "block": resources.block_threads,
        "registers": resources.registers,
        "shared": resources.shared_bytes,
        "barriers": resources.barriers,
        "blocks": result.blocks,
        "warps": result.warps,
        "threads": result.threads,
        "max_warps": result.capability.warps,
        "max_threads": result.capability.threads,
        "occupancy": result.occupancy,
        "limits": dict(result.limits),
        "limited_by": list(result.limited_by),
        "registers_per_block": result.registers_per_block,
        "shared_per_block": result.shared_per_block,
        "shared_per_sm": result.shared_per_sm,
        "why": result.why,
        "source": result.capability.source,
    }


def _of_rung(
    rung: str, sizes: Mapping[str, int], capability: Capability, barriers: int
) -> Resources:
    """What the compiled kernel of a rung needs on that compute capability."""
    from core.compiler.compile_ptx_and_cubin import compiled_resources

    workload = chosen_workload(rung, fitting(rung, sizes), {})
    version = _version(capability)
    with compile_errors(workload):
        return compiled_resources(workload, version, barriers)


def fitting(rung: str, given: Mapping[str, int]) -> Mapping[str, int]:
    """The sizes, with an N that the tile divides where none is given: occupancy depends on none."""
    if is_file(rung) or rung.endswith(".ptx") or not given or set(given) & {"m", "n", "k"}:
        return given
    known = load_ladder()[rung]
    if not known.accepts(**given):
        size = math.lcm(*(value for value in given.values() if value > 0))
        missing = {name: size for name in ("m", "n", "k") if name in known.defaults}
        if known.accepts(**given, **missing):
            return {**given, **missing}
    return given


def _version(capability: Capability) -> str:
    if (capability.major, capability.name) < (7, "7.5"):
        raise ParameterError(
            f"The compiler makes no code for {capability.name} any more (7.5 is the oldest): give "
            "--block, --registers and --shared instead of a rung."
        )
    return capability.name


def _show(result: Occupancy, device: str) -> None:
    console, needs = Terminal(), result.resources
    version = f" (compute capability {result.capability.name})" if result.capability.major else ""
    console.say(
        f"{needs.block_threads:,} threads a block, {needs.registers} registers a thread, "
        f"{needs.shared_bytes:,} bytes of shared memory a block on {device}{version}"
    )
    table = plain_table("limit", ">blocks an SM", "")
    for name, limit in result.limits.items():
        mark = "limits" if name in result.limited_by else ""
        table.add_row(
            LIMITS[name], "any" if limit is None else str(limit), mark, style="bold" if mark else ""
        )
    console.print(table)
    console.say(result.why)
