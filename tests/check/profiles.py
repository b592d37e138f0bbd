"""How many examples Hypothesis tries, and which: choose by ``--hypothesis-profile``."""

from hypothesis import settings

# a busy machine is no failure: pytest's timeout bounds each test, not Hypothesis' deadline for one example
settings.register_profile("check", deadline=None, max_examples=50, derandomize=True, database=None)
settings.register_profile("random", deadline=None, max_examples=50, derandomize=False, print_blob=True)
settings.load_profile("check")
