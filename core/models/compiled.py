"""What a launch's kernel needs of an SM once it is compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.devices.occupancy import Resources

if TYPE_CHECKING:
    from core.launch import Workload


def compiled_resources(workload: Workload, version: str, barriers: int = 1) -> Resources:
    """The resources of the workload's optimised kernel on a compute capability, such as "8.6".

    Dynamic shared memory counts. Raises CompileError.
    """
    from core.compiler.compiler import compile_kernel, must_be_ours
    from core.compiler.cubin import kernel_resources

    must_be_ours(workload)
    major, minor = (int(part) for part in version.split("."))
    image, entry = compile_kernel(
        workload.source,
        workload.kernel,
        source_name=workload.source_name,
        defines=workload.defines,
        compute_capability=(major, minor),
        headers=workload.headers,
    )
    needs = kernel_resources(image, entry)
    shared = needs.static_shared_bytes + workload.launch.shared_bytes
    return Resources(workload.launch.block.count, needs.registers, shared, barriers)
