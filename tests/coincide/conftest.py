import numpy as np
import pytest
from hypothesis import settings

from tests.reference.call_counts import CallCounts

# a busy machine is no failure: pytest's timeout bounds each test, not Hypothesis' deadline for one example
settings.register_profile("coincide", deadline=None, max_examples=50)
settings.load_profile("coincide")


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers, the same in every run."""
    return np.random.default_rng(1987)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> CallCounts:
    """Counts of what the test wants watched."""
    return CallCounts(monkeypatch)
