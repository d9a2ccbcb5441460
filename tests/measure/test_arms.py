from __future__ import annotations

from pathlib import Path

import pytest
from fake_engines import FakeEngines, died

from draftgate.engine.errors import EngineError
from draftgate.engine.protocol import RoundPrompt, RoundRequest
from draftgate.measure.arms import Arms, host_factory
from draftgate.profile.cells import Scenario
from draftgate.profile.model import Target, Variant

REQUEST = RoundRequest(
    prompts=(RoundPrompt(prompt_id="p", text="hello"),), batch_size=1, max_tokens=8
)
TARGET = Target(
    name="tiny",
    model="testbed:llama-tiny",
    engine_args={"max_num_seqs": 8},
    variants=(
        Variant(name="none"),
        *(
            Variant(
                name=f"ngram-k{k}",
                speculative_config={"method": "ngram", "num_speculative_tokens": k},
            )
            for k in (1, 2, 3)
        ),
    ),
)
NONE, K1, K2, K3 = (Scenario(TARGET, variant) for variant in TARGET.variants)
OTHER = Scenario(TARGET.model_copy(update={"name": "other"}), TARGET.control)


@pytest.fixture
def engines() -> FakeEngines:
    return FakeEngines()


def test_every_scenario_is_started_once(engines):
    with Arms(engines.make) as arms:
        arms.start([NONE, K1, K2])
        arms.start([NONE, K3])
        for scenario in (NONE, K1, NONE, K3):
            arms.generate(scenario, REQUEST)
            assert arms.info(scenario).k == scenario.variant.k
        assert arms.starts == 4
        assert arms.starts_of(K1) == 1
        assert sorted(engines.running) == sorted(s.id for s in (NONE, K1, K2, K3))
    assert engines.running == []


def test_an_engine_is_started_when_it_is_first_needed(engines):
    arms = Arms(engines.make)
    assert arms.generate(K2, REQUEST).counters is not None
    assert engines.running == [K2.id]


def test_the_user_hears_of_starts(engines):
    told = []
    engines[K1.id].fails_at = {0: died(K1.id, "start-up")}
    Arms(engines.make).start([NONE, K1], lambda host, state: told.append((host.label, state)))
    assert set(told) == {
        (NONE.id, "starting"),
        (NONE.id, "ready"),
        (K1.id, "starting"),
        (K1.id, "failed"),
    }


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_dead_engine_stays_dead_and_the_others_go_on(engines, at):
    error = died(K1.id, "start-up" if at == 0 else "round")
    engines[K1.id].fails_at = {at: error}
    arms = Arms(engines.make)
    arms.start([NONE, K1])
    for _ in range(4):
        arms.generate(NONE, REQUEST)
    caught = []
    for _ in range(4):
        try:
            arms.generate(K1, REQUEST)
        except EngineError as found:
            caught.append(found)
    assert caught == [error] * (4 - max(0, at - 1))
    assert engines.running == [NONE.id]
    assert len(engines.hosts) == 2  # nobody tries again
    with pytest.raises(EngineError, match="SIGKILL"):
        arms.info(K1)


def test_a_refused_round_leaves_the_engine_running(engines):
    engines[K1.id].fails_at = {1: EngineError(K1.id, "round", "too long", fatal=False)}
    arms = Arms(engines.make)
    with pytest.raises(EngineError, match="too long"):
        arms.generate(K1, REQUEST)
    arms.generate(K1, REQUEST)
    assert arms.starts == 1


def test_an_interrupted_start_leaves_nothing_running(engines):
    engines[K2.id].fails_at = {0: KeyboardInterrupt()}
    arms = Arms(engines.make)
    with pytest.raises(KeyboardInterrupt):
        arms.start([NONE, K1, K2, K3])
    arms.close()
    assert engines.running == []


def test_no_more_engines_than_fit_are_resident(engines):
    arms = Arms(engines.make, resident=2)
    arms.start([NONE, K1, K2, K3])
    assert engines.running == [NONE.id, K1.id]
    for scenario in (K1, K2, K3, K1, OTHER):
        arms.generate(scenario, REQUEST)
        assert len(engines.running) <= 2
        assert scenario.id in engines.running


def test_the_control_stays_beside_its_arms(engines):
    """One start a scenario, though the control is the one used longest ago."""
    arms = Arms(engines.make, resident=2)
    for arm in (K1, K2, K3):
        for scenario in (NONE, arm, arm):
            arms.generate(scenario, REQUEST)
    assert arms.starts == 4
    assert arms.starts_of(NONE) == 1


def test_the_longest_unused_one_makes_room(engines):
    arms = Arms(engines.make, resident=3)
    for scenario in (NONE, K1, K2, K1, K3):
        arms.generate(scenario, REQUEST)
    assert sorted(engines.running) == sorted([NONE.id, K1.id, K3.id])


def test_a_control_makes_room_where_nothing_else_can(engines):
    arms = Arms(engines.make, resident=1)
    for scenario in (NONE, K1, NONE):
        arms.generate(scenario, REQUEST)
    assert engines.running == [NONE.id]
    assert arms.starts_of(NONE) == 2


def test_a_stopped_engine_is_a_new_process_when_it_is_needed_again(engines):
    arms = Arms(engines.make)
    arms.start([NONE, K1])
    for scenario in (K1, K2):  # one that ran, one that did not
        arms.stop(scenario)
        assert scenario.id not in engines.running
        arms.info(scenario)
    assert [host.label for host in engines.hosts] == [NONE.id, K1.id, K1.id, K2.id]
    assert sorted(engines.running) == sorted([NONE.id, K1.id, K2.id])
    assert (arms.starts_of(NONE), arms.starts_of(K1), arms.starts_of(K2)) == (1, 2, 1)


def test_an_engine_that_does_not_come_back_stays_failed(engines):
    arms = Arms(engines.make)
    arms.start([K1])
    engines[K1.id].fails_at = {0: died(K1.id, "start-up")}
    arms.stop(K1)
    for _ in range(2):
        with pytest.raises(EngineError, match="start-up"):
            arms.info(K1)
    assert engines.running == []
    assert len(engines.hosts) == 3  # tried twice, then never again


def test_the_factory_gives_a_scenarios_engine(tmp_path: Path):
    make = host_factory(tmp_path, max_num_seqs=lambda scenario: 16, seed=7)
    host = make(K3)
    assert host.label == "tiny/ngram-k3"
    assert host.log_path == tmp_path / "tiny-ngram-k3.log"
    assert host.spec.speculative_config == K3.variant.speculative_config
    assert (host.spec.max_num_seqs, host.spec.seed) == (8, 7)  # the profile's own number wins
    assert "max_num_seqs" not in host.spec.engine_args
    bare = Scenario(TARGET.model_copy(update={"engine_args": {}}), TARGET.control)
    assert make(bare).spec.max_num_seqs == 16
    assert not make(bare).alive
