"""What a profile file says, as frozen records; rules that span keys live in `checks`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from draftgate.profile.cells import Cell, Scenario

SCHEMA_VERSION = 1

WorkloadName = Literal["instructcoder", "cnn_dailymail", "sharegpt", "gsm8k", "aime", "gpqa"]
# Part of a cell's id and of file names, so no slash, blank or upper case.
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
HardwarePattern = Annotated[str, Field(pattern=r"^[a-z0-9*][a-z0-9.*-]*$")]
Text = Annotated[str, Field(min_length=1)]
# Strict, because pydantic would otherwise read `true` as 1 and "3" as 3.
Count = Annotated[int, Field(strict=True, ge=1)]
Seed = Annotated[int, Field(strict=True, ge=0)]
Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, gt=0, le=1)]
NotNegative = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
RelativeLoss = Annotated[float, Field(strict=True, gt=0, lt=1)]


class Part(BaseModel):
    """Base: frozen, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class Variant(Part):
    """One way to draft. ``speculative_config`` holds vLLM's own keys, passed through untouched.

    ``name`` is the second part of a cell id: ``none`` for the control, else ``METHOD-kK`` with an
    optional suffix. ``workloads`` limits the variant to these workloads; None means all.
    """

    name: Name
    speculative_config: dict[str, Any] | None = None
    min_vram_gib: Positive | None = None
    workloads: tuple[WorkloadName, ...] | None = None

    @property
    def method(self) -> str:
        """vLLM's method name, ``none`` for the control."""
        return "none" if self.speculative_config is None else str(self.speculative_config["method"])

    @property
    def k(self) -> int:
        """Tokens drafted a step (``num_speculative_tokens``), 0 for the control."""
        config = self.speculative_config
        return 0 if config is None else int(config["num_speculative_tokens"])

    def runs_on(self, workload: str) -> bool:
        """Whether the variant is measured on ``workload``."""
        return self.workloads is None or workload in self.workloads


class Target(Part):
    """A target model with the arguments its engines start with, and the variants to measure on it.

    ``chat_template_kwargs`` go to the tokenizer's chat template (Qwen3: ``enable_thinking``).
    ``min_vram_gib``: GPU memory needed, all of the target's GPUs together.
    """

    name: Name
    model: Text
    revision: Text | None = None
    tokenizer: Text | None = None
    tensor_parallel_size: Count = 1
    dtype: Text = "auto"
    max_model_len: Count | None = None
    engine_args: dict[str, Any] = {}
    chat_template_kwargs: dict[str, Any] = {}
    min_vram_gib: Positive | None = None
    variants: Annotated[tuple[Variant, ...], Field(min_length=1)]

    @property
    def control(self) -> Variant:
        """The variant ``none``; a loaded profile has exactly one a target."""
        return next(v for v in self.variants if v.name == "none")


class WorkloadSpec(Part):
    """Which prompts, how many of them, and the output limit in tokens."""

    name: WorkloadName
    source: Literal["mini", "hub", "file"]
    prompts: Count
    max_tokens: Count
    revision: Text | None = None
    path: Text | None = None
    seed: Seed = 42


class Estimate(Part):
    """Constants of `draftgate.profile.estimate`: a guess for `draftgate plan`, no measurement."""

    engine_start_s: Positive = 30.0
    step_ms: Positive = 10.0
    step_ms_per_sequence: NotNegative = 0.1
    output_fill: Share = 0.5


class Plan(Part):
    """How a cell is measured.

    Warm-up rounds run until two successive ones agree within ``warmup_tolerance`` (relative) or
    ``warmup_max`` have run. ``batch_mode``: ``mixed`` keeps different prompts in flight,
    ``replicated`` repeats one prompt batch-size times. ``resident``: engines that fit in memory
    together, None: all. ``reference_pairs``: rounds timed beside a reference's, where one settles
    a verdict; spread over ``reference_starts`` processes of either side (1: the resident ones; an
    even number, so that both sides are started first alike often, with pairs of both orders each).
    ``session_sd``, ``start_sd``: least relative shifts of speed that verdicts reckon with, between
    sessions and between process starts in the same minutes (standard deviations; `draftgate power
    --noise` fits them). ``ratio_sd``: likewise, between sessions, of speed-ups and of stages'
    shares, from which the machine's shift cancels.
    ``sessions``: a run is one; `draftgate power --noise` and `draftgate compare` take several runs.
    ``stages``: a timed cell plays two rounds more, with the stage timer on; a matrix row may say
    otherwise for its cells.
    """

    rounds: Count = 3
    warmup_max: Annotated[int, Field(strict=True, ge=0)] = 2
    warmup_tolerance: RelativeLoss = 0.1
    sessions: Literal[1] = 1
    session_sd: RelativeLoss = 0.01
    start_sd: RelativeLoss = 0.005
    ratio_sd: RelativeLoss = 0.01
    resident: Count | None = None
    reference_pairs: Count = 10
    reference_starts: Count = 1
    batch_mode: Literal["mixed", "replicated"] = "mixed"
    stages: Annotated[bool, Field(strict=True)] = False
    estimate: Estimate = Estimate()


class Limits(Part):
    """Largest tolerated relative loss of each timed metric; None: reported, not judged.

    ``*_share``: rise of a stage's share of the step time.
    """

    output_throughput: RelativeLoss | None = None
    speedup: RelativeLoss | None = None
    step_time_ms: RelativeLoss | None = None
    mean_ttft_ms: RelativeLoss | None = None
    mean_tpot_ms: RelativeLoss | None = None
    draft_share: RelativeLoss | None = None
    verify_share: RelativeLoss | None = None
    sample_share: RelativeLoss | None = None
    overhead_share: RelativeLoss | None = None

    def stated(self) -> dict[str, float]:
        """The metrics that have a limit."""
        return self.model_dump(exclude_none=True)


class Tolerances(Part):
    """Largest tolerated relative loss of acceptance where equal software need not write equal
    tokens (a GPU); elsewhere it is compared with ``==``. None: `measure.per_prompt.LIMITS`.

    There they share the significance of the profile's timed comparisons.
    """

    acceptance_length: RelativeLoss | None = None
    tokens_per_step: RelativeLoss | None = None

    def stated(self) -> dict[str, float]:
        """The metrics that have one."""
        return self.model_dump(exclude_none=True)


class MatrixRow(Part):
    """These workloads at these batch sizes, on ``targets`` (None: all).

    ``prompts`` replaces the workloads' own number of prompts. With ``timed = false`` the cells are
    measured for their exact metrics only: one round, no throughput. ``stages``: whether the stages
    of its timed cells are timed (None: as the plan says).
    """

    workloads: Annotated[tuple[WorkloadName, ...], Field(min_length=1)]
    batch_sizes: Annotated[tuple[Count, ...], Field(min_length=1)]
    prompts: Count | None = None
    targets: tuple[Name, ...] | None = None
    timed: Annotated[bool, Field(strict=True)] = True
    stages: Annotated[bool, Field(strict=True)] | None = None

    def covers(self, target: str) -> bool:
        """Whether the row applies to ``target``."""
        return self.targets is None or target in self.targets


class Profile(Part):
    """The manifest: what to measure, and the cells that must have a verdict.

    ``fingerprint``: pattern of the hardware that the gate accepts runs of, such as ``h100-*``; a
    run's own key (in its ``run.json``) also names driver, power limit and count. None: any machine.
    ``baseline_series``: keeps this profile's baselines apart from those of profiles that measure
    cells of the same names over other prompts (`baseline.store`).
    """

    schema_version: int
    name: Name
    description: str = ""
    fingerprint: HardwarePattern | None = None
    seed: Seed = 42
    temperature: NotNegative = 0.0
    newer_vllm_keys: tuple[str, ...] = ()
    baseline_series: Name | None = None
    plan: Plan = Plan()
    limits: Limits = Limits()
    tolerances: Tolerances = Tolerances()
    workloads: Annotated[tuple[WorkloadSpec, ...], Field(min_length=1)]
    matrix: Annotated[tuple[MatrixRow, ...], Field(min_length=1)]
    targets: Annotated[tuple[Target, ...], Field(min_length=1)]

    def stated_limits(self) -> dict[str, float]:
        """Largest tolerated relative losses: timed metrics', and acceptance's where it is noisy."""
        return self.limits.stated() | self.tolerances.stated()

    def scenarios(self) -> tuple[Scenario, ...]:
        """One engine start each: target x variant, the control first."""
        return tuple(dict.fromkeys(cell.scenario for cell in self.cells()))

    def cells(self) -> tuple[Cell, ...]:
        """All cells, in a stable order: by target, workload, batch size, then the control first."""
        return tuple(cell for target in self.targets for cell in self._cells_of(target))

    def batch_sizes(self, target: Target) -> tuple[int, ...]:
        """The distinct batch sizes that ``target`` is measured at, ascending."""
        rows = (row for row in self.matrix if row.covers(target.name))
        return tuple(sorted({size for row in rows for size in row.batch_sizes}))

    def _cells_of(self, target: Target) -> Iterator[Cell]:
        variants = sorted(target.variants, key=lambda v: v.name != "none")
        for workload in self.workloads:
            for batch_size, row in sorted(self._sizes(target, workload).items()):
                spec = workload.model_copy(update={"prompts": row.prompts or workload.prompts})
                stages = self.plan.stages if row.stages is None else row.stages
                for variant in variants:
                    if variant.runs_on(workload.name):
                        yield Cell(
                            Scenario(target, variant),
                            spec,
                            batch_size,
                            timed=row.timed,
                            staged=row.timed and stages,
                        )

    def _sizes(self, target: Target, workload: WorkloadSpec) -> dict[int, MatrixRow]:
        """Batch size -> the row that says how ``workload`` is measured at it."""
        return {
            size: row
            for row in self.matrix
            if row.covers(target.name) and workload.name in row.workloads
            for size in row.batch_sizes
        }
