"""`core.dataclasses` behaves as the standard library's, which makes its classes twice here."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import pytest

from core.dataclasses import KW_ONLY, FrozenInstanceError, asdict, dataclass, field, fields, replace


@dataclass(frozen=True)
class Point:
    x: int
    y: list[int] = field(default_factory=list, compare=False)
    name: str = "p"
    seen: bool = field(init=False, default=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seen", self.x > 0)


@dataclass(frozen=True)
class Named(Point):
    label: str = ""


@dataclass(frozen=True)
class Told(Point):
    _: KW_ONLY
    loud: bool
    often: int = 1


@dataclass(frozen=True, slots=True)
class Slotted:
    x: int
    y: tuple[int, ...] = ()


@dataclass
class Open:
    x: int


@dataclass(frozen=True, eq=False)
class Alone:
    x: int


def standard(cls: Any, **options: Any) -> Any:
    """The same class, made by the standard library."""
    body = {n: getattr(cls, n) for n in ("__post_init__",) if hasattr(cls, n)}
    made = [(f.name, f.type, _copied(f)) for f in dataclasses.fields(cls)]
    return dataclasses.make_dataclass(cls.__name__, made, namespace=body, frozen=True, **options)


def _copied(one: dataclasses.Field[Any]) -> Any:
    return dataclasses.field(
        default=one.default,
        default_factory=one.default_factory,
        init=one.init,
        repr=one.repr,
        compare=one.compare,
        kw_only=one.kw_only,
    )


@pytest.mark.parametrize(
    ("cls", "given", "named"),
    [
        (Point, (3,), {}),
        (Point, (0, [1]), {"name": "q"}),
        (Named, (2,), {"label": "l"}),
        (Told, (2,), {"loud": True}),
    ],
)
def test_objects_are_those_of_the_standard_library(cls: Any, given: Any, named: Any) -> None:
    ours, theirs = cls(*given, **named), standard(cls)(*given, **named)
    assert repr(ours) == repr(theirs)
    assert asdict(ours) == dataclasses.asdict(theirs)
    assert hash(ours) == hash(theirs)
    assert [f.name for f in fields(ours)] == [f.name for f in dataclasses.fields(theirs)]
    assert cls.__match_args__ == type(theirs).__match_args__


def test_equality_is_of_one_class_and_of_compared_fields() -> None:
    assert Point(1, [2]) == Point(1, [3])
    assert Point(1) != Point(2)
    assert Point(1) != Named(1)
    assert Alone(1) != Alone(1)
    assert hash(Alone(1)) != hash(Alone(2))
    assert len({Point(1), Point(1, [5]), Point(2)}) == 2


def test_frozen_refuses_and_open_does_not() -> None:
    for frozen in (Point(1), Slotted(1), Alone(1)):
        with pytest.raises(FrozenInstanceError):
            frozen.x = 2  # type: ignore[misc]
        with pytest.raises(FrozenInstanceError):
            del frozen.x
    open_one = Open(1)
    open_one.x = 2
    assert open_one == Open(2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(open_one)


def test_wrong_arguments_are_refused() -> None:
    made: Any = Point
    for given, named in (((), {}), ((1, [], "p", 4), {}), ((1,), {"z": 2})):
        with pytest.raises(TypeError, match="__init__"):
            made(*given, **named)


def test_copies_and_pickles() -> None:
    assert replace(Slotted(1), y=(2,)) == Slotted(1, (2,))
    assert replace(Point(1), x=4).seen
    for one in (Point(1), Slotted(1, (2,)), Open(3)):
        assert pickle.loads(pickle.dumps(one)) == one
    assert not hasattr(Slotted(1), "__dict__")
    with pytest.raises(ValueError, match="init=False"):
        replace(Point(1), seen=True)
