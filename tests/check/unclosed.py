"""Judges at the end of a session what nobody closed.

The garbage collector finds it late, while any other test runs: as an error it would fail that one. With
``PYTHONTRACEMALLOC=20`` the report says where each was made.
"""

import gc
import warnings
from typing import Any

import pytest
from _pytest.tracemalloc import tracemalloc_message

KEY = "unclosed"


class Unclosed:
    """What nobody closed, in this process and in its workers."""

    def __init__(self, *, has_workers: bool) -> None:
        self._has_workers = has_workers
        self.told: list[str] = []

    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage, nodeid: str) -> None:
        """Keep what was told while a test ran, for the end. Of its own tests a worker judges, and hands it over."""
        if issubclass(warning_message.category, ResourceWarning) and not self._has_workers:
            made = tracemalloc_message(warning_message.source)
            self.told.append(f"{warning_message.message} (found in {nodeid or 'no test'})\n{made}")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker hands over."""
        self.told += getattr(node, "workeroutput", {}).get(KEY, [])

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Any:
        """Find what is left too, and fail the session for all that was found."""
        with warnings.catch_warnings(record=True) as left:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", ResourceWarning)
            gc.collect()
        for each in left:
            self.pytest_warning_recorded(each, "")
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[KEY] = self.told
        elif self.told and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return (yield)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what it was."""
        if self.told:
            terminalreporter.section("never closed", red=True, bold=True)
            terminalreporter.write("\n".join(self.told) + "\n")


def register(config: pytest.Config) -> None:
    """Let it judge the session of `config`."""
    config.pluginmanager.register(Unclosed(has_workers=bool(config.getoption("numprocesses", None))), KEY)
