"""A source text as a part of a link: compressed, in letters that need no quoting. No Qt here."""

from __future__ import annotations

import base64
import zlib

from core.errors import ParameterError

MOST_SOURCE = 1 << 18  # bytes of an edited source in a link, however few its packed form has


def pack(source: str) -> str:
    """The text as base64 of its zlib form, safe in URLs and without padding."""
    return base64.urlsafe_b64encode(zlib.compress(source.encode(), 9)).decode().rstrip("=")


def unpack(text: str) -> str:
    """The text again. Raises ParameterError where it is damaged, or larger than `MOST_SOURCE`."""
    damaged = ParameterError("The link's source is damaged: copy the whole of the link.")
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        unpacker = zlib.decompressobj()
        source = unpacker.decompress(data, MOST_SOURCE + 1)
        if len(source) > MOST_SOURCE:
            raise ParameterError(
                f"The link's source has more than {MOST_SOURCE:,} bytes: open it as a file."
            )
        if not unpacker.eof:
            raise damaged
        return source.decode()
    except (ValueError, zlib.error):
        raise damaged from None


def checksum(source: str) -> str:
    """Eight hexadecimal digits that another text is unlikely to have."""
    return f"{zlib.crc32(source.encode()):08x}"
