"""A child that speaks the protocol and misbehaves on demand; run as a script by the host's tests.

Usage: fake_child.py BEHAVIOUR, then the arguments the host appends.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time

from draftgate.engine.channel import Channel
from draftgate.engine.lifeline import Inbox, die_with_parent
from draftgate.engine.protocol import (
    EngineInfo,
    Failed,
    Hello,
    Progress,
    Ready,
    RoundDone,
    RunRound,
    Shutdown,
)
from draftgate.engine.records import EngineMemory, RoundRecord

INFO = EngineInfo(
    vllm="0",
    torch="0",
    python="3",
    platform="cpu",
    runner="v1",
    kernels=None,
    isa_class="x86-avx2-fp32",
    dtype="float32",
    max_model_len=64,
    max_num_seqs=4,
    kv_cache_tokens=None,
    k=0,
    has_chat_template=True,
    cores=(0,),
    threads=1,
    startup_s=0.0,
    memory=EngineMemory(
        kv_cache_bytes=1024,
        kv_blocks=2,
        block_size=16,
        kv_cache_dtype="float32",
        weight_bytes=1,
        rss_bytes=1,
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("behaviour")
    parser.add_argument("--read-fd", type=int)
    parser.add_argument("--write-fd", type=int)
    parser.add_argument("--parent-pid", type=int)
    arguments = parser.parse_args()
    die_with_parent(arguments.parent_pid)
    serve(arguments.behaviour, Channel(arguments.read_fd, arguments.write_fd))


def serve(behaviour: str, channel: Channel) -> int:
    inbox = Inbox(channel)
    print("fake child begins", flush=True)
    start(behaviour, channel)
    inbox.get()
    channel.send(Ready(info=INFO), 5)
    while not isinstance(message := inbox.get(), Shutdown):
        assert isinstance(message, RunRound)
        answer(behaviour, channel, message)
    if behaviour == "ignore-shutdown":
        time.sleep(600)
    return 0


def start(behaviour: str, channel: Channel) -> None:
    if behaviour == "old-protocol":
        channel.send(Hello(pid=os.getpid(), protocol=0), 5)
        return
    channel.send(Hello(pid=os.getpid()), 5)
    if behaviour == "hang-at-start":
        time.sleep(600)
    elif behaviour == "slow-start":
        time.sleep(0.5)
    elif behaviour == "exit-at-start":
        print("ValueError: no such head", flush=True)
        sys.exit(3)
    elif behaviour == "fail-at-start":
        print("(EngineCore pid=7) ERROR 11-29 18:06:22 [core.py:1] ValueError: bad head")
        print("RuntimeError: Engine core initialization failed. See root cause above.", flush=True)
        reason = "RuntimeError: Engine core initialization failed. See root cause above."
        channel.send(Failed(stage="start-up", reason=reason), 5)
        sys.exit(1)
    elif behaviour == "grandchild":
        subprocess.Popen(["sleep", "600"])


def answer(behaviour: str, channel: Channel, message: RunRound) -> None:
    total = message.request.total_requests
    if behaviour == "hang":
        time.sleep(600)
    elif behaviour == "native-hang":
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        time.sleep(600)
    elif behaviour == "crash":
        print("about to crash", flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    elif behaviour == "die-behind-grandchild":
        subprocess.Popen(["sleep", "600"], pass_fds=(channel.write_fd,))
        os.kill(os.getpid(), signal.SIGKILL)
    elif behaviour == "garbage":
        os.write(channel.write_fd, b"Traceback (most recent call last):\n")
        time.sleep(600)
    elif behaviour == "not-json":
        os.write(channel.write_fd, b"\x00\x00\x00\x05hello")
        time.sleep(600)
    elif behaviour == "refuse":
        channel.send(Failed(stage="round", reason="prompt 'p' is too long", fatal=False), 5)
        return
    elif behaviour == "fail":
        channel.send(Failed(stage="round", reason="ValueError: out of blocks"), 5)
        sys.exit(1)
    channel.send(Progress(done=1, total=total), 5)
    record = RoundRecord(batch_size=message.request.batch_size, wall_s=0.1, steps=1, requests=())
    channel.send(RoundDone(record=record), 5)


if __name__ == "__main__":
    main()
