"""A tiny project with mutations of each kind: what is said of them, and that nothing of them is left."""

import subprocess
from pathlib import Path

import pytest

from trials.mutations.mutation import Mutation
from trials.mutations.planting import Copy, Outcome

CODE = "def half(number):\n    return number / 2\n\n\ndef last(items):\n    return items[-1]\n"
TEST = "from code_of_it import half, last\n\n\ndef test_half():\n    assert half(4) == 2\n    assert last([1]) == 1\n"
HUNK = (
    "--- a/code_of_it.py\n+++ b/code_of_it.py\n@@ -1,3 +1,3 @@\n def half(number):\n-    return {}\n+    return {}\n \n"
)
WRONG, UNNOTICED, STALE = (
    HUNK.format(was, now)
    for was, now in (("number / 2", "number / 4"), ("number / 2", "number * 0.5"), ("number * 1", "number * 2"))
)
SLIP_IN_IMPORT = WRONG.replace("number / 4", "number / (")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("made-up") / "project"
    (project / "tests").mkdir(parents=True)
    (project / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\npythonpath = ["."]\nmarkers = ["jvm: no", "slow: no"]\n'
    )
    (project / "code_of_it.py").write_text(CODE)
    (project / "tests" / "test_it.py").write_text(TEST)
    (project / "tests" / "test_broken.py").write_text("def test_it():\n    raise AssertionError\n")
    (project / ".gitignore").write_text("ignored.py\n__pycache__\n")
    (project / "ignored.py").write_text("")
    subprocess.run(["git", "init", "-q", project], check=True)
    return project


@pytest.fixture(scope="module")
def copy(project: Path) -> Copy:
    return Copy.of(project, project.with_name("copy"))


def mutation(tmp_path: Path, diff: str, test: str = "tests/test_it.py") -> Mutation:
    (tmp_path / "01-it.patch").write_text(f"# It is wrong.\n# Caught by {test}\n{diff}")
    return Mutation.of(tmp_path / "01-it.patch")


@pytest.mark.parametrize(
    ("diff", "outcome", "said"),
    [
        (WRONG, "caught", ""),
        (UNNOTICED, "ESCAPED", "1 passed"),
        (STALE, "no longer applies", "patch does not apply"),
        (SLIP_IN_IMPORT, "not judged", "SyntaxError"),
    ],
)
def test_what_becomes_of_a_mutation(tmp_path: Path, copy: Copy, diff: str, outcome: Outcome, said: str) -> None:
    verdict = copy.judge(mutation(tmp_path, diff))
    assert (verdict.outcome, said in verdict.said) == (outcome, True)
    assert str(verdict).startswith(f"{outcome}: 01-it: It is wrong.")


def test_a_mutation_whose_tests_fail_without_it_is_not_judged(tmp_path: Path, copy: Copy) -> None:
    verdict = copy.judge(mutation(tmp_path, WRONG, "tests/test_broken.py"))
    assert verdict.outcome == "not judged"
    assert verdict.said.startswith("without it its tests do not pass\n")


def test_nothing_of_a_mutation_is_left(tmp_path: Path, project: Path, copy: Copy) -> None:
    """Neither in the copy, for the next one, nor ever in the checkout, whose files may be newer than its commits."""
    outcomes = [copy.judge(mutation(tmp_path, diff)).outcome for diff in (WRONG, UNNOTICED, WRONG)]
    assert outcomes == ["caught", "ESCAPED", "caught"]
    for folder in (project, copy.folder):
        assert (folder / "code_of_it.py").read_text() == CODE
    assert not (copy.folder / "ignored.py").exists()
