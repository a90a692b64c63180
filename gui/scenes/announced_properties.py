"""Properties whose changes are announced, several of them as one change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Generic, TypeVar, overload

from psygnal import Signal

T = TypeVar("T")


class Setting(Generic[T]):
    """A property of `Settings`: `fit(owner, value)` gives the value that is kept for one set.

    The class may have a signal `<name>_changed` for it.
    """

    def __init__(self, default: T, fit: Callable[[Any, Any], T] | None = None) -> None:
        self.default = default
        self.fit = fit
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, owner: None, kind: type) -> Setting[T]: ...
    @overload
    def __get__(self, owner: Settings, kind: type) -> T: ...
    def __get__(self, owner: Settings | None, kind: type) -> T | Setting[T]:
        if owner is None:
            return self
        found: T = owner.values[self.name]
        return found

    def __set__(self, owner: Settings, value: T) -> None:
        owner.update(**{self.name: value})


def one_of(*choices: str) -> Callable[[Any, Any], str]:
    """A `fit` for a setting that has one of a few values; raises ValueError for another."""
    return lambda _, value: checked_choice(value, choices)


def checked_choice(value: T, choices: Iterable[str]) -> T:
    """The value, if it is one of the choices. Raises ValueError for another."""
    choices = tuple(choices)
    if value not in choices:
        raise ValueError(f"expected one of {', '.join(filter(None, choices))}, not {value!r}")
    return value


class Settings:
    """Holds settings; each emits only when it changes, and `changed` once for all that did.

    All values of one `update` are set before the first signal goes out, so a listener never sees
    half a change.
    """

    changed = Signal(frozenset)

    def __init__(self) -> None:
        self.values: dict[str, Any] = {n: s.default for n, s in self.settings().items()}

    @classmethod
    @cache
    def settings(cls) -> dict[str, Setting[Any]]:
        """Every setting of the class by name, in the order in which they are announced."""
        found: dict[str, Setting[Any]] = {}
        for kind in reversed(cls.__mro__):
            found.update({n: s for n, s in vars(kind).items() if isinstance(s, Setting)})
        return found

    def update(self, **values: Any) -> None:
        """Set several settings as one change: ``update(block=1, thread=5, step=12)``.

        Raises AttributeError for a name that is not a setting, ValueError for a wrong value; then
        nothing is changed.
        """
        unknown = set(values) - set(self.values)
        if unknown:
            raise AttributeError(f"a session has no {', '.join(sorted(unknown))} to set")
        before = dict(self.values)
        try:
            self.put(values)
        except ValueError:
            self.values = before
            raise
        self.announce(before)

    def put(self, values: dict[str, Any]) -> None:
        """Keep values without a signal, each made to fit."""
        known = self.settings()
        for name, value in values.items():
            fit = known[name].fit
            self.values[name] = fit(self, value) if fit is not None else value

    def announce(self, before: Mapping[str, Any], extra: tuple[str, ...] = ()) -> None:
        """Emit what differs from `before`; `extra` are further names for `changed`."""
        names = {n for n, value in self.values.items() if value != before[n]} | set(extra)
        for name in self.values:  # a fixed order: the block before the step before the thread
            if name in names and hasattr(type(self), signal := f"{name}_changed"):
                getattr(self, signal).emit(self.values[name])
        if names:
            self.tell(frozenset(names))

    def tell(self, names: frozenset[str]) -> None:
        """Emit `changed`."""
        self.changed.emit(names)
