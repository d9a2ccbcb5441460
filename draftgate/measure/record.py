"""`Measurement`: everything measured of one cell in one session, as one versioned JSON file.

Top-level keys and units are those of `vllm bench serve --save-result`, over all timed rounds
together, so that its readers work; ours live under ``"draftgate"``. Keys of speculative decoding
are absent, not 0, where it is off.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError

from draftgate.engine.fingerprint import repeats_tokens
from draftgate.engine.records import EngineMemory, Record, RoundRecord
from draftgate.measure import metrics
from draftgate.measure.agreement import Agreement, outputs_agreement
from draftgate.measure.atomic import write_text
from draftgate.measure.bench import BenchKeys, bench_keys
from draftgate.measure.compact import pack, unpack
from draftgate.measure.exact import ExactMetrics
from draftgate.measure.stages import Stages

SCHEMA_VERSION = 2
"""2: prompts' token ids, stage times, memory. Version 1 is read as well; it has none of them."""

_ROUNDS = ("rounds", "control_rounds")


class MeasurementError(Exception):
    """A measurement file that cannot be read; names the file, what is wrong and the remedy."""


class Subject(Record):
    """What was measured. ``k`` is 0 for the control variant ``none``."""

    cell: str
    scenario: str
    workload: str
    workload_hash: str
    batch_size: int
    k: int
    model_id: str

    @property
    def target(self) -> str:
        """``llama-tiny`` of ``llama-tiny/eagle3-k3``."""
        return self.scenario.partition("/")[0]

    @property
    def variant(self) -> str:
        """``eagle3-k3`` of ``llama-tiny/eagle3-k3``."""
        return self.scenario.partition("/")[2]

    @property
    def proposer(self) -> str | None:
        """The variant's method, ``eagle3`` of ``llama-tiny/eagle3-k3``; None for the control."""
        return self.variant.partition(f"-k{self.k}")[0] if self.k else None


class Machine(Record):
    """Where it was measured: the engine room's fingerprint."""

    key: str
    isa_class: str
    fields: dict[str, Any] = Field(default_factory=dict)

    @property
    def repeats_tokens(self) -> bool:
        """See `engine.fingerprint.repeats_tokens`."""
        return repeats_tokens(self.isa_class)


class Provenance(Record):
    """What was under test; ``models``: name -> revision (None: a local folder)."""

    vllm: str
    torch: str
    draftgate: str
    python: str
    commit: str | None = None
    models: dict[str, str | None] = Field(default_factory=dict)


class Acceptance(Record):
    """Ratios derived from a round's counters and steps; None where they do not exist."""

    tokens_per_step: float | None = None
    acceptance_length: float | None = None
    acceptance_length_per_request: float | None = None
    draft_acceptance_rate: float | None = None
    per_position_acceptance_rate: tuple[float, ...] | None = None

    @classmethod
    def of(cls, record: RoundRecord, k: int) -> Acceptance:
        """The ratios of one round."""
        return cls(
            tokens_per_step=metrics.tokens_per_step(record),
            acceptance_length=metrics.acceptance_length(record),
            acceptance_length_per_request=metrics.acceptance_length_per_request(record),
            draft_acceptance_rate=metrics.draft_acceptance_rate(record),
            per_position_acceptance_rate=metrics.per_position_acceptance_rate(record, k),
        )


class Block(Record):
    """The ``"draftgate"`` block.

    ``order``: arm of each timed round in the order they ran, ``arm`` or ``control``. ``timed``:
    samples of each timed metric, one a round. ``exact`` and ``acceptance`` describe the first
    round, which all rounds equal where tokens repeat (identity ``rounds_agree``). ``*_walls_s``:
    warm-up rounds. ``stages``: of extra rounds with the stage timer, None where there was none.
    ``memory``: of the arm's engine.
    """

    schema_version: int = SCHEMA_VERSION
    subject: Subject
    exact: ExactMetrics
    acceptance: Acceptance
    timed: dict[str, tuple[float, ...]]
    outputs_equal_control: Agreement | None = None
    order: tuple[str, ...] = ()
    warmup_walls_s: tuple[float, ...] = ()
    control_warmup_walls_s: tuple[float, ...] = ()
    stages: Stages | None = None
    memory: EngineMemory | None = None
    machine: Machine
    provenance: Provenance
    started: datetime
    ended: datetime
    rounds: tuple[RoundRecord, ...]
    control_rounds: tuple[RoundRecord, ...] = ()


class Measurement(BenchKeys):
    """One cell, one session."""

    draftgate: Block

    @classmethod
    def build(
        cls,
        subject: Subject,
        rounds: Sequence[RoundRecord],
        control_rounds: Sequence[RoundRecord] = (),
        *,
        machine: Machine,
        provenance: Provenance,
        started: datetime,
        ended: datetime,
        timed: bool = True,
        staged: Sequence[RoundRecord] = (),
        memory: EngineMemory | None = None,
        agreement: Agreement | None = None,
        order: Sequence[str] = (),
        warmup_walls_s: Sequence[float] = (),
        control_warmup_walls_s: Sequence[float] = (),
    ) -> Self:
        """Derive all metrics; raises ValueError without a round, a request or a duration.

        ``timed=False``: the rounds were not timed with care, so there are no timed metrics.
        ``staged``: further rounds, with the stage timer on; their stage times are timed metrics.
        ``agreement``: with the control, where its differences were weighed.
        """
        if not rounds or not rounds[0].requests:
            raise ValueError(f"{subject.cell}: nothing was measured")
        if not all(record.wall_s > 0 for record in (*rounds, *control_rounds)):
            raise ValueError(f"{subject.cell}: a round without duration")
        if not all(record.generated_tokens for record in control_rounds):
            raise ValueError(f"{subject.cell}: the control wrote nothing")
        stages = Stages.of(*staged)
        samples = metrics.timed_samples(rounds, control_rounds)
        block = Block(
            subject=subject,
            exact=ExactMetrics.of(rounds[0]),
            acceptance=Acceptance.of(rounds[0], subject.k),
            timed=samples | (stages.samples() if stages else {}) if timed else {},
            outputs_equal_control=agreement or outputs_agreement(rounds, control_rounds),
            order=tuple(order),
            warmup_walls_s=tuple(warmup_walls_s),
            control_warmup_walls_s=tuple(control_warmup_walls_s),
            stages=stages,
            memory=memory,
            machine=machine,
            provenance=provenance,
            started=started,
            ended=ended,
            rounds=tuple(rounds),
            control_rounds=tuple(control_rounds),
        )
        keys = bench_keys(rounds, subject.k, model_id=subject.model_id, started=started)
        return cls(**keys, draftgate=block)

    def to_json(self) -> str:
        """The file's text; rounds are packed (`compact`)."""
        data = _without_none(self.model_dump(mode="json", exclude={"draftgate": {*_ROUNDS}}))
        for name in ("exact", "acceptance"):
            data["draftgate"][name] = _without_none(data["draftgate"][name])
        block = self.draftgate
        if block.outputs_equal_control:  # a token may be None; gaps are told where asked for
            data["draftgate"]["outputs_equal_control"] = block.outputs_equal_control.model_dump(
                mode="json", exclude_unset=True
            )
        packed = pack((*block.rounds, *block.control_rounds))
        data["draftgate"]["rounds"] = packed[: len(block.rounds)]
        data["draftgate"]["control_rounds"] = packed[len(block.rounds) :]
        return json.dumps(data, separators=(",", ":"), allow_nan=False) + "\n"

    def write(self, path: Path) -> None:
        """Write atomically; raises OSError (read-only folder, full disk), leaves no half file."""
        write_text(path, self.to_json())

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file that `write` wrote.

        Raises MeasurementError: missing, not JSON, not a measurement, newer schema, or token ids
        that do not hash to the stored value.
        """
        data = _load(path)
        block = data["draftgate"]
        try:
            whole = unpack([*block["rounds"], *block.get("control_rounds", [])])
            block["rounds"], block["control_rounds"] = (
                whole[: len(block["rounds"])],
                whole[len(block["rounds"]) :],
            )
            measurement = cls.model_validate_json(json.dumps(data))
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"]))
            raise _unreadable(path, f"key {key}: {first['msg']}") from None
        except (KeyError, TypeError, AttributeError) as error:
            raise _unreadable(path, f"key draftgate.rounds: {error!r}") from None
        _require_intact(path, measurement)
        return measurement


def _without_none(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value is not None}


def _load(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MeasurementError(f"{path}: {error.strerror}; give a file of a run's cells/") from None
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, f"not JSON ({error})") from None
    if not isinstance(data, dict) or not isinstance(data.get("draftgate"), dict):
        raise _unreadable(path, "key draftgate is missing: not a draftgate measurement")
    version = data["draftgate"].get("schema_version")
    if not isinstance(version, int) or version < 1:
        raise _unreadable(path, f"key draftgate.schema_version: {version!r} is not a version")
    if version > SCHEMA_VERSION:
        raise MeasurementError(
            f"{path}: key draftgate.schema_version: {version} is newer than this draftgate reads "
            f"(up to {SCHEMA_VERSION}); upgrade draftgate"
        )
    return data


def _require_intact(path: Path, measurement: Measurement) -> None:
    block = measurement.draftgate
    if not block.rounds or metrics.outputs_hash(block.rounds[0]) != block.exact.outputs_hash:
        raise _unreadable(path, "key draftgate.exact.outputs_hash does not match the token ids")


def _unreadable(path: Path, problem: str) -> MeasurementError:
    return MeasurementError(f"{path}: {problem}; the file is damaged, measure the cell again")
