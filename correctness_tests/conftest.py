"""Every test in this folder checks losslessness: it carries the marker `correctness`.

Tests that need a sampler ask for the fixture `sampler`, which imports vLLM into this process; no
engine is started here. `DRAFTGATE_SAMPLER` names the sampler, see `draftgate.lossless.samplers`.

Hypothesis repeats the same examples on every run, so that a verdict does not depend on luck;
`--hypothesis-profile=explore` draws new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from draftgate.lossless.channels import Channel, LawRefuted
from draftgate.lossless.samplers import Sampler, chosen, load_sampler
from draftgate.lossless.significance import Ledger
from draftgate.lossless.views import View

settings.register_profile("gate", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", deadline=None, database=None)
# A mutant only has to be killed: no time is spent on making the example small.
settings.register_profile(
    "mutant",
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
)


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("hypothesis_profile", None):
        settings.load_profile("gate")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.correctness)


@pytest.fixture(scope="session")
def sampler() -> Sampler:
    """The sampler under test."""
    return load_sampler(chosen())


@pytest.fixture(scope="session")
def affordable(sampler: Sampler) -> Callable[[int], int]:
    """Number of requests that a trial of so many may have with this sampler."""
    return lambda requests: max(20, round(requests * sampler.scale))


@pytest.fixture(scope="session")
def ledger() -> Iterator[Ledger]:
    """Counts the statistical tests of this run against the suite's error rate."""
    opened = Ledger()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def follows(ledger: Ledger) -> Callable[..., None]:
    """Asserts that counts follow their law, at the suite's error rate.

    ``channel``: what is wrong where they do not; see `draftgate.lossless.channels`.
    """

    def check(name: str, view: View, channel: Channel = "losslessness") -> None:
        found = view.goodness()
        if not ledger.accepts(name, found):
            raise LawRefuted(f"{name}: {found}", channel)

    return check
