"""What people change while detections come: queries, templates of sensors; and a rebuild. None of it is a fault."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx2

from deploy.host.machine import LocalError, wait_until
from trials.chaos.faults.fault import Fault, Place, fault
from trials.chaos.faults.rebuilding import rebuild
from trials.chaos.load import HALF_TEMPLATE_S, QUERY, STREAM

CHANGED = "changed"
CHANGES_ANY, MAKES_NEW = {"If-Match": "*"}, {"If-None-Match": "*"}
CHANGED_S = (2.0, 6.0)
WIDER = 1.5
_TAKEN_WITHIN_S = 60.0
_WIDE = {**QUERY, "within": [{"between": ["a", "b"], "window_s": 0.3, "threshold": 0.2}]}


def _ask(base: str, method: str, path: str, content: Any = None, headers: Mapping[str, str] = CHANGES_ANY) -> None:
    """Ask until it is taken; a component may just be starting again, and Kafka may just have come back.

    What is new may be there by then: a request that nobody waited for any longer was taken, too.
    """
    said: list[str] = []

    def is_taken() -> bool:
        try:
            answer = httpx2.request(method, base + path, json=content, headers=dict(headers), timeout=10.0)
        except httpx2.HTTPError as error:
            said.append(str(error))
            return False
        said.append(answer.text)
        return answer.is_success or (headers is MAKES_NEW and answer.status_code == httpx2.codes.PRECONDITION_FAILED)

    if not wait_until(is_taken, _TAKEN_WITHIN_S, every_s=0.5):
        raise LocalError(f"{method} {path} was not taken: {said[-1]}")


@contextmanager
def _changed_query(place: Place) -> Iterator[None]:
    """Add a query, change its threshold and its window, pause and resume it, remove it; the steady one stays."""
    alerting, path = place.system.layout.url("alerting"), f"/v1/queries/{CHANGED}"
    _ask(alerting, "PUT", path, QUERY, MAKES_NEW)
    _ask(alerting, "PATCH", f"{path}/threshold", {"threshold": 0.6})
    yield
    for act in ("pause", "resume"):
        _ask(alerting, "POST", f"{path}/{act}")
    _ask(alerting, "PUT", path, _WIDE)
    _ask(alerting, "DELETE", path)


@contextmanager
def _changed_template(place: Place) -> Iterator[None]:
    """Give a sensor a wider template for a while."""
    area = place.random.choice(sorted(place.load.gateways))
    _set_template(place, area, WIDER * HALF_TEMPLATE_S)
    yield
    _set_template(place, area, HALF_TEMPLATE_S)


def _set_template(place: Place, area: str, half_s: float) -> None:
    sensor = {"area": area, "streams": {STREAM: {"uniform": [-half_s, half_s]}}}
    _ask(place.system.layout.url("ingest"), "PUT", f"/v1/sensors/{area}-a", sensor)


@contextmanager
def _rebuilt(place: Place) -> Iterator[None]:
    rebuild(place)
    yield


CHANGES: list[Fault] = [
    fault("changes of a query", _changed_query, lasts_s=CHANGED_S),
    fault("changes of a template", _changed_template, lasts_s=CHANGED_S),
    fault("rebuild", _rebuilt, "fusion"),
]
