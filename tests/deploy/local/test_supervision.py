"""The process runner: what it does with a process that ends again and again, and who may read what it writes."""

import configparser
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local import __main__ as command
from deploy.local.layout import HERE, Layout
from deploy.local.supervision import Supervision

OUTAGE_S = 600  # of a disk that is full, say


def test_nobody_is_given_up_within_ten_minutes() -> None:
    """Supervisor waits 1, 2, 3, ... seconds before it tries again; the harbour only entertains."""
    parser = configparser.RawConfigParser(inline_comment_prefixes=(";",))
    parser.read(HERE / "supervisord.conf")
    programs = {name: parser[name] for name in parser.sections() if name.startswith("program:")}
    tries = {name: int(program["startretries"]) for name, program in programs.items() if name != "program:harbour"}
    assert len(tries) == 7
    assert {name: count for name, count in tries.items() if count * (count + 1) / 2 < OUTAGE_S} == {}


@pytest.fixture(autouse=True)
def shared_umask() -> Iterator[None]:
    """Let everybody read what is written here, unless somebody takes care that they do not."""
    usual = os.umask(0o022)
    yield
    os.umask(usual)


def shared(folder: Path) -> list[str]:
    """Return what below a folder somebody else could read, were it not for the folder."""
    modes = {each: each.lstat().st_mode for each in folder.rglob("*")}
    return [str(each) for each, mode in modes.items() if mode & 0o077 and not stat.S_ISSOCK(mode)]


def test_what_runs_writes_for_its_user_alone(tmp_path: Path) -> None:
    layout = Layout.isolated(tmp_path / "running")
    (layout.runtime / "kafka").mkdir(parents=True)
    supervision = Supervision(layout)
    supervision.start(tmp_path)
    try:
        supervision.start_process("harbour")  # which cannot do anything here; its log is there at once
        assert layout.runtime.stat().st_mode & 0o777 == 0o700
        assert shared(layout.runtime) == [str(layout.logs), str(layout.runtime / "kafka")]  # they were made before
        assert (layout.logs / "harbour.log").exists()
    finally:
        supervision.shut_down(30)


def test_what_the_commands_write_is_for_their_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["coincide", "status"])
    monkeypatch.setitem(command._COMMANDS, "status", lambda _: (tmp_path / "written").write_text("a secret"))
    command._main()
    assert shared(tmp_path) == []
