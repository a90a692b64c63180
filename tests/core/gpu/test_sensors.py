"""The SMs' clock from two stamps, with a driver that gives stamps of its own."""

import numpy as np
import pytest

from core.gpu import sensors
from core.gpu.sensors import SmClock
from core.ptx.parser import parse


class Stamps:
    """Some SMs are stamped at a time and a count of clocks that grow from stamp to stamp."""

    def __init__(self, ns, mhz):
        self.ns, self.mhz, self.calls = ns, mhz, []

    def module_from_buffer(self, image):
        assert image.endswith(b"\0")
        return self

    def get_function(self, name):
        return self

    def prepare(self, layout):
        assert layout == "P"

    def mem_alloc(self, nbytes):
        return np.zeros(nbytes // 8, np.uint64)

    def memset_d32_async(self, slots, word, count, stream):
        slots.view(np.uint32)[:count] = word

    def prepared_async_call(self, grid, block, stream, slots, shared_size):
        self.calls.append((grid, block))
        now = len(self.calls) * self.ns
        for sm in (0, 3, 131):
            self.at(slots)[2 * sm : 2 * sm + 2] = (9_000 * sm + now * self.mhz / 1e3, 77 + now)

    def memcpy_dtoh(self, host, slots):
        host[...] = slots.reshape(host.shape)


@pytest.mark.parametrize(
    ("ns", "mhz", "found"), [(1_400_000, 1612.5, 1612.5), (90_000, 1612.5, None)]
)
def test_the_clock_between_two_stamps(monkeypatch, ns, mhz, found):
    driver = Stamps(ns, mhz)
    clock = SmClock(driver, 132)
    monkeypatch.setattr(sensors.np, "uintp", lambda address: address)
    monkeypatch.setattr(sensors, "int", lambda slots: slots, raising=False)
    driver.at = lambda slots: slots
    clock.begin()
    clock.end()
    assert clock.mhz(ns / 1e6) == found
    assert clock.mhz(ns / 1e6 / 2) is None  # the GPU did something else meanwhile
    assert driver.calls == [((132, 1, 1), (32, 1, 1))] * 2


def test_a_launch_that_stamped_no_sm_has_no_clock():
    driver = Stamps(10**6, 1000.0)
    assert SmClock(driver, 132).mhz(1.0) is None


def test_the_kernel_is_ptx_whose_registers_have_names_of_their_own():
    # %clock is the PTX ISA's own (Special Registers): as a name it gives the counter's lower half.
    (kernel,) = parse(sensors._PTX.decode().rstrip("\0")).functions.values()
    assert kernel.name == "stamp"
    assert not {"%clock", "%clock64", "%time", "%smid"} & set(kernel.registers)
