"""What an inner pytest run reported."""

from __future__ import annotations

import pytest


def failures(result: pytest.RunResult) -> dict[str, str]:
    """Failed test, such as ``test_speedup[tiny-none-gsm8k-bs2]`` -> what pytest shows of it."""
    reports = result.reprec.getfailures()  # type: ignore[attr-defined]
    return {report.nodeid.rpartition("::")[2]: str(report.longrepr) for report in reports}


def first_lines(result: pytest.RunResult) -> dict[str, str]:
    """Failed test -> the first line of its failure."""
    return {test: text.splitlines()[0] for test, text in failures(result).items()}


def cells_of(result: pytest.RunResult) -> set[str]:
    """Test ids of the cells with a failed test, such as ``tiny-none-gsm8k-bs2``."""
    return {test.rpartition("[")[2].rstrip("]") for test in failures(result)}
