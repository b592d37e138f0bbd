"""What an alert is: its state, its words, and the ids that stay the same after a rebuild."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from coincide.wire.content_ids import content_id
from coincide.wire.fields import Count, FormatVersion, Probability, Version

State = Literal["firing", "acknowledged", "resolved"]
Kind = Literal["episode", "match", "system"]
Change = Literal["firing", "escalated", "acknowledged", "resolved", "reopened"]
Withheld = Literal["silence", "max_per_hour"]
#: The source of the one summary that stands for alerts beyond a query's max_per_hour.
LIMITED = "alerts_withheld"
STATES: tuple[State, ...] = ("firing", "acknowledged", "resolved")


class Acknowledgement(msgspec.Struct, frozen=True):
    """Who has taken over an alert, and why they say so."""

    by: Annotated[str, Meta(description="Who.", extra_json_schema={"minLength": 1})]
    why: Annotated[str, Meta(description="What they know or do about it.")]
    at_us: Annotated[int, Meta(description="When, microseconds since the epoch, UTC.")]


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody is told of.

    It is an item of GET /v1/alerts, an event of the live stream, and the data of the CloudEvent that a webhook gets.
    Times are microseconds since the epoch, UTC.
    """

    v: FormatVersion = 1
    id: Annotated[
        str,
        Meta(
            description="Made of the query and the episode or match: the same after a rebuild.",
            extra_json_schema={"pattern": "^a-[0-9a-f]{32}$"},
        ),
    ]
    kind: Annotated[Kind, Meta(description="What it is an alert of.")]
    source: Annotated[str, Meta(description="Id of the episode or match, or the name of what is wrong in the system.")]
    query: Annotated[str, Meta(description="Empty where it is of none.")] = ""
    query_version: Annotated[
        Version | None, Meta(description="The version of the query; null where it is of none.")
    ] = None
    area: Annotated[str, Meta(description="Empty where it is of none.")] = ""
    severity: Annotated[str, Meta(description="By the query's rule.", extra_json_schema={"minLength": 1})]
    title: Annotated[str, Meta(description="One line.", extra_json_schema={"minLength": 1})]
    text: Annotated[
        str | None,
        Meta(description="A sentence or two: what is wrong with the system, or how sure it is that it is one event."),
    ] = None
    docs: Annotated[str | None, Meta(description="The page that says what to do.")] = None
    labels: Annotated[
        dict[str, str],
        Meta(
            description="Those of the query's rule. Before them the fields of the group and the stream, each under "
            "its name with _ for what is no letter or digit: sensor, attributes_team, stream."
        ),
    ] = {}
    probability: Annotated[
        Probability | None, Meta(description="That of the match, or of the most probable of the episode.")
    ] = None
    posterior: Annotated[
        Probability | None,
        Meta(
            description="How probable it is that the match is one event, or the surest match of the episode; null "
            "while that is not known."
        ),
    ] = None
    posterior_least: Annotated[Probability | None, Meta(description="It is certainly not less.")] = None
    posterior_greatest: Annotated[Probability | None, Meta(description="It is certainly not more.")] = None
    members: Annotated[
        Count | None,
        Meta(description="Members of the match; distinct detections of the episode, up to 200; readings of the spell."),
    ] = None
    start_us: Annotated[
        int | None, Meta(description="When the episode starts, or the earliest possible instant of the match.")
    ] = None
    end_us: Annotated[
        int | None, Meta(description="When the episode ends, so far, or the latest possible instant of the match.")
    ] = None
    group: Annotated[
        dict[str, Any],
        Meta(
            description="Of an episode: values of the fields that the query's coalesce.by names; empty where it names "
            "none."
        ),
    ] = {}
    stream: Annotated[str | None, Meta(description="Of a query over readings: the stream that it reads.")] = None
    state: Annotated[State, Meta(description="Whether it fires, somebody has taken it over, or it is over.")] = "firing"
    fired_at_us: Annotated[
        int,
        Meta(
            description="When it last began to fire: when ingest had the detection that made it, or when the evidence "
            "was told that its rule waits for."
        ),
    ]
    sure_at_us: Annotated[
        int | None,
        Meta(description="When the evidence was told that its rule waits for; null where the rule waits for none."),
    ] = None
    resolve_at_us: Annotated[
        int | None,
        Meta(description="When time will resolve it; null where nothing but a change of its source will."),
    ] = None
    resolved_at_us: Annotated[int | None, Meta(description="When it was resolved; null while it is not.")] = None
    resolved_because: Annotated[str | None, Meta(description="Why it was resolved; null while it is not.")] = None
    acknowledged: Annotated[
        Acknowledgement | None, Meta(description="Who has taken it over; null while nobody has.")
    ] = None
    withheld: Annotated[
        Withheld | None, Meta(description="Why nobody was told that it fires; null where somebody was.")
    ] = None
    revision: Annotated[int, Meta(description="Revision of the episode that it goes by; grows.")]
    received_at_us: Annotated[int, Meta(description="When ingest had the newest detection that changed its source.")]
    to: Annotated[list[str] | None, Meta(description="Receivers by name; null for all.")] = None

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
        # The revision of the source is the same whenever it is read again; the clock is not. At which revision
        # evidence found an episode is not the same either, but the evidence is.
        if self.change == "firing" and self.alert.sure_at_us is not None:
            return self.alert.sure_at_us
        return self.at_us if self.change == "acknowledged" else self.alert.revision
