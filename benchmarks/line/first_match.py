"""Seconds from the command `make demo` to what it shows, for somebody who has nothing yet and for somebody set up."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.harness.declaration import Benchmark, Options, Table
from deploy.host.machine import ROOT
from deploy.local.layout import Layout

#: By which line of what it prints one knows that a moment has come, in their order.
MOMENTS = {
    "packages": re.compile(r"^Java \d+ at "),
    "jars": re.compile(r"^Jars in "),
    "processes": re.compile(r"^Open http"),
    "first match": re.compile(r"^\S+: \d+ matches, all of three detectors"),
    "first bang": re.compile(r"^\d\d:\d\d:\d\d UTC .* P = "),
}


def why_not() -> str | None:
    absent = [program for program in ("git", "make") if shutil.which(program) is None]
    return f"there is no {' and no '.join(absent)} here" if absent else None


def surroundings(folder: Path) -> dict[str, str]:
    """Return the environment of a demo beside others on this machine: ports and caches of its own."""
    caches = {f"{program}_CACHE_DIR": str(folder / program.lower()) for program in ("UV", "PIP")}
    return {
        **os.environ,
        **Layout.isolated(folder / "running").overrides,
        **caches,
        "JAVA_TOOL_OPTIONS": f"-Duser.home={folder}",  # there Ivy keeps what it has fetched
        "PYTHONUNBUFFERED": "1",
        "DETACH": "1",
    }


def moments(checkout: Path, environ: Mapping[str, str]) -> dict[str, float]:
    """Run `make demo` until it ends; return after how many seconds each moment came."""
    began_s, came = time.monotonic(), dict[str, float]()
    command = ["make", "demo"]
    with subprocess.Popen(
        command, cwd=checkout, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as demo:
        said = []
        for line in demo.stdout or []:
            said.append(line)
            now_s = time.monotonic() - began_s
            came |= {name: now_s for name, sign in MOMENTS.items() if name not in came and sign.search(line)}
    if demo.returncode or came.keys() != MOMENTS.keys():
        raise SystemExit(f"make demo ended with {demo.returncode}, and showed {list(came)}:\n{''.join(said[-20:])}")
    return came


def rows(folder: Path) -> Iterator[list[object]]:
    """Yield the moments with an empty cache, then once more in the same checkout."""
    checkout, environ = folder / "checkout", surroundings(folder)
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(checkout)], check=True)
    for name in ("empty cache", "set up"):
        try:
            yield [name, *(f"{each:.0f}" for each in moments(checkout, environ).values())]
        finally:
            subprocess.run(["make", "clean"], cwd=checkout, env=environ, check=False, capture_output=True)
            shutil.rmtree(folder / "running", ignore_errors=True)


def tables(_options: Options) -> Iterator[Table]:
    folder = Path(tempfile.mkdtemp(prefix="coincide-first-match-"))
    try:
        yield Table(["seconds from `make demo`", *MOMENTS], rows(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


BENCHMARKS = [
    Benchmark(
        "first_match",
        "seconds from `make demo` to the demo's first match, with an empty cache and when set up",
        [tables],
        why_not=why_not,
        is_service=True,
    )
]
