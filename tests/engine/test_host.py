"""The host against a child that misbehaves; the child is a script speaking the protocol."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from draftgate.engine import EngineError, EngineHost, EngineSpec, RoundRequest

FAKE_CHILD = Path(__file__).with_name("fake_child.py")

Make = Callable[..., EngineHost]
Gone = Callable[[int], bool]


def test_a_round_goes_through_and_nothing_stays(
    fake_host: Make, one_prompt: RoundRequest, is_gone: Gone
) -> None:
    with fake_host() as host:
        seen: list[tuple[int, int]] = []
        record = host.generate(one_prompt, on_progress=lambda *counts: seen.append(counts))
        assert record.batch_size == one_prompt.batch_size
        assert seen == [(1, 1)]
        assert host.info.max_model_len == 64
        pid = host.pid
    assert not host.alive
    assert is_gone(pid)


def test_several_hosts_are_resident_at_once(fake_host: Make, one_prompt: RoundRequest) -> None:
    with fake_host(label="a") as first, fake_host(label="b") as second:
        for host in (first, second, second, first):
            assert host.generate(one_prompt).steps == 1


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("crash", "was killed by SIGSEGV"),
        ("die-behind-grandchild", "was killed by SIGKILL"),
        ("garbage", "garbage on the child's pipe"),
        ("not-json", "garbage on the child's pipe"),
        ("fail", "ValueError: out of blocks"),
    ],
)
def test_a_broken_child_fails_its_round_at_once(
    fake_host: Make, one_prompt: RoundRequest, is_gone: Gone, behaviour: str, reason: str
) -> None:
    with fake_host(behaviour) as host:
        pid = host.pid
        begun = time.monotonic()
        with pytest.raises(EngineError, match=reason) as caught:
            host.generate(one_prompt)
        assert time.monotonic() - begun < 4
    error = caught.value
    assert error.fatal
    assert str(error).startswith(f"engine fake/{behaviour}: round: ")
    assert "fake child begins" in error.log_tail
    assert str(host.log_path) in str(error)
    assert is_gone(pid)


@pytest.mark.parametrize("behaviour", ["hang", "native-hang"])
def test_a_hung_round_ends_with_its_timeout(
    fake_host: Make, one_prompt: RoundRequest, is_gone: Gone, behaviour: str
) -> None:
    with fake_host(behaviour, request=0.5) as host:
        pid = host.pid
        with pytest.raises(EngineError, match=r"hangs: nothing heard for 0\.5 s"):
            host.generate(one_prompt)
    assert is_gone(pid)


def test_sigkill_from_outside_is_seen_in_the_round(
    fake_host: Make, one_prompt: RoundRequest
) -> None:
    with fake_host("hang") as host:
        threading.Timer(0.3, os.kill, (host.pid, signal.SIGKILL)).start()
        with pytest.raises(EngineError, match="killed by SIGKILL"):
            host.generate(one_prompt)


def test_sigkill_between_rounds_is_seen_by_the_next(
    fake_host: Make, one_prompt: RoundRequest
) -> None:
    with fake_host() as host:
        host.generate(one_prompt)
        os.kill(host.pid, signal.SIGKILL)
        with pytest.raises(EngineError, match="killed by SIGKILL"):
            host.generate(one_prompt)


def test_a_refused_round_leaves_the_engine_usable(
    fake_host: Make, one_prompt: RoundRequest
) -> None:
    with fake_host("refuse") as host:
        for _ in range(2):
            with pytest.raises(EngineError, match="'p' is too long") as caught:
                host.generate(one_prompt)
            assert not caught.value.fatal
        assert host.alive


def test_a_batch_above_max_num_seqs_names_both_and_the_remedy(
    fake_host: Make, one_prompt: RoundRequest
) -> None:
    with fake_host() as host:
        too_large = one_prompt.model_copy(update={"batch_size": 5})
        with pytest.raises(EngineError, match=r"batch size 5 .* max_num_seqs=4: start"):
            host.generate(too_large)
        assert host.generate(one_prompt).steps == 1


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("hang-at-start", r"start-up: the child hangs: nothing heard for 0\.7 s"),
        ("exit-at-start", "exited with code 3; last exception in its log: ValueError: no such"),
        ("fail-at-start", "start-up: ValueError: bad head$"),
        ("old-protocol", "speaks protocol 0"),
    ],
)
def test_a_failed_start_says_why(
    fake_host: Make, is_gone: Gone, behaviour: str, reason: str
) -> None:
    host = fake_host(behaviour, start=0.7 if behaviour == "hang-at-start" else 20.0)
    with pytest.raises(EngineError, match=f"(?m){reason}"), host:
        pass
    assert is_gone(host.pid)


def test_a_slow_start_within_its_timeout_is_no_failure(fake_host: Make) -> None:
    with fake_host("slow-start") as host:
        assert host.alive


def test_an_interrupted_round_is_not_answered_to_the_next(
    fake_host: Make, one_prompt: RoundRequest
) -> None:
    """As where a test's own timeout strikes: the child goes on, and answers."""

    def interrupted(done: int, total: int) -> None:
        raise TimeoutError(f"{done} of {total}")

    with fake_host() as host:
        with pytest.raises(TimeoutError):
            host.generate(one_prompt, on_progress=interrupted)
        with pytest.raises(EngineError, match="an earlier request was interrupted") as caught:
            host.generate(one_prompt)
        assert caught.value.fatal
        assert not host.alive


def test_a_dead_engine_says_so_every_time(fake_host: Make, one_prompt: RoundRequest) -> None:
    with fake_host("crash") as host:
        for _ in range(2):
            with pytest.raises(EngineError, match="was killed by SIGSEGV"):
                host.generate(one_prompt)


def test_a_command_that_does_not_exist(tmp_path: Path) -> None:
    spec, command = EngineSpec(model="/models/fake"), ("/no/such/python",)
    host = EngineHost(spec, label="a", log_dir=tmp_path, command=command, on_cpu=True)
    with pytest.raises(EngineError, match="/no/such/python"):
        host.launch()


def test_more_threads_than_cores(fake_host: Make) -> None:
    host = fake_host()
    host.spec = EngineSpec(model="m", threads=10_000)
    with pytest.raises(EngineError, match="threads=10000, but only"):
        host.launch()


def test_a_child_that_ignores_shutdown_is_killed(fake_host: Make, is_gone: Gone) -> None:
    host = fake_host("ignore-shutdown", shutdown=0.3)
    with host:
        pid = host.pid
    assert is_gone(pid)


def test_what_the_child_started_ends_with_it(fake_host: Make, is_gone: Gone) -> None:
    with fake_host("grandchild") as host:
        (grandchild,) = psutil.Process(host.pid).children()
    assert is_gone(grandchild.pid)


def test_closing_twice_or_unstarted_is_harmless(fake_host: Make) -> None:
    host = fake_host()
    host.close()
    with host:
        pass
    host.close()


def _becomes(pid: int, status: str) -> bool:
    deadline = time.monotonic() + 3
    while psutil.Process(pid).status() != status:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_an_idle_engine_is_stopped_and_wakes_for_its_round(
    fake_host: Make, one_prompt: RoundRequest
) -> None:
    with fake_host() as host:
        for _ in range(3):
            assert _becomes(host.pid, psutil.STATUS_STOPPED)
            host.generate(one_prompt)


def test_a_message_larger_than_the_pipe_to_a_child_that_does_not_read(
    fake_host: Make, one_prompt: RoundRequest
) -> None:
    with fake_host(request=4.0) as host:
        prompt = one_prompt.prompts[0].model_copy(update={"text": "x" * (1 << 20)})
        large = one_prompt.model_copy(update={"prompts": (prompt,)})
        assert host.generate(large).steps == 1
        host._running.resume = lambda: None  # type: ignore[method-assign]
        assert _becomes(host.pid, psutil.STATUS_STOPPED)
        with pytest.raises(EngineError, match="no longer reads"):
            host.generate(large)


HOST_SCRIPT = """
    import signal, sys, time
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored below a shell's background
    from pathlib import Path
    from draftgate.engine import EngineHost, EngineSpec, RoundPrompt, RoundRequest
    command = (sys.executable, {fake!r}, {behaviour!r})
    spec = EngineSpec(model="/models/fake", max_num_seqs=4)
    host = EngineHost(spec, label="x", log_dir=Path({logs!r}), command=command, on_cpu=True)
    prompt = RoundPrompt(prompt_id="p", text="t")
    with host:
        print(host.pid, flush=True)
        if {in_round!r}:
            host.generate(RoundRequest(prompts=(prompt,), batch_size=1, max_tokens=1))
        time.sleep(600)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("in_round", [False, True])
def test_no_orphan_whatever_ends_the_host(
    tmp_path: object, is_gone: Gone, how: signal.Signals, in_round: bool
) -> None:
    script = textwrap.dedent(HOST_SCRIPT).format(
        fake=str(FAKE_CHILD), behaviour="hang", logs=str(tmp_path), in_round=in_round
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        time.sleep(0.2)
        assert psutil.pid_exists(child)
        parent.send_signal(how)
        assert is_gone(child)


def test_a_host_started_in_a_thread_outlives_the_thread(
    fake_host: Make, one_prompt: RoundRequest
) -> None:
    host = fake_host()
    thread = threading.Thread(target=host.__enter__)
    thread.start()
    thread.join()
    time.sleep(0.2)
    assert host.generate(one_prompt).steps == 1
