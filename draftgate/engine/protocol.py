"""The messages between host and child: typed, versioned, JSON behind a length.

A frame is four bytes (big-endian length) and that many bytes of JSON, over inherited pipes; never
stdout, which belongs to the child's log.
"""

from __future__ import annotations

import struct
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from draftgate.engine.drafts import DraftPlan
from draftgate.engine.errors import Stage
from draftgate.engine.placement import Placement
from draftgate.engine.probe import Probe, ProbeResult
from draftgate.engine.records import EngineMemory, Record, RoundRecord
from draftgate.engine.scores import Scoring, TokenScore
from draftgate.engine.spec import EngineSpec

PROTOCOL_VERSION = 2
MAX_FRAME_BYTES = 1 << 29  # far above any round; stray text read as a length lands above it
HEADER = struct.Struct(">I")


class ProtocolError(Exception):
    """The peer sent something that is no message of this protocol."""


class RoundPrompt(Record):
    """A user message; the child applies the target's chat template."""

    prompt_id: str
    text: str


class RoundRequest(Record):
    """One pass over ``prompts``.

    ``mixed`` keeps ``batch_size`` different prompts in flight and refills as requests finish;
    ``replicated`` runs prompt after prompt, each ``batch_size`` times at once. ``drafts``: what an
    engine started with `scripted_config` drafts; other engines refuse it. ``stages``: with the
    stage timer on, which costs a little, so such a round's wall time is not used.
    """

    prompts: tuple[RoundPrompt, ...] = Field(min_length=1)
    batch_size: int = Field(ge=1)
    max_tokens: int = Field(ge=1)
    batch_mode: Literal["mixed", "replicated"] = "mixed"
    temperature: float = Field(default=0.0, ge=0.0)
    seed: int = 42
    drafts: DraftPlan | None = None
    stages: bool = False

    @property
    def total_requests(self) -> int:
        """Requests the engine will run."""
        copies = self.batch_size if self.batch_mode == "replicated" else 1
        return len(self.prompts) * copies


class EngineInfo(Record):
    """What the child found once its engine stood.

    ``runner`` is vLLM's model runner; ``kernels`` the vLLM kernel library in use (CPU only);
    ``cores`` the logical CPUs it may use, ``threads`` what torch computes with;
    ``startup_s`` seconds from the child's first line to ready; ``memory`` what it held then.
    """

    vllm: str
    torch: str
    python: str
    platform: Literal["cpu", "cuda", "other"]
    runner: Literal["v1", "v2", "unknown"]
    kernels: str | None
    isa_class: str
    dtype: str
    max_model_len: int
    max_num_seqs: int
    kv_cache_tokens: int | None
    k: int
    has_chat_template: bool
    cores: tuple[int, ...]
    threads: int
    startup_s: float
    memory: EngineMemory


class Hello(Record):
    """Child to host, before anything heavy is imported."""

    kind: Literal["hello"] = "hello"
    protocol: int = PROTOCOL_VERSION
    pid: int


class Start(Record):
    """Host to child: build this engine on these cores."""

    kind: Literal["start"] = "start"
    spec: EngineSpec
    placement: Placement | None


class Ready(Record):
    """Child to host: the engine stands."""

    kind: Literal["ready"] = "ready"
    info: EngineInfo


class RunRound(Record):
    """Host to child: run this round."""

    kind: Literal["run_round"] = "run_round"
    request: RoundRequest


class Progress(Record):
    """Child to host, now and then in a round: requests finished so far."""

    kind: Literal["progress"] = "progress"
    done: int
    total: int


class RoundDone(Record):
    """Child to host: the round's record."""

    kind: Literal["round_done"] = "round_done"
    record: RoundRecord


class Tokenize(Record):
    """Host to child: the token ids of user messages, in the chat template."""

    kind: Literal["tokenize"] = "tokenize"
    texts: tuple[str, ...]


class Tokenized(Record):
    """Child to host: token ids of each text."""

    kind: Literal["tokenized"] = "tokenized"
    token_ids: tuple[tuple[int, ...], ...]


class RunProbe(Record):
    """Host to child: run this probe."""

    kind: Literal["run_probe"] = "run_probe"
    probe: Probe


class ProbeDone(Record):
    """Child to host: what the probe's requests got."""

    kind: Literal["probe_done"] = "probe_done"
    result: ProbeResult


class Score(Record):
    """Host to child: score these texts."""

    kind: Literal["score"] = "score"
    scoring: Scoring


class Scored(Record):
    """Child to host: scores of each text's tokens."""

    kind: Literal["scored"] = "scored"
    scores: tuple[tuple[TokenScore, ...], ...]


class Failed(Record):
    """Child to host. After a fatal failure the child exits."""

    kind: Literal["failed"] = "failed"
    stage: Stage
    reason: str
    traceback: str = ""
    fatal: bool = True


class Shutdown(Record):
    """Host to child: leave."""

    kind: Literal["shutdown"] = "shutdown"


Message = Annotated[
    Hello
    | Start
    | Ready
    | RunRound
    | Progress
    | RoundDone
    | Tokenize
    | Tokenized
    | RunProbe
    | ProbeDone
    | Score
    | Scored
    | Failed
    | Shutdown,
    Field(discriminator="kind"),
]
_ADAPTER: TypeAdapter[Message] = TypeAdapter(Message)


def encode(message: Message) -> bytes:
    """Frame of a message."""
    body = message.model_dump_json().encode()
    return HEADER.pack(len(body)) + body


def body_length(header: bytes) -> int:
    """Length announced by a frame's header.

    Raises:
        ProtocolError: it cannot be one (stray text on the pipe).
    """
    (length,) = HEADER.unpack(header)
    if length > MAX_FRAME_BYTES:
        raise ProtocolError(f"a frame of {length} bytes was announced; first bytes {header!r}")
    return int(length)


def decode(body: bytes) -> Message:
    """Message of a frame's body.

    Raises:
        ProtocolError: not JSON, or no known message.
    """
    try:
        return _ADAPTER.validate_json(body)
    except ValidationError as error:
        raise ProtocolError(f"unreadable message {body[:80]!r}: {error}") from error
