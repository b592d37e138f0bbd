"""Which change made what people declare what it is, as their records say."""

from typing import Annotated

from msgspec import Meta, Struct

from coincide.wire.fields import LONGEST_NAME, Microseconds

ChangeCount = Annotated[
    int,
    Meta(
        ge=0, description="How often it was changed, over REST or by seeding it again; left out of one never changed."
    ),
]
ChangedAt = Annotated[Microseconds, Meta(description="When it was changed last.")]
#: Who or what made a change.
Author = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=LONGEST_NAME,
        description="By whom: the key of who asked, seed, an accepted proposal, or the template that it follows; left "
        "out if nobody knows.",
    ),
]


class LastChange(Struct, frozen=True, omit_defaults=True):
    """Which change made a sensor or a template what it is, when, and by whom; version 0 says that nobody knows."""

    version: ChangeCount = 0
    changed_at_us: ChangedAt | None = None
    changed_by: Author | None = None

    @property
    def change(self) -> "LastChange":
        """The change alone, of a record that has more."""
        return LastChange(self.version, self.changed_at_us, self.changed_by)


UNKNOWN_CHANGE = LastChange()
