"""A shard that its host restores from what it kept, at any time, tells what one that goes on tells."""

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from coincide.fusion.batches.batch_parts import BatchParts
from tests.coincide.fusion.inputs import put, removal
from tests.coincide.fusion.saving.saved_states import QUERIES, Shard, story_frame

PUTS = [put(number, query) for number, query in enumerate(QUERIES)]
LITTLE = partial(BatchParts, most_part_bytes=600, most_part_us=0.1, most_us=0.1)  # most of a batch is left


@given(
    cuts=st.lists(st.integers(1, 4), min_size=1, max_size=6),
    anew=st.lists(st.booleans(), min_size=6, max_size=6),
    leaves=st.booleans(),
)
def test_restored_between_batches_it_tells_and_keeps_the_same(cuts: list[int], anew: list[bool], leaves: bool) -> None:
    begin = LITTLE if leaves else BatchParts
    steady, restored = Shard(begin_parts=begin), Shard(begin_parts=begin)
    assert steady.push(*PUTS) == restored.push(*PUTS)
    first = 0
    for cut, is_anew in zip(cuts, anew, strict=False):
        frames = [story_frame(number) for number in range(first, first + cut)]
        first += cut
        restored = Shard(restored.state, begin) if is_anew else restored
        assert restored.push(*frames) == steady.push(*frames)
        assert restored.state.keys() == steady.state.keys()
    assert restored.push(removal(len(PUTS), "gone")) == steady.push(removal(len(PUTS), "gone"))


def test_a_batch_raises_the_version_by_one_in_however_many_parts_it_is_taken() -> None:
    shard = Shard(begin_parts=LITTLE)
    assert not shard.state
    shard.push(*PUTS)
    version = int.from_bytes(shard.state["header", 0][:8])
    shard.push(story_frame(1), story_frame(2))
    assert int.from_bytes(shard.state["header", 0][:8]) == version + 1
