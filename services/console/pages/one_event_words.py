"""One event, in words: how sure that is, or why nobody knows."""

from __future__ import annotations

from services.console.pages.time_words import probability
from services.console.rest.documents import MatchAnswer
from services.console.rest.evidence_answers import EvidenceAnswer

STRANGER_BELOW = 0.5  # what belongs less probably than not
WITHOUT_EVENT = (
    "Whether it is one event also depends on how much else the sensors report. "
    "A query that says how often events come gets that worked out for each match."
)
NOT_TOLD_YET = "Whether it is one event is told as soon as no later report can be of it."
REASONS = {
    "not_watched_yet": "its area has not been watched for long enough to know how much else is reported",
    "too_much_work": "more matches hang together than are weighed",
    "equal": "nobody knows how often the attribute that is equal in all of them is so by chance",
    "filtered": "nobody knows how many of the detections pass the query's filters",
    "impossible": "one event cannot make reports at these times",
}


def one_event(evidence: EvidenceAnswer | None) -> str:
    """Return how sure it is that this is one event, such as 99.7 % or 70 % to 90 %; "" where that is not known."""
    if evidence is None or evidence.posterior is None:
        return ""
    if evidence.is_exact or evidence.posterior_least is None or evidence.posterior_greatest is None:
        return probability(evidence.posterior)
    return f"{probability(evidence.posterior_least)} to {probability(evidence.posterior_greatest)}"


def surest_first(match: MatchAnswer) -> tuple[float, float]:
    """Return a key that puts first what is most probably one event, and then that whose times fit best."""
    return 0.0 if match.posterior is None else -match.posterior - 1, -match.probability


def headline(evidence: EvidenceAnswer | None, *, has_event: bool) -> str:
    """Return the answer to whether it is one event, in a sentence or two."""
    if evidence is None:
        return NOT_TOLD_YET if has_event else WITHOUT_EVENT
    if sure := one_event(evidence):
        return f"One event, {sure}."
    return f"Whether it is one event is not known: {why_unknown(evidence)}."


def why_unknown(evidence: EvidenceAnswer) -> str:
    """Return why something is not known; the reason as it is, where this console does not know it."""
    reason = evidence.unknown or "no reason was told"
    return REASONS.get(reason, reason.replace("_", " "))


def bits(value: float) -> str:
    """Return bits with their sign, such as +11.5 or −2.3."""
    return f"{value:+.1f}".replace("-", "−")
