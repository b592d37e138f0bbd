"""Entity tags: who changes a query says which version they saw."""

import re
from dataclasses import dataclass
from typing import Self

from services.alerting.store.query_rows import QueryVersion
from services.common.problem import Problem

_TAG = re.compile(r'"(\d{1,19})"')


def entity_tag(version: int) -> str:
    """Return the ETag of a query's version."""
    return f'"{version}"'


@dataclass(frozen=True)
class Precondition:
    """What the caller believes of the query: `If-Match` versions (None: not given), `If-None-Match: *`."""

    versions: frozenset[int] | None = None
    any_version: bool = False
    must_be_new: bool = False

    @classmethod
    def parse(cls, if_match: str | None, if_none_match: str | None) -> Self:
        """Read the two headers.

        Raises
        ------
        Problem
            422 when one of them cannot be read.
        """
        if if_none_match not in (None, "*"):
            raise Problem(422, f"If-None-Match is {if_none_match!r}: only * is allowed")
        if if_match is None or if_match.strip() == "*":
            return cls(None, if_match is not None, if_none_match == "*")
        tags = [_TAG.fullmatch(tag.strip()) for tag in if_match.split(",")]
        if None in tags:
            raise Problem(422, f'If-Match is {if_match[:100]!r}: an ETag as GET returned it, such as "3", or *')
        return cls(frozenset(int(tag[1]) for tag in tags if tag), False, if_none_match == "*")

    def check(self, current: QueryVersion | None) -> None:
        """Raise the Problem, 412 or 428, that keeps the caller from overwriting what they have not seen."""
        if current is None:
            if self.versions is not None or self.any_version:
                raise Problem(412, "the query does not exist, but If-Match was given")
            return
        tag = {"ETag": entity_tag(current.version)}
        if self.must_be_new:
            raise Problem(412, f"the query exists, with version {current.version}", tag)
        if self.versions is None and not self.any_version:
            raise Problem(428, "changing a query needs If-Match with its ETag (or *)", tag)
        if self.versions is not None and current.version not in self.versions:
            raise Problem(412, f"the query has version {current.version}, which If-Match does not name", tag)
