"""The first row of the dashboard, as Grafana would colour it: each panel's expressions asked of a real Prometheus."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from deploy.host.machine import ROOT

DASHBOARD = ROOT / "deploy" / "grafana" / "dashboards" / "coincide.json"
GOOD = frozenset({"green", "text"})
KNOWN = GOOD | {"orange"}  # a value that is known and not wrong: a busy machine is slow
BLANK = "blank"
#: What Grafana puts in the place of its variables, where everything is chosen and Prometheus scrapes every 5 s.
VARIABLES = {"$__rate_interval": "20s", "$query": ".*", "$area": ".*"}

Samples = list[tuple[dict[str, str], float]]


@dataclass(frozen=True)
class Shown:
    """What a panel shows of one series, and in which colour."""

    panel: str
    series: str
    text: str
    colour: str

    @property
    def is_lit(self) -> bool:
        """Whether it says that something is wrong, rather than that something is not known."""
        return self.colour == "red"


def panels() -> list[dict[str, Any]]:
    """Return every panel of the dashboard, rows left out."""
    every = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return [panel for panel in every if panel["type"] != "row"]


def first_row() -> list[dict[str, Any]]:
    return [panel for panel in panels() if panel["type"] == "stat"]


def expression_of(target: dict[str, Any]) -> str:
    """Return what a panel asks, with Grafana's variables put in."""
    expression = str(target["expr"])
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    return expression


def shown(ask: Callable[[str], Samples]) -> Iterator[Shown]:
    """Yield what each panel of the first row shows now."""
    for panel in first_row():
        for target in panel["targets"]:
            samples = ask(expression_of(target))
            if not samples:
                yield Shown(panel["title"], target["legendFormat"], BLANK, BLANK)
            for labels, value in samples:
                yield Shown(panel["title"], _legend(target, labels), *_drawn(panel, value))


def _legend(target: dict[str, Any], labels: dict[str, str]) -> str:
    legend = str(target["legendFormat"])
    for name, value in labels.items():
        legend = legend.replace(f"{{{{{name}}}}}", value)
    return legend


def _drawn(panel: dict[str, Any], value: float) -> tuple[str, str]:
    defaults = panel["fieldConfig"]["defaults"]
    for mapping in defaults.get("mappings", []):
        options = mapping["options"]
        if mapping["type"] == "value" and (drawn := options.get(f"{value:g}")):
            return drawn["text"], drawn["color"]
        if mapping["type"] == "special" and options["match"] == "nan" and math.isnan(value):
            return options["result"]["text"], options["result"]["color"]
    steps = defaults["thresholds"]["steps"]
    reached = [step for step in steps if step["value"] is None or value >= step["value"]]
    return f"{value:.3g}", reached[-1]["color"]
