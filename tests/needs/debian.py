"""Debian's packages: which are on offer, and how they are installed without a service of theirs being started."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from deploy.host.machine import RUNTIME
from deploy.setup.count import Count, last_words, run_and_tell
from tests.needs import Need

LOG = RUNTIME / "logs" / "debian.log"
POLICY = Path("/usr/sbin/policy-rc.d")
SYSTEMD_RUNS = Path("/run/systemd/system")
#: Nobody answers questions, a dead mirror is given up, and another apt is waited for.
OPTIONS = ("-q", "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=60", "-o", "DPkg::Lock::Timeout=120")
INSTALL = ("install", "--yes", "--no-install-recommends")

_FETCHED, _UNPACKED = re.compile(r"^Get:\d+ "), re.compile("^Unpacking ")
_CANDIDATE = re.compile(r"^(\S+):\n  Installed: .*\n  Candidate: (\S+)", re.MULTILINE)


def may_install() -> bool:
    """Whether this is Debian, or one of its children, and we are root."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def is_updated() -> bool:
    """Fetch the lists of packages, and return whether that went well."""
    return _apt("update")


def offered(needs: Sequence[Need]) -> list[Need]:
    """Return those whose packages Debian has here, in a version that serves."""
    names = [name for need in needs for name in need.packages]
    asked = ["apt-cache", "policy", *names]
    environ = {**os.environ, "LC_ALL": "C"}
    listed = subprocess.run(asked, check=False, capture_output=True, text=True, env=environ).stdout
    versions = candidates(listed)
    return [each for each in needs if set(each.packages) <= versions.keys() and _serves(each, versions[each.name])]


def candidates(listed: str) -> dict[str, str]:
    """Return the version of each package that could be installed, as `apt-cache policy` lists them."""
    return {name: version for name, version in _CANDIDATE.findall(listed) if version != "(none)"}


def _serves(need: Need, version: str) -> bool:
    compared = ["dpkg", "--compare-versions", version, "ge", need.since or "0"]
    return subprocess.run(compared, check=False).returncode == 0


def install(needs: Sequence[Need]) -> bool:
    """Install their packages, and return whether that went well; none of their services runs then, or after a boot."""
    with no_service_starts():
        is_done = _apt(*INSTALL, *(name for need in needs for name in need.packages))
    units = [unit for need in needs for unit in need.services]
    if units and SYSTEMD_RUNS.exists():
        subprocess.run(["systemctl", "--quiet", "disable", *units], check=False)
    return is_done


@contextmanager
def no_service_starts(policy: Path = POLICY) -> Iterator[None]:
    """Forbid packages to start services until the end of the block, in Debian's own way."""
    if policy.exists():
        yield  # the machine has a rule of its own
        return
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    try:
        yield
    finally:
        policy.unlink()


def _apt(*words: str) -> bool:
    count = Count("packages", done=_UNPACKED, more=_FETCHED if words[0] == "install" else None)
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    if run_and_tell(["apt-get", *OPTIONS, *words], count, LOG, environ) == 0:
        return True
    print(f"apt-get {words[0]} failed ({LOG} has all that it said):\n{last_words(LOG)}")
    return False
