"""Adding to stored JSON without parsing it."""

import json


def with_member(body: str, name: str, value: object) -> str:
    """Return the JSON object `body`, which is not empty, with one more member, last.

    Examples
    --------
    >>> with_member('{"id":"m-1"}', "superseded_by", "m-2")
    '{"id":"m-1","superseded_by":"m-2"}'
    """
    return f"{body.rstrip()[:-1]},{json.dumps(name)}:{json.dumps(value)}}}"
