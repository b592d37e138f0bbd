"""Episodes written from the definition: all over again after every match, nothing ever dropped."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

Record = dict[str, Any]


@dataclass
class SlowEpisodes:
    """Takes match records in order; `current` are the episodes as they are now, by id."""

    rule: dict[str, Any]
    matches: dict[tuple[str, str], Record] = field(default_factory=dict)
    revisions: dict[frozenset[tuple[str, str]], int] = field(default_factory=dict)

    def add(self, match: Record, offset: int) -> None:
        """Take one match, completed by a row of the frame at `offset`."""
        for superseded in match.get("supersedes", ()):
            self.matches.pop((match["area"], superseded), None)
        self._revise(offset)
        self.matches[match["area"], match["id"]] = match
        self._revise(offset)

    def _revise(self, offset: int) -> None:
        self.revisions = {each: self.revisions.get(each, offset) for each in map(_names, self._episodes())}

    @property
    def current(self) -> dict[str, Record]:
        episodes = [{**self._record(each), "revision": self.revisions[_names(each)]} for each in self._episodes()]
        return {record["id"]: record for record in episodes}

    def content(self) -> dict[str, Record]:
        """Return every episode by id, without a revision: the matches alone do not tell it."""
        return {record["id"]: record for record in map(self._record, self._episodes())}

    def _episodes(self) -> list[list[Record]]:
        groups: dict[tuple[str, str], list[Record]] = {}
        for match in self.matches.values():
            groups.setdefault((match["area"], json.dumps(self._labels(match))), []).append(match)
        return [episode for group in groups.values() for episode in self._united(group)]

    def _united(self, group: list[Record]) -> list[list[Record]]:
        """Put together whatever is linked by matches at most a gap apart, one by one."""
        gap_us = self.rule["gap_s"] * 1e6
        left = [(match, self._interval([match])) for match in group]
        episodes = []
        while left:
            episode = [left.pop()]
            for _, interval in episode:  # it grows while it is gone through
                near = [each for each in left if _apart_us(interval, each[1]) <= gap_us]
                left = [each for each in left if _apart_us(interval, each[1]) > gap_us]
                episode += near
            episodes.append([match for match, _ in episode])
        return episodes

    def _interval(self, matches: list[Record]) -> tuple[int, int]:
        if self.rule["interval"] == "hull":
            return min(match["earliest_us"] for match in matches), max(match["latest_us"] for match in matches)
        occurred = [match["occurred"] for match in matches]
        return min(each["p05_us"] for each in occurred), max(each["p95_us"] for each in occurred)

    def _about_us(self, match: Record) -> int:
        """When one match probably was: by its mean, if that is not beyond its interval, or else in the middle."""
        start_us, end_us = self._interval([match])
        if match["occurred"] is None:
            return (start_us + end_us) // 2
        _, middle_us, _ = sorted([start_us, int(match["occurred"]["mean_us"]), end_us])
        return middle_us

    def _labels(self, match: Record) -> list[Any]:
        members = {member["role"]: member for member in match["members"]}
        values = []
        for label in self.rule["by"]:
            role, _, name = label.partition(".")
            member = match["members"][0] if role == "attributes" else members.get(role)
            named = name.removeprefix("attributes.")
            is_sensor = label.endswith(".sensor") and role != "attributes"
            values.append(member and (member["sensor"] if is_sensor else member["attributes"].get(named)))
        return values

    def _record(self, matches: list[Record]) -> Record:
        fields, first = ("detected_at_us", "sensor", "id", "stream"), matches[0]
        known = {tuple(m[each] for each in fields): m["attributes"] for match in matches for m in match["members"]}
        members, about_us = sorted(known), sorted(map(self._about_us, matches))
        values, (start_us, end_us) = self._labels(first), self._interval(matches)
        gap_us = round(self.rule["gap_s"] * 1e6)
        steps = (start_us - members[0][0] + (gap_us + 1) // 2) // (gap_us + 1)
        rule = [gap_us, self.rule["interval"], self.rule["by"]]
        parts = [first["query"], *rule, first["area"], values, list(members[0]), steps]
        return {
            "id": "e-" + hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).hexdigest()[:32],
            "query": first["query"],
            "query_version": max(match["query_version"] for match in matches),
            "area": first["area"],
            "group": dict(zip(self.rule["by"], values, strict=True)),
            "start_us": start_us,
            "end_us": end_us,
            "duration_s": (about_us[-1] - about_us[0]) / 1e6,
            "uncertainty_s": (end_us - start_us - about_us[-1] + about_us[0]) / 1e6,
            "count": len(matches),
            "best_probability": max(match["probability"] for match in matches),
            "received_at_us": max(match["received_at_us"] for match in matches),
            "members": [{**dict(zip(fields, name, strict=True)), "attributes": known[name]} for name in members],
        }


def _names(episode: list[Record]) -> frozenset[tuple[str, str]]:
    return frozenset((match["area"], match["id"]) for match in episode)


def _apart_us(a: tuple[int, int], b: tuple[int, int]) -> int:
    return max(a[0] - b[1], b[0] - a[1])
