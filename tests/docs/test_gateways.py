"""The gateways of docs/how-to deliver every detection to a real ingest that is busy, restarts, or refuses some."""

import json
import runpy
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import uvicorn
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from docs.generate import ROOT
from services.ingest.settings import IngestSettings
from tests.services.ingest.building import NOW_US, Ingest

HOW_TO = ROOT / "docs/how-to"
Deliver = Callable[..., list[float]]


@dataclass
class Busy:
    """Answers 503 so many times, each with its Retry-After; then ingest answers itself."""

    ingest: Ingest
    retry_after: list[str | None] = field(default_factory=list)
    posts: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.posts += 1
        if not self.retry_after:
            await self.ingest.app(scope, receive, send)
            return
        seconds = self.retry_after.pop(0)
        headers = {} if seconds is None else {"Retry-After": seconds}
        await JSONResponse({"detail": "busy"}, 503, headers)(scope, receive, send)


class ImpatientError(Exception):
    """The gateway would pause once more than anybody waits for it."""


def by_python(lines: list[str], folder: Path, url: str, most_pauses: int = 9) -> list[float]:
    """Run gateway.py in this process, on a clock that does not wait; return its pauses."""
    pauses_s: list[float] = []

    def sleep(seconds: float) -> None:
        if len(pauses_s) == most_pauses:
            raise ImpatientError
        pauses_s.append(seconds)

    main = runpy.run_path(str(HOW_TO / "gateway.py"))["main"]
    clock = SimpleNamespace(sleep=sleep, monotonic=lambda: sum(pauses_s))
    of_process = patch.multiple(sys, argv=["gateway", url, str(folder)], stdin=StringIO("\n".join(lines)))
    with of_process, patch.dict(main.__globals__, time=clock):
        main()
    return pauses_s


def by_bash(lines: list[str], folder: Path, url: str, most_pauses: int = 9) -> list[float]:
    """Run gateway.sh with a sleep that does not wait; return its pauses."""
    folder.mkdir(exist_ok=True)
    for number, start in enumerate(range(0, len(lines), 4)):
        batch = "".join(f"{line}\n" for line in lines[start : start + 4])
        (folder / f"{number:04d}.ndjson").write_text(batch, encoding="utf-8")
    pauses = folder / "pauses"
    pauses.touch()
    sleep = f'sleep() {{ [ "$(wc -l <"{pauses}")" -lt {most_pauses} ] && echo "$1" >>"{pauses}"; }}; export -f sleep'
    command = ["bash", "-c", f'{sleep}; "$@"', "-", str(HOW_TO / "gateway.sh"), url, str(folder), "--once"]
    if subprocess.run(command, check=False, timeout=60).returncode:
        raise ImpatientError
    return [float(seconds) for seconds in pauses.read_text().split()]


@pytest.fixture(params=[by_python, by_bash])
def deliver(request: pytest.FixtureRequest) -> Deliver:
    chosen: Deliver = request.param
    return chosen


@pytest.fixture
def busy() -> Busy:
    return Busy(Ingest(IngestSettings(max_detections_per_post=3)))


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
    busy.retry_after = ["3", None]
    first_s, second_s = deliver([line("d0"), line("d1")], tmp_path / "spool", url)
    assert 3 <= first_s <= 4
    assert 1 <= second_s < 3
    assert busy.posts == 3
    assert delivered(busy) == {"d0", "d1"}


def test_what_kafka_did_not_acknowledge_is_posted_again(deliver: Deliver, busy: Busy, url: str, tmp_path: Path) -> None:
    busy.ingest.publisher.acknowledges = [False]
    deliver([line("d0")], tmp_path / "spool", url)
    assert busy.posts == 2
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
    gateway = [sys.executable, str(HOW_TO / "gateway.py"), url, str(tmp_path)]
    subprocess.run(gateway, input=line("new"), text=True, check=True, timeout=60)
    assert [each["id"] for each in busy.ingest.publisher.detections] == ["old", "new"]


def test_nobody_answers_at_first(deliver: Deliver, busy: Busy, url: str, tmp_path: Path) -> None:
    with pytest.raises(ImpatientError):
        deliver([line("d0")], tmp_path / "spool", "http://127.0.0.1:9", 1)
    assert len(waiting(tmp_path / "spool")) == 1
    deliver([], tmp_path / "spool", url)
    assert delivered(busy) == {"d0"}
