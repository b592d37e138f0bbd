import time

from services.alerting.store.expiry import Expiry
from tests.services.alerting.sample_records import ROOM, Database, episode_record, ruled

TABLES = ("alerts", "alert_transitions", "deliveries")


def test_retention_takes_old_alerts_with_all_that_is_theirs(database: Database) -> None:
    now_us = time.time_ns() // 1000
    database.store([ruled(to=["nobody"])])
    database.store([episode_record(f"e-{n}", n, received_at_us=now_us - 1_000_000_000) for n in range(10)])
    database.store([episode_record("e-young", 11, received_at_us=now_us)])
    expiry = Expiry(database.engine, database.metrics, (60.0, 60.0), ROOM, chunk_rows=4, every_s=60.0)
    while expiry.is_due():
        before = [database.rows(table) for table in TABLES]
        expiry.run_if_due()
        after = [database.rows(table) for table in TABLES]
        assert all(0 <= was - now <= 4 for was, now in zip(before, after, strict=True))
        assert after == sorted(after, reverse=True)  # nothing in the outbox is without its transition
    assert [database.rows(table) for table in TABLES] == [1, 1, 1]
    assert [alert["source"] for alert in database.alerts()] == ["e-young"]
