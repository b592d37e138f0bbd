"""The matches of one group into episodes, anew where something came or went."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from coincide.fusion.episodes.episode_records import GroupKey, Part, united
from coincide.fusion.episodes.live_episode import LiveEpisode
from coincide.queries import EpisodeRule


class RemovedMatches:
    """Matches that are gone, each with its revision, by start; an episode they touched is revised by them."""

    def __init__(self, gone: Iterable[tuple[Part, int]], gap_us: int) -> None:
        self._gap_us = gap_us
        self._gone = sorted(gone, key=lambda each: each[0].start_us)
        self._start_us = [part.start_us for part, _ in self._gone]
        self._longest_us = max((part.end_us - part.start_us for part, _ in self._gone), default=0)

    def touching(self, start_us: int, end_us: int) -> list[int]:
        """Return the revisions of those at most the gap away from an interval."""
        first = bisect_left(self._start_us, start_us - self._gap_us - self._longest_us)
        last = bisect_right(self._start_us, end_us + self._gap_us)
        return [at for part, at in self._gone[first:last] if start_us - self._gap_us <= part.end_us]


@dataclass
class GroupChanges:
    """What came and went in one group since its episodes were last formed, applied in the order of arrival."""

    added: dict[str, Part] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)  # match id to the revision that it went with
    gone: list[tuple[Part, int]] = field(default_factory=list)  # matches of this push that went in it

    def add(self, match_id: str, part: Part) -> None:
        """Add a match."""
        self.removed.pop(match_id, None)
        self.added[match_id] = part

    def remove(self, match_id: str, revision: int) -> None:
        """Remove a match; of one that is not known nothing is said."""
        part = self.added.pop(match_id, None)
        if part is None:
            self.removed.setdefault(match_id, revision)
        else:
            self.gone.append((part, revision))

    @property
    def revision(self) -> int:
        """The newest revision."""
        came = [part.revision for part in self.added.values()]
        return max([*came, *self.removed.values(), *(revision for _, revision in self.gone)])


def regrouped(
    group: GroupKey, known: Sequence[LiveEpisode], changes: GroupChanges, rule: EpisodeRule, settled_before_us: int
) -> tuple[list[LiveEpisode], list[LiveEpisode]]:
    """Return the `known` episodes that stay, and new ones; matches before `settled_before_us` cannot be removed."""
    loose = {match: part for episode in known for match, part in episode.loose.items()}
    gone = [*changes.gone, *((loose.pop(match), at) for match, at in changes.removed.items() if match in loose)]
    loose |= changes.added
    entries = [*((None, part) for episode in known for part in episode.settled), *loose.items()]
    owner = {id(part): episode for episode in known for part in (*episode.settled, *episode.loose.values())}
    kept: list[LiveEpisode] = []
    new: list[LiveEpisode] = []
    removed = RemovedMatches(gone, rule.gap_us)
    for run in _runs(entries, rule.gap_us):
        revisions = removed.touching(run[0][1].start_us, max(part.end_us for _, part in run)) if gone else []
        before = owner.get(id(run[0][1]))
        if (
            before is not None
            and not revisions
            and before.parts == len(run) == sum(owner.get(id(part)) is before for _, part in run)
        ):
            kept.append(before)
        else:
            new.append(_episode(group, run, revisions, rule, settled_before_us))
    return kept, new


Entry = tuple[str | None, Part]


def _runs(entries: Iterable[Entry], gap_us: int) -> list[list[Entry]]:
    """Cut matches into runs, each in the order of their starts; as `coalesce` does, which is slower for a few."""
    runs: list[list[Entry]] = []
    reach_us = 0
    for entry in sorted(entries, key=lambda entry: entry[1].start_us):
        part = entry[1]
        if runs and part.start_us - gap_us <= reach_us:
            runs[-1].append(entry)
            reach_us = max(reach_us, part.end_us)
        else:
            runs.append([entry])
            reach_us = part.end_us
    return runs


def _episode(
    group: GroupKey, run: Sequence[Entry], revisions: Sequence[int], rule: EpisodeRule, settled_before_us: int
) -> LiveEpisode:
    settled = [entry for entry in run if entry[0] is None or entry[1].earliest_us < settled_before_us]
    loose = {match: part for match, part in run if match is not None and part.earliest_us >= settled_before_us}
    parts = tuple(united([part for _, part in one]) for one in _runs(settled, rule.gap_us)) if settled else ()
    return LiveEpisode(group, parts, loose, rule, max([*revisions, *(part.revision for _, part in run)]))
