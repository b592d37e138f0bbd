"""Texts that look like numbers: identifiers stay what they are, whichever file they come from."""

from pathlib import Path
from typing import Any

import pytest

from coincide.command.main import main
from tests.coincide.command.files import EPOCH_US, FORMATS, coalesce, join, write
from tests.coincide.command.playback.test_replay import pair, replay, saved

TAGS = ["12E3", "0077", "7_1", "9007199254740993", "beacon"]
OTHER_TAGS = ["120E2", "77", "71", "9007199254740992", "beacon"]


def sides(tmp_path: Path, form: str, tags: list[Any], others: list[Any]) -> list[Path]:
    columns = {"p": tags, "s": others}
    return [
        write(
            tmp_path / f"{stream}.{form}",
            [
                {"id": f"{stream}{n}", "detected_at_us": EPOCH_US + n * 10**7, "attributes.tag": tag}
                for n, tag in enumerate(values)
            ],
        )
        for stream, values in columns.items()
    ]


@pytest.mark.parametrize("form", FORMATS)
def test_equal_asks_for_the_same_text_in_every_format(tmp_path: Path, form: str) -> None:
    files = sides(tmp_path, form, TAGS, OTHER_TAGS)
    queries = saved(tmp_path, {"id": "q", **pair(("p", "s")), "equal": "attributes.tag"})
    options = ["--uncertainty", "point"]
    [joined] = join(*files, "--query", *queries, *options, out=tmp_path / "out.ndjson")
    [replayed] = replay(queries, *files, *options, out=tmp_path / "replayed.ndjson")
    assert (joined["id_a"], joined["id_b"]) == ("p4", "s4")
    assert [each["id"] for each in replayed["members"]] == ["p4", "s4"]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("wanted", ["12E3", "0077", "9007199254740993"])
def test_a_filter_finds_a_text_in_every_format(tmp_path: Path, form: str, wanted: str) -> None:
    files = sides(tmp_path, form, TAGS, OTHER_TAGS)
    played = {"a": {"stream": "p", "where": {"attributes.tag": {"is": wanted}}}, "b": "s"}
    query = {"id": "q", "from": played, "within": [{"between": ["a", "b"], "window_s": 1, "threshold": 0.5}]}
    [found] = join(*files, "--query", *saved(tmp_path, query), "--uncertainty", "point", out=tmp_path / "out.ndjson")
    assert found["id_a"] == f"p{TAGS.index(wanted)}"


@pytest.mark.parametrize("form", FORMATS)
def test_a_filter_of_numbers_takes_texts_that_write_them(tmp_path: Path, form: str) -> None:
    files = sides(tmp_path, form, ["3", "4.5", "5"], ["3", "4.5", "5"])
    played = {role: {"stream": stream, "where": {"attributes.tag": test}} for role, stream, test in WHERE}
    query = {"id": "q", "from": played, "within": [{"between": ["a", "b"], "window_s": 1, "threshold": 0.5}]}
    found = join(*files, "--query", *saved(tmp_path, query), "--uncertainty", "point", out=tmp_path / "out.ndjson")
    assert [(each["id_a"], each["id_b"]) for each in found] == [("p1", "s1")]


WHERE = [("a", "p", {"above": 4, "at_most": 5}), ("b", "s", {"in": [3, 4.5]})]


def test_it_says_that_a_text_never_equals_a_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, _ = sides(tmp_path, "csv", ["7"], ["7"])
    _, b = sides(tmp_path, "ndjson", [7], [7])
    queries = saved(tmp_path, {"id": "q", **pair(("p", "s")), "equal": "attributes.tag"})
    assert join(a, b, "--query", *queries, "--uncertainty", "point", out=tmp_path / "out.ndjson") == []
    said = "attributes.tag is a text in some rows and a number, true or false in others: those are never equal\n"
    assert said in capsys.readouterr().err


def test_an_empty_cell_of_csv_is_no_value(tmp_path: Path) -> None:
    files = sides(tmp_path, "csv", ["", "x"], ["", "x"])
    queries = saved(tmp_path, {"id": "q", **pair(("p", "s")), "equal": "attributes.tag"})
    [found] = join(*files, "--query", *queries, "--uncertainty", "point", out=tmp_path / "out.ndjson")
    assert found["id_a"] == "p1"


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("tags", [["0077", "77"], ["12E3", "120E2"], ["7_1", "71"]])
def test_identifiers_are_no_values_of_numbers(tmp_path: Path, form: str, tags: list[str]) -> None:
    rows = [{"detected_at_us": EPOCH_US + n * 10**7, "tag": tag} for n, tag in enumerate(tags)]
    answer = coalesce(write(tmp_path / f"a.{form}", rows), "--value", "tag", out=tmp_path / "out.ndjson")
    assert [each["value"] for each in answer] == tags


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("tag", ["0077", "12E3", "7_1"])
def test_an_identifier_behind_numbers_is_refused(
    tmp_path: Path, form: str, tag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"detected_at_us": EPOCH_US + n * 10**7, "tag": each} for n, each in enumerate(["77", tag])]
    assert main(["coalesce", str(write(tmp_path / f"a.{form}", rows)), "--value", "tag"]) == 1
    assert f"tag: '{tag}': a number, as the first value is (--text takes all as texts)" in capsys.readouterr().err


@pytest.mark.parametrize("form", FORMATS)
def test_limits_take_every_way_to_write_a_number(tmp_path: Path, form: str) -> None:
    rows = [{"detected_at_us": EPOCH_US + n * 10**7, "tag": tag} for n, tag in enumerate(["0077", "1.2E2", "+3"])]
    options = ["--value", "tag", "--above", "50", "--equivalence", "any"]
    [answer] = coalesce(write(tmp_path / f"a.{form}", rows), *options, out=tmp_path / "out.ndjson")
    assert (answer["count"], answer["duration_s"]) == (2, 20)


LOUD: dict[str, Any] = {"stream": "p", "where": {"attributes.tag": {"above": 2}}}
LOUD_PAIR = {"id": "q", "from": {"a": LOUD, "b": LOUD}, "within": [{"window_s": 20, "threshold": 0.5}], "form": "path"}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("tags", "matches", "said"),
    [
        (["3", "4.5", "1"], 1, ""),
        (["3,5", "4", "high"], 0, "attributes.tag is no number in 2 rows, which no filter with limits lets pass; the "),
    ],
)
def test_what_a_limit_cannot_judge_is_counted_and_told(
    tmp_path: Path, form: str, tags: list[str], matches: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file, _ = sides(tmp_path, form, tags, tags)
    asked = [*saved(tmp_path, LOUD_PAIR)]
    assert len(join(file, "--query", *asked, "--uncertainty", "point", out=tmp_path / "out.ndjson")) == matches
    assert len(replay(asked, file, "--uncertainty", "point", out=tmp_path / "out.ndjson")) == matches
    err = capsys.readouterr().err
    assert err.count(said) == (2 if said else len(err) + 1)
    assert "the first is '3,5'" in err or not said


def test_explain_tells_a_filter_that_nothing_passes_from_sensors_that_are_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, _ = sides(tmp_path, "csv", ["1", "1,5"], ["1"])
    quiet = {"stream": "p", "sensors": ["south-*"]}
    [query] = saved(tmp_path, {**LOUD_PAIR, "from": {"a": LOUD, "b": quiet, "c": "nowhere"}})
    assert main(["explain", str(query), str(file), "--stream", "p", "--uncertainty", "point"]) == 0
    said = [line.partition("stream ")[2] for line in capsys.readouterr().out.splitlines()[:3]]
    assert said == [
        "p: 1 sensor reports it, but its filter on attributes.tag lets no detection pass.",
        "p: 1 sensor reports it, but its filter on names lets no detection pass.",
        "nowhere: no sensor that reports it is known.",
    ]
