"""coincide coalesce on real files against the slow twin: readings, facts, equivalences, an hour of real picks."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coincide import Bounded, Decreasing, Equal, Increasing, Quantised
from coincide.coalescing import Equivalence, Predicate
from tests.coincide.command.files import EPOCH_US, FORMATS, coalesce, write
from tests.examples import examples
from tests.reference import central_italy
from tests.reference.coalescing import Fact, Reading, coalesced_facts, coalesced_readings, coalesced_trends, goes_on

EQUIVALENCES: dict[str, Equivalence] = {
    "equal": Equal(),
    "any": Predicate(lambda _previous, _following: True),
    "bounded:1": Bounded(1),
    "increasing": Increasing(),
    "decreasing": Decreasing(),
    "quantised:2": Quantised(2),
    "bounded:0.1": Bounded(0.1),
    "relative:0.5": Bounded(0.5, relative=True),
    "quantised:0.1": Quantised(0.1),
}
GROUPS = [("bay", 9), ("bay", 10), ("hill", 9), ("hill", 10)]
IN_ORDER = [("bay", 10), ("bay", 9), ("hill", 10), ("hill", 9)]  # of their texts

COLUMNS = ["--by", "site", "--by", "mast", "--value", "celsius"]
STATIONS = ["IV.CAMP", "YR.ED14"]
DECIMALS = [-0.1, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7]
Row = dict[str, Any]
readings = st.lists(
    st.tuples(st.integers(0, 20), st.sampled_from(GROUPS), st.integers(-3, 6) | st.sampled_from(DECIMALS)),
    min_size=1,
    max_size=14,
).flatmap(st.permutations)
facts = st.lists(
    st.tuples(st.integers(0, 20), st.none() | st.integers(0, 5), st.sampled_from(GROUPS), st.integers(0, 2)),
    min_size=1,
    max_size=12,
)


@dataclass(frozen=True)
class Question:
    """What is asked, in half seconds."""

    equivalence: str
    gap: int
    hold: int | None
    above: int | None
    below: int | None
    slack: int | None = None  # so far beyond its limit a value ends a run

    @property
    def options(self) -> list[str]:
        times = {"gap": self.gap / 2, "hold": self.hold and self.hold / 2}
        given = {**times, "above": self.above, "below": self.below, "equivalence": self.equivalence}
        if self.slack is not None:
            given["until-below"] = None if self.above is None else self.above - self.slack
            given["until-above"] = None if self.below is None else self.below + self.slack
        return [f"--{name}={value}" for name, value in given.items() if value is not None]

    def keeps(self, value: Any) -> bool:
        return (self.above is None or value > self.above) and (self.below is None or value < self.below)

    def lasts(self, value: Any) -> bool:
        if self.slack is None:
            return self.keeps(value)
        is_high = self.above is None or value >= self.above - self.slack
        return is_high and (self.below is None or value <= self.below + self.slack)

    def kept(self, pieces: list[Fact]) -> list[Fact]:
        """Return what is within the limits, and what a run that has begun lasts with, one after the other."""
        kept, before = list[Fact](), dict[int, tuple[Fact, bool]]()
        for piece in sorted(pieces):
            if not self.lasts(piece.value):
                continue
            last, has_begun = before.get(piece.group, (piece, False))
            is_near = piece.start_us - last.end_us <= self.gap
            follows = has_begun and is_near and goes_on(EQUIVALENCES[self.equivalence], last.value, piece.value)
            before[piece.group] = piece, bool(follows) or self.keeps(piece.value)
            kept += [piece] if before[piece.group][1] else []
        return kept


questions = st.builds(
    Question,
    st.sampled_from(list(EQUIVALENCES)),
    st.integers(0, 5),
    st.none() | st.integers(1, 6),
    st.none() | st.integers(-3, 2),
    st.none() | st.integers(1, 6),
    st.none() | st.integers(0, 3),
)


def united(pieces: list[Fact], question: Question) -> list[tuple[int, int, int, Any, int]]:
    """Return (group, start, end, value of the first, count) of the runs of facts, by the definition."""
    if question.equivalence == "equal":
        return coalesced_facts(pieces, question.gap)
    return coalesced_trends(pieces, EQUIVALENCES[question.equivalence], question.gap)


def expected_of_readings(rows: list[Reading], question: Question) -> list[tuple[Any, ...]]:
    """First each reading gets its interval, then some are left out, then neighbours and what the gap spans unite."""
    alone = coalesced_readings(rows, Predicate(lambda _previous, _following: False), question.hold)
    pieces = question.kept([Fact(run.start_us, run.end_us, int(run.group), run.value) for run in alone])
    begun = {(piece.group, piece.start_us) for piece in pieces}
    newest = {run.group: run.value for run in alone if run.is_open and (run.group, run.start_us) in begun}
    expected: list[tuple[Any, ...]] = []
    runs, any_value = united(pieces, question), question.equivalence != "equal"
    for group, start, end, value, count in runs:
        rivals = [each[1:3] for each in runs if each[0] == group and (any_value or each[3] == value)]
        has_newest = group in newest and (any_value or newest[group] == value)
        expected.append((group, value, start, end, count, has_newest and (start, end) == max(rivals)))
    return expected


def shown(answer: list[Row]) -> list[tuple[Any, ...]]:
    """Rows of an answer as the slow twin has them, in half seconds."""
    runs_shown = []
    for row in answer:
        group, start = IN_ORDER.index((row["site"], int(row["mast"]))), half_seconds(row["start"])
        end = None if row["end"] is None else half_seconds(row["end"])
        assert row["duration_s"] == (None if end is None else (end - start) / 2)
        runs_shown.append((group, float(row["value"]), start, end, row["count"], row["open"]))
    return runs_shown


def at(half: int) -> str:
    return f"1987-02-23T07:35:{35 + half / 2:09.6f}Z"


def half_seconds(at: str) -> int:
    return round((float(at[17:-1]) + 60 * int(at[14:16]) - 2135) * 2)


@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(readings, questions, st.sampled_from(FORMATS), st.sampled_from(FORMATS))
def test_readings_as_the_slow_twin_has_them(
    tmp_path: Path, rows: list[tuple[int, tuple[str, int], float]], question: Question, source: str, target: str
) -> None:
    ids = range(10, 10 + len(rows))  # two digits: in one order as numbers and as text
    written = [
        {"site": site, "mast": mast, "id": id_, "detected_at_us": EPOCH_US + at * 500_000, "celsius": value}
        for id_, (at, (site, mast), value) in zip(ids, rows, strict=True)
    ]
    written = [written[n] for n in sorted(range(len(rows)), key=lambda n: (n * 7) % 5)]  # ids are not in order
    file = write(tmp_path / f"a.{source}", written)
    answer = coalesce(file, *COLUMNS, *question.options, out=tmp_path / f"out.{target}")
    slow = [Reading(at, IN_ORDER.index(group), id_, value) for id_, (at, group, value) in zip(ids, rows, strict=True)]
    runs_shown = shown(answer)
    assert Counter(runs_shown) == Counter(expected_of_readings(slow, question))
    assert [(run[0], run[2]) for run in runs_shown] == sorted((run[0], run[2]) for run in runs_shown)
    if (question.gap, question.above, question.below) == (0, None, None):
        plain = coalesced_readings(slow, EQUIVALENCES[question.equivalence], question.hold)
        assert runs_shown == [(run.group, run.value, run.start_us, run.end_us, run.count, run.is_open) for run in plain]


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(facts, st.integers(0, 4), st.sampled_from(["equal", "any", "increasing"]), st.sampled_from(FORMATS))
def test_facts_as_the_slow_twin_has_them(
    tmp_path: Path, rows: list[tuple[int, int | None, tuple[str, int], int]], gap: int, equivalence: str, source: str
) -> None:
    never = 1000
    ends = [never if lasting is None else start + lasting for start, lasting, *_ in rows]
    written = [
        {"site": site, "mast": mast, "from": at(start), "to": None if end == never else at(end), "celsius": value}
        for (start, _, (site, mast), value), end in zip(rows, ends, strict=True)
    ]
    file = write(tmp_path / f"a.{source}", written)
    question = Question(equivalence, gap, None, None, None)
    options = [*COLUMNS, "--start", "from", "--end", "to", *question.options]
    answer = coalesce(file, *options, out=tmp_path / f"out.{source}")
    pieces = [
        Fact(start, end, IN_ORDER.index(group), value) for (start, _, group, value), end in zip(rows, ends, strict=True)
    ]
    expected = [
        (group, value, start, None if end == never else end, count, end == never)
        for group, start, end, value, count in united(pieces, question)
    ]
    assert Counter(shown(answer)) == Counter(expected)
    assert [row["duration_s"] is None for row in answer] == [row["open"] for row in answer]


@pytest.mark.skipif(central_italy.why_absent() is not None, reason=str(central_italy.why_absent()))
def test_a_real_hour_as_the_slow_twin_has_it(tmp_path: Path) -> None:
    """When was each station busy: picks of either phase at most 20 s apart."""
    picks = central_italy.picks()
    rows = [{"station": pick.station, "phase": pick.phase, "detected_at_us": pick.detected_at_us} for pick in picks]
    answer = coalesce(
        write(tmp_path / "picks.csv", rows), "--by", "station", "--hold", 20, out=tmp_path / "busy.parquet"
    )
    assert sum(row["count"] for row in answer) == len({(pick.station, pick.detected_at_us) for pick in picks})
    for station in STATIONS:
        times_us = {pick.detected_at_us for pick in picks if pick.station == station}
        slow = coalesced_readings([Reading(at_us, 0, 0) for at_us in times_us], EQUIVALENCES["any"], 20_000_000)
        assert len(slow) > 5
        busy = [row for row in answer if row["station"] == station]
        assert [(row["duration_s"], row["count"], row["open"]) for row in busy] == [
            ((run.end_us - run.start_us) / 1e6, run.count, run.is_open) for run in slow
        ]
