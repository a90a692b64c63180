"""The opcodes of PTX ISA 9.0: one row each, with everything that is true of all its instructions.

What an instruction computes stands elsewhere: `core/emulator/decode.py` and `core/ptx/arithmetic`
have one function for each row that is executed. `docs/ptx.md` is written from these rows. The words
that may follow an opcode stand at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from core.ptx.ast import Group, Instruction
from core.ptx.types import TYPES

Kind = Literal[
    "arithmetic",
    "video",  # on bytes and halves
    "bits",  # moves the bits of its operands about: logic, shifts, fields
    "function",  # a quotient, a root or a transcendental function
    "conversion",
    "move",
    "load",
    "store",
    "atomic",
    "reduction",  # an atomic that gives nothing back
    "copy",  # from global to shared memory, past the registers
    "jump",
    "call",
    "leave",  # the thread leaves its function, or ends
    "breakpoint",
    "barrier",
    "barrier object",
    "address of a block",  # of a cluster
    "fence",
    "lanes",  # lanes of a warp exchange values
    "matrix",  # products of matrices, and their fragments
    "matrix move",
    "hint",  # changes no value in the emulator
    "texture",  # fetches of textures, accesses of surfaces
    "left out",  # not executed
]


@dataclass(frozen=True)
class Opcode:
    """One opcode of PTX. Where a fact depends on modifiers, these are those with which it holds.

    `writes`: its first operand is what it writes. `stores`: it changes memory. `orders`: it orders
    the memory accesses of threads, so that a load after it may see what another thread stored.
    `copies`: it gives the value of an operand, bit for bit. `must_sync`: every form names the lanes
    that take part. `awaits_living`: of those it waits for the ones that have not exited.
    `operands`: how many there may be, the result among them; () where its function checks that.
    `types`: "integer" or "float" where it has types of one sort alone. `flops`: of a lane, where
    the type is a float's. `refused`: examples of forms that are not executed, each with why.
    """

    name: str
    kind: Kind
    writes: bool | frozenset[str] = True
    stores: bool | frozenset[str] = False
    orders: bool = False
    copies: bool = False
    must_sync: bool = False
    awaits_living: bool = False
    operands: tuple[int, ...] = ()
    types: Literal["", "integer", "float"] = ""
    flops: int = 0
    refused: tuple[tuple[str, str], ...] = ()

    @property
    def is_executed(self) -> bool:
        """Whether the emulator executes some form of it."""
        return self.kind != "left out"

    @property
    def ends_block(self) -> bool:
        """Whether the next instruction to be executed may be another than the one below."""
        return self.kind in ("jump", "call", "leave")

    @property
    def falls_through(self) -> bool:
        """Whether the instruction below may follow it even if it has no guard."""
        return self.kind not in ("jump", "leave")

    @property
    def is_memory(self) -> bool:
        """Whether its lanes load, store or update values at addresses of their own."""
        return self.kind in ("load", "store", "atomic", "reduction")

    @property
    def is_untyped(self) -> bool:
        """Whether it works on bits, so that its suffix does not tell what they mean."""
        return self.copies or self.kind in ("bits", "move", "load", "store")

    def but(self, *refused: tuple[str, str]) -> Opcode:
        """The same, without these forms."""
        return replace(self, refused=refused)


def _same(names: str, row: Opcode) -> Iterator[Opcode]:
    """A row for each name."""
    for name in names.split():
        yield replace(row, name=name)


def _with(modifiers: str) -> frozenset[str]:
    return frozenset(modifiers.split())


def _left_out(why: str, *examples: str) -> Opcode:
    """An opcode that is not executed in any form; the examples begin with its name."""
    name = examples[0].partition(".")[0]
    return Opcode(name, "left out", refused=tuple((example, why) for example in examples))


_QUERIES = "what a texture is like is asked of the host's objects"
_CLUSTERS = "launches of further clusters"
_BULK = "the bulk copy engine (TMA)"
_FILLS = "fills by the bulk copy engine (sm_100)"
_STACKS = "stacks that grow at run time"

_ROWS = (
    # Arithmetic of integers and floats.
    *_same("add sub mul", Opcode("", "arithmetic", operands=(3,), flops=1)),
    Opcode("mad", "arithmetic", operands=(4,), flops=2),
    Opcode("fma", "arithmetic", operands=(4,), types="float", flops=2),
    *_same("abs neg", Opcode("", "arithmetic", operands=(2,))),
    *_same("min max", Opcode("", "arithmetic", operands=(3, 4))),
    Opcode("div", "function", operands=(3,), flops=1),
    *_same(
        "sqrt rcp rsqrt sin cos ex2 lg2 tanh",
        Opcode("", "function", operands=(2,), types="float", flops=1),
    ),
    Opcode("copysign", "arithmetic", operands=(3,), types="float"),
    Opcode("testp", "arithmetic", operands=(2,), types="float"),
    *_same("rem mul24", Opcode("", "arithmetic", operands=(3,), types="integer")),
    *_same("mad24 sad dp2a dp4a", Opcode("", "arithmetic", operands=(4,), types="integer")),
    *_same("cnot popc clz bfind", Opcode("", "arithmetic", operands=(2,), types="integer")),
    *_same("addc subc madc bmsk fns szext", Opcode("", "arithmetic")),
    *_same("setp set", Opcode("", "arithmetic", operands=(3, 4))),
    Opcode("selp", "arithmetic", operands=(4,), copies=True),
    Opcode("slct", "arithmetic", operands=(4,)),
    Opcode("isspacep", "arithmetic"),
    # Bits.
    *_same("not brev", Opcode("", "bits", operands=(2,), types="integer")),
    *_same("and or xor shl shr", Opcode("", "bits", operands=(3,), types="integer")),
    *_same("shf bfe prmt", Opcode("", "bits", operands=(4,), types="integer")),
    Opcode("bfi", "bits", operands=(5,), types="integer"),
    Opcode("lop3", "bits", types="integer"),
    # Video instructions.
    Opcode("vadd", "video").but(
        ("vadd.u32.u32.u32 %r1.b0, %r2, %r3, %r4;", "a video result merged into part of a register")
    ),
    *_same("vsub vabsdiff vmin vmax vshl vshr vmad vset", Opcode("", "video")),
    *_same("vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2", Opcode("", "video")),
    *_same("vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 vset4", Opcode("", "video")),
    # Moves and conversions.
    Opcode("mov", "move", operands=(2,), copies=True),
    Opcode("cvta", "move"),
    Opcode("cvt", "conversion").but(
        ("cvt.rs.f16x2.f32 %r1, %f1, %f2, %r2;", "stochastic rounding"),
        ("cvt.rn.f16x2.ue8m0x2 %r1, %h1;", "scale factors of block formats"),
    ),
    # Memory.
    Opcode("ld", "load"),
    Opcode("ldu", "load"),
    Opcode("st", "store", writes=False, stores=True).but(
        ("st.bulk.weak.shared::cta [%d1], 64, 0;", _FILLS),
    ),
    Opcode("atom", "atomic", stores=True),
    Opcode("red", "reduction", writes=False, stores=True),
    Opcode("cp", "copy", writes=False, stores=True).but(
        (
            "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
            "[%r1], [%d1, {%r2, %r2, %r2}], [%r3], {%h1};",
            "tensor maps of images",
        ),
    ),
    Opcode("discard", "hint", writes=False, stores=True),
    *_same("prefetch prefetchu applypriority", Opcode("", "hint", writes=False)),
    Opcode("createpolicy", "hint"),  # a register that only hints read: it stays 0
    # Control.
    *_same("bra brx", Opcode("", "jump", writes=False)),
    Opcode("call", "call", writes=False),  # what it writes is a group of its own
    *_same("ret exit trap", Opcode("", "leave", writes=False)),
    Opcode("brkpt", "breakpoint", writes=False),
    # Threads together.
    Opcode("bar", "barrier", writes=_with("red"), orders=True),
    Opcode("barrier", "barrier", writes=_with("red"), orders=True),
    *_same("mapa getctarank", Opcode("", "address of a block")),
    Opcode(
        "mbarrier",
        "barrier object",
        writes=_with("arrive arrive_drop test_wait try_wait pending_count"),
        orders=True,
    ),
    *_same("membar fence", Opcode("", "fence", writes=False, orders=True)),
    Opcode("shfl", "lanes", copies=True),
    Opcode("activemask", "lanes"),
    Opcode("vote", "lanes", awaits_living=True),
    Opcode("match", "lanes", must_sync=True, awaits_living=True),
    Opcode("elect", "lanes", must_sync=True),
    Opcode("redux", "lanes", must_sync=True, awaits_living=True).but(
        ("redux.sync.min.f32 %f1, %f2, -1;", "reductions of floats over a warp (sm_100a)")
    ),
    Opcode("griddepcontrol", "hint", writes=False, orders=True),
    *_same("nanosleep pmevent setmaxnreg", Opcode("", "hint", writes=False)),
    # Matrices.
    Opcode("mma", "matrix").but(
        (
            "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f1}, "
            "%r3, 0;",
            "sparse matrices",
        ),
        (
            "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f1};",
            "the layout of Volta",
        ),
        (
            "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%r1}, {%r1}, {%r2}, {%r1};",
            "4-bit and 1-bit integers",
        ),
    ),
    Opcode("wmma", "matrix", writes=_with("load mma"), stores=_with("store")),
    Opcode("wgmma", "matrix", writes=_with("mma_async"), orders=True).but(
        (
            "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1, %f2, %f3, %f4}, %d1, %d2, "
            "%r1, 0, %p1, 1, 1, 0, 0;",
            "sparse matrices",
        )
    ),
    Opcode("ldmatrix", "matrix move").but(
        (
            "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r3}, [%r2];",
            "matrices of 8-bit elements",
        )
    ),
    Opcode("stmatrix", "matrix move", writes=False, stores=True),
    Opcode("movmatrix", "matrix move"),
    # Textures and surfaces: their values are right, their sectors are not counted.
    Opcode("tex", "texture").but(
        (
            "tex.cube.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f5, %f6, %f7, %f7}];",
            "maps of a cube",
        ),
        (
            "tex.grad.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f5}], {%f6}, {%f7};",
            "levels of detail",
        ),
    ),
    Opcode("tld4", "texture"),
    Opcode("suld", "texture"),
    Opcode("sust", "texture", writes=False, stores=True).but(
        (
            "sust.p.2d.v4.b32.trap [%d1, {%r1, %r2}], {%r3, %r4, %r5, %r6};",
            "surfaces that convert",
        )
    ),
    _left_out("sums in surfaces", "sured.b.add.1d.u32.trap [%d1, %r1], %r2;"),
    _left_out(_QUERIES, "txq.width.b32 %r1, [%d1];"),
    _left_out(_QUERIES, "istypep.texref %p1, %d1;"),
    _left_out(_QUERIES, "suq.width.b32 %r1, [%d1];"),
    _left_out(_CLUSTERS, "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %d1;"),
    _left_out(
        "memory of several GPUs at one address",
        "multimem.ld_reduce.relaxed.sys.global.add.u32 %r1, [%d1];",
    ),
    _left_out(_BULK, "tensormap.replace.tile.global_address.global.b1024.b64 [%d1], %d2;"),
    _left_out("tensor memory (sm_100a)", "tcgen05.fence::before_thread_sync;"),
    _left_out(_STACKS, "alloca.u64 %d1, 16;"),
    _left_out(_STACKS, "stacksave.u64 %d1;"),
    _left_out(_STACKS, "stackrestore.u64 %d1;"),
)

OPCODES: Mapping[str, Opcode] = MappingProxyType({row.name: row for row in _ROWS})
_UNKNOWN = Opcode("", "left out")


def opcode_of(instruction: Instruction) -> Opcode:
    """The row of an instruction; a word that is no opcode counts as one that is left out."""
    return OPCODES.get(instruction.opcode, _UNKNOWN)


def _holds(fact: bool | frozenset[str], instruction: Instruction) -> bool:
    return fact if isinstance(fact, bool) else not fact.isdisjoint(instruction.modifiers)


SPACES = ("global", "shared", "local", "const", "param")
_ATOMICS = ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")


def space_of(instruction: Instruction) -> str:
    """The state space that it names first, "" for a generic address."""
    names = (modifier.partition("::")[0] for modifier in instruction.modifiers)
    return next((name for name in names if name in SPACES), "")


def vector_length(instruction: Instruction) -> int:
    """Elements of a `.v2`, `.v4` or `.v8` access."""
    return next((int(m[1:]) for m in instruction.modifiers if m in ("v2", "v4", "v8")), 1)


def operation_of(instruction: Instruction) -> str:
    """What an asynchronous instruction, or a call of one, is called."""
    if "mma_async" in instruction.modifiers:
        return "matrix product"
    if "bulk" in instruction.modifiers:
        return "bulk reduction" if "reduce" in instruction.modifiers else "bulk copy"
    remote = {"st": "remote store", "red": "remote update"}
    return remote.get(instruction.opcode, "asynchronous copy")


def update_of(instruction: Instruction) -> str:
    """What an atomic does to the old value, "" where it says nothing."""
    return next((m for m in instruction.modifiers if m in _ATOMICS), "")


def changes_memory(instruction: Instruction) -> bool:
    """Whether a load after it may see other values than a load before it."""
    row = opcode_of(instruction)
    return row.orders or _holds(row.stores, instruction)


def writes_into(instruction: Instruction, space: str) -> bool:
    """Whether it changes memory of a space; a copy writes the one that it names first."""
    row = opcode_of(instruction)
    if row.kind == "copy" and space_of(instruction) != space:
        return False
    return row.kind == "barrier object" or _holds(row.stores, instruction)


def has_result(instruction: Instruction) -> bool:
    """Whether its first operand is what it writes."""
    row = opcode_of(instruction)
    if row.kind == "call":
        return bool(instruction.operands) and isinstance(instruction.operands[0], Group)
    return _holds(row.writes, instruction)


# The words that may follow an opcode (PTX ISA): any other is a mistake, or newer than all this.
#
# Which of them an instruction can have is its decoder's business; that none is skipped for want of
# being known is this function's.


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
    "pending_count noComplete parity expect_tx complete_tx bulk bulk_group tensor tile read "
    "reduce 1d 2d 3d 4d 5d cp_mask prefetch im2col",
    # products of warpgroups
    "mma_async fence",
    # textures and surfaces
    "a1d a2d cube acube 2dms a2dms base level grad trap zero r g",
    # hints
    "L1 L2 launch_dependents wait mask tensormap fractional range cvt",
)
_KNOWN = frozenset(TYPES) | frozenset(" ".join(_GROUPS).split())
_QUALIFIERS = (
    "shared:: param:: L1:: L2:: level:: tensormap:: sync_restrict:: mbarrier:: proxy:: async:: "
    "cluster:: op_restrict:: multicast::"
)
_QUALIFIED = tuple(_QUALIFIERS.split())
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
