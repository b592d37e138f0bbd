"""What compose makes of docker-compose.yml: by `docker compose config` where it is there, else by the loader in it."""

import functools
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.host.machine import ROOT, RUNTIME
from tests.needs import found

#: A few lines of Go around the loader that `docker compose` has, with its modules locked.
LOADER = Path(__file__).parent / "compose_config"
BUILD_TIMEOUT_S = 280
MIB = 2**20
UNITS = {"m": MIB, "g": 2**30}
OURS = {"topics", "prometheus-key", "sensors", "ingest", "alerting", "console", "fusion", "archive", "history"}

pytestmark = [pytest.mark.slow, pytest.mark.night]  # the first run builds the loader


@functools.cache
def loading() -> tuple[list[str], list[str]]:
    """Return the words before and after the name of a compose file with which its model is written as JSON."""
    docker = shutil.which("docker")
    if docker and subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode == 0:
        return [docker, "compose", "--file"], ["config", "--format", "json"]
    return [str(built_loader())], []


def built_loader() -> Path:
    """Return the loader, built once for each state of its source; a skip says why it cannot be."""
    source = b"".join(file.read_bytes() for file in sorted(LOADER.iterdir()))
    program = RUNTIME / "go" / f"compose-config-{hashlib.sha256(source).hexdigest()[:16]}"
    if program.exists():
        return program
    go = found("golang-go")
    fresh = program.with_suffix(f".{os.getpid()}")
    command = [go, "build", "-trimpath", "-mod=readonly", "-o", str(fresh), "."]
    built = subprocess.run(command, cwd=LOADER, capture_output=True, text=True, timeout=BUILD_TIMEOUT_S, check=False)
    if built.returncode != 0:
        pytest.skip(f"the loader could not be built (is the Go module proxy reachable?): {built.stderr.strip()[-300:]}")
    fresh.replace(program)
    return program


def load(file: Path, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Have compose load ``file`` as if nothing but ``environment`` were set of what it reads."""
    before, after = loading()
    others = {name: value for name, value in os.environ.items() if not name.startswith(("COINCIDE_", "COMPOSE_"))}
    command, environ = [*before, str(file), *after], {**others, **(environment or {})}
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=False)


def model(environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    loaded = load(ROOT / "docker-compose.yml", environment)
    assert loaded.returncode == 0, loaded.stderr
    loaded_model: dict[str, Any] = json.loads(loaded.stdout)
    return loaded_model


def size_bytes(text: str) -> int:
    """Return a size as compose writes it, in digits, or as the file does."""
    return int(text) if text.isdigit() else int(text[:-1]) * UNITS[text[-1]]


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = model()["services"]
    return found


def test_our_images_are_built_here_and_never_fetched(services: dict[str, dict[str, Any]]) -> None:
    assert {name for name, service in services.items() if "build" in service} == OURS
    for name in OURS:
        assert services[name]["pull_policy"] == "build"
        kind = "fusion" if name in {"fusion", "archive", "history"} else "services"
        assert services[name]["image"] == f"localhost/coincide/{kind}:0.1.0"
        assert services[name]["build"]["dockerfile"] == f"deploy/Dockerfile.{kind}"


def test_every_container_has_a_bound_of_memory_processes_and_logs(services: dict[str, dict[str, Any]]) -> None:
    for name, service in services.items():
        assert 256 * MIB <= size_bytes(service["mem_limit"]) <= 6_144 * MIB, name
        assert int(service["pids_limit"]) >= 200, name
        assert service["logging"] == {"driver": "json-file", "options": {"max-size": "10m", "max-file": "4"}}, name


def test_a_heap_fits_into_its_container(services: dict[str, dict[str, Any]]) -> None:
    assert services["kafka"]["environment"]["KAFKA_HEAP_OPTS"] == "-Xmx512m"
    assert size_bytes(services["kafka"]["mem_limit"]) >= 2 * 512 * MIB
    for name in ("fusion", "archive"):  # /tmp lies in memory, too, and counts
        [temporary] = [each for each in services[name]["tmpfs"] if each.startswith("/tmp:")]
        heap, python = UNITS["g"], UNITS["g"]  # driver_memory, and as much for the workers
        assert size_bytes(services[name]["mem_limit"]) >= heap + python + size_bytes(temporary.split("size=")[1])


def test_our_containers_run_without_rights(services: dict[str, dict[str, Any]]) -> None:
    for name in OURS:
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["security_opt"] == ["no-new-privileges:true"]


def test_ones_own_folder_registry_and_version_are_taken(tmp_path: Path) -> None:
    environment = {
        "COINCIDE_CONFIG": str(tmp_path),
        "COINCIDE_IMAGES": "registry.example/ours",
        "COINCIDE_VERSION": "7",
    }
    ingest = model(environment)["services"]["ingest"]
    assert ingest["image"] == "registry.example/ours/services:7"
    assert {"/coincide/own": str(tmp_path)}.items() <= {
        each["target"]: each["source"] for each in ingest["volumes"]
    }.items()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("services", "ingest", "memory_limit"), "1g"),
        (("services", "ingest", "depends_on"), {"nobody": {"condition": "service_started"}}),
        (("services", "ingest", "volumes"), ["nowhere:/data"]),
        (("services", "ingest", "pull_policy"), "now and then"),
    ],
    ids=lambda each: each[-1] if isinstance(each, tuple) else None,
)
def test_what_compose_would_refuse_is_refused_here(path: tuple[str, ...], value: Any, tmp_path: Path) -> None:
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    changed = tmp_path / "docker-compose.yml"
    changed.write_text(yaml.safe_dump(document), encoding="utf-8")
    assert load(changed).returncode != 0
