"""The text of a link to a launch: `tiled?n=4&tile=2&step=12`."""

from __future__ import annotations

from urllib.parse import parse_qsl

from core.errors import ParameterError


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
