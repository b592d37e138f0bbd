"""What an alert is: its state, its words, and the ids that stay the same after a rebuild."""

from typing import Any, Literal

import msgspec

from coincide.wire.content_ids import content_id

State = Literal["firing", "acknowledged", "resolved"]
Kind = Literal["episode", "match", "system"]
Change = Literal["firing", "escalated", "acknowledged", "resolved", "reopened"]
Withheld = Literal["silence", "max_per_hour"]
#: The source of the one summary that stands for alerts beyond a query's max_per_hour.
LIMITED = "alerts_withheld"
STATES: tuple[State, ...] = ("firing", "acknowledged", "resolved")


class Acknowledgement(msgspec.Struct, frozen=True):
    """Who has taken over an alert, and why they say so."""

    by: str
    why: str
    at_us: int


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """An alert as receivers, readers and the database have it.

    Times are microseconds since the epoch, UTC. `source` is the id of the episode or match, or the name of what is
    wrong in the system. `group` tells which group of its query it is of, and `stream` whose readings. `fired_at_us` is
    when it last began to fire; `resolve_at_us` when time will resolve it, None while nothing but a change of its source
    will. `withheld` says why nobody was told that it fires.
    """

    v: Literal[1] = 1
    id: str
    kind: Kind
    source: str
    query: str = ""
    query_version: int | None = None
    area: str = ""
    severity: str
    title: str
    text: str | None = None
    docs: str | None = None
    labels: dict[str, str] = {}
    probability: float | None = None
    members: int | None = None
    start_us: int | None = None
    end_us: int | None = None
    group: dict[str, Any] = {}
    stream: str | None = None
    state: State = "firing"
    fired_at_us: int
    resolve_at_us: int | None = None
    resolved_at_us: int | None = None
    resolved_because: str | None = None
    acknowledged: Acknowledgement | None = None
    withheld: Withheld | None = None
    revision: int
    received_at_us: int
    to: list[str] | None = None

    @property
    def is_active(self) -> bool:
        """Whether it has not been resolved."""
        return self.state != "resolved"

    @property
    def is_of_system(self) -> bool:
        """Whether it says what is wrong with Coincide: receivers may be spared these, but no summary of a query's."""
        return self.kind == "system" and self.source != LIMITED

    @property
    def every_label(self) -> dict[str, str]:
        """Its labels as silences and Alertmanager see them: its own, and what every alert has."""
        own = {"kind": self.kind, "query": self.query, "area": self.area, "severity": self.severity}
        return {**self.labels, **{name: value for name, value in own.items() if value}}

    def to_body(self) -> str:
        """Return the JSON text."""
        return encode(self).decode()


encode = msgspec.json.Encoder().encode
decode_alert = msgspec.json.Decoder(Alert).decode


def alert_id(*of: str) -> str:
    """Return the id of the alert of this source: a query and an episode or match, or the words of a condition."""
    return content_id("a", of)


class Step(msgspec.Struct, frozen=True):
    """A transition: what happened to an alert, when, and the alert after it."""

    change: Change
    at_us: int
    alert: Alert

    @property
    def key(self) -> str:
        """What tells this transition from all others, also after a rebuild: receivers drop what they have seen."""
        # Whether an alert fires for the first time is a matter of what the database remembers.
        change = "firing" if self.change == "reopened" else self.change
        return content_id("n", [self.alert.id, change, self._occasion])

    @property
    def _occasion(self) -> int:
        # The revision of the source is the same whenever it is read again; the clock is not.
        return self.at_us if self.change == "acknowledged" else self.alert.revision
