"""Faults that were put in are found by changes of inputs, and told with the command that repeats them."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from msgspec import msgpack

from coincide.fusion.rows.stamps import _stamps_of
from trials.fuzz import trial
from trials.fuzz.mutations import changed_bytes, mutated
from trials.fuzz.search import Search, Searched, table
from trials.fuzz.target import Keyed, Target
from trials.fuzz.trial import Finding, tried

PROBE = "fusion/probe"


def search(take: Callable[[bytes], object], *seeds: bytes, tries: int = 3_000) -> Finding | None:
    """The first finding among so many changes of the seeds."""
    random, target = Random(7), Target(PROBE, "it never fails", take, lambda: seeds)
    for _ in range(tries):
        content = mutated(random.choice(seeds), random, lambda part: changed_bytes(part, random))
        if (found := tried(target, content)) is not None:
            return found
    return None


def test_a_fault_deep_in_json_is_found() -> None:
    def take(line: bytes) -> None:
        try:
            document = json.loads(Keyed.of(line).value or b"{}")
        except (ValueError, RecursionError):
            return
        rows = document.get("rows") if isinstance(document, dict) else None
        if isinstance(rows, list) and rows and isinstance(rows[0], dict):
            _ = 1 / (rows[0].get("at_us", 1) if isinstance(rows[0].get("at_us"), int) else 1)

    found = search(take, Keyed(b"bay", b'{"v": 1, "rows": [{"at_us": 5, "id": "a"}]}').line)
    assert found is not None
    assert (found.target, found.what) == (PROBE, "ZeroDivisionError")
    with pytest.raises(ZeroDivisionError):
        take(found.content)


def test_a_fault_in_msgpack_is_found() -> None:
    def take(line: bytes) -> None:
        try:
            _, rows = msgpack.decode(Keyed.of(line).value or b"", type=tuple[int, list[int]])
        except ValueError:
            return
        _ = [1, 2, 3][len(rows)]

    found = search(take, Keyed(b"slot 0", msgpack.encode([10, [1, 2]])).line)
    assert found is not None
    assert found.what == "IndexError"


def test_a_target_without_a_fault_has_no_finding() -> None:
    assert search(len, b'{"v": 1}', tries=200) is None


def test_what_is_too_slow_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "MOST_S", 0.02)

    def take(content: bytes) -> None:
        until_s = time.process_time() + 0.1 * len(content)
        while time.process_time() < until_s:
            pass

    target = Target(PROBE, "it is fast", take, list)
    assert tried(target, b"") is None
    found = tried(target, b"x")
    assert found is not None
    assert found.what == "TooSlow"


def test_a_finding_names_the_line_of_ours() -> None:
    found = tried(Target(PROBE, "", lambda _: _stamps_of(b"3"), list), b"")
    assert found is not None
    assert found.place.startswith("coincide/fusion/rows/stamps.py:")
    assert found.kind == (PROBE, "FrameError", found.place)


@pytest.mark.parametrize(
    ("status", "said"), [(0, "OverflowError at a.py:3"), (71, "it took too much memory"), (70, "it hung"), (1, "exit")]
)
def test_what_a_process_has_found_is_told(tmp_path: Path, status: int, said: str) -> None:
    finding = {"name": "fusion-probe-12", "what": "OverflowError", "place": "a.py:3"}
    told = {"inputs": 2_000, "took_s": 4.0, "findings": [finding]}
    (tmp_path / "fusion-probe.json").write_text(json.dumps(told), encoding="utf-8")
    searched = Search(60, 1, tmp_path, tmp_path)._searched(PROBE, status, tmp_path / "fusion-probe.log")
    assert [each for each in searched.findings if said in each]
    assert f"--repeat '{PROBE}' {tmp_path / finding['name']}.input" in searched.findings[0]
    assert table([searched]).splitlines()[-1] == f"| {PROBE} | 2,000 | 500 | {len(searched.findings)} |"


def test_a_process_that_told_nothing_has_failed(tmp_path: Path) -> None:
    searched = Search(60, 1, tmp_path, tmp_path)._searched(PROBE, 1, tmp_path / "fusion-probe.log")
    assert searched == Searched(PROBE, 0, 0, [f"exit status 1: {tmp_path / 'fusion-probe.log'}"])
