"""The command as a process: its exit statuses, pipes, help, and what it needs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from coincide import Window, __version__
from coincide.command.join_arguments import JoinRequest
from coincide.command.main import main, request_of
from deploy.local.machine import ROOT
from tests.coincide.command.files import text, write

TIME = "1987-02-23T07:35:35Z"
WRITE = "coincide.command.answer_files.TextAnswer.write"
EXACT = ["--window", "1", "--threshold", "1", "--uncertainty", "point"]
RUN = [sys.executable, "-m", "coincide"]


@pytest.fixture
def two_events(tmp_path: Path) -> Path:
    """A file of two events at one time."""
    return text(tmp_path / "a.csv", f"id,detected_at\n1,{TIME}\n2,{TIME}\n")


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )


def test_a_pipe(two_events: Path) -> None:
    done = run("join", two_events, "--window", 1, "--threshold", 1)
    assert (done.returncode, done.stdout.splitlines()) == (0, [
        "id_a,detected_at_a,id_b,detected_at_b,offset_s,probability",
        "1,1987-02-23T07:35:35.000000Z,2,1987-02-23T07:35:35.000000Z,0,1",
    ])  # fmt: skip
    assert done.stderr == f"coincide: {two_events}: nothing says how uncertain its times are; they are taken as exact\n"


def test_a_reader_who_goes_away(tmp_path: Path) -> None:
    a = write(tmp_path / "a.csv", [{"detected_at_us": 541_064_135_000_000 + n} for n in range(2000)])
    command = [*RUN, "join", str(a), *EXACT]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=60) == 141
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("redirected", "message"),
    [(">&-", "standard output is closed: --out names a file"), (">/dev/full", "No space left on device")],
)
def test_an_answer_that_nobody_can_take(two_events: Path, redirected: str, message: str) -> None:
    script = (
        f'"{sys.executable}" -m coincide join "{two_events}" --window 1 --threshold 1 --uncertainty point {redirected}'
    )
    held_back = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60, env=held_back
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert message in done.stderr


def test_bars_on_a_terminal(
    two_events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    out = tmp_path / "out.csv"
    assert main(["join", str(two_events), *EXACT, "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "reading a.csv" in said.err
    assert "joining" in said.err
    assert "100%" in said.err


@pytest.mark.parametrize("by_name", [False, True])
def test_an_answer_on_a_terminal_stands_there_alone(tmp_path: Path, by_name: bool) -> None:
    a = text(tmp_path / "a.csv", f"id,detected_at\n1,{TIME}\n2,{TIME}\n3,{TIME}\n")
    link = tmp_path / "terminal.csv"  # a name whose suffix says the format
    ours, theirs = os.openpty()
    link.symlink_to(os.ttyname(theirs))
    command = [*RUN, "join", str(a), *EXACT]
    with subprocess.Popen(
        [*command, *(["--out", str(link)] if by_name else [])],
        cwd=ROOT, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"},
    ) as process:  # fmt: skip
        assert process.wait(timeout=60) == 0
    seen = os.read(ours, 65_536).decode()
    os.close(ours)
    os.close(theirs)
    at = "1987-02-23T07:35:35.000000Z"
    assert seen.splitlines() == [
        "id_a,detected_at_a,id_b,detected_at_b,offset_s,probability",
        *(f"{one},{at},{other},{at},0,1" for one, other in ((1, 2), (1, 3), (2, 3))),
    ]


def test_whatever_the_library_refuses_is_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = text(tmp_path / "a.csv", f"detected_at\n{TIME}\n")
    assert main(["join", str(a), *EXACT, "--sensors", "same"]) == 1
    [said] = capsys.readouterr().err.splitlines()
    assert said.startswith("coincide: sensors is 'same': ")


def test_an_answer_goes_into_a_named_pipe_as_it_is(two_events: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "out.ndjson"
    os.mkfifo(pipe)
    command = [*RUN, "join", str(two_events), "--window", "1", "--threshold", "1", "--out", str(pipe)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        assert pipe.read_text().startswith('{"id_a":"1","detected_at_a":"1987-02-23T07:35:35.000000Z","id_b":"2",')
        assert process.wait(timeout=60) == 0
    assert pipe.is_fifo()


def test_without_the_extra_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyarrow", "rich"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["join", "a.csv", "--window", "1", "--threshold", "1"]) == 2
    assert capsys.readouterr().err == "coincide: the command needs pyarrow and rich: pip install 'coincide[cli]'\n"


def test_reading_the_command_line_needs_numpy_alone() -> None:
    code = "import sys; import coincide.command.main; print([m for m in ('pyarrow', 'rich') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_no_half_answer(
    two_events: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    sent: signal.Signals,
    status: int,
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(WRITE, lambda *_: signal.raise_signal(sent))
    assert main(["join", str(two_events), *EXACT, "--out", str(two_events.with_name("out.csv"))]) == status
    assert capsys.readouterr().err == "coincide: interrupted\n"
    assert [path.name for path in two_events.parent.iterdir()] == ["a.csv"]
    assert signal.getsignal(signal.SIGTERM) == before


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"coincide {__version__}\n"


@pytest.mark.parametrize(
    ("text", "window"),
    [
        (["--window", "5"], Window(5)),
        (["--window=-1:9"], Window(lo_s=-1, hi_s=9)),
        (["--window", "-1:9"], Window(lo_s=-1, hi_s=9)),
        (["--window", "2:"], Window.delay(2)),
        (["--window=:-2"], Window.deadline(-2)),
        (["--window", "-.5:-.25"], Window(lo_s=-0.5, hi_s=-0.25)),
    ],
)
def test_windows(text: list[str], window: Window) -> None:
    request = request_of(["join", "a.csv", *text, "--threshold", "1"])
    assert isinstance(request, JoinRequest)
    assert request.window == window


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--window", "x", "--threshold", "1"], "--window: 'x': seconds, such as 5 or -1:9"),
        (["--window", ":", "--threshold", "1"], "--window: ':': seconds, such as 5 or -1:9"),
        (["--window", "-inf:9", "--threshold", "1"], "--window: lo_s is -inf: finite"),
        (["--window", "-x:9", "--threshold", "1"], "--window: '-x:9': seconds, such as 5 or -1:9"),
        (["--window", "-5", "--threshold", "1"], "a half-width is at least 0 s"),
        (["--window", "9:-1", "--threshold", "1"], "at most hi_s"),
        (["--window", "1", "--threshold", "0"], "--threshold: '0': a probability above 0, at most 1"),
        (["--window", "1", "--threshold", "nan"], "a probability above 0, at most 1"),
        (["--window", "1"], "required: --threshold"),
        (["--window", "1", "--threshold", "1", "--time-b", "t"], "--time-b: there is no file B"),
        (["--window", "1", "--threshold", "1", "--uncertainty-b", "point"], "--uncertainty-b: there is no file B"),
        (["--window", "1", "--threshold", "1", "--uncertainty", ""], "--uncertainty: empty"),
        (["--window", "1", "--threshold", "1", "--time-a", ""], "--time-a: empty"),
        (["--window", "1", "--threshold", "1", "--sensors", "other"], "invalid choice: 'other'"),
    ],
)
def test_wrong_usage(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["join", "a.csv", *options])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_the_help_explains_every_option_and_status(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["join", "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    for word in (
        "--skip-bad",
        "The standard deviation of 8 buckets\nis 1.08 sigma",
        "normal:SIGMA,BUCKETS",
        "--assume-utc",
        "--templates",
        "exit status: 0 done",
        "coincide join imb.csv",
        "0.3",
    ):
        assert word in said
