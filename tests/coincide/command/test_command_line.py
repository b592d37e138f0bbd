"""The command as a process: its exit statuses, pipes, help, and what it needs."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from unittest.mock import patch

import pytest

from coincide import Window, __version__
from coincide.command.answer_files import TextAnswer
from coincide.command.arguments.join_arguments import JoinRequest
from coincide.command.main import main, request_of
from deploy.host.machine import ROOT
from tests.coincide.command.files import EPOCH_US, answer_of, text, write

TIME = "1987-02-23T07:35:35Z"
AT = "1987-02-23T07:35:35.000000Z"
HEADER = "id_a,detected_at_a,id_b,detected_at_b,offset_s,probability"
JUDGED = ["--window", "1", "--threshold", "1"]
EXACT = [*JUDGED, "--uncertainty", "point"]
EXIT = "exit status: 0 done"
RUN = [sys.executable, "-m", "coincide"]


@pytest.fixture
def two_events(tmp_path: Path) -> Path:
    """A file of two events at one time."""
    return text(tmp_path / "a.csv", f"id,detected_at\n1,{TIME}\n2,{TIME}\n")


def done(*command: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60, env=env)


def test_a_replay_loads_nothing_that_few_answers_need() -> None:
    rarely = {"rich", "yaml", "pyarrow.parquet", "coincide.queries.explaining"}
    code = f"import sys, coincide.command.playback.replay; print(*sys.modules.keys() & {rarely!r})"
    ran = done(sys.executable, "-c", code)
    assert (ran.returncode, ran.stdout.split()) == (0, [])


def test_a_pipe(two_events: Path) -> None:
    run = done(*RUN, "join", str(two_events), *JUDGED)
    assert (run.returncode, run.stdout) == (0, f"{HEADER}\n1,{AT},2,{AT},0,1\n")
    assert run.stderr == f"coincide: {two_events}: nothing says how uncertain its times are; they are taken as exact\n"


def test_a_reader_who_goes_away(tmp_path: Path) -> None:
    a = write(tmp_path / "a.csv", [{"detected_at_us": EPOCH_US + n} for n in range(500)])  # far more than a pipe holds
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
    held_back = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    run = done("bash", "-c", f'"$@" {redirected}', "-", *RUN, "join", str(two_events), *EXACT, env=held_back)
    assert (run.returncode, run.stderr.count("\n")) == (1, 1)
    assert message in run.stderr


@pytest.mark.parametrize(("command", "stage"), [(["join", *EXACT], "joining"), (["coalesce"], "coalescing")])
def test_bars_on_a_terminal(
    two_events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str], stage: str
) -> None:
    with patch.object(sys.stderr, "isatty", lambda: True):
        answer_of(*command, two_events, out=tmp_path / "out.csv")
    said = capsys.readouterr()
    assert said.out == ""
    for word in ("reading a.csv", stage, "100%"):
        assert word in said.err


@pytest.mark.parametrize("by_name", [False, True])
def test_an_answer_on_a_terminal_stands_there_alone(
    two_events: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_name: bool
) -> None:
    ours, theirs = os.openpty()
    link = tmp_path / "terminal.csv"  # a name whose suffix says the format
    link.symlink_to(os.ttyname(theirs))
    monkeypatch.setenv("TERM", "xterm")
    with os.fdopen(theirs, "w") as terminal, patch.multiple(sys, stdout=terminal, stderr=terminal):
        assert main(["join", str(two_events), *EXACT, *(["--out", str(link)] if by_name else [])]) == 0
        assert os.read(ours, 65_536).decode().splitlines() == [HEADER, f"1,{AT},2,{AT},0,1"]
    os.close(ours)


def test_whatever_the_library_refuses_is_a_message(two_events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["join", str(two_events), *EXACT, "--sensors", "same"]) == 1
    [said] = capsys.readouterr().err.splitlines()
    assert said.startswith("coincide: sensors is 'same': ")


def test_an_answer_goes_into_a_named_pipe_as_it_is(two_events: Path, tmp_path: Path) -> None:
    pipe, seen = tmp_path / "out.ndjson", []
    os.mkfifo(pipe)
    reader = Thread(target=lambda: seen.append(pipe.read_text()))
    reader.start()
    assert main(["join", str(two_events), *JUDGED, "--out", str(pipe)]) == 0
    reader.join()
    assert seen[0].startswith(f'{{"id_a":"1","detected_at_a":"{AT}","id_b":"2",')
    assert pipe.is_fifo()


def test_without_the_extra_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyarrow", "rich"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["join", "a.csv", *JUDGED]) == 2
    assert capsys.readouterr().err == "coincide: the command needs pyarrow and rich: pip install 'coincide[cli]'\n"


def test_reading_the_command_line_needs_numpy_alone() -> None:
    code = "import sys; import coincide.command.main; print([m for m in ('pyarrow', 'rich') if m in sys.modules])"
    assert done(sys.executable, "-c", code).stdout == "[]\n"


@contextmanager
def in_the_foreground() -> Iterator[None]:
    """Heed SIGINT, which a shell has its background processes ignore, and those that they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_no_half_answer(
    two_events: Path, capsys: pytest.CaptureFixture[str], sent: signal.Signals, status: int
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with in_the_foreground(), patch.object(TextAnswer, "write", lambda *_: signal.raise_signal(sent)):
        assert main(["join", str(two_events), *EXACT, "--out", str(two_events.with_name("out.csv"))]) == status
    assert capsys.readouterr().err == "coincide: interrupted\n"
    assert [path.name for path in two_events.parent.iterdir()] == ["a.csv"]
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--version"], [f"coincide {__version__}\n"]),
        (["join", "--help"], ["The standard deviation of 8 buckets\nis 1.08 sigma", "coincide join imb.csv", "0.3"]),
        (["join", "--help"], ["--skip-bad", "normal:SIGMA,BUCKETS", "--assume-utc", "--templates", EXIT]),
        (["coalesce", "--help"], ["--hold", "--gap", "--above", "quantised:STEP", "--skip-bad", EXIT, "An empty end"]),
    ],
)
def test_the_version_and_helps(arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert not [word for word in words if word not in said]


@pytest.mark.parametrize(
    ("words", "window"),
    [
        ("--window 5", Window(5)),
        ("--window=-1:9", Window(lo_s=-1, hi_s=9)),
        ("--window -1:9", Window(lo_s=-1, hi_s=9)),
        ("--window 2:", Window.delay(2)),
        ("--window=:-2", Window.deadline(-2)),
        ("--window -.5:-.25", Window(lo_s=-0.5, hi_s=-0.25)),
    ],
)
def test_windows(words: str, window: Window) -> None:
    request = request_of(["join", "a.csv", *words.split(), "--threshold", "1"])
    assert isinstance(request, JoinRequest)
    assert request.window == window


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("join --window x --threshold 1", "--window: 'x': seconds, such as 5 or -1:9"),
        ("join --window : --threshold 1", "--window: ':': seconds, such as 5 or -1:9"),
        ("join --window -inf:9 --threshold 1", "--window: lo_s is -inf: a number of seconds from -1000000000"),
        ("join --window -x:9 --threshold 1", "--window: '-x:9': seconds, such as 5 or -1:9"),
        ("join --window -5 --threshold 1", "a number of seconds from 0 to 1000000000"),
        ("join --window 9:-1 --threshold 1", "at most hi_s"),
        ("join --window 1 --threshold 0", "--threshold: '0': a probability above 0, at most 1"),
        ("join --window 1 --threshold nan", "a probability above 0, at most 1"),
        ("join --window 1", "required: --threshold"),
        ("join --window 1 --threshold 1 --time-b t", "--time-b: there is no file B"),
        ("join --window 1 --threshold 1 --uncertainty-b point", "--uncertainty-b: there is no file B"),
        ("join --window 1 --threshold 1 --uncertainty ''", "--uncertainty: empty"),
        ("join --window 1 --threshold 1 --time-a ''", "--time-a: empty"),
        ("join --window 1 --threshold 1 --sensors other", "invalid choice: 'other'"),
        ("coalesce --gap -1", "--gap: '-1': seconds, from 0 to 1e+09"),
        ("coalesce --gap nan", "--gap: 'nan': seconds, from 0 to 1e+09"),
        ("coalesce --hold 0", "--hold: '0': seconds, from 1e-6 to 1e+09"),
        ("coalesce --hold 1e10", "--hold: '1e10': seconds, from 1e-6"),
        ("coalesce --above warm", "--above: 'warm': a finite number"),
        ("coalesce --value v --equivalence alike", "--equivalence: 'alike': equal, any, bounded:E, relative:R"),
        ("coalesce --value v --equivalence bounded", "--equivalence: 'bounded': equal, any, bounded:E"),
        ("coalesce --value v --equivalence equal:1", "--equivalence: 'equal:1': equal, any, bounded:E"),
        ("coalesce --value v --equivalence bounded:-1", "--equivalence: 'bounded:-1': E at least 0"),
        ("coalesce --value v --equivalence relative:-1", "--equivalence: 'relative:-1': R at least 0"),
        ("coalesce --value v --equivalence quantised:0", "--equivalence: 'quantised:0': STEP above 0"),
        ("coalesce --value v --equivalence quantised:x", "--equivalence: 'x': a finite number"),
        ("coalesce --start a", "--start: facts need --end as well"),
        ("coalesce --end a", "--end: facts need --start as well"),
        ("coalesce --start a --end b --time c", "--time: of readings; facts have --start and --end"),
        ("coalesce --start a --end b --hold 1", "--hold: of readings; facts bring their own end"),
        ("coalesce --above 1", "--above: of --value, which is not given"),
        ("coalesce --below 1", "--below: of --value, which is not given"),
        ("coalesce --equivalence any", "--equivalence: of --value, which is not given"),
        ("coalesce --text", "--text: of --value, which is not given"),
        ("coalesce --value v --text --above 1", "--above: of numbers, not of --text"),
        ("coalesce --value v --text --below 1", "--below: of numbers, not of --text"),
        ("coalesce --value v --text --equivalence increasing", "--equivalence: of numbers, not of --text"),
        ("coalesce --by a --by a", "--by: a column is named twice"),
        ("coalesce --by count", "--by: 'count': the answer has a column of that name"),
        ("coalesce --by ''", "--by: empty"),
    ],
)
def test_wrong_usage(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    command, *options = shlex.split(line)
    with pytest.raises(SystemExit) as ended:
        main([command, "a.csv", *options])
    assert ended.value.code == 2
    expected = f"error: argument {message}" if message.startswith("--") else message
    assert expected in capsys.readouterr().err
