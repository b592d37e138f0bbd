"""``python -m tests.once_more OPTION...``: run pytest, and then the files in which a few tests failed once more, alone.

Thousands of tests run beside each other, with real processes that wait for each other. Now and then one fails of which
nobody can say why. What fails twice stops the check. What fails once only is told and lets it pass, for it says
more of the machine or of the test than of the change: it is still a fault to mend.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

#: Where pytest's cache has the names of the tests that failed last.
FAILED = Path(".pytest_cache/v/cache/lastfailed")
#: More failures than these are no accident.
FAILURES_MAX = 5
TESTS_FAILED = 1


def failed_tests(file: Path) -> list[str]:
    """Return the names of the tests that failed in the last run, in order."""
    return sorted(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else []


def run(options: Sequence[str]) -> int:
    """Run pytest with ``options``, and files of failed tests once more; return its exit status.

    A whole file runs again, for tests in it may build on those before them. Of the options the second run has
    only ``-m`` and its expression, so that nothing runs beside it.
    """
    status = _pytest(["--cache-clear", *options])
    failed = failed_tests(FAILED)
    if status != TESTS_FAILED or not 0 < len(failed) <= FAILURES_MAX:
        return status
    print(f"\nOnce more, alone: {', '.join(failed)}", flush=True)
    status = _pytest([*_expression(options), *sorted({name.partition("::")[0] for name in failed})])
    if status == 0:
        print("\nFAILED ONCE, and passed alone; look into it:", *failed, sep="\n  ", flush=True)
    return status


def _pytest(options: Sequence[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *options], check=False).returncode


def _expression(options: Sequence[str]) -> Sequence[str]:
    return options[options.index("-m") : options.index("-m") + 2] if "-m" in options else ()


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
