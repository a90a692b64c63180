"""CUDA C to PTX and machine code with NVRTC, NVIDIA's run-time compiler; no GPU or toolkit needed.

Two builds matter. *As written* is `-G` (device debug): the PTX keeps the source's order, one load
or store for each one in the source, with line numbers and DWARF. *As compiled* is what NVRTC makes
by default, optimised.
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from core.cancelling import check
from core.compiler.compile_request import compile_request, shipped_answer
from core.compiler.cubin import cubin_entries, kernel_resources
from core.compiler.requests_and_answers import ARCHITECTURE, Compiled, Request, define_items
from core.errors import Cancelled, CompileError, Diagnostic, TilescopeError, TooMuchWork
from core.ptx.debug.mangled_names import source_name
from core.source.kernels_and_launches import split_instance

if TYPE_CHECKING:
    from core.compiler.cubin import MachineAccess
    from core.devices.occupancy import Resources
    from core.launch import Workload


BuildKind = Literal["as_written", "as_compiled"]
DEFAULT_ARCHITECTURE = "compute_90"
_OLDER_ARCHITECTURE = "compute_80"
_PATIENT_S = 10.0  # a refusal that took longer is not looked into for another architecture
# What compute capability 9.0 alone has, under the name 9.0a: nothing newer runs such code (CUDA C++
# Programming Guide, "Architecture-Specific Features").
_ONLY_HOPPER = re.compile(r"\b(?:wgmma|setmaxnreg|__CUDA_ARCH_FEAT_SM90_ALL)\b")
_ASKS_TARGET = re.compile(r"\b(?:__CUDA_ARCH\w*|asm)\b")
_KIND_OPTIONS: Mapping[BuildKind, tuple[str, ...]] = {
    "as_written": ("-G",),
    "as_compiled": ("-lineinfo",),
}
_NO_DEFINES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Build:
    """The PTX of one source, and what it was made from. `entries` are its kernels' PTX names.

    `instances` has the PTX name of the instance that it was made for, by its name in the source.
    `accesses` are the loads and stores in the machine code of optimised kernels, by PTX name, and
    `yields` the lines of the PTX at which machine code lets a warp's other lanes go first, `saves`
    how many registers each function saves for its caller, by PTX name. `ways` are, of code as
    written, the lines that machine code branches to, and those at which lanes have waited for
    others, each with the line at which they began to. `compiler` is what made it, such as
    "clang 22.1.8"; "" for NVRTC.
    """

    kind: BuildKind
    source: str
    source_name: str
    defines: Mapping[str, str]
    options: tuple[str, ...]
    architecture: str
    ptx: str
    diagnostics: tuple[Diagnostic, ...]
    entries: tuple[str, ...]
    instances: Mapping[str, str] = field(default_factory=lambda: _NO_DEFINES)
    accesses: Mapping[str, tuple[MachineAccess, ...]] = field(default_factory=dict)
    yields: tuple[int, ...] = ()
    saves: tuple[tuple[str, int], ...] = ()
    ways: tuple[tuple[int, ...], tuple[tuple[int, int], ...]] = ((), ())
    compiler: str = ""

    @property
    def described(self) -> str:
        """As written or as compiled, and by whom where it is not NVIDIA's compiler."""
        kind = self.kind.replace("_", " ")
        return f"{kind} {self.compiler_note}" if self.compiler else kind

    @property
    def compiler_note(self) -> str:
        """Who compiled it, where that is not NVIDIA's compiler: "by clang 22.1.8, …"."""
        return f"by {self.compiler}, not NVIDIA's compiler" if self.compiler else ""


def compile_ptx(
    source: str,
    *,
    source_name: str = "kernel.cu",
    defines: Mapping[str, str] = _NO_DEFINES,
    kind: BuildKind = "as_written",
    architecture: str = "",
    extra_options: Sequence[str] = (),
    kernel: str = "",
    headers: Mapping[str, str] = _NO_DEFINES,
) -> Build:
    """Compile CUDA C to PTX. `architecture` is a virtual one, such as "compute_80".

    Without one it is compute_90, compute_90a where the source uses what only that has, or an older
    one where the source compiles for that alone.

    Of a `kernel` that is a template the instance is made that its name says: `axpy<float>`.
    `extra_options` go to NVRTC as they are (`--use_fast_math`), `headers` are found by their names
    before all others. Raises CompileError where the source is wrong and TilescopeError where NVRTC
    is missing. Equal requests get the same Build from a small cache. Safe to call from any thread.
    """
    options = (*_KIND_OPTIONS[kind], *extra_options)
    items = define_items(defines), tuple(sorted(headers.items()))

    def asked(target: str) -> Request:
        whole = (f"{ARCHITECTURE}{target}", *options)
        return Request(source, source_name, items[0], whole, "PTX", kernel, items[1])

    optimised = kind == "as_compiled"
    first = asked(architecture or architecture_for(source, headers))

    def build() -> Build:
        request, begun = first, time.monotonic()
        try:
            made = _with_machine_code(first)
        except CompileError as error:
            asks = any(_ASKS_TARGET.search(text) for text in (source, *headers.values()))
            if architecture or not asks or time.monotonic() - begun > _PATIENT_S:
                raise
            request = asked(_OLDER_ARCHITECTURE)
            try:
                older = _with_machine_code(request)
            except CompileError:
                raise error from None
            note = f"{DEFAULT_ARCHITECTURE} refuses it: compiled for {_OLDER_ARCHITECTURE}"
            said = (*older.diagnostics, Diagnostic("warning", 0, None, note))
            made = replace(older, diagnostics=said)
        ptx = made.image.decode().rstrip("\0")
        _must_stay_inside(ptx, source_name)
        entries = tuple(re.findall(r"\.entry\s+([\w$.]+)", ptx))
        return Build(
            kind=kind,
            source=source,
            source_name=source_name,
            defines=MappingProxyType(dict(request.defines)),
            options=request.all_options,
            architecture=request.options[0].partition("=")[2],
            ptx=ptx,
            diagnostics=tuple(d for d in made.diagnostics if optimised or not _is_ptxas(d)),
            entries=entries,
            instances=MappingProxyType({kernel: made.entry} if made.entry else {}),
            accesses=MappingProxyType(dict(made.machine.accesses)),
            yields=made.machine.yields,
            saves=made.machine.saves,
            ways=made.machine.ways,
            compiler=made.compiler,
        )

    return _builds.get((first, bool(architecture)), build)


def build_of(workload: Workload, kind: BuildKind = "as_written") -> Build:
    """The build of a workload: its source compiled, or the PTX that it brings.

    Raises as `compile_ptx` does.
    """
    if not workload.ptx:
        return compile_ptx(
            workload.source,
            source_name=workload.source_name,
            defines=workload.defines,
            kind=kind,
            kernel=workload.kernel,
            headers=workload.headers,
            architecture=workload.architecture,
        )
    target = re.search(r"^[ \t]*\.target\b.*?sm_(\w+)", workload.ptx, re.MULTILINE)
    return Build(
        kind="as_compiled",
        source=workload.source,
        source_name=workload.source_name,
        defines=_NO_DEFINES,
        options=(),
        architecture=f"compute_{target[1]}" if target else DEFAULT_ARCHITECTURE,
        ptx=workload.ptx,
        diagnostics=(),
        entries=(workload.kernel,),
    )


def architecture_for(source: str, headers: Mapping[str, str] = _NO_DEFINES) -> str:
    """The virtual architecture that a source is compiled for where nobody names another."""
    return DEFAULT_ARCHITECTURE + _suffix(source, headers)


def _suffix(source: str, headers: Mapping[str, str]) -> str:
    """Of the architecture 9.0: "a" where a source uses what no other one has."""
    texts = (source, *headers.values())
    return "a" if any(_ONLY_HOPPER.search(text) for text in texts) else ""


def _with_machine_code(request: Request) -> Compiled:
    """The PTX of a request, and if ptxas makes machine code of it, that of one compilation.

    What ptxas refuses (too much shared memory, a barrier that is not there) is refused with a
    better sentence where the PTX is made ready to run.
    """
    if (known := shipped_answer(request)) is not None:
        return known
    target, *others = request.options
    real = (target.replace("compute_", "sm_"), *others)
    try:
        return compile_request(replace(request, options=real))
    except (Cancelled, TooMuchWork):
        raise
    except CompileError as error:
        if any(said.severity == "error" and said.line for said in error.diagnostics):
            raise  # ptxas names no lines
        return compile_request(request)
    except TilescopeError:
        return compile_request(request)


def _is_ptxas(said: Diagnostic) -> bool:
    """Whether ptxas says it: of code with debug information it is about speed alone."""
    return re.match(r"\(C\d+\)", said.message) is not None


_INLINE_BEGIN, _INLINE_END = "// begin inline asm", "// end inline asm"
_NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"[^"\n]*"')


def _must_stay_inside(ptx: str, source_name: str) -> None:
    """Raises CompileError, with the line, where inline assembly closes its function's brace.

    It would go on as another function. The assembler takes such a text for several functions, or
    refuses it without naming the line.
    """
    if _INLINE_BEGIN not in ptx:
        return
    depth = line = 0
    inline = False
    for text in ptx.splitlines():
        stripped = text.strip()
        if stripped in (_INLINE_BEGIN, _INLINE_END):
            inline = stripped == _INLINE_BEGIN
            continue
        if stripped.startswith(".loc"):
            line = int(stripped.split()[2])
        for brace in re.findall(r"[{}]", _NOT_CODE.sub("", text)):
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


# Machine code.


def compile_cubin(
    source: str,
    *,
    source_name: str = "kernel.cu",
    defines: Mapping[str, str] = _NO_DEFINES,
    compute_capability: tuple[int, int] = (9, 0),
    extra_options: Sequence[str] = (),
) -> bytes:
    """The cubin of all kernels of a source, as `compile_kernel` makes that of one.

    `cubin_entries` lists its kernels.
    """
    return compile_kernel(
        source,
        "",
        source_name=source_name,
        defines=defines,
        compute_capability=compute_capability,
        extra_options=extra_options,
    )[0]


def compile_kernel(
    source: str,
    kernel: str,
    *,
    source_name: str = "kernel.cu",
    defines: Mapping[str, str] = _NO_DEFINES,
    compute_capability: tuple[int, int] = (9, 0),
    extra_options: Sequence[str] = (),
    headers: Mapping[str, str] = _NO_DEFINES,
) -> tuple[bytes, str]:
    """An optimised cubin (machine code) for one compute capability, and the kernel's name in it.

    Raises as `compile_ptx` and `resolve_entry` do; a kernel that asks for too much shared memory is
    refused here, by the assembler.
    """
    major, minor = compute_capability
    suffix = _suffix(source, headers) if compute_capability == (9, 0) else ""
    options = (f"--gpu-architecture=sm_{major}{minor}{suffix}", *extra_options)
    request = Request(
        source,
        source_name,
        define_items(defines),
        options,
        "CUBIN",
        kernel,
        tuple(sorted(headers.items())),
    )
    try:
        made = _cubins.get(request, lambda: compile_request(request))
    except CompileError as error:
        if compute_capability == (9, 0) or not _suffix(source, headers):
            raise
        raise TilescopeError(
            f"{source_name} uses instructions that compute capability 9.0 alone has (wgmma, "
            f"setmaxnreg), and {major}.{minor} has not: choose an H100 or H200."
        ) from error
    if made.entry or not kernel:
        return made.image, made.entry
    return made.image, resolve_entry(cubin_entries(made.image), kernel, source_name)


def workload_cubin(
    workload: Workload,
    compute_capability: tuple[int, int] = (9, 0),
    extra_options: Sequence[str] = (),
) -> tuple[bytes, str]:
    """The cubin of a launch's source, and the name in there of its kernel, as `compile_kernel`.

    Raises TilescopeError for PTX of another compiler.
    """
    if workload.ptx:
        raise TilescopeError(
            "Another compiler made the PTX, and only what NVRTC compiles is assembled here."
        )
    return compile_kernel(
        workload.source,
        workload.kernel,
        source_name=workload.source_name,
        defines=workload.defines,
        compute_capability=compute_capability,
        extra_options=extra_options,
        headers=workload.headers,
    )


def compiled_resources(workload: Workload, version: str, barriers: int = 1) -> Resources:
    """The resources of the workload's optimised kernel on a compute capability, such as "8.6".

    Dynamic shared memory counts. Raises CompileError.
    """
    from core.devices.occupancy import Resources

    major, minor = (int(part) for part in version.split("."))
    image, entry = workload_cubin(workload, (major, minor))
    needs = kernel_resources(image, entry)
    shared = needs.static_shared_bytes + workload.launch.shared_bytes
    return Resources(workload.launch.block.count, needs.registers, shared, barriers)


# Kernels by name.


def find_entry(build: Build, name: str) -> str:
    """The PTX name of kernel `name` in a build: NVRTC's own, or that of `resolve_entry`."""
    return build.instances.get(name) or resolve_entry(build.entries, name, build.source_name)


def resolve_entry(entries: Sequence[str], name: str, source_name: str = "the source") -> str:
    """Which of `entries` (plain or mangled C++ names) is the kernel called `name`.

    Accepts the exact name, the name as written (`foo` for `_Z3fooPf`, `foo<float>` where there is
    one instance), or a qualified one (`ns::foo`). Raises TilescopeError, listing the kernels there
    are, when none or several fit.
    """
    if name in entries:
        return name
    plain = split_instance(name)[0]
    own = [e for e in entries if plain_name(e) == plain]
    found = own or [e for e in entries if f"::{plain_name(e)}".endswith(f"::{plain}")]
    if len(found) == 1:
        return found[0]
    if found:
        names = list(map(plain_name, found))
        raise TilescopeError(
            f"{source_name} has {len(found)} kernels called {name}: say which by its full name, "
            f"one of {', '.join(names if len({*names}) == len(found) else found)}."
        )
    if not entries:
        raise TilescopeError(
            f"{source_name} has no kernel: a kernel is a function marked __global__ "
            "(a template needs an instance)."
        )
    there = ", ".join(plain_name(e) for e in entries)
    raise TilescopeError(f"{source_name} has no kernel called {name}; it has: {there}.")


def plain_name(entry: str) -> str:
    """The name of a function as its source spells it: `ns::foo` for `_ZN2ns3fooEPf`.

    Template arguments, parameters and namespaces without a name are left out. A name that is not
    mangled is returned as it is.
    """
    parts = source_name(entry).split("::")
    return "::".join(part for part in parts if not part.startswith("_GLOBAL__N_"))


# What was built is kept.


_T = TypeVar("_T")
_PATIENCE_S = 0.02  # how often who waits for another's compilation looks whether it is wanted


class _Cache:
    """Keeps the most recently used results, refusals of the compiler among them.

    Who asks for what another makes waits for that.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._items: OrderedDict[Hashable, Any] = OrderedDict()
        self._made: set[Hashable] = set()
        self._changed = threading.Condition()

    def get(self, key: Hashable, make: Callable[[], _T]) -> _T:
        with self._changed:
            while key in self._made:
                check()
                self._changed.wait(_PATIENCE_S)
            if key in self._items:
                self._items.move_to_end(key)
                known: _T | CompileError = self._items[key]
                return _raised(known)
            self._made.add(key)
        try:
            made: _T | CompileError
            try:
                made = make()
            except CompileError as error:
                made = CompileError(str(error), error.diagnostics)
            with self._changed:
                self._items[key] = made
                while len(self._items) > self._capacity:
                    self._items.popitem(last=False)
            return _raised(made)
        finally:
            with self._changed:
                self._made.discard(key)
                self._changed.notify_all()


def _raised(answer: _T | CompileError) -> _T:
    """What was made; a refusal is raised anew each time, as who raises it adds to it."""
    if isinstance(answer, CompileError):
        raise CompileError(str(answer), answer.diagnostics)
    return answer


_builds = _Cache(32)
_cubins = _Cache(32)
