"""The examples of docs/contracts, as seeds."""

import json
from typing import Any

from deploy.host.machine import ROOT


def examples(name: str) -> list[dict[str, Any]]:
    text = (ROOT / "docs" / "contracts" / f"{name}.schema.json").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = json.loads(text)["examples"]
    return found
