"""What a receiver is, checked: a webhook, an Alertmanager, or people through Apprise; and which receivers there are."""

import base64
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self
from urllib.parse import urlsplit

import msgspec
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from coincide.errors import QueryError
from coincide.queries.fields.checks import refuse_unless_name
from coincide.wire.fields import FormatVersion
from coincide.wire.last_change import UNKNOWN_CHANGE, LastChange
from services.alerting.records.alert import Change
from services.common.fault_sentences import describe_errors, shortened
from services.common.http.problem import Problem
from services.common.http.strict_requests import model_as
from services.common.settings import SettingsError, read_declarations

VARIABLE = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")
HIDDEN = "***"


def _http_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.fragment:
        raise ValueError("an http or https URL without user name and fragment")
    if not text.isprintable() or " " in text:  # urlsplit takes line breaks away
        raise ValueError("a URL without blanks and control characters")
    if parts.port == 0:  # a ValueError for one that is no port
        raise ValueError("a URL whose port is 1 to 65535")
    return text


def _signing_secret(text: str) -> str:
    try:
        key = base64.b64decode(text.removeprefix("whsec_"), validate=True)
    except ValueError:
        key = b""
    if not text.startswith("whsec_") or not 24 <= len(key) <= 64:
        raise ValueError("whsec_ and the base64 of 24 to 64 bytes, as Standard Webhooks has it")
    return text


HttpUrl = Annotated[str, Field(max_length=2000), AfterValidator(_http_url)]
Secret = Annotated[str, Field(max_length=200), AfterValidator(_signing_secret)]


class Way(BaseModel):
    """A way to reach a receiver: by one URL, unless it says otherwise."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
    hears_of_acknowledged: ClassVar[bool] = False

    @property
    def address(self) -> str | None:
        """The only URL that it reaches; None where it may reach any."""
        return getattr(self, "url", None)

    def shown(self) -> dict[str, Any]:
        """Return it as REST shows it: what may hold a secret is hidden."""
        bare, mark, _ = (self.address or "").partition("?")
        return {**self.model_dump(exclude_none=True), "url": f"{bare}?{HIDDEN}" if mark else bare}


class WebhookWay(Way):
    """An HTTP endpoint of somebody's own, which gets a CloudEvent for each transition."""

    hears_of_acknowledged = True  # only programs want to know who acknowledged

    url: HttpUrl = Field(description="Where each transition is posted.")
    secret: Secret | None = Field(None, description="Signs each body as Standard Webhooks has it: whsec_ and base64.")
    timeout_s: float = Field(10.0, gt=0, le=60, description="Longest wait for an answer.")

    def shown(self) -> dict[str, Any]:
        """Return it as REST shows it, without its secret."""
        return super().shown() | ({} if self.secret is None else {"secret": HIDDEN})


class AlertmanagerWay(Way):
    """Prometheus Alertmanager, which groups, routes and repeats."""

    url: HttpUrl = Field(description="Its base URL; /api/v2/alerts is added.")
    repost_s: float = Field(60.0, ge=1, le=3600, description="Pause after which all that fires is posted again.")
    timeout_s: float = Field(10.0, gt=0, le=60, description="Longest wait for an answer.")


class PeopleWay(Way):
    """People, through Apprise: e-mail, chat, telephone; see its documentation for URLs."""

    urls: list[Annotated[str, Field(min_length=1, max_length=2000)]] = Field(
        min_length=1, max_length=20, description="Apprise URLs, such as mailto://user:password@example.org."
    )

    def shown(self) -> dict[str, Any]:
        """Return of each URL how it is told."""
        return {"urls": [f"{url.partition('://')[0]}://{HIDDEN}" for url in self.urls]}


WAYS: dict[str, type[Way]] = {"webhook": WebhookWay, "alertmanager": AlertmanagerWay, "people": PeopleWay}
ONE_OF = f"one of {', '.join([*WAYS][:-1])} and {[*WAYS][-1]}"


class Receiver(BaseModel):
    """One receiver: its id, one way to reach it, and whether it hears of the system itself."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    id: Annotated[str, Field(max_length=100)]
    webhook: WebhookWay | None = None
    alertmanager: AlertmanagerWay | None = None
    people: PeopleWay | None = None
    system: bool = Field(True, description="Also tell it what is wrong with Coincide itself.")
    _is_declared: bool = PrivateAttr(False)  # in the file, which only who runs the service can write
    _change: LastChange = PrivateAttr(UNKNOWN_CHANGE)

    @model_validator(mode="after")
    def _refuse_what_is_no_receiver(self) -> Self:
        try:
            refuse_unless_name("id", self.id)
        except QueryError as error:
            raise ValueError(f"id: {error.message}") from None
        if sum(getattr(self, name) is not None for name in WAYS) != 1:
            raise ValueError(f"{ONE_OF} is needed, and only one")
        return self

    @property
    def is_declared(self) -> bool:
        """Whether it stands in the file, and was not set over REST."""
        return self._is_declared

    @property
    def change(self) -> LastChange:
        """The change over REST that made it what it is."""
        return self._change

    @property
    def document(self) -> dict[str, Any]:
        """What declares it, secrets and all."""
        return self.model_dump(exclude={"id"}, exclude_none=True)

    def __eq__(self, other: object) -> bool:
        """Whether both say the same, whichever change brought them about."""
        return isinstance(other, Receiver) and (self.id, self.document) == (other.id, other.document)

    def __hash__(self) -> int:
        """Of its id."""
        return hash(self.id)

    @property
    def way_name(self) -> str:
        """Which way it has."""
        return next(name for name in WAYS if getattr(self, name) is not None)

    @property
    def way(self) -> Way:
        """The one way that it has."""
        way: Way = getattr(self, self.way_name)
        return way

    def hears_of(self, change: Change) -> bool:
        """Whether the receiver is told of such a transition."""
        return change != "acknowledged" or self.way.hears_of_acknowledged

    def shown(self) -> dict[str, Any]:
        """Return it as REST shows it: what may hold a secret is hidden."""
        shown = self.model_dump(exclude_none=True)
        return {**shown, self.way_name: self.way.shown(), "declared": self.is_declared}


class ReceiverWays(BaseModel):
    """A receiver and its way, as REST shows it."""

    id: str
    webhook: dict[str, Any] | None = Field(None, description="url, secret and timeout_s of a webhook.")
    alertmanager: dict[str, Any] | None = Field(None, description="url, repost_s and timeout_s of an Alertmanager.")
    people: dict[str, Any] | None = Field(None, description="urls of Apprise.")


def load_receivers(path: Path | None, environ: Mapping[str, str] = os.environ) -> list[Receiver]:
    """Return the receivers in the YAML file, none without a path; a `SettingsError` says what is wrong with it.

    A text `env:NAME` anywhere in it stands for the environment variable of that name, so that no secret need be there.
    """
    if path is None:
        return []
    declared = read_declarations(path, "receivers", dict)
    return [_declared(path, str(id_), _with_variables(path, fields, environ)) for id_, fields in declared.items()]


def _declared(path: Path, id_: str, fields: Any) -> Receiver:
    try:
        given = Receiver.model_validate({**(fields if isinstance(fields, dict) else {"": fields}), "id": id_})
    except ValidationError as error:
        raise SettingsError(f"{path}: receiver {id_!r}: {_faults(error)}") from error
    given._is_declared = True
    return given


def _faults(error: ValidationError) -> str:
    """Return what is wrong, without the values: they may be secrets."""
    return describe_errors(error.errors(), shows_values=False)


def _with_variables(path: Path, value: Any, environ: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _with_variables(path, each, environ) for name, each in value.items()}
    if isinstance(value, list):
        return [_with_variables(path, each, environ) for each in value]
    named = VARIABLE.fullmatch(value) if isinstance(value, str) else None
    if named is None:
        return value
    if named[1] not in environ:
        raise SettingsError(f"{path}: the environment has no {named[1]}, which {value} stands for")
    return environ[named[1]]


def receiver_from_json(id_: str, document: object) -> Receiver:
    """Read a receiver that was put over REST; a `Problem`, 422, says what is wrong with it, and shows no secret."""
    if not isinstance(document, dict):
        raise Problem(422, "the body is no JSON object")
    if document.get("id", id_) != id_:
        raise Problem(422, f"id is {shortened(document['id'])}: the path says {id_[:100]!r}", field="id")
    if HIDDEN in str(document):
        raise Problem(422, f"{HIDDEN} stands for what may be secret and is not shown: write it in full")
    return model_as(Receiver, {**document, "id": id_}, shows_values=False)


_SYSTEM = Receiver.model_json_schema()["properties"]["system"]
RECEIVER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": f"A receiver: {ONE_OF}.",
    "properties": {**{name: way.model_json_schema() for name, way in WAYS.items()}, "system": _SYSTEM},
    "additionalProperties": False,
}


class ReceiverRecord(LastChange, frozen=True, kw_only=True):
    """A receiver that was set over REST. Who reads the topic can sign as Coincide: it holds secrets."""

    v: FormatVersion
    receiver: Annotated[dict[str, Any], msgspec.Meta(extra_json_schema=RECEIVER_SCHEMA)]


decode_receiver = msgspec.json.Decoder(ReceiverRecord).decode


class Receivers:
    """Every receiver: those declared in the file, and those added over REST, which cannot take a declared one's id.

    The follower's thread replaces what was added; everybody else reads.
    """

    def __init__(self, declared: Iterable[Receiver]) -> None:
        self._declared = {each.id: each for each in declared}
        self._all = dict(self._declared)

    def replace_added(self, bodies: Mapping[str, str]) -> None:
        """Take over the controls of receivers, JSON by id; one that cannot be read is left out."""
        added: dict[str, Receiver] = {}
        for id_, body in bodies.items():
            try:
                record = decode_receiver(body)
                added[id_] = Receiver.model_validate({**record.receiver, "id": id_})
                added[id_]._change = record.change
            except (ValidationError, msgspec.MsgspecError):  # written by a newer version of alerting
                continue
        self._all = {**added, **self._declared}

    def all(self) -> list[Receiver]:
        """Return every receiver, by id."""
        return sorted(self._all.values(), key=lambda each: each.id)

    def get(self, id_: str) -> Receiver | None:
        """Return one receiver; None where there is none."""
        return self._all.get(id_)

    def addressed(self, to: list[str] | None, change: Change, *, is_system: bool) -> list[str]:
        """Return who is to hear of a transition: those named, else all; a name that no receiver has is among them."""
        named = list(self._all) if to is None else to
        known = {name: self._all.get(name) for name in named}
        return [
            name
            for name, each in known.items()
            if each is None or (each.hears_of(change) and (each.system or not is_system or to is not None))
        ]
