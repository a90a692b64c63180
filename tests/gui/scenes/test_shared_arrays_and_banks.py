"""The shared memory view's scene: what is written, which lanes meet in which bank."""

import numpy as np
import pytest

from core.ladder import all_kernels
from core.launch import ArrayArgument, Dim3, Launch, Workload
from core.recording.record_launch import record
from gui.scenes.shared_arrays_and_banks import lane_label, shared_scene
from tests.gui.fake_kernels import aat, simple, tiled


def accesses(block, name, kind):
    return [
        s
        for s in range(block.n_steps)
        if (a := block.access(s)) is not None and a.array.name == name and a.kind == kind
    ]


def test_a_tile_fills_up():
    trace = tiled(8, 8, 8, 4)
    block = trace.block(0)
    store = accesses(block, "tile_a", "store")[0]
    before = shared_scene(trace, block, store - 1, 0)
    assert before.caption == "Shared memory holds nothing yet."
    assert before.banks is None
    assert not before.grids[0].written.any()
    scene = shared_scene(trace, block, store, 0)
    a, b = scene.grids
    assert a.written.all()
    assert not b.written.any()
    assert np.array_equal(a.values, trace.inputs["A"][:4, :4])
    assert a.writers.ravel().tolist() == list(range(16))
    assert a.warp_lit.tolist() == a.warp_lanes.tolist() == list(range(16))
    assert a.verb == "stores"


def test_column_store_without_padding_meets_in_one_bank():
    trace = aat(64, 32, recorded=[0])
    block = trace.block(0)
    scene = shared_scene(trace, block, accesses(block, "t", "store")[0], 5)
    banks = scene.banks
    assert (banks.ways, banks.wavefronts, banks.ideal) == (32, 32, 1)
    offset = trace.shared_arrays[1].offset // 4
    busy = [bank for bank, words in enumerate(banks.words) if words]
    assert busy == [(offset + 5) % 32]
    assert [word.lanes for word in banks.words[busy[0]]] == [(lane,) for lane in range(32)]
    assert banks.words[busy[0]][7].name == "t[7, 5]"
    assert scene.caption == (
        f"Warp 5 stores t[0..31, 5]: 32-way conflict in bank {busy[0]}, "
        "32 wavefronts where 1 would do."
    )


def test_padding_removes_the_conflict():
    trace = aat(64, 32, pad=1, recorded=[0])
    block = trace.block(0)
    scene = shared_scene(trace, block, accesses(block, "t", "store")[0], 5)
    assert scene.banks.ways == scene.banks.wavefronts == 1
    assert all(len(words) == 1 for words in scene.banks.words)
    t = scene.grids[1]
    assert t.columns == 33
    assert not t.written[:, 32].any()
    assert t.bank_of(33) == (t.bank_of(0) + 1) % 32


def test_a_broadcast_is_no_conflict():
    trace = tiled(32, 32, 32, 16, recorded=[0])
    block = trace.block(0)
    scene = shared_scene(trace, block, accesses(block, "tile_a", "load")[3], 1)
    assert scene.caption == (
        "Warp 1 loads tile_a[2..3, 3]: 2 words, each broadcast to up to 16 lanes, no conflict."
    )
    words = [w for words in scene.banks.words for w in words]
    assert [w.lanes for w in words] == [tuple(range(16)), tuple(range(16, 32))]


def test_a_step_elsewhere_keeps_the_last_access():
    trace = tiled(8, 8, 8, 4)
    block = trace.block(0)
    scene = shared_scene(trace, block, block.n_steps - 1, 0)
    assert not scene.banks.live
    assert scene.caption.startswith("Last access: warp 0 loads tile_b")
    assert not len(scene.grids[0].block_lit)


def test_a_kernel_without_shared_memory_says_so():
    trace = simple(8, 8, 8, (4, 4))
    scene = shared_scene(trace, trace.block(0), 3, 0)
    assert scene.caption == "This kernel uses no shared memory."
    assert scene.grids == ()


def test_labels_of_lanes():
    assert lane_label((5,)) == "5"
    assert lane_label(tuple(range(16))) == "0–15"
    assert lane_label((0, 2, 4, 6, 9)) == "5 lanes"


def scene_of(source, block=128):
    from core.recording.record_launch import record
    from core.user_files.launch_texts import FileLaunch, file_workload

    launch = FileLaunch("x.cu", "k", "1", str(block), "0", "", (("a", f"random:float32[{block}]"),))
    trace = record(file_workload(source, launch), blocks="all")
    return trace, trace.block(0)


NARROW = """
__global__ void k(float* a) {
    __shared__ float narrow[128][2];
    __shared__ float flat[200];
    narrow[threadIdx.x][1] = a[threadIdx.x];
    flat[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = narrow[127 - threadIdx.x][1] + flat[threadIdx.x];
}
"""


def test_long_arrays_are_wrapped_at_the_banks_and_narrow_ones_are_drawn_wide(qapp):
    from PySide6.QtCore import QRectF

    from gui.looks.theme import load_theme
    from gui.views.shared_view import shared_geometry

    trace, block = scene_of(NARROW)
    scene = shared_scene(trace, block, block.n_steps - 1, 0)
    narrow, flat = scene.grids
    assert (narrow.rows, narrow.columns) == (128, 2)
    assert (flat.rows, flat.columns, flat.size) == (7, 32, 200)
    assert flat.written.sum() == 128
    assert flat.present.sum() == 200
    assert [flat.bank_of(i) - flat.bank_of(0) for i in (1, 31)] == [1, 31]
    geometry = shared_geometry(scene, QRectF(0, 0, 400, 320), load_theme("light"))
    boxes = [place.box for place in geometry.arrays]
    assert boxes[0].width() >= 40
    assert geometry.arrays[0].cells.high < 3
    assert not boxes[0].intersects(boxes[1])
    assert all(box.bottom() < geometry.banks.top() for box in boxes)


def caption_of(statement, block=32, kind="load"):
    source = (
        f'extern "C" __global__ void k(float* out)\n{{\n    int t = threadIdx.x;\n{statement}\n}}'
    )
    made = (ArrayArgument("out", np.zeros(64, np.float32), "inout"),)
    trace = record(Workload("k", source, "k.cu", "k", Launch(Dim3(1), Dim3(block), made)))
    shown = trace.block(0)
    step = next(
        s
        for s in range(shown.n_steps)
        if (a := shown.access(s)) is not None and (a.space, a.kind) == ("shared", kind)
    )
    return shared_scene(trace, shown, step, 0)


@pytest.mark.parametrize(
    ("declared", "store", "words"),
    [
        # 64-bit: a half warp goes for itself, of 16 lanes 16 bytes apart two meet in a bank
        ("double s[64]", "s[2 * t] = t;", "2-way conflict in banks 0, 1, 4, 5 …"),
        ("double s[128]", "s[t * 16 % 128] = t;", "8-way conflict in banks 0, 1"),
        ("double s[64]", "s[t] = t;", "2 wavefronts for 8 bytes a lane, no conflict"),
        ("char s[64]", "s[t] = t;", "8 words, up to 4 lanes write into one, no conflict"),
        ("float s[64]", "s[t / 8] = t;", "4 words, up to 8 lanes write into one, no conflict"),
        ("float s[1056]", "s[33 * t] = t;", "no bank is asked for two words, no conflict"),
    ],
)
def test_a_store_in_words(declared, store, words):
    scene = caption_of(f"    __shared__ {declared};\n    {store}\n    out[t] = s[t];", kind="store")
    assert words in scene.caption or words.replace(" …", ", ") in scene.caption
    assert "broadcast" not in scene.caption
    assert scene.banks.ways == (int(words[0]) if "-way" in words else 1)


def test_atomics_on_one_word_go_one_after_another():
    """Lanes 1, 5, 9, 13 update word 10, and so on: what a load would share."""
    declared = "    __shared__ int s[64];\n    s[t] = 0;\n"
    body = f"{declared}    atomicAdd(&s[t % 4 == 1 ? 10 : t], 1);\n    out[t] = s[t];"
    scene = caption_of(body, block=16, kind="atomic")
    assert scene.banks.passes[10] == 5  # lane 10 besides
    assert (scene.banks.ways, scene.banks.wavefronts) == (5, 5)
    assert "one lane after another, 5 in bank 10, 5 wavefronts where 1 would do" in scene.caption


def test_loads_of_one_word_are_a_broadcast():
    scene = caption_of("    __shared__ float s[8];\n    s[t % 8] = t;\n    out[t] = s[t / 8];")
    assert "4 words, each broadcast to up to 8 lanes, no conflict" in scene.caption


def test_what_copies_bring_is_not_written_before_it_has_landed():
    trace = record(all_kernels()["row_times_matrix_bulk"].workload(m=24, rows=4, stages=2))
    block = trace.block(0)
    first, second, third = (step for step, _ in block.operations[:3])
    scene = shared_scene(trace, block, second, 1)
    assert scene.caption == "Copies to shared memory are under way, and none has landed yet."
    ring = scene.grids[0]
    assert ring.copying.all()
    assert not ring.written.any()
    assert not shared_scene(trace, block, first - 1, 1).grids[0].copying.any()
    again = shared_scene(trace, block, third, 1).grids[0]  # stage 0 was read, and is filled again
    assert block.shared(third)["ring"].written[0].all()
    assert not again.written[:4].any()
    assert again.copying[:4].all()
    landed = shared_scene(trace, block, block.n_steps - 1, 1).grids[0]
    assert landed.written.all()
    assert not landed.copying.any()
