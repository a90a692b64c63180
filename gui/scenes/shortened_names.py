"""Names that are too long for their place, shortened so that no two look alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence


def common_ends(one: Sequence[object], other: Sequence[object]) -> tuple[int, int]:
    """How many items, or letters, two sequences have in common at their start, and at their end."""
    shorter = min(len(one), len(other))
    head = next((i for i in range(shorter) if one[i] != other[i]), shorter)
    rest = shorter - head
    return head, next((i for i in range(rest) if one[-1 - i] != other[-1 - i]), rest)


ELLIPSIS = "…"
_HEADS = (0.5, 0.0, 1.0, 0.25, 0.75)  # shares of what is left of a name that come from its start


def told_apart(names: Sequence[str], width: Callable[[str], float], room: float) -> dict[str, str]:
    """Names shortened to fit into `room`, no two of them alike.

    Names are cut in the middle; where that takes away what differs, elsewhere.
    """
    shown = dict.fromkeys(names, "")
    for head in _HEADS:
        for name in _alike(shown):
            shown[name] = _cut(name, head, width, room)
    for name in _alike(shown):
        at = max(common_ends(name, other)[0] for other in names if other != name)
        shown[name] = _cut(ELLIPSIS + name[at:], 1.0, width, room)
    return shown


def _alike(shown: dict[str, str]) -> list[str]:
    """The names of which the same is shown as of another."""
    times = Counter(shown.values())
    return [name for name, text in shown.items() if times[text] > 1 or not text]


def _cut(name: str, head: float, width: Callable[[str], float], room: float) -> str:
    """The name with so many letters left out as must be; `head` of the others are its first."""
    for kept in range(len(name), 0, -1):
        first = round(kept * head)
        rest = name[len(name) - (kept - first) :] if kept > first else ""
        shown = name if kept == len(name) else f"{name[:first]}{ELLIPSIS}{rest}"
        if width(shown) <= room:
            return shown
    return ELLIPSIS
