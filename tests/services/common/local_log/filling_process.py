"""A process whose files may not grow: ``python -m tests.services.common.local_log.filling_process FILE MOST_BYTES``.

It appends until it is told that it cannot, prints how many records were acknowledged and what it was told, and goes on
once its files may grow again.
"""

import json
import resource
import sys
from contextlib import closing
from pathlib import Path

from services.common.local_log.local_log import LocalLog
from services.common.log.declared_topic import Topic
from services.common.log.faults import LogError
from services.common.log.records import NewRecord


def main(path: str, most_bytes: str) -> None:
    with closing(LocalLog(Path(path))) as log:
        log.create_topics({"t": Topic(partitions=1)})
        unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(most_bytes), unlimited[1]))
        acknowledged, told = 0, ""
        while not told:
            try:
                log.append([NewRecord("t", b"k", b"%d " % acknowledged + b"x" * 3_000)]).result(60)
                acknowledged += 1
            except LogError as error:
                told = f"{error} {error.is_retriable}"
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        [position] = log.append([NewRecord("t", b"k", b"%d again" % acknowledged)]).result(60)
        sys.stdout.write(json.dumps([acknowledged, told, position.offset]))


if __name__ == "__main__":
    main(*sys.argv[1:])
