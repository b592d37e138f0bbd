"""A process that appends: ``python -m tests.services.common.log.appending_process KIND WHERE TOPIC RECORDS WRITER``.

It appends records one after the other, to the partition of its number, and says each offset once it is acknowledged.
"""

import sys
from pathlib import Path

from services.common.kafka.connection import KafkaConnection
from services.common.kafka.kafka_log import KafkaLog
from services.common.local_log.local_log import LocalLog
from services.common.log.log import Log
from services.common.log.records import NewRecord


def opened(kind: str, where: str) -> Log:
    return LocalLog(Path(where)) if kind == "local" else KafkaLog(KafkaConnection(servers=where))


def main(kind: str, where: str, topic: str, records: str, writer: str) -> None:
    log = opened(kind, where)
    for number in range(int(records)):
        value = f"{writer} {number}".encode()
        [position] = log.append([NewRecord(topic, None, value, partition=int(writer) % 2)]).result(60)
        sys.stdout.write(f"{position.offset}\n")
        sys.stdout.flush()
    log.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
