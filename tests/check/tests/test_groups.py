"""A made-up project with a costly fixture, whose tests are spread over workers."""

from pathlib import Path

import pytest

from tests.check.groups import Ties
from tests.check.tests.projects import Ran, run_project

CONFTEST = """
import os
from pathlib import Path
import pytest
from tests.check.groups import Groups

pytest_plugins = ["tests.check.groups"]

def tell(word):
    with Path("told").open("a") as file:
        file.write(f"{word}:{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}\\n")

def pytest_configure(config):
    for line in ("kills: comes last", "shares(group): asks while it runs"):
        config.addinivalue_line("markers", line)
    shared = {"house": ("made::costly",), "second": ("made::other",)}
    seconds = {"made/test_late.py": 50.0, "made/test_a.py": 5.0}
    config.pluginmanager.register(Groups(shared, (), lambda: seconds, ["house"]), "groups")

@pytest.fixture(scope="session")
def costly():
    tell("made")
    yield
    tell("ended")

@pytest.fixture(scope="session")
def other():
    tell("other")

@pytest.fixture(autouse=True)
def told(request):
    yield
    tell(request.node.name)
"""
PROJECT = {
    "made/conftest.py": CONFTEST,
    "made/test_a.py": "import pytest\n@pytest.mark.kills\ndef test_kill(costly): pass\ndef test_after(costly): pass\n",
    "made/test_b.py": "def test_b1(costly): pass\ndef test_b2(costly): pass\n",
    "made/test_c.py": "def test_c1(): pass\ndef test_c2(costly): pass\n",
    "made/test_early.py": "".join(f"def test_early{n}(): pass\n" for n in range(4)),
    "made/test_late.py": "def test_late1(): pass\ndef test_late2(): pass\n",
}
TIED = """
import pytest

@pytest.fixture(scope="module")
def page(): pass

def test_with(page, costly): pass
def test_without(page): pass
"""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run_project(tmp_path_factory.mktemp("alone"), PROJECT)


@pytest.fixture(scope="module")
def spread(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run_project(tmp_path_factory.mktemp("spread"), PROJECT, "-n", "3", "--dist", "loadgroup")


def names_in(ran: Ran) -> list[str]:
    return [word.partition(":")[0] for word in ran.told]


def workers_of(ran: Ran, *names: str) -> set[str]:
    return {word.partition(":")[2] for word in ran.told if word.partition(":")[0].startswith(names)}


def test_what_shares_runs_on_one_worker_in_order_and_who_kills_comes_last(spread: Ran) -> None:
    ran = spread
    assert ran.status == 0, ran.output
    assert names_in(ran).count("made") == 1
    house = [name for name in names_in(ran) if name in {"test_b1", "test_b2", "test_c2", "test_kill", "test_after"}]
    assert house == ["test_b1", "test_b2", "test_c2", "test_kill", "test_after"]
    assert len(workers_of(ran, *house)) == len(workers_of(ran, "test_early")) == len(workers_of(ran, "test_late")) == 1


def test_a_shared_fixture_ends_with_its_last_user(alone: Ran) -> None:
    assert alone.status == 0, alone.output
    names = names_in(alone)
    assert names[-1] != "ended"
    assert names[names.index("ended") - 1] == "test_after"


def test_prompt_groups_start_first_and_then_what_takes_longest(alone: Ran, tmp_path: Path) -> None:
    house = ["test_b1", "test_b2", "test_c2", "test_kill", "test_after"]
    rest = ["test_late1", "test_late2", "test_c1", *(f"test_early{n}" for n in range(4))]
    handed_out = run_project(tmp_path, PROJECT, "-n1", "--dist=loadgroup")
    for ran in (alone, handed_out):
        assert [name for name in names_in(ran) if name.startswith("test_")] == [*house, *rest]


def test_a_fixture_of_a_module_keeps_its_users_in_the_group(tmp_path: Path) -> None:
    ran = run_project(tmp_path, {**PROJECT, "made/test_d.py": TIED}, "--only-group=house")
    assert {"test_with", "test_without"} <= set(names_in(ran))
    assert "test_c1" not in names_in(ran)


def test_a_fixture_of_a_module_is_anew_in_each_file(tmp_path: Path) -> None:
    page = "import pytest\n@pytest.fixture(scope='module')\ndef page(): pass\n"
    files = {"made/test_d.py": "def test_d(page, costly): pass\n", "made/test_e.py": "def test_e(page): pass\n"}
    ran = run_project(tmp_path, {**PROJECT, "made/conftest.py": CONFTEST + page, **files}, "--only-group=house")
    assert "test_d" in names_in(ran)
    assert "test_e" not in names_in(ran)


def test_groups_are_one_where_a_test_shares_of_both(tmp_path: Path) -> None:
    both = "def test_both(costly, other): pass\ndef test_other(other): pass\n"
    ran = run_project(tmp_path, {**PROJECT, "made/test_d.py": both}, "--only-group=house")
    assert {"test_both", "test_other", "test_b1"} <= set(names_in(ran))


def test_a_mark_says_what_a_test_asks_for_while_it_runs(tmp_path: Path) -> None:
    asks = "import pytest\n@pytest.mark.shares('second')\ndef test_asks(request): request.getfixturevalue('other')\n"
    ran = run_project(tmp_path, {**PROJECT, "made/test_d.py": asks}, "--only-group=second")
    assert names_in(ran) == ["other", "test_asks"]


def test_a_fixture_of_the_session_in_no_group_is_refused(tmp_path: Path) -> None:
    fixture = CONFTEST.replace("def other()", "def another()")
    uses = {"made/conftest.py": fixture, "made/test_d.py": "def test_another(another): pass\n"}
    ran = run_project(tmp_path, {**PROJECT, **uses})
    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert "made::another is shared: tests/check/groups.py has to say by which group" in ran.output


def test_keys_are_tied_through_others() -> None:
    ties = Ties()
    for keys in (["a", "b"], ["c", "d"], ["b", "c"], ["e"]):
        ties.tie(keys)
    assert len({ties.root(key) for key in "abcd"}) == 1
    assert ties.root("e") == "e"
