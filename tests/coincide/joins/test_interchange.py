"""Detections from the tables of pandas, polars, pyarrow and DuckDB, and answers handed back to them."""

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import coincide as cc
from coincide import Detections, Histogram, Pairs, Runs, Tuples, Window
from coincide.arrays.instants import LATEST_TIME_US, YEAR_1980_US
from coincide.errors import DetectionsError
from coincide.temporal.intervals import NOW_US

SURE, LATE = Histogram.point(), Histogram.uniform(-2, 0)
BY_NAME = {"m1": SURE, "m2": LATE}
AT = ["1987-02-23T07:35:35.000001", "1987-02-23T07:35:36.5", "1987-02-23T07:35:37"]
AT_US = [541_064_135_000_001, 541_064_136_500_000, 541_064_137_000_000]
COLUMNS: dict[str, Any] = {
    "detected_at": np.array(AT, "datetime64[us]"),
    "sensor": np.array(["m1", "m2", "m1"], object),
    "area": [7, 7, 8],
    "id": ["n1", "n2", "n3"],
    "received_at_us": np.array(AT_US) + 10,
}


def polars_frame(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("polars").DataFrame(columns)


class OnlyAStream:
    """What speaks Arrow and nothing else, as a DuckDB relation or another library's table does."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self._table = pa.table(columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


MADE: list[Callable[[dict[str, Any]], Any]] = [dict, pd.DataFrame, pa.table, polars_frame, OnlyAStream]


@pytest.mark.parametrize("made", MADE)
def test_every_kind_of_table_gives_the_same_detections(made: Callable[[dict[str, Any]], Any]) -> None:
    detections = Detections.from_table(made(COLUMNS), BY_NAME)
    assert detections.detected_at_us.tolist() == AT_US
    assert [detections.templates[at] for at in detections.template_index] == [SURE, LATE, SURE]
    for name in ("sensor", "area", "id", "received_at_us"):
        assert getattr(detections, name).tolist() == list(COLUMNS[name]), name


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us", "ns", "ps"])
def test_a_datetime_of_any_unit_is_the_same_time(unit: str) -> None:
    day = np.array(["1970-02-23"], "datetime64[D]")  # picoseconds reach no further
    assert Detections(day.astype("datetime64[h]").astype(f"datetime64[{unit}]"), [SURE]).detected_at_us.tolist() == [
        53 * 86_400_000_000
    ]


def test_parts_of_a_microsecond_are_cut_off_before_1970_as_after() -> None:
    times = np.array([1_999, -1], "datetime64[ns]")
    assert Detections(times, [SURE]).detected_at_us.tolist() == [1, -1]


@pytest.mark.parametrize("made", [pd.DataFrame, pa.table, polars_frame])
def test_a_zone_is_another_name_of_the_same_time(made: Callable[[dict[str, Any]], Any]) -> None:
    tokyo = timezone(timedelta(hours=9))
    times = [datetime.fromisoformat(text).replace(tzinfo=UTC).astimezone(tokyo) for text in AT]
    assert Detections.from_table(made({"detected_at": times}), SURE).detected_at_us.tolist() == AT_US


@pytest.mark.parametrize(
    ("unit", "numbers"),
    [
        ("us", AT_US),
        ("ns", [each * 1000 + 999 for each in AT_US]),
        ("ms", np.array(AT_US) / 1e3),
        ("s", np.array(AT_US) / 1e6),
    ],
)
def test_numbers_count_in_the_unit_that_is_named(unit: Any, numbers: Any) -> None:
    assert Detections.from_table({"t": numbers}, SURE, time="t", unit=unit).detected_at_us.tolist() == AT_US


def test_whole_seconds_are_exact() -> None:
    numbers = np.array([541_064_135, LATEST_TIME_US // 10**6])
    times = Detections.from_table({"detected_at": numbers}, SURE, unit="s").detected_at_us
    assert times.tolist() == [541_064_135_000_000, LATEST_TIME_US // 10**6 * 10**6]


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    ({"detected_at": [541_064_135]}, {}, "detected_at", "looks like seconds or milliseconds"),
    ({"detected_at_us": [YEAR_1980_US - 1]}, {}, "detected_at_us", "looks like seconds or milliseconds"),
    ({"detected_at": [541_064_135.25]}, {}, "detected_at", "need the unit s"),
    ({"detected_at": [541_064_135]}, {"unit": "ms"}, "detected_at", "looks like a coarser unit"),
    ({"detected_at": AT_US}, {"unit": "s"}, "detected_at", "looks like a finer unit"),
    ({"detected_at": [2**63 - 1]}, {"unit": "s"}, "detected_at", "looks like a finer unit"),
    ({"detected_at": np.array([2**64 - 1], np.uint64)}, {"unit": "ns"}, "detected_at", "looks like a finer unit"),
    ({"detected_at": AT_US}, {"unit": "minutes"}, "unit", "one of s, ms, us, ns"),
    ({"detected_at": AT}, {}, "detected_at", "datetime64"),
    ({"detected_at": np.array([AT[0], "NaT"], "datetime64[ms]")}, {}, "detected_at", "row 1"),
    ({"detected_at": pd.Series([AT_US[0], None])}, {}, "detected_at", "row 1"),
    ({"detected_at": np.array(["3000-01-01"], "datetime64[D]")}, {}, "detected_at", "1898 to 2112"),
    ({"detected_at": np.array([10**12], "datetime64[Y]")}, {}, "detected_at", "1898 to 2112"),
    ({"detected_at": np.array([2**62], "datetime64[s]")}, {}, "detected_at", "1898 to 2112"),
    ({"detected_at": [datetime(1987, 2, 23, tzinfo=UTC), None]}, {}, "detected_at", "row 1"),
    ({"when": AT_US}, {}, "detected_at", "a column detected_at or detected_at_us"),
    ({"detected_at": AT_US}, {"time": "when"}, "when", "a column when"),
    ({"detected_at": AT_US[:2], "sensor": ["m1", None]}, {}, "sensor", "row 1"),
    ({"detected_at": AT_US[:1], "area": [0.5]}, {}, "area", "integers or of strings"),
]


@pytest.mark.parametrize(("columns", "options", "field", "said"), REFUSED)
def test_what_cannot_be_used_is_refused_by_column(
    columns: dict[str, Any], options: dict[str, Any], field: str, said: str
) -> None:
    with pytest.raises(DetectionsError, match=said) as refused:
        Detections.from_table(columns, SURE, **options)
    assert refused.value.field == field


def test_a_row_has_the_template_that_it_names_before_its_sensors() -> None:
    columns = {"detected_at": AT_US, "template": [None, "m2", ""], "sensor": ["m1", "m1", "m2"]}
    detections = Detections.from_table(pd.DataFrame(columns), BY_NAME)
    assert [detections.templates[at] for at in detections.template_index] == [SURE, LATE, LATE]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"sensor": ["m1", "m9", "m2"]}, "'m9' in row 1"),
        ({"template": ["m1", None, "m2"]}, "nothing in row 1"),
        ({}, "nothing says which template"),
    ],
)
def test_a_template_that_nobody_named_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(DetectionsError, match=said):
        Detections.from_table({"detected_at": AT_US, **more}, BY_NAME)


def test_columns_of_pandas_own_types_are_read() -> None:
    own = {
        "detected_at": pd.array(AT_US, "Int64"),
        "sensor": pd.Categorical(["m1", "m2", "m1"]),
        "id": pd.array(["n1", "n2", "n3"], "string"),
        "area": pd.array([7, 7, 8], "Int16"),
    }
    detections = Detections.from_table(pd.DataFrame(own), BY_NAME)
    assert detections.detected_at_us.tolist() == AT_US
    for name in ("sensor", "id", "area"):
        assert getattr(detections, name).tolist() == list(COLUMNS[name]), name
    encoded = pa.table({**COLUMNS, "sensor": pa.array(COLUMNS["sensor"]).dictionary_encode()})
    assert Detections.from_table(encoded, BY_NAME).sensor.tolist() == list(COLUMNS["sensor"])  # type: ignore[union-attr]
    with pytest.raises(DetectionsError, match="detected_at"):
        Detections.from_table(pd.DataFrame({"detected_at": pd.array([AT_US[0], None], "Int64")}), SURE)


def test_a_relation_of_duckdb_is_a_table() -> None:
    duckdb = pytest.importorskip("duckdb")
    frame = pd.DataFrame(COLUMNS)
    assert len(frame) == 3
    detections = Detections.from_table(duckdb.sql("SELECT * FROM frame"), BY_NAME)
    assert detections.detected_at_us.tolist() == AT_US


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(TypeError, match="a table is needed"):
        Detections.from_table(7, SURE)
    with pytest.raises(DetectionsError, match="templates"):
        Detections.from_table({"detected_at": AT_US}, [SURE])  # type: ignore[arg-type]


def test_no_rows_are_detections_too() -> None:
    assert len(Detections.from_table(pd.DataFrame({"detected_at": []}), SURE)) == 0
    assert len(Detections.from_table(pa.table({"detected_at": pa.array([], pa.timestamp("s"))}), SURE)) == 0


def test_changing_the_table_afterwards_changes_no_detection() -> None:
    times = np.array(AT_US)
    detections = Detections.from_table({"detected_at": times}, SURE)
    times[0] = YEAR_1980_US
    assert detections.detected_at_us.tolist() == AT_US
    assert times.flags.writeable


def test_a_slice_and_the_rest_make_the_whole_again() -> None:
    whole = Detections.from_table(COLUMNS, BY_NAME)
    again = Detections.concat([whole[:1], whole[1:1], whole[1:]])
    for name in ("detected_at_us", "sensor", "area", "id", "received_at_us"):
        assert getattr(again, name).tolist() == getattr(whole, name).tolist(), name
    assert [again.templates[at] for at in again.template_index] == [SURE, LATE, SURE]
    assert whole[whole.detected_at_us > AT_US[0]].id.tolist() == ["n2", "n3"]  # type: ignore[union-attr]
    assert whole[::-1].detected_at_us.tolist() == AT_US[::-1]
    with pytest.raises(TypeError, match="a slice"):
        whole[0]  # type: ignore[index]


def test_parts_are_put_together_with_the_templates_that_they_have() -> None:
    one, other = Detections([1, 2], [LATE, SURE], [0, 1]), Detections([3], [SURE])
    both = Detections.concat([one, other])
    assert (both.templates, both.template_index.tolist()) == ((LATE, SURE), [0, 1, 1])
    assert len(Detections.concat([])) == 0


@pytest.mark.parametrize("area", [None, [5]])
def test_parts_of_which_some_lack_a_column_are_refused(area: Any) -> None:
    with pytest.raises(DetectionsError, match="area"):
        Detections.concat([Detections([1], [SURE], area=["x"]), Detections([2], [SURE], area=area)])


def pairs() -> Pairs:
    a = Detections([0, 5_000_000], [Histogram.uniform(-1, 1)])
    return cc.timing_join(a, Detections([500_000], [LATE]), Window(3), 0.2)


def tuples() -> Tuples:
    batches = {name: Detections([at_us], [LATE]) for name, at_us in zip("abc", (0, 100_000, 90_000_000), strict=True)}
    return cc.window_join(batches, cc.ConstraintGraph.clique("abc", Window(2), threshold=0.2), at_least=2)


def runs() -> Runs:
    return cc.coalesce([0, 10, 50], [10, 20, NOW_US], ["x", "x", "y"], gap_us=0)


def test_pairs_are_columns_of_arrow() -> None:
    answer = pairs()
    table = answer.to_arrow()
    assert table.column_names == ["left", "right", "probability"]
    assert table.to_pydict()["probability"] == answer.probability.tolist()
    assert pa.table(answer).equals(table)
    assert Pairs.none().to_arrow().num_rows == 0


def test_tuples_have_a_column_for_each_role_null_where_it_is_absent() -> None:
    answer = tuples()
    [row] = answer.to_arrow().to_pylist()
    assert (row["a"], row["b"], row["c"]) == (0, 0, None)
    assert row["probability"] == answer.probability[0]
    assert row["least"] <= row["probability"] <= row["greatest"]
    edges = np.array(row["edge_probability"])
    np.testing.assert_array_equal(edges, answer.edge_probability[0])
    assert Tuples.none(3, 3).to_arrow().column_names[:3] == ["role_0", "role_1", "role_2"]


def test_runs_have_times_and_no_end_while_they_hold() -> None:
    table = runs().to_arrow()
    assert table.schema.field("start").type == pa.timestamp("us", "UTC")
    rows = table.to_pylist()
    assert [(row["group"], row["count"]) for row in rows] == [("x", 2), ("y", 1)]
    assert rows[0]["end"] == datetime.fromtimestamp(20e-6, UTC)
    assert rows[1]["end"] is None


def test_detections_go_out_as_they_came_in() -> None:
    detections = Detections.from_table(COLUMNS, BY_NAME)
    table = detections.to_arrow()
    assert table.column("detected_at").to_pylist() == [datetime.fromisoformat(text).replace(tzinfo=UTC) for text in AT]
    again = Detections.from_table(table, {each.id: each for each in BY_NAME.values()})
    assert again.detected_at_us.tolist() == AT_US
    assert again.received_at_us.tolist() == detections.received_at_us.tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize("answer", [pairs, tuples, runs])
def test_polars_reads_answers_with_pyarrow_and_without(
    answer: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    polars = pytest.importorskip("polars")
    through_pyarrow = polars.DataFrame(answer())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert polars.DataFrame(answer()).equals(through_pyarrow)


def test_duckdb_reads_answers() -> None:
    duckdb = pytest.importorskip("duckdb")
    answer = pairs()
    [(count, most)] = duckdb.sql("SELECT count(*), max(probability) FROM answer").fetchall()
    assert (count, most) == (len(answer), answer.probability.max())


def test_without_pyarrow_and_polars_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pyarrow", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        pairs().to_arrow()
    with pytest.raises(ImportError, match="pip install pyarrow"):
        pairs().__arrow_c_stream__()


def test_importing_the_library_imports_none_of_them() -> None:
    others = ("pandas", "polars", "pyarrow", "duckdb", "matplotlib", "rich", "pyspark")
    code = f"""
import sys, coincide
for name in coincide.__all__: getattr(coincide, name)
a = coincide.Detections.from_table({{'detected_at_us': [{AT_US[0]}]}}, coincide.Histogram.point())
repr(coincide.timing_join(a, a, coincide.Window(1), 0.5))
print(*(name for name in {others} if name in sys.modules))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
