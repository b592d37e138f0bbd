"""The density of when a match occurred is drawn only where it is that of the record."""

import itertools
from typing import Any

import msgspec
import pytest

from coincide import Histogram, Window, occurred
from services.console.pages.clock_words import clock_sentence
from services.console.pages.now.evidence.onset_sentence import BARS, onset_bars, window_of
from services.console.rest.documents import ClockAnswer, MatchAnswer, MemberAnswer, OccurredAnswer, TemplateAnswer

TEMPLATES = {
    "t-imb": TemplateAnswer("t-imb", [-0.05, 0.05], [1.0]),
    "t-baksan": TemplateAnswer("t-baksan", [-54.0, 2.0], [1.0]),
}
SEEN_US = {"imb": 41_374_000, "baksan": 71_818_000}
QUERY: dict[str, Any] = {
    "from": {"x": "neutrino", "y": "neutrino"},
    "within": [{"between": ["x", "y"], "window_s": 10, "threshold": 0.3}],
}


def found() -> MatchAnswer:
    of = occurred([Histogram.uniform(-0.05, 0.05), Histogram.uniform(-54, 2)], list(SEEN_US.values()), Window(10))
    members = [
        MemberAnswer(
            sensor=name,
            id=name,
            stream="neutrino",
            detected_at_us=at,
            role=role,
            template=f"t-{name}",
            attributes=msgspec.Raw(b"{}"),
        )
        for role, (name, at) in zip("xy", SEEN_US.items(), strict=True)
    ]
    said: dict[str, Any] = {"id": "m", "query": "q", "query_version": 1, "area": "sn1987a"}
    said |= {"probability": 0.357, "earliest_us": 0, "latest_us": 80_000_000, "received_at_us": 0}
    times = OccurredAnswer(of.mean_us, of.std_s, of.p05_us, of.p95_us)
    return MatchAnswer(**said, members=members, occurred=times)


def test_each_bar_has_an_equal_share_of_the_central_part() -> None:
    match = found()
    bars = onset_bars(match, TEMPLATES, QUERY)
    assert len(bars) == BARS
    assert all(before.to_us == after.from_us for before, after in itertools.pairwise(bars))
    assert match.occurred is not None
    below = sum(each.to_us <= match.occurred.p05_us for each in bars) / (BARS + 1)
    assert below == pytest.approx(0.05, abs=0.02)


@pytest.mark.parametrize(
    ("templates", "query"),
    [
        (TEMPLATES, {**QUERY, "within": [{**QUERY["within"][0], "window_s": 5}]}),  # the query was changed since
        ({**TEMPLATES, "t-imb": TEMPLATES["t-baksan"]}, QUERY),
        ({"t-imb": TEMPLATES["t-imb"]}, QUERY),
        (TEMPLATES, {}),
        (TEMPLATES, {"coalesce": {"from": "noise", "value": "attributes.x"}, "lasting_s": 5}),
    ],
)
def test_what_may_be_another_density_is_not_drawn(templates: dict[str, TemplateAnswer], query: dict[str, Any]) -> None:
    assert onset_bars(found(), templates, query) == []


def test_a_match_whose_time_is_not_told_has_none() -> None:
    assert onset_bars(msgspec.structs.replace(found(), occurred=None), TEMPLATES, QUERY) == []


def test_a_window_is_that_of_the_second_member_minus_the_first() -> None:
    edge = {"between": ["y", "x"], "lo_s": 1, "hi_s": 3, "threshold": 0.3}
    assert window_of(found(), {**QUERY, "within": [edge]}) == Window(lo_s=-3, hi_s=-1)


def test_a_clock_was_slow_or_fast() -> None:
    said = clock_sentence(ClockAnswer("gw-7", 12.13, 0.5, 11.1, 12.9))
    assert said == "The clock of gw-7 was 12.1 s slow; with 90 % between 11.1 s slow and 12.9 s slow."
    said = clock_sentence(ClockAnswer("gw-7", -2.0, 5.0, -10.0, 0.25))
    assert said == "The clock of gw-7 was 2 s fast; with 90 % between 10 s fast and 250 ms slow."
