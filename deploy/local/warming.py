"""Write the archives of loaded classes: run the whole system once, let it find a match, and stop it in order.

It takes a minute, once for each Java and each set of jars. Nothing depends on it: without archives starts are slower.
"""

import json
import shutil
import subprocess
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import httpx2

from deploy.host.machine import exit_with
from deploy.jvm.class_archives import ClassArchives, class_archives, write_option
from deploy.jvm.jars import ensure_jars
from deploy.jvm.java import Java, find_java
from deploy.local.layout import Layout
from deploy.local.system import System
from services.demo.harbour import BANG, microphones, play
from spark_jobs.job.session import DRIVER_OPTIONS

#: A Java writes its archive when it ends: in some 5 s, and in minutes on a machine that is busy with something else.
WRITE_S = 600


def ensure_class_archives() -> ClassArchives:
    """Return the archives of the Java that is used, written first where they are not there."""
    java = find_java()
    ensure_jars(java)
    archives = class_archives(java.home)
    if not archives.are_written:
        _write_base(java)
        with tempfile.TemporaryDirectory(prefix="coincide-") as folder:
            fresh = ClassArchives(*(Path(folder) / each.name for each in archives))
            _run_once(Path(folder) / "running", fresh)
            for written, kept in zip(fresh, archives, strict=True):
                if written.is_file():
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    shutil.move(written, kept)
    return archives


def _write_base(java: Java) -> None:
    """Have the packaged Java write the archive of its own classes, which it comes without: others rest upon it."""
    if java.packaged and not (java.packaged / "lib" / "server" / "classes.jsa").exists():
        subprocess.run([java.executable, "-Xshare:dump"], capture_output=True, check=False)


def _run_once(folder: Path, archives: ClassArchives) -> None:
    options = {"spark.driver.extraJavaOptions": f"{DRIVER_OPTIONS} {write_option(archives.spark)}"}
    overrides = {"KAFKA_OPTS": write_option(archives.broker), "COINCIDE_FUSION_SPARK_CONF": json.dumps(options)}
    system = System(replace(Layout.isolated(folder, overrides), java_stop_s=WRITE_S))
    try:
        system.up()
        _find_a_match(system)
    finally:
        system.down()


def _find_a_match(system: System) -> None:
    ended = threading.Event()
    with httpx2.Client(base_url=system.layout.url("ingest"), timeout=10) as ingest:
        harbour = threading.Thread(target=play, args=(ingest, microphones(), ended))
        harbour.start()
        system.wait(lambda: bool(system.alerting.get(f"/v1/matches?query={BANG}").json()["items"]))
        ended.set()
        harbour.join()


def _main() -> None:
    archives = ensure_class_archives()
    folder = archives.broker.parent
    print(
        f"Archives of loaded classes in {folder}"
        if archives.are_written
        else "No archives of classes: this Java writes none, or did not end in time on a busy machine"
    )


if __name__ == "__main__":
    exit_with(_main)
