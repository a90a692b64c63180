"""Where the frozen application begins (`make app`): its command, or one of its own processes.

A side process is started as `sys.executable -P -m MODULE …`; frozen, that is this program.
"""

import os
import runpy
import sys


def give_streams() -> None:
    """Windows gives a program without a console none, and whatever prints would fail."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123


if __name__ == "__main__":
    give_streams()
    if sys.argv[1:3] == ["-P", "-m"]:
        module = sys.argv[3]
        sys.argv[:] = [module, *sys.argv[4:]]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        from tilescope.core.cli.app import main

        sys.exit(main())
