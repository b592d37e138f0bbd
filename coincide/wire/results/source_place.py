"""Where the source of a match was: the part of its record that queries with `source` ask for."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from coincide.places.place import EarthPlace, Place
from coincide.queries.joins.join_checks import MOST_ROLES
from coincide.sources import SourceLocation
from coincide.wire.fields import Int64, NotNegative, Probability

MOST_CELLS = 128
DEGREE_DECIMALS = 7  # a centimetre
METRE_DECIMALS = 3
PROBABILITY_DECIMALS = 6
SECOND_DECIMALS = 6

Metres = Annotated[float, Meta(description="Metres along an axis of the area's frame; z upwards.")]


class PointRecord(Struct, frozen=True, omit_defaults=True, gc=False):
    """A place on the Earth, or in the frame of its area."""

    lat: Annotated[float | UnsetType, Meta(description="Degrees north, WGS 84.")] = UNSET
    lon: Annotated[float | UnsetType, Meta(description="Degrees east, WGS 84.")] = UNSET
    height_m: Annotated[float | UnsetType, Meta(description="Metres above the ellipsoid; below 0 it is a depth.")] = (
        UNSET
    )
    x_m: Metres | UnsetType = UNSET
    y_m: Metres | UnsetType = UNSET
    z_m: Metres | UnsetType = UNSET

    @classmethod
    def of(cls, place: Place) -> "PointRecord":
        """Return the record of a place."""
        first, second, height_m = (round(each, METRE_DECIMALS) for each in place.coordinates)
        if not isinstance(place, EarthPlace):
            return cls(x_m=first, y_m=second, z_m=height_m)
        return cls(round(place.lat, DEGREE_DECIMALS), round(place.lon, DEGREE_DECIMALS), height_m)

    @property
    def coordinates(self) -> tuple[float, float, float] | None:
        """Latitude, longitude and height, or the three axes; None if some is missing."""
        for names in ((self.lat, self.lon, self.height_m), (self.x_m, self.y_m, self.z_m)):
            if not any(isinstance(each, UnsetType) for each in names):
                return names  # type: ignore[return-value]
        return None


class EllipseRecord(Struct, frozen=True, gc=False):
    """The horizontal ellipse about the mean place that has 90 % of the probability."""

    major_m: Annotated[NotNegative, Meta(description="Its longer half axis in metres.")]
    minor_m: Annotated[NotNegative, Meta(description="Its shorter half axis in metres.")]
    azimuth_deg: Annotated[float, Meta(description="Direction of the longer axis, from north over east.", ge=0, le=180)]


class CellsRecord(Struct, frozen=True, gc=False):
    """The 90 % region as cells of one size, by falling probability."""

    half_m: Annotated[
        tuple[float, float, float], Meta(description="Half the size of each in metres: east, north and up.")
    ]
    at: Annotated[
        Sequence[tuple[float, float, float]],
        Meta(
            description="The middle of each: latitude, longitude and height, or the three axes.",
            extra_json_schema={"minItems": 1, "maxItems": MOST_CELLS},
        ),
    ]
    probability: Annotated[
        Sequence[Probability],
        Meta(description="Of each.", extra_json_schema={"minItems": 1, "maxItems": MOST_CELLS}),
    ]


class SourceTimeRecord(Struct, frozen=True, gc=False):
    """When it happened at the source."""

    mean_us: Annotated[Int64, Meta(description="Expected time, microseconds since the epoch, UTC.")]
    p05_us: Annotated[Int64, Meta(description="5 % quantile, microseconds since the epoch, UTC.")]
    p95_us: Annotated[Int64, Meta(description="95 % quantile, microseconds since the epoch, UTC.")]


class SourcePlace(Struct, frozen=True, kw_only=True, gc=False):
    """Where and when the one source was that explains all members."""

    probability: Annotated[
        Probability,
        Meta(
            description="P of consistency with a place: that the times, less the travel times from there, lie within "
            "the slack of each other. The greatest that was found; some place may have a little more."
        ),
    ]
    peak: Annotated[PointRecord, Meta(description="The most probable place.")]
    mean: Annotated[PointRecord, Meta(description="The mean place.")]
    ellipse: EllipseRecord
    height_m: Annotated[
        tuple[float, float] | UnsetType,
        Meta(description="Ends of the central 90 % of the height; absent where the query says one height."),
    ] = UNSET
    occurred: SourceTimeRecord
    residual_s: Annotated[
        Sequence[float],
        Meta(
            description="By how much each member came later than from the most probable place, in seconds, in the "
            "order of the members.",
            extra_json_schema={"minItems": 2, "maxItems": MOST_ROLES},
        ),
    ]
    lost: Annotated[Probability, Meta(description="At most so much of the probability lies in no cell looked at.")]
    cells: CellsRecord

    @classmethod
    def of(cls, probability: float, found: SourceLocation, *, in_plane: bool) -> "SourcePlace":
        """Return the record of a place that was found."""
        ellipse, region = found.ellipse, found.region_in(MOST_CELLS)
        east_m, north_m, up_m = (round(each, METRE_DECIMALS) for each in region.half_m)
        points = [PointRecord.of(region.centres[nth]) for nth in range(len(region.centres))]
        return cls(
            probability=round(probability, PROBABILITY_DECIMALS),
            peak=PointRecord.of(found.peak),
            mean=PointRecord.of(found.place),
            ellipse=EllipseRecord(
                round(ellipse.major_m, METRE_DECIMALS),
                round(ellipse.minor_m, METRE_DECIMALS),
                round(ellipse.azimuth_deg, 3),
            ),
            height_m=UNSET if in_plane else (round(found.height_m[0], 1), round(found.height_m[1], 1)),
            occurred=SourceTimeRecord(found.mean_us, found.p05_us, found.p95_us),
            residual_s=[round(each, SECOND_DECIMALS) for each in found.residual_s],
            lost=round(min(found.lost, 1.0), PROBABILITY_DECIMALS),
            cells=CellsRecord(
                (east_m, north_m, up_m),
                [each for point in points if (each := point.coordinates) is not None],
                region.probability.round(PROBABILITY_DECIMALS).tolist(),
            ),
        )
