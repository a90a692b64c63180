"""The words that may follow an opcode (PTX ISA): any other is a mistake, or newer than all this.

Which of them an instruction can have is its decoder's business; that none is skipped for want of
being known is this file's.
"""

from __future__ import annotations

import re

from core.ptx.types import TYPES

_GROUPS = (
    # types that are no register types of their own
    "b128 e4m3 e5m2 e2m1 e3m2 e2m3 ue8m0 b4x16 b4x16_p64 b6x16_p32 b8 s4 u4 b1",
    # rounding and results
    "rn rz rm rp rni rzi rmi rpi rna rs lo hi wide sat ftz approx full cc relu NaN xorsign abs "
    "satfinite noftz scaled",
    # comparisons and what is done with them
    "eq ne lt le gt ge ls hs equ neu ltu leu gtu geu num nan and or xor popc",
    # state spaces, order, scope, caches, vectors
    "global shared local const param generic volatile relaxed acquire release acq_rel weak mmio "
    "cta cluster gpu sys gl sc nc unified ca cg cs lu cv wb wt v2 v4 v8 proxy alias async "
    "mbarrier_init to",
    # atomics, warps and barriers
    "add min max inc dec exch cas sync red arrive aligned warp uni all any ballot up down bfly idx",
    # fields and bytes
    "clamp wrap l r shiftamt f4e b4e rc8 ecl ecr rc16 b0 b1 b2 b3 b10 b32 b210 b3210 shiftr7 "
    "shiftr15 po pack finite infinite number notanumber normal subnormal",
    # matrices
    "row col sp m8n8 m8n16 m16n16 m16n8 x1 x2 x4 trans load store mma a b c d num",
    # asynchronous copies and their barriers
    "commit_group wait_group wait_all mbarrier noinc init inval arrive_drop test_wait try_wait "
    "pending_count noComplete parity expect_tx complete_tx",
    # hints
    "L1 L2 launch_dependents wait mask tensormap",
)
_KNOWN = frozenset(TYPES) | frozenset(" ".join(_GROUPS).split())
_QUALIFIED = ("shared::", "param::", "L1::", "L2::", "level::", "tensormap::", "sync_restrict::",
              "mbarrier::", "proxy::", "async::", "cluster::", "op_restrict::")  # fmt: skip
_SHAPE = re.compile(r"m\d+n\d+k\d+")


def unknown_modifier(modifiers: tuple[str, ...]) -> str:
    """The first of the modifiers that PTX does not have, or ""."""
    if _KNOWN.issuperset(modifiers):
        return ""
    for modifier in modifiers:
        known = modifier in _KNOWN or modifier.startswith(_QUALIFIED)
        if not known and not _SHAPE.fullmatch(modifier):
            return modifier or "."
    return ""
