"""What a stranger waits for and pays who tries `coincide serve`: the install, its size, and the demo's first match.

Each extra is installed by pip from a clone of what is committed, into a fresh environment and with an empty cache. So
the seconds of the install are those of the network and of the disk, too.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.harness.declaration import Benchmark, Options, Table
from deploy.host.machine import ROOT

EXTRAS = ("serve", "serve-headless")
STARTS = 3
#: By which line of what it prints one knows that a moment has come, in their order.
MOMENTS = {"address": re.compile(r"^Coincide is at http"), "first match": re.compile(r"^\S+ - \S+ .*0\.\d{4} ")}


def installed(folder: Path, extra: str) -> tuple[Path, list[object]]:
    """Install an extra; return its environment, the seconds, the megabytes and the number of packages."""
    clone, environment = folder / "clone", folder / extra
    if not clone.exists():
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    before, began_s = packages(environment), time.monotonic()
    pip = [str(environment / "bin/python"), "-m", "pip", "install", "--quiet", "--no-cache-dir"]
    subprocess.run([*pip, f"{clone}[{extra}]"], check=True)
    took_s = time.monotonic() - began_s
    return environment, [f"{took_s:.0f}", f"{megabytes(environment):.0f}", len(packages(environment) - before)]


def packages(environment: Path) -> set[str]:
    return {each.name for each in environment.glob("lib/python*/site-packages/*.dist-info")}


def megabytes(folder: Path) -> float:
    """Return what the files of a folder take of the disk, pip and all that Python has compiled too."""
    return sum(each.lstat().st_blocks * 512 for each in folder.rglob("*")) / 2**20


def moments(environment: Path, folder: Path) -> Mapping[str, float]:
    """Run the demo in an empty folder; return after how many seconds each moment came."""
    came, said, began_s = dict[str, float](), list[str](), time.monotonic()
    command = [str(environment / "bin/coincide"), "serve", "--demo", "--port", "0"]
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=folder, env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as demo:
        for line in demo.stdout or []:
            said.append(line)
            now_s = time.monotonic() - began_s
            came |= {name: now_s for name, sign in MOMENTS.items() if name not in came and sign.search(line)}
            if len(came) == len(MOMENTS):
                demo.send_signal(signal.SIGINT)
                break
    if len(came) < len(MOMENTS):
        raise SystemExit(f"coincide serve --demo ended with {demo.returncode}:\n{''.join(said)}")
    return came


def rows(folder: Path, options: Options) -> Iterator[list[object]]:
    """Yield a row for each extra: its install, and the median of some starts, each in a folder of its own."""
    for extra in EXTRAS:
        environment, install = installed(folder, extra)
        empty = [Path(tempfile.mkdtemp(dir=folder)) for _ in range(options.rounds_of(STARTS))]
        starts = [moments(environment, each) for each in empty]
        medians = (sorted(each[name] for each in starts)[len(starts) // 2] for name in MOMENTS)
        yield [extra, *install, *(f"{each:.1f}" for each in medians)]


def tables(options: Options) -> Iterator[Table]:
    folder = Path(tempfile.mkdtemp(prefix="coincide-serve-"))
    headings = ["extra", "install, s", "MB of disk", "packages", *(f"{name} after, s" for name in MOMENTS)]
    try:
        yield Table(headings, rows(folder, options))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


BENCHMARKS = [
    Benchmark(
        "serve_first_match",
        "what the install of `coincide serve` takes, and seconds from its command to the demo's first match",
        [tables],
        why_not=lambda: None if shutil.which("git") else "there is no git here",
        is_service=True,
    )
]
