"""How an alert changes: pure functions from what it was and what happened to its steps.

Nothing here reads a clock. What a finding leads to depends on the finding, the rule and the alert before it, so that
the same records lead to the same steps whenever they are read again.
"""

from typing import Any

from msgspec.structs import replace

from coincide.queries import AlertRule
from services.alerting.alerts.findings import Finding
from services.alerting.alerts.groups import group_labels, group_words
from services.alerting.records.alert import Acknowledgement, Alert, Change, Step, alert_id
from services.alerting.store.evidence_rows import Sureness
from services.common.clock import in_rfc_3339


def after_finding(
    alert: Alert | None, finding: Finding, rule: AlertRule, acknowledgement: Acknowledgement | None = None
) -> tuple[Alert | None, list[Step]]:
    """Return the alert after `finding`, and the steps that lead there; None where there is none (yet).

    An alert that was due to be resolved before the finding was received is resolved first, as the clock would have
    done. One that was resolved fires again if its source changed after that.
    """
    steps: list[Step] = []
    due_us = None if alert is None else alert.resolve_at_us
    if alert is not None and due_us is not None and due_us < finding.received_at_us:
        steps.append(resolution(alert, due_us))
        alert = steps[-1].alert
    figures = finding.probability, finding.members, finding.posterior
    severity = None if finding.is_gone else rule.severity_of(*figures)
    if severity is None:
        if alert is not None and alert.is_active:
            because = "its source no longer stands" if finding.is_gone else "its source no longer meets the rule"
            steps.append(resolution(replace(alert, revision=finding.revision), finding.received_at_us, because))
            alert = steps[-1].alert
        return alert, steps
    change = _change(alert, finding, rule, severity)
    if alert is not None and not alert.is_active and change is None:
        return replace(alert, **_sureness(finding)), steps
    begins = change in ("firing", "reopened")
    alert = _as_found(alert, finding, rule, severity, begins=begins)
    if change is not None:
        steps.append(Step(change, alert.fired_at_us if begins else finding.received_at_us, alert))
        if acknowledgement is not None and change != "escalated" and acknowledgement.at_us >= alert.fired_at_us:
            steps.append(acknowledged(alert, acknowledgement))
            alert = steps[-1].alert
    return alert, steps


def _change(alert: Alert | None, finding: Finding, rule: AlertRule, severity: str) -> Change | None:
    if alert is None:
        return "firing"
    if not alert.is_active:
        return "reopened" if finding.received_at_us > alert.received_at_us else None
    return "escalated" if rule.is_worse(severity, than=alert.severity) else None


def _as_found(alert: Alert | None, finding: Finding, rule: AlertRule, severity: str, *, begins: bool) -> Alert:
    resolve_at_us = None if finding.is_open else finding.received_at_us + round(rule.resolve_after_s * 1e6)
    found = Alert(
        id=alert_id(finding.query, finding.source),
        kind=finding.kind,
        source=finding.source,
        query=finding.query,
        query_version=finding.query_version,
        area=finding.area,
        severity=severity,
        title=_title(rule, finding, severity),
        labels=group_labels(finding.group, finding.stream) | dict(rule.labels),
        probability=finding.probability,
        members=finding.members,
        start_us=finding.start_us,
        end_us=finding.end_us,
        group=finding.group,
        stream=finding.stream,
        **_sureness(finding),
        sure_at_us=finding.sure_at_us,
        fired_at_us=_began_at_us(alert, finding),
        resolve_at_us=resolve_at_us,
        revision=finding.revision,
        received_at_us=finding.received_at_us,
        to=None if rule.to is None else list(rule.to),
    )
    if alert is None or begins:
        return found
    kept = {name: getattr(alert, name) for name in ("state", "fired_at_us", "sure_at_us", "acknowledged", "withheld")}
    return replace(found, **kept)


def _began_at_us(alert: Alert | None, finding: Finding) -> int:
    """Return when it fires: for the first time of a rule that waits for evidence, when that was there.

    How far its episode has come by then is another one if all of it is read again.
    """
    return finding.received_at_us if alert is not None or finding.sure_at_us is None else finding.sure_at_us


def _sureness(finding: Finding) -> dict[str, Any]:
    surest = finding.surest
    if surest is None:
        return {}
    bounds = {"posterior_least": surest.least, "posterior_greatest": surest.greatest}
    return {"text": f"One event, {_percent(surest)}.", "posterior": surest.posterior, **bounds}


def _percent(surest: Sureness) -> str:
    """Return how sure it is in percent; what is between bounds that differ, as both."""
    least, greatest = (_one_percent(each) for each in (surest.least, surest.greatest))
    return least if least == greatest else f"{least} to {greatest}"


def _one_percent(posterior: float) -> str:
    """Return a posterior in percent; nobody is sure of anything by more than that."""
    if posterior >= 0.9995:
        return "more than 99.9 %"
    return "less than 0.1 %" if posterior < 0.0005 else f"{100 * posterior:.1f} %"


def _title(rule: AlertRule, finding: Finding, severity: str) -> str:
    """Return the title; what it does not say of the group and the stream stands at its end."""
    group, stream = group_words(finding.group), finding.stream or ""
    words = {
        "query": finding.query,
        "area": finding.area,
        "severity": severity,
        "probability": "unknown" if finding.probability is None else f"{finding.probability:.3g}",
        "posterior": "unknown" if finding.surest is None else _percent(finding.surest),
        "members": finding.members,
        "start": None if finding.start_us is None else in_rfc_3339(finding.start_us),
        "end": None if finding.end_us is None else in_rfc_3339(finding.end_us),
        "group": group,
        "stream": stream,
    }
    unsaid = {"group": group, "stream": stream and f"stream {stream}"}
    added = [said for word, said in unsaid.items() if said and word not in rule.title_words]
    return rule.title.format(**words) + (f" ({', '.join(added)})" if added else "")


def resolution(alert: Alert, at_us: int, because: str = "nothing more was found") -> Step:
    """Return the step that resolves an alert."""
    gone = replace(alert, state="resolved", resolve_at_us=None, resolved_at_us=at_us, resolved_because=because)
    return Step("resolved", at_us, gone)


def acknowledged(alert: Alert, acknowledgement: Acknowledgement) -> Step:
    """Return the step by which somebody takes over an alert."""
    taken = replace(alert, state="acknowledged", acknowledged=acknowledgement)
    return Step("acknowledged", acknowledgement.at_us, taken)
