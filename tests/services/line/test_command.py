"""`coincide serve` as a person starts it: what it says first, the demo, and a sentence for each thing that is wrong."""

import asyncio
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

import services.line.__main__
from deploy.host.machine import ROOT
from services.alerting.exports import result_formats
from services.alerting.receivers import people
from services.alerting.receivers.connections import DeliveryError
from services.alerting.records.receiver import PeopleWay
from services.common.http.problem import Problem
from services.common.settings import SettingsError
from services.common.shipped_config import SHIPPED_CONFIG
from services.console.settings import ConsoleSettings
from services.line import console_app
from services.line.settings import chosen_config
from tests.patience import until

COMMAND = [sys.executable, "-m", "coincide", "serve"]


@contextmanager
def running(here: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield the command, running in a folder where nothing of the checkout lies, and the first line that it prints."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([*COMMAND, *arguments], cwd=here, env=environment, **pipes) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline()
        finally:
            process.kill()


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., str]:
    """Return the only line that the command says of what is wrong."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        assert services.line.__main__.main(arguments) == 78
        said = capsys.readouterr()
        assert (said.out, said.err.count("\n")) == ("", 1)
        return said.err.removeprefix("coincide serve: ").rstrip()

    return run


def test_in_an_empty_folder_it_shows_the_demo_address_first_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    with running(tmp_path, "--demo", "--port", "0") as (process, ready):
        assert process.stdout is not None
        found = re.fullmatch(r"Coincide is at (http://127\.0\.0\.1:\d+)/\. It keeps everything in (\S+)\. .*\n", ready)
        assert found
        assert found[2] == str(tmp_path / "coincide-line")
        assert f"Its configuration is {SHIPPED_CONFIG}." in ready
        lines = iter(process.stdout.readline, "")
        table = [
            next(line for line in lines if line.startswith(pair)).split() for pair in ("Kamiokande II - IMB", "IMB")
        ]
        assert [row[-2:] for row in table] == [["0.1667", "75"], ["0.3571", "0"]]
        assert next(line for line in lines if re.match(r"\d\d:\d\d:\d\d UTC  mic-\d", line))
        page = httpx2.get(found[1])
        assert (page.status_code, "Coincide" in page.text) == (200, True)
        process.send_signal(signal.SIGINT)
        _, faults = process.communicate(timeout=60)
    assert (process.returncode, faults) == (0, "")


def test_two_do_not_serve_one_folder_nor_one_port(tmp_path: Path, refused: Callable[..., str]) -> None:
    with running(tmp_path, "--port", "0") as (_, ready):
        port = re.findall(r":(\d+)/", ready)[0]
        in_use = "--folder coincide-line: another process uses coincide-line: stop the line there first"
        assert refused("--port", "0") == in_use
        assert refused("--folder", "other", "--port", port).startswith(f"port {port} of 127.0.0.1 cannot be served on")


def test_where_a_key_is_needed_it_says_how_the_first_is_made_until_there_is_one(tmp_path: Path) -> None:
    asked = ("--port", "0", "--host", "0.0.0.0")
    with running(tmp_path, *asked) as (process, ready):
        assert process.stdout is not None
        sentence = process.stdout.readline()
        assert sentence.startswith("Every request needs a key, and there is none yet. Make the first: ")
        made = subprocess.run(
            shlex.split(sentence.partition("Make the first: ")[2]), cwd=ROOT, check=True, capture_output=True, text=True
        )
        key = {"Authorization": f"Bearer {made.stdout.strip()}"}
        port = re.findall(r":(\d+)/", ready)[0]
        url = f"http://127.0.0.1:{port}/v1/sensors"
        until(lambda: httpx2.get(url, headers=key).status_code == 200)
        assert httpx2.get(url).status_code == 401
    with running(tmp_path, *asked) as (process, _):
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=60)[0] == ""


def test_what_cannot_be_used_is_said_in_one_sentence(
    tmp_path: Path, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "ingest.yaml").write_text("prot: 8010\n")
    misspelt = refused("--config", "mine", "--port", "0")
    assert misspelt.startswith("mine/ingest.yaml or COINCIDE_INGEST_*: prot: there is no such setting")
    assert refused("--config", "none", "--port", "0") == "--config: there is no folder none"
    assert refused("--folder", "/proc/none", "--port", "0").startswith("--folder /proc/none: it cannot be written into")
    monkeypatch.setenv("COINCIDE_INGEST_REQUIRE_KEYS", "true")
    assert refused("--demo", "--port", "0").startswith("--demo posts and asks without a key")


def chosen(config: Path | None = None, **environ: str) -> Path:
    return chosen_config(config, environ)


def test_the_configuration_is_what_is_named_or_ours_in_this_folder_or_what_is_shipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    named, other = tmp_path / "named", tmp_path / "other"
    for each in (named, other, tmp_path / "config"):
        each.mkdir()
    assert chosen() == SHIPPED_CONFIG
    (tmp_path / "config" / "somebody-elses.yaml").touch()
    assert chosen() == SHIPPED_CONFIG
    (tmp_path / "config" / "queries.yaml").touch()
    assert chosen() == Path("config")
    assert chosen(COINCIDE_CONFIG=str(other)) == other
    assert chosen(named, COINCIDE_CONFIG=str(other)) == named
    with pytest.raises(SettingsError, match="there is no folder"):
        chosen(COINCIDE_CONFIG=str(tmp_path / "none"))


WITHOUT = """
import sys
sys.modules |= dict.fromkeys(["fastapi", "kafka", "msgspec", "pyarrow", "pydantic", "yaml"])  # as if not installed
from coincide.command.main import main
sys.exit(main())
"""


def test_without_the_extra_help_lists_it_and_it_says_which_is_needed() -> None:
    ran = {
        asked: subprocess.run(
            [sys.executable, "-c", WITHOUT, *asked], cwd=ROOT, check=False, capture_output=True, text=True
        )
        for asked in [("--help",), ("serve", "--help"), ("serve",), ("grow",)]
    }
    assert re.search(r"^    serve  +the whole line in one process", ran["--help",].stdout, re.MULTILINE)
    assert "--demo" in ran["serve", "--help"].stdout
    for name in ("serve", "grow"):
        assert ran[name,].returncode == 2
        said = rf"coincide {name}: it needs \w+: pip install 'coincide\[serve\]'\n"
        assert re.fullmatch(said, ran[name,].stderr)


def test_what_other_extras_bring_is_said_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (console_app, result_formats, people):
        monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(Problem, match=r"coincide\[parquet\]"):
        result_formats.parquet([], [], "us")
    waiting: Any = SimpleNamespace(key="k")
    with pytest.raises(DeliveryError, match=r"coincide\[people\]"):
        people.PeopleSender(PeopleWay(urls=["mailto://127.0.0.1"]), lambda *_: pytest.fail("nobody is called")).send(
            waiting
        )
    page = asyncio.run(first_page(console_app.console_app(ConsoleSettings())))
    assert (page.status_code, page.text) == (200, console_app.NOT_INSTALLED)


async def first_page(app: Any) -> httpx2.Response:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://line") as client:
        return await client.get("/")
