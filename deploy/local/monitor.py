"""`make monitor`: Prometheus and Alertmanager beside a system of `make up`, where both are installed.

They get the configuration that docker-compose.yml gives them; only the addresses are those of this machine. Who is
told stands in alertmanager.yml, which is looked for in the folder COINCIDE_CONFIG first.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

from deploy.host.machine import ROOT, LocalError, is_free
from deploy.local.layout import Layout
from services.common.settings import located

PROGRAMS = {"prometheus": ("prometheus",), "alertmanager": ("prometheus-alertmanager", "alertmanager")}
PORTS = {"prometheus": 9090, "alertmanager": 9093}
CONFIGURATION = ROOT / "deploy" / "prometheus"
STOP_S = 5.0


def find_programs() -> dict[str, str]:
    """Return the path of both programs; a `LocalError` says which one is missing and how to get it."""
    found: dict[str, str] = {}
    for name, names in PROGRAMS.items():
        path = next(filter(None, map(shutil.which, names)), None)
        if path is None:
            raise LocalError(f"there is no {name} here: install the package {names[0]}, or use docker compose")
        found[name] = path
    return found


def prometheus_configuration(
    addresses: Mapping[str, str],
    key: Path | None = None,
    secure: Collection[str] = (),
    trusted: Path | None = None,
) -> dict[str, Any]:
    """Return the shipped configuration with the targets at these addresses, by the name that stands for them there.

    A target without an address is left out. `key` is the file of the key that the components ask for, if they do.
    The `secure` ones speak HTTPS and are known by the certificates in the file `trusted`; None: by the machine's.
    """
    document: dict[str, Any] = yaml.safe_load((CONFIGURATION / "prometheus.yml").read_text(encoding="utf-8"))
    for each in [*document["scrape_configs"], *document["alerting"]["alertmanagers"]]:
        for group in each["static_configs"]:
            names = [target.partition(":")[0] for target in group["targets"]]
            group["targets"] = [addresses[name] for name in names if name in addresses]
            if secure and set(names) <= set(secure):
                each["scheme"], each["tls_config"] = "https", {"ca_file": str(trusted)} if trusted else {}
        if each.pop("authorization", None) and key is not None:
            each["authorization"] = {"credentials_file": str(key)}
    document["rule_files"] = [str(CONFIGURATION / name) for name in document["rule_files"]]
    return document


def commands(layout: Layout, programs: Mapping[str, str], ports: Mapping[str, int]) -> dict[str, list[str]]:
    """Write what the programs read below the layout's folder, and return the command of each."""
    folder = layout.runtime / "monitor"
    folder.mkdir(parents=True, exist_ok=True)
    names = ("ingest", "fusion", "alerting", "console", *(("archive", "history") if layout.archives else ()))
    services = {name: layout.url(name).partition("://")[2] for name in names}
    addresses = services | {name: f"127.0.0.1:{port}" for name, port in ports.items()}
    configuration = folder / "prometheus.yml"
    scraped = prometheus_configuration(addresses, _key(layout), layout.secure, layout.trusted)
    configuration.write_text(yaml.safe_dump(scraped), encoding="utf-8")
    return {
        "prometheus": [
            programs["prometheus"],
            f"--config.file={configuration}",
            f"--storage.tsdb.path={folder / 'prometheus'}",
            f"--web.listen-address={addresses['prometheus']}",
        ],
        "alertmanager": [
            programs["alertmanager"],
            f"--config.file={ROOT / located(Path('config/alertmanager.yml'), {**os.environ, **layout.overrides})}",
            f"--storage.path={folder / 'alertmanager'}",
            f"--web.listen-address={addresses['alertmanager']}",
            "--cluster.listen-address=",
        ],
    }


def _key(layout: Layout) -> Path | None:
    """Return the file of the key with which Prometheus may read metrics, where one is needed."""
    if not layout.needs_key:
        return None
    key = layout.runtime / "monitor" / "key"
    if not key.is_file():
        raise LocalError(f"the components need a key: write one of scope read (make key SCOPE=read) into {key}")
    return key


def run_monitor(layout: Layout, ports: Mapping[str, int] = PORTS) -> None:
    """Run both until Ctrl-C, or until one of them ends."""
    programs = find_programs()
    taken = [f"{name} ({port})" for name, port in ports.items() if not is_free(port)]
    if taken:
        raise LocalError(f"something listens already where these would: {', '.join(taken)}")
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name, command in commands(layout, programs, ports).items():
            with (layout.runtime / "monitor" / f"{name}.log").open("wb") as log:
                running[name] = subprocess.Popen(command, stdout=log, stderr=log)
            print(f"{name:<12} http://127.0.0.1:{ports[name]}", flush=True)
        while all(process.poll() is None for process in running.values()):
            time.sleep(0.2)
        ended = [name for name, process in running.items() if process.poll() is not None]
        raise LocalError(f"{' and '.join(ended)} ended; the log is in {layout.runtime / 'monitor'}")
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait(STOP_S)
