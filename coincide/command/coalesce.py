"""``coincide coalesce``: from a file of readings or facts to the file of their runs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from coincide.arrays import Int64Array
from coincide.coalescing import NEVER_US, Runs, coalesce
from coincide.command.bad_rows import tell_bad_rows
from coincide.command.destination import check_paths, is_terminal, opened_answer
from coincide.command.formats import bad_rows_of
from coincide.command.groups import group_codes, text_ranks
from coincide.command.held_readings import held_readings
from coincide.command.notes import note
from coincide.command.progress import Stages, advance_of, shown_stages
from coincide.command.request import CoalesceRequest
from coincide.command.rows import Rows, read_rows
from coincide.command.run_columns import run_columns, run_schema
from coincide.command.table_answer import table_answer

BLOCK = 262_144


def run_coalesce(request: CoalesceRequest) -> int:
    """Read, coalesce and write; return the number of runs.

    Raises
    ------
    CommandError
        What the user can put right.
    """
    check_paths(request.out, [request.path])
    bad = bad_rows_of(request.path)
    with shown_stages(answer_on_terminal=is_terminal(request.out)) as stages:
        rows = read_rows(request, bad, advance_of(stages, f"reading {request.path.name}"))
        tell_bad_rows([bad], skip=request.skip_bad)
        return _write_runs(request, rows, stages)


def _write_runs(request: CoalesceRequest, rows: Rows, stages: Stages | None) -> int:
    advance = advance_of(stages, "coalescing")
    runs = _runs(request, rows)
    with opened_answer(request.out, partial(table_answer, run_schema(request.by, rows))) as answer:
        for begin in range(0, len(runs), BLOCK):
            answer.write(run_columns(request.by, rows, runs, slice(begin, begin + BLOCK)))
            advance(min(begin + BLOCK, len(runs)) / len(runs))
    advance(1.0)
    return len(runs)


def _runs(request: CoalesceRequest, rows: Rows) -> Runs:
    codes = group_codes(rows.by, len(rows.start_us))
    end_us = _ends(request, rows, codes)
    value = None if rows.value is None else _comparable(rows.value)
    if value is not None and request.has_limits:  # after each row has its interval, never before
        above, below = request.limits
        end_us = np.where((value > above) & (value < below), end_us, NEVER_US)
    if request.equivalence is None:
        return coalesce(rows.start_us, end_us, codes, gap_us=request.gap_us)
    return coalesce(rows.start_us, end_us, codes, value, request.equivalence, request.gap_us)


def _ends(request: CoalesceRequest, rows: Rows, codes: Int64Array) -> Int64Array:
    if rows.end_us is not None:
        return rows.end_us
    end_us = held_readings(rows.start_us, codes, rows.id, request.hold_us)
    tied = int(np.count_nonzero(end_us == NEVER_US))
    if tied:
        count = "1 reading is" if tied == 1 else f"{tied} readings are"
        note(f"{request.path}: {count} left out: another of the same group and time counts")
    return end_us


def _comparable(value: pa.Array) -> npt.NDArray[Any]:
    """Return numbers as they are, texts as numbers that are equal where they are."""
    if pa.types.is_large_string(value.type):
        return text_ranks(value)[0]
    numbers: npt.NDArray[Any] = value.to_numpy(zero_copy_only=False)
    return numbers
