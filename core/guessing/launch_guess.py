"""What is shown first of a user's source: a launch, its kernels, what the launched one takes.

It is what a person would try: a small size, one thread for an element, random inputs, zeros where
the kernel only writes. A form shows it, to be corrected.
"""

from __future__ import annotations

import itertools
import math
import re
import shlex
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from core.cancelling import PassingOverMistakes
from core.compiler.compile_ptx_and_cubin import compile_ptx, plain_name
from core.compiler.kernel_parameters import KernelParameter, constants, read_signature, type_sizes
from core.errors import ArgumentError, Cancelled, CompileError, TilescopeError, TooMuchWork
from core.guessing.argument_guesses import (
    UNEVEN,
    Extents,
    guess_array,
    guess_scalar,
    is_size,
    named_axis,
    product_names,
    with_names,
)
from core.guessing.grid_and_block_guess import (
    Shape,
    dimensions_of,
    dynamic_bytes,
    laid_out,
    shared_arrays_of,
)
from core.guessing.undefined_macros import guess_defines, switches, undefined_macros
from core.host_program.interpreter import LEAST
from core.host_program.run_to_launch import first_launch, is_reached
from core.host_program.scaled_down_launch import Given, KernelInHost, Size, null_arguments
from core.launch import MAX_SHARED_BYTES, Dim3
from core.recording.blocks_side_by_side import MOST_THREADS
from core.source.c_numbers import Number
from core.source.constants import knobs, with_defines
from core.source.functions_and_calls import host_syntax
from core.source.index_expressions import bounded_axes, divisors, indexed_alike, strides
from core.source.kernel_slice import without_host_code
from core.source.kernels_and_launches import (
    HostLaunch,
    KernelText,
    host_launches,
    kernel_called,
    kernels,
    split_instance,
    types_said,
    unscoped,
)
from core.source.preprocessor import closing, without_comments
from core.source.template_instances import (
    class_constants,
    instance_of,
    instances,
    kernel_names,
    launched,
    numbers_of_instance,
)
from core.user_files.launch_texts import FileLaunch, headers_of, join_defines, split_defines
from core.user_files.repository_search import (
    User,
    at_its_kernels,
    callers_of,
    defined_apart,
    program_of,
    user_of,
)
from core.user_files.sources_and_headers import BAD_HEADER, promised
from core.wording import listing

_BLANK = re.compile(r"FIX_?ME|TO_?DO|XXX+|FILL_?(ME_?)?(IN)?|YOUR_\w+")
_HALVES = re.compile(r"\b(?:__)?half2?\b")
_VARIABLE = re.compile(r"\b__(?:device|managed)__\b[^;(){}=\[]*?(\w+)\s*[;={\[]")
_STORED = re.compile(r"\s*(?:\[|(?:\.\s*\w+\s*)?=(?!=))")
_LOADLESS = re.compile(
    r"if|for|while|switch|return|sizeof|float|double|int|unsigned|size_t|printf|__(?!ld)\w+|make_\w+"
    r"|f?(?:min|max|sin|cos|sqrt|exp|pow|abs)f?"
)
_SMALL = 1 << 12  # a size that can be followed
_NO_LOADS = "is left out: it loads nothing from memory|are left out: they load nothing from memory"
_ONE_STEP = (
    "is left out: it has no loop and no shared memory"
    "|are left out: they have no loop and no shared memory"
)
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<[^<>;]*>)?\s*\(")
_HAS_MORE = re.compile(r"\b(?:for|while|do|__shared__|atomic\w+|__\w+_sync|\w*_LOOP)\b|\basm\b|->")
_MOST_FILLS = 16  # launches that only fill arrays: where there are more no other one is looked for
_MOST_UNSAID = 6  # macros of a build that are guessed
_MOST_OTHERS = 4  # kernels that are tried where the first cannot be launched
_PATIENT_S = 20.0  # of a processor, until no further one is tried
_PATIENT_WALL_S = 60.0  # the same on the clock: compilers work elsewhere
_STRIDE_OF = re.compile(r"(?:.*\.)?([A-Za-z]+)_\w*_stride")
_NO_LAUNCH: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Guess:
    """A launch, and what of it is a guess that nothing in the source, or nobody, says.

    `open` are the arguments that may as well be otherwise. `tied` are the arrays among them that
    follow from numbers of the kernel: one that reaches a little further has a fault. `is_ragged`
    says that threads lie beyond a size that is given, so that any that reaches further has.
    `shared_open`: nobody says how large dynamic shared memory is. `sizes` are the open numbers that
    say how large something is, and `asked` what the launch was guessed from. `left_out` says why
    the source's first kernel is not the one, "" where it is. `holding` are the arrays, none of them
    given, of structures with pointers in them: nothing says where these lead. `alike` are, by
    array, those that the kernel indexes as it does this one. `halved` are the numbers that are
    smaller than the host's. `is_strided` says that the arrays have guessed strides by dimension, so
    that their layout may be any. `uncut` is the grid that goes with the launch's sizes, "" where
    the launch has all of it, and `host_grid` that of the host's own sizes, "" where these are not
    known: asked for, it brings them. `host_grids` is the grid of a host that may have clusters,
    with the macros that are given and as it is written; () where nobody says all that decides.
    """

    launch: FileLaunch
    asked: FileLaunch
    open: frozenset[str] = frozenset()
    tied: frozenset[str] = frozenset()
    is_ragged: bool = False
    shared_open: bool = False
    sizes: frozenset[str] = frozenset()
    left_out: str = ""
    holding: frozenset[str] = frozenset()
    alike: Mapping[str, frozenset[str]] = field(default_factory=dict)
    halved: frozenset[str] = frozenset()
    is_strided: bool = False
    uncut: str = ""
    host_grid: str = ""
    host_grids: tuple[Size, ...] = ()

    def is_refused(self, cluster: Sequence[int]) -> bool:
        """Whether the host's own grid is not one of whole clusters, so that CUDA refuses it."""
        whole = (Dim3(*size).in_clusters(cluster) == Dim3(*size) for size in self.host_grids)
        return bool(self.host_grids) and not any(whole)


def guess_launch(
    source: str,
    path: str,
    kernel: str | None = None,
    given: Mapping[str, str] = _NO_LAUNCH,
    given_defines: Mapping[str, str] = _NO_LAUNCH,
) -> FileLaunch:
    """The launch of `guessed`, in a grid and a block of its own."""
    asked = FileLaunch(
        path, kernel or "", "", "", "", join_defines(given_defines), tuple(given.items())
    )
    return guessed(source, asked).launch


def guessed(source: str, asked: FileLaunch) -> Guess:
    """A launch to begin with; of the first kernel if none is named, and if that can be launched.

    What is `asked` stays: numbers, arrays, macros, grid and block each decide about the others.
    Macros that the source has no meaning for are added. Where the source launches the kernel itself
    its sizes are taken, halved until they are small; otherwise those of the file of its repository
    that launches it. Where the kernel needs types of such a file, which includes the source, that
    file comes before it; so do the files with device functions that the source only declares.
    Raises TilescopeError where the source has no kernel, and ArgumentError where the kernel's
    parameters cannot be read.
    """
    start, began = time.thread_time(), time.monotonic()
    headers = _headers_text(source, asked)
    apart = defined_apart(asked.path, source, headers) if not asked.included else ()
    if apart:
        with PassingOverMistakes():  # such a file may have its own, or be there twice
            more = replace(asked, included=shlex.join(map(str, apart)))
            return _of_kernel(source, more, is_alone=False)
    there = kernels(source, headers)
    is_alone = bool(asked.kernel) or len(there) < 2
    try:
        return _of_kernel(source, asked, is_alone=is_alone)
    except (Cancelled, TooMuchWork):
        raise
    except TilescopeError as error:
        first, *others = dict.fromkeys(k.called for k in there if k.is_defined) or [""]
        for other in others[:_MOST_OTHERS] if not asked.kernel else ():
            is_late = time.monotonic() - began > _PATIENT_WALL_S
            if is_late or time.thread_time() - start > _PATIENT_S:
                break
            with PassingOverMistakes():
                found = _of_kernel(source, replace(asked, kernel=other), is_alone=False)
                said = str(error).partition("\n")[0]
                return replace(found, left_out=f"{first} is left out: {said}")
        raise


def _headers_text(source: str, asked: FileLaunch) -> str:
    """The text of a source's own headers."""
    return "\n".join(headers_of(source, asked).values())


def _of_kernel(source: str, asked: FileLaunch, *, is_alone: bool) -> Guess:
    """The guess of one kernel, which must compile where another kernel or file may help.

    Where it `is_alone`, with no other kernel to take, what is wrong with it is said as it is run.
    """
    found = None
    try:
        found = _guessed(source, asked)
        is_part = program_of(asked.path) is not None
        if not is_alone or is_part or _of_halves(source, asked):
            _compile(source, found.launch)
        return found
    except CompileError as error:
        if asked.included:
            raise
        if halves := _of_halves(source, asked):
            with PassingOverMistakes():
                return _compiled(source, replace(asked, kernel=halves))
        user = _user(source, _headers_text(source, asked), asked)
        first = user.path if user is not None and user.includes_it else None
        for path in dict.fromkeys((first, program_of(asked.path))):
            with PassingOverMistakes():
                if path is not None:
                    return _compiled(source, replace(asked, included=shlex.quote(str(path))))
        if is_alone and found is not None:
            return found
        raise error from None


def _compiled(source: str, asked: FileLaunch) -> Guess:
    """A guess that compiles."""
    found = _guessed(source, asked)
    _compile(source, found.launch)
    return found


def _compile(source: str, launch: FileLaunch) -> None:
    """Raises CompileError where the launch's kernel does not compile."""
    compile_ptx(
        source,
        source_name=launch.name,
        defines=split_defines(launch.defines),
        kernel=launch.kernel,
        headers=headers_of(source, launch),
        architecture=launch.architecture,
    )


def _of_halves(source: str, asked: FileLaunch) -> str:
    """The first kernel's instance for `half` where float was taken for its type; "" for no such.

    PyTorch's macros name the types that a file is made for where no text says them.
    """
    headers = _headers_text(source, asked)
    there = {k.called: k for k in kernels(source, headers)}
    first = there[first_kernel([*there], source)[0]] if there else None
    if asked.kernel or first is None or not (first.template and _HALVES.search(source)):
        return ""
    whole = f"{headers}\n{source}"
    plain, given = split_instance(instances(whole, first)[0])
    if "float" not in given:
        return ""
    return f"{plain}<{', '.join('half' if text == 'float' else text for text in given)}>"


def _user(source: str, before: str, asked: FileLaunch) -> User | None:
    """The file that launches the kernel asked for where neither source nor headers do.

    If none is asked for and the source launches nothing itself, that of its first that somebody
    launches.
    """
    wanted = unscoped(asked.kernel)
    names = [wanted] if wanted else [*dict.fromkeys(k.name for k in kernels(source, before))]
    whole = f"{before}\n{source}" if before else source
    if not names or first_launch(whole, names[0]) is not None:
        return None
    several = names[: 1 if host_launches(whole) else _MOST_OTHERS]
    return next((user for name in several if (user := user_of(asked.path, name))), None)


def _callers(text: str, kernel: str, path: str) -> str:
    """What calls the function that launches a kernel, where no function of the text does."""
    launch = first_launch(text, kernel)
    if launch is None or launch.function in ("", "main"):
        return ""
    if host_syntax(without_comments(text)).is_called(launch.function):
        return ""
    return callers_of(path, launch.function)


def first_kernel(
    names: Sequence[str], source: str, launching: str = ""
) -> tuple[str, Mapping[str, str]]:
    """The first kernel that the source, or else the launching text, launches; or the first.

    One that only fills arrays, or warms a GPU up, counts where there is no other, and so does a
    launch that the program does not come to. One that does a single step comes after one with a
    loop or shared memory, if that takes more or fewer arguments: with as many it is a version. With
    it come the names of those it is preferred to, and what they lack.
    """
    text = source if host_launches(source) else launching
    found, reached, small, takes, left = "", "", "", 0, dict[str, str]()
    for launch in sorted(host_launches(text), key=lambda launch: launch.position):
        name = _asked_for(names, text, launch)
        if name and is_reached(text, launch):
            kernel = kernel_called(source, name, launching)
            if _only_fills(kernel, source):
                left[name] = _NO_LOADS
            elif (
                kernel is None
                or not kernel.body
                or _has_more(kernel.body, source + launching, {"if"})
            ):
                if kernel is not None and len(kernel.parameters) == takes:
                    break  # of two versions the first
                return name, left
            else:
                small, takes = small or name, takes or len(kernel.parameters)
                left[name] = _ONE_STEP
            reached = reached or name
            if len(left) == _MOST_FILLS:
                break
        found = found or name
    if small:
        return small, {name: why for name, why in left.items() if why == _NO_LOADS}
    if reached or found:
        return reached or found, {}
    for name in names[:_MOST_FILLS]:
        if not _only_fills(kernel_called(source, name, launching), source):
            return name, left
        left[name] = _NO_LOADS
    return names[0], {}


def _has_more(code: str, source: str, seen: set[str]) -> bool:
    """Whether code has a loop or shared memory, or a function or macro of the source it calls."""
    if _HAS_MORE.search(code):
        return True
    for name in set(_CALLED.findall(code)) - seen:
        seen.add(name)
        defined = (
            rf"#[ \t]*define[ \t]+{name}\(((?:\\\n|.)*)|\b{name}\s*\([^;{{}}]*\)[^;{{}}()]*\{{"
        )
        for found in re.finditer(defined, source):
            part = found[1] or source[found.end() : closing(source, found.end(), "{}")]
            if _has_more(part, source, seen):
                return True
    return False


def _left_out(left: Mapping[str, str]) -> str:
    """A sentence for each reason."""
    said = []
    for why in dict.fromkeys(left.values()):
        names = [name for name, reason in left.items() if reason == why]
        one, several = why.split("|")
        said.append(f"{listing(names)} {one if len(names) == 1 else several}.")
    return " ".join(said)


def _only_fills(kernel: KernelText | None, source: str) -> bool:
    """Whether a kernel's body shows that it loads nothing: it stores plainly, if at all."""
    body = re.sub(r"\bcurand_init\s*\([^;]*;", "", kernel.body) if kernel is not None else ""
    if kernel is None or not body or re.search(r"__shared__|\basm\b|->", body):
        return False
    ends = (closing(body, m.end(), "[]") + 1 for m in re.finditer(r"\w\s*\[|\]\s*\[", body))
    called = _CALLED.findall(body)
    if not all(_STORED.match(body, end) for end in ends) or not all(
        map(_LOADLESS.fullmatch, called)
    ):
        return False
    taken = {word for p in kernel.parameters if "*" in p for word in re.findall(r"\w+", p)[-1:]}
    names = "|".join((*taken, *_VARIABLE.findall(source)))
    return not (names and re.search(rf"\b(?:{names})\b(?!\s*(?:\[|=[^=]))", body))


def _asked_for(names: Sequence[str], text: str, launch: HostLaunch) -> str:
    """The name of the kernel, and instance, that a launch in a text asks for; "" for no such."""
    own = [name for name in names if unscoped(name) == unscoped(launch.name)]
    if own and (meant := launched(text, launch)) is not None:
        own = [name for name in own if kernel_called(text, name) == meant]
        exact = instance_of(text, meant, launch)
        return exact if exact in own else next(iter(own), "")
    return next(iter(own), "")


def _guessed(source: str, asked: FileLaunch) -> Guess:
    given, given_defines = dict(asked.arguments), split_defines(asked.defines)
    written = source
    source = with_defines(source, given_defines)
    headers = headers_of(source, asked)
    before = with_defines("\n".join(headers.values()), given_defines)
    user = _user(source, before, asked)
    launching = f"{before}\n{user.headers}\n{user.text}" if user is not None else before
    names = kernel_names(source, launching)
    if not names:
        raise TilescopeError(f"{asked.name} has no kernel: mark a function __global__.")
    meant = _instances_of(asked.kernel, names) if asked.kernel else names
    if asked.kernel.startswith("_Z") and len(meant) > 1:  # its types are not read
        raise ArgumentError(
            f"{asked.name} has {len(meant)} kernels that {asked.kernel} may be: say which by its "
            f"name, one of {listing([*meant], 'or')}."
        )
    name, left = first_kernel(meant or [asked.kernel], source, launching)
    given_defines = {**switches(source, name, headers), **given_defines}
    device = without_comments(without_host_code(source))
    text = _body(source, name, before) or device
    dimensions = dimensions_of(text)
    grid_given, block_given = _sizes(asked.grid), _sizes(asked.block)
    undefined = undefined_macros(source, name, headers, given_defines, asked.name)
    blanks = [name for name in undefined if _BLANK.fullmatch(name) and name not in given_defines]
    if blanks:
        raise ArgumentError(
            f"{asked.name} has {blanks[0]} in place of code: write what belongs there first."
        )
    unsaid = [n for n, is_type in undefined.items() if not is_type and n not in given_defines]
    if len(unsaid) > _MOST_UNSAID:
        raise ArgumentError(
            f"{asked.name} takes {len(unsaid)} numbers from its build, which go together: give "
            f"{listing(unsaid)}, as in `-D {unsaid[0]}=16`."
        )
    shape, defines = laid_out(
        source,
        name,
        guess_defines(undefined, dimensions),
        text,
        given_defines,
        dimensions,
        block_given,
    )
    declared = shared_arrays_of(source, name, defines)
    signature = read_signature(source, name, defines, headers, asked.name)
    whole = f"{before}\n{source}" if before else source
    written = "\n".join((*headers.values(), written))
    if user is not None:
        written += f"\n{user.headers}\n{user.text}"
        whole += with_defines(f"\n{user.headers}\n{user.text}", given_defines)
    if further := _callers(whole, name, asked.path):
        written += f"\n{further}"
        whole += with_defines(f"\n{further}", given_defines)
    shapes = {p.name: s for p in signature if (s := _shape_given(p, given.get(p.name, "")))}
    numbers = _numbers_of_shapes(shapes, signature, text) | _numbers(signature, given)
    sizes_of_types = type_sizes(source, name, defines, headers, asked.name)
    what_is_given = Given(
        numbers,
        _bytes_given(signature, shapes),
        _three(grid_given),
        _three(block_given),
        _of_classes(whole, name, source, defines, headers, asked.name),
    )
    in_host = KernelInHost(whole, name, signature, defines, sizes_of_types, what_is_given)
    host = in_host.guess()
    if host is not None and host.constants:
        smaller_ones = {name: str(value) for name, value in host.constants.items()}
        both = join_defines({**given_defines, **smaller_ones})
        small = guessed(source, replace(asked, defines=both))
        return replace(small, host_grid=_typed(host.own, dimensions))
    host_grids: tuple[Size, ...] = ()
    if host is not None and "cluster" in whole.lower() and not grid_given:
        unmeant = {n: text for n, text in defines.items() if n in undefined}
        as_written = replace(in_host, source=written, defines=unmeant)
        grids = (in_host.grid(), as_written.grid())
        there = tuple(size for size in grids if size is not None)
        host_grids = there if len(there) == 2 else ()
    block = _trimmed(host.block, dimensions) if host else shape.block
    vast = math.prod(grid_given) * math.prod(block) > MOST_THREADS  # some blocks run: no size
    decides = bool(grid_given) and not vast
    if decides and host is None:
        steps = shape.apart or block
        numbers = _numbers_of_grid(grid_given, steps, signature, text) | numbers
    lengths = _lengths(shape, signature, text, numbers)
    steps = (*shape.apart, *block[len(shape.apart) :])
    grid = [1 if shape.one_block else -(-n // b) for n, b in zip(lengths, steps, strict=False)]
    ragged = any(length % step for length, step in zip(lengths, steps, strict=False))
    if host is not None and host.grid is not None:
        grid = list(_trimmed(host.grid, dimensions))
    grid = list(grid_given) or grid
    if decides or (host is not None and not vast):
        pairs = itertools.zip_longest(steps, grid, fillvalue=1)
        lengths = tuple(step * count for step, count in pairs)
        if host is not None:
            lengths = _within(lengths, steps, host.scalars, signature, text)
    nulls = host.nulls if host is not None else null_arguments(whole, name, signature)
    _must_not_take_functions(name, signature, nulls | given.keys())
    extents = with_names(Extents(lengths, host, program=whole, nulls=nulls), signature, text)
    plain = host is None and not decides
    usual = replace(extents, lengths=shape.lengths) if plain else extents
    shared = min(dynamic_bytes(declared, math.prod(block)), MAX_SHARED_BYTES)
    tiles = divisors(text, _numbers_of_instance(source, name, before).get) if text else {}
    arguments = dict(_arguments(signature, text, extents, usual, numbers, tiles))
    launch = FileLaunch(
        path=asked.path,
        kernel=name,
        grid=",".join(map(str, grid)),
        block=",".join(map(str, block)),
        shared=str(host.shared if host and host.shared else shared),
        defines=join_defines(defines),
        arguments=tuple((n, given.get(n, guess)) for n, guess in arguments.items()),
        folders=asked.folders,
        included=asked.included,
        architecture=asked.architecture,
        cluster=asked.cluster or ",".join(map(str, host.cluster if host and host.cluster else ())),
    )
    known = (set(host.said) | {*host.scalars} | {*host.maps}) - host.assumed if host else set()
    fixed = {p.name for p in signature if p.is_symbol and not p.is_pointer}
    guesses = frozenset(arguments) - known - set(given) - fixed
    is_strided = _has_layouts(guesses)
    is_tied = any(is_size(p) for p in signature) and not is_strided
    tied = guesses if is_tied else frozenset()
    guess = Guess(
        launch,
        asked,
        guesses,
        tied,
        is_ragged=ragged and bool(numbers) and host is None,
        shared_open=bool(re.search(r"\bextern\s+(?:\w+\s+)*?__shared__", device))
        and not (asked.shared or (host is not None and host.shared)),
        sizes=frozenset(p.name for p in signature if is_size(p)) & guesses,
        holding=frozenset(p.name for p in signature if p.holds_pointers) - set(given),
        alike=_indexed_alike(signature, guesses, text),
        halved=host.halved if host is not None else frozenset(),
        is_strided=is_strided,
        uncut=_typed(host.uncut, dimensions) if host else "",
        host_grid=_typed(host.own, dimensions) if host else "",
        host_grids=host_grids,
        left_out=_left_out(left),
    )
    return with_host_grid(guess, host.cluster) if host and host.cluster else guess


def with_host_grid(guess: Guess, cluster: Sequence[int]) -> Guess:
    """The guess, with the host's own grid if clusters do not divide it: whoever runs it says so."""
    if not guess.is_refused(cluster):
        return guess
    grid = ",".join(map(str, _trimmed(guess.host_grids[0], len(_sizes(guess.launch.grid)))))
    return replace(guess, launch=replace(guess.launch, grid=grid))


def _must_not_take_functions(
    kernel: str, signature: Sequence[KernelParameter], known: Collection[str]
) -> None:
    """Raises ArgumentError for a pointer to a function: its address is known on a GPU alone."""
    taken = [p.name for p in signature if p.is_function and p.name not in known]
    if taken:
        raise ArgumentError(
            f"{kernel} takes a pointer to a function, {taken[0]}, which code on a GPU alone can "
            "make: have the kernel read it from the __device__ variable that holds it, or take a "
            f"structure with operator(). `--arg {taken[0]}=null` runs it without one."
        )


def _indexed_alike(
    signature: Sequence[KernelParameter], guesses: Collection[str], text: str
) -> Mapping[str, frozenset[str]]:
    """The arrays that a kernel indexes alike; of a structure that it indexes, its first array."""
    first: dict[str, str] = {}
    for parameter in signature:
        if parameter.is_pointer and not parameter.leads_to_pointers:  # rows may differ in length
            first.setdefault(parameter.whole or parameter.name, parameter.name)
    found = indexed_alike([whole for whole, name in first.items() if name in guesses], text)
    return {first[n]: frozenset(first[o] for o in others) for n, others in found.items()}


def _has_layouts(names: Collection[str]) -> bool:
    """Whether an array has a stride for each dimension (x_batch_stride, x_row_stride).

    Its layout, and so its size, may be any then.
    """
    found = [match[1] for name in names if (match := _STRIDE_OF.fullmatch(name))]
    return len(found) > len(set(found))


def _of_classes(
    whole: str,
    kernel: str,
    source: str,
    defines: Mapping[str, str],
    headers: Mapping[str, str],
    name: str,
) -> Mapping[str, int]:
    """The values that the compiler gives for the class constants in a kernel's launch."""
    launch = first_launch(whole, kernel)
    meant = class_constants(whole, launch, kernel) if launch is not None else {}
    if not meant:
        return {}
    found = constants(list(meant.values()), source, defines, headers, name)
    return {said: found[text] for said, text in meant.items() if text in found}


def _sizes(text: str) -> tuple[int, ...]:
    """A grid or block as it is typed, x first; () where nothing, or none, is."""
    parts = re.split(r"[,x]", text.strip())
    if not 1 <= len(parts) <= 3 or not all(re.fullmatch(r"\s*0*[1-9]\d{0,9}\s*", p) for p in parts):
        return ()
    return tuple(int(part) for part in parts)


def _three(size: Sequence[int]) -> Size | None:
    """A grid or block in three dimensions; None for ()."""
    x, y, z = [*size, 1, 1, 1][:3]
    return (x, y, z) if size else None


def _shape_given(parameter: KernelParameter, text: str) -> tuple[int, ...]:
    """The shape of an array that is given, in elements of the parameter's type; () for none."""
    if text.startswith("@"):
        try:
            with Path(text[1:]).open("rb") as file:
                shape = promised(file)[0]
        except (OSError, *BAD_HEADER):
            return ()
    else:
        found = re.fullmatch(r"(?:\w+:)?\w+\[([\d,\s]{1,99})\]", text.strip())
        parts = found[1].split(",") if found and parameter.is_pointer else []
        shape = tuple(int(part) for part in parts if part.strip().isdecimal())
        if len(shape) != len(parts):
            return ()
    return shape[:-1] if parameter.lanes > 1 and len(shape) > 1 else shape


def _bytes_given(
    signature: Sequence[KernelParameter], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, int]:
    return {
        p.name: math.prod(shapes[p.name]) * p.lanes * p.dtype.itemsize
        for p in signature
        if p.name in shapes and p.dtype is not None
    }


def _numbers_of_shapes(
    shapes: Mapping[str, tuple[int, ...]], signature: Sequence[KernelParameter], text: str
) -> dict[str, Number]:
    """What the arrays that are given say of the kernel's sizes."""
    sizes = [p.name for p in signature if is_size(p)]
    found: dict[str, Number] = {}
    for name, shape in shapes.items():
        pair = strides(name, text, sizes) or ("", "")
        names = product_names(name, sizes) or pair
        if len(shape) == len(names) == 2 and any(names):
            found |= {n: extent for n, extent in zip(names, shape, strict=True) if n}
        elif len(sizes) == 1:
            found[sizes[0]] = shape[-1] if len(shape) > 1 else _side(shape[0], pair[1])
    return found


def _side(count: int, columns: str) -> int:
    """The size that a flat array of a square matrix has, or the array's own."""
    root = math.isqrt(count)
    return root if columns and root * root == count else count


def _numbers_of_grid(
    grid: Sequence[int], block: Sequence[int], signature: Sequence[KernelParameter], text: str
) -> dict[str, Number]:
    """The sizes that a grid which is given covers."""
    found: dict[str, Number] = {}
    for parameter in signature:
        axes = bounded_axes(parameter.name, text, len(grid)) if is_size(parameter) else ()
        if len(axes) == 1:
            extent = grid[axes[0]] * (block[axes[0]] if axes[0] < len(block) else 1)
            guarded = len(grid) == len(block) == 1 and extent > 2 * UNEVEN
            found[parameter.name] = extent - UNEVEN if guarded else extent
    return found


def sizes_guessed(
    source: str,
    path: str,
    kernel: str,
    given: Mapping[str, str],
    shapes: Mapping[str, Sequence[int]],
) -> frozenset[str]:
    """The arrays that are as large as they would be guessed, where nothing in the source says so.

    `shapes` are theirs, by name. Where the source launches kernels itself, what it allocates counts
    as said.
    """
    if "<<<" in source or "cudaLaunchKernel" in source:
        return frozenset()
    guess: dict[str, str] = {}
    with PassingOverMistakes():
        guess = dict(guess_launch(source, path, kernel, given).arguments)
    sizes = {name: f"[{','.join(map(str, shape))}]" for name, shape in shapes.items()}
    return frozenset(n for n, size in sizes.items() if guess.get(n, "").rstrip(")").endswith(size))


def _instances_of(kernel: str, names: Sequence[str]) -> list[str]:
    """The names among a source's kernels that `kernel` may mean; `axpy` means `axpy<float>`.

    It may be written as in PTX, `_ZN2ns4axpyEPf`. An instance that the source does not have stays
    what it is, as long as the kernel is there; [] where it is not.
    """
    wanted = plain_name(kernel)
    if wanted in names:
        return [wanted]
    plain, given = split_instance(wanted)
    types = types_said(wanted)

    def is_meant(name: str) -> bool:
        """Whether one has the namespaces of the other, and the types, as far as they are said."""
        own = split_instance(name)[0]
        is_one = f"::{own}".endswith(f"::{plain}") or f"::{plain}".endswith(f"::{own}")
        return is_one and types in ("", types_said(name))

    found = [name for name in names if is_meant(name)]
    return [kernel] if found and given else found


def _body(source: str, kernel: str, headers: str = "") -> str:
    """The kernel's body, if it is its own indices that it looks at."""
    found = kernel_called(source, kernel, headers)
    return found.body if found is not None and "threadIdx" in found.body else ""


def _numbers_of_instance(source: str, instance: str, headers: str) -> Mapping[str, int]:
    own = kernel_called(source, instance, headers)
    formals = [p.name for p in own.template] if own is not None else []
    return numbers_of_instance(formals, split_instance(instance)[1])


def _numbers(signature: Sequence[KernelParameter], given: Mapping[str, str]) -> dict[str, Number]:
    """The scalars that are given, as far as their texts are numbers."""
    found: dict[str, Number] = {}
    for parameter in signature:
        text = given.get(parameter.name, "").strip()
        if parameter.is_array or parameter.dtype is None:
            continue
        if parameter.dtype.kind in "iu" and re.fullmatch(r"-?[0-9]{1,18}", text):
            found[parameter.name] = int(text)
        elif parameter.dtype.kind == "f" and re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]*)?", text):
            found[parameter.name] = float(text)
    return found


def _lengths(
    shape: Shape, signature: Sequence[KernelParameter], text: str, numbers: Mapping[str, Number]
) -> tuple[int, ...]:
    """Elements along each dimension: those of the numbers that are given, or the usual ones."""
    lengths = list(shape.lengths)
    sizes = [p.name for p in signature if is_size(p)]
    for name, number in numbers.items():
        if name not in sizes or number < 1:
            continue
        axes: Sequence[int] = bounded_axes(name, text, shape.dimensions)
        if not axes and sizes == [name]:
            axes = range(shape.dimensions)
        elif not axes and (by_name := named_axis(name)) is not None:
            axes = [by_name] if by_name < shape.dimensions > 1 else []
        for axis in axes:
            lengths[axis] = int(number)
    return tuple(lengths)


def _within(
    lengths: tuple[int, ...],
    steps: Sequence[int],
    numbers: Mapping[str, Number],
    signature: Sequence[KernelParameter],
    text: str,
) -> tuple[int, ...]:
    """Elements along each dimension where a number of the host's bounds those of the last block."""
    found = list(lengths)
    for name in (p.name for p in signature if is_size(p) and p.name in numbers):
        for axis in bounded_axes(name, text, len(lengths)):
            number = int(numbers[name])
            if axis < len(steps) and 0 < lengths[axis] - number < steps[axis]:
                found[axis] = number
    return tuple(found)


def _typed(size: Size | None, dimensions: int) -> str:
    """A grid as it is typed; "" for none."""
    return ",".join(map(str, _trimmed(size, dimensions))) if size is not None else ""


def _trimmed(size: tuple[int, ...], dimensions: int) -> tuple[int, ...]:
    """As many extents as the kernel has dimensions, and those beyond that are not 1."""
    used = max([dimensions, *(axis + 1 for axis, extent in enumerate(size) if extent > 1)])
    return size[:used]


def _arguments(
    signature: Sequence[KernelParameter],
    text: str,
    extents: Extents,
    usual: Extents,
    numbers: Mapping[str, Number],
    tiles: Mapping[str, int],
) -> Iterator[tuple[str, str]]:
    """Each parameter's text; `usual` is what numbers that are not given are guessed from.

    A size that the kernel divides by a tile is that tile at least: of none it would have no work.
    """
    scalars: dict[str, str] = {}
    for parameter in signature:
        if parameter.name in numbers:
            scalars[parameter.name] = str(numbers[parameter.name])
        elif not parameter.is_array:
            has_size = any(is_size(p) for p in signature if p is not parameter)
            scalar = guess_scalar(parameter, usual, has_size)
            said = extents.host is not None and parameter.name in extents.host.scalars
            if is_size(parameter) and not said and 0 <= int(scalar) < tiles.get(parameter.name, 0):
                scalar = str(tiles[parameter.name])
            scalars[parameter.name] = scalar
    sizes = {
        p.name: int(scalars[p.name]) for p in signature if is_size(p, text) and p.name in scalars
    }
    known = replace(extents, scalars=sizes)
    for parameter in signature:
        if parameter.name in scalars:
            yield parameter.name, scalars[parameter.name]
        else:
            yield parameter.name, guess_array(parameter, text, known)


def refit(source: str, launch: FileLaunch) -> FileLaunch:
    """A launch for an edited source: what still applies is kept, the rest is guessed.

    Raises as `guess_launch`.
    """
    names = kernel_names(source, _headers_text(source, launch))
    kernel = launch.kernel if _instances_of(launch.kernel, names) else None
    defines = split_defines(launch.defines) if kernel else _NO_LAUNCH
    blank = replace(launch, kernel=kernel or "", grid="", block="", shared="", arguments=())
    blank = replace(blank, cluster=launch.cluster if kernel else "")
    guess = guessed(source, replace(blank, defines=join_defines(defines))).launch
    signature = _signature(source, guess, headers_of(source, launch))
    known = dict(launch.arguments)
    arguments = []
    for parameter, (name, text) in zip(signature, guess.arguments, strict=True):
        old = known.get(name)
        keep = old is not None and _fits(parameter, old)
        arguments.append((name, old if keep and old is not None else text))
    if kernel is None:
        return replace(guess, arguments=tuple(arguments))
    return replace(launch, arguments=tuple(arguments))


def _signature(
    source: str, launch: FileLaunch, headers: Mapping[str, str]
) -> tuple[KernelParameter, ...]:
    return read_signature(
        source, launch.kernel, split_defines(launch.defines), headers, launch.name
    )


def completed(source: str, asked: FileLaunch) -> Guess:
    """The launch asked for, with what it leaves empty guessed.

    Raises as `guess_launch`, and ArgumentError for a kernel or a parameter that the source has not.
    """
    defines = split_defines(asked.defines)
    names = kernel_names(with_defines(source, defines), _headers_text(source, asked))
    if asked.kernel and not _instances_of(asked.kernel, names):
        raise ArgumentError(
            f"{asked.name} has no kernel {asked.kernel}: it has {listing([*names]) or 'none'}."
        )
    guess = guessed(source, asked)
    there = [name for name, _ in guess.launch.arguments]
    for name, _ in asked.arguments:
        if name not in there:
            raise ArgumentError(
                f"{guess.launch.kernel} has no parameter {name}: it has {listing(there)}."
            )
    texts = {
        field: getattr(asked, field) or getattr(guess.launch, field)
        for field in ("grid", "block", "shared")
    }
    if split_defines(asked.defines) == split_defines(guess.launch.defines):
        texts["defines"] = asked.defines  # as it was typed
    return replace(guess, launch=replace(guess.launch, **texts))


def smaller(source: str, launch: FileLaunch) -> Iterator[str]:
    """Options with which the launch is guessed anew with less to do: at most a quarter of a number.

    A number counts if the grid, or a loop of the kernel, follows it, and the block does not.
    """
    defines = split_defines(launch.defines)
    text = with_defines(source, defines)
    body = _body(text, launch.kernel)
    looped = " ".join(re.findall(r"\b(?:for|while)\s*\(([^{}]*?)[{\n]", body))
    scalars = [(n, int(t)) for n, t in launch.arguments if re.fullmatch(r"\d{2,9}", t)]
    candidates = [(f"--arg {n}=", n, value) for n, value in scalars]
    candidates += [(f"-D {knob.name}=", knob.name, knob.value) for knob in knobs(text)]
    for option, name, value in candidates:
        less = min(value // 4, _SMALL)
        if less < LEAST:
            continue
        asked = FileLaunch(launch.path, launch.kernel, "", "", "", launch.defines)
        if option.startswith("-D"):
            asked = replace(asked, defines=join_defines({**defines, name: str(less)}))
        else:
            asked = replace(asked, arguments=((name, str(less)),))
        with PassingOverMistakes():
            found = guessed(source, asked).launch
            follows = found.grid != launch.grid or re.search(rf"\b{re.escape(name)}\b", looped)
            if found.block == launch.block and follows:
                yield f"{option}{less}"


def _fits(parameter: KernelParameter, text: str) -> bool:
    if parameter.is_pointer and text.strip() == "null":
        return True
    if not parameter.is_array:
        return "[" not in text and not text.startswith("@")
    if text.startswith("pointers(") != parameter.leads_to_pointers:
        return False
    named = re.search(r"(\w+)\[", text)
    return text.startswith("@") or (
        named is not None and (parameter.dtype is None or named[1] == parameter.dtype.name)
    )


def launch_of(
    source: str, path: str, known: FileLaunch | None, kernel: str | None, is_linked: bool
) -> tuple[FileLaunch, tuple[str, ...], tuple[KernelParameter, ...]]:
    """A launch of a source, its kernels' names, and the signature of the launched one.

    `known` is a launch to go on from, whose gaps are guessed if `is_linked`; without it one of
    `kernel` is guessed, or of the first. Raises TilescopeError.
    """
    if known is None:
        asked = FileLaunch(path, kernel or "", "", "", "")
        source, asked = at_its_kernels(source, asked)
        launch = guessed(source, asked).launch
    else:
        launch = completed(source, known).launch if is_linked else refit(source, known)
    signature = _signature(source, launch, headers_of(source, launch))
    return launch, kernel_names(source, _headers_text(source, launch)), signature
