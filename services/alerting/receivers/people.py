"""People: e-mail, chat and telephone, through Apprise."""

import logging
from importlib.util import find_spec

from services.alerting.alerts.groups import group_words
from services.alerting.receivers.connections import DeliveryError, MakePoster
from services.alerting.records.alert import Alert
from services.alerting.records.receiver import PeopleWay
from services.alerting.store.delivery_rows import Waiting
from services.common.clock import in_rfc_3339

logging.getLogger("apprise").setLevel(logging.CRITICAL)  # what it logs of a failure may name the URL


class PeopleSender:
    """Tells some people, each URL by itself: who was told is not told again because another could not be."""

    def __init__(self, way: PeopleWay, _: MakePoster) -> None:
        self._urls = way.urls
        self._told: set[tuple[str, int]] = set()

    def send(self, waiting: Waiting) -> None:
        """Send one message to each; a `DeliveryError` says how many did not get it."""
        failed = [number for number, url in enumerate(self._urls) if not self._tell(number, url, waiting)]
        if failed:
            kinds = ", ".join(sorted({self._urls[number].partition("://")[0] for number in failed}))
            raise DeliveryError(f"{len(failed)} of {len(self._urls)} could not be told ({kinds})")
        self._told -= {(waiting.key, number) for number in range(len(self._urls))}

    def _tell(self, number: int, url: str, waiting: Waiting) -> bool:
        if (waiting.key, number) in self._told:
            return True
        if find_spec("apprise") is None:
            raise DeliveryError("people are told by an extra that is not installed: pip install 'coincide[people]'")
        from apprise import Apprise  # noqa: PLC0415 - half a second and 20 MB that only those with people need

        service = Apprise()
        told = service.add(url) and service.notify(title=subject_of(waiting), body=text_of(waiting.alert))
        if told:
            self._told.add((waiting.key, number))
        return bool(told)

    def close(self) -> None:
        """Do nothing: no connection is kept."""


def subject_of(waiting: Waiting) -> str:
    """Return the line that says what has happened to which alert."""
    return f"[{waiting.change}] {waiting.alert.severity}: {waiting.alert.title}"


def text_of(alert: Alert) -> str:
    """Return what people read of an alert, a line for each thing that it has."""
    spans = {"from": alert.start_us, "to": alert.end_us, "fired": alert.fired_at_us, "resolved": alert.resolved_at_us}
    probability = None if alert.probability is None else f"{alert.probability:.4g}"
    figures = {"probability": probability, "members": None if alert.members is None else str(alert.members)}
    lines = {
        "": alert.text,
        "query": alert.query,
        "area": alert.area,
        "group": group_words(alert.group),
        "stream": alert.stream,
        **figures,
        **{name: None if at_us is None else in_rfc_3339(at_us) for name, at_us in spans.items()},
        "resolved because": alert.resolved_because,
        "alert": alert.id,
        "read": alert.docs,
    }
    return "\n".join(f"{name}: {value}" if name else str(value) for name, value in lines.items() if value)
