"""What the GPU tests run inside the worker process."""

from dataclasses import replace

from core.gpu import driver_session
from core.gpu.loaded_launch import LoadedKernel
from core.launch import ArrayArgument


def allocate(count):
    """Allocates `count` bytes on the device and lets them go."""
    here = driver_session.current()
    with here.errors():
        here.cuda.mem_alloc(count).free()


def free_memory():
    """Bytes free on the device."""
    return driver_session.current().cuda.mem_get_info()[0]


_held = []


def fill_memory(leave):
    """Takes all of the device's memory but `leave` bytes; returns how much it took."""
    here = driver_session.current()
    with here.errors():
        size = here.cuda.mem_get_info()[0] - leave
        _held.append(here.cuda.mem_alloc(size))
    return size


def empty_memory():
    """Gives back what `fill_memory` took."""
    while _held:
        _held.pop().free()


def outputs(cubin, entry, launch):
    """What the arrays that a kernel writes hold after one launch, by name.

    They begin with their own content, not poisoned, so that what is not written can be compared.
    """
    arguments = tuple(
        replace(one, role="inout")
        if isinstance(one, ArrayArgument) and one.role == "output"
        else one
        for one in launch.arguments
    )
    here = driver_session.current()
    kernel = LoadedKernel(here, cubin, entry, replace(launch, arguments=arguments))
    with here.using(kernel):
        kernel.reset()
        kernel.run()
        return kernel.outputs()
