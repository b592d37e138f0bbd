"""A template in words: when something most likely happened, seen from the time that the sensor reported."""

from services.console.rest.documents import TemplateAnswer

MOST_LIKELY = 0.5


def said_of(template: TemplateAnswer) -> str:
    """Return how the words go on after "seen 12:04:31.2, "."""
    if len(template.edges_s) < 2:
        return "and happened exactly then"
    first_s, last_s = narrowest(template, MOST_LIKELY)
    if (first_s, last_s) == (template.edges_s[0], template.edges_s[-1]):
        return f"happened at any time {offsets_said(first_s, last_s)}"
    return f"happened most likely {offsets_said(first_s, last_s)}"


def narrowest(template: TemplateAnswer, share: float) -> tuple[float, float]:
    """Return the shortest run of buckets that holds `share` of the probability."""
    edges, mass = template.edges_s, template.mass
    best = edges[0], edges[-1]
    held, begin = 0.0, 0
    for end, each in enumerate(mass):
        held += each
        while held - mass[begin] >= share - 1e-9:
            held -= mass[begin]
            begin += 1
        if held >= share - 1e-9 and edges[end + 1] - edges[begin] < best[1] - best[0]:
            best = edges[begin], edges[end + 1]
    return best


def offsets_said(first_s: float, last_s: float) -> str:
    """Return two offsets as words: 3 to 6 s before, at most 2 s after, 60 s before to 60 s after."""
    if first_s >= 0:
        return _one_side(first_s, last_s, "after")
    if last_s <= 0:
        return _one_side(-last_s, -first_s, "before")
    return f"from {_length(-first_s)} before to {_length(last_s)} after"


def _one_side(near_s: float, far_s: float, side: str) -> str:
    return f"at most {_length(far_s)} {side}" if near_s == 0 else f"{_length(near_s)} to {_length(far_s)} {side}"


def _length(seconds: float) -> str:
    if seconds >= 0.9995:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 0.0009995 else f"{seconds * 1e6:.3g} µs"
