"""What a gateway posts: the shape of one detection, and of an event's own uncertainty."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

NAME_CHARACTERS = 128
ID_CHARACTERS = 200

Name = Annotated[str, Meta(min_length=1, max_length=NAME_CHARACTERS)]
Identifier = Annotated[str, Meta(min_length=1, max_length=ID_CHARACTERS)]
Instant = int | str


class Uncertainty(Struct, forbid_unknown_fields=True, frozen=True):
    """One event's own distribution instead of its sensor's template; exactly one of three forms.

    Attributes
    ----------
    sigma_s : float
        Gaussian clock error, in seconds.
    earliest, latest : int or str
        The event happened in [earliest, latest], both absolute: epoch microseconds or RFC 3339.
    edges_s, mass : list of float
        A histogram of (occurrence - detected_at), in seconds.
    """

    sigma_s: float | UnsetType = UNSET
    earliest: Instant | UnsetType = UNSET
    latest: Instant | UnsetType = UNSET
    edges_s: list[float] | UnsetType = UNSET
    mass: list[float] | UnsetType = UNSET


class PostedDetection(Struct, forbid_unknown_fields=True):
    """One item of a POST, its types checked but nothing else."""

    sensor: Name
    detected_at: Instant
    stream: Name | UnsetType = UNSET
    id: Identifier | UnsetType = UNSET
    attributes: dict[str, Any] | UnsetType = UNSET
    uncertainty: Uncertainty | UnsetType = UNSET


ALLOWED = {
    "sensor": f"the id of a registered sensor, a text of 1 to {NAME_CHARACTERS} characters",
    "stream": f"a declared stream, a text of 1 to {NAME_CHARACTERS} characters; leave it out where the sensor has one",
    "detected_at": "whole microseconds since 1970 UTC, or an RFC 3339 time such as 1987-02-23T07:35:35Z",
    "id": f"a text of 1 to {ID_CHARACTERS} characters; leave it out to have one made from the content",
    "attributes": "an object of at most 1 KiB; leave it out for none",
    "uncertainty": 'one of {"sigma_s": 0.5}, {"earliest": ..., "latest": ...}, {"edges_s": [...], "mass": [...]}',
}
