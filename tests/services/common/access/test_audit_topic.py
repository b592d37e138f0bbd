"""Records of the audit trail: one that is none is passed over, and a page is shown without it."""

import json

import pytest

from services.common.access.audit import AuditedChange
from services.common.access.audit_topic import _change_in

CHANGE = AuditedChange(
    at_us=5, component="ingest", key=None, name="anybody", address=None, action="a", subject="s", before=None, after={}
)
SAID = {name: getattr(CHANGE, name) for name in CHANGE.__struct_fields__}


NESTED = json.dumps({**SAID, "after": json.loads("[" * 200 + "]" * 200)}).encode()


def test_a_change_is_read_as_it_was_written() -> None:
    assert _change_in(0, json.dumps(SAID).encode()) == CHANGE


@pytest.mark.parametrize(
    "value", [None, b"", b"{", b"\xff", b"{}", b'{"more": ' + b"[" * 20_000 + b"]" * 20_000 + b"}", NESTED]
)
def test_what_is_no_change_is_passed_over(value: bytes | None) -> None:
    assert _change_in(0, value) is None
