"""The fusion engine, pure: records of detections and queries in, records of what they mean and state out."""

from coincide import wire as wire  # says what to install where msgspec is not
