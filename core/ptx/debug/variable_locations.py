"""Which source variables a function has, and where each lives at each instruction.

Read from the DWARF that NVRTC adds to PTX with `-G`. A location is a PTX register (DW_OP_regx with
an operand that spells the register's name in ASCII, as experiment shows), a place in the function's
local memory (DW_OP_addr `__local_depotN`, DW_OP_plus_uconst offset), or a constant. `pc` is an
index into the module's instructions; a location describes the state *before* the instruction at
`pc` is executed.

Not in the DWARF, so not here: `__shared__` arrays and static variables declared inside a function
(their PTX symbols have names and sizes only, see `core.source.shared_declarations`), and the names
of structured bindings.
"""

from __future__ import annotations

import threading
import weakref

from core.errors import Cancelled
from core.ptx.ast import Module
from core.ptx.debug.flow import with_true_locations
from core.ptx.debug.model import DebugInfo
from core.ptx.debug.reader import read_dwarf
from core.ptx.lexer import sections

LARGE = 1 << 20
"""Characters of PTX whose debug information is read in another process: millions of objects."""

_MOST_READ = 4
_lock = threading.Lock()
_read: list[tuple[weakref.ref[Module], DebugInfo]] = []  # the modules read last


def debug_info(module: Module) -> DebugInfo:
    """The debug information of a PTX module: empty without `-G`, or where it is malformed."""
    with _lock:
        for known, found in _read:
            if known() is module:
                return found
    found = _read_debug_info(module)
    with _lock:
        _read[:] = [(weakref.ref(module), found), *_read[: _MOST_READ - 1]]
    return found


def _read_debug_info(module: Module) -> DebugInfo:
    labels = dict(module.labels)
    try:
        if len(module.text) > LARGE:
            from core.side_process.client import apart

            read = apart(read_dwarf, _sections_of(module.text), labels)
        else:
            read = read_dwarf(module.text, labels)
        return with_true_locations(read, module)
    except Cancelled:
        raise
    except Exception:  # noqa: BLE001 - whatever a broken section breaks, the kernel still runs
        return DebugInfo()


def _sections_of(text: str) -> str:
    return "\n".join(text[section.start : section.end] for section in sections(text))
