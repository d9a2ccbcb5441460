"""The child as an operating-system process: started in its own group, ended with all it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from draftgate.engine.channel import Channel

_POLL_S = 0.02


class Handle(Protocol):
    """What `ChildProcess` asks of whoever started the process."""

    pid: int

    def exited(self) -> bool:
        """Whether it has ended; its number still names its group until `reap`."""

    def reap(self) -> int:
        """Wait for its end and release its number; the exit code, negative for a signal."""


Start = Callable[[int, int], Handle]
"""Starts a child that reads messages from the first file descriptor and writes to the second."""

Launch = Callable[[Sequence[str], Mapping[str, str], Path], "ChildProcess"]
"""Starts a command with an environment and a log file; raises OSError."""


class ChildProcess:
    """A running child and the channel to it.

    It has a session of its own: Ctrl-C in the terminal reaches the host alone, which then ends the
    child in order. The child leaves by itself when the host vanishes (its pipe closes; see
    `draftgate.engine.lifeline`), and the interpreter's exit kills what is left.
    """

    def __init__(self, start: Start) -> None:
        """Start the child between two new pipes. Raises OSError where it cannot be started."""
        child_reads, host_writes = os.pipe()
        host_reads, child_writes = os.pipe()
        try:
            self._handle = start(child_reads, child_writes)
        except BaseException:
            os.close(host_reads)
            os.close(host_writes)
            raise
        finally:
            os.close(child_reads)
            os.close(child_writes)
        self._dies_with_host = in_main_thread()
        self.channel = Channel(host_reads, host_writes)
        self.pid = self._handle.pid
        self._exit = _Exit()
        self._finalizer = weakref.finalize(
            self, _end, self._handle, self.channel, self._exit, os.getpid()
        )

    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._exit.code is None and not self._handle.exited()

    def wait(self, timeout_s: float) -> bool:
        """Wait for the process to leave by itself; False where it did not in time."""
        deadline = time.monotonic() + timeout_s
        while self.alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def pause(self) -> None:
        """Stop the group until `resume`: an idle engine's threads still wake 1,300 times a second.

        Does nothing where a stopped child would outlive a killed host (see `spawn`).
        """
        if self._dies_with_host and self.alive():
            os.killpg(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused group run again."""
        if self._dies_with_host and self.alive():
            os.killpg(self.pid, signal.SIGCONT)

    def end(self) -> None:
        """Kill what is left of the group and close the channel; safe to repeat."""
        self._finalizer()

    @property
    def exit_description(self) -> str:
        """How it ended, in words; call after `end`."""
        code = self._exit.code
        if code is None:
            return "still running"
        if code >= 0:
            return f"exited with code {code}"
        name = signal.Signals(-code).name
        hint = " (out of memory?)" if -code == signal.SIGKILL else ""
        return f"was killed by {name}{hint}"


@dataclass
class _Exit:
    """The exit code, None before the child is reaped; shared with the finalizer."""

    code: int | None = None


def spawn(command: Sequence[str], env: Mapping[str, str], log_path: Path) -> ChildProcess:
    """Start ``command``; the child's pipe ends and its parent's pid are appended to it.

    Raises:
        OSError: the log cannot be written or the command cannot be started.
    """

    def start(read_fd: int, write_fd: int) -> Handle:
        ends = (f"--read-fd={read_fd}", f"--write-fd={write_fd}")
        return Spawned((*command, *ends), env, log_path, pass_fds=(read_fd, write_fd))

    return ChildProcess(start)


class Spawned:
    """A child of this process, in a session of its own, with its output in ``log_path``."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        log_path: Path,
        pass_fds: Sequence[int],
    ) -> None:
        """Start ``command --parent-pid=PID``. Raises OSError."""
        # The kernel's death signal is bound to the thread that forks: ask only in the main one.
        parent = f"--parent-pid={os.getpid() if in_main_thread() else 0}"
        with log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, parent],
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=pass_fds,
                start_new_session=True,
            )
        self.pid = self._process.pid

    def exited(self) -> bool:
        """Whether it has ended; leaves the zombie, so that its number still names its group."""
        if self._process.returncode is not None:
            return True
        try:
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self.pid, options) is not None
        except ChildProcessError:
            return True

    def reap(self) -> int:
        """Wait for its end; the exit code."""
        return self._process.wait()


def in_main_thread() -> bool:
    """Whether the calling thread is the main one."""
    return threading.current_thread() is threading.main_thread()


def kill_group(pid: int) -> None:
    """SIGKILL to the process group ``pid``, if it is still there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _end(handle: Handle, channel: Channel, exit_: _Exit, owner_pid: int) -> None:
    if os.getpid() != owner_pid:  # a fork of the host that exits: not its child to end
        return
    channel.close()
    if exit_.code is None:
        kill_group(handle.pid)
        exit_.code = handle.reap()
