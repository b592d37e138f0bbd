"""Queries of more than two roles over dense streams, against the slow twin; its laws are those of the core."""

from functools import partial
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest

from tests.coincide.fusion.inputs import Row, edge, frame, put
from tests.coincide.fusion.inputs import started as started_with
from tests.coincide.fusion.outputs import SavedCore, matches, slow_matches
from tests.coincide.fusion.strategies import SWEEPING, TEMPLATES, THREE_STREAMS
from tests.examples import in_turn
from tests.reference.fusion import SlowFusion

started = partial(started_with, streams=THREE_STREAMS, limits=SWEEPING)


def test_an_event_that_may_play_two_roles_enlarges_a_set_in_both() -> None:
    edges = [{"between": [*pair], **edge(0.7, 0.07 if "d" in pair else 0.3)} for pair in combinations("abcd", 2)]
    roles = {"a": "p", "b": "s", "c": "t", "d": "s"}
    core = started(put(0, {"id": "q", "from": roles, "within": edges, "sensors": "any", "at_least": 2}))
    both, *rest = matches(core.push([frame(0, [Row("p", 1000), Row("t", 1000, stream="t")])]))
    grown = matches(core.push([frame(1, [Row("s", 1000, stream="s")])]))
    assert rest == []
    assert {"".join(member["role"] for member in match["members"]) for match in grown} == {"abc", "acd"}
    assert [match["supersedes"] for match in grown] == [[both["id"]]] * 2


def test_the_order_of_arrival_changes_nothing_where_required_roles_can_be_swapped() -> None:
    """Two shots, and two bells that both roles of the other stream may hear, only one of these optional."""
    edges = [{"between": [*pair], **edge(3.0, 0.07)} for pair in combinations("abcd", 2)]
    roles, optional = {"a": "s", "b": "p", "c": "s", "d": "p"}, {"of": ["c"], "count": 0}
    rows = [Row("p1", 1000), Row("p2", 1000), Row("s1", 1000, stream="s"), Row("s2", 1000, stream="s")]
    for order in permutations(rows):
        core = started(put(0, {"id": "q", "from": roles, "within": edges, "sensors": "any", "at_least": optional}))
        found = [each for nth, row in enumerate(order) for each in matches(core.push([frame(nth, [row])]))]
        gone = {each for match in found for each in match["supersedes"]}
        left = [[member["id"] for member in match["members"]] for match in found if match["id"] not in gone]
        assert sorted(left) == [["s1", "p1", "s2", "p2"], ["s2", "p1", "s1", "p2"]]


FORMS: dict[str, tuple[list[str], dict[str, float]]] = {
    "path": (["ab", "bc"], {"window_s": 1.3}),
    "clique": (["ab", "ac", "bc"], {"window_s": 1.3}),
    "ordered clique": (["ab", "bc", "ac"], {"lo_s": 0, "hi_s": 1.9}),
    "ring of four": (["ab", "bc", "cd", "ad"], {"window_s": 1.3}),
    "star": (["ab", "ac", "ad"], {"window_s": 1.1}),
    "clique of four": (["ab", "ac", "ad", "bc", "bd", "cd"], {"window_s": 3}),
}


ASKED: list[tuple[str, dict[str, Any]]] = [
    *((form, {}) for form in FORMS),
    ("path", {"joint_threshold": 0.3}),
    ("clique", {"at_least": 2}),
    ("ordered clique", {"at_least": 2, "joint_threshold": 0.2}),
    ("clique of four", {"at_least": 3, "joint_threshold": 0.3}),
    ("star", {"at_least": {"of": ["b", "c", "d"], "count": 2}}),
    ("star", {"at_least": {"of": ["b", "d"], "count": 0}}),
    ("path", {"at_least": {"of": ["a", "c"], "count": 1}, "joint_threshold": 0.3}),
    ("ordered clique", {"at_least": {"of": ["c"], "count": 0}}),
    ("clique of four", {"at_least": {"of": ["a", "c", "d"], "count": 2}, "joint_threshold": 0.3}),
]


@pytest.mark.parametrize(("form", "more", "streams"), list(in_turn(ASKED, ("psts", "pppp"))))
def test_dense_streams_over_a_long_time(form: str, more: dict[str, Any], streams: str) -> None:
    """Many matches each, while rows are dropped and the core is restarted all the time."""
    pairs, window = FORMS[form]
    roles = sorted({role for pair in pairs for role in pair})
    edges = [{"between": [*pair], **window, "threshold": 0.13} for pair in pairs]
    query = {"id": "q", "from": dict(zip(roles, streams, strict=False)), "within": edges, "sensors": "any", **more}
    rng = np.random.default_rng(5)
    core, slow = started(put(0, query)), SlowFusion(THREE_STREAMS)
    slow.push([put(0, query)])
    saved = SavedCore(THREE_STREAMS, SWEEPING)
    for step in range(14):
        at_s = 1000 + 2.5 * step
        batch = [frame(step, _burst(rng, step, at_s), received_at_s=at_s)]
        known = len(slow.matches)
        slow.push(batch)
        assert sorted(slow_matches(core.push(batch))) == sorted(slow.matches[known:])
        saved.save(core)
        if step % 4 == 3:
            core = saved.restored()
    assert len(slow.matches) > 20
    assert "at_least" not in more or any(match[-1] for match in slow.matches)
    assert len(core._state.rows.table) < 65  # of 70


def _burst(rng: np.random.Generator, step: int, at_s: float) -> list[Row]:
    """Five detections, some of them older than those of bursts before."""
    rows = []
    for nth in range(5):
        row_s = round(at_s - float(rng.choice([0, 0, 0, 4])) + float(rng.uniform(-1.5, 1.5)), 3)
        template, stream = TEMPLATES[rng.choice([0, 0, 1, 2])], "pst"[rng.integers(3)]
        rows.append(Row(f"d{step}-{nth}", row_s, template, stream, f"sensor-{rng.integers(12)}"))
    return rows
