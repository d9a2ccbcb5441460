"""Frames over a pair of pipe ends, with deadlines on the host's side."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable

from draftgate.engine.protocol import HEADER, Message, body_length, decode, encode

_SLICE_S = 0.2  # how soon a death is noticed while a grandchild still holds the pipe open
_CHUNK = 1 << 16


class ChannelClosed(Exception):
    """The other end is gone."""


class ChannelTimeout(Exception):
    """The deadline passed without a whole message."""


class Channel:
    """Sends and receives messages; owns both file descriptors (read end, write end)."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd = read_fd
        self.write_fd = write_fd
        self._buffer = bytearray()
        self._closed = False

    def send(self, message: Message, timeout_s: float) -> None:
        """Write one message.

        Raises:
            ChannelClosed: nobody reads any more.
            ChannelTimeout: the peer did not take it in time.
        """
        if self._closed:
            raise ChannelClosed
        os.set_blocking(self.write_fd, False)  # a hung peer must not hang its sender
        deadline = time.monotonic() + timeout_s
        rest = memoryview(encode(message))
        while rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([], [self.write_fd], [], left)[1]:
                raise ChannelTimeout
            try:
                rest = rest[os.write(self.write_fd, rest[:_CHUNK]) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise ChannelClosed from error

    def receive(self, timeout_s: float | None, alive: Callable[[], bool] | None = None) -> Message:
        """Read one message; ``timeout_s`` None waits for ever.

        ``alive`` is asked now and then, so that a dead peer is noticed even where the pipe stays
        open in some grandchild; what it wrote before it died is still delivered.

        Raises:
            ChannelClosed: the peer is gone and left no whole message.
            ChannelTimeout: no whole message in ``timeout_s`` seconds.
            ProtocolError: garbage on the pipe.
        """
        if self._closed:
            raise ChannelClosed
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while (message := self._next()) is None:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            peer_alive = alive is None or alive()
            if self._readable(_shorter(left, None if alive is None else _SLICE_S)):
                self._fill()
            elif not peer_alive:
                raise ChannelClosed
            elif left == 0:
                raise ChannelTimeout
        return message

    def close(self) -> None:
        """Close both ends; safe to repeat."""
        if not self._closed:
            self._closed = True
            os.close(self.read_fd)
            os.close(self.write_fd)

    def _readable(self, timeout_s: float | None) -> bool:
        return bool(select.select([self.read_fd], [], [], timeout_s)[0])

    def _fill(self) -> None:
        data = os.read(self.read_fd, _CHUNK)
        if not data:
            raise ChannelClosed
        self._buffer += data

    def _next(self) -> Message | None:
        if len(self._buffer) < HEADER.size:
            return None
        end = HEADER.size + body_length(bytes(self._buffer[: HEADER.size]))
        if len(self._buffer) < end:
            return None
        body = bytes(self._buffer[HEADER.size : end])
        del self._buffer[:end]
        return decode(body)


def _shorter(first: float | None, second: float | None) -> float | None:
    given = [value for value in (first, second) if value is not None]
    return min(given, default=None)
