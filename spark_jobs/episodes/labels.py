"""Labels: the values by which a query tells groups of matches apart."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import json

from coincide.query_checks import ATTRIBUTES
from coincide.query_coalesce import LABEL
from spark_jobs.attributes import Scalar, as_read, attribute, attributes_of
from spark_jobs.matches import Member


def labels_of(by: Sequence[str], members: Sequence[Member]) -> bytes:
    """Return the value of each label as a JSON list: null where a role is absent or there is no such value.

    Values are strings, numbers by what they are worth, true or false.

    Examples
    --------
    >>> from msgspec import Raw
    >>> one = Member("s", "geo-1", "g1", "seismic", 0, 0, 0, "t", Raw(b'{"object":7.0}'))
    >>> labels_of(["s.sensor", "s.attributes.object", "t.sensor", "attributes.object"], [one])
    b'["geo-1",7,null,7]'
    """
    return json.encode([_label(name, members) for name in by])


def _label(label: str, members: Sequence[Member]) -> Scalar | None:
    if label.startswith(ATTRIBUTES):  # the attribute that is equal in all members
        return _attribute(members[0], label)
    found = LABEL.fullmatch(label)
    assert found is not None, label  # noqa: S101 - EpisodeRule has checked it
    for member in members:
        if member.role == found["role"]:
            return member.sensor if found["name"] is None else _attribute(member, found["name"])
    return None


def _attribute(member: Member, name: str) -> Scalar | None:
    value = attribute(attributes_of(member.attributes), name)
    return as_read(value) if isinstance(value, Scalar) else None
