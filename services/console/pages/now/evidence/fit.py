"""How well the times of a match fit: each of its probabilities, beside what is needed and what could be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nicegui import ui

from services.console.pages.shell import Words, figure
from services.console.pages.time_words import probability
from services.console.rest.documents import MatchAnswer


@dataclass(frozen=True)
class Judged:
    """One probability of a match: of what, how much is needed, and the most that it could be; None if not known."""

    of: str
    value: float
    threshold: float | None
    attainable: float | None


def draw_fit(match: MatchAnswer, judged: list[Judged]) -> None:
    """Draw each probability as a meter, with its threshold and what is attainable."""
    Words("h3", "How well the times fit")
    for each in judged:
        with ui.element("div").classes("meter-line"):
            Words("span", each.of).classes("meter-name")
            figure(probability(each.value), repr(each.value))
            with ui.element("div").classes("meter").props("aria-hidden=true"):
                if each.attainable is not None:
                    ui.element("div").classes("meter-attainable").style(f"width:{each.attainable * 100:.2f}%")
                ui.element("div").classes("meter-value").style(f"width:{each.value * 100:.2f}%")
                if each.threshold is not None:
                    ui.element("div").classes("meter-threshold").style(f"left:{each.threshold * 100:.2f}%")
            Words("span", _said_of(each)).classes("soft small")
    if match.joint is not None and not match.joint.certain:
        Words("p", "Whether it reaches the threshold is not certain: the probability was computed within bounds.")


def judged_of(match: MatchAnswer, query: dict[str, Any], explanation: dict[str, Any]) -> list[Judged]:
    """Return the probabilities of a match, each with what its query asks for and what its sensors could attain."""
    thresholds = {_pair(edge.get("between")): edge.get("threshold") for edge in query.get("within") or []}
    attainable = {_pair(edge.get("between")): edge.get("greatest") for edge in explanation.get("edges") or []}
    roles = {member.role: member.sensor for member in match.members}

    def of_edge(between: list[str], value: float) -> Judged:
        name = " and ".join(roles.get(role) or role for role in between)
        pair = _pair(between)
        return Judged(name, value, thresholds.get(pair, thresholds.get(_pair(None))), attainable.get(pair))

    if match.edges is None:
        return [of_edge([member.role or "" for member in match.members], match.probability)]
    judged = [of_edge(edge.between, edge.probability) for edge in match.edges]
    if match.joint is not None:
        most = (explanation.get("joint") or {}).get("at_most")
        judged.append(Judged("all at once", match.joint.probability, query.get("joint_threshold"), most))
    return judged


def _pair(between: list[str] | None) -> frozenset[str]:
    return frozenset(between or ())


def _said_of(judged: Judged) -> str:
    needed = None if judged.threshold is None else f"{probability(judged.threshold)} is needed"
    most = None if judged.attainable is None else f"{probability(judged.attainable)} is the most that can be"
    return ", ".join(each for each in (needed, most) if each)
