"""Properties of the session whose changes it announces, and what makes values fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    from gui.scenes.session import Session

T = TypeVar("T")


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
    def __get__(self, owner: Session, kind: type) -> T: ...
    def __get__(self, owner: Session | None, kind: type) -> T | Setting[T]:
        if owner is None:
            return self
        found: T = owner.values[self.name]
        return found

    def __set__(self, owner: Session, value: T) -> None:
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
