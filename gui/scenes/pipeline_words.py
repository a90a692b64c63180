"""What the pipeline view says: the words of its rows and cells, and sentences about moments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.wording import listing
from gui.scenes.numbers_and_sentences import grouped, numbers_name, plural

if TYPE_CHECKING:
    from core.trace import BlockTrace, Trace
    from core.trace.pipeline import Actor, Moment, Pipeline, Stage

Words = tuple[str, str]
"""The two lines of a cell."""
_PLURAL = {"TMA box": "TMA boxes", "bulk copy": "bulk copies"}
_SHORT = {"bulk copy": "bulk", "TMA store": "TMA st", "TMA reduction": "TMA red", "TMA box": "TMA"}


def pipeline_job(_: object, trace: Trace, block: BlockTrace) -> Pipeline | str:
    """A job for `gui.background.Worker` that reads the block's record."""
    from core.trace.pipeline import pipeline  # it loads the emulator

    return pipeline(block, trace.shared_arrays)


def stage_name(number: int, stage: Stage) -> Words:
    """The head of a stage's row: its number, and where it lies."""
    size = stage.nbytes
    bytes_ = f"{size // 1024} KiB" if size % 1024 == 0 and size else f"{grouped(size)} B"
    return f"stage {number}", bytes_


def actor_name(actor: Actor) -> Words:
    """The head of a row of warps."""
    noun = "warp" if len(actor.warps) == 1 else "warps"
    return f"{noun} {numbers_name(actor.warps)}", actor.role


def in_stage(moment: Moment) -> Words:
    """What a moment writes into the row of a stage that it concerns."""
    how = _SHORT.get(moment.how, moment.how)
    if moment.kind == "fill":
        return how, f"fill {moment.filling}" if moment.origin < 0 else f"block {moment.origin}"
    if moment.kind == "read":
        return how, "reads"
    return "there", f"fill {moment.filling}"


def of_actor(moment: Moment, *, waited: bool) -> Words:
    """What a moment writes into the row of warps; `waited`: they were held up before they pass."""
    stages = f"stage {numbers_name(moment.stages)}" if moment.stages else ""
    words: dict[str, Words] = {
        "fill": ("fill", stages),
        "read": ("read", stages),
        "block": (f"wait ph {moment.phase}", moment.barrier),
        "pass": ("go on" if waited else "pass", moment.barrier),
        "arrive": ("arrive", moment.barrier),
        "meet": ("bar.sync", ""),
    }
    if moment.kind == "await":
        opcode, _, rest = moment.how.partition(".")
        left = rest.rpartition(" ")[2]
        what = "wgmma" if opcode == "wgmma" else "cp.async"
        return (f"wait {left}" if left.isdigit() else "wait"), what
    return words[moment.kind]


def is_early(made: Pipeline, place: int) -> bool:
    """Whether a moment reads a stage before what is copied there has come."""
    moment = made.moments[place]
    if moment.kind != "read":
        return False
    held = [made.held(stage, place) for stage in moment.stages]
    return any(h is not None and not 0 <= h.ready <= place for h in held)


def sentence(made: Pipeline, place: int, *, judged: bool = True) -> str:
    """A moment in words. Not `judged`: without what would be a finding."""
    m = made.moments[place]
    who = _who(m)
    s = "s" if len(m.warps) == 1 or m.origin >= 0 else ""  # of what one does
    stages = f"{'stage' if len(m.stages) == 1 else 'stages'} {numbers_name(m.stages)}"
    if m.kind == "fill":
        own = " of this block" if m.origin >= 0 else ""
        return f"{who} fill{s} {stages}{own} by {_times(m)}: fill {m.filling}"
    if m.kind == "land":
        ready = f"{stages} {'is' if len(m.stages) == 1 else 'are'} ready to be read"
        return f"phase {m.phase} of {m.barrier} is over: fill {m.filling} is there, {ready}"
    if m.kind == "read":
        held = [made.held(stage, place) for stage in m.stages]
        fills = sorted({h.number for h in held if h is not None})
        what = f"fill {numbers_name(fills)}" if fills else "nothing"
        early = judged and is_early(made, place)
        late = ", before it is known to be there" if early else ""
        return f"{who} read{s} {stages} by {_times(m)}: {what}{late}"
    if m.kind == "block":
        return f"{who} wait{s} at {m.barrier} until its phase {m.phase} is over"
    if m.kind == "pass":
        passes = f"{who} {'passes' if s else 'pass'} {m.barrier}"
        if m.phase < 0:
            return f"{passes}: nothing to wait for in the first round"
        return f"{passes}, whose phase {m.phase} is over"
    if m.kind == "arrive":
        return f"{who} arrive{s} at {m.barrier}, phase {m.phase}"
    if m.kind == "meet":
        return f"{who} come{s} to the barrier of the block, __syncthreads()"
    came = f": fill {m.filling} is there" if m.stages else ""
    return f"{who} wait{s} by {m.how}{came}"


def _who(moment: Moment) -> str:
    if moment.origin >= 0:
        return f"Block {moment.origin} of the cluster"
    if not moment.warps:
        return "Nobody"
    noun = "Warp" if len(moment.warps) == 1 else "Warps"
    return f"{noun} {numbers_name(moment.warps)}"


def _times(moment: Moment) -> str:
    how = moment.how
    if how in _PLURAL:
        return plural(moment.count, how, _PLURAL[how])
    return how if moment.count == 1 else f"{moment.count} × {how}"


def pipeline_caption(made: Pipeline, place: int, *, judged: bool = True) -> str:
    """One sentence about the pipeline, and what happens now."""
    stages = made.stages
    kinds = [m.how for m in made.moments if m.kind == "fill"]
    hows = listing([_PLURAL.get(how, how) for how in dict.fromkeys(kinds)])
    sizes = {stage.nbytes for stage in stages}
    each = f" of {stage_name(0, stages[0])[1]}" if len(sizes) == 1 else ""
    head = f"{plural(len(stages), 'stage')}{each}, filled by {hows}"
    others = sorted({m.origin for m in made.moments if m.kind == "fill" and m.origin >= 0})
    if others:
        noun = "block" if len(others) == 1 else "blocks"
        head += f", some of them by {noun} {numbers_name(others)} of the cluster"
    if place < 0:
        return f"{head}."
    text = sentence(made, place, judged=judged)
    return f"{head}. Now: {text[0].lower()}{text[1:]}."
