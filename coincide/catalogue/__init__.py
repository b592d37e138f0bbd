"""Catalogues: matches that one source explains, as programs that draw maps and list earthquakes read them."""

from __future__ import annotations

from coincide.catalogue.geojson_features import geojson
from coincide.catalogue.located_matches import LocatedMatch, located_match
from coincide.catalogue.quakeml_events import quakeml

__all__ = ["LocatedMatch", "geojson", "located_match", "quakeml"]
