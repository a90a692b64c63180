"""Imports modules in a thread of its own, since one may take longer than a frame.

A module may have `prepare()`, which reads there what its users will ask for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject

from core.gc_control import uncollected
from gui.frames.work import Worker


class Importer(QObject):
    """Whoever needs a module asks again and again (`want`), or has it imported at once (`now`)."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._wanted: list[str] = []
        self._done: set[str] = set()
        self.settle: Callable[[], object] = lambda: None
        """Called, in the importing thread, with each module and before garbage is collected."""
        self._now = ""
        self._worker = Worker(self, "imports")
        self._worker.finished.connect(self._on_done)
        self._worker.failed.connect(lambda _: self._on_done())

    def want(self, modules: Sequence[str]) -> bool:
        """Whether these were imported; if not they are, in the order of asking.

        A module that cannot be imported counts as done: whoever uses it meets the error.
        """
        self._wanted += [module for module in modules if module not in self._wanted]
        if not self._worker.busy and any(module not in self._done for module in self._wanted):
            left = [module for module in self._wanted if module not in self._done]
            self._now = module = left[0]
            self._worker.submit(lambda _: self._import(module))
        return all(module in self._done for module in modules)

    def now(self, modules: Sequence[str]) -> None:
        """Import these in the caller's thread."""
        for module in modules:
            importlib.import_module(module)
            self._done.add(module)

    def close(self) -> None:
        """Wait until the module that is being imported is there; leave the others."""
        self._worker.close()

    def _import(self, module: str) -> None:
        """Import a module so that other threads hardly notice."""
        with uncollected():  # a collection would keep the lock for as long as it takes
            prepare = getattr(importlib.import_module(module), "prepare", None)
            if prepare is not None:
                prepare()
            self.settle()

    def _on_done(self, _: object = None) -> None:
        self._done.add(self._now)
