"""The whole-engine checks: an engine's output against the target's own, as data.

Everything here takes running engines (`EngineHost`) and returns what was found; tests, mutants and
`draftgate lossless` decide what it means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Protocol

from draftgate.engine import (
    DraftPlan,
    Probe,
    ProbeRequest,
    ProbeResult,
    Recording,
    Sampling,
    ScoredText,
    Scoring,
    TokenScore,
)
from draftgate.lossless.equality import TOLERANCE, Equality, Scorer, Text, compare
from draftgate.lossless.pit import Calibration, calibrate

Prompts = Sequence[tuple[str, tuple[int, ...]]]  # a name and token ids each
_SCORED_AT_ONCE = 8  # texts; a score needs [tokens, vocabulary] of memory


class Target(Protocol):
    """What judges texts: an `EngineHost`."""

    def score(self, scoring: Scoring) -> tuple[tuple[TokenScore, ...], ...]:
        """Score texts."""


class Engine(Target, Protocol):
    """What the checks need of an `EngineHost`."""

    def probe(self, probe: Probe) -> ProbeResult:
        """Run requests."""


def generate(
    engine: Engine,
    prompts: Prompts,
    sampling: Sampling | Callable[[int], Sampling],
    *,
    in_flight: int,
    drafts: DraftPlan | None = None,
) -> list[Text]:
    """Outputs of ``prompts``; ``sampling`` may depend on the index of the prompt."""
    return run(engine, prompts, sampling, in_flight=in_flight, drafts=drafts)[0]


def run(
    engine: Engine,
    prompts: Prompts,
    sampling: Sampling | Callable[[int], Sampling],
    *,
    in_flight: int,
    drafts: DraftPlan | None = None,
) -> tuple[list[Text], ProbeResult]:
    """As `generate`, with all that the engine answered."""
    choose = sampling if callable(sampling) else lambda _index: sampling
    requests = tuple(
        ProbeRequest(request_id=str(index), prompt=prompt, sampling=choose(index))
        for index, (_name, prompt) in enumerate(prompts)
    )
    result = engine.probe(Probe(requests=requests, in_flight=in_flight, drafts=drafts))
    texts = [
        Text(name, prompt, first.token_ids, first.finish_reason, first.text)
        for (name, prompt), output in zip(prompts, result.outputs, strict=True)
        for first in output.completions[:1]
    ]
    return texts, result


def recordings(texts: Sequence[Text]) -> tuple[Recording, ...]:
    """What scripted proposers play: the outputs of standard decoding."""
    return tuple(Recording(prompt=text.prompt, output=text.output) for text in texts)


def scorer(engine: Target) -> Scorer:
    """Gaps under ``engine``'s target, which should run without speculative decoding."""
    return lambda texts: _scores(engine, texts, temperature=1.0, gaps_only=True)


def greedy_equality(
    control: Sequence[Text],
    found: Sequence[Text],
    target: Target,
    *,
    dtype: str = "float32",
    max_model_len: int | None = None,
) -> Equality:
    """Greedy outputs against standard decoding's; ``dtype``: that of the engines compared."""
    longest = None if max_model_len is None else max_model_len - 1
    return compare(control, found, scorer(target), tolerance=TOLERANCE[dtype], longest=longest)


def sampled(
    engine: Engine,
    prompts: Prompts,
    *,
    temperature: float,
    tokens: int,
    in_flight: int,
    drafts: DraftPlan | None = None,
    seeded: bool = True,
) -> tuple[list[Text], ProbeResult]:
    """``tokens`` sampled tokens after each prompt, past any end.

    ``seeded``: every second request is. Returns what `run` does.
    """

    def choose(index: int) -> Sampling:
        return Sampling(
            temperature=temperature,
            max_tokens=tokens,
            ignore_eos=True,
            seed=1000 + index if seeded and index % 2 else None,
        )

    return run(engine, prompts, choose, in_flight=in_flight, drafts=drafts)


def sampled_calibration(
    texts: Sequence[Text], target: Engine, *, temperature: float, seed: int = 0
) -> Calibration:
    """Sampled outputs against the target's own distributions, `pit` says how.

    Raises:
        ValueError: an output that ended before its time.
    """
    if any(text.finish_reason != "length" for text in texts):
        raise ValueError("a sampled output ended by itself: the transform needs a fixed length")
    wanted = [
        ScoredText(token_ids=text.prompt + text.output, start=len(text.prompt)) for text in texts
    ]
    scores = _scores(target, wanted, temperature)
    return calibrate(list(chain.from_iterable(scores)), seed, temperature=temperature)


def _scores(
    engine: Target, texts: Sequence[ScoredText], temperature: float, *, gaps_only: bool = False
) -> list[tuple[TokenScore, ...]]:
    parts = (
        engine.score(Scoring(texts=tuple(part), temperature=temperature, gaps_only=gaps_only))
        for part in _parts(texts, _SCORED_AT_ONCE)
    )
    return list(chain.from_iterable(parts))


def _parts(texts: Sequence[ScoredText], size: int) -> Iterator[Sequence[ScoredText]]:
    for begin in range(0, len(texts), size):
        yield texts[begin : begin + size]
