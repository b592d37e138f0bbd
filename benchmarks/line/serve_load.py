"""What the line in one process does under load: POST to live stream, POSTs a second, detections a second, memory.

The sensors and the query are those of the whole line. Where a POST has one detection, every second one completes a
match with the one before it, and the milliseconds are from sending it until a reader of the live stream has the match.
Every POST is answered when it is on the disk. The load is one event loop on the same machine. Wall time.
"""

from __future__ import annotations

import asyncio
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from os import environ
from pathlib import Path
from statistics import quantiles

import httpx2
import msgspec
import psutil

from benchmarks.harness.declaration import Benchmark, Options, Table
from benchmarks.line.gateways import OpenLoop, is_ready
from benchmarks.line.throughput import GROWTH_S, total
from benchmarks.line.whole_line import AREAS, DETECTIONS_PER_MATCH, QUERY, body_now, configured
from deploy.host.machine import ROOT, free_ports, wait_until

MAX_DELAY_S = 10.0
LATENCY_RATE, POSTS_A_SECOND, DETECTIONS_PER_POST = 200, 1_000, 500
STEPS_PER_S = (10_000, 15_000, 20_000, 25_000, 30_000, 40_000)
GET = b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
Row = list[object]


class Line:
    """A line that runs, with the query of the benchmarks."""

    def __init__(self, port: int, process: psutil.Process) -> None:
        self.port, self.process = port, process
        self.url = f"http://127.0.0.1:{port}"
        self.came_s: list[float] = []

    def backlog(self, offered: int) -> float:
        """Return how many of the detections offered have not come through, to the live stream."""
        fusion, alerting = (httpx2.get(f"{self.url}/components/{of}/metrics").text for of in ("fusion", "alerting"))
        joined, found = (total(fusion, f"coincide_fusion_{name}_total") for name in ("detections", "matches"))
        stored = total(alerting, "coincide_alerting_matches_total")
        return offered - joined + max(0.0, found - stored) * DETECTIONS_PER_MATCH

    @asynccontextmanager
    async def read(self) -> AsyncIterator[None]:
        """Read the live stream meanwhile, and note how long each match took."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=2**24)
        writer.write(GET % b"/v1/live")
        await reader.readuntil(b": open")
        task = asyncio.create_task(self._note(reader))
        try:
            yield
            await asyncio.sleep(1.0)
        finally:
            task.cancel()
            writer.close()

    async def _note(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            if line.startswith(b"data:"):
                sent_us = max(each["attributes"]["sent_us"] for each in msgspec.json.decode(line[5:])["members"])
                self.came_s.append(time.time() - sent_us / 1e6)

    async def explain(self) -> None:
        """Ask for an explanation of the query again and again."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=2**24)
        while True:
            writer.write(GET % b"/v1/queries/pairs/explain?chance_per_day=1")
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            at = head.find(b"content-length: ") + 16
            await reader.readexactly(int(head[at : head.find(b"\r\n", at)]))


@contextmanager
def running(areas: int = AREAS, cores: int = 0) -> Iterator[Line]:
    """Yield a fresh line, on so many cores at most; 0: all."""
    with tempfile.TemporaryDirectory() as name:
        folder, [port] = Path(name), free_ports(1)
        arguments = ["--folder", str(folder / "line"), "--config", str(ROOT / "config"), "--port", str(port)]
        own = {**environ, **configured(folder, MAX_DELAY_S, areas)}
        with (folder / "log").open("wb") as log:
            command = [sys.executable, "-m", "services.line", *arguments]
            process = psutil.Popen(command, cwd=ROOT, env=own, stdout=log, stderr=subprocess.STDOUT)
        try:
            if cores:
                process.cpu_affinity(process.cpu_affinity()[:cores])
            if not wait_until(lambda: is_ready(port) or process.poll() is not None, 60) or process.poll() is not None:
                raise SystemExit((folder / "log").read_text(errors="replace")[-2000:])
            httpx2.put(f"http://127.0.0.1:{port}/v1/queries/pairs", json=QUERY, timeout=30).raise_for_status()
            yield Line(port, process)
        finally:
            process.terminate()
            process.wait(60)


def in_pairs() -> Callable[[int, float, int], bytes]:
    """Return what makes POSTs of one detection: one of each stream at the same time, an area after the other."""
    at_us = dict[int, int]()

    def body(number: int, _rate: float, _count: int) -> bytes:
        sent_us, (pair, second) = time.time_ns() // 1_000, divmod(number, 2)
        detected_us = at_us.pop(pair, sent_us) if second else at_us.setdefault(pair, sent_us)
        sensor = f"{('seismic', 'acoustic')[second]}-{pair % AREAS:02d}"
        item = {"sensor": sensor, "detected_at": detected_us, "attributes": {"sent_us": sent_us}}
        return msgspec.json.encode(item)

    return body


def milliseconds(seconds: list[float]) -> str:
    p50_s, p99_s = (quantiles(seconds, n=100)[each] for each in (49, 98))
    return f"{p50_s * 1e3:.1f}, {p99_s * 1e3:.1f}"


async def pairs_at(line: Line, rate: int, seconds: float, *, explains: bool = False) -> Row:
    """Return p50 and p99 to the live stream and to the answer, the answers a second, and the cores of the line."""
    load = OpenLoop(line.port, 1, in_pairs())
    async with line.read():
        asking = asyncio.create_task(line.explain()) if explains else None
        await load.offer_here(rate, min(5.0, seconds / 4))  # warm
        line.came_s.clear()
        load.taken_s.clear()
        used_s, began_s = sum(line.process.cpu_times()[:2]), time.monotonic()
        await load.offer_here(rate, seconds)
        took_s = time.monotonic() - began_s
        cores = (sum(line.process.cpu_times()[:2]) - used_s) / took_s
        if asking is not None:
            asking.cancel()
            with suppress(asyncio.CancelledError):
                await asking
    expected = len(load.taken_s) // 2
    if len(line.came_s) < expected:
        raise SystemExit(f"{len(line.came_s)} of {expected} matches came within a second after the load")
    answered = len(load.taken_s) / took_s
    return [milliseconds(line.came_s), milliseconds(load.taken_s), f"{answered:,.0f}", f"{cores:.2f}"]


def latency_rows(seconds: float) -> Iterator[Row]:
    with running() as line:
        for what, rate, explains, bars in (
            ("", LATENCY_RATE, False, "8, 30"),
            (", while a query is explained in a loop", LATENCY_RATE, True, ""),
            ("", POSTS_A_SECOND, False, ""),
        ):
            yield [f"{rate:,}{what}", bars, *asyncio.run(pairs_at(line, rate, seconds, explains=explains))]


def rate_rows(seconds: float, steps: tuple[int, ...]) -> Iterator[Row]:
    """Yield step after step, until what waits grows."""
    with running(cores=1) as line:
        load = OpenLoop(line.port, DETECTIONS_PER_POST, body_now)
        load.offer(2_000, seconds / 4)  # warm
        for rate in steps:
            load.offer(rate, seconds / 2)
            before_s = line.backlog(load.offered) / rate
            load.offer(rate, seconds / 2)
            after_s = line.backlog(load.offered) / rate
            is_sustained = after_s - before_s <= GROWTH_S
            yield [rate, "yes" if is_sustained else "no", f"{before_s:.2f}, {after_s:.2f}", milliseconds(load.taken_s)]
            load.taken_s.clear()
            if not is_sustained or not wait_until(lambda: line.backlog(load.offered) <= 0, 120):
                return


def memory_rows(seconds: float) -> Iterator[Row]:
    with running(areas=500) as line:
        asyncio.run(pairs_at(line, LATENCY_RATE, seconds))
        yield ["1,000", f"{line.process.memory_info().rss / 2**20:.0f}", 300]


def processor() -> str:
    """Return what the machine calls its processor."""
    names = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.*)$", names.read_text(), re.MULTILINE) if names.exists() else None
    return found[1] if found else platform.processor() or platform.machine()


def tables(options: Options) -> Iterator[Table]:
    seconds = 8.0 if options.quick else 40.0
    milliseconds_to = [f"POST to {where}, p50, p99 ms" for where in ("live stream", "202")]
    headings = ["POSTs/s of one detection", "bar", *milliseconds_to, "answered/s", "cores of the line"]
    yield Table(headings, latency_rows(seconds), title=f"{processor()}, {psutil.cpu_count()} cores")
    headings = ["detections/s, on one core", "sustained", "what waits, s: middle and end", milliseconds_to[1]]
    yield Table(headings, rate_rows(seconds, STEPS_PER_S[:2] if options.quick else STEPS_PER_S))
    yield Table(["sensors", "memory, MB", "bar"], memory_rows(seconds))


BENCHMARKS = [Benchmark("serve_load", "the line in one process under load", [tables], is_service=True)]
