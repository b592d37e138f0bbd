"""Strict JSON: what a body has to be before anybody asks what it means; one reader for services and jobs."""

import json
from collections import Counter
from typing import Any, NoReturn

LONGEST_NAME = 100
JSON_ALLOWED = "JSON as RFC 8259 has it"


class BodyError(ValueError):
    """A body that nobody can take; the message is one sentence, and `members` are what a problem adds to it."""

    def __init__(self, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.members = members


def parse_json(body: bytes) -> Any:
    """Return the JSON in `body`; a `BodyError` says what is wrong with it.

    It refuses whatever readers of JSON understand in different ways: a member twice in an object, a number that no
    double can hold, half of a surrogate pair.

    Examples
    --------
    >>> parse_json(b'{"why": "drill"}')
    {'why': 'drill'}
    >>> parse_json(b'{"why": "drill", "why": "fire"}')
    Traceback (most recent call last):
    services.common.http.strict_json.BodyError: why: stands 2 times in an object: each member may stand there once
    """
    try:
        document = json.loads(body, object_pairs_hook=_once_each, parse_constant=_refuse_constant)
        json.dumps(document, allow_nan=False, ensure_ascii=False).encode()  # 1e999 and lone surrogates
    except BodyError:
        raise
    except (ValueError, RecursionError) as error:
        said = f"the body is not JSON: {str(error)[:200]}: {JSON_ALLOWED} is allowed"
        raise BodyError(said, allowed=JSON_ALLOWED) from None
    return document


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        [(name, count)] = Counter(name for name, _ in pairs).most_common(1)
        field = name[:LONGEST_NAME].encode("utf-8", "backslashreplace").decode()
        allowed = "each member may stand there once"
        raise BodyError(f"{field}: stands {count} times in an object: {allowed}", field=field, allowed=allowed)
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
