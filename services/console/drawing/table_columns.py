"""What the timeline is told: matches, episodes, alerts and detections, with no more than it draws."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from services.console.drawing.template_words import said_of
from services.console.rest.documents import (
    AlertAnswer,
    EpisodeAnswer,
    MatchAnswer,
    MemberAnswer,
    RecentAnswer,
    SensorAnswer,
    TemplateAnswer,
)


def drawn_match(match: MatchAnswer) -> dict[str, Any]:
    """Return a match as the timeline draws it."""
    occurred = match.occurred
    return {
        "id": match.id,
        "query": match.query,
        "area": match.area,
        "probability": match.probability,
        "posterior": match.posterior,
        "first": min(member.detected_at_us for member in match.members),
        "last": max(member.detected_at_us for member in match.members),
        "occurred": None if occurred is None else [occurred.mean_us, occurred.p05_us, occurred.p95_us],
        "members": [
            [each.sensor, each.stream, each.id, each.detected_at_us, template_id(each)] for each in match.members
        ],
    }


def drawn_episode(episode: EpisodeAnswer) -> dict[str, Any] | None:
    """Return an episode as the timeline draws it; None for one that stands no longer."""
    if episode.retracted or episode.start_us is None or episode.end_us is None:
        return None
    return {
        "id": episode.id,
        "query": episode.query,
        "area": episode.area,
        "start": episode.start_us,
        "end": episode.end_us,
        "count": episode.count or 0,
        "unit": "readings" if episode.is_of_readings else "matches",
        "probability": episode.best_probability,
        "open": bool(episode.open),
    }


def drawn_alert(alert: AlertAnswer) -> dict[str, Any]:
    """Return an alert as the timeline draws it."""
    named = {"id": alert.id, "title": alert.title, "severity": alert.severity, "state": alert.state}
    return {**named, "query": alert.query or None, "area": alert.area, "at": alert.fired_at_us}


def drawn_detections(recent: RecentAnswer) -> list[list[Any]]:
    """Return detections as the timeline takes them."""
    return [[each.area, each.sensor, each.stream, each.id, each.detected_at_us, each.template] for each in recent.items]


def drawn_sensors(sensors: Iterable[SensorAnswer]) -> list[dict[str, Any]]:
    """Return sensors as lanes, with their places."""
    return [{"area": each.area, "sensor": each.id, "place": each.place} for each in sensors]


def drawn_template(template: TemplateAnswer) -> dict[str, Any]:
    """Return a template in microseconds, and what it says in words."""
    return {
        "edges_us": [round(edge * 1e6) for edge in template.edges_s],
        "mass": template.mass,
        "words": said_of(template),
    }


def template_id(member: MemberAnswer) -> str:
    """Return the id under which the timeline knows the member's template."""
    return member.template or ""


def spread_of(member: MemberAnswer) -> TemplateAnswer | None:
    """Return what is known of a member's template without asking: from when to when it can have happened."""
    if member.earliest_us is None or member.latest_us is None or member.template is None:
        return None
    begin_s = (member.earliest_us - member.detected_at_us) / 1e6
    end_s = (member.latest_us - member.detected_at_us) / 1e6
    edges_s, mass = ([begin_s, end_s], [1.0]) if end_s > begin_s else ([begin_s], [])
    return TemplateAnswer(member.template, edges_s, mass)
