"""Runs the shell and Python blocks of a page in order, as a reader would paste them, against the shared system."""

import doctest
import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any, Self

import httpx2
import psutil
import yaml

from deploy.host.machine import free_ports, is_free
from deploy.local.layout import COMPONENTS, Layout
from deploy.local.system import System
from docs.generate import ROOT
from tests.docs.page_blocks import Block
from tests.needs import found
from tests.patience import until

#: What every block finds: the command as installed, a curl that fails where the answer is an error, and nothing that
#: would change this machine: a block that calls such a program has to say why it is not run.
BEFORE = r"""set -aeo pipefail
coincide() { python -m coincide "$@"; }
curl() { case " $* " in *" -f"*) command curl "$@" ;; *) command curl --fail-with-body "$@" ;; esac; }
refuse() { echo "a test may not run this program" >&2; return 1; }
for each in docker git kubectl make pip runuser sudo systemctl; do eval "$each() { refuse; }"; done
trap 'env -0 >"$AFTER"' EXIT
"""
#: Names and addresses of a page, and what stands there while it is run. Ports are those of `Layout.of_checkout`.
PLACEHOLDERS = {"coincide.example": "127.0.0.1", "/tmp/": "../tmp/"}
#: What blocks call that not every machine has.
NEEDED = ("curl", "jq", "openssl")
#: Where a program of a page listens unless the variable PORT says otherwise.
LISTENS = "127.0.0.1:9000"
BUDGET_S = 120.0  # of processor time, for one block
#: How a program ends whose reader, such as head, has seen enough.
CUT_OFF = 128 + signal.SIGPIPE
#: How a block ends that starts a program which listens, until the page has come to its end.
IN_THE_BACKGROUND = "&\n"
#: What alerting says where no history process runs, and so nobody has made a run.
RUNS_ARE_OFF = "runs over history are off here"
_ASKS = re.compile(r"curl (?!.*\s(-X|-d|--data))", re.DOTALL)
_REFUSED = re.compile(r'"status": ?"refused"')
#: What a page may make, in the order in which it is removed: the component, the list, and by what it knows one.
MADE = (
    ("alerting", "history-runs", "run"),
    ("alerting", "learning-runs", "run"),
    ("alerting", "queries", "id"),
    ("alerting", "receivers", "id"),
    ("alerting", "keys", "id"),
    ("ingest", "sensors", "id"),
    ("ingest", "clocks", "id"),
    ("ingest", "templates", "name"),
    ("ingest", "streams", "name"),
)


class PageRun:
    """One run of a page in a folder that looks like a checkout beside a running system, where the page needs one."""

    def __init__(self, folder: Path, system: System | None = None) -> None:
        self.system, layout = system, system and system.layout
        archive = layout.overrides.get("COINCIDE_ARCHIVE_PATH") if layout else None
        self.here = _checkout(folder, json.loads(archive) if archive else None)
        [port] = free_ports(1)
        self.replaced = {**PLACEHOLDERS, LISTENS: f"127.0.0.1:{port}", **(_addresses(layout) if layout else {})}
        path = f"{Path(ROOT, '.venv/bin')}:{os.environ['PATH']}"
        self.environ = {**os.environ, **(layout.overrides if layout else {}), "PATH": path, "PORT": str(port)}
        self.environ["AFTER"] = str(folder / "environment")
        self.listening: list[psutil.Popen] = []
        self.session: dict[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for shell in self.listening:
            _kill_group(shell)

    def run(self, block: Block) -> str:
        """Run a block, check that it answers what the page shows, and return what it says."""
        if block.kind == "python":
            return self._python(block)
        said = self._bash(block)
        if block.shown is None:
            assert not _REFUSED.search(said), f"{block}: {said}"
            return said
        if _ASKS.match(block.code) and not fits(block, said):
            said = self._asked_until_it_fits(block)
        assert fits(block, said), f"{block} answers\n{said}\nand shows\n{block.shown}"
        return said

    def _asked_until_it_fits(self, block: Block) -> str:
        answers: list[str] = []

        def is_there() -> bool:
            answers.append(self._bash(block))
            return fits(block, answers[-1])

        until(is_there, tell=lambda: f"{block} answers\n{answers[-1]}")
        return answers[-1]

    def _bash(self, block: Block) -> str:
        code = block.code
        for name in set(NEEDED) & set(re.findall(r"\w+", code)):
            found(name)
        if self.system and "$KEY" in code and "KEY" not in self.environ:
            self.environ["KEY"] = _key(self.system)
        for name, value in self.replaced.items():
            code = code.replace(name, value)
        with (self.here.parent / "said").open("w+", encoding="utf-8") as said:
            shell = psutil.Popen(
                ["bash", "-c", BEFORE + code],
                cwd=self.here, env=self.environ, stdout=said, stderr=said, start_new_session=True,
            )  # fmt: skip
            try:
                until(lambda: shell.poll() is not None, BUDGET_S, [shell], every_s=0.02, tell=lambda: block)
            except AssertionError:
                _kill_group(shell)
                raise
        if code.endswith(IN_THE_BACKGROUND):
            self.listening.append(shell)
            until(lambda: not is_free(int(self.environ["PORT"])))
        status, answer = shell.returncode, (self.here.parent / "said").read_text(encoding="utf-8")
        assert status in ({0, CUT_OFF} if "| head" in code else {0}), f"{block} ends with {status}: {answer}"
        variables = Path(self.environ["AFTER"]).read_text(encoding="utf-8").split("\0")[:-1]
        self.environ = dict(each.split("=", 1) for each in variables)
        return answer

    def _python(self, block: Block) -> str:
        with chdir(self.here), redirect_stdout(StringIO()) as said:
            if ">>>" in block.code:
                name = str(block)
                test = doctest.DocTestParser().get_doctest(block.code, self.session, name, name, block.line)
                failed = doctest.DocTestRunner(verbose=False).run(test, out=said.write, clear_globs=False).failed
                self.session = test.globs
                assert failed == 0, said.getvalue()
            else:
                exec(compile(block.code, str(block), "exec"), self.session)
        return said.getvalue()


def _kill_group(shell: psutil.Popen) -> None:
    """Kill what a shell has started, which is a group of its own, and the shell."""
    with suppress(ProcessLookupError):
        os.killpg(shell.pid, signal.SIGKILL)
    shell.wait()


def fits(block: Block, said: str) -> bool:
    """Return whether a block has answered what the page shows, in which … stands for anything; JSON in any layout."""
    blank = r"\s+" if block.shown_kind == "json" else r"\A\s+|\s+\Z"
    shown, said = (re.sub(blank, "", each) for each in (block.shown or "", said))
    return re.fullmatch(".*?".join(map(re.escape, shown.split("…"))), said, re.DOTALL) is not None


@contextmanager
def nothing_left(system: System) -> Iterator[None]:
    """Remove what was made meanwhile, reject what was proposed, and put back the sensors that were changed."""
    before, proposed = set(_made(system)), set(_proposed(system))
    described = yaml.safe_load(system.ingest.get("/v1/sensors?format=yaml").raise_for_status().text)
    try:
        yield
    finally:
        for client, path in _made(system):
            if (client, path) not in before:
                client.delete(path, headers={"If-Match": "*"}).raise_for_status()
        for each in set(_proposed(system)) - proposed:
            system.ingest.post(f"/v1/template-proposals/{each}/reject").raise_for_status()
        system.ingest.post("/v1/sensors?overwrite=true", json=described).raise_for_status()


def _made(system: System) -> list[tuple[httpx2.Client, str]]:
    clients = {"alerting": system.alerting, "ingest": system.ingest}
    lists = [(clients[component], f"/v1/{kind}", key) for component, kind, key in MADE]
    return [
        (client, f"{path}/{each[key]}") for client, path, key in lists for each in _items(client, path) if each[key]
    ]


def _proposed(system: System) -> list[str]:
    return [each["id"] for each in _items(system.ingest, "/v1/template-proposals?state=open")]


def _items(client: httpx2.Client, path: str) -> list[dict[str, Any]]:
    answer = client.get(path)
    if answer.status_code == httpx2.codes.SERVICE_UNAVAILABLE and RUNS_ARE_OFF in answer.text:
        return []
    items: list[dict[str, Any]] = answer.raise_for_status().json()["items"]
    return items


def _addresses(layout: Layout) -> dict[str, str]:
    """Return where each component is, by where a page has it."""
    shipped = Layout.of_checkout({})
    places = {_place(shipped.url(each)): _place(layout.url(each)) for each in COMPONENTS}
    return places | {shipped.bootstrap: layout.bootstrap}


def _place(url: str) -> str:
    return url.partition("//")[2]


def _key(system: System) -> str:
    """Make the key that a reader has by then."""
    made = system.alerting.post("/v1/keys", json={"name": "reader of a page", "scopes": ["admin"]})
    return str(made.raise_for_status().json()["key"])


def _checkout(folder: Path, archive: str | None) -> Path:
    """Make a folder with all that the checkout has, in which a page may write, and what stands beside it."""
    here = folder / "coincide"
    (here / ".local").mkdir(parents=True)
    (here / ".local/jars").symlink_to(ROOT / ".local/jars")
    if archive:
        (here / ".local/archive").symlink_to(archive)
    (folder / "tmp").mkdir()
    shutil.copytree(ROOT / "config", here / "config")
    for each in ROOT.iterdir():
        if not (here / each.name).exists():
            (here / each.name).symlink_to(each)
    return here
