"""A plugin of pytest: ``--until TIME`` begins no test after that time, and says how many it left out.

A run that starts late still begins tests for a while: else it would pass without a test.
"""

import time
from collections.abc import Callable

import pytest

#: Tests begin at least this long, however late the first is.
LEAST_S = 10.0


class Until:
    """Leaves out what comes too late; with xdist each worker does, and the process that hands out tests sums up."""

    def __init__(self, end_s: float, clock: Callable[[], float] = time.time) -> None:
        self.end_s, self.clock = end_s, clock
        self.left, self._first_s = 0, float("inf")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        now_s = self.clock()
        self._first_s = min(self._first_s, now_s)
        if now_s <= max(self.end_s, self._first_s + LEAST_S):
            return None
        self.left += 1
        item.session._setupstate.teardown_exact(nextitem)
        return True

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            output["left"] = self.left

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        self.left += getattr(node, "workeroutput", {}).get("left", 0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.left:
            terminalreporter.section(f"{self.left} tests left out, for the time was over", yellow=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--until", type=float, metavar="TIME", help="begin no test after this time, in seconds since 1970")


def pytest_configure(config: pytest.Config) -> None:
    if (end_s := config.getoption("until")) is not None:
        config.pluginmanager.register(Until(end_s), "until")
