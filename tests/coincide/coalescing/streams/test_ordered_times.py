"""OrderedTimes beside a plain sorted list."""

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from coincide.coalescing.streams.ordered_times import OrderedTimes

times = st.lists(st.integers(-30, 30), unique=True, max_size=40)


@given(times, st.data())
def test_it_answers_as_a_sorted_list_does(added: list[int], data: st.DataObject) -> None:
    with patch("coincide.coalescing.streams.ordered_times.BLOCK", 4):
        ordered, plain = OrderedTimes(), sorted(added)
        beside = [ordered.add(ts) for ts in added]
        for ts in data.draw(st.lists(st.sampled_from(added), unique=True) if added else st.just([])):
            ordered.remove(ts)
            plain.remove(ts)
    for number, (ts, around) in enumerate(zip(added, beside, strict=True)):
        lower, higher = [each for each in added[:number] if each < ts], [each for each in added[:number] if each > ts]
        assert around == (max(lower, default=None), min(higher, default=None))
    assert list(ordered) == plain
    for ts in range(-31, 32):
        before, after = [each for each in plain if each < ts], [each for each in plain if each > ts]
        assert ordered.around(ts) == (max(before, default=None), min(after, default=None))
        assert ordered.count(ts, 10) == sum(ts <= each < 10 for each in plain)
        if plain and ts >= plain[0]:
            assert ordered.at_or_before(ts) == max(each for each in plain if each <= ts)
    if plain:
        assert (ordered.first, ordered.last) == (plain[0], plain[-1])
        ordered.pop_first()
        assert list(ordered) == plain[1:]
