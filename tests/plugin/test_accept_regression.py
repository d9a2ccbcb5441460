"""``--accept-regression``: a worse baseline needs a reason, which its file keeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_engines import FakeEngines
from small_project import ISA_FOLDER, Run

CELL = ("-k", "tiny-ngram-k3-sharegpt")
FILE = f"{ISA_FOLDER}/tiny/ngram-k3.json"


@pytest.fixture
def worse(engines: FakeEngines, baselined: Path) -> None:
    """The engine accepts less than its baseline says."""
    engines["tiny/ngram-k3"].accepts = (1, 2)


@pytest.mark.usefixtures("worse")
def test_a_worse_value_is_refused_without_a_reason(run: Run, load: Callable[[str], Any]) -> None:
    before = load(FILE)
    result = run("--update-baselines", *CELL)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["baseline not written: tiny/ngram-k3/sharegpt/bs2 (*): worse: acceptance_length * -> *"]
    )
    assert load(FILE) == before


@pytest.mark.usefixtures("worse")
def test_the_reason_is_kept_in_the_file(run: Run, load: Callable[[str], Any]) -> None:
    before = load(FILE)
    assert run("--update-baselines", "--accept-regression=smaller head", *CELL).ret == 0
    after = load(FILE)
    assert after["provenance"]["reason"] == "smaller head"
    assert after["cells"]["sharegpt/bs2"] != before["cells"]["sharegpt/bs2"]
    assert after["cells"]["gsm8k/bs2"] == before["cells"]["gsm8k/bs2"]
    assert run(*CELL).ret == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--accept-regression=why",), "--accept-regression needs --update-baselines"),
        (("--update-baselines", "--accept-regression= "), "--accept-regression needs a reason"),
        (("--update-baselines", "--accept-regression=a\x07b"), "*no readable line of text"),
    ],
)
def test_a_reason_for_nothing_is_a_usage_error(
    run: Run, engines: FakeEngines, arguments: tuple[str, ...], said: str
) -> None:
    result = run(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {said}*"])
    assert not engines.hosts
