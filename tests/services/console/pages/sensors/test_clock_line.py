"""What matches say of a clock, in the order of time, and no more of it than a picture has room for."""

from itertools import pairwise
from typing import Any

import pytest

from services.console.pages.sensors.clock_line import MOST_POINTS, clock_line
from services.console.rest.documents import ClockAnswer, MatchAnswer, OccurredAnswer


def match(at_us: int, *clocks: tuple[str, float], **fields: Any) -> MatchAnswer:
    told = [ClockAnswer(name, mean_s, 0.5, mean_s - 1, mean_s + 1) for name, mean_s in clocks]
    return MatchAnswer(
        id=f"m-{at_us}",
        query="bang",
        query_version=1,
        area="bay",
        probability=0.9,
        earliest_us=at_us,
        latest_us=at_us,
        received_at_us=at_us,
        members=[],
        **{"occurred": OccurredAnswer(at_us, 0.1, at_us, at_us, told), **fields},
    )


def test_other_clocks_and_matches_that_tell_nothing_are_left_out() -> None:
    matches = [match(30, ("gw-8", 3.0), ("gw-7", 12.1)), match(10, ("gw-7", 11.0)), match(20), match(5, occurred=None)]
    assert [(each.at_us, each.clock.mean_s) for each in clock_line(matches, "gw-7")] == [(10, 11.0), (30, 12.1)]
    assert clock_line(matches, "gw-9") == []


@pytest.mark.parametrize("count", [1, MOST_POINTS, MOST_POINTS + 1, 3 * MOST_POINTS - 1])
def test_of_many_some_are_shown_evenly_and_the_newest_is_one(count: int) -> None:
    line = clock_line((match(nth, ("gw-7", 0.0)) for nth in range(count)), "gw-7")
    apart = {after.at_us - before.at_us for before, after in pairwise(line)}
    assert (line[-1].at_us, len(apart) <= 1) == (count - 1, True)
    assert count / 4 <= len(line) <= MOST_POINTS


def test_matches_of_one_event_are_one_point() -> None:
    assert len(clock_line([match(7, ("gw-7", 1.0)), match(7, ("gw-7", 1.0))], "gw-7")) == 1
