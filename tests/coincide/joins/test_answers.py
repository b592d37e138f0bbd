"""How Pairs, Tuples and Changes look in a session: count and first rows, and no probability that nobody asked for."""

from typing import Any

import numpy as np

from coincide import Changes, Pairs, Tuples


def not_asked_for() -> Any:
    raise AssertionError("a probability was computed")


def test_long_answers_show_their_first_rows() -> None:
    pairs = Pairs(np.arange(20), np.arange(20) + 5, not_asked_for)
    tuples = Tuples(np.array([["p", "q", ""]] * 4), not_asked_for, not_asked_for)
    assert repr(pairs) == "Pairs(20: (0, 5), (1, 6), (2, 7), ...)"
    assert repr(tuples) == "Tuples(4 of 3 roles: ('p', 'q', ''), ('p', 'q', ''), ('p', 'q', ''), ...)"
    assert "<p>10 of 20 rows</p>" in pairs._repr_html_()
    assert tuples._repr_html_().count("<tr>") == 5


def test_nothing_is_said_of_no_rows() -> None:
    changes = Changes(Tuples.none(3, 2), Tuples.none(3, 2), np.empty(0, np.int64), np.empty(0, np.int64))
    assert repr(changes) == "Changes(insert=Tuples(0 of 3 roles), retract=Tuples(0 of 3 roles), late=rows(0))"


def test_a_table_escapes_labels_and_has_probabilities_once_they_are_known() -> None:
    pairs = Pairs(np.array(["<b>"]), np.array(["&"]), lambda: np.array([0.875]))
    before = pairs._repr_html_()
    assert "<td>&lt;b&gt;</td><td>&amp;</td></tr>" in before
    assert "probability" not in before
    assert pairs.probability.tolist() == [0.875]
    assert "<td>0.875</td></tr>" in pairs._repr_html_()
