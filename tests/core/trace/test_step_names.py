"""Steps by name lead to the step that they name, and every step has a name."""

from collections import Counter

import pytest

from core.errors import ParameterError
from core.ladder import load_ladder
from core.recording.record_launch import record
from core.trace import EventKind
from core.trace.step_names import check_name, step_named


@pytest.fixture(scope="module")
def block():
    return record(load_ladder()["tiled"].workload(n=6, tile=2), blocks="all").block(3)


def names_of_steps(block):
    """A name for each step: `load:A@phase1`, `line:24#2`."""
    seen = Counter()
    for step in range(block.n_steps):
        kind, phase = EventKind(block.kind_at(step)), int(block.phase[step])
        name, access = kind.name.lower(), block.access(step)
        if access is not None:
            named = access.array is not None or access.variable
            name += f":{access.target if named else access.space}"
        elif kind == EventKind.LINE:
            name += f":{block.line[step]}"
        name += f"@phase{phase}" if phase >= 0 else ""
        seen[name] += 1
        yield f"{name}#{seen[name]}" if seen[name] > 1 else name


def test_names_and_steps_agree(block):
    names = {name: step for step, name in enumerate(names_of_steps(block))}
    assert len(names) == block.n_steps
    assert all(step_named(block, name) == step for name, step in names.items())


@pytest.mark.parametrize(
    ("name", "kind", "target", "phase"),
    [
        ("load:A", EventKind.LOAD, "A", 0),
        ("load:B@phase2", EventKind.LOAD, "B", 2),
        ("load:tile_b@phase1#2", EventKind.LOAD, "tile_b", 1),
        ("store:shared@phase1", EventKind.STORE, "tile_a", 1),
        ("store:C", EventKind.STORE, "C", -1),
    ],
)
def test_an_access_by_name(block, name, kind, target, phase):
    step = step_named(block, name)
    access = block.access(step)
    assert block.kind_at(step) == kind
    assert access.target == target
    assert int(block.phase[step]) == phase


def test_others_by_name(block):
    assert step_named(block, "end") == block.n_steps - 1
    assert block.kind_at(step_named(block, "barrier@phase1#2")) == EventKind.BARRIER
    second = step_named(block, "line:29#2")
    assert block.line[second] == 29
    assert (block.line[:second] == 29).sum() >= 1


@pytest.mark.parametrize("name", ["load:Z", "load:A@phase9", "barrier#99", "line:4000"])
def test_a_step_that_is_not_there(block, name):
    with pytest.raises(ParameterError, match="no step"):
        step_named(block, name)


@pytest.mark.parametrize(
    "name", ["", "load", "line:x", "barrier:A", "load:A#0", "fetch:A", "end:1"]
)
def test_a_name_that_is_none(name):
    with pytest.raises(ParameterError, match="names no step"):
        check_name(name)


@pytest.mark.parametrize("order", ["lockstep", "warp_by_warp", "random"])
def test_barriers_are_counted_however_the_warps_go(order):
    rung = load_ladder()["broken_inner_barrier"]
    trace = record(rung.workload(n=16, tile=8), blocks="all", order=order)
    assert {trace.block(b).barriers for b in range(4)} == {2 * (8 + 1)}
    right = record(load_ladder()["tiled"].workload(n=16, tile=8), blocks="all", order=order)
    assert {right.block(b).barriers for b in range(4)} == {2 * 2}
