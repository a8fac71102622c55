"""Starts and stops a throw-away PostgreSQL on this machine: loopback, a password, no containers.

    python infra/postgres_node.py up              # prints where the connection string stands
    python infra/postgres_node.py down

Needs PostgreSQL's own programs, on the PATH or where Debian's packages put them; nothing but the
standard library on this side. What a server is made of stands in its own directory: ``conninfo``
(libpq's connection string with the password, mode 0600) and ``data``, with the cluster and its
``node.log``. ``down`` keeps the directory, ``up`` begins with an empty one.

PostgreSQL refuses to run as root. Started by root it runs as ``postgres`` or ``nobody``, and its
data lie under the system's temporary directory, which that user can reach; ``data`` is a link.
"""

from __future__ import annotations

import argparse
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

DIRECTORY = Path(__file__).resolve().parent / ".run" / "postgres"
HOST = "127.0.0.1"
USER = "memstream"
START_SECONDS = 60
STOP_SECONDS = 30
DEBIAN = Path("/usr/lib/postgresql")
SETTINGS = {
    "listen_addresses": f"'{HOST}'",
    "unix_socket_directories": "''",
    "shared_buffers": "16MB",
    "max_connections": "50",
}


class PostgresFailed(Exception):
    """A server cannot be made, started or stopped: what, where and how to mend it."""


def missing_tools() -> str:
    """What a server needs and this machine lacks; empty where all is there."""
    return " and ".join(name for name in ("initdb", "pg_ctl") if found(name) is None)


def found(name: str) -> str | None:
    """Where a program of PostgreSQL is: on the PATH, else of the newest Debian package."""
    on_path = shutil.which(name)
    if on_path or not DEBIAN.is_dir():
        return on_path
    versions = sorted(
        (each.name for each in DEBIAN.iterdir() if each.name.isdigit()), key=int, reverse=True
    )
    places = (shutil.which(name, path=DEBIAN / version / "bin") for version in versions)
    return next(filter(None, places), None)


class PostgresServer:
    """The server of one directory. It is not tied to this process: what one call starts, another
    process may stop."""

    def __init__(self, directory: Path = DIRECTORY) -> None:
        self.directory = directory

    @property
    def data(self) -> Path:
        """Where the server keeps what it stores."""
        return self.directory / "data" / "cluster"

    @property
    def log(self) -> Path:
        """Where the server writes what it does."""
        return self.directory / "data" / "node.log"

    @property
    def conninfo(self) -> str:
        """libpq's connection string, with the password. ``PostgresFailed`` before ``up``."""
        try:
            return (self.directory / "conninfo").read_text(encoding="utf-8").strip()
        except OSError as error:
            raise PostgresFailed(f"{self.directory}: no server; mend: make postgres-up") from error

    @property
    def running(self) -> bool:
        """Whether the server runs."""
        return self.data.is_dir() and self._pg_ctl("status").returncode == 0

    def up(self) -> str:
        """Makes a new, empty server on a free port and starts it. Returns ``conninfo``, once it
        answers. ``PostgresFailed`` with the end of the log of one that does not start."""
        if missing_tools():
            raise PostgresFailed(
                f"{missing_tools()} not found; mend: install PostgreSQL (on Debian and Ubuntu the "
                "package postgresql)"
            )
        if self.running:
            raise PostgresFailed(f"{self.directory}: it is running; mend: make postgres-down")
        self.remove()
        self._make_directories()
        port, password = _free_port(), secrets.token_urlsafe(18)
        words = self.directory / "data" / "password"
        words.write_text(password, encoding="utf-8")
        _give(words)
        done = _run(
            "initdb", "-D", str(self.data.resolve()), "-U", USER, f"--pwfile={words.resolve()}",
            "--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync",
        )  # fmt: skip
        words.unlink()
        if done.returncode:
            raise PostgresFailed(f"{self.directory}: not made: {done.stdout}{done.stderr}")
        with (self.data / "postgresql.conf").open("a", encoding="utf-8") as settings:
            for name, value in {**SETTINGS, "port": str(port)}.items():
                settings.write(f"{name} = {value}\n")
        line = f"host={HOST} port={port} user={USER} password={password} dbname=postgres"
        place = self.directory / "conninfo"
        place.touch(mode=0o600)
        place.write_text(line + "\n", encoding="utf-8")
        self.start()
        return line

    def down(self) -> None:
        """Stops the server. Harmless where none runs."""
        if self.running:
            self.stop()

    def start(self) -> None:
        """Starts a stopped server again, on its own port and data, and waits until it answers."""
        log = str(self.log.parent.resolve() / self.log.name)
        if self._pg_ctl("start", "-w", "-t", str(START_SECONDS), "-l", log).returncode:
            end = self.log.read_text(encoding="utf-8", errors="replace")[-3000:]
            raise PostgresFailed(f"PostgreSQL did not start; its log, {self.log}, ends:\n{end}")

    def stop(self, *, kill: bool = False) -> None:
        """Stops the server in good order, or at once as a crash would: it recovers when it is
        started again."""
        how = "immediate" if kill else "fast"
        done = self._pg_ctl("stop", "-w", "-t", str(STOP_SECONDS), "-m", how)
        if done.returncode:
            raise PostgresFailed(f"{self.directory}: not stopped: {done.stdout}{done.stderr}")

    def remove(self) -> None:
        """Deletes the directory and the data. The server must not run."""
        data = self.directory / "data"
        if data.is_symlink():
            shutil.rmtree(data.resolve(), ignore_errors=True)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _make_directories(self) -> None:
        self.directory.mkdir(parents=True)
        data = self.directory / "data"
        if _account() is None:
            data.mkdir(mode=0o700)
        else:
            data.symlink_to(tempfile.mkdtemp(prefix="memstream-postgres-"))
            _give(data)

    def _pg_ctl(self, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        return _run("pg_ctl", command, "-D", str(self.data.resolve()), *options)


def _run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = found(name)
    if program is None:
        raise PostgresFailed(f"{name} not found; mend: install PostgreSQL")
    account = _account()
    # What pg_ctl starts inherits the output, so it must be no pipe that someone waits for.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        done = subprocess.run(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
            cwd=tempfile.gettempdir(),
            user=account,
            group=None if account is None else pwd.getpwuid(account).pw_gid,
            extra_groups=None if account is None else [],
            start_new_session=True,  # a Ctrl-C for whoever started it is not for the server
        )
        output.seek(0)
        return subprocess.CompletedProcess(done.args, done.returncode, output.read(), "")


def _account() -> int | None:
    """The user that the server runs as where this process is root; else None: this one's."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_uid
        except KeyError:
            continue
    raise PostgresFailed(
        "PostgreSQL refuses to run as root, and there is no user postgres or nobody; mend: start "
        "it as another user"
    )


def _give(path: Path) -> None:
    account = _account()
    if account is not None:
        os.chown(path, account, pwd.getpwuid(account).pw_gid)


def _free_port() -> int:
    with socket.socket() as held:
        held.bind((HOST, 0))
        port: int = held.getsockname()[1]
        return port


def main() -> None:
    formatter = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("command", choices=["up", "down"])
    parser.add_argument("--directory", type=Path, default=DIRECTORY)
    asked = parser.parse_args()
    server = PostgresServer(asked.directory.resolve())
    try:
        if asked.command == "up":
            server.up()
            print(server.directory / "conninfo")
        else:
            server.down()
    except PostgresFailed as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
