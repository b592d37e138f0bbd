"""What is given to a process that is started again reaches it, also where its runner was started without it."""

import configparser
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from deploy.host.machine import ROOT
from deploy.local import system as local_system
from deploy.local.environment import keep, kept
from deploy.local.layout import HERE, Layout
from deploy.local.system import System


def test_what_is_given_again_is_added_and_is_for_its_user_alone(tmp_path: Path) -> None:
    assert kept(tmp_path) == {}
    keep(tmp_path, {"COINCIDE_A": "1", "COINCIDE_B": "1", "HOME": "/home/ann"}, adds=False)
    keep(tmp_path, {"COINCIDE_B": "2"}, adds=True)
    assert kept(tmp_path) == {"COINCIDE_A": "1", "COINCIDE_B": "2"}
    assert {each.stat().st_mode & 0o077 for each in tmp_path.iterdir()} == {0}
    keep(tmp_path, {"COINCIDE_C": "3"}, adds=False)
    assert kept(tmp_path) == {"COINCIDE_C": "3"}


@pytest.mark.parametrize("content", ["", "[1]x", None])
def test_a_process_starts_without_what_cannot_be_read(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "environment.json").write_text(content)
    assert kept(tmp_path) == {}


def test_a_process_has_what_is_kept_before_what_its_runner_has(tmp_path: Path) -> None:
    (tmp_path / "shown.py").write_text(
        "import os, sys; print(os.environ['COINCIDE_X'], os.environ['OTHER'], sys.argv[1])"
    )
    keep(tmp_path, {"COINCIDE_X": "given later"}, adds=False)
    environ = {"COINCIDE_LOCAL_RUNTIME": str(tmp_path), "COINCIDE_X": "of the runner", "OTHER": "stays"}
    paths = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    command = [sys.executable, "-m", "deploy.local.environment", "shown", "serve"]
    said = subprocess.run(command, env=environ | paths, capture_output=True, text=True, check=True)
    assert said.stdout == "given later stays serve\n"


def test_every_component_is_started_so() -> None:
    parser = configparser.RawConfigParser(inline_comment_prefixes=(";",))
    parser.read(HERE / "supervisord.conf")
    commands = {name.removeprefix("program:"): parser[name]["command"] for name in parser.sections()[3:]}
    own = {name for name, command in commands.items() if " -m deploy.local.environment " in command}
    assert set(commands) - own == {"kafka", "harbour"}  # which have no settings


@pytest.mark.parametrize("runs", [True, False])
def test_make_up_on_a_running_system_hands_on_what_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: bool
) -> None:
    started: list[Path] = []
    layout = Layout.isolated(tmp_path)
    system = System(layout)
    monkeypatch.setattr(local_system, "find_java", lambda: SimpleNamespace(home=tmp_path))
    monkeypatch.setattr(local_system, "ensure_jars", lambda _: None)
    monkeypatch.setattr(local_system, "run_command", lambda *_: None)
    monkeypatch.setattr(System, "_start", lambda *_: None)
    monkeypatch.setattr(System, "wait_ready", lambda *_, **__: None)
    monkeypatch.setattr(type(system.supervision), "is_running", runs)
    monkeypatch.setattr(system.supervision, "start", started.append)
    monkeypatch.setenv("COINCIDE_ALERTING_RECEIVERS_MAY_BE_PRIVATE", "true")
    system.up()
    assert (kept(layout.runtime).get("COINCIDE_ALERTING_RECEIVERS_MAY_BE_PRIVATE") == "true") is runs
    assert started == ([] if runs else [tmp_path])  # a start keeps it itself
