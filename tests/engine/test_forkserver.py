"""What is particular to forked engines; that they behave as spawned ones do, test_host.py shows."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from draftgate.engine import EngineError, EngineHost, EngineSpec, RoundRequest
from draftgate.engine.forkserver import ForkServer
from draftgate.engine.process import ChildProcess

FAKE_FORK_SERVER = Path(__file__).with_name("fake_forking.py")

Gone = Callable[[int], bool]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ForkServer]:
    server = _server(tmp_path, "good")
    yield server
    server.close()


def _server(tmp_path: Path, behaviour: str) -> ForkServer:
    command = (sys.executable, str(FAKE_FORK_SERVER), behaviour)
    return ForkServer(command, os.environ, tmp_path / "server.log")


def _host(server: ForkServer, label: str, log_dir: Path) -> EngineHost:
    def launch(_: object, __: object, log_path: Path) -> ChildProcess:
        return server.launch(log_path)

    spec = EngineSpec(model="/models/fake", max_num_seqs=4)
    return EngineHost(spec, label=label, log_dir=log_dir, launch=launch, on_cpu=True)


def test_one_server_forks_many_engines_and_one_death_leaves_the_others(
    server: ForkServer, tmp_path: Path, one_prompt: RoundRequest
) -> None:
    host = partial(_host, server, log_dir=tmp_path)
    with host("a") as first, host("b") as second, host("c") as third:
        os.kill(second.pid, signal.SIGKILL)
        with pytest.raises(EngineError, match="was killed by SIGKILL"):
            second.generate(one_prompt)
        assert first.generate(one_prompt).steps == third.generate(one_prompt).steps == 1
        assert len({first.pid, second.pid, third.pid}) == 3


def test_the_end_of_the_server_is_the_end_of_its_engines(
    server: ForkServer, tmp_path: Path, one_prompt: RoundRequest, is_gone: Gone
) -> None:
    with _host(server, "a", tmp_path) as host:
        server.close()
        assert is_gone(host.pid)
        with pytest.raises(EngineError, match="the child was killed by SIGKILL"):
            host.generate(one_prompt)


def test_engines_log_to_files_of_their_own(server: ForkServer, tmp_path: Path) -> None:
    with _host(server, "a", tmp_path), _host(server, "b", tmp_path):
        assert "fake child begins" in (tmp_path / "a.log").read_text()
        assert "fake child begins" in (tmp_path / "b.log").read_text()


def test_a_server_that_cannot_start_names_its_log(tmp_path: Path) -> None:
    server = _server(tmp_path, "no-server")
    with pytest.raises(EngineError, match=r"the fork server is gone.*server\.log"):
        _host(server, "a", tmp_path).launch()
