"""Archives of loaded classes (Java's class data sharing), with which Kafka and Spark start a third faster.

`make warm` writes them, see `warming`. Java itself checks that an archive fits it and its jars, and does without one
that does not. What is here only says where each lies.
"""

import hashlib
from pathlib import Path
from typing import NamedTuple

from deploy.host.machine import ROOT, RUNTIME


class ClassArchives(NamedTuple):
    """Where the archives of one Java lie, whether they have been written or not."""

    broker: Path
    spark: Path

    @property
    def are_written(self) -> bool:
        """Whether there is nothing left to write."""
        return all(each.is_file() for each in self)


def class_archives(java_home: Path, runtime: Path = RUNTIME) -> ClassArchives:
    """Return the archives of the Java in ``java_home``, with the jars of this checkout; another Java has others."""
    launcher = (java_home / "bin" / "java").resolve()
    fetched = runtime / "jars" / "complete"
    named = [str(launcher), str(launcher.stat().st_mtime_ns if launcher.exists() else 0), str(ROOT)]
    named.append(fetched.read_text(encoding="ascii") if fetched.is_file() else "")
    folder = runtime / "classes" / hashlib.sha256("\n".join(named).encode()).hexdigest()[:16]
    return ClassArchives(folder / "broker.jsa", folder / "spark.jsa")


def use_option(archive: Path) -> list[str]:
    """Return the option with which Java uses ``archive``; none where it has not been written."""
    return [f"-XX:SharedArchiveFile={archive}"] if archive.is_file() else []


def write_option(archive: Path) -> str:
    """Return the option with which Java writes ``archive`` when it ends in order."""
    return f"-XX:ArchiveClassesAtExit={archive}"
