"""A cluster joined in a thread of its own: it may be far away, slow, or not there at all."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.cancelling import cancelled_by
from core.errors import Cancelled, TilescopeError

if TYPE_CHECKING:
    from core.gpu.sweep import Lane

_PATIENCE_S = 60.0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Joined:
    """The cluster's GPUs, as lanes of a sweep."""

    by: Joining
    lanes: Sequence[Lane]


@dataclass(frozen=True)
class Refused:
    """It cannot be joined, and why, in a sentence."""

    by: Joining
    why: str


@dataclass(frozen=True)
class Said:
    """What happens to the cluster, in a sentence."""

    by: Joining
    text: str


class Joining:
    """Joins the cluster at an address, and stays until `leave`.

    `tell` gets `Joined` or `Refused`, and each `Said`, from other threads.
    """

    def __init__(self, address: str, tell: Callable[[Joined | Refused | Said], None]) -> None:
        self.address = address
        self._tell = tell
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._stay, name="joining", daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """Let go of the cluster as soon as may be; nothing is told any more."""
        self._left.set()

    def wait(self, timeout: float) -> None:
        """Wait until it is let go of, so many seconds at most."""
        self._thread.join(timeout)

    def _stay(self) -> None:
        try:
            with cancelled_by(self._left.is_set):
                self._join()
        except Cancelled:
            return
        except TilescopeError as error:
            self._say(Refused(self, str(error)))
        except Exception as error:
            log.exception("the cluster at %s", self.address)
            self._say(Refused(self, f"The cluster at {self.address} failed: {error!r}."))

    def _join(self) -> None:
        from core.distributed.cluster import gpu_lanes

        with gpu_lanes(
            self.address, lambda text: self._say(Said(self, text)), patience_s=_PATIENCE_S
        ) as lanes:
            self._say(Joined(self, lanes))
            self._left.wait()

    def _say(self, what: Joined | Refused | Said) -> None:
        if not self._left.is_set():
            self._tell(what)
