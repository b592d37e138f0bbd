"""The status of shards that a line does not have: those of a fusion on Spark whose log it has been given."""

from services.common.log.log import Log
from services.common.log.records import NewRecord
from services.common.topics.topic_names import TopicNames

APPEND_TIMEOUT_S = 30.0
_OF_SHARD, _OWN = b"shard-", b"shard-0"


def retire_other_shards(log: Log, names: TopicNames) -> None:
    """Remove their status from the log.

    Else they would be counted, and a query's applied version, which is what every shard has applied, would never rise.
    """
    topic = names.full("status")
    with log.reader() as reader:
        newest = {each.key: each.value for records in reader.whole(topic) for each in records if each.key is not None}
    others = [key for key, value in newest.items() if key.startswith(_OF_SHARD) and key != _OWN and value is not None]
    if others:
        log.append([NewRecord(topic, key, None) for key in others]).result(APPEND_TIMEOUT_S)
