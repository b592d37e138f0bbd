"""Time slides: how often chance gives a match, counted where nothing can belong together any more.

The sensors of an area are shifted against each other by more than a match reaches, and the join is run again. What it
finds then is chance. `area_times` says when something was recorded, `shifts` how far each sensor is shifted in each
slide, `sliding` joins and counts, and `count_interval` says how sure the counts are.
"""

from __future__ import annotations

from coincide.slides.sliding import TimeSlides, time_slides

__all__ = ["TimeSlides", "time_slides"]
