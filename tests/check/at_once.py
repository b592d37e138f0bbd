"""A plugin of pytest: a failure is told when it happens, for who waits for the end of a check, or sees none."""

from typing import Any

import pytest


class AtOnce:
    """Tells the end of each failure; pytest tells all of it at the end."""

    LINES = 12

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            terminal: Any = self.config.pluginmanager.get_plugin("terminalreporter")
            said = report.longreprtext.splitlines()[-self.LINES :]
            terminal.write_line("\n".join(["", f"{report.nodeid} failed in its {report.when}", *said]), red=True)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None):  # else what pytest shows is near enough
        config.pluginmanager.register(AtOnce(config), "at-once")
