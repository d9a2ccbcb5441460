"""Is this engine lossless? The whole-engine checks for any model and variant a user names.

Engines run one after the other, never two at once, so that what fits alone on a GPU is enough: the
speculative one is asked first, then standard decoding, which also scores what both emitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from draftgate.engine import EngineHost, EngineInfo, EngineSpec, Sampling
from draftgate.engine.probe import ProbeResult
from draftgate.engine.records import SpecCounters
from draftgate.lossless.equality import TOLERANCE, Equality, Parting, Text
from draftgate.lossless.known_issues import load_known_issues, places_of_engine
from draftgate.lossless.pit import Calibration, detectable
from draftgate.lossless.whole_engine import (
    Prompts,
    greedy_equality,
    run,
    sampled,
    sampled_calibration,
)

Progress = Callable[[str], None]
_CONTEXT = 60  # characters of text shown on each side of a parting


class UnfitPromptsError(Exception):
    """No prompt leaves room for the output asked for."""


@dataclass(frozen=True)
class Question:
    """What to examine. ``temperature`` 0: greedy output only.

    ``control`` is ``suspect`` without speculative decoding, unless another engine is to be the
    standard. ``prompts``: names and user messages.
    """

    suspect: EngineSpec
    control: EngineSpec
    prompts: Sequence[tuple[str, str]]
    max_tokens: int = 128
    batch_size: int = 8
    temperature: float = 1.0


@dataclass(frozen=True)
class Finding:
    """What was found. ``calibration`` is None for a question about greedy output alone.

    ``drafting``: the engine's counters over the greedy run; None where it has none.
    """

    question: Question
    info: EngineInfo
    control: Sequence[Text]
    found: Sequence[Text]
    equality: Equality
    calibration: Calibration | None
    drafting: SpecCounters | None = None

    @property
    def lossless(self) -> bool:
        """Whether nothing speaks against it."""
        return self.equality.holds and (self.calibration is None or self.calibration.accepted)

    @property
    def undecided(self) -> str:
        """Why a verdict of lossless would mean nothing; empty where it means something."""
        if not self.lossless:
            return ""
        if self.drafting is not None and not self.drafting.accepted_tokens:
            return (
                f"none of {self.drafting.draft_tokens} drafted tokens was accepted, so acceptance "
                "was not tested: give prompts that it drafts for, or more --max-tokens"
            )
        if self.calibration is not None and detectable(self.calibration.tokens) >= 1:
            return (
                f"{self.calibration.tokens} sampled tokens can refute nothing: give more --count "
                "or --max-tokens"
            )
        return ""

    @property
    def verdict(self) -> str:
        """``lossless``, ``not lossless`` or ``undecided``."""
        if self.undecided:
            return "undecided"
        return "lossless" if self.lossless else "not lossless"


def examine(
    question: Question, log_dir: Path, on_progress: Progress = lambda _line: None
) -> Finding:
    """Run both engines and compare.

    Raises:
        EngineError: an engine did not start, failed, or refused the requests.
        UnfitPromptsError: every prompt is too long for ``max_model_len``.
    """
    on_progress("speculative decoding: starting the engine")
    with EngineHost(question.suspect, label="suspect", log_dir=log_dir) as engine:
        info = engine.info
        prompts = _fitting(engine, question, info.max_model_len)
        on_progress(f"{len(prompts)} of {len(question.prompts)} prompts leave room for the output")
        found, probed = _greedy(engine, prompts, question)
        on_progress(f"speculative decoding: {_count(found)} greedy tokens")
        drawn = _sampled(engine, prompts, question)
        on_progress(f"speculative decoding: {_count(drawn)} sampled tokens")
    on_progress("standard decoding: starting the engine")
    with EngineHost(question.control, label="control", log_dir=log_dir) as engine:
        control, _ = _greedy(engine, prompts, question)
        on_progress(f"standard decoding: {_count(control)} greedy tokens, scoring")
        equality = greedy_equality(
            control,
            found,
            engine,
            dtype=info.dtype if info.dtype in TOLERANCE else "bfloat16",
            max_model_len=info.max_model_len,
        )
        calibration = None
        if drawn:
            calibration = sampled_calibration(drawn, engine, temperature=question.temperature)
    return Finding(question, info, control, found, equality, calibration, probed.counters)


def record_of(finding: Finding) -> dict[str, Any]:
    """The flat record that `draftgate lossless` prints."""
    equality, calibration = finding.equality, finding.calibration
    return {
        "verdict": finding.verdict,
        "requests": equality.requests,
        "tokens": equality.tokens,
        "identical": equality.identical,
        "near_ties": len(equality.near_ties),
        "divergences": len(equality.divergences),
        "pit_p": None if calibration is None else calibration.p,
        "details": {
            "undecided": finding.undecided,
            "drafting": finding.drafting.model_dump() if finding.drafting else None,
            "tolerance_nats": equality.tolerance,
            "near_ties": [_parting(finding, parting) for parting in equality.near_ties],
            "divergences": [_parting(finding, parting) for parting in equality.divergences],
            "pit": None if calibration is None else _calibration(calibration, finding.question),
            "engine": finding.info.model_dump(
                include={"vllm", "torch", "platform", "runner", "dtype", "max_model_len", "k"}
            ),
            "speculative_config": finding.question.suspect.speculative_config,
            "known_issues": _known_issues(finding),
        },
    }


def _known_issues(finding: Finding) -> list[str]:
    """Defects of this vLLM that may explain a verdict, where it is bad and nothing was repaired."""
    if finding.lossless or finding.question.suspect.hooks:
        return []
    info, config = finding.info, finding.question.suspect.speculative_config or {}
    verification = config.get("rejection_sample_method", "standard")
    places = places_of_engine(info.runner, info.platform, verification)
    return [
        issue.reason
        for issue in load_known_issues().values()
        if any(issue.applies(info.vllm, place) for place in places)
    ]


def _fitting(engine: EngineHost, question: Question, max_model_len: int) -> Prompts:
    """Prompts that leave room for the output and the one token that scoring it takes."""
    token_ids = engine.tokenize(text for _name, text in question.prompts)
    named = zip((name for name, _text in question.prompts), token_ids, strict=True)
    room = max_model_len - 1 - question.max_tokens
    fitting = [(name, ids) for name, ids in named if len(ids) <= room]
    if not fitting:
        raise UnfitPromptsError(
            f"no prompt fits: with max_model_len {max_model_len} and {question.max_tokens} output "
            f"tokens a prompt may have {max(room, 0)}, the shortest has "
            f"{min(map(len, token_ids))}; lower --max-tokens or raise --max-model-len"
        )
    return fitting


def _greedy(
    engine: EngineHost, prompts: Prompts, question: Question
) -> tuple[list[Text], ProbeResult]:
    sampling = Sampling(max_tokens=question.max_tokens)
    return run(engine, prompts, sampling, in_flight=question.batch_size)


def _sampled(engine: EngineHost, prompts: Prompts, question: Question) -> list[Text]:
    if question.temperature == 0:
        return []
    texts, _ = sampled(
        engine,
        prompts,
        temperature=question.temperature,
        tokens=question.max_tokens,
        in_flight=question.batch_size,
    )
    return texts


def _count(texts: Sequence[Text]) -> int:
    return sum(len(text.output) for text in texts)


def _parting(finding: Finding, parting: Parting) -> dict[str, Any]:
    control, found = (
        next(text.shown for text in texts if text.name == parting.name)
        for texts in (finding.control, finding.found)
    )
    shared = next(
        (i for i, (a, b) in enumerate(zip(control, found, strict=False)) if a != b),
        min(len(control), len(found)),
    )
    return {
        "prompt_id": parting.name,
        "position": parting.position,
        "token": parting.token,
        "control_token": parting.control_token,
        "gap_nats": parting.gap,
        "first_difference_after": found[max(0, shared - _CONTEXT) : shared],
        "control_goes_on": control[shared : shared + _CONTEXT],
        "goes_on": found[shared : shared + _CONTEXT],
    }


def _calibration(calibration: Calibration, question: Question) -> dict[str, Any]:
    return {
        "temperature": question.temperature,
        "tokens": calibration.tokens,
        "displacement": calibration.displacement,
        "order": calibration.order,
        "kind": calibration.kind,
        "detectable": detectable(calibration.tokens),
        "says": str(calibration),
    }
