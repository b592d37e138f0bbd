"""What the tests need beyond Python's packages, how each is recognised, and why it is needed: all in one list.

`make setup-check` (`python -m tests.needs`) installs what is missing, where it may. A test only looks, with `found`.
"""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ALERTMANAGERS = ("prometheus-alertmanager", "alertmanager")
FONTS = ("/usr/share/fonts", "/usr/local/share/fonts", "/System/Library/Fonts")
GO = "/usr/local/go/bin/go"
BROWSER_CACHES = ("~/.cache/ms-playwright", "~/Library/Caches/ms-playwright")


@dataclass(frozen=True)
class Need:
    """Something that tests run, or that what they run wants."""

    packages: tuple[str, ...]  # Debian's; the first one is its name
    find: Callable[[], str | None]  # where it is; None: it is not here
    why: str  # what is tested with it
    since: str | None = None  # the oldest version of Debian's package that serves
    services: tuple[str, ...] = ()  # what the package would start at the next boot
    optional: bool = False  # not every Debian has it, so CI goes on without it

    @property
    def name(self) -> str:
        """How tests ask for it."""
        return self.packages[0]


def found(name: str) -> str:
    """Return where it is. Where it is not the test is skipped, and in CI it fails."""
    need = next(each for each in NEEDS if each.name == name)
    if (place := need.find()) is not None:
        return place
    said = f"this test needs what Debian's package {name} has: make setup-check"
    if is_required() and not need.optional:
        pytest.fail(said)
    pytest.skip(said)


def is_required() -> bool:
    """Whether nothing may be left out: so it is in CI."""
    return bool(os.environ.get("CI")) or os.environ.get("COINCIDE_BROWSER") == "needed"


def browser_program() -> str | None:
    """Return the machine's own browser, or one that Playwright has fetched."""
    fetched = (path for place in BROWSER_CACHES for path in Path(place).expanduser().rglob("*headless[-_]shell"))
    return program(*BROWSERS) or next((str(path) for path in fetched if _runs(str(path), "--version")), None)


def program(*names: str) -> str | None:
    """Return the first of the programs that is on PATH."""
    return next(filter(None, map(shutil.which, names)), None)


def _font() -> str | None:
    """Return a font; without any a browser draws nothing."""
    return next((str(font) for place in FONTS for font in Path(place).rglob("*.[to]t[fc]")), None)


@cache
def _driver() -> str | None:
    """Return Playwright's own node, if it starts."""
    package = importlib.util.find_spec("playwright")
    node = Path(package.origin).parent / "driver" / "node" if package and package.origin else None
    return str(node) if node and _runs(str(node), "--version") else None


def _postgresql() -> str | None:
    """Return the folder of the newest one's programs; from 15 on it knows ICU."""
    installed = {int(each.parent.name): each for each in Path("/usr/lib/postgresql").glob("[0-9]*/bin")}
    return str(installed[max(installed)]) if installed and max(installed) >= 15 else None


def _prometheus() -> str | None:
    return program("prometheus") if program("promtool") else None


@cache
def _compiler() -> str | None:
    """Return a C compiler that has the C library's headers."""
    compiler = program("cc")
    return compiler if compiler and _runs(compiler, "-E", "-include", "stdio.h", "-x", "c", os.devnull) else None


def _runs(*command: str) -> bool:
    try:
        return subprocess.run(command, check=False, capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


NEEDS = (
    Need(("chromium",), browser_program, "the console and the documentation in a browser"),
    Need(("fonts-dejavu-core",), _font, "text in the browser"),
    Need(("libatomic1",), _driver, "Playwright's own node, which drives the browser"),
    Need(("postgresql",), _postgresql, "alerting on PostgreSQL", services=("postgresql.service",)),
    Need(("prometheus",), _prometheus, "rules and dashboard", services=("prometheus.service",)),
    Need(
        ("prometheus-alertmanager",),
        lambda: program(*ALERTMANAGERS),
        "alerts told to Alertmanager",
        services=("prometheus-alertmanager.service",),
    ),
    Need(("nftables",), lambda: program("nft"), "faults of the network"),
    Need(("gcc", "libc6-dev"), _compiler, "faults of the clock"),
    Need(("jq",), lambda: program("jq"), "examples of the pages"),
    Need(("openssl",), lambda: program("openssl"), "certificates"),
    Need(("curl",), lambda: program("curl"), "examples of the pages"),
    Need(("systemd",), lambda: program("systemd-analyze"), "the units of systemd"),
    Need(
        ("golang-go",),
        lambda: program("go", GO),
        "docker-compose.yml as compose loads it",
        since="2:1.24",
        optional=True,
    ),
    Need(
        ("kubernetes-client",),
        lambda: program("kubectl", "kustomize"),
        "deploy/kubernetes as kustomize renders it",
        since="1.21",
        optional=True,
    ),
)
