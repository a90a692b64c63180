"""Where a sweep may run: GPUs of this machine, a cluster, or nowhere, but as it was recorded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import TilescopeError
from core.files import replace_file

if TYPE_CHECKING:
    from core.gpu.benchmark_result import DeviceReport

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
