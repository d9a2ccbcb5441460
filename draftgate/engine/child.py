"""The engine child: `python -m draftgate.engine.child`, started by `EngineHost` alone.

It holds one engine, answers rounds, and leaves when told to or when its host is gone.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections.abc import Sequence

from draftgate.engine.channel import Channel
from draftgate.engine.errors import RoundRefused, SpecError, Stage
from draftgate.engine.lifeline import Inbox, die_with_parent
from draftgate.engine.logs import describe
from draftgate.engine.protocol import (
    Failed,
    Hello,
    Message,
    ProbeDone,
    Progress,
    Ready,
    RoundDone,
    RunProbe,
    RunRound,
    Score,
    Scored,
    Shutdown,
    Start,
    Tokenize,
    Tokenized,
)

_SEND_TIMEOUT_S = 600.0
_PROGRESS_EVERY_S = 0.5


class Child:
    """Serves one host over ``channel``."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._inbox = Inbox(channel)
        self._born = time.monotonic()
        self._reported_at = 0.0

    def serve(self) -> int:
        """Run to the end; the process's exit code."""
        self._send(Hello(pid=os.getpid()))
        start = self._inbox.get()
        assert isinstance(start, Start)
        try:
            self._start(start)
        except SpecError as error:
            self._send(Failed(stage="start-up", reason=str(error)))
            return 1
        except BaseException as error:
            self._send(_failure("start-up", error))
            return 1
        return self._serve_requests()

    def _start(self, start: Start) -> None:
        from draftgate.engine.build import build_engine

        self._engine, info = build_engine(start.spec, start.placement, self._born)
        self._send(Ready(info=info))

    def _serve_requests(self) -> int:
        while True:
            message = self._inbox.get()
            if isinstance(message, Shutdown):
                self._engine.shutdown()
                return 0
            answer = self._try(message)
            self._send(answer)
            if isinstance(answer, Failed) and answer.fatal:
                return 1

    def _try(self, message: Message) -> Message:
        try:
            return self._answer(message)
        except RoundRefused as error:
            return Failed(stage="round", reason=str(error), fatal=False)
        except BaseException as error:
            return _failure("round", error)

    def _answer(self, message: Message) -> Message:
        from draftgate.engine.probing import run_probe, score
        from draftgate.engine.round import run_round

        if isinstance(message, Tokenize):
            return Tokenized(
                token_ids=tuple(tuple(self._engine.tokenize(text)) for text in message.texts)
            )
        if isinstance(message, RunProbe):
            return ProbeDone(result=run_probe(self._engine, message.probe))
        if isinstance(message, Score):
            return Scored(scores=score(self._engine, message.scoring))
        assert isinstance(message, RunRound)
        return RoundDone(record=run_round(self._engine, message.request, self._progress))

    def _progress(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._reported_at >= _PROGRESS_EVERY_S:
            self._reported_at = now
            self._send(Progress(done=done, total=total))

    def _send(self, message: Message) -> None:
        self._channel.send(message, _SEND_TIMEOUT_S)


def _failure(stage: Stage, error: BaseException) -> Failed:
    trace = traceback.format_exc()
    print(trace, file=sys.stderr, flush=True)  # the log tells the whole story by itself
    return Failed(stage=stage, reason=describe(error), traceback=trace)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the pipe's file descriptors come as arguments."""
    parser = argparse.ArgumentParser(prog="draftgate.engine.child")
    parser.add_argument("--read-fd", type=int, required=True)
    parser.add_argument("--write-fd", type=int, required=True)
    parser.add_argument("--parent-pid", type=int, required=True)
    arguments = parser.parse_args(argv)
    die_with_parent(arguments.parent_pid)
    code = Child(Channel(arguments.read_fd, arguments.write_fd)).serve()
    sys.stderr.flush()
    os._exit(code)  # nothing to save; vLLM's own teardown can hang for seconds


if __name__ == "__main__":
    main()
