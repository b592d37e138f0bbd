"""A patch says what is wrong and who notices it."""

import subprocess
from pathlib import Path

import pytest

from deploy.host.machine import ROOT, LocalError
from trials.mutations.mutation import Mutation, mutations_in

DIFF = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n"
FOLDER = ROOT / "trials" / "mutations"


def written(folder: Path, name: str, head: str) -> Path:
    (folder / name).write_text(f"{head}\n{DIFF}")
    return folder / name


def test_the_first_two_lines_say_what_is_wrong_and_which_tests_notice_it(tmp_path: Path) -> None:
    mutation = Mutation.of(written(tmp_path, "07-late.patch", "# It is late.\n# Caught by tests/a.py tests/b.py"))
    assert (mutation.name, mutation.sentence) == ("07-late", "It is late.")
    assert mutation.tests == ("tests/a.py", "tests/b.py")


@pytest.mark.parametrize(
    "head", ["", "# It is late.", "# Caught by tests/a.py\n# It is late.", "# It is late.\n# Caught by", "# x\n# y"]
)
def test_a_patch_that_does_not_say_it_is_refused(tmp_path: Path, head: str) -> None:
    with pytest.raises(LocalError, match=r"07-late\.patch begins with .*: it must begin with '# What is wrong\.'"):
        Mutation.of(written(tmp_path, "07-late.patch", head))


def test_those_with_a_word_in_their_names_are_meant(tmp_path: Path) -> None:
    for name in ("02-b", "01-a", "03-ab"):
        written(tmp_path, f"{name}.patch", "# It is late.\n# Caught by tests/a.py")
    assert [each.name for each in mutations_in(tmp_path)] == ["01-a", "02-b", "03-ab"]
    assert [each.name for each in mutations_in(tmp_path, ["b"])] == ["02-b", "03-ab"]
    with pytest.raises(LocalError, match="no patch with x or y in its name"):
        mutations_in(tmp_path, ["x", "y"])


def test_ours_name_tests_that_there_are() -> None:
    for mutation in mutations_in(FOLDER):
        for file, _, test in (each.partition("::") for each in mutation.tests):
            assert f"def {test}" in (ROOT / file).read_text(encoding="utf-8"), mutation.name


def test_ours_can_be_planted_in_the_code_as_it_is() -> None:
    patches = [str(mutation.patch) for mutation in mutations_in(FOLDER)]
    for patch in patches:  # one by one: some change the same lines
        subprocess.run(["git", "apply", "--check", patch], cwd=ROOT, check=True)
