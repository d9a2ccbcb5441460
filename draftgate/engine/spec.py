"""What an engine is started with, and how that reads as arguments of `vllm.LLM`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator

from draftgate.engine.drafts import WORKER_EXTENSION, is_scripted
from draftgate.engine.fault import Fault
from draftgate.engine.hooks import Hook
from draftgate.engine.records import Record

GIB = 1 << 30
CPU_KV_CACHE_GIB = 0.25  # 32k tokens of the tiny family: 16 requests of 2048

_OWN_FIELDS = frozenset(
    {
        "model",
        "revision",
        "tokenizer",
        "tensor_parallel_size",
        "dtype",
        "max_model_len",
        "max_num_seqs",
        "speculative_config",
        "seed",
        "fault",
    }
)


class EngineSpec(Record):
    """One engine start: a target with one variant.

    ``model``, ``tokenizer`` and ``speculative_config["model"]`` are hub ids, folders or
    ``testbed:NAME``. ``speculative_config`` holds vLLM's own keys, None for the control.
    ``engine_args`` are further arguments of `vllm.LLM` and win over this room's defaults.
    ``chat_template_kwargs`` go to the tokenizer's chat template. ``runner`` is vLLM's model
    runner (None: vLLM's choice). ``fault``: planted on purpose.

    ``hooks`` are called in the child before vLLM builds anything (repairs of known defects,
    planted faults). With tensor parallelism the workers are processes of their own, which they do
    not reach.

    GPU engines only: ``gpu_memory_share`` of each GPU's memory (None: vLLM's choice, nearly all of
    it); ``gpu_memory_utilization`` in ``engine_args`` wins.

    CPU engines only: ``threads`` OpenMP threads (None: the placement's default),
    ``kv_cache_gib`` GiB of KV cache (None: `CPU_KV_CACHE_GIB`), ``pin_isa`` keeps to AVX2 kernels
    so that token ids and counters are those of every x86 machine.
    """

    model: str
    revision: str | None = None
    tokenizer: str | None = None
    tensor_parallel_size: int = Field(default=1, ge=1)
    dtype: str = "auto"
    max_model_len: int | None = Field(default=None, ge=1)
    max_num_seqs: int = Field(default=16, ge=1)
    speculative_config: dict[str, Any] | None = None
    engine_args: dict[str, Any] = Field(default_factory=dict)
    chat_template_kwargs: dict[str, Any] = Field(default_factory=dict)
    seed: int = 42
    runner: Literal["v1", "v2"] | None = None
    hooks: tuple[Hook, ...] = ()
    fault: Fault | None = None
    gpu_memory_share: float | None = Field(default=None, gt=0, le=1)
    threads: int | None = Field(default=None, ge=1)
    kv_cache_gib: float | None = Field(default=None, gt=0)
    pin_isa: bool = True

    @model_validator(mode="after")
    def _engine_args_repeat_no_field(self) -> EngineSpec:
        repeated = sorted(_OWN_FIELDS & self.engine_args.keys())
        if repeated:
            raise ValueError(
                f"engine_args repeats {', '.join(repeated)}: set the field of that name instead"
            )
        return self

    @classmethod
    def from_target(
        cls,
        target: BaseModel,
        speculative_config: dict[str, Any] | None,
        *,
        max_num_seqs: int,
        seed: int,
    ) -> EngineSpec:
        """Spec of a profile's target with a variant's speculative config.

        Takes every field of the same name from ``target``; any pydantic model will do, so that
        this room needs nothing of the profile's insides. A target's engine_args may name fields
        of this class (`max_num_seqs`, `threads`, ...); those win over the arguments here.
        """
        values: dict[str, Any] = {
            "max_num_seqs": max_num_seqs,
            "seed": seed,
            "speculative_config": speculative_config,
        }
        values |= {
            name: getattr(target, name)
            for name in cls.model_fields.keys() & type(target).model_fields.keys()
        }
        return cls.lifting(values)

    @classmethod
    def lifting(cls, values: Mapping[str, Any]) -> EngineSpec:
        """Spec of these fields; ``engine_args`` may name fields too, and those win."""
        engine_args = values.get("engine_args", {})
        lifted = cls.model_fields.keys() & engine_args.keys()
        others = {name: value for name, value in engine_args.items() if name not in lifted}
        return cls(**{**values, **{n: engine_args[n] for n in lifted}, "engine_args": others})

    @property
    def k(self) -> int:
        """`num_speculative_tokens`; 0 where speculative decoding is off."""
        if self.speculative_config is None:
            return 0
        return int(self.speculative_config.get("num_speculative_tokens", 0))

    @property
    def draft_model(self) -> str | None:
        """The proposer's own checkpoint, where it has one."""
        config = self.speculative_config or {}
        model = config.get("model")
        own_class = config.get("method") == "custom_class"  # then "model" is a Python path
        return model if isinstance(model, str) and not own_class else None


def llm_arguments(spec: EngineSpec, *, on_cpu: bool, request_metrics: bool) -> dict[str, Any]:
    """Keyword arguments of `vllm.LLM` for ``spec``.

    ``request_metrics``: this vLLM knows `per_request_spec_decode_metrics`. Statistics are on for
    every arm, the control too: the scheduler counts drafts only then, and arms must pay alike.
    """
    arguments: dict[str, Any] = {
        "model": spec.model,
        "revision": spec.revision,
        "tokenizer": spec.tokenizer,
        "tensor_parallel_size": spec.tensor_parallel_size,
        "dtype": spec.dtype,
        "max_model_len": spec.max_model_len,
        "max_num_seqs": spec.max_num_seqs,
        "seed": spec.seed,
        "disable_log_stats": False,
        "enable_prefix_caching": False,
        "max_logprobs": -1,  # a limit that vLLM checks requests against; scores need every token
    }
    if on_cpu:
        arguments |= _cpu_arguments(spec)
    elif spec.gpu_memory_share is not None:
        arguments["gpu_memory_utilization"] = spec.gpu_memory_share
    if spec.speculative_config is not None:
        arguments["speculative_config"] = dict(spec.speculative_config)
        if is_scripted(spec.speculative_config):
            arguments["worker_extension_cls"] = WORKER_EXTENSION
        if request_metrics:
            arguments["per_request_spec_decode_metrics"] = "detailed"
    return arguments | spec.engine_args


def _cpu_arguments(spec: EngineSpec) -> dict[str, Any]:
    kv_cache_gib = CPU_KV_CACHE_GIB if spec.kv_cache_gib is None else spec.kv_cache_gib
    arguments: dict[str, Any] = {
        "enforce_eager": True,
        # Bytes, not VLLM_CPU_KVCACHE_SPACE: the latter takes whole GiB only.
        "kv_cache_memory_bytes": int(kv_cache_gib * GIB),
    }
    if spec.tensor_parallel_size == 1:
        arguments["distributed_executor_backend"] = "uni"
    return arguments
