"""A cost model fitted to stage times: the constants the simulator needs, of this machine.

Everything is fitted to decode steps, by least squares of relative errors under a soft-L1 loss, so
that a step in which the machine did something else hardly counts, with no negative constant.
Verification is forward pass, logits and sampling. Of the overhead, the part that grows with the
batch is charged by batched token beside the verification, since the model knows a fixed one only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from draftgate.analysis.accounting import TRAINING_FREE
from draftgate.analysis.cost import CostModel, DraftCost, TargetCost
from draftgate.analysis.errors import CostModelError
from draftgate.analysis.traces import FloatArray
from draftgate.engine.records import StageSteps
from draftgate.measure.record import Measurement
from draftgate.measure.stages import step_class

MIN_STEPS = 8
"""Fewest decode steps that constants are fitted to: twice their number."""

_KNEE = 0.05  # relative error beyond which a step counts less


@dataclass(frozen=True)
class StagedCell:
    """Stage times of one cell; ``proposer`` is None and ``k`` 0 for standard decoding.

    ``steps``: of ``rounds`` rounds, one after another.
    """

    name: str
    proposer: str | None
    k: int
    steps: StageSteps
    rounds: int = 1


def staged_cell(measurement: Measurement) -> StagedCell | None:
    """The stage times of a measured cell; None where the stage timer was off."""
    block = measurement.draftgate
    if block.stages is None:
        return None
    subject, stages = block.subject, block.stages
    rounds = len(stages.round_steps) or 1  # older records do not tell: one
    return StagedCell(subject.cell, subject.proposer, subject.k, stages.steps, rounds)


@dataclass(frozen=True)
class Residuals:
    """Relative errors |fitted / measured - 1| of ``n`` steps."""

    n: int
    median: float
    p90: float


@dataclass(frozen=True)
class Fit:
    """``residuals`` by what was fitted: ``verify``, ``overhead``, ``draft PROPOSER``."""

    model: CostModel
    residuals: Mapping[str, Residuals]


@dataclass(frozen=True, eq=False)
class _Table:
    """Decode steps as columns (N); seconds."""

    batched: FloatArray
    kv: FloatArray
    passes: FloatArray
    verify_s: FloatArray
    draft_s: FloatArray
    overhead_s: FloatArray

    @classmethod
    def of(cls, cells: Iterable[StagedCell]) -> _Table:
        rows = [row for cell in cells for row in _decode_rows(cell)]
        columns = np.array(rows, dtype=float).reshape(-1, 6).T
        return cls(*columns)

    def __len__(self) -> int:
        return len(self.batched)


def fit_cost_model(name: str, cells: Sequence[StagedCell]) -> Fit:
    """Constants of one target, from cells of all its variants at several batch sizes.

    A proposer measured at one k only is taken to cost in proportion to k, a training-free one not
    to depend on it.

    Raises:
        CostModelError: too few decode steps, in all or of a proposer.
    """
    everything = _Table.of(cells)
    _require(len(everything), name, "all cells")
    ones = np.ones(len(everything))
    load = np.column_stack([everything.kv, everything.batched, ones])
    verify = _fit(load, everything.verify_s)
    overhead = _fit(load[:, 1:], everything.overhead_s)
    residuals = {
        "verify": _residuals(load @ verify, everything.verify_s),
        "overhead": _residuals(load[:, 1:] @ overhead, everything.overhead_s),
    }
    drafts = {}
    for proposer in sorted({cell.proposer for cell in cells if cell.proposer}):
        own = [cell for cell in cells if cell.proposer == proposer]
        drafts[proposer], residuals[f"draft {proposer}"] = _fit_draft(name, proposer, own)
    target = TargetCost(
        per_kv_token_s=float(verify[0]),
        per_batched_token_s=float(verify[1] + overhead[0]),
        fixed_s=float(verify[2]),
    )
    return Fit(CostModel(name, target, float(overhead[1]), drafts), residuals)


def predicted_step_s(model: CostModel, cell: StagedCell) -> float:
    """Mean seconds of the cell's decode steps by ``model``, from what the steps computed.

    Raises:
        CostModelError: no decode step, or a proposer that the model does not know.
    """
    table = _Table.of([cell])
    _require(len(table), cell.name, "the cell", least=1)
    ones = np.ones(len(table))
    verify = model.verify_seconds(ones, table.kv, table.batched)
    seconds = verify + model.overhead_s
    if cell.proposer is not None:
        seconds = seconds + model.draft_seconds(
            cell.proposer, ones, table.kv, table.batched, table.passes, verify
        )
    return float(seconds.mean())


def predicted_round_s(model: CostModel, cell: StagedCell) -> float:
    """Seconds of a round: steps that decode by ``model``, those that read prompts as measured.

    Raises:
        CostModelError: as `predicted_step_s`.
    """
    rows = range(len(cell.steps.step_ms))
    decode = [row for row in rows if step_class(cell.steps, row) == "decode"]
    reading = sum(cell.steps.step_ms) - sum(cell.steps.step_ms[row] for row in decode)
    return (reading / 1000 + len(decode) * predicted_step_s(model, cell)) / cell.rounds


def measured_step_s(cell: StagedCell) -> float:
    """Mean seconds of the cell's decode steps, as `predicted_step_s` predicts them."""
    table = _Table.of([cell])
    _require(len(table), cell.name, "the cell", least=1)
    return float((table.verify_s + table.draft_s + table.overhead_s).mean())


def _fit_draft(
    name: str, proposer: str, cells: Sequence[StagedCell]
) -> tuple[DraftCost, Residuals]:
    table = _Table.of(cells)
    _require(len(table), name, f"cells of {proposer!r}")
    columns = {"per_kv_token_s": table.kv, "per_token_s": table.batched}
    many_k = len(set(table.passes)) > 1
    if many_k or proposer not in TRAINING_FREE:
        columns["per_pass_s"] = table.passes
    if many_k or proposer in TRAINING_FREE:
        columns["fixed_s"] = np.ones(len(table))
    features = np.column_stack(list(columns.values()))
    found = _fit(features, table.draft_s)
    cost = DraftCost(**dict(zip(columns, map(float, found), strict=True)))
    return cost, _residuals(features @ found, table.draft_s)


def _decode_rows(cell: StagedCell) -> list[tuple[float, ...]]:
    s = cell.steps
    return [
        (
            s.batched_tokens[row],
            s.kv_tokens[row],
            cell.k,
            (s.verify_ms[row] + s.sample_ms[row]) / 1000,
            s.draft_ms[row] / 1000,
            s.overhead_ms[row] / 1000,
        )
        for row in range(len(s.step_ms))
        if step_class(s, row) == "decode"
    ]


def _fit(features: FloatArray, seconds: FloatArray) -> FloatArray:
    """Non-negative constants of ``features`` (N, F) for ``seconds`` (N); what is 0 is left out."""
    from scipy.optimize import least_squares, nnls

    taken = seconds > 0
    if not taken.any():
        return np.zeros(features.shape[1])
    relative = features[taken] / seconds[taken, None]
    scale = np.maximum(np.abs(relative).max(axis=0), np.finfo(float).tiny)
    scaled: FloatArray = relative / scale  # constants differ by many orders of magnitude
    start, _ = nnls(scaled, np.ones(len(scaled)))

    def errors(constants: FloatArray) -> FloatArray:
        found: FloatArray = scaled @ constants - 1
        return found

    def slopes(_: FloatArray) -> FloatArray:
        return scaled

    found = least_squares(
        errors,
        np.maximum(start, 1e-9),
        jac=slopes,
        bounds=(0, np.inf),
        loss="soft_l1",
        f_scale=_KNEE,
        xtol=1e-12,
        ftol=1e-12,
    )
    constants: FloatArray = found.x / scale
    return constants


def _residuals(fitted: FloatArray, measured: FloatArray) -> Residuals:
    taken = measured > 0
    errors = np.abs(fitted[taken] / measured[taken] - 1)
    if not len(errors):
        return Residuals(0, 0.0, 0.0)
    return Residuals(len(errors), float(np.median(errors)), float(np.percentile(errors, 90)))


def _require(found: int, name: str, where: str, least: int = MIN_STEPS) -> None:
    if found < least:
        raise CostModelError(
            f"cost model {name!r}: {found} decode steps in {where}, at least {least} are needed; "
            "measure timed cells with stages = true in the profile's [plan]"
        )
