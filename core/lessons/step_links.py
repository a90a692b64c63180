"""The place that a step looks at, read from a link such as `tiled?n=4&tile=2&at=barrier`.

A lesson's link is one that the window copies. What changes the record is read here; what only says
how the window shows it is kept as it stands (`looks`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from core.errors import ParameterError
from core.ladder import Ladder
from core.ladder.input_arrays import INPUTS, Inputs
from core.ladder.rung import DEFAULT_SEED

if TYPE_CHECKING:
    from core.emulator.scheduling import WarpOrder

PLACES = ("block", "step", "thread", "seed")
ON_PAGES = ("device", "size", "ceiling", "threads", "registers", "shared")
"""Keys that say what the pages Ceilings and Occupancy are about."""
LOOKS = (
    *("page", "view", "heat", "close_up", "warp_trail", "large", "theme", "element", "line"),
    *("bank", "sector"),
    *ON_PAGES,
)
"""Keys that say what the window shows, and do not change the record."""
VERSUS = "vs"
LONGEST = 8000  # characters of a link that may be typed at any prompt
MOST = 2**31 - 1


@dataclass(frozen=True)
class Link:
    """A launch of a rung, and the step of one of its blocks.

    `at` is a step's name (`core.trace.step_names`); `step` its number, for links without one. None
    for both is the block's first access. `versus` is the launch that this one is compared with.
    """

    rung: str
    parameters: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    at: str = ""
    step: int | None = None
    block: int = 0
    thread: int = 0
    inputs: Inputs = "random"
    seed: int = DEFAULT_SEED
    order: WarpOrder = "lockstep"
    versus: Link | None = None
    looks: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def varied(self, values: Mapping[str, int | str], ladder: Ladder) -> Link:
        """The link with those of `values` that it knows: parameters, places, and pages' keys.

        What it is compared with gets the same parameters, if it has them too.
        """
        known, places, looks = dict(self.parameters), dict[str, int](), dict(self.looks)
        for name, value in values.items():
            if name in ladder[self.rung].defaults:
                if isinstance(value, int):
                    known[name] = value
            elif name in ON_PAGES:
                looks[name] = str(value)
            elif name in ("block", "thread", "seed") and isinstance(value, int):
                places[name] = value
        versus = None if self.versus is None else self.versus.varied(values, ladder)
        return replace(
            self,
            parameters=MappingProxyType(known),
            looks=MappingProxyType(looks),
            versus=versus,
            **places,  # type: ignore[arg-type]
        )

    def __str__(self) -> str:
        """The link as the window reads it."""
        pairs = {**self.parameters, **self.looks}
        pairs |= {k: getattr(self, k) for k in ("at", "block", "thread") if getattr(self, k)}
        pairs |= {} if self.step is None else {"step": self.step}
        pairs |= {} if self.inputs == "random" else {"inputs": self.inputs}
        pairs |= {} if self.seed == DEFAULT_SEED else {"seed": self.seed}
        pairs |= {} if self.order == "lockstep" else {"order": self.order}
        if self.versus is not None:
            pairs[VERSUS] = self.versus.rung
            pairs |= {f"{VERSUS}.{key}": value for key, value in self.versus.parameters.items()}
        return f"{self.rung}?{'&'.join(f'{key}={value}' for key, value in pairs.items())}"


def parse_link(text: str, ladder: Ladder) -> Link:
    """Read a step's link. Raises ParameterError with one sentence for whatever is wrong with it."""
    must_be_short(text, LONGEST)
    name, _, query = text.strip().partition("?")
    if name not in ladder:
        from difflib import get_close_matches  # which is large, for mistakes alone

        close = get_close_matches(name[:60], ladder, 1)
        hint = f"did you mean {close[0]}?" if close else f"use {', '.join(ladder)}."
        raise ParameterError(f"The link names no kernel: `{name[:60]}`; {hint}")
    pairs = link_pairs(query)
    other, theirs = take_versus(pairs)
    if theirs and other is None:
        raise ParameterError(f"The link says `vs.{next(iter(theirs))}` but not which kernel.")
    link = _link(name, pairs, ladder)
    if other is None:
        return link
    if other not in ladder:
        raise ParameterError(f"The link compares with no kernel: `{other[:60]}`.")
    known = {k: str(v) for k, v in link.parameters.items() if k in ladder[other].defaults}
    return replace(link, versus=_link(other, {**known, **theirs}, ladder))


def must_be_short(text: str, most: int) -> None:
    """Raise ParameterError for a link of more than so many characters."""
    if len(text) > most:
        raise ParameterError(f"The link has {len(text):,} characters, and {most:,} is the most.")


def take_versus(pairs: dict[str, str]) -> tuple[str | None, dict[str, str]]:
    """What a link compares with, None for nothing, and what it says of that, out of `pairs`."""
    prefix = f"{VERSUS}."
    others = [key for key in pairs if key.startswith(prefix)]
    return pairs.pop(VERSUS, None), {key.removeprefix(prefix): pairs.pop(key) for key in others}


def link_pairs(query: str) -> dict[str, str]:
    """KEY=VALUE of what stands after a link's question mark. Raises ParameterError."""
    found: dict[str, str] = {}
    for piece in filter(None, query.split("&")):
        key, equals, value = piece.partition("=")
        read = parse_qsl(piece) if equals and value else []
        if len(read) != 1:
            raise ParameterError(f"`{piece}` in the link is not NAME=VALUE, such as step=12.")
        ((key, value),) = read
        if key in found:
            raise ParameterError(f"The link sets `{key}` twice.")
        found[key] = value
    return found


def _link(name: str, pairs: dict[str, str], ladder: Ladder) -> Link:
    from core.emulator.scheduling import ORDERS  # the window reads links before it needs a machine

    defaults = ladder[name].defaults
    looks = {key: pairs.pop(key) for key in LOOKS if key in pairs and key not in defaults}
    inputs, order = pairs.pop("inputs", "random"), pairs.pop("order", "lockstep")
    at = pairs.pop("at", "")
    if inputs not in INPUTS:
        raise ParameterError(f"The link's inputs are `{inputs}`: use {', '.join(INPUTS)}.")
    if order not in ORDERS:
        raise ParameterError(f"The link's order is `{order}`: use {', '.join(ORDERS)}.")
    for key in pairs:
        if key not in defaults and key not in PLACES:
            known = ", ".join([*defaults, *PLACES, "at", "inputs", "order", "vs", *LOOKS])
            raise ParameterError(f"The link sets `{key}`, unknown for {name}: use {known}.")
    numbers = {key: _number(key, value) for key, value in pairs.items()}
    places = {key: numbers.pop(key) for key in PLACES if key in numbers and key not in defaults}
    parameters = MappingProxyType(dict(ladder[name].check(**numbers)))
    return Link(
        name,
        parameters,
        at=at,
        inputs=inputs,
        order=order,
        looks=MappingProxyType(looks),
        **places,  # type: ignore[arg-type]
    )


def _number(key: str, value: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,10}", value) or abs(int(value)) > MOST:
        raise ParameterError(f"The link's {key} is `{value}`: use a whole number, such as 12.")
    number = int(value)
    if key in PLACES and number < 0:
        raise ParameterError(f"The link's {key} is {number}: it counts from 0.")
    return number
