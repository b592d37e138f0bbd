"""`Who`: the caller of a request, as a parameter of a FastAPI route."""

from typing import Annotated

from fastapi import Depends, Request

from services.common.access.caller import Caller, caller_in


async def _caller_of(request: Request) -> Caller:
    return caller_in(request.scope)


Who = Annotated[Caller, Depends(_caller_of)]
