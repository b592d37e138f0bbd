"""Comparing two answers by the ids of their matches: which are added, gone and changed, and so their evidence."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from msgspec.json import Decoder

from services.history.replaying.request import RunRequest
from services.history.replaying.run_folder import ComparedEvidence, ComparedMatch, RunFolder
from services.history.rows.topic_records import TopicRecords, Topics

ALIKE = 1e-9  # probabilities that differ by less are the same
MOST_SHOWN = 1_000

_decoder = Decoder(ComparedMatch)


class _LiveEvidence(ComparedEvidence, frozen=True, gc=False, kw_only=True):
    """A record of evidence, as far as it is compared."""

    id: str
    query: str


_evidence_decoder = Decoder(_LiveEvidence)


@dataclass(frozen=True)
class Comparison:
    """Ids of matches that one answer has and the other has not, and of those whose probability differs."""

    added: list[str]
    gone: list[str]
    changed: list[tuple[str, float, float]]  # id, before, now
    same: int
    older: int = 0  # in the first answer alone, from a time of which the other has nothing any more

    def to_json(self) -> dict[str, Any]:
        """Return counts, and the first ids of each kind."""
        changed = [{"id": id_, "before": before, "now": now} for id_, before, now in self.changed[:MOST_SHOWN]]
        return {
            "counts": {
                "added": len(self.added),
                "gone": len(self.gone),
                "changed": len(self.changed),
                "same": self.same,
            },
            "added": self.added[:MOST_SHOWN],
            "gone": self.gone[:MOST_SHOWN],
            "changed": changed,
        }


def compare(now: Iterable[ComparedMatch], before: Iterable[ComparedMatch], from_us: int | None = None) -> Comparison:
    """Compare the matches of a run with others, of which nobody knows those received before `from_us`."""
    new, old = ({match.id: match for match in matches} for matches in (now, before))
    alone = [match for id_, match in new.items() if id_ not in old]
    added = [match.id for match in alone if from_us is None or match.received_at_us >= from_us]
    both = new.keys() & old.keys()
    changed = sorted(id_ for id_ in both if abs(new[id_].probability - old[id_].probability) > ALIKE)
    return Comparison(
        sorted(added),
        sorted(old.keys() - new.keys()),
        [(id_, old[id_].probability, new[id_].probability) for id_ in changed],
        len(both) - len(changed),
        len(alone) - len(added),
    )


Evidence = Mapping[str, ComparedEvidence]
"""What is told of the evidence of matches, by their ids."""


def compare_evidence(now: Iterable[ComparedMatch], before: Evidence) -> dict[str, Any]:
    """Compare what is told of the evidence of some matches with what was told before; nothing where neither is."""
    new = {match.id: match.evidence for match in now}
    told, was = {id_ for id_, each in new.items() if each is not None}, new.keys() & before.keys()
    both = sorted(told & was)
    changed = [
        {"id": id_, "before": before[id_].posterior, "now": each.posterior}
        for id_ in both
        if (each := new[id_]) is not None and each != before[id_]
    ]
    counts = {
        "added": len(told - was),
        "gone": len(was - told),
        "changed": len(changed),
        "same": len(both) - len(changed),
    }
    return {"evidence": {"counts": counts, "changed": changed[:MOST_SHOWN]}} if told | was else {}


def _evidence_in(matches: Iterable[ComparedMatch]) -> Evidence:
    return {match.id: match.evidence for match in matches if match.evidence is not None}


def live_evidence(topic: TopicRecords, query: str) -> Evidence:
    """Return the evidence that the live job has told of the matches of a query; what is told first counts."""
    wanted, found = f'"query":"{query}"'.encode(), dict[str, ComparedEvidence]()
    for record in topic.all(lambda: None):
        if record.value is not None and wanted in record.value:
            each = _evidence_decoder.decode(record.value)
            if each.query == query:
                found.setdefault(each.id, ComparedEvidence(each.bits, each.posterior, each.unknown))
    return found


class LiveMatches(NamedTuple):
    """The live job's matches of a query and a range, as far as the log still has them."""

    matches: list[ComparedMatch]
    from_us: int | None  # it has deleted some that were received before; None: it has deleted none


def live_matches(topic: TopicRecords, request: RunRequest) -> LiveMatches:
    """Return the live job's matches that a run over the same range may have, each once.

    A complete run has no match that another one superseded.
    """
    wanted = f'"query":"{request.query.id}"'.encode()
    matches: dict[str, ComparedMatch] = {}
    # Where all of a shortened partition is gone, nothing of the range is known.
    begins_us = {number: request.to_us for number, first in topic.first_offsets().items() if first > 0}
    unread = set(begins_us)
    for record in topic.all(lambda: None):
        if record.value is not None and (wanted in record.value or record.partition in unread):
            match = _decoder.decode(record.value)
            if record.partition in unread:
                begins_us[record.partition] = match.received_at_us
                unread.remove(record.partition)
            if match.query == request.query.id and is_within(match, request):
                matches[match.id] = match
    gone = {id_ for match in matches.values() for id_ in match.supersedes} if not request.as_live else set()
    kept = [match for match in matches.values() if match.id not in gone]
    return LiveMatches(kept, max(begins_us.values(), default=None))


def compared(folder: RunFolder, other: RunFolder | None, topics: Topics) -> dict[str, Any]:
    """Compare a run with another one, or where that is None with the live records."""
    summary, now = folder.summary(), [*folder.matches()]
    if other is not None:
        before = [*other.matches()]
        told = {**compare(now, before).to_json(), **compare_evidence(now, _evidence_in(before))}
        return {"run": summary["run"], "with": other.summary()["run"], **told}
    request = RunRequest.from_json(summary["request"])
    with topics("matches") as topic:
        live = live_matches(topic, request)
    comparison = compare(now, live.matches, live.from_us)
    told = comparison.to_json()
    told["counts"]["older"] = comparison.older
    if "evidence" in summary:
        with topics("evidence") as topic:
            told |= compare_evidence(now, live_evidence(topic, request.query.id))
    return {"run": summary["run"], "with": "live", "live_from_us": live.from_us, **told}


def is_within(match: ComparedMatch, request: RunRequest) -> bool:
    """Whether a match lies in the range of a run."""
    if request.as_live:
        return request.from_us <= match.received_at_us < request.to_us
    return all(request.from_us <= member.detected_at_us < request.to_us for member in match.members)
