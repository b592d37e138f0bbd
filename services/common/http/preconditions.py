"""ETag, If-Match and If-None-Match: nobody overwrites a version that they have not seen."""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Self

from fastapi import Depends, Header

from services.common.http.problem import Problem

IF_MATCH = r'^(\*|"\d{1,19}"(, ?"\d{1,19}")*)$'
_TAG = re.compile(r'"(\d{1,19})"')


def entity_tag(version: int) -> str:
    """Return the ETag of a version."""
    return f'"{version}"'


@dataclass(frozen=True)
class Precondition:
    """What the caller believes of a thing: `If-Match` versions (None: not given), `If-None-Match: *`."""

    versions: frozenset[int] | None = None
    any_version: bool = False
    must_be_new: bool = False

    @classmethod
    def parse(cls, if_match: str | None, if_none_match: str | None) -> Self:
        """Read the two headers. Raises `Problem`: 422 when one of them cannot be read."""
        if if_none_match not in (None, "*"):
            raise Problem(422, f"If-None-Match is {if_none_match!r}: only * is allowed")
        if if_match is None or if_match.strip() == "*":
            return cls(None, if_match is not None, if_none_match == "*")
        tags = [_TAG.fullmatch(tag.strip()) for tag in if_match.split(",")]
        if None in tags:
            raise Problem(422, f'If-Match is {if_match[:100]!r}: an ETag as GET returned it, such as "3", or *')
        return cls(frozenset(int(tag[1]) for tag in tags if tag), False, if_none_match == "*")

    def check(self, version: int | None, what: str) -> None:
        """Raise the Problem, 412 or 428, that keeps the caller from overwriting what they have not seen.

        `version` is that of the thing, None if there is none; `what` names its kind.
        """
        if version is None:
            if self.versions is not None or self.any_version:
                raise Problem(412, f"the {what} does not exist, but If-Match was given")
            return
        tag = {"ETag": entity_tag(version)}
        if self.must_be_new:
            raise Problem(412, f"the {what} exists, with version {version}", tag)
        if self.versions is None and not self.any_version:
            raise Problem(428, f"changing a {what} needs If-Match with its ETag (or *)", tag)
        if self.versions is not None and version not in self.versions:
            raise Problem(412, f"the {what} has version {version}, which If-Match does not name", tag)


def _precondition(
    if_match: Annotated[
        str | None, Header(description="ETag of the version seen, or *.", json_schema_extra={"pattern": IF_MATCH})
    ] = None,
    if_none_match: Annotated[
        str | None, Header(description="* to create only.", json_schema_extra={"pattern": r"^\*$"})
    ] = None,
) -> Precondition:
    return Precondition.parse(if_match, if_none_match)


IfMatch = Annotated[Precondition, Depends(_precondition)]


def merge_patch(target: Any, patch: Any) -> Any:
    """Return `target` changed by `patch`: members are replaced or, by null, removed; anything else replaces whole.

    As RFC 7396 has it.
    """
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged
