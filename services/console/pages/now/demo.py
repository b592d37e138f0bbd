"""The demo: what a page has to send so that the neutrinos of 1987 are seen, and that it is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from services.console.rest.answers import PageAnswer, SensorAnswer
from services.console.rest.query_answers import QueryAnswer, QueryListAnswer
from services.console.rest.sensor_answers import StreamListAnswer
from services.console.rest.services import Rest, RestError, Service, path_of

EXAMPLE = Path("config/examples/sn1987a")
AREA, STREAM, QUERY = "sn1987a", "neutrino", "sn1987a-two-of-three"
APPLIED_WITHIN_S, LOOK_EVERY_S = 60.0, 0.5


class Step(NamedTuple):
    """One request of the demo, and what it does, in words."""

    words: str
    method: str
    service: Service
    path: str
    body: Any


def is_there() -> bool:
    """Whether the example's files are where the console runs."""
    return (EXAMPLE / "templates.json").is_file()


def steps() -> Iterator[Step]:
    """Yield all requests, in order: a stream, the detectors with their clocks, a query, and what was seen."""
    templates = json.loads((EXAMPLE / "templates.json").read_text())
    stream = {"max_delay_s": 120, "longest_template_s": 300}
    yield Step(f"the stream {STREAM}", "PUT", "ingest", path_of("v1", "streams", STREAM), stream)
    for sensor, template in templates.items():
        body = {"area": AREA, "streams": {STREAM: template}}
        yield Step(f"the sensor {sensor}", "PUT", "ingest", path_of("v1", "sensors", sensor), body)
    query = {**json.loads((EXAMPLE / "two-of-three.json").read_text()), "coalesce": {"gap_s": 10}}
    yield Step(f"the query {QUERY}", "PUT", "alerting", path_of("v1", "queries", QUERY), query)
    lines = [line for sensor in templates for line in (EXAMPLE / f"{sensor}.ndjson").read_text().splitlines()]
    seen = [json.loads(line) for line in lines]
    yield Step(f"{len(seen)} detections", "POST", "ingest", "/v1/detections", seen)


async def load_demo(rest: Rest, say: Callable[[str], object]) -> None:
    """Send what the system lacks, then the detections; a `RestError` says why it cannot be."""
    there = await _declared(rest)
    *declarations, detections = steps()
    for step in declarations:
        if step.path not in there:
            say(f"Sends {step.words} …")
            await rest.send(step.method, step.service, step.path, step.body)
    say("Waits for fusion to take the query …")
    await _until(lambda: _is_applied(rest))
    say(f"Sends {detections.words} …")
    await rest.send(detections.method, detections.service, detections.path, detections.body)
    say("Sent. What happened stands above within some seconds.")


async def _declared(rest: Rest) -> set[str]:
    """Return the paths of what the system has already: that stays as it is."""
    streams = await rest.get(StreamListAnswer, "ingest", "/v1/streams")
    sensors = await rest.get(PageAnswer[SensorAnswer], "ingest", "/v1/sensors", {"area": AREA})
    queries = await rest.get(QueryListAnswer, "alerting", "/v1/queries")
    names = [("streams", each.name) for each in streams.items]
    names += [
        (kind, each.id) for kind, items in (("sensors", sensors.items), ("queries", queries.items)) for each in items
    ]
    return {path_of("v1", kind, name) for kind, name in names}


async def _is_applied(rest: Rest) -> bool:
    query = await rest.get(QueryAnswer, "alerting", path_of("v1", "queries", QUERY))
    return query.applied_version == query.version


async def _until(holds: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(round(APPLIED_WITHIN_S / LOOK_EVERY_S)):
        if await holds():
            return
        await asyncio.sleep(LOOK_EVERY_S)
    raise RestError(f"fusion has not taken the query {QUERY} within {APPLIED_WITHIN_S:.0f} s: see the page Health")
