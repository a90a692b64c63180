"""`python -m tilescope`: the command, and the window."""

import sys

from core.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
