"""Two recorded runs: what is compared with what, and which verdict a gap is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fake_engines import Script
from recorded_cell import measurement

from draftgate.measure.agreement import Agreement
from draftgate.verdict.compare import DEFAULT_LIMITS, compare_runs, exit_code, step_down
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.recorded import Recorded
from draftgate.verdict.rule import TimedRule
from draftgate.verdict.verdict import Verdict

CELL = "t/ngram-k3/gsm8k/bs2"


def recorded(script: Script | None = None, rounds: int = 4, **changes: Any) -> Recorded:
    """A cell of a results folder."""
    return Recorded.of(measurement(CELL, script, rounds, **changes))


def compare(before: Recorded | None, after: Recorded | None) -> dict[str, Verdict]:
    sides = [{CELL: side} if side else {} for side in (before, after)]
    found = compare_runs(sides[0], sides[1], DEFAULT_LIMITS, TimedRule())
    return {verdict.metric: verdict for verdict in found}


def kinds(verdicts: dict[str, Verdict]) -> dict[str, VerdictKind]:
    return {metric: verdict.verdict for metric, verdict in verdicts.items()}


def code(verdicts: dict[str, Verdict]) -> int:
    return exit_code(list(verdicts.values()))


def test_a_run_equals_itself() -> None:
    found = compare(recorded(), recorded())
    assert set(kinds(found).values()) == {VerdictKind.OK}
    assert {"output_throughput", "speedup", "outputs", "outputs_equal_control"} <= found.keys()
    assert code(found) == 0


def test_a_slower_run_is_regressed_with_its_cause() -> None:
    found = compare(recorded(), recorded(Script(slower=1.2)))
    assert found["output_throughput"].verdict is VerdictKind.REGRESSED
    assert found["speedup"].verdict is VerdictKind.REGRESSED
    assert found["output_throughput"].cause == "step time +20.0 %, acceptance unchanged"
    assert found["acceptance_length"].verdict is VerdictKind.OK
    assert code(found) == 2


def test_a_gpu_run_whose_outputs_are_not_the_controls_is_red() -> None:
    gpu = recorded(isa="sm90-bf16")
    lossy = replace(gpu.facts, agreement=Agreement(equal=False, requests=8, identical=3))
    found = compare(gpu, replace(gpu, facts=lossy))
    assert found["outputs_equal_control"].verdict is VerdictKind.REGRESSED
    assert code(found) == 2


def test_lost_acceptance_is_exact_on_equal_cpus() -> None:
    found = compare(recorded(), recorded(Script(accepts=(3, 1, 1))))
    assert found["acceptance_length"].verdict is VerdictKind.REGRESSED
    assert found["acceptance_length"].exact
    assert "tokens per step" in found["output_throughput"].cause


@pytest.mark.parametrize(
    "classes", [("sm90-bf16", "sm90-bf16"), ("x86-avx2-fp32", "x86-avx512-fp32")]
)
def test_acceptance_has_noise_on_gpus_and_across_classes(classes: tuple[str, str]) -> None:
    before, after = (recorded(isa=name) for name in classes)
    found = compare(before, after)
    assert found["acceptance_length"].verdict is VerdictKind.OK
    assert found["acceptance_length"].counted == "prompts"
    assert "outputs" not in found
    worse = compare(before, recorded(Script(accepts=(2, 0, 1)), isa=classes[1]))
    assert worse["acceptance_length"].verdict is VerdictKind.REGRESSED
    assert "n=8 prompts, limit -3 %" in worse["acceptance_length"].line()


def test_a_cell_of_one_side_only_is_a_line() -> None:
    lost, new = compare(recorded(), None), compare(None, recorded())
    assert kinds(lost) == {"measurement": VerdictKind.INVALID}
    assert "the second lost it" in lost["measurement"].line()
    assert kinds(new) == {"measurement": VerdictKind.UNBASELINED}
    assert (code(lost), code(new), code({})) == (3, 3, 3)


def test_other_prompts_are_stale() -> None:
    found = compare(recorded(), recorded(workload_hash="cd" * 32))
    del found["outputs_equal_control"]
    assert set(kinds(found).values()) == {VerdictKind.STALE}
    assert code(found) == 3


def test_times_of_another_machine_do_not_compare_but_counts_do() -> None:
    found = kinds(compare(recorded(), recorded(machine="other")))
    assert found["output_throughput"] is found["speedup"] is VerdictKind.INVALID
    assert found["tokens_per_step"] is VerdictKind.OK


def test_a_broken_identity_on_either_side_makes_the_cell_invalid() -> None:
    def unfinished(record: Any) -> Any:
        first, *others = record.requests
        changed = first.model_copy(update={"finish_reason": None})
        return record.model_copy(update={"requests": (changed, *others)})

    before = recorded()
    after = replace(before, broken=("finished: round 0: p0: no finish reason",))
    for found in (compare(before, after), compare(after, before)):
        assert found["tokens_per_step"].verdict is VerdictKind.INVALID
        assert code(found) == 3


def test_few_rounds_are_underpowered() -> None:
    found = compare(recorded(rounds=2), recorded(rounds=2))
    assert found["output_throughput"].verdict is VerdictKind.UNDERPOWERED
    assert code(found) == 3


def test_outputs_of_another_length_are_no_verdict_on_speed() -> None:
    before = recorded()
    exact = before.facts.exact
    longer = exact.model_copy(update={"output_tokens": exact.output_tokens * 2})
    after = replace(before, facts=replace(before.facts, exact=longer))
    found = compare(before, after)
    assert found["output_throughput"].verdict is VerdictKind.STALE
    assert "output lengths shifted" in found["output_throughput"].line()
    assert found["outputs"].verdict is VerdictKind.REGRESSED


def test_holm_steps_down_where_all_p_are_known() -> None:
    def verdict(metric: str, kind: VerdictKind, p: float | None) -> Verdict:
        return Verdict(CELL, metric, kind, p=p, limit=0.05)

    small, next_smallest, chance = (
        verdict("a", VerdictKind.REGRESSED, 0.0001),
        verdict("b", VerdictKind.SUSPECT, 0.015),
        verdict("c", VerdictKind.SUSPECT, 0.04),
    )
    unstable = verdict("d", VerdictKind.UNSTABLE, 0.2)
    found = step_down([small, next_smallest, chance, unstable], 0.05)
    assert [v.verdict for v in found] == [
        *(VerdictKind.REGRESSED, VerdictKind.REGRESSED),
        *(VerdictKind.SUSPECT, VerdictKind.UNSTABLE),
    ]
    alone = step_down(
        [next_smallest, chance, unstable, replace(unstable, metric="e", p=None)], 0.05
    )
    assert alone[0].verdict is VerdictKind.SUSPECT


def test_a_second_run_that_lost_its_times_is_no_equal() -> None:
    before = recorded()
    after = replace(before, facts=replace(before.facts, timed={}))
    found = compare(before, after)
    assert found["output_throughput"].verdict is VerdictKind.INVALID
    assert code(found) == 3
    assert "output_throughput" not in compare(after, before)
