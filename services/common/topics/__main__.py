"""The command that creates the declared topics: ``python -m services.common.topics``."""

import argparse
import os
import sys
from pathlib import Path

from kafka.errors import KafkaError

from services.common.kafka.clients import create_admin, described_topics
from services.common.kafka.topic_creation import create_topics
from services.common.kafka_option import add_connection_option, connection_of
from services.common.log.declared_topic import TopicConflictError
from services.common.program.skeleton import exit_status
from services.common.settings import located
from services.common.topics.topic_names import add_prefix_option
from services.common.topics.topics_file import load_topics


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit status, 0 when the topics are as declared."""
    parser = argparse.ArgumentParser(
        "python -m services.common.topics", description="Create the declared Kafka topics."
    )
    parser.add_argument("--topics", type=Path, default=Path("config/topics.yaml"))
    add_connection_option(parser)
    add_prefix_option(parser)
    options = parser.parse_args(arguments)
    return exit_status("topics", lambda: _run(options), KafkaError, TopicConflictError)


def _run(options: argparse.Namespace) -> None:
    declared = load_topics(located(options.topics, os.environ), options.names)
    kafka = connection_of(options)
    described_topics(kafka, declared)  # which tells of topics that we may not see; a list of all leaves them out
    done = create_topics(create_admin(kafka), declared)
    sys.stdout.write("\n".join(done or ["all topics are as declared"]) + "\n")


if __name__ == "__main__":
    sys.exit(main())
