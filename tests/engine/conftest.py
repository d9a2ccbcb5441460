from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import psutil
import pytest

from draftgate.engine import EngineHost, EngineSpec, RoundPrompt, RoundRequest, Timeouts
from draftgate.engine.forkserver import ForkServer
from draftgate.engine.process import ChildProcess, Launch, spawn

FAKE_CHILD = Path(__file__).with_name("fake_child.py")
FAKE_FORK_SERVER = Path(__file__).with_name("fake_forking.py")


def _forked(behaviour: str, servers: list[ForkServer]) -> Launch:
    def launch(_: Sequence[str], env: Mapping[str, str], log_path: Path) -> ChildProcess:
        command = (sys.executable, str(FAKE_FORK_SERVER), behaviour)
        servers.append(ForkServer(command, env, log_path.with_suffix(".server.log")))
        return servers[-1].launch(log_path)

    return launch


@pytest.fixture(params=["spawned", "forked"])
def fake_host(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[..., EngineHost]]:
    """Makes hosts whose child behaves as `fake_child.py` does, spawned or forked alike."""
    made: list[EngineHost] = []
    servers: list[ForkServer] = []

    def make(behaviour: str = "good", label: str | None = None, **timeouts: float) -> EngineHost:
        limits = {"start": 20.0, "request": 20.0, "shutdown": 5.0} | timeouts
        host = EngineHost(
            EngineSpec(model="/models/fake", max_num_seqs=4),
            label=label or f"fake/{behaviour}",
            log_dir=tmp_path / "logs",
            timeouts=Timeouts(**limits),
            command=(sys.executable, str(FAKE_CHILD), behaviour),
            launch=spawn if request.param == "spawned" else _forked(behaviour, servers),
            on_cpu=True,
        )
        made.append(host)
        return host

    yield make
    for host in made:
        host.close()
    for server in servers:
        server.close()


@pytest.fixture
def one_prompt() -> RoundRequest:
    return RoundRequest(
        prompts=(RoundPrompt(prompt_id="p", text="hello"),), batch_size=2, max_tokens=4
    )


@pytest.fixture
def is_gone() -> Callable[[int], bool]:
    """Whether a process vanishes within a few seconds (a zombie counts as gone)."""

    def gone(pid: int) -> bool:
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            try:
                if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                    return True
            except psutil.NoSuchProcess:
                return True
            time.sleep(0.02)
        return False

    return gone
