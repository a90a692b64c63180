"""What the scripts of the ladder share: its rungs, equal sizes, and tuned parameters."""

from __future__ import annotations

from core.ladder import Rung, load_ladder

HOPPER = ("wgmma", "tma_pipeline", "warp_specialised", "clustered", "clustered_tf32")
SIZE = 4096  # where the ladder's rungs are compared


def rungs() -> list[Rung]:
    """The rungs of the ladder itself: neither warm-ups nor broken ones."""
    return [rung for rung in load_ladder().values() if rung.group == "ladder"]


def sizes(rung: Rung, n: int) -> dict[str, int]:
    """All of a rung's matrix sizes as `n`."""
    return {name: n for name in ("m", "k", "n") if name in rung.defaults}


def tuned(rung: Rung, n: int = SIZE) -> dict[str, int]:
    """The sizes, and the parameters that a rung is tuned to at these."""
    here = sizes(rung, n)
    return here | dict(rung.tuned_for(**here))
