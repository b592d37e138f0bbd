"""A plugin of pytest: what each file and each slow test took, kept with ``--ledger FILE`` and told at the end."""

from collections import defaultdict
from pathlib import Path

import pytest

from tests.check.ledger import SLOW_FILE_S, SLOW_TEST_S, Phases, Run, read_run, write_run


class Durations:
    """Sums up what the tests take; with xdist in the process that hands them out, which hears of all."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.files: dict[str, Phases] = defaultdict(Phases)
        self.tests: dict[str, Phases] = defaultdict(Phases)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid
        for sums, key in ((self.files, name.partition("::")[0]), (self.tests, name)):
            sums[key] = sums[key].plus(report.when, report.duration)

    def pytest_sessionfinish(self) -> None:
        if self.path is not None:
            slow = {name: each for name, each in self.tests.items() if each.seconds > SLOW_TEST_S}
            write_run(Run(self.path.stem, read_run(self.path).seconds, dict(self.files), slow), self.path)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        slow = [(name, each) for name, each in self.files.items() if each.seconds > SLOW_FILE_S]
        if not slow:
            return
        terminalreporter.section(f"files over {SLOW_FILE_S:.0f} s")
        terminalreporter.line(f"{'all':>7} {'setup':>7} {'call':>7} {'teardown':>8}")
        for name, each in sorted(slow, key=lambda pair: -pair[1].seconds):
            terminalreporter.line(
                f"{each.seconds:7.1f} {each.setup:7.1f} {each.call:7.1f} {each.teardown:8.1f}  {name}"
            )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--ledger", type=Path, metavar="FILE", help="keep what files and slow tests took in this file")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Durations(config.getoption("ledger")), "durations")
