"""A change of what is drawn: what was found in a range, or what the live stream told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from services.console.drawing.table_columns import (
    drawn_alert,
    drawn_detections,
    drawn_episode,
    drawn_match,
    drawn_template,
    spread_of,
    template_id,
)
from services.console.pages.now.history_of_range import KeptThings
from services.console.pages.viewer import Viewer
from services.console.rest.documents import AlertAnswer, EpisodeAnswer, MatchAnswer, RecentAnswer, TemplateAnswer
from services.console.rest.evidence_answers import EvidenceAnswer
from services.console.rest.live_feed import DETECTIONS, LiveEvent


@dataclass
class TimelineChange:
    """What has come, what stands no longer, and how many detections were left out on the way."""

    matches: list[MatchAnswer] = field(default_factory=list)
    evidence: dict[str, EvidenceAnswer] = field(default_factory=dict)  # by the id of the match
    episodes: list[EpisodeAnswer] = field(default_factory=list)
    alerts: list[AlertAnswer] = field(default_factory=list)
    recent: list[RecentAnswer] = field(default_factory=list)
    gone_matches: list[str] = field(default_factory=list)
    gone_episodes: list[str] = field(default_factory=list)
    left_out: int = 0
    templates: dict[str, TemplateAnswer] = field(default_factory=dict)

    @classmethod
    def of_kept(cls, kept: KeptThings, recent: RecentAnswer) -> Self:
        """Return all that was found in a range."""
        return cls(matches=kept.matches, episodes=kept.episodes, alerts=kept.alerts, recent=[recent])

    @classmethod
    def of_events(cls, events: Sequence[LiveEvent], left_out: int) -> Self:
        """Return what the events told, the last of each episode only."""
        change = cls(left_out=left_out)
        episodes: dict[str, EpisodeAnswer] = {}
        for kind, body in events:
            if kind == "match":
                change.matches.append(body)
            elif kind == "evidence":
                change.evidence[body.id] = body
            elif kind == "superseded":
                change.gone_matches.append(body.id)
            elif kind in ("episode", "episode_retracted"):
                episodes[body.id] = body
            elif kind == "alert":
                change.alerts.append(body)
            elif kind == DETECTIONS:
                change.recent.append(body)
        change.episodes = [each for each in episodes.values() if not each.retracted]
        change.gone_episodes = [each.id for each in episodes.values() if each.retracted]
        gone = set(change.gone_matches)
        change.matches = [each for each in change.matches if each.id not in gone]
        change.evidence = {id_: each for id_, each in change.evidence.items() if id_ not in gone}
        return change

    async def find_templates(self, viewer: Viewer) -> None:
        """Find the templates of every detection; of one that nobody knows, from when to when it can have happened."""
        for recent in self.recent:
            for id_, shape in recent.templates.items():
                self.templates[id_] = TemplateAnswer(id_, shape.edges_s, shape.mass)
                viewer.templates.note(self.templates[id_])
        members = {template_id(member): member for match in self.matches for member in match.members}
        wanted = members.keys() - self.templates.keys() - {""}
        self.templates |= await viewer.templates.find(viewer.rest, wanted)
        for id_ in wanted - self.templates.keys():
            if (spread := spread_of(members[id_])) is not None:
                self.templates[id_] = spread

    def drawn(self) -> dict[str, Any]:
        """Return it as the timeline takes it; see `Scene.merge` in drawing/timeline/scene.js."""
        everything = {
            "templates": {id_: drawn_template(each) for id_, each in self.templates.items()},
            "matches": [drawn_match(each) for each in self.matches],
            "posteriors": [[id_, each.posterior] for id_, each in self.evidence.items()],
            "episodes": [drawn for each in self.episodes if (drawn := drawn_episode(each))],
            "alerts": [drawn_alert(each) for each in self.alerts],
            "detections": [row for recent in self.recent for row in drawn_detections(recent)],
            "leftOut": self.left_out + sum(recent.left_out for recent in self.recent),
            "goneMatches": self.gone_matches,
            "goneEpisodes": self.gone_episodes,
        }
        return {name: each for name, each in everything.items() if each}
