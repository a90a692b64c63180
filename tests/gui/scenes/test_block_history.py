"""What a block has done up to a step."""

import numpy as np

from gui.scenes.block_history import history_of
from tests.gui.fake_kernels import aat, simple, tiled

N = 12  # columns of A and rows of B in the rectangular cases


def steps_of(block, name, kind):
    found = []
    for step in range(block.n_steps):
        access = block.access(step)
        if access is not None and access.array.name == name and access.kind == kind:
            found.append(step)
    return found


def test_read_by_a_thread_grows_with_the_clock():
    block = simple(9, N, 7, (4, 4)).block(0)
    history, thread = history_of(block), 6  # threadIdx (2, 1): row 1, column 2
    loads = steps_of(block, "A", "load")
    assert history.read_by("A", thread, loads[0] - 1).tolist() == []
    assert history.read_by("A", thread, loads[4]).tolist() == [N + k for k in range(5)]
    assert history.read_by("B", thread, block.n_steps).tolist() == [2 + 7 * k for k in range(N)]
    # earlier steps are still answered rightly after later ones
    assert history.read_by("A", thread, loads[1]).tolist() == [N, N + 1]


def test_stores_and_their_threads():
    block = simple(9, N, 7, (4, 4)).block(3)  # second row of blocks, second column: 4..7 x 4..6
    flats, threads, steps = history_of(block).stored("C")
    assert flats.tolist() == [r * 7 + c for r in range(4, 8) for c in range(4, 7)]
    assert threads.tolist() == [y * 4 + x for y in range(4) for x in range(3)]
    assert len(set(steps.tolist())) == 1
    before, _ = history_of(block).value_stored("C", int(steps[0]) - 1)
    after, values = history_of(block).value_stored("C", int(steps[0]))
    assert len(before) == 0
    assert sorted(after.tolist()) == flats.tolist()
    assert np.isfinite(values).all()


def counted(block, name, size, step):
    """How many lanes have loaded each of the elements."""
    counts = np.zeros(size, np.int64)
    flats, times = history_of(block).loaded(name, step)
    counts[flats] = times
    return counts


def test_times_loaded_counts_lanes():
    block = simple(8, 8, 8, (4, 4)).block(0)
    counts = counted(block, "A", 64, block.n_steps).reshape(8, 8)
    assert history_of(block).times_loaded("A", 8, block.n_steps) == 4
    assert history_of(block).times_loaded("A", 63, block.n_steps) == 0
    assert (counts[:4] == 4).all()  # four threads of the block need each element of a row
    assert (counts[4:] == 0).all()
    tile = tiled(8, 8, 8, 4).block(0)
    once = counted(tile, "A", 64, tile.n_steps).reshape(8, 8)
    assert (once[:4] == 1).all()  # loaded once, then shared


def test_elements_loaded_so_far_whichever_way_the_clock_moves():
    block = tiled(5, 7, 6, 4).block(1)
    loads = [block.access(s) for s in range(block.n_steps)]
    loads = [a for a in loads if a and a.kind == "load" and a.array.name == "B"]
    fresh = [
        np.bincount(
            np.concatenate([[0], *(a.elements[a.elements >= 0] for a in loads if a.step <= s)]),
            minlength=42,
        )
        - (np.arange(42) == 0)
        for s in range(block.n_steps)
    ]
    other = tiled(5, 7, 6, 4).block(1)
    random = np.random.default_rng(4)
    for step in [0, *random.integers(0, block.n_steps, 60), block.n_steps - 1, 0]:
        flats, times = history_of(other).loaded("B", int(step))
        assert flats.tolist() == np.flatnonzero(fresh[step]).tolist()
        assert times.tolist() == fresh[step][fresh[step] > 0].tolist()
    assert history_of(other).loaded("B", other.n_steps - 1)[0].size > 6


def test_copies_in_shared_memory_are_traced_to_their_elements():
    block = tiled(5, 7, 6, 4).block(0)
    history = history_of(block)
    load = steps_of(block, "tile_a", "load")[4 + 1]  # phase 1, k = 1
    through = history.read_through("A", load)
    rows = np.arange(16) // 4
    assert through[0, :16].tolist() == (rows * 7 + 5).tolist()
    # thread (0, 1) has read A[1, 0..3] in phase 0 and A[1, 4..5] since, through the tile
    assert history.read_by("A", 4, load).tolist() == [7, 8, 9, 10, 11, 12]
    # k = 3 of phase 1 would be A[i, 7], which is outside: zero fill, a copy of nothing
    last = steps_of(block, "tile_a", "load")[4 + 3]
    assert len(history.read_through("A", last)) == 0


def test_phase_loads_are_kept_apart_by_instruction():
    block = aat(32, 16).block(1)
    loaded = history_of(block).loaded_in_phase(1)["A"]
    rows = [np.unique(flats // 32).tolist() for flats in loaded]
    assert rows == [list(range(16)), list(range(16, 32))]
    assert all(np.unique(flats % 32).tolist() == list(range(16, 32)) for flats in loaded)


def test_last_access_by_space():
    block = tiled(8, 8, 8, 4).block(0)
    history = history_of(block)
    inner = steps_of(block, "tile_b", "load")[2]
    assert history.last_access(inner, "shared").step == inner
    found = history.last_access(inner, "global")
    assert (found.array.name, found.kind) == ("B", "load")
    assert history.last_access(0, "global") is None
