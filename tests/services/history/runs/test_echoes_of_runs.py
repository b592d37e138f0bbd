"""Complete runs leave out echoes: wherever the archive is cut, and whatever came before the range."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide.fusion.records.kafka_records import InputRecord
from services.history.archiving.file_names import batch_file
from services.history.archiving.folders import Archive, write_rows
from services.history.replaying.complete_answer import complete_matches
from services.history.rows.counting_rows import echoes_in, first_of_each
from tests.coincide.fusion.inputs import Row, frame
from tests.services.history.replaying.test_answers import PAIR, STREAMS, THREE, played, some_rows, table_of
from tests.services.history.runs.test_run import run_of, written
from tests.test_contracts import faults

ECHO_US = {"p": 1_500_000, "s": 0}
ECHOING = {name: replace(STREAMS[name], echo_s=us / 1e6) for name, us in ECHO_US.items()}
TO_US = 61_000_000
TWO = {**THREE, "id": "two", "at_least": 2}
#: Rows by area. Two sensors of one name in two areas make no echoes of each other.
ROWS = {f"area-{nth}": some_rows(20 + nth, 150) for nth in range(2)}


def counting(rows: Sequence[Row], echo_us: Mapping[str, int]) -> list[Row]:
    """The rows of one area that are no echoes, by the definition alone."""

    def is_echo(row: Row) -> bool:
        us = echo_us.get(row.stream)
        return us is not None and any(
            (other.sensor, other.stream) == (row.sensor, row.stream)
            and (other.at_us, other.id) < (row.at_us, row.id)
            and row.at_us - other.at_us <= us
            for other in rows
        )

    return [row for row in rows if not is_echo(row)]


def frames_of(rows: Mapping[str, Sequence[Row]]) -> list[InputRecord]:
    return [frame(nth, rows[area], area, nth, 1e9) for nth, area in enumerate(rows)]


def expected(query: dict[str, Any], from_us: int = 0, to_us: int = TO_US) -> tuple[set[str], int]:
    """Ids of the matches of a range, and how many echoes it has."""
    left = {area: counting(rows, ECHO_US) for area, rows in ROWS.items()}
    inside = {area: [row for row in rows if from_us <= row.at_us < to_us] for area, rows in left.items()}
    all_inside = [row for rows in ROWS.values() for row in rows if from_us <= row.at_us < to_us]
    echoes = len(all_inside) - sum(map(len, inside.values()))
    of_range = played(query, frames_of(inside))
    return {match.id for match in complete_matches(of_range, STREAMS, lambda: None)}, echoes


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    """Small groups of rows in three files, some of them posted again."""
    archive = Archive.opened(tmp_path / "archive", 2)
    order = np.random.default_rng(1).permutation(150)
    for batch in range(3):
        parts = {area: [rows[at] for at in order[batch::3].tolist()] for area, rows in ROWS.items()}
        parts["area-0"] = [*parts["area-0"], *ROWS["area-0"][:9]]
        table, templates = table_of(frames_of(parts))
        archive.write_templates({id_: each.to_json() for id_, each in templates.items()})
        archive.write(table, batch_file(batch, 0, 0))
    monkeypatch.setattr("services.history.archiving.folders.ROWS_IN_GROUP", 10)
    for path in archive.files():
        write_rows(path, pq.ParquetFile(path).read())
    return archive


@pytest.mark.parametrize("chunk_rows", [400_000, 15])
@pytest.mark.parametrize("query", [PAIR, THREE, TWO], ids=lambda query: str(query["id"]))
def test_a_run_joins_no_echoes_wherever_it_is_cut(
    archive: Archive, query: dict[str, Any], chunk_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.history.replaying.complete_run.CHUNK_ROWS", chunk_rows)
    matches, echoes = expected(query)
    run = run_of(archive, query, streams=ECHOING)
    summary = run.execute()
    assert {match["id"] for match in written(run)} == matches
    assert (summary["echoes"], summary["matches"]) == (echoes, len(matches))
    assert summary["echo_s"] == {"p": 1.5, "s": 0.0}
    assert (echoes > 20, len(matches) > 20) == (True, True)
    assert faults("history-run", summary) == []
    with_echoes = run_of(archive, query).execute()
    assert with_echoes["detections"] == summary["detections"] + echoes
    assert {"echoes", "echo_s"}.isdisjoint(with_echoes)


@pytest.mark.parametrize("query", [PAIR, TWO], ids=lambda query: str(query["id"]))
def test_what_was_reported_just_before_the_range_has_echoes_in_it(archive: Archive, query: dict[str, Any]) -> None:
    moved = 0
    for from_us in range(9_000_000, 50_000_000, 20_000_000):
        matches, echoes = expected(query, from_us)
        run = run_of(archive, query, streams=ECHOING, from_us=from_us)
        summary = run.execute()
        assert ({match["id"] for match in written(run)}, summary["echoes"]) == (matches, echoes)
        inside = [[row for row in rows if row.at_us >= from_us] for rows in ROWS.values()]
        moved += echoes - sum(len(rows) - len(counting(rows, ECHO_US)) for rows in inside)
    assert moved > 0  # some range begins with an echo


def test_time_slides_shift_no_echoes(archive: Archive) -> None:
    summary = run_of(archive, streams=ECHOING, query=PAIR, slides=2).execute()
    slid = summary["slides"] or {"matches": summary["matches"]}
    assert slid["matches"] == summary["matches"] == len(expected(PAIR)[0])


rows = st.builds(
    lambda at, sensor, stream, id_: Row(id_, at / 10, stream=stream, sensor=sensor),
    st.integers(0, 30),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["p", "s", "t"]),
    st.sampled_from(["x", "y", "ä", "é", "z1"]),
)


@given(st.lists(rows, min_size=1, max_size=25), st.sampled_from([{}, ECHO_US, {"p": 300_000, "t": 100_000}]))
def test_which_rows_are_echoes_is_as_defined(drawn: list[Row], echo_us: dict[str, int]) -> None:
    table, _ = table_of([frame(0, drawn)])
    once = table.take(first_of_each(table))
    left = once.filter(pa.array(~echoes_in(once, echo_us)))
    names = {(row["sensor_id"], row["stream"], row["detected_at_us"], row["id"]) for row in left.to_pylist()}
    assert names == {(row.sensor, row.stream, row.at_us, row.id) for row in counting(drawn, echo_us)}
