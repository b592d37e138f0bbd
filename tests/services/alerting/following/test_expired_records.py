"""What Kafka deleted before it was read, against a plain look at which offsets never came."""

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from services.alerting.following.expired_records import ExpiredRecords
from services.common.log.records import Record, TopicPartition
from tests.services.alerting.sample_records import NAMES, TOPICS

topics = st.sampled_from([TOPICS.matches, TOPICS.episodes, TOPICS.queries])
partitions = st.builds(TopicPartition, topics, st.integers(0, 1))


@given(st.dictionaries(partitions, st.sets(st.integers(3, 30)), min_size=1), st.lists(st.integers(0, 40)), st.data())
def test_each_offset_that_never_came_is_counted_once(
    there: dict[TopicPartition, set[int]], cuts: list[int], data: st.DataObject
) -> None:
    starts = {each: data.draw(st.sampled_from([None, 3])) for each in there}
    expired, counted = ExpiredRecords(starts, NAMES), Counter[str]()
    by_offset = sorted((offset, *each) for each, offsets in there.items() for offset in offsets)
    records = [Record(topic, partition, offset, 0, None, b"") for offset, topic, partition in by_offset]
    bounds = [0, *sorted(min(each, len(records)) for each in cuts), len(records)]
    for begin, end in pairwise(bounds):
        counted += expired.before(records[begin:end])
        reached = {TopicPartition(each.topic, each.partition): each.offset + 1 for each in records[:end]}
        counted += expired.up_to(reached)
    counted += expired.up_to(dict.fromkeys(there, 31))
    expected: Counter[str] = Counter()
    for each, offsets in there.items():
        first = 3 if starts[each] is not None else min(offsets, default=31)
        if each.topic != TOPICS.queries:
            expected[each.topic] += len(set(range(first, 31)) - offsets)
    assert counted == +expected
