"""Schemathesis, all its checks, against both services and their OpenAPI documents, with and without keys.

They run in one process: what they answer does not depend on where their records are.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from deploy.host.machine import ROOT
from tests.one_process import one_process
from tests.patience import until

pytestmark = pytest.mark.night

SPENT_S = int(os.environ.get("COINCIDE_SCHEMATHESIS_S", "30"))  # the fixed cases of coverage take 15 s
SEED = os.environ.get("COINCIDE_SCHEMATHESIS_SEED", "1")
HERE = Path(__file__).parent


@pytest.mark.parametrize("needs_key", [False, True], ids=["without keys", "with keys"])
def test_both_services_do_what_their_documents_say(tmp_path: Path, needs_key: bool) -> None:
    own = {f"COINCIDE_{each}_REQUIRE_KEYS": json.dumps(needs_key) for each in ("INGEST", "ALERTING")}
    with one_process(tmp_path / "line", own) as line, ThreadPoolExecutor(2) as pool:  # each takes half a minute
        key = made_key(line.log) if needs_key else None
        done = [pool.submit(fuzz, line.layout.url(name), key, tmp_path / name) for name in ("ingest", "alerting")]
        for each in done:
            each.result()
        line.wait_ready()


def made_key(log: Path) -> str:
    command = [sys.executable, "-m", "services.common.access", "--log", str(log), "create"]
    command += ["--scope", "admin", "--requests-per-s", "100000"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def fuzz(url: str, key: str | None, folder: Path) -> None:
    folder.mkdir()
    shown = ["--header", f"Authorization: Bearer {key}"] if key else []
    if key:
        authorization = {"Authorization": f"Bearer {key}"}
        until(lambda: httpx2.get(f"{url}/openapi.json", headers=authorization).status_code == 200)
    command = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(HERE / "schemathesis.toml")]
    command += [
        "run",
        f"{url}/openapi.json",
        "--url",
        url,
        "--checks",
        "all",
        "--max-time",
        str(SPENT_S),
        "--seed",
        SEED,
    ]
    command += ["--continue-on-failure", "--warnings", "off", "--no-color", *shown]
    # Many sensors are posted at once, and one that is refused has no id: it is looked for as `None`, and is not there.
    command += ["--exclude-checks", "ensure_resource_availability"]
    environ = {**os.environ, "SCHEMATHESIS_HOOKS": "tests.integration.rest_hooks", "PYTHONPATH": str(ROOT)}
    longest_s = SPENT_S + 170
    ran = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=longest_s, check=False
    )
    assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr[-2_000:]
