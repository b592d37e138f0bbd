"""Both services under Schemathesis, for longer than in `make check`, and with another seed."""

import os
import subprocess
import sys

from deploy.host.machine import ROOT
from trials.fuzz.search import Searched

MODULE = "tests/integration/test_rest_documents.py"
WAYS = 2  # without keys and with keys, one after the other


def searched_services(seconds: float, seed: int) -> Searched:
    """Return what came of requests to both services, which is in the log of pytest."""
    each_s = max(1, round(seconds / WAYS))
    environ = {**os.environ, "COINCIDE_SCHEMATHESIS_S": str(each_s), "COINCIDE_SCHEMATHESIS_SEED": str(seed)}
    command = [sys.executable, "-m", "pytest", "-q", MODULE, f"--timeout={each_s + 600}"]
    status = subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode
    findings = [f"pytest says what: COINCIDE_SCHEMATHESIS_SEED={seed} python -m pytest {MODULE}"] if status else []
    return Searched("REST of both services", 0, seconds, findings)
