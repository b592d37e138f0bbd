"""How many examples a profile tries, and whether they are the same each time."""

from pathlib import Path

import pytest

from tests.check.profiles import QUICK_EXAMPLES
from tests.check.tests.projects import run_project

PROJECT = {
    "made/conftest.py": 'pytest_plugins = ["tests.check.profiles"]\n',
    "made/test_a.py": """
from pathlib import Path
from hypothesis import given, settings, strategies as st

def tell(word):
    with Path("told").open("a") as file:
        file.write(f"{word}\\n")

@given(st.integers())
def test_plain(number): tell(f"plain={number}")

@settings(max_examples=30)
@given(st.integers())
def test_own(number): tell(f"own={number}")

class TestWithin:
    @settings(max_examples=30)
    @given(number=st.integers())
    def test_method(self, number): tell(f"method={number}")
""",
}


def tried(folder: Path, profile: str) -> dict[str, list[str]]:
    folder.mkdir()
    ran = run_project(folder, PROJECT, "-p", "hypothesispytest", f"--hypothesis-profile={profile}")
    assert ran.status == 0, ran.output
    words = [word.split("=") for word in ran.told]
    return {name: [number for test, number in words if test == name] for name in ("plain", "own", "method")}


@pytest.mark.parametrize(("profile", "plain", "own"), [("check", 50, 30), ("quick", QUICK_EXAMPLES, QUICK_EXAMPLES)])
def test_a_profile_bounds_the_examples_and_repeats_them(profile: str, plain: int, own: int, tmp_path: Path) -> None:
    first, second = tried(tmp_path / "1", profile), tried(tmp_path / "2", profile)
    assert {name: len(numbers) for name, numbers in first.items()} == {"plain": plain, "own": own, "method": own}
    assert first == second


def test_random_examples_differ_each_time(tmp_path: Path) -> None:
    first, second = tried(tmp_path / "1", "random"), tried(tmp_path / "2", "random")
    assert {name: len(numbers) for name, numbers in first.items()} == {"plain": 50, "own": 30, "method": 30}
    assert first != second
