"""Wait for something to become true: polled, never slept for, and given up on after a deadline."""

import time
from collections.abc import Callable


def wait_until(is_so: Callable[[], bool], timeout_s: float, every_s: float = 0.1) -> bool:
    """Return True as soon as ``is_so()`` holds, False if it does not within ``timeout_s``."""
    deadline_s = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() >= deadline_s:
            return False
        time.sleep(every_s)
    return True
