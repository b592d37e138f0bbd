"""What a comparison says of evidence: in its sentence, and of each match."""

from msgspec import convert

from services.console.pages.history.run_difference import MatchDifference, change_words, evidence_words
from services.console.rest.run_answers import ComparisonAnswer

NOTHING = {"counts": {"added": 0, "gone": 0, "changed": 0, "same": 7}, "added": [], "gone": [], "changed": []}


def test_where_neither_answer_tells_evidence_nothing_is_said_of_it() -> None:
    assert evidence_words(convert(NOTHING, ComparisonAnswer)) == ""


def test_how_the_evidence_differs_is_a_sentence_and_each_match_has_both_posteriors() -> None:
    evidence = {
        "counts": {"added": 1, "gone": 0, "changed": 1, "same": 1_200},
        "changed": [{"id": "m-1", "before": None, "now": 0.978}],
    }
    told = convert({**NOTHING, "evidence": evidence}, ComparisonAnswer)
    assert evidence_words(told) == " Of their evidence: 1 added, 0 gone, 1 changed, 1,200 same."
    assert told.evidence is not None
    [changed] = told.evidence.changed
    difference = MatchDifference("evidence", changed.id, changed.before, changed.now, None)
    assert change_words(difference) == ("not known → 97.8 %", "None → 0.978")
    assert change_words(MatchDifference("gone", "m-2", 0.5, None, None)) == ("50 %", "0.5")
