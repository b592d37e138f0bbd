"""The fenced blocks of the pages: what each shows as its answer, and the few reasons that keep one from being run."""

import re
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from docs.generate import ROOT

#: What is code. Of the other kinds tests read the content: configuration, queries, and what is shown.
CODE = frozenset({"sh", "python", "sql"})
READ = frozenset({"json", "yaml", "ini", "text", ""})
#: Why a block is not run. The page says it in a comment above the block, which no reader sees: <!-- not run: ... -->
REASONS = frozenset(
    {
        "starts, stops or rebuilds a system",
        "needs containers",
        "needs a cluster",
        "needs a database server",
        "needs kcat",
        "needs root",
        "needs what the reader has",
        "takes long",
        "never ends",
        "publishes a release",
    }
)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
_FENCE = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*) -->\n\n)?^```(?P<kind>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
#: The comment above a block that takes a minute: only `make check-all` runs it.
AT_NIGHT = "run at night"
_NOT_RUN, _RUN_BY = "not run: ", "run by "
_OF_A_SYSTEM = re.compile(r"127\.0\.0\.1:\d|coincide\.example|-m (?:services|spark_jobs)\.")


@dataclass(frozen=True)
class Block:
    """A block of a page, at a line of it, the comment above it, and the answer that is shown below it."""

    path: Path
    line: int
    kind: str
    code: str
    mark: str | None = None
    shown: str | None = None
    shown_kind: str = ""

    @property
    def is_run(self) -> bool:
        """Whether the run of its page runs it, or its run at night."""
        return self.kind in CODE and self.mark in {None, AT_NIGHT}

    @property
    def needs_system(self) -> bool:
        return self.is_run and _OF_A_SYSTEM.search(self.code) is not None

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT).as_posix()}:{self.line}"


def blocks_of(path: Path, page: str) -> list[Block]:
    """Return the blocks of a page; a text or JSON that follows code at once is what this code answers."""
    fences = list(_FENCE.finditer(page))
    found = []
    for fence, after in zip_longest(fences, fences[1:]):
        line = page.count("\n", 0, fence.start("code"))
        answer = after if fence["kind"] in CODE and after and page[fence.end() : after.start()] == "\n\n" else None
        shown = (answer["code"], answer["kind"]) if answer and answer["kind"] in {"text", "json"} else ()
        found.append(Block(path, line, fence["kind"], fence["code"], fence["mark"], *shown))
    return found


def read_blocks(path: Path) -> list[Block]:
    return blocks_of(path, path.read_text(encoding="utf-8"))


def why_not_in_order(block: Block) -> str | None:
    """Return what is wrong with a block that is neither run nor says why, else None."""
    if block.kind not in CODE | READ:
        return f"nobody knows what to do with {block.kind!r}"
    if block.kind == "sql" and block.mark is None:
        return "nobody runs it"
    if block.kind in READ and re.match(r"\$? ?(curl|coincide|make|python) ", block.code):
        return "it is a command, and no block of sh"
    return None if block.mark in {None, AT_NIGHT} else _fault_of_mark(block, str(block.mark))


def _fault_of_mark(block: Block, mark: str) -> str | None:
    if mark.startswith(_RUN_BY):
        test = ROOT / mark.removeprefix(_RUN_BY)
        is_run = test.is_file() and block.path.stem in test.read_text(encoding="utf-8")
        return None if is_run else f"{test.name} does not know this page"
    if mark.startswith(_NOT_RUN):
        reason = mark.removeprefix(_NOT_RUN)
        return None if reason in REASONS else f"{reason!r} is none of {sorted(REASONS)}"
    return f"the comment {mark!r} says nothing of how it is run"
