"""coincide window-join: the same answers as coincide join --query with the document that says the same."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from coincide.command.arguments.options import STDIN
from coincide.command.main import main, request_of
from deploy.host.machine import ROOT
from tests.coincide.command.files import EPOCH_US, read, text, write

SN1987A = ROOT / "config" / "examples" / "sn1987a"
TEMPLATES = ["--templates", str(SN1987A / "templates.json")]
DETECTORS = {"k": "kamiokande-ii", "i": "imb", "b": "baksan"}
FILES = [f"{role}={SN1987A / name}.ndjson" for role, name in DETECTORS.items()]


def answer(command: str, *arguments: object, out: Path) -> list[dict[str, Any]]:
    assert main([command, *map(str, arguments), "--out", str(out)]) == 0
    return read(out)


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=str)


SAID: list[tuple[list[str], dict[str, Any]]] = [
    (
        ["--window", "10", "--threshold", "0.1"],
        {"form": "clique", "within": [{"window_s": 10, "threshold": 0.1}]},
    ),
    (
        ["--window", "10", "--joint", "0.04", "--at-least", "2"],
        {"form": "clique", "within": [{"window_s": 10}], "joint_threshold": 0.04, "at_least": 2},
    ),
    (
        ["--window", "0:30", "--threshold", "0.2", "--form", "path", "--sensors", "any"],
        {"form": "path", "within": [{"lo_s": 0, "hi_s": 30, "threshold": 0.2}], "sensors": "any"},
    ),
    (
        ["--edge", "k,i,10,0.1", "--edge", "i,b,-5:30", "--joint", "0.05"],
        {
            "within": [
                {"between": ["k", "i"], "window_s": 10, "threshold": 0.1},
                {"between": ["i", "b"], "lo_s": -5, "hi_s": 30},
            ],
            "joint_threshold": 0.05,
        },
    ),
]


@pytest.mark.parametrize(("options", "document"), SAID)
def test_it_answers_as_the_query_document_that_says_the_same(
    tmp_path: Path, options: list[str], document: dict[str, Any]
) -> None:
    mine = answer("window-join", *FILES, *options, *TEMPLATES, out=tmp_path / "mine.csv")
    roles = {role: {"stream": "neutrino", "sensors": [name]} for role, name in DETECTORS.items()}
    query = text(tmp_path / "q.json", json.dumps({"id": "q", "from": roles, **document}))
    files = [SN1987A / f"{name}.ndjson" for name in DETECTORS.values()]
    theirs = answer("join", "--query", query, *files, *TEMPLATES, out=tmp_path / "theirs.csv")
    assert len(mine) > 0
    assert in_order([without_rows(row) for row in mine]) == in_order([without_rows(row) for row in theirs])


def without_rows(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not name.startswith(("row_", "file_"))}


def test_a_file_in_two_roles_is_joined_with_itself_and_a_column_stream_means_nothing(tmp_path: Path) -> None:
    rows = [{"id": f"e{n}", "stream": "other", "detected_at_us": EPOCH_US + n * 1_000_000} for n in (0, 1, 9)]
    file = write(tmp_path / "x.csv", rows)
    exact = ["--window", "2", "--threshold", "1", "--uncertainty", "point"]
    [pair] = answer("window-join", f"a={file}", f"b={file}", *exact, out=tmp_path / "out.ndjson")
    assert {pair["id_a"], pair["id_b"]} == {"e0", "e1"}


def test_two_files_are_two_roles_called_as_they_are(tmp_path: Path) -> None:
    for name in ("gate", "tower"):
        write(tmp_path / f"{name}.log.csv", [{"id": name, "detected_at_us": EPOCH_US}])
    files = [str(tmp_path / f"{name}.log.csv") for name in ("gate", "tower")]
    [pair] = answer("window-join", *files, "--window", "1", "--threshold", "1", out=tmp_path / "out.ndjson")
    assert (pair["id_gate"], pair["id_tower"]) == ("gate", "tower")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a.csv", "a match is of two roles or more"),
        ("a.csv a.csv --window 1 --threshold 1", "two files play a: name one of them"),
        ("a.csv b.csv --threshold 1", "--window: required"),
        ("a.csv b.csv --window 1", "--threshold: required, or --joint"),
        ("a.csv b.csv --window 1 --edge a,b,1,1", "leave --window out"),
        ("a.csv b.csv --edge a,b", "A,B,WINDOW or A,B,WINDOW,P"),
        ("a.csv b.csv --edge a,b,1,2", "a probability above 0"),
        ("a.csv b.csv --edge a,c,1,1", "within"),
        ("a.csv b.csv --edge a,b,1", "threshold"),
        ("a.csv b.csv c.csv --window 1 --threshold 1 --at-least 9", "at_least"),
        ("a.csv 2.csv --window 1 --threshold 1", "a role begins with a letter: write role=2.csv"),
    ],
)
def test_what_does_not_fit_together_is_refused_before_anything_is_read(
    line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        request_of(["window-join", *line.split()])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


ROWS = [{"id": f"e{n}", "sensor": f"s{n}", "detected_at_us": EPOCH_US + n * 1_000_000} for n in range(3)]
CSV = "id,sensor,detected_at_us\n" + "".join(f"{row['id']},{row['sensor']},{row['detected_at_us']}\n" for row in ROWS)
NDJSON = "\n" + "".join(json.dumps(row) + "\n" for row in ROWS)
OTHER = [{"id": "b", "sensor": "s9", "detected_at_us": EPOCH_US}]
BURST = {"id": "q", "from": {"a": "noise", "b": "noise"}, "within": [{"between": ["a", "b"], "window_s": 1}]}


@pytest.mark.parametrize("content", [CSV, NDJSON, "\ufeff" + CSV])
@pytest.mark.parametrize(
    ("line", "rows"),
    [
        ("join - --window 1 --threshold 1 --uncertainty point", 2),
        ("join - other.csv --window 1 --threshold 1 --uncertainty point", 2),
        ("join --query q.json - --uncertainty point", 2),
        ("window-join a=- b=- --window 1 --threshold 1 --uncertainty point", 2),
        ("replay - --query q.json --uncertainty point", 2),
        ("coalesce - --by sensor", 3),
    ],
)
def test_standard_input_is_csv_or_ndjson_for_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, line: str, rows: int
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "other.csv", OTHER)
    text(tmp_path / "q.json", json.dumps({**BURST, "joint_threshold": 1.0}))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content.encode()))))
    assert main([*line.split(), "--out", "out.ndjson"]) == 0
    assert len(read(tmp_path / "out.ndjson")) == rows
    assert not sys.stdin.closed


def test_what_standard_input_cannot_be_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"PAR1..."))))
    assert main(["coalesce", "-"]) == 1
    assert "Parquet cannot be read from a pipe" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["coalesce", "-"]) == 1
    assert f"{STDIN} is closed" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        request_of(["join", "-", "-", "--window", "1", "--threshold", "1"])
    assert "standard input can be read once" in capsys.readouterr().err
