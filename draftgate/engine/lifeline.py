"""The child's side of "nothing stays behind": it leaves when its host does, however that ended."""

from __future__ import annotations

import ctypes
import os
import queue
import signal
import sys
import threading

from draftgate.engine.channel import Channel, ChannelClosed
from draftgate.engine.protocol import Message

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent_pid: int) -> None:
    """Ask the kernel for SIGKILL when the parent dies (Linux; works even in a hung native call).

    ``parent_pid`` 0: do not ask, since the host was started from a thread that may end earlier.
    """
    if parent_pid == 0 or sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:  # it died before the request
        leave()


def leave() -> None:
    """End this process and all it started, at once."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


class Inbox:
    """Reads the host's messages in a thread of its own, so that a closed pipe is seen mid-round."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="inbox", daemon=True).start()

    def get(self) -> Message:
        """The next message; waits for it."""
        return self._messages.get()

    def _read(self) -> None:
        while True:
            try:
                self._messages.put(self._channel.receive(None))
            except ChannelClosed:
                leave()
