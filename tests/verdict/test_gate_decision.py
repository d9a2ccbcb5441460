"""The gate's rule, as laws: green needs proof of everything, and nothing missing is green."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_profile import SMALL

from draftgate.profile import load_profile
from draftgate.verdict.evidence import Evidence, JudgedTest, Outcome, RunFacts
from draftgate.verdict.family import manifest_comparisons
from draftgate.verdict.gate_decision import decide_gate
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.manifest import manifest_of, required_metrics
from draftgate.verdict.run_gaps import Expected

MANIFEST = manifest_of(SMALL)
EXPECTED = Expected("small", "abcd")
FACTS = RunFacts(profile="small", manifest="abcd", fingerprint="box", commit="c0")


def judged(cell: str, metric: str, kind: VerdictKind = VerdictKind.OK, **more) -> JudgedTest:
    return JudgedTest(
        name=f"test_{metric}[{cell}]",
        outcome=more.pop("outcome", Outcome.PASSED),
        cell=cell,
        kind=kind,
        record={"metric": metric},
        **more,
    )


GREEN = tuple(judged(cell, metric) for cell in MANIFEST for metric in sorted(MANIFEST[cell]))
RUNS = [Evidence("junit.xml", FACTS, GREEN)]
POSITIONS = st.integers(0, len(GREEN) - 1)


def decide(tests=GREEN, facts=FACTS):
    return decide_gate(EXPECTED, MANIFEST, [Evidence("junit.xml", facts, tuple(tests))])


def spoiled(position: int, **changes) -> list[JudgedTest]:
    tests = list(GREEN)
    tests[position] = replace(tests[position], **changes)
    return tests


def test_a_whole_run_without_a_loss_passes():
    decision = decide()
    assert (decision.exit_code, decision.word) == (0, "pass")
    assert decision.sentence() == "PASS: all 8 cells of profile small are judged, none is worse."


def test_what_passes_without_proof_is_told_in_the_sentence():
    tests = spoiled(0, kind=VerdictKind.UNSTABLE)
    tests[1] = replace(tests[1], kind=VerdictKind.UNBASELINED)
    decision = decide(tests)
    assert decision.exit_code == 0
    assert decision.sentence().endswith("none is worse (1 UNBASELINED, 1 UNSTABLE).")


@given(st.permutations(GREEN))
def test_order_does_not_matter(tests):
    assert decide(tests).exit_code == 0


@given(st.sets(POSITIONS, min_size=1))
def test_no_test_can_be_lost(lost):
    decision = decide(test for i, test in enumerate(GREEN) if i not in lost)
    assert decision.exit_code == 3
    assert {finding.cell for finding in decision.gaps} == {GREEN[i].cell for i in lost}


@given(POSITIONS)
def test_no_test_can_count_twice(position):
    decision = decide([*GREEN, GREEN[position]])
    assert decision.exit_code == 3
    assert "was judged by 2 tests" in decision.gaps[0].text


@given(POSITIONS)
def test_one_loss_is_red_whatever_the_test_says(position):
    decision = decide(spoiled(position, kind=VerdictKind.REGRESSED))
    assert decision.exit_code == 2
    assert decision.sentence() == "REGRESSION: 1 of 8 cells of profile small is worse."


def test_a_variant_that_only_the_reference_runs_is_told_once():
    """Each of its tests fails with that one verdict."""
    cell = next(iter(MANIFEST))
    dead = {
        "kind": VerdictKind.REGRESSED,
        "outcome": Outcome.FAILED,
        "record": {"metric": "runs"},
        "message": "dead",
    }
    tests = [replace(t, **dead) if t.cell == cell else t for t in GREEN]
    decision = decide(tests)
    assert decision.exit_code == 2
    assert [finding.text for finding in decision.regressions] == ["dead"]
    assert not decision.gaps


@given(POSITIONS, st.sampled_from([VerdictKind.INVALID, VerdictKind.STALE]))
def test_what_says_nothing_is_incomplete(position, kind):
    assert decide(spoiled(position, kind=kind, outcome=Outcome.FAILED)).exit_code == 3


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"kind": VerdictKind.IMPLAUSIBLE, "outcome": Outcome.FAILED}, 2),
        ({"kind": VerdictKind.IMPLAUSIBLE}, 0),
        ({"kind": VerdictKind.SUSPECT, "outcome": Outcome.FAILED}, 2),
        ({"kind": VerdictKind.SUSPECT}, 0),
        ({"kind": VerdictKind.UNBASELINED, "outcome": Outcome.FAILED}, 3),
        ({"kind": VerdictKind.UNBASELINED}, 3),
        ({"kind": VerdictKind.UNDERPOWERED}, 3),
        ({"kind": VerdictKind.UNSTABLE}, 0),
        ({"kind": VerdictKind.BASELINE_DRIFT}, 0),
        ({"outcome": Outcome.FAILED, "message": "disk full"}, 3),
        ({"outcome": Outcome.SKIPPED, "message": "no GPU"}, 3),
        ({"outcome": Outcome.SKIPPED, "kind": None, "record": {}}, 3),
        ({"outcome": Outcome.ERROR, "kind": None, "record": {}}, 3),
        ({"retried": True}, 3),
        ({"record": {"metric": GREEN[0].metric, "fault": "sleep:0.1"}}, 3),
        ({"cell": "tiny/none/gsm8k/bs64"}, 3),
        ({"cell": "", "kind": None, "outcome": Outcome.ERROR}, 3),
    ],
)
def test_one_odd_test(changes, code):
    assert decide(spoiled(0, **changes)).exit_code == code


def test_tests_without_a_cell_do_not_matter_while_they_pass():
    other = JudgedTest("test_mine", Outcome.PASSED)
    assert decide([*GREEN, other]).exit_code == 0
    assert decide([*GREEN, replace(other, outcome=Outcome.SKIPPED)]).exit_code == 0
    assert decide([*GREEN, replace(other, outcome=Outcome.FAILED)]).exit_code == 3


def test_worse_outranks_unknown_and_both_are_told():
    tests = spoiled(0, kind=VerdictKind.REGRESSED, message="REGRESSED by 7 %")[:-1]
    decision = decide(tests)
    assert decision.exit_code == 2
    assert [f.text for f in decision.regressions] == ["REGRESSED by 7 %"]
    assert len(decision.gaps) == 1
    assert decision.sentence().endswith("is worse; the run is also incomplete.")


def test_a_dead_cell_gets_one_reason_and_no_list_of_what_it_lacks():
    cell = GREEN[0].cell
    dead = judged(cell, "measurement", VerdictKind.INVALID, outcome=Outcome.FAILED, message="died")
    decision = decide([dead, dead, dead, *(test for test in GREEN if test.cell != cell)])
    assert [finding.text for finding in decision.gaps] == ["died"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"manifest": "", "profile": ""}, "names no profile"),
        ({"manifest": "ffff", "profile": "other"}, "belongs to profile other, not small"),
        ({"manifest": "ffff"}, "another version of profile small"),
        ({"keyword": "not none"}, "ran under -k 'not none'"),
        ({"deselected": 3}, "left out 3 tests of cells"),
        ({"updating": "all"}, "--update-baselines"),
        ({"shard": "1/3"}, "shard 2/3, 3/3 is missing"),
    ],
)
def test_a_run_that_cannot_count(changes, said):
    decision = decide(facts=replace(FACTS, **changes))
    assert decision.exit_code == 3
    assert said in decision.gaps[0].text


def test_nothing_at_all_is_not_green():
    assert decide([]).exit_code == 3
    assert decide([], RunFacts()).exit_code == 3
    assert decide_gate(EXPECTED, MANIFEST, []).exit_code == 3


def test_a_loss_in_a_run_of_another_profile_is_not_ours():
    tests = spoiled(0, kind=VerdictKind.REGRESSED)
    assert decide(tests, replace(FACTS, manifest="ffff")).exit_code == 3


def halves(second: RunFacts) -> list[Evidence]:
    one = Evidence("a.xml", replace(FACTS, shard="1/2"), GREEN[::2])
    return [one, Evidence("b.xml", second, GREEN[1::2])]


def test_shards_make_one_run():
    runs = halves(replace(FACTS, shard="2/2"))
    assert decide_gate(EXPECTED, MANIFEST, runs).exit_code == 0
    assert decide_gate(EXPECTED, MANIFEST, runs[::-1]).exit_code == 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"shard": "1/2"}, "shard 1/2 is there 2 times"),
        ({"shard": "2/3"}, "different runs: shards '1/2', '2/3'"),
        ({"shard": ""}, "shard '' is none"),
        ({"shard": "2/2", "fingerprint": "other"}, "fingerprint 'box' and 'other'"),
        ({"shard": "2/2", "commit": "c1"}, "commit 'c0' and 'c1'"),
        ({"shard": "1/x"}, "shard '1/x' is none"),
        ({"shard": "1/99999999999"}, "is none: a shard is i/n"),
    ],
)
def test_shards_of_different_runs_make_none(changes, said):
    decision = decide_gate(EXPECTED, MANIFEST, halves(replace(FACTS, **changes)))
    assert decision.exit_code == 3
    assert any(said in finding.text for finding in decision.gaps)


def test_a_profile_of_other_hardware_needs_a_run_on_it():
    assert decide_gate(replace(EXPECTED, fingerprint="b*"), MANIFEST, RUNS).exit_code == 0
    expected = replace(EXPECTED, fingerprint="h100-*")
    decision = decide_gate(expected, MANIFEST, RUNS)
    assert decision.exit_code == 3
    assert decision.gaps[0].text == "junit.xml was measured on box, the profile is for h100-*"


@pytest.mark.parametrize(("commit", "code"), [("c0ffee", 0), ("c0ff", 0), ("", 0), ("beef", 3)])
def test_a_run_of_another_commit_proves_nothing(commit, code):
    runs = [Evidence("junit.xml", replace(FACTS, commit="c0ffee"), GREEN)]
    decision = decide_gate(replace(EXPECTED, commit=commit), MANIFEST, runs)
    assert decision.exit_code == code
    if code:
        assert "was measured on commit c0ffee, not on beef" in decision.gaps[0].text


@pytest.mark.parametrize(("commit", "code"), [("c0ffee", 3), ("", 0)])
def test_uncommitted_changes_prove_nothing_about_a_commit(commit, code):
    runs = [Evidence("junit.xml", replace(FACTS, commit="c0ffee-dirty"), GREEN)]
    decision = decide_gate(replace(EXPECTED, commit=commit), MANIFEST, runs)
    assert decision.exit_code == code
    if code:
        assert "was measured with uncommitted changes on c0ffee" in decision.gaps[0].text


def test_a_staged_cell_must_have_its_shares():
    control, arm = (replace(cell, staged=True) for cell in SMALL.cells()[:2])
    assert {"verify_share", "sample_share", "overhead_share"} <= required_metrics(control)
    assert "draft_share" not in required_metrics(control)
    assert "draft_share" in required_metrics(arm)
    assert not any(m.endswith("_share") for m in required_metrics(replace(arm, staged=False)))


def test_a_timed_cell_must_have_its_memory_judged():
    cell = next(cell for cell in SMALL.cells() if cell.timed)
    assert "kv_bytes_per_token" in required_metrics(cell)
    assert "kv_bytes_per_token" not in required_metrics(replace(cell, timed=False))


def test_replayed_cells_have_their_bound_to_show_and_nothing_else():
    profile = load_profile("cpu-bound")
    found = [metrics for cell, metrics in manifest_of(profile).items() if "replay" in cell]
    assert found
    assert set(found) == {frozenset({"upper_bound"})}
    assert not [cell for cell, _ in manifest_comparisons(profile) if "replay" in cell]


def test_latency_must_be_judged_where_it_has_a_limit():
    cell = next(cell for cell in SMALL.cells() if cell.timed)
    assert "mean_ttft_ms" not in required_metrics(cell)
    assert "mean_ttft_ms" in required_metrics(cell, {"mean_ttft_ms", "speedup"})
    assert "mean_ttft_ms" not in required_metrics(replace(cell, timed=False), {"mean_ttft_ms"})
