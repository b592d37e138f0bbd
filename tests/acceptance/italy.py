"""The Central Italy hour as a running system gets it: its streams, its sensors in several areas, its queries.

Each scenario has an area of its own with all stations in it: areas are never joined, so one system serves them all.
"""

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from coincide import Histogram
from tests.reference import central_italy
from tests.reference.central_italy import Pick
from tests.reference.oracle import Detection, QueryVersion
from tests.reference.pair_probability import Template

SHUFFLED_OVER_US = 60_000_000  # together with a round of gateways it stays below max_delay_s, 120 s
OWN_S = QueryVersion("own-s", 1, (("p", "p_pick"), ("s", "s_pick")), 0.5, 8.0, 0.9, "same")
NEIGHBOURS = QueryVersion("neighbours", 1, (("one", "p_pick"), ("other", "p_pick")), -1.0, 1.0, 0.6, "different")
# Two exact detections in one area: their match says that all that went before them is dealt with.
BELL = QueryVersion("bell", 1, (("one", "bell"), ("other", "bell")), -0.001, 0.001, 1.0, "different")

STREAMS = {
    name: {"max_delay_s": 120, "longest_template_s": 10}
    for name in ("p_pick", "s_pick", "p_live", "s_live", "p_many", "p_own", "bell")
}
BELLS = ("bell-one", "bell-other")
POINT = Template((0.0, 0.0), (1.0,))


def sensor_id(area: str, station: str) -> str:
    return f"{area}.{station}"


def write_configuration(folder: Path, areas: Iterable[str]) -> dict[str, str]:
    """Write streams.yaml and sensors.yaml; return the environment that makes the system use them."""
    picked = {name: name[0].upper() for name in STREAMS if name != "bell"}
    stations = sorted({pick.station for pick in central_italy.picks()})
    of_sensor = {**dict.fromkeys(stations, picked), **{bell: {"bell": "exact"} for bell in BELLS}}
    sensors = [
        {"id": sensor_id(area, name), "area": area, "streams": streams}
        for area in areas
        for name, streams in of_sensor.items()
    ]
    measured = {
        phase: {"edges_s": list(each.edges_s), "mass": list(each.mass)}
        for phase, each in central_italy.templates().items()
    }
    declared = {"templates": {**measured, "exact": {"point": True}}, "sensors": sensors}
    (folder / "sensors.yaml").write_text(yaml.safe_dump(declared), encoding="utf-8")
    (folder / "streams.yaml").write_text(yaml.safe_dump({"streams": STREAMS}), encoding="utf-8")
    components = ("INGEST", "FUSION", "ALERTING", "ARCHIVE", "HISTORY")
    streams = {f"COINCIDE_{each}_STREAMS_PATH": f'"{folder / "streams.yaml"}"' for each in components}
    return {
        **streams,
        "COINCIDE_INGEST_SENSORS_PATH": f'"{folder / "sensors.yaml"}"',
        "COINCIDE_ALERTING_QUERIES_PATH": "null",
        "COINCIDE_FUSION_QUIET_S": "null",  # history: a pause between two phases says nothing about the hour,
        "COINCIDE_INGEST_HEARTBEAT_S": "null",  # and so it is where nobody tells what time it is
    }


def archived(folder: Path) -> dict[str, str]:
    """Return the environment by which a system has an archive."""
    return {"COINCIDE_ARCHIVE_PATH": f'"{folder / "archive"}"', "COINCIDE_ARCHIVE_INTERVAL_S": "1"}


def arrivals(seed: int) -> list[Pick]:
    """Return the hour's picks in an order in which they might arrive: each up to a minute late, at random."""
    delay = random.Random(seed)
    return sorted(central_italy.picks(), key=lambda pick: pick.detected_at_us + delay.uniform(0, SHUFFLED_OVER_US))


def parts(seed: int, count: int) -> list[list[Pick]]:
    """Cut the hour's `arrivals` into ``count`` parts of a size, the last a little smaller."""
    picks = arrivals(seed)
    size = -(-len(picks) // count)
    return [picks[begin : begin + size] for begin in range(0, len(picks), size)]


def posted(area: str, pick: Pick, streams: str = "pick") -> dict[str, Any]:
    """Return a pick as a gateway posts it; ``streams`` is "pick", "live" or "many"."""
    return {
        "sensor": sensor_id(area, pick.station),
        "stream": f"{pick.phase.lower()}_{streams}",
        "detected_at": pick.detected_at_us,
        "attributes": {"phase": pick.phase},
    }


def bells(area: str, at_us: int, name: str) -> list[dict[str, Any]]:
    """Return the exact detections of both bells at a time, which `BELL` matches; their ids begin with `name`."""
    return [{"sensor": sensor_id(area, bell), "detected_at": at_us, "id": f"{name} {bell}"} for bell in BELLS]


def as_oracle_sees(area: str, pick: Pick, identity: str, phase: int = 0, streams: str = "pick") -> Detection:
    """Return what the oracle is told of a pick that was accepted as ``identity``."""
    stream = f"{pick.phase.lower()}_{streams}"
    template = central_italy.templates()[pick.phase]
    return Detection(area, sensor_id(area, pick.station), identity, stream, pick.detected_at_us, template, phase)


def histogram(template: Template) -> Histogram:
    return Histogram(template.edges_s, template.mass)


def document(query: QueryVersion) -> dict[str, Any]:
    (first, _), (second, _) = query.roles
    edge = {"between": [first, second], "lo_s": query.lo_s, "hi_s": query.hi_s, "threshold": query.threshold}
    return {"from": dict(query.roles), "within": [edge], "sensors": query.sensors}
