"""What is drilled is chosen, and what it needs is looked for, before a system is started for it."""

import sys
from typing import Any

import pytest

from deploy.host.machine import LocalError
from trials.drills import __main__ as drills
from trials.drills.faults import FAULTS


def test_faults_are_chosen_by_words_of_their_names() -> None:
    assert drills.chosen([]) == FAULTS
    assert [each.name for each in drills.chosen(["KAFKA", "alerting"])] == ["Kafka stopped", "alerting stopped"]
    with pytest.raises(LocalError, match="no fault has 'flood' in its name: there are fusion stopped; Kafka stopped; "):
        drills.chosen(["flood"])


@pytest.mark.parametrize("missing", ["fault", "prometheus"])
def test_nothing_is_started_for_a_drill_that_cannot_be(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> dict[str, str]:
        raise LocalError("there is no prometheus here")

    def started(*_: Any) -> None:
        raise AssertionError("a system is started")

    monkeypatch.setattr(drills, "find_programs", none if missing == "prometheus" else dict)
    monkeypatch.setattr(drills, "_line", started)
    monkeypatch.setattr(sys, "argv", ["drills", *(["nothing"] if missing == "fault" else [])])
    with pytest.raises(LocalError, match="no prometheus" if missing == "prometheus" else "no fault"):
        drills._main()
