"""Halts: what Spark and Kafka say, as one sentence with its way out, and as a metric."""

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from coincide.fusion.saving.state_format import StateError, UnfitStateError
from spark_jobs.recovery.halt import REASONS, WAYS_OUT, Halt, HaltMetrics, halt_of, refuse_lost_records

PROCESSED = {"detections": {"0": 10, "1": 5}, "queries": {"0": 2}, "deferrals": {"0": 7}}
BEGINS = {("detections", 0): 10, ("detections", 1): 0, ("queries", 0): 0}
ENDS = {("detections", 0): 10, ("detections", 1): 9, ("queries", 0): 2}


def reported(error: Exception) -> RuntimeError:
    """Return Spark's report of a query that a worker's error ended."""
    name = f"{type(error).__module__}.{type(error).__name__}"
    return RuntimeError(
        f'[STREAM_FAILED] Query terminated\n  File "/opt/restoring.py", line 1\n{name}: {error}\n\tat java'
    )


def test_every_reason_has_a_way_out() -> None:
    assert set(WAYS_OUT) == set(REASONS)


@pytest.mark.parametrize(
    ("error", "reason", "sentence"),
    [
        (Halt("checkpoint_lost", "it is gone"), "checkpoint_lost", "it is gone: put it back, or rebuild"),
        (
            reported(StateError("3 live journal slots are missing")),
            "checkpoint_damaged",
            "the checkpoint is damaged (3 live journal slots are missing): put a whole one back, or rebuild",
        ),
        (
            reported(UnfitStateError("the state was made with stream 's' declared with max_delay_s 10")),
            "checkpoint_unfit",
            "the state was made with stream 's' declared with max_delay_s 10: "
            "go back to what it was made for, or rebuild",
        ),
        (
            RuntimeError("[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error at /var/lib/checkpoint/state"),
            "checkpoint_damaged",
            "the checkpoint is damaged (its state cannot be read): put a whole one back, or rebuild",
        ),
    ],
)
def test_what_nobody_can_mend_alone_is_a_halt(error: Exception, reason: str, sentence: str) -> None:
    halt = halt_of(error)
    assert halt is not None
    assert (halt.reason, str(halt)) == (reason, sentence)


def test_what_passes_by_itself_is_none() -> None:
    assert halt_of(RuntimeError("Timeout expired while fetching topic metadata")) is None
    refuse_lost_records(PROCESSED, BEGINS, ENDS)
    refuse_lost_records({}, {("detections", 0): 10}, {("detections", 0): 10})  # a first start reads what is there


def test_records_that_expired_unread_are_counted_by_partition() -> None:
    begins = {**BEGINS, ("detections", 0): 14, ("detections", 1): 6}
    with pytest.raises(Halt) as halted:
        refuse_lost_records(PROCESSED, begins, {**ENDS, ("detections", 0): 20})
    assert halted.value.reason == "records_expired"
    assert str(halted.value) == (
        "Kafka deleted 5 records (4 of detections, partition 0; 1 of detections, partition 1) before fusion had read "
        "them: rebuild"
    )


@pytest.mark.parametrize(("place", "end"), [(("detections", 0), 9), (("queries", 0), None)])
def test_a_topic_that_ends_before_what_was_read_was_replaced(place: tuple[str, int], end: int | None) -> None:
    """Whether it has fewer records or fewer partitions."""
    ends = {each: offset for each, offset in {**ENDS, ("queries", 1): 0, place: end}.items() if offset is not None}
    with pytest.raises(Halt, match=rf"^the topic {place[0]} was replaced \(\d+ records .*: rebuild$") as halted:
        refuse_lost_records(PROCESSED, BEGINS, ends)
    assert halted.value.reason == "topic_replaced"


@pytest.mark.parametrize("halted", [None, Halt("topic_missing", "a topic is gone")])
def test_each_reason_is_a_series(halted: Halt | None) -> None:
    registry = CollectorRegistry()
    registry.register(HaltMetrics(lambda: halted))
    for reason in REASONS:
        is_it = halted is not None and reason == halted.reason
        assert f'coincide_fusion_halted{{reason="{reason}"}} {float(is_it)}\n' in generate_latest(registry).decode()
