"""Text that others wrote (names of files, compilers' messages, what a kernel prints), to be shown.

A terminal obeys the escape codes in what is printed to it, and a label is turned round by marks of
direction: both are shown as what they are instead.
"""

from __future__ import annotations

import re

# Control characters but tab and line feed, marks of direction, and halves of surrogate pairs.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""The text with an escape in place of each character that would act unseen: \x1b, \u202e."""
    return _HIDDEN.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
