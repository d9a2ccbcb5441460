"""The host's side of an engine: one child process, watched from start to end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

import psutil

from draftgate.engine import logs
from draftgate.engine.channel import ChannelClosed, ChannelTimeout
from draftgate.engine.environment import child_environment
from draftgate.engine.errors import EngineError, Stage
from draftgate.engine.interpreter import Interpreter
from draftgate.engine.placement import place
from draftgate.engine.probe import Probe, ProbeResult
from draftgate.engine.process import ChildProcess, Launch, spawn
from draftgate.engine.protocol import (
    PROTOCOL_VERSION,
    EngineInfo,
    Failed,
    Hello,
    Message,
    ProbeDone,
    Progress,
    ProtocolError,
    Ready,
    RoundDone,
    RoundRequest,
    RunProbe,
    RunRound,
    Score,
    Scored,
    Shutdown,
    Start,
    Tokenize,
    Tokenized,
)
from draftgate.engine.records import RoundRecord
from draftgate.engine.scores import Scoring, TokenScore
from draftgate.engine.spec import EngineSpec

CHILD_MODULE = "draftgate.engine.child"
ProgressCallback = Callable[[int, int], None]
_START_POLL_S = 1.0
_Answer = TypeVar("_Answer", RoundDone, Tokenized, ProbeDone, Scored)


@dataclass(frozen=True)
class Timeouts:
    """Seconds.

    ``start``: spawn to ready. ``request``: longest silence in a round, that is between two
    finished requests. ``shutdown``: grace before the child is killed.
    """

    start: float = 600.0
    request: float = 300.0
    shutdown: float = 5.0


class EngineHost:
    """One engine in one child process; a context manager.

    ``label`` names it in messages and its log file (a scenario id such as `llama-tiny/ngram-k3`).
    ``interpreter``: the environment whose vLLM it is (None: this one). ``command``: the child's
    command line, where it is not that interpreter with `CHILD_MODULE`.
    """

    def __init__(
        self,
        spec: EngineSpec,
        *,
        label: str,
        log_dir: Path,
        timeouts: Timeouts | None = None,
        interpreter: Interpreter | None = None,
        command: Sequence[str] = (),
        launch: Launch = spawn,
        on_cpu: bool | None = None,
    ) -> None:
        """Prepare; nothing is started.

        ``launch`` starts the child (`ForkServers.launch`: without importing vLLM anew).
        ``on_cpu`` None: as the interpreter's vLLM is.
        """
        interpreter = interpreter or Interpreter.this()
        self.spec = spec
        self.label = label
        self.log_path = log_dir / f"{label.replace('/', '-')}.log"
        self._timeouts = timeouts or Timeouts()
        self._openmp = interpreter.openmp
        self._command = tuple(command) or (str(interpreter.executable), "-m", CHILD_MODULE)
        self._start_child = launch
        self._on_cpu = interpreter.on_cpu if on_cpu is None else on_cpu
        self._process: ChildProcess | None = None
        self._info: EngineInfo | None = None
        self._launched_at = 0.0
        self._in_round = False

    # Start and end

    def __enter__(self) -> EngineHost:
        """Start the engine. Raises `EngineError`."""
        self.launch()
        self.wait_ready()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def launch(self) -> None:
        """Spawn the child and hand it the spec; does not wait for the engine.

        Raises:
            EngineError: no such number of cores, an unwritable log, no such command.
        """
        if self._process is not None:
            raise RuntimeError(f"engine {self.label} was launched before")
        try:
            placement = place(self.spec.threads) if self._on_cpu else None
            self._log = logs.ChildLog(self.log_path)
            env = child_environment(os.environ, self.spec, placement=placement, openmp=self._openmp)
            self._launched_at = time.monotonic()
            self._process = self._start_child(self._command, env, self.log_path)
        except (OSError, ValueError) as error:
            raise EngineError(self.label, "start-up", str(error)) from error
        self._send(Start(spec=self.spec, placement=placement), "start-up")

    def is_ready(self, wait_s: float = 0.0) -> bool:
        """Whether the engine stands, after waiting up to ``wait_s`` seconds for news of it.

        Raises:
            EngineError: it failed, died, or the start timeout has passed; the child is gone then.
        """
        if self._info is None:
            message = self._poll("start-up", wait_s)
            if message is not None:
                self._take_start_message(message)
            elif time.monotonic() - self._launched_at > self._timeouts.start:
                self._fail_hung("start-up", self._timeouts.start)
        return self._info is not None

    def wait_ready(self) -> EngineInfo:
        """Wait until the engine stands. Raises as `is_ready`."""
        while not self.is_ready(_START_POLL_S):
            pass
        return self.info

    def close(self) -> None:
        """End the child: politely where it is idle, else at once. Safe to repeat, never raises."""
        process = self._process
        if process is None:
            return
        if self._info is not None and not self._in_round and process.alive():
            try:
                process.resume()
                process.channel.send(Shutdown(), self._timeouts.shutdown)
                process.wait(self._timeouts.shutdown)
            except (ChannelClosed, ChannelTimeout):
                pass
        process.end()

    # Use

    def generate(
        self, request: RoundRequest, on_progress: ProgressCallback | None = None
    ) -> RoundRecord:
        """Run one round and wait for its record.

        ``on_progress`` gets (finished requests, all requests) now and then.

        Raises:
            EngineError: refused (``fatal`` False: a batch above max_num_seqs, a prompt too long;
                the engine goes on), or failed, died, hung, and then the child is gone.
        """
        if request.batch_size > self.spec.max_num_seqs:
            raise EngineError(self.label, "round", self._batch_refusal(request), fatal=False)
        return self._exchange(RunRound(request=request), RoundDone, on_progress).record

    def tokenize(self, texts: Iterable[str]) -> tuple[tuple[int, ...], ...]:
        """Token ids of user messages, in the target's chat template. Raises as `generate`."""
        return self._exchange(Tokenize(texts=tuple(texts)), Tokenized).token_ids

    def probe(self, probe: Probe) -> ProbeResult:
        """Run requests with their own sampling parameters. Raises as `generate`."""
        return self._exchange(RunProbe(probe=probe), ProbeDone).result

    def score(self, scoring: Scoring) -> tuple[tuple[TokenScore, ...], ...]:
        """Scores of each text's tokens from its start on. Raises as `generate`."""
        return self._exchange(Score(scoring=scoring), Scored).scores

    @property
    def info(self) -> EngineInfo:
        """What the child reported as it became ready."""
        if self._info is None:
            raise RuntimeError(f"engine {self.label} is not ready")
        return self._info

    @property
    def alive(self) -> bool:
        """Whether the child runs."""
        return self._process is not None and self._process.alive()

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._running.pid

    @property
    def rss_bytes(self) -> int:
        """Resident memory of the child and its own children now."""
        child = psutil.Process(self.pid)
        family = [child, *child.children(recursive=True)]
        return sum(process.memory_info().rss for process in family)

    # Talking to the child

    @property
    def _running(self) -> ChildProcess:
        if self._process is None:
            raise RuntimeError(f"engine {self.label} was not launched")
        return self._process

    def _exchange(
        self, message: Message, kind: type[_Answer], on_progress: ProgressCallback | None = None
    ) -> _Answer:
        """Send ``message`` and wait for its answer, with the child awake in between."""
        if self._in_round and self.alive:  # the next answer would be the one nobody waited for
            self._fail("round", "an earlier request was interrupted: its answer is still to come")
        self._in_round = True
        self._running.resume()
        self._send(message, "round")
        answer = self._answer(kind, on_progress)
        self._in_round = False
        self._rest()
        if isinstance(answer, Failed):
            raise EngineError(self.label, "round", answer.reason, fatal=False)
        return answer

    def _answer(
        self, kind: type[_Answer], on_progress: ProgressCallback | None
    ) -> _Answer | Failed:
        while True:
            message = self._receive("round", self._timeouts.request)
            if isinstance(message, kind):
                return message
            if isinstance(message, Failed) and not message.fatal:
                return message
            if not isinstance(message, Progress):
                self._fail_with("round", message)
            if on_progress is not None:
                on_progress(message.done, message.total)

    def _batch_refusal(self, request: RoundRequest) -> str:
        return (
            f"batch size {request.batch_size} is above max_num_seqs={self.spec.max_num_seqs}: "
            f"start the engine with max_num_seqs of at least the largest batch size"
        )

    def _rest(self) -> None:
        if self._on_cpu:  # GPU engines have watchdogs that count the time they were stopped
            self._running.pause()

    def _take_start_message(self, message: Message) -> None:
        if isinstance(message, Ready):
            self._info = message.info
            self._rest()
        elif not isinstance(message, Hello):
            self._fail_with("start-up", message)
        elif message.protocol != PROTOCOL_VERSION:
            self._fail(
                "start-up",
                f"the child speaks protocol {message.protocol}, this draftgate {PROTOCOL_VERSION}: "
                f"install the same draftgate in both environments",
            )

    def _send(self, message: Message, stage: Stage) -> None:
        try:
            self._running.channel.send(message, self._timeouts.request)
        except ChannelClosed:
            self._fail_dead(stage)
        except ChannelTimeout:
            self._fail(stage, "the child hangs: it no longer reads its messages")

    def _receive(self, stage: Stage, timeout_s: float) -> Message:
        message = self._poll(stage, timeout_s)
        if message is None:
            self._fail_hung(stage, timeout_s)
        return message

    def _poll(self, stage: Stage, timeout_s: float) -> Message | None:
        process = self._running
        try:
            return process.channel.receive(timeout_s, process.alive)
        except ChannelTimeout:
            return None
        except ChannelClosed:
            self._fail_dead(stage)
        except ProtocolError as error:
            self._fail(stage, f"garbage on the child's pipe: {error}")

    def _fail_with(self, stage: Stage, message: Message) -> NoReturn:
        if not isinstance(message, Failed):
            self._fail(stage, f"unexpected message {message.kind!r} from the child")
        cause = None
        if logs.is_consequence(message.reason):
            cause = logs.root_cause(self._log.text())
        self._fail(stage, cause or message.reason)

    def _fail_hung(self, stage: Stage, timeout_s: float) -> NoReturn:
        self._fail(stage, f"the child hangs: nothing heard for {timeout_s:g} s; killed it")

    def _fail_dead(self, stage: Stage) -> NoReturn:
        process = self._running
        if words := self._last_words():
            self._fail_with(stage, words)
        process.wait(self._timeouts.shutdown)
        process.end()
        cause = logs.root_cause(self._log.text())
        last = f"; last exception in its log: {cause}" if cause else ""
        self._fail(stage, f"the child {process.exit_description}{last}")

    def _last_words(self) -> Failed | None:
        """Why the child gave up, where it said so before the host wrote to it in vain."""
        try:
            while not isinstance(message := self._running.channel.receive(0.1), Failed):
                pass
        except (ChannelClosed, ChannelTimeout, ProtocolError):
            return None
        return message

    def _fail(self, stage: Stage, reason: str) -> NoReturn:
        self._running.end()
        raise EngineError(
            self.label, stage, reason, log_path=self.log_path, log_tail=self._log.tail()
        )
