"""What comes out of the fusion core in tests: its records, decoded, and its saved state."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from coincide import Stream
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.readings.sliding_queries import CHEAPEST
from coincide.fusion.readings.source import Choose
from coincide.fusion.records.kafka_records import InputRecord, Output
from coincide.fusion.saving.area_slots import FIRST_NUMBER
from tests.coincide.fusion.inputs import STREAMS, started
from tests.reference.fusion import SlowMatch


def matches(output: Output) -> list[dict[str, Any]]:
    return [json.loads(match.value) for match in output.matches]


def pairs(output: Output) -> list[tuple[str, ...]]:
    """Ids of the members of each match, in role order."""
    return [tuple(member["id"] for member in match["members"]) for match in matches(output)]


def letters(output: Output) -> list[dict[str, Any]]:
    return [json.loads(letter.value) for letter in output.dead_letters]


def reasons(output: Output) -> list[str]:
    return [letter["reason"] for letter in letters(output)]


def status(output: Output) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(output.status.value)
    return decoded


def late(output: Output) -> list[tuple[str, str, int]]:
    """Return sensor, id and lateness of each late row."""
    return [(it["sensor"], it["id"], it["late_by_us"]) for it in letters(output) if it["reason"] == "late"]


def slow_matches(output: Output) -> list[SlowMatch]:
    """Return the matches as the slow twin gives them."""
    return [slow_match(it) for it in matches(output)]


def slow_match(it: Mapping[str, Any]) -> SlowMatch:
    return (it["id"], it["query"], it["query_version"], it["area"], _named(it), tuple(it.get("supersedes", ())))


def _named(match: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    return tuple((member["role"], member["sensor"], member["id"]) for member in match["members"])


def but_for_template_pairs(output: Output) -> tuple[dict[str, Any], object, object, object, object]:
    """Return what a restart must not change: what the ended process computed and measured for itself may."""
    known = {
        name: value
        for name, value in status(output).items()
        if name not in {"template_pairs", "busiest_hz", "rates_hz"}
    }
    for query in known["queries"].values():
        query.pop("coalescing", None)
        query.pop("work")
    return known, output.matches, output.episodes, output.evidence, output.dead_letters


def row_slots(numbers: Iterable[int]) -> set[int]:
    """Return the numbers of slots that have rows."""
    return {number for number in numbers if 0 <= number < FIRST_NUMBER}


@dataclass
class SavedCore:
    """A core's state as Spark keeps it: the header, and the slots that are still needed."""

    streams: Mapping[str, Stream] = field(default_factory=lambda: STREAMS)
    limits: Limits = field(default_factory=Limits)
    header: bytes = b""
    slots: dict[int, bytes] = field(default_factory=dict)

    def save(self, core: FusionCore) -> None:
        """Take over what the last push wrote and dropped."""
        self.header = core.header()
        self.slots |= core.journal()
        for number in core.dropped_slots():
            del self.slots[number]
        assert self.slots.keys() == core.live_slots()

    def restored(self, slots: Iterable[bytes] | None = None, choose: Choose = CHEAPEST) -> FusionCore:
        """Return the core that goes on from here; the slots may come in any order."""
        kept = self.slots.values() if slots is None else slots
        return FusionCore.restore(self.streams, self.limits, 0, self.header, kept, choose)


def assert_a_restart_changes_nothing(
    batches: Iterable[list[InputRecord]],
    data: st.DataObject,
    limits: Limits,
    *setup: InputRecord,
    streams: Mapping[str, Stream] = STREAMS,
) -> None:
    """Push batches into a core that is never restarted and one that is now and then; all that they give is alike."""
    never, restarted = (started(*setup, streams=streams, limits=limits) for _ in range(2))
    saved = SavedCore(streams, limits)
    for batch in batches:
        assert but_for_template_pairs(restarted.push(batch)) == but_for_template_pairs(never.push(batch))
        assert restarted.header() == never.header()
        assert restarted.journal() == never.journal()
        assert restarted.dropped_slots() == never.dropped_slots()
        saved.save(never)
        if data.draw(st.booleans()):
            restarted = saved.restored(data.draw(st.permutations(list(saved.slots.values()))))


def assert_repetition_adds_nothing(batches: Iterable[list[InputRecord]], limits: Limits) -> None:
    """Push every batch into one core once and into another twice: the second time gives neither match nor episode."""
    once, twice = started(limits=limits), started(limits=limits)
    for batch in batches:
        expected, first, second = once.push(batch), twice.push(batch), twice.push(batch)
        assert (first.matches, first.episodes) == (expected.matches, expected.episodes)
        assert (second.matches, second.episodes) == ([], [])


Record = dict[str, Any]

PHASES = {(True, False): 0, (False, False): 1, (False, True): 2}


def episodes(output: Output) -> list[Record]:
    """Return the records of episodes, which are answers of windows for queries over readings."""
    return [json.loads(record.value) for record in output.episodes]


@dataclass
class EpisodeReader:
    """What a reader of the episodes topic knows: the greatest revision of each id. It refuses impossible records."""

    known: dict[str, Record] = field(default_factory=dict)

    def read(self, output: Output) -> None:
        for record in episodes(output):
            before = self.known.get(record["id"])
            if before is None:
                assert not record.get("retracted"), "what nobody has heard of is taken back"
            else:
                assert rank(record) > rank(before), (before, record)
            self.known[record["id"]] = record

    @property
    def current(self) -> dict[str, Record]:
        return {id_: record for id_, record in self.known.items() if not record.get("retracted")}

    def content(self) -> dict[str, Record]:
        """Return the episodes there are, but for how far they are."""
        phases = ("v", "open", "final", "members_truncated")
        return {id_: {key: it[key] for key in it if key not in phases} for id_, it in self.current.items()}


def rank(record: Record) -> tuple[int, int]:
    return record["revision"], 0 if record.get("retracted") else PHASES[record["open"], record["final"]]
