"""Receivers as what people change: which are refused, and their records on coincide.alert-controls."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec

from coincide.wire.last_change import LastChange
from services.alerting.alerts.controls import RECEIVER
from services.alerting.receivers.connections import PrivateAddressError, public_address
from services.alerting.records.receiver import Receiver, ReceiverRecord, Receivers, receiver_from_json
from services.alerting.records.records import TOPICS
from services.alerting.settings import AlertingSettings
from services.common.http.problem import Problem
from services.common.resources.resource import Resource, action, at_hand, version_of

MOST_NAMED = 10  # queries, in a sentence


def receiver_resource(
    receivers: Receivers,
    settings: AlertingSettings,
    not_ready_because: Callable[[], list[str]],
    queries_that_name: Callable[[str], list[str]],
) -> Resource[Receiver]:
    """Return what receivers are: those that stand in the file are left alone, and none goes that a query names."""

    def refuse(name: str, present: Receiver | None, wanted: Receiver | None) -> None:
        if wanted is None:
            _refuse_named(name, queries_that_name(name))
        else:
            _refuse_impossible(receivers, settings, present, wanted)

    return Resource(
        noun="receiver",
        topic=TOPICS.alert_controls,
        not_ready_because=not_ready_because,
        present=at_hand(receivers.get),
        version=version_of,
        read=lambda id_, document, _: receiver_from_json(id_, document),
        document=lambda receiver: receiver.document,
        refuse=refuse,
        record=_record,
        audited=_audited,
    )


def refuse_declared(receiver: Receiver | None) -> None:
    """Raise a `Problem`, 409, for a receiver that stands in the file."""
    if receiver is not None and receiver.is_declared:
        raise Problem(409, f"the receiver {receiver.id!r} stands in the file of receivers: change it there")


def _refuse_named(name: str, queries: list[str]) -> None:
    """Raise a `Problem`, 409, for a receiver that queries name: nobody would hear what they tell."""
    if queries:
        more = f" and {len(queries) - MOST_NAMED} more" if len(queries) > MOST_NAMED else ""
        listed = ", ".join(queries[:MOST_NAMED])
        raise Problem(409, f"queries name the receiver {name!r} (alert.to): change or remove {listed}{more} first")


def _refuse_impossible(
    receivers: Receivers, settings: AlertingSettings, present: Receiver | None, wanted: Receiver
) -> None:
    count = len(receivers.all())
    if present is None and count >= settings.receivers_max:
        raise Problem(409, f"there are {count} receivers, the most allowed (receivers_max); remove one first")
    if not settings.receivers_may_be_private:
        _refuse_private(wanted)


def _refuse_private(receiver: Receiver) -> None:
    """Raise a Problem, 422, for an address that is private now; that of each message is judged again."""
    name, address = receiver.way_name, receiver.way.address
    if address is None:
        allowed = "declare it in the file of receivers, or set receivers_may_be_private"
        raise Problem(422, f"{name}: Apprise may reach any address: {allowed}", field=name)
    url = urlsplit(address)
    try:
        public_address(url.hostname or "", url.port or {"https": 443}.get(url.scheme, 80))
    except PrivateAddressError as error:
        raise Problem(422, f"{name}.url: {error}", field=f"{name}.url") from error
    except (OSError, UnicodeError):
        return  # its name may lead somewhere later, and a test message says what is wrong until then


def _record(id_: str, wanted: Receiver | None, change: LastChange) -> tuple[bytes, bytes | None]:
    key = f"{RECEIVER}{id_}".encode()
    if wanted is None:
        return key, None
    return key, msgspec.json.encode(ReceiverRecord(v=1, receiver=wanted.document, **msgspec.structs.asdict(change)))


def _audited(id_: str, before: Receiver | None, after: Receiver | None) -> tuple[str, str, Any, Any]:
    return f"receiver.{action(before, after, 'replaced')}", id_, before and before.shown(), after and after.shown()
