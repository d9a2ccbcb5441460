"""A pytest plugin that notes which tests failed, and what their failures say is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from draftgate.lossless.channels import Channel


@dataclass(frozen=True)
class Failure:
    """A test that failed under a mutant."""

    test: str  # module::name
    channel: Channel


@dataclass(eq=False)
class Verdicts:
    """Collects `Failure`s of one pytest run; the first of a channel in ``stops`` ends it."""

    stops: frozenset[Channel] = frozenset()
    failures: list[Failure] = field(default_factory=list)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Iterator[None]:
        """A failure in any phase counts; a fixture that breaks is a sampler that broke."""
        report: pytest.TestReport = yield  # type: ignore[assignment]
        if report.failed:
            raised = call.excinfo.value if call.excinfo else None
            failure = Failure(f"{item.path.name}::{item.name}", channel_of(raised))
            self.failures.append(failure)
            if failure.channel in self.stops:
                item.session.shouldstop = f"{failure.test} failed"
        return report  # type: ignore[return-value]


def channel_of(raised: BaseException | None) -> Channel:
    """What a failure says is wrong: losslessness, unless every part of it says otherwise."""
    if isinstance(raised, BaseExceptionGroup):
        channels = {channel_of(part) for part in raised.exceptions}
        return channels.pop() if len(channels) == 1 else "losslessness"
    channel: Channel = getattr(raised, "channel", "losslessness")
    return channel
