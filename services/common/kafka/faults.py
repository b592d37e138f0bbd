"""What Kafka refuses, as one sentence for the person who can change it."""

from collections.abc import Iterable

from kafka.errors import (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    KafkaConnectionError,
    KafkaError,
    TopicAuthorizationFailedError,
)

from services.common.log.faults import LogError
from services.common.topics.topic_names import TopicNames


class KafkaRefusedError(KafkaConnectionError):  # type: ignore[misc]  # kafka-python has no types
    """Kafka is there, and it will not have us, or we will not have it; to wait helps nobody.

    `sentence` says why, and is for everybody; the error itself names the server, too.
    """

    def __init__(self, sentence: str, server: str = "") -> None:
        super().__init__(sentence, server)
        self.sentence, self.server = sentence, server

    def __str__(self) -> str:
        return f"{self.sentence} ({self.server})" if self.server else self.sentence


class MissingTopicError(KafkaError):  # type: ignore[misc]
    """Kafka answers, and does not have a topic; the message is one sentence for the operator."""

    def __init__(self, topics: Iterable[str], names: TopicNames) -> None:
        self.topics = list(topics)
        self.remedy = f": python -m services.common.topics{names.option} creates it"
        super().__init__(f"there is no topic {', '.join(self.topics)}{self.remedy}")

    def __str__(self) -> str:
        return str(self.args[0])


_RIGHTS = {
    TopicAuthorizationFailedError: "Kafka does not give us the right to use a topic",
    GroupAuthorizationFailedError: "Kafka does not give us the right to use a consumer group",
    ClusterAuthorizationFailedError: "Kafka does not give us the right to change the cluster",
}


def refusal_of(error: BaseException) -> str | None:
    """Return why Kafka refuses, where an error is, or comes of, a refusal; None where it is something else."""
    if isinstance(error, KafkaRefusedError):
        return error.sentence
    if isinstance(error.__cause__, KafkaError):
        return refusal_of(error.__cause__)
    for kind, sentence in _RIGHTS.items():
        if isinstance(error, kind):
            named = _names_in(error)
            return f"{sentence}: {named}" if named else sentence
    return None


def in_words(error: BaseException) -> str:
    """Return what an error of Kafka's client or of a log says to a person: a sentence, or else what it is called."""
    if isinstance(error, KafkaRefusedError | MissingTopicError | LogError):
        return str(error)
    return refusal_of(error) or type(error).__name__


def may_pass(error: BaseException) -> bool:
    """Whether the log may do later what it did not do now, without a person who changes something."""
    if isinstance(error, LogError):
        return error.is_retriable
    return getattr(error, "retriable", False) and refusal_of(error) is None


def _names_in(error: BaseException) -> str:
    """Return the topics, or whatever it was, that the client names in an error."""
    names = [each for given in error.args for each in ([given] if isinstance(given, str) else list(given))]
    return ", ".join(sorted(map(str, names)))
