"""What takes the place of work whose end nobody waits for; another process can import it."""

import time


def for_ever(*_: object) -> None:
    """Longer than any test."""
    time.sleep(3600)
