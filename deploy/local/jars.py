"""Fetch the jars that ``ivy.xml`` names, with the Ivy that comes inside pyspark; nothing is fetched twice."""

import fcntl
import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import pyspark
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from deploy.local.failure import LocalError, exit_with
from deploy.local.java import Java, find_java
from deploy.local.paths import HERE, RUNTIME
from deploy.local.trust import trust_options

IVY_FILE = HERE / "ivy.xml"
#: ``sha256  conf/name.jar``, one line for each jar that ``ivy.xml`` resolves to.
CHECKSUMS = HERE / "jars.sha256"

_FOUND = re.compile(r"^\s*found \S+#(\S+);")
_DOWNLOADED = re.compile(r"\[SUCCESSFUL ] \S+#(\S+);")


@dataclass(frozen=True)
class Jars:
    """Where the jars lie; ``broker`` runs Kafka, ``spark`` is Spark's Kafka source and sink."""

    folder: Path

    @property
    def broker(self) -> Path:
        """Apache Kafka and all it depends on."""
        return self.folder / "broker"

    @property
    def spark(self) -> Path:
        """The connector alone: pyspark ships the rest."""
        return self.folder / "spark"


def ensure_jars(java: Java, runtime: Path = RUNTIME) -> Jars:
    """Return the jars below ``runtime``, fetched first unless this ``ivy.xml`` was already fetched whole.

    Raises
    ------
    LocalError
        They could not be fetched, or what came is not what `CHECKSUMS` says.
    """
    jars = Jars(runtime / "jars")
    if not _is_complete(jars.folder):
        with _one_at_a_time(runtime):
            if not _is_complete(jars.folder):
                _replace(jars.folder, java, runtime)
    return jars


def _is_complete(folder: Path) -> bool:
    stamp = folder / "complete"
    return stamp.is_file() and stamp.read_text(encoding="ascii") == _wanted()


def _wanted() -> str:
    return hashlib.sha256(IVY_FILE.read_bytes() + CHECKSUMS.read_bytes()).hexdigest()


@contextmanager
def _one_at_a_time(runtime: Path) -> Iterator[None]:
    runtime.mkdir(parents=True, exist_ok=True)
    with (runtime / "jars.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _replace(folder: Path, java: Java, runtime: Path) -> None:
    """Fetch into a folder beside ``folder`` and put it in place only when it is whole."""
    fresh = folder.with_name("jars.fetching")
    shutil.rmtree(fresh, ignore_errors=True)
    _run_ivy(java, fresh, runtime / "logs" / "ivy.log")
    _verify(fresh)
    (fresh / "complete").write_text(_wanted(), encoding="ascii")
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)


def _run_ivy(java: Java, folder: Path, log: Path) -> None:
    [ivy] = (Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar")
    trust = trust_options(java.home) if java.is_packaged else []  # the machine's own Java knows its authorities
    command = [str(java.executable), *trust, "-jar", str(ivy), "-ivy", str(IVY_FILE), "-confs", "broker", "spark"]
    command += ["-types", "jar", "bundle", "-retrieve", f"{folder}/[conf]/[artifact]-[revision].[ext]"]
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("w", encoding="utf-8") as copy,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process,
    ):
        _show_progress(_copied(process.stdout or [], copy))
    if process.returncode != 0:
        raise LocalError(
            "the jars that deploy/local/ivy.xml names could not be fetched: is the network reachable? "
            f"What Ivy said is in {log}"
        )


def _copied(lines: Iterable[str], copy: TextIO) -> Iterator[str]:
    for line in lines:
        copy.write(line)
        yield line


def _show_progress(lines: Iterator[str]) -> None:
    total = len(_checksums())
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[jar]}")
    with Progress(*columns) as progress:
        resolving = progress.add_task("Resolving jars", total=total, jar="")
        fetching = progress.add_task("Fetching jars", total=total, jar="", visible=False)
        for line in lines:
            if found := _FOUND.match(line):
                progress.update(resolving, advance=1, jar=found[1])
            elif fetched := _DOWNLOADED.search(line):
                progress.update(fetching, advance=1, jar=fetched[1], visible=True)


def _checksums() -> dict[str, str]:
    """Return the expected sha256, in hexadecimal, of each jar by its path below the folder."""
    lines = CHECKSUMS.read_text(encoding="ascii").splitlines()
    return {path: digest for digest, path in (line.split(maxsplit=1) for line in lines)}


def _verify(folder: Path) -> None:
    jars = folder.glob("*/*.jar")
    came = {str(jar.relative_to(folder)): hashlib.sha256(jar.read_bytes()).hexdigest() for jar in jars}
    expected = _checksums()
    wrong = sorted(path for path in came.keys() | expected.keys() if came.get(path) != expected.get(path))
    if wrong:
        raise LocalError(f"{len(wrong)} jars are not those of deploy/local/jars.sha256, {wrong[0]} for one: refused")


def _main() -> None:
    print(f"Jars in {ensure_jars(find_java()).folder}")


if __name__ == "__main__":
    exit_with(_main)
