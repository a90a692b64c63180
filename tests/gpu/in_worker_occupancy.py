"""What the driver says of occupancy, asked in the worker process, where the context is."""

from __future__ import annotations

from cuda.bindings import driver

from core.gpu import driver_session


def _check(answer):
    status, *values = answer
    if status != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"the driver answered {status}")
    return values[0] if values else None


def active_blocks(image, entry, launches, carve_out=None):
    """For each (threads of a block, dynamic shared bytes): the blocks that an SM holds at a time.

    Beside them the kernel's registers, static shared bytes and most threads, as the driver has
    them. `carve_out` is the preferred share of shared memory in per cent.
    """
    here = driver_session.current()
    with here.errors():
        module = _check(driver.cuModuleLoadData(image))
        try:
            function = _check(driver.cuModuleGetFunction(module, entry.encode()))
            attribute = driver.CUfunction_attribute

            def ask(name):
                return _check(
                    driver.cuFuncGetAttribute(
                        getattr(attribute, f"CU_FUNC_ATTRIBUTE_{name}"), function
                    )
                )

            found = (ask("NUM_REGS"), ask("SHARED_SIZE_BYTES"), ask("MAX_THREADS_PER_BLOCK"))
            most = here.report.shared_per_block_bytes - found[1]
            _check(
                driver.cuFuncSetAttribute(
                    function,
                    attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                    most,
                )
            )
            if carve_out is not None:
                _check(
                    driver.cuFuncSetAttribute(
                        function,
                        attribute.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                        carve_out,
                    )
                )
            blocks = [
                int(
                    _check(
                        driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                            function, threads, dynamic
                        )
                    )
                )
                for threads, dynamic in launches
            ]
        finally:
            _check(driver.cuModuleUnload(module))
    return found, blocks


def attributes():
    """The limits of the device in use, by the names that a capability has for them."""
    here = driver_session.current()
    device, at = here.cuda.Device(here.report.ordinal), here.cuda.device_attribute
    names = {
        "threads": at.MAX_THREADS_PER_MULTIPROCESSOR,
        "blocks": at.MAX_BLOCKS_PER_MULTIPROCESSOR,
        "registers": at.MAX_REGISTERS_PER_MULTIPROCESSOR,
        "registers_per_block": at.MAX_REGISTERS_PER_BLOCK,
        "threads_per_block": at.MAX_THREADS_PER_BLOCK,
        "shared_kib": at.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        "shared_per_block_kib": at.MAX_SHARED_MEMORY_PER_BLOCK,
        "shared_opt_in_kib": at.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
    }
    found = {name: int(device.get_attribute(which)) for name, which in names.items()}
    return {n: v // 1024 if n.endswith("_kib") else v for n, v in found.items()}
