"""Programs that a test needs and pip cannot give: Debian's package where it is installed, or can be."""

import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")
UPDATED_WITHIN_S, INSTALLED_WITHIN_S = 60, 200  # together less than a test may take
TRIED_AGAIN_AFTER_S = 600


def found_or_installed(find: Callable[[], T | None], package: str, *, needed: bool = True) -> T:
    """Return what `find` finds, after installing `package` where root may; else skip the test.

    In CI it fails instead, if it is `needed`.
    """
    with Path(tempfile.gettempdir(), "coincide-debian.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run beside each other
        if (found := find()) is None and os.geteuid() == 0 and shutil.which("apt-get"):
            _install(package)
            found = find()
    if found is not None:
        return found
    message = f"this test needs what Debian's package {package} has, and it is not here"
    if needed and os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


def _install(package: str) -> None:
    """Try to install it, unless that was tried just now, by whichever process."""
    tried = Path(tempfile.gettempdir(), f"coincide-debian-{package}.tried")
    if tried.exists() and time.time() - tried.stat().st_mtime < TRIED_AGAIN_AFTER_S:
        return
    for command, within_s in (
        (["update"], UPDATED_WITHIN_S),
        (["install", "--yes", "--no-install-recommends", package], INSTALLED_WITHIN_S),
    ):
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(["apt-get", "-qq", *command], check=False, capture_output=True, timeout=within_s)
    tried.touch()
