"""What the API answers while PostgreSQL is away, and once it is back."""

from sqlalchemy import Engine

from tests.postgresql import Server
from tests.services.alerting.clients import Api
from tests.services.alerting.databases import ON_POSTGRESQL
from tests.services.alerting.sample_records import match_record


@ON_POSTGRESQL
def test_a_database_that_is_away_is_said_to_be_and_is_found_again(api: Api, engine: Engine, server: Server) -> None:
    api.store(match_record("m-1"))
    name = engine.url.database
    server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    server.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    away = api.client.get("/v1/matches")
    assert (away.status_code, away.headers["content-type"]) == (503, "application/problem+json")
    assert away.headers["retry-after"] == "1"
    assert (name or "") not in away.text
    server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    assert [item["id"] for item in api.items("/v1/matches")] == ["m-1"]
