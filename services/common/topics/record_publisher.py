"""Publishing single records to a log: each is safe when that is told, within a bounded time."""

from concurrent.futures import TimeoutError as LateError

from starlette.concurrency import run_in_threadpool

from services.common.log.faults import LogError
from services.common.log.log import Log
from services.common.log.records import NewRecord
from services.common.topics.topic_names import TopicNames


class RecordPublisher:
    """Writes records one at a time to topics by their short names."""

    def __init__(self, log: Log, timeout_s: float, names: TopicNames) -> None:
        self._log, self._timeout_s, self._names = log, timeout_s, names
        self.log_name = log.name  #: as a person calls it

    def publish(self, topic: str, key: bytes | None, value: bytes | None) -> int:
        """Write one record and return its offset; raises `LogError` where the log did not take it in time.

        It may still get there then.
        """
        appended = self._log.append([NewRecord(self._names.full(topic), key, value)])
        try:
            [position] = appended.result(self._timeout_s)
        except LateError as error:
            appended.cancel()  # where it still waits, it is not written later
            raise LogError(f"{self.log_name} did not acknowledge in time", is_retriable=True) from error
        return position.offset

    async def publish_record(self, topic: str, key: bytes, value: bytes | None) -> bool:
        """Write one record off the event loop; return whether the log acknowledged it."""
        try:
            await run_in_threadpool(self.publish, topic, key, value)
        except LogError:
            return False
        return True
