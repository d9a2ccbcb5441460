"""Which variant to run, how sure that is, and the command that says so."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_examples import cell, small_run, write_run

from draftgate.analysis.advice import AdviceError, advise, break_even
from draftgate.cli.main import run
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.verdict import Verdict


def test_the_fastest_variant_is_advised_with_its_margin() -> None:
    fast = cell("tiny/eagle3-k3/gsm8k/bs1", accepts=(3,))
    slow = cell("tiny/ngram-k3/gsm8k/bs1", accepts=(1,))
    [advice] = advise([slow, fast])
    assert (advice.target, advice.workload, advice.batch_size) == ("tiny", "gsm8k", 1)
    assert (advice.best.variant, advice.best.k) == ("eagle3-k3", 3)
    assert advice.following.variant == "ngram-k3"
    ratio = advice.best.speedup / advice.following.speedup
    assert advice.margin.value == pytest.approx(ratio - 1)
    assert advice.margin.low < advice.margin.value < advice.margin.high
    assert advice.margin.clear
    assert "eagle3-k3 yields 3." in advice.reason
    assert "noise" not in advice.reason


def test_speed_up_is_tokens_over_time_a_step() -> None:
    [advice] = advise(small_run()[:3])
    for candidate in (advice.best, advice.following):
        assert candidate.tokens / candidate.step_time == pytest.approx(candidate.speedup)


def test_equals_are_not_told_apart() -> None:
    cells = [cell(f"tiny/{name}-k3/gsm8k/bs1", accepts=(3, 1)) for name in ("eagle", "eagle3")]
    [advice] = advise(cells)
    assert not advice.margin.clear
    assert "noise leaves the order open" in advice.reason


def test_a_lone_variant_is_not_compared_with_others() -> None:
    [alone] = advise([cell("tiny/ngram-k3/gsm8k/bs1", accepts=(3,))])
    assert alone.reason.endswith("no other was timed")
    [noisy] = advise([cell("tiny/ngram-k3/gsm8k/bs1", accepts=(1,), slower=1.52)])
    assert not noisy.margin.clear
    assert noisy.reason.endswith("noise leaves open whether it beats standard decoding")


def test_where_nothing_pays_standard_decoding_is_advised() -> None:
    [advice] = advise([cell("tiny/ngram-k3/gsm8k/bs1", accepts=(0,), slower=1.3)])
    assert (advice.best.variant, advice.best.k, advice.best.speedup) == ("none", 0, 1.0)
    assert advice.reason.startswith("nothing pays: ngram-k3")
    assert advice.break_even == "<1"


def test_the_batch_size_of_break_even_is_between_those_measured() -> None:
    cells = [
        cell("tiny/ngram-k3/gsm8k/bs1", accepts=(2,)),
        cell("tiny/ngram-k3/gsm8k/bs4", accepts=(2,), slower=4.0),
    ]
    first, second = advise(cells)
    assert 1 < float(first.break_even) < 4
    assert second.best.variant == "none"


@given(
    st.lists(st.floats(0.2, 5), min_size=1, max_size=6),
    st.lists(st.integers(1, 512), min_size=6, max_size=6, unique=True),
)
def test_break_even_lies_where_the_speed_up_first_falls_to_one(gains, sizes) -> None:
    points = list(zip(sorted(sizes), gains, strict=False))
    found = break_even(points)
    below = [size for size, gain in points if gain <= 1]
    if not below:
        assert found == f">{points[-1][0]}"
    elif below[0] == points[0][0]:
        assert found == f"<{points[0][0]}"
    else:
        before = max(size for size, _ in points if size < below[0])
        assert before * 0.99 <= float(found) <= below[0] * 1.01  # three digits


def test_cells_that_were_not_timed_give_no_advice() -> None:
    with pytest.raises(AdviceError, match="timed"):
        advise([cell("tiny/ngram-k3/gsm8k/bs1", timed=False), cell("tiny/none/gsm8k/bs1")])


def test_the_command_prints_flat_records(tmp_path, capsys) -> None:
    folder = write_run(tmp_path / "run", small_run())
    assert run(["advise", str(folder), "--format", "json"]) == 0
    captured = capsys.readouterr()
    records = json.loads(captured.out)
    assert captured.err == ""
    assert [(r["workload"], r["batch_size"]) for r in records] == [
        ("code", 4), ("gsm8k", 1), ("gsm8k", 4),
    ]  # fmt: skip
    assert {"best", "k", "margin", "margin_low", "break_even", "reason"} <= records[0].keys()
    assert run(["advise", str(folder), "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["best"] for row in rows] == [r["best"] for r in records]
    assert run(["advise", str(folder)]) == 0
    assert "gsm8k at batch 1: eagle3-k3 yields" in capsys.readouterr().out


def test_a_variant_that_is_not_sound_is_not_advised_without_a_word(tmp_path, capsys) -> None:
    best = "tiny/eagle3-k3/gsm8k/bs1"

    def advised(kind: VerdictKind) -> tuple[str, str]:
        red = Verdict(best, "outputs_equal_control", kind, evidence="3 of 4 outputs differ")
        folder = write_run(tmp_path / kind, small_run(), [red])
        assert run(["advise", str(folder), "--format", "json"]) == 0
        said = capsys.readouterr()
        [record] = [
            r for r in json.loads(said.out) if (r["workload"], r["batch_size"]) == ("gsm8k", 1)
        ]
        return record["best"], said.err

    name, told = advised(VerdictKind.REGRESSED)
    assert name == "eagle3-k3"
    assert f"REGRESSED {best} outputs_equal_control" in told
    assert advised(VerdictKind.INVALID)[0] != "eagle3-k3"


def test_the_command_names_what_is_wrong_with_a_folder(tmp_path, capsys) -> None:
    assert run(["advise", str(tmp_path / "gone")]) == 1
    assert "gone does not exist; give the folder of a run" in capsys.readouterr().err
