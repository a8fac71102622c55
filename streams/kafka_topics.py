"""The topics: what they must be like, made where missing, compared where they are there.

A difference is told with the command that mends it, and never mended unasked: settings like the
retention decide whether the log is still the truth.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError, UnknownTopicOrPartitionError

from memstream.schemas.errors import LogUnavailable
from memstream.streams.clock import Deadline
from memstream.streams.kafka_settings import KafkaSettings, connection

EVENTS = "events"
CANDIDATES = "candidates"
MEMORIES = "memories"
DEAD_LETTERS = "dead-letters"

_HEARD_S = 5.0
"""So long a topic that a broker does not know is asked for again before it counts as missing: one
that has just started, or the last to hear of a new topic, does not know it yet. In seconds."""
_UNKNOWN_TOPIC = 3  # UNKNOWN_TOPIC_OR_PARTITION in Kafka's protocol


class TopicSpec(msgspec.Struct, frozen=True):
    """What one topic must be like. ``settings`` are Kafka's own names and values."""

    name: str
    partitions: int
    replication: int
    settings: Mapping[str, str]


class TopicFault(msgspec.Struct, frozen=True):
    """One way in which a topic differs from its specification."""

    topic: str
    what: str
    wanted: str
    found: str
    mend: str

    def __str__(self) -> str:
        return (
            f"topic {self.topic}: {self.what} is {self.found}, must be {self.wanted}; "
            f"mend: {self.mend}"
        )


def topics_of(settings: KafkaSettings) -> tuple[TopicSpec, ...]:
    """The topics of every generation: the raw events, kept for ever, and the dead letters."""
    return _specs(settings, [settings.topic(EVENTS), settings.topic(DEAD_LETTERS)])


def derived_topics(settings: KafkaSettings, generation: str) -> tuple[TopicSpec, ...]:
    """The topics of one generation. What they hold can be derived again; it is kept as long as
    the raw events, so that an index is made anew without running the pipeline."""
    names = [settings.topic(f"{generation}.{name}") for name in (CANDIDATES, MEMORIES)]
    return _specs(settings, names)


def changelog_topic(settings: KafkaSettings, generation: str, stage: str) -> TopicSpec:
    """The topic that a stage's state is recovered from, under the name that Faust gives it. It has
    to be there before a worker joins its group: the one that leads gives out the partitions of
    topics that it knows, and without those of this one, whoever takes a partition over begins
    without its state."""
    kept = {
        "cleanup.policy": "compact",
        "min.insync.replicas": str(settings.min_insync),
        "max.message.bytes": str(settings.max_message_bytes),
        "unclean.leader.election.enable": "false",
    }
    name = f"{settings.group(generation)}-{stage}-changelog"
    return TopicSpec(name, settings.partitions, settings.replication, kept)


def generations(settings: KafkaSettings) -> list[str]:
    """The generations that have topics, whether or not anybody works on them."""
    with _administering(settings, "listed") as admin:
        names = admin.list_topics()
    head, tail = settings.topic(""), f".{MEMORIES}"
    found = [
        each[len(head) : -len(tail)]
        for each in names
        if each.startswith(head) and each.endswith(tail)
    ]
    return sorted(each for each in found if each and "." not in each)


def _specs(settings: KafkaSettings, names: Sequence[str]) -> tuple[TopicSpec, ...]:
    kept = {
        "cleanup.policy": "delete",
        "retention.ms": "-1",
        "retention.bytes": "-1",
        "min.insync.replicas": str(settings.min_insync),
        "max.message.bytes": str(settings.max_message_bytes),
        "message.timestamp.type": "CreateTime",
        # Kafka refuses what is an hour ahead of it; events are taken whatever their clock says.
        "message.timestamp.after.max.ms": str(2**63 - 1),
        "unclean.leader.election.enable": "false",
    }
    return tuple(TopicSpec(name, settings.partitions, settings.replication, kept) for name in names)


def make_topics(settings: KafkaSettings, specs: Sequence[TopicSpec]) -> list[str]:
    """Makes the topics that are not there yet; returns their names. Those that are there stay as
    they are. Returns once every partition has a leader."""
    with _administering(settings, "made") as admin:
        missing = _missing(admin, specs)
        if missing:
            wanted = {
                each.name: {
                    "num_partitions": each.partitions,
                    "replication_factor": each.replication,
                    "configs": dict(each.settings),
                }
                for each in missing
            }
            # Another process may make the same topic at the same moment; that is no fault.
            answer = admin.create_topics(wanted, raise_errors=False)
            already, too_many = 36, 38
            for topic in answer["topics"]:
                if topic["error_code"] == too_many:
                    raise LogUnavailable(
                        f"topic {topic['name']}: {topic['error_message']} mend: run that many "
                        "brokers, or set MEMSTREAM_KAFKA_REPLICATION and _MIN_INSYNC to fewer"
                    )
                if topic["error_code"] not in {0, already}:
                    raise LogUnavailable(
                        f"topic {topic['name']} cannot be made: {topic['error_message']} (Kafka's "
                        f"error {topic['error_code']}); mend: see the brokers' logs and rights"
                    )
            admin.wait_for_topics(list(wanted), timeout_ms=int(settings.wait_s * 1000))
        return [each.name for each in missing]


def topic_faults(settings: KafkaSettings, specs: Sequence[TopicSpec]) -> list[TopicFault]:
    """Every difference between the topics and their specifications, in order; empty where there
    is none. Takes ``_HEARD_S`` where a topic is missing."""
    with _administering(settings, "read") as admin:
        deadline, pause = Deadline(_HEARD_S), threading.Event()
        found = _described(admin, specs)
        while len(found) < len(specs) and not deadline.passed:
            pause.wait(0.1)
            found = _described(admin, specs)
    faults: list[TopicFault] = []
    for spec in specs:
        if spec.name in found:
            faults += _differences(spec, *found[spec.name])
        else:
            faults.append(TopicFault(spec.name, "it", "there", "missing", "memstream topics"))
    return faults


def mend_topics(settings: KafkaSettings, specs: Sequence[TopicSpec]) -> list[TopicFault]:
    """Sets what differs in the topics' settings; returns what differs still, because it cannot be
    set that way or was not taken on within the settings' wait."""
    faults = topic_faults(settings, specs)
    changes: dict[str, dict[str, str]] = {}
    for fault in faults:
        if fault.mend == _MEND:
            changes.setdefault(fault.topic, {})[fault.what] = fault.wanted
    if not changes:
        return faults
    with _administering(settings, "changed") as admin:
        admin.alter_configs(
            [
                ConfigResource(ConfigResourceType.TOPIC, name, values)
                for name, values in changes.items()
            ]
        )
    # The controller answers before the brokers know.
    deadline, pause = Deadline(settings.wait_s), threading.Event()
    while any(each.mend == _MEND for each in faults) and not deadline.passed:
        pause.wait(0.05)
        faults = topic_faults(settings, specs)
    return faults


_MEND = "memstream topics --mend"


def _differences(spec: TopicSpec, partitions: int, replication: int, values: Any) -> list[Any]:
    faults: list[TopicFault] = []
    if partitions != spec.partitions:
        faults.append(
            TopicFault(
                spec.name,
                "partitions",
                str(spec.partitions),
                str(partitions),
                f"set MEMSTREAM_KAFKA_PARTITIONS={partitions}; to have more, migrate to topics of "
                "another prefix, since a scope stays in its partition",
            )
        )
    if replication < spec.replication:
        faults.append(
            TopicFault(
                spec.name,
                "replication",
                f"at least {spec.replication}",
                str(replication),
                "kafka-reassign-partitions.sh, a tool of Kafka's, with more replicas",
            )
        )
    for name, wanted in spec.settings.items():
        if values.get(name) != wanted:
            faults.append(TopicFault(spec.name, name, wanted, str(values.get(name)), _MEND))
    return faults


def _missing(admin: Any, specs: Sequence[TopicSpec]) -> list[TopicSpec]:
    described = admin.describe_topics([each.name for each in specs])
    absent = {each["name"] for each in described if each["error_code"] == _UNKNOWN_TOPIC}
    return [each for each in specs if each.name in absent]


def _described(admin: Any, specs: Sequence[TopicSpec]) -> dict[str, tuple[int, int, Any]]:
    """Topic -> (partitions, fewest replicas of one, its settings), of the topics that the brokers
    which were asked know. One asks another broker each time."""
    described = [
        each
        for each in admin.describe_topics([each.name for each in specs])
        if each["error_code"] != _UNKNOWN_TOPIC
    ]
    wanted = [ConfigResource(ConfigResourceType.TOPIC, each["name"]) for each in described]
    if not wanted:
        return {}
    try:
        configs = admin.describe_configs(wanted, config_filter="all")["topic"]
    except UnknownTopicOrPartitionError:
        return {}
    return {
        each["name"]: (
            len(each["partitions"]),
            min((len(part["replica_nodes"]) for part in each["partitions"]), default=0),
            {name: value["value"] for name, value in configs[each["name"]].items()},
        )
        for each in described
    }


@contextmanager
def _administering(settings: KafkaSettings, doing: str) -> Iterator[Any]:
    where = f"topics of {settings.bootstrap}"
    admin = None
    try:
        admin = KafkaAdminClient(**connection(settings))
        yield admin
    except KafkaError as error:
        raise LogUnavailable(
            f"{where} cannot be {doing}: {type(error).__name__}: {error}; "
            "mend: check that the brokers run and that this user may describe and alter topics"
        ) from error
    finally:
        if admin is not None:
            admin.close()
