"""`python -m gui` opens the window."""

import sys


def run() -> int:
    """The window's exit status. While its modules are loaded, Ctrl-C is quiet."""
    try:
        from core.cli.app import quietly_interrupted

        with quietly_interrupted():
            from gui.shell.app import main

            return main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(run())
