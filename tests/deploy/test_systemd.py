"""The units of deploy/systemd run what `make up` runs, in bounds and without rights; systemd itself reads them."""

import configparser
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from coincide.command.main import AddedRequest, request_of
from deploy.host.machine import ROOT
from deploy.local.layout import HERE, JAVA_STOP_S
from deploy.local.system import OF_ARCHIVE, PROCESSES
from services.alerting.server import LOST
from services.alerting.settings import AlertingSettings
from services.common.program.skeleton import REFUSED
from services.common.settings import load_settings
from services.console.settings import ConsoleSettings
from tests.deploy.components import MODELS
from tests.needs import found

FOLDER = ROOT / "deploy/systemd"
COMMON = FOLDER / "coincide-.service.d/10-common.conf"
ONE_PROCESS = "one-process/coincide-serve.service"
NAMES = (*PROCESSES, *OF_ARCHIVE)
INSTALLED, STATE, PYTHON = "/opt/coincide", "/var/lib/coincide", "/opt/coincide/.venv/bin/python"


def entries(file: Path) -> dict[str, list[str]]:
    """Return the values of each key of a unit, in their order; keys are the same in no two sections."""
    found: dict[str, list[str]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if "=" in line and not line.startswith(("#", "[")):
            key, value = line.split("=", 1)
            found.setdefault(key, []).append(value)
    return found


def unit(name: str) -> dict[str, list[str]]:
    return entries(FOLDER / f"coincide-{name}.service")


def program(name: str) -> dict[str, str]:
    """Return what supervisord.conf says of the process ``name``."""
    runner = configparser.RawConfigParser()
    runner.read(HERE / "supervisord.conf", encoding="utf-8")
    return dict(runner[f"program:{name}"])


def environment_of(name: str) -> dict[str, str]:
    words = [word for line in unit(name).get("Environment", []) for word in shlex.split(line)]
    return dict(word.split("=", 1) for word in words)


@pytest.mark.parametrize("name", NAMES)
def test_a_unit_runs_the_command_of_make_up(name: str) -> None:
    values = {"PYTHON": PYTHON, "RUNTIME": STATE, "KAFKA_PORT": "9092", "CONTROLLER_PORT": "9093"}
    command = re.sub(r"%\(ENV_COINCIDE_LOCAL_(\w+)\)s", lambda found: values[found[1]], program(name)["command"])
    words = shlex.split(command)
    if words[0] == "nice":
        assert unit(name)["Nice"] == [words[2]]
        words = words[3:]
    if words[1:3] == ["-m", "deploy.local.environment"]:  # a unit names its environment itself
        words[1:4] = ["-m", words[3]]
    assert [shlex.split(line) for line in unit(name)["ExecStart"]] == [words]


@pytest.mark.parametrize("name", NAMES)
def test_a_unit_is_stopped_and_started_again_as_make_up_does(name: str) -> None:
    said, runner = unit(name), program(name)
    java_stop = "%(ENV_COINCIDE_LOCAL_JAVA_STOP_S)s"
    assert said["TimeoutStopSec"] == [runner["stopwaitsecs"].replace(java_stop, str(JAVA_STOP_S))]
    assert runner.get("exitcodes", str(REFUSED)) == str(REFUSED)
    assert entries(COMMON)["Restart"] == ["on-failure"]
    assert entries(COMMON)["StartLimitIntervalSec"] == ["0"]


def test_no_unit_is_started_again_with_a_setting_that_cannot_work() -> None:
    assert entries(COMMON)["RestartPreventExitStatus"] == [str(REFUSED)]  # not LOST: alerting fills a new database
    assert not [name for name in (*NAMES, "topics") if "RestartPreventExitStatus" in unit(name)]
    assert REFUSED != LOST


def test_kafka_then_topics_then_the_others() -> None:
    assert unit("topics")["After"] == ["coincide-kafka.service"]
    assert "answers.sh 127.0.0.1 9092" in unit("kafka")["ExecStartPost"][0]  # started means that it answers
    for name in set(NAMES) - {"kafka", "console"}:
        assert unit(name)["After"] == unit(name)["Wants"] == ["coincide-kafka.service coincide-topics.service"]
    wanted = {each for line in entries(FOLDER / "coincide.target")["Wants"] for each in line.split()}
    assert wanted == {file.name for file in FOLDER.glob("*.service")}
    assert wanted == {f"coincide-{name}.service" for name in (*NAMES, "topics")}


def test_what_runs_once_is_what_make_up_runs_once() -> None:
    commands = [shlex.split(line) for line in unit("topics")["ExecStart"]]
    assert commands == [
        [PYTHON, "-m", "services.common.topics"],
        [PYTHON, "-m", "services.ingest.registry.seed", "--first"],
    ]
    source = (HERE / "system.py").read_text(encoding="utf-8")
    assert all(f'"{word}"' in source for command in commands for word in command[2:] if ":" not in word)


@pytest.mark.parametrize("name", MODELS)
def test_the_settings_of_a_unit_are_settings_and_it_writes_into_its_state_alone(name: str) -> None:
    environment = environment_of(name)
    settings = load_settings(MODELS[name], ROOT / f"config/{name}.yaml", environment)
    read_only = {"jars_path", "fusion_config"}
    paths = {
        field: value
        for field in type(settings).model_fields
        if isinstance(value := getattr(settings, field), Path) and value.parts[0] != "config" and field not in read_only
    }
    assert not [field for field, path in paths.items() if not path.is_relative_to(STATE)]
    if isinstance(settings, AlertingSettings):
        assert settings.database_url.startswith(f"sqlite:///{STATE}/")


def test_who_calls_whom_is_where_they_listen() -> None:
    ports = {name: load_settings(MODELS[name], ROOT / f"config/{name}.yaml", {}).port for name in MODELS}
    console = load_settings(ConsoleSettings, ROOT / "config/console.yaml", environment_of("console"))
    alerting = load_settings(AlertingSettings, ROOT / "config/alerting.yaml", environment_of("alerting"))
    for name in set(MODELS) - {"console"}:
        assert getattr(console, f"{name}_url") == f"http://127.0.0.1:{ports[name]}"
    assert alerting.history_url == f"http://127.0.0.1:{ports['history']}"
    archive, history = environment_of("archive"), environment_of("history")
    assert archive["COINCIDE_ARCHIVE_PATH"] == history["COINCIDE_HISTORY_ARCHIVE_PATH"]


@pytest.mark.parametrize("name", [*NAMES, "topics"])
def test_a_unit_has_bounds(name: str) -> None:
    [memory], [tasks], [weight] = unit(name)["MemoryMax"], unit(name)["TasksMax"], unit("history")["CPUWeight"]
    assert re.fullmatch(r"\d+[MG]", memory)
    assert int(tasks) >= 100
    assert int(weight) < 100  # the usual one


@pytest.mark.parametrize("name", ["fusion", "archive", "history"])
def test_what_starts_spark_checks_its_jars_at_each_start(name: str) -> None:
    assert unit(name)["ExecStartPre"] == [f"{PYTHON} -m deploy.jvm.jars"]


def test_the_unit_of_one_process_is_the_command_with_its_state_and_the_bounds_of_all() -> None:
    said = entries(FOLDER / ONE_PROCESS)
    [words] = [shlex.split(line) for line in said["ExecStart"]]
    assert words[:3] == [PYTHON, "-m", "coincide"]
    request = request_of(words[3:])
    assert isinstance(request, AddedRequest)
    assert request.options.command == "serve"
    assert request.options.folder.is_relative_to(STATE)
    assert {"MemoryMax", "TasksMax", "TimeoutStopSec"} <= said.keys()
    assert said["WantedBy"] == ["multi-user.target"]  # and not coincide.target, which has all that it replaces


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return a folder of the units as they would be where this checkout is the installation."""
    folder = tmp_path / "units"
    shutil.copytree(FOLDER, folder)
    shutil.move(folder / ONE_PROCESS, folder)
    for file in [each for each in folder.rglob("*") if each.is_file()]:
        file.write_text(file.read_text(encoding="utf-8").replace(INSTALLED, str(ROOT)), encoding="utf-8")
    return folder


def analyze(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SYSTEMD_UNIT_PATH": f"{folder}:", "SYSTEMD_LOG_LEVEL": "warning"}
    units = sorted(map(str, folder.glob("*.service"))) + [str(folder / "coincide.target")] * (words[0] == "verify")
    return subprocess.run(
        [found("systemd"), *words, *units], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def complaints(folder: Path) -> list[str]:
    """Return what systemd finds wrong with the units of ``folder``, and not with the machine's own."""
    verified = analyze(folder, "verify", "--man=no")
    return [line for line in (verified.stdout + verified.stderr).splitlines() if "coincide" in line]


def test_systemd_finds_nothing_wrong(installed: Path) -> None:
    assert complaints(installed) == []


@pytest.mark.parametrize(
    ("file", "wrong"),
    [
        ("coincide-fusion.service", "MemoryMost=6G"),
        ("coincide-ingest.service", "TasksMax=plenty"),
        ("coincide-.service.d/10-common.conf", "ProtectSystem=very"),
        ("coincide-kafka.service", "ExecStartPre=/nowhere/program"),
    ],
)
def test_systemd_would_find_what_is_wrong(file: str, wrong: str, installed: Path) -> None:
    with (installed / file).open("a", encoding="utf-8") as text:
        text.write(f"{wrong}\n")
    assert complaints(installed)


def test_systemd_calls_every_unit_safe(installed: Path) -> None:
    """Exposure in tenths: of 100, which is a service that may do everything."""
    judged = analyze(installed, "security", "--offline=yes", "--threshold=25", "--no-pager")
    assert judged.returncode == 0, judged.stdout
