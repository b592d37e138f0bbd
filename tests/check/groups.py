"""A plugin of pytest: which tests one worker runs one after the other, which unit of them starts first, who comes last.

A unit is a file, so no fixture of a module is made twice. Tests that share an expensive fixture of the session are
one unit, a group, whatever their file: nothing expensive is made twice either, and it ends with its last user.
"""

import json
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import pytest
from _pytest.fixtures import FixtureDef
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.check.ledger import known_seconds

#: Group to the expensive fixtures that its tests share, each with the folder of its conftest. These groups start in
#: this order; one that is not in PROMPT starts when its turn comes by what it takes.
SHARED: Mapping[str, tuple[str, ...]] = {
    "system": ("tests::system", "tests::neutrinos"),
    "kafka": ("tests::kafka",),
    "italy": ("tests/acceptance::italy_on_spark", "tests/acceptance::posted_on_spark"),
    "italy in one": ("tests/acceptance::italy_in_one", "tests/acceptance::posted_in_one"),
    "console": (
        "tests/console::browser",
        *("tests/console::line", "tests/console::console"),
        *("tests/console::watched", "tests/console::console_of_watched"),
    ),
    "spark": ("tests/coincide/spark::spark",),
    "job session": ("tests/integration::job_session",),
    "postgresql": ("tests/services/alerting::server", "tests/services/alerting::empty_template"),
}
PROMPT = ("system", "kafka")
#: Fixtures of the session that each worker may make anew, for they take no more than a few seconds.
CHEAP = (
    "tests/services/alerting::empty_file",
    "tests::one_process",
    "tests::neutrinos_in_one",
)

Seconds = Callable[[], Mapping[str, float]]


class Units(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out groups, and files of tests in no group, in the order of the collection.

    Each worker writes which tests are in a group into a file of its own in `folder`. xdist's own scheduler of groups
    looks for them in the names of tests, where xdist 3.8 cannot put them with pytest 9.2.
    """

    def __init__(self, config: pytest.Config, log: Producer | None, folder: Path) -> None:
        super().__init__(config, log)
        self.folder = folder
        self.groups: dict[str, str] = {}

    def schedule(self) -> None:
        if not self.groups:
            self.groups = json.loads(next(self.folder.iterdir()).read_text(encoding="utf-8"))
        super().schedule()

    def _split_scope(self, nodeid: str) -> str:
        return self.groups.get(nodeid) or nodeid.partition("::")[0]


class Groups:
    """The plugin, for fixtures `shared` by groups, and what each file is known to take."""

    def __init__(
        self,
        shared: Mapping[str, tuple[str, ...]] = SHARED,
        cheap: Iterable[str] = CHEAP,
        seconds: Seconds = known_seconds,
        prompt: Sequence[str] = PROMPT,
    ) -> None:
        self.shared, self.cheap, self.seconds, self.prompt = shared, frozenset(cheap), seconds, prompt
        self.group_of = {fixture: group for group, fixtures in shared.items() for fixture in fixtures}
        self.units: Mapping[pytest.Item, str] = {}
        self.last_users: Mapping[pytest.Item, list[FixtureDef[object]]] = {}

    @cached_property
    def folder(self) -> Path:
        """Where workers of xdist say which tests are in a group."""
        return Path(tempfile.mkdtemp(prefix="groups-"))

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        if "folder" in self.__dict__:
            shutil.rmtree(self.folder)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Producer) -> Units | None:
        if config.getoption("dist") != "loadgroup":
            return None
        config.option.loadscopereorder = False  # the order is ours, not by the number of tests
        return Units(config, log, self.folder)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: WorkerController) -> None:
        node.workerinput["groups"] = str(self.folder)

    @pytest.hookimpl(tryfirst=True)  # xdist tells what it has collected after this
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if worker := getattr(session.config, "workerinput", None):
            groups = {item.nodeid: self.units[item] for item in session.items if self.units[item] in self.shared}
            Path(worker["groups"], worker["workerid"]).write_text(json.dumps(groups), encoding="utf-8")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        self.units = self._units(items)
        if only := config.getoption("only_group", None):
            config.hook.pytest_deselected(items=[item for item in items if self.units[item] != only])
            items[:] = [item for item in items if self.units[item] == only]
        if config.getoption("until", None) is None:  # else the order is that of the command: what matters most first
            self._order(items, self.units)
        self._find_last_users(items)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        result = yield
        for fixture in self.last_users.get(item, ()):
            fixture.finish(item._request)  # type: ignore[attr-defined]
        return result

    def _units(self, items: Sequence[pytest.Item]) -> dict[pytest.Item, str]:
        """Return the unit of each test: what is tied by a shared fixture, or by one of a module, stays together."""
        keys, ties = {}, Ties()
        for item in items:
            groups = [self.group_of[name] for name in self._shared_by(item)]
            keys[item] = groups[0] if groups else file_of(item)
            own = [
                f"{file_of(item)}::{each.argname}" for each in _fixtures(item, {"module", "class"})
            ]  # anew for each file
            ties.tie([keys[item], *groups, *own])
        names = {ties.root(group): group for group in reversed(list(self.shared))}
        return {item: names.get(ties.root(key), file_of(item)) for item, key in keys.items()}

    def _shared_by(self, item: pytest.Item) -> list[str]:
        """Return the shared fixtures that a test closes over, and those of the groups that its marks name."""
        names = [name for mark in item.iter_markers("shares") for group in mark.args for name in self.shared[group]]
        for fixture in _fixtures(item, {"session", "package"}):
            if _name(fixture) in self.group_of:
                names.append(_name(fixture))
            elif fixture.baseid and _name(fixture) not in self.cheap:
                raise pytest.UsageError(f"{_name(fixture)} is shared: tests/check/groups.py has to say by which group")
        return names

    def _order(self, items: list[pytest.Item], units: Mapping[pytest.Item, str]) -> None:
        """Sort by unit, the longest first, and within it by file; files of tests that kill come last."""
        rank = {unit: at for at, unit in enumerate(self._ranked(items, units))}
        kills = {file_of(item) for item in items if item.get_closest_marker("kills")}
        first = {file_of(item): at for at, item in reversed(list(enumerate(items)))}
        items.sort(key=lambda item: (rank[units[item]], file_of(item) in kills, first[file_of(item)]))

    def _ranked(self, items: Sequence[pytest.Item], units: Mapping[pytest.Item, str]) -> list[str]:
        known, tests = self.seconds(), defaultdict[str, int](int)
        for item in items:
            tests[file_of(item)] += 1
        seconds = defaultdict[str, float](float)
        for item in items:
            seconds[units[item]] += known.get(file_of(item), 0) / tests[file_of(item)]
        turn = {unit: at for at, unit in enumerate(self.prompt)}
        return sorted(seconds, key=lambda unit: (turn.get(unit, len(turn)), -seconds[unit]))

    def _find_last_users(self, items: Sequence[pytest.Item]) -> None:
        last = {name: item for item in items for name in self._shared_by(item)}
        self.last_users = defaultdict(list)
        for name, item in last.items():
            self.last_users[item] += [each for each in _declared(item, name) if _name(each) == name]


class Ties:
    """Sets of keys that are tied to each other."""

    def __init__(self) -> None:
        self.above: dict[str, str] = {}

    def root(self, key: str) -> str:
        while key in self.above:
            key = self.above[key]
        return key

    def tie(self, keys: Sequence[str]) -> None:
        top = self.root(keys[0])
        for root in {self.root(key) for key in keys} - {top}:
            self.above[root] = top


def file_of(item: pytest.Item) -> str:
    """Return the file of a test, as its name begins."""
    return item.nodeid.partition("::")[0]


def _fixtures(item: pytest.Item, scopes: set[str]) -> list[FixtureDef[object]]:
    """Return the fixtures of these scopes that a test closes over."""
    if not isinstance(item, pytest.Function):
        return []
    declared = [item._fixtureinfo.name2fixturedefs.get(name, ()) for name in item.fixturenames]
    return [each[-1] for each in declared if each and each[-1].scope in scopes]


def _declared(item: pytest.Item, name: str) -> Sequence[FixtureDef[object]]:
    found = item.session._fixturemanager.getfixturedefs(name.rpartition("::")[2], item)
    return found or ()


def _name(fixture: FixtureDef[object]) -> str:
    return f"{fixture.baseid}::{fixture.argname}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--only-group", metavar="GROUP", help="run the tests of this group alone, see tests/check/groups.py"
    )


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if not config.pluginmanager.has_plugin("groups"):
        config.pluginmanager.register(Groups(), "groups")
