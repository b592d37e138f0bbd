"""Fetch the peers into `.local/peers`, once: `python -m benchmarks.peers_line.installation`.

Flink's jars are those of its Python package, and its Kafka connector comes by Ivy as our own jars do. Quix Streams gets
a virtual environment, because it wants other versions than we have. Spark is here already.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from deploy.host.machine import RUNTIME, LocalError, exit_with
from deploy.jvm.jars import run_ivy, verify
from deploy.jvm.java import Java, find_java

HERE = Path(__file__).resolve().parent
FOLDER = RUNTIME / "peers"
FLINK, QUIX, CONNECTOR = FOLDER / "flink", FOLDER / "quix", FOLDER / "connector"
QUIX_PYTHON = QUIX / "bin" / "python"
CLASSES = FOLDER / "classes"
CHECKSUMS = HERE / "jars.sha256"
FLINK_PACKAGE = "apache-flink-libraries==2.3.0"
QUIX_PACKAGE = "quixstreams==3.28.1"


def flink_classpath() -> str:
    """Return what `Join` is compiled and run with."""
    return ":".join(map(str, (f"{FLINK / 'pyflink' / 'lib'}/*", f"{CONNECTOR / 'flink'}/*", CLASSES)))


def has_flink() -> bool:
    return (CLASSES / "Join.class").exists()


def has_quix() -> bool:
    return (QUIX / "complete").exists()


def compile_join(java: Java) -> None:
    """Compile `Join.java`; a run does that as well where the source is newer."""
    javac = java.home / "bin" / "javac"
    if not javac.exists():
        raise LocalError(
            f"there is no javac beside {java.executable}: Flink's program needs a JDK, not a runtime alone"
        )
    source, compiled = HERE / "Join.java", CLASSES / "Join.class"
    if not compiled.exists() or compiled.stat().st_mtime < source.stat().st_mtime:
        subprocess.run([javac, "-cp", flink_classpath(), "-d", CLASSES, source], check=True)


def install_flink() -> None:
    java = find_java()
    if not CONNECTOR.exists():
        run_ivy(java, HERE / "ivy.xml", ["flink"], CONNECTOR, RUNTIME / "logs" / "ivy-peers.log", CHECKSUMS)
    verify(CONNECTOR, CHECKSUMS)
    if not (FLINK / "pyflink" / "lib").exists():
        pip(sys.executable, "--no-deps", "--target", str(FLINK), FLINK_PACKAGE)
    compile_join(java)


def install_quix() -> None:
    if not has_quix():
        venv.create(QUIX, with_pip=True, clear=True)
        pip(str(QUIX_PYTHON), QUIX_PACKAGE)
        (QUIX / "complete").touch()


def pip(python: str, *arguments: str) -> None:
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    if subprocess.run(command, check=False).returncode != 0:
        raise LocalError(f"{arguments[-1]} could not be installed: is the Python package index reachable?")


def main() -> None:
    install_flink()
    install_quix()
    print(f"Flink and Quix Streams are in {FOLDER}")


if __name__ == "__main__":
    exit_with(main)
