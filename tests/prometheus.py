"""Prometheus and its promtool; where they are not, the test is skipped, and in CI it fails."""

from pathlib import Path

from tests.needs import found


def find_prometheus() -> str:
    """Return the program."""
    return found("prometheus")


def find_promtool() -> str:
    """Return the program, which the same package has."""
    return str(Path(find_prometheus()).with_name("promtool"))
