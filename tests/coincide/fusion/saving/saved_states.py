"""Saved states as files: what a host keeps of a shard in the midst of a story, and what it says afterwards.

`python -m tests.coincide.fusion.saving.saved_states` writes the file of the present format.
"""

import base64
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import msgpack

from coincide import Histogram, Stream
from coincide.fusion.batches.activations import PushedOffsets
from coincide.fusion.batches.batch_parts import BatchParts
from coincide.fusion.batches.cores import FusionCores
from coincide.fusion.batches.live_shard import CHUNK, HEADER, HEALTH, SLOT, LiveShard
from coincide.fusion.control.host import UNKNOWING
from coincide.fusion.control.limits import Limits
from coincide.fusion.records.kafka_records import InputRecord
from coincide.fusion.saving.state_format import FORMAT
from tests.coincide.fusion import inputs
from tests.coincide.fusion.inputs import Row, frame, heartbeat, put, query_json, removal

STREAMS = {**inputs.STREAMS, "e": Stream("e", max_delay_s=15, longest_template_s=8, echo_s=2)}
FOLDER = Path(__file__).parent / "states"
START_S = 1_000_000.0
VERSION_BYTES = 8
OF_QUERY = {"from": "p", "value": "attributes.is"}
QUERIES = (
    {**query_json(window_s=2.0, threshold=0.5), "coalesce": {"gap_s": 60}},
    query_json(name="gone"),
    {**query_json(name="event", sensors="different"), "event": {"per_day": 2, "heard_by": 0.8}},
    {
        "id": "hot",
        "coalesce": {**OF_QUERY, "hold_s": 20, "where": {"above": 40}},
        "lasting_s": 5,
    },
    {
        "id": "long",
        "coalesce": {**OF_QUERY, "window": {"time_s": 60, "slide_s": 10}, "where": {"above": 40}},
        "longest": True,
    },
    query_json(name="first", streams=("e", "s")),
)
LIMITS = Limits(sweep_after=4, max_slot_bytes=400, merge_slots_from=2, quiet_s=10)

Answers = list[list[Any]]
"""Topic of each, and what identifies it."""

SAYS: dict[str, Callable[[dict[str, Any]], list[Any]]] = {
    "matches": lambda match: [match["id"], *(member["id"] for member in match["members"])],
    "episodes": lambda episode: [episode["id"], *(episode.get(name) for name in ("start_us", "end_us", "final"))],
    "evidence": lambda evidence: [evidence["id"], evidence["bits"], evidence["posterior"]],
    "dead-letters": lambda letter: [letter["dead_id"], letter["reason"]],
}

State = dict[tuple[str, int], bytes]
"""What a host keeps of a shard, by kind and number."""


class Shard:
    """A shard whose state is a dictionary; with a state it goes on from there."""

    def __init__(self, state: State | None = None, begin_parts: Callable[..., BatchParts] = BatchParts) -> None:
        self._begin_parts = begin_parts
        self.state = dict(state or {})  # what it keeps now
        cores = FusionCores(STREAMS, LIMITS)
        self._shard = LiveShard.restored(cores, 0, self.state) if state else LiveShard(0, 0, cores.create(0))

    def push(self, *records: InputRecord) -> Answers:
        """Push one batch; return topic and document of each answer."""
        told = []
        for step in self._shard.take(records, UNKNOWING, self._begin_parts(after_flood=self._shard.after_flood)):
            self.state.update({entry: content for entry, content in step.state.items() if content is not None})
            for entry in [entry for entry, content in step.state.items() if content is None]:
                self.state.pop(entry, None)
            told += [(each.topic, json.loads(each.value)) for each in step.records if each.value is not None]
        return [[topic, *SAYS[topic](document)] for topic, document in told if topic in SAYS]


def story_frame(number: int, area: str = "bay") -> InputRecord:
    """Return a frame in which a reading of 50, and some other detections, come every ten seconds."""
    at_s = START_S + 10 * number
    clock = Histogram.uniform(-0.25, 0.5)
    rows = [
        Row(f"p{number}", at_s, clock, "p", "north", (("is", 50), ("who", "ann"))),
        Row(f"q{number}", at_s + 0.5, Histogram.point(), "p", "west", (("is", 50 - 20 * (number % 5 == 4)),)),
        Row(f"s{number}", at_s + 0.25, clock, "s", "south"),
        *(Row(f"e{number}.{nth}", at_s + nth, Histogram.point(), "e", "hall") for nth in range(3)),
    ]
    return frame(number, rows, area, received_at_s=at_s + 1)


def before() -> State:
    """Return the state in the midst of the story, with records that were left, and a query that was removed."""
    shard = Shard()
    shard.push(*(put(offset, query) for offset, query in enumerate(QUERIES)))
    for number in range(6):
        shard.push(story_frame(number))
    shard.push(removal(len(QUERIES), "gone"), heartbeat(6, START_S + 70, partition=1))
    leaving = Shard(shard.state, partial(BatchParts, most_part_bytes=1, most_us=1))
    leaving.push(story_frame(7), story_frame(8), story_frame(9))
    return leaving.state


def after(state: State) -> Answers:
    """Return what a shard that goes on from there answers until the end of the story."""
    shard = Shard(state)
    told = shard.push(story_frame(10))
    late = frame(11, [Row("late", START_S - 500, stream="s", sensor="south")], received_at_s=START_S + 111)
    told += shard.push(late, story_frame(12))
    return told + shard.push(story_frame(20), story_frame(21, "hill"))


def shape_of(state: State) -> dict[str, Any]:
    """Return of which types each kind of entry is made: another shape is another format."""
    shapes: dict[str, Any] = {}
    for (kind, _), content in sorted(state.items()):
        shapes.setdefault(kind, []).append(_types_in(decoded(kind, content)))
    return shapes


def decoded(kind: str, content: bytes) -> Any:
    """Return an entry as it is read: msgpack, but health, which is a record."""
    if kind == HEALTH:
        return json.loads(content)
    if kind != HEADER[0]:
        return msgpack.decode(content)
    pushed, header = PushedOffsets.split(content[VERSION_BYTES:])
    return [pushed.next_offsets, msgpack.decode(header)]


def _types_in(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _types_in(each) for key, each in sorted(value.items(), key=lambda item: str(item[0]))}
    return [_types_in(each) for each in value] if isinstance(value, list) else type(value).__name__


def load(path: Path) -> tuple[State, Answers]:
    """Return the state in a file, and what is answered after it."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    entries = [rest for what, rest in lines if what == "state"]
    state = {(kind, number): base64.b64decode(content) for kind, number, content in entries}
    return state, [answer for what, answer in lines if what == "after"]


def write() -> Path:
    """Write the file of the present format: a line for each entry of the state, then one for each answer after it."""
    state = before()
    assert {kind for kind, _ in state} == {HEADER[0], SLOT, CHUNK, HEALTH}, "the story has every kind of entry"
    entries = [[kind, number, base64.b64encode(content).decode()] for (kind, number), content in sorted(state.items())]
    lines = [*(["state", entry] for entry in entries), *(["after", answer] for answer in after(state))]
    path = FOLDER / f"format-{FORMAT}.ndjson"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


if __name__ == "__main__":
    print(write())
