"""What a run says: which faults are survived, when it is good, and what the command takes."""

import argparse
from dataclasses import replace

import pytest

from deploy.host.machine import LocalError
from trials.chaos.__main__ import chosen, duration_s
from trials.chaos.balance import Balance
from trials.chaos.faults.registry import FAULTS
from trials.chaos.report import RECOVERS_WITHIN_S, Outcome, balance_table, faults_table
from trials.chaos.run import Found

KILLED = Outcome("kill", 1.0, 0.5, recovered_s=4.0, load_per_core=1.5)
NOT_TRIED = Outcome("partition", 2.0, not_tried="nft is not here")
EVEN = Balance(9, 1, 0, 4, [], [], [], [], [], [])


@pytest.mark.parametrize(
    ("outcome", "survived"),
    [
        (KILLED, True),
        (replace(KILLED, recovered_s=RECOVERS_WITHIN_S + 0.1), False),
        (replace(KILLED, recovered_s=None), False),
        (replace(KILLED, went_wrong="started again, too: console"), False),
        (NOT_TRIED, True),  # and not held against the machine
    ],
)
def test_a_run_is_good_where_each_fault_that_was_tried_is_survived(outcome: Outcome, survived: bool) -> None:
    assert Found([KILLED, outcome], EVEN).is_good == survived


def test_a_run_whose_balance_is_not_even_is_not_good() -> None:
    assert not Found([KILLED], replace(EVEN, twice=["m-1"])).is_good
    assert not Found([KILLED], None).is_good


def test_the_tables_count_by_fault() -> None:
    slow = replace(KILLED, lasted_s=8.0, recovered_s=40.0, load_per_core=3.0)
    lines = faults_table([KILLED, slow, NOT_TRIED, Outcome("hang", 3.0)]).splitlines()
    assert lines[2:] == [
        "| hang | 1 | 0 | 0 |  | never | 0.0 |",
        "| kill | 2 | 1 | 8 | 22.0 | 40.0 | 3.0 |",
        "| partition | not tried: nft is not here |  |  |  |  |  |",
    ]
    assert "| missing | 2 |" in balance_table(replace(EVEN, missing=["m-1", "m-2"]))


def test_names_of_faults_choose_some_and_say_which_there_are() -> None:
    assert chosen([]) == FAULTS
    assert {each.name for each in chosen(["kill -9 of ingest", "rebuild"])} == {"kill -9 of ingest", "rebuild"}
    with pytest.raises(LocalError, match="no fault has 'flood' in its name: there are kill -9 of ingest; "):
        chosen(["flood"])
    assert len({each.name for each in FAULTS}) == len(FAULTS)


def test_a_duration_has_a_unit() -> None:
    assert [duration_s(each) for each in ("90s", "10m", "8h")] == [90, 600, 28_800]
    with pytest.raises(argparse.ArgumentTypeError, match="'10' is no duration"):
        duration_s("10")
