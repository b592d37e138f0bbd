"""Something that is wrong with the system, and the system alert that it makes.

What began it is said in words of the records, its revision, so that its alert has the same key after a restart and in
a database that is made anew. Since when it holds is a matter of the clock, and only shown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Self, cast, get_args

from sqlalchemy import Connection

from services.alerting.alerts import alert_lifecycle
from services.alerting.records.alert import Alert, Change, Step, alert_id
from services.alerting.store import alert_rows, delivery_rows

PAGE = "docs/how-to/answer-an-alert.md"
SHOWN_AT_MOST = 1000

OfLine = Literal["query_suspended", "line_stalled", "dead_letter_flood", "no_detections"]
OfSensors = Literal["sensor_silent", "sensor_late", "template_drift"]
OfAreas = Literal["area_silent"]
Name = OfLine | OfSensors | OfAreas
NAMES = frozenset({*get_args(OfLine), *get_args(OfSensors), *get_args(OfAreas)})


@dataclass(frozen=True)
class SystemCondition:
    """Something that is wrong now, in one sentence, since when and of which query, area and labels.

    `revision` is another one each time it begins; 0: no record says which one, so that `since_us` is, but for a
    database that is made anew, which goes by what receivers were told.
    """

    name: Name
    title: str
    text: str
    since_us: int
    severity: str = "critical"
    query: str = ""
    area: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    revision: int = 0

    @classmethod
    def of(cls, alert: Alert) -> Self:
        """Return the condition of an alert that is left as it is."""
        name, text = cast("Name", alert.source), alert.text or ""
        where = alert.query, alert.area, dict(alert.labels)
        return cls(name, alert.title, text, alert.fired_at_us, alert.severity, *where, alert.revision)

    @property
    def alert(self) -> str:
        """The id of its alert."""
        return alert_id("system", self.name, self.query, self.area, *self.labels.values())

    def fired(self, told: int | None = None) -> Alert:
        """Return its alert as it fires; `told`: the revision under which receivers heard of it, and of no end yet."""
        return Alert(
            id=self.alert,
            kind="system",
            source=self.name,
            query=self.query,
            area=self.area,
            labels=self.labels,
            severity=self.severity,
            title=self.title,
            text=self.text,
            docs=f"{PAGE}#{self.name.replace('_', '-')}",
            fired_at_us=self.since_us,
            revision=self.revision or told or self.since_us,
            received_at_us=self.since_us,
        )


def steps_to(
    connection: Connection, active: Iterable[Alert], present: Iterable[SystemCondition], now_us: int
) -> list[Step]:
    """Return the steps by which the `active` system alerts become what is wrong now."""
    conditions = {each.alert: each for each in present}
    known = alert_rows.known_alerts(connection, conditions)
    over = [each for each in active if each.source in NAMES and each.id not in conditions]
    steps = [alert_lifecycle.resolution(each, now_us, _why_over(each, list(conditions.values()))) for each in over]
    told = delivery_rows.told_revisions(connection, conditions.keys() - known.keys())
    for id_, condition in conditions.items():
        before = known.get(id_)
        if before is None or not before.is_active:
            change: Change = "firing" if before is None else "reopened"
            steps.append(Step(change, condition.since_us, condition.fired(told.get(id_))))
    return steps


def _why_over(alert: Alert, conditions: Sequence[SystemCondition]) -> str:
    if alert.source == "sensor_silent" and any(
        each.name == "area_silent" and each.area == alert.area for each in conditions
    ):
        return "its whole area is silent, which has an alert of its own"
    return "it is over"
