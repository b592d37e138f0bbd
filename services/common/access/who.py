"""`Who`: the caller of a request, as a parameter of a FastAPI route; `Author`: the same, with why something changes."""

from dataclasses import replace
from typing import Annotated

from fastapi import Depends, Header, Request

from services.common.access.caller import Caller, caller_in
from services.common.problem import Problem

REASON_HEADER = "Change-Reason"
_LONGEST_REASON_BYTES = 500
_Reason = Annotated[str | None, Header(alias=REASON_HEADER, description="Why, for the audit trail: a line of UTF-8.")]


async def _caller_of(request: Request) -> Caller:
    return caller_in(request.scope)


async def _author_of(request: Request, reason: _Reason = None) -> Caller:
    caller = caller_in(request.scope)
    return caller if reason is None else replace(caller, why=_text_of(reason))


def _text_of(reason: str) -> str:
    """Return what a header says in UTF-8; HTTP gives each of its bytes as a character."""
    said = reason.encode("latin-1", "replace")
    if len(said) > _LONGEST_REASON_BYTES:
        raise Problem(422, f"{REASON_HEADER} has {len(said)} bytes: at most {_LONGEST_REASON_BYTES}")
    return said.decode("utf-8", "replace")


Who = Annotated[Caller, Depends(_caller_of)]
Author = Annotated[Caller, Depends(_author_of)]
