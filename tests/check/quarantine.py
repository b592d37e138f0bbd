"""A plugin of pytest: a test that is listed in ``tests/quarantine.txt`` may fail, for seven days.

A line is a test, the date on which it was listed, and a reason. The check fails on a line that is older, that names
no test, or that does not read so: ``python -m tests.check.quarantine``.
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.check.ledger import ROOT

LISTED = ROOT / "tests/quarantine.txt"
DAYS_MAX = 7
LINE = re.compile(r"(?P<test>\S.*?)\s+(?P<since>\d{4}-\d\d-\d\d)\s+(?P<reason>\S.*)")


@dataclass(frozen=True)
class Quarantined:
    """A test that may fail, with any parameters where it is named without."""

    test: str
    since: date
    reason: str

    def covers(self, test: str) -> bool:
        return test == self.test or test.startswith(f"{self.test}[")


def read_listed(path: Path = LISTED) -> list[Quarantined]:
    """Return the lines of the list; ValueError where one does not read as such."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_quarantined(line.strip()) for line in lines if line.strip() and not line.startswith("#")]


def _quarantined(line: str) -> Quarantined:
    if (parts := LINE.fullmatch(line)) is None:
        raise ValueError(f"a line of the quarantine is a test, a date such as 2026-03-31, and a reason; not {line!r}")
    return Quarantined(parts["test"], date.fromisoformat(parts["since"]), parts["reason"])


def faults(listed: list[Quarantined], today: date, root: Path = ROOT) -> Iterator[str]:
    """Yield what is wrong with the list `today`."""
    for each in listed:
        if today - each.since > timedelta(days=DAYS_MAX):
            yield f"{each.test} is in quarantine since {each.since}, longer than {DAYS_MAX} days: mend or delete it"
        if each.since > today:
            yield f"{each.test} is in quarantine since {each.since}, which is yet to come"
        if not is_test(each.test, root):
            yield f"{each.test} is in quarantine, and there is no such test"


def is_test(test: str, root: Path) -> bool:
    """Whether a file has a test of this name; parameters are not looked at."""
    file, *names = test.partition("[")[0].split("::")
    if not names or not (root / file).is_file():
        return False
    body = ast.parse((root / file).read_text(encoding="utf-8")).body
    for name in names:
        kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        found = [node for node in body if isinstance(node, kinds) and node.name == name]
        if not found:
            return False
        body = found[-1].body
    return True


class Quarantine:
    """Lets listed tests fail, and tells what they did."""

    def __init__(self, listed: list[Quarantined]) -> None:
        self.listed = listed
        self.outcomes: dict[str, str] = {}

    def _covering(self, test: str) -> Quarantined | None:
        return next((each for each in self.listed if each.covers(test)), None)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if each := self._covering(item.nodeid):
                item.add_marker(pytest.mark.xfail(reason=f"in quarantine: {each.reason}", strict=False))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._covering(report.nodeid) and hasattr(report, "wasxfail"):
            self.outcomes[report.nodeid] = "passed" if report.passed else "FAILED"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.outcomes:
            terminalreporter.section("in quarantine: mend these")
        for test, outcome in self.outcomes.items():
            if each := self._covering(test):
                terminalreporter.line(f"{outcome} {test}, since {each.since}: {each.reason}")


def pytest_configure(config: pytest.Config) -> None:
    if not config.pluginmanager.has_plugin("quarantine"):
        config.pluginmanager.register(Quarantine(read_listed()), "quarantine")


def main(today: date, path: Path = LISTED) -> int:
    """Say what is wrong with the list; return the exit status."""
    try:
        found = list(faults(read_listed(path), today))
    except ValueError as error:
        found = [str(error)]
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(date.today()))
