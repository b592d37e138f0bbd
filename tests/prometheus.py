"""Prometheus and its promtool: Debian's package where it is installed, or can be; else the test is skipped."""

import shutil
from functools import cache

from tests.debian import found_or_installed


@cache
def find_prometheus() -> str:
    """Return the program, see `found_or_installed`."""
    return found_or_installed(lambda: shutil.which("prometheus"), "prometheus", needed=False)


@cache
def find_promtool() -> str:
    """Return the program, which the same package has."""
    return found_or_installed(lambda: shutil.which("promtool"), "prometheus", needed=False)
