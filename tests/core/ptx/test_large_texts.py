"""Large texts: kernels that are not launched are left out, sections found, pauses kept short."""

import gc
import threading

import numpy as np
import pytest

from core.assembler import assembled_module
from core.assembler.assembled_module import module_of
from core.compiler.compile_ptx_and_cubin import compile_ptx, find_entry, plain_name
from core.garbage_collection import uncollected
from core.ptx.debug import variables
from core.ptx.debug.variables import debug_info
from core.ptx.lexer import sections, without_sections
from core.ptx.parser import parse, without_unreached
from core.recording.record_launch import record
from core.side_process import client
from core.side_process.client import apart
from core.user_files.launch_texts import FileLaunch, file_workload

SOURCE = """__device__ __noinline__ float later(float x);
__device__ __noinline__ float twice(float x) { return later(x) - x; }
__device__ __noinline__ float later(float x) { return 3 * x; }
__device__ __noinline__ float unused(float x) { return later(x) + 5; }
__device__ __noinline__ float pointed(float x) { return x; }
__device__ float (*pointer)(float) = pointed;
__global__ void first(float* v) { v[threadIdx.x] = 1; }
template <int K> __global__ void second(float* v)
{
    float mine = twice(v[threadIdx.x]);
    asm volatile("{\\n.reg .f32 t;\\nadd.f32 t, %0, %0;\\n}" :: "f"(mine));
    v[threadIdx.x] = mine + K;
}
template __global__ void second<3>(float*);
__global__ void third(float* v) { v[threadIdx.x] += twice(3); }
"""


@pytest.fixture(scope="module")
def build():
    return compile_ptx(SOURCE)


@pytest.mark.parametrize("kernel", ["first", "second", "third"])
def test_a_launched_kernel_is_what_it_is_in_the_whole(build, kernel):
    entry = find_entry(build, kernel)
    text = without_unreached(build.ptx, entry)
    assert text.count("\n") == build.ptx.count("\n")
    whole, cut = parse(build.ptx), parse(text)
    assert [f.name for f in cut.functions.values() if f.is_entry] == [entry]
    called = {"later", "twice"} if kernel != "first" else set()
    assert {f.name for f in cut.functions.values() if f.end_pc > f.first_pc} == {
        entry, *(f.name for f in whole.functions.values() if not f.is_entry
                 and plain_name(f.name) in {"pointed", *called})
    }  # fmt: skip

    def code(module):
        own = module.functions[entry]
        return [(i.text, i.ptx_line, i.position) for i in
                module.instructions[own.first_pc : own.end_pc]]  # fmt: skip

    assert code(cut) == code(whole)

    def variables(module):
        first = module.functions[entry].first_pc
        return [
            (v.name, v.type, [(p.first_pc - first, p.register) for p in v.locations])
            for v in debug_info(module).variables_of(entry)
        ]

    assert variables(cut) == variables(whole)
    assert variables(cut)


def test_a_large_text_is_recorded_as_a_small_one(monkeypatch, build):
    arguments = (("v", "small:float32[32]"),)
    workload = file_workload(SOURCE, FileLaunch("x.cu", "third", arguments=arguments))
    small = record(workload, build=build)  # of the whole text: a launch compiles what it needs
    monkeypatch.setattr(assembled_module, "LARGE", 100)
    large = record(workload, build=build)
    assert np.array_equal(small.outputs["v"], large.outputs["v"])
    assert small.counters == large.counters
    assert len(large.module.functions) < len(small.module.functions)


def test_a_definition_that_ends_otherwise_is_left_as_it_is(monkeypatch, build):
    odd = ".visible .entry odd()\n{\nret; }\n"  # no brace in the first column
    assert odd in without_unreached(odd, "k")
    assert "odd" in without_unreached(f"// .entry odd\n{odd}", "k")
    comment = "// {\n.visible .entry odd()\n{\n// }\n}\nret;\n}\n"
    monkeypatch.setattr(assembled_module, "LARGE", 100)
    text = build.ptx.replace(".visible .entry _Z5first", f"{comment}.visible .entry _Z5first")
    with pytest.raises(Exception, match=r"PTX line"):  # of the whole text, not of what is left
        module_of(_with(build, text), find_entry(build, "third"))


def _with(build, text):
    from dataclasses import replace

    return replace(build, ptx=text)


def test_sections_are_found_where_they_begin_a_line():
    text = (
        "a\n\t.section\t.debug_x\n\t{\n.b8 1 // }\n\t}\nb .section .y {\n}\n"
        ".section .z { 1\n  }c\n.section none\n"
    )
    found = [(s.name, text[s.body : s.end]) for s in sections(text)]
    assert found == [(".debug_x", "\n.b8 1 // }\n\t}"), (".z", " 1\n  }")]
    assert without_sections(text).split() == ["a", "b", ".section", ".y", "{", "}", "c",
                                              ".section", "none"]  # fmt: skip
    assert without_sections(text).count("\n") == text.count("\n")


def test_nothing_is_collected_while_many_objects_are_made(monkeypatch):
    collected = []
    monkeypatch.setattr("core.garbage_collection._MANY", 1000)
    frozen = gc.get_freeze_count()
    watch = lambda phase, info: collected.append(info["generation"])  # noqa: E731
    gc.callbacks.append(watch)
    try:
        with uncollected():
            with uncollected():
                made = [[i] for i in range(50_000)]
            assert not gc.isenabled()
    finally:
        gc.callbacks.remove(watch)
    assert not collected
    assert gc.isenabled()
    assert gc.get_freeze_count() > frozen + len(made) - 1
    gc.unfreeze()
    with uncollected():
        made = []
    assert gc.get_freeze_count() == 0


def test_two_threads_may_hold_the_collector_back():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with uncollected():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    with uncollected():
        pass
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_debug_information_read_in_another_process_is_the_same(monkeypatch, build):
    here = debug_info(parse(build.ptx))
    asked = []
    monkeypatch.setattr(variables, "LARGE", 100)
    monkeypatch.setattr(client, "apart", lambda *work: asked.append(work[0]) or apart(*work))
    module = parse(build.ptx)
    there = debug_info(module)
    assert there == here
    assert here.functions
    assert asked
    assert debug_info(module) is there
