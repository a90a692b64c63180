"""Where the frozen application begins (`make app`): its command, or one of its own processes.

A side process is started as `sys.executable -P -m MODULE …`; frozen, that is this program.
"""

import runpy
import sys

if __name__ == "__main__":
    if sys.argv[1:3] == ["-P", "-m"]:
        module = sys.argv[3]
        sys.argv[:] = [module, *sys.argv[4:]]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        from tilescope.core.cli.app import main

        sys.exit(main())
