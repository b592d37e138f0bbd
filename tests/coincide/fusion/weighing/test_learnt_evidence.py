"""Rates that a query learns from its matches: a slow twin says the same, and batches and restarts change nothing."""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from math import log2
from typing import Any

import numpy as np
import pytest

from coincide import Histogram, Network
from coincide.evidence import Hearings, learnt_rates
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from coincide.fusion.rows.query_retention import reach_us
from coincide.fusion.weighing.learnt_rates import FIRST_NUMBER
from coincide.queries import Query
from tests.coincide.fusion.inputs import Row, frame, put, removal, started
from tests.coincide.fusion.outputs import SavedCore
from tests.coincide.fusion.strategies import SWEEPING
from tests.reference.weighed_matches import groups

Record = dict[str, Any]
Group = list[Mapping[str, Any]]

CLOCK = Histogram.uniform(-1, 0.5)
WORD = {"per_day": 6_000, "heard_by": 0.5}
SETS: Record = {
    "id": "sets",
    "from": dict.fromkeys("abc", "p"),
    "form": "clique",
    "within": [{"window_s": 2, "threshold": 0.05}],
    "joint_threshold": 0.01,
    "at_least": 2,
    "event": {**WORD, "rates": "learnt"},
}
PAIRS: Record = {
    "id": "pairs",
    "from": {"a": "p", "b": "p"},
    "within": [{"between": ["a", "b"], "window_s": 2, "threshold": 0.05}],
    "event": {**WORD, "rates": "learnt"},
}
SENSORS = ("north", "south", "east")
LASTS_S, EVENTS, OTHERS = 1_200, 40, 40
SLOTS_UP_TO = FIRST_NUMBER


@cache
def frames() -> tuple[InputRecord, ...]:
    """Twenty minutes in which three sensors hear four of five events, and one report long after."""
    rng, rows = np.random.default_rng(80), []
    for nth, happened_s in enumerate(rng.uniform(0, LASTS_S, EVENTS).tolist()):
        heard = [name for name in SENSORS if rng.random() < 0.8]
        rows += [_row(f"e{nth}", name, happened_s - CLOCK.quantile(rng.random())) for name in heard]
    for name in SENSORS:
        rows += [_row(f"n{nth}", name, at_s) for nth, at_s in enumerate(rng.uniform(0, LASTS_S, OTHERS).tolist())]
    rows.sort(key=lambda row: row.at_s)
    return *(frame(nth, [row]) for nth, row in enumerate(rows)), frame(len(rows), [_row("after", "west", 900_000.0)])


def _row(id_: str, sensor: str, at_s: float) -> Row:
    return Row(id_, 1e6 + at_s, CLOCK, "p", sensor)


def told(
    query: Record, batches: Sequence[Sequence[InputRecord]], *, is_killed: bool = False
) -> tuple[list[Record], list[Record]]:
    """Return matches and evidence; if it `is_killed`, each batch is another process's."""
    core, saved = started(put(0, query), limits=SWEEPING), SavedCore(limits=SWEEPING)
    matches, evidence = list[Record](), list[Record]()
    for batch in batches:
        if is_killed:
            saved.save(core)
            core = saved.restored()
        output = core.push(list(batch))
        matches += (json.loads(each.value) for each in output.matches)
        evidence += (json.loads(each.value) for each in output.evidence)
    return matches, evidence


@cache
def told_at_once(query: str) -> tuple[list[Record], dict[str, Record]]:
    matches, evidence = told({"sets": SETS, "pairs": PAIRS}[query], [frames()])
    return matches, by_id(evidence)


def by_id(records: Sequence[Record]) -> dict[str, Record]:
    found = {each["id"]: each for each in records}
    assert len(found) == len(records)
    return found


@pytest.mark.parametrize("is_killed", [False, True])
def test_batches_and_restarts_change_nothing(is_killed: bool) -> None:
    chosen, left, batches = random.Random(1), list(frames()), []
    while left:
        many = chosen.choice((1, 5, 30))
        batches.append(left[:many])
        left = left[many:]
    assert by_id(told(SETS, batches, is_killed=is_killed)[1]) == told_at_once("sets")[1]


def test_what_was_learnt_takes_the_place_of_the_word() -> None:
    matches, evidence = told_at_once("sets")
    assert evidence.keys() == {each["id"] for each in matches}
    sources = Counter(each["rates"] for each in evidence.values() if each["bits"] is not None)
    assert sources["learnt"] > 5 * sources["declared"] > 0
    last = max(matches, key=lambda each: each["members"][0]["detected_at_us"])
    events, *members = evidence[last["id"]]["terms"][:3]
    assert EVENTS / LASTS_S < 2 ** events["bits"] < WORD["per_day"] / 86_400  # between what is true and the word
    assert all("hears 50 %" not in each["sentence"] for each in members)


def minutes() -> Iterator[tuple[int, list[Group]]]:
    """Yield the groups of each minute by the greatest watermark at which a match may still join one."""
    kept = started(put(0, PAIRS))._state.codes.streams.kept
    reach = dict(zip(kept, reach_us(Query.from_json(PAIRS), kept).tolist(), strict=True))["p"]

    def minute(group: Group) -> int:
        at_us = max(member["detected_at_us"] for match in group for member in match["members"])
        return int((at_us + CLOCK.latest_s * 1e6 - reach) // 60_000_000)

    ordered = sorted(groups(told_at_once("pairs")[0]), key=minute)
    yield from ((number, list(own)) for number, own in groupby(ordered, minute))


class SlowRates:
    """What is learnt, summed up match by match: with pairs, each match is a whole event or none."""

    def __init__(self, until: int) -> None:
        self.until, self.lasts_s, self.groups, self.events, self.seen = until, 0.0, 0.0, 0.0, 0.0
        self.heard, self.came, self.alive = (defaultdict[str, float](float) for _ in range(3))

    def begin(self, minute: int) -> None:
        self.lasts_s, self.until = self.lasts_s + 60.0 * (minute - self.until), minute

    def events_hz(self) -> float:
        names = sorted(self.alive)
        heard, came, alive = (np.array([of[name] for name in names]) for of in (self.heard, self.came, self.alive))
        whole = self.seen / self.events
        most = np.full(len(names), 1_000 * self.lasts_s)
        hearings = Hearings(
            self.lasts_s * whole, self.seen, heard * whole, most * whole, alive / self.groups, came * whole
        )
        return learnt_rates(Network(names, WORD["per_day"] / 86_400, WORD["heard_by"], None), hearings).events_hz

    def end(self, groups: Sequence[Sequence[Record]]) -> None:
        now = sum(each["posterior"] for own in groups for each in own)
        self._fade(2 ** (-now / min(max(self.seen / 8, 10), 500)))
        for own in groups:
            for name in SENSORS:  # which report all the time
                self.alive[name] += 1
                self.came[name] += sum(each["posterior"] for each in own)
            for each in own:
                for member in each["members"]:
                    self.heard[member["sensor"]] += each["posterior"]
        self.events, self.seen, self.groups = self.events + now, self.seen + now, self.groups + len(groups)
        self.lasts_s, self.until = self.lasts_s + 60.0, self.until + 1

    def _fade(self, kept: float) -> None:
        self.lasts_s, self.groups, self.events = self.lasts_s * kept, self.groups * kept, self.events * kept
        for counted in (self.heard, self.came, self.alive):
            for name in counted:
                counted[name] *= kept


def test_it_is_what_the_twin_says() -> None:
    evidence, slow, judged = told_at_once("pairs")[1], None, 0
    for minute, of_minute in minutes():
        known = [[evidence[each["id"]] for each in group] for group in of_minute]
        known = [own for own in known if all(each["posterior"] is not None for each in own)]
        if slow is None:  # the first minute says when watching began
            slow = SlowRates(minute + 1) if known else None
            continue
        slow.begin(minute)
        if slow.groups:
            expected = log2(slow.events_hz())
            said = [each["terms"][0]["bits"] for own in known for each in own if each["terms"]]
            assert said == pytest.approx([expected] * len(said), abs=1e-6)
            judged += bool(said)
        slow.end(known)
    assert judged > 8


def learnt_slots(core: FusionCore) -> list[int]:
    return [number for number in core.live_slots() if number <= SLOTS_UP_TO]


@pytest.mark.parametrize(
    "change",
    [removal(1, "sets"), put(1, {**SETS, "event": {**SETS["event"], "per_day": 3}}, 2)],
    ids=["removed", "another"],
)
def test_a_query_that_does_not_go_on_forgets_what_it_learnt(change: InputRecord) -> None:
    core, saved = started(put(0, SETS), limits=SWEEPING), SavedCore(limits=SWEEPING)
    core.push(list(frames()))
    assert len(learnt_slots(core)) == 1
    saved.save(core)
    restored = saved.restored()
    for each in (core, restored):
        each.push([change])
        assert learnt_slots(each) == []


def test_a_pause_forgets_nothing() -> None:
    core = started(put(0, SETS), limits=SWEEPING)
    core.push(list(frames()))
    core.push([put(1, SETS, 2, paused=True)])
    assert len(learnt_slots(core)) == 1
