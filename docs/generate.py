"""Write what the documents say about the code from the code itself: ``python -m docs.generate`` (``make docs``)."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

import coincide
from coincide.sliding.choice import TYPICAL
from coincide.wire.contracts import CONTRACTS, Contract, ContractOfKinds
from coincide.wire.rebuild_record import RebuildRecord
from docs.asyncapi import asyncapi
from docs.rest_pages import NOTICE, rest_pages
from docs.service_records import service_schemas
from services.alerting.metrics import Metrics as AlertingMetrics
from services.alerting.records.alert import Alert
from services.alerting.server import build_app as build_alerting
from services.alerting.settings import AlertingSettings
from services.common.access.component_access import ComponentAccess, access_metrics, export_readiness
from services.common.engine.core_metrics import StatusMetrics, export_unit_costs
from services.common.engine.fusion_settings import FusionSettings
from services.common.http.query_contract import query_schema
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.kafka_log import KafkaLog
from services.common.settings import load_streams
from services.common.topics.topic_names import DEFAULT_NAMES
from services.common.topics.topics_file import load_topics
from services.console.metrics import ConsoleMetrics
from services.console.settings import ConsoleSettings
from services.history.runs.run_queue import Kept, RunQueue, RunStates
from services.ingest.app import create_app as create_ingest
from services.ingest.metrics import IngestMetrics
from services.ingest.publishing.publisher import Publisher
from services.ingest.registry.snapshot import Registry
from services.ingest.settings import IngestSettings
from services.line.forwarding.forward_metrics import ForwardMetrics
from services.line.forwarding.forward_settings import ForwardSettings, LineOwnSettings
from spark_jobs.archiving.job_metrics import ArchiveMetrics
from spark_jobs.job.batch_metrics import BatchMetrics, Lag
from spark_jobs.recovery.halt import HaltMetrics
from spark_jobs.recovery.losses import Losses
from spark_jobs.settings import ArchiveSettings, HistorySettings

ROOT = Path(__file__).parent.parent
TITLES = {"kafka": "the connection to Kafka", "line": "a line in one process"}
COMPONENTS = ("ingest", "fusion", "alerting", "archive", "history", "console")
#: The packages of the library that the Python reference shows, a page each; zensical.toml lists the same pages.
PYTHON_PACKAGES = {
    "templates": "Templates",
    "constraints": "Constraints",
    "probability": "Probability",
    "clocks": "Shared clocks",
    "places": "Places",
    "offsets": "Offsets",
    "thresholds": "Thresholds",
    "slides": "Time slides",
    "sources": "One source",
    "evidence": "Evidence",
    "joins": "Joins",
    "live": "Joins of streams, live",
    "coalescing": "Coalescing",
    "spark": "Spark DataFrames",
    "temporal": "Temporal queries",
    "queries": "Continuous queries",
    "learning": "Learning templates",
}


def documents() -> dict[str, str]:
    """Return every generated document: path below the checkout to content."""
    return {
        **_settings_pages(),
        "docs/reference/metrics.md": _metrics_page(),
        "docs/reference/topics.md": _topics_page(),
        **rest_pages(_ingest_app().openapi(), _alerting_app().openapi()),
        "docs/contracts/ingest.openapi.json": _openapi(_ingest_app()),
        "docs/contracts/alerting.openapi.json": _openapi(_alerting_app()),
        **{
            f"docs/contracts/{topic}.schema.json": _contract(topic, contract, f"Record of coincide.{topic}")
            for topic, contract in CONTRACTS.items()
        },
        **{
            f"docs/contracts/{topic}.schema.json": json.dumps(schema, indent=2) + "\n"
            for topic, schema in service_schemas().items()
        },
        "docs/contracts/alert.schema.json": _contract("alert", Contract(Alert), "Alert"),
        "docs/contracts/rebuild.schema.json": _contract(
            "rebuild", Contract(RebuildRecord), "Record of coincide.status: a rebuild"
        ),
        "docs/contracts/asyncapi.json": json.dumps(asyncapi(), indent=2) + "\n",
        "docs/contracts/query.schema.json": json.dumps(query_schema(), indent=2) + "\n",
        **_python_pages(),
    }


def settings_models() -> dict[str, type[BaseModel]]:
    """Return the settings model of each component."""
    models = (IngestSettings, FusionSettings, AlertingSettings, ArchiveSettings, HistorySettings, ConsoleSettings)
    return dict(zip(COMPONENTS, models, strict=True))


def metric_registries() -> dict[str, CollectorRegistry]:
    """Return, for each component, a registry that holds every metric it exports."""
    registries = {name: CollectorRegistry() for name in COMPONENTS}
    IngestMetrics(registries["ingest"])
    AlertingMetrics(registries["alerting"])
    BatchMetrics(registries["fusion"])
    BatchMetrics(registries["archive"], "archive")
    ArchiveMetrics(registries["archive"])
    Lag(registries["fusion"])
    export_unit_costs(TYPICAL, registries["fusion"])
    registries["fusion"].register(HaltMetrics(lambda: None))
    Losses(registries["fusion"], lambda _letters: None)
    status = StatusMetrics()
    for example in _examples("status"):  # every metric that is made from them shows
        status.take(b"shard-%d" % example["shard"], json.dumps(example).encode())
    registries["fusion"].register(status)
    registries["history"].register(RunStates(RunQueue(ROOT / "none", lambda *_: None, Kept(0))))
    ConsoleMetrics(registries["console"])
    for name in COMPONENTS:
        export_readiness(registries[name], lambda: True)
        if name != "console":  # it follows no keys, and counts its own refusals
            access_metrics(name, registries[name])
    ForwardMetrics(registries.setdefault("forwarding", CollectorRegistry()))
    export_readiness(registries["forwarding"], lambda: True)
    access_metrics("forwarding", registries["forwarding"])
    return registries


def _contract(name: str, contract: Contract | ContractOfKinds, title: str) -> str:
    """Return the JSON Schema of a record, with the examples that lie beside it."""
    return json.dumps(contract.schema(title, _examples(name)), indent=2) + "\n"


def _examples(name: str) -> list[Any]:
    file = ROOT / "docs/contracts/examples" / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else []


def _settings_pages() -> dict[str, str]:
    """Return a page for each component and for the connection to Kafka, and one that leads to them."""
    tables = {name: _settings_table(model) for name, model in settings_models().items()}
    pages = {
        "kafka": "The connection to Kafka is declared once for all components and commands. `COINCIDE_KAFKA_<FIELD>` "
        "replaces a field, and so does the setting `kafka` of one component, for it alone. "
        f"[Connect to Kafka](../../how-to/connect-to-kafka.md) has examples.\n\n{_settings_table(KafkaConnection)}",
        **tables,
        "line": "They hold for [a line in one process](../../how-to/run-in-one-process.md). `COINCIDE_LINE_<FIELD>` "
        f"replaces a field.\n\n{_settings_table(LineOwnSettings)}\n\n## forward\n\n"
        f"[Forward to a line above](../../how-to/forward.md) says what they do.\n\n{_settings_table(ForwardSettings)}",
    }
    folder = "docs/reference/settings"
    links = "".join(f"\n| [{name}](settings/{name}.md) | `config/{name}.yaml` |" for name in pages)
    introduction = (
        "Each component reads a YAML file (`--config`), then the environment: `COINCIDE_<COMPONENT>_<FIELD>` replaces "
        "a field. An unknown field is refused. Settings are read once, at start."
    )
    return {
        f"{folder}.md": f"# Settings\n\n{NOTICE}\n\n{introduction}\n\n| settings of | file |\n|---|---|{links}\n",
        **{
            f"{folder}/{name}.md": f"# Settings of {TITLES.get(name, name)}\n\n{NOTICE}\n\n{content}\n"
            for name, content in pages.items()
        },
    }


def _settings_table(model: type[BaseModel]) -> str:
    rows = "".join(f"\n{_setting_row(name, field)}" for name, field in model.model_fields.items())
    return f"| field | default | meaning |\n|---|---|---|{rows}"


def _setting_row(name: str, field: Any) -> str:
    default = field.get_default(call_default_factory=True)
    shown = "required" if default is PydanticUndefined else f"`{_plain(default)}`"
    bounds = ", ".join(filter(None, (_bound(rule) for rule in field.metadata)))
    allowed = f" Allowed: {bounds}." if bounds else ""
    return f"| `{name}` | {shown} | {field.description or ''}{allowed} |".replace("\n", " ")


def _bound(rule: object) -> str:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    return " ".join(f"{sign} {getattr(rule, name)}" for name, sign in signs.items() if hasattr(rule, name))


def _plain(default: object) -> str:
    if isinstance(default, BaseModel):
        return json.dumps(default.model_dump(exclude_defaults=True))
    return json.dumps(str(default) if isinstance(default, Path) else default)


def _metrics_page() -> str:
    lines = [
        "# Metrics",
        NOTICE,
        "Prometheus text at `/metrics` of each component: ingest (8010), alerting (8020), fusion (8030), archive "
        "(8040) and history (8050). Forwarding is a component of [a line in one process](../how-to/forward.md). "
        "Counters are exported with the suffix `_total`, histograms with `_bucket`, `_sum`, `_count`.",
    ]
    for component, registry in metric_registries().items():
        rows = "".join(
            f"\n| `{name}` | {kind} | {labels} | {text} |" for name, kind, labels, text in _metrics(registry)
        )
        lines += [f"## {component}", f"| metric | kind | labels | meaning |\n|---|---|---|---|{rows}"]
    return "\n\n".join(lines) + "\n"


def _metrics(registry: CollectorRegistry) -> Iterator[tuple[str, str, str, str]]:
    for collector in dict.fromkeys(registry._collector_to_names):
        labels = getattr(collector, "_labelnames", None)
        for family in collector.collect():
            names = labels if labels is not None else {key for sample in family.samples for key in sample.labels}
            shown = ", ".join(f"`{label}`" for label in sorted(names))
            suffix = "_total" if family.type == "counter" else ""
            yield family.name + suffix, family.type, shown, family.documentation


def _topics_page() -> str:
    rows = "".join(
        f"\n| `{name}` | {topic.partitions} | {_configs(topic.configs)} |"
        for name, topic in load_topics(ROOT / "config/topics.yaml").items()
    )
    return (
        f"# Topics\n\n{NOTICE}\n\nDeclared in `config/topics.yaml`, created by "
        "`python -m services.common.topics`. Each name begins with `topic_prefix`, here the one as shipped. "
        "The records' JSON Schemas are in `docs/contracts/`, and [asyncapi.json](../contracts/asyncapi.json) lists "
        "all topics and the live stream with them.\n\n"
        f"| topic | partitions | settings |\n|---|---|---|{rows}\n\n{_frames_section()}"
    )


#: Reads frames and writes a line for each detection; heartbeats have none.
JQ_LINES = """. as {$area, $stamps, detections: $of} | range($of.id | length) as $n
  | {$area} + $stamps[$of.stamp[$n]]
  + {id: $of.id[$n], detected_at_us: $of.detected_at_us[$n], attributes: ($of.attributes[$n] // {})}"""


def _frames_section() -> str:
    schema = json.loads((ROOT / "docs/contracts/detections.schema.json").read_text(encoding="utf-8"))
    return f"""## Detections, in columns

A record of `coincide.detections` is a *frame*: the detections of one POST that share an area. Its `stamps` say what
detections share: sensor, stream and template. Its columns in `detections` have one length, and the entries at one
position are one detection. The entry of `stamp` is a position in `stamps`. There is no column `attributes` if no
detection of the frame has any. `templates` holds each template that a stamp names. The record's key is the area. A
record without a key is a heartbeat.

```json
{_frame_text(schema["examples"][0])}
```

kcat reads the topic, and jq writes a line for each detection:

<!-- run by tests/docs/test_examples_in_pages.py -->

```sh
kcat -b 127.0.0.1:9092 -C -t coincide.detections -e -f '%s\\n' | jq -c '
  {JQ_LINES}'
```
"""


def _frame_text(frame: dict[str, Any]) -> str:
    members = [f'"{name}": {json.dumps(value)}' for name, value in frame.items() if name != "detections"]
    columns = [f'"{name}": {json.dumps(column)}' for name, column in frame["detections"].items()]
    return "{" + ",\n ".join([*members, '"detections": {\n  ' + ",\n  ".join(columns) + "}}"])


def _configs(configs: dict[str, str]) -> str:
    return ", ".join(f"`{key}={value}`" for key, value in configs.items())


def _python_pages() -> dict[str, str]:
    folder = "docs/reference/python"
    pages = {
        f"{folder}/{name}.md": f"# {title}\n\n{NOTICE}\n\n::: coincide.{name}\n"
        for name, title in PYTHON_PACKAGES.items()
    }
    links = "".join(f"\n| [{title}]({name}.md) | `coincide.{name}` |" for name, title in PYTHON_PACKAGES.items())
    pages[f"{folder}/index.md"] = "\n\n".join(
        [
            "# Python",
            NOTICE,
            "The library needs numpy and nothing else. It reads no files and no clock. Times are whole microseconds, "
            "lengths of templates and windows are seconds, and arrays are numpy's. These pages come from docstrings.",
            "| page | package |\n|---|---|" + links,
            "## Names at the top",
            "`import coincide as cc` has these names. All others are in their package.",
            "| name | what it is |\n|---|---|" + "".join(_top_names()),
        ]
    )
    pages[f"{folder}/index.md"] += "\n"
    return pages


def _top_names() -> Iterator[str]:
    for name in sorted(set(coincide.__all__) - {"__version__"}, key=lambda name: (name.lower(), name)):
        summary = (
            (inspect.getdoc(getattr(coincide, name)) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
        )
        yield f"\n| `{name}` | {summary} |"


def _ingest_app() -> Any:
    metrics = IngestMetrics(CollectorRegistry())
    settings, registry = IngestSettings(), Registry(load_streams(ROOT / "config/streams.yaml"))
    log = KafkaLog(KafkaConnection(servers="127.0.0.1:9092"))  # which nobody connects
    never_started = Publisher(log, metrics, timeout_s=1, most_bytes=0, names=DEFAULT_NAMES)
    access = ComponentAccess("ingest", settings, CollectorRegistry())
    return create_ingest(settings, registry, never_started, metrics, audit=access.audit)


def _alerting_app() -> Any:
    settings = AlertingSettings(
        database_url="sqlite:///never-opened.sqlite3", streams_path=ROOT / "config/streams.yaml", queries_path=None
    )
    return build_alerting(settings).application


def _openapi(app: Any) -> str:
    return json.dumps(app.openapi(), indent=2, sort_keys=True) + "\n"


def main() -> None:
    """Write every generated document."""
    for path, content in documents().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
