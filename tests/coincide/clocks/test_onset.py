from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from coincide import Histogram, Occurred, Window, match_probability, occurred
from coincide.clocks import Clock, ClockOffset, clock_offsets
from coincide.errors import OffsetError
from coincide.probability import occurrence_columns
from coincide.probability.onset_grid import OnsetGrid
from coincide.probability.onset_on_clocks import OnsetOnClocks
from tests.coincide.clocks.test_joint import on_clocks
from tests.examples import examples
from tests.reference import onset_by_cells
from tests.reference.joint_tuples import small_templates

SECOND, DRAWS = 10**6, 500_000
GATEWAY, OWN = Histogram.uniform(-30, 30), Histogram.uniform(-0.05, 0.05)
BROAD, STEPS = Histogram.normal(0.5, 8), Histogram([0, 0, 1], [0.4, 0.6])
LONG_TAILS = Histogram([-600, -1, 1, 600], [0.05, 0.9, 0.05])


@dataclass(frozen=True)
class Match:
    own: list[Histogram]
    at_us: list[int]
    window_s: float
    clocks: list[int]
    errors: list[Histogram]

    @property
    def templates(self) -> list[Histogram]:
        return on_clocks(self.own, self.clocks, self.errors)

    def occurred(self) -> Occurred:
        return occurred(self.templates, self.at_us, Window(self.window_s))

    def offsets(self) -> list[ClockOffset]:
        return clock_offsets(self.templates, self.at_us, Window(self.window_s))

    def simulated(self, count: int = DRAWS) -> tuple[float, Any, list[Any]]:
        """Return the share of draws in the window; of these the onset, and how slow each clock was."""
        rng = np.random.default_rng(11)
        offsets = [error.quantile(rng.random(count)) for error in self.errors]
        times = np.array(
            [
                at / SECOND + each.quantile(rng.random(count)) + (offsets[clock] if clock >= 0 else 0.0)
                for at, each, clock in zip(self.at_us, self.own, self.clocks, strict=True)
            ]
        )
        inside = np.ptp(times, axis=0) <= self.window_s
        return float(inside.mean()), times.min(axis=0)[inside], [offset[inside] for offset in offsets]


MATCHES = [
    Match([OWN, OWN, OWN], [0, 0, 12 * SECOND], 1.0, [0, 0, -1], [Histogram.uniform(-15, 15)]),
    Match([BROAD, STEPS, BROAD], [0, 300_000, 0], 1.0, [0, 0, 0], [Histogram.normal(3, 16)]),
    Match([BROAD, STEPS, BROAD, OWN], [0, 300_000, SECOND, 0], 2.0, [0, 0, 1, 1], [Histogram.normal(3, 16)] * 2),
    Match([BROAD, STEPS], [0, 4_300_000], 2.0, [0, 1], [Histogram.normal(3, 16)] * 2),
    Match([BROAD] * 6, [0, SECOND, 0, 0, 0, SECOND], 4.0, [0, 0, 0, 1, 1, 1], [Histogram.normal(3, 64)] * 2),
    Match([OWN] * 3, [0, 0, 100_000], 0.2, [0, 0, -1], [LONG_TAILS]),
    Match([OWN] * 3, [0, 0, SECOND], 0.2, [0, 0, -1], [Histogram([-1, -1, 0.5, 1.5], [0.4, 0, 0.6])]),
]


@pytest.mark.parametrize("match", MATCHES)
def test_it_tells_what_a_simulation_does(match: Match) -> None:
    found = match.occurred()
    share, onset, offsets = match.simulated()
    few = 6 / len(onset) ** 0.5  # six standard errors, in standard deviations
    assert found.probability == pytest.approx(share, abs=6 * (share / DRAWS) ** 0.5 + 1e-4)
    assert found.mean_us / SECOND == pytest.approx(onset.mean(), abs=few * onset.std() + 1e-3)
    assert found.std_s == pytest.approx(onset.std(), rel=few + 1e-3)
    for told_us, p in ((found.p05_us, 0.05), (found.p95_us, 0.95)):
        assert (onset * SECOND <= told_us).mean() == pytest.approx(p, abs=few + 5e-3)
    for told, offset in zip(match.offsets(), offsets, strict=True):
        assert told.mean_s == pytest.approx(offset.mean(), abs=few * offset.std() + 1e-3)
        assert told.std_s == pytest.approx(offset.std(), rel=few + 1e-3)
        assert (offset <= told.p05_s).mean() == pytest.approx(0.05, abs=few + 5e-3)
        assert (offset <= told.p95_s).mean() == pytest.approx(0.95, abs=few + 5e-3)


CELL_S = 14 / 128  # at most, of the mixture: offsets from -10 to 4 s


@settings(max_examples=examples(12), deadline=None)
@given(st.data())
def test_it_tells_what_a_mixture_over_cells_of_all_clocks_does(data: st.DataObject) -> None:
    clocks = data.draw(st.sampled_from([[0, 0], [0, 1], [0, -1], [0, 0, -1], [0, 1, 0], [0, 0, 1], [0, 0, 1, 1]]))
    templates = on_clocks(
        [data.draw(small_templates()) for _ in clocks], clocks, [Histogram.normal(2, 16), Histogram.uniform(-3, 2)]
    )
    at_us = [data.draw(st.integers(-1, 1)) * SECOND for _ in clocks]
    window = Window(2.5)
    if len(clocks) == 2:
        window = data.draw(st.sampled_from([window, Window(lo_s=-0.5, hi_s=2.5), Window.deadline(1.5)]))
    found, slow = OnsetOnClocks(templates, at_us, window), onset_by_cells.OnsetOnClocks(templates, at_us, window)
    assume(slow.is_possible)
    assert found.is_possible
    assert found.moments_s == pytest.approx(slow.moments_s, abs=CELL_S / 2)
    for share in (0.05, 0.5, 0.95):
        low_s, high_s = slow.quantile_s(share - 0.02), slow.quantile_s(share + 0.02)
        assert low_s - CELL_S <= found.quantile_s(share) <= high_s + CELL_S
    for one, other in zip(found.offsets(), slow.offsets(), strict=True):
        assert one.clock == other.clock
        assert [one.mean_s, one.std_s] == pytest.approx([other.mean_s, other.std_s], abs=CELL_S / 2)


def test_a_lone_member_counts_by_its_whole_error_which_may_have_been_learnt() -> None:
    learnt = Clock("gw-7", Histogram.uniform(-1, 1)).template(OWN, Histogram.uniform(-9, 9))
    [offset] = clock_offsets([learnt, OWN], [0, 7 * SECOND], Window(1))  # the parts do not reach that far
    assert (offset.mean_s, offset.std_s) == pytest.approx((0, 3**-0.5))
    assert (offset.p05_s, offset.p95_s) == pytest.approx((-0.9, 0.9))


@pytest.mark.parametrize("clocks", [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2], [0, 1, 2, 3, 4, 5]])
def test_its_work_grows_with_members_and_clocks_not_with_combinations_of_offsets(clocks: list[int]) -> None:
    match = Match([OWN] * 6, [0] * 6, 1.0, clocks, [GATEWAY] * (max(clocks) + 1))
    looked_at = 0

    class Counted(OnsetGrid):
        def _grid(self, between_s: Any) -> Any:
            nonlocal looked_at
            grid = super()._grid(between_s)
            looked_at += len(grid)
            return grid

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("coincide.probability.onset_on_clocks.OnsetGrid", Counted)
        onset = OnsetOnClocks(match.templates, match.at_us, Window(match.window_s))
        assert len(onset.offsets()) == max(clocks) + 1
    assert 0 < looked_at < 1_500 * (max(clocks) + 2)


def test_a_match_of_one_clock_says_nothing_of_its_offset() -> None:
    match = Match([OWN, OWN], [0, 20_000], 1.0, [0, 0], [GATEWAY])
    [offset] = match.offsets()
    assert [offset.mean_s, offset.p05_s, offset.p95_s] == pytest.approx([0, -27, 27], abs=1e-9)
    assert offset.std_s == pytest.approx(GATEWAY.std_s)
    assert match.occurred().probability == pytest.approx(1.0)


def test_columns_have_matches_with_and_without_shared_clocks() -> None:
    templates = [on_clocks([own, own], [0, -1], [GATEWAY]) for own in (BROAD, STEPS)]
    index = np.array(np.meshgrid([0, 1], [0, 1])).reshape(2, -1)
    at_us = np.array([[0] * 4, [300_000] * 4])
    found = occurrence_columns(templates, index, at_us, Window(1))
    for row in range(4):
        u, v = (side[which] for side, which in zip(templates, index[:, row].tolist(), strict=True))
        one = occurred([u, v], [0, 300_000], Window(1))
        assert (found.mean_us[row], found.std_s[row], found.p95_us[row]) == (one.mean_us, one.std_s, one.p95_us)
        assert one.probability == pytest.approx(match_probability(u, v, 0.3, Window(1)), abs=1e-9)


def test_without_clocks_nobody_is_told_of() -> None:
    assert Match([BROAD, STEPS], [0, 0], 1.0, [-1, -1], []).offsets() == []


def test_what_cannot_be_is_refused() -> None:
    match = Match([OWN, OWN], [0, 20 * SECOND], 1.0, [0, 0], [GATEWAY])
    with pytest.raises(OffsetError, match="can lie in the window"):
        match.occurred()
    with pytest.raises(OffsetError, match="can lie in the window"):
        match.offsets()
