"""Commands that a system runs to their end before what comes next."""

import os
from pathlib import Path

import psutil
import pytest

from deploy.host.machine import LocalError, free_ports
from deploy.local import command
from deploy.local.command import run_command
from services.common.access import __main__ as keys
from services.common.topics import __main__ as topics
from services.ingest.registry import seed


def _module(folder: Path, source: str) -> tuple[list[str], dict[str, str]]:
    (folder / "told.py").write_text(source)
    return ["told"], {**os.environ, "PYTHONPATH": str(folder), "TRIES": str(folder / "tries")}


_COUNTING = """
import os, sys
with open(os.environ["TRIES"], "a+") as tries:
    tries.write("x")
    tries.seek(0)
    count = len(tries.read())
print("try", count, file=sys.stderr)
sys.exit(os.EX_TEMPFAIL if count < {succeeds_at} else {code})
"""


def test_a_command_that_may_succeed_later_is_run_again(tmp_path: Path) -> None:
    run_command(*_module(tmp_path, _COUNTING.format(succeeds_at=3, code=0)))
    assert (tmp_path / "tries").read_text() == "xxx"


def test_any_other_failure_ends_it_at_once_with_the_words_of_the_last_try(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=r"^told failed: try 2$"):
        run_command(*_module(tmp_path, _COUNTING.format(succeeds_at=2, code=1)))
    assert (tmp_path / "tries").read_text() == "xx"


def test_it_is_not_run_again_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "TRIES", 4)
    with pytest.raises(LocalError, match=r"^told failed: try 4$"):
        run_command(*_module(tmp_path, _COUNTING.format(succeeds_at=9, code=0)))


def test_one_that_uses_more_than_its_budget_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "BUDGET_S", 0.2)
    with pytest.raises(LocalError, match=r"^timeit failed: it used \d s of processor time$"):
        run_command(["timeit", "-n", "1000000000000"], {})
    assert [each for each in psutil.Process().children() if "timeit" in each.cmdline()] == []


def test_what_python_says_of_a_module_that_is_not_there_is_told() -> None:
    with pytest.raises(LocalError, match=r"^nowhere failed: .*No module named nowhere$"):
        run_command(["nowhere"], {})


COMMANDS = {
    "topics": lambda: topics.main([]),
    "seed": lambda: seed.main([]),
    "keys": lambda: keys.main(["create", "--scope", "admin"]),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_kafka_that_is_away_may_be_back_later(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    servers = f"127.0.0.1:{free_ports(1)[0]}"
    monkeypatch.setenv("COINCIDE_KAFKA_SERVERS", servers)
    assert COMMANDS[name]() == os.EX_TEMPFAIL
    said = capsys.readouterr().err
    assert (said.startswith(f"{name}: "), servers in said, said.count("\n")) == (True, True, 1)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_setting_that_cannot_work_is_none_to_wait_for(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COINCIDE_KAFKA_SERVERS", "nowhere")
    assert COMMANDS[name]() == os.EX_CONFIG
    said = capsys.readouterr().err
    assert (said.startswith(f"{name}: "), "'nowhere'" in said, said.count("\n")) == (True, True, 1)
