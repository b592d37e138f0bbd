"""The gateways of docs/how-to deliver every detection to a real ingest that is busy, restarts, or refuses some."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from docs.generate import ROOT
from services.ingest.settings import Settings
from tests.services.ingest.building import NOW_US, Ingest

HOW_TO = ROOT / "docs/how-to"
Deliver = Callable[[list[str], Path, str], None]


@dataclass
class Busy:
    """Answers 503 so many times, each with its Retry-After; then ingest answers itself."""

    ingest: Ingest
    retry_after: list[str | None] = field(default_factory=list)
    answered_at_s: list[float] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.answered_at_s.append(time.monotonic())
        if not self.retry_after:
            await self.ingest.app(scope, receive, send)
            return
        seconds = self.retry_after.pop(0)
        headers = {} if seconds is None else {"Retry-After": seconds}
        await JSONResponse({"detail": "busy"}, 503, headers)(scope, receive, send)


def by_python(lines: list[str], folder: Path, url: str) -> None:
    gateway = [sys.executable, str(HOW_TO / "gateway.py"), url, str(folder)]
    subprocess.run(gateway, input="\n".join(lines), text=True, check=True, timeout=60)


def by_bash(lines: list[str], folder: Path, url: str) -> None:
    folder.mkdir(exist_ok=True)
    for number, start in enumerate(range(0, len(lines), 4)):
        batch = "".join(f"{line}\n" for line in lines[start : start + 4])
        (folder / f"{number:04d}.ndjson").write_text(batch, encoding="utf-8")
    subprocess.run([HOW_TO / "gateway.sh", url, folder, "--once"], check=True, timeout=60)


@pytest.fixture(params=[by_python, by_bash])
def deliver(request: pytest.FixtureRequest) -> Deliver:
    chosen: Deliver = request.param
    return chosen


@pytest.fixture
def busy() -> Busy:
    return Busy(Ingest(Settings(max_detections_per_post=3)))


@pytest.fixture
def url(busy: Busy) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(busy, port=0, log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


def line(id_: str, **members: Any) -> str:
    return json.dumps({"sensor": "geo", "detected_at": NOW_US - 1_000_000, "id": id_, **members})


def delivered(busy: Busy) -> set[str]:
    return {each["id"] for each in busy.ingest.publisher.detections}


def waiting(folder: Path) -> list[Path]:
    return list(folder.glob("*.ndjson"))


def test_a_batch_that_is_too_long_is_split(deliver: Deliver, busy: Busy, url: str, tmp_path: Path) -> None:
    deliver([line(f"d{n}") for n in range(7)], tmp_path / "spool", url)
    assert delivered(busy) == {f"d{n}" for n in range(7)}
    assert waiting(tmp_path / "spool") == []


def test_a_503_is_waited_out_and_the_whole_post_repeated(
    deliver: Deliver, busy: Busy, url: str, tmp_path: Path
) -> None:
    busy.retry_after = ["2", None]
    deliver([line("d0"), line("d1")], tmp_path / "spool", url)
    first, second, third = busy.answered_at_s
    assert second - first >= 2
    assert third - second >= 1
    assert delivered(busy) == {"d0", "d1"}


def test_what_kafka_did_not_acknowledge_is_posted_again(deliver: Deliver, busy: Busy, url: str, tmp_path: Path) -> None:
    busy.ingest.publisher.acknowledges = [False]
    deliver([line("d0")], tmp_path / "spool", url)
    assert len(busy.answered_at_s) == 2
    assert waiting(tmp_path / "spool") == []


def test_refused_lines_are_kept_and_hold_up_no_others(deliver: Deliver, busy: Busy, url: str, tmp_path: Path) -> None:
    deliver([line("d0"), line("d1", sensor="nobody"), "no json"], tmp_path / "spool", url)
    assert delivered(busy) == {"d0"}
    assert waiting(tmp_path / "spool") == []
    kept = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "spool").iterdir())
    assert "unknown_sensor" in kept or "nobody" in kept
    assert "no json" in kept


def test_what_an_earlier_run_left_behind_is_delivered_first(busy: Busy, url: str, tmp_path: Path) -> None:
    (tmp_path / "000000000041-0.ndjson").write_text(f"{line('old')}\n", encoding="utf-8")
    by_python([line("new")], tmp_path, url)
    assert [each["id"] for each in busy.ingest.publisher.detections] == ["old", "new"]


def test_nobody_answers_at_first(deliver: Deliver, busy: Busy, url: str, tmp_path: Path) -> None:
    """A connection that is refused is a pause like any other."""
    away = "http://127.0.0.1:9"
    with pytest.raises(subprocess.TimeoutExpired):
        run_for(deliver, 2, [line("d0")], tmp_path / "spool", away)
    assert len(waiting(tmp_path / "spool")) == 1
    deliver([], tmp_path / "spool", url)
    assert delivered(busy) == {"d0"}


def run_for(deliver: Deliver, seconds: float, lines: list[str], folder: Path, url: str) -> None:
    """Deliver, and give up after so long."""
    run = subprocess.run

    def shorter(*arguments: Any, **options: Any) -> Any:
        return run(*arguments, **{**options, "timeout": seconds})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "run", shorter)
        deliver(lines, folder, url)
