"""The topics that `config/topics.yaml` declares, by their names in Kafka."""

import re
from pathlib import Path

from pydantic import ValidationError

from services.common.fault_sentences import describe_errors
from services.common.log.declared_topic import Topic
from services.common.settings import SettingsError, read_declarations
from services.common.topics.topic_names import DEFAULT_NAMES, TopicNames

NAME_PATTERN = r"[a-z-]{1,49}"


def load_topics(path: Path, names: TopicNames = DEFAULT_NAMES) -> dict[str, Topic]:
    """Return the topics declared at ``path``, by their names in Kafka; a `SettingsError` says what is wrong with it."""
    declared = read_declarations(path, "topics", dict)
    for name in declared:
        if not re.fullmatch(NAME_PATTERN, str(name)):
            raise SettingsError(
                f"{path}: topic {name!r}: name it without its prefix, as detections; allowed are a-z and -"
            )
    try:
        return {names.full(name): Topic.model_validate(fields) for name, fields in declared.items()}
    except ValidationError as error:
        raise SettingsError(f"{path}: {describe_errors(error.errors())}") from error
