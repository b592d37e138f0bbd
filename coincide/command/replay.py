"""``coincide replay``: queries answered over detections in their order of arrival, by the streaming engine."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coincide.arrays.kinds import BoolArray, FloatArray, PositionArray
from coincide.command.answer_files import (
    NdjsonFormat,
    advance_of,
    bytes_of,
    check_paths,
    concatenated,
    format_of_answer,
    opened_sink,
    shown_stages,
)
from coincide.command.arguments.replay_arguments import ReplayRequest
from coincide.command.faults import CommandError, note, report_bad_rows
from coincide.command.input.arrivals import ArrivalReader, Arrivals, merged
from coincide.command.input.formats import bad_rows_of
from coincide.command.input.played_roles import keyed_sources_of
from coincide.command.input.repeats import Repeats
from coincide.command.late_arrivals import LateArrivals
from coincide.command.query_files import read_queries
from coincide.joins.answers import Pairs, Tuples
from coincide.joins.detections import Detections
from coincide.joins.tuples.maximal_sets import MOST_CANDIDATES
from coincide.live import Engine, WindowCondition
from coincide.queries import Query
from coincide.stream import Stream

DIGITS = 6  # of a probability, as coincide join has them
ROWS_AT_ONCE = 16_384
MOST_REMEMBERED = 1_000_000  # detections, by which a repeat is known: a log that grows may never end
AGAIN = "again"  # the stream of repeats, which no query asks for: an area's time goes on with them, too


class QueryEngine:
    """Answers queries that ask for equal values of one attribute, or of none.

    `late` are the rows of the last batch that came too late. The streams are those that queries ask for, and `AGAIN`.
    """

    def __init__(self, queries: Sequence[Query], equal: str | None, streams: Sequence[Stream]) -> None:
        self._queries, self._equal = {query.id: query for query in queries}, equal
        parts = dict.fromkeys(part for query in queries for part in keyed_sources_of(query) if not part.is_whole)
        self._name_of = {part: f"part {nth}" for nth, part in enumerate(parts)}
        sources = {name: part.source.stream for part, name in self._name_of.items()}
        *_, again = streams
        self._again = again.name
        self.engine = Engine(streams, sources=sources, keyed=equal is not None)
        for query in queries:
            self.engine.install(query.id, self._condition(query))
        self.late: PositionArray = np.empty(0, np.int64)

    def _condition(self, query: Query) -> WindowCondition:
        roles = zip(query.graph.roles, keyed_sources_of(query), strict=True)
        played = {role: part.source.stream if part.is_whole else self._name_of[part] for role, part in roles}
        limit = query.limits.max_candidates_per_detection or MOST_CANDIDATES
        return WindowCondition(query.graph, played, query.joint_threshold, query.at_least, query.sensors, limit)

    def lines(self, batch: Arrivals, detections: Detections, is_first: BoolArray) -> Iterator[pa.Array]:
        """Take rows in; yield the lines of what they change in the answers; only the first ones count."""
        rows = batch.rows
        key = None if self._equal is None else rows["equal", self._equal]
        sources = {name: rows[part] for part, name in self._name_of.items()}
        stream, is_told = np.where(is_first, rows["stream"], self._again), False  # by the first block: which are late
        for name, changes in self.engine.push_blocks(stream, detections, key, sources):
            query, fewer, more = self._queries[name], _tuples(changes.retract), _tuples(changes.insert)
            self.late, is_told = self.late if is_told else changes.late, True
            yield match_lines(query, fewer, None)
            yield match_lines(query, more, thresholded(query, more))


def _tuples(answer: Pairs | Tuples) -> Tuples:
    """Every query is installed as one of tuples, those of two roles too: only these know of keys."""
    return cast("Tuples", answer)


def thresholded(query: Query, tuples: Tuples) -> FloatArray:
    """Return the probability that the query has a threshold for, shape (n,)."""
    if query.joint_threshold is not None:
        return tuples.probability
    least: FloatArray = np.nanmin(tuples.edge_probability, axis=1) if len(tuples) else np.empty(0)
    return least


def match_lines(query: Query, tuples: Tuples, probability: FloatArray | None) -> pa.Array:
    """Return a line of JSON for each tuple; without probabilities they are those that no longer count."""
    if len(tuples) == 0:
        return pa.array([], pa.large_string())
    change = "superseded" if probability is None else "match"
    head = f'{{"query":{json.dumps(query.id)},"change":"{change}",'
    shown = [] if probability is None else [_probability_cells(probability), ","]
    members = [_member_cells(role, tuples.members[:, nth]) for nth, role in enumerate(query.graph.roles)]
    present = pc.binary_join_element_wise(*members, pa.scalar(",", pa.large_string()), null_handling="skip")
    return concatenated(head, *shown, '"members":[', present, "]}\n")


def _probability_cells(probability: FloatArray) -> pa.Array:
    return NdjsonFormat().cells("probability", pa.array(np.round(probability, DIGITS)))


def _member_cells(role: str, texts: np.ndarray) -> pa.Array:
    fields = pa.array(texts, pa.large_string())
    cells = concatenated(f'{{"role":{json.dumps(role)},', fields, "}")
    return pc.if_else(pc.equal(fields, ""), None, cells)


def run_replay(request: ReplayRequest) -> int:
    """Read, answer and write; return the number of detections."""
    paths = request.inputs
    _check_out(request, [*request.queries, *paths])
    queries = read_queries(request.queries)
    reader = ArrivalReader(request.reading, queries, request.longest_s)
    engines = _engines(request, queries, reader.longest_s)
    bad = [bad_rows_of(path) for path in paths]
    taken = rows = 0
    repeats, late = Repeats(MOST_REMEMBERED), LateArrivals(request.max_delay_s)
    with shown_stages(request.out) as stages, opened_sink(request.out) as sink:
        files = [reader.read(each, advance_of(stages, f"replaying {each.path.name}")) for each in bad]
        for arrivals in merged(files):
            for first in range(0, len(arrivals), ROWS_AT_ONCE):
                batch = arrivals.take(slice(first, first + ROWS_AT_ONCE))
                is_first = repeats.first(batch.rows["identity"], batch.rows["detected_at_us"])
                detections = _detections(batch, taken, shows_file=len(paths) > 1)
                taken, rows = taken + len(batch), rows + int(is_first.sum())
                for engine in engines:
                    for lines in engine.lines(batch, detections, is_first):
                        sink.write(bytes_of(lines))
                late.take(batch, detections, engines[0].late[is_first[engines[0].late]])
            sink.flush()
    report_bad_rows(bad, skip=True)
    repeats.tell()
    late.tell()
    reader.tell()
    _tell(queries, engines)
    return rows


def _check_out(request: ReplayRequest, inputs: Sequence[Path]) -> None:
    check_paths(request.out, inputs)
    if request.out is not None and format_of_answer(request.out) != "ndjson":
        raise CommandError(f"{request.out}: its name should end in .ndjson or .jsonl, as the answer is NDJSON")


def _engines(request: ReplayRequest, queries: Sequence[Query], longest_s: float) -> list[QueryEngine]:
    names = dict.fromkeys(stream for query in queries for stream in query.streams)
    again = next(name for name in (AGAIN + "-" * nth for nth in count()) if name not in names)
    streams = [Stream(name, request.max_delay_s, longest_s) for name in (*names, again)]
    by_equal: dict[str | None, list[Query]] = defaultdict(list)
    for query in queries:
        by_equal[query.equal].append(query)
    return [QueryEngine(alike, equal, streams) for equal, alike in by_equal.items()]


def _detections(batch: Arrivals, first: int, *, shows_file: bool) -> Detections:
    """Return the rows, called by what an answer shows of them; one without a sensor has a sensor of its own."""
    rows = batch.rows
    sensor = rows["sensor"].copy()
    for at in np.flatnonzero(sensor == "").tolist():
        sensor[at] = f"\0{first + at}"
    labels = {"received_at_us": rows["received_at_us"], "id": _shown(batch, shows_file=shows_file)}
    return Detections(rows["anchor_us"], batch.templates, rows["template"], rows["area"], sensor, **labels)


def _shown(batch: Arrivals, *, shows_file: bool) -> npt.NDArray[np.object_]:
    """Return the fields of each row in an answer, as JSON without braces: by its id, or else by its row in the file."""
    cells, texts = NdjsonFormat().cells, {name: pa.array(batch.rows[name]) for name in TEXTS}
    row = cells("row", pa.array(batch.rows["row"]))
    named = concatenated(cells("file", texts["file"]), ",", row) if shows_file else row
    name = pc.if_else(pc.equal(texts["id"], ""), named, cells("id", texts["id"]))
    labels = [concatenated(",", cells(each, texts[each])) for each in LABELS]
    given = [pc.if_else(pc.equal(texts[each], ""), "", cell) for each, cell in zip(LABELS, labels, strict=True)]
    at = cells("detected_at", pa.array(batch.rows["detected_at_us"]).cast(pa.timestamp("us", "UTC")))
    shown: npt.NDArray[np.object_] = concatenated(name, *given, ",", at).to_numpy(zero_copy_only=False)
    return shown


LABELS = ("stream", "sensor", "area")
TEXTS = ("id", "file", *LABELS)


def _tell(queries: Sequence[Query], engines: Sequence[QueryEngine]) -> None:
    """Say at the end which queries were suspended, and why."""
    suspended = {name: why for engine in engines for name, why in engine.engine.suspended.items()}
    for name, why in suspended.items():
        note(f"query {name} was suspended, and its answer ends there: {why}")
    if suspended:
        raise CommandError(f"{len(suspended)} of {len(queries)} queries could not be answered to the end")
