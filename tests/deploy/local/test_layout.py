"""Where a system lives: which ports are free, and what its processes are told, whatever the folder is called."""

import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import astuple
from pathlib import Path

import psutil
import pytest
from supervisor.options import ServerOptions

from deploy.host.machine import ROOT, RUNTIME, LocalError, free_ports, is_free
from deploy.local.layout import HERE, Layout
from deploy.local.supervision import owner_of
from deploy.local.system import HARBOUR, OF_ARCHIVE, PROCESSES
from services.alerting.settings import AlertingSettings
from services.common.engine.fusion_settings import FusionSettings
from services.common.settings import load_settings
from services.common.topics.topic_names import DEFAULT_NAMES
from services.console.settings import ConsoleSettings
from services.ingest.settings import IngestSettings
from spark_jobs.settings import ArchiveSettings, HistorySettings

ODD_NAMES = ["plain", "a b", "it's", "100%", "a: b", "a #b", "größe"]


def test_the_checkouts_ports_are_those_of_the_settings() -> None:
    assert astuple(Layout.of_checkout({}).ports) == (9092, 9093, 8010, 8020, 8030, 8040, 8050, 8000)
    assert Layout.of_checkout({}).runtime == RUNTIME
    moved = {"COINCIDE_KAFKA_SERVERS": "127.0.0.1:19092", "COINCIDE_INGEST_PORT": "18010"}
    assert astuple(Layout.of_checkout(moved).ports)[:3] == (19092, 19093, 18010)


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"COINCIDE_INGEST_KAFKA": "{servers: '127.0.0.1:1'}"}, "the servers of kafka must be the same"),
        (
            {"COINCIDE_KAFKA_SERVERS": "kafka.example:9092"},
            "runs its own Kafka on 127.0.0.1, and servers of kafka is 'kafka.example:9092'",
        ),
        ({"COINCIDE_KAFKA_PROTOCOL": "SSL"}, "which knows no TLS and no users"),
        ({"COINCIDE_ALERTING_PORT": "high"}, "port"),
        ({"COINCIDE_FUSION_COLOUR": "red"}, "colour"),
    ],
)
def test_settings_that_cannot_be_run_here_are_one_sentence(environ: dict[str, str], sentence: str) -> None:
    with pytest.raises(LocalError, match=sentence):
        Layout.of_checkout(environ)


def test_the_archive_runs_where_somebody_says_where() -> None:
    assert not Layout.of_checkout({}).archives
    demo = Layout.of_checkout({}, {"COINCIDE_ARCHIVE_PATH": "there"})
    front = {"COINCIDE_ALERTING_HISTORY_URL": "http://127.0.0.1:8050"}
    front |= {"COINCIDE_CONSOLE_ARCHIVE_URL": "http://127.0.0.1:8040"}
    front |= {"COINCIDE_CONSOLE_HISTORY_URL": "http://127.0.0.1:8050"}
    there = {"COINCIDE_ARCHIVE_PATH": "there", "COINCIDE_HISTORY_ARCHIVE_PATH": '"there"', **front}
    assert (demo.archives, demo.overrides) == (True, there)
    own = Layout.of_checkout({"COINCIDE_ARCHIVE_PATH": "mine"}, {"COINCIDE_ARCHIVE_PATH": "there"})
    assert (own.archives, own.overrides) == (True, {"COINCIDE_HISTORY_ARCHIVE_PATH": '"mine"', **front})
    elsewhere = {"COINCIDE_ARCHIVE_PATH": "mine", "COINCIDE_ARCHIVE_KAFKA": "{servers: '127.0.0.1:1'}"}
    with pytest.raises(LocalError, match="the servers of kafka must be the same"):
        Layout.of_checkout(elsewhere)


def test_all_components_have_the_same_topic_prefix() -> None:
    assert Layout.of_checkout({}).topic_names == DEFAULT_NAMES
    reef = {f"COINCIDE_{each}_TOPIC_PREFIX": "reef." for each in ("INGEST", "ALERTING", "FUSION")}
    assert Layout.of_checkout(reef).topic_names.prefix == "reef."
    with pytest.raises(
        LocalError, match=r"^topic_prefix must be the same for all components, not \['coincide\.', 'reef\.'\]$"
    ):
        Layout.of_checkout({**reef, "COINCIDE_ARCHIVE_PATH": "mine"})


def test_a_key_is_needed_where_other_machines_reach_a_component() -> None:
    assert not Layout.of_checkout({}).needs_key
    assert Layout.of_checkout({"COINCIDE_ALERTING_HOST": "0.0.0.0"}).needs_key
    assert Layout.of_checkout({"COINCIDE_INGEST_REQUIRE_KEYS": "true"}).needs_key


def tls_of(component: str, certificate: str) -> dict[str, str]:
    return {f"COINCIDE_{component}_TLS_CERTIFICATE": certificate, f"COINCIDE_{component}_TLS_KEY": "key.pem"}


def test_what_has_a_certificate_is_called_over_https_and_known_by_it() -> None:
    layout = Layout.of_checkout(tls_of("ALERTING", "/a.pem"))
    assert [layout.url(each) for each in ("ingest", "alerting")] == ["http://127.0.0.1:8010", "https://127.0.0.1:8020"]
    assert layout.overrides == {
        "COINCIDE_CONSOLE_ALERTING_URL": "https://127.0.0.1:8020",
        "COINCIDE_CONSOLE_TRUSTED_CERTIFICATES": '"/a.pem"',
        "COINCIDE_ALERTING_TRUSTED_CERTIFICATES": '"/a.pem"',
    }
    assert layout.trusted == Path("/a.pem")
    two = {**tls_of("ALERTING", "/a.pem"), **tls_of("CONSOLE", "/b.pem")}
    with pytest.raises(LocalError, match=r"trusted_certificates, a file .* have signed /a\.pem and /b\.pem$"):
        Layout.of_checkout(two)
    known = Layout.of_checkout({**two, "COINCIDE_CONSOLE_TRUSTED_CERTIFICATES": "/authority.pem"})
    assert known.trusted == Path("/authority.pem")
    assert known.overrides["COINCIDE_ALERTING_TRUSTED_CERTIFICATES"] == '"/authority.pem"'
    assert "COINCIDE_CONSOLE_TRUSTED_CERTIFICATES" not in known.overrides


@pytest.mark.parametrize("name", ODD_NAMES)
def test_every_component_is_told_its_own_ports_and_folders(tmp_path: Path, name: str) -> None:
    layout = Layout.isolated(tmp_path / name)
    own = layout.overrides
    ingest = load_settings(IngestSettings, None, own)
    alerting = load_settings(AlertingSettings, None, own)
    fusion = load_settings(FusionSettings, None, own)
    assert {ingest.kafka, alerting.kafka, fusion.kafka} == {layout.kafka}
    archive = load_settings(ArchiveSettings, None, own)
    history = load_settings(HistorySettings, None, own)
    console = load_settings(ConsoleSettings, None, own)
    ports = (ingest.port, alerting.port, fusion.port, archive.port, history.port, console.port)
    assert (console.ingest_url, console.alerting_url) == (layout.url("ingest"), layout.url("alerting"))
    assert console.fusion_url == layout.url("fusion")
    assert alerting.console_url == layout.url("console")
    assert ports == astuple(layout.ports)[2:]
    assert len(set(astuple(layout.ports))) == 8
    assert history.runs_path == tmp_path / name / "runs"
    assert not layout.archives
    assert layout.url("alerting") == f"http://127.0.0.1:{alerting.port}"
    assert fusion.checkpoint_path == tmp_path / name / "checkpoint"
    assert alerting.database_url == f"sqlite:///{tmp_path / name / 'alerting.sqlite3'}"


@pytest.mark.parametrize("folder", ["short", "long " * 40])
def test_the_socket_fits_the_kernels_limit(tmp_path: Path, folder: str) -> None:
    one, same = (Layout(tmp_path / folder, Layout.of_checkout({}).ports) for _ in range(2))
    assert len(os.fsencode(one.socket)) + len(".4194304") < 108
    assert one.socket == same.socket


@pytest.mark.parametrize("name", ODD_NAMES)
def test_supervisor_reads_its_configuration_in_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    layout = Layout.isolated(tmp_path / name)
    layout.logs.mkdir(parents=True)
    for variable, value in layout.environ(tmp_path / "java").items():
        monkeypatch.setenv(variable, value)
    monkeypatch.chdir(layout.runtime)
    options = ServerOptions()
    options.realize(["-c", str(HERE / "supervisord.conf")])
    groups = {group.name: group.process_configs[0] for group in options.process_group_configs}
    assert sorted(groups, key=lambda each: groups[each].priority) == [*PROCESSES, *OF_ARCHIVE, HARBOUR]
    for program, process in groups.items():
        assert Path(process.stdout_logfile).absolute() == layout.logs / f"{program}.log"
        assert process.directory == str(ROOT)
        assert process.stdout_logfile_maxbytes > 0
        assert process.autorestart
    assert options.pidfile == str(tmp_path / name / "supervisord.pid")


def test_a_port_that_is_listened_on_is_not_free_and_has_an_owner() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not is_free(port)
        assert owner_of(port).startswith(f"process {os.getpid()} (")
    assert is_free(port)


def test_free_ports_differ_and_can_be_had_together() -> None:
    ports = free_ports(20)
    servers = [socket.create_server(("127.0.0.1", port)) for port in ports]
    for server in servers:
        server.close()
    assert len(set(ports)) == 20


OWNER = """
import subprocess, sys
from deploy.host import machine
machine._CANDIDATES = range({low}, {high})
print(*machine.free_ports(10), flush=True)
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
print(child.pid, flush=True)
child.wait()
"""


def test_a_port_has_one_owner_until_its_owner_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    low = 33_000 + os.getpid() % 1_000 * 30  # above those that others are given
    monkeypatch.setattr("deploy.host.machine._CANDIDATES", range(low, low + 30))
    command = [sys.executable, "-c", OWNER.format(low=low, high=low + 30)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as owner, ExitStack() as ended:
        ended.callback(owner.kill)
        assert owner.stdout is not None
        theirs = {int(port) for port in owner.stdout.readline().split()}
        child = psutil.Process(int(owner.stdout.readline()))
        ended.callback(child.kill)
        ours = set(free_ports(10))
        with pytest.raises(LocalError, match=rf"^there are no 11 free ports from {low} to {low + 29}$"):
            free_ports(11)
        assert len(theirs) == 10
        assert not theirs & ours
        owner.kill()
        owner.wait()
        assert child.is_running()  # it has inherited no port
        assert theirs >= set(free_ports(5))
