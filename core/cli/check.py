"""`tilescope check`: every launch of files, in several orders of the warps, for a build to fail.

Files are checked one after another here, or by the workers of a cluster, each of which gets the
file's text and its headers'. What is printed, and the exit status, are the same.

What a team expects of its launches' counters, at most so many sectors and conflicts, is a TOML file
(`--expect`): one `[[launch]]` for each, with the `file` (as it is checked, or how its path ends)
and its `kernel`, the launch's sizes if they shall not be guessed, and counters with the most that
they may be.
"""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path, PurePath
from typing import Annotated, Any

import typer
from rich.text import Text

from core.atomic_files import must_be_writable, replace_file
from core.cli.console import FOUND, MISTAKE, progress_bar, show_error, standard_console, tell
from core.cli.named_launch import OwnLaunch, faults, file_launch
from core.cli.options import Compiler, cluster_option, option
from core.cli.trace import verdict
from core.distributed.processes import usual_jobs
from core.errors import Cancelled, TilescopeError
from core.findings.sarif import Result, sarif
from core.rules.counters import COUNTERS
from core.side_process.client import stoppable
from core.source.constants import with_defines
from core.source.cuda_in_python import ENDINGS, SOURCES, NoCudaWithin
from core.source.kernels_and_launches import split_instance, unscoped
from core.source.template_instances import kernel_names
from core.trace import Trace
from core.user_files.launch_texts import parse_defines, split_defines
from core.user_files.sources_and_headers import (
    MOST_NOTEBOOK,
    local_files,
    read_plain,
    read_source,
    read_text,
    repository_of,
)
from core.wording import in_number, listing

_OTHERS = ("site-packages", "node_modules")  # folders of programs that others have written
_SECONDS = 30.0  # of processor time for each order
_DEFAULT_ORDERS = 5
_TEXTS = ("file", "kernel", "grid", "block")
_LISTS = ("define", "arg")
_MOST_BYTES = 1 << 20


def _print(said: Text | str) -> None:
    """A line for standard output, or the sentence of an error."""
    if isinstance(said, str):
        show_error(TilescopeError(said))
    else:
        standard_console().say(said)


@dataclass
class _Checked:
    """What came of the launches so far; `tell` hears what is to be printed."""

    tell: Callable[[Text | str], None] = _print
    results: list[Result] = field(default_factory=list)
    refused: list[Result] = field(default_factory=list)
    counted: list[Counted] = field(default_factory=list)


@dataclass(frozen=True)
class _File:
    """One file to check. `shown` and `here` are its paths as it was given, and from the folder.

    `path` is where it lies for whoever checks it; a file that was `named` must have a kernel.
    """

    shown: Path
    here: Path
    path: Path
    is_named: bool
    kernel: str | None
    define: tuple[str, ...]
    expected: tuple[Expected, ...]
    orders: int
    seed: int


@dataclass(frozen=True)
class _Sent:
    """A file as a worker gets it: with the texts of itself and its headers, by absolute path."""

    file: _File
    texts: Mapping[str, str]
    repository: str


def check(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE|FOLDER…",
            help="CUDA sources, Python files or notebooks with CUDA, or folders that hold some.",
        ),
    ],
    kernel: Annotated[str | None, option(text="Check this kernel only.")] = None,
    define: Annotated[
        list[str] | None, option("--define", "-D", text="TILE=16, for every file.")
    ] = None,
    orders: Annotated[
        int,
        typer.Option(help="How many orders of the warps to run each launch in.", min=1, max=100),
    ] = _DEFAULT_ORDERS,
    compiler: Compiler = None,
    seed: Annotated[int, typer.Option(help="Seed of random buffers and orders.", min=0)] = 7,
    expect: Annotated[
        Path | None, option(text="Fail where counters exceed those in this file.")
    ] = None,
    write: Annotated[Path | None, option(text="Write the counters down for --expect.")] = None,
    sarif_file: Annotated[
        Path | None, option("--sarif", text="Write the findings as SARIF 2.1.0.")
    ] = None,
    cluster: Annotated[
        str | None, cluster_option("Spread the files over a dask scheduler's workers.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Processes of --cluster local.", min=1)
    ] = None,
    no_fail: Annotated[
        bool, typer.Option("--no-fail", help="Exit with status 0 even if there are faults.")
    ] = False,
) -> None:
    """Run every launch of the files in several orders of the warps, and print what is wrong.

    Exit status: 0 if all is clean, 1 for faults and for counters above what is expected, 2 where
    the command is wrong or nothing was found but a file cannot be checked.
    """
    for file in (write, sarif_file):
        if file is not None:
            must_be_writable(file)
    expected = read_expected(expect) if expect is not None else ()
    found = _Checked()
    files = (
        _File(
            file, _here(file), file.absolute(), file in paths, kernel, tuple(define or ()),
            expected, orders, seed,
        )
        for file in sources(paths)
    )  # fmt: skip
    if cluster is None:
        for one in files:
            _check_file(one, found)
    else:
        _check_remotely(tuple(files), cluster, jobs, found)
    if kernel is not None and not (found.counted or found.results or found.refused):
        raise TilescopeError(f"No file has a kernel {kernel}: leave out --kernel to check all.")
    _missed(expected, expect, found)
    if write is not None:
        _write_expected(write, found.counted)
    if sarif_file is not None:
        log = sarif([*found.results, *found.refused], version("tilescope"))
        replace_file(sarif_file, json.dumps(log, indent=1).encode())
    _show_sum(found)
    if not no_fail and (found.results or found.refused):
        raise typer.Exit(FOUND if found.results else MISTAKE)


def sources(paths: Iterable[Path]) -> Iterator[Path]:
    """The files that paths mean, each once; those of a folder by name.

    Of Python files and notebooks in a folder those with a kernel are meant, unless they lie in a
    hidden folder or an installed package. Raises TilescopeError for a path that is not there, or a
    folder without sources.
    """
    seen: set[Path] = set()
    for path in paths:
        files = [path]
        if path.is_dir():
            files = sorted(p for p in path.rglob("*") if p.is_file() and _is_meant(p, path))
            if not files:
                endings = listing(SOURCES, "or")
                raise TilescopeError(f"{path} has no CUDA source: no kernel in a {endings} file.")
        elif not path.exists():
            raise TilescopeError(f"There is no file {path}.")
        for file in files:
            if file.resolve() not in seen:
                seen.add(file.resolve())
                yield file


def _is_meant(file: Path, folder: Path) -> bool:
    """Whether a file in a folder is a source; one that cannot be read is refused later."""
    if file.suffix not in ENDINGS:
        return file.suffix in SOURCES
    if any(p.startswith(".") or p in _OTHERS for p in file.relative_to(folder).parts):
        return False
    try:
        read_source(file)
    except NoCudaWithin:
        return False
    except TilescopeError:
        return True
    return True


def _check_file(file: _File, found: _Checked) -> None:
    """Checks the launches of a file; one that was only found in a folder may have none."""
    try:
        text = with_defines(read_source(file.path), parse_defines(file.define))
        names = stoppable(kernel_names, text)
        if file.is_named and not names:
            raise TilescopeError("it has no kernel: mark a function __global__.")
    except Cancelled:
        raise
    except TilescopeError as error:
        _refuse(file, "", error, found)
        return
    for name in names:
        if file.kernel is not None and file.kernel not in (
            name,
            split_instance(name)[0],
            unscoped(name),
        ):
            continue
        meant: list[Expected | None] = [o for o in file.expected if o.is_of(file.shown, name)]
        for one in meant or [None]:
            launch = {"define": [*file.define], **(one.options if one else {}), "kernel": name}
            try:
                _check_launch(file, launch, one, found)
            except Cancelled:
                raise
            except TilescopeError as error:
                _refuse(file, name, error, found)


def _check_launch(
    file: _File, launch: Mapping[str, Any], expected: Expected | None, found: _Checked
) -> None:
    from core.recording.record_launch import CutShort

    own = file_launch(file.path, {}, launch, file.seed)
    what = f"{file.shown}: {own.workload.kernel}"
    traces: list[Trace] = []
    with progress_bar(f"checking {what}") as progress:
        for number in range(file.orders):
            try:
                traces.append(_run(own, number, file.seed, progress))
            except CutShort as error:
                traces.append(error.so_far)
                _refuse(file, own.workload.kernel, error, found)
                break
    first = traces[0]
    tried = own.workload.launch
    found.tell(Text.assemble((what, "bold"), f": grid {tried.grid}, block {tried.block}"))
    for line in verdict(first, own):
        found.tell(Text("  ").append_text(line))
    seen = {(f.kind, f.line, f.array) for f in first.findings}
    found.results += [Result(f.kind, f.message, file.here, f.line) for f in faults(first, own)]
    for trace in traces[1:]:
        for f in faults(trace, own):
            if (f.kind, f.line, f.array) not in seen:
                seen.add((f.kind, f.line, f.array))
                message = f"{f.message} (In another order of the warps.)"
                found.results.append(Result(f.kind, message, file.here, f.line))
                kind = f"  {f.kind.replace('_', ' ')}: "
                found.tell(Text.assemble((kind, "bold red"), message))
    counters = {name: int(c.value) for name, c in first.counters.totals.items()}
    if first.complete:
        found.counted.append(Counted(file.here, _as_options(own), counters))
    for sentence in expected.exceeded(counters) if expected is not None else ():
        message = f"{own.workload.kernel}: {sentence}"
        found.results.append(Result("exceeds_expectation", message, file.here, _line_of(own)))
        found.tell(Text.assemble(("  too much: ", "bold red"), sentence))


def _check_remotely(
    files: Sequence[_File], address: str, jobs: int | None, found: _Checked
) -> None:
    """Has workers check the files; what they say is printed in the order of the files."""
    from core.distributed.cluster import opened

    with (
        opened(address, "EMULATOR", jobs=jobs or usual_jobs(len(files)), tell=tell) as cluster,
        progress_bar(f"checking {len(files)} files") as progress,
    ):
        every = [sent(file) for file in files]
        futures = [None if one is None else cluster.submit(_check_sent, one) for one in every]
        for done, (file, future) in enumerate(zip(files, futures, strict=True), 1):
            if future is None:
                _check_file(file, found)
                continue
            try:
                part, said = future.result()
            except Cancelled:
                raise
            except TilescopeError as error:  # of the cluster
                _refuse(file, "", error, found)
                continue
            for one in said:
                found.tell(one)
            for field_name in ("results", "refused", "counted"):
                getattr(found, field_name).extend(part[field_name])
            progress(done / len(files))


def sent(file: _File) -> _Sent | None:
    """A file with all that a worker needs of this machine's disk; None where it cannot be read."""
    try:
        text = read_source(file.path)
        whole = read_text(file.path, MOST_NOTEBOOK) if file.path.suffix in ENDINGS else text
        headers = local_files(text, str(file.path)).values()
    except TilescopeError:
        return None
    texts = {str(path.absolute()): its for path, its in headers}
    repository = repository_of(file.path)
    return _Sent(file, {**texts, str(file.path): whole}, str(repository or ""))


def _check_sent(one: _Sent) -> tuple[dict[str, list[Any]], list[Text | str]]:
    """Checks a file where it was sent to; what came of it, and what is to be printed."""
    said: list[Text | str] = []
    found = _Checked(said.append)
    with tempfile.TemporaryDirectory(prefix="tilescope-") as folder:
        for path, text in one.texts.items():
            place = _below(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8", newline="")
        if one.repository:  # headers are looked for up to its root
            (_below(folder, one.repository) / ".git").mkdir(parents=True, exist_ok=True)
        _check_file(replace(one.file, path=_below(folder, str(one.file.path))), found)
    return {name: getattr(found, name) for name in ("results", "refused", "counted")}, said


def _below(folder: str, path: str) -> Path:
    """Where an absolute path of another machine lies in a folder here."""
    return Path(folder, *Path(path).parts[1:])


def _run(own: OwnLaunch, number: int, seed: int, progress: Any) -> Trace:
    """The launch in one of the orders: lock step, one warp at a time, and random ones."""
    from core.emulator.scheduling import ORDERS
    from core.recording.record_launch import record

    order = ORDERS[min(number, len(ORDERS) - 1)]
    return record(
        own.workload,
        blocks=(0,),
        order=order,
        seed=seed + number,
        progress=progress,
        seconds=_SECONDS,
    )


def _here(file: Path) -> Path:
    """A path from the folder that this runs in, where it lies below it."""
    whole = file.resolve()
    folder = Path.cwd().resolve()
    return whole.relative_to(folder) if whole.is_relative_to(folder) else file


def _as_options(own: OwnLaunch) -> dict[str, Any]:
    """The launch as --expect has it."""
    whole = own.launch
    assert whole is not None  # of a file there is always one
    defines = [f"{name}={value}" for name, value in split_defines(whole.defines).items()]
    arguments = [f"{name}={text}" for name, text in whole.arguments]
    return {
        "kernel": whole.kernel,
        "grid": whole.grid,
        "block": whole.block,
        "shared": int(whole.shared),
        **({"define": defines} if defines else {}),
        "arg": arguments,
    }


def _line_of(own: OwnLaunch) -> int:
    """The line on which the kernel is named, 1-based."""
    name = unscoped(own.workload.kernel)
    lines = own.workload.source.split("\n")
    return next((n for n, line in enumerate(lines, 1) if f"{name}(" in line), 1)


def _refuse(file: _File, kernel: str, error: TilescopeError, found: _Checked) -> None:
    said = str(error).replace(f"{file.path} ", "it ", 1)  # the file is named before
    message = f"{kernel}: {said}" if kernel else said
    found.refused.append(Result("refused", message, file.here))
    found.tell(f"{file.shown}: {message}")


def _missed(expected: Sequence[Expected], path: Path | None, found: _Checked) -> None:
    """Says of launches that are expected, and that no file has."""
    for one in expected:
        there = any(one.is_of(launch.file, launch.options["kernel"]) for launch in found.counted)
        refused = any(one.file in result.file.as_posix() for result in found.refused)
        if not there and not refused:
            message = f"{one.kernel} of {one.file} is expected, and no file has it."
            file = path or Path()
            found.refused.append(Result("refused", message, _here(file)))
            found.tell(f"{file}: {message}")


def _show_sum(found: _Checked) -> None:
    count = len(found.counted)
    parts = [f"{count} {in_number('launch', count, 'launches')} checked"]
    parts.append(f"{len(found.results)} {in_number('finding', len(found.results))}")
    if found.refused:
        parts.append(f"{len(found.refused)} refused")
    standard_console().print(", ".join(parts) + ".", highlight=False)


# -- counters that are expected -------------------------------------------------------------------


@dataclass(frozen=True)
class Expected:
    """What is expected of one launch; `options` set it, as on the command line."""

    file: str
    kernel: str
    options: Mapping[str, Any]
    most: Mapping[str, int]

    def is_of(self, file: PurePath, kernel: str) -> bool:
        """Whether a kernel of a file is meant."""
        wanted = PurePath(self.file).parts
        same = self.kernel == kernel or self.kernel == kernel.partition("<")[0]
        return same and file.parts[len(file.parts) - len(wanted) :] == wanted

    def exceeded(self, counters: Mapping[str, int]) -> Iterable[str]:
        """A sentence for each counter that is above what is expected."""
        for name, most in self.most.items():
            if counters[name] > most:
                yield f"{name} is {counters[name]:,}, and at most {most:,} is expected."


def read_expected(path: Path) -> tuple[Expected, ...]:
    """The launches in a file; TilescopeError, saying what is wrong, where it is not one."""
    try:
        data = tomllib.loads(read_plain(path, _MOST_BYTES).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TilescopeError(f"{path} is not TOML: {error}.") from None
    launches = data.get("launch")
    if set(data) != {"launch"} or not isinstance(launches, list):
        raise TilescopeError(f"{path} has no launches: write [[launch]], file and kernel.")
    return tuple(_expected(path, number, row) for number, row in enumerate(launches, 1))


def _expected(path: Path, number: int, row: Any) -> Expected:
    where = f"[[launch]] {number} of {path}"
    if not isinstance(row, dict) or not all(isinstance(row.get(n), str) for n in _TEXTS[:2]):
        raise TilescopeError(f'{where} needs a file and a kernel: file = "a.cu", kernel = "k".')
    options: dict[str, Any] = {}
    most: dict[str, int] = {}
    for name, value in row.items():
        if name in COUNTERS and type(value) is int and value >= 0:
            most[name] = value
        elif name in COUNTERS:
            raise TilescopeError(f"{where}: {name} is a whole number from 0 on, not {value!r}.")
        elif _is_option(name, value):
            options[name] = value
        else:
            raise TilescopeError(
                f"{where}: {name} is neither a counter nor an option with such a value; there are "
                f"{', '.join((*_TEXTS, 'shared', *_LISTS))} and the counters of docs/counting.md."
            )
    return Expected(options.pop("file"), options["kernel"], options, most)


def _is_option(name: str, value: Any) -> bool:
    if name in _LISTS:
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    return (name in _TEXTS and isinstance(value, str)) or (name == "shared" and type(value) is int)


@dataclass(frozen=True)
class Counted:
    """A launch's file, the options that set it, and its counters."""

    file: Path
    options: Mapping[str, Any]
    counters: Mapping[str, int]


def _write_expected(path: Path, launches: Iterable[Counted]) -> None:
    """Write launches with their counters, so that `read_expected` reads them.

    Counters of what a launch does not do are left out, other than conflicts. Raises TilescopeError
    where the file cannot be written.
    """
    parts = ["# tilescope check --expect: at most these counts.\n"]
    for one in launches:
        parts.append("\n[[launch]]\n")
        parts.append(f"file = {json.dumps(one.file.as_posix())}\n")
        parts += [f"{name} = {json.dumps(value)}\n" for name, value in one.options.items()]
        parts += [
            f"{name} = {value}\n"
            for name, value in one.counters.items()
            if value or name.endswith("_conflicts")
        ]
    replace_file(path, "".join(parts).encode())
