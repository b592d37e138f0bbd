"""Raising alerts: what was just stored becomes alerts, their transitions and the outbox, in the same transaction."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace
from sqlalchemy import Connection

from coincide.queries import AlertRule
from services.alerting.alerts import alert_lifecycle, controls
from services.alerting.alerts.controls import Silence
from services.alerting.alerts.findings import Finding, Rules, of_episode, of_match, of_superseded, with_sureness
from services.alerting.records.alert import LIMITED, Acknowledgement, Alert, Step, Withheld, alert_id
from services.alerting.records.receiver import Receivers
from services.alerting.store import alert_rows, match_rows
from services.alerting.store.alert_rows import ChangedAlert, StoredAlert
from services.alerting.store.delivery_rows import Addressed, address
from services.alerting.store.episode_evidence import episodes_with, read_judged
from services.alerting.store.episode_rows import NewRevision, ReceivedEpisode, read_received
from services.alerting.store.evidence_rows import StoredEvidence, read_sureness
from services.alerting.store.match_rows import StoredMatch
from services.common.clock import Clock, system_clock_us

HOUR_US = 3_600_000_000
SWEPT_AT_ONCE = 500
SILENT_AT_ONCE = 5_000


@dataclass(frozen=True)
class OutboxLimits:
    """For how long a delivery is tried, and how many may wait for one receiver."""

    deliver_within_s: float = 86_400.0
    most_waiting: int = 10_000


@dataclass
class Raising:
    """Makes alerts of findings, on the one thread that writes the database.

    `now_us` says whether a transition is too old to tell anybody, which is so when history is read again.
    """

    receivers: Receivers
    limits: OutboxLimits = field(default_factory=OutboxLimits)
    now_us: Clock = system_clock_us
    rules: Rules = field(default_factory=Rules)
    _silences: list[Silence] | None = None

    def forget(self) -> None:
        """Read rules and silences again before the next alert."""
        self.rules = Rules()
        self._silences = None

    def note_controls(self, connection: Connection, newest: dict[str, str | None]) -> None:
        """Store what people have said: silences, receivers and acknowledgements, by key."""
        controls.store_controls(connection, newest)
        if any(key.startswith(controls.SILENCE) for key in newest):
            self._silences = None
        if any(key.startswith(controls.RECEIVER) for key in newest):
            self.read_receivers(connection)

    def read_receivers(self, connection: Connection) -> None:
        """Take over the receivers that were added over REST."""
        self.receivers.replace_added(controls.read_controls(connection, controls.RECEIVER))

    def raise_for(
        self,
        connection: Connection,
        matches: Sequence[StoredMatch],
        revisions: Sequence[NewRevision],
        evidence: Sequence[StoredEvidence] = (),
    ) -> list[StoredAlert]:
        """Store the alerts that new matches, evidence and episodes make or change; return them for live readers."""
        findings = [
            *self._of_matches(connection, matches),
            *self._of_matches(connection, self._judged_matches(connection, matches, evidence)),
            *self._of_episodes(connection, [each.received for each in revisions]),
            *self._of_episodes(connection, self._judged_episodes(connection, revisions, evidence)),
        ]
        judged = [each for each in (self.rules.judged(connection, found) for found in findings) if each is not None]
        if not judged:
            return []
        judged = list(_with_sureness(connection, judged))
        ids = {alert_id(each.query, each.source) for each, _ in judged}
        known = alert_rows.known_alerts(connection, ids)
        acknowledgements = controls.read_acknowledgements(connection, ids)
        round_ = _Round(self, connection, known)
        for finding, rule in judged:
            round_.take(finding, rule, acknowledgements)
        return round_.store()

    def _judged_matches(
        self, connection: Connection, new: Sequence[StoredMatch], evidence: Sequence[StoredEvidence]
    ) -> list[StoredMatch]:
        """Return the matches, stored before, that there is now evidence of; the `new` ones have theirs already."""
        seen = {match.id for match in new}
        of_rules = [each for each in evidence if self.rules.has_any(connection, each.query, "match")]
        return match_rows.read_stored(connection, {each.id for each in of_rules} - seen)

    def _of_matches(self, connection: Connection, matches: Sequence[StoredMatch]) -> Iterable[Finding]:
        ruled = {q for q in {match.query for match in matches} if self.rules.has_any(connection, q, "match")}
        for match in matches:
            if match.query in ruled:
                yield of_match(match)
                yield from of_superseded(match)

    def _of_episodes(self, connection: Connection, received: Sequence[ReceivedEpisode]) -> Iterable[Finding]:
        queries = {each.record.query for each in received}
        ruled = {query for query in queries if self.rules.has_any(connection, query, "episode")}
        return (of_episode(each) for each in received if each.record.query in ruled)

    def _judged_episodes(
        self, connection: Connection, new: Sequence[NewRevision], evidence: Sequence[StoredEvidence]
    ) -> list[ReceivedEpisode]:
        """Return the episodes, stored before, that there is now evidence of."""
        of_rules = {each.id for each in evidence if self.rules.has_any(connection, each.query, "episode")}
        seen = {each.received.record.id for each in new}
        return read_received(connection, episodes_with(connection, of_rules) - seen)

    def acknowledge(self, connection: Connection, newest: dict[str, str | None]) -> list[StoredAlert]:
        """Store that somebody has taken over alerts, those of them that still fire; the controls say which."""
        said = controls.acknowledgements_in(newest)
        round_ = _Round(self, connection, alert_rows.known_alerts(connection, said))
        for alert in list(round_.known.values()):
            acknowledgement = said[alert.id]
            if alert.is_active and acknowledgement.at_us >= alert.fired_at_us:
                step = alert_lifecycle.acknowledged(alert, acknowledgement)
                round_.put(step.alert, [step])
        return round_.store()

    def sweep(self, connection: Connection) -> list[StoredAlert]:
        """Store what time alone changes: alerts that are due to be resolved, and those whose silence has ended."""
        now_us = self.now_us()
        round_ = _Round(self, connection, {})
        for alert in alert_rows.read_due(connection, now_us, SWEPT_AT_ONCE):
            step = alert_lifecycle.resolution(alert, alert.resolve_at_us or now_us)
            round_.put(step.alert, [step])
        for alert in alert_rows.read_active(connection, SILENT_AT_ONCE, withheld="silence"):
            if alert.id not in round_.known and not self.silences_of(connection, alert, now_us):
                told = replace(alert, withheld=None)
                round_.put(told, [Step("firing", alert.fired_at_us, told)])
        return round_.store()

    def put(self, connection: Connection, steps: Iterable[Step]) -> list[StoredAlert]:
        """Store steps that were made elsewhere, each of an alert of its own."""
        round_ = _Round(self, connection, {})
        for step in steps:
            alert = step.alert
            if step.change in ("firing", "reopened") and self.silences_of(connection, alert, step.at_us):
                alert = replace(alert, withheld="silence")
            round_.put(alert, [Step(step.change, step.at_us, alert)])
        return round_.store()

    def silences_of(self, connection: Connection, alert: Alert, at_us: int) -> bool:
        """Whether some silence covers the alert at this time."""
        if self._silences is None:
            self._silences = controls.read_silences(connection)
        return any(each.covers(alert, at_us) for each in self._silences)


def _with_sureness(
    connection: Connection, judged: Sequence[tuple[Finding, AlertRule]]
) -> Iterator[tuple[Finding, AlertRule]]:
    """Yield findings with how sure they are, and their rules."""
    of_matches = read_sureness(connection, {finding.source for finding, _ in judged if finding.kind == "match"})
    of_episodes = read_judged(connection, {finding.source for finding, _ in judged if finding.kind == "episode"})
    for finding, rule in judged:
        least, episode, surest = (
            rule.min_posterior or 0.0,
            of_episodes.get(finding.source),
            of_matches.get(finding.source),
        )
        if episode is not None:
            yield with_sureness(finding, rule, episode.surest, episode.sure_at_us(least)), rule
        elif surest is not None and surest.posterior >= least:
            yield with_sureness(finding, rule, surest, surest.received_at_us), rule
        else:
            yield with_sureness(finding, rule, surest, None), rule


class _Round:
    """What one transaction does to alerts: each is read once and stored once, with all its steps."""

    def __init__(self, raising: Raising, connection: Connection, known: dict[str, Alert]) -> None:
        self._raising, self._connection, self.known = raising, connection, known
        self._changed: dict[str, ChangedAlert] = {}
        self._fired: Counter[tuple[str, int]] = Counter()

    def take(self, finding: Finding, rule: AlertRule, acknowledgements: dict[str, Acknowledgement]) -> None:
        """Do what a finding leads to."""
        id_ = alert_id(finding.query, finding.source)
        before = self.known.get(id_)
        alert, steps = alert_lifecycle.after_finding(before, finding, rule, acknowledgements.get(id_))
        if alert is None or (alert == before and not steps):
            return
        begins = next((each for each in steps if each.change in ("firing", "reopened")), None)
        if begins is not None and (withheld := self._withheld(begins, rule)) is not None:
            first = steps.index(begins)  # before it may stand the end of the time when it last fired
            kept = [Step(s.change, s.at_us, replace(s.alert, withheld=withheld)) for s in steps[first:]]
            alert, steps = replace(alert, withheld=withheld), [*steps[:first], *kept]
        self.put(alert, steps)

    def put(self, alert: Alert, steps: Sequence[Step]) -> None:
        """Note an alert as it is now, and the steps that led there."""
        self.known[alert.id] = alert
        changed = self._changed.setdefault(alert.id, ChangedAlert(alert))
        changed.alert = alert
        changed.steps += steps

    def _withheld(self, step: Step, rule: AlertRule) -> Withheld | None:
        if self._raising.silences_of(self._connection, step.alert, step.at_us):
            return "silence"
        query, hour_us = step.alert.query, step.at_us // HOUR_US * HOUR_US
        if (query, hour_us) not in self._fired:
            until_us = hour_us + HOUR_US
            counted = alert_rows.count_fired(self._connection, query, hour_us, until_us, rule.max_per_hour)
            self._fired[query, hour_us] = counted
        self._fired[query, hour_us] += 1
        if self._fired[query, hour_us] <= rule.max_per_hour:
            return None
        self._summarise(step, rule, hour_us)
        return "max_per_hour"

    def _summarise(self, step: Step, rule: AlertRule, hour_us: int) -> None:
        id_ = alert_id(LIMITED, step.alert.query, str(hour_us))
        known = self.known.get(id_) or alert_rows.known_alerts(self._connection, [id_]).get(id_)
        if known is None:
            first = _summary(id_, step, rule, hour_us)
            self.put(first, [Step("firing", step.at_us, first)])
            return
        withheld = (known.members or 0) + 1
        self.put(replace(known, members=withheld, text=_withheld_text(known.query, rule, withheld)), [])

    def store(self) -> list[StoredAlert]:
        """Store everything noted, and who is to hear of it."""
        changed = list(self._changed.values())
        stored = alert_rows.store_alerts(self._connection, changed)
        now_us = self._raising.now_us()
        addressed = [
            each
            for one in changed
            for step, sequence in zip(one.steps, one.sequences, strict=False)
            for each in self._addressed(step, sequence, now_us)
        ]
        address(self._connection, addressed, now_us, self._raising.limits.most_waiting)
        return stored

    def _addressed(self, step: Step, sequence: int, now_us: int) -> Iterable[Addressed]:
        alert = step.alert
        is_silent = step.change == "escalated" and self._raising.silences_of(self._connection, alert, step.at_us)
        if alert.withheld is not None or is_silent:
            return
        receivers, within_s = self._raising.receivers, self._raising.limits.deliver_within_s
        is_old = now_us - step.at_us > within_s * 1e6
        for name in receivers.addressed(alert.to, step.change, is_system=alert.is_of_system):
            because = "it was too old to tell when it was found" if is_old and not alert.is_of_system else None
            if receivers.get(name) is None:
                because = "there is no receiver of this name"
            yield Addressed(step, sequence, name, because)


def _summary(id_: str, step: Step, rule: AlertRule, hour_us: int) -> Alert:
    return Alert(
        id=id_,
        kind="system",
        source=LIMITED,
        query=step.alert.query,
        severity="warning",
        title=f"More than {rule.max_per_hour} alerts of {step.alert.query} within an hour",
        text=_withheld_text(step.alert.query, rule, 1),
        docs="docs/how-to/be-told.md",
        labels=dict(rule.labels),
        members=1,
        fired_at_us=step.at_us,
        resolve_at_us=hour_us + HOUR_US,
        revision=hour_us,
        received_at_us=step.at_us,
        to=None if rule.to is None else list(rule.to),
    )


def _withheld_text(query: str, rule: AlertRule, withheld: int) -> str:
    return (
        f"The query {query} fired more than max_per_hour, {rule.max_per_hour}, alerts in this hour of the clock. "
        f"{withheld} further ones were sent to nobody; GET /v1/alerts?query={query} lists them."
    )
