"""A process that appends until it is killed: ``python -m tests.services.common.local_log.writing_process FILE``.

Record n of the topic is `value_of(n)`. Three records are one append, with a record of a compacted topic that says the
number of the next one, as a host keeps what it told and how far it has come. Several appends are under way at a time.
It prints the offset of the last record of each append once that is acknowledged.
"""

import random
import sys
from collections import deque
from pathlib import Path

from services.common.local_log.local_log import LocalLog
from services.common.log.declared_topic import Topic
from services.common.log.records import NewRecord, TopicPartition

TOPIC = "written"
TOGETHER, UNDER_WAY = 3, 8
#: What is kept is less than what is written, so records are deleted meanwhile, and their pages are used again.
CONFIGS = {"retention.bytes": "1000000"}
REACHED = "reached"
COMPACTED = {"cleanup.policy": "compact", "min.compaction.lag.ms": "0"}


def value_of(number: int) -> bytes:
    """Return a value of 0 to 20,000 bytes, most of them short."""
    chosen = random.Random(number)
    return b"%d " % number + chosen.randbytes(int(20_000 * chosen.random() ** 4))


def main(path: str) -> None:
    log = LocalLog(Path(path), tidied_every_s=0.005)
    topics = {REACHED: Topic(partitions=1, configs=COMPACTED), TOPIC: Topic(partitions=1, configs=CONFIGS)}
    log.create_topics(topics)
    with log.reader() as reader:
        number = reader.ends([TopicPartition(TOPIC, 0)])[TopicPartition(TOPIC, 0)]
    under_way = deque()  # type: ignore[var-annotated]
    while True:
        records = [NewRecord(TOPIC, b"k", value_of(number + n)) for n in range(TOGETHER)]
        number += TOGETHER
        under_way.append(log.append([NewRecord(REACHED, b"k", b"%d" % number), *records]))
        while len(under_way) > UNDER_WAY:
            sys.stdout.write(f"{under_way.popleft().result(60)[-1].offset}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
