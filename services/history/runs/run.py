"""One run: from the request to the folder of its results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from msgspec.json import decode

from coincide.errors import CoincideError
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import Output
from coincide.queries import Query
from services.common.log.faults import LogError
from services.common.settings import SettingsError, Streams
from services.history.replaying.chunk_answers import refuse_more_matches
from services.history.replaying.complete_run import CompleteRun
from services.history.replaying.match_curves import (
    MatchColumns,
    MatchFigures,
    thresholds_from,
)
from services.history.replaying.past import Past
from services.history.replaying.request import RunError, RunRequest
from services.history.replaying.run_folder import EPISODES, MATCHES, CancelledError, Reporter
from services.history.rows.topic_records import ReadShare, TopicRecords, kept, records_between
from services.history.runs.live_answer import QueryChangeAt, Replay, in_force_from, query_history, streams_of
from services.history.runs.range_matches import RangeMatches, range_matches

SLACK_US = 60_000_000  # a frame lies on the topic at most so long after ingest received it


@dataclass(frozen=True)
class Run:
    """A request, where it is done, and whom it tells."""

    request: RunRequest
    past: Past
    streams: Streams  # of the file
    reporter: Reporter

    def execute(self) -> dict[str, Any]:
        """Do it, and return the summary, which says how it ended; RunError if it cannot be done."""
        return told_to_the_end(self._figures, self.reporter)

    def _figures(self) -> dict[str, Any]:
        self._refuse_undeclared()
        return self._as_live() if self.request.as_live else self._complete().figures()

    def _refuse_undeclared(self) -> None:
        for stream in self.request.query.streams:
            if stream not in self._present:
                raise RunError(f"query {self.request.query.id} names the stream {stream!r}, which is not declared")

    @cached_property
    def _present(self) -> Streams:
        """What is declared now: by the file, and by records on the topic."""
        return streams_of(self.request, self.streams, self.past.topics)

    def _complete(self) -> CompleteRun:
        """Return the run: a complete answer depends on no delay, but on which reports are echoes."""
        return CompleteRun(self.request, self.past, self._present, self.reporter)

    def _as_live(self) -> dict[str, Any]:
        request = self.request
        join = request.query if request.query.kind == "join" else None  # no other kind gives matches
        figures = MatchFigures(None if join is None else join.coalesce)
        answer = _LiveFigures()
        core = FusionCore(self.streams if request.follows_changes else self._present, self.past.limits(), 0)
        with ExitStack() as stack:
            frames = stack.enter_context(self.past.topics("detections"))
            out = stack.enter_context(self.reporter.folder.writing(MATCHES))
            found = stack.enter_context(range_matches(request, self.reporter.folder.path, out))
            replay = self._replay(core, frames)
            for output, records in self._outputs(replay):
                answer.take(output, records, request)
                figures.extend(MatchColumns.of_records(found.take(output), figures.rule))
                refuse_more_matches(len(figures), self.past.settings.max_matches)
            self._take_evidence(replay, found)
            evidence = found.finish()
        with self.reporter.folder.writing(EPISODES) as out:
            out.writelines(line + b"\n" for line in answer.episodes.values())
        told = {"frames": answer.records, "matches": len(figures), "episodes": len(answer.episodes)}
        curve = {} if join is None else self._curve(join, figures)
        return {**told, **evidence, **answer.totals(request.query.id), **curve}

    def _replay(self, core: FusionCore, frames: TopicRecords) -> Replay:
        request = self.request
        firsts = frames.first_offsets()
        starts = firsts
        if request.warm_up_s is not None:
            starts = kept(frames.offsets_at(request.from_us - round(request.warm_up_s * 1e6)), firsts)
        ends = frames.offsets_at(request.to_us + SLACK_US)
        return Replay.of(core, frames, self._changes(frames, starts), starts, ends)

    def _outputs(self, replay: Replay) -> Iterator[tuple[Output, int]]:
        share = ReadShare(self.reporter.progress, records_between(replay.starts, replay.ends))
        for output, records in replay.outputs(share):
            share.done += records
            yield output, records

    def _take_evidence(self, replay: Replay, found: RangeMatches) -> None:
        """Go on behind the range for as long as evidence of its matches is to come."""
        beyond = replay.outputs_beyond(lambda: self.reporter.progress(1.0))
        while found.awaits_evidence and (output := next(beyond, None)) is not None:
            found.take_evidence(output)

    def _changes(self, frames: TopicRecords, starts: Mapping[int, int]) -> list[QueryChangeAt]:
        """Return the changes of the query, each with the offsets before which it took effect."""
        query = self.request.query
        if not self.request.follows_changes:
            return [in_force_from(query, starts)]
        history = query_history(query.id, self.past.topics)
        if history is None:
            raise RunError(f"the topics know no query {query.id}")
        return history.placed(frames)

    def _curve(self, query: Query, figures: MatchFigures) -> dict[str, Any]:
        own = query.own_threshold
        told: dict[str, Any] = {"own_threshold": own, "histogram": figures.histogram()}
        if query.at_least is not None:  # with another threshold other sets are the largest
            return {**told, "curve": figures.curve([own]), "curve_of": "the query's own threshold alone"}
        return {**told, "curve": figures.curve(thresholds_from(own, own).tolist())}


def told_to_the_end(figures: Callable[[], dict[str, Any]], reporter: Reporter) -> dict[str, Any]:
    """Work figures out, and return the summary, which says how that ended; RunError if it cannot be done."""
    try:
        reporter.progress(0.0)
        return reporter.tell("done", progress=1.0, **figures())
    except CancelledError:
        return reporter.tell("cancelled")
    except (RunError, LogError, CoincideError, SettingsError) as error:
        reporter.tell("failed", error=str(error))
        raise RunError(str(error)) from error


class _LiveFigures:
    """What a replay tells beside its matches."""

    def __init__(self) -> None:
        self.records = 0
        self.episodes: dict[str, bytes] = {}
        self._status: Any = {}

    def take(self, output: Output, records: int, request: RunRequest) -> None:
        """Take what the core says of one chunk: episodes as they are at last, and its counts."""
        self.records += records
        self._status = output.status.value
        for record in output.episodes:
            episode = decode(record.value)
            if episode.get("retracted"):
                self.episodes.pop(episode["id"], None)
            elif request.from_us <= episode["received_at_us"] < request.to_us:
                self.episodes[episode["id"]] = record.value

    def totals(self, query: str) -> dict[str, Any]:
        """Return the counts of the whole replay, warm-up included, and whether the query was suspended."""
        if not self._status:
            return {}
        status = decode(self._status)
        totals = {name: status["totals"][name] for name in ("detections", "accepted", "late", "duplicates", "evicted")}
        suspended = status["queries"].get(query, {}).get("suspended", {})
        told = {name: status["totals"][name] for name in ("no_number", "no_place")}
        lacking = {name: count for name, count in told.items() if count or name == "no_number"}
        return {"replayed": totals, **lacking, "suspended": suspended}
