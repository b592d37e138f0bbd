"""Comparing two answers by the ids of their matches: which are added, gone and changed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from msgspec.json import Decoder

from spark_jobs.replaying.request import RunRequest
from spark_jobs.replaying.run_folder import ComparedMatch, RunFolder
from spark_jobs.replaying.topic_records import TopicRecords, opened_topic
from spark_jobs.settings import HistorySettings

ALIKE = 1e-9  # probabilities that differ by less are the same
MOST_SHOWN = 1_000

_decoder = Decoder(ComparedMatch)


@dataclass(frozen=True)
class Comparison:
    """Ids of matches that one answer has and the other has not, and of those whose probability differs."""

    added: list[str]
    gone: list[str]
    changed: list[tuple[str, float, float]]  # id, before, now
    same: int

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


def compare(now: Iterable[ComparedMatch], before: Iterable[ComparedMatch]) -> Comparison:
    """Compare the matches of a run with others."""
    new, old = ({match.id: match.probability for match in matches} for matches in (now, before))
    both = new.keys() & old.keys()
    changed = sorted(id_ for id_ in both if abs(new[id_] - old[id_]) > ALIKE)
    return Comparison(
        sorted(new.keys() - old.keys()),
        sorted(old.keys() - new.keys()),
        [(id_, old[id_], new[id_]) for id_ in changed],
        len(both) - len(changed),
    )


def live_matches(topic: TopicRecords, request: RunRequest) -> Iterator[ComparedMatch]:
    """Yield the live job's matches that a run over the same range may have, each once.

    A complete run has no match that another one superseded.
    """
    wanted = f'"query":"{request.query.id}"'.encode()
    matches: dict[str, ComparedMatch] = {}
    for record in topic.all(lambda: None):
        if record.value is not None and wanted in record.value:
            match = _decoder.decode(record.value)
            if match.query == request.query.id and is_within(match, request):
                matches[match.id] = match
    gone = {id_ for match in matches.values() for id_ in match.supersedes} if not request.as_live else set()
    yield from (match for match in matches.values() if match.id not in gone)


def compared(folder: RunFolder, other: RunFolder | None, settings: HistorySettings) -> dict[str, Any]:
    """Compare a run with another one, or where that is None with the live records."""
    summary = folder.summary()
    if other is not None:
        told = {"with": other.summary()["run"]}
        return {"run": summary["run"], **told, **compare(folder.matches(), other.matches()).to_json()}
    with opened_topic("matches", settings) as topic:
        live = live_matches(topic, RunRequest.from_json(summary["request"]))
        return {"run": summary["run"], "with": "live", **compare(folder.matches(), live).to_json()}


def is_within(match: ComparedMatch, request: RunRequest) -> bool:
    """Whether a match lies in the range of a run."""
    if request.as_live:
        return request.from_us <= match.received_at_us < request.to_us
    return all(request.from_us <= member.detected_at_us < request.to_us for member in match.members)
