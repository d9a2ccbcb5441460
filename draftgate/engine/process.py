"""The child as an operating-system process: started in its own group, ended with all it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

from draftgate.engine.channel import Channel

_POLL_S = 0.02


class ChildProcess:
    """A running child and the channel to it.

    It has a session of its own: Ctrl-C in the terminal reaches the host alone, which then ends the
    child in order. The child leaves by itself when the host vanishes (its pipe closes; see
    `draftgate.engine.lifeline`), and the interpreter's exit kills what is left.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str], log_path: Path) -> None:
        """Start ``command``; the child's pipe ends and its parent's pid are appended to it.

        Raises:
            OSError: the log cannot be written or the command cannot be started.
        """
        child_reads, host_writes = os.pipe()
        host_reads, child_writes = os.pipe()
        try:
            self._process = _spawn(command, env, log_path, child_reads, child_writes)
        except BaseException:
            os.close(host_reads)
            os.close(host_writes)
            raise
        finally:
            os.close(child_reads)
            os.close(child_writes)
        self._dies_with_host = _in_main_thread()
        self.channel = Channel(host_reads, host_writes)
        self.pid = self._process.pid
        self._finalizer = weakref.finalize(self, _end, self._process, self.channel, os.getpid())

    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.returncode is None and not _has_exited(self.pid)

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

        Does nothing where a stopped child would outlive a killed host (see `_spawn`).
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
        code = self._process.returncode
        if code is None:
            return "still running"
        if code >= 0:
            return f"exited with code {code}"
        name = signal.Signals(-code).name
        hint = " (out of memory?)" if -code == signal.SIGKILL else ""
        return f"was killed by {name}{hint}"


def _spawn(
    command: Sequence[str], env: Mapping[str, str], log_path: Path, read_fd: int, write_fd: int
) -> subprocess.Popen[bytes]:
    # The kernel's death signal is bound to the thread that forks: ask for it only in the main one.
    ends = [f"--read-fd={read_fd}", f"--write-fd={write_fd}"]
    parent = [f"--parent-pid={os.getpid() if _in_main_thread() else 0}"]
    with log_path.open("ab") as log:
        return subprocess.Popen(
            [*command, *ends, *parent],
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=(read_fd, write_fd),
            start_new_session=True,
        )


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _has_exited(pid: int) -> bool:
    # WNOWAIT leaves the zombie, so that its number still names its group when that is killed.
    try:
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, pid, options) is not None
    except ChildProcessError:
        return True


def _end(process: subprocess.Popen[bytes], channel: Channel, owner_pid: int) -> None:
    if os.getpid() != owner_pid:  # a fork of the host that exits: not its child to end
        return
    channel.close()
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
