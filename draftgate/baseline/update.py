"""Which measured cells become baselines: decided cell by cell, pure, with a reason for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from draftgate.baseline.anchor import Anchor
from draftgate.baseline.candidate import Candidate
from draftgate.baseline.change import beyond
from draftgate.baseline.schema import ExactBaseline, Provenance, TimedBaseline
from draftgate.engine.fingerprint import repeats_tokens
from draftgate.measure.per_prompt import LIMITS
from draftgate.measure.text_lengths import lengths_shifted

ACCEPT = 'give --accept-regression "reason"'
OTHER_PROMPTS = (
    "the baseline is of other prompts, so that nothing tells a loss: if it is another profile's, "
    "give this profile a baseline_series"
)


class UpdatePolicy(StrEnum):
    """``--update-baselines[=...]``: cells without a baseline; also those that moved; all."""

    NEW = "new"
    CHANGED = "changed"
    ALL = "all"


class Action(StrEnum):
    """What became of a candidate."""

    WRITTEN = "written"
    KEPT = "kept"
    REFUSED = "refused"


@dataclass(frozen=True)
class UpdateRequest:
    """``accept_regression``: the reason for storing worse values. ``refusal``: see `ci_refusal`."""

    policy: UpdatePolicy
    provenance: Provenance
    accept_regression: str | None = None
    refusal: str | None = None


@dataclass(frozen=True)
class Decision:
    """What is done with a candidate, and why."""

    candidate: Candidate
    action: Action
    reason: str


def decide(
    candidate: Candidate,
    existing: ExactBaseline | TimedBaseline | None,
    request: UpdateRequest,
    anchor: Anchor | None = None,
) -> Decision:
    """Decide one cell; ``existing`` is of the candidate's kind.

    ``anchor``: what the cell was at a release; many small losses may not add up to a large one.
    """
    decision = _decide(candidate, existing, request)
    guarded = decision.action is Action.WRITTEN and not request.accept_regression
    if guarded and (crept := _crept(candidate, anchor)):
        return Decision(candidate, Action.REFUSED, crept)
    return decision


def _crept(candidate: Candidate, anchor: Anchor | None) -> str:
    if anchor is None or not isinstance(candidate.baseline, TimedBaseline):
        return ""
    losses = anchor.losses(candidate.baseline, candidate.limits)
    if not losses:
        return ""
    said = ", ".join(f"{c.metric} {c.before:g} -> {c.after:g}" for c in losses)
    return f"worse since {anchor.release}, in small steps: {said}; {ACCEPT}"


def _decide(
    candidate: Candidate, existing: ExactBaseline | TimedBaseline | None, request: UpdateRequest
) -> Decision:
    def decision(action: Action, reason: str) -> Decision:
        return Decision(candidate, action, reason)

    if problem := _invalid(candidate, request):
        return decision(Action.REFUSED, problem)
    if existing is None:
        return decision(Action.WRITTEN, "new")
    if request.policy is UpdatePolicy.NEW:
        return _completed(candidate, existing)
    if existing.workload_hash != candidate.baseline.workload_hash:
        if not request.accept_regression:
            return decision(Action.REFUSED, f"{OTHER_PROMPTS}; {ACCEPT}")
        return decision(Action.WRITTEN, "other prompts")
    moved = list(_moved(candidate, existing))
    counted = isinstance(existing, ExactBaseline)  # measured again it may creep, unseen
    if not moved and (request.policy is UpdatePolicy.CHANGED or counted):
        return decision(Action.KEPT, "unchanged" if counted else "within the limits")
    worse = ", ".join(change for change, is_worse in moved if is_worse)
    if worse and not request.accept_regression:
        return decision(Action.REFUSED, f"worse: {worse}; {ACCEPT}")
    return decision(Action.WRITTEN, ", ".join(change for change, _ in moved) or "measured again")


def _completed(candidate: Candidate, existing: ExactBaseline | TimedBaseline) -> Decision:
    """Metrics that the baseline lacks are new; those that it has stay as they are."""
    fresh = candidate.baseline
    if isinstance(fresh, TimedBaseline) and isinstance(existing, TimedBaseline):
        same_texts = (
            fresh.workload_hash == existing.workload_hash
            and _other_texts(fresh, existing, candidate.parting) is None
        )
        lacking = sorted(fresh.metrics.keys() - existing.metrics.keys())
        if lacking and same_texts:
            metrics = {**fresh.metrics, **existing.metrics}
            whole = replace(candidate, baseline=fresh.model_copy(update={"metrics": metrics}))
            return Decision(whole, Action.WRITTEN, f"new: {', '.join(lacking)}")
    return Decision(candidate, Action.KEPT, "has a baseline")


def ci_refusal(environ: Mapping[str, str], root: Path, folder: Path) -> str | None:
    """Why baselines must not be written here: CI may write artifacts, not its own repository.

    ``folder``: any of the repository's.
    """
    if environ.get("CI", "").lower() in ("", "0", "false"):
        return None
    inside = folder.resolve()
    repository = next((p for p in (inside, *inside.parents) if (p / ".git").exists()), inside)
    if not root.resolve().is_relative_to(repository):
        return None
    return (
        f"CI does not write baselines into its repository ({root}); "
        "give an artifact folder with --baseline-dir"
    )


def _invalid(candidate: Candidate, request: UpdateRequest) -> str | None:
    if request.refusal:
        return request.refusal
    if candidate.broken:
        return f"identity broken: {candidate.broken[0]}"
    return candidate.problem


def _moved(
    candidate: Candidate, existing: ExactBaseline | TimedBaseline
) -> Iterator[tuple[str, bool]]:
    """Changes as (text, whether it is one for the worse)."""
    fresh = candidate.baseline
    if isinstance(fresh, ExactBaseline) and isinstance(existing, ExactBaseline):
        if repeats_tokens(candidate.key):
            yield from _moved_exact(fresh, existing)
        else:
            limits = {**LIMITS, **candidate.limits}
            yield from _moved_acceptance(fresh, existing, limits, candidate.parting)
    elif isinstance(fresh, TimedBaseline) and isinstance(existing, TimedBaseline):
        if said := _other_texts(fresh, existing, candidate.parting):
            yield said, False  # the exact baseline tells whether they are meant
        yield from _moved_timed(fresh, existing, {**candidate.limits, **existing.limits})
    else:
        raise TypeError(f"{candidate.cell_id}: exact and timed baselines do not compare")


def _moved_exact(fresh: ExactBaseline, existing: ExactBaseline) -> Iterator[tuple[str, bool]]:
    old, new = existing.metrics, fresh.metrics
    for name in ("acceptance_length", "tokens_per_step"):
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            is_worse = before is not None and (after is None or after < before)
            yield f"{name} {_shown(before)} -> {_shown(after)}", is_worse
    for name in type(new).model_fields:
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield name, _is_worse_count(name, before, after)


def _moved_acceptance(
    fresh: ExactBaseline, existing: ExactBaseline, limits: Mapping[str, float], parting: int
) -> Iterator[tuple[str, bool]]:
    """Where tokens need not repeat: lengths and acceptance that moved by more than is tolerated."""
    if fresh.by_prompt and not existing.by_prompt:
        yield "acceptance by prompt is new", False
    before_tokens, tokens = existing.metrics.output_tokens, fresh.metrics.output_tokens
    if lengths_shifted(before_tokens, tokens, parting):
        yield f"output_tokens {before_tokens} -> {tokens}", True
    for name in LIMITS:
        before, after = getattr(existing.metrics, name), getattr(fresh.metrics, name)
        if before and after and abs(after / before - 1) > limits[name]:
            yield f"{name} {_shown(before)} -> {_shown(after)}", after < before


def _is_worse_count(name: str, before: Any, after: Any) -> bool:
    """Other texts are never just better, and more drafts are work that must bring tokens."""
    if name == "outputs_hash":
        return True
    return name == "draft_tokens" and before is not None and after is not None and after > before


def _moved_timed(
    fresh: TimedBaseline, existing: TimedBaseline, limits: Mapping[str, float]
) -> Iterator[tuple[str, bool]]:
    for name in sorted(fresh.metrics.keys() - existing.metrics.keys()):
        yield f"{name} is new", False
    for name in sorted(existing.metrics.keys() - fresh.metrics.keys()):
        yield f"{name} is gone", True
    for change in beyond(existing, fresh, limits):
        limit = f"limit {100 * limits[change.metric]:g} %"
        said = f"{change.metric} {change.before:g} -> {change.after:g} ({limit})"
        yield said, change.loss > 0


def _other_texts(fresh: TimedBaseline, existing: TimedBaseline, parting: int) -> str | None:
    """What times were taken of, where that has another length."""
    before, after = existing.output_tokens, fresh.output_tokens
    if before is None or after is None or not lengths_shifted(before, after, parting):
        return None
    return f"output_tokens {before} -> {after}"


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"
