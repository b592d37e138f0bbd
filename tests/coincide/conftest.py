import numpy as np
import pytest

from tests.reference.call_counts import CallCounts


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers, the same in every run."""
    return np.random.default_rng(1987)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> CallCounts:
    """Counts of what the test wants watched."""
    return CallCounts(monkeypatch)
