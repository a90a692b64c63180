"""What NVRTC says of a source, as messages with their lines and columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from core.errors import Diagnostic, Severity

_LOCATED = re.compile(
    r"^(?P<file>.*)\((?P<line>\d+)\): (?:catastrophic )?"
    r"(?P<severity>error|warning|remark)(?: #[\w-]+)?: (?P<message>.*)$"
)
_UNLOCATED = re.compile(
    r"^(?:nvrtc|ptxas|nvvm)\s*:?\s*(?P<severity>error|fatal|warning|info)\s*:\s*(?P<message>.*)$"
)
_AT_END = re.compile(r"^At end of source: (?:catastrophic )?error(?: #[\w-]+)?: (?P<message>.*)$")
_OPENED = re.compile(
    r"^(?P<file>.*)\((?P<line>\d+)\): note(?: #[\w-]+)?: to match this \"(?P<what>.)\""
)
_SEVERITY: Mapping[str, Severity] = {
    "error": "error",
    "fatal": "error",
    "warning": "warning",
    "remark": "remark",
    "info": "remark",
}
_TYPES = re.compile(r"\s+((?:operand|argument) types are: .*)")
_ECHO_INDENT = 2  # NVRTC echoes the source line, indented by two, with a caret below it


def parse_log(log: str, source_name: str) -> tuple[Diagnostic, ...]:
    """The messages in an NVRTC log, in order.

    A message about another file than `source_name` (a header) gets line 0 and says where it is.
    """
    found: list[Diagnostic] = []
    lines = log.splitlines()
    for number, text in enumerate(lines):
        if match := _LOCATED.match(text):
            one = _located(match, _caret_column(lines[number + 1 : number + 4]), source_name)
            types = _TYPES.fullmatch(lines[number + 1]) if number + 1 < len(lines) else None
            more = f" ({types[1].strip()})" if types else ""
            found.append(replace(one, message=one.message + more))
        elif match := _AT_END.match(text):
            found.append(_at_end(match["message"].strip(), lines[number + 1 :], source_name))
        elif match := _UNLOCATED.match(text):
            severity = _SEVERITY[match["severity"]]
            found.append(Diagnostic(severity, 0, None, match["message"].strip()))
    return tuple(found)


def _located(match: re.Match[str], column: int | None, source_name: str) -> Diagnostic:
    line, message = int(match["line"]), match["message"].strip()
    severity = _SEVERITY[match["severity"]]
    if match["file"] == source_name:
        return Diagnostic(severity, line, column, message)
    return Diagnostic(severity, 0, None, f"{match['file']}, line {line}: {message}")


def _at_end(message: str, following: Sequence[str], source_name: str) -> Diagnostic:
    """What is missing at the end of the source, where what it would close was opened."""
    opened = _OPENED.match(following[0]) if following else None
    if opened is None or opened["file"] != source_name:
        return Diagnostic("error", 0, None, f"{message} at the end of the source")
    message = f'{message} at the end of the source, to match this "{opened["what"]}"'
    return Diagnostic("error", int(opened["line"]), _caret_column(following[1:4]), message)


def _caret_column(following: Sequence[str]) -> int | None:
    for text in following:
        if not text.strip() or _LOCATED.match(text):
            return None
        if text.strip() == "^":
            return text.index("^") - _ECHO_INDENT + 1
    return None
