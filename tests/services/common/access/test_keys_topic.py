"""The topic of keys: what is no key revokes the one of its id, and stops nothing."""

import msgspec
import pytest

from services.common.access.access_keys import KEYS, new_key
from services.common.access.keys_topic import changes_in
from tests.services.alerting.sample_records import record

KEY, _ = new_key({"name": "gate", "scopes": ["ingest"], "requests_per_s": 10.0}, "a test", 1)
WRITTEN = record(KEYS, msgspec.json.encode(KEY), KEY.id.encode())


@pytest.mark.parametrize("value", [None, b"", b"{", b"\xff", b'{"v": 2}', b'{"more": ' + b"[" * 20_000])
def test_what_is_no_key_revokes_the_one_of_its_id_alone(value: bytes | None) -> None:
    assert changes_in([WRITTEN, record(KEYS, value, b"another")]) == {KEY.id: KEY, "another": None}
    assert changes_in([WRITTEN, record(KEYS, value, KEY.id.encode())]) == {KEY.id: None}


def test_a_key_under_the_id_of_another_is_none() -> None:
    assert changes_in([record(KEYS, msgspec.json.encode(KEY), b"another")]) == {"another": None}
