"""Fields that records of results have in common: of which query they are, and of which detections."""

from typing import Annotated

from msgspec import Meta

from coincide.wire.fields import Int64, Name

QueryId = Annotated[Name, Meta(description="Id of the query.")]
MembersArea = Annotated[Name, Meta(description="The area of all members.")]

SensorId = Annotated[Name, Meta(description="Id of the sensor.")]
DetectionId = Annotated[Name, Meta(description="Id of the detection.")]
DetectionStream = Annotated[Name, Meta(description="Its stream.")]
DetectedAt = Annotated[Int64, Meta(description="When the sensor says it happened, microseconds since the epoch, UTC.")]
