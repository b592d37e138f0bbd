"""One run: from the request to the folder of its results."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, BinaryIO

from kafka.errors import KafkaError
from msgspec.json import Decoder, decode, encode

from coincide import Stream
from coincide.errors import CoincideError
from coincide.queries import Query
from services.common.settings import SettingsError, load_settings
from spark_jobs.archiving.folders import Archive
from spark_jobs.core.fusion_core import FusionCore
from spark_jobs.records.kafka_records import Output
from spark_jobs.records.match_records import FusedMatch
from spark_jobs.replaying.archive_rows import Wanted, archived_rows, archived_templates, topic_rows
from spark_jobs.replaying.chance import chance_matches
from spark_jobs.replaying.complete_answer import complete_matches
from spark_jobs.replaying.figures import MatchFigures, has_one_threshold, own_threshold, thresholds_from, with_threshold
from spark_jobs.replaying.live_answer import QueryChangeAt, in_force_from, replayed
from spark_jobs.replaying.played_rows import PlayedRows, without_repetitions
from spark_jobs.replaying.query_changes import query_history
from spark_jobs.replaying.request import RunError, RunRequest
from spark_jobs.replaying.results import EPISODES, MATCHES, CancelledError, Reporter
from spark_jobs.replaying.topic_records import ReadShare, TopicRecords, kept, opened_topic, records_between
from spark_jobs.settings import FusionSettings, HistorySettings

SLACK_US = 60_000_000  # a frame lies on the topic at most so long after ingest received it
_match_decoder = Decoder(FusedMatch)


@dataclass(frozen=True)
class Run:
    """A request, where it is done, and whom it tells."""

    request: RunRequest
    settings: HistorySettings
    streams: Mapping[str, Stream]
    reporter: Reporter

    def execute(self) -> dict[str, Any]:
        """Do it, and return the summary, which says how it ended; RunError if it cannot be done."""
        try:
            self.reporter.progress(0.0)
            self._refuse_undeclared()
            figures = self._as_live() if self.request.as_live else self._complete()
            return self.reporter.tell("done", progress=1.0, **figures)
        except CancelledError:
            return self.reporter.tell("cancelled")
        except (RunError, KafkaError, CoincideError, SettingsError) as error:
            self.reporter.tell("failed", error=str(error))
            raise RunError(str(error)) from error

    def _refuse_undeclared(self) -> None:
        for stream in self.request.query.streams:
            if stream not in self.streams:
                raise RunError(f"query {self.request.query.id} names the stream {stream!r}, which is not declared")

    def _complete(self) -> dict[str, Any]:
        query = self.request.query
        assert isinstance(query, Query)  # noqa: S101 - the request has checked it
        played = self._played(query, with_least_threshold(query, self.request.min_threshold))
        figures = MatchFigures(query.coalesce)
        own, count = own_threshold(query), 0
        with self.reporter.folder.writing(MATCHES) as out:
            for match in complete_matches(played, self.streams, lambda: self.reporter.progress(0.6)):
                figures.add(match)
                self._refuse_more(len(figures))
                if match.probability >= own:
                    count += 1
                    out.write(encode(match) + b"\n")
        told = self._curve(query, figures)
        span_s = (self.request.to_us - self.request.from_us) / 1e6
        chance = chance_matches(played, [point["threshold"] for point in told["curve"]], span_s)
        for point, expected in zip(told["curve"], chance or [], strict=chance is not None):
            point["chance"] = expected
        return {"detections": len(played.rows), "matches": count, **told}

    def _played(self, query: Query, asked: Query) -> PlayedRows:
        """Return the rows of the range, by role of what is asked."""
        request = self.request
        wanted = Wanted(set(query.streams), request.from_us, request.to_us, self.settings.max_detections)
        if request.source == "archive":
            if self.settings.archive_path is None:
                raise RunError("archive_path is not set: say where the archive is, or ask the topic (--source topic)")
            archive = Archive.opened(self.settings.archive_path)
            rows = archived_rows(archive, wanted, lambda share: self.reporter.progress(0.4 * share))
            templates = archived_templates(archive, set(rows["template"].unique().to_pylist()))
        else:
            with opened_topic("detections", self.settings) as frames:
                rows, templates = topic_rows(frames, wanted, lambda share: self.reporter.progress(0.4 * share))
        return PlayedRows(asked, without_repetitions(rows), templates)

    def _as_live(self) -> dict[str, Any]:
        request = self.request
        figures = MatchFigures(request.query.coalesce if isinstance(request.query, Query) else None)
        answer = _LiveFigures()
        fusion = load_settings(FusionSettings, self.settings.fusion_config, os.environ)
        core = FusionCore(self.streams, fusion.limits, 0)
        with ExitStack() as stack:
            frames = stack.enter_context(opened_topic("detections", self.settings))
            out = stack.enter_context(self.reporter.folder.writing(MATCHES))
            for output, records in self._replayed(core, frames):
                answer.take(output, records, request)
                for match in self._matches_in_range(output, out):
                    figures.add(match)
                    self._refuse_more(len(figures))
        with self.reporter.folder.writing(EPISODES) as out:
            out.writelines(line + b"\n" for line in answer.episodes.values())
        told = {"frames": answer.records, "matches": len(figures), "episodes": len(answer.episodes)}
        curve = self._curve(request.query, figures) if isinstance(request.query, Query) else {}
        return {**told, **answer.totals(request.query.id), **curve}

    def _replayed(self, core: FusionCore, frames: TopicRecords) -> Iterator[tuple[Output, int]]:
        request = self.request
        firsts = frames.first_offsets()
        starts = firsts
        if request.warm_up_s is not None:
            starts = kept(frames.offsets_at(request.from_us - round(request.warm_up_s * 1e6)), firsts)
        ends = frames.offsets_at(request.to_us + SLACK_US)
        share = ReadShare(self.reporter.progress, records_between(starts, ends))
        for output, records in replayed(core, frames, self._changes(frames, starts), starts, ends, share):
            share.done += records
            yield output, records

    def _changes(self, frames: TopicRecords, starts: Mapping[int, int]) -> list[QueryChangeAt]:
        """Return the changes of the query, each with the offsets before which it took effect."""
        query = self.request.query
        if not self.request.follows_changes:
            return [in_force_from(query, starts)]
        history = query_history(query.id, self.settings)
        if history is None:
            raise RunError(f"the topics know no query {query.id}")
        return history.placed(frames)

    def _matches_in_range(self, output: Output, out: BinaryIO) -> Iterator[FusedMatch]:
        for record in output.matches:
            match = _match_decoder.decode(record.value)
            if self.request.from_us <= match.received_at_us < self.request.to_us:
                out.write(record.value + b"\n")
                yield match

    def _curve(self, query: Query, figures: MatchFigures) -> dict[str, Any]:
        own = own_threshold(query)
        told: dict[str, Any] = {"own_threshold": own, "histogram": figures.histogram()}
        if query.at_least is not None:  # with another threshold other sets are the largest
            return {**told, "curve": figures.curve([own]), "curve_of": "the query's own threshold alone"}
        least = min(own, self.request.min_threshold or own)
        return {**told, "curve": figures.curve(thresholds_from(least, own).tolist())}

    def _refuse_more(self, matches: int) -> None:
        if matches > self.settings.max_matches:
            raise RunError(f"there are more than {self.settings.max_matches} matches (max_matches)")


def with_least_threshold(query: Query, least: float | None) -> Query:
    """Return the query with a threshold so low that the curve can begin there."""
    if least is None or least >= own_threshold(query):
        return query
    if query.at_least is not None or not has_one_threshold(query):
        raise RunError(f"query {query.id} has no single threshold that a curve could vary: leave min_threshold out")
    return with_threshold(query, least)


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
        return {"replayed": totals, "suspended": status["queries"].get(query, {}).get("suspended", {})}
