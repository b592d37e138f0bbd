from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from coincide.queries import AlertRule
from services.alerting.alerts import alert_lifecycle
from services.alerting.alerts.findings import Finding
from services.alerting.records.alert import Acknowledgement, Alert, Step

S = 1_000_000
RULE = AlertRule.from_json(
    {"severity": [[0.9, "critical"], [0.5, "warning"]], "resolve_after_s": 10, "title": "{area}!"}
)


def found(revision: int = 1, at_s: float = 100, **fields: Any) -> Finding:
    said = {"probability": 0.7, "members": 2, "is_open": True, **fields}
    names = {"kind": "episode", "source": "e-1", "query": "q", "query_version": 1, "area": "bay"}
    return Finding(**{**names, "revision": revision, "received_at_us": round(at_s * S), **said})


def played(*findings: Finding, acknowledgement: Acknowledgement | None = None) -> tuple[Alert | None, list[Step]]:
    alert, steps = None, []
    for each in findings:
        alert, more = alert_lifecycle.after_finding(alert, each, RULE, acknowledgement)
        steps += more
    return alert, steps


def changes(*findings: Finding, **said: Any) -> list[str]:
    return [step.change for step in played(*findings, **said)[1]]


def test_an_alert_fires_gets_worse_and_is_due_once_its_episode_is_closed() -> None:
    alert, steps = played(found(1), found(2, 101, probability=0.95), found(3, 102, probability=0.95, is_open=False))
    assert alert is not None
    assert [step.change for step in steps] == ["firing", "escalated"]
    assert (alert.severity, alert.title, alert.fired_at_us) == ("critical", "bay!", 100 * S)
    assert [step.alert.resolve_at_us for step in steps] == [None, None]
    assert alert.resolve_at_us == 112 * S


@pytest.mark.parametrize("weak", [{"probability": 0.4}, {"is_gone": True}])
def test_what_does_not_meet_the_rule_makes_no_alert_and_ends_one(weak: dict[str, Any]) -> None:
    assert changes(found(**weak)) == []
    alert, steps = played(found(1), found(2, 105, **weak))
    assert [step.change for step in steps] == ["firing", "resolved"]
    assert alert is not None
    assert (alert.state, alert.resolved_at_us) == ("resolved", 105 * S)


def test_what_is_found_after_the_end_opens_the_alert_again() -> None:
    closed = found(2, 101, is_open=False)
    assert changes(found(1), closed, found(3, 200)) == ["firing", "resolved", "reopened"]
    assert changes(found(1), closed, found(3, 110)) == ["firing"]  # still within resolve_after_s
    assert changes(found(1), closed, found(2, 101, is_open=False)) == ["firing"]  # final: nothing new was found


def test_an_acknowledgement_lasts_until_the_alert_opens_again() -> None:
    said = Acknowledgement("ann", "on it", 150 * S)
    alert, steps = played(found(1), acknowledgement=said)
    assert alert is not None
    assert ([step.change for step in steps], alert.state) == (["firing", "acknowledged"], "acknowledged")
    later = [found(1), found(2, 101, is_open=False), found(3, 200)]
    assert changes(*later, acknowledgement=said) == ["firing", "acknowledged", "resolved", "reopened"]


def test_a_rule_counts_members_and_may_ignore_probability() -> None:
    rule = AlertRule.from_json({"members": 3})
    assert alert_lifecycle.after_finding(None, found(members=2), rule)[1] == []
    [step] = alert_lifecycle.after_finding(None, found(members=3, probability=None), rule)[1]
    assert (step.alert.severity, step.alert.title) == ("warning", "q in bay")


FINDINGS = st.lists(
    st.builds(
        found,
        probability=st.sampled_from([0.3, 0.5, 0.7, 0.9]),
        is_open=st.booleans(),
        is_gone=st.sampled_from([False, False, False, True]),
    ),
    max_size=12,
)
GAPS_S = st.lists(st.sampled_from([0, 1, 5, 11, 30]), min_size=12, max_size=12)


@given(FINDINGS, GAPS_S)
def test_the_clock_and_a_rebuild_agree_on_how_it_ends(findings: list[Finding], gaps_s: list[int]) -> None:
    """Live, time resolves an alert when it is due; read again, the next finding does. Every key is told once."""
    at_s = 100
    in_order = []
    for revision, (each, gap_s) in enumerate(zip(findings, gaps_s, strict=False), 1):
        at_s += gap_s
        in_order.append(replace(each, revision=revision, received_at_us=at_s * S))
    alert, steps = played(*in_order)
    live, live_steps = _live(in_order)
    assert live == alert
    assert [step.key for step in live_steps] == [step.key for step in steps]
    assert len({step.key for step in steps}) == len(steps)
    firing = [
        step.change in ("firing", "reopened") for step in steps if step.change in ("firing", "reopened", "resolved")
    ]
    assert firing == [nth % 2 == 0 for nth in range(len(firing))]  # on, off, on, ...


def _live(findings: list[Finding]) -> tuple[Alert | None, list[Step]]:
    alert, steps = None, []
    for each in findings:
        if alert is not None and alert.resolve_at_us is not None and alert.resolve_at_us < each.received_at_us:
            steps.append(alert_lifecycle.resolution(alert, alert.resolve_at_us))
            alert = steps[-1].alert
        alert, more = alert_lifecycle.after_finding(alert, each, RULE)
        steps += more
    return alert, steps
