"""The whole line as its users have it: post here, change queries there, read the matches."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from coincide import Window
from deploy.local.system import System
from tests.acceptance import italy
from tests.acceptance.gateways import Gateways
from tests.integration.service_process import pages_of
from tests.patience import until
from tests.reference import central_italy
from tests.reference.central_italy import Pick
from tests.reference.fused import assert_occurred
from tests.reference.oracle import Detection, Expected, Key, QueryVersion, expected_matches

DEALT_WITH_BUDGET_S = 180.0
COMPUTED_ANEW = 40  # matches of a query whose posterior is computed again, in fractions


@dataclass
class Line:
    """A running system that looks for ``BELL`` and what the test puts."""

    system: System

    def gateways(self, times: int = 1, patience_s: float = 90.0) -> Gateways:
        return Gateways(self.system.layout.url("ingest"), times, patience_s)

    def put(self, query: QueryVersion, *areas: str) -> None:
        """Create the query, or replace whatever version there is; one that names areas says no chance rate."""
        exists = self.system.alerting.get(f"/v1/queries/{query.query}").status_code == 200
        document = {**italy.document(query), **({"areas": list(areas)} if areas else {})}
        self._change("PUT", query, headers={"If-Match": "*"} if exists else {}, json=document)

    def set_threshold(self, query: QueryVersion) -> None:
        self._change("PATCH", query, "/threshold", json={"threshold": query.threshold})

    def set_paused(self, query: QueryVersion) -> None:
        self._change("POST", query, "/pause" if query.paused else "/resume")

    def remove(self, query: QueryVersion) -> None:
        response = self.system.alerting.delete(f"/v1/queries/{query.query}", headers={"If-Match": "*"})
        assert response.status_code == 204, response.text

    def _change(self, method: str, query: QueryVersion, what: str = "", **options: Any) -> None:
        options = {"headers": {"If-Match": "*"}, **options}
        response = self.system.alerting.request(method, f"/v1/queries/{query.query}{what}", **options)
        assert response.status_code in {200, 201}, response.text
        assert response.json()["version"] == query.version

    def matches(self, query: str, area: str) -> list[dict[str, Any]]:
        return self.pages("/v1/matches", {"query": query, "area": area})

    def pages(self, path: str, filters: dict[str, str]) -> list[dict[str, Any]]:
        def get(cursor: dict[str, str]) -> Any:
            answer = self.system.alerting.get(path, params={**filters, "limit": "1000", **cursor})
            return answer.raise_for_status().json()

        return pages_of(get)


@dataclass
class Scenario:
    """The hour in one area: what was posted and accepted so far, and in which phase of the test."""

    line: Line
    area: str
    streams: str = "pick"
    accepted: list[Detection] = field(default_factory=list)
    phase: int = 0
    _rung: int = 0

    def post(self, picks: list[Pick], gateways: Gateways | None = None) -> None:
        """Post picks in this order, as one phase, and remember what they were accepted as."""
        gateways = gateways or self.line.gateways()
        ids = gateways.post([italy.posted(self.area, pick, self.streams) for pick in picks])
        for pick, identity in zip(picks, ids, strict=True):
            self.accepted.append(italy.as_oracle_sees(self.area, pick, identity, self.phase, self.streams))

    def begin_phase(self, phase: int) -> None:
        """Wait until all of the phase before is dealt with; what is posted from now on belongs to ``phase``."""
        self.wait_until_dealt_with()
        self.phase = phase

    def wait_until_dealt_with(self) -> None:
        """Return when REST serves every match of what was posted.

        An area's frames and matches keep their order.  So the first bell's match says that all before it was in the
        same batch or an earlier one; the second's, posted after that, says that the batch was written and stored.
        """
        self._ring()
        self._ring()

    def _ring(self) -> None:
        self._rung += 1
        at_us = max(detection.detected_at_us for detection in self.accepted)
        names = set(self.line.gateways().post(italy.bells(self.area, at_us, f"bell {self._rung}")))
        until(lambda: self._heard(names), DEALT_WITH_BUDGET_S, tell=lambda: f"what was posted to {self.area}")

    def _heard(self, names: set[str]) -> bool:
        try:
            matches = self.line.matches(italy.BELL.query, self.area)
        except httpx2.TransportError:  # alerting is just being restarted
            return False
        return any({member["id"] for member in match["members"]} == names for match in matches)

    def expected(self, *history: QueryVersion) -> dict[Key, Expected]:
        return expected_matches(self.accepted, history)

    def assert_matches(self, *history: QueryVersion, at_least: int) -> dict[Key, Expected]:
        """Compare what REST serves with the oracle's matches and return these; there must be ``at_least`` so many."""
        dead = self.line.pages("/v1/dead-letters", {"area": self.area})
        assert dead == [], "the scenario lets nothing be late or unusable"
        expected = self.expected(*history)
        matches = self.line.matches(history[0].query, self.area)
        assert_same(matches, expected)
        assert_when(matches, history)
        assert len(expected) >= at_least, f"only {len(expected)} matches were to be expected"
        return expected


@contextmanager
def posting(scenario: Scenario, picks: list[Pick], gateways: Gateways | None = None) -> Iterator[None]:
    """Post in the background while the block runs, from the first answer on; afterwards wait for the last one."""
    gateways = gateways or scenario.line.gateways()
    with ThreadPoolExecutor(1) as pool:
        posted = pool.submit(scenario.post, picks, gateways)
        until(lambda: bool(gateways.answers) or posted.done(), every_s=0.01)
        assert not posted.done(), "all was posted before anything could go wrong"
        yield
        posted.result()


def assert_same(matches: list[dict[str, Any]], expected: dict[Key, Expected]) -> None:
    """Every match once, none missing, none besides; each with its version and probability."""
    by_key = {_key(match): match for match in matches}
    assert len(by_key) == len(matches) == len({match["id"] for match in matches}), "a match is there twice"
    certain = {key for key, match in expected.items() if not match.borderline}
    missing, surplus = certain - by_key.keys(), by_key.keys() - expected.keys()
    assert not missing, f"{len(missing)} of {len(certain)} are missing, such as {min(missing)}"
    assert not surplus, f"{len(surplus)} are there that should not be, such as {min(surplus)}"
    for key, match in by_key.items():
        assert (match["query_version"], match["area"]) == (expected[key].version, expected[key].area), key
        assert match["probability"] == pytest.approx(expected[key].probability, abs=1e-9), key


def assert_when(matches: list[dict[str, Any]], history: Iterable[QueryVersion]) -> None:
    """Every match says when it occurred and how often chance does as well; some of them are computed anew, exactly."""
    templates = {each.id: each for each in map(italy.histogram, [italy.POINT, *central_italy.templates().values()])}
    windows = {each.version: Window(lo_s=each.lo_s, hi_s=each.hi_s) for each in history}
    for match in matches[:: 1 + len(matches) // COMPUTED_ANEW]:
        assert_occurred(match, templates, windows[match["query_version"]])
    assert any((match["chance_rate_hz"] or 0) > 0 for match in matches), "more than two minutes were posted"


def _key(match: dict[str, Any]) -> Key:
    return match["query"], tuple((m["role"], m["sensor"], m["id"]) for m in match["members"])
