"""PTX text without the kernels that are not launched: a file may have thousands of them."""

from __future__ import annotations

from core.cancelling import check

_ENTRY = ".entry "
_LINKAGES = ("", ".visible ", ".weak ")
_END = "\n}"


def without_other_kernels(text: str, kernel: str) -> str:
    """The text with every definition of an entry but `kernel` blanked out, line numbers kept.

    No kernel calls another, so nothing is missed. Long texts are searched without holding other
    threads up; a definition that does not end as the compiler's do is left as it is.
    """
    kept: list[str] = []
    done = 0
    at = text.find(_ENTRY)
    while at >= 0:
        check()
        start = text.rfind("\n", 0, at) + 1
        end = -1
        if text[start:at] in _LINKAGES and _name(text, at + len(_ENTRY)) != kernel:
            end = _end(text, start)
        if end > 0:
            kept += (text[done:start], "\n" * text.count("\n", start, end))
            done = end
        at = text.find(_ENTRY, max(end, at + 1))
    kept.append(text[done:])
    return "".join(kept)


def _name(text: str, start: int) -> str:
    end = start
    while end < len(text) and (text[end].isalnum() or text[end] in "_$."):
        end += 1
    return text[start:end]


def _end(text: str, start: int) -> int:
    """Where a definition ends: at a brace in the first column with which all are closed."""
    end, opened = start, 0
    while (found := text.find(_END, end)) >= 0:
        found += len(_END)
        opened += text.count("{", end, found) - text.count("}", end, found)
        if opened == 0:
            return found
        end = found
    return -1
