"""Which rule judges which metric of a measured cell."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from draftgate.baseline.schema import StoredSamples, TimedBaseline
from draftgate.engine.records import RequestRecord, RoundRecord
from draftgate.measure.record import Machine, Measurement, Provenance, Subject
from draftgate.verdict.cell import CellJudge
from draftgate.verdict.facts import CellFacts
from draftgate.verdict.kinds import VerdictKind

HASH = "0" * 64


@pytest.fixture
def measurement() -> Measurement:
    """Three rounds of one request without speculative decoding, 10 tokens in a second."""
    request = RequestRecord(
        prompt_id="gsm8k-0000",
        prompt_tokens=5,
        output_token_ids=tuple(range(10)),
        finish_reason="length",
        ttft_s=0.1,
        e2e_s=1.0,
        emitted=(1,) * 10,
    )
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Measurement.build(
        Subject(
            cell="t/none/gsm8k/bs1",
            scenario="t/none",
            workload="gsm8k",
            workload_hash=HASH,
            batch_size=1,
            k=0,
            model_id="m",
        ),
        [RoundRecord(batch_size=1, wall_s=1.0, steps=10, requests=(request,))] * 3,
        machine=Machine(key="machine", isa_class="isa"),
        provenance=Provenance(vllm="0", torch="0", draftgate="0", python="3"),
        started=now,
        ended=now,
    )


def judge(measurement: Measurement, limits: dict[str, float]) -> CellJudge:
    stored = StoredSamples.of([[20.0, 20.0, 20.0]])
    timed = TimedBaseline(workload_hash=HASH, metrics={"output_throughput": stored})
    return CellJudge(CellFacts.of(measurement), (), None, timed, limits)


def test_a_timed_metric_beyond_its_limit_is_judged(measurement: Measurement) -> None:
    verdict = judge(measurement, {"output_throughput": 0.1}).judge("output_throughput")
    assert verdict.verdict is VerdictKind.REGRESSED
    assert verdict.ratio == pytest.approx(0.5)


def test_times_of_texts_of_another_length_do_not_compare(measurement: Measurement) -> None:
    """Whatever the exact baseline says: it may have been refreshed since, on another machine."""
    now = judge(measurement, {"output_throughput": 0.1})
    assert now.timed is not None
    tokens = now.facts.exact.output_tokens
    for stored, kind in ((tokens, VerdictKind.REGRESSED), (2 * tokens, VerdictKind.STALE)):
        timed = now.timed.model_copy(update={"output_tokens": stored})
        assert replace(now, timed=timed).judge("output_throughput").verdict is kind


def test_a_timed_metric_without_a_limit_is_reported_and_not_judged(
    measurement: Measurement,
) -> None:
    verdict = judge(measurement, {}).judge("output_throughput")
    assert (verdict.verdict, verdict.value) == (VerdictKind.OK, 10.0)
    assert not verdict.fails()


def test_a_broken_identity_makes_every_metric_invalid(measurement: Measurement) -> None:
    judged = CellJudge(CellFacts.of(measurement), ("al_in_range: 7",), None, None, {})
    for metric in ("output_throughput", "tokens_per_step", "outputs"):
        assert judged.judge(metric).verdict is VerdictKind.INVALID


def with_stages(measurement: Measurement, **times: float) -> Measurement:
    timed = {f"{stage}_ms": (ms, ms * 1.01, ms * 0.99) for stage, ms in times.items()}
    block = measurement.draftgate
    block = block.model_copy(update={"timed": block.timed | timed})
    return measurement.model_copy(update={"draftgate": block})


def stage_baseline(**times: float) -> TimedBaseline:
    metrics = {
        f"{stage}_ms": StoredSamples.of([[ms, ms * 1.01, ms * 0.99]]) for stage, ms in times.items()
    }
    metrics["output_throughput"] = StoredSamples.of([[20.0, 20.0, 20.0]])
    metrics["step_time_ms"] = StoredSamples.of([[50.0, 50.0, 50.0]])
    return TimedBaseline(workload_hash=HASH, metrics=metrics)


def test_a_stage_s_share_is_judged_from_the_stored_milliseconds(measurement: Measurement) -> None:
    now = with_stages(measurement, verify=8.0, sample=0.5, overhead=1.0)
    before = stage_baseline(verify=4.0, sample=0.5, overhead=1.0)
    limits = {"verify_share": 0.1, "overhead_share": 0.1}
    judged = CellJudge(CellFacts.of(now), (), None, before, limits)
    assert judged.judge("verify_share").verdict is VerdictKind.REGRESSED
    assert judged.judge("overhead_share").verdict is VerdictKind.IMPROVED
    assert judged.judge("sample_share").verdict is VerdictKind.OK  # no limit: reported


def test_a_share_without_a_baseline_is_told(measurement: Measurement) -> None:
    now = with_stages(measurement, verify=8.0, sample=1.0, overhead=1.0)
    verdict = CellJudge(CellFacts.of(now), (), None, None, {"verify_share": 0.1}).judge(
        "verify_share"
    )
    assert verdict.verdict is VerdictKind.UNBASELINED
    assert verdict.value == pytest.approx(0.8)


def test_the_cause_of_a_slower_step_names_the_stage(measurement: Measurement) -> None:
    now = with_stages(measurement, verify=8.0, sample=0.5, overhead=1.0)
    before = stage_baseline(verify=4.0, sample=0.5, overhead=1.0)
    judged = CellJudge(CellFacts.of(now), (), None, before, {"output_throughput": 0.1})
    assert "step time +100.0 % (verify +4.0 ms" in judged.judge("output_throughput").line()


@pytest.mark.parametrize("metric", ["mean_tpot_ms", "draft_share"])
def test_a_metric_of_which_there_is_no_sample_is_invalid(
    measurement: Measurement, metric: str
) -> None:
    block = measurement.draftgate
    timed = {name: samples for name, samples in block.timed.items() if name != metric}
    short = measurement.model_copy(update={"draftgate": block.model_copy(update={"timed": timed})})
    verdict = judge(short, {metric: 0.1}).judge(metric)
    assert verdict.verdict is VerdictKind.INVALID
    assert "no samples" in verdict.line()
