"""A plugin of pytest: which tests were skipped, and why. In CI a skip fails the run unless ``tests/skips.txt`` has it.

A line of that file is a pattern of tests' names, and words that the reason of the skip has.
"""

import os
from collections import defaultdict
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.check.ledger import ROOT

ALLOWED = ROOT / "tests/skips.txt"


@dataclass(frozen=True)
class Allowed:
    """Tests that may be skipped for a reason."""

    tests: str
    words: str

    def allows(self, test: str, reason: str) -> bool:
        return fnmatchcase(test, self.tests) and self.words in reason


def read_allowed(path: Path = ALLOWED) -> list[Allowed]:
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    pairs = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    if short := [pair for pair in pairs if len(pair) < 2]:
        raise pytest.UsageError(f"{path}: {short[0][0]} has no words of a reason behind it")
    return [Allowed(*pair) for pair in pairs]


class Skips:
    """Hears of skipped tests; with xdist in the process that hands them out."""

    def __init__(self, allowed: list[Allowed], *, are_errors: bool) -> None:
        self.allowed, self.are_errors = allowed, are_errors
        self.reasons: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self._take(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._take(report)

    def _take(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        self.reasons[report.nodeid] = reason.removeprefix("Skipped: ")

    def refused(self) -> list[str]:
        """Return the skipped tests that no line allows to be."""
        return [
            test for test, reason in self.reasons.items() if not any(each.allows(test, reason) for each in self.allowed)
        ]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.are_errors and self.refused() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.reasons:
            return
        by_reason = defaultdict(list)
        for test, reason in self.reasons.items():
            by_reason[reason].append(test)
        terminalreporter.section(f"{len(self.reasons)} skipped")
        for reason, tests in by_reason.items():
            more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
            terminalreporter.line(f"{tests[0]}{more}: {reason}")
        if self.are_errors and (refused := self.refused()):
            terminalreporter.line(f"FAILED: tests/skips.txt does not allow to skip {', '.join(refused)}", red=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    said = "a skip that tests/skips.txt does not allow fails the run; so it is where CI is set"
    parser.addoption("--skips-are-errors", action="store_true", default=bool(os.environ.get("CI")), help=said)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        are_errors = config.getoption("skips_are_errors")
        config.pluginmanager.register(Skips(read_allowed(), are_errors=are_errors), "skips")
