"""Runs the shell and Python blocks of a page in order, as a reader would paste them, against the shared system."""

import doctest
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stdout
from dataclasses import astuple
from io import StringIO
from pathlib import Path
from typing import Any

import httpx2
import yaml

from deploy.local.layout import Layout
from docs.generate import ROOT
from tests.docs.page_blocks import Block
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
#: What a reader has in the environment by then. The shared system asks nobody for a key.
ENVIRONMENT = {"KEY": ""}
LONGEST_S = 120
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
    ("ingest", "templates", "name"),
    ("ingest", "streams", "name"),
)


class PageRun:
    """One run of a page in a folder that looks like a checkout beside a running system, where the page needs one."""

    def __init__(self, folder: Path, layout: Layout | None = None) -> None:
        self.here = _checkout(folder)
        self.replaced = {**PLACEHOLDERS, **(_addresses(layout) if layout else {})}
        path = f"{Path(ROOT, '.venv/bin')}:{os.environ['PATH']}"
        self.environ = {**os.environ, **(layout.overrides if layout else {}), **ENVIRONMENT, "PATH": path}
        self.environ["AFTER"] = str(folder / "environment")
        self.session: dict[str, Any] = {}

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
        for name, value in self.replaced.items():
            code = code.replace(name, value)
        done = subprocess.run(
            ["bash", "-c", BEFORE + code],
            cwd=self.here, env=self.environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False, timeout=LONGEST_S,
        )  # fmt: skip
        assert done.returncode == 0, f"{block} ends with {done.returncode}: {done.stdout}"
        variables = Path(self.environ["AFTER"]).read_text(encoding="utf-8").split("\0")[:-1]
        self.environ = dict(each.split("=", 1) for each in variables)
        return done.stdout

    def _python(self, block: Block) -> str:
        with chdir(self.here), redirect_stdout(StringIO()) as said:
            if ">>>" in block.code:
                name = str(block)
                test = doctest.DocTestParser().get_doctest(block.code, self.session, name, name, block.line)
                failed = doctest.DocTestRunner().run(test, out=said.write, clear_globs=False).failed
                self.session = test.globs
                assert failed == 0, said.getvalue()
            else:
                exec(compile(block.code, str(block), "exec"), self.session)
        return said.getvalue()


def fits(block: Block, said: str) -> bool:
    """Return whether a block has answered what the page shows, in which … stands for anything; JSON in any layout."""
    blank = r"\s+" if block.shown_kind == "json" else r"\A\s+|\s+\Z"
    shown, said = (re.sub(blank, "", each) for each in (block.shown or "", said))
    return re.fullmatch(".*?".join(map(re.escape, shown.split("…"))), said, re.DOTALL) is not None


@contextmanager
def nothing_left(layout: Layout) -> Iterator[None]:
    """Remove what was made on the system meanwhile, and put back the sensors that were changed."""
    before, sensors = _made(layout), f"{layout.url('ingest')}/v1/sensors"
    described = yaml.safe_load(_get(f"{sensors}?format=yaml").text)
    try:
        yield
    finally:
        for url in [each for each in _made(layout) if each not in before]:
            httpx2.delete(url, headers={"If-Match": "*"}, timeout=30).raise_for_status()
        httpx2.post(f"{sensors}?overwrite=true", json=described, timeout=30).raise_for_status()


def _made(layout: Layout) -> list[str]:
    lists = [(f"{layout.url(component)}/v1/{kind}", key) for component, kind, key in MADE]
    return [f"{url}/{each[key]}" for url, key in lists for each in _get(url).json()["items"] if each[key]]


def _get(url: str) -> httpx2.Response:
    return httpx2.get(url, timeout=30).raise_for_status()


def _addresses(layout: Layout) -> dict[str, str]:
    ports = zip(astuple(Layout.of_checkout({}).ports), astuple(layout.ports), strict=True)
    return {f"127.0.0.1:{shipped}": f"127.0.0.1:{own}" for shipped, own in ports}


def _checkout(folder: Path) -> Path:
    """Make a folder with all that the checkout has, in which a page may write, and what stands beside it."""
    here = folder / "coincide"
    (here / ".local").mkdir(parents=True)
    for name in ("our-coincide", "tmp"):
        (folder / name).mkdir()
    shutil.copytree(ROOT / "config", here / "config")
    for each in ROOT.iterdir():
        if not (here / each.name).exists():
            (here / each.name).symlink_to(each)
    return here
