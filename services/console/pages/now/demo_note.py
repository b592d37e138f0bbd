"""The demo: what a page has to send so that the neutrinos of 1987 are seen, and that it is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, NamedTuple

from services.common.settings import read_yaml
from services.common.shipped_config import SHIPPED_CONFIG
from services.console.rest.query_answers import QueryAnswer
from services.console.rest.services import ChangeRequest, Rest, RestError, Service, path_of

EXAMPLE = SHIPPED_CONFIG / "examples/sn1987a"
AREA, STREAMS, QUERY = "sn1987a", ("neutrino", "burst"), "supernova"
PATH = f"/v1/queries/{QUERY}"
IS_THERE = 412
APPLIED_WITHIN_S, LOOK_EVERY_S = 60.0, 0.5


class DemoStep(NamedTuple):
    """One request of the demo, and what it sends, in words."""

    words: str
    change: ChangeRequest


def is_there() -> bool:
    """Whether the example's files are where the console runs."""
    return (EXAMPLE / "bursts.ndjson").is_file()


def steps() -> Iterator[DemoStep]:
    """Yield all requests, in order: streams, clocks, detectors, a query, and what was seen, the bursts last."""
    streams, sensors, queries = (_configured(name) for name in ("streams", "sensors", "queries"))
    for stream in STREAMS:
        path = path_of("v1", "streams", stream)
        yield _declared(f"the stream {stream}", "ingest", path, streams["streams"][stream])
    detectors = [each for each in sensors["sensors"] if each["area"] == AREA]
    for clock in (each["clock"] for each in detectors if "clock" in each):
        yield _declared(f"the clock {clock}", "ingest", path_of("v1", "clocks", clock), sensors["clocks"][clock])
    for detector in detectors:
        path = path_of("v1", "sensors", detector["id"])
        yield _declared(f"the sensor {detector['id']}", "ingest", path, _sensor(detector, sensors["templates"]))
    [query] = [each for each in queries["queries"] if each["id"] == QUERY]
    yield _declared(f"the query {QUERY}", "alerting", PATH, {name: query[name] for name in query if name != "id"})
    files = [*(detector["id"] for detector in detectors), "bursts"]
    seen = [json.loads(line) for name in files for line in (EXAMPLE / f"{name}.ndjson").read_text().splitlines()]
    yield DemoStep(f"{len(seen)} detections", ChangeRequest("POST", "ingest", "/v1/detections", seen))


def _configured(name: str) -> Any:
    return read_yaml(SHIPPED_CONFIG / f"{name}.yaml")


def _sensor(declared: dict[str, Any], templates: dict[str, Any]) -> dict[str, Any]:
    """Return the body that defines a sensor of the file, with its templates in place of their names."""

    def in_full(said: Any) -> Any:
        return templates[said] if isinstance(said, str) else {part: templates[name] for part, name in said.items()}

    streams = {stream: in_full(said) for stream, said in declared["streams"].items()}
    return {**{name: declared[name] for name in declared if name != "id"}, "streams": streams}


def _declared(words: str, service: Service, path: str, body: Any) -> DemoStep:
    """Return what declares something that the system lacks; what it has stays as it is."""
    return DemoStep(words, ChangeRequest("PUT", service, path, body, {"If-None-Match": "*"}))


async def load_demo(rest: Rest, say: Callable[[str], object]) -> None:
    """Send what the system lacks, then the detections; a `RestError` says why it cannot be."""
    *declarations, detections = steps()
    for step in declarations:
        say(f"Sends {step.words} …")
        try:
            await rest.make(step.change)
        except RestError as error:
            if error.status != IS_THERE:
                raise
    say("Waits for fusion to take the query …")
    await _until(lambda: _is_applied(rest))
    say(f"Sends {detections.words} …")
    await rest.make(detections.change)
    say("Sent. What happened stands above within some seconds.")


def commands(rest: Rest) -> str:
    """Return the commands that load the demo, and wait for fusion as `load_demo` does."""
    *declarations, detections = (rest.command(each.change) for each in steps())
    look = f"{rest.curl('GET', 'alerting', PATH)} --silent"
    wait = f"until {look} | grep -q '\"applied_version\": *[0-9]'; do sleep 1; done"
    return "\n".join([*declarations, wait, detections])


async def _is_applied(rest: Rest) -> bool:
    query = await rest.get(QueryAnswer, "alerting", PATH)
    return query.applied_version == query.version


async def _until(holds: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(round(APPLIED_WITHIN_S / LOOK_EVERY_S)):
        if await holds():
            return
        await asyncio.sleep(LOOK_EVERY_S)
    raise RestError(f"fusion has not taken the query {QUERY} within {APPLIED_WITHIN_S:.0f} s: see the page Health")
