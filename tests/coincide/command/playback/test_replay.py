"""coincide replay on real files and a real pipe, against the definition of queries and against coincide join."""

import json
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coincide import Histogram
from coincide.command.main import main
from coincide.command.playback import replay as replaying
from deploy.host.machine import ROOT
from tests.coincide.command.files import EPOCH_US, FORMATS, answer_of, join, text, write
from tests.coincide.fusion.strategies import OBJECTS, TEMPLATES, queries, wide_queries
from tests.examples import examples
from tests.patience import until
from tests.reference import central_italy
from tests.reference.fusion_query import SlowQuery, SlowRow

SN1987A = ROOT / "config" / "examples" / "sn1987a"
FORMS: list[Any] = [
    {"point": True},
    {"uniform": [-2, 1]},
    {"edges_s": [-4, -3, 1, 2], "mass": [0.5, 0, 0.5]},
    {"uniform": [-7, 0.5]},
]
NAMED = {f"t{number}": form for number, form in enumerate(FORMS)}
Members = frozenset[tuple[str, str, str]]  # role, sensor and id
Event = dict[str, Any]

arriving = st.lists(
    st.fixed_dictionaries(
        {
            "sensor": st.sampled_from(["north", "south", "east"]),
            "area": st.sampled_from(["bay", "bay", "hill"]),
            "stream": st.sampled_from("psst"),
            "detected_at_us": st.integers(0, 90).map(lambda tenths: EPOCH_US + tenths * 100_000),
            "received_at_us": st.none() | st.integers(0, 90).map(lambda tenths: EPOCH_US + tenths * 100_000),
            "template": st.sampled_from(list(NAMED)),
            "attributes": st.sampled_from(OBJECTS).map(dict),
        }
    ),
    min_size=1,
    max_size=14,
).map(lambda rows: [{"id": f"e{number}", **row} for number, row in enumerate(rows)])


def pair(streams: tuple[str, str], threshold: float = 0.3, window_s: float = 2, **more: Any) -> dict[str, Any]:
    within = [{"between": ["a", "b"], "window_s": window_s, "threshold": threshold}]
    return {"from": dict(zip("ab", streams, strict=True)), "within": within, **more}


def saved(folder: Path, *documents: dict[str, Any]) -> list[Path]:
    return [text(folder / f"{each['id']}.json", json.dumps(each)) for each in documents]


def asked(*queries: Path) -> list[str]:
    return [word for query in queries for word in ("--query", str(query))]


def replay(queries: Sequence[Path], *arguments: object, out: Path) -> list[Event]:
    return answer_of("replay", *asked(*queries), *arguments, out=out)


def alive(lines: Sequence[Event]) -> dict[str, set[Members]]:
    """Return the matches of each query that still count at the end; every change has to fit those before it."""
    told: dict[str, set[Members]] = defaultdict(set)
    for line in lines:
        members = frozenset((each["role"], each.get("sensor", ""), each["id"]) for each in line["members"])
        if line["change"] == "match":
            assert members not in told[line["query"]]
            told[line["query"]].add(members)
        else:
            told[line["query"]].remove(members)
    return told


def slow_replay(documents: Sequence[dict[str, Any]], rows: Sequence[Event], delay_s: float) -> dict[str, set[Members]]:
    """Answer queries from their definition, one row after the other."""
    asked = [SlowQuery.of({"sensors": "different", **each}, 1, 0, paused=False) for each in documents]
    streams = {played["stream"] for query in asked for played in query.roles.values()}
    found: dict[str, dict[str, Members]] = {query.id: {} for query in asked}
    for query in asked:
        on_time: list[SlowRow] = []
        watermark_us: dict[str, int] = defaultdict(lambda: -(2**62))
        for row in rows:
            template = TEMPLATES[int(row["template"][1])]
            latest_us, area = row["detected_at_us"] + template.latest_us, row["area"]
            if row["stream"] not in streams:
                continue
            watermark_us[area] = max(watermark_us[area], min(latest_us, row["received_at_us"] or row["detected_at_us"]))
            if latest_us < watermark_us[area] - delay_s * 1e6:
                continue
            on_time.append(SlowRow(len(on_time), area, row, template))
            for name, members, superseded in query.completed_by(on_time[-1], on_time):
                found[query.id][name] = frozenset(members)
                for each in superseded:
                    found[query.id].pop(each)
    return {query: set(matches.values()) for query, matches in found.items()}


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=arriving,
    of_two=queries.map(lambda query: {**query, "id": "two"}),
    of_many=wide_queries("many"),
    delay_s=st.sampled_from([0.5, 2, 1e6]),
    at_once=st.sampled_from([1, 3, 1000]),
)
def test_equals_the_definition_however_rows_come_together(
    tmp_path: Path, rows: list[Event], of_two: dict[str, Any], of_many: dict[str, Any], delay_s: float, at_once: int
) -> None:
    documents = [of_two, of_many]
    asked_for, file = saved(tmp_path, *documents), write(tmp_path / "rows.ndjson", rows)
    options = ["--templates", text(tmp_path / "named", json.dumps(NAMED)), "--max-delay", delay_s]
    with patch.object(replaying, "ROWS_AT_ONCE", at_once):
        found = alive(replay(asked_for, file, *options, out=tmp_path / "out.ndjson"))
    assert {query: found[query] for query in ("two", "many")} == slow_replay(documents, rows, delay_s)


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=arriving, form=st.sampled_from(FORMATS), sensors=st.sampled_from(["different", "any"]))
def test_without_lateness_it_is_the_join_of_the_files(
    tmp_path: Path, rows: list[Event], form: str, sensors: str
) -> None:
    flat = [{name: row[name] for name in ("id", "sensor", "area", "detected_at_us", "template")} for row in rows]
    sides = {"p": flat[: len(flat) // 2] or flat[:1], "s": flat[len(flat) // 2 :]}
    files = [write(tmp_path / f"{name}.{form}", side) for name, side in sides.items()]
    named = ["--templates", text(tmp_path / "named", json.dumps(NAMED))]
    queries = saved(tmp_path, {"id": "q", **pair(("p", "s")), "sensors": sensors})
    lines = replay(queries, *files, *named, "--max-delay", 1e6, out=tmp_path / "out.ndjson")
    found = {tuple(each["id"] for each in line["members"]): line["probability"] for line in lines}
    options = ["--window", 2, "--threshold", 0.3, "--sensors", sensors]
    pairs = join(*files, *options, *named, out=tmp_path / "pairs.ndjson")
    assert found == {(each["id_a"], each["id_b"]): pytest.approx(each["probability"], abs=2e-6) for each in pairs}
    assert len(lines) == len(pairs)


def test_files_are_merged_in_the_order_of_arrival(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # the second file is an hour long as the first one is: one after the other, all of it would be late
    files = [
        write(
            tmp_path / f"{name}.csv", [{"id": f"{name}{n}", "detected_at_us": EPOCH_US + n * 10**7} for n in range(360)]
        )
        for name in "ps"
    ]
    queries = saved(tmp_path, {"id": "q", **pair(("p", "s"))})
    lines = replay(queries, *files, "--uncertainty", "uniform:-1,1", "--max-delay", 1, out=tmp_path / "out.ndjson")
    assert [[each["id"] for each in line["members"]] for line in lines] == [[f"p{n}", f"s{n}"] for n in range(360)]
    assert capsys.readouterr().err == ""


def test_a_match_is_written_as_soon_as_its_last_detection_is_in(tmp_path: Path) -> None:
    queries = saved(tmp_path, {"id": "q", **pair(("p", "p"))}, {"id": "r", **pair(("p", "s"))})
    command = [sys.executable, "-m", "coincide", "replay", "-", *asked(*queries), "--uncertainty", "point"]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, cwd=ROOT, text=True, bufsize=1, **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None

        def post(number: int, at_s: float, stream: str) -> None:
            row = {"id": f"e{number}", "stream": stream, "detected_at_us": EPOCH_US + round(at_s * 1e6)}
            assert process.stdin is not None
            process.stdin.write(json.dumps(row) + "\n")

        post(1, 0, "p")
        post(2, 1, "p")
        first = json.loads(process.stdout.readline())  # while standard input is open
        post(3, 1.5, "s")
        others = [json.loads(process.stdout.readline()) for _ in range(2)]
        post(4, 1000, "p")
        post(5, 0, "p")
        post(6, 0, "x")
        process.stdin.write(json.dumps({"id": "e7", "stream": "s", "detected_at_us": EPOCH_US + 10**9}))  # no line end
        process.stdin.close()
        last = [json.loads(line) for line in process.stdout.read().splitlines()]
        said = process.stderr.read().splitlines()
        assert process.wait(timeout=60) == 0
    assert [(first["query"], ids(first))] == [("q", ["e1", "e2"])]
    assert sorted((line["query"], ids(line)) for line in others) == [("r", ["e1", "e3"]), ("r", ["e2", "e3"])]
    assert [(line["query"], ids(line)) for line in last] == [("r", ["e4", "e7"])]
    assert said == [
        "coincide: 1 detection came too late and left out: more than 120 s (--max-delay) behind their area",
        "coincide: 1 detection is of a stream that no query names: x (1)",
    ]


def ids(line: Event) -> list[str]:
    return [each["id"] for each in line["members"]]


#: Tests that run in the background may ignore SIGINT, and whatever they start does, too.
HEEDING = """
import os, signal, sys
signal.signal({sent}, signal.SIG_DFL)
os.execv(sys.executable, [sys.executable, "-m", "coincide", *sys.argv[1:]])
"""
#: Another thread takes the signal, so it ends no system call of the thread that reads, which is what also becomes of a
#: signal right before such a call.
BESIDE = """
import signal, sys, threading
from coincide.command.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, [{sent}])
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("heeding", [HEEDING, BESIDE], ids=["in the read", "before the read"])
@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_while_it_waits_for_detections(
    tmp_path: Path, sent: signal.Signals, status: int, heeding: str
) -> None:
    out, queries = tmp_path / "out.ndjson", saved(tmp_path, {"id": "q", **pair(("p", "p"))})
    command = [sys.executable, "-c", heeding.format(sent=int(sent))]
    command += ["replay", *asked(*queries), "-", "--uncertainty", "point"]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, cwd=ROOT, text=True, bufsize=1, **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for name in "xy":
            process.stdin.write(json.dumps({"id": name, "detected_at_us": EPOCH_US}) + "\n")
        assert ids(json.loads(process.stdout.readline())) == ["x", "y"]  # it is at work
        until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_SLEEPING)  # and waits
        process.send_signal(sent)
        until(lambda: process.poll() is not None)
        assert process.returncode == status
        assert process.stderr.read() == "coincide: interrupted\n"
    assert not out.exists()


def test_the_burst_of_1987(tmp_path: Path) -> None:
    whole = {"from": dict.fromkeys("abc", "neutrino"), "form": "clique", "within": [{"window_s": 10}]}
    documents = [
        {"id": "two", **pair(("neutrino", "neutrino"), 0.15, 10)},
        {"id": "some", **whole, "joint_threshold": 0.04, "at_least": 2},
    ]
    files = sorted(SN1987A.glob("*.ndjson"))
    lines = replay(
        saved(tmp_path, *documents), *files, "--templates", SN1987A / "templates.json", out=tmp_path / "out.ndjson"
    )
    shown = {(line["query"], tuple(sorted(ids(line)))): line.get("probability") for line in lines}
    assert shown["two", ("baksan-1", "imb-1")] == 0.357143
    assert shown["two", ("imb-1", "kamiokande-ii-1")] == 0.166667
    assert shown["some", ("baksan-1", "imb-1", "kamiokande-ii-1")] == 0.044643
    sets = [tuple(sorted(each)) for each in alive(lines)["some"]]
    assert any(line["change"] == "superseded" for line in lines)
    assert sum(len(each) == 3 for each in sets) > 50


def test_own_uncertainty_rows_and_files_are_shown(tmp_path: Path) -> None:
    a = text(
        tmp_path / "p.csv",
        "detected_at,earliest,latest\n1987-02-23T07:35:35Z,1987-02-23T07:35:35Z,1987-02-23T07:35:37Z\n",
    )
    b = text(
        tmp_path / "s.ndjson", '{"detected_at": "1987-02-23T07:35:36Z", "uncertainty": {"sigma_s": 0.5}, "id": 7}\n'
    )
    queries = saved(tmp_path, {"id": "q", **pair(("p", "s"), 0.9, 3)})
    [line] = replay(queries, a, b, out=tmp_path / "out.ndjson")
    one, other = line["members"]
    assert one == {"role": "a", "file": str(a), "row": 1, "stream": "p", "detected_at": "1987-02-23T07:35:35.000000Z"}
    assert (other["id"], other["stream"]) == ("7", "s")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rows.ndjson"], "the following arguments are required: --query"),
        (["--query", "q.json"], "the following arguments are required: FILE"),
        (["--query", "q.json", "-", "rows.ndjson"], "- stands for all detections"),
        (["rows.ndjson", "--query", "q.json", "--max-delay", "-1"], "seconds, from 0 to 1e+08"),
    ],
)
def test_a_wrong_command_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["replay", *arguments])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


SPELL = {"coalesce": {"from": "t", "value": "attributes.c", "where": {"above": 40}}, "lasting_s": 60}
READINGS = {"coalesce": {"from": "t", "value": "attributes.c", "window": {"time_s": 9, "slide_s": 3}}, "longest": True}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{", "q.json: no JSON: "),
        ('{"from": {}}', "q.json: within is missing"),
        (json.dumps({**pair(("p", "s")), "sensors": "all"}), "q.json: sensors is 'all': "),
        (json.dumps(READINGS), "q.json: query q is over readings: coincide coalesce --query answers it"),
        (
            json.dumps(SPELL),
            "q.json: query q tells spells: python -m spark_jobs.history run --query answers",
        ),
    ],
)
def test_a_query_that_cannot_be_used(
    tmp_path: Path, document: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    query = text(tmp_path / "q.json", document)
    assert main(["replay", str(write(tmp_path / "p.csv", [{"detected_at_us": EPOCH_US}])), *asked(query)]) == 1
    assert message in capsys.readouterr().err


def test_a_query_may_be_sql(tmp_path: Path) -> None:
    rows = [{"detected_at_us": EPOCH_US, "stream": name, "id": name, "sensor": name} for name in "ps"]
    file = write(tmp_path / "both.csv", rows)
    query = text(tmp_path / "near.sql", "SELECT * FROM p, s WHERE WINDOW(p, s) = 1 s WITH THRESHOLD 1")
    [line] = replay([query], file, "--uncertainty", "point", out=tmp_path / "a.ndjson")
    assert (line["query"], set(ids(line))) == ("near", {"p", "s"})


def test_bad_rows_are_named_and_may_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        '{"id": "x", "detected_at": "1987-02-23T07:35:35Z", "stream": "p"}',
        '{"id": "y", "detected_at": "1987-02-30T07:35:35Z", "stream": "p"}',
        '{"id": "z", "detected_at": "1987-02-23T07:35:35Z", "stream": "s", "sigma_s": 100}',
        '{"id": "u", "detected_at": "1987-02-23T07:35:35Z"}',
        '{"id": "v", "detected_at": "1987-02-23T07:35:35Z", "stream": "s"}',
    ]
    file = text(tmp_path / "p.ndjson", "\n".join(rows))
    queries = saved(tmp_path, {"id": "q", **pair(("p", "s"))})
    arguments = [str(file), "--uncertainty", "point"]
    assert main(["replay", *asked(*queries), *arguments]) == 1
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 3)
    assert "line 2: detected_at: '1987-02-30T07:35:35Z'" in said.err
    assert "line 3: its time is uncertain by more than 300 s: --longest-uncertainty allows it" in said.err
    assert [set(ids(line)) for line in replay(queries, *arguments, "--skip-bad", out=tmp_path / "a.ndjson")] == [
        {"x", "v"},
        {"u", "v"},
    ]
    longer = [*arguments, "--skip-bad", "--longest-uncertainty", "1000"]
    assert "2 bad lines left out" in capsys.readouterr().err
    replay(queries, *longer, out=tmp_path / "b.ndjson")
    assert "1 bad line left out" in capsys.readouterr().err


def test_a_query_that_would_take_too_much_is_suspended_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clique = {"from": dict.fromkeys("abcd", "p"), "form": "clique", "within": [{"window_s": 2, "threshold": 0.1}]}
    heavy = {"id": "heavy", **clique, "at_least": 2, "limits": {"max_candidates_per_detection": 3}}
    queries = saved(tmp_path, heavy, {"id": "light", **pair(("p", "p"))})
    rows = [{"id": n, "sensor": f"s{n}", "detected_at_us": EPOCH_US + n} for n in range(12)]
    out = tmp_path / "out.ndjson"
    arguments = [*asked(*queries), write(tmp_path / "p.ndjson", rows), "--uncertainty", "uniform:-1,1", "--out", out]
    assert main(["replay", *map(str, arguments)]) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith(
        "coincide: query heavy was suspended, and its answer ends there: max_candidates_per_detection is 3, "
    )
    assert said[1:] == ["coincide: 1 of 2 queries could not be answered to the end"]
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert sum(line["query"] == "light" for line in lines) == 66


def test_a_clock_that_is_ahead_in_one_area_costs_the_others_nothing(tmp_path: Path) -> None:
    ahead = {"id": "x", "sensor": "fast", "area": "hill", "stream": "p", "detected_at_us": EPOCH_US + 10**15}
    rows = [
        {"id": n, "sensor": f"s{n % 2}", "area": "bay", "detected_at_us": EPOCH_US + n * 10**6} for n in range(9000)
    ]
    queries = saved(tmp_path, {"id": "q", **pair(("p", "p"), window_s=1)})
    file = write(tmp_path / "p.ndjson", [ahead, *rows])
    assert len(replay(queries, file, "--uncertainty", "point", out=tmp_path / "out.ndjson")) == 8999


@pytest.mark.parametrize("area", [None, "bay"])
def test_a_query_with_too_many_matches_is_suspended_as_it_would_be_live(
    tmp_path: Path, area: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = saved(tmp_path, {"id": "q", **pair(("p", "p")), "limits": {"max_matches_per_detection": 3}})
    rows = [{"id": n, "sensor": f"s{n}", "detected_at_us": EPOCH_US + n, "area": area or ""} for n in range(9)]
    out = tmp_path / "out.ndjson"
    arguments = [*asked(*queries), write(tmp_path / "p.csv", rows), "--uncertainty", "point", "--out", out]
    assert main(["replay", *map(str, arguments)]) == 1
    assert capsys.readouterr().err.splitlines()[0] == (
        f"coincide: query q was suspended{' in area bay' * (area is not None)}, and its answer ends there: "
        "max_matches_per_detection is 3, and the detection that was received at 1987-02-23T07:35:35.000004Z has more"
    )
    assert len(out.read_text().splitlines()) == 1 + 2 + 3


def test_the_name_of_the_answer_says_ndjson(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queries = saved(tmp_path, {"id": "q", **pair(("p", "s"))})
    rows = write(tmp_path / "p.csv", [{"detected_at_us": EPOCH_US}])
    assert main(["replay", str(rows), *asked(*queries), "--out", str(tmp_path / "out.csv")]) == 1
    assert "should end in .ndjson or .jsonl" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.csv", "q.json"]


def test_templates_of_the_test_are_those_of_the_files() -> None:
    assert [Histogram.point(), Histogram.uniform(-2, 1)] == TEMPLATES[:2]
    assert len(FORMS) == len(TEMPLATES)


@pytest.mark.skipif(central_italy.why_absent() is not None, reason=str(central_italy.why_absent()))
def test_a_real_hour_is_the_join_of_its_picks(tmp_path: Path) -> None:
    """P and S picks of one quake at one station, and P picks of one moment at four stations or more."""
    forms = {name: {"edges_s": each.edges_s, "mass": each.mass} for name, each in central_italy.templates().items()}
    picks = list(enumerate(central_italy.picks()))
    rows = [
        {
            "id": n,
            "stream": pick.phase,
            "template": pick.phase,
            "sensor": pick.station,
            "detected_at_us": pick.detected_at_us,
        }
        for n, pick in picks
    ]
    file, named = write(tmp_path / "picks.csv", rows), text(tmp_path / "templates", json.dumps(forms))
    within = [{"between": ["p", "s"], "lo_s": 0, "hi_s": 12, "threshold": 0.9}]
    clique = {"from": dict.fromkeys("abcd", "P"), "form": "clique", "within": [{"window_s": 0.3, "threshold": 0.9}]}
    documents: list[dict[str, Any]] = [
        {"id": "quake", "from": {"p": "P", "s": "S"}, "within": within, "sensors": "same"},
        {"id": "moment", **clique, "sensors": "different", "at_least": 3},
    ]
    queries = saved(tmp_path, *documents)
    found = alive(replay(queries, file, "--templates", named, "--max-delay", 1, out=tmp_path / "out.ndjson"))
    for query, document in zip(queries, documents, strict=True):
        answer = join(file, "--query", query, "--templates", named, out=tmp_path / "joined.ndjson")
        shown = [{role: (row[f"sensor_{role}"], row[f"id_{role}"]) for role in document["from"]} for row in answer]
        joined = {frozenset((role, *name) for role, name in row.items() if name[1] is not None) for row in shown}
        assert found[query.stem] == joined
        assert len(joined) > 50
