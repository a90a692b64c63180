"""Dataclasses as plain data, which JSON can hold, and back again as their types say."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


def plain(value: Any) -> Any:
    """What stands in JSON for a dataclass, a mapping, a tuple or a set, and for all they hold."""
    if is_dataclass(value):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list | set | frozenset):
        return [plain(part) for part in value]
    return value


def typed(kind: Any, value: Any, *also: type) -> Any:
    """The inverse: a value of plain data as a type says.

    The fields of a dataclass stand in `value` by name, or in their order; those left out have their
    defaults. `also` are classes that annotations name and their modules import for types alone.
    Raises KeyError, TypeError or ValueError for what is not of the type.
    """
    if type(value) is kind and kind is not str:  # the short way for most numbers
        return value
    whole, parts = get_origin(kind), get_args(kind)
    if whole in (Union, UnionType):
        if value is None and NoneType in parts:
            return None
        for one in parts:
            with suppress(TypeError):
                return typed(one, value, *also)
        raise TypeError(f"{value!r} is not {kind}")
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind, also)
        if isinstance(value, list):
            value = dict(zip(hints, value, strict=len(value) > len(hints)))
        return kind(**{name: typed(hints[name], v, *also) for name, v in value.items()})
    if whole is Literal:
        if value not in parts:
            raise ValueError(f"{value!r} is not {kind}")
        return value
    if whole is tuple and parts[-1] is not Ellipsis:
        return tuple(typed(one, v, *also) for one, v in zip(parts, value, strict=True))
    if whole in (tuple, frozenset) and isinstance(value, list):
        return whole(typed(parts[0], part, *also) for part in value)
    if whole is Mapping and isinstance(value, dict):
        keys = int if parts[0] is int else str  # JSON's are texts
        return MappingProxyType({keys(k): typed(parts[1], v, *also) for k, v in value.items()})
    if kind is str and isinstance(value, str):  # half a pair of surrogates is no text
        return value.encode("utf-8", "replace").decode()
    right = kind is Any or isinstance(value, (int, float) if kind is float else whole or kind)
    if not right or (isinstance(value, bool) and kind in (int, float)):
        raise TypeError(f"{value!r} is not {kind}")
    return value


@cache
def _hints(kind: type, also: tuple[type, ...]) -> dict[str, Any]:
    return get_type_hints(kind, localns={one.__name__: one for one in also})
