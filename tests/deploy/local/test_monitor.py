"""Prometheus and Alertmanager beside a system; real ones where they are installed."""

import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from deploy.host.machine import ROOT, LocalError, free_ports
from deploy.local.layout import Layout
from deploy.local.monitor import PROGRAMS, commands, find_programs, prometheus_configuration
from tests.integration.mailbox import running_mailbox
from tests.patience import until
from tests.prometheus import find_prometheus
from tests.services.alerting.receivers.alertmanager_process import find_alertmanager

NAMES = ("ingest", "fusion", "alerting", "prometheus", "alertmanager")
RUN = """
import signal, sys
from pathlib import Path
from deploy.local.layout import Layout
from deploy.local.monitor import run_monitor
signal.signal(signal.SIGTERM, signal.default_int_handler)
run_monitor(Layout.isolated(Path(sys.argv[1])), {"prometheus": int(sys.argv[2]), "alertmanager": int(sys.argv[3])})
"""


def test_every_target_gets_its_address_and_the_rules_are_those_that_are_shipped() -> None:
    configuration = prometheus_configuration({name: f"127.0.0.1:{nth}" for nth, name in enumerate(NAMES)})
    targets = [
        t for each in configuration["scrape_configs"] for group in each["static_configs"] for t in group["targets"]
    ]
    assert len(targets) == 4
    assert not [each for each in configuration["scrape_configs"] if "authorization" in each]
    assert all(target.startswith("127.0.0.1:") for target in targets)
    assert configuration["rule_files"] == [str(ROOT / "deploy/prometheus/rules.yml")]


def test_where_keys_are_needed_prometheus_shows_one(tmp_path: Path) -> None:
    programs, layout = {name: names[0] for name, names in PROGRAMS.items()}, Layout.isolated(tmp_path)
    guarded = replace(layout, needs_key=True)
    with pytest.raises(LocalError, match="make key SCOPE=read"):
        commands(guarded, programs, {"prometheus": 1, "alertmanager": 2})
    key = tmp_path / "monitor" / "key"
    key.write_text("ck_x", encoding="utf-8")
    commands(guarded, programs, {"prometheus": 1, "alertmanager": 2})
    written = yaml.safe_load((tmp_path / "monitor" / "prometheus.yml").read_text(encoding="utf-8"))
    shown = {each["job_name"]: each.get("authorization") for each in written["scrape_configs"]}
    assert shown["coincide-fusion"] == {"credentials_file": str(key)}
    assert shown["alertmanager"] is None


def test_what_speaks_https_is_scraped_over_https(tmp_path: Path) -> None:
    programs, certificate = {name: names[0] for name, names in PROGRAMS.items()}, tmp_path / "certificate.pem"
    layout = Layout.isolated(tmp_path, tls=(certificate, tmp_path / "key.pem"))
    commands(layout, programs, {"prometheus": 1, "alertmanager": 2})
    written = yaml.safe_load((tmp_path / "monitor" / "prometheus.yml").read_text(encoding="utf-8"))
    scraped = {each["job_name"]: each for each in written["scrape_configs"]}
    for name in ("ingest", "fusion", "alerting", "console"):
        assert scraped[f"coincide-{name}"]["scheme"] == "https"
        assert scraped[f"coincide-{name}"]["tls_config"] == {"ca_file": str(certificate)}
        assert scraped[f"coincide-{name}"]["static_configs"] == [
            {"targets": [layout.url(name).removeprefix("https://")]}
        ]
    assert "scheme" not in scraped["alertmanager"]


def test_without_the_programs_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(LocalError, match="install the package prometheus"):
        find_programs()


def test_both_run_and_prometheus_judges_the_rules_and_finds_alertmanager(tmp_path: Path) -> None:
    """Nobody listens where the components would: CoincideComponentDown is pending."""
    find_prometheus()
    find_alertmanager()
    ports = free_ports(2)
    command = [sys.executable, "-c", RUN, str(tmp_path), *map(str, ports)]
    with subprocess.Popen(command, cwd=ROOT, env=dict(os.environ)) as process:
        prometheus, alertmanager = (f"http://127.0.0.1:{port}" for port in ports)
        try:
            until(lambda: _get(f"{alertmanager}/-/ready") is not None)
            until(lambda: _active(prometheus) == [f"{alertmanager}/api/v2/alerts"])
            until(lambda: "CoincideComponentDown" in _pending(prometheus))
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)
    assert _get(f"{prometheus}/-/ready") is None


def test_who_is_named_in_a_file_of_ones_own_gets_a_letter_when_a_rule_fires(tmp_path: Path) -> None:
    """The file is that of the page, with the address of a mail server that is here."""
    own, [port] = tmp_path / "own", free_ports(1)
    own.mkdir()
    programs = {"prometheus": "prometheus", "alertmanager": find_alertmanager()}
    layout = Layout.isolated(tmp_path / "system", {"COINCIDE_CONFIG": str(own)})
    with running_mailbox() as mailbox:
        (own / "alertmanager.yml").write_text(yaml.safe_dump(_shown_on_the_page(mailbox.port)), encoding="utf-8")
        command = commands(layout, programs, {"prometheus": 1, "alertmanager": port})["alertmanager"]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            try:
                until(lambda: _get(f"http://127.0.0.1:{port}/-/ready") is not None)
                fires = {"labels": {"alertname": "CoincideKafkaAway", "severity": "page"}}
                httpx2.post(f"http://127.0.0.1:{port}/api/v2/alerts", json=[fires], trust_env=False).raise_for_status()
                until(lambda: len(mailbox.letters) == 1)
            finally:
                process.terminate()
    assert "CoincideKafkaAway" in str(mailbox.letters[0]["Subject"])
    assert mailbox.letters[0]["To"] == "night@example.org"


def _shown_on_the_page(port: int) -> Any:
    page = (ROOT / "docs/how-to/be-told.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"```yaml\n(route:.*?)```", page, re.DOTALL)
    document = yaml.safe_load(shown)
    [mail] = document["receivers"][0]["email_configs"]
    mail |= {"smarthost": f"127.0.0.1:{port}", "require_tls": False}
    del mail["auth_username"], mail["auth_password"]  # which Alertmanager gives only over TLS
    return document


def test_the_commands_name_files_that_exist(tmp_path: Path) -> None:
    programs = {name: names[0] for name, names in PROGRAMS.items()}
    made = commands(Layout.isolated(tmp_path), programs, {"prometheus": 1, "alertmanager": 2})
    files = [part.partition("=")[2] for command in made.values() for part in command if "config.file" in part]
    assert [Path(file).is_file() for file in files] == [True, True]


def _active(prometheus: str) -> list[str]:
    answer = _get(f"{prometheus}/api/v1/alertmanagers")
    return [] if answer is None else [each["url"] for each in answer.json()["data"]["activeAlertmanagers"]]


def _pending(prometheus: str) -> str:
    answer = _get(f"{prometheus}/api/v1/alerts")
    return "" if answer is None else str(answer.text)


def _get(url: str) -> Any:
    try:
        answer = httpx2.get(url, trust_env=False)
    except httpx2.TransportError:
        return None
    return answer if answer.status_code == 200 else None if answer.status_code >= 500 else answer
