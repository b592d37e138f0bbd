"""QuakeML 1.2 (BED) of matches: an event each, with its origin, and a pick and an arrival for each member.

QuakeML knows places on the Earth alone. Depths in it are below the ellipsoid, in metres. A network and a station have
eight characters at most there: a sensor is in the comment of its pick in full.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from xml.sax.saxutils import escape, quoteattr

from msgspec import UnsetType

from coincide.catalogue.located_matches import LocatedMatch, LocatedMember, instant_text
from coincide.wire.results.source_place import SourcePlace

NAMESPACES = 'xmlns:q="http://quakeml.org/xmlns/quakeml/1.2" xmlns="http://quakeml.org/xmlns/bed/1.2"'
AUTHORITY = "smi:coincide"
LONGEST_CODE = 8
CONFIDENCE = 90
_not_in_xml = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_not_in_id = re.compile(r"[^\w.~()*'-]", re.ASCII)


def quakeml(matches: Iterable[LocatedMatch]) -> Iterator[bytes]:
    """Yield a document in pieces, one for each match that has a place on the Earth; others are left out.

    Examples
    --------
    >>> b"".join(quakeml([])).count(b"<event ")
    0
    """
    yield (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<q:quakeml {NAMESPACES}>\n'
        f'<eventParameters publicID="{AUTHORITY}/matches">\n'
    ).encode()
    for match in matches:
        if match.place is not None and not isinstance(match.place.peak.lat, UnsetType):
            yield _event(match, match.place).encode()
    yield b"</eventParameters>\n</q:quakeml>\n"


def _event(match: LocatedMatch, place: SourcePlace) -> str:
    named = f"{AUTHORITY}/{_not_in_id.sub('_', match.id)}"
    picks = "".join(_pick(f"{named}/pick/{nth}", member) for nth, member in enumerate(match.members))
    residuals = zip(match.members, place.residual_s, strict=True)
    arrivals = "".join(_arrival(named, nth, member, late_s) for nth, (member, late_s) in enumerate(residuals))
    return (
        f"<event publicID={quoteattr(f'{named}/event')}>\n"
        f"<preferredOriginID>{named}/origin</preferredOriginID>\n"
        f"<description><text>{_text(f'{match.query} in {match.area}')}</text></description>\n"
        f"{picks}<origin publicID={quoteattr(f'{named}/origin')}>\n"
        f"{_origin(match, place)}{arrivals}</origin>\n</event>\n"
    )


def _origin(match: LocatedMatch, place: SourcePlace) -> str:
    peak, when, ellipse = place.peak, place.occurred, place.ellipse
    depth: dict[str, object] = {"value": 0.0 if isinstance(peak.height_m, UnsetType) else -peak.height_m}
    if not isinstance(place.height_m, UnsetType):
        low_m, high_m = place.height_m
        depth |= {"uncertainty": round((high_m - low_m) / 2, 1), "confidenceLevel": CONFIDENCE}
    time = {
        "value": instant_text(when.mean_us),
        "lowerUncertainty": (when.mean_us - when.p05_us) / 1e6,
        "upperUncertainty": (when.p95_us - when.mean_us) / 1e6,
        "confidenceLevel": CONFIDENCE,
    }
    region = {
        "preferredDescription": "uncertainty ellipse",
        "maxHorizontalUncertainty": ellipse.major_m,
        "minHorizontalUncertainty": ellipse.minor_m,
        "azimuthMaxHorizontalUncertainty": ellipse.azimuth_deg,
        "confidenceLevel": CONFIDENCE,
    }
    stations = len({member.sensor for member in match.members})
    quality = {"usedPhaseCount": len(match.members), "usedStationCount": stations}
    return (
        f"{_element('time', time)}{_element('longitude', {'value': peak.lon})}"
        f"{_element('latitude', {'value': peak.lat})}{_element('depth', depth)}"
        f"{_element('originUncertainty', region)}{_element('quality', quality)}"
        "<evaluationMode>automatic</evaluationMode>\n"
    )


def _pick(named: str, member: LocatedMember) -> str:
    network, _, station = member.sensor.rpartition(".") if member.sensor.count(".") == 1 else ("", "", member.sensor)
    codes = {"networkCode": network, "stationCode": station}
    stream_id = " ".join(f"{name}={quoteattr(_xml(code)[:LONGEST_CODE])}" for name, code in codes.items())
    return (
        f"<pick publicID={quoteattr(named)}>\n{_element('time', {'value': instant_text(member.detected_at_us)})}"
        f"<waveformID {stream_id}/>\n"
        f"<comment><text>{_text(f'sensor {member.sensor}, detection {member.id}')}</text></comment>\n</pick>\n"
    )


def _arrival(named: str, nth: int, member: LocatedMember, late_s: float) -> str:
    return (
        f"<arrival publicID={quoteattr(f'{named}/arrival/{nth}')}>\n<pickID>{named}/pick/{nth}</pickID>\n"
        f"<phase>{_text(member.stream)}</phase>\n<timeResidual>{late_s!r}</timeResidual>\n</arrival>\n"
    )


def _element(name: str, of: Mapping[str, object]) -> str:
    inside = "".join(f"<{each}>{value}</{each}>" for each, value in of.items())
    return f"<{name}>{inside}</{name}>\n"


def _text(text: str) -> str:
    return escape(_xml(text))


def _xml(text: str) -> str:
    """Return the text without what XML has no way to write."""
    return _not_in_xml.sub("?", text)
