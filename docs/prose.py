"""``python -m docs.prose``: warn of pages and sentences that are too long to be read. `make docs` runs it."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE_WORDS_MAX = 2000
SENTENCE_WORDS_MAX = 30


def sentences(page: str) -> list[list[str]]:
    """Return the words of each sentence; an item of a list is one; code, tables, headings and pictures are none."""
    text = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    text = re.sub(r"^(\||#|!).*$|</?[a-z][^>]*>", "", text, flags=re.MULTILINE)
    text = re.sub(r"^ *([-*]|\d+\.) ", "\n", text, flags=re.MULTILINE)
    return [each.split() for each in re.split(r"(?<=[.!?:;])\s+|\n\s*\n", text) if each.strip()]


def warnings(name: str, page: str) -> Iterator[str]:
    """Yield what makes a page hard to read."""
    found = sentences(page)
    if (words := sum(map(len, found))) > PAGE_WORDS_MAX:
        yield f"{name} has {words} words; more than {PAGE_WORDS_MAX} are seldom read"
    for sentence in found:
        if len(sentence) > SENTENCE_WORDS_MAX:
            yield f"{name}: {len(sentence)} words in a sentence: {' '.join(sentence[:12])} ..."


def main() -> None:
    """Print the warnings of all pages."""
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]):
        for each in warnings(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")):
            sys.stdout.write(f"warning: {each}\n")


if __name__ == "__main__":
    main()
