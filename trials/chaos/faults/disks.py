"""Disks that get full: a file system in memory below each store, made as small as what is on it, and large again."""

import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from deploy.host.machine import LocalError, wait_until

SIZE = "16g"
_FULL_WITHIN_S = 10.0


def _mount(*arguments: str) -> bool:
    ended = subprocess.run(["mount", "-t", "tmpfs", *arguments], capture_output=True, check=False, timeout=30)
    return ended.returncode == 0


@contextmanager
def mounted(folders: Iterable[Path]) -> Iterator[frozenset[Path]]:
    """Mount a disk on each of ``folders`` while the block runs; yield those where this machine lets us."""
    with ExitStack() as stack:
        done = []
        for folder in folders:
            if os.geteuid() == 0 and _mount("-o", f"size={SIZE}", "coincide-chaos", str(folder)):
                stack.callback(_unmount, folder)
                done.append(folder)
        yield frozenset(done)


def _unmount(folder: Path) -> None:
    """Take it away, at once where nobody uses it any more."""
    subprocess.run(["umount", "--lazy", str(folder)], check=True, capture_output=True, timeout=30)


@contextmanager
def full(folder: Path) -> Iterator[None]:
    """Have no room on the disk of ``folder`` while the block runs."""
    wait_until(lambda: _is_shrunk(folder), _FULL_WITHIN_S)
    try:
        yield
    finally:
        if not _resize(folder, SIZE):
            raise LocalError(f"{folder} has no room again: more than {SIZE} is on it")


def _is_shrunk(folder: Path) -> bool:
    """Make it as small as what is on it; that fails where something was written meanwhile."""
    disk = os.statvfs(folder)
    return _resize(folder, str((disk.f_blocks - disk.f_bfree) * disk.f_frsize))


def _resize(folder: Path, size: str) -> bool:
    return _mount("-o", f"remount,size={size}", "coincide-chaos", str(folder))
