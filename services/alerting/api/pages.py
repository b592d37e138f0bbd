"""Pages of stored JSON, put together without parsing it again."""

import json
from collections.abc import Iterable

from fastapi import Response

from services.alerting.settings import Settings
from services.common.problem import Problem


def page_limit(asked: int | None, settings: Settings) -> int:
    """Return how many items a page has.

    Raises
    ------
    Problem
        422 when more are asked for than allowed.
    """
    if asked is not None and asked > settings.page_items_max:
        raise Problem(422, f"limit: is {asked}: from 1 to {settings.page_items_max}")
    return asked or settings.page_items


def json_page(bodies: Iterable[str], **members: str | None) -> Response:
    """Return a page whose items are the JSON texts `bodies`; `members` are its other members."""
    others = "".join(f',"{name}":{json.dumps(value)}' for name, value in members.items())
    return Response('{"items":[' + ",".join(bodies) + "]" + others + "}", media_type="application/json")
