"""Rows that were packed into buckets answer as the library, whatever the partitions and the order; without Spark."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import AtLeast, ConstraintGraph, Detections, Histogram, Window, timing_join, window_join
from coincide.chunks.chunk_joins import ChunkedQuery, PairQuery, TupleQuery
from coincide.chunks.time_cells import TimeCells
from coincide.spark.arrow_columns import Columns, TemplateLabels
from coincide.spark.join_task import JoinTask
from coincide.spark.joins import Buckets
from coincide.spark.packed_tables import PACKED
from coincide.spark.packing import TEMPLATE, TIME, Packer, Unpacker
from tests.examples import examples

TEMPLATES = {"gps": Histogram.uniform(-0.01, 0.01), "late": Histogram.from_latency([(0, 0.5, 0.6), (0.5, 1, 0.4)])}
LABELS = TemplateLabels.of(TEMPLATES, "template")
COLUMNS = Columns(kept=("id", "sensor_id"), sensor="sensor_id")
Row = tuple[int, int, int, int]  # area, time in steps of 100 ms, sensor, template
rows_of = st.tuples(st.integers(0, 2), st.integers(-30, 90), st.integers(0, 2), st.integers(0, 1))
lists = st.lists(rows_of, max_size=25)


def table(rows: list[Row], of: str) -> pa.Table:
    return pa.table(
        {
            TIME: pa.array([at * 100_000 for _, at, _, _ in rows], pa.int64()),
            "area": pa.array([f"area-{area}" for area, _, _, _ in rows], pa.string()),
            "template": pa.array([list(TEMPLATES)[code] for _, _, _, code in rows], pa.string()),
            "id": pa.array([f"{of}-{nth}" for nth in range(len(rows))], pa.string()),
            "sensor_id": pa.array([f"s-{sensor}" for _, _, sensor, _ in rows], pa.string()),
        }
    )


def detections(rows: list[Row]) -> Detections:
    area, at, sensor, code = np.array(rows, np.int64).reshape(-1, 4).T
    ids = np.array([f"a-{nth}" for nth in range(len(rows))], np.str_)
    return Detections(at * 100_000, list(TEMPLATES.values()), code, area, sensor, id=ids)


def joined(
    query: ChunkedQuery,
    sides: list[pa.Table],
    chunk_rows: int,
    seed: int,
    reaches_a_cell: int = 2,
    key: str | None = None,
) -> tuple[Buckets, list[list[pa.RecordBatch]]]:
    """Pack some rows at a time, and bring the buckets to two tasks, each in the order of buckets."""
    rng = np.random.default_rng(seed)
    reach_us = query.reach_us([LABELS.histograms] * len(sides))
    cells = TimeCells(reaches_a_cell * reach_us, reach_us)
    sights = [query.sight(side) for side in range(len(sides))]
    packed = []
    for side, rows in enumerate(sides):
        pack = Packer(side, sights[side], cells, 5, "area", LABELS, COLUMNS.kept)
        packed += [record for batch in rows.to_batches(max_chunksize=7) for record in pack([batch])]
    task = JoinTask(query, LABELS.packed(TEMPLATE), replace(COLUMNS, detected_at_us=TIME))
    parts = []
    for part in (0, 1):
        of_part = [each.filter(pa.array(each["bucket"].to_numpy() % 2 == part)) for each in packed]
        shuffled = pa.Table.from_batches([of_part[at] for at in rng.permutation(len(of_part))], PACKED)
        in_order = shuffled.take(np.argsort(shuffled["bucket"].to_numpy(), kind="stable"))
        parts.append(in_order.to_batches(max_chunksize=3))
    return Buckets(task, Unpacker(cells, sights, "area", key, chunk_rows)), parts


def answers(
    query: ChunkedQuery, sides: list[pa.Table], chunk_rows: int, seed: int, key: str | None = None
) -> list[tuple[str | None, ...]]:
    buckets, parts = joined(query, sides, chunk_rows, seed, key=key)
    found: list[tuple[str | None, ...]] = []
    for batch in (batch for part in parts for batch in buckets.answer(part)):
        found += zip(*(batch[f"{role}_id"].to_pylist() for role in query.roles), strict=True)
    return found


@settings(max_examples=examples(60))
@given(lists, lists, st.sampled_from(["any", "different", "same"]), st.integers(1, 40), st.integers(0, 9))
def test_pairs_of_two_streams(a: list[Row], b: list[Row], rule: str, chunk_rows: int, seed: int) -> None:
    query = PairQuery(Window(0.5), 0.3, rule)  # type: ignore[arg-type]
    pairs = timing_join(detections(a), detections(b), query.window, query.threshold, query.sensors)
    expected = [(f"a-{left}", f"b-{right}") for left, right in zip(pairs.left, pairs.right, strict=True)]
    found = answers(query, [table(a, "a"), table(b, "b")], chunk_rows, seed)
    assert sorted(found) == sorted(expected)


@settings(max_examples=examples(40))
@given(lists, st.integers(1, 40), st.integers(0, 9))
def test_pairs_of_one_stream(a: list[Row], chunk_rows: int, seed: int) -> None:
    query = PairQuery(Window(lo_s=-0.1, hi_s=0.6), 0.3, is_self_join=True)
    pairs = timing_join(detections(a), None, query.window, query.threshold)
    expected = [(f"a-{left}", f"a-{right}") for left, right in zip(pairs.left, pairs.right, strict=True)]
    assert sorted(answers(query, [table(a, "a")], chunk_rows, seed)) == sorted(expected)


@settings(max_examples=examples(40))
@given(lists, st.integers(1, 40), st.integers(0, 9))
def test_sets_of_one_stream(a: list[Row], chunk_rows: int, seed: int) -> None:
    graph = ConstraintGraph.graph([("x", "y", Window(0.3), 0.4), ("x", "z", Window(0.4), 0.4)], roles="xyz")
    at_least = AtLeast(1, of=["y", "z"])
    sets = window_join(dict.fromkeys("xyz", detections(a)), graph, at_least=at_least)
    ids = [*(f"a-{nth}" for nth in range(len(a))), None]
    expected = {tuple(ids[at] for at in row) for row in sets.members.tolist()}
    query = TupleQuery(graph, dict.fromkeys("xyz", 0), at_least=at_least)
    found = answers(query, [table(a, "a")], chunk_rows, seed)
    assert len(found) == len(expected)
    assert set(found) == expected


@settings(max_examples=examples(30))
@given(lists, lists, st.integers(1, 40))
def test_only_equal_keys_meet(x: list[Row], y: list[Row], chunk_rows: int) -> None:
    graph = ConstraintGraph.path("xy", Window(0.5), 0.3)
    keys = [[f"s-{sensor}" for _, _, sensor, _ in rows] for rows in (x, y)]
    batches = {"x": detections(x), "y": detections(y)}
    by_role = dict(zip("xy", (np.array(each, np.str_) for each in keys), strict=True))
    pairs = window_join(batches, graph, by_role, sensors="any").members
    query = TupleQuery(graph, {"x": 0, "y": 1}, sensors="any")
    sides = [
        table(rows, of).append_column("key", pa.array(of_rows, pa.string()))
        for rows, of, of_rows in zip((x, y), "ab", keys, strict=True)
    ]
    found = answers(query, sides, chunk_rows, 0, "key")
    assert sorted(found) == sorted((f"a-{left}", f"b-{right}") for left, right in pairs.tolist())


def test_a_cell_of_many_rows_is_joined_slice_by_slice() -> None:
    rng = np.random.default_rng(1987)
    a, b = ([(0, int(at), 0, 0) for at in rng.integers(0, 2_000, 200)] for _ in range(2))
    query, chunk_rows = PairQuery(Window(0.5), 0.3, "any"), 20
    buckets, parts = joined(query, [table(a, "a"), table(b, "b")], chunk_rows, 0, reaches_a_cell=1_000_000)
    assert sum(map(len, parts)) > 1
    slices = [sides for part in parts for sides in buckets.unpack(part)]
    reach_us = query.reach_us([LABELS.histograms] * 2)
    within_reach = max(sum(0 <= other[1] - at[1] <= reach_us // 100_000 for other in a + b) for at in a + b)
    assert max(sum(map(len, sides.tables)) for sides in slices) <= chunk_rows + 3 * within_reach < 100
    assert sum(int(owned.sum()) for sides in slices for owned in sides.owned) == 400
    pairs = timing_join(detections(a), detections(b), query.window, query.threshold, query.sensors)
    expected = [(f"a-{left}", f"b-{right}") for left, right in zip(pairs.left, pairs.right, strict=True)]
    assert len(expected) > 100
    assert sorted(answers(query, [table(a, "a"), table(b, "b")], chunk_rows, 0)) == sorted(expected)


def test_the_first_answer_comes_before_the_last_bucket() -> None:
    rows = [(area, at, 0, 0) for area in range(3) for at in range(100)]
    query = PairQuery(Window(0.5), 0.3, "any")
    buckets, parts = joined(query, [table(rows, "a"), table(rows, "b")], 10, 0)
    unread = iter(parts[0])
    assert next(buckets.answer(unread)).num_rows
    assert list(unread)
