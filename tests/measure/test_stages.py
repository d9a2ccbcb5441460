import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from round_strategies import example_round
from stage_examples import MEMORY, example_staged_round, example_steps
from test_measurement import measurement

from draftgate.engine.records import StageSteps
from draftgate.measure.identities import check
from draftgate.measure.record import Measurement
from draftgate.measure.stages import STAGES, Stages

EXAMPLE = Path(__file__).parent / "examples" / "measurement_with_stages.json"


def staged_measurement() -> Measurement:
    return measurement(staged=[example_staged_round()], memory=MEMORY)


def test_shares_are_of_the_step_time_and_sum_to_one():
    stages = Stages.of(example_staged_round())
    assert stages.shares["draft"] == pytest.approx(6.5 / 36)
    assert sum(stages.shares.values()) == pytest.approx(1)


def test_steps_are_told_apart_by_what_they_read():
    classes = Stages.of(example_staged_round()).classes
    assert {name: c.steps for name, c in classes.items()} == {
        "decode": 4,
        "mixed": 1,
        "prefill": 1,
    }
    assert classes["decode"].verify_ms == pytest.approx(2.5)
    assert classes["decode"].batched_tokens == 7
    assert classes["prefill"].kv_tokens == 0


def test_stage_times_of_decode_steps_are_timed_metrics():
    timed = staged_measurement().draftgate.timed
    assert timed["draft_ms"] == (0.875, 1.25, 1.0)  # groups: steps 0 and 3, 1, 2
    assert {f"{stage}_ms" for stage in STAGES} <= timed.keys()


def test_each_round_has_groups_of_its_own_steps():
    slow = tuple(2 * ms for ms in example_steps().draft_ms)
    rounds = [example_staged_round(), example_staged_round(stages=example_steps(draft_ms=slow))]
    stages = Stages.of(*rounds)
    assert stages.samples()["draft_ms"] == (0.875, 1.25, 1.0, 1.75, 2.5, 2.0)
    assert stages.round_steps == (6, 6)
    assert stages.shares["draft"] == pytest.approx((6.5 + 13) / 72)
    assert stages.wall_s == pytest.approx(2 * rounds[0].wall_s)
    assert stages.steps.scopes_ms == {
        name: pytest.approx(2 * ms) for name, ms in example_steps().scopes_ms.items()
    }


def test_a_stage_that_takes_no_time_is_no_metric():
    steps = example_steps(draft_ms=(0.0,) * 6)
    samples = Stages.of(example_staged_round(stages=steps)).samples()
    assert samples.keys() == {"verify_ms", "sample_ms", "overhead_ms"}


def test_too_few_decode_steps_make_no_metric():
    steps = example_steps(prefill_tokens=(10, 10, 8, 8, 0, 0))
    assert Stages.of(example_staged_round(stages=steps)).samples() == {}


def test_a_round_without_stages_has_none():
    assert Stages.of(example_round()) is None
    assert measurement().draftgate.stages is None
    assert "draft_ms" not in measurement().draftgate.timed


def test_a_cell_that_is_not_timed_keeps_its_stages_out_of_the_timed_metrics():
    block = measurement(staged=[example_staged_round()], timed=False).draftgate
    assert block.timed == {}
    assert block.stages is not None


def test_the_example_file_is_what_is_written(tmp_path):
    """The shape that readers of results rely on; after a wanted change, write the file again."""
    path = tmp_path / "cell.json"
    staged_measurement().write(path)
    assert json.loads(path.read_text()) == json.loads(EXAMPLE.read_text())
    assert Measurement.read(EXAMPLE) == staged_measurement()


@st.composite
def stage_steps(draw) -> StageSteps:
    count = draw(st.integers(1, 12))
    times = st.lists(st.floats(0, 50), min_size=count, max_size=count).map(tuple)
    counts = st.lists(st.integers(0, 9), min_size=count, max_size=count).map(tuple)
    columns = {f"{stage}_ms": draw(times) for stage in STAGES}
    columns["step_ms"] = tuple(sum(row) + 0.01 for row in zip(*columns.values(), strict=True))
    prefill, decode = draw(counts), draw(counts)
    batched = tuple(a + b for a, b in zip(prefill, decode, strict=True))
    return example_steps(
        requests=decode,
        batched_tokens=batched,
        prefill_tokens=prefill,
        kv_tokens=draw(counts),
        drafted_tokens=decode,
        **columns,
    )


@given(stage_steps())
def test_classes_partition_the_steps(steps):
    stages = Stages.of(example_staged_round(stages=steps))
    assert sum(c.steps for c in stages.classes.values()) == len(steps.step_ms)
    total = sum(c.steps * c.step_ms for c in stages.classes.values())
    assert total == pytest.approx(sum(steps.step_ms))
    assert 0 <= sum(stages.shares.values()) <= 1


def test_stage_times_that_do_not_sum_are_a_broken_identity():
    assert check([example_staged_round()], 3) == []
    lost = example_steps(verify_ms=(0.0,) * 6)
    [broken] = check([example_staged_round(stages=lost)], 3)
    assert broken.identity == "stages_sum_to_steps"
    assert "stages sum to 15.50 ms, their steps to 36.00 ms" in broken.detail
    [broken] = check([example_staged_round(wall_s=0.05)], 3)
    assert "steps sum to 36.00 ms, the round took 50.00 ms" in broken.detail
