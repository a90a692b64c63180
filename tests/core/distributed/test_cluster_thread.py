"""The thread that minds a cluster's tasks: nothing that the network does may end it."""

from __future__ import annotations

from types import SimpleNamespace

from core.distributed.cluster import Cluster


class _Flaky(Cluster):
    """Its scheduler goes away again while it is being recovered, three times."""

    def __init__(self) -> None:
        self._closing, self._open = False, {}
        self._client = SimpleNamespace(status="closed")
        self.tried = 0

    def _due(self) -> set[str]:
        return set()

    def _recover(self) -> None:
        self.tried += 1
        if self.tried <= 3:
            raise OSError("the connection was closed")
        self._closing = True


def test_a_scheduler_may_go_while_it_is_waited_for() -> None:
    cluster = _Flaky()
    cluster._manage()
    assert cluster.tried == 4
