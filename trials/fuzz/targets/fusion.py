"""What comes to fusion, to the archive and to history from Kafka's topics."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache

from prometheus_client import CollectorRegistry, generate_latest

from coincide.fusion.batches.activations import PushedOffsets
from coincide.fusion.control.limits import Limits
from coincide.fusion.records.kafka_records import InputRecord, Output, Topic
from services.common.declared_streams import DeclaredStreams
from services.common.engine.core_metrics import StatusMetrics
from services.common.engine.fusion_settings import FusionSettings
from services.common.log.records import Record
from services.history.archiving.frame_rows import FrameRows
from services.history.rows.topic_records import TopicRecord
from services.history.runs.live_answer import read_history
from spark_jobs.calibrating.sources import _rows
from spark_jobs.job.control_ahead import ControlAhead
from spark_jobs.recovery.rebuilds import Rebuilds
from tests.coincide.fusion.inputs import (
    STREAMS,
    Row,
    declaration,
    frame,
    heartbeat,
    put,
    query_json,
    removal,
    started,
    stream_removal,
)
from tests.coincide.fusion.outputs import SavedCore
from tests.coincide.fusion.saving.saved_states import QUERIES, START_S, story_frame
from trials.fuzz.contracts import examples
from trials.fuzz.target import Keyed, Target

LIMITS = Limits(sweep_after=4, max_slot_bytes=400, merge_slots_from=2, quiet_s=10)
STORY = [*(put(offset, query) for offset, query in enumerate(QUERIES)), story_frame(0)]
NEXT = [story_frame(11), heartbeat(12, START_S + 200)]


@cache
def _saved() -> SavedCore:
    """Return what a core has kept in the midst of a story."""
    saved = SavedCore(limits=LIMITS)
    saved.save(started(*STORY, limits=LIMITS))
    return saved


def _fused(topic: Topic, record: Keyed) -> None:
    """Push a record into a core in the midst of a story: it goes on, and what it keeps is read again."""
    saved = replace(_saved(), slots=dict(_saved().slots))
    core = saved.restored()
    for each in ([InputRecord(topic, 0, 10, *record)], NEXT):
        _read_again(core.push(each))
        saved.save(core)
    _read_again(saved.restored().push([]))


def _read_again(output: Output) -> None:
    """Raise for an answer that is no JSON."""
    status = StatusMetrics()
    status.take(*output.status)
    list(status.collect())
    answers = [*output.matches, *output.episodes, *output.evidence]
    told = [output.status, *answers, *output.dead_letters, *output.health.values()]
    for key, value in told:
        key.decode()
        json.loads(value or b"null")


def _detections(line: bytes) -> None:
    _fused("detections", Keyed.of(line))


def _frames(line: bytes) -> None:
    """Read a frame as the archive and a calibration do."""
    record = Keyed.of(line)
    rows = FrameRows()
    rows.add(InputRecord("detections", 0, 10, *record))
    rows.take()
    list(_rows(record.value))


class _Listed:
    """A topic's records as a list, as a reader of the whole topic gives them."""

    def __init__(self, *records: Keyed) -> None:
        self._records = [TopicRecord(0, offset, *each) for offset, each in enumerate(records)]

    def all(self, check: Callable[[], None]) -> Iterator[TopicRecord]:
        check()
        yield from self._records


NEAR = put(0, query_json())
ACTIVATION = Keyed(
    b"near",
    json.dumps(
        {"v": 1, "shard": 0, "control_offset": 0, "offsets": {"0": 7}, "change": json.loads(NEAR.value or b"")}
    ).encode(),
)


def _queries(line: bytes) -> None:
    _fused("queries", Keyed.of(line))


def _followed_queries(line: bytes) -> None:
    """Read the topic as those do who follow it beside the core."""
    given = Keyed.of(line)
    list(PushedOffsets({0: 7}).records(0, [InputRecord("queries", 0, 10, *given), story_frame(3)]))
    of_topic = Record("coincide.queries", 0, 10, 1, *given)
    ahead = ControlAhead(FusionSettings())
    ahead._take([of_topic])
    streams = DeclaredStreams(STREAMS)
    streams.replace([[Record("coincide.queries", 0, 0, 1, NEAR.key, NEAR.value)], [of_topic]])
    streams.apply([of_topic])
    _history(_Listed(Keyed(NEAR.key, NEAR.value), given), _Listed(ACTIVATION))


def _history(queries: _Listed, activations: _Listed) -> None:
    """Read the history of a query that is there: what else is on the topics must not keep it from being read."""
    if read_history("near", queries, activations) is None:  # type: ignore[arg-type]  # of which only `all` is asked
        raise LookupError("the query is not known any more")


def _activations(line: bytes) -> None:
    _history(_Listed(Keyed(NEAR.key, NEAR.value)), _Listed(ACTIVATION, Keyed.of(line)))


def _status(line: bytes) -> None:
    key, value = Keyed.of(line)
    status, rebuilds = StatusMetrics(), Rebuilds(lambda _records: None)
    if rebuilds.take(key or b"", value):
        rebuilds.all_taken()
        rebuilds.begin({("detections", 0): 0}, {("detections", 0): 10})
        rebuilds.reached(lambda _ends: 3)
        return
    status.take(key or b"", value)
    _ = status.left
    registry = CollectorRegistry()
    registry.register(status)
    generate_latest(registry)


def _lines(*records: InputRecord) -> list[bytes]:
    return [Keyed(each.key, each.value).line for each in records]


def _of_contract(name: str, key: bytes | None = None) -> list[bytes]:
    return [Keyed(key, json.dumps(each).encode()).line for each in examples(name)]


def _detection_seeds() -> Sequence[bytes]:
    rows = [
        Row("a", START_S + 20, attributes=(("is", 60), ("who", "ann"))),
        Row("b", START_S + 21, stream="s", sensor="w"),
    ]
    made = [
        story_frame(3),
        frame(10, rows, received_at_s=START_S + 30),
        frame(10, rows[:1]),
        heartbeat(10, START_S + 40),
    ]
    return [*_lines(*made), *_of_contract("detections", b"bay"), Keyed(b"bay", None).line]


def _query_seeds() -> Sequence[bytes]:
    changes = [*(put(10, query, 2) for query in (*QUERIES, query_json())), put(10, query_json(), 3, paused=True)]
    changes += [removal(10, "near"), declaration(10, "p", 60), declaration(10, "new", 5), stream_removal(10, "new")]
    keyless = [each._replace(key=None) for each in changes]
    return [*_lines(*changes, *keyless)]


def _status_seeds() -> Sequence[bytes]:
    told = _saved().restored().push([story_frame(2)]).status
    rebuilds = [
        Keyed(b"rebuild/" + each["id"].encode(), json.dumps(each).encode()).line for each in examples("rebuild")
    ]
    return [Keyed(*told).line, *rebuilds]


TARGETS = (
    Target(
        "fusion/detections", "the core takes it, goes on, and reads again what it saved", _detections, _detection_seeds
    ),
    Target("fusion/frames of others", "the rows of the archive, or none", _frames, _detection_seeds),
    Target(
        "fusion/queries",
        "it is applied, or a dead letter; the core goes on, and reads again what it saved",
        _queries,
        _query_seeds,
    ),
    Target(
        "fusion/queries of others",
        "nobody stops who follows the topic, and what is known of others stays",
        _followed_queries,
        _query_seeds,
    ),
    Target(
        "fusion/activations",
        "the history of a query is read in spite of it",
        _activations,
        lambda: [ACTIVATION.line, *_of_contract("activations", b"near")],
    ),
    Target("fusion/status", "the metrics can be read, and rebuilds go on", _status, _status_seeds),
)
