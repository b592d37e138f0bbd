"""A dear law gets its share of examples in each profile, and the check repeats itself."""

import subprocess
import sys

import pytest

from deploy.host.machine import ROOT

SAYS = """
import tests.examples
tests.examples.register_profiles()
from hypothesis import settings
print(tests.examples.examples(300), tests.examples.examples(1), settings().max_examples, settings().derandomize)
"""


def said(**environment: str) -> str:
    """Return what a process of its own says of its profile."""
    command = [sys.executable, "-c", SAYS]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    ("profile", "expected"),
    [("check", "100 1 50 True"), ("random", "300 1 50 False"), ("quick", "30 1 5 True")],
)
def test_each_profile_has_its_share(profile: str, expected: str) -> None:
    assert said(HYPOTHESIS_PROFILE=profile) == expected


def test_the_check_is_what_one_gets() -> None:
    assert said() == said(HYPOTHESIS_PROFILE="check")
