"""What gateways post to ingest, up to its answer."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from services.ingest.intake.dead_letter_topic import DeadLetters
from services.ingest.intake.intake import Intake
from services.ingest.stamping.parsing import Form, Item, _parse_carefully, _parse_clean
from services.ingest.stamping.posted import PostedDetection
from services.ingest.verdicts import Refused
from tests.services.ingest.building import NOW_US, Ingest, detection
from trials.fuzz.target import BrokenLaw, Target

ITEMS: Sequence[dict[str, Any]] = (
    detection(),
    detection(stream="seismic", id="a-1", attributes={"is": 50, "who": "ann", "deep": [{"a": [1.5, None]}]}),
    detection(uncertainty={"sigma_s": 0.5}),
    detection(uncertainty={"earliest": NOW_US - 2_000_000, "latest": "2025-10-09T08:53:19.5+00:00"}),
    detection(uncertainty={"edges_s": [-1.0, 0.0, 0.0, 2.5], "mass": [0.25, 0.5, 0.25]}),
    {"sensor": "both", "stream": "acoustic", "detected_at": "2025-10-09T08:53:19Z"},
    {"sensor": "nobody", "detected_at": 12},
    {"sensor": 7},
)
CLEAN = ITEMS[:6]


@cache
def _ingest() -> Ingest:
    return Ingest()


def _post(body: bytes, form: Form, content_type: str) -> None:
    _agree(body, form)
    ingest = _ingest()
    answer = ingest.post(body, content_type)
    taken, letters = ingest.publisher.detections, list(ingest.publisher.dead_letters)
    ingest.publisher.frames.clear()
    ingest.publisher.dead_letters.clear()
    said = answer.json()
    if answer.status_code not in (202, 400, 413, 422):
        raise BrokenLaw(f"the answer is {answer.status_code}: {said}")
    verdicts = [each["status"] for each in said.get("detections", ())]
    if answer.status_code == 202 and (said["accepted"], said["refused"]) != (len(taken), len(verdicts) - len(taken)):
        raise BrokenLaw(f"{said} for {len(taken)} detections on Kafka, and {len(letters)} dead letters")


def _agree(body: bytes, form: Form) -> None:
    """Raise where the two ways to read a body come to different verdicts."""
    clean = _parse_clean(body, form)
    if clean is None:
        return
    try:
        careful = list(_parse_carefully(body, form))
    except Refused as refused:
        raise BrokenLaw(f"read at once, and yet refused: {refused.detail}") from None
    at_once, one_by_one = (_verdicts(items) for items in (clean, careful))
    if at_once != one_by_one:
        raise BrokenLaw(f"{at_once} is not {one_by_one}")


def _verdicts(items: Sequence[PostedDetection | Item]) -> list[tuple[str, str | None]]:
    """Return what became of each, and its id; of two reasons for a refusal each way names the one it meets first."""
    return [(each.status, each.id) for each in _intake()._judge(items, NOW_US, None).verdicts]


@cache
def _intake() -> Intake:
    ingest = _ingest()
    letters = DeadLetters(ingest.publisher, ingest.metrics, 1.0)
    return Intake(ingest.registry, ingest.publisher, letters, ingest.metrics, 10_000_000)


def _json_seeds() -> list[bytes]:
    return [json.dumps(each).encode() for each in (list(ITEMS), *ITEMS, list(CLEAN))]


def _ndjson_seeds() -> list[bytes]:
    return [b"\n".join(json.dumps(each).encode() for each in items) for items in (ITEMS, CLEAN, ITEMS[:1])]


LAW = "one verdict for each item or one problem, never 500; both ways to read a body say the same"
TARGETS = (
    Target("ingest/json bodies", LAW, lambda body: _post(body, Form.JSON, "application/json"), _json_seeds),
    Target("ingest/ndjson bodies", LAW, lambda body: _post(body, Form.NDJSON, "application/x-ndjson"), _ndjson_seeds),
)
