"""A line is backed up while it runs, lost, and restored elsewhere: it tells what it told, and goes on."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from deploy.host.machine import ROOT
from tests.integration.line_process import LineProcess, running_line
from tests.patience import until

QUERY = {
    "from": {"a": "acoustic", "b": "acoustic"},
    "within": [{"between": ["a", "b"], "window_s": 0.1, "threshold": 0.7}],  # pairs 0.1 s apart reach 0.5
    "sensors": "different",
}
THRESHOLD = "/v1/queries/heard/threshold"
BEGAN_S = time.time_ns() // 1_000_000_000 - 60


def heard(name: str, which: str, after_s: int, apart_us: int = 100_000) -> list[dict[str, Any]]:
    at_us = (BEGAN_S + after_s) * 1_000_000
    return [
        {"sensor": f"quay-{each}", "detected_at": at_us + "ab".index(each) * apart_us, "id": name} for each in which
    ]


def backup(*arguments: str) -> str:
    command = [sys.executable, "-m", "services.backup", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def ids_of(line: LineProcess) -> dict[str, tuple[str, int]]:
    """The id of each match and the version of its query, by what was heard."""
    return {each["members"][0]["id"]: (each["id"], each["query_version"]) for each in line.matches("heard")}


def test_a_line_that_was_lost_goes_on_from_its_backup(tmp_path: Path) -> None:
    with running_line(tmp_path / "first") as first:
        for each in "ab":
            first.put(f"/v1/sensors/quay-{each}", {"area": "quay", "streams": {"acoustic": {"uniform": [-0.1, 0.1]}}})
        first.put("/v1/queries/heard", QUERY)
        first.post(*heard("at once", "ab", 1, apart_us=0), *heard("before the change", "ab", 2))
        until(lambda: ids_of(first).keys() == {"at once"})
        first.call("PATCH", THRESHOLD, json={"threshold": 0.3}, headers={"If-Match": "*"}).raise_for_status()
        first.post(*heard("told", "ab", 3), *heard("both lives", "a", 4))
        until(lambda: ids_of(first).keys() == {"at once", "told"})
        told = ids_of(first)
        backup("save", str(tmp_path / "backup"), "--log", str(tmp_path / "first" / "log.sqlite3"))
        first.post(*heard("lost", "ab", 5))
    said = backup("restore", str(tmp_path / "backup"), "--log", str(tmp_path / "second" / "log.sqlite3"))
    assert "begins anew" not in said
    with running_line(tmp_path / "second") as second:
        assert ids_of(second) == told
        second.post(*heard("both lives", "b", 4))
        until(lambda: "both lives" in ids_of(second))
        assert ids_of(second).keys() == {"at once", "told", "both lives"}
        assert ids_of(second)["both lives"][1] == 2
