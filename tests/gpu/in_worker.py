"""What the GPU tests run inside the worker process."""

from core.gpu import session


def allocate(count):
    """Allocates `count` bytes on the device and lets them go."""
    here = session.current()
    with here.errors():
        here.cuda.mem_alloc(count).free()


def free_memory():
    """Bytes free on the device."""
    return session.current().cuda.mem_get_info()[0]
