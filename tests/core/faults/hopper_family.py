"""Families of small Hopper kernels: each fault in many shapes, beside a twin that lacks it.

In a text `⟦this|that⟧` is `this` in the faulty kernel and `that` in its twin; the line with `//!`
is where the finding is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product

import numpy as np

from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.launch import Workload
from core.recording.record_launch import record
from core.trace import Trace
from tests.core.faults.cases import FOLDER, Case, workload

H200 = json.loads((FOLDER / "hopper_h200_2026-11-27.json").read_text(encoding="utf-8"))
"""What each kernel and its twin did on a GPU: `scripts/record_hopper_faults.py`."""
TYPES = {  # numbers of k in one product, its types, what follows the signs
    "f16": (16, "f32.f16.f16", ", 0, 0"),
    "bf16": (16, "f32.bf16.bf16", ", 0, 0"),
    "tf32": (8, "f32.tf32.tf32", ""),
}
MORE = r"""
#define SYNC __syncthreads()
#define CLUSTER_SYNC asm volatile( \
  "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory")
#define RANK_OF asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank))
#define MAPA(to, p, r) asm volatile("mapa.u64 %0, %1, %2;" : "=l"(to) : "l"(p), "r"(r))
#define BULK_DONE asm volatile( \
  "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory")
#define TILE(p, mode) ((u64)((ADDRESS(p) & 0x3FFFF) >> 4) | 1ull << 16 \
  | (u64)(128 >> mode) << 32 | (u64)mode << 62)
#define ZERO(x) for (int i = t; i < sizeof(x) / 4; i += 128) ((u32*)x)[i] = 0
#define SET ZERO(a); ZERO(b);
"""


@dataclass(frozen=True)
class Member:
    """One kernel of a family with its twin: what differs from the others, its launch and text."""

    kind: str
    name: str
    launch: str
    body: str
    before: str = ""

    def source(self, *, faulty: bool) -> str:
        """The file that holds the kernel, named k."""
        return _head() + self.kernel("k", faulty=faulty)

    def kernel(self, name: str, *, faulty: bool) -> str:
        """The kernel alone."""
        text = re.sub(r"⟦(.*?)\|(.*?)⟧", r"\1" if faulty else r"\2", self.body, flags=re.DOTALL)
        return f'extern "C" __global__ void {self.before} {name}{text}'

    def workload(self, *, faulty: bool) -> Workload:
        """The kernel with its launch."""
        case = Case("family.cu", "k", self.launch, frozenset())
        return workload(case, self.source(faulty=faulty))


@dataclass(frozen=True)
class Together:
    """Members whose kernels stand in one file, the twins too: it is compiled and read once."""

    members: tuple[Member, ...]

    @cached_property
    def source(self) -> str:
        kernels = (
            member.kernel(name, faulty=not name.endswith("_ok"))
            for at, member in enumerate(self.members)
            for name in (f"k{at}", f"k{at}_ok")
        )
        return _head() + "\n".join(kernels)

    def run(self, member: Member, *, faulty: bool) -> tuple[Trace, int]:
        """The trace, and the number of the line that is at fault."""
        name = f"k{self.members.index(member)}" + ("" if faulty else "_ok")
        case = Case("family.cu", name, member.launch, frozenset())
        made = workload(case, self.source)
        trace = record(made, build=compile_ptx(made.source, source_name=made.source_name))
        before, _, kernel = made.source.partition(f" {name}(")
        return trace, f"{before}{kernel.partition('//!')[0]}".count("\n") + 1


def outputs_digest(outputs: Mapping[str, np.ndarray]) -> str:
    """SHA-256 of the arrays' bytes in the order of their names, its first 16 digits."""
    found = hashlib.sha256()
    for name in sorted(outputs):
        found.update(np.ascontiguousarray(outputs[name]).tobytes())
    return found.hexdigest()[:16]


@cache
def _head() -> str:
    found: dict[str, str] = {}
    for file in ("bulk_copies.cu", "warpgroups.cu"):
        for line in (FOLDER / file).read_text("utf-8").splitlines():
            if line.startswith(("typedef", "struct", "#define")):
                found.setdefault(line.split("(")[0] if "#def" in line else line, line)
    kept = [line for line in found.values() if not re.search(r"define (FILL|COMMIT|WAIT\b)", line)]
    group = 'asm volatile("wgmma.{}.sync.aligned{};" :: {} : "memory")'
    commit = f"#define COMMIT {group.format('commit_group', '', '')}\n"
    return (
        "\n".join(kept)
        + MORE
        + commit
        + "#define AWAIT(n) "
        + group.format("wait_group", " %0", '"n"(n)')
        + "\n"
    )


def _multiply(columns: int, kind: str, a: str, b: str) -> str:
    """d += a times b, 64 rows and these columns."""
    depth, types, end = TYPES[kind]
    count = columns // 2
    sums = ", ".join(f"%{i}" for i in range(count))
    tied = ", ".join(f'"+f"(d[{i}])' for i in range(count))
    form = f"wgmma.mma_async.sync.aligned.m64n{columns}k{depth}.{types}"
    asm = f'"{form} {{{sums}}}, %{count}, %{count + 1}, 1, 1, 1{end};"'
    return f'asm volatile({asm} : {tied} : "l"({a}), "l"({b}) : "memory");'


def _product(
    kind: str, middle: str, fence: str = "PROXY_FENCE;", shift: str = "0"
) -> Iterator[Member]:
    shifted = kind == "bad_descriptor"  # a pattern of 32 bytes a row repeats every 256 bytes
    sizes, modes = ((8, 16, 24, 40, 56), (1, 2)) if shifted else ((8, 16, 24, 40), (1, 2, 3))
    for columns, dtype, mode in product(sizes, TYPES, modes):
        wide = 256 >> mode
        multiply = _multiply(columns, dtype, f"TILE(a + {shift}, {mode}ull)", f"TILE(b, {mode}ull)")
        yield Member(
            kind,
            f"{columns}-{dtype}-{wide}",
            "grid=1 block=128 c=output:float32[128]",
            f"""(float* c) {{
  __shared__ __align__(1024) char a[{64 * wide + 1024}], b[{columns * wide}];
  float d[{columns // 2}] = {{}}; int t = threadIdx.x; SET
  {fence} SYNC; FENCE;
{middle.replace("MULTIPLY", multiply).replace("LAST", str(columns // 2 - 1))}
}}""",
        )


def _ring() -> Iterator[Member]:
    for stages, count in product(range(1, 6), (16, 32, 64, 128, 256)):
        yield Member(
            "wrong_parity",
            f"{stages}-{4 * count}",
            f"grid=1 block=32 x=input:float32[{stages * count}] c=output:float32[32]",
            f"""(const float* x, float* c) {{
  __shared__ __align__(128) float tile[{stages}][{count}]; __shared__ u64 full[{stages}];
  int t = threadIdx.x; float sum = 0;
  if (t == 0) for (int s = 0; s < {stages}; s++) INIT(full[s], 1);
  SYNC;
  for (int i = 0; i < {stages}; i++) {{
    int s = i % {stages};
    if (t == 0) {{
      EXPECT(full[s], {4 * count}); COPY_IN(tile[s], x + {count} * i, {4 * count}, full[s]);
    }}
    WAIT_FOR(full[s], (i / {stages} & 1)⟦ ^ 1|⟧);
    sum += tile[s][t % {count}];  //!
    SYNC;
  }}
  c[t] = sum;
}}""",
        )


def _expected() -> Iterator[Member]:
    for copied in (128, 160, 256, 512, 1024):
        for few in (16, copied // 64 * 16, copied // 32 * 16, copied - 32, copied - 16):
            yield Member(
                "hang",
                f"{few}-of-{copied}",
                "grid=1 block=32 x=input:float32[256] c=output:float32[32]",
                f"""(const float* x, float* c) {{
  __shared__ __align__(128) float tile[256]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) {{
    INIT(full, 1); EXPECT(full, ⟦{few}|{copied}⟧); COPY_IN(tile, x, {copied}, full);
  }}
  SYNC;
  WAIT_FOR(full, 0);  //!
  c[t] = tile[t % {copied // 4}];
}}""",
            )


def _remote() -> Iterator[Member]:
    uses = {"read": "v = other[t];", "write": "other[t] = v;", "add": "atomicAdd(other + t, v);"}
    for blocks, use, threads, kind in product((2, 4), uses, (32, 64, 96), ("int", "float")):
        size = blocks * threads
        yield Member(
            "remote_exit",
            f"{blocks}-{use}-{threads}-{kind}",
            f"grid={blocks} block={threads} c=output:{kind}32[{size}]",
            f"""({kind}* c) {{
  __shared__ {kind} s[{threads}]; u32 rank; RANK_OF;
  int t = threadIdx.x, i = {threads} * blockIdx.x + t;
  s[t] = i; {kind} v = i; {kind}* other;
  CLUSTER_SYNC;
  if (rank == {blocks - 1}) {{ c[i] = v; ⟦|CLUSTER_SYNC;⟧ return; }}
  MAPA(other, s, {blocks - 1});
  for (int n = 0; n < 300; n++) __nanosleep(100);
  if (rank == 0)
    {uses[use]}  //!
  c[i] = v;
  ⟦|CLUSTER_SYNC;⟧
}}""",
            f"__cluster_dims__({blocks})",
        )


def _missed() -> Iterator[Member]:
    for blocks, threads, rounds in product((2, 4), (32, 64, 128), (1, 3)):
        for rank in range(blocks):
            yield Member(
                "divergent_barrier",
                f"{rank}-of-{blocks}-{threads}-{rounds}",
                f"grid={blocks} block={threads} c=output:int32[{blocks * threads}]",
                f"""(int* c) {{
  u32 rank; RANK_OF; c[{threads} * blockIdx.x + threadIdx.x] = 1;
  for (int i = 0; i < {rounds}; i++)
    CLUSTER_SYNC;
  if (rank != {rank} || ⟦false|true⟧)
    CLUSTER_SYNC;  //!
}}""",
                f"__cluster_dims__({blocks})",
            )


def _beyond() -> Iterator[Member]:
    for (wide, high), (x, y) in product(
        ((16, 8), (8, 16), (32, 4), (4, 32), (64, 2)),
        ((-4, 0), (-8, 2), (0, -1), (4, -2), (-4, -3)),
    ):
        count = wide * high
        yield Member(
            "beyond_map",
            f"{wide}x{high}-at-{x},{y}",
            f"grid=1 block={count} m=map:{wide}x{high}:0:output:float32[24,96]"
            f" c=output:float32[{count}]",
            f"""(const __grid_constant__ TensorMap m, float* c) {{
  __shared__ __align__(128) float tile[{count}]; int t = threadIdx.x;
  tile[t] = t; c[t] = t;
  PROXY_FENCE; SYNC;
  if (t == 0) {{
    BOX_OUT(&m, tile, ⟦{x}|{abs(x)}⟧, ⟦{y}|{abs(y)}⟧);  //!
    BULK_DONE;
  }}
}}""",
        )


def families() -> dict[str, list[Member]]:
    """Every family, by its fault."""
    end = "  AWAIT(0);\n  c[t] = d[0];"
    lines = {
        "read before the wait": (
            "not_awaited",
            "  MULTIPLY COMMIT;\n  AWAIT(⟦1|0⟧);\n  c[t] = d[LAST];  //!\n  AWAIT(0);",
        ),
        "overwritten while read": (
            "not_awaited",
            "  MULTIPLY COMMIT;\n  ⟦|AWAIT(0); SYNC;⟧\n  if (t < sizeof(b) / 4)\n"
            f"    ((u32*)b)[t] = 1;  //!\n{end}",
        ),
        "no proxy fence": ("proxy_fence", f"  MULTIPLY  //!\n  COMMIT;\n{end}"),
        "descriptor": ("bad_descriptor", f"  MULTIPLY  //!\n  COMMIT;\n{end}"),
    }
    changed = {
        "no proxy fence": {"fence": "⟦|PROXY_FENCE;⟧"},
        "descriptor": {"shift": "⟦256|1024⟧"},
    }
    found = {
        name: list(_product(kind, middle, **changed.get(name, {})))
        for name, (kind, middle) in lines.items()
    }
    return {
        **found,
        "wrong parity": list(_ring()),
        "too few bytes": list(_expected()),
        "block has ended": list(_remote()),
        "missed cluster barrier": list(_missed()),
        "box beyond the map": list(_beyond()),
    }
