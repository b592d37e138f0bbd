"""What a key may do: scopes, which of them a request needs, and for which areas and sensors a gateway may post."""

from __future__ import annotations

import re
from enum import StrEnum
from fnmatch import translate
from typing import Self

from services.common.http.document_page import DOCUMENT_PAGE_PATHS


class KeyScope(StrEnum):
    """What a key may do; one with `admin` may do everything."""

    meaning: str

    def __new__(cls, name: str, meaning: str) -> Self:
        """Make a scope with its meaning."""
        scope = str.__new__(cls, name)
        scope._value_ = name
        scope.meaning = meaning
        return scope

    INGEST = "ingest", "post detections, of the key's areas and sensors"
    READ = "read", "read everything but keys and the audit trail; metrics, too"
    QUERIES = "queries", "create, change and remove queries, and start and delete runs over history"
    ALERTS = "alerts", "acknowledge alerts and silence them"
    ADMIN = (
        "admin",
        "everything: keys, receivers, sensors, streams, templates, rebuilds, audit trail, and all others",
    )


#: Whoever runs the process asks these, and they say nothing about what it works on. Nor does the page that shows the
#: OpenAPI document; a browser asks for it before anybody could show a key.
OPEN_PATHS = frozenset({"/livez", "/readyz", *DOCUMENT_PAGE_PATHS})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_OF_CHANGES = {
    "detections": KeyScope.INGEST,
    "queries": KeyScope.QUERIES,
    "history-runs": KeyScope.QUERIES,
    "learning-runs": KeyScope.QUERIES,  # it proposes; to accept takes admin
    "alerts": KeyScope.ALERTS,
    "silences": KeyScope.ALERTS,
}
#: Their POSTs change nothing: one brings a query, and the other has a run done that counts only.
_ASKING = frozenset({"/v1/queries/{id}/explain", "/v1/queries/{id}/what-if"})
_SECRETIVE = frozenset({"keys", "audit"})


def needed_scope(method: str, route: str | None) -> KeyScope | None:
    """Return the scope that a request needs; None for one that needs no key. What is not listed here needs admin.

    `route` is how the route that the request is for is written; None where there is none, and so nothing to be had.
    """
    if route in OPEN_PATHS:
        return None
    collection = route.split("/", 3)[2] if route and route.startswith("/v1/") else ""
    if collection in _SECRETIVE:
        return KeyScope.ADMIN
    is_reading = method in _READING or (method == "POST" and route in _ASKING)
    return KeyScope.READ if is_reading else _OF_CHANGES.get(collection, KeyScope.ADMIN)


class PostingRights:
    """For which areas and sensors a key may post: those of which both names match one of its patterns.

    Verdicts are kept for so many sensors; a gateway has few.
    """

    MOST_KEPT = 10_000

    def __init__(self, areas: tuple[str, ...], sensors: tuple[str, ...]) -> None:
        self.areas, self.sensors = areas, sensors
        self._is_area, self._is_sensor = _matcher(areas), _matcher(sensors)
        self._kept: dict[tuple[str, str], bool] = {}

    def cover(self, area: str, sensor: str) -> bool:
        """Whether detections of this sensor, which is in this area, may be posted."""
        verdict = self._kept.get((area, sensor))
        if verdict is None:
            verdict = bool(self._is_area.match(area) and self._is_sensor.match(sensor))
            if len(self._kept) < self.MOST_KEPT:
                self._kept[area, sensor] = verdict
        return verdict

    def cover_in_some_area(self, sensor: str) -> bool:
        """Whether they may be posted in some area, as far as the name of the sensor goes."""
        return bool(self._is_sensor.match(sensor))

    def __str__(self) -> str:
        return f"areas {', '.join(self.areas)} and sensors {', '.join(self.sensors)}"


def _matcher(globs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(translate(glob) for glob in globs))
