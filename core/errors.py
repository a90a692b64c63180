"""What can go wrong, each as one clear sentence that tells the user what to do.

Everything a user can cause derives from `TilescopeError`; the command line and the window show its
text and go on. Any other exception is a defect of ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "remark"]


class TilescopeError(Exception):
    """A user's mistake, or a limit of this program, said in one sentence."""


@dataclass(frozen=True)
class Diagnostic:
    """One message of the compiler. `line` and `column` count from 1; line 0: not in the source."""

    severity: Severity
    line: int
    column: int | None
    message: str


class CompileError(TilescopeError):
    """The CUDA compiler refused the source; `diagnostics` say where and why."""

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


class PtxSyntaxError(TilescopeError):
    """PTX text that does not parse, with its line (1-based)."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"PTX line {line}: {message}")
        self.line = line


class UnsupportedPtx(TilescopeError):
    """A PTX instruction, type or directive that the emulator does not execute."""

    def __init__(self, line: int, text: str, reason: str = "is not supported") -> None:
        super().__init__(f"PTX line {line}: `{text.strip()}` {reason}.")
        self.line = line
        self.text = text.strip()


class ParameterError(TilescopeError):
    """A rung's parameter is unknown, out of range, or breaks one of the rung's constraints."""


class ArgumentError(TilescopeError):
    """A kernel argument given on the command line or in a form cannot be used."""


class LaunchError(TilescopeError):
    """The launch breaks a limit of CUDA (threads in a block, shared memory, grid size)."""


class BudgetExceeded(TilescopeError):
    """The kernel ran longer, or recorded more, than the budget that was set."""


class TooMuchWork(TilescopeError):
    """Reading or compiling the source takes more time or memory than it is given."""


class Cancelled(TilescopeError):
    """The user stopped the work."""


class GpuUnavailable(TilescopeError):
    """There is no usable NVIDIA GPU, driver, PyCUDA or cuda-bindings here."""


class GpuFailure(TilescopeError):
    """The GPU or the process that drives it failed while working."""
