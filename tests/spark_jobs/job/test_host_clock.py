"""A clock that is set back is noticed, whatever it did before; one that is set ahead or that runs on is not."""

import pytest

from spark_jobs.job.host_clock import MOST_SET_BACK_S, HostClock


class Host:
    """A host whose time of day is ``ahead_s`` of the time since its start."""

    def __init__(self) -> None:
        self.since_start_s = 1_000.0
        self.ahead_s = 1.8e9
        self.clock = HostClock(lambda: self.since_start_s + self.ahead_s, lambda: self.since_start_s)


def test_time_that_goes_on_is_no_news() -> None:
    host = Host()
    for _ in range(3):
        host.since_start_s += 86_400
        assert host.clock.set_back() is None


@pytest.mark.parametrize("steps_s", [[-3600.0], [3600.0, -3600.0], [-4.0, -4.0]])
def test_a_clock_behind_where_it_has_been_is_told(steps_s: list[float]) -> None:
    host = Host()
    for step_s in steps_s[:-1]:
        host.ahead_s += step_s
        assert host.clock.set_back() is None
    host.ahead_s += steps_s[-1]
    said = host.clock.set_back()
    assert f"set back by {-min(sum(steps_s), steps_s[-1]):.0f} s" in str(said)


@pytest.mark.parametrize("step_s", [3600.0, -MOST_SET_BACK_S])
def test_a_clock_that_is_set_ahead_or_hardly_back_is_let_be(step_s: float) -> None:
    host = Host()
    host.ahead_s += step_s
    assert host.clock.set_back() is None
