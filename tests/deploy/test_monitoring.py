"""Prometheus and Grafana only speak of what the apps export."""

import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import generate_latest

from deploy.local.machine import ROOT
from docs.generate import metric_registries
from services.alerting.receivers.receiver import load_receivers

DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "prometheus" / "rules.yml"
DASHBOARD = DEPLOY / "grafana" / "dashboards" / "coincide.json"
SUFFIXES = {"counter": ("",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}


@cache
def exported() -> set[str]:
    """Return every name that Prometheus can read at one of the apps."""
    text = "".join(generate_latest(registry).decode() for registry in metric_registries().values())
    kinds = re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE)
    return {name + suffix for name, kind in kinds for suffix in SUFFIXES[kind]}


def of_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


ALERTS: list[dict[str, Any]] = [rule for group in of_yaml(RULES)["groups"] for rule in group["rules"]]
EVERY_PANEL: list[dict[str, Any]] = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
PANELS = [panel for panel in EVERY_PANEL if panel["type"] != "row"]
EXPRESSIONS = [  # who asks, what
    *((rule["alert"], rule["expr"]) for rule in ALERTS),
    *((panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]),
]


@pytest.mark.parametrize(("asker", "expression"), EXPRESSIONS)
def test_metrics_that_are_named_are_exported_and_read_as_what_they_are(asker: str, expression: str) -> None:
    """The value of a counter says nothing by itself, and a quantile is of buckets."""
    named = set(re.findall(r"\bcoincide_\w+", expression))
    assert named - exported() == set()
    assert named or expression.startswith("up{")
    for name in re.findall(r"\bcoincide_\w+_(?:total|bucket)\b", expression):
        assert re.search(rf"(rate|increase)\({name}\S*\[", expression) or "restarts" in name or "starts" in name
    for name in re.findall(r"histogram_quantile\(.*?(coincide_\w+)", expression):
        assert name.endswith("_bucket")
    for opening, closing in ("()", "[]", "{}"):
        assert expression.count(opening) == expression.count(closing)


def test_alerts_have_unique_names_a_severity_and_a_sentence() -> None:
    assert len({rule["alert"] for rule in ALERTS}) == len(ALERTS)
    for rule in ALERTS:
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"]["summary"]


def test_every_component_is_scraped_at_the_port_it_listens_on() -> None:
    prometheus = of_yaml(DEPLOY / "prometheus" / "prometheus.yml")
    compose = of_yaml(DEPLOY.parent / "docker-compose.yml")
    scraped = [each for job in prometheus["scrape_configs"] for each in job["static_configs"]]
    targets = [target for each in scraped for target in each["targets"]]
    for target in targets:
        service, port = target.split(":")
        assert f"127.0.0.1:{port}:{port}" in compose["services"][service]["ports"]
    components = {"ingest", "fusion", "alerting", "archive", "history", "console"}
    assert {target.split(":")[0] for target in targets} == {*components, "alertmanager"}
    [notified] = prometheus["alerting"]["alertmanagers"]
    assert notified["static_configs"] == [{"targets": ["alertmanager:9093"]}]
    assert [DEPLOY / "prometheus" / name for name in prometheus["rule_files"]] == [RULES]


def test_alertmanager_takes_its_configuration_and_coincide_its_receivers() -> None:
    """Alertmanager itself says so where it is installed."""
    config = DEPLOY.parent / "config" / "alertmanager.yml"
    named = {route["receiver"] for route in [of_yaml(config)["route"], *of_yaml(config)["route"]["routes"]]}
    assert named == {each["name"] for each in of_yaml(config)["receivers"]}
    [receiver] = load_receivers(DEPLOY.parent / "config" / "compose" / "receivers.yaml", {})
    assert receiver.alertmanager is not None
    assert receiver.alertmanager.url == "http://alertmanager:9093"
    if program := shutil.which("amtool"):
        subprocess.run([program, "check-config", config], check=True, capture_output=True)


def test_the_dashboard_is_provisioned() -> None:
    provisioning = DEPLOY / "grafana" / "provisioning"
    [source] = of_yaml(provisioning / "datasources" / "prometheus.yml")["datasources"]
    [provider] = of_yaml(provisioning / "dashboards" / "coincide.yml")["providers"]
    assert provider["options"]["path"] == "/var/lib/grafana/dashboards"
    assert {panel["datasource"]["uid"] for panel in PANELS} == {source["uid"]}


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    assert len({panel["id"] for panel in EVERY_PANEL}) == len(EVERY_PANEL)
    places = [[panel["gridPos"][name] for name in "xywh"] for panel in EVERY_PANEL]
    cells = [(left + x, top + y) for left, top, w, h in places for x in range(w) for y in range(h)]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
