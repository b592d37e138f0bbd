"""A real browser for tests: the machine's own, else Playwright's download, else the distribution's package."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGES = ("chromium", "fonts-dejavu-core")  # without any font it draws nothing
PLAYWRIGHT = (sys.executable, "-m", "playwright", "install", "chromium-headless-shell")
APT = ("apt-get", "-qq")
WITHIN_S = 250.0


def find_browser() -> str:
    """Return a browser that is here, or could be installed. Where there is none the test is skipped, in CI it fails."""
    if found := _found():
        return found
    said = f"there is no browser here (none of {', '.join(NAMES)}), and it can neither be downloaded nor installed"
    if os.environ.get("CI") or os.environ.get("COINCIDE_BROWSER") == "needed":
        pytest.fail(said)
    pytest.skip(said)


@cache
def _found() -> str | None:
    with Path(tempfile.gettempdir(), "coincide-browser.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run beside each other
        return browser_of_the_machine() or _of_playwright() or _of_the_distribution()


def browser_of_the_machine() -> str | None:
    """Return a browser that is installed; None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def _of_playwright() -> str | None:
    """Return what Playwright has downloaded, now or earlier, if it starts: the libraries it needs may not be here."""
    told = _run(*PLAYWRIGHT, "--dry-run")
    place = re.search(r"Install location: +(.*)", told or "")
    if place is None or _run(*PLAYWRIGHT) is None:
        return None
    programs = sorted(Path(place[1]).rglob("*headless[-_]shell"))
    return next((str(each) for each in programs if _run(str(each), "--version") is not None), None)


def _of_the_distribution() -> str | None:
    if os.geteuid() == 0 and shutil.which(APT[0]):
        _run(*APT, "update")
        _run(*APT, "install", "--yes", "--no-install-recommends", *PACKAGES)
    return browser_of_the_machine()


def _run(*command: str) -> str | None:
    """Return what the command said; None where it failed, or took too long."""
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=WITHIN_S)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout
