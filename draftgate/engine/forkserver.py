"""Engine children forked from a process that has imported vLLM, instead of importing it each.

The import takes twice as long as building an engine of the tiny family, and several imports at once
compete for the cores. Only for engines on the CPU: CUDA does not survive a fork.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from draftgate.engine.interpreter import Interpreter
from draftgate.engine.process import ChildProcess, Spawned, kill_group

FORK_SERVER_MODULE = "draftgate.engine.forking"
_MESSAGE = 4096  # bytes, longer than any
_START_TIMEOUT_S = 300.0  # a cold import from a slow disk


def can_fork_engines(interpreter: Interpreter) -> bool:
    """Whether its engines may be forked: on the CPU, and with Linux's process descriptors."""
    return interpreter.on_cpu and sys.platform == "linux"


class ForkServers:
    """Fork servers by interpreter and environment, started when the first engine needs one."""

    def __init__(self, log_dir: Path) -> None:
        self._log_dir = log_dir
        self._servers: dict[tuple[object, ...], ForkServer] = {}

    def launch(
        self, command: Sequence[str], env: Mapping[str, str], log_path: Path
    ) -> ChildProcess:
        """Fork an engine child; a `process.Launch`. Of ``command`` the interpreter counts.

        Raises:
            OSError: the log cannot be written, or the server is gone.
        """
        python = command[0]
        key = (python, *sorted(env.items()))
        if key not in self._servers:
            path = self._log_dir / f"fork-server-{len(self._servers)}.log"
            self._servers[key] = ForkServer((python, "-m", FORK_SERVER_MODULE), env, path)
        return self._servers[key].launch(log_path)

    def close(self) -> None:
        """End the servers, and with them what they forked; safe to repeat."""
        while self._servers:
            self._servers.popitem()[1].close()


class ForkServer:
    """The host's side of one `draftgate.engine.forking` process."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], log_path: Path) -> None:
        """Start ``command``; it imports vLLM meanwhile. Raises OSError."""
        self._log_path = log_path
        self._exits: dict[int, int] = {}
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            fd = f"--socket-fd={theirs.fileno()}"
            server = Spawned((*command, fd), env, log_path, pass_fds=(theirs.fileno(),))
        self._socket = ours
        self._finalizer = weakref.finalize(self, _end, server, ours)

    def launch(self, log_path: Path) -> ChildProcess:
        """Fork an engine child whose output goes to ``log_path``. Raises OSError."""
        return ChildProcess(lambda read_fd, write_fd: self._fork(read_fd, write_fd, log_path))

    def close(self) -> None:
        """End the server; safe to repeat."""
        self._finalizer()

    def exited(self, pid: int) -> bool:
        """Whether the forked child ``pid`` has ended."""
        while self._take(0.0) is not None:
            pass
        return pid in self._exits or self._gone

    def reap(self, pid: int) -> int:
        """Wait for the end of ``pid`` and release its number; its exit code."""
        while pid not in self._exits and not self._gone:
            self._take(None)
        self._tell({"reap": pid})
        return self._exits.pop(pid, -9)  # the kernel kills the children of a dead server

    @property
    def _gone(self) -> bool:
        return self._socket.fileno() < 0

    def _fork(self, read_fd: int, write_fd: int, log_path: Path) -> _Forked:
        with log_path.open("ab") as log:
            self._tell({}, (read_fd, write_fd, log.fileno()))
        while not self._gone:
            message = self._take(_START_TIMEOUT_S)
            if message is None and not self._gone:
                raise OSError(f"the fork server does not answer; its log: {self._log_path}")
            if message and "pid" in message:
                return _Forked(self, message["pid"])
        raise OSError(f"the fork server is gone; its log: {self._log_path}")

    def _tell(self, message: dict[str, int], fds: Sequence[int] = ()) -> None:
        """Send a message; a server that is gone is noticed by the next `_take`."""
        if self._gone:
            return
        with contextlib.suppress(ConnectionError):
            socket.send_fds(self._socket, [json.dumps(message).encode()], list(fds))

    def _take(self, timeout_s: float | None) -> dict[str, Any] | None:
        """The next message, noted where it tells of an exit; None: none in time, or gone."""
        if self._gone:
            return None
        self._socket.settimeout(timeout_s)
        try:
            data = self._socket.recv(_MESSAGE)
        except (TimeoutError, BlockingIOError):
            return None
        except ConnectionError:
            data = b""
        if not data:
            self._socket.close()
            return None
        message: dict[str, Any] = json.loads(data)
        if "exited" in message:
            self._exits[message["exited"]] = message["code"]
        return message


class _Forked:
    """A child of the fork server; a `process.Handle`."""

    def __init__(self, server: ForkServer, pid: int) -> None:
        self._server = server
        self.pid = pid

    def exited(self) -> bool:
        """See `process.Handle`."""
        return self._server.exited(self.pid)

    def reap(self) -> int:
        """See `process.Handle`."""
        return self._server.reap(self.pid)


def _end(server: Spawned, ours: socket.socket) -> None:
    ours.close()
    kill_group(server.pid)
    server.reap()
