"""``coincide coalesce``: from a file of readings or facts to the file of their runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.coalescing.batch import NEVER_US, coalesce, validity
from coincide.coalescing.columns import time_order
from coincide.coalescing.runs import Runs
from coincide.command.answer_files import Stages, advance_of, check_paths, opened_answer, shown_stages
from coincide.command.arguments.coalesce_arguments import CoalesceRequest
from coincide.command.faults import note, report_bad_rows
from coincide.command.input.file_rows import FileRows, read_rows
from coincide.command.input.formats import bad_rows_of
from coincide.command.query_files import read_readings_query
from coincide.queries import ReadingsQuery
from coincide.sliding.questions import Lasting
from coincide.sliding.value_limits import ValueLimits, begun
from coincide.temporal.intervals import NOW_US

TIME = pa.timestamp("us", "UTC")


def run_schema(by: Sequence[str], rows: FileRows) -> pa.Schema:
    """Return the names and types of the columns."""
    groups = [(name, column.type) for name, column in zip(by, rows.by, strict=True)]
    value = [] if rows.value is None else [("value", rows.value.type)]
    times = [("start", TIME), ("end", TIME), ("duration_s", pa.float64())]
    return pa.schema([*groups, *value, *times, ("count", pa.int64()), ("open", pa.bool_())])


def run_columns(by: Sequence[str], rows: FileRows, runs: Runs, part: slice) -> pa.Table:
    """Return some of the runs; what still holds has neither an end nor a duration."""
    first = pa.array(runs.first[part])
    start_us, end_us = runs.start_us[part], runs.end_us[part]
    holds = end_us == NOW_US
    is_open = runs.is_open[part] if rows.end_us is None else holds
    groups = [column.take(first) for column in rows.by]
    value = [] if rows.value is None else [rows.value.take(first)]
    times = [pa.array(start_us).cast(TIME), pa.array(end_us, mask=holds).cast(TIME)]
    lasting = pa.array((end_us - start_us) / 1e6, mask=holds)
    columns = [*groups, *value, *times, lasting, pa.array(runs.count[part]), pa.array(is_open)]
    return pa.Table.from_arrays(columns, schema=run_schema(by, rows))


MOST_CODES = 1 << 31


def group_codes(by: Sequence[pa.Array], rows: int) -> Int64Array:
    """Return a code for each row, int64 (rows,): equal where all columns are, in the order of the columns' texts."""
    codes, combinations = np.zeros(rows, np.int64), 1
    for column in by:
        ranks, many = text_ranks(column)
        codes, combinations = codes * many + ranks, combinations * many
        if combinations > MOST_CODES:
            different, codes = np.unique(codes, return_inverse=True)
            combinations = len(different)
    return codes


def text_ranks(column: pa.Array) -> tuple[Int64Array, int]:
    """Return the place of each value among the different ones by their text, empty ones last, and how many."""
    encoded = column.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary.cast(pa.large_string())).to_numpy()
    rank = np.empty(len(order) + 1, np.int64)
    rank[order] = np.arange(len(order))
    rank[-1] = len(order)
    return rank[encoded.indices.fill_null(len(order)).to_numpy(zero_copy_only=False)], max(len(order), 1)


def reading_ends(ts_us: Int64Array, codes: Int64Array, ids: pa.Array | None, hold_us: int | None) -> Int64Array:
    """Return when each reading ends, int64 (n,); `NEVER_US` where another of its group and time counts.

    That is the one with the smallest id by its text, as all formats have one, and of equal ones the first row.
    """
    end_us = validity(ts_us, codes, hold_us)[1]
    if ids is None or not np.any(end_us == NEVER_US):
        return end_us
    counts = _smallest_ids(ts_us, codes, ids)
    end_us = np.full(len(ts_us), NEVER_US)
    end_us[counts] = validity(ts_us[counts], codes[counts], hold_us)[1]
    return end_us


def _smallest_ids(ts_us: Int64Array, codes: Int64Array, ids: pa.Array) -> BoolArray:
    """Return which readings count, bool (n,)."""
    order = np.arange(len(ts_us))[time_order(codes, ts_us)]
    same = (np.diff(codes[order]) == 0) & (np.diff(ts_us[order]) == 0)
    tied = np.append(same, False) | np.append(False, same)
    rows, begins = order[tied], ~np.append(False, same)[tied]
    by_id = np.lexsort((text_ranks(ids.take(pa.array(rows)))[0], np.cumsum(begins)))
    counts = np.ones(len(ts_us), np.bool_)
    counts[rows] = False
    counts[rows[by_id[begins]]] = True
    return counts


BLOCK = 262_144  # runs that are written at once


def run_coalesce(request: CoalesceRequest, block: int = BLOCK) -> int:
    """Read, coalesce and write, `block` runs at a time; return the number of runs."""
    check_paths(request.out, [request.path, *([] if request.query is None else [request.query])])
    request = request if request.query is None else _as_asked(read_readings_query(request.query), request)
    bad = bad_rows_of(request.path)
    with shown_stages(request.out) as stages:
        rows = read_rows(request, bad, advance_of(stages, f"reading {request.path.name}"))
        report_bad_rows([bad], skip=request.skip_bad)
        if request.query is not None and rows.by[0].null_count == len(rows.by[0]):  # the file has no areas
            request, rows = replace(request, by=request.by[1:]), replace(rows, by=rows.by[1:])
        return _write_runs(request, _without_needless(rows), stages, block)


AREA = "area"


def _as_asked(query: ReadingsQuery, request: CoalesceRequest) -> CoalesceRequest:
    """Return what a query over readings asks of a file: its runs, which no window cuts."""
    return replace(
        request,
        by=(AREA, *query.by),
        value_column=query.value,
        hold_us=query.rule.hold_us,
        equivalence=query.rule.equivalence,
        limits=query.rule.limits,
        stream=query.stream,
        lasting_us=query.question.lasting_us if isinstance(query.question, Lasting) else 0,
    )


def _write_runs(request: CoalesceRequest, rows: FileRows, stages: Stages | None, block: int) -> int:
    advance = advance_of(stages, "coalescing")
    runs = _runs(request, rows)
    runs = runs.take(runs.end_us - runs.start_us >= request.lasting_us) if request.lasting_us else runs
    with opened_answer(request.out, run_schema(request.by, rows)) as answer:
        for begin in range(0, len(runs), block):
            answer.write(answer.part(run_columns(request.by, rows, runs, slice(begin, begin + block))))
            advance(min(begin + block, len(runs)) / len(runs))
    advance(1.0)
    return len(runs)


def _without_needless(rows: FileRows) -> FileRows:
    """Leave out the unknown readings at instants of which another reading of the group tells."""
    if not rows.is_unknown.any():
        return rows
    codes = group_codes(rows.by, len(rows.start_us))
    order = np.lexsort((rows.is_unknown, rows.start_us, codes))
    follows = np.append(False, (np.diff(codes[order]) == 0) & (np.diff(rows.start_us[order]) == 0))
    is_needed = np.ones(len(order), np.bool_)
    is_needed[order[follows & rows.is_unknown[order]]] = False
    return rows.where(is_needed)


def _runs(request: CoalesceRequest, rows: FileRows) -> Runs:
    codes = group_codes(rows.by, len(rows.start_us))
    end_us = _ends(request, rows, codes)
    end_us = np.where(rows.is_unknown, NEVER_US, end_us)  # they have ended those before them
    value = None if rows.value is None else _comparable(rows.value, rows.is_unknown)
    if value is not None and request.limits is not None:  # after each row has its interval, never before
        end_us = np.where(_counts(request, request.limits, rows.start_us, end_us, codes, value), end_us, NEVER_US)
    if request.equivalence is None:
        return coalesce(rows.start_us, end_us, codes, gap_us=request.gap_us)
    return coalesce(rows.start_us, end_us, codes, value, request.equivalence, request.gap_us)


def _counts(
    request: CoalesceRequest,
    limits: ValueLimits,
    start_us: Int64Array,
    end_us: Int64Array,
    codes: Int64Array,
    value: npt.NDArray[Any],
) -> BoolArray:
    """Return which rows count, bool (n,): those within the limits, and those with which a run that has begun lasts."""
    counts: BoolArray = limits.hold(value)
    if not limits.has_hysteresis:
        return counts
    order = np.arange(len(codes))[time_order(codes, start_us)]
    at = order[(limits.last(value) & (end_us != NEVER_US))[order]]
    one, next_ = at[:-1], at[1:]
    chained = (codes[one] == codes[next_]) & (start_us[next_] - end_us[one] <= request.gap_us)
    if request.equivalence is not None:
        chained &= request.equivalence.link(value[one], value[next_])
    counts[at] = begun(counts[at], chained)
    return counts


def _ends(request: CoalesceRequest, rows: FileRows, codes: Int64Array) -> Int64Array:
    if rows.end_us is not None:
        return rows.end_us
    end_us = reading_ends(rows.start_us, codes, rows.id, request.hold_us)
    tied = int(np.count_nonzero(end_us == NEVER_US))
    if tied:
        count = "1 reading is" if tied == 1 else f"{tied} readings are"
        note(f"{request.path}: {count} left out: another of the same group and time counts")
    return end_us


def _comparable(value: pa.Array, is_unknown: BoolArray) -> npt.NDArray[Any]:
    """Return numbers as they are, texts as numbers that are equal where they are; 0 for what is unknown."""
    if pa.types.is_large_string(value.type):
        return text_ranks(value)[0]
    numbers: npt.NDArray[Any] = value.to_numpy(zero_copy_only=False)
    return np.where(is_unknown, numbers.dtype.type(0), numbers)
