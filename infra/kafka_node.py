"""Starts and stops a real Apache Kafka on this machine: KRaft mode, loopback, no containers.

    python infra/kafka_node.py up --brokers 3     # prints the bootstrap address
    python infra/kafka_node.py down

Needs Java 17 and Maven, which resolves the jars once; nothing but the standard library on this
side. Every node is broker and controller in one JVM. What a cluster is made of stands in its own
directory: ``bootstrap`` (the address, for whoever connects), and for each node its properties,
data, ``node.pid`` and ``node.log``. ``down`` keeps the directory, ``up`` begins with an empty one.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

INFRA = Path(__file__).resolve().parent
POM = INFRA / "apache-kafka" / "pom.xml"
LOGGING = INFRA / "apache-kafka" / "log4j2.properties"
RUN = INFRA / ".run"
DIRECTORY = RUN / "kafka"
HOST = "127.0.0.1"
HEAP_MB = 320
START_SECONDS = 90.0
STOP_SECONDS = 20.0


class KafkaFailed(Exception):
    """A node cannot be started, reached or stopped: what, where and how to mend it."""


def _told(log: Path) -> str:
    """What a log says of a failure: its errors and their causes, which a node that shuts down may
    bury under much else, and its end."""
    text = log.read_text(encoding="utf-8", errors="replace")
    grave = (" ERROR ", " FATAL ", "Caused by: ", "Exception: ")
    errors = [line[:500] for line in text.splitlines() if any(each in line for each in grave)]
    return "\n".join([*errors[:10], "...", text[-2000:]])


def missing_tools() -> str:
    """What a node needs and this machine lacks; empty where all is there."""
    absent = [name for name in ("java", "mvn", "ps") if shutil.which(name) is None]
    return " and ".join(absent)


class KafkaCluster:
    """The nodes of one directory, numbered from 1. No node is tied to this process: what one
    call starts, another process may stop.."""

    def __init__(self, directory: Path = DIRECTORY) -> None:
        self.directory = directory

    @property
    def nodes(self) -> list[int]:
        """The numbers of the nodes that were made, running or not."""
        return sorted(int(each.name[5:]) for each in self.directory.glob("node-*"))

    @property
    def bootstrap(self) -> str:
        """``host:port`` of every node, with commas between. ``KafkaFailed`` before ``up``."""
        try:
            return (self.directory / "bootstrap").read_text(encoding="utf-8").strip()
        except OSError as error:
            raise KafkaFailed(f"{self.directory}: no cluster; mend: make kafka-up") from error

    def up(self, brokers: int = 1, settings: dict[str, str] | None = None) -> str:
        """Makes a new, empty cluster and starts it. Returns the bootstrap address, once every
        broker answers a metadata request that names them all. ``settings`` are server properties
        on top of ``properties``. ``KafkaFailed`` with the log of a node that does not start."""
        running = [each for each in self.nodes if self.pid(each)]
        if running:
            raise KafkaFailed(
                f"{self.directory}: node {running[0]} is running; mend: make kafka-down"
            )
        jars = resolved_jars()
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        ports = free_ports(2 * brokers)
        for node in range(1, brokers + 1):
            home = self.home(node)
            home.mkdir()
            lines = properties(node, home, ports[:brokers], ports[brokers:])
            lines.update(settings or {})
            text = "".join(f"{name}={value}\n" for name, value in lines.items())
            (home / "server.properties").write_text(text, encoding="utf-8")
            self._format(node, jars)
        addresses = ",".join(f"{HOST}:{port}" for port in ports[:brokers])
        (self.directory / "bootstrap").write_text(addresses + "\n", encoding="utf-8")
        try:
            for node in self.nodes:
                self._launch(node, jars)
            self.wait(brokers)
        except BaseException:
            self.down()
            raise
        return addresses

    def down(self) -> None:
        """Stops every node. Harmless where none runs."""
        for node in self.nodes:
            self._signal(node, signal.SIGTERM)
        for node in self.nodes:
            self.stop(node)

    def start(self, node: int) -> None:
        """Starts one stopped node again, on its own port and data, and waits until it answers."""
        self._launch(node, resolved_jars())
        self._wait_for(node, 1, time.monotonic() + START_SECONDS)

    def stop(self, node: int, *, kill: bool = False) -> None:
        """Stops one node: SIGTERM, and SIGKILL where that takes too long, or at once."""
        limit = time.monotonic() + STOP_SECONDS
        self._signal(node, signal.SIGKILL if kill else signal.SIGTERM)
        while self.pid(node):
            if time.monotonic() > limit:
                self._signal(node, signal.SIGKILL)
                limit = time.monotonic() + STOP_SECONDS
            time.sleep(0.05)
        (self.home(node) / "node.pid").unlink(missing_ok=True)

    def wait(self, brokers: int) -> None:
        """Returns once every running node knows that many brokers. ``KafkaFailed`` with the end
        of a node's log where one dies or time runs out."""
        limit = time.monotonic() + START_SECONDS
        for node in self.nodes:
            self._wait_for(node, brokers, limit)

    def pid(self, node: int) -> int | None:
        """The process of a node, None where it does not run."""
        try:
            pid = int((self.home(node) / "node.pid").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        _reap(pid)
        # A pid may have been given to another program since: ours has the node's path in it.
        found = subprocess.run(
            ["ps", "-ww", "-o", "stat=,args=", "-p", str(pid)],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        alive = str(self.home(node)) in found and not found.startswith("Z")
        return pid if alive else None

    def home(self, node: int) -> Path:
        return self.directory / f"node-{node}"

    def log(self, node: int) -> Path:
        """Where a node writes what it does."""
        return self.home(node) / "node.log"

    def _format(self, node: int, jars: Path) -> None:
        cluster = "bWVtc3RyZWFtLXRlc3RzMQ"  # any 16 bytes in base64
        config = str(self.home(node) / "server.properties")
        done = subprocess.run(
            [*_java(jars), "kafka.tools.StorageTool", "format", "-t", cluster, "-c", config],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise KafkaFailed(f"{config}: storage not formatted: {done.stdout}{done.stderr}")

    def _launch(self, node: int, jars: Path) -> None:
        home = self.home(node)
        with self.log(node).open("ab") as log:
            process = subprocess.Popen(
                [*_java(jars), "kafka.Kafka", str(home / "server.properties")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a Ctrl-C for whoever started it is not for the node
            )
        (home / "node.pid").write_text(f"{process.pid}\n", encoding="utf-8")
        while process.poll() is None and self.pid(node) is None:
            time.sleep(0.01)  # for an instant after it was started, ps does not see its arguments

    def _wait_for(self, node: int, brokers: int, limit: float) -> None:
        text = (self.home(node) / "server.properties").read_text(encoding="utf-8")
        port = int(text.split(f"listeners=PLAINTEXT://{HOST}:", 1)[1].split(",", 1)[0])
        while known_brokers(HOST, port) < brokers:
            if self.pid(node) is None or time.monotonic() > limit:
                log = self.log(node)
                how = "did not start in time" if self.pid(node) else "stopped"
                raise KafkaFailed(f"Kafka node {node} {how}; its log, {log}, says:\n{_told(log)}")
            time.sleep(0.1)

    def _signal(self, node: int, what: signal.Signals) -> None:
        pid = self.pid(node)
        if pid:
            os.kill(pid, what)


def properties(node: int, home: Path, ports: list[int], controllers: list[int]) -> dict[str, str]:
    """Server properties of one node: small, quick to rebalance, nothing made by accident."""
    brokers = len(ports)
    copies, needed = str(min(3, brokers)), str(min(2, brokers))
    voters = ",".join(f"{at}@{HOST}:{port}" for at, port in enumerate(controllers, start=1))
    own = f"PLAINTEXT://{HOST}:{ports[node - 1]}"
    return {
        "process.roles": "broker,controller",
        "node.id": str(node),
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "listeners": f"{own},CONTROLLER://{HOST}:{controllers[node - 1]}",
        "advertised.listeners": own,
        "log.dirs": str(home / "data"),
        "auto.create.topics.enable": "false",
        "default.replication.factor": copies,
        "min.insync.replicas": needed,
        "offsets.topic.replication.factor": copies,
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": needed,
        "transaction.state.log.num.partitions": "4",
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "1000",
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
        "controlled.shutdown.max.retries": "1",
        "num.network.threads": "2",
        "num.io.threads": "4",
        "num.replica.fetchers": "1",
        "log.cleaner.dedupe.buffer.size": "8388608",
    }


def resolved_jars() -> Path:
    """The folder with the jars of the pom; Maven fills it the first time."""
    mark = hashlib.sha256(POM.read_bytes()).hexdigest()[:12]
    jars = RUN / f"jars-{mark}"
    if jars.is_dir():
        return jars
    if missing_tools():
        raise KafkaFailed(
            f"{missing_tools()} not found; mend: install Java 17 or newer, Maven and ps"
        )
    part = RUN / f"jars-{mark}.{os.getpid()}"
    RUN.mkdir(exist_ok=True)
    done = subprocess.run(
        ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies",
         "-DincludeScope=runtime", f"-DoutputDirectory={part}"],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode:
        shutil.rmtree(part, ignore_errors=True)
        raise KafkaFailed(f"Maven did not resolve {POM}:\n{(done.stdout + done.stderr)[-3000:]}")
    try:
        part.rename(jars)
    except OSError:  # another process was first
        shutil.rmtree(part)
    return jars


def free_ports(count: int) -> list[int]:
    """That many ports that were free a moment ago, all different."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]


def known_brokers(host: str, port: int) -> int:
    """How many brokers a metadata request to that address names; 0 where none answers, or no
    controller is elected."""
    # Metadata, version 4 (https://kafka.apache.org/protocol): no topics, none to be created.
    body = struct.pack(">hhihi?", 3, 4, 1, -1, 0, False)
    try:
        with socket.create_connection((host, port), timeout=2) as connection:
            connection.sendall(struct.pack(">i", len(body)) + body)
            (size,) = struct.unpack(">i", _exactly(connection, 4))
            answer = _exactly(connection, size)
    except OSError:
        return 0
    (brokers,) = struct.unpack_from(">i", answer, 8)
    at = 12
    for _ in range(brokers):
        (length,) = struct.unpack_from(">h", answer, at + 4)
        at += 4 + 2 + length + 4
        (length,) = struct.unpack_from(">h", answer, at)
        at += 2 + max(0, length)
    (length,) = struct.unpack_from(">h", answer, at)
    (controller,) = struct.unpack_from(">i", answer, at + 2 + max(0, length))
    return int(brokers) if controller >= 0 else 0


def _exactly(connection: socket.socket, count: int) -> bytes:
    received = b""
    while len(received) < count:
        part = connection.recv(count - len(received))
        if not part:
            raise ConnectionError("closed")
        received += part
    return received


def _java(jars: Path) -> list[str]:
    return [
        "java", f"-Xmx{HEAP_MB}m", "-Xms128m", "-XX:+UseSerialGC", "-Djava.awt.headless=true",
        f"-Dlog4j2.configurationFile={LOGGING}", "-cp", f"{jars}/*",
    ]  # fmt: skip


def _reap(pid: int) -> None:
    """Takes note of a dead child, so that its pid is free again."""
    with suppress(ChildProcessError):  # it may be another process's child
        os.waitpid(pid, os.WNOHANG)


def main() -> None:
    formatter = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("command", choices=["up", "down"])
    parser.add_argument("--brokers", type=int, default=1)
    parser.add_argument("--directory", type=Path, default=DIRECTORY)
    asked = parser.parse_args()
    cluster = KafkaCluster(asked.directory.resolve())
    try:
        if asked.command == "up":
            print(cluster.up(asked.brokers))
        else:
            cluster.down()
    except KafkaFailed as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
