from __future__ import annotations

from hypothesis import settings

# a busy machine is no failure: pytest's timeout bounds each test, not Hypothesis' deadline for one example
settings.register_profile("coincide", deadline=None, max_examples=50)
settings.load_profile("coincide")
