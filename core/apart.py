"""Work in a process of its own, which is ended at once when its result is not wanted any more.

For what cannot be stopped from within, and what would keep the window's thread waiting for
Python's lock: NVRTC takes a minute for some sources of a megabyte, in one call.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, ParamSpec, TypeVar

from core.cancelling import is_cancelled
from core.errors import Cancelled, TilescopeError

_P = ParamSpec("_P")
_R = TypeVar("_R")
_ASK_S = 0.02  # how often it is asked whether the result is still wanted
_ORPHAN_S = 0.5  # how often the process looks whether it is still anybody's


def apart(function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """`function(...)` in a new process; raises what it raises.

    The function is one of a module, what it takes and returns can be pickled. Raises Cancelled
    as soon as this thread's job is cancelled (`core.cancelling`), and TilescopeError where the
    process dies.
    """
    root = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH", "")) if p)
    with TemporaryFile() as request, TemporaryFile() as answer:
        pickle.dump((function, args, kwargs), request, protocol=5)
        request.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "core.apart", str(os.getpid())],
            stdin=request,
            stdout=answer,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=os.name == "posix",  # Ctrl-C in a terminal goes to the whole group
        )
        with process:
            try:
                _wait(process)
            finally:
                process.kill()
        answer.seek(0)
        result: _R = _result(answer, process.returncode)
        return result


def _wait(process: subprocess.Popen[bytes]) -> None:
    while not is_cancelled():
        try:
            process.wait(_ASK_S)
        except subprocess.TimeoutExpired:
            continue
        return
    raise Cancelled("Stopped.")


def _result(answer: IO[bytes], code: int) -> Any:
    try:
        is_result, content = pickle.load(answer)
    except (EOFError, pickle.UnpicklingError):
        raise TilescopeError(
            f"The process that read or compiled the source ended by itself (status {code}): the "
            "source may be too large for this machine's memory. Take a smaller one."
        ) from None
    if is_result:
        return content
    kind, args, fields = content
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    raise error


def _packed(error: Exception) -> bytes:
    """The exception with all it holds, or its text alone where that cannot be pickled."""
    try:
        return pickle.dumps((False, (type(error), error.args, error.__dict__)), protocol=5)
    except Exception:  # noqa: BLE001 - whatever fails: the text can be sent
        kind = TilescopeError if isinstance(error, TilescopeError) else RuntimeError
        return pickle.dumps((False, (kind, (str(error),), {})), protocol=5)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_ORPHAN_S)
    os._exit(3)


def main() -> None:
    """Runs the one request on standard input; its answer goes to standard output."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing else may come between
    threading.Thread(target=_end_with, args=(int(sys.argv[1]),), daemon=True).start()
    function, args, kwargs = pickle.load(sys.stdin.buffer)
    try:
        answer = pickle.dumps((True, function(*args, **kwargs)), protocol=5)
    except Exception as error:  # noqa: BLE001 - every failure goes back to who asked
        answer = _packed(error)
    out.write(answer)
    out.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
