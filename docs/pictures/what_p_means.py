"""The picture of docs/explanation/what-p-means.md: one P, and four shares that are one event.

Nothing is drawn at random here. True pairs qualify as often as their offsets have such a P, and others as often as
reports that come at random lie at these offsets.
"""

from __future__ import annotations

from typing import Any

from coincide import Histogram, Window, match_probability, satisfaction_offsets
from docs.pictures.style import BLUE, EXPLANATION, Pictures, figure

CLOCK, WINDOW = Histogram.uniform(-1, 1), Window(0.8)  # those of the page
P_FROM, P_TO = 0.6, 0.7
EVENTS_HZ, NOISE_HZ = 0.01, (0.0, 0.01, 0.1, 0.5)
EVERY = ("nothing", "one thing in 100 s", "one in 10 s", "one in 2 s")


def draw_shares() -> Any:
    """Draw what P says, and the share that is one event, for each rate of other reports."""
    fig, ax = figure(6.4, 2.6)
    ax.axhspan(P_FROM, P_TO, color="0.88", linewidth=0)
    ax.text(3.55, (P_FROM + P_TO) / 2, "P of all pairs here", color="0.3", ha="right", va="center", fontsize=8)
    for nth, share in enumerate(shares()):
        ax.bar(nth, share, width=0.5, color=BLUE)
        said = f"{share:.0%}" if share > 0.1 else f"{share:.1%}"
        ax.text(nth, share + 0.02, said.replace("%", " %"), color=BLUE, ha="center", va="bottom")
    ax.set_xticks(range(len(EVERY)), EVERY)
    ax.set(xlabel="each sensor also reports", ylabel="pairs that are one event", xlim=(-0.5, 3.6), ylim=(0, 1.12))
    ax.set_yticks([0, 0.5, 1], ["0 %", "50 %", "100 %"])
    return fig


def shares() -> list[float]:
    """Return the share of pairs with such a P that are one event, for each rate of other reports."""
    true = EVENTS_HZ * (_true_pairs(P_FROM) - _true_pairs(P_TO))
    length_s = _length_s(P_FROM) - _length_s(P_TO)
    return [true / (true + (EVENTS_HZ + noise_hz) ** 2 * length_s) for noise_hz in NOISE_HZ]


def _true_pairs(least: float) -> float:
    """Return the share of true pairs whose reports lie at offsets with so great a P."""
    windows = [Window(lo_s=lo_us / 1e6, hi_s=hi_us / 1e6) for lo_us, hi_us in _offsets_us(least)]
    return sum(float(match_probability(CLOCK, CLOCK, 0.0, each)) for each in windows)


def _length_s(least: float) -> float:
    return sum(hi_us - lo_us for lo_us, hi_us in _offsets_us(least)) / 1e6


def _offsets_us(least: float) -> list[list[int]]:
    return [list(each) for each in satisfaction_offsets(CLOCK, CLOCK, WINDOW, least).tolist()]


PICTURES: Pictures = {
    EXPLANATION / "what-p-means" / "one-event.svg": (draw_shares, lambda: {"one event": shares()}),
}
