"""Each target takes what is right, and a few changes of it."""

from collections.abc import Iterator
from random import Random

import pytest

from trials.fuzz.mutations import changed_bytes, mutated
from trials.fuzz.target import Target, held
from trials.fuzz.targets import MODULES, targets_in
from trials.fuzz.trial import tried

TRIED = 10


@pytest.fixture(scope="module", autouse=True)
def nothing_is_held_afterwards() -> Iterator[None]:
    yield
    held.close()


@pytest.mark.filterwarnings("default")  # numpy's, where numbers are beyond all measure: nobody runs it with errors
@pytest.mark.parametrize("module", MODULES)
def test_targets_take_their_seeds_and_changes_of_them(module: str) -> None:
    for target in targets_in(module).values():
        try_some(target)


def try_some(target: Target) -> None:
    random, seeds = Random(target.name), target.seeds()
    assert seeds, target.name
    for seed in seeds:
        target.take(seed)
    for _ in range(TRIED):
        content = mutated(random.choice(seeds), random, lambda part: changed_bytes(part, random))
        found = tried(target, content)
        assert found is None, f"{target.name}: {content!r}\n{found.said}"
