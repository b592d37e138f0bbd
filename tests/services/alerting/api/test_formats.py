"""Lists as NDJSON, CSV and Parquet, read back by the tools that people use."""

import csv
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from services.alerting.api import listings
from services.alerting.api.alerts import ALERTS
from services.alerting.api.listings import Export, Listing
from services.alerting.api.results import DEAD_LETTERS, EPISODES, MATCHES
from services.alerting.exports import parquet_results
from services.alerting.exports.result_formats import FORMATS, Format, chosen_format
from services.common.http.problem import Problem
from services.common.http.shares import NoPlaceError, Shares
from tests.coincide.catalogue.test_catalogues import QUAKE
from tests.services.alerting.clients import Api
from tests.services.alerting.sample_records import (
    TOPICS,
    change_record,
    dead_letter_record,
    episode_record,
    evidence_record,
    match,
    match_record,
    record,
)

AT_US = 541_064_135_000_001
AT = "1987-02-23T07:35:35.000001Z"
TIMES: dict[str, Any] = {"earliest_us": AT_US, "latest_us": AT_US + 1_000_000}
OCCURRED = {"mean_us": AT_US + 5, "std_s": 0.5, "p05_us": AT_US, "p95_us": AT_US + 9}
PATHS = ["matches", "episodes", "dead-letters"]


def stored(api: Api, count: int = 7) -> None:
    for n in range(count):
        said = {"occurred": OCCURRED, "probability": n / count, **TIMES, "chance_rate_hz": None}
        api.store(match_record(f"m-{n}", **said), episode_record(f"e-{n}"), dead_letter_record(f"d-{n}"))


def read(api: Api, path: str, form: str, **parameters: str) -> pd.DataFrame:
    """Return what an analyst sees of a list in that format."""
    answer = api.client.get(f"/v1/{path}", params={"format": form, **parameters})
    assert answer.status_code == 200, answer.text
    return as_table(answer.content, form)


def as_table(content: bytes, form: str) -> pd.DataFrame:
    file = io.BytesIO(content)
    if form == "csv":
        return pd.read_csv(file)
    if form == "ndjson":
        return pd.read_json(file, lines=True, dtype={"id": str})
    return pq.read_table(file).to_pandas()


@pytest.mark.parametrize("form", ["ndjson", "csv", "parquet"])
@pytest.mark.parametrize("path", PATHS)
def test_every_format_has_all_rows_newest_first_whatever_the_page(api: Api, path: str, form: str) -> None:
    stored(api)
    expected = [item for page in api.pages(f"/v1/{path}") for item in page]
    assert len(expected) == 7
    rows = read(api, path, form)
    name = "dead_id" if path == "dead-letters" else "id"
    assert rows[name].tolist() == [item[name] for item in expected]
    assert rows["area"].tolist() == [item["area"] for item in expected]
    assert read(api, path, form, limit="2")[name].tolist() == rows[name].tolist()[:2]


@pytest.mark.parametrize("form", ["ndjson", "csv", "parquet"])
def test_an_episode_says_how_long_it_was_and_what_its_members_reported(api: Api, form: str) -> None:
    api.store(episode_record())
    [row] = read(api, "episodes", form).to_dict("records")
    assert (row["duration_s"], row["uncertainty_s"]) == (2e-5, 8e-5)
    members = json.loads(row["members"]) if form == "csv" else row["members"]
    said = members[0]["attributes"]
    assert (json.loads(said) if form == "parquet" else said) == {"db": 90}


@pytest.mark.parametrize("form", ["ndjson", "csv", "parquet"])
def test_more_than_one_part_and_one_group_are_one_file(api: Api, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(api, 10)
    whole = read(api, "matches", form)
    monkeypatch.setattr(listings, "PART_ROWS", 2)
    monkeypatch.setattr(parquet_results, "GROUP_ROWS", 3)
    pd.testing.assert_frame_equal(read(api, "matches", form), whole)
    assert len(read(api, "matches", form, limit="5")) == 5
    cursor = api.client.get("/v1/matches", params={"limit": "3"}).json()["next_cursor"]
    assert read(api, "matches", form, cursor=cursor)["id"].tolist() == whole["id"].tolist()[3:]


def test_parquet_is_written_in_groups_of_rows(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listings, "PART_ROWS", 2)
    monkeypatch.setattr(parquet_results, "GROUP_ROWS", 4)
    stored(api, 10)
    file = pq.ParquetFile(io.BytesIO(api.client.get("/v1/matches?format=parquet").content))
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [4, 4, 2]


def test_filters_hold_in_every_format(api: Api) -> None:
    stored(api)
    for form in ("ndjson", "csv", "parquet"):
        assert read(api, "matches", form, min_probability="0.5")["id"].tolist() == ["m-6", "m-5", "m-4"]
    assert read(api, "matches", "csv", area="nowhere").empty
    assert api.client.get("/v1/matches?format=ndjson&area=nowhere").content == b""
    assert api.client.get("/v1/matches?format=csv&limit=x").status_code == 422
    assert api.client.get("/v1/matches?format=csv&cursor=x").status_code == 422


def test_ndjson_is_what_json_has(api: Api) -> None:
    stored(api)
    lines = api.client.get("/v1/matches?format=ndjson").text.splitlines()
    assert [json.loads(line) for line in lines] == [item for page in api.pages("/v1/matches") for item in page]


def test_csv_has_times_for_people_and_for_machines_unless_told_otherwise(api: Api) -> None:
    stored(api, 1)
    [row] = read(api, "matches", "csv").to_dict("records")
    assert (row["earliest_us"], row["earliest"]) == (AT_US, AT)
    assert row["occurred_mean"] == "1987-02-23T07:35:35.000006Z"
    [member, _] = json.loads(row["members"])
    assert member["sensor"] == "imb"
    assert "earliest" not in read(api, "matches", "csv", times="us").columns
    assert "late_by" not in read(api, "dead-letters", "csv").columns  # how long, not when


@pytest.mark.parametrize("form", ["json", "ndjson"])
def test_json_has_rfc_3339_where_asked_for_but_not_inside_what_users_sent(api: Api, form: str) -> None:
    mine = {"at_us": AT_US}
    said = match("m-1", occurred=OCCURRED, **TIMES)
    said["members"][0]["attributes"] = mine
    api.store(record(TOPICS.matches, said))
    text = api.client.get("/v1/matches", params={"format": form, "times": "rfc3339"}).text
    shown = json.loads(text)["items"][0] if form == "json" else json.loads(text)
    assert (shown["earliest_us"], shown["earliest"], shown["occurred"]["p05"]) == (AT_US, AT, AT)
    assert shown["members"][0]["detected_at"] == AT
    assert shown["members"][0]["attributes"] == mine


def test_parquet_has_members_as_rows_and_times_as_timestamps(api: Api) -> None:
    stored(api, 2)
    content = api.client.get("/v1/matches?format=parquet&times=rfc3339").content
    [row, _] = pq.read_table(io.BytesIO(content)).to_pylist()
    assert row["earliest"] == datetime(1987, 2, 23, 7, 35, 35, 1, tzinfo=UTC)
    assert [member["role"] for member in row["members"]] == ["a", "b"]
    assert row["members"][0]["detected_at"] == row["earliest"]
    assert row["occurred_std_s"] == 0.5
    assert row["chance_rate_hz"] is None


def test_duckdb_reads_the_file(api: Api, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    stored(api)
    for form in ("parquet", "csv"):
        path = tmp_path / f"matches.{form}"
        path.write_bytes(api.client.get("/v1/matches", params={"format": form, "times": "rfc3339"}).content)
        rows = duckdb.sql(f"SELECT count(*), max(probability), min(earliest_us) FROM '{path}'").fetchall()
        assert rows == [(7, 6 / 7, AT_US)]
    unnested = (
        f"SELECT m.sensor, count(*) FROM (SELECT unnest(members) m FROM '{tmp_path / 'matches.parquet'}') GROUP BY 1"
    )
    assert sorted(duckdb.sql(unnested).fetchall()) == [("baksan", 7), ("imb", 7)]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_evidence_has_columns_that_are_empty_without_it(api: Api, form: Format) -> None:
    api.store(*[match_record(f"m-{n}") for n in range(3)])
    interval: dict[str, Any] = {"posterior_least": 0.5, "posterior_greatest": 0.75}
    api.store(evidence_record("m-0", 0.625, **interval), evidence_record("m-1", None))
    rows = read(api, "matches", form).set_index("id")
    figures = [f"evidence_{name}" for name in ("bits", "posterior", "posterior_least", "posterior_greatest")]
    assert rows.loc["m-0", figures].tolist() == [3.5, 0.625, 0.5, 0.75]
    assert rows.loc[["m-1", "m-2"], figures].isna().all(axis=None)
    assert rows.loc["m-1", "evidence_unknown"] == "not_watched_yet"
    assert [term["bits"] for term in json.loads(rows.loc["m-0", "evidence_terms"])] == [-12.5, 16.0]
    assert read(api, "matches", form, order="posterior")["id"].tolist() == ["m-0"]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_what_is_of_another_type_leaves_cells_empty_and_breaks_no_file(form: Format) -> None:
    odd: dict[str, Any] = {
        "occurred": "soon",
        "chance_rate_hz": "often",
        "superseded_by": 7,
        "edges": [1],
        "joint": {"certain": 1},
    }
    of_member = match("m-2", received_at_us=AT_US)
    of_member["members"] = [{"sensor": "x", "detected_at_us": 2**70, "role": 5}]
    part = [json.dumps(each) for each in (of_member, match("m-1", **odd))]
    rows = as_table(b"".join(FORMATS[form]([part], MATCHES.columns, "us")), form)
    assert rows["id"].tolist() == ["m-2", "m-1"]
    assert rows[["occurred_mean_us", "chance_rate_hz", "joint_certain"]].isna().all(axis=None)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_dead_letter_has_its_record_as_json(api: Api, form: str) -> None:
    api.store(dead_letter_record("d-1", record={"a": [1]}))
    assert read(api, "dead-letters", form)["record"].tolist() == ['{"a":[1]}']


VALUES = [101.5, "open", True, {"a": 1.5, "b": "shut"}]


@pytest.mark.parametrize("form", ["ndjson", "csv", "parquet"])
def test_what_was_read_and_its_window_are_in_every_format(api: Api, form: str) -> None:
    window = {"start_us": AT_US, "end_us": AT_US + 60_000_000}
    for n, value in enumerate(VALUES):
        api.store(episode_record(f"e-{n}", state="final", value=value, window=window, best_probability=None))
    rows = read(api, "episodes", form)
    if form == "ndjson":
        assert rows["value"].tolist() == VALUES[::-1]
        assert rows["window"].tolist() == [window] * len(VALUES)
        return
    assert [json.loads(each) for each in rows["value"]] == VALUES[::-1]
    assert rows["window_start_us"].tolist() == [AT_US] * len(VALUES)
    assert rows["window_end_us"].tolist() == [AT_US + 60_000_000] * len(VALUES)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (None, "json"),
        ("*/*", "json"),
        ("application/x-ndjson", "ndjson"),
        ("text/csv", "csv"),
        ("text/*", "csv"),
        ("application/vnd.apache.parquet", "parquet"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "json"),  # a browser's
        ("text/csv;q=0.5, application/x-ndjson", "ndjson"),
        ("text/csv, application/x-ndjson", "csv"),
        ("application/json;q=0, TEXT/CSV ; q=0.1", "csv"),
    ],
)
def test_the_header_accept_chooses_what_it_likes_best(accept: str | None, form: str) -> None:
    assert chosen_format(None, accept) == form
    assert chosen_format("parquet", accept) == "parquet"


@pytest.mark.parametrize("accept", ["text/html", "text/csv;q=0", "text/csv;q=much", ";;,", "image/*"])
def test_what_nobody_writes_is_406(accept: str) -> None:
    with pytest.raises(Problem) as refused:
        chosen_format(None, accept)
    assert refused.value.status == 406


def test_answers_say_their_type_and_that_it_depends_on_accept(api: Api) -> None:
    stored(api, 1)
    for media_type in ("application/json", "text/csv", "application/x-ndjson", "application/vnd.apache.parquet"):
        answer = api.client.get("/v1/episodes", headers={"Accept": media_type})
        assert answer.headers["content-type"].split(";")[0] == media_type
        assert answer.headers["vary"] == "Accept"
    refused = api.client.get("/v1/episodes", headers={"Accept": "image/png"})
    assert (refused.status_code, refused.headers["content-type"]) == (406, "application/problem+json")


@pytest.mark.parametrize("form", ["json", "ndjson", "csv", "parquet"])
def test_queries_are_repeated_or_have_commas_between(api: Api, form: str) -> None:
    for n in range(12):
        api.store(match_record(f"m-{n}", query=f"q{n % 3}"))
    for asked in ({"query": "q0,q2"}, {"query": ["q0", "q2"]}, {"query": ["q2,q0", "q2"]}):
        parameters: dict[str, Any] = {**asked, "format": form, "limit": 50}
        answer = api.client.get("/v1/matches", params=parameters)
        if form == "json":
            ids = [item["id"] for item in answer.json()["items"]]
            assert ids == [f"m-{n}" for n in reversed(range(12)) if n % 3 != 1]
            pages = [page["id"] for page in pages_of(api, {**asked, "limit": 3})]
            assert pages == ids
        else:
            rows = {"csv": 8 + 1, "ndjson": 8}.get(form)
            assert len(answer.text.splitlines()) == rows if rows else len(answer.content) > 0


def pages_of(api: Api, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    items, cursor = [], None
    while True:
        page = api.client.get("/v1/matches", params={**parameters, **({"cursor": cursor} if cursor else {})}).json()
        items += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return items


def test_a_query_that_never_was_is_404_and_one_that_gave_nothing_yet_is_empty(api: Api) -> None:
    api.store(change_record("quiet", 1), match_record("m-1", query="gone"))
    for path in ("matches", "episodes"):
        assert api.items(f"/v1/{path}", query="quiet") == []
        for form in ("json", "csv"):
            missing = api.client.get(f"/v1/{path}", params={"query": "quiet,quit", "format": form})
            assert (missing.status_code, missing.headers["content-type"]) == (404, "application/problem+json")
            assert "'quit'" in missing.json()["detail"]
    assert [item["id"] for item in api.items("/v1/matches", query="gone")] == ["m-1"]
    many = api.client.get("/v1/matches", params={"query": ",".join(f"q{n}" for n in range(21))})
    assert (many.status_code, "at most 20" in many.json()["detail"]) == (422, True)


HERE = ("192.0.2.1", 5)


async def streamed(export: Export) -> int:
    """Run a response; return its status."""
    statuses = []

    async def send(message: Any) -> None:
        statuses.append(message.get("status"))

    async def receive() -> Any:
        raise AssertionError("nobody leaves")

    scope = {"type": "http", "asgi": {"spec_version": "2.4"}, "method": "GET", "headers": [], "client": HERE}
    await export(scope, receive, send)
    return int(statuses[0])


@pytest.mark.anyio
async def test_only_so_many_are_streamed_at_a_time_and_a_seat_comes_back_after_a_failure() -> None:
    seats = Shares(2, "lists")

    def failing() -> Any:
        yield b"a"
        raise RuntimeError("the database went away")

    with pytest.raises(RuntimeError, match="went away"):
        await streamed(Export(failing(), "matches", "csv", seats))
    assert await streamed(Export(iter([b"a"]), "matches", "csv", seats)) == 200
    seats.take("another")
    assert await streamed(Export(iter([b"a"]), "matches", "csv", seats)) == 200
    seats.take(HERE[0])
    with pytest.raises(NoPlaceError, match="there are 2 lists"):
        await streamed(Export(iter([b"a"]), "matches", "csv", seats))
    seats.leave("another")
    with pytest.raises(NoPlaceError, match="1 of 2 lists are yours"):
        await streamed(Export(iter([b"a"]), "matches", "csv", seats))


@pytest.mark.parametrize("form", ["ndjson", "csv"])
def test_a_part_is_read_when_the_one_before_was_written(form: Format) -> None:
    asked: list[int] = []

    def parts() -> Iterator[list[str]]:
        for number in range(5):
            asked.append(number)
            yield [json.dumps(match("m-1"))]

    pieces = FORMATS[form](parts(), MATCHES.columns, "us")
    for number, _ in enumerate(pieces):
        assert len(asked) <= number + 1
    assert len(asked) == 5


FORMULAS = [
    "=1+1",
    "+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\uff1d1+1",
    '=HYPERLINK("http://x","y")',
    "=cmd|' /C calc'!A0",
]
HARMLESS = ["bay", "a=1", "1-2", "a@b", "'=1", " =1", "0", ""]


@pytest.mark.parametrize("listing", [MATCHES, EPISODES, ALERTS, DEAD_LETTERS], ids=lambda each: each.name)
def test_no_cell_of_any_text_is_a_formula_and_every_other_is_as_it_is(listing: Listing) -> None:
    columns = listing.columns
    texts = [each for each in columns if each.kind == "text"]
    assert {"area"} <= {each.name for each in texts}
    for text in FORMULAS + HARMLESS:
        body: dict[str, Any] = {}
        for column in texts:
            *outer, name = column.path
            place = body
            for each in outer:
                place = place.setdefault(each, {})
            place[name] = text
        written = b"".join(FORMATS["csv"]([[json.dumps(body)]], columns, "us")).decode()
        [row] = csv.DictReader(io.StringIO(written, newline=""))
        expected = f"'{text}" if text in FORMULAS else text
        assert {row[each.name] for each in texts} == {expected}
        [line] = FORMATS["ndjson"]([[json.dumps(body)]], columns, "us")  # a program gets what was posted
        assert json.loads(line) == body


def test_numbers_below_zero_stay_numbers(api: Api) -> None:
    api.store(dead_letter_record("d-1", late_by_us=-5))
    assert read(api, "dead-letters", "csv")["late_by_us"].tolist() == [-5]


def test_matches_on_a_map_and_in_a_catalogue_of_earthquakes(api: Api) -> None:
    api.store(match_record("m-1"), match_record("m-2", place=QUAKE["place"], members=QUAKE["members"]))
    collection = api.client.get("/v1/matches", headers={"Accept": "application/geo+json"})
    assert [feature["id"] for feature in collection.json()["features"]] == ["m-2", "m-2-region"]
    quakes = api.client.get("/v1/matches?format=quakeml")
    assert quakes.headers["Content-Type"] == "application/xml"
    assert quakes.text.count("<event ") == 1
    assert 'filename="matches.quakeml"' in quakes.headers["Content-Disposition"]
    assert api.client.get("/v1/episodes?format=geojson").status_code == 422
    assert api.client.get("/v1/episodes", headers={"Accept": "application/geo+json"}).status_code == 406


def test_columns_say_where_a_match_was(api: Api) -> None:
    api.store(match_record("m-2", place=QUAKE["place"], members=QUAKE["members"]))
    [row] = read(api, "matches", "parquet").to_dict("records")
    assert row["place_peak_lat"] == QUAKE["place"]["peak"]["lat"]
    assert row["place_ellipse_major_m"] == QUAKE["place"]["ellipse"]["major_m"]
    assert row["place_occurred_mean_us"] == QUAKE["place"]["occurred"]["mean_us"]
