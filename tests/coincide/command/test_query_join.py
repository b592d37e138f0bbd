"""coincide join with a query document: against the definition, coincide replay and known rates of chance."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coincide.command.main import main
from tests.coincide.command.files import EPOCH_US, FORMATS, join, read, text, write
from tests.coincide.command.playback.test_replay import (
    NAMED,
    SN1987A,
    Event,
    Members,
    arriving,
    pair,
    saved,
    slow_replay,
)
from tests.coincide.fusion.strategies import queries, wide_queries
from tests.examples import examples


def matches_of(answer: list[Event], query: dict[str, Any]) -> list[Members]:
    roles = list(query["from"])
    return [
        frozenset((role, row[f"sensor_{role}"], row[f"id_{role}"]) for role in roles if row[f"id_{role}"] is not None)
        for row in answer
    ]


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=arriving,
    query=queries.map(lambda query: {**query, "id": "q"}) | wide_queries("q"),
    form=st.sampled_from(FORMATS),
    cut=st.integers(0, 14),
)
def test_equals_the_definition(
    tmp_path: Path, rows: list[Event], query: dict[str, Any], form: str, cut: int, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = [part for part in (rows[:cut], rows[cut:]) if part]
    files = [write(tmp_path / f"{number}.ndjson", part) for number, part in enumerate(parts)]
    asked = ["--query", *saved(tmp_path, query), "--templates", text(tmp_path / "named", json.dumps(NAMED))]
    out = tmp_path / f"out.{form}"
    if main(["join", *map(str, [*files, *asked]), "--out", str(out)]) == 1:
        assert "at_least with filters that overlap" in capsys.readouterr().err
        return
    found = matches_of(read(out), query)
    assert len(set(found)) == len(found)
    assert set(found) == slow_replay([query], rows, 1e6)["q"]


@pytest.mark.parametrize("form", FORMATS)
def test_two_of_three_detectors_of_1987(tmp_path: Path, form: str) -> None:
    whole = {"from": dict.fromkeys("abc", "neutrino"), "form": "clique", "within": [{"window_s": 10}]}
    [query] = saved(tmp_path, {"id": "some", **whole, "joint_threshold": 0.04, "at_least": 2})
    files = sorted(SN1987A.glob("*.ndjson"))
    named = ["--templates", SN1987A / "templates.json"]
    answer = join(*files, "--query", query, *named, out=tmp_path / f"out.{form}")
    of_first = [f"{name}-1" for name in ("kamiokande-ii", "imb", "baksan")]
    first = next(row for row in answer if [row[f"id_{role}"] for role in "abc"] == of_first)
    assert first["probability"] == 0.044643
    assert first["detected_at_b"] == "1987-02-23T07:35:41.374000Z"
    shown = [f"{name}_{role}" for role in "abc" for name in ("id", "detected_at", "sensor")]
    assert list(first) == [*shown, "probability"]
    two = join(*files[1:], "--query", query, *named, out=tmp_path / f"two.{form}")
    assert {(row["id_c"], row["sensor_c"], row["detected_at_c"]) for row in two} == {(None, None, None)}


def test_rows_without_ids_are_shown_by_file_and_number(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{name}.csv", [{"detected_at_us": EPOCH_US}]) for name in "ps"]
    [query] = saved(tmp_path, {"id": "q", **pair(("p", "s"))})
    [row] = join(*files, "--query", query, out=tmp_path / "out.ndjson")
    assert (row["file_a"], row["row_a"], row["file_b"], row["row_b"]) == (str(files[0]), 1, str(files[1]), 1)


ALL_THREE = {
    "from": dict(zip("abc", "pst", strict=True)),
    "form": "clique",
    "within": [{"window_s": 2, "threshold": 0.5}],
}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (["--window", "2", "--threshold", "0.5"], 400),  # 1,000 times 1,000 in 10,000 s, 4 s of offsets
        (pair(("p", "s"), 0.5), 400),
        (pair(("p", "p"), 0.5), 200),
        (ALL_THREE, 120),
    ],
)
def test_it_says_how_many_matches_chance_alone_would_give(
    tmp_path: Path, asked: Any, expected: int, capsys: pytest.CaptureFixture[str]
) -> None:
    generator = np.random.default_rng(1)
    files = []
    for name in "pst":
        times_us = EPOCH_US + np.append([0, 10**10], generator.integers(0, 10**10, 998))
        rows = [{"detected_at_us": int(time_us), "sensor": name} for time_us in times_us]
        files.append(
            write(tmp_path / f"{name}.csv", [{**row, "sensor": f"{name}{n % 2}"} for n, row in enumerate(rows)])
        )
    if isinstance(asked, dict):
        streams = sorted(set(asked["from"].values()))
        arguments = ["--query", saved(tmp_path, {"id": "q", **asked, "sensors": "any"})[0]]
    else:
        streams, arguments = ["p", "s"], [*asked, "--sensors", "any"]
    used = [file for file in files if file.stem in streams]
    answer = join(*used, *arguments, "--uncertainty", "point", out=tmp_path / "out.csv")
    [said] = capsys.readouterr().err.splitlines()
    told = float(said.partition("about ")[2].partition(",")[0])
    assert said.startswith(f"coincide: {len(answer)} matches; chance alone would give about ")
    assert told == pytest.approx(expected, rel=0.02)
    assert len(answer) == pytest.approx(expected, abs=5 * expected**0.5)  # nothing belongs together here


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--window", "2"], "argument --window: the files and --query say it"),
        (["--uncertainty-a", "point"], "argument --uncertainty-a: the files and --query say it"),
    ],
)
def test_what_the_query_says_is_not_said_twice(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["join", "--query", "q.json", "p.csv", *arguments])
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.csv", "--threshold", "1"], "the following arguments are required: --window; or --query"),
        (
            ["a.csv", "b.csv", "c.csv", "--window", "1", "--threshold", "1"],
            "argument FILE: two at most without --query",
        ),
        (["a.csv", "--window", "1", "--threshold", "1", "--stream", "p"], "argument --stream: of --query"),
        (["a.csv", "--window", "1", "--threshold", "1", "--places", "p"], "argument --places: of --query"),
    ],
)
def test_without_a_query(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["join", *arguments])
    assert message in capsys.readouterr().err


def test_what_is_explained_has_no_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = {"speed_m_s": 343, "slack_s": 0.05, "reach_m": 800, "threshold": 0.3}
    asked = {"from": {"a": "p", "b": "p", "c": "p"}, "form": "clique", "within": [{"window_s": 2, "threshold": 0.5}]}
    (tmp_path / "q.json").write_text(json.dumps({"id": "shot", **asked, "source": source}), encoding="utf-8")
    (tmp_path / "p.ndjson").write_text("", encoding="utf-8")
    assert main(["explain", str(tmp_path / "q.json"), str(tmp_path / "p.ndjson")]) == 1
    assert "asks where sensors are: coincide join and replay answer it" in capsys.readouterr().err
