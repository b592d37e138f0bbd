"""`Who`: the caller of a request, as a parameter of a FastAPI route; `Author`: the same, with why something changes."""

from typing import Annotated

from fastapi import Depends, Header, Request

from services.common.access.caller import REASON_HEADER, Caller, ReasonError, caller_in
from services.common.http.problem import Problem

_Reason = Annotated[str | None, Header(alias=REASON_HEADER, description="Why, for the audit trail: a line of UTF-8.")]


async def _caller_of(request: Request) -> Caller:
    return caller_in(request.scope)


async def _author_of(request: Request, reason: _Reason = None) -> Caller:
    try:
        return caller_in(request.scope).because(reason)
    except ReasonError as error:
        raise Problem(422, str(error)) from None


Who = Annotated[Caller, Depends(_caller_of)]
Author = Annotated[Caller, Depends(_author_of)]
