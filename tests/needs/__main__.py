"""``python -m tests.needs``: install what the tests need beyond Python, where we may; else say what is left out."""

import subprocess
import sys
import time
from collections.abc import Sequence

from tests.needs import NEEDS, Need, browser_program, is_required
from tests.needs.debian import INSTALL, install, is_updated, may_install, offered

PLAYWRIGHT = (sys.executable, "-m", "playwright", "install", "chromium-headless-shell")
WITHIN_S = 250.0


def missing() -> list[Need]:
    """Return what is not here."""
    return [need for need in NEEDS if need.find() is None]


def install_some(needs: Sequence[Need]) -> None:
    """Install what can be: Debian's packages as root, a browser as anybody."""
    print(f"The tests need {named(needs)}: being installed", flush=True)
    if may_install() and is_updated() and (packaged := offered(needs)):
        install(packaged)
    if browser_program() is None:
        _fetch_browser()


def _fetch_browser() -> None:
    try:
        subprocess.run(PLAYWRIGHT, check=False, capture_output=True, timeout=WITHIN_S)
    except (OSError, subprocess.TimeoutExpired):
        return  # what is still missing is told in the end


def named(needs: Sequence[Need]) -> str:
    """Return their names in a row."""
    return ", ".join(need.name for need in needs)


def left_out(needs: Sequence[Need]) -> str:
    """Return the sentence that says what is left out, and the command that would bring it."""
    reasons = "; ".join(f"{need.why} ({need.name})" for need in needs)
    packages = " ".join(name for need in needs if not need.optional for name in need.packages)
    command = f". On Debian: sudo apt-get {' '.join(INSTALL)} {packages}" if packages else ""
    return f"Left out of the tests, for lack of a program: {reasons}{command}"


def main() -> int:
    """Return 1 where CI would leave something out."""
    before, began_s = missing(), time.monotonic()
    if before:
        install_some(before)
    _forget()
    after = missing()
    if came := [need for need in before if need not in after]:
        print(f"Installed for the tests in {time.monotonic() - began_s:.0f} s: {named(came)}; no service was started")
    print(left_out(after) if after else "All that the tests need beyond Python is here.")
    return int(is_required() and not all(need.optional for need in after))


def _forget() -> None:
    for need in NEEDS:
        if clear := getattr(need.find, "cache_clear", None):
            clear()


if __name__ == "__main__":
    sys.exit(main())
