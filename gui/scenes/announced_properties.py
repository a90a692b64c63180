"""Properties of the session whose changes it announces, and what makes values fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar, overload

T = TypeVar("T")


class Owner(Protocol):
    """What has such properties: it keeps their values by name, and announces what changes."""

    values: dict[str, Any]

    def update(self, **changes: Any) -> None:
        """Set several at once."""


class Setting(Generic[T]):
    """A property of the session: `fit(owner, value)` gives the value that is kept for one set.

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
    def __get__(self, owner: Owner, kind: type) -> T: ...
    def __get__(self, owner: Owner | None, kind: type) -> T | Setting[T]:
        if owner is None:
            return self
        found: T = owner.values[self.name]
        return found

    def __set__(self, owner: Owner, value: T) -> None:
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
