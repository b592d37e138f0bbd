"""What a quick check runs, in a made-up project."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.check import quick
from tests.check.quick import TESTS_S, Choice, changed_files, choose
from tests.check.reach import distances

FILES = {
    "quickly/__init__.py": "",
    "quickly/core.py": "",
    "quickly/above.py": "from quickly import core\n",
    "quickly/apart.py": "",
    "quickly_tests/conftest.py": "",
    "quickly_tests/far/conftest.py": "from quickly import above\n",
    "quickly_tests/far/test_far.py": "",
    "quickly_tests/near/test_core.py": "import quickly.core\n",
    "quickly_tests/near/test_above.py": "from quickly.above import core\n",
    "quickly_tests/near/test_apart.py": "from quickly import apart\nPAGE = 'rules.yml'\n",
    "deploy/rules.yml": "",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def reached(project: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, int]]:
    return lambda *changed: distances(changed, project, ["quickly", "quickly_tests"])


def test_tests_are_reached_by_imports_and_by_conftests(reached: Callable[..., dict[str, int]]) -> None:
    assert reached("quickly/core.py") == {
        "quickly_tests/near/test_core.py": 1,
        "quickly_tests/near/test_above.py": 2,
        "quickly_tests/far/test_far.py": 3,
    }


def test_a_changed_test_reaches_itself(reached: Callable[..., dict[str, int]]) -> None:
    assert reached("quickly_tests/near/test_apart.py", "quickly/apart.py") == {"quickly_tests/near/test_apart.py": 0}
    assert reached("quickly_tests/far/conftest.py") == {"quickly_tests/far/test_far.py": 1}


def test_a_file_that_is_no_module_is_reached_by_its_name(reached: Callable[..., dict[str, int]]) -> None:
    assert reached("deploy/rules.yml") == {"quickly_tests/near/test_apart.py": 1}
    assert reached("deploy/s.yml", "deploy/my-rules.yml") == {}


def git(root: Path, *command: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *who, *command], cwd=root, check=True, capture_output=True)


def test_a_change_is_what_differs_from_where_the_branch_left_main(tmp_path: Path) -> None:
    for name in ("kept", "committed", "edited", "deleted", "ours"):
        (tmp_path / name).write_text("", encoding="utf-8")
    for command in (["init"], ["add", "."], ["commit", "-m", "begin"], ["switch", "-c", "mine"]):
        git(tmp_path, *command)
    (tmp_path / "committed").write_text("1", encoding="utf-8")
    (tmp_path / "deleted").unlink()
    git(tmp_path, "commit", "-am", "change")
    (tmp_path / "edited").write_text("1", encoding="utf-8")
    (tmp_path / "new one").write_text("1", encoding="utf-8")
    git(tmp_path, "switch", "main")
    git(tmp_path, "switch", "mine")
    assert changed_files(tmp_path) == ["committed", "edited", "new one"]


def make(root: Path, *names: str, text: str = "") -> None:
    for name in names:
        (root / name).write_text(text, encoding="utf-8")


def test_the_nearest_tests_that_fit_are_chosen_and_those_that_changed(tmp_path: Path) -> None:
    make(tmp_path, "near", "large", "mid", "far", "changed")
    reached = {"far": 3, "near": 1, "large": 2, "mid": 2, "changed": 0}
    seconds = {"near": 1.0, "large": TESTS_S, "mid": 2.0, "far": TESTS_S - 4, "changed": 5 * TESTS_S}
    chosen = choose(reached, ["changed", "unreached"], seconds, tmp_path)
    assert chosen == Choice(changed=["changed"], reached=["near", "mid", "far"], left=["large"])


def test_of_tests_as_near_those_in_the_folders_of_the_change_come_first(tmp_path: Path) -> None:
    names = ["a/test_a.py", "tests/core/deep/test_b.py", "tests/core/test_a.py", "tests/core_too/test_a.py"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    make(tmp_path, *names)
    chosen = choose(dict.fromkeys(names, 1), ["README.md", "library/core/deep/sums.py"], {}, tmp_path)
    assert chosen.reached == [names[1], names[2], names[0], names[3]]


def test_what_nobody_knows_takes_its_share_too(tmp_path: Path) -> None:
    names = [f"test_{n:03}" for n in range(200)]
    make(tmp_path, *names)
    chosen = choose(dict.fromkeys(names, 1), [], {}, tmp_path)
    assert chosen.reached == names[: round(TESTS_S / quick.UNKNOWN_S)]
    assert chosen.left == names[len(chosen.reached) :]


@pytest.mark.parametrize("mark", ["jvm", "slow", "night"])
def test_files_of_which_nothing_is_quick_are_not_chosen(mark: str, tmp_path: Path) -> None:
    make(tmp_path, "long", text=f"import pytest\n\npytestmark = [pytest.mark.{mark}]\n")
    assert choose({"long": 1}, [], {}, tmp_path) == choose({"long": 0}, ["long"], {}, tmp_path) == Choice([], [], [])


def test_what_changed_is_run_to_its_end_and_what_is_reached_until_the_time_is_over() -> None:
    changed, reached = quick.tests(Choice(["a.py"], ["b.py"], ["c.py"]), 7.0)
    assert "--until=7.0" not in changed.commands[0]
    assert "--until=7.0" in reached.commands[0]
    assert (changed.commands[0][-1], reached.commands[0][-1]) == ("a.py", "b.py")
    assert quick.tests(Choice([], [], ["c.py"]), 7.0) == []


def test_python_that_changed_is_linted() -> None:
    commands = [" ".join(command) for command in quick.lint(["a.py", "b.md"]).commands]
    assert len([each for each in commands if each.endswith(" a.py")]) == 2
    assert len(quick.lint(["b.md"]).commands) == len(commands) - 2
