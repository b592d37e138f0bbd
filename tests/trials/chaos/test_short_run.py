"""The fault suite in short: a few faults on the whole system, after which the balance is even."""

from pathlib import Path

import pytest

from trials.chaos.faults.registry import FAULTS
from trials.chaos.run import Run

pytestmark = [pytest.mark.jvm, pytest.mark.night]

HOST_CLOCK = "clock of the host an hour behind"  # takes a C compiler
SHORT = (
    HOST_CLOCK,
    "SIGSTOP of the broker",
    "clock of a gateway an hour behind",
    "kill -9 of Spark's Python workers",
    "kill -9 of alerting",
    "kill -9 of ingest",
    "poison on every topic",
)


def test_a_few_faults_lose_nothing_and_the_line_works_again(tmp_path: Path) -> None:
    chosen = [each for each in FAULTS if each.name in SHORT]
    assert len(chosen) == len(SHORT)
    found = Run(tmp_path, chosen, seed=18, soak_s=0).run()
    not_tried = {each.fault for each in found.outcomes if each.not_tried}
    assert not_tried <= {HOST_CLOCK}
    assert {each.fault for each in found.outcomes if each.recovered_s is not None} == {*SHORT, "none"} - not_tried
    assert found.balance is not None
    assert found.balance.is_even, found.balance.shortened()
    assert found.balance.matches > 0
    assert found.balance.late > 0  # of the gateway whose clock was behind
