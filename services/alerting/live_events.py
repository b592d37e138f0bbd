"""Server-sent events of the live stream."""

import json

from services.alerting.store.episode_rows import StoredEpisode
from services.alerting.store.match_rows import StoredMatch, served


def events_of(match: StoredMatch, is_shown: bool) -> str:
    """Return what is said of `match`, at least one event: which matches are live no longer, then the match itself.

    The id stands with the last event, so that a reader who was cut off before it gets all of them again.
    """
    events = [
        f"event: superseded\ndata: {json.dumps({'id': id_, 'superseded_by': match.id})}\n\n" for id_ in match.supersedes
    ]
    if is_shown:
        events.append(f"event: match\ndata: {served(match.body, match.superseded_by)}\n\n")
    return "".join([*events[:-1], f"id: {match.sequence}\n", events[-1]])


def event_of(episode: StoredEpisode) -> str:
    """Return what is said of `episode`: how it is now, or that it is no more."""
    kind = "episode_retracted" if episode.is_retracted else "episode"
    return f"id: {episode.sequence}\nevent: {kind}\ndata: {episode.body}\n\n"
