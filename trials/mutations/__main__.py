"""``python -m trials.mutations [WORD...]``: plant every mutation whose name has one of the words; 1 if one escapes."""

import os
import sys
import tempfile
from pathlib import Path

from deploy.host.machine import ROOT, LocalError, exit_with
from trials.mutations.mutation import mutations_in
from trials.mutations.planting import Copy

HERE = Path(__file__).parent


def _main() -> None:
    os.nice(5)
    mutations = mutations_in(HERE, sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="coincide-mutations-") as folder:
        copy = Copy.of(ROOT, Path(folder))
        caught = 0
        for mutation in mutations:
            verdict = copy.judge(mutation)
            print(verdict, flush=True)
            caught += verdict.outcome == "caught"
    print(f"{caught} of {len(mutations)} are caught", flush=True)
    if caught < len(mutations):
        raise LocalError("renew a patch that no longer applies; write a test that catches one that escapes")


if __name__ == "__main__":
    exit_with(_main)
