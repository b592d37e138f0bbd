import argparse
from pathlib import Path

import pytest

from services.common.settings import SettingsError, load_settings
from services.common.topics.topic_names import DEFAULT_NAMES, PREFIX_PATTERN, TopicNames, add_prefix_option
from services.common.topics.topics_file import load_topics
from services.ingest.settings import IngestSettings

ILLEGAL = ("", "two words.", "a/b.", "bucht-ä.", "a.\n", "x" * 201)


@pytest.mark.parametrize("prefix", ILLEGAL)
def test_a_prefix_that_kafka_does_not_take_is_refused_everywhere(
    prefix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match=r"^topic prefix .*: allowed are 1 to 200 letters, digits"):
        TopicNames(prefix)
    with pytest.raises(ValueError, match="topic_prefix"):
        IngestSettings(topic_prefix=prefix)
    parser = argparse.ArgumentParser()
    add_prefix_option(parser)
    with pytest.raises(SystemExit):
        parser.parse_args(["--prefix", prefix])
    assert "allowed are 1 to 200 letters" in capsys.readouterr().err


def test_a_setting_that_is_refused_is_named_with_what_is_allowed() -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings(IngestSettings, None, {"COINCIDE_INGEST_TOPIC_PREFIX": "two words."})
    assert "topic_prefix is " in str(refused.value)
    assert PREFIX_PATTERN in str(refused.value)
    assert "'two words.'" in str(refused.value)


def test_one_prefix_makes_all_names_of_a_system_and_no_name_of_another() -> None:
    assert load_settings(IngestSettings, None, {}).topic_names == DEFAULT_NAMES
    names = load_settings(IngestSettings, None, {"COINCIDE_INGEST_TOPIC_PREFIX": "reef."}).topic_names
    shipped = Path("config/topics.yaml")
    ours, reefs = load_topics(shipped), load_topics(shipped, names)
    assert [names.short(each) for each in reefs] == [DEFAULT_NAMES.short(each) for each in ours]
    assert all(each.startswith("reef.") for each in reefs)
    assert not ours.keys() & reefs.keys()
    assert [names.short(each) for each in ours] == list(ours)  # what another system calls its own means nothing here


def test_no_declared_name_ends_with_another_so_no_two_prefixes_make_the_same_name() -> None:
    names = list(map(DEFAULT_NAMES.short, load_topics(Path("config/topics.yaml"))))
    assert len(names) == 18
    assert not [(one, other) for one in names for other in names if one != other and one.endswith(other)]


def test_a_longest_prefix_leaves_room_for_every_declared_name() -> None:
    assert max(map(len, load_topics(Path("config/topics.yaml"), TopicNames("x" * 200)))) <= 249
