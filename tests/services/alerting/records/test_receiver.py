from pathlib import Path
from typing import Any

import pytest

from services.alerting.receivers.sending import SENDERS
from services.alerting.records.receiver import (
    WAYS,
    Receiver,
    Receivers,
    ReceiverWays,
    load_receivers,
    receiver_from_json,
)
from services.common.http.problem import Problem
from services.common.settings import SettingsError
from tests.integration.webhook_sink import SECRET

HOOK = {"url": "https://example.org/hook?token=abc", "secret": SECRET}


def written(folder: Path, text: str) -> Path:
    path = folder / "receivers.yaml"
    path.write_text(text)
    return path


def test_a_file_declares_receivers_and_takes_secrets_from_the_environment(tmp_path: Path) -> None:
    text = "receivers:\n  ops: {webhook: {url: 'https://example.org/', secret: 'env:OPS'}, system: false}\n"
    [ops] = load_receivers(written(tmp_path, text), {"OPS": SECRET})
    assert ops.is_declared
    assert ops.webhook is not None
    assert ops.webhook.secret == SECRET
    assert load_receivers(None) == []
    with pytest.raises(SettingsError, match="the environment has no OPS"):
        load_receivers(tmp_path / "receivers.yaml", {})


def test_the_file_that_is_shipped_declares_nobody() -> None:
    assert load_receivers(Path("config/receivers.yaml"), {}) == []


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "one of webhook"),
    ({"webhook": HOOK, "people": {"urls": ["json://x"]}}, "only one"),
    ({"webhook": {"url": "ftp://example.org"}}, "http or https"),
    ({"webhook": {"url": "https://user:pw@example.org"}}, "without user name"),
    ({"webhook": {"url": "https://a\r\nb/"}}, "without blanks and control characters"),
    ({"webhook": {"url": "https://example.org/a b"}}, "without blanks and control characters"),
    ({"webhook": {"url": "https://example.org:0/"}}, "port is 1 to 65535"),
    ({"webhook": {**HOOK, "secret": "whsec_c2hvcnQ="}}, "24 to 64 bytes"),
    ({"webhook": {**HOOK, "timeout_s": 0}}, "timeout_s: a number above 0"),
    ({"webhook": HOOK, "other": 1}, "other"),
    ({"webhook": HOOK, "_is_declared": True}, "_is_declared"),
    ({"alertmanager": {"url": "https://x", "repost_s": 0}}, "repost_s"),
    ({"people": {"urls": []}}, "urls"),
    ({"webhook": {"url": "https://example.org/hook?***"}}, "not shown: write it in full"),
    ({"people": {"urls": ["mailto://***"]}}, "not shown: write it in full"),
]


@pytest.mark.parametrize(("document", "why"), REFUSED)
def test_what_is_no_receiver_is_refused_with_the_reason_and_without_the_secret(
    document: dict[str, Any], why: str
) -> None:
    with pytest.raises(Problem) as refused:
        receiver_from_json("ops", document)
    assert why in refused.value.detail
    assert "pw" not in refused.value.detail
    assert "token" not in refused.value.detail


@pytest.mark.parametrize("id_", ["", "a b", "../x"])
def test_an_id_is_a_name(id_: str) -> None:
    with pytest.raises(Problem):
        receiver_from_json(id_, {"webhook": HOOK})


def test_what_is_shown_has_no_secret() -> None:
    hook = receiver_from_json("ops", {"webhook": HOOK})
    people = receiver_from_json("us", {"people": {"urls": ["mailto://user:password@example.org"]}})
    shown = str(hook.shown()) + str(people.shown())
    assert not [secret for secret in (SECRET, "abc", "password") if secret in shown]
    assert hook.shown()["webhook"]["url"] == "https://example.org/hook?***"
    assert not hook.is_declared


def test_what_was_added_never_replaces_what_is_declared(tmp_path: Path) -> None:
    [ops] = load_receivers(written(tmp_path, "receivers: {ops: {webhook: {url: 'https://a.example/'}}}"), {})
    receivers = Receivers([ops])
    receivers.replace_added({"ops": '{"v":1,"receiver":{"webhook":{"url":"https://b.example/"}}}'})
    assert receivers.get("ops") == ops
    assert receivers.addressed(["ops", "nobody"], "firing", is_system=True) == ["ops", "nobody"]


def test_every_way_can_be_declared_shown_and_used() -> None:
    declared = [name for name, field in Receiver.model_fields.items() if field.annotation not in (str, bool)]
    assert [*WAYS] == declared
    assert [*WAYS] == [name for name in ReceiverWays.model_fields if name != "id"]
    assert [*WAYS] == [*SENDERS]
