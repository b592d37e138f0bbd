"""What happened last in each area, in a sentence."""

from dataclasses import replace
from typing import Any

import msgspec

from services.console.drawing.table_columns import drawn_episode
from services.console.pages.now.moments import last_moments
from services.console.pages.now.newest import OF_ONE_QUERY, lies_in, newest_of, rows_of, surest_of
from services.console.pages.shown_range import ShownRange
from services.console.pages.time_words import TimeWords
from services.console.rest.documents import EpisodeAnswer, EpisodeEvidenceAnswer, MatchAnswer, MemberAnswer
from services.console.rest.evidence_answers import EvidenceAnswer

AT_US = 541_064_135_000_000
HOUR_US = 3_600_000_000
NONE = msgspec.Raw(b"{}")


def members(*sensors: str, at_us: int = AT_US) -> list[MemberAnswer]:
    return [MemberAnswer(sensor=each, id=each, stream="s", detected_at_us=at_us, attributes=NONE) for each in sensors]


def episode(id_: str = "e", area: str = "bay", start_us: int = AT_US, **others: Any) -> EpisodeAnswer:
    said = {
        "query": "q",
        "end_us": start_us + 2_000_000,
        "count": 3,
        "best_probability": 0.5,
        "members": members("a", "b"),
    }
    return EpisodeAnswer(id=id_, area=area, start_us=start_us, **{**said, **others})


def replace_episode(known: EpisodeAnswer, **others: Any) -> EpisodeAnswer:
    return msgspec.structs.replace(known, **others)


def match(id_: str = "m", area: str = "bay", at_us: int = AT_US, value: float = 0.5, query: str = "q") -> MatchAnswer:
    said: dict[str, Any] = {"id": id_, "query": query, "query_version": 1, "area": area, "probability": value}
    said |= {"earliest_us": at_us - 1, "latest_us": at_us + 1, "received_at_us": at_us}
    return MatchAnswer(**said, members=members("a", "b", at_us=at_us))


def test_the_last_moment_of_each_area_comes_first() -> None:
    found = last_moments(
        [episode("e1"), episode("e2", start_us=AT_US + HOUR_US), episode("e3", "harbour", AT_US + 2 * HOUR_US)], []
    )
    assert [(each.area, each.from_us) for each in found] == [("harbour", AT_US), ("bay", AT_US)]  # members are older


def test_an_episode_that_stands_no_longer_is_none() -> None:
    gone = EpisodeAnswer(id="e", query="q", area="bay", retracted=True)
    assert last_moments([gone], []) == []


def test_what_is_long_ago_has_a_date_and_what_is_new_an_age() -> None:
    [moment] = last_moments([episode()], [])
    assert moment.sentence(TimeWords(), AT_US + 10 * HOUR_US) == (
        "What a and b saw may have happened together on 1987-02-23 at 07:35:35.0: 3 matches within 2 s, which are one "
        "episode. The best times fit with 50 %."
    )
    assert moment.is_old(AT_US + 10 * HOUR_US)
    [single] = last_moments([], [match(value=1.0)])
    assert single.sentence(TimeWords(), AT_US + 5_400_000) == (
        "What a and b saw may have happened together 5 s ago. The times fit with 100 %."
    )


def test_a_match_whose_evidence_is_there_says_how_sure_it_is_that_it_is_one_event() -> None:
    evidence = EvidenceAnswer(id="m", bits=8.4, posterior=0.997, posterior_least=0.997, posterior_greatest=0.997)
    [moment] = last_moments([], [msgspec.structs.replace(match(), evidence=evidence)])
    assert moment.sentence(TimeWords(), AT_US + 5_400_000).endswith("5 s ago. One event, 99.7 %.")


def test_an_episode_says_how_sure_it_is_of_its_surest_match() -> None:
    [moment] = last_moments([episode(evidence=EpisodeEvidenceAnswer(0.997))], [])
    assert moment.sentence(TimeWords(), AT_US + 10 * HOUR_US).endswith("The surest is one event with 99.7 %.")


def test_of_one_time_that_is_told_of_which_it_is_known_whether_it_is_one_event() -> None:
    one_event = episode("e1", query="supernova", count=1, evidence=EpisodeEvidenceAnswer(0.978))
    many = episode("e2", query="neutrinos", count=440, end_us=AT_US + 90_000_000)
    for both in ([one_event, many], [many, one_event]):
        [moment] = last_moments(both, [])
        assert moment.query == "supernova"
        assert moment.sentence(TimeWords(), AT_US + 10 * HOUR_US).endswith("07:35:35.0. One event, 97.8 %.")
    later = episode("e3", query="neutrinos", start_us=AT_US + HOUR_US, end_us=AT_US + HOUR_US, members=[])
    assert [each.query for each in last_moments([one_event, later], [])] == ["neutrinos"]


def sure(id_: str, posterior: float | None, value: float = 0.5) -> MatchAnswer:
    evidence = EvidenceAnswer(id=id_, posterior=posterior, unknown=None if posterior else "not_watched_yet")
    return msgspec.structs.replace(match(id_, value=value), evidence=evidence)


def test_the_surest_are_listed_first_and_only_those_that_are_sure_enough() -> None:
    shown = ShownRange(AT_US - 1, AT_US + 1, follows=False, min_posterior=0.9)
    things: list[MatchAnswer | EpisodeAnswer] = [
        sure("m1", 0.95),
        sure("m2", 0.99),
        sure("m3", 0.5),
        sure("m4", None),
        match("m5"),
        episode(),
    ]
    listed = [each for each in things if lies_in(each, AT_US - 1, AT_US + 1, shown)]
    assert [each.id for each in surest_of(listed, shown.min_posterior)] == ["m2", "m1"]
    assert [each.sure for each in rows_of(things, TimeWords())] == ["95 %", "99 %", "50 %", "", ""]
    assert {each.id for each in newest_of(things[:5], set())} == {"m1", "m2", "m3"}  # of one query and area


def test_a_spell_is_readings_of_one_sensor_that_lasted() -> None:
    of_one: dict[str, Any] = {"members": members("boiler-3"), "value": 81.5, "count": 7, "end_us": AT_US + 70_000_000}
    spell = episode(query="overheated", best_probability=0.75, **of_one)
    [moment] = last_moments([spell], [])
    assert moment.sentence(TimeWords(), AT_US + 75_000_000) == (
        "What overheated asks for lasted 70 s at boiler-3 until 5 s ago: 7 readings. It lasted long enough with 75 %."
    )
    assert moment.sentence(TimeWords(), AT_US + 10 * HOUR_US) == (
        "What overheated asks for lasted 70 s at boiler-3 from 1987-02-23 07:35:35 on: 7 readings. "
        "It lasted long enough with 75 %."
    )
    assert spell.counted == "7 readings"
    drawn = drawn_episode(spell)
    assert drawn is not None
    assert drawn["unit"] == "readings"


def test_an_interval_of_a_window_names_its_group_and_a_spell_that_goes_on_says_so() -> None:
    window = episode(
        query="warm", best_probability=None, members=[], value=81.5, group={"s.sensor": "boiler-3"}, count=1
    )
    [moment] = last_moments([window], [])
    assert moment.sentence(TimeWords(), AT_US + 5_000_000) == (
        "What warm asks for lasted 2 s at boiler-3 until 3 s ago: 1 reading."
    )
    [nameless] = last_moments([replace_episode(window, group={}, open=True)], [])
    assert (
        nameless.sentence(TimeWords(), AT_US + 5_000_000) == "What warm asks for lasts in bay since 5 s ago: 1 reading."
    )


def test_many_sensors_are_not_all_named() -> None:
    [moment] = last_moments([episode(members=members(*"abcdef"))], [])
    assert moment.sentence(TimeWords(), AT_US).startswith("What a, b, c and 3 more sensors saw")


def test_of_a_query_without_episodes_only_the_most_probable_are_listed() -> None:
    matches = [match(f"m{nth}", value=nth / 10, at_us=AT_US + nth) for nth in range(1, 9)]
    listed = newest_of([*matches, episode(), match("of-episode", query="coalesced")], {"coalesced"})
    assert [each.id for each in listed] == ["m8", "m7", "m6", "e"]
    assert OF_ONE_QUERY == 3


def test_what_would_read_the_same_is_one_row() -> None:
    rows = rows_of(
        [match("m1"), match("m2", value=0.5000001), match("m3", value=0.6), match("m4", "hill")], TimeWords()
    )
    assert [(each.thing.id, each.fit, each.others) for each in rows] == [
        ("m1", "50 %", 1),
        ("m3", "60 %", 0),
        ("m4", "50 %", 0),
    ]


def test_the_table_lists_what_lies_in_the_view() -> None:
    happened, view = match("m", at_us=AT_US), ShownRange(AT_US - 100, AT_US + 100, follows=False)
    begin_us, end_us = happened.earliest_us, happened.latest_us

    def lies(from_us: int, to_us: int, **filters: Any) -> bool:
        return lies_in(happened, from_us, to_us, replace(view, **filters))

    assert lies(begin_us - 100, begin_us + 100)
    assert lies(end_us - 100, end_us + 100)
    assert not lies(end_us + 1, end_us + 100)
    assert not lies(begin_us - 100, begin_us - 1)
    assert lies(begin_us - 100, begin_us - 1, follows=True)
    assert not lies(begin_us, end_us, area="elsewhere")
    assert not lies(begin_us, end_us, query="another")
    assert lies(begin_us, end_us, area=happened.area, query=happened.query)
