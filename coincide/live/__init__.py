"""Live joins: the streaming twins of `coincide.timing_join` and `coincide.window_join`.

How queries share buffers
-------------------------
The caller judges lateness and duplicates row by row. It numbers every accepted row: its `ref` rises from push to push
and is unique over all streams. Whatever else belongs to a row the caller keeps under that ref:

>>> import numpy as np
>>> from coincide import Histogram, Window
>>> from coincide.joins.events import Events
>>> from coincide.stream import Stream
>>> from coincide.constraints.conditions import JoinCondition
>>> from coincide.live.shared_joins import SharedJoins
>>> from coincide.joins.watermark import Watermark
>>> streams = [Stream(name, max_delay_s=10, longest_template_s=2) for name in ("seismic", "acoustic")]
>>> joins = SharedJoins(streams, goes_first=lambda refs, others: refs < others)
>>> joins.install("intruder", JoinCondition("seismic", "acoustic", Window(2.0), threshold=0.6), since_ref=0)

Push each stream's batch by itself, in any order of streams. A push answers with the pairs whose second member it
brings: each pair comes exactly once. Codes of areas (at least 0) and sensors are the caller's. `template` is a position
in the templates that come with the batch:

>>> def rows(area, seconds, sensor, refs):
...     codes = np.full(len(refs), area, np.int32), np.zeros(len(refs), np.int32), np.full(len(refs), sensor, np.int32)
...     return Events(codes[0], np.array(seconds) * 1_000_000, codes[1], codes[2], np.array(refs))
>>> clock = (Histogram.uniform(-1, 1),)
>>> joins.push("seismic", rows(0, [100, 200], 1, [0, 1]), clock)
{}
>>> pairs = joins.push("acoustic", rows(0, [101, 300], 2, [2, 3]), clock)
>>> pairs, pairs["intruder"].probability.round(3).tolist()
({'intruder': Pairs(1: (0, 2))}, [0.875])

A second query, added later, counts only rows from its activation on; a change of threshold installs the same query
again with the same `since_ref`:

>>> joins.install("echo", JoinCondition("acoustic", "acoustic", Window(5.0), 0.9, sensors="any"), since_ref=4)
>>> {name: len(pairs) for name, pairs in joins.push("acoustic", rows(0, [301, 302], 2, [4, 5]), clock).items()}
{'echo': 1}

After each batch, drop what no detection on time can match any more, and what belongs to those refs:

>>> watermark = Watermark()
>>> _ = watermark.advance(np.zeros(1, np.int32), np.array([303_000_000]))
>>> dropped = joins.evict(watermark.state_us)
>>> {stream: refs.tolist() for stream, refs in dropped.items()}
{'seismic': [0, 1], 'acoustic': [2]}
"""

from __future__ import annotations

from coincide.live.pair_stream import TimingJoin
from coincide.live.shared_joins import SharedJoins
from coincide.live.tuple_stream import WindowJoin

__all__ = ["SharedJoins", "TimingJoin", "WindowJoin"]
