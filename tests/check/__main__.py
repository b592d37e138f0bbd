"""``python -m tests.check [all]``: run the stages of `make check`, or of `make check-all`, and sum up."""

import argparse
import sys

from tests.check import ledger
from tests.check.runner import Outcome, is_well, keep, run_stages, summary
from tests.check.stages import SET_UP, check_stages, night_stages


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.check", description=__doc__)
    parser.add_argument("which", nargs="?", choices=["all"], help="also what takes too long for every change")
    parser.add_argument("--set-up", type=float, metavar="SECONDS", help="what the set-up took, which is done")
    asked = parser.parse_args(arguments)
    budgets = ledger.budgets(ledger.read_ledger())
    outcomes = [] if asked.set_up is None else [Outcome(SET_UP, asked.set_up, is_passed=True)]
    stages = check_stages() + (night_stages() if asked.which else [])
    outcomes += run_stages(stages, keep_going=asked.which is not None)
    for each in outcomes:
        keep(each)
    print("", *summary(outcomes, budgets), sep="\n", flush=True)
    return 0 if is_well(outcomes, budgets, may_grow=asked.which is None) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
