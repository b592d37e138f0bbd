"""Install locks into this Python's environment: hashes checked, nothing resolved anew.

uv fetches many packages at once. Where the machine has none it is fetched first, from a lock of its own. pip does what
uv cannot, so that an index which only pip knows how to reach still serves.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from deploy.host.machine import ROOT, RUNTIME, LocalError, exit_with
from deploy.jvm.java import find_machine_java
from deploy.setup.count import Count, last_words, run_and_tell

UV_LOCK, JAVA_LOCK = "requirements-uv.lock", "requirements-java.lock"
#: What the command is made of, and nothing else of the checkout.
LINKED = ("coincide", "services")
LOGS = RUNTIME / "logs"
#: What pip is told about where packages are, and the variable that tells it to uv.
TOLD = {"index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX", "cert": "SSL_CERT_FILE"}

_PIP_SETTING = re.compile(r"^(:env:|global|install)\.([\w-]+)='(.*)'$", re.MULTILINE)
_PIN = re.compile(r"^[\w.-]+==", re.MULTILINE)


def install(locks: Sequence[str]) -> str:
    """Install them all, and return which program did it."""
    uv = find_uv() or _fetched_uv()
    if uv and _is_installed_by_uv(uv, locks):
        return "uv"
    if _is_installed_by_pip(locks):
        return "pip"
    raise LocalError(f"{' and '.join(locks)} could not be installed: is the Python package index reachable?")


def find_uv() -> str | None:
    """Return a uv that runs: the machine's, or that of this environment."""
    beside = Path(sys.executable).with_name("uv")
    return next((each for each in (shutil.which("uv"), str(beside)) if each and _runs(each)), None)


def _runs(program: str) -> bool:
    """Whether it can be started; a name on PATH may be a launcher with nothing behind it."""
    try:
        return subprocess.run([program, "--version"], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def _fetched_uv() -> str | None:
    command = [*_pip_install([UV_LOCK]), "--quiet"]
    print("Fetching uv, which fetches packages beside each other", flush=True)
    return find_uv() if subprocess.run(command, cwd=ROOT, check=False).returncode == 0 else None


def _is_installed_by_uv(uv: str, locks: Sequence[str]) -> bool:
    command = [uv, "pip", "install", "--color", "never", "--python", sys.executable, "--no-deps", "--require-hashes"]
    started, came = re.compile(r"^\s*(Downloading|Building) \S+"), re.compile(r"^\s*(Downloaded|Built) \S+")
    count = Count("large packages", came, more=started)  # it says nothing of small ones
    environ = {**uv_settings(_pip_settings()), **os.environ}
    return _is_installed("uv", [*command, *_named(locks)], count, environ)


def _is_installed_by_pip(locks: Sequence[str]) -> bool:
    pins = sum(len(_PIN.findall((ROOT / lock).read_text(encoding="utf-8"))) for lock in locks)
    came = re.compile(r"^(Collecting|Requirement already satisfied:) ")
    count = Count("packages", came, total=pins, less=re.compile(r"^Ignoring .*: markers"))
    return _is_installed("pip", _pip_install(locks), count, os.environ)


def _is_installed(program: str, command: Sequence[str], count: Count, environ: Mapping[str, str]) -> bool:
    log = LOGS / f"packages-{program}.log"
    absolute = [str(ROOT / word) if word.endswith(".lock") else word for word in command]
    if run_and_tell(absolute, count, log, environ) == 0:
        return True
    print(f"{program} could not install them ({log} has all that it said):\n{last_words(log)}", flush=True)
    return False


def _pip_install(locks: Sequence[str]) -> list[str]:
    options = ["--disable-pip-version-check", "--no-compile", "--require-hashes", "--no-deps", "--progress-bar", "off"]
    return [sys.executable, "-m", "pip", "install", *options, *_named(locks)]


def _named(locks: Sequence[str]) -> list[str]:
    return [word for lock in locks for word in ("-r", lock)]


def _pip_settings() -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout


def uv_settings(listed: str) -> dict[str, str]:
    """Return the variables that tell uv what pip is told, as `pip config list` lists it; pip's variables come last."""
    found = sorted(_PIP_SETTING.findall(listed), key=lambda each: str(each[0]) == ":env:")
    return {TOLD[name]: value.replace("\\n", " ").strip() for _, name, value in found if name in TOLD}


def link_packages(site_packages: Path, scripts: Path) -> None:
    """Let this environment have the command `coincide`, and find what it runs in the checkout, from any folder.

    What somebody has installed stays.
    """
    for name in LINKED:
        link = site_packages / name
        if link.is_symlink():
            link.unlink()  # it may be of a checkout that was moved
        if not link.exists():
            link.symlink_to(ROOT / name, target_is_directory=True)
    if (site_packages / LINKED[0]).is_symlink():
        script = scripts / "coincide"
        script.write_text(f"#!{sys.executable}\nimport sys\nfrom coincide.command.main import main\nsys.exit(main())\n")
        script.chmod(0o755)


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m deploy.setup.packages")
    parser.add_argument("locks", nargs="+", metavar="LOCK", help="such as requirements-run.lock")
    parser.add_argument("--java", action="store_true", help="where there is no Java, the lock of one, too")
    given = parser.parse_args()
    locks = list(given.locks)
    if given.java and find_machine_java() is None:
        print("There is no Java 17 or 21 on this machine, so one is fetched", flush=True)
        locks.append(JAVA_LOCK)
    print(f"Installing {' and '.join(locks)}", flush=True)
    began_s = time.monotonic()
    program = install(locks)
    if sys.prefix != sys.base_prefix:
        link_packages(Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("scripts")))
    print(f"Installed in {time.monotonic() - began_s:.0f} s by {program}", flush=True)


if __name__ == "__main__":
    exit_with(_main)
