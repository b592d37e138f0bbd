"""PTJoin, the join of histogram timestamps, and its yardsticks Simple and Eager."""

from __future__ import annotations

import math

from coincide.constraints.window import Window
from coincide.offsets.long_windows import least_probability
from coincide.papers.counted_answer import PaperResult, TimingAnswer, is_inside
from coincide.papers.interval_timing.regions import refuse_short_window
from coincide.papers.ptjoin.bucket_pairs import HistogramTimestamp, ge
from coincide.papers.ptjoin.partition_bounds import bound_us, installed_conditions, partitions_for_any_threshold
from coincide.papers.recording import Event, Recording, StreamParameters
from coincide.papers.sorted_buffers import FAR_US, SortedBuffer


class EvaluatedCondition:
    """The join condition evaluated for events of `stream` that arrive, and partners of the other stream.

    Probabilities are good to about 1e-14 where buckets are not much shorter than a millisecond and edges are whole
    microseconds. Threshold 1, which the paper leaves out, asks for the supports.
    """

    def __init__(self, answer: TimingAnswer, stream: str) -> None:
        self._window = answer.windows[stream]
        self._threshold, self._enough = answer.threshold, least_probability(answer.threshold)
        parameters = answer.recording.parameters
        self._us, self._vs = parameters[stream].templates, parameters[answer.other[stream]].templates
        self._new, self._partners = ([HistogramTimestamp.of_template(t) for t in ts] for ts in (self._us, self._vs))

    def is_match(self, new: Event, partner: Event) -> bool:
        """P(X_i + hi >= X_j and X_j - lo >= X_i) >= threshold: both cannot fail at once, so that their failures add."""
        return self._is_enough(self._ends(new, partner) + self._starts(new, partner) - 1.0, new, partner)

    def ends_inside(self, new: Event, partner: Event) -> bool:
        """prob(H_i + hi >= H_j) >= threshold: all that Lemma 2 leaves to ask on the right."""
        return self._is_enough(self._ends(new, partner), new, partner)

    def starts_inside(self, new: Event, partner: Event) -> bool:
        """prob(H_j - lo >= H_i) >= threshold: all that Lemma 2 leaves to ask on the left."""
        return self._is_enough(self._starts(new, partner), new, partner)

    def _ends(self, new: Event, partner: Event) -> float:
        return ge(self._new[new.template] + bound_us(self._window.hi_s), self._moved(new, partner))

    def _starts(self, new: Event, partner: Event) -> float:
        return ge(self._moved(new, partner) - bound_us(self._window.lo_s), self._new[new.template])

    def _moved(self, new: Event, partner: Event) -> HistogramTimestamp:
        return self._partners[partner.template] + (partner.detected_at_us - new.detected_at_us)

    def _is_enough(self, probability: float, new: Event, partner: Event) -> bool:
        if probability < self._enough:
            return False
        offset_us = partner.detected_at_us - new.detected_at_us
        u, v = self._us[new.template], self._vs[partner.template]
        return self._threshold < 1.0 or is_inside(u, v, offset_us, self._window)


def simple(recording: Recording, window: Window, threshold: float) -> PaperResult:
    """Join by nested loops, the straightforward method that section 3 of the PTJoin paper starts from.

    It evaluates the definition of the join condition, so it takes any window. It never drops anything.
    """
    answer = TimingAnswer(recording, window, threshold)
    conditions = {stream: EvaluatedCondition(answer, stream) for stream in answer.streams}

    def evaluate_all(new: Event, buffer: SortedBuffer) -> None:
        for partner in buffer:
            answer.work.scanned += 1
            answer.work.probabilities += 1
            if conditions[new.stream].is_match(new, partner):
                answer.add(new, partner)

    return answer.replayed(evaluate_all, lambda _new: -FAR_US)


def eager(recording: Recording, window: Window, threshold: float) -> PaperResult:
    """Join with the partitions of Equations 4 to 6: what is in a probing range is evaluated by Theorem 1.

    Events leave the buffer when they are left of the probing range of every event that may still arrive. Lemma 2 needs
    a window at least as long as the longest templates of both streams together.
    """
    answer = TimingAnswer(recording, window, threshold)
    refuse_short_window(recording, window)
    conditions = {stream: EvaluatedCondition(answer, stream) for stream in answer.streams}
    known = recording.parameters

    def join(new: Event, buffer: SortedBuffer) -> None:
        longest = longest_us(known[answer.other[new.stream]])
        partitions = partitions_for_any_threshold(new, answer.windows[new.stream], longest)
        condition = conditions[new.stream]
        for partner in buffer.between(partitions.least_us, partitions.greatest_us):
            answer.work.scanned += 1
            if not partitions.is_satisfied(partner):
                answer.work.probabilities += 1
                probe = condition.starts_inside if partitions.is_left(partner) else condition.ends_inside
                if not probe(new, partner):
                    continue
            answer.add(new, partner)

    def obsolete_before_us(new: Event) -> int:
        """Where the left probing range of the last event that may still arrive starts, by Equation 4."""
        base, lo_us = known[new.stream], math.floor(bound_us(answer.windows[new.stream].lo_s))
        return new.latest_us - base.max_delay_us - longest_us(base) + lo_us

    return answer.replayed(join, obsolete_before_us)


def longest_us(parameters: StreamParameters) -> int:
    """Return pi, the length of a stream's longest template, in whole microseconds rounded up."""
    return max((template.latest_us - template.earliest_us for template in parameters.templates), default=0)


def ptjoin(recording: Recording, window: Window, threshold: float) -> PaperResult:
    """Join with the partitions of Theorem 3, the check of Theorem 2 and the invalidation of Theorem 4.

    No probability is evaluated after the condition is installed. Lemma 2 needs a long window, as in `eager`.
    """
    answer = TimingAnswer(recording, window, threshold)
    refuse_short_window(recording, window)
    conditions = installed_conditions(answer)

    def join(new: Event, buffer: SortedBuffer) -> None:
        condition = conditions[new.stream]
        partitions = condition.partitions(new)
        for partner in buffer.between(partitions.least_us, partitions.greatest_us):
            answer.work.scanned += 1
            if not partitions.is_satisfied(partner):
                answer.work.lookups += 1
                if not condition.is_match(new, partner):
                    continue
            answer.add(new, partner)

    def obsolete_before_us(new: Event) -> int:
        return conditions[new.stream].obsolete_before_us(new, recording.parameters[new.stream].max_delay_us)

    return answer.replayed(join, obsolete_before_us)
