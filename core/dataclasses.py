"""`dataclass` of the standard library, except that no method is compiled while modules load.

The standard library compiles up to six methods for each class, which takes 0.6 ms; 500 such classes
were a quarter of the time to start. Here one set of methods serves every class, and `__init__` is
compiled when the first object is made. Fields, `replace` and `asdict` are the standard library's.
"""

from __future__ import annotations

import dataclasses
from dataclasses import (
    KW_ONLY,
    MISSING,
    FrozenInstanceError,
    asdict,
    astuple,
    field,
    fields,
    replace,
)
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = [
    "KW_ONLY",
    "FrozenInstanceError",
    "asdict",
    "astuple",
    "dataclass",
    "field",
    "fields",
    "replace",
]

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        eq: bool = True,
        order: bool = False,
        slots: bool = False,
    ) -> Any:
        """As `dataclasses.dataclass`; it knows the arguments that Tilescope uses."""

        def made(cls: type) -> type:
            if order:
                return dataclasses.dataclass(cls, frozen=frozen, order=True, slots=slots)
            if not cls.__doc__:
                cls.__doc__ = cls.__name__  # else the standard library writes out the signature
            found = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=slots)
            methods = {"__init__": _first_init(found, frozen), "__repr__": _repr}
            if eq:
                methods |= {"__eq__": _equal, "__hash__": _hash if frozen else None}
            if frozen:
                methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
            if frozen and slots:
                methods |= {"__getstate__": _state, "__setstate__": _restore}
            own = set(cls.__dict__)
            if "__eq__" in own and cls.__dict__.get("__hash__") is None:
                own.discard("__hash__")  # Python itself sets it beside an __eq__
            for name, method in methods.items():
                if name not in own:
                    setattr(found, name, method)
            return found

        return made if cls is None else made(cls)


def _first_init(cls: type, frozen: bool) -> Callable[..., None]:
    def first(self: Any, *given: Any, **named: Any) -> None:
        compiled = _compiled_init(cls, frozen)
        cls.__init__ = compiled  # type: ignore[misc]
        compiled(self, *given, **named)

    return first


def _compiled_init(cls: Any, frozen: bool) -> Callable[..., None]:
    scope: dict[str, Any] = {"_absent": MISSING, "_set": object.__setattr__}
    parameters, body, by_name = ["self"], [], False
    for one in sorted(fields(cls), key=lambda one: bool(one.kw_only)):
        value = name = one.name
        if one.kw_only and not by_name:
            parameters.append("*")
            by_name = True
        if one.default_factory is not MISSING:
            scope[f"_make_{name}"] = one.default_factory
            value = f"_make_{name}()" + f" if {name} is _absent else {name}" * one.init
            parameters += [f"{name}=_absent"] * one.init
        elif one.default is not MISSING:
            scope[f"_default_{name}"] = one.default
            value = name if one.init else f"_default_{name}"
            parameters += [f"{name}=_default_{name}"] * one.init
        elif one.init:
            parameters.append(name)
        else:  # __post_init__ sets it
            continue
        body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    lines = "\n ".join(body or ["pass"])
    exec(f"def __init__({', '.join(parameters)}):\n {lines}", scope)
    made: Callable[..., None] = scope["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


@cache
def _compared(cls: Any) -> Callable[[Any], tuple[Any, ...]]:
    """What gives the values that decide whether two objects are equal."""
    names = [one.name for one in fields(cls) if one.compare]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda found: tuple(getattr(found, name) for name in names)


def _equal(self: Any, other: object) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    cls: Any = type(self)
    values = _compared(cls)
    return values(self) == values(other)


def _hash(self: Any) -> int:
    cls: Any = self.__class__
    return hash(_compared(cls)(self))


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse(self: Any, name: str, *_: object) -> None:
    raise FrozenInstanceError(f"cannot set or delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)
