"""Prometheus and Grafana only speak of what the apps export."""

import json
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest

from deploy.host.machine import ROOT
from docs.generate import metric_registries
from services.alerting.metrics import Metrics
from services.alerting.records.receiver import load_receivers
from tests.needs import found
from tests.reference.promql import Evaluation, scraped

DEPLOY = ROOT / "deploy"
NOW_S = 1_700_000_000.0
RULES = DEPLOY / "prometheus" / "rules.yml"
DASHBOARD = DEPLOY / "grafana" / "dashboards" / "coincide.json"
SUFFIXES = {"counter": ("",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}


@cache
def exposition() -> str:
    """Return what Prometheus reads at the apps while nothing has happened."""
    return "".join(generate_latest(registry).decode() for registry in metric_registries().values())


def exported() -> set[str]:
    """Return every name that Prometheus can read at one of the apps."""
    kinds = re.findall(r"^# TYPE (\w+) (\w+)$", exposition(), re.MULTILINE)
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


def test_a_quantile_can_exceed_the_limit_of_its_rule() -> None:
    """Of what lies beyond every bucket a quantile says the last bound: a limit from there on would never ring."""
    asked = [re.findall(r"histogram_quantile\(.*?(coincide_\w+_bucket)\S*\) > (\S+)", rule["expr"]) for rule in ALERTS]
    limits = [each for of_rule in asked for each in of_rule]
    assert limits
    for name, limit in limits:
        bounds = re.findall(rf'^{name}\{{le="([\d.]+)"\}}', exposition(), re.MULTILINE)
        assert float(limit) in sorted(map(float, bounds))[:-1]  # and one it has a bucket for is told exactly


def test_alerts_have_unique_names_a_severity_and_a_sentence() -> None:
    assert len({rule["alert"] for rule in ALERTS}) == len(ALERTS)
    for rule in ALERTS:
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"]["summary"]


@pytest.mark.parametrize(("lost_ago_s", "fires"), [(None, False), (1, True), (899, True), (901, False)])
def test_a_lost_database_is_told_for_a_quarter_of_an_hour(lost_ago_s: float | None, fires: bool) -> None:
    metrics = Metrics(CollectorRegistry())
    if lost_ago_s is not None:
        metrics.database_lost_at.set(NOW_S - lost_ago_s)
    [expression] = [rule["expr"] for rule in ALERTS if rule["alert"] == "CoincideDatabaseLost"]
    assert bool(Evaluation(scraped(alerting=metrics.registry), NOW_S).firing(expression)) == fires


@pytest.mark.parametrize(("writes", "fires"), [((1.0,), False), ((0.0, 1.0), False), ((0.0, 0.0), True)])
def test_somebody_is_told_where_no_process_writes(writes: tuple[float, ...], fires: bool) -> None:
    processes = [Metrics(CollectorRegistry()) for _ in writes]
    for metrics, value in zip(processes, writes, strict=True):
        metrics.writes.set(value)
    samples = scraped(**{f"alerting-{nth}": metrics.registry for nth, metrics in enumerate(processes)})
    [expression] = [rule["expr"] for rule in ALERTS if rule["alert"] == "CoincideNobodyWrites"]
    assert bool(Evaluation(samples, NOW_S).firing(expression)) == fires


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
    """Alertmanager itself says so."""
    config = DEPLOY.parent / "config" / "alertmanager.yml"
    named = {route["receiver"] for route in [of_yaml(config)["route"], *of_yaml(config)["route"]["routes"]]}
    assert named == {each["name"] for each in of_yaml(config)["receivers"]}
    [receiver] = load_receivers(DEPLOY.parent / "config" / "compose" / "receivers.yaml", {})
    assert receiver.alertmanager is not None
    assert receiver.alertmanager.url == "http://alertmanager:9093"
    amtool = Path(found("prometheus-alertmanager")).with_name("amtool")
    subprocess.run([amtool, "check-config", config], check=True, capture_output=True)


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


def test_the_first_row_answers_whether_it_works_and_says_what_is_unknown() -> None:
    row = [panel for panel in EVERY_PANEL if panel["gridPos"]["y"] < 6]
    assert row[0]["type"] == "row"
    wanted = ["Up", "Ready", "Delay", "Lag", "Dead letters", "Suspended queries", "Silent sensors"]
    assert [panel["title"] for panel in row[1:]] == wanted
    assert [panel for panel in PANELS if panel["type"] == "stat"] == row[1:]
    for panel in row[1:]:
        words = [
            each for mapping in panel["fieldConfig"]["defaults"]["mappings"] for each in mapping["options"].values()
        ]
        assert {"text": "unknown", "color": "purple"} in words
        for target in panel["targets"]:  # there is a value even where there is no series
            assert target["expr"].startswith("up{") or re.search(
                r" or (vector\(-1\)|up\{.*\} \* 0 - 2)$", target["expr"]
            )


def test_queries_and_areas_can_be_chosen() -> None:
    variables = json.loads(DASHBOARD.read_text(encoding="utf-8"))["templating"]["list"]
    assert [each["name"] for each in variables] == ["query", "area"]
    asked = [target["expr"] for panel in PANELS for target in panel["targets"]]
    for variable in variables:
        [metric] = re.findall(r"label_values\((\w+), ", variable["definition"])
        assert metric in exported()
        assert any(f'{variable["name"]}=~"${variable["name"]}"' in expression for expression in asked)
