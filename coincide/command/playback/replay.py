"""``coincide replay``: queries answered over detections in their order of arrival, by the fusion core."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coincide.arrays.kinds import LabelArray
from coincide.command.answer_files import (
    PROBABILITY_DIGITS,
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
from coincide.command.input.repeats import tell_repeats
from coincide.command.playback.late_arrivals import LateArrivals
from coincide.command.playback.replay_shard import ReplayedTuples, ReplayShard
from coincide.command.query_files import read_queries
from coincide.command.stations.station_files import places_of
from coincide.fusion.rows.named_rows import NamedRows
from coincide.places.place_registry import NO_PLACE
from coincide.queries import Query
from coincide.stream import Stream
from coincide.wire.status_record import Suspension

ROWS_AT_ONCE = 16_384
NOWHERE = "\0"  # the core's areas have names


def answer_lines(tuples: ReplayedTuples) -> pa.Array:
    """Return for each tuple a line of JSON that says so, behind one that says which smaller one no longer counts."""
    shown = NdjsonFormat().cells("probability", pa.array(np.round(tuples.probability, PROBABILITY_DIGITS)))
    lines = _lines(tuples.query, "match", tuples.members, shown, ",")
    if len(tuples.larger) == 0:
        return lines
    before: LabelArray = np.full(len(lines), "", dtype=object)
    before[tuples.larger] = _lines(tuples.query, "superseded", tuples.smaller).to_pylist()
    return concatenated(pa.array(before, pa.large_string()), lines)


def _lines(query: Query, change: str, members: LabelArray, *shown: pa.Array | str) -> pa.Array:
    head = f'{{"query":{json.dumps(query.id)},"change":"{change}",'
    cells = [_member_cells(role, members[:, nth]) for nth, role in enumerate(query.graph.roles)]
    present = pc.binary_join_element_wise(*cells, pa.scalar(",", pa.large_string()), null_handling="skip")
    return concatenated(head, *shown, '"members":[', present, "]}\n")


def _member_cells(role: str, texts: np.ndarray) -> pa.Array:
    fields = pa.array(texts, pa.large_string())
    cells = concatenated(f'{{"role":{json.dumps(role)},', fields, "}")
    return pc.if_else(pc.is_null(fields), None, cells)


def run_replay(request: ReplayRequest) -> int:
    """Read, answer and write; return the number of detections."""
    paths = request.inputs
    _check_out(request, [*request.queries, *request.places, *paths])
    queries = read_queries(request.queries, with_places=True)
    reader = ArrivalReader(
        request.reading,
        queries,
        request.longest_s,
        plays=False,
        places=places_of(request.places, skip_bad=request.reading.skip_bad),
    )
    names = dict.fromkeys(stream for query in queries for stream in query.streams)
    shard = ReplayShard(queries, [Stream(name, request.max_delay_s, reader.longest_s) for name in names])
    bad = [bad_rows_of(path) for path in paths]
    taken, late = 0, LateArrivals(request.max_delay_s)
    with shown_stages(request.out) as stages, opened_sink(request.out) as sink:
        files = [reader.read(each, advance_of(stages, f"replaying {each.path.name}")) for each in bad]
        for arrivals in merged(files):
            for first in range(0, len(arrivals), ROWS_AT_ONCE):
                batch = arrivals.take(slice(first, first + ROWS_AT_ONCE))
                are_late, answers = shard.take(named_rows(batch, taken), _shown(batch, shows_file=len(paths) > 1))
                for tuples in answers:
                    sink.write(bytes_of(answer_lines(tuples)))
                late.take(batch, are_late)
                taken += len(batch)
            sink.flush()
    report_bad_rows(bad, skip=True)
    tell_repeats(shard.totals.duplicates, shard.totals.conflicts)
    late.tell()
    tell_without_place(shard.totals.no_place)
    reader.tell()
    tell_suspended(shard.suspensions, len(queries))
    return shard.totals.accepted


def tell_without_place(count: int) -> None:
    """Say how many rows have no place that a query needs."""
    if count:
        have = "1 detection has" if count == 1 else f"{count} detections have"
        note(f"{have} no place, so no query finds them that asks where sensors are: --places FILE says it by sensor")


def _check_out(request: ReplayRequest, inputs: Sequence[Path]) -> None:
    check_paths(request.out, inputs)
    if request.out is not None and format_of_answer(request.out) != "ndjson":
        raise CommandError(f"{request.out}: its name should end in .ndjson or .jsonl, as the answer is NDJSON")


def named_rows(batch: Arrivals, first: int) -> NamedRows:
    """Return rows by names that tell which of them come again.

    One without a sensor has a sensor of its own. A name that stands for none begins with a zero byte.
    """
    rows, sensor, ids = batch.rows, batch.rows["sensor"].tolist(), batch.rows["id"].tolist()
    for at in np.flatnonzero((rows["sensor"] == "") | (rows["id"] == "")).tolist():
        content = f"{rows['stream'][at]}\0{rows['identity'][at]}"
        if sensor[at]:
            ids[at] = f"\0{content}"
        else:
            sensor[at] = f"\0{ids[at]}\0{content}" if ids[at] else f"\0{first + at:012}"
    places = [each for each in dict.fromkeys(rows["sensor_place"].tolist()) if each is not None]
    position = {None: NO_PLACE} | {place: nth for nth, place in enumerate(places)}
    return NamedRows(
        [name or NOWHERE for name in rows["area"].tolist()],
        sensor,
        rows["stream"].tolist(),
        ids,
        rows["attributes"].tolist(),
        rows["template"],
        batch.templates,
        np.array([position[each] for each in rows["sensor_place"].tolist()], np.int64),
        places,
        rows["anchor_us"],
        rows["received_at_us"],
    )


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


def tell_suspended(suspensions: Sequence[tuple[str, Suspension]], queries: int) -> None:
    """Say at the end which queries were suspended, and why."""
    for name, why in suspensions:
        where = "" if why.area in (None, NOWHERE) else f" in area {why.area}"
        when = f"{np.datetime64(why.received_at_us, 'us')}Z"
        note(
            f"query {name} was suspended{where}, and its answer ends there: {why.limit} is {why.allowed}, and the "
            f"detection that was received at {when} has more"
        )
    if suspensions:
        suspended = len({name for name, _ in suspensions})
        raise CommandError(f"{suspended} of {queries} queries could not be answered to the end")
