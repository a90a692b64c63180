"""Inline assembly that would end the function it stands in, and so go on as another one."""

from __future__ import annotations

import re

from core.errors import CompileError, Diagnostic

_BEGIN, _END = "// begin inline asm", "// end inline asm"
_NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"[^"\n]*"')


def must_stay_inside(ptx: str, source_name: str) -> None:
    """Raises CompileError, with the line, where inline assembly closes its function's brace.

    The assembler takes such a text for several functions, or refuses it without naming the line.
    """
    if _BEGIN not in ptx:
        return
    depth = line = 0
    inline = False
    for text in ptx.splitlines():
        stripped = text.strip()
        if stripped in (_BEGIN, _END):
            inline = stripped == _BEGIN
            continue
        if stripped.startswith(".loc"):
            line = int(stripped.split()[2])
        for brace in re.findall(r"[{}]", _NO_CODE.sub("", text)):
            depth += 1 if brace == "{" else -1
            if inline and depth <= 0:
                sentence = (
                    "inline assembly closes the function that it stands in: give each } of an asm "
                    "statement a { of its own"
                )
                where = f"{source_name}:{line}" if line else source_name
                raise CompileError(
                    f"{where}: {sentence}.", (Diagnostic("error", line, None, sentence),)
                )
