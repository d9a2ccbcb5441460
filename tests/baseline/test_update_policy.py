from dataclasses import replace

import pytest
from baseline_examples import BOX, CELL, COUNTS, HASH, OTHER, exact, request, timed

from draftgate.baseline.candidate import Candidate
from draftgate.baseline.errors import BaselineError
from draftgate.baseline.store import BaselineStore
from draftgate.baseline.update import ci_refusal, decide

OTHER_HASH = "ef" * 32
ACCEPTANCE = ("num_drafts", "draft_tokens", "accepted_tokens", "accepted_per_position")


@pytest.mark.parametrize("policy", ["new", "changed", "all"])
def test_a_new_cell_is_written_under_every_policy(policy):
    assert decide(exact(), None, request(policy)).action == "written"
    assert decide(timed(), None, request(policy)).action == "written"


@pytest.mark.parametrize(
    ("fresh", "policy", "action"),
    [
        (exact(decode_steps=699), "new", "kept"),
        (exact(decode_steps=699), "changed", "written"),
        (exact(outputs_hash="00" * 32), "changed", "refused"),
        (exact(draft_tokens=1981), "changed", "refused"),
        (exact(), "changed", "kept"),
        (exact(), "all", "kept"),
        (exact(workload_hash=OTHER_HASH, accepted_tokens=3), "new", "kept"),
        (exact(workload_hash=OTHER_HASH, accepted_tokens=1300), "changed", "refused"),
        (exact(accepted_tokens=1233), "changed", "refused"),
        (exact(decode_steps=701), "all", "refused"),
    ],
)
def test_exact_cells(fresh, policy, action):
    assert decide(fresh, exact().baseline, request(policy)).action == action


@pytest.mark.parametrize(
    ("factor", "policy", "action"),
    [
        (1.3, "new", "kept"),
        (1.3, "changed", "written"),
        (1.05, "changed", "kept"),
        (0.95, "changed", "kept"),
        (0.95, "all", "written"),
        (0.8, "changed", "refused"),
        (0.8, "all", "refused"),
    ],
)
def test_timed_cells(factor, policy, action):
    assert decide(timed(factor=factor), timed().baseline, request(policy)).action == action


def of_texts(tokens, factor=1.0):
    candidate = timed(factor=factor)
    baseline = candidate.baseline.model_copy(update={"output_tokens": tokens})
    return replace(candidate, baseline=baseline)


@pytest.mark.parametrize(("tokens", "action"), [(1900, "kept"), (1890, "kept"), (1300, "written")])
def test_times_of_texts_of_another_length_do_not_stay(tokens, action):
    """Within the limit they would be kept, and compared with other texts from then on."""
    decision = decide(of_texts(tokens, 0.95), of_texts(1900).baseline, request("changed"))
    assert decision.action == action
    assert ("output_tokens 1900 -> 1300" in decision.reason) == (action == "written")


def test_a_metric_that_is_new_does_not_join_times_of_other_texts():
    fresh = of_texts(1300)
    stored = of_texts(1900).baseline
    lacking = {k: v for k, v in stored.metrics.items() if k != "step_time_ms"}
    stored = stored.model_copy(update={"metrics": lacking})
    assert decide(fresh, stored, request("new")).action == "kept"
    assert decide(of_texts(1900), stored, request("new")).action == "written"


def test_other_prompts_need_a_reason_and_may_be_another_profiles():
    fresh, stored = exact(workload_hash=OTHER_HASH), exact().baseline
    assert "give this profile a baseline_series" in decide(fresh, stored, request()).reason
    accepted = request(accept_regression="longer prompts")
    assert decide(fresh, stored, accepted).action == "written"


def test_a_worse_value_is_named_and_needs_a_reason(tmp_path):
    store = BaselineStore(tmp_path)
    store.update([timed(), exact()], request())
    worse = [timed(factor=0.8), exact(accepted_tokens=1200)]
    refused = store.update(worse, request())
    assert {d.action for d in refused} == {"refused"}
    text = " | ".join(d.reason for d in refused)
    assert "output_throughput 100 -> 80 (limit 10 %)" in text
    assert "acceptance_length 2.87 -> 2.818" in text
    assert '--accept-regression "reason"' in text
    accepted = store.update(worse, request(accept_regression="traded for memory"))
    assert {d.action for d in accepted} == {"written"}
    assert all("traded for memory" in path.read_text() for path in tmp_path.rglob("*.json"))


def test_a_limit_written_by_hand_comes_before_the_profiles():
    lenient = timed().baseline.model_copy(
        update={"limits": {"output_throughput": 0.5, "step_time_ms": 0.5}}
    )
    assert decide(timed(factor=0.8), lenient, request()).action == "written"


@pytest.mark.parametrize(
    ("ms", "action"),
    [
        ({"draft": 2.0, "verify": 8.0}, "written"),
        ({"draft": 4.0, "verify": 8.0}, "refused"),  # 20 % -> 33 %
        ({"draft": 2.0, "verify": 4.0}, "written"),  # as large a share, but nothing got dearer
    ],
)
def test_a_stage_s_share_is_guarded_by_its_limit(ms, action):
    def staged(**stages):
        samples = {f"{stage}_ms": [[value] * 3] for stage, value in stages.items()}
        return Candidate.timed(CELL, BOX, HASH, samples, limits={"draft_share": 0.3})

    decision = decide(staged(**ms), staged(draft=2.0, verify=8.0).baseline, request())
    assert decision.action == action
    assert ("draft_share 0.2 -> 0.333333 (limit 30 %)" in decision.reason) == (action == "refused")


def test_a_metric_without_limit_is_not_judged():
    assert decide(timed(factor=0.8, limits={}), timed().baseline, request()).action == "written"


@pytest.mark.parametrize("existing", [None, exact().baseline])
def test_an_invalid_measurement_is_refused_with_its_reason(existing):
    broken = decide(exact(broken=("al_in_range: 9",)), existing, request())
    assert (broken.action, broken.reason) == ("refused", "identity broken: al_in_range: 9")
    noisy = decide(exact(problem="UNSTABLE"), existing, request(accept_regression="x"))
    assert (noisy.action, noisy.reason) == ("refused", "UNSTABLE")


def test_one_refused_cell_does_not_hold_back_the_others(tmp_path):
    decisions = BaselineStore(tmp_path).update(
        [exact(broken=("finished: x",)), exact(OTHER)], request()
    )
    assert {d.candidate.cell_id: d.action for d in decisions} == {
        CELL: "refused",
        OTHER: "written",
    }


@pytest.mark.parametrize(
    ("ci", "inside", "refused"),
    [("true", True, True), ("1", True, True), ("true", False, False), ("", True, False)],
)
def test_ci_writes_outside_its_repository_only(tmp_path, ci, inside, refused):
    repository = tmp_path / "repository"
    root = repository / "baselines" if inside else tmp_path / "artifacts"
    (repository / ".git").mkdir(parents=True)
    below = repository / "perf_tests"
    assert ci_refusal({"CI": ci}, root, below) == ci_refusal({"CI": ci}, root, repository)
    reason = ci_refusal({"CI": ci}, root, repository)
    assert (reason is not None) == refused
    [decision] = BaselineStore(root).update([exact()], request(refusal=reason))
    assert (decision.action == "refused") == refused
    assert root.exists() != refused


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_samples_that_cannot_be_compared_make_no_candidate(bad):
    with pytest.raises(BaselineError, match=f"baseline {CELL}: key samples.0.1"):
        Candidate.timed(CELL, "box", HASH, {"speedup": [[1.0, bad, 1.0]]})


def test_a_variant_that_never_drafted_makes_no_candidate():
    with pytest.raises(BaselineError, match=r"metrics\.num_drafts.*greater than 0, not 0"):
        exact(num_drafts=0)


def test_a_metric_that_is_gone_needs_a_reason():
    """Nobody could judge it any more, nor the share of other stages."""
    stored = timed().baseline
    more = stored.model_copy(
        update={"metrics": {**stored.metrics, "draft_ms": stored.metrics["step_time_ms"]}}
    )
    refused = decide(timed(), more, request("changed"))
    assert (refused.action, "draft_ms is gone" in refused.reason) == ("refused", True)
    assert decide(timed(), more, request(accept_regression="untimed")).action == "written"


def test_new_adds_the_metrics_that_a_baseline_lacks_and_leaves_the_others():
    stored = timed().baseline
    fewer = stored.model_copy(
        update={"metrics": {"step_time_ms": stored.metrics["step_time_ms"]}, "note": "by hand"}
    )
    fresh = timed(factor=0.5)
    completed = decide(fresh, fewer, request("new"))
    assert (completed.action, completed.reason) == ("written", "new: output_throughput")
    metrics = completed.candidate.baseline.metrics
    assert metrics["step_time_ms"] == stored.metrics["step_time_ms"]
    assert metrics["output_throughput"] == fresh.baseline.metrics["output_throughput"]
    assert decide(timed(workload_hash=OTHER_HASH), fewer, request("new")).action == "kept"


def on_gpu(tokens: int = 3000, drafts: int = 1000, **changes) -> Candidate:
    """Of a machine whose tokens need not repeat: two prompts, ``tokens`` of ``drafts`` drafts."""
    by_prompt = {
        "acceptance_length": {f"p{i}": (tokens // 2, drafts // 2) for i in range(2)},
    }
    metrics = COUNTS.model_copy(
        update={
            "num_drafts": drafts,
            "draft_tokens": 3 * drafts,
            "accepted_tokens": tokens - drafts,
            "accepted_per_position": (tokens - drafts, 0, 0),
            **changes,
        }
    )
    return Candidate.exact(CELL, "sm90-bf16", HASH, metrics, by_prompt, parting=128)


def test_on_a_gpu_another_text_is_no_loss():
    other = on_gpu(outputs_hash="00" * 32)
    control = Candidate.exact(CELL, "sm90-bf16", HASH, COUNTS)
    parted = Candidate.exact(
        CELL, "sm90-bf16", HASH, COUNTS.model_copy(update={"outputs_hash": "00" * 32})
    )
    for policy in ("changed", "all"):
        assert decide(other, on_gpu().baseline, request(policy)).action == "kept"
        assert decide(parted, control.baseline, request(policy)).action == "kept"


def test_on_a_gpu_acceptance_cannot_creep():
    """Each step is within the tolerance: the baseline stays where it is."""
    for policy in ("changed", "all"):
        assert decide(on_gpu(tokens=2920), on_gpu().baseline, request(policy)).action == "kept"
    assert decide(on_gpu(tokens=2820), on_gpu().baseline, request("all")).action == "refused"


def test_on_a_gpu_what_the_gate_lacks_is_refreshed():
    without = Candidate.exact(CELL, "sm90-bf16", HASH, on_gpu().baseline.metrics)
    assert decide(on_gpu(), without.baseline, request("changed")).action == "written"


def test_on_a_gpu_texts_of_another_length_need_a_reason():
    """Lengths of 128 texts that part scatter by 5.5 %; standard decoding has no drafts to count."""

    def control(**changes: int) -> Candidate:
        metrics = on_gpu(**changes).baseline.metrics
        bare = metrics.model_copy(update=dict.fromkeys(ACCEPTANCE))
        return Candidate.exact(CELL, "sm90-bf16", HASH, bare, parting=128)

    for make in (on_gpu, control):
        stored = make().baseline
        nearly, longer = make(output_tokens=1990), make(output_tokens=2100)
        assert decide(nearly, stored, request("changed")).action == "kept"
        assert decide(longer, stored, request("changed")).action == "refused"
        meant = request("changed", accept_regression="longer answers")
        assert decide(longer, stored, meant).action == "written"
