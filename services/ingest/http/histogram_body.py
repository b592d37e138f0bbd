"""HistogramBody: a distribution of seconds in answers, and its fields for bodies that have more."""

from typing import Annotated

from pydantic import BaseModel, Field

EdgesSeconds = Annotated[list[float], Field(description="bucket bounds in seconds, one more than there are buckets")]
Mass = Annotated[list[float], Field(description="probability of each bucket, summing to 1")]


class HistogramBody(BaseModel):
    """A distribution of seconds."""

    edges_s: EdgesSeconds
    mass: Mass
