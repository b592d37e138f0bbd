"""Runs that learn templates, at alerting: what the history process says, and who asked."""

import httpx2

from coincide.wire.declarations.template_proposal import TemplateProposal
from tests.services.alerting.api.test_history_proxy import front
from tests.services.alerting.sample_records import Database
from tests.services.history.runs import test_learning_server
from tests.services.history.runs.test_learning_run import archive as archive  # noqa: PLC0414 - a fixture
from tests.services.history.runs.test_run_server import client as client  # noqa: PLC0414
from tests.services.history.runs.test_run_server import proposed as proposed  # noqa: PLC0414
from tests.services.history.runs.test_run_server import records as records  # noqa: PLC0414
from tests.services.history.runs.test_run_server import settings as settings  # noqa: PLC0414
from tests.services.kept_records import KeptRecords


def test_templates_are_learnt_at_the_front_door(
    database: Database, client: httpx2.Client, proposed: list[TemplateProposal], records: KeptRecords
) -> None:
    runs = test_learning_server.RUNS
    with front(database, str(client.base_url).rstrip("/"), timeout_s=60) as door:
        test_learning_server.test_a_run_is_asked_for_read_and_deleted(door, proposed, records)
        for path in ("/x", f"/r-{'0' * 32}/propose", f"/r-{'0' * 32}"):
            assert door.get(runs + path).status_code in (404, 422)
        too_long = door.post(runs, json={}, headers={"Change-Reason": "x" * 501})
        assert (too_long.status_code, "at most 500" in too_long.json()["detail"]) == (422, True)
        refused = door.post(runs, json={"from": 0})
        assert (refused.status_code, refused.json()["detail"]) == (422, "to is missing")


def test_without_the_process_it_is_a_sentence(database: Database) -> None:
    with front(database, None) as door:
        answer = door.post(test_learning_server.RUNS, json=test_learning_server.ASKED)
        assert (answer.status_code, "history_url names no" in answer.json()["detail"]) == (503, True)
