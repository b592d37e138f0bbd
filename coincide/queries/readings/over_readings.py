"""OverReadings: what queries over the readings of one stream have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal


@dataclass(frozen=True)
class OverReadings:
    """Whose readings are coalesced: `by` makes the groups, `value` is what is read (see `ReadingsQuery`)."""

    tells: ClassVar[Literal["episode"]] = "episode"

    id: str
    stream: str
    by: tuple[str, ...]
    value: str

    @property
    def read(self) -> tuple[object, ...]:
        """What is read."""
        return self.stream, self.by, self.value

    @property
    def streams(self) -> tuple[str, ...]:
        """The one stream."""
        return (self.stream,)

    @property
    def named_streams(self) -> dict[str, str]:
        """The stream, by the field that names it."""
        return {"coalesce.from": self.stream}

    @classmethod
    def is_asked_by(cls, document: Mapping[str, Any]) -> bool:
        """Whether a document is of a query over readings: its `coalesce` says where they come from."""
        coalesce = document.get("coalesce")
        return isinstance(coalesce, Mapping) and "from" in coalesce
