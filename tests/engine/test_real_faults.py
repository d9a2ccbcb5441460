"""Faults planted in real engines do what they say, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from draftgate.engine import EngineHost, EngineSpec, RoundPrompt, RoundRecord, RoundRequest
from draftgate.engine.fault import Fault
from draftgate.measure.exact import ExactMetrics
from draftgate.profile import load_profile
from draftgate.workload import load_workload

pytestmark = pytest.mark.slow

K = 3
MAX_TOKENS = 48
EAGLE = {"method": "eagle", "model": "testbed:llama-tiny-eagle", "num_speculative_tokens": K}

Play = Callable[[Fault | None], RoundRecord]


@pytest.fixture(scope="module")
def request_() -> RoundRequest:
    workload = next(w for w in load_profile("cpu").workloads if w.name == "gsm8k")
    prompts = load_workload(workload.model_copy(update={"prompts": 4})).prompts
    return RoundRequest(
        prompts=tuple(RoundPrompt(prompt_id=p.prompt_id, text=p.text) for p in prompts),
        batch_size=4,
        max_tokens=MAX_TOKENS,
    )


@contextmanager
def engine(folder: Path, fault: Fault | None) -> Iterator[EngineHost]:
    spec = EngineSpec(
        model="testbed:llama-tiny",
        dtype="float32",
        max_model_len=512,
        max_num_seqs=4,
        speculative_config=EAGLE,
        fault=fault,
    )
    with EngineHost(spec, label=fault.kind if fault else "sound", log_dir=folder) as host:
        yield host


@pytest.fixture(scope="module")
def play(request_: RoundRequest, tmp_path_factory: pytest.TempPathFactory) -> Play:
    folder = tmp_path_factory.mktemp("logs")

    def run(fault: Fault | None) -> RoundRecord:
        with engine(folder, fault) as host:
            host.generate(request_)  # warm-up
            record = host.generate(request_)
            said = "A FAULT IS PLANTED" in host.log_path.read_text()
            assert said == (fault is not None)
            return record

    return run


@pytest.fixture(scope="module")
def sound(play: Play) -> RoundRecord:
    return play(None)


@pytest.mark.parametrize(
    "fault", [Fault(kind="drafter-twice", size=1), Fault(kind="sleep", size=4)]
)
def test_faults_of_time_leave_every_token_and_counter(
    play: Play, sound: RoundRecord, fault: Fault
) -> None:
    slow = play(fault)
    assert ExactMetrics.of(slow) == ExactMetrics.of(sound)
    assert slow.steps == sound.steps
    if fault.kind == "sleep":  # five times as long: no machine is as noisy as that
        assert slow.wall_s > 2 * sound.wall_s


@pytest.mark.parametrize("fault", [Fault(kind="noisy-head", size=1), Fault(kind="k", size=0.5)])
def test_faults_of_drafting_lower_acceptance_and_stay_lossless(
    play: Play, sound: RoundRecord, fault: Fault
) -> None:
    worse, good = ExactMetrics.of(play(fault)), ExactMetrics.of(sound)
    assert worse.outputs_hash == good.outputs_hash
    assert worse.acceptance_length is not None
    assert good.acceptance_length is not None
    assert worse.acceptance_length < good.acceptance_length
    assert len(worse.accepted_per_position or ()) == (2 if fault.kind == "k" else K)


def test_an_early_stop_cuts_the_outputs(play: Play, sound: RoundRecord) -> None:
    short = play(Fault(kind="early-stop", size=0.75))
    for cut, whole in zip(short.requests, sound.requests, strict=True):
        limit = MAX_TOKENS // 4
        assert cut.output_token_ids == whole.output_token_ids[:limit]
