"""The work behind the benchmark page's shares: the ceiling that binds each result, off the UI."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from core.errors import Cancelled, TilescopeError
from gui.work import Job

if TYPE_CHECKING:
    from core.ladder import Ladder
    from gui.scenes.bench_plot import Measured

log = logging.getLogger(__name__)


def ceilings_job(
    ladder: Ladder, wanted: Sequence[Measured], tell: Callable[[object, object], None]
) -> Job:
    """The work of counting results' launches; `tell(key, (name, GFLOPS))` comes for each.

    What cannot be counted gives None in place of the pair.
    """

    def job(progress: Any, cancelled: Any) -> Any:
        from core.models.achieved import achieved

        for place, measured in enumerate(wanted):
            if cancelled():
                return None
            try:
                lowest = achieved(measured.result, ladder, cancelled).ceilings.lowest
            except Cancelled:
                return None
            except (TilescopeError, KeyError) as error:  # a rung of another version, say
                log.info("no ceiling of %s: %s", measured.result.title, error)
                tell(measured.ceiling_key, None)
            else:
                tell(measured.ceiling_key, (lowest.name, lowest.gflops))
            progress((place + 1) / len(wanted))
        return None

    return job
