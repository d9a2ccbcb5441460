"""How much evidence is enough: the one place that knows the suite's error rate.

A run of the whole suite reports a distribution wrong that is right with probability at most
`FAMILY_ERROR`. Each of at most `TESTS` tests gets an equal part (Bonferroni), and its bound is
proven for any number of draws (`goodness`, `pit`), so the statement needs no independence and no
approximation. A run that spends more tests than planned fails (`Ledger.close`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

FAMILY_ERROR = 1e-6
TESTS = 2000
ALPHA = FAMILY_ERROR / TESTS


@dataclass
class Ledger:
    """Counts the tests of one run, and rejects by their common threshold."""

    planned: int = TESTS
    spent: int = 0
    smallest: float = 1.0
    rejected: list[str] = field(default_factory=list)

    def accepts(self, name: str, p: float) -> bool:
        """Spend one test, whose p is at most ``p``; False where the law is refuted."""
        self.spent += 1
        self.smallest = min(self.smallest, p)
        if p > ALPHA:
            return True
        self.rejected.append(name)
        return False

    def close(self) -> None:
        """Raise AssertionError if more tests were made than the error rate allows."""
        assert self.spent <= self.planned, (
            f"{self.spent} statistical tests, but the family-wise error is divided among "
            f"{self.planned}: raise TESTS in draftgate/lossless/significance.py"
        )
