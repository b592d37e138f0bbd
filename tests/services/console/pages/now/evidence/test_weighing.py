"""The weighing of a match: terms add up in a picture, and sentences say what they come to, or why nobody knows."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide.evidence import posterior_of
from services.console.pages.now.evidence.member_list import belonging
from services.console.pages.now.evidence.of_episode import sure_words
from services.console.pages.now.evidence.weighing import ALL_DECLARED, SOURCES, alone, shared_words, source_of, steps_of
from services.console.pages.one_event_words import NOT_TOLD_YET, WITHOUT_EVENT, bits, headline, one_event, surest_first
from services.console.rest.documents import MatchAnswer
from services.console.rest.evidence_answers import BelongingAnswer, EvidenceAnswer, TermAnswer
from tests.services.console.pages.now.test_moments import match

TERMS = [
    TermAnswer(kind="events", bits=-15.4, sentence="An event comes 2 times a day."),
    TermAnswer(kind="member", sensor="barn", bits=11.5, sentence="barn hears 80 % of the events."),
    TermAnswer(kind="member", sensor="mill", bits=11.5, sentence="mill hears 80 % of the events."),
    TermAnswer(kind="silent", sensor="gate", bits=-2.3, sentence="gate is alive and silent."),
]


def evidence(posterior: float | None = 0.975, bits_of_it: float | None = 5.3, **others: object) -> EvidenceAnswer:
    exact = {"posterior_least": posterior, "posterior_greatest": posterior}
    said = {"id": "m", "bits": bits_of_it, "posterior": posterior, "terms": TERMS, **exact, **others}
    return msgspec.convert(msgspec.to_builtins(said), EvidenceAnswer)


def judged(posterior: float, probability: float = 0.5) -> MatchAnswer:
    return msgspec.structs.replace(match(value=probability), evidence=evidence(posterior))


def test_a_step_begins_where_the_one_before_it_ends_and_the_last_is_the_sum() -> None:
    steps, nothing = steps_of([-10.0, 30.0, -5.0])
    assert nothing == pytest.approx(1 / 3)
    assert [each.left * 30 for each in steps] == pytest.approx([0, 0, 25, 10])
    assert [each.right * 30 for each in steps] == pytest.approx([10, 30, 30, 25])
    assert [each.rises for each in steps] == [False, True, False, True]


@given(st.lists(st.floats(-1e3, 1e3), max_size=20))
def test_every_step_lies_on_the_scale(values: list[float]) -> None:
    steps, nothing = steps_of(values)
    assert len(steps) == len(values) + 1
    assert 0 <= nothing <= 1 + 1e-9
    assert all(-1e-9 <= each.left <= each.right <= 1 + 1e-9 for each in steps)


@given(st.floats(-900, 900))
def test_one_match_by_itself_has_the_posterior_of_its_bits(value: float) -> None:
    assert alone(value) == pytest.approx(float(posterior_of(value)), rel=1e-9)


def test_bits_beyond_all_floats_are_certain() -> None:
    assert [alone(-1e9), alone(1e9)] == pytest.approx([0.0, 1.0])


def test_the_headline_says_how_sure_it_is_or_why_nobody_knows() -> None:
    assert headline(evidence(0.997), has_event=True) == "One event, 99.7 %."
    within = evidence(0.8, posterior_least=0.7, posterior_greatest=0.9)
    assert headline(within, has_event=True) == "One event, 70 % to 90 %."
    assert headline(None, has_event=True) == NOT_TOLD_YET
    assert headline(None, has_event=False) == WITHOUT_EVENT
    busy = evidence(None, None, unknown="too_much_work", terms=[])
    assert headline(busy, has_event=True) == (
        "Whether it is one event is not known: more matches hang together than are weighed."
    )
    newer = evidence(None, None, unknown="the_moon_is_full", terms=[])
    assert headline(newer, has_event=True) == "Whether it is one event is not known: the moon is full."


def test_what_sharing_out_leaves_is_told_where_it_differs() -> None:
    assert shared_words(evidence(alone(5.3))) == ""
    assert shared_words(evidence(0.44)).endswith("Over all ways to share them out, it is 44 %.")
    assert shared_words(evidence(None, unknown="too_much_work")).endswith(
        "How they are shared out is not known: more matches hang together than are weighed."
    )


def test_a_member_that_hardly_belongs_is_called_a_stranger() -> None:
    of = evidence(members=[BelongingAnswer("barn", "b-1", 0.99), BelongingAnswer("mill", "m-1", 0.2)])
    told = [belonging(of.belongs(sensor, id_) or 0) for sensor, id_ in (("barn", "b-1"), ("mill", "m-1"))]
    assert told == ["belongs with 99 %", "perhaps a stranger: it belongs with 20 %"]
    assert of.belongs("barn", "m-1") is None


def test_the_surest_comes_first_and_what_nobody_knows_after_it_by_its_times() -> None:
    known, unsure, fits = judged(0.9, 0.2), judged(0.0, 0.3), match("x", value=0.99)
    assert sorted([match("y", value=0.1), fits, unsure, known], key=surest_first)[:3] == [known, unsure, fits]
    assert (sure_words(known), sure_words(fits)) == ("one event, 90 %", "times fit with 99 %")


def test_figures_have_signs_that_people_read() -> None:
    assert [bits(each) for each in (11.46, -2.3, 0.0)] == ["+11.5", "−2.3", "+0.0"]
    assert one_event(None) == ""


def test_what_was_counted_and_what_the_query_says_is_told_apart() -> None:
    declared = {"per_day": 2, "heard_by": 0.8}
    assert source_of(EvidenceAnswer(), declared) == SOURCES["declared"]
    assert source_of(EvidenceAnswer(), {**declared, "unpaired_per_day": 1}) == ALL_DECLARED
    assert source_of(EvidenceAnswer(rates="guessed"), declared) == ""
