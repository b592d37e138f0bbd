"""A real Alertmanager hears what fires, what got worse and what is over, also after it has forgotten everything."""

from contextlib import ExitStack
from pathlib import Path

from services.alerting.records.receiver import Receiver
from services.common.clock import system_clock_us
from tests.patience import until
from tests.services.alerting.receivers.alertmanager_process import Alertmanager, running_alertmanager
from tests.services.alerting.receivers.outbox import Outbox, running_outbox
from tests.services.alerting.sample_records import Database, episode_record, silence


def test_alerts_appear_are_updated_resolve_and_survive_a_restart(database: Database, tmp_path: Path) -> None:
    with ExitStack() as first_life, ExitStack() as rest:
        first = first_life.enter_context(running_alertmanager(tmp_path / "first"))
        way = {"url": first.url, "repost_s": 1}
        receiver = Receiver.model_validate({"id": "am", "alertmanager": way})
        outbox = rest.enter_context(running_outbox(database, receiver))
        outbox.fire("e-1")
        until(lambda: len(first.alerts()) == 1)
        [shown] = first.alerts()
        assert (shown["labels"]["alertname"], shown["labels"]["area"]) == ("intruder", "bay")
        assert shown["annotations"]["probability"] == "0.5"
        until(lambda: first.alerts()[0]["updatedAt"] > shown["updatedAt"])  # posted again while it fires
        outbox.fire("e-2")
        until(lambda: len(first.alerts()) == 2)
        _retract(outbox, "e-2")
        until(lambda: [each["labels"]["alert"] for each in first.alerts()] == [shown["labels"]["alert"]])
        first_life.close()

        _retract(outbox, "e-1")  # while it is away
        outbox.fire("e-3")
        port = int(first.url.rpartition(":")[2])
        second = rest.enter_context(running_alertmanager(tmp_path / "second", port))
        until(lambda: [each["annotations"]["summary"] for each in second.alerts()] != [], 60)
        ids = {alert["source"]: alert["id"] for alert in database.alerts()}
        until(lambda: [each["labels"]["alert"] for each in second.alerts()] == [ids["e-3"]])


def test_an_alert_that_got_worse_takes_the_place_of_what_it_was(database: Database, tmp_path: Path) -> None:
    with running_alertmanager(tmp_path) as alertmanager:
        receiver = Receiver.model_validate({"id": "am", "alertmanager": {"url": alertmanager.url, "repost_s": 60}})
        with running_outbox(database, receiver, severity=[[0.9, "critical"], [0.1, "warning"]]) as outbox:
            outbox.fire("e-1", "e-2", best_probability=0.5)
            until(lambda: _severities(alertmanager) == ["warning", "warning"])
            outbox.fire("e-1", best_probability=0.95, revision=5)
            until(lambda: _severities(alertmanager) == ["critical", "warning"])
            _retract(outbox, "e-1")
            until(lambda: _severities(alertmanager) == ["warning"])


def test_a_silence_that_begins_later_ends_nothing_there(database: Database, tmp_path: Path) -> None:
    with running_alertmanager(tmp_path) as alertmanager:
        receiver = Receiver.model_validate({"id": "am", "alertmanager": {"url": alertmanager.url, "repost_s": 1}})
        with running_outbox(database, receiver) as outbox:
            outbox.fire("e-1")
            until(lambda: len(alertmanager.alerts()) == 1)
            with outbox.lock:
                database.store([silence(query="intruder")])
            [shown] = alertmanager.alerts()
            outbox.fire("e-2")
            until(lambda: alertmanager.alerts()[0]["updatedAt"] > shown["updatedAt"])
            until(lambda: database.rows("alerts") == 2)
            [goes_on] = alertmanager.alerts()
            assert goes_on["labels"] == shown["labels"]


def _severities(alertmanager: Alertmanager) -> list[str]:
    return sorted(each["labels"]["severity"] for each in alertmanager.alerts())


def _retract(outbox: Outbox, id_: str) -> None:
    with outbox.lock:
        outbox.database.store([episode_record(id_, 9, "retracted", received_at_us=system_clock_us())])
    outbox.sending.wake()
