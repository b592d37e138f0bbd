"""The fenced blocks of the pages: what each shows as its answer, and the few reasons that keep one from being run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from docs.generate import ROOT

#: What is run. Of the others a test of their own reads the content: configuration, queries, and what is shown.
RUN = frozenset({"sh", "python"})
READ = frozenset({"sql", "json", "yaml", "ini", "text", ""})
#: Pages whose blocks of one kind need more than a running system: the test that runs them.
ELSEWHERE: Mapping[tuple[str, str], str] = {}
#: Why a block is not run. The page says it in a comment above the block, which no reader sees: <!-- not run: ... -->
REASONS = frozenset(
    {
        "starts, stops or rebuilds a system",
        "needs containers",
        "needs a cluster",
        "needs root",
        "takes long",
        "publishes a release",
        "never ends",
        "stands for what the reader has",
    }
)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
_FENCE = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*) -->\n\n)?^```(?P<kind>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
_NOT_RUN = "not run: "
_OF_A_SYSTEM = re.compile(r"127\.0\.0\.1:\d|coincide\.example|-m (?:services|spark_jobs)\.")


@dataclass(frozen=True)
class Block:
    """A block of a page, at a line of it, with the answer that is shown below it, and why it is not run."""

    path: Path
    line: int
    kind: str
    code: str
    shown: str | None = None
    shown_kind: str = ""
    why_not: str | None = None

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def tested_by(self) -> str | None:
        """The test that runs this block instead of its page's run."""
        return ELSEWHERE.get((self.name, self.kind))

    @property
    def is_run(self) -> bool:
        return self.kind in RUN and self.why_not is None and self.tested_by is None

    @property
    def needs_system(self) -> bool:
        return self.is_run and _OF_A_SYSTEM.search(self.code) is not None

    def __str__(self) -> str:
        return f"{self.name}:{self.line}"


def blocks_of(path: Path, page: str) -> list[Block]:
    """Return the blocks of a page; a text or JSON that follows a block at once is what this block answers."""
    fences = list(_FENCE.finditer(page))
    found = []
    for fence, after in zip(fences, [*fences[1:], None], strict=True):
        line = page.count("\n", 0, fence.start("code"))
        mark = fence["mark"] or ""
        why_not = mark.removeprefix(_NOT_RUN) if mark.startswith(_NOT_RUN) else None
        answer = after if fence["kind"] in RUN and after and page[fence.end() : after.start()] == "\n\n" else None
        if answer is None or answer["kind"] not in {"text", "json"}:
            found.append(Block(path, line, fence["kind"], fence["code"], why_not=why_not))
        else:
            found.append(Block(path, line, fence["kind"], fence["code"], answer["code"], answer["kind"], why_not))
    return found


def read_blocks(path: Path) -> list[Block]:
    return blocks_of(path, path.read_text(encoding="utf-8"))
