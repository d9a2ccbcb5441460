"""``--baseline-dir``: where baselines are read from, and what a bad file does."""

from __future__ import annotations

from pathlib import Path

import pytest
from outcome import cells_of, first_lines
from small_project import ISA_FOLDER, Run


def test_baselines_are_written_to_and_read_from_the_folder(run: Run, project: Path) -> None:
    only = ("-k", "other-none")
    assert run("--update-baselines", "--baseline-dir=mine", *only).ret == 0
    assert (project / "mine/portable/x86-avx2-fp32/other/none.json").exists()
    assert not (project / "baselines").exists()
    strict = ("--perf-require-baseline", *only)
    assert run("--baseline-dir=mine", *strict).ret == 0
    assert run(*strict).ret == pytest.ExitCode.TESTS_FAILED


BAD = {
    "corrupt": ("{", "", "not readable as JSON", "restore it from version control"),
    "newer": ('"schema_version": 1', '"schema_version": 2', "newer than this", "upgrade draftgate"),
    "a zero": ('"decode_steps": ', '"decode_steps": 0, "x": ', "decode_steps", "restore it"),
    "conflict": ("{\n", "{\n<<<<<<< ours\n", "merge conflict in line 2", "resolve the merge"),
}


@pytest.mark.parametrize("fault", BAD)
def test_a_bad_file_fails_its_own_cells_with_one_clear_line(
    run: Run, project: Path, baselined: Path, fault: str
) -> None:
    old, new, *said = BAD[fault]
    file = project / ISA_FOLDER / "tiny/ngram-k3.json"
    file.write_text(file.read_text().replace(old, new, 1))
    result = run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    lines = first_lines(result)
    assert cells_of(result) == {"tiny-ngram-k3-gsm8k-bs2", "tiny-ngram-k3-sharegpt-bs2"}
    line = lines["test_acceptance_length[tiny-ngram-k3-gsm8k-bs2]"]
    assert line.startswith("INVALID tiny/ngram-k3/gsm8k/bs2 acceptance_length; baseline ")
    for part in ("tiny/ngram-k3.json", *said):
        assert part in line
