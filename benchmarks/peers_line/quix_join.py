"""Quix Streams' interval join, run by the Python of its own environment: `python quix_join.py SETTINGS`."""

from __future__ import annotations

import json
import sys
from typing import Any

from quixstreams import Application


def merged(seismic: dict[str, Any], acoustic: dict[str, Any]) -> dict[str, Any]:
    sent = max(seismic["sent"], acoustic["sent"])
    return {"seismic": seismic["id"], "acoustic": acoustic["id"], "sent": sent}


def main(given: dict[str, Any]) -> None:
    app = Application(
        broker_address=given["bootstrap"],
        consumer_group=given["results"],
        auto_offset_reset="earliest",
        state_dir=given["folder"],
        loglevel="WARNING",
    )
    seismic, acoustic = (app.dataframe(app.topic(given["prefix"] + of)) for of in ("seismic", "acoustic"))
    joined = seismic.join_interval(
        acoustic,
        on_merge=merged,
        grace_ms=round(given["delay_s"] * 1e3),
        backward_ms=given["window_ms"],
        forward_ms=given["window_ms"],
    )
    joined.to_topic(app.topic(given["results"]))
    app.run()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
