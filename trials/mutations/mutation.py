"""Mutation: one patch, what is wrong with it in a sentence, and the test files, or single tests, that notice it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from deploy.host.machine import LocalError

_CAUGHT_BY = "Caught by "


@dataclass(frozen=True)
class Mutation:
    """A patch for `git apply`; its first two lines say what is wrong, and which tests catch it: files, or names."""

    patch: Path
    sentence: str
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        """The patch's name."""
        return self.patch.stem

    @classmethod
    def of(cls, patch: Path) -> Self:
        """Read a patch; a `LocalError` says what its first two lines must be."""
        said = [line.removeprefix("#").strip() for line in patch.read_text(encoding="utf-8").splitlines()[:2]]
        sentence, caught_by = (*said, "", "")[:2]
        tests = tuple(caught_by.removeprefix(_CAUGHT_BY).split())
        if not sentence.endswith(".") or not caught_by.startswith(_CAUGHT_BY) or not tests:
            raise LocalError(
                f"{patch.name} begins with {said}: it must begin with '# What is wrong.' and '# {_CAUGHT_BY}tests/...'"
            )
        return cls(patch, sentence, tests)


def mutations_in(folder: Path, words: Sequence[str] = ()) -> list[Mutation]:
    """Return the mutations of a folder, in order; with words, those whose names have one of them."""
    found = [Mutation.of(patch) for patch in sorted(folder.glob("*.patch")) if _is_meant(patch.stem, words)]
    if not found:
        raise LocalError(f"{folder} has no patch{' with ' + ' or '.join(words) if words else ''} in its name")
    return found


def _is_meant(name: str, words: Iterable[str]) -> bool:
    return not words or any(word in name for word in words)
