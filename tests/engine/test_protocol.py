"""Frames survive any cut of the stream, and anything else is refused."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Any

import pytest
from fake_child import INFO
from hypothesis import given, settings
from hypothesis import strategies as st

from draftgate.engine.channel import Channel, ChannelClosed, ChannelTimeout
from draftgate.engine.drafts import DraftPlan, Recording
from draftgate.engine.placement import Placement
from draftgate.engine.probe import (
    Completion,
    Probe,
    ProbeOutput,
    ProbeRequest,
    ProbeResult,
    Sampling,
    TokenLogprob,
)
from draftgate.engine.protocol import (
    HEADER,
    MAX_FRAME_BYTES,
    Failed,
    Hello,
    ProbeDone,
    Progress,
    ProtocolError,
    Ready,
    RoundDone,
    RoundPrompt,
    RoundRequest,
    RunProbe,
    RunRound,
    Score,
    Scored,
    Shutdown,
    Start,
    Tokenize,
    Tokenized,
    body_length,
    decode,
    encode,
)
from draftgate.engine.records import RequestRecord, RoundRecord, SpecCounters
from draftgate.engine.scores import ScoredText, Scoring, TokenScore
from draftgate.engine.spec import EngineSpec

counts = st.integers(0, 10**6)
seconds = st.floats(0, 1e6, allow_nan=False)
tokens = st.lists(counts, max_size=6).map(tuple)
json_values = st.recursive(
    st.none() | st.booleans() | counts | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)

request_records = st.builds(
    RequestRecord,
    prompt_id=st.text(),
    prompt_tokens=counts,
    output_token_ids=tokens,
    finish_reason=st.none() | st.sampled_from(["stop", "length"]),
    ttft_s=seconds,
    e2e_s=seconds,
    emitted=tokens,
    drafted=tokens,
    accepted=tokens,
)
counters = st.builds(
    SpecCounters, drafts=counts, draft_tokens=counts, accepted_tokens=counts, per_position=tokens
)
round_records = st.builds(
    RoundRecord,
    batch_size=counts,
    wall_s=seconds,
    steps=counts,
    requests=st.lists(request_records, max_size=3).map(tuple),
    counters=st.none() | counters,
)
specs = st.builds(
    EngineSpec,
    model=st.text(min_size=1),
    speculative_config=st.none() | st.dictionaries(st.text(max_size=5), json_values, max_size=3),
)
requests = st.builds(
    RoundRequest,
    prompts=st.lists(st.builds(RoundPrompt, prompt_id=st.text(), text=st.text()), min_size=1).map(
        tuple
    ),
    batch_size=st.integers(1, 512),
    max_tokens=st.integers(1, 10**5),
    drafts=st.none()
    | st.builds(
        DraftPlan,
        rule=st.sampled_from(["oracle", "ragged"]),
        recordings=st.lists(st.builds(Recording, prompt=st.just((1,)), output=tokens)).map(tuple),
    ),
)
probes = st.builds(
    Probe,
    requests=st.builds(
        ProbeRequest,
        request_id=st.text(),
        prompt=st.just((1, 2)),
        sampling=st.builds(
            Sampling,
            logit_bias=st.none() | st.dictionaries(counts, seconds, max_size=2),
            stop=st.lists(st.text(), max_size=2).map(tuple),
            choice=st.none() | st.just(("yes", "no")),
        ),
    ).map(lambda request: (request,)),
)
positions = st.lists(
    st.builds(TokenLogprob, token_id=counts, logprob=seconds, rank=counts).map(lambda x: (x,)),
    max_size=2,
).map(tuple)
probe_results = st.builds(
    ProbeResult,
    outputs=st.builds(
        ProbeOutput,
        request_id=st.text(),
        completions=st.builds(
            Completion,
            token_ids=tokens,
            text=st.text(),
            finish_reason=st.none() | st.just("stop"),
            stop_reason=st.none() | counts | st.text(),
            logprobs=st.none() | positions,
        ).map(lambda completion: (completion,)),
    ).map(lambda output: (output,)),
    steps=counts,
    preemptions=counts,
    counters=st.none() | counters,
)
scores = st.builds(TokenScore, gap=seconds, mass=seconds, below=seconds, below_id=seconds)
scorings = st.builds(
    Scoring, texts=st.just((ScoredText(token_ids=(1, 2, 3), start=2),)), temperature=st.just(0.7)
)
messages = st.one_of(
    st.builds(Hello, pid=counts),
    st.builds(Start, spec=specs, placement=st.none() | st.builds(Placement, cores=tokens)),
    st.just(Ready(info=INFO)),
    st.builds(RunRound, request=requests),
    st.builds(Progress, done=counts, total=counts),
    st.builds(RoundDone, record=round_records),
    st.builds(Tokenize, texts=st.lists(st.text()).map(tuple)),
    st.builds(Tokenized, token_ids=st.lists(tokens).map(tuple)),
    st.builds(RunProbe, probe=probes),
    st.builds(ProbeDone, result=probe_results),
    st.builds(Score, scoring=scorings),
    st.builds(Scored, scores=st.lists(scores, max_size=2).map(lambda row: (tuple(row),))),
    st.builds(Failed, stage=st.just("round"), reason=st.text(), fatal=st.booleans()),
    st.just(Shutdown()),
)


def pipe() -> tuple[Channel, int]:
    """A channel that reads what is written to the returned descriptor."""
    read_fd, write_fd = os.pipe()
    return Channel(read_fd, os.dup(write_fd)), write_fd


@given(messages)
def test_a_message_survives_its_frame(message: Any) -> None:
    frame = encode(message)
    assert body_length(frame[: HEADER.size]) == len(frame) - HEADER.size
    assert decode(frame[HEADER.size :]) == message


@settings(deadline=None)
@given(st.lists(messages, min_size=1, max_size=4), st.data())
def test_any_cut_of_the_stream_yields_the_same_messages(sent: list[Any], data: Any) -> None:
    stream = b"".join(map(encode, sent))
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=4).map(sorted))
    channel, write_fd = pipe()
    received = []
    with open(write_fd, "wb", buffering=0) as pipe_end:
        for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
            pipe_end.write(stream[begin:end])
            try:
                while True:
                    received.append(channel.receive(0.0001))
            except ChannelTimeout:
                pass
    while len(received) < len(sent):  # a busy machine may not have read it all in that time
        received.append(channel.receive(5))
    channel.close()
    assert received == sent


@given(st.binary(max_size=200))
def test_garbage_is_refused_as_such(body: bytes) -> None:
    with contextlib.suppress(ProtocolError):
        message = decode(body)
        assert decode(encode(message)[HEADER.size :]) == message


def test_text_read_as_a_length_is_refused() -> None:
    for text in (b"Trac", b"INFO", b"(Eng", b"\x1b[0;"):
        assert int.from_bytes(text, "big") > MAX_FRAME_BYTES or text[0] < 0x20
    with pytest.raises(ProtocolError, match="b'Trac'"):
        body_length(b"Trac")


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ProtocolError):
        decode(b'{"kind": "dance"}')


def test_a_closed_pipe_delivers_what_was_written_first() -> None:
    read_fd, write_fd = os.pipe()
    channel = Channel(read_fd, os.dup(read_fd))
    os.write(write_fd, encode(Shutdown()) + b"\x00\x00")
    os.close(write_fd)
    assert channel.receive(1) == Shutdown()
    with pytest.raises(ChannelClosed):
        channel.receive(1)
    channel.close()


def test_sending_to_nobody() -> None:
    read_fd, write_fd = os.pipe()
    spare_read, spare_write = os.pipe()
    channel = Channel(spare_read, write_fd)
    os.close(read_fd)
    with pytest.raises(ChannelClosed):
        channel.send(Shutdown(), 1)
    os.close(spare_write)
    channel.close()


def test_a_frame_larger_than_the_pipe() -> None:
    channel, write_fd = pipe()
    message = Failed(stage="round", reason="x" * (1 << 20))
    sender = Channel(os.dup(channel.read_fd), write_fd)
    thread = threading.Thread(target=sender.send, args=(message, 5))
    thread.start()
    assert channel.receive(5) == message
    thread.join()
    sender.close()
    channel.close()


def test_a_look_without_waiting_takes_what_is_there() -> None:
    channel, write_fd = pipe()
    with pytest.raises(ChannelTimeout):
        channel.receive(0)
    os.write(write_fd, encode(Shutdown()))
    assert channel.receive(0) == Shutdown()
    os.close(write_fd)
    channel.close()
