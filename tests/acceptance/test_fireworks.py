"""Fireworks in one district: a query that fits nearly everything there takes nothing from the queries beside it."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from deploy.host.machine import wait_until
from deploy.local.layout import Layout
from deploy.local.system import System
from tests.integration.service_process import pages_of
from tests.patience import until

pytestmark = [pytest.mark.jvm, pytest.mark.night]

FESTIVAL, OTHERS = "festival", ("harbour", "station")
MICROPHONES = ("m1", "m2", "m3")
FIREWORKS_FOR_S, DETECTIONS_PER_S, TICK_S = 35.0, 22, 0.5
SUSPENDED_WITHIN_S = 15.0
DELAY_S = 3.0  # beside what the line takes in calm, which depends on the machine
CALM_FOR_S = 10.0
MAX_QUERY_S = 1.0  # what the others wait for at most, beside a second or so for the line itself

STREAMS = {
    "shot": {"max_delay_s": 5, "longest_template_s": 4},
    "flash": {"max_delay_s": 5, "longest_template_s": 4},
    "temperature": {"max_delay_s": 5, "longest_template_s": 1},
}
EDGES_S = [round(-1 + nth * 0.08, 2) for nth in range(26)]
MASS = [0.02, 0.06] * 12 + [0.04]
TEMPLATES = {
    "heard": {"edges_s": EDGES_S, "mass": MASS},
    "seen": {"edges_s": [-0.5, 0.0, 0.5], "mass": [0.5, 0.5]},
    "now": {"point": True},
}
PAIR = {
    "from": {"heard": "shot", "seen": "flash"},
    "within": [{"between": ["heard", "seen"], "window_s": 1.5, "threshold": 0.5}],
    "areas": list(OTHERS),
}
HOT = {
    "coalesce": {
        "from": "temperature",
        "by": "sensor",
        "value": "attributes.celsius",
        "window": {"time_s": 5, "slide_s": 5},
    },
    "longest": True,
}
HEAVY = {
    "from": {**dict.fromkeys(MICROPHONES, "shot"), "camera": "flash"},
    "within": [
        {"between": ["m1", "m2"], "lo_s": -0.8, "hi_s": 0.8},
        {"between": ["m1", "m3"], "lo_s": -0.9, "hi_s": 0.85},
        {"between": ["m2", "m3"], "lo_s": -1.0, "hi_s": 0.9},
        {"between": ["m1", "camera"], "lo_s": -2.0, "hi_s": 0.2},
        {"between": ["m2", "camera"], "lo_s": -2.1, "hi_s": 0.3},
        {"between": ["m3", "camera"], "lo_s": -2.2, "hi_s": 0.4},
    ],
    "joint_threshold": 0.3,
    "at_least": 3,
}
LIMITS = {"max_matches_per_detection", "max_candidates_per_detection", "max_matches_per_s", "max_query_s"}


def sensor(area: str, name: str) -> dict[str, Any]:
    of_name = {"thermometer": {"temperature": "now"}, "camera": {"flash": "seen"}}
    return {"id": f"{area}.{name}", "area": area, "streams": of_name.get(name, {"shot": "heard"})}


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    folder: Path = tmp_path_factory.mktemp("fireworks")
    names = (*MICROPHONES, "m4", "m5", "camera", "thermometer")
    declared = {
        "templates": TEMPLATES,
        "sensors": [sensor(area, name) for area in (FESTIVAL, *OTHERS) for name in names],
    }
    (folder / "sensors.yaml").write_text(yaml.safe_dump(declared), encoding="utf-8")
    (folder / "streams.yaml").write_text(yaml.safe_dump({"streams": STREAMS}), encoding="utf-8")
    settings = {
        f"COINCIDE_{each}_STREAMS_PATH": f'"{folder}/streams.yaml"' for each in ("INGEST", "FUSION", "ALERTING")
    }
    settings |= {
        "COINCIDE_INGEST_SENSORS_PATH": f'"{folder}/sensors.yaml"',
        "COINCIDE_ALERTING_QUERIES_PATH": "null",
        "COINCIDE_FUSION_MAX_QUERY_S": str(MAX_QUERY_S),
    }
    system = System(Layout.isolated(folder / "running", settings))
    try:
        system.up()
        yield system
    finally:
        system.down()


@dataclass
class Town:
    """Posts to all districts from threads of its own, and notes when the matches of each pair can be read."""

    system: System
    posted_s: dict[tuple[str, str], float] = field(default_factory=dict)  # by area and number of the pair
    read_s: dict[tuple[str, str], float] = field(default_factory=dict)
    ended: threading.Event = field(default_factory=threading.Event)

    def post(self, items: list[dict[str, Any]]) -> None:
        url = f"{self.system.layout.url('ingest')}/v1/detections"
        assert httpx2.post(url, json=items, timeout=30).status_code == 202

    def let_fireworks_off(self) -> None:
        rng, until_s = random.Random(3), time.monotonic() + FIREWORKS_FOR_S
        while time.monotonic() < until_s:
            self.post([self._bang(rng) for _ in range(round(DETECTIONS_PER_S * TICK_S))])
            time.sleep(TICK_S)

    def _bang(self, rng: random.Random) -> dict[str, Any]:
        name = rng.choice([*MICROPHONES, "m4", "m5", "camera"])
        at_us = time.time_ns() // 1_000 - rng.randrange(round(TICK_S * 1e6))
        return {"sensor": f"{FESTIVAL}.{name}", "detected_at": at_us}

    def live(self, area: str) -> None:
        """Hear and see something every second that no other second fits, and measure the temperature."""
        nth = 0
        while not self.ended.wait(2.5):
            nth, now_us = nth + 1, time.time_ns() // 1_000
            self.posted_s[area, str(nth)] = time.monotonic()
            near = [{"sensor": f"{area}.{name}", "detected_at": now_us, "id": f"{nth}"} for name in ("m1", "camera")]
            warm = {"sensor": f"{area}.thermometer", "detected_at": now_us, "attributes": {"celsius": 20 + nth % 2}}
            self.post([*near, warm])

    def read(self) -> None:
        while not self.ended.wait(0.2):
            for area in OTHERS:
                for match in self._newest(area):
                    self.read_s.setdefault((area, match["members"][0]["id"]), time.monotonic())

    def _newest(self, area: str) -> list[dict[str, Any]]:
        url = f"{self.system.layout.url('alerting')}/v1/matches"
        newest = httpx2.get(url, params={"query": "pair", "area": area, "limit": 20}, timeout=30)
        items: list[dict[str, Any]] = newest.json()["items"]
        return items

    def delays_s(self, begin_s: float, end_s: float) -> list[float]:
        """Return how long the matches took of what was posted in that time."""
        posted_s = {name: at_s for name, at_s in list(self.posted_s.items()) if begin_s <= at_s < end_s}
        return [self.read_s.get(name, inf) - at_s for name, at_s in posted_s.items()]

    def is_served_from(self, begin_s: float) -> bool:
        return any(at_s >= begin_s and name in self.read_s for name, at_s in list(self.posted_s.items()))


@contextmanager
def town(system: System) -> Iterator[tuple[Town, ThreadPoolExecutor]]:
    alive = Town(system)
    with ThreadPoolExecutor(8) as pool:
        work = [pool.submit(alive.live, area) for area in OTHERS] + [pool.submit(alive.read)]
        try:
            yield alive, pool
        finally:
            alive.ended.set()
        for each in work:
            each.result()


def suspensions(system: System) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = system.alerting.get("/v1/queries/heavy").json()["suspended"]
    return found


def is_suspended(system: System, since_us: int = 0) -> Callable[[], bool]:
    return lambda: any(each["received_at_us"] > since_us for each in suspensions(system))


def test_fireworks_take_nothing_from_the_queries_beside_them(system: System) -> None:
    for name, query in (("pair", PAIR), ("hot", HOT), ("heavy", HEAVY)):
        assert system.alerting.put(f"/v1/queries/{name}", json=query).status_code == 201
    with town(system) as (alive, pool):
        until(lambda: alive.is_served_from(0))
        calm_since_s = time.monotonic()
        time.sleep(CALM_FOR_S)
        begin_s = time.monotonic()
        fireworks = pool.submit(alive.let_fireworks_off)
        assert wait_until(is_suspended(system), SUSPENDED_WITHIN_S, every_s=0.1)
        [why] = suspensions(system)
        assert why["limit"] in LIMITS
        assert why["reached"] > why["allowed"]
        time.sleep(2 * DELAY_S + 5)  # so that several pairs were posted long enough before the kill
        killed_s = time.monotonic()
        before_s = alive.delays_s(begin_s, killed_s - 2 * DELAY_S)

        system.kill("fusion")
        system.wait_ready("fusion")
        assert suspensions(system) == [why]
        assert system.alerting.post("/v1/queries/heavy/resume", headers={"If-Match": "*"}).status_code == 200
        again = is_suspended(system, since_us=why["received_at_us"])
        assert wait_until(again, SUSPENDED_WITHIN_S, every_s=0.1) or fireworks.done()
        assert system.alerting.delete("/v1/queries/heavy", headers={"If-Match": "*"}).status_code == 204
        back_s = time.monotonic()
        until(lambda: alive.is_served_from(back_s))
        fireworks.result()
        ended_s = time.monotonic()
        time.sleep(2 * DELAY_S)
        after_s = alive.delays_s(back_s, ended_s)
        calm_s = alive.delays_s(calm_since_s, begin_s)
    print(f"delays: calm {calm_s}, before the kill {before_s}, after it {after_s}; {why}")
    assert before_s
    assert max(before_s) < max(calm_s) + DELAY_S
    assert max(after_s, default=0.0) < max(calm_s) + DELAY_S
    assert_complete(system, alive)


def assert_complete(system: System, alive: Town) -> None:
    """Every pair that was posted is a match, and none besides; every thermometer has its windows."""

    def pages(path: str, query: str, area: str) -> list[dict[str, Any]]:
        def get(cursor: dict[str, str]) -> Any:
            params = {"query": query, "area": area, "limit": "1000", **cursor}
            return system.alerting.get(path, params=params).raise_for_status().json()

        return pages_of(get)

    for area in OTHERS:
        posted = {number for of, number in alive.posted_s if of == area}
        assert wait_until(lambda: len(pages("/v1/matches", "pair", area)) >= len(posted), 60)  # noqa: B023
        matches = [tuple(member["id"] for member in match["members"]) for match in pages("/v1/matches", "pair", area)]
        assert sorted(matches) == sorted((number, number) for number in posted)
        assert len(pages("/v1/episodes", "hot", area)) > 5
