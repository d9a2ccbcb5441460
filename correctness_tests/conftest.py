"""Every test in this folder checks losslessness: it carries the marker `correctness`, and `engine`
where it starts engines in processes of their own.

Tests that need a sampler ask for the fixture `sampler`, which imports vLLM into this process.
`DRAFTGATE_SAMPLER` names the sampler, see `draftgate.lossless.samplers`. Tests of whole engines
(`test_engine_*`) ask for `engines`, which run in processes of their own, with the sampler that vLLM
chooses; they are skipped where another sampler is to be tested. `DRAFTGATE_MUTANT` plants a known
fault in those that speculate (`draftgate mutants --list` names them).

Hypothesis repeats the same examples on every run, so that a verdict does not depend on luck;
`--hypothesis-profile=explore` draws new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from engines import IN_FLIGHT, MAX_TOKENS, Engines
from hypothesis import Phase, settings

from draftgate.engine import Sampling
from draftgate.lossless import pit
from draftgate.lossless.channels import Channel, LawRefuted
from draftgate.lossless.equality import Text
from draftgate.lossless.goodness import detectable
from draftgate.lossless.pit import Calibration
from draftgate.lossless.samplers import DEFAULT, Sampler, chosen, load_sampler
from draftgate.lossless.significance import ALPHA, Ledger
from draftgate.lossless.views import View
from draftgate.lossless.whole_engine import Prompts, generate
from draftgate.testbed.corpus import evaluation

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
            if "engines" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.engine)


@pytest.fixture(scope="session")
def sampler() -> Sampler:
    """The sampler under test."""
    return load_sampler(chosen())


@pytest.fixture(scope="session")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    """Engines of the testbed by name."""
    if chosen() != DEFAULT:
        pytest.skip(f"whole engines are tested once, with {DEFAULT}")
    running = Engines(tmp_path_factory.mktemp("engines"))
    yield running
    running.close()


@pytest.fixture(scope="session")
def prompts(engines: Engines) -> Prompts:
    """Short and long prompts, some of which are copied from."""
    named = [
        (f"{workload}-{index}", example.prompt)
        for index in range(2)
        for workload in ("gsm8k", "instructcoder", "sharegpt", "cnn_dailymail")
        for example in evaluation(workload, 2)[index : index + 1]
    ]
    token_ids = engines["none"].tokenize(text for _name, text in named)
    return [(name, ids) for (name, _text), ids in zip(named, token_ids, strict=True)]


@pytest.fixture(scope="session")
def standard(engines: Engines, prompts: Prompts) -> list[Text]:
    """Standard decoding of `prompts`, greedy."""
    sampling = Sampling(max_tokens=MAX_TOKENS)
    return generate(engines["none"], prompts, sampling, in_flight=IN_FLIGHT)


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
        smallest = detectable(found.draws, ALPHA, found.freedom, power=0.99)
        print(f"{name}: {found}; {smallest:.2g} of total variation would be found")
        if not ledger.accepts(name, found.p_bound):
            raise LawRefuted(f"{name}: {found}", channel)

    return check


@pytest.fixture(scope="session")
def calibrated(ledger: Ledger) -> Callable[[str, Calibration], None]:
    """Asserts that sampled text follows the target, at the suite's error rate."""

    def check(name: str, found: Calibration) -> None:
        smallest = pit.detectable(found.tokens, ALPHA)
        print(f"{name}: {found}; here {smallest:.3f}")
        assert ledger.accepts(name, found.p), f"{name}: {found}"

    return check
