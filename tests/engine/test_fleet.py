from __future__ import annotations

from collections.abc import Callable

import pytest

from draftgate.engine import EngineHost, start_many
from draftgate.engine.fleet import StartState

Make = Callable[..., EngineHost]


def test_one_failure_does_not_stop_the_others(fake_host: Make) -> None:
    hosts = [fake_host("slow-start", "a"), fake_host("exit-at-start", "b"), fake_host("good", "c")]
    started = start_many(hosts, at_once=2)
    assert started.ready == (hosts[0], hosts[2])
    assert "exited with code 3" in str(started.failed["b"])
    started.close()
    assert not any(host.alive for host in hosts)


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_no_more_than_asked_start_at_once(fake_host: Make, at_once: int) -> None:
    starting: set[str] = set()
    most = 0

    def on_change(host: EngineHost, state: StartState) -> None:
        nonlocal most
        starting.add(host.label) if state == "starting" else starting.remove(host.label)
        most = max(most, len(starting))

    hosts = [fake_host("slow-start", str(number)) for number in range(4)]
    started = start_many(hosts, at_once=at_once, on_change=on_change)
    assert len(started.ready) == 4
    assert not starting
    assert most == min(at_once, 4)


def test_an_interruption_ends_all(fake_host: Make) -> None:
    hosts = [fake_host("good", "a"), fake_host("hang-at-start", "b")]

    def interrupt(host: EngineHost, state: StartState) -> None:
        if state == "ready":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start_many(hosts, on_change=interrupt)
    assert not any(host.alive for host in hosts)
