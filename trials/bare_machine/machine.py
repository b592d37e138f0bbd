"""A minimal Debian in a folder, made by debootstrap, and how commands run in it.

Each run has mounts and processes of its own, so that the kernel takes all of them away when it ends, however it ends.
"""

import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from deploy.host.machine import ROOT, LocalError

#: What the README asks for, and what the checkout is cloned and read with; no Java, no compiler.
PACKAGES = ("python3", "python3-venv", "make", "git", "curl", "ca-certificates")
PROGRAMS = ("debootstrap", "unshare", "chroot", "git")
CHECKOUT = "/root/coincide"
#: In this order: what lies in a folder comes after it.
MOUNTS = (
    ("proc", "proc", "/proc"),
    ("sysfs", "sysfs", "/sys"),
    ("devpts", "devpts", "/dev/pts"),
    ("tmpfs", "tmpfs", "/dev/shm"),
)
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@contextmanager
def bare_folder(root: Path, *, kept: bool) -> Iterator[Path]:
    """Yield ``root``, which must not be there yet; it goes away afterwards unless it is ``kept``."""
    if absent := [program for program in PROGRAMS if shutil.which(program) is None]:
        raise LocalError(f"a bare machine is made with {', '.join(absent)}: apt-get install {' '.join(absent)}")
    if root.exists():
        raise LocalError(f"{root} is there already: remove it, or name another folder with --folder")
    root.mkdir(parents=True)
    try:
        yield root
    finally:
        if not kept:
            shutil.rmtree(root)


def debootstrap(root: Path, suite: str, mirror: str) -> list[str]:
    """Return the command that makes the minimal Debian."""
    return ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", suite, str(root), mirror]


def clone(root: Path) -> list[str]:
    """Return the command that brings what is committed here, and nothing else, into the machine."""
    return ["git", "clone", "--quiet", "--no-hardlinks", f"file://{ROOT}", f"{root}{CHECKOUT}"]


def inside(root: Path, script: str, environ: Mapping[str, str]) -> list[str]:
    """Return the command that runs a script of the shell in the machine, as root, with no variable but these."""
    told = {"HOME": "/root", "PATH": PATH, "LANG": "C.UTF-8", "TERM": "dumb", **environ}
    variables = [f"{name}={value}" for name, value in told.items()]
    entered = ["chroot", str(root), "/usr/bin/env", "-i", *variables, "/bin/sh", "-ec", script]
    mounted = [f"mount -t {kind} {source} {shlex.quote(f'{root}{place}')}" for kind, source, place in MOUNTS]
    made = f"mkdir -p {shlex.quote(f'{root}/dev/pts')} {shlex.quote(f'{root}/dev/shm')}"
    steps = " && ".join([made, *mounted, f"exec {shlex.join(entered)}"])
    apart = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]
    return [*apart, "/bin/sh", "-ec", steps]


def run(command: list[str], log: Path) -> int:
    """Run a command, and show all that it says while ``log`` keeps it; return its exit status."""
    with (
        log.open("a", encoding="utf-8") as copy,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        for line in process.stdout or []:
            print(line, end="", flush=True)
            copy.write(line)
            copy.flush()
    return process.returncode
