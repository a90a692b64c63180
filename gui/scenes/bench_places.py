"""Where a sweep may run: GPUs of this machine, a cluster, or nowhere, but as it was recorded.

A cluster is joined in a thread of its own: it may be far away, slow, or not there at all.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.cancelling import cancelled_by
from core.errors import Cancelled, TilescopeError
from core.files import replace_file

if TYPE_CHECKING:
    from core.gpu.benchmark_result import DeviceReport
    from core.gpu.sweep import Lane

LOCAL = "local"
MOST_REMEMBERED = 5


@dataclass(frozen=True)
class Place:
    """One row of the list.

    It has `ordinals` of GPUs here, or the address of a `cluster`, or the name of a `recorded`
    machine, whose results are shown; or an address is typed beside it (`is_typed`).
    """

    title: str
    ordinals: tuple[int, ...] = ()
    cluster: str = ""
    recorded: str = ""
    is_typed: bool = False


def places(
    devices: Sequence[DeviceReport], recorded: Sequence[str], addresses: Sequence[str]
) -> tuple[Place, ...]:
    """What may be chosen; the first is where a sweep runs if nobody chooses."""
    found = [Place(f"GPU {d.ordinal}: {d.name}", (d.ordinal,)) for d in devices]
    if len(devices) > 1:
        found.append(Place(f"All {len(devices)} GPUs", tuple(d.ordinal for d in devices)))
    found += [Place(machine, recorded=machine) for machine in recorded]
    found += [Place(address, cluster=address) for address in addresses]
    found.append(Place("local: all GPUs here, through dask", cluster=LOCAL))
    found.append(Place("Cluster at an address", is_typed=True))
    return tuple(found)


class Addresses:
    """The clusters that were used last, the latest first; kept in a file, if there is a folder."""

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / "clusters.json"
        self.known = self._read()

    def _read(self) -> tuple[str, ...]:
        try:
            found = json.loads(self._path.read_text("utf-8")) if self._path is not None else []
        except (OSError, ValueError):
            return ()
        texts = [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
        return tuple(texts[:MOST_REMEMBERED])

    def remember(self, address: str) -> None:
        """Put an address first; where that cannot be written it is known until the end."""
        others = [one for one in self.known if one != address]
        self.known = (address, *others)[:MOST_REMEMBERED]
        if self._path is not None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(self._path, json.dumps(list(self.known)))
            except (OSError, TilescopeError):
                return


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
