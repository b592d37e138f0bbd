"""Requests that can be read in one way only: each parameter once, each member once, no field that there is not."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from fastapi import Request
from pydantic import BaseModel, ValidationError

from services.common.fault_sentences import NO_FORMS, Fault, fault_in, faults_in, shortened
from services.common.http.problem import Problem
from services.common.http.strict_json import BodyError, parse_json

LONGEST_BODY_BYTES = 64 * 1024

T = TypeVar("T", bound=msgspec.Struct)
M = TypeVar("M", bound=BaseModel)


class StrictRequests:
    """Refuses what FastAPI would take for good; a dependency of a whole application.

    `lists` are the parameters that may be repeated. FastAPI takes the last of a parameter, or of a member of a body,
    that stands there twice, and somebody else may take the first.
    """

    def __init__(self, *lists: str) -> None:
        self._lists = frozenset(lists)

    async def __call__(self, request: Request) -> None:
        """Raise a `Problem`, 422, for a parameter or a member that stands there twice."""
        for name, count in Counter(name for name, _ in request.query_params.multi_items()).items():
            if count > 1 and name not in self._lists:
                allowed = "it may stand there once"
                detail = f"{name[:100]}: stands {count} times in the query string: {allowed}"
                raise Problem(422, detail, field=name[:100], allowed=allowed)
        if getattr(request.scope.get("route"), "body_field", None) is not None:  # FastAPI has read it
            json_in(await request.body())


async def bounded_body(request: Request, most_bytes: int = LONGEST_BODY_BYTES) -> bytes:
    """Return the body of a request; a `Problem`, 413, refuses one that is too long before it is read whole."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most_bytes:
            raise Problem(413, f"the body is larger than {most_bytes} bytes")
    return bytes(body)


def json_in(body: bytes) -> Any:
    """Return the JSON in the body of a request; a `Problem`, 422, says what is wrong with it."""
    try:
        return parse_json(body)
    except BodyError as error:
        raise Problem(422, str(error), **error.members) from None


def document_as(kind: type[T], document: object, what: str, forms: Mapping[str, str] = NO_FORMS) -> T:
    """Return what a document says as a `kind` of msgspec; a `Problem`, 422, says why `what` is not usable.

    `forms` says by its pattern what a text of a form is.
    """
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        fields = [each.encode_name for each in msgspec.structs.fields(kind)]
        fault = fault_in(error, forms, fields)
        raise Problem(
            422, f"the {what} is not usable: {fault.sentence}", **_value(document, fault), **fault.members
        ) from None


def model_as(kind: type[M], document: object, *, shows_values: bool = True) -> M:
    """Return what a document says as a `kind` of pydantic; a `Problem`, 422, says why not.

    Without `shows_values` it shows none: they may be secrets.
    """
    try:
        return kind.model_validate(document)
    except ValidationError as error:
        fields = [each.alias or name for name, each in kind.model_fields.items()]
        faults = faults_in(error.errors(), shows_values=shows_values, fields=fields)
        raise Problem(422, "; ".join(each.sentence for each in faults), **faults[0].members) from None


def _value(document: object, fault: Fault) -> dict[str, Any]:
    """Return the value that a fault is about, where that is a field of the whole."""
    value = document.get(fault.members.get("field")) if isinstance(document, dict) else None
    return {} if value is None or isinstance(value, dict | list) else {"value": shortened(value)}
