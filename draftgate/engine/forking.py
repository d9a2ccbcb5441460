"""The fork server: `python -m draftgate.engine.forking`, started by `forkserver.ForkServer` alone.

It imports vLLM, then forks an engine child for every request on its socket. A request carries three
file descriptors: the child's pipe ends and its log. Answers: ``{"pid": n}``, and later
``{"exited": n, "code": c}``; the child stays a zombie until ``{"reap": n}``, so that its number
names its process group as long as the host may signal it.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import select
import socket
import sys
import traceback
from collections.abc import Callable, Sequence

from draftgate.engine.channel import Channel
from draftgate.engine.child import Child
from draftgate.engine.environment import ISA_PIN
from draftgate.engine.lifeline import die_with_parent

_MESSAGE = 4096


def serve_engine(channel: Channel) -> int:
    """What a forked child does; its exit code."""
    return Child(channel).serve()


class Forking:
    """Serves one host over ``host``, a socket of sequenced packets; children run ``serve``."""

    def __init__(self, host: socket.socket, serve: Callable[[Channel], int] = serve_engine) -> None:
        self._host = host
        self._serve_child = serve
        self._children: dict[int, int] = {}  # pidfd -> pid

    def serve(self) -> None:
        """Until the host closes its end; what is left of the children dies with this process."""
        host = self._host.fileno()
        while True:
            ready = set(select.select([host, *self._children], [], [])[0])
            for pidfd in ready - {host}:
                self._tell_exit(pidfd)
            if host in ready and not self._answer():
                return

    def _answer(self) -> bool:
        data, fds, _, _ = socket.recv_fds(self._host, _MESSAGE, 3)
        if not data:
            return False
        message = json.loads(data)
        if "reap" in message:
            os.waitpid(message["reap"], 0)
        else:
            self._fork(*fds)
        return True

    def _fork(self, read_fd: int, write_fd: int, log_fd: int) -> None:
        server = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._become_child(server, read_fd, write_fd, log_fd)
        for fd in (read_fd, write_fd, log_fd):
            os.close(fd)
        self._children[os.pidfd_open(pid)] = pid
        self._send(pid=pid)

    def _become_child(self, server: int, read_fd: int, write_fd: int, log_fd: int) -> None:
        code = 1
        try:
            os.setsid()
            os.dup2(log_fd, 1)
            os.dup2(log_fd, 2)
            for fd in (log_fd, self._host.fileno(), *self._children):
                os.close(fd)
            die_with_parent(server)
            code = self._serve_child(Channel(read_fd, write_fd))
        except SystemExit as asked:
            code = asked.code if isinstance(asked.code, int) else 1
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _tell_exit(self, pidfd: int) -> None:
        pid = self._children.pop(pidfd)
        status = os.waitid(os.P_PIDFD, pidfd, os.WEXITED | os.WNOWAIT)
        assert status is not None
        os.close(pidfd)
        killed = status.si_code in (os.CLD_KILLED, os.CLD_DUMPED)
        self._send(exited=pid, code=-status.si_status if killed else status.si_status)

    def _send(self, **message: int) -> None:
        self._host.send(json.dumps(message).encode())


def preload(*, pin_isa: bool) -> None:
    """Import what every engine needs; what fails here fails again, and is told, in the child."""
    try:
        from draftgate.engine import compat

        if pin_isa:
            compat.pin_kernels_to_avx2()
        compat.import_engine()
    except BaseException:
        traceback.print_exc()
    gc.freeze()  # the collector of a child need not touch, and so copy, what is shared


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the socket's file descriptor comes as an argument."""
    parser = argparse.ArgumentParser(prog="draftgate.engine.forking")
    parser.add_argument("--socket-fd", type=int, required=True)
    parser.add_argument("--parent-pid", type=int, required=True)
    arguments = parser.parse_args(argv)
    die_with_parent(arguments.parent_pid)
    preload(pin_isa=all(os.environ.get(name) == value for name, value in ISA_PIN.items()))
    Forking(socket.socket(fileno=arguments.socket_fd)).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
